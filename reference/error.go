// SPDX-License-Identifier: Apache-2.0

package reference

import (
	"fmt"
	"strconv"
	"unicode/utf8"
)

// Error is the only type of error that this package returns, always as *Error. It
// wraps none.
type Error struct {
	// Text is what the function was given, whole.
	Text string
	// Part is what is at fault: "name", "tag", "digest", "host" or "repository".
	// It is "name" where the fault is of the whole and not of one of the others: an
	// empty text, a scheme, an image ID, a tag where only a name may stand.
	Part string
	// Value is the text of that part. It is Text where that is all there is.
	Value string
	// Reason says what is wrong, as it reads behind the value: "is empty".
	Reason string
}

// Error returns one line, such as
//
//	tag "1 2" has a space
//	image reference "nginx:": tag "" is empty
//
// The first form stands where the value is the whole text. Of a text of more than 1,024
// bytes only the beginning is quoted, and its length told.
func (e *Error) Error() string {
	if e.Value == e.Text {
		return fmt.Sprintf("%s %s %s", e.Part, quote(e.Value), e.Reason)
	}
	return fmt.Sprintf("image reference %s: %s %s %s", quote(e.Text), e.Part, quote(e.Value), e.Reason)
}

// quote quotes text that may be long.
func quote(s string) string {
	const whole, kept = 1024, 1000
	if len(s) <= whole {
		return strconv.Quote(s)
	}
	cut := kept
	for cut > kept-utf8.UTFMax && !utf8.RuneStart(s[cut]) {
		cut--
	}
	return fmt.Sprintf("%q (%d bytes)", s[:cut]+"…", len(s))
}
