// SPDX-License-Identifier: Apache-2.0

package document

import (
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// TestSplice: every byte that no edit covers stands where it stood, and what an edit writes stands in front of the byte behind it.
func TestSplice(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		text := rapid.StringMatching(`[a-h]{0,8}`).Draw(t, "text")
		edits := rapid.SliceOfN(rapid.Custom(func(t *rapid.T) Edit {
			start := rapid.IntRange(0, len(text)).Draw(t, "start")
			return Edit{start, rapid.IntRange(start, min(len(text), start+2)).Draw(t, "end"), rapid.StringMatching(`[A-Z]{0,2}`).Draw(t, "new")}
		}), 0, 4).Draw(t, "edits")
		covered := make([]int, len(text))
		overlap := false
		for i, e := range edits {
			for at := e.Start; at < e.End; at++ {
				covered[at]++
				overlap = overlap || covered[at] > 1
			}
			for j, other := range edits { // inside of another, or twice the same place where something is replaced
				overlap = overlap || i != j && other.Start < e.Start && e.Start < other.End
			}
		}
		var want strings.Builder
		for at := 0; at <= len(text); at++ {
			for _, replaces := range []bool{false, true} { // what is put in front of what is replaced
				for _, e := range edits {
					if e.Start == at && (e.End > at) == replaces {
						want.WriteString(e.New)
					}
				}
			}
			if at < len(text) && covered[at] == 0 {
				want.WriteByte(text[at])
			}
		}
		before := strings.Clone(text)
		got, ok := Splice([]byte(text), slices.Clone(edits))
		switch {
		case ok == overlap:
			t.Fatalf("%q with %v: ok %v", text, edits, ok)
		case ok && string(got) != want.String() || !ok && got != nil || text != before:
			t.Fatalf("%q with %v: %q, want %q", text, edits, got, want.String())
		}
	})
}

// TestInsert: the lines of the text and those put between them are all there, in order, each with a line break of the text's kind,
// but for the last where it had none.
func TestInsert(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		end := rapid.SampledFrom([]string{"\n", "\r\n"}).Draw(t, "line break")
		list := rapid.SliceOfN(rapid.SampledFrom([]string{"", "a", " b", "c: d"}), 0, 4).Draw(t, "lines")
		more := rapid.SliceOfN(rapid.SampledFrom([]string{"", "x", "  y"}), 1, 3).Draw(t, "more")
		indent := rapid.IntRange(0, 3).Draw(t, "indent")
		before := rapid.IntRange(0, len(list)).Draw(t, "before")

		text := strings.Join(append(slices.Clone(list), ""), end)
		open := len(list) > 0 && list[len(list)-1] != "" && rapid.Bool().Draw(t, "open")
		if open {
			text = strings.TrimSuffix(text, end)
		}
		at := min(len(text), len(strings.Join(append(slices.Clone(list[:before]), ""), end)))
		if open && before == len(list) {
			more[len(more)-1] = "z" // or it is the line break that is not written
		}
		margined := slices.Clone(more)
		for i, line := range more {
			if line != "" {
				margined[i] = strings.Repeat(" ", indent) + line
			}
		}
		if !strings.Contains(text, "\n") {
			end = "\n"
		}
		want := strings.Join(append(slices.Insert(slices.Clone(list), before, margined...), ""), end)
		if open {
			want = strings.TrimSuffix(want, end)
		}
		got, ok := Splice([]byte(text), []Edit{Insert([]byte(text), at, indent, strings.Join(more, "\n")+"\n")})
		if !ok || string(got) != want {
			t.Fatalf("%q put at %d of %q, %d further in: %q, %v, want %q", more, at, text, indent, got, ok, want)
		}
	})
}
