// SPDX-License-Identifier: Apache-2.0

package postrender_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/fluxcd/pkg/apis/kustomize"
	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"pgregory.net/rapid"
	"sigs.k8s.io/kustomize/api/types"
	"sigs.k8s.io/yaml"

	"github.com/cozystack/image-overrides/imageoverrides"
	"github.com/cozystack/image-overrides/internal/oracle"
	"github.com/cozystack/image-overrides/postrender"
)

// TestOrderOfImages: kustomize applies images in the order of the list, each to what those before have made, so that the end of the list
// comes last.
func TestOrderOfImages(t *testing.T) {
	pod := "apiVersion: v1\nkind: Pod\nmetadata: {name: p}\nspec: {containers: [{name: c, image: a}]}\n"
	ab, bc := types.Image{Name: "a", NewName: "b"}, types.Image{Name: "b", NewName: "c"}
	for _, test := range []struct {
		images []types.Image
		want   string
	}{
		{[]types.Image{ab, bc}, "c"},
		{[]types.Image{bc, ab}, "b"},
		{[]types.Image{{Name: "a", NewTag: "1"}, {Name: "a", NewTag: "2"}}, "a:2"},
	} {
		out, err := oracle.Kustomize(test.images, pod)
		if err != nil || !strings.Contains(out, "image: "+test.want+"\n") {
			t.Errorf("%v: %v\n%s", test.images, err, out)
		}
	}
}

// images are own entries, and those of tables.
var ownImage = rapid.Custom(func(t *rapid.T) kustomize.Image {
	return kustomize.Image{
		Name: oracle.Name().Draw(t, "name"), NewName: rapid.SampledFrom([]string{"", "x", "reg.example.org/a"}).Draw(t, "newName"),
		NewTag: rapid.SampledFrom([]string{"", "v1", "1.20"}).Draw(t, "newTag"),
	}
})

var imagesTable = rapid.Custom(func(t *rapid.T) imageoverrides.Table {
	var list []imageoverrides.Override
	for _, name := range rapid.SliceOfNDistinct(oracle.Name(), 0, 4, rapid.ID).Draw(t, "names") {
		list = append(list, imageoverrides.Override{Name: name, NewName: "reg.example.org/" + name[strings.LastIndex(name, "/")+1:], NewTag: rapid.SampledFrom([]string{"", "v1", "1.20"}).Draw(t, "newTag")})
	}
	table, err := imageoverrides.New(list...)
	if err != nil {
		t.Fatal(err)
	}
	return table
})

func TestMergeImagesLaws(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		t1, t2 := imagesTable.Draw(t, "t1"), imagesTable.Draw(t, "t2")
		own := rapid.SliceOfN(ownImage, 0, 4).Draw(t, "own")
		merge := func(list []kustomize.Image, table imageoverrides.Table) []kustomize.Image {
			before := slices.Clone(list)
			merged, err := postrender.MergeImages(list, table)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(before, list); diff != "" {
				t.Fatal(diff)
			}
			return merged
		}
		with1 := merge(own, t1)
		behind := append(slices.Clone(with1), own...) // somebody writes behind it
		same := func(why string, got, want []kustomize.Image) {
			if diff := cmp.Diff(want, got, cmpopts.EquateEmpty()); diff != "" {
				t.Fatalf("%s\n%s", why, diff)
			}
		}
		same("twice", merge(with1, t1), with1)
		same("another", merge(with1, t2), merge(own, t2))
		same("unknown", merge(with1, imageoverrides.Table{}), with1)
		same("behind", merge(behind, t2), merge(append(slices.Clone(own), own...), t2))
		none, _ := imageoverrides.New()
		same("none", merge(behind, none), append(slices.Clone(own), own...))
		if got := merge(with1[len(own):], none); len(with1) > len(own) && got != nil {
			t.Fatalf("%v", got)
		}
	})
}

func TestMergeImagesOfOthers(t *testing.T) {
	table, err := imageoverrides.New(imageoverrides.Override{Name: "b", NewTag: "v1"}, imageoverrides.Override{Name: "a", NewTag: "v1"})
	if err != nil {
		t.Fatal(err)
	}
	list, err := postrender.MergeImages([]kustomize.Image{{Name: "z", NewTag: "v1"}}, table)
	if err != nil {
		t.Fatal(err)
	}
	sorted := slices.Clone(list) // as kustomize edit set image does
	slices.SortFunc(sorted, func(a, b kustomize.Image) int { return strings.Compare(a.Name, b.Name) })
	edited := slices.Clone(list)
	edited[2].NewTag = "v2"
	for _, bad := range [][]kustomize.Image{sorted, edited, list[:3], {{Name: postrender.Marker}}, {{Name: postrender.Marker, NewTag: "x.-1"}}, {{Name: postrender.Marker, NewTag: "x.99999999999999999999"}}} {
		got, err := postrender.MergeImages(bad, table)
		i := slices.IndexFunc(bad, func(i kustomize.Image) bool { return i.Name == postrender.Marker })
		want := fmt.Sprintf("images[%d]: the entries behind the marker image-overrides.invalid/table are not those of the table that it tells of; take the marker and the table's entries out, so that they can be written anew", i)
		if fmt.Sprint(err) != want || cmp.Diff(bad, got) != "" {
			t.Errorf("%v: %v, want %s", got, err, want)
		}
	}
}

func TestRewriteKustomizations(t *testing.T) {
	table, err := imageoverrides.New(imageoverrides.Override{Name: "a", NewName: "reg.example.org/a"}, imageoverrides.Override{Name: "b", NewTag: "1.20"})
	if err != nil {
		t.Fatal(err)
	}
	const marker = "image-overrides.invalid/table\n  newTag: "
	hash := table.Hash()[:12] + ".2"
	block := "- name: " + marker + hash + "\n- name: a\n  newName: reg.example.org/a\n- name: b\n  newTag: \"1.20\"\n"
	indented := "  " + strings.TrimSuffix(strings.ReplaceAll(block, "\n", "\n  "), "  ")
	const head = "apiVersion: kustomize.toolkit.fluxcd.io/v1\nkind: Kustomization\nmetadata: {name: apps}\n"
	for _, test := range []struct{ why, text, want string }{
		{"a file without images", "# ours\nresources: [a.yaml]\n# end\n", "# ours\nresources: [a.yaml]\nimages:\n" + block + "# end\n"},
		{"own entries", "kind: Kustomization\nimages:\n- name: z # z\n  newTag: 1.0\nnamePrefix: x\n", "kind: Kustomization\nimages:\n- name: z # z\n  newTag: 1.0\n" + block + "namePrefix: x\n"},
		{"behind an older table", "images:\n- name: " + marker + hash + "\n- name: a\n  newName: reg.example.org/a\n- name: b\n  newTag: \"1.20\"\n# z\n- name: z\n  newTag: v1", "images:\n# z\n- name: z\n  newTag: v1\n" + strings.TrimSuffix(block, "\n")},
		{"in step", "images:\n" + block, "images:\n" + block},
		{"JSON", `{"kind": "Kustomization", "images": []}`, `{"kind": "Kustomization", "images": [{"name": "image-overrides.invalid/table", "newTag": "` + hash + `"}, {"name": "a", "newName": "reg.example.org/a"}, {"name": "b", "newTag": "1.20"}]}`},
		{"JSON without", `{"kind": "Kustomization"}`, `{"kind": "Kustomization", "images": [{"name": "image-overrides.invalid/table", "newTag": "` + hash + `"}, {"name": "a", "newName": "reg.example.org/a"}, {"name": "b", "newTag": "1.20"}]}`},
		{"those of Flux, among others", head + "spec:\n  path: x\n---\nkind: ConfigMap\nimages: []\n---\n" + head + "spec:\n  images: # c\n  - {name: z, newTag: x}\n  path: y\n",
			head + "spec:\n  path: x\n  images:\n" + indented + "---\nkind: ConfigMap\nimages: []\n---\n" + head + "spec:\n  images: # c\n  - {name: z, newTag: x}\n" + indented + "  path: y\n"},
		{"nothing", "kind: ConfigMap\n", "error: there is no Kustomization here, of kustomize or of Flux"},
		{"no spec", head, "error: Kustomization apps: has no spec"},
		{"no YAML", "a: [", "error: byte 3: did not find expected node content"},
		{"an alias", "x: &x [{name: z}]\nimages: *x\n", "error: the images of Kustomization: cannot be edited in its notation; write it out, a field a line, without anchors and aliases"},
		{"by hand", "images:\n- name: " + marker + hash + "\n", "error: Kustomization: images[0]: the entries behind the marker image-overrides.invalid/table are not those of the table that it tells of; take the marker and the table's entries out, so that they can be written anew"},
	} {
		out, _, err := postrender.RewriteKustomizations([]byte(test.text), table)
		if err != nil {
			out = []byte("error: " + err.Error())
		}
		if diff := cmp.Diff(test.want, string(out)); diff != "" {
			t.Errorf("%s\n%s", test.why, diff)
			continue
		}
		if err != nil {
			continue
		}
		if again, _, err := postrender.RewriteKustomizations(out, table); err != nil || string(again) != string(out) {
			t.Errorf("%s: again: %v\n%s", test.why, err, again)
		}
		none, _ := imageoverrides.New()
		without, _, err := postrender.RewriteKustomizations(out, none)
		if err != nil || strings.Contains(string(without), "invalid/table") {
			t.Errorf("%s: without: %v\n%s", test.why, err, without)
		}
	}
}

// What kustomize does with a kustomization file that has the table is what the table does to the images, where own entries leave them alone.
func TestKustomizationFile(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		table := imagesTable.Draw(t, "table")
		own := rapid.SliceOfN(ownImage, 0, 3).Draw(t, "own")
		file, err := yaml.Marshal(map[string]any{"kind": "Kustomization", "images": own})
		if err != nil {
			t.Fatal(err)
		}
		out, _, err := postrender.RewriteKustomizations(file, table)
		if err != nil {
			t.Fatal(err)
		}
		var k types.Kustomization
		if err := yaml.Unmarshal(out, &k); err != nil {
			t.Fatal(err)
		}
		image := oracle.Name().Draw(t, "image")
		pod := "apiVersion: v1\nkind: Pod\nmetadata: {name: p}\nspec: {containers: [{name: c, image: '" + image + "'}]}\n"
		var first []types.Image
		for _, i := range own {
			first = append(first, types.Image{Name: i.Name, NewName: i.NewName, NewTag: i.NewTag})
		}
		got, err := oracle.Kustomize(k.Images, pod)
		if err != nil {
			t.Skip(err)
		}
		made, err := oracle.Kustomize(first, pod)
		if err != nil {
			t.Skip(err)
		}
		var want strings.Builder
		if _, err := imageoverrides.Rewrite(&want, strings.NewReader(made), table); err != nil {
			t.Fatal(err)
		}
		oracle.SameObjects(t, want.String(), got)
	})
}
