// SPDX-License-Identifier: Apache-2.0

package scan

import (
	"bytes"
	"encoding/binary"
	"unicode/utf8"
)

// Classes of bytes. What is of no class makes Scan decline.
const (
	keyFirst   = 1 << iota // may start a key without quotes
	keyNext                // may stand in such a key
	plainFirst             // may start a scalar without quotes, in block style
	plainNext              // may stand in such a scalar, whatever is around
	flowFirst              // may start a scalar without quotes, in flow style
	flowNext               // may stand in such a scalar, colon and space with care
)

var class = func() (c [256]uint8) {
	set := func(bytes string, bits uint8) {
		for i := range len(bytes) {
			c[bytes[i]] |= bits
		}
	}
	const word = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_./"
	set(word, keyFirst|keyNext|plainFirst|flowFirst|flowNext)
	set("-", keyNext|flowNext)
	set("$()+<=;^~", plainFirst)
	set("@+=%$*~^;()<>&!|", flowNext)
	for b := ' '; b <= '~'; b++ {
		if b != ':' && b != '#' {
			c[b] |= plainNext
		}
	}
	for b := utf8.RuneSelf; b < 256; b++ {
		c[b] |= plainFirst // what the bytes make is looked at later
	}
	return c
}()

// plain reads a scalar without quotes, which may go on in lines that are further in
// than the innermost level.
func (d document) plain(key []byte) bool {
	start := d.pos
	c := d.text[start]
	if c == '-' {
		c = d.after() // an item of a list where it is a space
	}
	if class[c]&plainFirst == 0 && c != '-' {
		return false
	}
	end, ok := d.plainLine()
	if !ok {
		return false
	}
	comment := d.pos < len(d.text) && d.text[d.pos] == '#'
	more := false
	for {
		if !d.lineEnd() {
			return false
		}
		if comment || !d.further() {
			break
		}
		more = true
		if _, ok := d.plainLine(); !ok {
			return false
		}
		comment = d.pos < len(d.text) && d.text[d.pos] == '#'
	}
	return d.found(key, start, end, Plain, !more)
}

// plainLine reads what one line has of a scalar without quotes. It returns where that
// ends, and leaves the position at the end of the line or at a comment.
func (d document) plainLine() (end int, ok bool) {
	text, i := d.text, d.pos
scan:
	for {
		for i < len(text) && class[text[i]]&plainNext != 0 {
			i++
		}
		if i == len(text) {
			break
		}
		switch c := text[i]; {
		case c == ':':
			if i+1 == len(text) || text[i+1] == ' ' || text[i+1] == '\n' {
				return 0, false
			}
			i++
		case c == '#' && (i == d.pos || text[i-1] != ' '):
			i++
		case c >= utf8.RuneSelf:
			n := multiByte(text[i:])
			if n == 0 {
				return 0, false
			}
			i += n
		default:
			break scan
		}
	}
	if i < len(text) && text[i] != '\n' && text[i] != '#' {
		return 0, false
	}
	end = i
	for text[end-1] == ' ' {
		end--
	}
	d.pos = i
	return end, true
}

// further moves to the next line with a scalar's text, if the next line with text is further
// in than the innermost level and no comment.
func (d document) further() bool {
	at := d.pos
	for {
		start := at
		for at < len(d.text) && d.text[at] == ' ' {
			at++
		}
		if at == len(d.text) {
			return false
		}
		if d.text[at] == '\n' {
			at++
			continue
		}
		if at-start <= d.levels[len(d.levels)-1].column || d.text[at] == '#' {
			return false
		}
		d.pos = at
		return true
	}
}

// quoted reads a scalar in quotes, over as many lines as it has.
func (d document) quoted(key []byte) bool {
	quote, style := d.text[d.pos], DoubleQuoted
	if quote == '\'' {
		style = SingleQuoted
	}
	start := d.pos + 1
	verbatim := true
	for i := start; i < len(d.text); i++ {
		switch c := d.text[i]; {
		case c == quote && style == SingleQuoted && i+1 < len(d.text) && d.text[i+1] == quote:
			i++
			verbatim = false
		case c == quote:
			d.pos = i + 1
			return d.found(key, start, i, style, verbatim)
		case c == '\\' && style == DoubleQuoted:
			n := escape(d.text[i:])
			if n == 0 {
				return false
			}
			i += n - 1
			verbatim = false
		case c == '\n' || c == '\t':
			if verbatim = false; c == '\n' && d.marker(i+1) {
				return false
			}
		case c < ' ' || c == 0x7F:
			return false
		case c >= utf8.RuneSelf:
			n := multiByte(d.text[i:])
			if n == 0 {
				return false
			}
			i += n - 1
		}
	}
	return false
}

// escape returns the length of an escape sequence, and 0 for one that the YAML parser
// does not know.
func escape(b []byte) int {
	if len(b) < 2 {
		return 0
	}
	switch b[1] {
	case '"', '\\', 'n', 't', 'r', '0', 'a', 'b', 'v', 'f', 'e', ' ', '\'', '\n':
		return 2
	case 'x':
		if len(b) >= 4 && isHex(b[2:4]) {
			return 4
		}
	case 'u':
		if len(b) >= 6 && isHex(b[2:6]) && !(b[2]|0x20 == 'd' && b[3] >= '8') { // no surrogates
			return 6
		}
	}
	return 0
}

func isHex(b []byte) bool {
	for _, c := range b {
		if (c < '0' || c > '9') && (c|0x20 < 'a' || c|0x20 > 'f') {
			return false
		}
	}
	return true
}

// block passes over a block scalar.
func (d document) block() bool {
	d.pos++
	if d.pos < len(d.text) && (d.text[d.pos] == '-' || d.text[d.pos] == '+') {
		d.pos++
	}
	if d.pos < len(d.text) && d.text[d.pos] != '\n' && d.text[d.pos] != ' ' || !d.lineEnd() {
		return false
	}
	outer := d.levels[len(d.levels)-1].column
	indent := -1  // of the text
	blankest := 0 // the longest of the lines of spaces before it
	for d.pos < len(d.text) {
		line := d.text[d.pos:]
		if end := bytes.IndexByte(line, '\n'); end >= 0 {
			line = line[:end]
		}
		n := 0
		for n < len(line) && line[n] == ' ' {
			n++
		}
		switch {
		case n == len(line):
			if indent < 0 {
				blankest = max(blankest, n)
			}
		case n <= outer:
			return blankest == 0 || indent >= 0
		case indent < 0:
			if indent = n; line[n] == '\t' || blankest > n {
				return false
			}
		case n < indent:
			return false
		}
		if !printable(line) {
			return false
		}
		d.pos = min(d.pos+len(line)+1, len(d.text))
	}
	return true
}

// printable reports whether bytes of one line are all characters that YAML allows and
// that break no line.
func printable(b []byte) bool {
	for len(b) >= 8 {
		w := binary.LittleEndian.Uint64(b)
		const ones, high = 0x0101010101010101, 0x8080808080808080
		// A byte is below 0x20 where taking 0x20 away borrows; 0x7F and what is above have
		// their high bit set once one is added.
		if ((w-0x20*ones)|(w+ones)|w)&high != 0 {
			break
		}
		b = b[8:]
	}
	for i := 0; i < len(b); i++ {
		switch c := b[i]; {
		case c >= utf8.RuneSelf:
			n := multiByte(b[i:])
			if n == 0 {
				return false
			}
			i += n - 1
		case c < ' ' && c != '\t' || c == 0x7F:
			return false
		}
	}
	return true
}

// multiByte returns the length of a character of more than one byte, and 0 for one
// that YAML does not allow, that breaks a line, or that marks the byte order.
func multiByte(b []byte) int {
	r, n := utf8.DecodeRune(b)
	switch {
	case r == utf8.RuneError && n <= 1, r < 0xA0, r == 0x2028, r == 0x2029, r == 0xFEFF, r == 0xFFFE, r == 0xFFFF:
		return 0
	}
	return n
}
