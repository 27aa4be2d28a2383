// SPDX-License-Identifier: Apache-2.0

package imageoverrides

import (
	"bytes"
	"crypto/sha256"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/cozystack/image-overrides/internal/manifest/document"
)

// A listing is a list of entries that was read line by line.
type listing struct {
	overrides []Override
	start     position // of the list
	places    []placed // of the entries
	indent    int      // of the dashes, -1 where there is none
	rest      []byte   // the text from the first line on that was not read
}

// scanList reads a list of entries in the form that people and programs write it in,
// some ten times faster than a YAML parser:
//
//	# a comment
//	- name: registry.example.org/a
//	  newTag: "1.20"
//
// It stops at the first line that it does not know: flow
// style, escapes, values that may be something else than strings, comments behind values,
// a field twice. The text begins with the given line, from 1.
func scanList(text []byte, number int) listing {
	l := listing{indent: -1}
	for ; len(text) > 0; number++ {
		line, next, _ := bytes.Cut(text, []byte("\n"))
		content := bytes.TrimLeft(line, " ")
		if len(content) == 0 || content[0] == '#' && isPrintable(content) {
			text = next
			continue
		}
		at := len(line) - len(content)
		dash := bytes.HasPrefix(content, []byte("- "))
		if dash {
			content, at = content[2:], at+2
			if l.indent < 0 {
				l.indent = at - 2
				n := bytes.Count(text, []byte("- ")) // at most that many
				l.overrides, l.places = make([]Override, 0, n), make([]placed, 0, n)
				l.start = position{int32(number), int32(at - 1)}
			}
		}
		if l.indent < 0 || at != l.indent+2 {
			break
		}
		var o Override
		if !dash {
			o = l.overrides[len(l.overrides)-1]
		}
		key, value, found := bytes.Cut(content, []byte(": "))
		i := slices.Index(fieldNames[:], string(key))
		if !found || i < 0 {
			break
		}
		field := o.field(fieldNames[i])
		if *field != "" {
			break
		}
		if *field, found = scanString(string(value)); !found || *field == "" {
			break // an empty one may come once more
		}
		if dash {
			l.overrides = append(l.overrides, o)
			l.places = append(l.places, placed{entry: position{int32(number), int32(at + 1)}})
		} else {
			l.overrides[len(l.overrides)-1] = o
		}
		l.places[len(l.places)-1].fields[i] = position{int32(number), int32(at + len(key) + len(": ") + 1)}
		text = next
	}
	l.rest = text
	return l
}

// scanTable reads the table of a text that holds it as a chart writes it:
//
//	outer:
//	  inner:
//	  - name: registry.example.org/a
//
// The rest of the text is read by a YAML parser, with an item of another kind in place of the
// list. Where that comes out under the keys, so would the list. It is not ok, and the
// text to be parsed as a whole, where it does not, where the list may stand in more places than one, and where
// the text may not be read whole.
func scanTable(text []byte, h home) (l listing, ok bool) {
	key := []byte(h.inner + ":\n")
	start := bytes.Index(text, key)
	if start < 0 {
		return l, false
	}
	start += len(key)
	l = scanList(text[start:], 1+bytes.Count(text[:start], []byte("\n")))
	if l.indent < 0 || bytes.IndexByte(l.rest, '&') >= 0 || bytes.IndexByte(text[:start], '&') >= 0 {
		return l, false // no list, or an anchor
	}
	item := fmt.Sprintf("%x", sha256.Sum256(text)) // which no other place of the text can spell
	line := strings.Repeat(" ", l.indent) + "- '" + item + "'\n"
	around := slices.Concat(text[:start], []byte(line), l.rest)
	if !isOneBlock(around) || manyDocuments.Match(around) {
		return l, false
	}
	v, err := decode(around)
	if err != nil {
		return l, false
	}
	values, _ := v.(map[string]any)
	m, _ := values[h.outer].(map[string]any)
	list, _ := m[h.inner].([]any)
	if len(list) != 1 || list[0] != item {
		return l, false
	}
	if isOnce(around, h.outer) && isOnce(around, h.inner) && !bytes.ContainsAny(around, `\!`) {
		return l, true
	}
	in, err := open(around)
	return l, err == nil && in.twice(h.outer, h.inner) == nil
}

// isOneBlock reports whether a text that decodes to a map is one in block style, at the margin. Only
// the marker of a document ends such a map before the text does.
func isOneBlock(text []byte) bool {
	for len(text) > 0 {
		line, next, _ := bytes.Cut(text, []byte("\n"))
		content := bytes.TrimLeft(line, " ")
		if len(content) > 0 && content[0] != '#' {
			c := line[0]
			return c == '_' || 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z'
		}
		if hasLineBreak.Match(content) {
			return false // a comment that ends before its line does
		}
		text = next
	}
	return false
}

// hasLineBreak matches the line breaks of YAML 1.1 besides the line feed.
var hasLineBreak = regexp.MustCompile(`[\r\x{85}\x{2028}\x{2029}]`)

// isOnce reports whether a word stands in the text once. A key that has neither escapes nor a tag
// is spelled as it is.
func isOnce(text []byte, word string) bool { return bytes.Count(text, []byte(word)) == 1 }

// scanString reads a string of printable ASCII, without quotes or in quotes that hold no
// quote and no escape.
func scanString(value string) (string, bool) {
	if document.IsPlain(value) {
		return value, true
	}
	if len(value) < 2 || value[0] != value[len(value)-1] {
		return "", false
	}
	inner := value[1 : len(value)-1]
	for i := range len(inner) {
		if c := inner[i]; c < ' ' || c > '~' || c == value[0] || c == '\\' {
			return "", false
		}
	}
	return inner, value[0] == '"' || value[0] == '\''
}

// isPrintable reports whether text is printable ASCII.
func isPrintable(text []byte) bool {
	for _, c := range text {
		if c < ' ' || c > '~' {
			return false
		}
	}
	return true
}
