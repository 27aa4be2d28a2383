// SPDX-License-Identifier: Apache-2.0

package node

import (
	"strings"
	"testing"

	"go.yaml.in/yaml/v3"
	"pgregory.net/rapid"

	"github.com/cozystack/image-overrides/internal/manifest/document"
)

// same reports whether two trees read the same.
func same(a, b *yaml.Node) bool {
	if a.Kind != b.Kind || a.ShortTag() != b.ShortTag() || a.Value != b.Value || len(a.Content) != len(b.Content) {
		return false
	}
	for i := range a.Content {
		if !same(a.Content[i], b.Content[i]) {
			return false
		}
	}
	return true
}

// flowText gives values as they stand in brackets and braces, with what may be taken for one of these.
func flowText(t *rapid.T, depth int) string {
	space := rapid.SampledFrom([]string{"", "", " ", "\n ", " # ]}'\"\n ", "\t"})
	kind := rapid.IntRange(0, 5).Draw(t, "kind")
	if depth == 0 || kind > 1 {
		return rapid.SampledFrom([]string{"a", "it's", "a#b", "'a'", "']'", "'it''s } '", `"}"`, `"\"]"`, `"\\"`, `"a'b"`, "a\"b", "5", "''", `""`, "a:b", "a'", "'a''' "}).Draw(t, "scalar")
	}
	var b strings.Builder
	for i := range rapid.IntRange(0, 3).Draw(t, "items") {
		if i > 0 {
			b.WriteString("," + space.Draw(t, "space"))
		}
		if kind == 0 {
			b.WriteString(rapid.SampledFrom([]string{"a", "'{'", `"]"`, "b c", "? d", "?']'", "? \"}\""}).Draw(t, "key") + ": ")
		}
		b.WriteString(flowText(t, depth-1) + space.Draw(t, "space"))
	}
	if kind == 0 {
		return "{" + space.Draw(t, "space") + b.String() + "}"
	}
	return "[" + space.Draw(t, "space") + b.String() + "]"
}

// TestFlow: what is in brackets or braces is found from the first to the last of them: alone it reads the same.
func TestFlow(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		text := rapid.SampledFrom([]string{"", "a: ", "- ", "# [\n", "x: é\ny: "}).Draw(t, "before") + flowText(t, 3) + rapid.SampledFrom([]string{"", "\n", " # ]\n", "\n# }\n"}).Draw(t, "after")
		parsed, err := document.Parse([]byte(text))
		if err != nil {
			t.Skip(err)
		}
		var walk func(n *yaml.Node)
		walk = func(n *yaml.Node) {
			start, end, ok := Flow(parsed, n)
			if want := n.Kind != yaml.ScalarNode && n.Style&yaml.FlowStyle != 0; ok != want {
				t.Fatalf("%q: %v at %d:%d is found: %v", text, n.Kind, n.Line, n.Column, ok)
			}
			if ok {
				at, _ := parsed.Offset(n)
				alone, err := document.Parse([]byte(text[start:end]))
				if err != nil || at != start || len(alone.Roots) != 1 || !same(alone.Roots[0], n) {
					t.Fatalf("%q: found %q, %v", text, text[start:end], err)
				}
			}
			for _, child := range n.Content {
				walk(child)
			}
		}
		for _, root := range parsed.Roots {
			walk(root)
		}
	})
	parsed, err := document.Parse([]byte("a: []"))
	if err != nil {
		t.Fatal(err)
	}
	for _, n := range []*yaml.Node{{Line: 9, Column: 1}, {Line: 1, Column: 6}} {
		if start, end, ok := Flow(parsed, n); ok || start != 0 || end != 0 {
			t.Errorf("a node of another text is found from %d to %d", start, end)
		}
	}
	parsed.Bytes = []byte("a: [b")
	if start, end, ok := Flow(parsed, parsed.Roots[0].Content[1]); ok || start != 0 || end != 0 {
		t.Errorf("what does not close is found from %d to %d", start, end)
	}
}

// TestIndent: a key is as far in as the spaces in front of it, where there is nothing else.
func TestIndent(t *testing.T) {
	for _, test := range []struct {
		text string
		way  []int // to the key
		line int   // where its line starts
		in   int
		ok   bool
	}{
		{"a: b\n", []int{0}, 0, 0, true}, {"\uFEFFa: b\n", []int{0}, 0, 0, true}, {"é: b\n  \n", []int{0}, 0, 0, true}, {"a:\n  b: c\n", []int{1, 0}, 3, 2, true}, {"a:\n  b: c\n  d: e\n", []int{1, 2}, 10, 2, true},
		{"- a: b\n", []int{0, 0}, 0, 2, false}, {"a: {b: c}\n", []int{1, 0}, 0, 4, false}, {"- a: b\n  c: d\n", []int{0, 2}, 7, 2, true}, {"? a\n: b\n", []int{0}, 0, 2, false},
	} {
		parsed, err := document.Parse([]byte(test.text))
		if err != nil {
			t.Fatal(err)
		}
		n := parsed.Roots[0]
		for _, i := range test.way {
			n = n.Content[i]
		}
		in, ok := Indent(parsed, n)
		if line := LineStart(parsed, n); in != test.in || ok != test.ok || line != test.line {
			t.Errorf("%q: %d in from %d, %v; want %d from %d, %v", test.text, in, line, ok, test.in, test.line, test.ok)
		}
	}
}
