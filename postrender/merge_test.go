// SPDX-License-Identifier: Apache-2.0

package postrender

import (
	"slices"
	"testing"

	helmv2 "github.com/fluxcd/helm-controller/api/v2"
	"github.com/fluxcd/pkg/apis/kustomize"
	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/cozystack/image-overrides/imageoverrides"
)

// same fails where two lists differ in any field, nil and empty told apart.
func same(t interface {
	Helper()
	Fatalf(string, ...any)
}, what string, got, want []helmv2.PostRenderer) {
	t.Helper()
	if diff := cmp.Diff(want, got); diff != "" {
		t.Fatalf("%s: -want +got\n%s", what, diff)
	}
}

// marks counts the marked renderers of a list.
func marks(list []helmv2.PostRenderer) (n int) {
	for _, r := range list {
		if r.Kustomize != nil && len(r.Kustomize.Images) > 0 && r.Kustomize.Images[0].Name == Marker {
			n++
		}
	}
	return n
}

// byHand is a table as code wrote it that knew no marker.
func byHand(t imageoverrides.Table) helmv2.PostRenderer {
	r := Renderer(t)
	r.Kustomize.Images = r.Kustomize.Images[1:]
	return r
}

// spoil writes over all that a result has, and into its array.
func spoil(list []helmv2.PostRenderer) {
	for i := range list {
		list[i] = helmv2.PostRenderer{}
	}
	_ = append(list, helmv2.PostRenderer{Kustomize: &helmv2.Kustomize{}})
}

func TestComposeLaws(t *testing.T) {
	unknown := imageoverrides.Table{}
	rapid.Check(t, func(t *rapid.T) {
		t1, t2 := genTable().Draw(t, "t1"), genTable().Draw(t, "t2")
		wanted, live := genExisting(t1, t2).Draw(t, "own"), genExisting(t1, t2).Draw(t, "live")
		merged := Merge(live, t1)
		ownBefore, liveBefore := clone(wanted), clone(live)

		same(t, "a known table", Compose(wanted, live, t2), Merge(wanted, t2))
		if t1.Len() > 0 {
			same(t, "the table that the live one carries", Compose(wanted, merged, unknown), Merge(wanted, t1))
		}
		if x := own(merged); !legacy(x, t1) {
			if got, want := spec(t, Compose(x, merged, unknown)), spec(t, merged); got != want {
				t.Fatalf("a release that is generated as it was becomes\n%s\nwas\n%s", got, want)
			}
		}

		for _, table := range []imageoverrides.Table{unknown, t1} {
			for _, live := range [][]helmv2.PostRenderer{live, merged, nil} {
				c := Compose(wanted, live, table)
				same(t, "composed twice", Compose(c, live, table), c)
				if n := marks(c); n > 1 || n == 1 && marks(c[len(c)-1:]) == 0 {
					t.Fatalf("%d tables, or not in last place\n%s", n, text(t, c))
				}
				if !table.Known() {
					same(t, "composed of itself", Compose(c, c, table), c)
					want, carried := Hash(live)
					if !carried {
						want, carried = Hash(wanted)
					}
					if got, ok := Hash(c); got != want || ok != carried {
						t.Fatalf("the hash %q, %v is kept as %q, %v", want, carried, got, ok)
					}
				}
				if a, b := text(t, c), text(t, Compose(clone(wanted), clone(live), table)); a != b {
					t.Fatalf("the JSON is not stable\n%s\n%s", a, b)
				}
				spoil(c)
			}
		}

		// What a client decodes an answer into must not be what a cache holds.
		if marks(live) > 0 {
			c := Compose(nil, live, unknown)
			c[len(c)-1].Kustomize.Images[0] = kustomize.Image{}
			c[len(c)-1].Kustomize.Images = nil
		}
		same(t, "the own renderers", wanted, ownBefore)
		same(t, "the live renderers", live, liveBefore)
		for _, list := range [][]helmv2.PostRenderer{wanted, live} {
			for _, spare := range list[len(list):cap(list)] {
				if spare.Kustomize != nil {
					t.Fatal("the room behind an argument was written to")
				}
			}
		}
	})
}

// TestCompose: each thing that a generator meets, said whole.
func TestCompose(t *testing.T) {
	unknown, empty := imageoverrides.Table{}, mustTable(t)
	older := mustTable(t, imageoverrides.Override{Name: "a", NewTag: "v1"})
	table := mustTable(t, imageoverrides.Override{Name: "a", NewTag: "v2"})
	patch := func(s string) helmv2.PostRenderer {
		return helmv2.PostRenderer{Kustomize: &helmv2.Kustomize{Patches: []kustomize.Patch{{Patch: s}}}}
	}
	patched := Renderer(older)
	patched.Kustomize.Patches = patch("theirs").Kustomize.Patches
	// A marker that no table has, as somebody may have written it.
	odd := helmv2.PostRenderer{Kustomize: &helmv2.Kustomize{Images: []kustomize.Image{{Name: Marker, NewName: "x"}}}}
	type list = []helmv2.PostRenderer
	for _, test := range []struct {
		why       string
		own, live list
		table     imageoverrides.Table
		want      list
	}{
		{"nothing of anything", nil, nil, unknown, nil},
		{"no renderers", list{}, list{}, unknown, nil},
		{"a new release, nothing known", list{patch("own")}, nil, unknown, list{patch("own")}},
		{"a new release", list{patch("own")}, nil, table, list{patch("own"), Renderer(table)}},
		{"the own ones as before", list{patch("own")}, list{patch("own"), Renderer(older)}, unknown, list{patch("own"), Renderer(older)}},
		{"an own one more", list{patch("own"), patch("new")}, list{patch("own"), Renderer(older)}, unknown, list{patch("own"), patch("new"), Renderer(older)}},
		{"an own one less", nil, list{patch("own"), Renderer(older)}, unknown, list{Renderer(older)}},
		{"an own one more, and a table", list{patch("own"), patch("new")}, list{patch("own"), Renderer(older)}, table, list{patch("own"), patch("new"), Renderer(table)}},
		{"an empty table", list{patch("own")}, list{patch("own"), Renderer(older)}, empty, list{patch("own")}},
		{"the last of two tables", nil, list{Renderer(table), patch("x"), Renderer(older), patch("y")}, unknown, list{Renderer(older)}},
		{"patches in the live table's renderer", list{patch("own")}, list{patched}, unknown, list{patch("own"), Renderer(older)}},
		{"patches in the own one's", list{patched, patch("own")}, list{Renderer(table)}, unknown, list{patch("theirs"), patch("own"), Renderer(table)}},
		{"a list with a table for an own one", list{Renderer(table), patch("own")}, list{Renderer(older)}, unknown, list{patch("own"), Renderer(older)}},
		{"the same, and none is live", list{Renderer(table), patch("own")}, nil, unknown, list{patch("own"), Renderer(table)}},
		{"a marker without a table", list{patch("own")}, list{odd}, unknown, list{patch("own"), odd}},
		{"the live table's images by hand, last", list{patch("own"), byHand(older)}, list{Renderer(older)}, unknown, list{patch("own"), Renderer(older)}},
		{"another table's images by hand, last", list{patch("own"), byHand(table)}, list{Renderer(older)}, unknown, list{patch("own"), byHand(table), Renderer(older)}},
		{"a live table without a marker", list{patch("own")}, list{patch("own"), byHand(older)}, unknown, list{patch("own")}},
		{"no images, last", list{{Kustomize: &helmv2.Kustomize{}}}, list{odd}, unknown, list{{Kustomize: &helmv2.Kustomize{}}, odd}},
	} {
		t.Run(test.why, func(t *testing.T) { same(t, "composed", Compose(test.own, test.live, test.table), test.want) })
	}
}

// genByHand gives lists that often end in images alone.
func genByHand(tables ...imageoverrides.Table) *rapid.Generator[[]helmv2.PostRenderer] {
	return rapid.Custom(func(t *rapid.T) []helmv2.PostRenderer {
		list := genExisting(tables...).Draw(t, "existing")
		if rapid.Bool().Draw(t, "unmarked") {
			list = slices.DeleteFunc(list, func(r helmv2.PostRenderer) bool { return marks([]helmv2.PostRenderer{r}) > 0 })
		}
		for range rapid.IntRange(0, 2).Draw(t, "by hand") {
			table := genTable()
			if rapid.Bool().Draw(t, "known") {
				table = rapid.SampledFrom(tables)
			}
			if table := table.Draw(t, "table by hand"); table.Len() > 0 {
				list = append(list, byHand(table))
			}
		}
		if rapid.Bool().Draw(t, "clipped") {
			list = slices.Clip(list)
		}
		return list
	})
}

func TestAdoptLaws(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		t1, t2 := genTable().Draw(t, "t1"), genTable().Draw(t, "t2")
		x := genByHand(t1, t2).Draw(t, "existing")
		before := clone(x)
		same(t, "an unknown table", Adopt(x, imageoverrides.Table{}), x)

		adopted := Adopt(x, t1)
		end := len(x) - 1
		byHandOnly := end >= 0 && marks(x) == 0 && x[end].Kustomize != nil && len(x[end].Kustomize.Images) > 0 && len(x[end].Kustomize.Patches) == 0
		if byHandOnly {
			same(t, "the last one is replaced", adopted, plus(own(x[:end]), t1))
		} else {
			same(t, "nothing to adopt", adopted, Merge(x, t1))
		}
		if t1.Len() > 0 {
			same(t, "adopted twice", Adopt(adopted, t1), adopted)
			same(t, "adopted, and merged with another", Merge(adopted, t2), Adopt(adopted, t2))
			if byHandOnly {
				same(t, "adopted with another before", Adopt(adopted, t2), Adopt(x, t2))
			}
		}
		if rest := own(x); t1.Len() > 0 && !legacy(rest, t2) {
			same(t, "written by hand, and adopted", Adopt(append(slices.Clone(rest), byHand(t1)), t2), Merge(rest, t2))
		}
		room := clone(x[:cap(x)])
		for _, table := range []imageoverrides.Table{t1, {}, t2} {
			spoil(Adopt(x, table))
		}
		same(t, "the argument", x, before)
		same(t, "the room behind the argument", x[:cap(x)], room)
	})
}

// TestAdopt: what the doc says, said whole.
func TestAdopt(t *testing.T) {
	older := mustTable(t, imageoverrides.Override{Name: "a", NewTag: "v1"}, imageoverrides.Override{Name: "b", NewName: "c"})
	table, empty, unknown := mustTable(t, imageoverrides.Override{Name: "a", NewTag: "v2"}), mustTable(t), imageoverrides.Table{}
	patch := helmv2.PostRenderer{Kustomize: &helmv2.Kustomize{Patches: []kustomize.Patch{{Patch: "own"}}}}
	images := helmv2.PostRenderer{Kustomize: &helmv2.Kustomize{Images: []kustomize.Image{{Name: "own", NewTag: "v1"}}}}
	both := helmv2.PostRenderer{Kustomize: &helmv2.Kustomize{Patches: patch.Kustomize.Patches, Images: byHand(older).Kustomize.Images}}
	type list = []helmv2.PostRenderer
	for _, test := range []struct {
		why      string
		existing list
		table    imageoverrides.Table
		want     list
	}{
		{"an older table", list{patch, byHand(older)}, table, list{patch, Renderer(table)}},
		{"an older table alone, which Merge would leave in front, where it wins", list{byHand(older)}, table, list{Renderer(table)}},
		{"this table", list{patch, byHand(table)}, table, list{patch, Renderer(table)}},
		{"an empty table", list{patch, byHand(older)}, empty, list{patch}},
		{"an empty table, and nothing else", list{byHand(older)}, empty, nil},
		{"an unknown table", list{patch, byHand(older)}, unknown, list{patch, byHand(older)}},
		{"one at a time", list{images, byHand(older)}, table, list{images, Renderer(table)}},
		{"one at a time, and the other is this table's", list{byHand(table), byHand(older)}, table, list{byHand(table), Renderer(table)}},
		{"images not in last place", list{byHand(older), patch}, table, list{byHand(older), patch, Renderer(table)}},
		{"with patches", list{both}, table, list{both, Renderer(table)}},
		{"taken over, with images of its own", list{images, Renderer(older)}, table, list{images, Renderer(table)}},
		{"taken over, and images behind", list{Renderer(older), images}, table, list{images, Renderer(table)}},
		{"taken over, and images behind, an empty table", list{Renderer(older), images}, empty, list{images}},
		{"no images", list{{Kustomize: &helmv2.Kustomize{}}}, table, list{{Kustomize: &helmv2.Kustomize{}}, Renderer(table)}},
		{"a zero renderer", list{{}}, table, list{{}, Renderer(table)}},
		{"nil", nil, table, list{Renderer(table)}},
		{"nil, an empty table", nil, empty, nil},
		{"nil, an unknown table", nil, unknown, nil},
	} {
		t.Run(test.why, func(t *testing.T) { same(t, "adopted", Adopt(test.existing, test.table), test.want) })
	}
	// As the doc says of an empty table.
	once := Adopt(list{patch, images, byHand(older)}, empty)
	same(t, "once", once, list{patch, images})
	same(t, "twice", Adopt(once, empty), list{patch})
}
