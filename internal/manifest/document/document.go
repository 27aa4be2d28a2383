// SPDX-License-Identifier: Apache-2.0

// Package document reads streams of YAML and JSON documents so that their bytes
// can be changed in place: it cuts a stream into documents, parses one with the
// YAML parser that kustomize uses, finds the bytes that a scalar of the parsed
// tree was written with, and writes another value in the same notation.
//
// What it cannot find, it does not guess: see [Text.Scalar].
package document

import (
	"bytes"
	"slices"
	"unicode/utf8"
)

// byteOrderMark may stand at the start of a stream and of each document in it.
var byteOrderMark = []byte("\uFEFF")

// LineBreak returns the length of the line break at the start of b, by the rules
// of YAML 1.1 that the parser counts lines with, and 0 where there is none.
func LineBreak(b []byte) int {
	if len(b) == 0 {
		return 0
	}
	switch b[0] {
	case '\n':
		return 1
	case '\r':
		if len(b) > 1 && b[1] == '\n' {
			return 2
		}
		return 1
	case 0xC2: // next line, U+0085
		if len(b) > 1 && b[1] == 0x85 {
			return 2
		}
	case 0xE2: // line and paragraph separator, U+2028 and U+2029
		if len(b) > 2 && b[1] == 0x80 && b[2]&^1 == 0xA8 {
			return 3
		}
	}
	return 0
}

// Lines tells where the lines of a text are, as editors count them: they end with a
// line feed.
type Lines struct {
	text   []byte
	starts []int // of the lines; nil until somebody asks for a place before the last one

	// The last answer, from which the next is counted: the line, where it starts, and
	// the column of offset.
	offset, line, start, column int
}

// NewLines returns the lines of text, which is kept.
func NewLines(text []byte) *Lines {
	return &Lines{text: text, line: 1, column: 1}
}

// Position returns the line and the column of the byte at offset, both from 1. The column
// counts characters; a byte order mark at the start is none.
func (l *Lines) Position(offset int) (line, column int) {
	offset = min(offset, len(l.text))
	switch {
	case offset < l.start: // back in an earlier line
		l.goTo(offset)
	case offset < l.offset: // back in this line
		l.offset, l.column = l.start, 1
	}
	if l.offset == 0 && bytes.HasPrefix(l.text, byteOrderMark) {
		l.offset = len(byteOrderMark)
	}
	if offset <= l.offset {
		return l.line, l.column
	}
	passed := l.text[l.offset:offset]
	if n := bytes.Count(passed, []byte("\n")); n > 0 {
		l.line += n
		l.start = l.offset + bytes.LastIndexByte(passed, '\n') + 1
		passed, l.column = l.text[l.start:offset], 1
	}
	l.offset = offset
	l.column += utf8.RuneCount(passed)
	return l.line, l.column
}

// goTo moves to the start of the line that has offset.
func (l *Lines) goTo(offset int) {
	if l.starts == nil {
		l.starts = []int{0}
		for i, b := range l.text {
			if b == '\n' {
				l.starts = append(l.starts, i+1)
			}
		}
	}
	line, found := slices.BinarySearch(l.starts, offset)
	if found {
		line++
	}
	l.line, l.start = line, l.starts[line-1]
	l.offset, l.column = l.start, 1
}

// Blank reports whether text holds no document: nothing but white space,
// comments, separators, and directives in front of one of these.
func Blank(text []byte) bool {
	head, directive := true, false
	for text = bytes.TrimPrefix(text, byteOrderMark); len(text) > 0; {
		line, rest, _ := bytes.Cut(text, []byte("\n"))
		text = rest
		switch start := marker(line, "---"); {
		case start || marker(line, "..."):
			if directive = false; start {
				head = false
			}
			line = line[3:]
		case head && len(line) > 0 && line[0] == '%':
			directive = true
			continue
		}
		if !blankLine(line) {
			return false
		}
	}
	return !directive
}

// blankLine reports whether a line, which may have line breaks that only YAML knows, has nothing but white space and comments.
func blankLine(line []byte) bool {
	for len(line) > 0 {
		line = bytes.TrimLeft(line, " \t\uFEFF")
		if n := LineBreak(line); n > 0 {
			line = line[n:]
			continue
		}
		if len(line) > 0 && line[0] != '#' {
			return false
		}
		for len(line) > 0 && LineBreak(line) == 0 {
			line = line[1:]
		}
	}
	return true
}

// marker reports whether a line is a document marker, "---" or "...", with
// nothing or white space behind it.
func marker(line []byte, mark string) bool {
	if !bytes.HasPrefix(line, []byte(mark)) {
		return false
	}
	return len(line) == 3 || line[3] == ' ' || line[3] == '\t' || line[3] == '\r' || line[3] == '\n'
}
