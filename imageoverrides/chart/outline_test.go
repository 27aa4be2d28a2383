// SPDX-License-Identifier: Apache-2.0

package chart

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"go.yaml.in/yaml/v3"
	"pgregory.net/rapid"
)

// TestOutline holds the lenient reading of YAML against a parser, over documents in all the styles that one value may be
// written in: both find the same maps, lists and scalars.
func TestOutline(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		w := writer{T: t}
		var b strings.Builder
		var want []any
		if w.one(3) {
			b.WriteString("# a: b\n")
		}
		for i := range rapid.IntRange(1, 3).Draw(t, "documents") {
			if i > 0 || w.one(4) {
				if i > 0 && w.one(4) {
					b.WriteString("...\n")
				}
				b.WriteString(w.pick("---\n", "--- # a: b\n", "---\t\n"))
			}
			w.names = nil
			v := w.value(0)
			if _, scalar := v.(string); scalar || v == nil {
				v = pairs{{"a", v}}
			}
			b.WriteString(w.blocks(v, 0))
			want = append(want, plainly(v))
		}
		text := b.String()
		decoder := yaml.NewDecoder(strings.NewReader(text))
		for i := range want {
			var v any
			if err := decoder.Decode(&v); err != nil {
				t.Fatalf("no YAML: %v\n%s", err, text)
			}
			if diff := cmp.Diff(want[i], v); diff != "" {
				t.Fatalf("document %d is not what was meant:\n%s%s", i, diff, text)
			}
		}
		if w.one(5) {
			text = strings.ReplaceAll(text, "\n", "\r\n")
		}
		var got []any
		for _, root := range readOutline(text).roots {
			if root.kind != isEmpty {
				got = append(got, w.read(root))
			}
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Fatalf("-parser +outline\n%s%s", diff, text)
		}
	})
}

// pairs is a map in the order in which it is written.
type pairs []pair

type pair struct {
	key   string
	value any
}

// A writer writes values of YAML: a string, nil, pairs, a list.
type writer struct {
	*rapid.T
	names []string // of the anchors that are taken
}

func (w *writer) one(n int) bool             { return rapid.IntRange(1, n).Draw(w.T, "one") == 1 }
func (w *writer) pick(list ...string) string { return rapid.SampledFrom(list).Draw(w.T, "pick") }

func (w *writer) value(level int) any {
	switch kind := rapid.IntRange(0, 9).Draw(w.T, "kind"); {
	case kind < 3 && level < 4:
		var p pairs
		for _, key := range rapid.SliceOfNDistinct(rapid.SampledFrom([]string{"kind", "spec", "a", "b-c", "d e", "x#y", "k:l", "m.n/o"}), 1, 4, rapid.ID).Draw(w.T, "keys") {
			p = append(p, pair{key, w.value(level + 1)})
		}
		return p
	case kind < 5 && level < 4:
		var list []any
		for range rapid.IntRange(1, 3).Draw(w.T, "items") {
			list = append(list, w.value(level+1))
		}
		return list
	case kind == 5:
		return nil
	}
	return w.pick("a", "HelmRelease", "b c", "x#y", "a:b", "a:Xb", "-x", "?x", "it's", "w: x", "y # z", "[a]", "{b: c}", "&a", "*b", "- c", "d,e", "")
}

// plainly is a value as the parser has it.
func plainly(v any) any {
	switch v := v.(type) {
	case pairs:
		m := make(map[string]any)
		for _, p := range v {
			m[p.key] = plainly(p.value)
		}
		return m
	case []any:
		list := []any{}
		for _, item := range v {
			list = append(list, plainly(item))
		}
		return list
	}
	return v
}

// read is a node as the parser has it.
func (w *writer) read(n *node) any {
	switch n = n.real(); n.kind {
	case isMap:
		m := make(map[string]any)
		for _, e := range n.entries {
			if n.get(e.key) != e.value.real() {
				w.Fatalf("the key %q is another one by get", e.key)
			}
			m[e.key] = w.read(e.value)
		}
		return m
	case isList:
		list := []any{}
		for _, item := range n.items {
			list = append(list, w.read(item))
		}
		return list
	case isEmpty:
		return nil
	}
	if n.text == "null" || n.text == "~" {
		return nil
	}
	return strings.ReplaceAll(n.text, "''", "'") // as it stands in quotes
}

// isSafe reports whether a text may be written without quotes.
func isSafe(text string, flow bool) bool {
	if text == "" || strings.Contains(text, ": ") || strings.Contains(text, " #") || strings.ContainsAny(text[:1], "[{&*\"'") || strings.HasPrefix(text, "- ") {
		return false
	}
	return !flow || !strings.ContainsAny(text, ",[]{}") && !strings.HasPrefix(text, "?") && !strings.HasPrefix(text, "-")
}

// scalar is a scalar in one line.
func (w *writer) scalar(text string, flow bool) string {
	ways := []string{"'" + strings.ReplaceAll(text, "'", "''") + "'", `"` + text + `"`}
	if isSafe(text, flow) {
		ways = append(ways, text, text, text)
	}
	return w.pick(ways...)
}

// properties are a tag or an anchor, with a space behind.
func (w *writer) properties(tag string) string {
	if !w.one(8) {
		return ""
	}
	anchor := fmt.Sprintf("&n%d", len(w.names))
	w.names = append(w.names, anchor)
	return w.pick(tag+" ", anchor+" ", tag+" "+anchor+"  ", anchor+" "+tag+" ")
}

// end is what may stand behind a value in its line, with lines that are nothing.
func (w *writer) end(indent int) string {
	return w.pick("\n", "\n", "\n", "\n", " # a: b\n", "  \n", "\n\n", "\n#\n", "\n"+strings.Repeat(" ", indent)+"# - c: d\n")
}

// blocks is a map or list in block style, or another value in a line, at a column.
func (w *writer) blocks(v any, indent int) string {
	pad := strings.Repeat(" ", indent)
	var b strings.Builder
	switch v := v.(type) {
	case pairs:
		for _, p := range v {
			key := w.scalar(p.key, false)
			if w.one(12) {
				b.WriteString(pad + "? " + key + "\n" + pad + ":" + w.below(p.value, indent, true))
				continue
			}
			b.WriteString(pad + key + w.pick("", "", "", " ") + ":" + w.below(p.value, indent, true))
		}
	case []any:
		for _, item := range v {
			switch item.(type) {
			case pairs, []any:
				if w.one(2) {
					inner := indent + 1 + rapid.IntRange(1, 3).Draw(w.T, "deeper")
					text := w.blocks(item, inner)
					b.WriteString(pad + "-" + text[indent+1:])
					continue
				}
			}
			b.WriteString(pad + "-" + w.below(item, indent, false))
		}
	}
	return b.String()
}

// below is a value behind a key or a dash, which stand at a column.
func (w *writer) below(v any, indent int, key bool) string {
	space := w.pick(" ", " ", "  ")
	switch v := v.(type) {
	case nil:
		return w.end(indent)
	case string:
		if w.one(10) {
			return w.pick("", " # c") + "\n" + strings.Repeat(" ", indent+1) + w.scalar(v, false) + w.end(indent)
		}
		return space + w.properties("!!str") + w.scalar(v, false) + w.pick("", "", "\t") + w.end(indent)
	case pairs:
		if w.one(4) {
			return space + w.properties("!!map") + w.flow(v, indent+1) + w.end(indent)
		}
		return strings.TrimRight(" "+w.properties("!!map"), " ") + w.end(indent) + w.blocks(v, indent+rapid.IntRange(1, 3).Draw(w.T, "deeper"))
	case []any:
		if w.one(4) {
			return space + w.properties("!!seq") + w.flow(v, indent+1) + w.end(indent)
		}
		least := 1
		if key {
			least = 0 // the dashes may stand below the key
		}
		return strings.TrimRight(" "+w.properties("!!seq"), " ") + w.end(indent) + w.blocks(v, indent+rapid.IntRange(least, 3).Draw(w.T, "deeper"))
	}
	return ""
}

// flow is a value in flow style, in one line or more.
func (w *writer) flow(v any, indent int) string {
	gap := func() string {
		return w.pick("", "", " ", " ", "\n"+strings.Repeat(" ", indent), " # ]}\n"+strings.Repeat(" ", indent+1))
	}
	var parts []string
	switch v := v.(type) {
	case nil:
		return w.pick("null", "~")
	case string:
		return w.scalar(v, true)
	case pairs:
		for _, p := range v {
			parts = append(parts, gap()+w.scalar(p.key, true)+": "+w.flow(p.value, indent)+gap())
		}
		return "{" + strings.Join(parts, ",") + w.pick("", ",") + "}"
	case []any:
		for _, item := range v {
			parts = append(parts, gap()+w.flow(item, indent)+gap())
		}
		return "[" + strings.Join(parts, ",") + w.pick("", ",") + gap() + "]"
	}
	return ""
}
