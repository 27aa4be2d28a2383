// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"encoding/json"
	"slices"
	"strings"
	"testing"

	helmv2 "github.com/fluxcd/helm-controller/api/v2"
	"pgregory.net/rapid"
	yamljson "sigs.k8s.io/yaml"

	"github.com/cozystack/image-overrides/imageoverrides"
	"github.com/cozystack/image-overrides/internal/manifest/document"
	"github.com/cozystack/image-overrides/postrender"
)

// What the edits are checked by after they were made refuses every other outcome.
func TestVerify(t *testing.T) {
	const text = head + "spec:\n  chart: c\n  a: b\n  postRenderers:\n  - {}\n---\n" + head + "spec: {c: d}\n"
	const good = head + "spec:\n  chart: c\n  a: b\n  postRenderers:\n  - {}\n  - kustomize: {images: [{name: x, newTag: y}]}\n---\n" + head + "spec: {c: d}\n"
	for _, c := range []struct{ why, old, new string }{
		{why: "as it should be"},
		{"comments and styles aside", "a: b", "a: 'b' # c"},
		{"no YAML", "a: b", "a: ["},
		{"another value", "a: b", "a: c"},
		{"another type", "a: b", "a: 5"},
		{"another key", "a: b", "b: b"},
		{"a field less", "  a: b\n", ""},
		{"an anchor", "a: b", "a: &b b"},
		{"a change of the other release", "c: d", "c: e"},
		{"a post-renderer that is not as merged", "newTag: y", "newTag: z"},
		{"a post-renderer less", "  - {}\n", ""},
		{"a post-renderer more", "  - {}\n", "  - {}\n  - {}\n"},
		{"a post-renderer in the other release", "c: d", "c: d, postRenderers: [{}]"},
		{"a document less", "---\n" + head + "spec: {c: d}\n", ""},
		{"a document more", "---\n", "---\nx\n---\n"},
		{"a release that is none any more", "/v2\n", "/v1\n"},
	} {
		t.Run(c.why, func(t *testing.T) {
			before, err := document.Parse([]byte(text))
			if err != nil {
				t.Fatal(err)
			}
			releases := findReleases(before)
			for _, r := range releases {
				if err := r.read(); err != nil {
					t.Fatal(err)
				}
				r.merged = slices.Clone(r.existing)
			}
			var added helmv2.PostRenderer
			if err := json.Unmarshal([]byte(`{"kustomize":{"images":[{"name":"x","newTag":"y"}]}}`), &added); err != nil {
				t.Fatal(err)
			}
			releases[0].merged = append(releases[0].merged, added)
			bad := verify(before, []byte(strings.Replace(good, c.old, c.new, 1)), releases)
			if fine := c.old == "" || strings.Contains(c.why, "aside"); fine != (bad == nil) {
				t.Errorf("to blame: %d releases", len(bad))
			}
		})
	}
}

// genRelease gives the text of a HelmRelease in some notation, and its post-renderers.
func genRelease(t *rapid.T) string {
	spec := map[string]any{"chart": "c"}
	if rapid.Bool().Draw(t, "values") {
		spec["values"] = map[string]any{"text": rapid.SampledFrom([]string{"a", "a\n", "a\n\n", "# a\nb\n# c", "\n", " a\n"}).Draw(t, "text")}
	}
	var list []helmv2.PostRenderer
	for range rapid.IntRange(0, 4).Draw(t, "renderers") {
		var r helmv2.PostRenderer
		text := rapid.SampledFrom([]string{
			`{}`,
			`{"kustomize":{}}`,
			`{"kustomize":{"images":[{"name":"it's","newTag":"#"},{"name":"registry.k8s.io/pause","newTag":"3.10"}]}}`,
			`{"kustomize":{"images":[{"name":"registry.k8s.io/pause","newTag":"3.10"}]}}`,
			`{"kustomize":{"patches":[{"patch":"- op: remove\n  path: /a\n\n","target":{"kind":"yes"}}]}}`,
			`{"kustomize":{"images":[{"name":"image-overrides.invalid/table","newTag":"a"},{"name":"a","newTag":"b"}]}}`,
			`{"kustomize":{"images":[{"name":"image-overrides.invalid/table"}],"patches":[{"patch":"# [ \" ' ]\n  a: \u0001\n \n"}]}}`,
		}).Draw(t, "renderer")
		if err := json.Unmarshal([]byte(text), &r); err != nil {
			t.Fatal(err)
		}
		list = append(list, r)
	}
	if list != nil || rapid.Bool().Draw(t, "empty") {
		spec["postRenderers"] = list
	}
	release := map[string]any{"apiVersion": "helm.toolkit.fluxcd.io/v2", "kind": "HelmRelease", "spec": spec}
	if rapid.Bool().Draw(t, "status") {
		release["status"] = map[string]any{}
	}
	var object any = release
	if rapid.Bool().Draw(t, "list") {
		object = map[string]any{"kind": "List", "items": []any{release, map[string]any{"kind": "Pod"}, release}}
	}
	var text []byte
	var err error
	switch rapid.IntRange(0, 2).Draw(t, "notation") {
	case 0:
		text, err = json.Marshal(object)
	case 1:
		text, err = json.MarshalIndent(object, "", "    ")
	default:
		text, err = yamljson.Marshal(object)
	}
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// mergeText merges a table into a text of one piece.
func mergeText(text []byte, t imageoverrides.Table) ([]byte, error) {
	var m merged
	return m.piece(document.Piece{Bytes: text, Line: 1}, t)
}

// decode reads YAML or JSON as Helm reads values.
func decode(text []byte, v any) error {
	if json.Valid(text) {
		return json.Unmarshal(text, v)
	}
	return yamljson.Unmarshal(text, v)
}

// renderers returns the post-renderers of the releases of a text, and the text's other values, read
// by another decoder than the command's.
func renderers(t *rapid.T, text []byte) (lists [][]helmv2.PostRenderer, others string) {
	var object map[string]any
	if err := decode(text, &object); err != nil {
		t.Fatalf("%v\n%s", err, text)
	}
	items, ok := object["items"].([]any)
	if !ok {
		items = []any{object}
	}
	for _, item := range items {
		spec, ok := item.(map[string]any)["spec"].(map[string]any)
		if !ok {
			continue
		}
		var list []helmv2.PostRenderer
		if err := json.Unmarshal([]byte(flowText(spec["postRenderers"])), &list); err != nil {
			t.Fatal(err)
		}
		lists = append(lists, list)
		delete(spec, "postRenderers")
	}
	return lists, flowText(object)
}

// In every notation, the releases have afterwards what postrender.Merge gives, and all else as
// before; a second time nothing changes; and an empty table takes out what a table put in, byte
// for byte where there was no list before.
func TestMergeLaws(t *testing.T) {
	table, err := imageoverrides.Parse([]byte(one))
	if err != nil {
		t.Fatal(err)
	}
	none, err := imageoverrides.New()
	if err != nil {
		t.Fatal(err)
	}
	rapid.Check(t, func(t *rapid.T) {
		text := []byte(genRelease(t))
		given := slices.Clone(text)
		want, others := renderers(t, text)
		after := text
		for _, table := range []imageoverrides.Table{table, none} {
			before := after
			if after, err = mergeText(before, table); err != nil {
				t.Fatalf("%v\n%s", err, before)
			}
			got, rest := renderers(t, after)
			if rest != others {
				t.Fatalf("other values %s\nwant %s", rest, others)
			}
			for i := range want {
				want[i] = postrender.Merge(want[i], table)
			}
			if a, b := flowText(got), flowText(want); strings.ReplaceAll(a, "[]", "null") != strings.ReplaceAll(b, "[]", "null") {
				t.Fatalf("post-renderers %s\nwant %s\n%s", a, b, after)
			}
			if again, err := mergeText(after, table); err != nil || !bytes.Equal(again, after) {
				t.Fatalf("the second time: %v\n%s\nwant\n%s", err, again, after)
			}
		}
		if !bytes.Equal(text, given) {
			t.Fatal("the text that was given is another")
		}
		if !bytes.Contains(text, []byte("postRenderers")) && !bytes.Equal(after, text) {
			t.Fatalf("put in and taken out: %q\nwant %q", after, text)
		}
	})
}

// No text makes the command panic, or change what is no post-renderer.
func FuzzMerge(f *testing.F) {
	for _, seed := range []string{
		"spec:\n  chart: c\n", "spec: {chart: b}", "spec:\n  chart: c\n  postRenderers:\n  - {}\n  # x\n  - kustomize:\n      images: []\n",
		"spec:\n  chart: c\n  postRenderers: [{}, {kustomize: {images: [{name: image-overrides.invalid/table}]}}]\nstatus: {}\n",
		"spec:\n  chart: c\n  postRenderers:\n    - kustomize:\n        images:\n        - name: image-overrides.invalid/table\n        patches: [{patch: x}]\n",
		"spec:\n  chart: c\n  postRenderers: ~ # none\n  a: |+\n    x\n\n", "spec: &a\n  chart: c\n  ? b\n  : !!str c\n  postRenderers: []\n...\n", bomb("spec: {chart: c, a: *b}\n"),
	} {
		f.Add([]byte(seed))
	}
	table, err := imageoverrides.Parse([]byte(one))
	if err != nil {
		f.Fatal(err)
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		for _, before := range [][]byte{text, append([]byte(head), text...)} {
			var m merged
			after, err := m.piece(document.Piece{Bytes: slices.Clone(before), Line: 1}, table)
			if err != nil {
				continue
			}
			if m.changed == 0 && !bytes.Equal(after, before) {
				t.Errorf("%q became %q without a change", before, after)
			}
			if again, err := mergeText(after, table); err != nil || !bytes.Equal(again, after) {
				t.Errorf("%q became %q, then %q, %v", before, after, again, err)
			}
		}
	})
}
