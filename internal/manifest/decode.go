// SPDX-License-Identifier: Apache-2.0

package manifest

import (
	"unicode/utf8"

	"github.com/cozystack/image-overrides/internal/manifest/document"
)

// decode returns the value of a scalar that is YAML, as the parser makes it: of what stands within quotes, of lines
// without quotes, or of a block from its header on. at is the offset in b, which starts at from, of the value's byte stop, or of the end
// where it has no such byte; a stop of -1 is none. Behind it the value may be cut.
func decode(b []byte, style style, from, stop int) (value string, at int) {
	d := decoder{text: b, stop: stop, at: -1}
	if style == block {
		d.block()
	} else {
		d.flow(style)
	}
	if d.at < 0 {
		d.at = len(b)
	}
	return string(d.out), from + d.at
}

// A decoder makes the value of a scalar.
type decoder struct {
	text []byte
	out  []byte
	stop int // the byte of the value that is looked for
	at   int // where that was found, or -1

	leading, trailing []byte // line breaks that were read: the first, and those behind it
}

// put adds to the value what the bytes from an offset on stand for.
func (d *decoder) put(at int, b ...byte) {
	if n := d.stop - len(d.out); d.at < 0 && n >= 0 && n < len(b) {
		d.at = at
	}
	d.out = append(d.out, b...)
}

// copy adds bytes that stand for themselves.
func (d *decoder) copy(start, end int) {
	if n := d.stop - len(d.out); d.at < 0 && n >= 0 && n < end-start {
		d.at = start + n
	}
	d.out = append(d.out, d.text[start:end]...)
}

// lineBreak reads a line break into one of the two, and returns its length.
func (d *decoder) lineBreak(i int, into *[]byte) int {
	n := document.LineBreak(d.text[i:])
	switch {
	case n == 3: // which is kept as it is
		*into = append(*into, d.text[i:i+n]...)
	case n > 0:
		*into = append(*into, '\n')
	}
	return n
}

// fold adds the line breaks that were read, of which a single one is a space.
func (d *decoder) fold(at int) {
	if len(d.leading) > 0 && d.leading[0] == '\n' {
		if d.leading = d.leading[:0]; len(d.trailing) == 0 {
			d.put(at, ' ')
		}
	}
	d.breaks(at)
}

// breaks adds the line breaks that were read.
func (d *decoder) breaks(at int) {
	d.put(at, d.leading...)
	d.put(at, d.trailing...)
	d.leading, d.trailing = d.leading[:0], d.trailing[:0]
}

// flow reads a scalar without quotes, or what stands within them.
func (d *decoder) flow(style style) {
	b := d.text
	for i := 0; i < len(b) && d.at < 0; {
		c := b[i]
		if n := document.LineBreak(b[i:]); c != ' ' && c != '\t' && n == 0 {
			switch {
			case c == '\\' && style == doubleQuoted && i+1 < len(b) && document.LineBreak(b[i+1:]) > 0:
				i += 1 + document.LineBreak(b[i+1:])
				i = d.nextLine(i)
				d.breaks(i)
			case c == '\\' && style == doubleQuoted:
				n := d.escape(i)
				i += n
			case c == '\'' && style == singleQuoted:
				d.put(i, c)
				i += 2
			default:
				d.copy(i, i+1)
				i++
			}
			continue
		}
		// White space, which counts where no line break follows.
		start := i
		for i < len(b) && (b[i] == ' ' || b[i] == '\t') {
			i++
		}
		n := d.lineBreak(i, &d.leading)
		if n == 0 {
			d.copy(start, i)
			continue
		}
		i = d.nextLine(i + n)
		d.fold(start)
	}
}

// nextLine passes over empty lines and the white space in front of the next one that is not.
func (d *decoder) nextLine(i int) int {
	for i < len(d.text) {
		if c := d.text[i]; c == ' ' || c == '\t' {
			i++
			continue
		}
		n := d.lineBreak(i, &d.trailing)
		if n == 0 {
			break
		}
		i += n
	}
	return i
}

// escapes are those of one character.
var escapes = map[byte]string{
	'0': "\x00", 'a': "\a", 'b': "\b", 't': "\t", '\t': "\t", 'n': "\n", 'v': "\v", 'f': "\f", 'r': "\r", 'e': "\x1b", ' ': " ", '"': `"`, '\'': "'", '\\': `\`, '/': "/",
	'N': "\u0085", '_': "\u00a0", 'L': "\u2028", 'P': "\u2029",
}

// escape reads an escape sequence, and returns its length.
func (d *decoder) escape(i int) int {
	if i+1 == len(d.text) {
		d.copy(i, i+1)
		return 1
	}
	digits := map[byte]int{'x': 2, 'u': 4, 'U': 8}[d.text[i+1]]
	if digits == 0 {
		d.put(i, []byte(escapes[d.text[i+1]])...)
		return 2
	}
	end := min(i+2+digits, len(d.text))
	r := rune(0)
	for _, c := range d.text[i+2 : end] {
		switch {
		case c <= '9':
			c -= '0'
		default:
			c = c | 0x20 - 'a' + 10
		}
		r = r<<4 | rune(c)
	}
	d.put(i, utf8.AppendRune(nil, r)...)
	return end - i
}

// block reads a block scalar whose header does not say how far in it is.
func (d *decoder) block() {
	b := d.text
	literal := b[0] == '|'
	i := 1
	chomping := byte(0)
	for ; i < len(b) && document.LineBreak(b[i:]) == 0; i++ {
		if c := b[i]; c == '#' {
			for i < len(b) && document.LineBreak(b[i:]) == 0 {
				i++
			}
			break
		} else if c == '-' || c == '+' {
			chomping = c
		} else if '0' <= c && c <= '9' {
			d.at = 0
			return
		}
	}
	i += document.LineBreak(b[i:])
	indent := -1
	before := false // the line before began with white space
	broken := i     // where the line breaks are that were read
	for i < len(b) && d.at < 0 {
		start := i
		for i < len(b) && b[i] == ' ' && (indent < 0 || i-start < indent) {
			i++
		}
		if n := d.lineBreak(i, &d.trailing); n > 0 || i == len(b) {
			i += n
			continue
		}
		if indent < 0 {
			indent = i - start
		} else if i-start < indent {
			break // a comment, or what follows
		}
		white := b[i] == ' ' || b[i] == '\t'
		if !literal && !before && !white && len(d.leading) > 0 {
			d.fold(broken)
		} else {
			d.breaks(broken)
		}
		before = white
		end := i
		for end < len(b) && document.LineBreak(b[end:]) == 0 {
			end++
		}
		d.copy(i, end)
		i, broken = end+d.lineBreak(end, &d.leading), end
	}
	if chomping == '-' {
		return
	}
	d.put(broken, d.leading...)
	if chomping == '+' {
		d.put(broken, d.trailing...)
	}
}
