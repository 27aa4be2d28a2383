// SPDX-License-Identifier: Apache-2.0

package document

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// TestInvalidUTF8: the error tells the first byte that is not UTF-8.
func TestInvalidUTF8(t *testing.T) {
	part := rapid.SampledFrom([]string{"a", ": ", "\n", "é", "\uFFFD", "\U0001F600", "\uFFFC", "\xff", "\xc3", "\xe2\x80", "\xed\xa0\x80"})
	rapid.Check(t, func(t *rapid.T) {
		text := strings.Join(rapid.SliceOfN(part, 0, 6).Draw(t, "parts"), "")
		first := -1
		for i, r := range text {
			if r == '\uFFFD' && !strings.HasPrefix(text[i:], "\uFFFD") {
				first = i
				break
			}
		}
		_, err := Parse([]byte(text))
		var fault *SyntaxError
		if first < 0 {
			if errors.As(err, &fault) && strings.HasSuffix(fault.Reason, "is not UTF-8") {
				t.Fatalf("%q: %v", text, err)
			}
			return
		}
		if want := fmt.Sprintf("byte %d: byte %#02x is not UTF-8", first, text[first]); err == nil || err.Error() != want {
			t.Fatalf("%q: %v, want %s", text, err, want)
		}
	})
}

// TestLongFaults: in a long text a fault is told by its line, where the parser tells one and has read more lines, and by what was read
// otherwise, at most 512 bytes at once.
func TestLongFaults(t *testing.T) {
	line := "k: a line of text that says nothing and goes on\n" // 48 bytes
	long := strings.Repeat(line, 6000)
	at := len(long)
	exact := "a: {b}}\n" + long[:256<<10-len("a: {b}}\n")]
	for _, test := range []struct {
		text string
		want int
	}{
		{exact, 11}, {exact + "\n", 511}, // the shortest that is long
		{"a: b: c\n" + long, 511},           // told without a line
		{"a: {b}}\n" + long, 511},           // the same, of what is missing
		{"a: [b\n" + long, 6},               // seen in the second line, from 1
		{"a\nb: c\n" + long, 2},             // in the second
		{long + "a: b: c\n", at + 7},        // in the last line
		{long + "\tb: c\n", at - len(line)}, // told as the line before
		{long + "a: @b\n" + long, at},       // in the middle
		{long + "a: \"\\q\"\n" + long, at},  // in quotes
		{strings.Repeat("# c ", 70000) + "\n\tb: c\n", 280000 + 6},
	} {
		_, err := Parse([]byte(test.text))
		var fault *SyntaxError
		if !errors.As(err, &fault) || fault.Offset != test.want {
			t.Errorf("%.20q, %d bytes: %v, want byte %d", test.text, len(test.text), err, test.want)
		}
	}
}

// panics is a reader on which the parser panics, as it does where it is wrong about itself.
type panics struct{}

func (panics) Read([]byte) (int, error) { panic("wrong") }

// TestFaults: in a short text a fault is told by the byte at which the parser gives up.
func TestFaults(t *testing.T) {
	for text, want := range map[string]string{
		"a: b: c\n":       "byte 4: mapping values are not allowed in this context",
		"a: [b\n":         "byte 4: did not find expected ',' or ']'",
		"a: 'b\n \n":      "byte 4: found unexpected end of stream",
		"a: 'é \t\r\n":    "byte 4: found unexpected end of stream",
		"\tb: c\n":        "byte 0: found character that cannot start any token",
		"c: d\na: @b\n":   "byte 8: found character that cannot start any token",
		"a: {b}}\n":       "byte 6: did not find expected key",
		"a\nb: c\n":       "byte 3: mapping values are not allowed in this context",
		"a: *x\n":         "byte 4: unknown anchor 'x' referenced",
		"a: \"\\q\"\n":    "byte 4: found unknown escape character",
		"a: é\x01\n":      "byte 5: control characters are not allowed",
		"a: b\n---\n@\n":  "byte 9: found character that cannot start any token",
		"{\"a\": \"\\/\"": "byte 7: found unknown escape character", // as of YAML: it is no JSON either
		"%A\n%B\n" + strings.Repeat("%C\n", maxDirectives): "byte 300: more than 100 directives",
		"{a: b}\nc: d\n":      "byte 7: did not find expected <document start>",
		"{a: b}\n\n   c: d\n": "byte 11: did not find expected <document start>",
		"[a]\r\n# é\n'b'\n":   "byte 10: did not find expected <document start>",
		"a: b\n[c\nd]\n":      "byte 6: could not find expected ':'",
	} {
		if _, err := Parse([]byte(text)); err == nil || err.Error() != want {
			t.Errorf("%.30q: %v, want %s", text, err, want)
		}
	}
	if _, err := parseYAML(panics{}); err == nil || err.Error() != "the YAML parser gives up: wrong" {
		t.Errorf("a parser that panics: %v", err)
	}
	if want := "a document is too long"; ErrLimit.Error() != want {
		t.Errorf("%v, want %s", ErrLimit, want)
	}
}

// TestVersion: a version directive at the head of a text is passed over, whatever the version, and what looks like one elsewhere is not.
func TestVersion(t *testing.T) {
	for text, want := range map[string]string{
		"%YAML 1.3\n---\na: b\n": "b", "%YAML 2.0\n%TAG ! x:\n---\na: b\n": "b", "# c\n%YAML\t1.2 # d\n\n---\na: b\n": "b", "\uFEFF%YAML 3.0\n---\na: b\n": "b", "%YAML 3.0\r\n---\r\na: b\r\n": "b",
		"a: \"b\n  %YAML 3.0\n  c\"\n": "b %YAML 3.0 c", "a: |\n  %YAML 3.0\n": "%YAML 3.0\n", "%YAML 3.0\n---\na: |\n  b\n\n  %YAML 3.0\n": "b\n\n%YAML 3.0\n",
	} {
		parsed, err := Parse([]byte(text))
		if err != nil {
			t.Errorf("%q: %v", text, err)
		} else if got := scalars(parsed)[1].Value; got != want {
			t.Errorf("%q: %q, want %q", text, got, want)
		}
	}
}
