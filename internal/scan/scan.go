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

	text   []byte
	pos    int
	levels []level
	path   []Step // one for each level
	steps  []Step // of the paths of Fields
	sizes  []int  // the length of each path, while steps may still move
	done   bool
	wait   bool // the value of the innermost level is yet to come
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
// the rest of the text is not looked at, and Fields are those so far. stop may be nil.
func (s *Scanner) Scan(text []byte, wanted func(path []Step) bool, stop func(key, value []byte, plain bool) bool) bool {
	s.Fields, s.steps, s.sizes, s.levels = s.Fields[:0], s.steps[:0], s.sizes[:0], s.levels[:0]
	s.path = s.path[:0]
	s.text, s.pos, s.wait, s.done = text, 0, false, false
	d := document{s, wanted, stop}
	if !d.lines() {
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
	s.text = nil
}

// document has the functions of one Scan.
type document struct {
	*Scanner
	wanted func(path []Step) bool
	stop   func(key, value []byte, plain bool) bool
}

// lines scans the text line by line.
func (d document) lines() bool {
	if start := bytes.TrimLeft(d.text, " \n"); len(start) > 0 && (start[0] == '{' || start[0] == '[') {
		d.pos = len(d.text) - len(start)
		return d.flow() && d.nothing()
	}
	for d.pos < len(d.text) {
		start := d.pos
		d.spaces()
		if d.pos == len(d.text) || d.text[d.pos] == '\n' || d.text[d.pos] == '#' {
			if !d.lineEnd() {
				return false
			}
			continue
		}
		if !d.line(start) {
			return false
		}
		if d.done {
			return true
		}
	}
	return len(d.levels) > 0
}

// nothing reports whether only white space and comments follow.
func (d document) nothing() bool {
	for d.pos < len(d.text) {
		if !d.lineEnd() {
			return false
		}
	}
	return true
}

// line scans a line from its first character on, and the following ones where a scalar
// or a flow collection goes on there.
func (d document) line(start int) bool {
	column := d.pos - start
	dash := d.dash()
	key, end := d.key()
	if !dash && end == 0 {
		return d.own(column)
	}
	if !d.open(column, dash) {
		return false
	}
	for d.dash() {
		d.path[len(d.path)-1].Index++
		d.pos++
		d.spaces()
		d.wait = true
		if d.pos == len(d.text) || d.text[d.pos] == '\n' || d.text[d.pos] == '#' {
			return d.lineEnd()
		}
		if d.dash() {
			if !d.push(d.pos-start, true) {
				return false
			}
			continue
		}
		if key, end := d.key(); end > 0 {
			if !d.push(d.pos-start, false) {
				return false
			}
			return d.entry(key, end)
		}
		return d.value(nil)
	}
	return d.entry(key, end)
}

// own reads a value that starts on a line of its own, further in than its key or dash.
func (d document) own(column int) bool {
	if !d.wait || d.levels[len(d.levels)-1].column >= column {
		return false
	}
	return d.value(d.path[len(d.path)-1].Key)
}

// dash reports whether an item of a list starts here.
func (d document) dash() bool {
	return d.pos < len(d.text) && d.text[d.pos] == '-' &&
		(d.pos+1 == len(d.text) || d.text[d.pos+1] == ' ' || d.text[d.pos+1] == '\n')
}

// open closes the levels that a line with its first character in a column ends, and
// opens the one that it begins, if any.
func (d document) open(column int, list bool) bool {
	closed := false
	for len(d.levels) > 0 && d.levels[len(d.levels)-1].column > column {
		d.pop()
		closed = true
	}
	wait := d.wait && !closed
	d.wait = false
	if len(d.levels) == 0 {
		return !closed && column == 0 && d.push(0, list)
	}
	top := d.levels[len(d.levels)-1]
	switch {
	case top.column < column:
		return wait && d.push(column, list)
	case top.list == list:
		return true
	case list: // a list that is not further in than the key it belongs to
		return wait && d.push(column, true)
	}
	// A key behind such a list. The list itself may end only here.
	d.pop()
	return len(d.levels) > 0 && d.levels[len(d.levels)-1].column == column && !d.levels[len(d.levels)-1].list
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

// key returns the key at the position, without quotes, and the offset behind its colon. The
// offset is 0 where there is no key, or none that Scan knows.
func (d document) key() (key []byte, end int) {
	rest := d.text[d.pos:]
	if len(rest) > maxKey {
		rest = rest[:maxKey]
	}
	n := 0
	switch c := first(rest); {
	case c == '"' || c == '\'':
		close := bytes.IndexByte(rest[1:], c)
		if close < 0 {
			return nil, 0
		}
		key = rest[1 : 1+close]
		for _, b := range key {
			if b < ' ' || b > '~' || b == '\\' {
				return nil, 0
			}
		}
		n = close + 2
	case class[c]&keyFirst != 0:
		for n < len(rest) && class[rest[n]]&keyNext != 0 {
			n++
		}
		key = rest[:n]
	default:
		return nil, 0
	}
	if string(key) == "..." {
		return nil, 0 // the end of a document, perhaps
	}
	for n < len(rest) && rest[n] == ' ' {
		n++
	}
	if n >= len(rest) || rest[n] != ':' {
		return nil, 0
	}
	end = d.pos + n + 1
	if n+1 == maxKey || end < len(d.text) && d.text[end] != ' ' && d.text[end] != '\n' {
		return nil, 0
	}
	return key, end
}

func first(b []byte) byte {
	if len(b) == 0 {
		return 0
	}
	return b[0]
}

// entry reads the value of a key, from behind its colon on.
func (d document) entry(key []byte, end int) bool {
	d.path[len(d.path)-1].Key = key
	d.pos = end
	d.spaces()
	if d.pos == len(d.text) || d.text[d.pos] == '\n' || d.text[d.pos] == '#' {
		d.wait = true
		return d.lineEnd()
	}
	return d.value(key)
}

// value reads a value that starts on the line of its key or dash. The key is nil in a list.
func (d document) value(key []byte) bool {
	d.wait = false
	switch d.text[d.pos] {
	case '|', '>':
		return !d.want(key) && d.block()
	case '"', '\'':
		return d.quoted(key) && d.lineEnd()
	case '[', '{':
		return d.flow() && d.lineEnd()
	}
	return d.plain(key)
}

// want reports whether the field with that key at the position is wanted.
func (d document) want(key []byte) bool {
	return key != nil && d.wanted(d.path)
}

// found notes a scalar, and reports whether it is one that Scan can give to the byte
// where it is wanted.
func (d document) found(key []byte, start, end int, style Style, verbatim bool) bool {
	if !d.want(key) {
		return true
	}
	if !verbatim {
		return false
	}
	d.Fields = append(d.Fields, Field{Start: start, End: end, Style: style})
	d.steps = append(d.steps, d.path...)
	d.sizes = append(d.sizes, len(d.path))
	if len(d.path) == 1 && d.stop != nil && d.stop(key, d.text[start:end], style == Plain) {
		d.done = true
	}
	return true
}

// marker reports whether a document's start or end is at an offset, at the start of a line.
func (s *Scanner) marker(at int) bool {
	rest := s.text[at:]
	return len(rest) >= 3 && (string(rest[:3]) == "---" || string(rest[:3]) == "...") &&
		(len(rest) == 3 || rest[3] == ' ' || rest[3] == '\t' || rest[3] == '\n')
}

// spaces moves behind spaces.
func (s *Scanner) spaces() {
	text, i := s.text, s.pos
	for i < len(text) && text[i] == ' ' {
		i++
	}
	s.pos = i
}

// lineEnd moves behind the line break, over spaces and a comment. It is false where
// anything else is left of the line.
func (s *Scanner) lineEnd() bool {
	start := s.pos
	s.spaces()
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
