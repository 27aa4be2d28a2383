// SPDX-License-Identifier: Apache-2.0

package imageoverrides

import (
	"crypto/sha256"
	"encoding/hex"
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
//
// Tables do not compare with ==; [Table.Equal] compares them.
type Table struct {
	_ [0]func() // no ==
	t *table    // nil: unknown
}

type table struct {
	overrides []Override
	index     index
	hash      string // sha256 of the list as Helm's toJson writes it, in hex
	size      int    // of that JSON, in bytes
	source
}

// A source is where a table came from.
type source struct {
	path   string   // as faults and findings name it: registries.imageOverrides
	absent bool     // the values had no such key
	start  position // of the table in its text, or 0:0
	places []placed // of its entries; nil where there was no text
}

// A position is a line and a column of a text, both from 1, the column in characters.
type position struct{ line, column int32 }

// placed are the places of one entry: its own and those of its fields' values, in the order of
// fieldNames.
type placed struct {
	entry  position
	fields [len(fieldNames)]position
}

var fieldNames = [...]string{"name", "newName", "newTag", "digest"}

// at returns the place of an entry's field, or of what is around it where that has none.
func (s *source) at(entry int, field string) position {
	if entry < 0 || entry >= len(s.places) {
		return s.start
	}
	p := &s.places[entry]
	if i := slices.Index(fieldNames[:], field); i >= 0 && p.fields[i] != (position{}) {
		return p.fields[i]
	}
	return p.entry
}

// New returns the known table of the given overrides, in their order; New() is
// the known, empty table. The slice is copied. The error is that of [Validate],
// and the table is then unknown.
func New(overrides ...Override) (Table, error) {
	if err := Validate(overrides); err != nil {
		return Table{}, err
	}
	return known(slices.Clone(overrides), source{path: listPath}), nil
}

// known wraps overrides that were found valid, and keeps the slice.
func known(overrides []Override, from source) Table {
	w := jsonWriter{sum: sha256.New()}
	w.list(overrides)
	return Table{t: &table{
		overrides: overrides,
		index:     newIndex(overrides),
		hash:      hex.EncodeToString(w.sum.Sum(nil)),
		size:      w.size,
		source:    from,
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

// Equal reports whether both tables are unknown, or both known with the same entries in the same
// order. Where they came from does not count. Comparisons of go-cmp use it.
func (t Table) Equal(u Table) bool {
	if t.t == nil || u.t == nil {
		return t.t == u.t
	}
	return slices.Equal(t.t.overrides, u.t.overrides)
}

// Absent reports whether the table is known to be empty because the values that it was read from do not
// have its key, as the platform chart leaves it out of the Secret for an empty table. It is false for
// an unknown table, for one from New or Parse, and where the key stands with any value,
// such as [] or null. Who reads a file that a person wrote asks it: there a table that is not
// found is more likely a slip of the pen than an empty one.
func (t Table) Absent() bool { return t.t != nil && t.t.absent }

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
	w := jsonWriter{text: make([]byte, 0, t.t.size)}
	w.list(t.t.overrides)
	return w.text, nil
}
