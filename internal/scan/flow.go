// SPDX-License-Identifier: Apache-2.0

package scan

import "bytes"

// flow reads a map or a list in flow style, JSON included.
func (d document) flow() bool {
	list := d.text[d.pos] == '['
	closing := byte('}')
	if list {
		closing = ']'
	}
	d.pos++
	if !d.push(-1, list) {
		return false
	}
	top := len(d.levels) - 1
	d.blanks()
	for d.next() != closing {
		var key []byte
		if list {
			d.path[top].Index++
		} else {
			var ok bool
			if key, ok = d.flowKey(); !ok {
				return false
			}
			d.path[top].Key = key
		}
		if !d.flowValue(key) {
			return false
		}
		d.blanks()
		if d.next() == ',' {
			d.pos++
			d.blanks()
		} else if d.next() != closing {
			return false
		}
	}
	d.pos++
	d.pop()
	return true
}

// flowKey reads a key, its colon, and the white space behind.
func (d document) flowKey() (key []byte, ok bool) {
	start := d.pos
	quote := d.next()
	quoted := quote == '"' || quote == '\''
	if quoted {
		d.pos++
		for d.next() != quote {
			if c := d.next(); c < ' ' || c > '~' || c == '\\' || d.pos-start > maxKey {
				return nil, false
			}
			d.pos++
		}
		key = d.text[start+1 : d.pos]
		d.pos++
	} else {
		if class[quote]&keyFirst == 0 {
			return nil, false
		}
		for class[d.next()]&keyNext != 0 {
			d.pos++
		}
		key = d.text[start:d.pos]
	}
	if d.pos-start > maxKey || d.next() != ':' {
		return nil, false
	}
	d.pos++
	if !quoted && d.next() != ' ' && d.next() != '\n' {
		return nil, false
	}
	d.blanks()
	return key, true
}

// flowValue reads a value.
func (d document) flowValue(key []byte) bool {
	switch c := d.next(); {
	case c == '[' || c == '{':
		return d.flow()
	case c == '"' || c == '\'':
		return d.quoted(key)
	case class[c]&flowFirst != 0 || c == '-' && class[d.after()]&(flowFirst|flowNext) != 0:
		return d.flowPlain(key)
	}
	return false
}

// flowPlain reads a scalar without quotes on one line.
func (d document) flowPlain(key []byte) bool {
	start := d.pos
	for {
		for class[d.next()]&flowNext != 0 {
			d.pos++
		}
		c := d.next()
		if (c == ':' || c == ' ') && class[d.after()]&flowFirst != 0 {
			d.pos++
			continue
		}
		break
	}
	return d.found(key, start, d.pos, Plain, true)
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
