// SPDX-License-Identifier: Apache-2.0

package imageoverrides

import (
	"cmp"
	"encoding/json"
	"fmt"
	"reflect"
	"slices"
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
	m, ok := mappingOf(v)
	if !ok {
		w.object = Object{}
		w.value(v, at, root, false)
		return
	}
	kind := m.text("kind")
	if items, ok := itemsOf(m.get("items")); ok && isListKind(kind) {
		list := &stretch{up: at, key: "items", item: -1}
		for i, item := range items {
			w.document(item, &stretch{up: list, item: i})
		}
		return
	}
	if kind == definition {
		return
	}
	w.object = Object{APIVersion: m.text("apiVersion"), Kind: kind}
	if metadata, ok := mappingOf(m.get("metadata")); ok {
		w.object.Namespace, w.object.Name = metadata.text("namespace"), metadata.text("name")
	}
	w.value(v, at, root, false)
}

// value walks a value. container says that it is an item of a list of containers.
func (w *objectWriter) value(v any, at *stretch, p place, container bool) {
	if m, ok := mappingOf(v); ok {
		for _, key := range m.sorted() {
			w.field(m, key, &stretch{up: at, key: key.text, item: -1}, p.step(key.text), container && key.text == "image")
		}
	} else if items, ok := itemsOf(v); ok {
		list := at != nil && at.item < 0 && isContainers(at.key)
		for i, item := range items {
			w.value(item, &stretch{up: at, item: i}, p, list)
		}
	}
}

// field walks the value of a map's field, and changes it if it is an image.
func (w *objectWriter) field(m mapping, key key, at *stretch, p place, legacy bool) {
	value := m.at(key)
	old, ok := asString(value)
	if !ok {
		if p == leaf {
			p = nowhere
		}
		w.value(value, at, p, false)
		return
	}
	if !legacy && p != leaf {
		return
	}
	changed, entries := w.table.apply(old, legacy && p == leaf)
	if changed == old {
		return
	}
	m.set(key, changed)
	w.changes = append(w.changes, Change{Object: w.object, Path: at.String(), Old: old, New: changed, Entries: entries})
}

// A mapping is a map of any type.
type mapping struct {
	plain map[string]any
	other reflect.Value // where it is no map[string]any
}

// A key is a key of a mapping, by its text.
type key struct {
	text  string
	other reflect.Value // where the mapping is no map[string]any
}

func mappingOf(v any) (mapping, bool) {
	switch m := v.(type) {
	case map[string]any:
		return mapping{plain: m}, true
	case nil, []any, string: // most of the others, quickly
		return mapping{}, false
	}
	r := reflect.ValueOf(v)
	return mapping{other: r}, r.Kind() == reflect.Map
}

// sorted returns the keys in the order of their texts.
func (m mapping) sorted() []key {
	var keys []key
	if m.plain != nil {
		keys = make([]key, 0, len(m.plain))
		for k := range m.plain {
			keys = append(keys, key{text: k})
		}
	} else if m.other.IsValid() {
		keys = make([]key, 0, m.other.Len())
		for it := m.other.MapRange(); it.Next(); {
			keys = append(keys, key{fmt.Sprint(it.Key().Interface()), it.Key()})
		}
	}
	slices.SortFunc(keys, func(a, b key) int { return cmp.Compare(a.text, b.text) })
	return keys
}

func (m mapping) at(k key) any {
	if !k.other.IsValid() {
		return m.plain[k.text]
	}
	return m.other.MapIndex(k.other).Interface()
}

// get returns the value under a key of that text, or nil.
func (m mapping) get(text string) any {
	if !m.other.IsValid() {
		return m.plain[text]
	}
	for it := m.other.MapRange(); it.Next(); {
		if fmt.Sprint(it.Key().Interface()) == text {
			return it.Value().Interface()
		}
	}
	return nil
}

// text returns the string under a key of that text, or "".
func (m mapping) text(key string) string {
	if s, ok := asString(m.get(key)); ok {
		return s
	}
	return ""
}

// set gives a key whose value is a string another one, of its type.
func (m mapping) set(k key, s string) {
	if !k.other.IsValid() {
		m.plain[k.text] = like(m.plain[k.text], s).Interface()
		return
	}
	m.other.SetMapIndex(k.other, like(m.at(k), s))
}

// like returns s as a value of the type that old has.
func like(old any, s string) reflect.Value {
	return reflect.ValueOf(s).Convert(reflect.TypeOf(old))
}

// itemsOf returns the items of a list of any type that may hold maps.
func itemsOf(v any) ([]any, bool) {
	switch list := v.(type) {
	case []any:
		return list, true
	case nil, string, bool, float64, int64, json.Number:
		return nil, false
	}
	r := reflect.ValueOf(v)
	if r.Kind() != reflect.Slice && r.Kind() != reflect.Array {
		return nil, false
	}
	switch r.Type().Elem().Kind() {
	case reflect.Interface, reflect.Map, reflect.Slice, reflect.Array:
	default:
		return nil, true // of strings, bytes, numbers
	}
	items := make([]any, r.Len())
	for i := range items {
		items[i] = r.Index(i).Interface()
	}
	return items, true
}
