// SPDX-License-Identifier: Apache-2.0

package imageoverrides

import (
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/cozystack/image-overrides/internal/oracle"
)

// asKustomize fails where what kustomize makes of the text after Rewrite is not what it makes of the text before it with the table, to
// the byte.
func asKustomize(t *testing.T, overrides []Override, in string) string {
	t.Helper()
	want, err := kustomize(overrides, in)
	if err != nil {
		t.Errorf("kustomize refuses\n%s%v", in, err)
		return ""
	}
	out, _ := rewrite(t, unchecked(overrides), in)
	got, err := kustomize(nil, out)
	if diff := cmp.Diff(noList.ReplaceAllString(want, "$1 []"), noList.ReplaceAllString(got, "$1 []")); diff != "" || err != nil {
		t.Errorf("%v\n%s\nbecomes\n%s\nand kustomize has the text (-), and not (+)\n%s", err, in, out, diff)
	}
	return out
}

// TestRewriteTags: whatever tag an image has, it is a string when it was rewritten, with nothing around it damaged, nothing at all included.
func TestRewriteTags(t *testing.T) {
	overrides := []Override{{Name: "a*", NewName: "x/y"}, {Name: "nginx", NewTag: "v2"}, {Name: "5", NewTag: "v2"}, {Name: "true", NewTag: "v2"}, {Name: "2001-01-01", NewTag: "v2"}, {Name: "~", NewTag: "v2"}}
	for _, image := range []string{
		"!!str", "!!str \"\"", "&x !!str", "!!str &x", "!!str nginx", "!!int 5", "&x !!int 5", "!!int &x 5", "!!int '5'", "!!int |-\n      5", "!!bool true", "!!float 5", "!!null ~", "!!null", "!!timestamp 2001-01-01",
		"! nginx", "! \"\"", "!!binary nginx", "!<tag:yaml.org,2002:int> 5", "!<tag:yaml.org,2002:str> nginx", "5", "true", "!!int # c\n      5", "!!str # c",
	} {
		for _, in := range []string{
			"x:\n  containers:\n  - image: " + image + "\n    name: c\n",
			"x:\n  containers:\n  - name: c\n    image: " + image + "\n# end\n",
			"x:\n  containers:\n  - name: c\n    image: " + image,
			"x: {containers: [{image: " + image + " , name: c}, {name: d, image: " + image + "\n   }]}\n",
			"y:\n- &i " + strings.NewReplacer("&x ", "", " &x", "").Replace(image) + "\nx: {containers: [{image: *i}]}\n",
		} {
			if strings.Contains(in, "{") && strings.ContainsAny(image, "|#") || strings.Contains(in, "*i") && strings.Contains(image, "binary") {
				continue // none of flow style, with the rest of the line in a comment, or no binary value
			}
			asKustomize(t, overrides, "apiVersion: v1\nkind: Thing\nmetadata: {name: t}\n"+in)
		}
	}
}

// TestRewriteMerges: what kustomize's own resolving of merge keys reaches, and what it leaves to the last.
func TestRewriteMerges(t *testing.T) {
	const head = "apiVersion: v1\nkind: Thing\nmetadata: {name: t}\n"
	overrides := []Override{{Name: "nginx", NewTag: "v2"}}
	for _, in := range []string{
		"x:\n  containers:\n  - &a\n    image: nginx:1\n  - &b\n    <<: *a\n  - name: c\n    <<: *b\n",
		"x:\n  containers: [&a {image: \"nginx:1\"}, &b {<<: *a}, {name: c, <<: *b}]\n",
		"x:\n  containers: [&a {image: \"nginx:1\"}, &b {<<: *a}, *b , {name: c, <<: *b}]\n",
		"x:\n  containers: [&a {image: \"nginx:1\"}, {<<: {<<: *a, y: z}}, {<<: [{y: z}, *a]}]\n",
		"a: &a {containers: [{image: nginx}]}\nb: &b {<<: *a, c: d}\nx: {<<: *b}\n",
		"a: &a {containers: [{image: nginx}]}\nb: &b {<<: *a, c: d}\ny: *b\nx: {<<: *b}\n",
		"a: &a {<<: {containers: [{image: nginx}]}}\nb: [*a , *a , {<<: *a}]\n",
		"a: &a {image: nginx}\nb: &b\n- &c {<<: *a}\nx: {containers: *b , initContainers: [{<<: *c}]}\n",
		"a: &a {image: nginx}\nb: &b {d: &c {<<: *a}}\nx: {e: *b , initContainers: [{<<: *c}, *c , {<<: *c}]}\n",
		"a: &a\n  b: &b {image: nginx}\n  containers: [{<<: *b}]\nx: {<<: *a , b: {image: redis}}\n",
	} {
		asKustomize(t, overrides, head+in)
	}
}

// TestRewriteEmpty: what is written in place of an alias has nothing where it had nothing, as kustomize sees that in its place.
func TestRewriteEmpty(t *testing.T) {
	for _, in := range []string{
		"x: &x\n  image: nginx\n  a:\n  b: [{c: }, {d: , e: f}]\n  g: !!null\ny: {containers: [*x]}\n",
		"x: &x\n  image: nginx\n  a:\n  b: [{c: }, {d: , e: f}]\n  g: !!null\ny:\n  containers:\n  - *x\n",
		"x: &x\n  image: nginx\n  a:\n  - \n  - b\n  -\n   c:\ny:\n  containers: \n  - *x\n",
		"x: &x {image: nginx, a: , b: {c: }, d: ~}\ny: {containers: [*x]}\n",
		"x: &x\n  reference: nginx\n  other:\nspec: {volumes: [{image: *x}]}\n",
		"x: &x\n  image: nginx\n  a:\n  - \n  - b\ny: {containers: [*x]}\n",
	} {
		asKustomize(t, []Override{{Name: "nginx", NewTag: "v2"}}, "apiVersion: v1\nkind: Thing\nmetadata: {name: t}\n"+in)
	}
}

// TestRewriteStaysJSON: what was JSON is so afterwards, whatever an image is called.
func TestRewriteStaysJSON(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		image := rapid.SampledFrom([]string{`true`, `null`, `5`, `1e3`, `"a"`, `"\u0061"`, `"\/"`, `"nginx:1"`, `false`, `-1.5`}).Draw(t, "image")
		in := rapid.SampledFrom([]string{
			`{"containers":[{"image":%s}]}`, "{\n \"containers\" : [ { \"image\" : %s , \"a\": \"\\/\" } ] }\n", `[{"spec":{"volumes":[{"image":{"reference": %s}}]}}]`, `{"kind":"List","items":[{"spec":{"containers":[{"image":%s,"\ud83d\ude00":1}]}}]}`,
		}).Draw(t, "text")
		in = fmt.Sprintf(in, image)
		name := rapid.SampledFrom([]string{"true", "null", "5", "1e3", "a", "/", "nginx", "false", "-1.5", "1000"}).Draw(t, "name")
		made := rapid.SampledFrom([]string{"true", "x/y", "é\"", "a b", "5", "\u2028"}).Draw(t, "new name")
		out, _ := rewrite(t, unchecked([]Override{{Name: name, NewName: made}}), in)
		var v any
		if err := json.Unmarshal([]byte(out), &v); err != nil {
			t.Fatalf("%s becomes %s: %v", in, out, err)
		}
	})
}

// TestRewriteLineBreaks: line breaks that only YAML 1.1 has, or no feed, hide nothing behind a comment.
func TestRewriteLineBreaks(t *testing.T) {
	for _, br := range []string{"\r", "\u0085", "\u2028", "\u2029", "\r\n", "\n"} {
		for _, lines := range [][]string{
			{"# c", "apiVersion: v1", "kind: Pod", "metadata: {name: p}", "spec: {containers: [{image: nginx}]}", ""},
			{"", "# c", "", "# d", "{apiVersion: v1, kind: Pod, metadata: {name: p}, spec: {containers: [{image: nginx}]}}", ""},
			{"apiVersion: v1", "kind: Pod # c", "metadata: {name: p}", "spec:", " containers:", " - image: nginx # c", ""},
		} {
			out := asKustomize(t, []Override{{Name: "nginx", NewTag: "v2"}}, strings.Join(lines, br))
			if !strings.Contains(out, "nginx:v2") {
				t.Errorf("%q becomes %q", strings.Join(lines, br), out)
			}
		}
	}
}

// TestRewriteDocuments: a text has as many documents with a table as without.
func TestRewriteDocuments(t *testing.T) {
	for in, want := range map[string]int{
		"%YAML 1.2\n---\n": 0, "%YAML 1.2\n%TAG !e! tag:e:\n# c\n---\n# d\n...\n": 0, "---\n": 0, "# c\n---\n...\n": 0, "": 0, "\uFEFF# c\r": 0, "%YAML 1.2\n---\na: b\n": 1, "# %\n": 0,
		"{\"a\":1}{\"b\":2}\n[3]": 3, "{\"a\":1}\n---\n{\"b\":2} {}\n": 3, "%YAML 1.1\n---\na: b\n...\n%YAML 1.1\n---\n": 1, "a: '%'\n": 1, "--- a\n--- b\n": 2, "&a\n": 1, "--- &a\n": 1, "!!null\n": 1, "~\n": 1,
	} {
		for _, table := range []Table{{}, unchecked(nil), webTable(t)} {
			if _, result := rewrite(t, table, in); result.Documents != want {
				t.Errorf("%q: %d documents with %d entries, want %d", in, result.Documents, table.Len(), want)
			}
		}
	}
}

// TestRewriterChanged: the changes come document by document, those that the result has without, and an error ends the work.
func TestRewriterChanged(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		table := genTable(false).Draw(t, "table")
		in := oracle.Manifests().Draw(t, "manifests")
		want, whole := rewrite(t, table, in)
		var got Result
		var out strings.Builder
		result, err := Rewriter{Changed: func(changes []Change, edits []Edit) error {
			if len(edits) == 0 {
				return fmt.Errorf("no edits for %v", changes)
			}
			got.Changes = append(got.Changes, changes...)
			got.Edits = append(got.Edits, edits...)
			return nil
		}}.Rewrite(&out, strings.NewReader(in), table)
		got.Documents, got.Bytes = result.Documents, result.Bytes
		if diff := cmp.Diff(whole, got); diff != "" || err != nil || out.String() != want || result.Changes != nil || result.Edits != nil {
			t.Fatalf("%v\n%s", err, diff)
		}
	})
	fault := fmt.Errorf("enough")
	var out strings.Builder
	result, err := Rewriter{Changed: func([]Change, []Edit) error { return fault }}.Rewrite(&out, strings.NewReader("a: b\n---\ncontainers: [{image: nginx}]\n"), webTable(t))
	if err != fault || out.String() != "a: b\n" || result.Documents != 1 {
		t.Errorf("%v, %q, %+v", err, out.String(), result)
	}
}

// TestRewriteListsOfNothing: a list object is one wherever its kind stands, with items or without, and what else it holds is no image.
func TestRewriteListsOfNothing(t *testing.T) {
	for _, kind := range []string{"List", "PodList", "Thing"} {
		for _, items := range []string{"[]", "{}", "", "x", "[{}]", "[[]]", "\n", "\n- {}", "\n- 5"} {
			for _, fields := range []string{"kind: %s\nitems: %s\nspec: {containers: [{image: nginx}]}\n", "items: %[2]s\nspec: {containers: [{image: nginx}]}\nkind: %[1]s\n", "spec: {containers: [{image: nginx}]}\nitems: %[2]s\nkind: %[1]s\n"} {
				in := "apiVersion: v1\n" + fmt.Sprintf(fields, kind, items)
				out, result := rewrite(t, webTable(t), in)
				parsed, want := rewriteParsed(t, webTable(t), in)
				if diff := cmp.Diff(want, result); diff != "" || out != parsed {
					t.Errorf("%s\nbecomes\n%s\nand by the parser\n%s%s", in, out, parsed, diff)
				}
			}
		}
	}
}

// TestRewriteItemsOfYAML: an item that only JSON can read is none of a list object that is YAML.
func TestRewriteItemsOfYAML(t *testing.T) {
	const items = `"items": [{"a":"\/","spec":{"containers":[{"image":"nginx"}]}}]`
	for in, want := range map[string]string{
		"kind: List\n" + items + "\n":         "line 2, column 17: found unknown escape character",
		"{kind: List, " + items + "}\n":       "line 1, column 30: found unknown escape character",
		`{"kind":"List",` + items + "} # c\n": "line 1, column 32: found unknown escape character",
		`{"kind":"List",` + items + "}\n":     "<nil>",
	} {
		_, err := Rewrite(io.Discard, strings.NewReader(in), webTable(t))
		if fmt.Sprint(err) != want {
			t.Errorf("%q: %v, want %s", in, err, want)
		}
	}
}
