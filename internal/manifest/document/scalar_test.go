// SPDX-License-Identifier: Apache-2.0

package document

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"go.yaml.in/yaml/v3"
	"pgregory.net/rapid"
)

// A node of a tree that was read, without its place and its notation.
type node struct {
	Kind       yaml.Kind
	Tag, Value string
	Children   []node
}

func nodeOf(n *yaml.Node) node {
	made := node{Kind: n.Kind, Tag: n.ShortTag(), Value: n.Value}
	for _, child := range n.Content {
		made.Children = append(made.Children, nodeOf(child))
	}
	return made
}

func treeOf(text *Text) (list []node) {
	for _, root := range text.Roots {
		list = append(list, nodeOf(root))
	}
	return list
}

// scalars are the scalars of a text, in the order of their bytes.
func scalars(text *Text) (list []*yaml.Node) {
	var walk func(n *yaml.Node)
	walk = func(n *yaml.Node) {
		if n.Kind == yaml.ScalarNode {
			list = append(list, n)
		}
		for _, child := range n.Content {
			walk(child)
		}
	}
	for _, root := range text.Roots {
		walk(root)
	}
	return list
}

// notations are scalars as they may be written behind "a: ", further in than that.
var notations = []string{
	"b", "b c", "b:c", "b#c", "é", "'b'", "'it''s'", `"b"`, `"\x62\n\u00e9"`, `"b\"c"`, "5", "true", "~", "null",
	"b\n   c", "b\n\n   c  d", "b \n\n\n  c", "'b\n   c'", "\"b\n   c\"", "\"b\\\n   c\"", "b\t c", "b\n  \t c",
	"|-\n   b", ">-\n   b", "|\n   b", "| # c\n   b", "|+\n   b\n\n", "|-\n\n   b", "|2-\n    b", ">\n   b\n   c", "|\n   b\n    c",
	"&x b", "!!str b", "!mine b", "&x !!str b", "!!str &x b", "!mine # c\n   b", "&x\n   b", "!!str 'b'", "&x \"b\"", "!!str\n\n   b", "!!str |-\n   b", "&x # c\n # d\n   b\n   c", "\n   b", "# c\n   b", "\"\"", "''", "!!str ''",
	"!!int 5", "&x !!int 5", "!!int &x 5", "!!int # c\n   5", "!!bool 'true'", "!<tag:yaml.org,2002:int> 5", "!!binary YQ==", "!!float |-\n   5", "!!null &x ~", "!!null", "!!str", "&x !!str", "!!str &x", "!!null &x", "!!str \n", "!mine",
}

// TestScalar: every scalar of known notations is found, and one that is found can be given another value: then the text
// reads as before, but for that one, which is a string.
func TestScalar(t *testing.T) {
	for _, notation := range notations {
		for _, end := range []string{"\n", "", "\n# c\n", "\nz: y\n", " # c\n"} {
			if strings.ContainsAny(notation, "|>") && end == " # c\n" || end == "" && strings.HasSuffix(notation, "\n") {
				continue
			}
			for _, text := range []string{"a: " + notation + end, "\uFEFFa: " + notation + end, strings.ReplaceAll("a: "+notation+end, "\n", "\r\n"), strings.ReplaceAll("a: "+notation+end, "\n", "\r"), strings.ReplaceAll("a: "+notation+end, "\n", "\u0085"), strings.ReplaceAll("a: "+notation+end, "\n", "\u2028")} {
				parsed, err := Parse([]byte(text))
				if err != nil {
					t.Errorf("%q: %v", text, err)
					continue
				}
				for i, n := range scalars(parsed) {
					if s, ok := parsed.Scalar(n); !ok {
						if lines := strings.Count(strings.TrimSpace(n.Value), "\n"); lines == 0 || n.Style&(yaml.LiteralStyle|yaml.FoldedStyle) == 0 {
							t.Errorf("%q: %q is not found", text, n.Value)
						}
					} else if found := text[s.Inner:s.inner]; s.Verbatim != (found == n.Value && !s.empty) {
						t.Errorf("%q: %q is found in %q, to the byte: %v", text, n.Value, found, s.Verbatim)
					}
					replaced(t, text, i, "x/y:1")
				}
			}
		}
	}
}

// replaced gives the i-th scalar of a text another value, where it is found.
func replaced(t interface {
	Helper()
	Errorf(string, ...any)
}, text string, i int, value string) {
	t.Helper()
	parsed, err := Parse([]byte(text))
	if err != nil {
		t.Errorf("%q: %v", text, err)
		return
	}
	n := scalars(parsed)[i]
	s, ok := parsed.Scalar(n)
	if !ok {
		return
	}
	start, end, written := s.Replace(value, false)
	if start < s.Start && StaysString(n) || end > s.End && !s.empty || start > end || end > len(text) {
		t.Errorf("%q: %q is replaced from %d to %d, found from %d to %d", text, n.Value, start, end, s.Start, s.End)
		return
	}
	out := text[:start] + written + text[end:]
	again, err := Parse([]byte(out))
	if err != nil {
		t.Errorf("%q, with %q in place of %q, becomes %q: %v", text, value, n.Value, out, err)
		return
	}
	if n.ShortTag() == "" || n.Style&yaml.TaggedStyle == 0 || !StaysString(n) {
		n.Tag = "!!str"
	}
	if n.Style&(yaml.LiteralStyle|yaml.FoldedStyle) != 0 {
		value += n.Value[len(strings.TrimRight(n.Value, "\n")):] // a block keeps its line breaks at the end
		if a := scalars(again)[i]; a.Style&(yaml.LiteralStyle|yaml.FoldedStyle) == 0 {
			value = strings.TrimRight(value, "\n")
		}
	}
	n.Value = value
	if diff := cmp.Diff(treeOf(parsed), treeOf(again)); diff != "" {
		t.Errorf("%q, with another value, becomes %q (- wanted, + got):\n%s", text, out, diff)
	}
}

// TestScalarReplaced is the second half of TestScalar, for scalars and values in every combination, in block and in flow style.
func TestScalarReplaced(t *testing.T) {
	value := rapid.SampledFrom([]string{"x/y:1", "x", "true", "5", "", "é", "it's", `a"b\c`, " x", "x ", "a\nb", "\u0001", "\u0085", "- x", "x: y", "x #y", "#", "&x", "[", "{a}", "a, b", "\U0001F600"})
	inFlow := []string{"b", "b c", "'b'", `"b"`, "'it''s'", "5", "!!str b", "&x b", "b\n   c", "\"b\n   c\"", "''", "!mine 'b'", "!!int 5", "&x !!int '5'", "!!int &x 5", "!!null ", "!!str ", "!!null &x "}
	text := rapid.Custom(func(t *rapid.T) string {
		var b strings.Builder
		for i := range rapid.IntRange(1, 4).Draw(t, "lines") {
			switch rapid.IntRange(0, 3).Draw(t, "line") {
			case 0:
				fmt.Fprintf(&b, "k%d: {a: %s, 'b': [%s , %s]}\n", i, rapid.SampledFrom(inFlow).Draw(t, "flow"), rapid.SampledFrom(inFlow).Draw(t, "flow"), rapid.SampledFrom(inFlow).Draw(t, "flow"))
			case 1:
				fmt.Fprintf(&b, "k%d:\n - %s\n - %s\n", i, rapid.SampledFrom(notations).Draw(t, "item"), rapid.SampledFrom(notations).Draw(t, "item"))
			default:
				fmt.Fprintf(&b, "%sk%d: %s\n", rapid.SampledFrom([]string{"", "", "# c\n", "\n"}).Draw(t, "before"), i, rapid.SampledFrom(notations).Draw(t, "value"))
			}
		}
		text := b.String()
		return text[:len(text)-rapid.SampledFrom([]int{0, 0, 1}).Draw(t, "cut")]
	})
	rapid.Check(t, func(t *rapid.T) {
		text := text.Draw(t, "text")
		parsed, err := Parse([]byte(text))
		if err != nil {
			t.Skip(err)
		}
		i := rapid.IntRange(0, len(scalars(parsed))-1).Draw(t, "scalar")
		replaced(t, text, i, value.Draw(t, "new value"))
	})
}

// TestTagBytes: of a tag that is no string's nothing is left, nor of the white space between it and what is written behind, and every other
// byte stays.
func TestTagBytes(t *testing.T) {
	for text, want := range map[string]string{
		"a: !!int 5 # c\n": "a: x/y:1 # c\n", "a: !!int \t 5\n": "a: x/y:1\n", "a: &x !!int  5\n": "a: &x x/y:1\n", "a: !!int  &x  5\n": "a: &x  x/y:1\n",
		"a: !!bool\t'true'\n": "a: 'x/y:1'\n", "a: !!float |-\n   5\n": "a: |-\n   x/y:1\n", "a: !!int # c\n   5\n": "a: # c\n   x/y:1\n", "a: !!int\n   5\n": "a: \n   x/y:1\n",
		"a: !!null &x \n": "a: &x x/y:1 \n", "a: &x !!null \n": "a: &x x/y:1 \n", "a: !!null \t# c\n": "a: x/y:1 \t# c\n", "{a: !!int 5 , b: c}": "{a: x/y:1 , b: c}", "a: !!str  5\n": "a: !!str  x/y:1\n", "!!int 5\n": "x/y:1\n", "!!int\n5\n": "\nx/y:1\n",
	} {
		parsed, err := Parse([]byte(text))
		if err != nil {
			t.Fatalf("%q: %v", text, err)
		}
		list := scalars(parsed)
		s, ok := parsed.Scalar(list[min(1, len(list)-1)])
		start, end, written := s.Replace("x/y:1", false)
		if got := text[:start] + written + text[end:]; !ok || got != want {
			t.Errorf("%q: %q, %v, want %q", text, got, ok, want)
		}
	}
}

// TestEmptyBytes: a scalar that becomes empty has quotes, whatever it was written as.
func TestEmptyBytes(t *testing.T) {
	for text, want := range map[string]string{
		"a: b # c\n": "a: \"\" # c\n", "a: 'b'\n": "a: ''\n", "a: \"b\"\n": "a: \"\"\n", "a: |-\n   b\nc: d\n": "a: \"\"\nc: d\n", "a: > # c\n   b\n": "a: \"\"\n", "a: !!null\n": "a: \"\"\n", "a: !!int 5\n": "a: \"\"\n",
	} {
		parsed, err := Parse([]byte(text))
		if err != nil {
			t.Fatalf("%q: %v", text, err)
		}
		s, ok := parsed.Scalar(scalars(parsed)[1])
		start, end, written := s.Replace("", false)
		if got := text[:start] + written + text[end:]; !ok || got != want {
			t.Errorf("%q: %q, %v, want %q", text, got, ok, want)
		}
	}
}

// TestScalarNone: what has no bytes is not found.
func TestScalarNone(t *testing.T) {
	for _, text := range []string{"a:\n", "a: ", "- \n\n", "- # c", "{a: , b: }"} {
		parsed, err := Parse([]byte(text))
		if err != nil {
			t.Fatalf("%q: %v", text, err)
		}
		list := scalars(parsed)
		if s, ok := parsed.Scalar(list[len(list)-1]); ok {
			t.Errorf("%q: found %q", text, text[s.Start:s.End])
		}
	}
	parsed, err := Parse([]byte("a: b\n"))
	if err != nil {
		t.Fatal(err)
	}
	for _, n := range []*yaml.Node{{}, {Line: 1, Column: 9}, {Line: 2, Column: 2}, {Line: 3, Column: 1}, {Line: 1, Column: 4, Style: yaml.SingleQuotedStyle, Value: "b"},
		{Line: 1, Column: 4, Style: yaml.LiteralStyle, Value: "b"}, {Line: 1, Column: 4, Value: "c"}, {Line: 1, Column: 4, Value: "bc"}} {
		n.Kind = yaml.ScalarNode
		if s, ok := parsed.Scalar(n); ok {
			t.Errorf("a node of another text, %+v, is found at %d", n, s.Start)
		}
	}
}

// TestDepth: JSON is read as deep as YAML is, 10,000 lists in each other, and no deeper.
func TestDepth(t *testing.T) {
	nested := func(n int) []byte {
		return []byte(strings.Repeat("[", n) + `"\/"` + strings.Repeat("]", n)) // the escape is none of YAML 1.1's
	}
	for name, parse := range map[string]func([]byte) (*Text, error){"Parse": Parse, "ParseJSON": ParseJSON} {
		if text, err := parse(nested(maxDepth)); err != nil || len(text.Roots) != 1 {
			t.Errorf("%s: %v", name, err)
		}
		if _, err := parse(nested(maxDepth + 1)); err == nil || !strings.HasSuffix(err.Error(), errDepth.Error()) {
			t.Errorf("%s: one deeper: %v, want %v", name, err, errDepth)
		}
	}
}
