// SPDX-License-Identifier: Apache-2.0

package postrender

import (
	"encoding/json"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"

	helmv2 "github.com/fluxcd/helm-controller/api/v2"
	"github.com/fluxcd/pkg/apis/kustomize"
	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
	"sigs.k8s.io/yaml"

	"github.com/cozystack/image-overrides/imageoverrides"
)

// filled gives values of a type with every exported field, and every field of those, drawn
// at random, so that a field that Flux adds one day is not forgotten.
func filled(t *rapid.T, v reflect.Value) {
	switch v.Kind() {
	case reflect.Struct:
		for i := range v.NumField() {
			filled(t, v.Field(i))
		}
	case reflect.Pointer:
		if rapid.Bool().Draw(t, "set") {
			v.Set(reflect.New(v.Type().Elem()))
			filled(t, v.Elem())
		}
	case reflect.Slice:
		n := rapid.IntRange(-1, 3).Draw(t, "length")
		if n < 0 {
			return // nil
		}
		v.Set(reflect.MakeSlice(v.Type(), n, n))
		for i := range n {
			filled(t, v.Index(i))
		}
	case reflect.String:
		v.SetString(rapid.SampledFrom([]string{"", "a", "nginx", "v1", "sha256:x", "é\n"}).Draw(t, "text"))
	default:
		t.Fatalf("fill %s too", v.Type())
	}
}

func genTable() *rapid.Generator[imageoverrides.Table] {
	return rapid.Custom(func(t *rapid.T) imageoverrides.Table {
		n := rapid.IntRange(0, 3).Draw(t, "entries")
		overrides := make([]imageoverrides.Override, n)
		for i := range overrides {
			overrides[i] = imageoverrides.Override{
				Name:    []string{"a", "b", "c"}[i],
				NewName: rapid.SampledFrom([]string{"", "x/y"}).Draw(t, "newName"),
				NewTag:  rapid.SampledFrom([]string{"v1", "v2"}).Draw(t, "newTag"),
				Digest:  rapid.SampledFrom([]string{"", "sha256:" + strings.Repeat("ab", 32)}).Draw(t, "digest"),
			}
		}
		table, err := imageoverrides.New(overrides...)
		if err != nil {
			t.Fatal(err)
		}
		return table
	})
}

// genExisting gives the lists that releases have: their own renderers, anything that
// the API allows, and those of tables, in any place and number; often of these tables.
func genExisting(tables ...imageoverrides.Table) *rapid.Generator[[]helmv2.PostRenderer] {
	return rapid.Custom(func(t *rapid.T) []helmv2.PostRenderer {
		var list []helmv2.PostRenderer
		filled(t, reflect.ValueOf(&list).Elem())
		for range rapid.IntRange(0, 2).Draw(t, "tables") {
			older := genTable()
			if len(tables) > 0 && rapid.Bool().Draw(t, "known") {
				older = rapid.SampledFrom(tables)
			}
			r := Renderer(older.Draw(t, "older"))
			if rapid.IntRange(0, 3).Draw(t, "patched") == 0 && r.Kustomize != nil {
				filled(t, reflect.ValueOf(&r.Kustomize.Patches).Elem())
			}
			list = slices.Insert(list, rapid.IntRange(0, len(list)).Draw(t, "at"), r)
		}
		if list != nil && rapid.Bool().Draw(t, "room") {
			list = slices.Grow(list, 3)
		}
		return list
	})
}

// own is what a release has without tables, said in other words than Merge's.
func own(list []helmv2.PostRenderer) []helmv2.PostRenderer {
	var rest []helmv2.PostRenderer
	for _, r := range list {
		if r.Kustomize == nil || len(r.Kustomize.Images) == 0 || r.Kustomize.Images[0].Name != Marker {
			rest = append(rest, r)
		} else if len(r.Kustomize.Patches) > 0 {
			rest = append(rest, helmv2.PostRenderer{Kustomize: &helmv2.Kustomize{Patches: r.Kustomize.Patches}})
		}
	}
	return rest
}

// legacy reports whether a list ends in the images of a table without its marker.
func legacy(list []helmv2.PostRenderer, tables ...imageoverrides.Table) bool {
	for _, t := range tables {
		if t.Len() == 0 || len(list) == 0 {
			continue
		}
		want := Renderer(t)
		want.Kustomize.Images = want.Kustomize.Images[1:]
		if last := list[len(list)-1].Kustomize; last != nil && len(last.Patches) == 0 && slices.Equal(last.Images, want.Kustomize.Images) {
			return true
		}
	}
	return false
}

func clone(list []helmv2.PostRenderer) []helmv2.PostRenderer {
	var copied []helmv2.PostRenderer
	if list != nil {
		copied = make([]helmv2.PostRenderer, len(list))
		for i := range list {
			list[i].DeepCopyInto(&copied[i])
		}
	}
	return copied
}

func TestMergeLaws(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		t1, t2 := genTable().Draw(t, "t1"), genTable().Draw(t, "t2")
		x := genExisting(t1, t2).Draw(t, "existing")
		if legacy(x, t1, t2) {
			t.Skip("the laws are not for these")
		}
		before := clone(x)

		merged := Merge(x, t1)
		same(t, "own renderers, then the table's", merged, plus(own(x), t1))
		same(t, "merged twice", Merge(merged, t1), merged)
		same(t, "merged with another before", Merge(merged, t2), Merge(x, t2))
		same(t, "an unknown table", Merge(x, imageoverrides.Table{}), x)
		same(t, "an unknown table, later", Merge(merged, imageoverrides.Table{}), merged)
		if a, b := text(t, merged), text(t, Merge(clone(x), t1)); a != b {
			t.Fatalf("the JSON is not stable\n%s\n%s", a, b)
		}

		for _, r := range merged { // but for those that were split, which have no images
			if k := r.Kustomize; k != nil && len(k.Images) > 0 && slices.ContainsFunc(x, func(r helmv2.PostRenderer) bool { return reflect.DeepEqual(r.Kustomize, k) }) &&
				!slices.ContainsFunc(x, func(r helmv2.PostRenderer) bool { return r.Kustomize == k }) {
				t.Fatalf("copied: %s", text(t, []helmv2.PostRenderer{r}))
			}
		}

		hash, ok := Hash(merged)
		if ok != (t1.Len() > 0) || ok && hash != t1.Hash()[:12] {
			t.Fatalf("Hash gives %q, %v for a table with hash %q", hash, ok, t1.Hash())
		}

		for _, table := range []imageoverrides.Table{t1, {}, t2} {
			for _, list := range [][]helmv2.PostRenderer{x, merged} {
				hr := &helmv2.HelmRelease{Spec: helmv2.HelmReleaseSpec{PostRenderers: clone(list)}}
				was, want := spec(t, list), spec(t, Merge(list, table))
				changed := Ensure(hr, table)
				if changed != (was != want) || spec(t, hr.Spec.PostRenderers) != want {
					t.Fatalf("Ensure says %v of\n%s\nand gives\n%s\nwant\n%s", changed, was, spec(t, hr.Spec.PostRenderers), want)
				}
				if carries := Carries(list, table); carries == changed {
					t.Fatalf("Carries says %v of\n%s\nand Ensure %v", carries, was, changed)
				}
				if Ensure(hr, table) || !Carries(hr.Spec.PostRenderers, table) {
					t.Fatalf("Ensure changes again\n%s", want)
				}
			}
		}

		for _, table := range []imageoverrides.Table{t1, {}} {
			result := Merge(x, table)
			for i := range result {
				result[i] = helmv2.PostRenderer{}
			}
			_ = append(result, helmv2.PostRenderer{})
		}
		same(t, "the argument", x, before)
		for _, spare := range x[len(x):cap(x)] {
			if spare.Kustomize != nil {
				t.Fatal("the room behind the argument was written to")
			}
		}
	})
}

// plus appends the renderer of a table that has entries; no renderers are nil.
func plus(own []helmv2.PostRenderer, t imageoverrides.Table) []helmv2.PostRenderer {
	if t.Len() == 0 {
		return own
	}
	images := []kustomize.Image{{Name: "image-overrides.invalid/table", NewTag: t.Hash()[:12]}}
	for _, o := range t.All() {
		images = append(images, kustomize.Image{Name: o.Name, NewName: o.NewName, NewTag: o.NewTag, Digest: o.Digest})
	}
	return append(own, helmv2.PostRenderer{Kustomize: &helmv2.Kustomize{Images: images}})
}

func text(t interface{ Fatal(...any) }, list []helmv2.PostRenderer) string {
	b, err := json.MarshalIndent(list, "", " ")
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

// spec is the JSON of a release's spec with these post-renderers, which lacks an empty list.
func spec(t interface{ Fatal(...any) }, list []helmv2.PostRenderer) string {
	b, err := json.MarshalIndent(helmv2.HelmReleaseSpec{PostRenderers: list}, "", " ")
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

// TestMergeTakesOver: the table's images in last place, without a marker, are the table's.
func TestMergeTakesOver(t *testing.T) {
	table := mustTable(t, imageoverrides.Override{Name: "a", NewTag: "v1"}, imageoverrides.Override{Name: "b", NewName: "c"})
	renderer := func(patch string, images ...kustomize.Image) helmv2.PostRenderer {
		k := &helmv2.Kustomize{Images: images}
		if patch != "" {
			k.Patches = []kustomize.Patch{{Patch: patch}}
		}
		return helmv2.PostRenderer{Kustomize: k}
	}
	a, b := kustomize.Image{Name: "a", NewTag: "v1"}, kustomize.Image{Name: "b", NewName: "c"}
	for _, test := range []struct {
		why      string
		existing []helmv2.PostRenderer
		stays    int // how many of existing stay
	}{
		{"the table's images, last", []helmv2.PostRenderer{renderer("x"), renderer("", a, b)}, 1},
		{"the table's images, alone", []helmv2.PostRenderer{renderer("", a, b)}, 0},
		{"not last", []helmv2.PostRenderer{renderer("", a, b), renderer("x")}, 2},
		{"fewer images", []helmv2.PostRenderer{renderer("", a)}, 1},
		{"more images", []helmv2.PostRenderer{renderer("", a, b, b)}, 1},
		{"another order", []helmv2.PostRenderer{renderer("", b, a)}, 1},
		{"with patches", []helmv2.PostRenderer{renderer("x", a, b)}, 1},
		{"no images", []helmv2.PostRenderer{renderer("")}, 1},
	} {
		got := Merge(test.existing, table)
		if diff := cmp.Diff(append(test.existing[:test.stays:test.stays], Renderer(table)), got); diff != "" {
			t.Errorf("%s: -want +got\n%s", test.why, diff)
		}
	}
}

func TestNothing(t *testing.T) {
	empty := mustTable(t)
	for why, table := range map[string]imageoverrides.Table{"unknown": {}, "empty": empty} {
		if r := Renderer(table); r.Kustomize != nil {
			t.Errorf("%s: Renderer gives %+v", why, r)
		}
		if got := Merge(nil, table); got != nil {
			t.Errorf("%s: nil becomes %v", why, got)
		}
	}
	if got := Merge([]helmv2.PostRenderer{}, empty); got != nil {
		t.Errorf("an empty list and an empty table give %v", got)
	}
	if got := Merge([]helmv2.PostRenderer{}, imageoverrides.Table{}); got == nil || len(got) > 0 {
		t.Errorf("an empty list and an unknown table give %v", got)
	}
	if hash, ok := Hash(nil); hash != "" || ok {
		t.Errorf("Hash(nil) gives %q, %v", hash, ok)
	}
}

// manyOverrides gives n entries, as a mirror of a platform's images has them.
func manyOverrides(n int) []imageoverrides.Override {
	overrides := make([]imageoverrides.Override, n)
	for i := range overrides {
		overrides[i] = imageoverrides.Override{
			Name: fmt.Sprintf("registry.example.org/app/component-%d", i), NewName: fmt.Sprintf("mirror.example.net/app/component-%d", i),
			NewTag: fmt.Sprintf("v1.%d.0", i), Digest: fmt.Sprintf("sha256:%064d", i),
		}
	}
	return overrides
}

func mustTable(t testing.TB, overrides ...imageoverrides.Override) imageoverrides.Table {
	t.Helper()
	table, err := imageoverrides.New(overrides...)
	if err != nil {
		t.Fatal(err)
	}
	return table
}

// TestAllocations: a release that carries the table costs nothing, and none grows a list twice.
func TestAllocations(t *testing.T) {
	table := mustTable(t, manyOverrides(1000)...)
	hr := &helmv2.HelmRelease{}
	hr.Spec.PostRenderers = []helmv2.PostRenderer{{Kustomize: &helmv2.Kustomize{Patches: []kustomize.Patch{{Patch: "x"}}}}}
	if !Ensure(hr, table) {
		t.Fatal("the table changes nothing")
	}
	if n := testing.AllocsPerRun(100, func() { Ensure(hr, table) }); n > 0 {
		t.Errorf("Ensure allocates %v times", n)
	}
	if n := testing.AllocsPerRun(100, func() { Carries(hr.Spec.PostRenderers, table) }); n > 0 {
		t.Errorf("Carries allocates %v times", n)
	}
	if n := testing.AllocsPerRun(100, func() { Merge(hr.Spec.PostRenderers, table) }); n > 1 { // the list, where the compiler does not put it on the stack
		t.Errorf("Merge allocates %v times", n)
	}
	own := hr.Spec.PostRenderers[:1]
	if n := testing.AllocsPerRun(100, func() { hr.Spec.PostRenderers = own; Ensure(hr, table) }); n > 3 { // the list, the Kustomize and its images
		t.Errorf("Ensure of a release without the table allocates %v times", n)
	}
}

func BenchmarkMerge(b *testing.B) {
	table := mustTable(b, manyOverrides(1000)...)
	own := []helmv2.PostRenderer{{Kustomize: &helmv2.Kustomize{Patches: []kustomize.Patch{{Patch: "x"}}}}}
	for _, list := range [][]helmv2.PostRenderer{own, Merge(own, table)} {
		_, carries := Hash(list)
		b.Run(map[bool]string{false: "new", true: "carried"}[carries], func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				Merge(list, table)
			}
		})
	}
}

// BenchmarkSecretToReleases is what a controller does when the Secret has changed: a table of 1,000
// entries is read, and 1,000 releases that carry the one before get it.
func BenchmarkSecretToReleases(b *testing.B) {
	overrides := manyOverrides(1000)
	older := mustTable(b, overrides[:999]...)
	text, err := json.Marshal(overrides)
	if err != nil {
		b.Fatal(err)
	}
	list, err := yaml.JSONToYAML(text)
	if err != nil {
		b.Fatal(err)
	}
	data := map[string][]byte{"values.yaml": []byte("_cluster:\n  root-host: example.org\n  image-overrides:\n  " +
		strings.ReplaceAll(strings.TrimSpace(string(list)), "\n", "\n  ") + "\n")}
	before := Merge([]helmv2.PostRenderer{{Kustomize: &helmv2.Kustomize{Patches: []kustomize.Patch{{Patch: "x"}}}}}, older)
	releases := make([]helmv2.HelmRelease, 1000)
	b.ReportAllocs()
	for b.Loop() {
		table, err := imageoverrides.ParseSecret(data)
		if err != nil {
			b.Fatal(err)
		}
		for i := range releases {
			releases[i].Spec.PostRenderers = before
			if !Ensure(&releases[i], table) {
				b.Fatal("the table changes nothing")
			}
		}
	}
}
