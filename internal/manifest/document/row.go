// SPDX-License-Identifier: Apache-2.0

package document

import "bytes"

// A row finds the ends of JSON values that stand in a row, one document each. It knows JSON by its bytes only: nothing but
// brackets, commas, colons, white space, texts in double quotes, and the letters that numbers and literals have. A bracket
// that opens behind such a value is none of YAML's, so nothing that is YAML is cut.
type row struct {
	at      int // how many bytes have been looked at
	state   rowState
	depth   int
	last    byte // the last byte outside of texts that was no white space
	escaped bool // the last byte of a text was a backslash
}

type rowState byte

const (
	ahead   rowState = iota // of the value
	outside                 // of texts
	inside                  // a text
	behind                  // the value
	other                   // no JSON
)

// next looks at more of a text. It returns where the next value begins, if that is known.
func (r *row) next(text []byte) (at int, found bool) {
	if r.state != behind && !r.close(text) {
		return 0, false
	}
	for ; r.at < len(text); r.at++ {
		if c := text[r.at]; !isWhite(c) {
			if r.state = other; c == '{' || c == '[' {
				return r.at, true
			}
			break
		}
	}
	return 0, false
}

func isWhite(c byte) bool { return c == ' ' || c == '\t' || c == '\r' || c == '\n' }

// close looks at more of a text until the value closes, and reports whether it does.
func (r *row) close(text []byte) bool {
	for r.at < len(text) && r.state < behind {
		c := text[r.at]
		r.at++
		switch {
		case r.state == inside:
			r.inside(c, text)
		case isWhite(c):
		case r.state == ahead:
			if r.state, r.depth, r.last = outside, 1, c; c != '{' && c != '[' {
				r.state = other
			}
		default:
			r.outside(c)
			r.last = c
		}
	}
	return r.state == behind
}

// inside looks at a byte of a text in quotes, and passes those behind it that stand for themselves.
func (r *row) inside(c byte, text []byte) {
	switch {
	case r.escaped:
		r.escaped = false
	case c == '\\':
		r.escaped = true
	case c == '"':
		r.state = outside
	default:
		for r.at < len(text) && text[r.at] != '"' && text[r.at] != '\\' {
			r.at++
		}
	}
}

// outside looks at a byte outside of texts.
func (r *row) outside(c byte) {
	switch {
	case c == '"':
		if r.state = inside; bytes.IndexByte([]byte("{[,:"), r.last) < 0 {
			r.state = other
		}
	case c == '{' || c == '[':
		r.depth++
	case c == '}' || c == ']':
		if r.depth--; r.depth == 0 {
			r.state = behind
		}
	case c == ',' || c == ':' || '0' <= c && c <= '9' || bytes.IndexByte([]byte("+-.eEtrufalsn"), c) >= 0:
	default:
		r.state = other
	}
}

// EndOfJSON returns the offset behind the map or the list that starts at an offset. It is not ok where that is no JSON.
func EndOfJSON(text []byte, at int) (end int, ok bool) {
	r := row{at: at}
	ok = r.close(text)
	return r.at, ok
}
