// SPDX-License-Identifier: Apache-2.0

package document

import (
	"fmt"
	"io"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/google/go-cmp/cmp"
	"go.yaml.in/yaml/v3"
	"pgregory.net/rapid"
)

// written is a JSON value with white space wherever it may stand, and the node that it is to become, with its place as the text that
// begins there.
func written(t *rapid.T, depth int) (text string, n node, begins []string) {
	space := rapid.SampledFrom([]string{"", "", "", " ", "\n", "\r\n", "\t"})
	kind := rapid.IntRange(0, 9).Draw(t, "kind")
	if depth == 0 {
		kind = max(2, kind)
	}
	join := func(open, closing string, items []string) string {
		var b strings.Builder
		b.WriteString(open + space.Draw(t, "space"))
		for i, item := range items {
			if i > 0 {
				b.WriteString("," + space.Draw(t, "space"))
			}
			b.WriteString(item + space.Draw(t, "space"))
		}
		return b.String() + closing
	}
	var items []string
	switch kind {
	case 0:
		n = node{Kind: yaml.MappingNode, Tag: "!!map"}
		for i := range rapid.IntRange(0, 3).Draw(t, "fields") {
			key := fmt.Sprintf("k%d", i)
			value, child, inner := written(t, depth-1)
			before := fmt.Sprintf("%q%s:%s", key, space.Draw(t, "space"), space.Draw(t, "space"))
			items = append(items, before+value)
			n.Children = append(n.Children, node{Kind: yaml.ScalarNode, Tag: "!!str", Value: key}, child)
			begins = append(append(begins, fmt.Sprintf("%q", key)), inner...)
		}
		text = join("{", "}", items)
		return text, n, append([]string{"{"}, begins...)
	case 1:
		n = node{Kind: yaml.SequenceNode, Tag: "!!seq"}
		for range rapid.IntRange(0, 3).Draw(t, "items") {
			value, child, inner := written(t, depth-1)
			items, n.Children, begins = append(items, value), append(n.Children, child), append(begins, inner...)
		}
		text = join("[", "]", items)
		return text, n, append([]string{"["}, begins...)
	}
	scalar := rapid.SampledFrom([]struct{ text, tag, value string }{
		{`"a\/b"`, "!!str", "a/b"}, {`""`, "!!str", ""}, {`"é\u00e9\ud83d\ude00\n"`, "!!str", "éé😀\n"}, {"\"\u2028\u0085 \"", "!!str", "\u2028\u0085 "}, {`"5"`, "!!str", "5"}, {`"\"{"`, "!!str", `"{`},
		{"0", "!!float", "0"}, {"-1.50e+10", "!!float", "-1.50e+10"}, {"true", "!!bool", "true"}, {"false", "!!bool", "false"}, {"null", "!!null", "null"},
	}).Draw(t, "scalar")
	return scalar.text, node{Kind: yaml.ScalarNode, Tag: scalar.tag, Value: scalar.value}, []string{scalar.text}
}

// TestJSON: JSON values in a row are what they say, and each node stands where it is written. Parse reads as JSON what YAML cannot read.
func TestJSON(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		text := rapid.SampledFrom([]string{"", "\uFEFF"}).Draw(t, "mark")
		var want []node
		var begins []string
		for range rapid.IntRange(1, 3).Draw(t, "values") {
			value, n, b := written(t, 2)
			text += rapid.SampledFrom([]string{" ", "\n", "\r\n\t"}).Draw(t, "between") + value
			want, begins = append(want, n), append(begins, b...)
		}
		parsed, err := ParseJSON([]byte(text))
		if err != nil || !parsed.JSON {
			t.Fatalf("%q: %v", text, err)
		}
		if diff := cmp.Diff(want, treeOf(parsed)); diff != "" {
			t.Fatalf("%q (- wanted, + got):\n%s", text, diff)
		}
		var places func(n *yaml.Node)
		places = func(n *yaml.Node) {
			at, ok := parsed.Offset(n)
			if !ok || !strings.HasPrefix(text[at:], begins[0]) {
				t.Fatalf("%q: %q at %d:%d is found at %d, %v", text, begins[0], n.Line, n.Column, at, ok)
			}
			begins = begins[1:]
			for _, child := range n.Content {
				places(child)
			}
		}
		for _, root := range parsed.Roots {
			places(root)
		}
		if again, err := Parse([]byte(text)); err == nil && again.JSON {
			if diff := cmp.Diff(treeOf(parsed), treeOf(again)); diff != "" {
				t.Fatalf("%q (- ParseJSON, + Parse):\n%s", text, diff)
			}
		} else if first := want[0].Kind; err != nil && (first == yaml.MappingNode || first == yaml.SequenceNode) {
			t.Fatalf("%q: %v", text, err)
		}
	})
	for _, text := range []string{"[1", `{"a": }`, "[1,]", "{a: \"\\/\"}", "[\"\\/\"] x"} {
		if parsed, err := ParseJSON([]byte(text)); err == nil && parsed.JSON {
			t.Errorf("%q is JSON", text)
		}
	}
}

// TestAliases: an alias is found where it is written, and nothing else is.
func TestAliases(t *testing.T) {
	const text = "é: &xy b\nc: [*xy , *xy]\nd: *xy\n"
	parsed, err := Parse([]byte(text))
	if err != nil {
		t.Fatal(err)
	}
	var found [][2]int
	for _, n := range []*yaml.Node{parsed.Roots[0].Content[3].Content[0], parsed.Roots[0].Content[3].Content[1], parsed.Roots[0].Content[5]} {
		if Behind(n) != parsed.Roots[0].Content[1] {
			t.Errorf("%q stands for %v", n.Value, Behind(n))
		}
		start, end, ok := parsed.Alias(n)
		if !ok || text[start:end] != "*xy" {
			t.Errorf("found from %d to %d, %v", start, end, ok)
		}
		found = append(found, [2]int{start, end})
	}
	if diff := cmp.Diff([][2]int{{14, 17}, {20, 23}, {28, 31}}, found); diff != "" {
		t.Error(diff)
	}
	for _, n := range []*yaml.Node{parsed.Roots[0].Content[1], {Line: 9}, {Kind: yaml.AliasNode, Value: "xyz", Line: 3, Column: 4}} {
		if start, end, ok := parsed.Alias(n); ok || start != 0 || end != 0 {
			t.Errorf("%+v is found from %d to %d", n, start, end)
		}
	}
}

// TestSplitLongLine: a separator line that is longer than what is read at once, and JSON behind it.
func TestSplitLongLine(t *testing.T) {
	separator := "--- # " + strings.Repeat("c", 200<<10) + "\n"
	for _, r := range []func(io.Reader) io.Reader{func(r io.Reader) io.Reader { return r }, iotest.HalfReader} {
		got, err := pieces(r(strings.NewReader(separator + "{}\n{}\n" + separator + "[]")))
		if diff := cmp.Diff([]string{separator + "{}\n", "{}\n", separator + "[]"}, got); diff != "" || err != io.EOF {
			t.Errorf("%v\n%.1000s", err, diff)
		}
	}
}
