// SPDX-License-Identifier: Apache-2.0

package imageoverrides

import (
	"fmt"
	"slices"
	"strings"

	"github.com/cozystack/image-overrides/internal/quote"
)

// A DifferenceKind says what became of an entry.
type DifferenceKind string

// The kinds, in the order in which they are looked for: an entry that is renamed and retagged is renamed.
const (
	Added    DifferenceKind = "added"    // the new table has an entry for the name, the old one had none
	Removed  DifferenceKind = "removed"  // the other way round: images run as their manifests say again
	Renamed  DifferenceKind = "renamed"  // another newName, or one where there was none, or none any more
	Retagged DifferenceKind = "retagged" // another newTag, likewise
	Digest   DifferenceKind = "digest"   // the digest alone: nobody sees it, and other content runs
	Moved    DifferenceKind = "moved"    // the entry is the same and stands elsewhere among the others, which matters where entries apply one after the other
)

// A Difference is what became of one entry from one table to the next.
type Difference struct {
	Kind DifferenceKind `json:"kind"`
	// Name is the image that the entry is for.
	Name string `json:"name"`
	// Old and New are the entry in the two tables; the zero Override where it is not there.
	Old Override `json:"old,omitzero"`
	New Override `json:"new,omitzero"`
	// OldEntry and NewEntry are its indexes, from 0, or -1.
	OldEntry int `json:"oldEntry"`
	NewEntry int `json:"newEntry"`
}

// Diff returns what a change of the table means, entry by entry: first what the new table has, in its order, then
// what was removed, in the old one's. Entries are told by their names; where a table has several of one
// name the first is compared with the first, and so on. Entries are moved where those that did not change stand in another order among
// themselves, as few of them as explain it; whether one that changed has moved too, its indexes tell. Equal tables have no differences, and tables without differences are equal.
//
// Where either table is unknown nothing can be said, and Diff returns nil.
func Diff(old, new Table) []Difference {
	if !old.Known() || !new.Known() {
		return nil
	}
	had := make(map[string][]int) // entries of the old table by name, in order
	for i, o := range old.All() {
		had[o.Name] = append(had[o.Name], i)
	}
	from := make([]int, new.Len()) // the old entry of each new one, or -1
	same := make([]int, new.Len()) // the same where it did not change, and -1 otherwise
	for i, n := range new.All() {
		from[i], same[i] = -1, -1
		if list := had[n.Name]; len(list) > 0 {
			from[i], had[n.Name] = list[0], list[1:]
			if old.t.overrides[from[i]] == n {
				same[i] = from[i]
			}
		}
	}
	stays := inOrder(same)
	var all []Difference
	kept := make([]bool, old.Len())
	for i, n := range new.All() {
		d := Difference{Name: n.Name, New: n, OldEntry: from[i], NewEntry: i}
		if from[i] >= 0 {
			d.Old = old.t.overrides[from[i]]
			kept[from[i]] = true
		}
		switch {
		case from[i] < 0:
			d.Kind = Added
		case d.Old.NewName != n.NewName:
			d.Kind = Renamed
		case d.Old.NewTag != n.NewTag:
			d.Kind = Retagged
		case d.Old.Digest != n.Digest:
			d.Kind = Digest
		case !stays[i]:
			d.Kind = Moved
		default:
			continue
		}
		all = append(all, d)
	}
	for i, o := range old.All() {
		if !kept[i] {
			all = append(all, Difference{Kind: Removed, Name: o.Name, Old: o, OldEntry: i, NewEntry: -1})
		}
	}
	return all
}

// inOrder reports of each number that is not negative whether it is one of the longest rising row of them.
func inOrder(numbers []int) []bool {
	var ends []int // by length, where the row ends whose last number is the least
	before := make([]int, len(numbers))
	for i, n := range numbers {
		if n < 0 {
			continue
		}
		at, _ := slices.BinarySearchFunc(ends, n, func(end, n int) int { return numbers[end] - n })
		before[i] = -1
		if at > 0 {
			before[i] = ends[at-1]
		}
		if at == len(ends) {
			ends = append(ends, i)
		} else {
			ends[at] = i
		}
	}
	in := make([]bool, len(numbers))
	if len(ends) > 0 {
		for i := ends[len(ends)-1]; i >= 0; i = before[i] {
			in[i] = true
		}
	}
	return in
}

// String returns one line of bounded length: the name, the kind, and each field that changed.
//
//	registry.k8s.io/pause: retagged: newTag "3.9" is "3.10", digest sha256:… is gone
func (d Difference) String() string {
	var parts []string
	for _, field := range fieldNames[1:] {
		was, is := *d.Old.field(field), *d.New.field(field)
		switch {
		case was == is:
		case d.Kind == Added || was == "":
			parts = append(parts, fmt.Sprintf("%s %s", field, quote.Value(is)))
		case is == "":
			parts = append(parts, fmt.Sprintf("%s %s is gone", field, quote.Value(was)))
		default:
			parts = append(parts, fmt.Sprintf("%s %s is %s", field, quote.Value(was), quote.Value(is)))
		}
	}
	text := fmt.Sprintf("%s: %s", quote.Plain(d.Name), d.Kind)
	switch {
	case d.Kind == Removed:
		return text + ": it was " + target(d.Old)
	case d.Kind == Moved:
		return fmt.Sprintf("%s: from entry %d to entry %d", text, d.OldEntry, d.NewEntry)
	}
	return text + ": " + strings.Join(parts, ", ")
}

// target is what an entry writes, as people read it.
func target(o Override) string {
	var parts []string
	for _, field := range fieldNames[1:] {
		if value := *o.field(field); value != "" {
			parts = append(parts, fmt.Sprintf("%s %s", field, quote.Value(value)))
		}
	}
	return strings.Join(parts, ", ")
}
