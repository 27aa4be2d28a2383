// SPDX-License-Identifier: Apache-2.0

package refuse

import (
	"fmt"
	"strings"
)

// MaxValues is how many values a document may have that has to be parsed, keys among them. The tree of so many takes some 500 MB.
const MaxValues = 1_500_000

// TooManyValues is said of a document with more, in front of what made the parser necessary.
var TooManyValues = fmt.Sprintf("a document of more than %d values, which a YAML parser has to read, because of ", MaxValues)

// Large reports whether a text may have more values than a document may that has to be parsed.
func Large(text []byte) bool { return len(text) > MaxValues/2 && marks(text) > MaxValues }

// marks counts what stands between values, some of which may be part of texts. There are never more values than that.
func marks(text []byte) int {
	n := 2
	pair := false     // since the last comma or bracket there was a colon
	var around []bool // the same outside of the brackets around
	for i, c := range text {
		last := i+1 == len(text) || text[i+1] <= ' ' // nothing behind it that would make a text of it
		switch {
		case c == ':' && (last || strings.IndexByte(",[]{}", text[i+1]) >= 0 || i > 0 && strings.IndexByte("\"'}]", text[i-1]) >= 0):
			n += 2 // a key in front, a value behind
			pair = true
		case c == '?':
			n += 2
		case c == ',', c == ']', c == '}':
			if !pair && text[max(i-1, 0)] != c-2 { // "[]" and "{}" are empty
				n += 2 // in braces it is a key, and a null
			}
			pair = false
			if end := len(around) - 1; c != ',' && end >= 0 {
				pair, around = around[end], around[:end]
			}
		case c == '[', c == '{':
			n++
			around = append(around, pair)
			pair = false
		case c == '-' && last:
			n++
		}
	}
	return n
}
