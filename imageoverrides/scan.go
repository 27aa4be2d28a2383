// SPDX-License-Identifier: Apache-2.0

package imageoverrides

import (
	"bytes"
	"crypto/sha256"
	"fmt"
	"slices"
	"strings"

	"github.com/cozystack/image-overrides/internal/document"
)

// scanList reads a list of entries in the form that people and programs write it in,
// some ten times faster than a YAML parser:
//
//	# a comment
//	- name: registry.example.org/a
//	  newTag: "1.20"
//
// It stops at the first line that it does not know, and returns the text from there on: flow
// style, escapes, values that may be something else than strings, comments behind values,
// a field twice. The indent is that of the dashes, -1 where there is none.
func scanList(text []byte) (overrides []Override, rest []byte, indent int) {
	indent = -1
	for len(text) > 0 {
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
			if indent < 0 {
				indent = at - 2
			}
		}
		if indent < 0 || at != indent+2 {
			break
		}
		var o Override
		if !dash {
			o = overrides[len(overrides)-1]
		}
		key, value, found := strings.Cut(string(content), ": ")
		field := o.field(key)
		if !found || field == nil || *field != "" {
			break
		}
		if *field, found = scanString(value); !found {
			break
		}
		if dash {
			overrides = append(overrides, o)
		} else {
			overrides[len(overrides)-1] = o
		}
		text = next
	}
	return overrides, text, indent
}

// scanTable reads the table under two keys of a text that holds it as a chart writes it:
//
//	outer:
//	  inner:
//	  - name: registry.example.org/a
//
// The rest of the text is read by a YAML parser, with an item of another kind in place of the
// list. Where that comes out under the keys, so would the list. It is not ok, and the
// text to be parsed as a whole, where it does not, and where the list may stand in more places than one.
func scanTable(text []byte, outer, inner string) (overrides []Override, ok bool) {
	key := []byte(inner + ":\n")
	start := bytes.Index(text, key)
	if start < 0 {
		return nil, false
	}
	start += len(key)
	overrides, rest, indent := scanList(text[start:])
	if indent < 0 || bytes.IndexByte(rest, '&') >= 0 || bytes.IndexByte(text[:start], '&') >= 0 {
		return nil, false // no list, or an anchor
	}
	item := fmt.Sprintf("%x", sha256.Sum256(text)) // which no other place of the text can spell
	line := strings.Repeat(" ", indent) + "- '" + item + "'\n"
	v, err := decode(slices.Concat(text[:start], []byte(line), rest))
	if err != nil {
		return nil, false
	}
	values, _ := v.(map[string]any)
	m, _ := values[outer].(map[string]any)
	list, _ := m[inner].([]any)
	return overrides, len(list) == 1 && list[0] == item
}

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
