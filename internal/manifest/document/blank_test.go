// SPDX-License-Identifier: Apache-2.0

package document

import (
	"regexp"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// blankText is what Blank's doc says, as an expression over texts that end with a line feed.
var blankText = func() *regexp.Regexp {
	const (
		rest      = `(?:[ \t\r\x{FEFF}\x{85}\x{2028}\x{2029}]|#[^\n\r\x{85}\x{2028}\x{2029}]*)*`
		line      = rest + `\n`
		start     = `---(?:[ \t\r]` + rest + `)?\n`
		end       = `\.\.\.(?:[ \t\r]` + rest + `)?\n`
		directive = `%[^\n]*\n`
		further   = `(?:` + line + `|` + directive + `)*`
		head      = `(?:` + line + `|` + end + `|` + directive + further + end + `)*`
		tail      = `(?:` + line + `|` + end + `|` + start + `)*`
	)
	return regexp.MustCompile(`\A\x{FEFF}?` + head + `(?:(?:` + directive + further + `)?` + start + tail + `)?\z`)
}()

// TestBlank: a text is blank where there is nothing but white space, comments, separators, and directives in front of these.
func TestBlank(t *testing.T) {
	part := rapid.SampledFrom([]string{"\n", "\n", "\r\n", " ", "\t\n", "# c\n", "  # c: d\r# e\n", "#", "---\n", "--- # c\n", "---\t\n", "---\r\n", "---", "...\n", "... # c\n", "...",
		"%YAML 1.1\n", "%TAG !e! tag:e,2000:\n", "%X\n", " %X\n", "\uFEFF", "\u0085", "\u2028# c\u2029", "\r", "a", "~\n", "--- a\n", "---a\n", "....\n", "-", "''", "# c\ra: b\n", " \u0085a\n"})
	rapid.Check(t, func(t *rapid.T) {
		text := strings.Join(rapid.SliceOfN(part, 0, 6).Draw(t, "parts"), "")
		if got, want := Blank([]byte(text)), blankText.MatchString(text+"\n"); got != want {
			t.Fatalf("%q is blank: %v, want %v", text, got, want)
		}
	})
}
