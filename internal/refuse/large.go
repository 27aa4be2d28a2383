// SPDX-License-Identifier: Apache-2.0

package refuse

import (
	"bytes"
	"fmt"
)

// MaxValues is how many values a document may have that has to be parsed, keys among them. The tree of so many takes some 500 MB.
const MaxValues = 2_000_000

// TooManyValues is said of a document with more, behind what made the parser necessary.
var TooManyValues = fmt.Sprintf("a document of more than %d values, which a YAML parser has to read, because of ", MaxValues)

// Large reports whether a text may have more values than a document may that has to be parsed. It counts what stands between values,
// which may be part of texts too.
func Large(text []byte) bool {
	if len(text) < MaxValues {
		return false
	}
	n := 0
	for _, mark := range []string{":", ":", ",", "[", "{", "- "} { // a key stands before a colon, and a value behind it
		n += bytes.Count(text, []byte(mark))
	}
	return n > MaxValues
}
