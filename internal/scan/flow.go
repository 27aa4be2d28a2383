// SPDX-License-Identifier: Apache-2.0

package scan

import "bytes"

// flow reads a map or a list in flow style, JSON included.
func (s *Scanner) flow() bool {
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
	for s.next() != closing {
		var key []byte
		if list {
			s.path[top].Index++
		} else {
			var ok bool
			if key, ok = s.flowKey(); !ok {
				return false
			}
			s.path[top].Key = key
		}
		if !s.flowValue(key) {
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

// flowKey reads a key, its colon, and the white space behind.
func (s *Scanner) flowKey() (key []byte, ok bool) {
	start := s.pos
	quote := s.next()
	quoted := quote == '"' || quote == '\''
	if quoted {
		s.pos++
		for s.next() != quote {
			if c := s.next(); c < ' ' || c > '~' || c == '\\' || s.pos-start > maxKey {
				return nil, false
			}
			s.pos++
		}
		key = s.text[start+1 : s.pos]
		s.pos++
	} else {
		if class[quote]&keyFirst == 0 {
			return nil, false
		}
		for class[s.next()]&keyNext != 0 {
			s.pos++
		}
		key = s.text[start:s.pos]
	}
	if s.pos-start > maxKey || s.next() != ':' {
		return nil, false
	}
	s.pos++
	if !quoted && s.next() != ' ' && s.next() != '\n' {
		return nil, false
	}
	s.blanks()
	return key, true
}

// flowValue reads a value.
func (s *Scanner) flowValue(key []byte) bool {
	switch c := s.next(); {
	case c == '[' || c == '{':
		return s.flow()
	case c == '"' || c == '\'':
		return s.quoted(key)
	case class[c]&flowFirst != 0 || c == '-' && class[s.after()]&(flowFirst|flowNext) != 0:
		return s.flowPlain(key)
	}
	return false
}

// flowPlain reads a scalar without quotes on one line.
func (s *Scanner) flowPlain(key []byte) bool {
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
	return s.found(key, start, s.pos, Plain, true)
}

// next returns the byte at the position, and 0 at the end of the text.
func (s *Scanner) next() byte {
	if s.pos < len(s.text) {
		return s.text[s.pos]
	}
	return 0
}

// after returns the byte behind the one at the position, and 0 at the end of the text.
func (s *Scanner) after() byte {
	if s.pos+1 < len(s.text) {
		return s.text[s.pos+1]
	}
	return 0
}

// blanks moves behind spaces, line breaks, and comments with white space in front.
func (s *Scanner) blanks() {
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
