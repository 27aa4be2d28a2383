// SPDX-License-Identifier: Apache-2.0

package manifest

import (
	"bytes"
	"unicode/utf8"

	"github.com/cozystack/image-overrides/internal/manifest/document"
)

// decode returns the value of a scalar that is YAML, as the parser makes it: of what stands within quotes, of lines
// without quotes, or of a block from its header on.
func decode(b []byte, style style) string {
	d := decoder{text: b}
	d.decode(style)
	return string(d.out)
}

// places puts in place of each offset in the value of a scalar, in ascending order, the one in b, which starts at from, of what
// it was written with, or of the end where the value has no such byte. The value is that of the scalar, as far as it is known: a
// block may say by a number how far in it is, which counts from what is around it.
func places(b []byte, style style, from int, value string, at []int) {
	d := decoder{text: b, stops: at, value: value}
	if len(at) > 0 {
		d.decode(style)
	}
	for i := range at[d.found:] {
		at[d.found+i] = len(b)
	}
	for i := range at {
		at[i] += from
	}
}

// A decoder makes the value of a scalar.
type decoder struct {
	text  []byte
	value string // what it is to become, or ""
	out   []byte
	stops []int // the bytes of the value that are looked for; those that were found are offsets in text
	found int   // how many were

	leading, trailing []byte // line breaks that were read: the first, and those behind it
}

func (d *decoder) decode(style style) {
	if style == block {
		d.block()
	} else {
		d.flow(style)
	}
}

// done reports whether nothing is left to be looked for.
func (d *decoder) done() bool { return len(d.stops) > 0 && d.found == len(d.stops) }

// put adds to the value what the bytes from an offset on stand for.
func (d *decoder) put(at int, b ...byte) {
	for !d.done() && len(d.stops) > 0 && d.stops[d.found] < len(d.out)+len(b) {
		d.stops[d.found] = at
		d.found++
	}
	d.out = append(d.out, b...)
}

// copy adds bytes that stand for themselves.
func (d *decoder) copy(start, end int) {
	for !d.done() && len(d.stops) > 0 && d.stops[d.found] < len(d.out)+end-start {
		d.stops[d.found] += start - len(d.out)
		d.found++
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
	for i := 0; i < len(b) && !d.done(); {
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

// indentOf returns how far in a block is that stands on lines, by its value.
func indentOf(lines, value []byte) int {
	in := func(b []byte) int { // at the start of the first line that has something else
		b = b[:len(b)-len(bytes.TrimLeft(b, " \n"))]
		return len(b) - 1 - bytes.LastIndexByte(b, '\n')
	}
	return max(0, in(lines)-in(value))
}

// block reads a block scalar. One whose header says how far in it is needs its value known.
func (d *decoder) block() {
	b := d.text
	literal := b[0] == '|'
	i := 1
	chomping := byte(0)
	given := false // how far in it is
	for ; i < len(b) && document.LineBreak(b[i:]) == 0; i++ {
		if c := b[i]; c == '#' {
			for i < len(b) && document.LineBreak(b[i:]) == 0 {
				i++
			}
			break
		} else if c == '-' || c == '+' {
			chomping = c
		} else if '0' <= c && c <= '9' {
			given = true
		}
	}
	i += document.LineBreak(b[i:])
	indent := -1
	if given {
		indent = indentOf(b[i:], []byte(d.value))
	}
	before := false // the line before began with white space
	broken := i     // where the line breaks are that were read
	for i < len(b) && !d.done() {
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
