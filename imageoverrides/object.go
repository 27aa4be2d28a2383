// SPDX-License-Identifier: Apache-2.0

package imageoverrides

import "slices"

// RewriteObject gives the images of an object in memory the names that the table says, as
// [Rewrite] does with its manifest, and returns what it changed. The object is what
// unstructured.Unstructured holds: maps of type map[string]any, lists of type []any, and
// strings, numbers, booleans and nil. It is changed in place. Only strings are taken
// for images: a manifest's image: true is text to Rewrite, and a boolean here.
//
// The changes come in the order of paths whose keys are sorted. Their Document, Offset, Line
// and Column are 0. A nil or empty object, an unknown and an empty table give nil.
// A list object's items are objects of their own. Maps that contain themselves, which no
// manifest gives, never end.
func RewriteObject(obj map[string]any, t Table) []Change {
	if t.Len() == 0 {
		return nil
	}
	w := objectWriter{table: t}
	w.document(obj, nil)
	return w.changes
}

// objectWriter walks an object as finder walks the nodes of a document.
type objectWriter struct {
	table   Table
	object  Object
	changes []Change
}

// A stretch is the way to a value in an object, its last step first.
type stretch struct {
	up   *stretch
	key  string
	item int // in a list, or -1
}

func (s *stretch) String() string {
	var steps []*stretch
	for ; s != nil; s = s.up {
		steps = append(steps, s)
	}
	var p path
	for _, s := range slices.Backward(steps) {
		if s.item >= 0 {
			p.item(s.item)
		} else {
			p.key(s.key)
		}
	}
	return p.String()
}

// document walks an object, or each item of a list object.
func (w *objectWriter) document(v any, at *stretch) {
	m, ok := v.(map[string]any)
	if !ok {
		w.object = Object{}
		w.value(v, at, root, false)
		return
	}
	kind := text(m, "kind")
	if items, ok := m["items"].([]any); ok && isListKind(kind) {
		list := &stretch{up: at, key: "items", item: -1}
		for i, item := range items {
			w.document(item, &stretch{up: list, item: i})
		}
		return
	}
	if kind == definition {
		return
	}
	w.object = Object{APIVersion: text(m, "apiVersion"), Kind: kind}
	if metadata, ok := m["metadata"].(map[string]any); ok {
		w.object.Namespace, w.object.Name = text(metadata, "namespace"), text(metadata, "name")
	}
	w.value(m, at, root, false)
}

func text(m map[string]any, key string) string {
	s, _ := m[key].(string)
	return s
}

// value walks a value. container says that it is an item of a list of containers.
func (w *objectWriter) value(v any, at *stretch, p place, container bool) {
	switch v := v.(type) {
	case map[string]any:
		for _, key := range sortedKeys(v) {
			w.field(v, key, &stretch{up: at, key: key, item: -1}, p.step(key), container && key == "image")
		}
	case []any:
		list := at != nil && at.item < 0 && isContainers(at.key)
		for i, item := range v {
			w.value(item, &stretch{up: at, item: i}, p, list)
		}
	}
}

// field walks the value of a map's field, and changes it if it is an image.
func (w *objectWriter) field(m map[string]any, key string, at *stretch, p place, legacy bool) {
	old, ok := m[key].(string)
	if !ok {
		if p == leaf {
			p = nowhere
		}
		w.value(m[key], at, p, false)
		return
	}
	if !legacy && p != leaf {
		return
	}
	changed, entries := w.table.apply(old, legacy && p == leaf)
	if changed == old {
		return
	}
	m[key] = changed
	w.changes = append(w.changes, Change{Object: w.object, Path: at.String(), Old: old, New: changed, Entries: entries})
}
