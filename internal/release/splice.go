// SPDX-License-Identifier: Apache-2.0

package release

import (
	"bytes"
	"errors"
	"slices"
	"strings"

	helmv2 "github.com/fluxcd/helm-controller/api/v2"
	"go.yaml.in/yaml/v3"

	"github.com/cozystack/image-overrides/internal/manifest/document"
	"github.com/cozystack/image-overrides/internal/node"
)

// ErrNoSpec is of a release without what post-renderers would stand in.
var ErrNoSpec = errors.New("the release has no spec")

// ErrPlace is of what has no bytes of its own, or none that can be told apart.
var ErrPlace = errors.New("spec.postRenderers cannot be edited in this place; write spec and spec.postRenderers out, as block style maps and lists without anchors")

// Edit plans the edits of the text that give the release its merged post-renderers.
func (r *Release) Edit() error {
	edits, err := r.edits()
	if err != nil {
		return err
	}
	r.text.edits = append(r.text.edits, edits...)
	r.edited = true
	return nil
}

func (r *Release) edits() ([]document.Edit, error) {
	spec, list := r.spec.value, r.list.value
	switch {
	case spec == nil:
		return nil, ErrNoSpec
	case spec.Kind != yaml.MappingNode, list != nil && list.Kind == yaml.AliasNode, list == nil && len(r.Existing) > 0:
		return nil, ErrPlace
	case r.shared():
		return nil, ErrPlace
	case len(r.Merged) == 0:
		return r.remove()
	case list == nil:
		return r.insert()
	case len(r.Existing) == 0:
		return r.fill()
	case list.Style&yaml.FlowStyle != 0:
		return r.flowItems()
	}
	return r.blockItems()
}

func (r *Release) parsed() *document.Text { return r.text.parsed }
func (r *Release) bytes() []byte          { return r.text.parsed.Bytes }

// shared reports whether an alias may stand for what is to change, or for a part of what
// is to go.
func (r *Release) shared() bool {
	list := r.list.value
	if list == nil {
		return r.spec.value.Anchor != ""
	}
	gone, _ := r.plan()
	for j := range gone {
		if node.Anchored(list.Content[j]) {
			return true
		}
	}
	return r.spec.value.Anchor != "" || list.Anchor != ""
}

// insert adds the field: in block style behind the other fields, in flow style before them.
func (r *Release) insert() ([]document.Edit, error) {
	spec := r.spec.value
	if spec.Style&yaml.FlowStyle != 0 {
		start, end, ok := node.Flow(r.parsed(), spec)
		if !ok {
			return nil, ErrPlace
		}
		text := `"postRenderers": ` + flowText(r.Merged)
		if len(spec.Content) > 0 {
			space := r.bytes()[start+1 : end-1]
			space = space[:len(space)-len(bytes.TrimLeft(space, " \t\r\n"))]
			text = string(space) + text + ","
			if len(space) == 0 {
				text += " "
			}
		}
		return []document.Edit{{Start: start + 1, End: start + 1, New: text}}, nil
	}
	indent, ok := node.Indent(r.parsed(), spec.Content[0])
	if !ok {
		return nil, ErrPlace
	}
	at := r.linesEnd(spec, r.spec.end(r.parsed()), indent)
	return []document.Edit{r.lines(at, indent, "postRenderers:\n"+blockText(r.Merged))}, nil
}

// fill gives items to a list without any, which may be written as [], null or nothing.
func (r *Release) fill() ([]document.Edit, error) {
	start, end, ok := node.Flow(r.parsed(), r.list.value)
	if !ok {
		s, found := r.parsed().Scalar(r.list.value)
		if at, ok := r.parsed().Offset(r.list.value); ok && r.list.value.Value == "" {
			s.Start, s.End, found = at, at, true
		}
		if !found {
			return nil, ErrPlace
		}
		start, end = s.Start, s.End
	}
	if r.spec.value.Style&yaml.FlowStyle != 0 {
		text := flowText(r.Merged)
		if r.bytes()[start-1] == ':' {
			text = " " + text
		}
		return []document.Edit{{Start: start, End: end, New: text}}, nil
	}
	indent, ok := node.Indent(r.parsed(), r.list.key)
	if !ok {
		return nil, ErrPlace
	}
	next := len(r.bytes())
	if n := bytes.IndexByte(r.bytes()[end:], '\n'); n >= 0 {
		next = end + n + 1
	}
	start = len(bytes.TrimRight(r.bytes()[:start], " \t"))
	return []document.Edit{{Start: start, End: end, New: ""}, r.lines(next, indent, blockText(r.Merged))}, nil
}

// remove takes the field out.
func (r *Release) remove() ([]document.Edit, error) {
	spec, list := r.spec.value, r.list
	text := r.bytes()
	at := slices.Index(spec.Content, list.key)
	start, ok := r.parsed().Offset(list.key)
	if !ok {
		return nil, ErrPlace
	}
	if spec.Style&yaml.FlowStyle != 0 {
		_, end, ok := node.Flow(r.parsed(), list.value)
		if !ok {
			return nil, ErrPlace
		}
		if at+2 < len(spec.Content) {
			end, ok = r.parsed().Offset(spec.Content[at+2])
		} else if before := bytes.TrimRight(text[:start], " \t\r\n"); bytes.HasSuffix(before, []byte(",")) {
			start = len(before) - 1
		}
		if !ok {
			return nil, ErrPlace
		}
		return []document.Edit{{Start: start, End: end, New: ""}}, nil
	}
	if len(spec.Content) == 2 { // a map without fields needs braces
		return nil, ErrPlace
	}
	indent, ok := node.Indent(r.parsed(), list.key)
	if !ok {
		return nil, ErrPlace
	}
	return []document.Edit{{Start: node.LineStart(r.parsed(), list.key), End: r.linesEnd(list.value, list.end(r.parsed()), indent+1), New: ""}}, nil
}

// blockItems edits the lines of a list with dashes.
func (r *Release) blockItems() ([]document.Edit, error) {
	type lines struct{ start, end int }
	var items []lines
	indent := 0
	placed := true
	each(r.list, func(_ int, n, next *yaml.Node) {
		at, _ := r.parsed().Offset(n)
		start := node.LineStart(r.parsed(), n)
		dash := bytes.TrimLeft(r.bytes()[start:at], " ")
		indent = at - start - len(dash)
		if strings.Trim(string(dash), " \t") != "-" {
			placed = false
		}
		items = append(items, lines{start, r.linesEnd(n, field{next: next}.end(r.parsed()), indent+1)})
	})
	if !placed {
		return nil, ErrPlace
	}
	var edits []document.Edit
	with, behind := r.plan()
	for j, news := range with {
		e := document.Edit{Start: items[j].start, End: items[j].end, New: ""}
		if len(news) > 0 {
			e.New = r.lines(items[j].start, indent, blockText(news)).New
			if e.End == len(r.bytes()) && !bytes.HasSuffix(r.bytes(), []byte("\n")) {
				e.New = strings.TrimRight(e.New, "\r\n")
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
func (r *Release) flowItems() ([]document.Edit, error) {
	start, end, ok := node.Flow(r.parsed(), r.list.value)
	if !ok {
		return nil, ErrPlace
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
		from, to, ok := node.Flow(r.parsed(), item)
		if !ok {
			return nil, ErrPlace
		}
		gaps = append(gaps, string(r.bytes()[at:from]))
		at = to
		if news, gone := with[j]; gone {
			add(news)
		} else {
			parts = append(parts, string(r.bytes()[from:to]))
		}
		add(behind[j])
	}
	gaps = append(gaps, string(r.bytes()[at:end-1]))
	for _, gap := range gaps {
		if strings.Trim(gap, " \t\r\n,") != "" { // a comment
			return nil, ErrPlace
		}
	}
	between := "," + gaps[0]
	if gaps[0] == "" {
		between = ", "
	}
	closing := strings.ReplaceAll(gaps[len(gaps)-1], ",", "")
	return []document.Edit{{Start: start + 1, End: end - 1, New: gaps[0] + strings.Join(parts, between) + closing}}, nil
}
