// SPDX-License-Identifier: Apache-2.0

package postrender_test

import (
	"bytes"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/cozystack/image-overrides/imageoverrides"
	"github.com/cozystack/image-overrides/imageoverrides/audit"
	"github.com/cozystack/image-overrides/postrender"
)

// On any text it is an error, or twice is once, and without the table again nothing of it is left.
func FuzzRewriteKustomizations(f *testing.F) {
	table, err := imageoverrides.New(imageoverrides.Override{Name: "a", NewTag: "v1"}, imageoverrides.Override{Name: "b", NewTag: "1.20"})
	if err != nil {
		f.Fatal(err)
	}
	none, _ := imageoverrides.New()
	for _, seed := range []string{
		"images:\n- name: z\n  newTag: v1\n", "resources: []\n", "{}", `{"images": [{"name": "z"}]}`, "images: [{name: z,},] # c\n", "kind: Kustomization\nimages:\n\nx: |\n  y\n\n",
		"apiVersion: kustomize.toolkit.fluxcd.io/v1\nkind: Kustomization\nspec:\n  images:\n  - name: image-overrides.invalid/table\n    newTag: " + table.Hash()[:12] + ".2\n  - {name: a, newTag: v1}\n  - name: b\n    newTag: \"1.20\"\n---\nkind: X\n",
		"images: &i\n- name: z\nx: *i\n", "<<: {images: []}\n", "images: null\r\nx: 1\r\n", "images:\n- z\n- [z]\n",
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		before := slices.Clone(text)
		with, n, err := postrender.RewriteKustomizations(text, table)
		if !bytes.Equal(text, before) {
			t.Fatal("the text was changed")
		}
		if err != nil {
			return
		}
		if again, m, err := postrender.RewriteKustomizations(with, table); err != nil || n != m || !bytes.Equal(again, with) {
			t.Fatalf("again: %v, %d and %d in %q of %q", err, m, n, again, text)
		}
		without, _, err := postrender.RewriteKustomizations(with, none)
		if err == nil && bytes.Count(without, []byte(postrender.Marker)) > bytes.Count(text, []byte(postrender.Marker)) {
			t.Fatalf("%q is left of %q", without, text)
		}
	})
}

// Many images of one text, and many of one object, take a time that is about linear.
func TestPatchesLarge(t *testing.T) {
	table, err := imageoverrides.New(imageoverrides.Override{Name: "a", NewName: "reg.example.org/a"})
	if err != nil {
		t.Fatal(err)
	}
	const n = 30_000
	text := strings.Repeat("a ", n)
	var places []audit.Place
	object := imageoverrides.Object{APIVersion: "v1", Kind: "ConfigMap", Name: "c"}
	for i := n - 1; i >= 0; i-- {
		places = append(places, place(object, audit.Part{Pointer: "/data/x", Text: text, Start: 2 * i, End: 2*i + 1}),
			place(object, audit.Part{Pointer: fmt.Sprintf("/data/%d", i), Text: "a"}))
	}
	r, unpatched := postrender.Patches(table, places)
	if unpatched != nil || len(r.Kustomize.Patches) != 1 || strings.Count(r.Kustomize.Patches[0].Patch, "reg.example.org/a") != 2*n {
		t.Errorf("%d unpatched", len(unpatched))
	}
}
