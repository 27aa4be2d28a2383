// SPDX-License-Identifier: Apache-2.0

// Package paths has the ways to the values of a manifest: how people write them, and rules about where they lead.
package paths

import (
	"strconv"
	"strings"

	"github.com/cozystack/image-overrides/internal/quote"
)

// A Step is one step of a path: into a map by a key, or into a list by an index.
type Step struct {
	Key  string
	Item int // in a list, from 0; -1 for a key
}

// Longest is about how long a written path gets, in bytes. Of a longer one the middle is left out.
const Longest = 1 << 10

// Append writes a path as people write it, spec.containers[0].image, with odd keys quoted: data["a.b"].
func Append(b []byte, path []Step) []byte {
	start := len(b)
	for i, step := range path {
		if len(b)-start > Longest/2 && len(path)-i > 2*tail {
			b = append(b, "..."...)
			for _, step := range path[len(path)-tail:] {
				b = step.Append(b, len(b) > start)
			}
			return b
		}
		b = step.Append(b, len(b) > start)
	}
	return b
}

// tail is how many steps of the end of a path are written, however long it is.
const tail = 4

// Append writes one step as people write it, behind others or as the first.
func (s Step) Append(b []byte, behind bool) []byte {
	if s.Item >= 0 {
		return append(strconv.AppendInt(append(b, '['), int64(s.Item), 10), ']')
	}
	simple := s.Key != "" && len(s.Key) <= quote.Limit
	for i := 0; simple && i < len(s.Key); i++ {
		simple = !odd[s.Key[i]]
	}
	if !simple {
		return append(append(append(b, '['), quote.Value(s.Key)...), ']')
	}
	if behind {
		b = append(b, '.')
	}
	return append(b, s.Key...)
}

// Pointer writes a path by RFC 6901, whole.
func Pointer(path []Step) string {
	var b []byte
	for _, step := range path {
		b = append(b, '/')
		if step.Item >= 0 {
			b = strconv.AppendInt(b, int64(step.Item), 10)
		} else {
			b = append(b, escaped.Replace(step.Key)...)
		}
	}
	return string(b)
}

var escaped = strings.NewReplacer("~", "~0", "/", "~1")

// odd are the bytes of keys that are quoted.
var odd = func() (odd [256]bool) {
	for c := range odd {
		odd[c] = c <= ' ' || c > '~' || c == '.' || c == '[' || c == ']' || c == '"'
	}
	return odd
}()
