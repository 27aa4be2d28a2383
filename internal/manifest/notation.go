// SPDX-License-Identifier: Apache-2.0

package manifest

import (
	"bytes"
	"encoding/binary"
	"strings"
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
	quotedNext             // stands for itself in quotes of both kinds
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
		if b != '"' && b != '\'' && b != '\\' {
			c[b] |= quotedNext
		}
	}
	for b := utf8.RuneSelf; b < 256; b++ {
		c[b] |= plainFirst // what the bytes make is looked at later
	}
	return c
}()

// keyOf returns the key at the start of a text, without quotes, and the length of it and its
// colon. That is 0 where there is no key, or none of those that nearly all are like.
func keyOf(b []byte) (key string, end int) {
	n := 0
	switch c := b[0]; {
	case class[c]&keyFirst != 0:
		n = keyBytes(b)
		key = text(b[:n])
	case c == '"' || c == '\'':
		if key, n = quotedKey(b); n == 0 {
			return "", 0
		}
	default:
		return "", 0
	}
	return key, colon(b, n, key)
}

// colon returns the length of a key of n bytes and its colon, or 0.
func colon(b []byte, n int, key string) int {
	for n < len(b) && b[n] == ' ' {
		n++
	}
	if n >= len(b) || b[n] != ':' {
		return 0
	}
	if n++; n >= maxKey || n < len(b) && b[n] != ' ' && b[n] != '\n' {
		return 0
	}
	if b[0] == '.' && key == "..." {
		return 0 // the end of a document, perhaps
	}
	return n
}

// oddKey is keyOf for keys without quotes that have spaces, colons and other characters.
func oddKey(b []byte) (key string, end int) {
	if class[b[0]]&plainFirst == 0 {
		return "", 0
	}
	for i := 0; i < len(b) && i < maxKey; {
		switch c := b[i]; {
		case class[c]&plainNext != 0:
			i++
		case c == ':' && (i+1 == len(b) || b[i+1] == ' ' || b[i+1] == '\n'):
			key = text(bytes.TrimRight(b[:i], " "))
			if key == "<<" || b[0] == '.' && strings.HasPrefix(key+" ", "... ") {
				return "", 0 // which merges, or ends a document
			}
			return key, i + 1
		case c == ':' || c == '#' && b[i-1] != ' ':
			i++
		case c >= utf8.RuneSelf:
			n := multiByte(b[i:])
			if n == 0 {
				return "", 0
			}
			i += n
		default:
			return "", 0
		}
	}
	return "", 0
}

// quotedKey returns a key in quotes, and its length with them, which is 0 where there is none on the line.
func quotedKey(b []byte) (key string, end int) {
	quote := b[0]
	verbatim := true
	for i := 1; i < len(b) && i < maxKey; {
		switch c := b[i]; {
		case class[c]&quotedNext != 0:
			i++
		case c == quote && quote == '\'' && i+1 < len(b) && b[i+1] == quote:
			i += 2
			verbatim = false
		case c == quote:
			if verbatim {
				return text(b[1:i]), i + 1
			}
			style := singleQuoted
			if quote == '"' {
				style = doubleQuoted
			}
			return decode(b[1:i], style), i + 1
		case c == '\\' && quote == '"' && i+1 < len(b) && b[i+1] != '\n':
			n := escape(b[i:])
			if n == 0 {
				return "", 0
			}
			i += n
			verbatim = false
		case c == '"' || c == '\'' || c == '\\':
			i++
		case c >= utf8.RuneSelf:
			n := multiByte(b[i:])
			if n == 0 {
				return "", 0
			}
			i += n
		default:
			return "", 0
		}
	}
	return "", 0
}

// plain reads the first line of a scalar without quotes.
func (s *scanner) plain() bool {
	start := s.pos
	c := s.text[start]
	if c == '-' {
		c = s.after() // an item of a list where it is a space
	}
	if class[c]&plainFirst == 0 && c != '-' {
		return false
	}
	end := s.plainLine(start)
	return end > 0 && s.plainEnd() && s.tell(start, end, plain, true)
}

// plainEnd ends a line of a scalar without quotes, which may go on unless a comment follows.
func (s *scanner) plainEnd() bool {
	s.more = s.pos == len(s.text) || s.text[s.pos] == '\n'
	return s.lineEnd()
}

// plainLine reads what one line has of a scalar without quotes. It returns where that
// ends, or 0, and leaves the position at the end of the line or at a comment.
func (s *scanner) plainLine(start int) (end int) {
	text, i := s.text, start
scan:
	for {
		i += plainBytes(text[i:])
		if i == len(text) {
			break
		}
		switch c := text[i]; {
		case c == '\n':
			break scan
		case c == ':':
			if i+1 == len(text) || text[i+1] == ' ' || text[i+1] == '\n' {
				return 0
			}
			i++
		case c == '#':
			if text[i-1] == ' ' {
				break scan
			}
			i++
		case c >= utf8.RuneSelf:
			n := multiByte(text[i:])
			if n == 0 {
				return 0
			}
			i += n
		default:
			return 0
		}
	}
	s.pos, end = i, i
	for text[end-1] == ' ' {
		end--
	}
	return end
}

// quotes reads a scalar in quotes, over as many lines as it has.
func (s *scanner) quotes() bool {
	quote, style := s.text[s.pos], doubleQuoted
	if quote == '\'' {
		style = singleQuoted
	}
	start := s.pos + 1
	verbatim := true
	for i := start; i < len(s.text); i++ {
		switch c := s.text[i]; {
		case class[c]&quotedNext != 0:
		case c == quote && style == singleQuoted && i+1 < len(s.text) && s.text[i+1] == quote:
			i++
			verbatim = false
		case c == quote:
			s.pos = i + 1
			return s.tell(start, i, style, verbatim)
		case c == '\\' && style == doubleQuoted:
			n := escape(s.text[i:])
			if n == 0 {
				return false
			}
			i += n - 1
			verbatim = false
		case c == '\n' || c == '\t':
			if verbatim = false; c == '\n' && s.marker(i+1) {
				return false
			}
		case c < ' ' || c == 0x7F:
			return false
		case c >= utf8.RuneSelf:
			n := multiByte(s.text[i:])
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
func (s *scanner) block() bool {
	outer := int(s.levels[len(s.levels)-1].column)
	indent := -1 // of the text
	chomping := false
	for s.pos++; s.pos < len(s.text); s.pos++ {
		c := s.text[s.pos]
		if !chomping && (c == '-' || c == '+') {
			chomping = true
		} else if indent < 0 && '1' <= c && c <= '9' && !s.all { // decode would have to be told
			indent = outer + int(c-'0')
		} else {
			break
		}
	}
	if s.pos < len(s.text) && s.text[s.pos] != '\n' && s.text[s.pos] != ' ' || !s.lineEnd() {
		return false
	}
	blankest := 0 // the longest of the lines of spaces before it
	for s.pos < len(s.text) {
		line := s.text[s.pos:]
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
		s.pos = min(s.pos+len(line)+1, len(s.text))
	}
	return true
}

// printable reports whether bytes of one line are all characters that YAML allows and
// that break no line.
func printable(b []byte) bool {
	for len(b) >= 8 {
		w := binary.LittleEndian.Uint64(b)
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
