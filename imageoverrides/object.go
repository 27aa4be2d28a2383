// SPDX-License-Identifier: Apache-2.0

package imageoverrides

import (
	"github.com/cozystack/image-overrides/internal/manifest"
	"github.com/cozystack/image-overrides/internal/manifest/reach"
)

// RewriteObject gives the images of an object in memory the names that the table says, as
// [Rewrite] does with its manifest, and returns what it changed. The object is what
// unstructured.Unstructured holds (maps of type map[string]any, lists of type []any, and
// strings, numbers, booleans and nil), or what Go programs and other decoders build: maps and
// slices of any type, such as []map[string]any, map[any]any and map[string]string, whose keys count by their
// text, and named types of them and of strings. Structs and pointers are not looked into. The object is changed in place,
// and no value's type changes. Only strings are taken
// for images: a manifest's image: true is text to Rewrite, and a boolean here.
//
// The changes come in the order of paths whose keys are sorted. Their Document, Offset, Line
// and Column are 0. A nil or empty object, an unknown and an empty table give nil. There is no error to return for a
// table that Rewrite refuses, see [Table.Apply].
// A list object's items are objects of their own. Maps that contain themselves, which no
// manifest gives, never end.
func RewriteObject(obj map[string]any, t Table) []Change {
	if t.Len() == 0 {
		return nil
	}
	r := rewriter{table: t}
	manifest.Visit(obj, reach.Images, reach.Definition, &r)
	return r.changes
}
