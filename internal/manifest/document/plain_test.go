// SPDX-License-Identifier: Apache-2.0

package document

import (
	"encoding/json"
	"regexp"
	"strings"
	"testing"

	"go.yaml.in/yaml/v3"
	"pgregory.net/rapid"
)

// What stands without quotes: the characters of image references, but for what some YAML reads as another type. That is the
// words, and what begins with a digit and has only what numbers and dates are written with; nothing with a slash or an at sign is either.
var (
	references = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9/@._:-]*$`)
	words      = regexp.MustCompile(`^(?i:null|true|false|yes|no|on|off|y|n)$`)
	numbers    = regexp.MustCompile(`^[0-9][0-9_:a-fA-FoxOXtTzZ-]*(\.[0-9_:a-fA-FoxOXtTzZ-]*)?$`)
)

func stands(value string) bool {
	return references.MatchString(value) && !strings.HasSuffix(value, ":") && !words.MatchString(value) && !numbers.MatchString(value)
}

// TestPlain: a string stands without quotes where that is safe and nowhere else, and however it is written it is the same string, in
// block and in flow style, and in JSON where it has quotes.
func TestPlain(t *testing.T) {
	part := rapid.SampledFrom([]string{"", "a", "G", "z", "0", "9", "1.2", ".", "..", "-", "_", ":", "/", "@", "e", "0x1f", "0o7", "2026-01-01", "T00:00:00Z", "true", "Null", "y", "on",
		" ", "\"", "\\", "\n", "\t", "\r", "'", "#", "é", "~", "\u00a0", "\u0085", "\u2028", "\ufeff", "\u0000", "\u001f", "\u007f", "\U0001F600", "\U000E0001", "\uffff"})
	rapid.Check(t, func(t *rapid.T) {
		value := strings.Join(rapid.SliceOfN(part, 0, 4).Draw(t, "parts"), "")
		if got := IsPlain(value); got != stands(value) {
			t.Fatalf("%q may stand without quotes: %v", value, got)
		}
		written := Plain(value)
		if quoted := Quote(value); written != quoted {
			if written != value || !stands(value) {
				t.Fatalf("%q is written %s", value, written)
			}
		} else if stands(value) {
			t.Fatalf("%q is written with quotes", value)
		}
		for _, text := range []string{"a: " + written + "\n", "a: [" + written + ", x]\n", "a: " + Quote(value) + "\n", "{a: " + written + "}"} {
			var read map[string]any
			if err := yaml.Unmarshal([]byte(text), &read); err != nil {
				t.Fatalf("%q: %v", text, err)
			}
			got := read["a"]
			if list, ok := got.([]any); ok {
				got = list[0]
			}
			if got != value {
				t.Fatalf("%q reads as %#v, want %q", text, got, value)
			}
		}
		var read string
		if err := json.Unmarshal([]byte(Quote(value)), &read); err != nil || read != value {
			t.Fatalf("%s reads as %q in JSON, %v, want %q", Quote(value), read, err, value)
		}
	})
}

// TestQuote: the escapes are those that are read best.
func TestQuote(t *testing.T) {
	const value, want = "a\"\\\n\t\r\x00\x1f\u007f\u00a0\u0085\u2028\ufeff é\U0001F600/", `"a\"\\\n\t\r\u0000\u001f\u007f\u00a0\u0085\u2028\ufeff é😀/"`
	if got := Quote(value); got != want {
		t.Errorf("%s, want %s", got, want)
	}
}
