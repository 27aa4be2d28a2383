// SPDX-License-Identifier: Apache-2.0

package imageoverrides

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"iter"
	"slices"
)

// An Override is one entry of a table: images called Name run under NewName,
// with NewTag and Digest. The fields are those of a kustomize images entry.
// An empty field says nothing; at least one of NewName, NewTag and Digest is set.
type Override struct {
	Name    string `json:"name"`
	NewName string `json:"newName,omitempty"`
	NewTag  string `json:"newTag,omitempty"`
	Digest  string `json:"digest,omitempty"`
}

// field returns the field of that name, nil where there is none.
func (o *Override) field(name string) *string {
	switch name {
	case "name":
		return &o.Name
	case "newName":
		return &o.NewName
	case "newTag":
		return &o.NewTag
	case "digest":
		return &o.Digest
	}
	return nil
}

// A Table is a checked list of overrides. It is immutable, safe for use from
// many goroutines, and cheap to copy.
//
// A Table has three states. The zero Table is unknown: nothing was read, so
// nothing may be concluded, and whoever applies it changes nothing. A known
// table may be empty, which says that there are no overrides. Every function
// that returns an error returns the unknown Table with it, so that even an
// ignored error changes nothing.
type Table struct {
	t *table // nil: unknown
}

type table struct {
	overrides []Override
	index     index
	json      []byte // as Helm's toJson writes the list
	hash      string // sha256 of json, in hex
}

// New returns the known table of the given overrides, in their order; New() is
// the known, empty table. The slice is copied. The error is that of [Validate],
// and the table is then unknown.
func New(overrides ...Override) (Table, error) {
	if err := Validate(overrides); err != nil {
		return Table{}, err
	}
	return known(slices.Clone(overrides)), nil
}

// known wraps overrides that were found valid, and keeps the slice.
func known(overrides []Override) Table {
	text := helmJSON(overrides)
	sum := sha256.Sum256(text)
	return Table{&table{
		overrides: overrides,
		index:     newIndex(overrides),
		json:      text,
		hash:      hex.EncodeToString(sum[:]),
	}}
}

// Known reports whether the table was read at all. It is false for the zero
// Table only.
func (t Table) Known() bool { return t.t != nil }

// Len returns the number of entries: 0 for an unknown table.
func (t Table) Len() int {
	if t.t == nil {
		return 0
	}
	return len(t.t.overrides)
}

// All iterates over the entries in order, with their indexes from 0. It yields
// nothing for an unknown and for an empty table.
func (t Table) All() iter.Seq2[int, Override] {
	return func(yield func(int, Override) bool) {
		if t.t == nil {
			return
		}
		for i, o := range t.t.overrides {
			if !yield(i, o) {
				return
			}
		}
	}
}

// Hash returns the sha256 of the table's JSON, as 64 lower-case hex digits. The
// JSON is that of [Table.MarshalJSON], which a chart can write too:
//
//	{{ .Values._cluster | dig "image-overrides" list | toJson | sha256sum }}
//
// as long as its entries leave empty fields out. Two tables have one hash when
// they have the same entries in the same order. The hash of an unknown table is "".
func (t Table) Hash() string {
	if t.t == nil {
		return ""
	}
	return t.t.hash
}

// MarshalJSON returns the entries as Helm's toJson writes them: fields in the
// order of their names, without the empty ones, and <, > and & escaped. It
// returns null for an unknown table, [] for an empty one, and never an error.
func (t Table) MarshalJSON() ([]byte, error) {
	if t.t == nil {
		return []byte("null"), nil
	}
	return slices.Clone(t.t.json), nil
}

// helmJSON writes a list of overrides as Helm's toJson would: Helm holds an
// entry as a map, whose keys encoding/json sorts.
func helmJSON(overrides []Override) []byte {
	type entry struct {
		Digest  string `json:"digest,omitempty"`
		Name    string `json:"name"`
		NewName string `json:"newName,omitempty"`
		NewTag  string `json:"newTag,omitempty"`
	}
	list := make([]entry, len(overrides))
	for i, o := range overrides {
		list[i] = entry{o.Digest, o.Name, o.NewName, o.NewTag}
	}
	text, err := json.Marshal(list)
	if err != nil {
		panic(err) // strings always marshal
	}
	return text
}
