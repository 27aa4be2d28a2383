// SPDX-License-Identifier: Apache-2.0

// Package quote writes text of others into messages, so that it stays on one line and
// in bounds however long or odd it is.
package quote

import (
	"fmt"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Limit is how long a value may be, in bytes, to be quoted whole.
const Limit = 1024

// kept is how much of a longer one is left.
const kept = 1000

// Value quotes a value as Go's %q does. Of one longer than Limit the beginning is
// quoted, with an ellipsis, and its length follows: "aaa…" (300000 bytes).
func Value(s string) string {
	if len(s) <= Limit {
		return strconv.Quote(s)
	}
	return fmt.Sprintf("%q (%d bytes)", start(s, kept)+"…", len(s))
}

// Plain returns s as it is where all of it prints and can be told from the text around, and
// as Value has it otherwise: for names in messages, which need quotes only seldom. The empty text
// stays empty.
func Plain(s string) string {
	if len(s) > Limit || strings.ContainsFunc(s, odd) || s != strings.TrimSpace(s) {
		return Value(s)
	}
	return s
}

// odd reports whether a character does not print as itself. A byte that is no UTF-8 does not.
func odd(r rune) bool { return r == utf8.RuneError || !unicode.IsPrint(r) }

// Shorten returns a text of at most limit bytes, which must be 16 or more: of a longer one its
// beginning and its end, with an ellipsis between them. Quoted values stand in the middle
// of a message, and its reason at the end.
func Shorten(s string, limit int) string {
	const between = "…"
	if len(s) <= limit {
		return s
	}
	room := limit - len(between)
	head := start(s, room*2/3)
	at := len(s) - (room - len(head))
	for at < len(s) && !utf8.RuneStart(s[at]) {
		at++
	}
	return head + between + s[at:]
}

// MaxLine is how many bytes a line has at the most, before escapes.
const MaxLine = 8 << 10

// Line returns a text as one line, with escapes for what does not print in it, and shortened to 8 KiB before these.
func Line(s string) string {
	var b strings.Builder
	for _, r := range Shorten(s, MaxLine) {
		if strconv.IsPrint(r) {
			b.WriteRune(r)
			continue
		}
		quoted := strconv.QuoteRune(r)
		b.WriteString(quoted[1 : len(quoted)-1])
	}
	return b.String()
}

// start returns the characters of the first n bytes of a text that has more.
func start(s string, n int) string {
	for at := n; at > max(0, n-utf8.UTFMax); at-- {
		if utf8.RuneStart(s[at]) {
			return s[:at]
		}
	}
	return s[:n]
}
