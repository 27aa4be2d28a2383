// SPDX-License-Identifier: Apache-2.0

package quote_test

import (
	"strconv"
	"strings"
	"testing"
	"unicode/utf8"

	"pgregory.net/rapid"

	"github.com/cozystack/image-overrides/internal/quote"
)

func TestValue(t *testing.T) {
	a := strings.Repeat("a", 999)
	for _, test := range []struct{ why, in, value, plain string }{
		{"nothing", "", `""`, ""},
		{"a word", "nginx:v1", `"nginx:v1"`, "nginx:v1"},
		{"words", "a b", `"a b"`, "a b"},
		{"a space behind", "a ", `"a "`, `"a "`},
		{"a line feed", "a\nb", `"a\nb"`, `"a\nb"`},
		{"an escape of a terminal", "\x1b[2J", `"\x1b[2J"`, `"\x1b[2J"`},
		{"a byte that is no UTF-8", "a\xff", `"a\xff"`, `"a\xff"`},
		{"text that runs the other way", "a\u202eb", `"a\u202eb"`, `"a\u202eb"`},
		{"the longest that is whole", a + strings.Repeat("b", 25), `"` + a + strings.Repeat("b", 25) + `"`, a + strings.Repeat("b", 25)},
		{"a byte more", a + strings.Repeat("b", 26), `"` + a + `b…" (1025 bytes)`, `"` + a + `b…" (1025 bytes)`},
		{"a character at the cut", a + strings.Repeat("é", 13), `"` + a + `…" (1025 bytes)`, `"` + a + `…" (1025 bytes)`},
	} {
		if got := quote.Value(test.in); got != test.value {
			t.Errorf("%s: Value(%q) is %s, want %s", test.why, test.in, got, test.value)
		}
		if got := quote.Plain(test.in); got != test.plain {
			t.Errorf("%s: Plain(%q) is %s, want %s", test.why, test.in, got, test.plain)
		}
	}
}

// TestLaws: what is quoted stays on one line and in bounds, and short text comes back.
func TestLaws(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := rapid.OneOf(rapid.String(), rapid.Map(rapid.SliceOfN(rapid.Byte(), 0, 40), func(b []byte) string { return string(b) })).Draw(t, "text")
		s = strings.Repeat(s, rapid.SampledFrom([]int{1, 1, 30, 1000}).Draw(t, "times"))
		value := quote.Value(s)
		if len(value) > 4*quote.Limit+40 || strings.ContainsAny(value, "\n\r\x1b") {
			t.Fatalf("%q", value)
		}
		if back, err := strconv.Unquote(value); len(s) <= quote.Limit && (err != nil || back != s) {
			t.Fatalf("%q comes back as %q, %v", s, back, err)
		}
		if plain := quote.Plain(s); plain != s && plain != value || strings.ContainsAny(plain, "\n\r\x1b") {
			t.Fatalf("%q", plain)
		}
		limit := rapid.IntRange(16, 400).Draw(t, "limit")
		short := quote.Shorten(s, limit)
		if len(short) > limit || len(s) <= limit && short != s || utf8.ValidString(s) && !utf8.ValidString(short) {
			t.Fatalf("Shorten(%q, %d) is %q", s, limit, short)
		}
		cut := short == s
		for at := range short { // s may have an ellipsis of its own
			tail, found := strings.CutPrefix(short[at:], "…")
			cut = cut || found && strings.HasPrefix(s, short[:at]) && strings.HasSuffix(s, tail)
		}
		if !cut {
			t.Fatalf("Shorten(%q, %d) is %q", s, limit, short)
		}
	})
}

// TestShorten: two thirds of what is left are the beginning, and a character is cut nowhere; where there are no characters,
// bytes are.
func TestShorten(t *testing.T) {
	for _, test := range []struct {
		why, in string
		limit   int
		want    string
	}{
		{"as long as may be", strings.Repeat("a", 16), 16, strings.Repeat("a", 16)},
		{"a byte more", strings.Repeat("a", 16) + "b", 16, "aaaaaaaa…aaaab"},
		{"the least", strings.Repeat("a", 50) + strings.Repeat("b", 50), 16, "aaaaaaaa…bbbbb"},
		{"more", strings.Repeat("a", 500) + strings.Repeat("b", 500), 99, strings.Repeat("a", 64) + "…" + strings.Repeat("b", 32)},
		{"characters at both cuts", strings.Repeat("é", 50), 18, strings.Repeat("é", 5) + "…" + strings.Repeat("é", 2)},
		{"a character of four bytes at the cut", "abcde" + strings.Repeat("\U0001F600", 20), 16, "abcde…\U0001F600\U0001F600"},
		{"one that ends there", "abcd" + strings.Repeat("\U0001F600", 20), 16, "abcd\U0001F600…\U0001F600"},
		{"bytes that are no characters", "a" + strings.Repeat("\x80", 50), 16, "a" + strings.Repeat("\x80", 7) + "…"},
		{"a letter just too far in front of them", "abcde" + strings.Repeat("\x80", 50), 16, "abcde" + strings.Repeat("\x80", 3) + "…"},
	} {
		if got := quote.Shorten(test.in, test.limit); got != test.want {
			t.Errorf("%s: Shorten(%q, %d) is %q, want %q", test.why, test.in, test.limit, got, test.want)
		}
	}
}
