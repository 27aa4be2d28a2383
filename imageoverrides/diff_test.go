// SPDX-License-Identifier: Apache-2.0

package imageoverrides_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/cozystack/image-overrides/imageoverrides"
)

var (
	diffA = "sha256:" + strings.Repeat("a", 64)
	diffB = "sha256:" + strings.Repeat("b", 64)
)

func TestDiff(t *testing.T) {
	table := func(overrides ...imageoverrides.Override) imageoverrides.Table {
		t.Helper()
		table, err := imageoverrides.New(overrides...)
		if err != nil {
			t.Fatal(err)
		}
		return table
	}
	type o = imageoverrides.Override
	for _, test := range []struct {
		why      string
		old, new imageoverrides.Table
		want     []string
	}{
		{"nothing at all", table(), table(), nil},
		{"the same", table(o{Name: "a", NewTag: "1"}), table(o{Name: "a", NewTag: "1"}), nil},
		{"an unknown table", imageoverrides.Table{}, table(o{Name: "a", NewTag: "1"}), nil},
		{"to an unknown one", table(o{Name: "a", NewTag: "1"}), imageoverrides.Table{}, nil},
		{"added", table(), table(o{Name: "a", NewName: "b", NewTag: "1"}), []string{`a: added: newName "b", newTag "1"`}},
		{"removed", table(o{Name: "a", NewName: "b", Digest: diffA}), table(), []string{`a: removed: it was newName "b", digest "` + diffA + `"`}},
		{"renamed and more", table(o{Name: "a", NewName: "b", NewTag: "1"}), table(o{Name: "a", NewName: "c", NewTag: "2"}), []string{`a: renamed: newName "b" is "c", newTag "1" is "2"`}},
		{"no newName any more", table(o{Name: "a", NewName: "b", NewTag: "1"}), table(o{Name: "a", NewTag: "1"}), []string{`a: renamed: newName "b" is gone`}},
		{"retagged", table(o{Name: "a", NewTag: "1", Digest: diffA}), table(o{Name: "a", NewTag: "2"}), []string{`a: retagged: newTag "1" is "2", digest "` + diffA + `" is gone`}},
		{"pinned", table(o{Name: "a", NewTag: "1"}), table(o{Name: "a", NewTag: "1", Digest: diffA}), []string{`a: digest: digest "` + diffA + `"`}},
		{"the digest alone", table(o{Name: "a", NewTag: "1", Digest: diffA}), table(o{Name: "a", NewTag: "1", Digest: diffB}), []string{`a: digest: digest "` + diffA + `" is "` + diffB + `"`}},
		{"moved", table(o{Name: "a", NewTag: "1"}, o{Name: "b", NewTag: "1"}, o{Name: "c", NewTag: "1"}), table(o{Name: "c", NewTag: "1"}, o{Name: "a", NewTag: "1"}, o{Name: "b", NewTag: "1"}), []string{`c: moved: from entry 2 to entry 0`}},
		{"one goes and one comes", table(o{Name: "a", NewTag: "1"}, o{Name: "b", NewTag: "1"}), table(o{Name: "b", NewTag: "1"}, o{Name: "c", NewTag: "1"}), []string{`c: added: newTag "1"`, `a: removed: it was newTag "1"`}},
		{"odd text", table(), table(o{Name: "a b\n", NewTag: "1"}), []string{`"a b\n": added: newTag "1"`}},
	} {
		var got []string
		for _, d := range imageoverrides.Diff(test.old, test.new) {
			got = append(got, d.String())
		}
		if diff := cmp.Diff(test.want, got); diff != "" {
			t.Errorf("%s: %s", test.why, diff)
		}
	}
	text, err := json.Marshal(imageoverrides.Diff(table(o{Name: "a", NewTag: "1"}), table(o{Name: "b", NewTag: "1"})))
	want := `[{"kind":"added","name":"b","new":{"name":"b","newTag":"1"},"oldEntry":-1,"newEntry":0},{"kind":"removed","name":"a","old":{"name":"a","newTag":"1"},"oldEntry":0,"newEntry":-1}]`
	if err != nil || string(text) != want {
		t.Errorf("JSON: %v\n%s", err, cmp.Diff(want, string(text)))
	}
}

// TestDiffLaw: there is no difference exactly where tables are equal; what is not told is the same in both and in the same order;
// and the way back tells as much.
func TestDiffLaw(t *testing.T) {
	entry := rapid.Custom(func(t *rapid.T) imageoverrides.Override {
		return imageoverrides.Override{
			Name:    rapid.SampledFrom([]string{"a", "b", "c", "d", "r.example.org/e"}).Draw(t, "name"),
			NewName: rapid.SampledFrom([]string{"", "x", "y"}).Draw(t, "newName"),
			NewTag:  rapid.SampledFrom([]string{"1", "2"}).Draw(t, "newTag"),
			Digest:  rapid.SampledFrom([]string{"", diffA, diffB}).Draw(t, "digest"),
		}
	})
	rapid.Check(t, func(t *rapid.T) {
		draw := func(label string) imageoverrides.Table {
			table, err := imageoverrides.New(rapid.SliceOfNDistinct(entry, 0, 6, func(o imageoverrides.Override) string { return o.Name }).Draw(t, label)...)
			if err != nil {
				t.Skip(err)
			}
			return table
		}
		old, new := draw("old"), draw("new")
		all, back := imageoverrides.Diff(old, new), imageoverrides.Diff(new, old)
		if (len(all) == 0) != old.Equal(new) || len(all) != len(back) {
			t.Fatalf("%v and %v back", all, back)
		}
		toldOld, toldNew := make(map[int]bool), make(map[int]bool)
		for _, d := range all {
			toldOld[d.OldEntry], toldNew[d.NewEntry] = true, true
		}
		left := func(table imageoverrides.Table, told map[int]bool) (list []imageoverrides.Override) {
			for i, o := range table.All() {
				if !told[i] {
					list = append(list, o)
				}
			}
			return list
		}
		if diff := cmp.Diff(left(old, toldOld), left(new, toldNew)); diff != "" {
			t.Fatalf("not told: %s", diff)
		}
	})
}
