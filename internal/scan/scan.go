// SPDX-License-Identifier: Apache-2.0

// Package scan finds the scalars under some keys of a YAML or JSON document without
// building its tree.
//
// It knows the YAML that programs and people write manifests in: block style with simple
// keys, scalars in every notation, flow style. What it does not know, or what may be no
// YAML, it declines, and the YAML parser has the word. What it accepts, the YAML
// parser accepts too, and finds the same: the tests hold the two together on all
// kinds of text. So each rule here is the parser's rule, or narrower.
//
// Declined are anchors, aliases, tags, explicit keys, directives, tabs outside of quotes and
// blocks, carriage returns, and keys with spaces or escapes.
package scan

import "bytes"

// A Step is one step of a path: the key of a map, or the index in a list.
type Step struct {
	Key   []byte // part of the text, without quotes; nil for an item of a list
	Index int
}

// A Style is the notation of a scalar.
type Style byte

const (
	Plain Style = iota
	SingleQuoted
	DoubleQuoted
)

// A Field is a scalar with its key. Its value is Text[Start:End], to the byte.
type Field struct {
	Path       []Step // the key is the last one; valid until the next Scan
	Start, End int    // of the value in the text, within quotes
	Style      Style
}

// A Scanner scans one document after the other. The zero Scanner is ready for use.
type Scanner struct {
	Fields []Field // what the last Scan found, in the order of the text

	wanted func(path []Step) bool
	stop   func(key, value []byte, plain bool) bool

	text   []byte
	pos    int
	levels []level
	path   []Step // one for each level
	steps  []Step // of the paths of Fields
	sizes  []int  // the length of each path, while steps may still move
	done   bool
	wait   bool // the value of the innermost level is yet to come
	more   bool // the last scalar may go on in lines further in than the innermost level
}

// A level is an open map or list.
type level struct {
	column int // in bytes, from 0; -1 in flow style
	list   bool
}

// maxKey is shorter than what YAML allows for a key on one line.
const maxKey = 512

// maxLevels is how many maps and lists may stand in each other.
const maxLevels = 500

// Scan finds the fields of the one document that text holds whose paths are wanted. It
// returns false where it declines the text; Fields are then of no use.
//
// As soon as a scalar of the outermost map has been read and stop says so, Scan is done:
// the rest of the text is not looked at, but for whether the scalar goes on in the next line, and
// Fields are those so far. stop may be nil.
func (s *Scanner) Scan(text []byte, wanted func(path []Step) bool, stop func(key, value []byte, plain bool) bool) bool {
	s.Fields, s.steps, s.sizes, s.levels = s.Fields[:0], s.steps[:0], s.sizes[:0], s.levels[:0]
	s.path = s.path[:0]
	s.text, s.pos, s.wait, s.more, s.done = text, 0, false, false, false
	s.wanted, s.stop = wanted, stop
	if !s.lines() {
		return false
	}
	at := 0
	for i, n := range s.sizes {
		s.Fields[i].Path = s.steps[at : at+n]
		at += n
	}
	return true
}

// Room returns how many fields and steps the scanner keeps room for.
func (s *Scanner) Room() int { return cap(s.Fields) + cap(s.steps) }

// Forget lets go of the text of the last Scan, and keeps the room for the next.
func (s *Scanner) Forget() {
	clear(s.Fields[:cap(s.Fields)])
	clear(s.steps[:cap(s.steps)])
	clear(s.path[:cap(s.path)])
	s.text, s.wanted, s.stop = nil, nil, nil
}

// lines scans the text line by line.
func (s *Scanner) lines() bool {
	if start := bytes.TrimLeft(s.text, " \n"); len(start) > 0 && (start[0] == '{' || start[0] == '[') {
		s.pos = len(s.text) - len(start)
		return s.flow() && s.nothing()
	}
	for s.pos < len(s.text) {
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
			if s.pos = at; !s.lineEnd() {
				return false
			}
			continue
		}
		inner := len(s.levels) > 0 && s.levels[len(s.levels)-1].column < column
		if c := s.text[at]; s.done {
			return !inner && c <= '~' && c != '\r' // or the scalar that stopped the scan may go on here
		}
		ok := false
		if more && inner {
			ok = s.plainLine(at) > 0 && s.plainEnd()
		} else {
			ok = s.line(column, at)
		}
		if !ok {
			return false
		}
	}
	return len(s.levels) > 0
}

// nothing reports whether only white space and comments follow.
func (s *Scanner) nothing() bool {
	for s.pos < len(s.text) {
		if !s.lineEnd() {
			return false
		}
	}
	return true
}

// line scans a line whose first character is at an offset and in a column, and the
// following lines where a value in quotes, a block scalar or a flow collection goes on there.
func (s *Scanner) line(column, at int) bool {
	for s.text[at] == '-' && (at+1 == len(s.text) || s.text[at+1] == ' ' || s.text[at+1] == '\n') {
		if !s.open(column, true) {
			return false
		}
		s.path[len(s.path)-1].Index++
		s.wait = true
		n := 1 + spaces(s.text[at+1:])
		column += n
		if at += n; s.bare(at) {
			s.pos = at
			return s.lineEnd()
		}
	}
	key, n := keyOf(s.text[at:])
	if n == 0 { // a value further in than its key or dash
		return s.wait && s.levels[len(s.levels)-1].column < column && s.value(s.path[len(s.path)-1].Key, at)
	}
	if n := len(s.levels) - 1; n < 0 || s.levels[n] != (level{column, false}) { // as most are
		if !s.open(column, false) {
			return false
		}
	}
	s.path[len(s.path)-1].Key = key
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
	return s.value(key, at)
}

// bare reports whether a line has nothing but a comment from an offset on.
func (s *Scanner) bare(at int) bool {
	return at == len(s.text) || s.text[at] == '\n' || s.text[at] == '#'
}

// open closes the levels that a line with its first character in a column ends, and
// opens the one that it begins, if any.
func (s *Scanner) open(column int, list bool) bool {
	closed := false
	for len(s.levels) > 0 && s.levels[len(s.levels)-1].column > column {
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
	case top.column < column:
		return wait && s.push(column, list)
	case top.list == list:
		return true
	case list: // a list that is not further in than the key it belongs to
		return wait && s.push(column, true)
	}
	// A key behind such a list. The list itself may end only here.
	s.pop()
	return len(s.levels) > 0 && s.levels[len(s.levels)-1].column == column && !s.levels[len(s.levels)-1].list
}

func (s *Scanner) push(column int, list bool) bool {
	s.levels = append(s.levels, level{column: column, list: list})
	s.path = append(s.path, Step{Index: -1})
	return len(s.levels) <= maxLevels
}

func (s *Scanner) pop() {
	s.levels = s.levels[:len(s.levels)-1]
	s.path = s.path[:len(s.path)-1]
}

// keyOf returns the key at the start of a text, without quotes, and the length of it and its
// colon. That is 0 where there is no key, or none that Scan knows.
func keyOf(text []byte) (key []byte, end int) {
	n := 0
	switch c := text[0]; {
	case class[c]&keyFirst != 0:
		n = keyBytes(text)
		key = text[:n]
		if string(key) == "..." {
			return nil, 0 // the end of a document, perhaps
		}
	case c == '"' || c == '\'':
		close := bytes.IndexByte(text[1:min(len(text), maxKey)], c)
		if close < 0 {
			return nil, 0
		}
		key = text[1 : 1+close]
		for _, b := range key {
			if b < ' ' || b > '~' || b == '\\' {
				return nil, 0
			}
		}
		n = close + 2
	default:
		return nil, 0
	}
	for n < len(text) && text[n] == ' ' {
		n++
	}
	if n >= len(text) || text[n] != ':' {
		return nil, 0
	}
	if n++; n >= maxKey || n < len(text) && text[n] != ' ' && text[n] != '\n' {
		return nil, 0
	}
	return key, n
}

// value reads a value at an offset, on the line of its key or dash or on one of its own. The key
// is nil in a list.
func (s *Scanner) value(key []byte, at int) bool {
	s.wait = false
	text := s.text
	if class[text[at]]&plainFirst != 0 { // to the end of the line, as nearly all are
		if end := at + plainBytes(text[at:]); end < len(text) && text[end] == '\n' && text[end-1] != ' ' {
			s.pos, s.more = end+1, true
			return s.found(key, at, end, Plain, true)
		}
	}
	s.pos = at
	switch text[at] {
	case '|', '>':
		return !s.want(key) && s.block()
	case '"', '\'':
		return s.quoted(key) && s.lineEnd()
	case '[', '{':
		return s.flow() && s.lineEnd()
	}
	return s.plain(key)
}

// want reports whether the field with that key at the position is wanted.
func (s *Scanner) want(key []byte) bool {
	return key != nil && s.wanted(s.path)
}

// found notes a scalar, and reports whether it is one that Scan can give to the byte
// where it is wanted.
func (s *Scanner) found(key []byte, start, end int, style Style, verbatim bool) bool {
	if !s.want(key) {
		return true
	}
	if !verbatim {
		return false
	}
	s.more = false // if it does, that is no key
	s.Fields = append(s.Fields, Field{Start: start, End: end, Style: style})
	s.steps = append(s.steps, s.path...)
	s.sizes = append(s.sizes, len(s.path))
	if len(s.path) == 1 && s.stop != nil && s.stop(key, s.text[start:end], style == Plain) {
		s.done = true
	}
	return true
}

// marker reports whether a document's start or end is at an offset, at the start of a line.
func (s *Scanner) marker(at int) bool {
	rest := s.text[at:]
	return len(rest) >= 3 && (string(rest[:3]) == "---" || string(rest[:3]) == "...") &&
		(len(rest) == 3 || rest[3] == ' ' || rest[3] == '\t' || rest[3] == '\n')
}

// lineEnd moves behind the line break, over spaces and a comment. It is false where
// anything else is left of the line.
func (s *Scanner) lineEnd() bool {
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
