// SPDX-License-Identifier: Apache-2.0

// Package entries edits lists of small maps in a text, as tables of overrides and the images of kustomize are: it sets fields of an
// entry, takes entries out and adds some at the end. Every other byte stays. What has no bytes of its own, or none that can be told apart,
// is an error and never a guess; whoever edits reads the outcome again, and compares.
package entries

import (
	"bytes"
	"errors"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/cozystack/image-overrides/internal/manifest/document"
	"github.com/cozystack/image-overrides/internal/node"
)

// ErrPlace is of a list, or of an entry in it, that cannot be edited without doubt.
var ErrPlace = errors.New("cannot be edited in its notation; write it out, a field a line, without anchors and aliases")

// A Field is a field of an entry, a string.
type Field struct{ Name, Value string }

// A List is a list in a text, and what is to be done to it.
type List struct {
	text  *document.Text
	key   *yaml.Node // that it stands under, nil for the document itself
	list  *yaml.Node // nil where it is to be written
	flow  bool       // what is around it is in flow style
	in    *yaml.Node // of one to be written: the map
	name  string     // and its key
	edits []document.Edit
	gone  map[int]bool
	more  [][]Field
}

// In returns the list that stands under a key of a map, which may be written as null too.
func In(text *document.Text, around *yaml.Node, key, list *yaml.Node) *List {
	return &List{text: text, key: key, list: list, flow: around != nil && around.Style&yaml.FlowStyle != 0, gone: make(map[int]bool)}
}

// Under returns the list under a key of a map, which is written behind its other fields where it is not there.
func Under(text *document.Text, around *yaml.Node, name string) *List {
	if key, value := node.Own(around, name); key != nil {
		return In(text, around, key, value)
	}
	l := In(text, around, nil, nil)
	l.in, l.name = around, name
	return l
}

// Nodes returns the entries that the list has.
func (l *List) Nodes() []*yaml.Node {
	if l.list == nil || l.list.Kind != yaml.SequenceNode {
		return nil
	}
	return l.list.Content
}

// Drop takes an entry out.
func (l *List) Drop(i int) { l.gone[i] = true }

// Append puts an entry behind the others, with its fields in their order.
func (l *List) Append(fields ...Field) { l.more = append(l.more, fields) }

// Set gives an entry a field, in place of the one that it has, or behind the last one it has of those before, which are in the order that
// fields are written in.
func (l *List) Set(i int, f Field, before ...string) error {
	entry := l.list.Content[i]
	if entry.Kind != yaml.MappingNode || node.Anchored(entry) {
		return ErrPlace
	}
	if _, value := node.Own(entry, f.Name); value != nil {
		s, ok := l.text.Scalar(value)
		if !ok || value.Kind != yaml.ScalarNode {
			return ErrPlace
		}
		start, end, text := s.Replace(f.Value, l.isQuoted(s.Start))
		l.edits = append(l.edits, document.Edit{Start: start, End: end, New: text})
		return nil
	}
	var key, value *yaml.Node
	for _, name := range before {
		if k, v := node.Own(entry, name); k != nil {
			key, value = k, v
		}
	}
	if key == nil {
		return ErrPlace
	}
	at, ok := l.text.Offset(key)
	end, found := l.end(value)
	if !ok || !found {
		return ErrPlace
	}
	if entry.Style&yaml.FlowStyle != 0 {
		text := ", " + f.Name + ": " + document.Plain(f.Value)
		if l.isQuoted(at) {
			text = ", " + document.Quote(f.Name) + ": " + document.Quote(f.Value)
		}
		l.edits = append(l.edits, document.Edit{Start: end, End: end, New: text})
		return nil
	}
	line := node.LineStart(l.text, key)
	margin := bytes.TrimPrefix(l.text.Bytes[line:at], []byte("\uFEFF"))
	if strings.Trim(string(margin), " -") != "" {
		return ErrPlace
	}
	l.edits = append(l.edits, l.lines(l.lineEnd(end), len(margin), f.Name+": "+document.Plain(f.Value)+"\n"))
	return nil
}

// Bytes returns the text with the edits of all its lists made.
func Bytes(text *document.Text, lists ...*List) ([]byte, error) {
	var all []document.Edit
	for _, l := range lists {
		edits, err := l.all()
		if err != nil {
			return nil, err
		}
		all = append(all, edits...)
	}
	out, ok := document.Splice(text.Bytes, all)
	if !ok {
		return nil, ErrPlace
	}
	return out, nil
}

// all returns the edits of a list.
func (l *List) all() (edits []document.Edit, err error) {
	switch items := len(l.Nodes()); {
	case len(l.gone)+len(l.more) == 0:
		return l.edits, nil
	case l.list == nil:
		return l.write()
	case node.Anchored(l.list):
		return nil, ErrPlace
	case items == 0:
		edits, err = l.fill()
	case l.list.Style&yaml.FlowStyle != 0:
		edits, err = l.flowItems()
	default:
		edits, err = l.blockItems()
	}
	return append(slices.Clone(l.edits), edits...), err
}

// write writes the list with its key.
func (l *List) write() ([]document.Edit, error) {
	last := len(l.in.Content) - 1
	if last < 0 || node.Anchored(l.in) {
		return nil, ErrPlace
	}
	end, ok := l.end(l.in.Content[last])
	at, placed := l.text.Offset(l.in.Content[last-1])
	if !ok || !placed {
		return nil, ErrPlace
	}
	var b strings.Builder
	if l.flow {
		var parts []string
		for _, fields := range l.more {
			parts = append(parts, flowText(fields, l.isQuoted(at)))
		}
		name := l.name
		if l.isQuoted(at) {
			name = document.Quote(name)
		}
		return []document.Edit{{Start: end, End: end, New: ", " + name + ": [" + strings.Join(parts, ", ") + "]"}}, nil
	}
	indent, ok := node.Indent(l.text, l.in.Content[last-1])
	if !ok {
		return nil, ErrPlace
	}
	b.WriteString(l.name + ":\n")
	for _, fields := range l.more {
		b.WriteString(blockText(fields, "- "))
	}
	return []document.Edit{l.lines(l.lineEnd(end), indent, b.String())}, nil
}

// fill gives entries to a list without any, which may be written as [], null or nothing.
func (l *List) fill() ([]document.Edit, error) {
	start, end, ok := node.Flow(l.text, l.list)
	if !ok {
		s, found := l.text.Scalar(l.list)
		if at, placed := l.text.Offset(l.list); placed && l.list.Value == "" {
			s.Start, s.End, found = at, at, true
		}
		if !found {
			return nil, ErrPlace
		}
		start, end = s.Start, s.End
	}
	if l.flow || l.key == nil && l.isJSON() {
		var parts []string
		for _, fields := range l.more {
			parts = append(parts, flowText(fields, true))
		}
		text := "[" + strings.Join(parts, ", ") + "]"
		if start > 0 && l.text.Bytes[start-1] == ':' {
			text = " " + text
		}
		return []document.Edit{{Start: start, End: end, New: text}}, nil
	}
	indent := 0
	if l.key != nil {
		if indent, ok = node.Indent(l.text, l.key); !ok {
			return nil, ErrPlace
		}
	}
	next := l.lineEnd(end)
	var b strings.Builder
	for _, fields := range l.more {
		b.WriteString(blockText(fields, "- "))
	}
	start = len(bytes.TrimRight(l.text.Bytes[:start], " \t"))
	return []document.Edit{{Start: start, End: end, New: ""}, l.lines(next, indent, b.String())}, nil
}

// isJSON reports whether the text begins with a bracket and has keys in quotes, or nothing that tells.
func (l *List) isJSON() bool {
	return bytes.HasPrefix(bytes.TrimLeft(bytes.TrimPrefix(l.text.Bytes, []byte("\uFEFF")), " \t\r\n"), []byte("{"))
}

// blockItems edits the lines of a list with dashes.
func (l *List) blockItems() ([]document.Edit, error) {
	var edits []document.Edit
	indent, dash, last := 0, "- ", 0
	for i, item := range l.list.Content {
		at, ok := l.text.Offset(item)
		end, found := l.end(item)
		start := bytes.LastIndexByte(l.text.Bytes[:at], '\n') + 1
		before := bytes.TrimPrefix(l.text.Bytes[start:at], []byte("\uFEFF"))
		mark := string(bytes.TrimLeft(before, " "))
		if !ok || !found || !strings.HasPrefix(mark, "-") || strings.Trim(mark[1:], " ") != "" {
			return nil, ErrPlace
		}
		indent, dash = len(before)-len(mark), mark
		last = l.lineEnd(end)
		if l.gone[i] {
			edits = append(edits, document.Edit{Start: start, End: last, New: ""})
		}
	}
	if len(l.gone) == len(l.list.Content) && len(l.more) == 0 {
		// A list without entries needs brackets.
		if l.key == nil {
			return nil, ErrPlace
		}
		at, ok := l.end(l.key)
		if !ok || at >= len(l.text.Bytes) || l.text.Bytes[at] != ':' {
			return nil, ErrPlace
		}
		return append(edits, document.Edit{Start: at + 1, End: at + 1, New: " []"}), nil
	}
	if len(l.more) == 0 {
		return edits, nil
	}
	var b strings.Builder
	for _, fields := range l.more {
		b.WriteString(blockText(fields, dash))
	}
	return append(edits, l.lines(last, indent, b.String())), nil
}

// flowItems edits a list in brackets. What is between two entries is what was between the first two, or before the first.
func (l *List) flowItems() ([]document.Edit, error) {
	open, closing, ok := node.Flow(l.text, l.list)
	if !ok {
		return nil, ErrPlace
	}
	var starts, ends []int
	for _, item := range l.list.Content {
		start, end, ok := node.Flow(l.text, item)
		if !ok {
			return nil, ErrPlace
		}
		starts, ends = append(starts, start), append(ends, end)
	}
	text := l.text.Bytes
	gap := string(text[open+1 : starts[0]])
	if strings.Trim(gap, " \t\r\n") != "" {
		return nil, ErrPlace
	}
	between := "," + gap
	if gap == "" {
		between = ", "
	}
	// What is left and what is new, written anew where something goes; the space around stays.
	quoted := bytes.HasPrefix(bytes.TrimLeft(text[starts[0]+1:ends[0]], " \t\r\n"), []byte(`"`))
	var more []string
	for _, fields := range l.more {
		more = append(more, flowText(fields, quoted))
	}
	end := ends[len(ends)-1]
	if len(l.gone) == 0 {
		return []document.Edit{{Start: end, End: end, New: between + strings.Join(more, between)}}, nil
	}
	var parts []string
	for i := range starts {
		if i > 0 && strings.Trim(string(text[ends[i-1]:starts[i]]), " \t\r\n,") != "" { // a comment
			return nil, ErrPlace
		}
		if !l.gone[i] {
			parts = append(parts, string(text[starts[i]:ends[i]]))
		}
	}
	if parts = append(parts, more...); len(parts) == 0 {
		return []document.Edit{{Start: open + 1, End: closing - 1, New: ""}}, nil
	}
	// What was to be edited in there is refused as an overlap.
	return []document.Edit{{Start: starts[0], End: end, New: strings.Join(parts, between)}}, nil
}

// isQuoted reports whether there are double quotes in a place of the text.
func (l *List) isQuoted(at int) bool { return bytes.HasPrefix(l.text.Bytes[at:], []byte(`"`)) }

// end returns where a value ends, without what may follow in its line.
func (l *List) end(n *yaml.Node) (int, bool) {
	if _, end, ok := node.Flow(l.text, n); ok {
		return end, true
	}
	switch {
	case n.Kind == yaml.AliasNode:
		_, end, ok := l.text.Alias(n)
		return end, ok
	case len(n.Content) > 0:
		return l.end(n.Content[len(n.Content)-1])
	case n.Kind != yaml.ScalarNode:
		return 0, false
	case n.Value == "" && n.Style == 0:
		return l.text.Offset(n)
	}
	s, ok := l.text.Scalar(n)
	return s.End, ok
}

// lineEnd returns the start of the next line.
func (l *List) lineEnd(at int) int {
	if at > 0 && l.text.Bytes[at-1] == '\n' { // behind a block of text
		return at
	}
	if n := bytes.IndexByte(l.text.Bytes[at:], '\n'); n >= 0 {
		return at + n + 1
	}
	return len(l.text.Bytes)
}

// lines is the edit that puts lines at the start of a line, or at the end of the text.
func (l *List) lines(at, indent int, lines string) document.Edit {
	return document.Insert(l.text.Bytes, at, indent, lines)
}

// blockText writes an entry in block style.
func blockText(fields []Field, dash string) string {
	var b strings.Builder
	for i, f := range fields {
		if i == 0 {
			b.WriteString(dash)
		} else {
			b.WriteString(strings.Repeat(" ", len(dash)))
		}
		b.WriteString(f.Name + ": " + document.Plain(f.Value) + "\n")
	}
	return b.String()
}

// flowText writes an entry in braces.
func flowText(fields []Field, quoted bool) string {
	write := document.Plain
	if quoted {
		write = document.Quote
	}
	var parts []string
	for _, f := range fields {
		parts = append(parts, write(f.Name)+": "+write(f.Value))
	}
	return "{" + strings.Join(parts, ", ") + "}"
}
