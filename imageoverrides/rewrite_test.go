// SPDX-License-Identifier: Apache-2.0

package imageoverrides

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/iotest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/cozystack/image-overrides/internal/oracle"
)

// notations are manifests before and after the entry nginx -> m/web:v2, to the byte.
var notations = []struct{ why, in, out string }{
	{"plain", "spec:\n  containers:\n  - image: nginx:1 # pinned\n    name: c\n", "spec:\n  containers:\n  - image: m/web:v2 # pinned\n    name: c\n"},
	{"single quotes", "containers:\n- image: 'nginx'\n", "containers:\n- image: 'm/web:v2'\n"},
	{"double quotes", "containers:\n- image: \"nginx:1\"\n", "containers:\n- image: \"m/web:v2\"\n"},
	{"an escape", "containers:\n- image: \"n\\x67inx\"\n", "containers:\n- image: \"m/web:v2\"\n"},
	{"a folded line in quotes", "containers:\n- image: \"ngi\\\n    nx\"\n", "containers:\n- image: \"m/web:v2\"\n"},
	{"a literal block", "containers:\n- image: |-\n    nginx:1\n  name: c\n", "containers:\n- image: |-\n    m/web:v2\n  name: c\n"},
	{"a folded block with a comment", "containers:\n- image: >- # c\n    nginx:1\n\n", "containers:\n- image: >- # c\n    m/web:v2\n\n"},
	{"a block with a line break is no image", "containers:\n- image: |\n    nginx:1\n", "containers:\n- image: |\n    nginx:1\n"},
	{"the next line", "containers:\n- image:\n    nginx:1\n", "containers:\n- image:\n    m/web:v2\n"},
	{"a tag", "containers:\n- image: !!str nginx:1\n", "containers:\n- image: !!str m/web:v2\n"},
	{"an anchor that nothing uses, and a tag, over lines", "containers:\n- image: &a\n    !!str # c\n    nginx\n", "containers:\n- image: &a\n    !!str # c\n    m/web:v2\n"},
	{"flow", "{spec: {containers: [{image: nginx, name: c}, {image: 'nginx:1'}]}}", "{spec: {containers: [{image: m/web:v2, name: c}, {image: 'm/web:v2'}]}}"},
	{"JSON", `{"spec":{"containers":[{"image":"nginx:1"}]}}`, `{"spec":{"containers":[{"image":"m/web:v2"}]}}`},
	{"JSON in a row, with tabs", "{\"containers\":[{\"image\":\"nginx\"}]}\n{\t\"containers\": [\t{\"image\" : \"nginx\"}]} {\"a\":\"\\/\"}", "{\"containers\":[{\"image\":\"m/web:v2\"}]}\n{\t\"containers\": [\t{\"image\" : \"m/web:v2\"}]} {\"a\":\"\\/\"}"},
	{"JSON, escaped", `{"containers":[{"image":"\u006eginx"},{"image":"nginx@sha256:\u0061"},{"x":"\ud83d\ude00","image":"nginx"}]}`, `{"containers":[{"image":"m/web:v2"},{"image":"m/web:v2"},{"x":"\ud83d\ude00","image":"m/web:v2"}]}`},
	{"CRLF", "a: b\r\ncontainers:\r\n- image: nginx:1\r\n  x: |\r\n    image: nginx\r\n---\r\ncontainers:\r\n- image: >-\r\n    nginx\r\n", "a: b\r\ncontainers:\r\n- image: m/web:v2\r\n  x: |\r\n    image: nginx\r\n---\r\ncontainers:\r\n- image: >-\r\n    m/web:v2\r\n"},
	{"byte order marks", "\uFEFFcontainers: [{image: nginx}]\n---\n\uFEFFcontainers: [{image: nginx}]\n", "\uFEFFcontainers: [{image: m/web:v2}]\n---\n\uFEFFcontainers: [{image: m/web:v2}]\n"},
	{"no line break at the end", "containers:\n- image: nginx", "containers:\n- image: m/web:v2"},
	{"lines that only YAML 1.1 breaks", "a: \"x\u0085y\u2028z\"\ncontainers:\n- {b: \"\u2029\", image: nginx}\n", "a: \"x\u0085y\u2028z\"\ncontainers:\n- {b: \"\u2029\", image: m/web:v2}\n"},
	{"documents on separator lines", "--- {containers: [{image: nginx}]}\n--- # c\ncontainers: [{image: nginx}]\n---\t!!map\ncontainers: [{image: nginx}]\n", "--- {containers: [{image: m/web:v2}]}\n--- # c\ncontainers: [{image: m/web:v2}]\n---\t!!map\ncontainers: [{image: m/web:v2}]\n"},
	{"end markers and directives", "%YAML 1.2\n%TAG !e! tag:example.org,2026:\n---\ncontainers: [{image: !e!x nginx}]\n... # c\ncontainers: [{image: nginx}]\n...\n# c\n%YAML 1.1\n---\ncontainers: [{image: nginx}]\n", "%YAML 1.2\n%TAG !e! tag:example.org,2026:\n---\ncontainers: [{image: !e!x m/web:v2}]\n... # c\ncontainers: [{image: m/web:v2}]\n...\n# c\n%YAML 1.1\n---\ncontainers: [{image: m/web:v2}]\n"},
	{"markers within text", "a: |\n  ---\n  ...\nb: '\n  --- '\ncontainers: [{image: nginx}]\n", "a: |\n  ---\n  ...\nb: '\n  --- '\ncontainers: [{image: m/web:v2}]\n"},
	{"no documents", "---\n# c\n---\n...\n\n", "---\n# c\n---\n...\n\n"},
	{"an alias to an image that is not reached", "a: &i nginx\ncontainers: [{image: *i}]\n", "a: &i nginx\ncontainers: [{image: m/web:v2}]\n"},
	{"an image that is used where it is not reached", "containers: [{image: &i nginx, env: [*i]}, {image: *i}]\n", "containers: [{image: &i m/web:v2, env: [nginx]}, {image: *i}]\n"},
	{"containers used twice", "containers: &c\n- image: nginx\ninitContainers: *c\nother: *c\n", "containers: &c\n- image: m/web:v2\ninitContainers: *c\nother: [{image: nginx}]\n"},
	{"a merge key", "b: &b {image: nginx, n: 5, t: ~, u: , s: \"5\", !!str v: a b}\ncontainers:\n- <<: *b\n  name: x\n", "b: &b {image: nginx, n: 5, t: ~, u: , s: \"5\", !!str v: a b}\ncontainers:\n- <<: {image: m/web:v2, n: 5, t: ~, u: , s: \"5\", !!str v: a b}\n  name: x\n"},
	{"odd text behind an alias", "x: &c {args: 0}\ny: &d\n  image: nginx\n  args: [a]\n  b:\n  - --url=http://x/?a=b\n  - ?x\n  - :x\n  - a ? b\n  - a:?b\n  - x, y\n  ?z: w\ncontainers:\n- *d\n",
		"x: &c {args: 0}\ny: &d\n  image: nginx\n  args: [a]\n  b:\n  - --url=http://x/?a=b\n  - ?x\n  - :x\n  - a ? b\n  - a:?b\n  - x, y\n  ?z: w\ncontainers:\n- {image: m/web:v2, args: [a], b: [\"--url=http://x/?a=b\", \"?x\", \":x\", \"a ? b\", \"a:?b\", \"x, y\"], \"?z\": w}\n"},
	{"tags behind an alias", "y: &d {image: nginx, a: !!str , b: !<tag:x.org,2000:y> z, c: !l [d], e: !!null , f: !!str 5}\ncontainers:\n- *d\n",
		"y: &d {image: nginx, a: !!str , b: !<tag:x.org,2000:y> z, c: !l [d], e: !!null , f: !!str 5}\ncontainers:\n- {image: m/web:v2, a: !!str \"\", b: !<tag:x.org,2000:y> z, c: !l [d], e: !!null null, f: !!str 5}\n"},
	{"image volumes of a list's items", "kind: List\nitems:\n- {spec: {volumes: [{image: {reference: nginx}}]}}\n- {spec: {containers: {image: nginx}}}\n- {kind: CustomResourceDefinition, spec: {containers: [{image: nginx}]}}\n- image: nginx\n",
		"kind: List\nitems:\n- {spec: {volumes: [{image: {reference: m/web:v2}}]}}\n- {spec: {containers: {image: m/web:v2}}}\n- {kind: CustomResourceDefinition, spec: {containers: [{image: nginx}]}}\n- image: nginx\n"},
	{"a definition, which is not looked at behind its kind", "kind: CustomResourceDefinition\n\t: [}\x01\n---\ncontainers: [{image: nginx}]\n", "kind: CustomResourceDefinition\n\t: [}\x01\n---\ncontainers: [{image: m/web:v2}]\n"},
	{"a merge key that the map overrides", "b: &b {image: nginx}\ncontainers:\n- <<: *b\n  image: redis\n", "b: &b {image: nginx}\ncontainers:\n- <<: *b\n  image: redis\n"},
	{"a key twice", "containers: [{image: nginx, image: nginx:1}]\n", "containers: [{image: m/web:v2, image: m/web:v2}]\n"},
	{"numbers for keys", "1: a\ncontainers: [{image: nginx, 2: b}]\n", "1: a\ncontainers: [{image: m/web:v2, 2: b}]\n"},
	{"other YAML types for keys", "? [a]\n: b\n? {c: d}\n: containers: [{image: nginx}]\n", "? [a]\n: b\n? {c: d}\n: containers: [{image: nginx}]\n"},
}

func webTable(t testing.TB) Table {
	return mustTable(t, Override{Name: "nginx", NewName: "m/web", NewTag: "v2"})
}

func TestRewriteNotations(t *testing.T) {
	for _, test := range notations {
		t.Run(test.why, func(t *testing.T) {
			out, result := rewrite(t, webTable(t), test.in)
			if out != test.out {
				t.Errorf("got\n%q\nwant\n%q", out, test.out)
			}
			if back := undo(out, result.Edits); back != test.in {
				t.Errorf("undone\n%q\nwas\n%q", back, test.in)
			}
		})
	}
}

// TestRewriteStaysString: a new image that reads as another type without quotes gets
// them. kustomize is wrong here: it writes true without quotes, which the API server refuses.
func TestRewriteStaysString(t *testing.T) {
	for newName, want := range map[string]string{
		"true": `"true"`, "1e3": `"1e3"`, "null": `"null"`, "0x1f": `"0x1f"`, "010": `"010"`, "1.5": `"1.5"`, "yes": `"yes"`, "2026-01-01": `"2026-01-01"`,
		"web": "web", "1.5.2": "1.5.2", "0/a": "0/a",
	} {
		table := mustTable(t, Override{Name: "nginx", NewName: newName})
		for in, out := range map[string]string{
			"containers: [{image: nginx}]\n":     "containers: [{image: " + want + "}]\n",
			"containers:\n- image: nginx # c\n":  "containers:\n- image: " + want + " # c\n",
			"containers:\n- image: 'nginx'\n":    "containers:\n- image: '" + newName + "'\n",
			"containers:\n- image: |-\n   nginx": "containers:\n- image: |-\n   " + newName,
		} {
			if got, _ := rewrite(t, table, in); got != out {
				t.Errorf("%q becomes %q, want %q", in, got, out)
			}
		}
	}
	// What is no image either, and yet accepted by the chart, is written so that it reads back.
	for newName, want := range map[string][3]string{
		"it's": {`"it's"`, `"it's"`, `'it''s'`}, "a\nb": {`"a\nb"`, `"a\nb"`, `"a\nb"`}, `a"\`: {`"a\"\\"`, `"a\"\\"`, `'a"\'`}, "\u200b": {`"\u200b"`, `"\u200b"`, `"\u200b"`},
		" a": {`" a"`, `" a"`, `' a'`}, "é": {`"é"`, `"é"`, `'é'`}, "\x7f😀": {`"\u007f😀"`, `"\u007f😀"`, `"\u007f😀"`},
	} {
		table := mustTable(t, Override{Name: "nginx", NewName: newName})
		for i, in := range []string{"nginx", `"nginx"`, "'nginx'"} {
			if got, _ := rewrite(t, table, "containers: [{image: "+in+"}]"); got != "containers: [{image: "+want[i]+"}]" {
				t.Errorf("%s becomes %s, want %s", in, got, want[i])
			}
		}
	}

	const pod = "apiVersion: v1\nkind: Pod\nmetadata: {name: p}\nspec: {containers: [{image: nginx}]}\n"
	out, err := kustomize([]Override{{Name: "nginx", NewName: "true"}}, pod)
	if err != nil || !strings.Contains(out, "image: true\n") {
		t.Errorf("kustomize does it right now, or differently: %v\n%s", err, out)
	}
}

// TestRewriteNull: an image that is null is called null to kustomize, where it is written so.
func TestRewriteNull(t *testing.T) {
	const in = "apiVersion: v1\nkind: Pod\nmetadata: {name: p}\nspec: {containers: [{image: null}, {image: ~}, {image: }, {image: true}]}\n"
	const out = "apiVersion: v1\nkind: Pod\nmetadata: {name: p}\nspec: {containers: [{image: a:v2}, {image: ~}, {image: }, {image: a:v2}]}\n"
	overrides := []Override{{Name: "null", NewName: "a", NewTag: "v2"}, {Name: "true", NewName: "a", NewTag: "v2"}}
	got, _ := rewrite(t, mustTable(t, overrides...), in)
	if got != out {
		t.Errorf("got %s", got)
	}
	want, err := kustomize(overrides, in)
	if want = strings.Replace(want, `image: ""`, "image: null", 1); err != nil {
		t.Fatal(err)
	}
	oracle.SameObjects(t, got, want)
}

func TestRewriteResult(t *testing.T) {
	const in = "# c\n---\napiVersion: apps/v1\nkind: Deployment\nmetadata:\n  name: web\n  namespace: default\nspec:\n  template:\n    spec:\n" +
		"      containers:\n      - name: é\n        image: \"nginx:1\"\n      volumes:\n      - {image: {reference: a}}\n" +
		"---\napiVersion: v1\nkind: PodList\nitems:\n- kind: Pod\n  metadata: {name: p}\n  spec: {x.y: {initContainers: [{é: é, image: a}]}}\n"
	table := mustTable(t, Override{Name: "a", NewName: "b"}, Override{Name: "nginx", NewTag: "2"}, Override{Name: "b", Digest: digestA})
	out, result := rewrite(t, table, in)
	web := Object{APIVersion: "apps/v1", Kind: "Deployment", Namespace: "default", Name: "web"}
	want := Result{
		Documents: 2, Bytes: int64(len(in)),
		Changes: []Change{
			{0, web, "spec.template.spec.containers[0].image", "nginx:1", "nginx:2", []int{1}, 167, 13, 17},
			{0, web, "spec.template.spec.volumes[0].image.reference", "a", "b@" + digestA, []int{0, 2}, 219, 15, 29},
			{1, Object{Kind: "Pod", Name: "p"}, `items[0].spec["x.y"].initContainers[0].image`, "a", "b@" + digestA, []int{0, 2}, 345, 22, 47},
		},
		Edits: []Edit{{167, "nginx:1", "nginx:2"}, {219, "a", "b@" + digestA}, {345, "a", "b@" + digestA}},
	}
	for i, c := range want.Changes {
		if i < len(result.Changes) && !strings.HasPrefix(in[result.Changes[i].Offset:], c.Old) {
			t.Errorf("change %d is not at its offset", i)
		}
	}
	if diff := cmp.Diff(want, result); diff != "" {
		t.Errorf("%s\n%s", diff, out)
	}
	for object, want := range map[Object]string{
		web: "Deployment default/web", {Kind: "Pod", Name: "p"}: "Pod p", {Name: "p"}: "object p", {Kind: "Pod"}: "Pod", {}: "object",
	} {
		if got := object.String(); got != want {
			t.Errorf("%#v is written %q, want %q", object, got, want)
		}
	}
}

// TestRewriteFaults: what cannot be read is told with its place, and what came before it is written.
func TestRewriteFaults(t *testing.T) {
	const good = "containers: [{image: nginx}]\n---\n"
	const done = "containers: [{image: m/web:v2}]\n" // the separator belongs to what is broken
	for _, test := range []struct{ why, in, want string }{
		{"a mapping in a plain scalar", good + "a: b: c\n", "line 3, column 5: mapping values are not allowed in this context"},
		{"a bracket left open", good + "a: [\n", "line 3, column 4: did not find expected node content"},
		{"a tab", good + "a:\n\tb: c\n", "line 4, column 1: found character that cannot start any token"},
		{"quotes left open", good + "a: \"b\n", "line 3, column 5: found unexpected end of stream"},
		{"no UTF-8", good + "a: é\xff\n", "line 3, column 5: byte 0xff is not UTF-8"},
		{"UTF-16", "\xff\xfea\x00", "line 1, column 1: byte 0xff is not UTF-8"},
		{"a control character", good + "a: \x01\n", "line 3, column 4: control characters are not allowed"},
		{"an unknown alias", good + "a: *b\n", "line 3, column 5: unknown anchor 'b' referenced"},
		{"an alias around itself", good + "a: &a [*a]\n", `line 3, column 8: alias "*a" stands for a value around itself`},
		{"an alias around itself, merged", good + "a: &a\n  <<: *a\n", `line 4, column 7: alias "*a" stands for a value around itself`},
		{"JSON left open", good + "{\"a\": [1, 2}\n", "line 3, column 12: did not find expected ',' or ']'"},
		{"text behind a document", good + "{a: b}\nc\n", "line 4, column 1: did not find expected <document start>"},
	} {
		var out bytes.Buffer
		result, err := Rewrite(&out, strings.NewReader(test.in), webTable(t))
		written := done
		if !strings.HasPrefix(test.in, good) {
			written = ""
		}
		if out.String() != written {
			t.Errorf("%s: written %q, want %q", test.why, out.String(), written)
		}
		list := Faults(err)
		if len(list) != 1 || list[0].Error() != test.want || list[0].Rule != RuleSyntax || list[0].Entry != -1 ||
			!strings.HasPrefix(test.want, fmt.Sprintf("line %d, column %d: ", list[0].Line, list[0].Column)) {
			t.Errorf("%s: error %v, want %s", test.why, err, test.want)
		}
		if written != "" && (result.Documents != 1 || result.Bytes != int64(len(good)-len("---\n")) || len(result.Changes) != 1) {
			t.Errorf("%s: result %+v", test.why, result)
		}
	}
}

// TestRewriteSafety: small texts that stand for large or deep values are refused, quickly.
func TestRewriteSafety(t *testing.T) {
	bomb := "a0: &a0 [nginx]\n"
	for i := range 30 {
		bomb += fmt.Sprintf("a%d: &a%d [%s]\n", i+1, i+1, strings.Repeat(fmt.Sprintf("*a%d, ", i), 10))
	}
	merges := "a0: &a0 {containers: [{image: nginx}]}\n"
	for i := range 30 {
		merges += fmt.Sprintf("a%d: &a%d {<<: [%s], x%d: *a%d}\n", i+1, i+1, strings.Repeat(fmt.Sprintf("*a%d, ", i), 10), i, i)
	}
	for _, test := range []struct{ why, in, want string }{
		{"aliases of aliases", bomb, "aliases stand for more than 131072 values"},
		{"merges of merges", merges, "aliases stand for more than 131072 values"},
		{"lists in lists in lists", deepLists(2000), "more than 1000 maps and lists in each other"},
		{"text behind aliases", "a: &a {b: '" + strings.Repeat("x", 1<<20) + "', image: nginx}\ncontainers: [" + strings.Repeat("*a , ", 10) + "]\n", "aliases stand for more than 131072 values, or 4194304 bytes of text"},
		{"brackets", strings.Repeat("[", 20000), "exceeded max depth of 10000"},
		{"brackets in JSON", `{"a":` + strings.Repeat("[", 20000) + strings.Repeat("]", 20000) + "}", "exceeded max depth of 10000"},
		{"lists in lists", strings.Repeat("- ", 20000) + "a", "exceeded max depth of 10000"},
	} {
		start := time.Now()
		_, err := Rewrite(io.Discard, strings.NewReader(test.in), webTable(t))
		list := Faults(err)
		if len(list) != 1 || !strings.HasSuffix(list[0].Error(), ": "+test.want) {
			t.Errorf("%s: %.200s, want %s", test.why, fmt.Sprint(err), test.want)
		}
		t.Logf("%s: %v", test.why, time.Since(start))
	}
	deep := func(n int) string {
		return strings.Repeat("[", n) + "{containers: [{image: nginx}]}" + strings.Repeat("]", n)
	}
	for _, n := range []int{10, 490, 900} {
		if out, result := rewrite(t, webTable(t), deep(n)); len(result.Changes) != 1 || out == deep(n) {
			t.Errorf("%d lists in each other are not rewritten", n)
		}
	}
	// Small texts whose images have long paths, or many of them.
	for why, in := range map[string]string{
		"images that nothing reaches": strings.Repeat("[", 400) + strings.Repeat("{image: nginx},", 20000) + strings.Repeat("]", 400),
		"merges for the kind":         mergeLadder(40),
		"keys in the wrong order":     "{containers: [" + strings.Repeat("{<<: {image: nginx}, containers: [{image: nginx}]}, ", 4000) + "]}",
	} {
		start := time.Now()
		rewrite(t, webTable(t), in)
		t.Logf("%s: %v", why, time.Since(start))
	}
}

// TestRewriteLimits: limits are tested at their value, and one beyond it.
func TestRewriteLimits(t *testing.T) {
	aliased := func(n int) string { // an alias for n values: a list, scalars, a map, its key and its image
		return "a: &a [" + strings.Repeat("x,", n-4) + "{image: nginx}]\ncontainers: *a\n"
	}
	for _, test := range []struct {
		why, in string
		fault   bool
	}{
		{"values behind an alias", aliased(1 << 17), false},
		{"a value more", aliased(1<<17 + 1), true},
		{"lists in each other", strings.Repeat("[", 997) + "{containers: [{image: nginx}]}" + strings.Repeat("]", 997), false},
		{"a list more", strings.Repeat("[", 998) + "{containers: [{image: nginx}]}" + strings.Repeat("]", 998), true},
	} {
		result, err := Rewrite(io.Discard, strings.NewReader(test.in), webTable(t))
		if (err != nil) != test.fault || !test.fault && len(result.Changes) != 1 {
			t.Errorf("%s: %d changes, %v", test.why, len(result.Changes), err)
		}
	}
}

// TestRewriteUntouched: without a table nothing is parsed, and every byte passes.
func TestRewriteUntouched(t *testing.T) {
	for _, table := range []Table{{}, mustTable(t)} {
		out, result := rewrite(t, table, "a: b: c\n")
		if diff := cmp.Diff(Result{Documents: 1, Bytes: 8}, result); diff != "" || out != "a: b: c\n" {
			t.Errorf("%q\n%s", out, diff)
		}
	}
}

// TestRewriteName: an object is known by its metadata, whatever other names stand before it.
func TestRewriteName(t *testing.T) {
	const in = "spec:\n  name: wrong\n  namespace: wrong\n  containers:\n  - image: nginx\n    metadata: {name: wrong}\nname: wrong\nmetadata:\n  labels: {name: wrong}\n  name: right\n  namespace: too\nkind: Pod\n"
	_, result := rewrite(t, webTable(t), in)
	_, parsed := rewriteParsed(t, webTable(t), in)
	want := Object{Kind: "Pod", Namespace: "too", Name: "right"}
	if len(result.Changes) != 1 || result.Changes[0].Object != want || !cmp.Equal(result, parsed) {
		t.Errorf("%+v, and by the parser %+v", result.Changes, parsed.Changes)
	}
}

func deepLists(n int) string { return strings.Repeat("[", n) + strings.Repeat("]", n) }

// mergeLadder is a map that merges another twice, which merges another twice.
func mergeLadder(n int) string {
	var b strings.Builder
	b.WriteString("x0: &x0 {y: 1}\n")
	for i := range n {
		fmt.Fprintf(&b, "x%d: &x%d {<<: [*x%d, *x%d]}\n", i+1, i+1, i, i)
	}
	fmt.Fprintf(&b, "<<: [*x%d, *x%d]\ncontainers: [{image: nginx}]\n", n, n)
	return b.String()
}

func TestRewriteLimit(t *testing.T) {
	const in = "containers: [{image: nginx}]\n---\na: 0123456789012345678901234\n"
	var out bytes.Buffer
	result, err := Rewriter{Limit: 31}.Rewrite(&out, iotest.OneByteReader(strings.NewReader(in)), webTable(t))
	list := Faults(err)
	if len(list) != 1 || list[0].Error() != "line 2, column 1: a document of more than 31 bytes" || list[0].Rule != RuleTooLong || list[0].Reason() != "a document of more than 31 bytes" {
		t.Errorf("error %v", err)
	}
	if out.String() != "containers: [{image: m/web:v2}]\n" || result.Documents != 1 {
		t.Errorf("written %q, %+v", out.String(), result)
	}
	if _, err := (Rewriter{Limit: 33}).Rewrite(io.Discard, strings.NewReader(in), webTable(t)); err != nil {
		t.Errorf("up to its length: %v", err)
	}
	if _, err := Rewrite(io.Discard, &endless{}, webTable(t)); err == nil || err.Error() != "line 1, column 1: a document of more than 67108864 bytes" {
		t.Errorf("an endless document: %v", err)
	}
}

// endless is a document without an end.
type endless struct{}

func (endless) Read(b []byte) (int, error) {
	for i := range b {
		b[i] = 'a'
	}
	return len(b), nil
}

func TestRewriteReaderAndWriter(t *testing.T) {
	fault := errors.New("broken")
	in := strings.Repeat("containers: [{image: nginx}]\n---\n", 10)
	want, _ := rewrite(t, webTable(t), in)

	var out bytes.Buffer
	result, err := Rewrite(&out, io.MultiReader(strings.NewReader(in+"a: b\n"), iotest.ErrReader(fault)), webTable(t))
	if err != fault || out.String() != want[:len(want)-len("---\n")] || result.Documents != 10 || int(result.Bytes) != len(in)-len("---\n") {
		t.Errorf("a reader that fails: %v, %q, %+v", err, out.String(), result)
	}
	for _, room := range []int{0, 1, 50, len(want) - 1} {
		result, err := Rewrite(&limited{room: room, err: fault}, strings.NewReader(in), webTable(t))
		if err != fault {
			t.Errorf("a writer with room for %d: %v, %+v", room, err, result)
		}
	}
	if _, err := Rewrite(shortWriter{}, strings.NewReader(in), webTable(t)); err != io.ErrShortWrite {
		t.Errorf("a writer that writes less without an error: %v", err)
	}
	if _, err := Rewrite(io.Discard, emptyReader{}, webTable(t)); err != io.ErrNoProgress {
		t.Errorf("a reader that gives nothing: %v", err)
	}

	// What is known is written before the reader is asked for more.
	r, w := io.Pipe()
	read := make(chan string)
	go func() {
		defer close(read)
		_, err := Rewrite(writerFunc(func(b []byte) (int, error) { read <- string(b); return len(b), nil }), r, webTable(t))
		if err != nil {
			t.Error(err)
		}
	}()
	if _, err := io.WriteString(w, "containers: [{image: nginx}]\n---\na"); err != nil {
		t.Fatal(err)
	}
	if got := <-read; got != "containers: [{image: m/web:v2}]\n" {
		t.Errorf("written first: %q", got)
	}
	if _, err := io.WriteString(w, ": b\n"); err != nil {
		t.Fatal(err)
	}
	w.Close()
	if got := <-read; got != "---\na: b\n" {
		t.Errorf("written last: %q", got)
	}
	<-read
}

type limited struct {
	room int
	err  error
}

func (l *limited) Write(b []byte) (int, error) {
	if len(b) > l.room {
		n := l.room
		l.room = 0
		return n, l.err
	}
	l.room -= len(b)
	return len(b), nil
}

type shortWriter struct{}

func (shortWriter) Write(b []byte) (int, error) { return len(b) / 2, nil }

type emptyReader struct{}

func (emptyReader) Read([]byte) (int, error) { return 0, nil }

type writerFunc func([]byte) (int, error)

func (f writerFunc) Write(b []byte) (int, error) { return f(b) }

func corpusDir() string {
	if dir := os.Getenv("CORPUS"); dir != "" {
		return dir
	}
	return filepath.Join("..", "..", "shared", "corpus")
}

// corpus returns the files of the corpus and its table, or skips the test.
func corpus(t testing.TB) ([]string, Table) {
	dir := corpusDir()
	text, err := os.ReadFile(filepath.Join(dir, "overrides.yaml"))
	if err != nil {
		t.Skipf("there is no corpus: %v", err)
	}
	table, err := Parse(text)
	if err != nil {
		t.Fatal(err)
	}
	files, err := filepath.Glob(filepath.Join(dir, "*_*.yaml"))
	if err != nil || len(files) == 0 {
		t.Fatalf("%d manifests, %v", len(files), err)
	}
	return files, table
}

// TestRewriteCorpus rewrites a platform: no error, no line changes but those with images, and the objects
// are those of kustomize in every file that it takes.
func TestRewriteCorpus(t *testing.T) {
	files, table := corpus(t)
	changes, refused := 0, 0
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		in := string(text)
		out, result := rewrite(t, table, in)
		if back := undo(out, result.Edits); back != in {
			t.Errorf("%s is not the same when undone", file)
		}
		before, after := strings.Split(in, "\n"), strings.Split(out, "\n")
		if len(before) != len(after) {
			t.Errorf("%s: %d lines become %d", file, len(before), len(after))
			continue
		}
		for i := range before {
			if before[i] != after[i] && !strings.Contains(before[i], "image:") && !strings.Contains(before[i], "reference:") {
				t.Errorf("%s:%d: %q becomes %q", file, i+1, before[i], after[i])
			}
		}
		changes += len(result.Changes)
		if want, err := kustomize(overridesOf(table), in); err != nil {
			refused++
			t.Logf("kustomize refuses %s: %.150v", filepath.Base(file), err)
		} else {
			oracle.SameLists(t, oracle.Pruned(oracle.Objects(t, out)).([]any), oracle.Pruned(oracle.Objects(t, want)).([]any))
		}
	}
	t.Logf("%d files, of which kustomize refuses %d; %d images changed", len(files), refused, changes)
	if changes < 100 {
		t.Errorf("only %d images changed", changes)
	}
}

func FuzzRewrite(f *testing.F) {
	for _, test := range notations {
		f.Add([]byte(test.in))
	}
	for _, fact := range facts(f) {
		f.Add([]byte(fact.In))
	}
	table := mustTable(f,
		Override{Name: "nginx", NewName: "reg.example.org/web", NewTag: "v2"}, Override{Name: "a.b", NewName: "true"},
		Override{Name: "a", NewTag: "1e3"}, Override{Name: ".", Digest: digestA}, Override{Name: "x y", NewName: "a\nb"})
	f.Fuzz(func(t *testing.T, in []byte) {
		if len(in) > 1<<12 {
			return // the YAML parser itself is slow on some long texts
		}
		var out bytes.Buffer
		result, err := Rewrite(&out, bytes.NewReader(in), table)
		if err != nil {
			if len(Faults(err)) != 1 || !bytes.HasPrefix(in, []byte(undo(out.String(), result.Edits))) {
				t.Fatalf("%v with %q written", err, out.String())
			}
			return
		}
		if back := undo(out.String(), result.Edits); back != string(in) {
			t.Fatalf("undone %q, was %q", back, in)
		}
		if result.Bytes != int64(len(in)) {
			t.Fatalf("%d bytes of %d", result.Bytes, len(in))
		}
		var again bytes.Buffer
		if _, err := Rewrite(&again, bytes.NewReader(out.Bytes()), Table{}); err != nil || !bytes.Equal(again.Bytes(), out.Bytes()) {
			t.Fatalf("%v", err)
		}
		// What was rewritten is still YAML.
		if r, err := Rewrite(io.Discard, bytes.NewReader(out.Bytes()), table); err != nil {
			t.Fatalf("%q becomes %q, which is none: %v", in, out.String(), err)
		} else if r.Documents != result.Documents {
			t.Fatalf("%q becomes %q: %d documents were %d", in, out.String(), r.Documents, result.Documents)
		}
	})
}

func BenchmarkRewrite(b *testing.B) {
	files, table := corpus(b)
	var texts [][]byte
	size := 0
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			b.Fatal(err)
		}
		texts = append(texts, text)
		size += len(text)
	}
	b.SetBytes(int64(size))
	b.ReportAllocs()
	for b.Loop() {
		for _, text := range texts {
			if _, err := Rewrite(io.Discard, bytes.NewReader(text), table); err != nil {
				b.Fatal(err)
			}
		}
	}
}
