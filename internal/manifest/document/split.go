// SPDX-License-Identifier: Apache-2.0

package document

import (
	"bytes"
	"errors"
	"io"
	"unicode/utf8"
)

// A Piece is the part of a stream that holds one document: its separator line,
// where it has one, the directives before that, its text, and an end marker. Of JSON values in a row each is a piece. The
// pieces of a stream, joined, are the stream.
type Piece struct {
	Bytes  []byte // until the next call of Next
	Body   int    // where the text to parse starts in Bytes: behind a bare separator line and a byte order mark
	Offset int64  // of Bytes in the stream, from 0
	Line   int    // of the first byte of Bytes, from 1
	Column int    // of that byte, from 1, in characters
	Dashes int    // where the first line behind the first begins that has three dashes in front and is no separator; 0 for none

	lines *Lines // made when somebody asks
}

// Position returns the line and the column in the stream, both from 1, of the byte at an offset in the piece. It is fast where
// offsets come in their order.
func (p *Piece) Position(offset int) (line, column int) {
	if p.lines == nil {
		p.lines = NewLines(p.Bytes)
	}
	line, column = p.lines.Position(offset)
	if line == 1 {
		column += p.Column - 1
	}
	return p.Line - 1 + line, column
}

// A Splitter cuts a stream into pieces. It holds one piece at a time.
type Splitter struct {
	src    io.Reader
	before func() error // called before each read, nil for none
	limit  int

	buf     []byte
	start   int // of the piece to come
	end     int // of the bytes read
	scanned int // bytes of the piece to come in which there is no cut
	eof     bool
	err     error // what src gave besides the end
	offset  int64
	line    int
	column  int
	row     row  // JSON values in the piece to come
	dashes  int  // see Piece, in the piece to come
	begun   bool // row is where the piece's text begins
	front   front
	ending  int // bytes of the piece to come in which the line of an end marker does not end
}

// ErrLimit says that a piece is longer than the splitter's limit.
var ErrLimit = errors.New("a document is too long")

// NewSplitter returns a splitter of src, for pieces of up to limit bytes. Before each
// read it calls before, so that what was made of earlier pieces can be written before
// a read blocks.
func NewSplitter(src io.Reader, limit int, before func() error) *Splitter {
	s := new(Splitter)
	s.Reset(src, limit, before)
	return s
}

// Reset makes the splitter as NewSplitter does, but for its buffer, which it keeps.
func (s *Splitter) Reset(src io.Reader, limit int, before func() error) {
	*s = Splitter{src: src, limit: limit, before: before, line: 1, column: 1, buf: s.buf}
}

// Buffered returns the size of the splitter's buffer.
func (s *Splitter) Buffered() int { return len(s.buf) }

// Next returns the next piece, and io.EOF behind the last one. Another error is ErrLimit,
// the reader's, or that of the function before, and comes once the pieces before
// it are through; what was read of a piece that the error cuts off is not returned.
func (s *Splitter) Next() (Piece, error) {
	s.row, s.begun, s.front = row{}, false, inLine
	for {
		text := s.buf[s.start:s.end]
		n, scanned, found := s.cut(text, s.scanned)
		s.scanned = scanned
		if at, inRow := s.next(text, n, found); inRow {
			n, found = at, true
		}
		if found && n <= s.limit {
			return s.piece(n), nil
		}
		if n > s.limit || s.eof && len(text) > s.limit {
			return Piece{}, ErrLimit
		}
		switch {
		case s.err != nil:
			return Piece{}, s.err
		case s.eof && len(text) == 0:
			return Piece{}, io.EOF
		case s.eof:
			return s.piece(len(text)), nil
		}
		s.fill()
	}
}

// next returns where the next of several JSON values in a row begins, before a piece ends otherwise.
func (s *Splitter) next(text []byte, end int, found bool) (at int, inRow bool) {
	if found {
		text = text[:end]
	}
	if !s.begun {
		if s.begun = s.begin(text, found || s.eof); !s.begun {
			return 0, false
		}
	}
	if s.row.state == other {
		return 0, false
	}
	return s.row.next(text)
}

// begin brings the row to where a piece's text begins, behind a separator line, a byte order mark and white space, and reports whether
// that is known. It looks at each byte once, however often it is called.
func (s *Splitter) begin(text []byte, whole bool) bool {
	const enough = len("---\n")
	r := &s.row
	if s.front == inLine {
		if len(text) < enough && !whole {
			return false
		}
		if marker(text, "---") {
			i := bytes.IndexByte(text[r.at:], '\n')
			if i < 0 && !whole {
				r.at = len(text)
				return false
			}
			n := 0
			if i >= 0 {
				n = body(text[:r.at+i+1])
			}
			if r.at = n; n == 0 {
				r.state = other // on the separator line
				return true
			}
		}
		s.front = inMark
	}
	if s.front == inMark {
		if len(text)-r.at < enough && !whole {
			return false
		}
		r.at += len(text[r.at:]) - len(bytes.TrimPrefix(text[r.at:], byteOrderMark))
		s.front = inSpace
	}
	r.at += len(text[r.at:]) - len(bytes.TrimLeft(text[r.at:], " \t\r\n"))
	return r.at < len(text)
}

// A front is what may stand in front of a piece's text.
type front byte

const (
	inLine  front = iota // a separator line
	inMark               // a byte order mark
	inSpace              // white space
)

// piece takes n bytes from the buffer.
func (s *Splitter) piece(n int) Piece {
	p := Piece{Bytes: s.buf[s.start : s.start+n], Offset: s.offset, Line: s.line, Column: s.column}
	if s.dashes < n {
		p.Dashes = s.dashes
	}
	p.Body = body(p.Bytes)
	p.Body += len(p.Bytes[p.Body:]) - len(bytes.TrimPrefix(p.Bytes[p.Body:], byteOrderMark))
	s.start += n
	s.scanned, s.dashes, s.ending = max(0, s.scanned-n), max(0, s.dashes-n), 0
	s.offset += int64(n)
	s.line += bytes.Count(p.Bytes, []byte("\n"))
	if n > 0 && p.Bytes[n-1] == '\n' {
		s.column = 1
	} else {
		last := bytes.LastIndexByte(p.Bytes, '\n')
		if last >= 0 {
			s.column = 1
		}
		s.column += utf8.RuneCount(p.Bytes[last+1:])
	}
	return p
}

// Line returns the line on which the next piece starts, from 1.
func (s *Splitter) Line() int { return s.line }

// fill reads once more.
func (s *Splitter) fill() {
	if s.before != nil {
		if s.err = s.before(); s.err != nil {
			return
		}
	}
	if s.start > 0 {
		copy(s.buf, s.buf[s.start:s.end])
		s.end -= s.start
		s.start = 0
	}
	if s.end == len(s.buf) {
		buf := make([]byte, max(64<<10, 2*len(s.buf)))
		copy(buf, s.buf)
		s.buf = buf
	}
	for range 100 { // as bufio does with readers that give nothing
		n, err := s.src.Read(s.buf[s.end:])
		s.end += n
		switch {
		case err == io.EOF:
			s.eof = true
			return
		case err != nil:
			s.err = err
			return
		case n > 0:
			return
		}
	}
	s.err = io.ErrNoProgress
}

// cut returns the length of the first piece of text. Where its end is not in the
// text, that is how much of the text has been looked at. Of this, upTo bytes need not be looked at again; they are
// scanned in the next call. A marker at the end of text counts only at the end of
// the stream, since more of its line may come.
func (s *Splitter) cut(text []byte, scanned int) (n, upTo int, found bool) {
	more := func(n int) (int, int, bool) { return n, n, false }
	for from := scanned; ; {
		i := indexMarker(text[min(from, len(text)):])
		if i < 0 {
			return more(max(from, len(text)-len("\n--")))
		}
		at := from + i + 1 // behind the line feed
		rest := text[at:]
		if len(rest) == len("---") && !s.eof {
			return more(at - 1)
		}
		switch {
		case marker(rest, "---") && !directives(text[:at]):
			return at, at - 1, true
		case marker(rest, "..."):
			from = max(at, s.ending)
			end := bytes.IndexByte(text[from:], '\n')
			if s.ending = len(text); end < 0 {
				return more(at - 1)
			}
			return from + end + 1, at - 1, true
		case rest[0] == '-' && s.dashes == 0:
			s.dashes = at
		}
		from = at
	}
}

// indexMarker finds the first line feed with three dashes or three dots behind it.
func indexMarker(text []byte) int {
	for at := 0; ; {
		i := bytes.IndexByte(text[at:], '\n')
		if i < 0 || len(text)-(at+i) < len("\n---") {
			return -1
		}
		at += i + 1
		if c := text[at]; (c == '-' || c == '.') && text[at+1] == c && text[at+2] == c {
			return at - 1
		}
	}
}

// directives reports whether text is the head of a document: at least one
// directive, and otherwise only comments and white space.
func directives(text []byte) bool {
	text = bytes.TrimPrefix(text, byteOrderMark)
	found := false
	for len(text) > 0 {
		line, rest, _ := bytes.Cut(text, []byte("\n"))
		text = rest
		if len(line) > 0 && line[0] == '%' {
			found = true
			continue
		}
		line = bytes.TrimLeft(line, " \t\r")
		if len(line) > 0 && line[0] != '#' {
			return false
		}
	}
	return found
}

// body returns the length of a separator line that holds nothing but a comment.
// It is no part of the text to parse, since a byte order mark may stand behind it.
func body(piece []byte) int {
	if !marker(piece, "---") {
		return 0
	}
	line, _, found := bytes.Cut(piece, []byte("\n"))
	rest := bytes.TrimLeft(line[3:], " \t\r")
	if !found || len(rest) > 0 && rest[0] != '#' {
		return 0
	}
	return len(line) + 1
}
