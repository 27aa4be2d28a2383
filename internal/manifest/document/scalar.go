// SPDX-License-Identifier: Apache-2.0

package document

import (
	"bytes"
	"strings"
	"unicode"
	"unicode/utf8"

	"go.yaml.in/yaml/v3"
)

// A Scalar is where and how a scalar is written.
type Scalar struct {
	Start, End int        // the notation, with its quotes or its block header, without anchor and tag
	Inner      int        // where the text begins: within quotes, in the line behind a block's header
	Verbatim   bool       // the bytes from there on are the value
	inner      int        // where that ends
	style      yaml.Style // the notation
	tag        [2]int     // a tag that is no string's, with the white space behind; both 0 for none
	empty      bool       // nothing is written, but properties
	text       []byte     // around
}

// Verbatim returns the scalar whose value is the bytes from start to end to the byte, without
// quotes or within them.
func Verbatim(start, end int, style yaml.Style) Scalar {
	s := Scalar{Start: start, End: end, Inner: start, inner: end, style: style, Verbatim: true}
	if style != 0 {
		s.Start--
		s.End++
	}
	return s
}

// StaysString reports whether a scalar that gets a string for its value may keep its explicit tag, if it has one.
func StaysString(n *yaml.Node) bool {
	return n.Style&yaml.TaggedStyle == 0 || n.Tag == "!!str" || !strings.HasPrefix(n.Tag, "!!") && !strings.HasPrefix(n.Tag, "tag:yaml.org,2002:")
}

// Offset returns the offset of the node's first byte: that of its anchor or tag,
// where it has one. ok is false where the text does not reach so far, which means
// that the node is not of this text.
func (t *Text) Offset(n *yaml.Node) (offset int, ok bool) {
	if t.starts == nil {
		at := 0
		if bytes.HasPrefix(t.Bytes, byteOrderMark) {
			at = len(byteOrderMark)
		}
		t.starts = []int{at}
		for at < len(t.Bytes) {
			if b := LineBreak(t.Bytes[at:]); b > 0 {
				at += b
				t.starts = append(t.starts, at)
				continue
			}
			at++
		}
	}
	if n.Line < 1 || n.Line > len(t.starts) {
		return 0, false
	}
	if n.Line != t.line || n.Column < t.column { // another line, or back in one, which may be all of the text
		t.line, t.column, t.offset = n.Line, 1, t.starts[n.Line-1]
		if mark := min(n.Column/markEvery, len(t.marks[n.Line])); mark > 0 {
			t.column, t.offset = mark*markEvery, t.marks[n.Line][mark-1]
		}
	}
	for ; t.column < n.Column; t.column++ {
		if t.column%markEvery == 0 && t.column == (len(t.marks[n.Line])+1)*markEvery {
			if t.marks == nil {
				t.marks = make(map[int][]int)
			}
			t.marks[n.Line] = append(t.marks[n.Line], t.offset)
		}
		if t.offset >= len(t.Bytes) || LineBreak(t.Bytes[t.offset:]) > 0 {
			return 0, false
		}
		_, size := utf8.DecodeRune(t.Bytes[t.offset:])
		t.offset += size
	}
	return t.offset, true
}

// markEvery is after how many characters of a line Offset notes where it is.
const markEvery = 1 << 10

// Scalar finds the bytes of a scalar node. ok is false where they cannot be found,
// or are not the node's value.
func (t *Text) Scalar(n *yaml.Node) (s Scalar, ok bool) {
	from, ok := t.Offset(n)
	if !ok {
		return s, false
	}
	properties, tag, at := skipProperties(t.Bytes, from)
	s = Scalar{Start: at, style: n.Style &^ (yaml.TaggedStyle | yaml.FlowStyle)}
	if !StaysString(n) {
		s.tag, s.text = tag, t.Bytes
	}
	switch s.style {
	case yaml.DoubleQuotedStyle:
		s.End, ok = quotedEnd(t.Bytes, at, '"')
	case yaml.SingleQuotedStyle:
		s.End, ok = quotedEnd(t.Bytes, at, '\'')
	case yaml.LiteralStyle, yaml.FoldedStyle:
		return t.block(s, n.Value)
	default:
		if n.Value == "" {
			s.Start, s.End, s.empty = properties, properties, true
			s.Inner, s.inner = properties, properties
			return s, properties > from
		}
		s.End, ok = foldedEnd(t.Bytes, at, n.Value)
		s.Inner, s.inner = at, s.End
		s.Verbatim = ok && string(t.Bytes[at:s.End]) == n.Value
		return s, ok && at < len(t.Bytes)
	}
	if !ok {
		return s, false
	}
	s.Inner, s.inner = at+1, s.End-1
	s.Verbatim = string(t.Bytes[at+1:s.End-1]) == n.Value
	return s, true
}

// block finds a block scalar that holds one line and no line break.
func (t *Text) block(s Scalar, value string) (Scalar, bool) {
	at := s.Start
	if at >= len(t.Bytes) || t.Bytes[at] != '|' && t.Bytes[at] != '>' {
		return s, false
	}
	for at < len(t.Bytes) && LineBreak(t.Bytes[at:]) == 0 { // the header, with its comment
		at++
	}
	for at < len(t.Bytes) && blank(t.Bytes[at:]) > 0 {
		at += blank(t.Bytes[at:])
	}
	end, ok := foldedEnd(t.Bytes, at, value)
	if !ok || value == "" {
		return s, false
	}
	s.End = end
	s.Inner, s.inner = at, end
	s.Verbatim = string(t.Bytes[at:end]) == value
	return s, true
}

// Alias finds the bytes of an alias, from its asterisk on.
func (t *Text) Alias(n *yaml.Node) (start, end int, ok bool) {
	start, ok = t.Offset(n)
	token := "*" + n.Value
	if !ok || !bytes.HasPrefix(t.Bytes[start:], []byte(token)) {
		return 0, 0, false
	}
	return start, start + len(token), true
}

// skipProperties returns where a node's anchor and tag end, where its tag and the white space behind it are, and where its content
// starts: behind these, and the white space and comments there.
func skipProperties(text []byte, at int) (end int, tag [2]int, content int) {
	end = at
	properties := false
	for at < len(text) {
		switch c := text[at]; {
		case c == '&' || c == '!':
			properties = true
			start := at
			for at < len(text) && blank(text[at:]) == 0 {
				at++
			}
			if end = at; c == '!' {
				for at < len(text) && (text[at] == ' ' || text[at] == '\t') {
					at++
				}
				tag = [2]int{start, at}
			}
		case properties && blank(text[at:]) > 0:
			at += blank(text[at:])
		case properties && c == '#':
			for at < len(text) && LineBreak(text[at:]) == 0 {
				at++
			}
		default:
			return end, tag, at
		}
	}
	return end, tag, at
}

// quotedEnd returns the offset behind the quote that closes the one at offset at.
func quotedEnd(text []byte, at int, quote byte) (int, bool) {
	if at >= len(text) || text[at] != quote {
		return 0, false
	}
	for i := at + 1; i < len(text); i++ {
		switch {
		case text[i] == '\\' && quote == '"':
			i++
		case text[i] == quote && quote == '\'' && i+1 < len(text) && text[i+1] == quote:
			i++
		case text[i] == quote:
			return i + 1, true
		}
	}
	return 0, false
}

// foldedEnd returns the offset behind a scalar without quotes whose value is
// given: the same characters, white space aside, which line folding may change.
func foldedEnd(text []byte, at int, value string) (int, bool) {
	for i := 0; i < len(value); {
		if n := blank([]byte(value[i:])); n > 0 {
			i += n
			continue
		}
		for at < len(text) {
			n := blank(text[at:])
			if n == 0 {
				break
			}
			at += n
		}
		if at >= len(text) || text[at] != value[i] {
			return 0, false
		}
		at++
		i++
	}
	return at, true
}

func blank(b []byte) int {
	if len(b) > 0 && (b[0] == ' ' || b[0] == '\t') {
		return 1
	}
	return LineBreak(b)
}

// Replace returns the change of bytes that gives the scalar another value: the
// text to write in place of the bytes from start to end. It keeps the notation
// where the value can be written in it; the value stays a string, and JSON stays JSON.
func (s Scalar) Replace(value string, json bool) (start, end int, text string) {
	start, end, text = s.replace(value, json)
	if s.tag[1] == 0 {
		return start, end, text
	}
	if s.empty && start <= s.tag[1] { // there is nothing behind the tag
		return s.tag[0], start, strings.TrimLeft(text, " ")
	}
	return s.tag[0], end, string(s.text[s.tag[1]:start]) + text
}

func (s Scalar) replace(value string, json bool) (start, end int, text string) {
	switch s.style {
	case yaml.DoubleQuotedStyle:
		if IsPlain(value) {
			return s.Inner, s.inner, value
		}
		quoted := Quote(value)
		return s.Inner, s.inner, quoted[1 : len(quoted)-1]
	case yaml.SingleQuotedStyle:
		if printable(value) {
			return s.Inner, s.inner, strings.ReplaceAll(value, "'", "''")
		}
	case yaml.LiteralStyle, yaml.FoldedStyle:
		if s.Verbatim && printable(value) && value != "" && strings.TrimSpace(value) == value {
			return s.Inner, s.inner, value
		}
	}
	text = Plain(value)
	if json {
		text = Quote(value)
	}
	if s.empty {
		text = " " + text
	}
	return s.Start, s.End, text
}

// Plain writes a string without quotes where it reads as the same string in any
// YAML, in block and in flow style, and with double quotes otherwise.
func Plain(value string) string {
	if IsPlain(value) {
		return value
	}
	return Quote(value)
}

// IsPlain reports whether a string may be written without quotes. It is narrower than
// YAML: the characters of image references only, and nothing that some version of
// YAML reads as another type.
func IsPlain(value string) bool {
	if value == "" || strings.HasSuffix(value, ":") {
		return false
	}
	name := false // no type but string has a slash or an at sign
	for i := range len(value) {
		switch c := value[i]; {
		case 'a' <= c && c <= 'z', 'A' <= c && c <= 'Z', '0' <= c && c <= '9':
		case i > 0 && (c == '/' || c == '@'):
			name = true
		case i > 0 && (c == '.' || c == '_' || c == '-' || c == ':'):
		default:
			return false
		}
	}
	return name || !otherType(value)
}

// otherType reports whether a plain scalar of letters, digits and ._-: may be
// read as something else than a string, by YAML 1.1 or 1.2.
func otherType(value string) bool {
	switch strings.ToLower(value) {
	case "null", "true", "false", "yes", "no", "on", "off", "y", "n":
		return true
	}
	if value[0] < '0' || value[0] > '9' || strings.Count(value, ".") > 1 {
		return false
	}
	// Numbers in every base and notation, sexagesimal ones, and dates.
	for i := range len(value) {
		c := value[i]
		if (c < '0' || c > '9') && strings.IndexByte("._-:abcdefABCDEFoxOXtTzZ", c) < 0 {
			return false
		}
	}
	return true
}

// Quote writes a string with double quotes, with escapes that YAML and JSON share.
func Quote(value string) string {
	const hex = "0123456789abcdef"
	var b strings.Builder
	b.WriteByte('"')
	for _, r := range value {
		switch {
		case r == '"' || r == '\\':
			b.WriteByte('\\')
			b.WriteRune(r)
		case r == '\n':
			b.WriteString(`\n`)
		case r == '\t':
			b.WriteString(`\t`)
		case r == '\r':
			b.WriteString(`\r`)
		case r == ' ' || unicode.IsPrint(r) || r > 0xFFFF:
			b.WriteRune(r)
		default:
			b.WriteString(`\u`)
			for shift := 12; shift >= 0; shift -= 4 {
				b.WriteByte(hex[r>>shift&0xF])
			}
		}
	}
	b.WriteByte('"')
	return b.String()
}

// printable reports whether a string can be written without escapes.
func printable(value string) bool {
	for _, r := range value {
		if !unicode.IsPrint(r) {
			return false
		}
	}
	return true
}
