// SPDX-License-Identifier: Apache-2.0

package manifest

import (
	"bytes"

	"github.com/cozystack/image-overrides/internal/manifest/document"
)

// flow reads a map or a list in flow style, JSON included.
func (s *scanner) flow() bool {
	list := s.text[s.pos] == '['
	closing := byte('}')
	if list {
		closing = ']'
	}
	s.pos++
	if !s.push(-1, list) {
		return false
	}
	top := len(s.levels) - 1
	s.blanks()
	if s.all && s.next() == closing {
		s.empty(list)
	}
	for s.next() != closing {
		if list {
			s.item(s.pos)
		} else {
			key, ok := s.flowKey()
			if !ok {
				return false
			}
			s.path[top].Key = key
			if s.all {
				s.key(key, s.keyQuoted)
			}
		}
		if !s.flowValue() && !s.flowItemAgain(top) {
			return false
		}
		s.blanks()
		if s.next() == ',' {
			s.pos++
			s.blanks()
		} else if s.next() != closing {
			return false
		}
	}
	s.pos++
	s.pop()
	return true
}

// flowItemAgain has an item of a list object, in level top, told by the parser. It has to be JSON, so that its end is known.
func (s *scanner) flowItemAgain(top int) bool {
	if top != 1 || !s.levels[top].whole {
		return false
	}
	end, ok := document.EndOfJSON(s.text, s.items)
	return ok && s.itemAgain(s.items, end)
}

// flowKey reads a key, its colon, and the white space behind.
func (s *scanner) flowKey() (key string, ok bool) {
	start := s.pos
	quote := s.next()
	quoted := quote == '"' || quote == '\''
	if quoted {
		var n int
		if key, n = quotedKey(s.text[start:]); n == 0 {
			return "", false
		}
		s.pos += n
	} else {
		if class[quote]&keyFirst == 0 {
			return "", false
		}
		for class[s.next()]&keyNext != 0 {
			s.pos++
		}
		key = text(s.text[start:s.pos])
	}
	if s.pos-start > maxKey || s.next() != ':' {
		return "", false
	}
	s.pos++
	if !quoted && s.next() != ' ' && s.next() != '\n' {
		return "", false
	}
	s.inQuotes, s.keyQuoted = quote == '"', quoted
	s.blanks()
	return key, true
}

// flowValue reads a value.
func (s *scanner) flowValue() bool {
	switch c := s.next(); {
	case c == '[' || c == '{':
		return s.flow()
	case c == '"' || c == '\'':
		return s.quotes()
	case class[c]&flowFirst != 0 || c == '-' && class[s.after()]&(flowFirst|flowNext) != 0:
		return s.flowPlain()
	}
	return false
}

// flowPlain reads a scalar without quotes on one line.
func (s *scanner) flowPlain() bool {
	start := s.pos
	for {
		for class[s.next()]&flowNext != 0 {
			s.pos++
		}
		c := s.next()
		if (c == ':' || c == ' ') && class[s.after()]&flowFirst != 0 {
			s.pos++
			continue
		}
		break
	}
	return s.tell(start, s.pos, plain, true)
}

// next returns the byte at the position, and 0 at the end of the text.
func (s *scanner) next() byte {
	if s.pos < len(s.text) {
		return s.text[s.pos]
	}
	return 0
}

// after returns the byte behind the one at the position, and 0 at the end of the text.
func (s *scanner) after() byte {
	if s.pos+1 < len(s.text) {
		return s.text[s.pos+1]
	}
	return 0
}

// blanks moves behind spaces, line breaks, and comments with white space in front.
func (s *scanner) blanks() {
	for s.pos < len(s.text) {
		switch s.text[s.pos] {
		case ' ':
			s.pos++
		case '\n':
			if s.marker(s.pos + 1) {
				return
			}
			s.pos++
		case '#':
			if before := s.text[s.pos-1]; before != ' ' && before != '\n' {
				return
			}
			comment, _, found := bytes.Cut(s.text[s.pos:], []byte("\n"))
			if !found || !printable(comment) {
				return
			}
			s.pos += len(comment)
		default:
			return
		}
	}
}
