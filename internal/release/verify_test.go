// SPDX-License-Identifier: Apache-2.0

package release

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"

	helmv2 "github.com/fluxcd/helm-controller/api/v2"

	"github.com/cozystack/image-overrides/internal/manifest/document"
)

// head is a HelmRelease up to its spec.
const head = "apiVersion: helm.toolkit.fluxcd.io/v2\nkind: HelmRelease\nmetadata: {name: r, namespace: n}\n"

// parse finds the releases of a text.
func parse(t *testing.T, text string) *Text {
	t.Helper()
	parsed, err := document.Parse([]byte(text))
	if err != nil {
		t.Fatal(err)
	}
	return Find(parsed)
}

// What the edits are checked by after they were made refuses every other outcome.
func TestVerify(t *testing.T) {
	const patch = "---\n" + head + "spec: {postRenderers: 5}\n" // which nobody reads
	const text = head + "spec:\n  chart: c\n  a: b\n  postRenderers:\n  - {}\n---\n" + head + "spec: {c: d}\n" + patch
	const good = head + "spec:\n  chart: c\n  a: b\n  postRenderers:\n  - {}\n  - kustomize: {images: [{name: x, newTag: y}]}\n---\n" + head + "spec: {c: d}\n" + patch
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
		{"post-renderers that cannot be read", "  - {}\n", "  - 5\n"},
		{"a post-renderer in the other release", "c: d", "c: d, postRenderers: [{}]"},
		{"a change of the patch", "postRenderers: 5", "postRenderers: 6"},
		{"a document less", "---\n" + head + "spec: {c: d}\n", ""},
		{"a document more", "---\n", "---\nx\n---\n"},
		{"a release that is none any more", "/v2\n", "/v1\n"},
	} {
		t.Run(c.why, func(t *testing.T) {
			in := parse(t, text)
			for _, r := range in.Releases[:2] {
				if err := r.Read(nil); err != nil {
					t.Fatal(err)
				}
				r.Merged, r.edited = slices.Clone(r.Existing), true
			}
			var added helmv2.PostRenderer
			if err := json.Unmarshal([]byte(`{"kustomize":{"images":[{"name":"x","newTag":"y"}]}}`), &added); err != nil {
				t.Fatal(err)
			}
			in.Releases[0].Merged = append(in.Releases[0].Merged, added)
			bad := in.verify([]byte(strings.Replace(good, c.old, c.new, 1)))
			if fine := c.old == "" || strings.Contains(c.why, "aside"); fine != (bad == nil) {
				t.Errorf("to blame: %d releases", len(bad))
			}
		})
	}
}

// What merged renderers and items have in common is found in one pass, in the order of the items.
func TestKeeps(t *testing.T) {
	r := func(n int) []helmv2.PostRenderer {
		list := make([]helmv2.PostRenderer, n)
		for i := range list {
			list[i].Kustomize = new(helmv2.Kustomize)
		}
		return list
	}
	items, others := r(4), r(2)
	var none helmv2.PostRenderer
	for _, c := range []struct {
		why              string
		existing, merged []helmv2.PostRenderer
		want             []int // by merged renderer, its item; -1 for none
	}{
		{"all", items, items, []int{0, 1, 2, 3}},
		{"some", items, []helmv2.PostRenderer{items[1], items[3]}, []int{1, 3}},
		{"new ones between", items, []helmv2.PostRenderer{others[0], items[1], others[1], items[3], others[0]}, []int{-1, 1, -1, 3, -1}},
		{"out of order", items, []helmv2.PostRenderer{items[2], items[1]}, []int{2, -1}},
		{"equal ones", []helmv2.PostRenderer{none, items[0], none}, []helmv2.PostRenderer{none, none, none}, []int{0, 2, -1}},
		{"no items", nil, others, []int{-1, -1}},
		{"nothing merged", items, nil, []int{}},
	} {
		one := &Release{Existing: c.existing, Merged: c.merged}
		got := make([]int, len(c.merged))
		for i := range got {
			got[i] = -1
		}
		for i, kept := range one.keeps(func(m, item int) { got[m] = item }) {
			if kept != (got[i] >= 0) {
				t.Errorf("%s: renderer %d: kept is %t, item %d", c.why, i, kept, got[i])
			}
		}
		if !slices.Equal(got, c.want) {
			t.Errorf("%s: %v, want %v", c.why, got, c.want)
		}
	}
}

// Documents that are passed over have no release, whatever the parser makes of them, and parse.
func TestSkip(t *testing.T) {
	var s Skipper
	for text, want := range map[string]bool{
		"kind: Pod\nspec: {a: [b]}\n":     true,
		`{"kind": "Pod", "a": "b\"c\n"}`:  true,
		"kind: HelmRelease\n":             false,
		"kind: \"Helm\\u0052elease\"\n":   false,
		"kind: \"Helm\\x52elease\"\n":     false,
		"kind: \"Helm\\\n  Release\"\n":   false,
		"kind: \"Helm\\\r\n  Release\"\n": false,
		"a: {{ .x }}\n":                   false,
		"a: '{{ .x }}'\n":                 false,
		"a: [\n":                          false,
		"a: &x b\n":                       true,
		"{\"a\": 1}\n{\"b\": 2}\n":        true,
		"a: b\nc\n":                       false,
		"a: b\n...\n":                     true,
		"kind: ConfigMap\ndata:\n  a: |\n    kind: Helm\n": true,
	} {
		if _, got := s.Skip(document.Piece{Bytes: []byte(text), Line: 1, Column: 1}); got != want {
			t.Errorf("%q: %t", text, got)
		}
	}
}
