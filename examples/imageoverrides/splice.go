// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"cmp"
	"errors"
	"slices"
	"strings"

	helmv2 "github.com/fluxcd/helm-controller/api/v2"
	"go.yaml.in/yaml/v3"
)

// An edit puts text in place of the bytes from start to end.
type edit struct {
	start, end int
	text       string
}

// splice makes edits, which do not overlap.
func splice(text []byte, edits []edit) []byte {
	slices.SortFunc(edits, func(a, b edit) int { return cmp.Or(a.start-b.start, a.end-b.end) })
	var out []byte
	at := 0
	for _, e := range edits {
		out = append(append(out, text[at:e.start]...), e.text...)
		at = e.end
	}
	return append(out, text[at:]...)
}

// errPlace is for what has no bytes of its own, or none that can be told apart.
var errPlace = errors.New("spec.postRenderers cannot be edited in this place; write spec and spec.postRenderers out, as block style maps and lists without anchors")

// edits returns the edits of the text that give the release its merged post-renderers.
func (r *release) edits() ([]edit, error) {
	spec, list := r.spec.value, r.list.value
	switch {
	case spec == nil:
		return nil, errors.New("the release has no spec")
	case spec.Kind != yaml.MappingNode, list != nil && list.Kind == yaml.AliasNode, list == nil && len(r.existing) > 0:
		return nil, errPlace
	case r.shared():
		return nil, errPlace
	case len(r.merged) == 0:
		return r.remove()
	case list == nil:
		return r.insert()
	case len(r.existing) == 0:
		return r.fill()
	case list.Style&yaml.FlowStyle != 0:
		return r.flowItems()
	}
	return r.blockItems()
}

// shared reports whether an alias may stand for what is to change, or for a part of what
// is to go.
func (r *release) shared() bool {
	list := r.list.value
	if list == nil {
		return r.spec.value.Anchor != ""
	}
	gone, _ := r.plan()
	for j := range gone {
		if anchored(list.Content[j]) {
			return true
		}
	}
	return r.spec.value.Anchor != "" || list.Anchor != ""
}

func anchored(n *yaml.Node) bool { return n.Anchor != "" || slices.ContainsFunc(n.Content, anchored) }

// insert adds the field: in block style behind the other fields, in flow style before them.
func (r *release) insert() ([]edit, error) {
	spec := r.spec.value
	if spec.Style&yaml.FlowStyle != 0 {
		start, end, ok := flow(r.text, spec)
		if !ok {
			return nil, errPlace
		}
		text := `"postRenderers": ` + flowText(r.merged)
		if len(spec.Content) > 0 {
			space := r.text.Bytes[start+1 : end-1]
			space = space[:len(space)-len(bytes.TrimLeft(space, " \t\r\n"))]
			text = string(space) + text + ","
			if len(space) == 0 {
				text += " "
			}
		}
		return []edit{{start + 1, start + 1, text}}, nil
	}
	indent, ok := r.indent(spec.Content[0])
	if !ok {
		return nil, errPlace
	}
	at := r.linesEnd(spec, r.spec.end(r.text), indent)
	return []edit{r.lines(at, indent, "postRenderers:\n"+blockText(r.merged))}, nil
}

// fill gives items to a list without any, which may be written as [], null or nothing.
func (r *release) fill() ([]edit, error) {
	start, end, ok := flow(r.text, r.list.value)
	if !ok {
		s, found := r.text.Scalar(r.list.value)
		if at, ok := r.text.Offset(r.list.value); ok && r.list.value.Value == "" {
			s.Start, s.End, found = at, at, true
		}
		if !found {
			return nil, errPlace
		}
		start, end = s.Start, s.End
	}
	if r.spec.value.Style&yaml.FlowStyle != 0 {
		text := flowText(r.merged)
		if r.text.Bytes[start-1] == ':' {
			text = " " + text
		}
		return []edit{{start, end, text}}, nil
	}
	indent, ok := r.indent(r.list.key)
	if !ok {
		return nil, errPlace
	}
	next := len(r.text.Bytes)
	if n := bytes.IndexByte(r.text.Bytes[end:], '\n'); n >= 0 {
		next = end + n + 1
	}
	start = len(bytes.TrimRight(r.text.Bytes[:start], " \t"))
	return []edit{{start, end, ""}, r.lines(next, indent, blockText(r.merged))}, nil
}

// remove takes the field out.
func (r *release) remove() ([]edit, error) {
	spec, list := r.spec.value, r.list
	text := r.text.Bytes
	at := slices.Index(spec.Content, list.key)
	start, ok := r.text.Offset(list.key)
	if !ok {
		return nil, errPlace
	}
	if spec.Style&yaml.FlowStyle != 0 {
		_, end, ok := flow(r.text, list.value)
		if !ok {
			return nil, errPlace
		}
		if at+2 < len(spec.Content) {
			end, ok = r.text.Offset(spec.Content[at+2])
		} else if before := bytes.TrimRight(text[:start], " \t\r\n"); bytes.HasSuffix(before, []byte(",")) {
			start = len(before) - 1
		}
		if !ok {
			return nil, errPlace
		}
		return []edit{{start, end, ""}}, nil
	}
	if len(spec.Content) == 2 { // a map without fields needs braces
		return nil, errPlace
	}
	indent, ok := r.indent(list.key)
	if !ok {
		return nil, errPlace
	}
	return []edit{{lineStart(r.text, list.key), r.linesEnd(list.value, list.end(r.text), indent+1), ""}}, nil
}

// plan says what becomes of the items of a list: where with has an item's index, the item goes, and
// those come in its place; the renderers of behind come after the item. Key -1 is the place
// before the first item.
func (r *release) plan() (with, behind map[int][]helmv2.PostRenderer) {
	with, behind = make(map[int][]helmv2.PostRenderer), make(map[int][]helmv2.PostRenderer)
	kept := make([]bool, len(r.existing))
	before := make([]int, 0, len(r.merged)) // by merged renderer, the item kept last before it
	last := -1
	for _, m := range r.merged {
		if j := slices.Index(r.existing[last+1:], m); j >= 0 {
			last += 1 + j
			kept[last] = true
			before = append(before, -2)
			continue
		}
		before = append(before, last)
	}
	for j := range kept {
		if !kept[j] {
			with[j] = nil
		}
	}
	for i, m := range r.merged {
		switch j := before[i]; {
		case j == -2:
		case j+1 < len(kept) && !kept[j+1]:
			with[j+1] = append(with[j+1], m)
		default:
			behind[j] = append(behind[j], m)
		}
	}
	return with, behind
}

// blockItems edits the lines of a list with dashes.
func (r *release) blockItems() ([]edit, error) {
	type lines struct{ start, end int }
	var items []lines
	indent := 0
	placed := true
	each(r.list, func(n, next *yaml.Node) {
		at, _ := r.text.Offset(n)
		start := lineStart(r.text, n)
		dash := bytes.TrimLeft(r.text.Bytes[start:at], " ")
		indent = at - start - len(dash)
		if strings.Trim(string(dash), " \t") != "-" {
			placed = false
		}
		items = append(items, lines{start, r.linesEnd(n, field{next: next}.end(r.text), indent+1)})
	})
	if !placed {
		return nil, errPlace
	}
	var edits []edit
	with, behind := r.plan()
	for j, news := range with {
		e := edit{items[j].start, items[j].end, ""}
		if len(news) > 0 {
			e.text = r.lines(items[j].start, indent, blockText(news)).text
			if e.end == len(r.text.Bytes) && !bytes.HasSuffix(r.text.Bytes, []byte("\n")) {
				e.text = strings.TrimRight(e.text, "\r\n")
			}
		}
		edits = append(edits, e)
	}
	for j, news := range behind {
		at := items[0].start
		if j >= 0 {
			at = items[j].end
		}
		edits = append(edits, r.lines(at, indent, blockText(news)))
	}
	return edits, nil
}

// flowItems writes a list in brackets anew from its items' texts. The space between them is that
// before the first.
func (r *release) flowItems() ([]edit, error) {
	start, end, ok := flow(r.text, r.list.value)
	if !ok {
		return nil, errPlace
	}
	var parts, gaps []string
	at := start + 1
	with, behind := r.plan()
	add := func(news []helmv2.PostRenderer) {
		for _, m := range news {
			parts = append(parts, flowText(m))
		}
	}
	add(behind[-1])
	for j, item := range r.list.value.Content {
		from, to, ok := flow(r.text, item)
		if !ok {
			return nil, errPlace
		}
		gaps = append(gaps, string(r.text.Bytes[at:from]))
		at = to
		if news, gone := with[j]; gone {
			add(news)
		} else {
			parts = append(parts, string(r.text.Bytes[from:to]))
		}
		add(behind[j])
	}
	gaps = append(gaps, string(r.text.Bytes[at:end-1]))
	for _, gap := range gaps {
		if strings.Trim(gap, " \t\r\n,") != "" { // a comment
			return nil, errPlace
		}
	}
	between := "," + gaps[0]
	if gaps[0] == "" {
		between = ", "
	}
	closing := strings.ReplaceAll(gaps[len(gaps)-1], ",", "")
	return []edit{{start + 1, end - 1, gaps[0] + strings.Join(parts, between) + closing}}, nil
}
