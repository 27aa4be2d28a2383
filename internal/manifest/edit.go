// SPDX-License-Identifier: Apache-2.0

package manifest

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/cozystack/image-overrides/internal/manifest/document"
)

// A replaced scalar is one that gets another value.
type replaced struct {
	node  *yaml.Node
	text  string
	json  bool       // it stands in JSON's notation
	alias *yaml.Node // the outermost one that it stands behind, nil for none
	way   int32      // from the alias on
	after []within   // the ways from the anchored values around it
}

// within is a way from a value that aliases stand for.
type within struct {
	anchored *yaml.Node
	way      int32
}

// decode is not asked for: all texts are ready.
func (t *tree) decode() string { return t.scalar.text }

func (t *tree) node() *yaml.Node { return document.Behind(t.at.(branch).kid.at) }

// places are those of the outermost alias, where there is one.
func (t *tree) places(at []int) {
	if t.alias < 0 {
		t.placesInText(at)
	} else {
		alias, _ := t.text.Offset(t.steps[t.alias].at)
		for i := range at {
			at[i] = alias
		}
	}
	for i := range at {
		at[i] += t.shift
	}
}

func (t *tree) placesInText(at []int) {
	n := t.steps[len(t.steps)-1].at
	s, ok := t.text.Scalar(n)
	if !ok {
		start, _ := t.text.Offset(n)
		for i := range at {
			at[i] = start
		}
		return
	}
	if s.Verbatim {
		end := s.End
		if n.Style&(yaml.SingleQuotedStyle|yaml.DoubleQuotedStyle) != 0 {
			end--
		}
		for i := range at {
			at[i] = min(s.Inner+at[i], end)
		}
		return
	}
	start, end, st := s.Inner, s.End, plain
	switch n.Style &^ (yaml.TaggedStyle | yaml.FlowStyle) {
	case yaml.SingleQuotedStyle:
		end, st = end-1, singleQuoted
	case yaml.DoubleQuotedStyle:
		end, st = end-1, doubleQuoted
	case yaml.LiteralStyle, yaml.FoldedStyle:
		start, end, st = s.Start, len(t.text.Bytes), block
	}
	places(t.text.Bytes[start:end], st, start, t.scalar.text, at)
}

// replace notes what the scalar is to become.
func (t *tree) replace(text string) {
	at := t.at.(branch)
	r := replaced{node: document.Behind(at.kid.at), text: text}
	for _, i := range t.marked {
		r.after = append(r.after, within{t.steps[i].at, t.wayFrom(i)})
	}
	if t.alias >= 0 {
		r.alias = t.steps[t.alias].at
		r.way = t.wayFrom(t.alias)
	}
	if r.alias == nil {
		key := document.Behind(at.kid.key)
		r.json = key.Style&yaml.DoubleQuotedStyle != 0 && t.parent().Style&yaml.FlowStyle != 0
	}
	t.replaced = append(t.replaced, r)
}

// parent returns the map of the text that the scalar is a field of.
func (t *tree) parent() *yaml.Node {
	if n := len(t.steps); n > 1 {
		return document.Behind(t.steps[n-2].at)
	}
	return t.doc
}

// wayFrom returns the way from one of the steps on.
func (t *tree) wayFrom(i int) int32 {
	way := int32(0)
	for _, s := range t.steps[i+1:] {
		way = t.ways.next(way, s.child)
	}
	if t.ways.taken > maxWays {
		t.fail(tooMany(t.steps[i].at, maxAliased))
	}
	return way
}

// maxWays is how many steps may be taken to tell ways apart.
const maxWays = 1 << 20

// ways numbers the ways through nodes, by the indexes of their steps: two are the same number if they are the same.
// The way that leads nowhere is 0.
type ways struct {
	known map[wayStep]int32
	taken int // how many steps were taken
}

type wayStep struct {
	before int32
	child  int
}

// next is the way a step further.
func (w *ways) next(way int32, child int) int32 {
	w.taken++
	s := wayStep{way, child}
	next, ok := w.known[s]
	if !ok {
		if w.known == nil {
			w.known = make(map[wayStep]int32)
		}
		next = int32(len(w.known) + 1)
		w.known[s] = next
	}
	return next
}

// edit makes the edits of a document.
func (t *tree) edit() {
	if len(t.replaced) == 0 {
		return
	}
	from := len(t.edits)
	t.scalars()
	t.inline()
	slices.SortFunc(t.edits[from:], func(a, b document.Edit) int { return a.Start - b.Start })
}

// scalars edits the scalars that stand in the text, in the order of the text.
func (t *tree) scalars() {
	var inText []*replaced
	for i := range t.replaced {
		if t.replaced[i].alias == nil {
			inText = append(inText, &t.replaced[i])
		}
	}
	slices.SortFunc(inText, func(a, b *replaced) int {
		return cmp.Or(cmp.Compare(a.node.Line, b.node.Line), cmp.Compare(a.node.Column, b.node.Column))
	})
	for _, r := range inText {
		s, ok := t.text.Scalar(r.node)
		if !ok {
			t.fail(&nodeFault{node: r.node, reason: "the bytes of image " + strconv.Quote(r.node.Value) + " cannot be told apart; write it on one line, without folding"})
			return
		}
		start, end, text := s.Replace(r.text, r.json)
		t.edits = append(t.edits, document.Edit{Start: start, End: end, New: text})
	}
}

// inline brings the aliases of the document in line with what they stand for. An alias may
// stay where the same scalars change in its own place and in the place that it stands
// for. Any other is replaced by its value, written in flow style.
func (t *tree) inline() {
	aliases := aliasesIn(t.doc, false, nil)
	if len(aliases) == 0 {
		return
	}
	behind := make(map[*yaml.Node]map[int32]string) // new texts by alias, and by way from it
	inside := make(map[*yaml.Node]map[int32]string) // the same by anchored value
	for i := range t.replaced {
		r := &t.replaced[i]
		if r.alias != nil {
			add(behind, r.alias, r.way, r.text)
		}
		for _, w := range r.after {
			add(inside, w.anchored, w.way, r.text)
		}
	}
	room := t.most * inlinedForOne
	written := 0
	for _, a := range aliases {
		alias := a.node
		if maps.Equal(behind[alias], inside[alias.Alias]) {
			continue
		}
		start, end, ok := t.text.Alias(alias)
		if !ok {
			t.fail(&nodeFault{node: alias, reason: "the bytes of alias " + strconv.Quote("*"+alias.Value) + " cannot be told apart"})
			return
		}
		f := flow{texts: behind[alias], ways: &t.ways, room: room}
		f.write(alias.Alias, 0, a.flow, false)
		written += f.out.Len()
		if room -= f.out.Len(); f.nodes > maxAliased || room < 0 {
			t.fail(&nodeFault{node: alias, reason: fmt.Sprintf("aliases stand for more than %d values, or %d bytes of text", maxAliased, maxInlined)})
			return
		}
		t.edits = append(t.edits, document.Edit{Start: start, End: end, New: f.out.String()})
	}
	t.aliased += written / inlinedForOne
}

// maxInlined is how many bytes may be written in place of a document's aliases.
const maxInlined = 4 << 20

// inlinedForOne is how many of these bytes count as one value that an alias stands for.
const inlinedForOne = maxInlined / maxAliased

func add(m map[*yaml.Node]map[int32]string, n *yaml.Node, way int32, text string) {
	if m[n] == nil {
		m[n] = make(map[int32]string)
	}
	m[n][way] = text
}

// An alias is one in the text, and flow says that it stands in brackets or braces.
type alias struct {
	node *yaml.Node
	flow bool
}

// aliasesIn appends the aliases in the text of n, in their order.
func aliasesIn(n *yaml.Node, flow bool, list []alias) []alias {
	if n.Kind == yaml.AliasNode {
		return append(list, alias{n, flow})
	}
	flow = flow || n.Style&yaml.FlowStyle != 0
	for _, child := range n.Content {
		list = aliasesIn(child, flow, list)
	}
	return list
}

// A flow writes a value in flow style, without anchors and aliases.
type flow struct {
	out   strings.Builder
	texts map[int32]string // new ones, by their ways in the value
	ways  *ways
	nodes int
	room  int // for text, in bytes
}

// write writes a value. braces says that it would stand in brackets or braces if it stood there as it is, and field that it is that of
// a field.
func (f *flow) write(n *yaml.Node, way int32, braces, field bool) {
	if f.nodes++; f.nodes > maxAliased || f.out.Len() > f.room {
		return
	}
	n = document.Behind(n)
	text, changed := f.texts[way]
	tag := tagOf(n)
	if changed && !document.StaysString(n) {
		tag = "" // it is a string now
	}
	if tag != "" {
		f.out.WriteString(tag + " ")
	}
	braces = braces || n.Style&yaml.FlowStyle != 0
	switch n.Kind {
	case yaml.MappingNode:
		f.out.WriteByte('{')
		for i, child := range n.Content {
			if i%2 == 1 {
				f.out.WriteString(": ")
			} else if i > 0 {
				f.out.WriteString(", ")
			}
			f.write(child, f.below(way, i), braces, i%2 == 1)
		}
		f.out.WriteByte('}')
	case yaml.SequenceNode:
		f.out.WriteByte('[')
		for i, child := range n.Content {
			if i > 0 {
				f.out.WriteString(", ")
			}
			f.write(child, f.below(way, i), braces, false)
		}
		f.out.WriteByte(']')
	case yaml.ScalarNode:
		plain := n.Style&^yaml.TaggedStyle == 0
		switch {
		case changed:
			f.out.WriteString(document.Plain(text))
		case plain && n.Value == "" && n.Tag == "!!null" && braces && field && tag == "":
			// Nothing, of which kustomize makes an empty text in braces, and null elsewhere.
		case plain && n.Value == "" && n.Tag == "!!null" && braces && tag == "":
			f.out.WriteString(`""`)
		case plain && n.Value == "" && n.Tag == "!!null":
			f.out.WriteString("null")
		case plain && n.Value != "" && n.Value[0] != ':' && !strings.ContainsAny(n.Value, "\n,[]{}?"):
			f.out.WriteString(n.Value) // whatever it is to which version of YAML
		default:
			f.out.WriteString(document.Quote(n.Value))
		}
	}
}

// noWay is a way that no replaced scalar is behind.
const noWay = -1

// below is the way a step further, if it leads to a replaced scalar.
func (f *flow) below(way int32, child int) int32 {
	if next, ok := f.ways.known[wayStep{way, child}]; ok && way != noWay {
		return next
	}
	return noWay
}

// tagOf is a node's explicit tag as it may be written.
func tagOf(n *yaml.Node) string {
	switch {
	case n.Style&yaml.TaggedStyle == 0:
		return ""
	case strings.HasPrefix(n.Tag, "!"):
		return n.Tag
	}
	return "!<" + n.Tag + ">"
}
