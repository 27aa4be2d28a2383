// SPDX-License-Identifier: Apache-2.0

package manifest

import (
	"bytes"
	"unsafe"

	"go.yaml.in/yaml/v3"

	"github.com/cozystack/image-overrides/internal/manifest/document"
	"github.com/cozystack/image-overrides/internal/manifest/paths"
)

// A scanner tells the scalars of a document without building its tree.
//
// It knows the YAML that programs and people write manifests in: block style with simple
// keys, scalars in every notation, flow style. What it does not know, or what may be no
// YAML, it declines, and the YAML parser has the word. What it accepts, the YAML
// parser accepts too, and finds the same: the tests hold the two together on all
// kinds of text. So each rule here is the parser's rule, or narrower.
//
// Declined are anchors, aliases, tags, explicit keys, directives, tabs outside of quotes and
// blocks, carriage returns, and line breaks that only YAML 1.1 has. Where an item of a list object is
// declined, only the item is left to the parser.
type scanner struct {
	rules   *paths.Rules           // nil: none
	all     bool                   // all scalars are told
	skip    func(kind string) bool // nil: none
	visitor Visitor
	again   func(start, end int) bool // tells an item of a list object by the parser, between two offsets

	text     []byte
	pos      int
	levels   []level
	path     []paths.Step // one for each level
	done     bool         // the rest need not be looked at
	wait     bool         // the value of the innermost level is yet to come
	more     bool         // the last scalar may go on in lines further in than the innermost level
	pend     bool         // the last scalar was not told yet, since it may go on
	inQuotes bool         // the last key in flow style is in double quotes

	keyQuoted bool // that key is in quotes of either kind

	listing listing
	base    int  // how many levels are around the object
	items   int  // where the item begins that is being read
	object  Name // that is being read
	kind    bool // its kind is known
	void    bool // nothing of it is told

	keys keySet
	ids  uint32 // of levels so far
	odd  bool   // see [Reader.Odd]

	scalar Scalar
	found  spot // where the scalar stands
	edits  []document.Edit
	marked int // the edits of objects that have ended
}

// listing says what is known of whether the document is a list object.
type listing byte

const (
	unknown listing = iota
	assumed         // it has items, and its kind is not known yet
	isList
	isNone
)

// A level is an open map or list.
type level struct {
	state  paths.State
	id     uint32
	column int32 // in bytes, from 0; -1 in flow style
	list   bool
	whole  bool // its items are objects
}

// A spot is where a scalar stands.
type spot struct {
	start, end int // of the value, within quotes; of a block from its header on
	style      style
	verbatim   bool // the bytes are the value
	json       bool // the notation around it is JSON's
}

// A style is a notation of scalars.
type style byte

const (
	plain style = iota
	singleQuoted
	doubleQuoted
	block
)

// maxKey is shorter than what YAML allows for a key on one line.
const maxKey = 512

// maxLevels is how many maps and lists may stand in each other.
const maxLevels = 500

// scan tells the scalars of the one document that text holds. It returns false where it declines the text at pos; what it told is
// then void.
//
// As soon as the outermost map has a kind that is skipped, scan is done: the rest of the text is not looked at, but for whether the
// kind goes on in the next line.
func (s *scanner) scan(text []byte) bool {
	if s.whole(text, unknown) {
		return true
	}
	// The items of what is no list object, before its kind.
	return s.listing == isNone && s.whole(text, isNone)
}

// whole is scan with or without what is known of the text.
func (s *scanner) whole(text []byte, l listing) bool {
	s.text, s.pos, s.wait, s.more, s.pend, s.done = text, 0, false, false, false, false
	s.levels, s.path, s.edits, s.marked = s.levels[:0], s.path[:0], s.edits[:0], 0
	s.listing = l
	if s.all {
		s.keys.reset()
	}
	s.visitor.Begin()
	s.begin(0)
	if !s.lines() {
		return false
	}
	if s.flush(); s.listing == assumed {
		s.listing = isNone
		return false
	}
	if s.listing != isList {
		s.end()
	}
	return true
}

// begin begins an object with so many levels around it.
func (s *scanner) begin(base int) {
	s.base, s.kind, s.void = base, false, false
	s.object.parts = Object{}
	s.edits = s.edits[:s.marked]
	s.visitor.Object()
}

// end ends the object.
func (s *scanner) end() {
	if !s.void {
		s.marked = len(s.edits)
		s.visitor.End(&s.object)
	}
	s.void = true
}

// forget lets go of the text of the last scan, and keeps the room for the next.
func (s *scanner) forget() {
	clear(s.path[:cap(s.path)])
	clear(s.edits[:cap(s.edits)])
	s.text, s.visitor, s.again = nil, nil, nil
	s.object, s.scalar = Name{}, Scalar{}
}

// lines scans the text line by line.
func (s *scanner) lines() bool {
	if start := bytes.TrimLeft(s.text, " \n"); len(start) > 0 && (start[0] == '{' || start[0] == '[') {
		s.pos = len(s.text) - len(start)
		return s.flow() && s.nothing()
	}
	for s.pos < len(s.text) {
		start := s.pos
		column := spaces(s.text[s.pos:])
		at := s.pos + column
		if at == len(s.text) {
			break
		}
		if s.text[at] == '\n' {
			s.pos = at + 1
			continue
		}
		more := s.more
		s.more = false
		if s.text[at] == '#' {
			if s.pend {
				s.flush()
			}
			if s.pos = at; !s.lineEnd() {
				return false
			}
			continue
		}
		if column == 0 && s.text[at] == '.' && s.marker(at) { // of a document's end, with which the piece ends
			if s.pos = at + len("..."); !s.nothing() {
				return false
			}
			break
		}
		inner := len(s.levels) > 0 && int(s.levels[len(s.levels)-1].column) < column
		if c := s.text[at]; s.done {
			return !inner && c <= '~' && c != '\r' // or the scalar that stopped the scan may go on here
		}
		ok := false
		if more && inner {
			ok = s.goesOn(at)
		} else {
			if s.pend {
				s.flush()
			}
			ok = s.line(column, at)
		}
		if !ok && !s.blockItemAgain(start) {
			return false
		}
	}
	if s.pend {
		s.flush()
	}
	document := len(s.levels) > 0
	for len(s.levels) > 0 {
		s.pop()
	}
	return document
}

// nothing reports whether only white space and comments follow.
func (s *scanner) nothing() bool {
	for s.pos < len(s.text) {
		if !s.lineEnd() {
			return false
		}
	}
	return true
}

// line scans a line whose first character is at an offset and in a column, and the
// following lines where a value in quotes, a block scalar or a flow collection goes on there.
func (s *scanner) line(column, at int) bool {
	start := at
	for s.text[at] == '-' && (at+1 == len(s.text) || s.text[at+1] == ' ' || s.text[at+1] == '\n') {
		if !s.open(column, true) {
			return false
		}
		s.item(start)
		s.wait = true
		n := 1 + spaces(s.text[at+1:])
		column += n
		if at += n; s.bare(at) {
			s.pos = at
			return s.lineEnd()
		}
	}
	key, n := keyOf(s.text[at:])
	if n == 0 {
		key, n = oddKey(s.text[at:])
	}
	if n == 0 { // a value further in than its key or dash
		return s.wait && int(s.levels[len(s.levels)-1].column) < column && s.value(at)
	}
	if n := len(s.levels) - 1; n < 0 || s.levels[n].list || int(s.levels[n].column) != column { // as few are
		if !s.open(column, false) {
			return false
		}
	}
	s.path[len(s.path)-1].Key = key
	if s.all {
		s.key(key, s.text[at] == '"' || s.text[at] == '\'')
	}
	if at += n; at+1 < len(s.text) && s.text[at] == ' ' && s.text[at+1] != ' ' {
		at++
	} else {
		at += spaces(s.text[at:])
	}
	if s.bare(at) {
		s.wait = true
		s.pos = at
		return s.lineEnd()
	}
	return s.value(at)
}

// item goes to the next item of the innermost level, which is a list, and begins at an offset.
func (s *scanner) item(at int) {
	top := len(s.levels) - 1
	s.path[top].Item++
	if s.levels[top].whole {
		s.end()
		s.items = at
		s.begin(top + 1)
	}
}

// bare reports whether a line has nothing but a comment from an offset on.
func (s *scanner) bare(at int) bool {
	return at == len(s.text) || s.text[at] == '\n' || s.text[at] == '#'
}

// open closes the levels that a line with its first character in a column ends, and
// opens the one that it begins, if any.
func (s *scanner) open(column int, list bool) bool {
	closed := false
	for len(s.levels) > 0 && int(s.levels[len(s.levels)-1].column) > column {
		s.pop()
		closed = true
	}
	wait := s.wait && !closed
	s.wait = false
	if len(s.levels) == 0 {
		return !closed && column == 0 && s.push(0, list)
	}
	top := s.levels[len(s.levels)-1]
	switch {
	case int(top.column) < column:
		return wait && s.push(column, list)
	case top.list == list:
		return true
	case list: // a list that is not further in than the key it belongs to
		return wait && s.push(column, true)
	}
	// A key behind such a list. The list itself may end only here.
	s.pop()
	return len(s.levels) > 0 && int(s.levels[len(s.levels)-1].column) == column && !s.levels[len(s.levels)-1].list
}

// push opens a level. It is false where there are too many, and where a list object stands in another.
func (s *scanner) push(column int, list bool) bool {
	n := len(s.levels)
	if s.all {
		s.inside(list)
	}
	s.ids++
	l := level{id: s.ids, column: int32(column), list: list}
	if s.rules != nil {
		switch {
		case n == 0 || s.levels[n-1].whole:
			l.state = s.rules.Root()
		case s.levels[n-1].list:
			l.state = s.rules.Item(s.levels[n-1].state)
		default:
			l.state = s.rules.Key(s.levels[n-1].state, s.path[n-1].Key)
		}
	}
	if list && n == s.base+1 && !s.levels[n-1].list && s.path[n-1].Key == "items" && !s.pushItems(&l) {
		return false
	}
	s.levels = append(s.levels, l)
	s.path = append(s.path, paths.Step{Item: -1})
	return n < maxLevels
}

// pushItems looks at the list that an object has as its items.
func (s *scanner) pushItems(l *level) bool {
	if s.base > 0 {
		return s.kind && !IsList(s.object.parts.Kind)
	}
	switch {
	case s.listing == isNone:
		return true
	case !s.kind:
		s.listing = assumed
	case IsList(s.object.parts.Kind):
		s.listing = isList
	default:
		return true
	}
	l.whole = true
	s.begin(0)
	s.void = true // what else the list object holds
	return true
}

func (s *scanner) pop() {
	n := len(s.levels) - 1
	if s.levels[n].whole {
		s.end()
	}
	s.levels = s.levels[:n]
	s.path = s.path[:n]
}

// blockItemAgain has the item of a list object that could not be scanned told by the parser, and goes on behind it. The
// item ends in front of the first line that is no further in than its dash; had the parser got all of the text, it would
// be in the same place there, or the item by itself is no YAML. The line that could not be scanned starts at an offset.
func (s *scanner) blockItemAgain(line int) bool {
	if len(s.levels) < 2 || !s.levels[1].whole || s.levels[1].column < 0 || s.again == nil {
		return false
	}
	start := s.items - int(s.levels[1].column)
	end := s.items
	for {
		i := bytes.IndexByte(s.text[end:], '\n')
		if i < 0 {
			end = len(s.text)
			break
		}
		end += i + 1
		column := spaces(s.text[end:])
		if at := end + column; at < len(s.text) && column <= int(s.levels[1].column) && s.text[at] != '\n' && s.text[at] != '#' {
			break
		}
	}
	return line < end && s.itemAgain(start, end)
}

// itemAgain has the item told by the parser.
func (s *scanner) itemAgain(start, end int) bool {
	s.edits = s.edits[:s.marked]
	if s.again == nil || !s.again(start, end) {
		return false
	}
	s.marked = len(s.edits)
	s.levels, s.path = s.levels[:2], s.path[:2]
	s.base, s.void = 2, true
	s.pos, s.wait, s.more, s.pend = end, false, false, false
	return true
}

// value reads a value at an offset, on the line of its key or dash or on one of its own.
func (s *scanner) value(at int) bool {
	s.wait = false
	text := s.text
	if class[text[at]]&plainFirst != 0 { // to the end of the line, as nearly all are
		if end := at + plainBytes(text[at:]); end < len(text) && text[end] == '\n' && text[end-1] != ' ' {
			s.pos, s.more = end+1, true
			return s.tell(at, end, plain, true)
		}
	}
	s.pos = at
	switch text[at] {
	case '|', '>':
		if !s.all {
			return !s.wanted() && s.block()
		}
		return s.block() && s.tell(at, s.pos, block, false)
	case '"', '\'':
		return s.quotes() && s.lineEnd()
	case '[', '{':
		return s.flow() && s.lineEnd()
	}
	return s.plain()
}

// goesOn reads one more line of a scalar without quotes.
func (s *scanner) goesOn(at int) bool {
	end := s.plainLine(at)
	if s.pend {
		s.found.end, s.found.verbatim = end, false
	}
	return end > 0 && s.plainEnd()
}

// wanted reports whether the value of the last key may be of interest, and has to be known to the byte.
func (s *scanner) wanted() bool {
	top := len(s.levels) - 1
	if s.levels[top].list {
		return false
	}
	key := s.path[top].Key
	return s.names(key) || s.rules != nil && s.rules.May(key) && s.rules.Any(s.rules.Key(s.levels[top].state, key))
}

// names reports whether an object is known by the last key's value.
func (s *scanner) names(key string) bool {
	top := len(s.levels) - 1
	switch key {
	case "kind":
		return top == s.base || top == 0 && s.listing == assumed
	case "apiVersion":
		return top == s.base
	case "name", "namespace":
		return top == s.base+1 && s.path[s.base].Key == "metadata"
	}
	return false
}

// name notes what the object is called.
func (s *scanner) name(key string, start, end int, style style) bool {
	value := text(s.text[start:end])
	if value == "" || style == plain && isNull(value) {
		return true
	}
	top := len(s.levels) - 1
	if top == 0 && s.listing == assumed && key == "kind" { // that of a list object, behind its items
		if s.listing = isNone; IsList(value) {
			s.listing = isList
		}
		return s.listing == isList
	}
	o := &s.object.parts
	switch {
	case key == "kind" && !s.kind:
		s.kind = true
		o.Kind = value
		if s.skip != nil && s.skip(value) {
			s.void = true
			s.done = s.base == 0
		}
	case key == "apiVersion" && o.APIVersion == "":
		o.APIVersion = value
	case key == "name" && o.Name == "":
		o.Name = value
	case key == "namespace" && o.Namespace == "":
		o.Namespace = value
	}
	return true
}

// isNull reports whether a scalar without quotes is null.
func isNull(s string) bool {
	switch s {
	case "", "~", "null", "Null", "NULL":
		return true
	}
	return false
}

// text returns bytes of a document as a string, which changes when they do.
func text(b []byte) string { return unsafe.String(unsafe.SliceData(b), len(b)) }

// tell tells a scalar, unless nobody asks for it. It is false for one that has to be known to the byte, and is not.
func (s *scanner) tell(start, end int, style style, verbatim bool) bool {
	top := len(s.levels) - 1
	var state paths.State
	if !s.levels[top].list {
		key := s.path[top].Key
		switch len(key) {
		case 4, 9, 10: // kind, name, namespace, apiVersion
			if s.names(key) {
				s.more = false // if it does, that is no name
				if !verbatim || !s.name(key, start, end, style) {
					return false
				}
			}
		}
		switch {
		case s.rules == nil:
		case s.all:
			state = s.rules.Key(s.levels[top].state, key)
		default:
			if !s.rules.May(key) {
				return true
			}
			if state = s.rules.Key(s.levels[top].state, key); !s.rules.Any(state) {
				return true
			}
			if s.more = false; !verbatim {
				return false
			}
		}
	} else if !s.all {
		return true
	} else if s.rules != nil {
		state = s.rules.Item(s.levels[top].state)
	}
	if s.all && style == plain {
		s.number(start, end)
	}
	if s.void || s.levels[top].whole || start == end && style == plain {
		return true
	}
	s.found = spot{start, end, style, verbatim, s.levels[top].column < 0 && s.inQuotes}
	s.scalar.State = state
	if s.pend = s.all && s.more; !s.pend {
		s.pend = true
		s.flush()
	}
	return true
}

// flush tells a scalar that might have gone on.
func (s *scanner) flush() {
	if !s.pend {
		return
	}
	s.pend = false
	f := &s.found
	s.scalar.source, s.scalar.path, s.scalar.base = s, s.path, s.base
	if s.scalar.ready = f.verbatim && (s.base == 0 || f.style != plain); s.scalar.ready {
		s.scalar.text = text(s.text[f.start:f.end])
	}
	s.visitor.Scalar(&s.scalar)
}

// marker reports whether a document's start or end is at an offset, at the start of a line.
func (s *scanner) marker(at int) bool {
	rest := s.text[at:]
	return len(rest) >= 3 && (string(rest[:3]) == "---" || string(rest[:3]) == "...") &&
		(len(rest) == 3 || rest[3] == ' ' || rest[3] == '\t' || rest[3] == '\n')
}

// lineEnd moves behind the line break, over spaces and a comment. It is false where
// anything else is left of the line.
func (s *scanner) lineEnd() bool {
	if s.pos < len(s.text) && s.text[s.pos] == '\n' {
		s.pos++
		return true
	}
	start := s.pos
	s.pos += spaces(s.text[s.pos:])
	if s.pos < len(s.text) && s.text[s.pos] == '#' {
		if s.pos == start && start > 0 && s.text[start-1] != ' ' && s.text[start-1] != '\n' {
			return false // it would need a space in front
		}
		end := bytes.IndexByte(s.text[s.pos:], '\n')
		if end < 0 {
			end = len(s.text) - s.pos
		}
		if !printable(s.text[s.pos : s.pos+end]) {
			return false
		}
		s.pos += end
	}
	if s.pos == len(s.text) {
		return true
	}
	if s.text[s.pos] != '\n' {
		return false
	}
	s.pos++
	return true
}

// decode returns the text of the scalar that is being told.
func (s *scanner) decode() string {
	f := &s.found
	value := text(s.text[f.start:f.end])
	if !f.verbatim {
		value = decode(s.text[f.start:f.end], f.style)
	}
	if f.style == plain && s.base > 0 && !document.IsPlain(value) {
		value = throughJSON(&yaml.Node{Kind: yaml.ScalarNode, Value: value})
	}
	return value
}

// node is the scalar as the parser has it, where it may be no string.
func (s *scanner) node() *yaml.Node {
	f := &s.found
	if f.style != plain {
		return nil
	}
	if f.verbatim {
		return &yaml.Node{Kind: yaml.ScalarNode, Value: text(s.text[f.start:f.end])}
	}
	return &yaml.Node{Kind: yaml.ScalarNode, Value: decode(s.text[f.start:f.end], plain)}
}

// places puts the offsets of bytes of its text in their place.
func (s *scanner) places(at []int) {
	f := &s.found
	if !f.verbatim {
		places(s.text[f.start:f.end], f.style, f.start, "", at)
		return
	}
	for i := range at {
		at[i] = min(f.start+at[i], f.end)
	}
}

// replace notes what the scalar is to become.
func (s *scanner) replace(text string) {
	f := &s.found
	if !f.verbatim {
		panic("manifest: a scalar is replaced that is not known to the byte")
	}
	style := yaml.Style(0)
	switch f.style {
	case singleQuoted:
		style = yaml.SingleQuotedStyle
	case doubleQuoted:
		style = yaml.DoubleQuotedStyle
	}
	start, end, text := document.Verbatim(f.start, f.end, style).Replace(text, f.json)
	s.edits = append(s.edits, document.Edit{Start: start, End: end, New: text})
}
