// SPDX-License-Identifier: Apache-2.0

package imageoverrides

import (
	"bytes"
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
// It is not ok on the first thing that it does not know, and what it says is then
// of no use: flow style, escapes, values that may be something else than strings,
// comments behind values, a field twice.
func scanList(text []byte) (overrides []Override, ok bool) {
	indent := -1 // of the dashes
	var set [4]bool
	for len(text) > 0 {
		line, rest, _ := bytes.Cut(text, []byte("\n"))
		text = rest
		content := bytes.TrimLeft(line, " ")
		if len(content) == 0 || content[0] == '#' {
			continue
		}
		at := len(line) - len(content)
		if bytes.HasPrefix(content, []byte("- ")) {
			if indent < 0 {
				indent = at
			}
			content = content[2:]
			at += 2
			overrides = append(overrides, Override{})
			set = [4]bool{}
		}
		if indent < 0 || at != indent+2 {
			return nil, false
		}
		key, value, found := strings.Cut(string(content), ": ")
		o := &overrides[len(overrides)-1]
		i, field := 0, (*string)(nil)
		switch key {
		case "name":
			i, field = 0, &o.Name
		case "newName":
			i, field = 1, &o.NewName
		case "newTag":
			i, field = 2, &o.NewTag
		case "digest":
			i, field = 3, &o.Digest
		}
		if !found || field == nil || set[i] {
			return nil, false
		}
		set[i] = true
		if *field, ok = scanString(value); !ok {
			return nil, false
		}
	}
	return overrides, len(overrides) > 0
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
