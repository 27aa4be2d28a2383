// SPDX-License-Identifier: Apache-2.0

package imageoverrides

import (
	"fmt"
	"io"
	"runtime"
	"strings"
	"testing"
	"time"
)

// numbered joins what f gives for the numbers below n.
func numbered(n int, f func(i int) string) string {
	var b strings.Builder
	for i := range n {
		b.WriteString(f(i))
	}
	return b.String()
}

// A pipe gives no more at a time than those of the system often do.
type pipe struct{ io.Reader }

func (r pipe) Read(p []byte) (int, error) { return r.Reader.Read(p[:min(len(p), 4<<10)]) }

// TestRewriteBounds: whatever text a manifest has, Rewrite does its work or refuses it, with the place, for a bounded amount of
// memory, all that was ever taken counted. What takes time takes memory here: paths, nodes, ways and texts. The time is logged.
func TestRewriteBounds(t *testing.T) {
	const image = "containers: [{image: nginx}]\n"
	anchored := func(n int, inside string) string {
		return numbered(n, func(i int) string { return fmt.Sprintf("{a: &a%d ", i) }) + inside + strings.Repeat("}", n)
	}
	table := mustTable(t, Override{Name: "nginx", NewName: "m/web", NewTag: "v2"}, Override{Name: "m.web", NewTag: "v3"})
	images := func(n int) string { return "[" + strings.Repeat("{containers: [{image: nginx}]},", n) + "]" }
	for _, test := range []struct {
		why, in string
		want    string // the end of the error; "" for none
		changes int
	}{
		{"B1: images under many anchors, and one alias", "x: " + anchored(900, images(1500)) + "\ny: *a890\n", "", 3000},
		{"images under many anchors, and an alias for each", "x: " + anchored(300, images(100)) + "\ny: [" + numbered(300, func(i int) string { return fmt.Sprintf("*a%d , ", i) }) + "]\n", "aliases stand for more than 131072 values", 0},
		{"B2: one map merged many times by one key", "e: &e {" + numbered(10000, func(i int) string { return fmt.Sprintf("k%d: v, ", i) }) + "}\nf: {<<: [" + strings.Repeat("*e , ", 10000) + "]}\n" + image, "aliases stand for more than 131072 values", 0},
		{"B2: a map merged into each item", "kind: List\nx: &e {" + numbered(3000, func(i int) string { return fmt.Sprintf("k%d: v, ", i) }) + "}\nitems:\n" + strings.Repeat("- {<<: *e}\n", 1000), "aliases stand for more than 131072 values", 0},
		{"merges of merges of merges", numbered(5000, func(i int) string { return fmt.Sprintf("x%d: &x%d {<<: *x%d, a%d: *x%d}\n", i+1, i+1, i, i, i) })[len("x1: &x1 {<<: *x0, a0: *x0}\n"):], "unknown anchor 'x1' referenced", 0},
		{"aliases of merges, each resolved before", "x0: &x0 {k: v}\n" + numbered(5000, func(i int) string { return fmt.Sprintf("y%d: *x%d\nx%d: &x%d {<<: *x%d}\n", i, i, i+1, i+1, i) }) + image, "aliases stand for more than 131072 values", 0},
		{"B3: images at a depth", strings.Repeat("[", 488) + strings.Repeat(`{"image":"x"},`, 79999) + `{"image":"x"}` + strings.Repeat("]", 488), "", 0},
		{"images at a depth that match", strings.Repeat(`{"a":`, 440) + `{"containers":[` + strings.Repeat(`{"image":"nginx"},`, 59999) + `{"image":"nginx"}]}` + strings.Repeat("}", 440), "", 60000},
		{"B4: items in items", strings.Repeat(`{"items":[`, 245) + strings.Repeat(`{"image":1},`, 79999) + `{"image":1}` + strings.Repeat("]}", 245), "", 0},
		{"items in items, and the kind of a list behind each", strings.Repeat(`{"items":[`, 245) + strings.Repeat(`{"image":1},`, 70000) + `{}` + strings.Repeat(`],"kind":"List"}`, 245), "", 0},
		{"items that have to be parsed, in what is no list", "items:\n" + strings.Repeat("- !t {containers: [{image: nginx}]}\n", 50000) + "kind: Thing\n", "", 50000},
		{"B5: directives", numbered(50000, func(i int) string { return fmt.Sprintf("%%TAG !e%d! tag:x:\n", i) }) + "---\n" + image, "more than 100 directives", 0},
		{"B8: what the scanner declines", "[\r\n" + strings.Repeat("a,", 10<<20) + "a]", "a document of which more than 2097152 bytes have to be read by a YAML parser, because of a carriage return", 0},
		{"as much as the parser reads", "[\r\n" + strings.Repeat("a,", 1<<20-4) + "a]", "", 0},
		{"as much with a fault at the end", "[\r\n" + strings.Repeat("a,", 1<<20-10) + "a: b: c]", "did not find expected ',' or ']'", 0},
		{"B9: a fault at the end", strings.Repeat("a: {b: c}\n", 200000) + "a: b: c\n", "mapping values are not allowed in this context", 0},
		{"a fault at the end of more", strings.Repeat("a: {b: c}\n", 1<<20) + "a: b: c\n", "have to be read by a YAML parser, because of what stands here", 0},
		{"a list of which each item is declined", "kind: List\nitems:\n" + strings.Repeat("- !t {spec: {containers: [{image: nginx}]}}\n", 4000), "", 4000},
		{"a list of which each item is declined, and more", "kind: List\nitems:\n" + strings.Repeat("- !t {spec: {containers: [{image: nginx}]}}\n", 200000), "have to be read by a YAML parser, because of a tag", 0},
		{"a list of a whole cluster", "apiVersion: v1\nitems:\n" + strings.Repeat("- apiVersion: v1\n  kind: Pod\n  metadata:\n    name: some-pod\n    namespace: some-namespace\n  spec:\n    containers:\n    - name: main\n      image: nginx\n", 400000) + "kind: List\n", "", 400000},
		{"the same in JSON", `{"apiVersion":"v1","items":[` + strings.Repeat(`{"apiVersion":"v1","kind":"Pod","metadata":{"name":"some-pod","namespace":"some-namespace"},"spec":{"containers":[{"name":"main","image":"nginx"}]}},`, 399999) + `{"spec":{"containers":[{"image":"nginx"}]}}],"kind":"List"}`, "", 400000},
		{"JSON values in a row", strings.Repeat(`{"spec":{"containers":[{"image":"nginx"}]}}`+"\n", 300000), "", 300000},
		{"JSON values in a row, in a line", strings.Repeat(`{"spec":{"containers":[{"image":"nginx"}]}} `, 300000), "", 300000},
		{"keys with escapes", "{" + strings.Repeat(`"\x61": b, `, 100000) + "}", "", 0},
		{"anchors that nothing uses", numbered(50000, func(i int) string { return fmt.Sprintf("- &a%d {containers: [{image: nginx}]}\n", i) }), "", 50000},
		{"aliases for one image", "x: &i nginx\ny:\n" + strings.Repeat("- containers: [{image: *i}]\n", 30000), "", 30000},
		{"a text behind aliases", "a: &a {b: '" + strings.Repeat("x", 1<<20) + "', image: nginx}\ncontainers: [" + strings.Repeat("*a , ", 10) + "]\n", "aliases stand for more than 131072 values, or 4194304 bytes of text", 0},
		{"one line of aliases, out of order", "{x: &i nginx, containers: [" + strings.Repeat("{<<: {image: *i}, containers: [{image: *i}]}, ", 15000) + "]}", "", 30000},
		{"comments", strings.Repeat("# c\n", 500000) + image, "", 1},
		{"dashes", strings.Repeat("-", 2<<20), "", 0},
		{"open quotes", `a: "` + strings.Repeat("b\n", 1<<20-10), "found unexpected end of stream", 0},
		{"separators", strings.Repeat("---\n", 500000) + image, "", 1},
		{"aliases of aliases in small documents", strings.Repeat("x: &x ["+strings.Repeat("{image: nginx},", 8)+"]\na: &a {containers: *x }\nb: &b ["+strings.Repeat("*a , ", 8)+"]\nc: &c ["+strings.Repeat("*b , ", 8)+"]\nd: ["+strings.Repeat("*c , ", 8)+"]\n---\n", 2000), "which is what those before have left of 131072", 56160},
		{"aliases of aliases in items", "kind: List\nitems:\n" + strings.Repeat("- a: &a [x,x,x,x,x,x,x,x]\n  b: &b ["+strings.Repeat("*a , ", 8)+"]\n  c: &c ["+strings.Repeat("*b , ", 8)+"]\n  d: &d ["+strings.Repeat("*c , ", 8)+"]\n  e: ["+strings.Repeat("*d , ", 4)+"]\n", 2000), "aliases stand for more than 131072 values", 0},
		{"a few aliases in each of many documents", strings.Repeat("a: &i nginx\ncontainers: [{image: *i}, {image: *i}]\n---\n", 20000), "", 40000},
		{"blocks that say how far in they are", "containers:\n" + strings.Repeat("- image: >2-\n    m\n    web:1\n", 14000), "", 14000},
		{"lines of two long halves, out of order", "{p: '" + strings.Repeat("x", 1<<19) + "'," + strings.Repeat("<<: {containers: [{image: nginx}]}, a: {", 240) + "\np: '" + strings.Repeat("x", 1<<19) + "'" + strings.Repeat("}, b: {containers: [{image: nginx}]}", 240) + "}\n", "", 480},
		{"images at a depth, and an alias elsewhere", "z: &z 1\nw: *z\nx: " + strings.Repeat("{a: ", 880) + "{containers: [" + strings.Repeat("{image: nginx},", 50000) + "]}" + strings.Repeat("}", 880) + "\n", "", 50000},
		{"an alias of another item in a large list", "kind: List\nitems:\n- &a {containers: [{image: nginx}]}\n" + strings.Repeat("- {containers: [{image: nginx}]}\n", 200000) + "- *a\n", "have to be read by a YAML parser, because of an alias", 0},
		{"a byte order mark in front of a large list", "\uFEFFkind: List\nitems:\n" + strings.Repeat("- {containers: [{image: nginx}]}\n", 200000), "", 200000},
		{"white space", strings.Repeat(" \n", 2<<20) + image, "", 1},
		{"a long separator line", "--- #" + strings.Repeat("x", 4<<20) + "\n" + image, "", 1},
		{"a long line of a document's end", image + "... #" + strings.Repeat("x", 2<<20), "", 1},
		{"short documents", strings.Repeat("a\n---\n", 100000) + image, "", 1},
	} {
		runtime.GC()
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		start := time.Now()
		n := 0
		_, err := Rewriter{Changed: func(changes []Change, _ []Edit) error { n += len(changes); return nil }}.Rewrite(io.Discard, pipe{strings.NewReader(test.in)}, table)
		spent := time.Since(start)
		runtime.ReadMemStats(&after)
		taken := (after.TotalAlloc - before.TotalAlloc) >> 20
		t.Logf("%s: %d bytes, %v, %d MB, %d changes", test.why, len(test.in), spent.Round(time.Millisecond), taken, n)
		if taken > 1000 {
			t.Errorf("%s: %d MB were taken", test.why, taken)
		}
		if text := fmt.Sprint(err); (err == nil) != (test.want == "") || err != nil && !strings.HasSuffix(text, test.want) {
			t.Errorf("%s: %.300s, want %q", test.why, text, test.want)
		}
		if n != test.changes {
			t.Errorf("%s: %d changes, want %d", test.why, n, test.changes)
		}
	}
}
