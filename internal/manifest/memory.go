// SPDX-License-Identifier: Apache-2.0

package manifest

import (
	"cmp"
	"encoding/json"
	"fmt"
	"reflect"
	"slices"

	"go.yaml.in/yaml/v3"

	"github.com/cozystack/image-overrides/internal/manifest/paths"
)

// Visit tells the scalars of an object in memory: of maps and lists of any type, whose keys count by their text, in the order of
// these. Only strings are scalars. What is replaced is so at once, as a value of the type that it had, and an object without
// values is not looked at.
func Visit(object any, rules *paths.Rules, skip func(kind string) bool, visitor Visitor) {
	m := &memory{}
	m.walker = walker{rules: rules, all: rules == nil, skip: skip, visitor: visitor, source: m}
	visitor.Begin()
	m.document(m.push(object))
}

// memory walks objects in memory.
type memory struct {
	walker
	entries []*entry // room for the values that are being looked at, one in the other
	used    int
}

func (m *memory) decode() string       { return m.scalar.text }
func (m *memory) places(at []int)      { clear(at) }
func (m *memory) node() *yaml.Node     { return nil }
func (m *memory) replace(value string) { e := m.at.(*entry); e.around.set(e.key, value) }

// An entry is a value of an object in memory.
type entry struct {
	memory *memory
	v      any
	kind   entryKind
	m      mapping // which v is
	list   []any   // which v is
	around mapping // whose field it is, if it is one
	key    key
}

type entryKind byte

const (
	isOther entryKind = iota
	isMapping
	isItems
)

// push returns an entry for a value, until it is popped.
func (m *memory) push(v any) *entry {
	if m.used == len(m.entries) {
		m.entries = append(m.entries, &entry{memory: m})
	}
	e := m.entries[m.used]
	m.used++
	e.v, e.kind = v, isOther
	var ok bool
	if e.m, ok = mappingOf(v); ok {
		e.kind = isMapping
	} else if e.list, ok = itemsOf(v); ok {
		e.kind = isItems
	}
	return e
}

func (m *memory) pop() { m.used-- }

func (e *entry) isMap() bool  { return e.kind == isMapping }
func (e *entry) isList() bool { return e.kind == isItems }

func (e *entry) each(do visit, state paths.State) {
	m := e.memory
	if e.kind == isItems {
		for i, item := range e.list {
			v := m.push(item)
			v.around = mapping{}
			do(&m.walker, paths.Step{Item: i}, v, state)
			m.pop()
		}
		return
	}
	for _, key := range e.m.sorted() {
		v := m.push(e.m.at(key))
		v.around, v.key = e.m, key
		do(&m.walker, paths.Step{Key: key.text, Item: -1}, v, state)
		m.pop()
	}
}

func (e *entry) field(key string, fits func(value) bool) value {
	if e.kind != isMapping {
		return nil
	}
	v := e.memory.push(e.m.get(key))
	defer e.memory.pop()
	if fits(v) {
		return v // until another is looked at
	}
	return nil
}

func (e *entry) name() string {
	text, _ := asString(e.v)
	return text
}

func (e *entry) text(bool) (string, bool) { return asString(e.v) }

// asString returns the text of a string of any type.
func asString(v any) (string, bool) {
	if s, ok := v.(string); ok {
		return s, true
	}
	if v == nil {
		return "", false
	}
	r := reflect.ValueOf(v)
	if r.Kind() != reflect.String || r.Type() == reflect.TypeFor[json.Number]() {
		return "", false
	}
	return r.String(), true
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
	slices.SortFunc(keys, compareKeys)
	return keys
}

// compareKeys orders keys by their texts, and those of one text, which types tell apart, by these.
func compareKeys(a, b key) int {
	if c := cmp.Compare(a.text, b.text); c != 0 || !a.other.IsValid() {
		return c
	}
	return cmp.Compare(fmt.Sprintf("%T", a.other.Interface()), fmt.Sprintf("%T", b.other.Interface()))
}

func (m mapping) at(k key) any {
	if !k.other.IsValid() {
		return m.plain[k.text]
	}
	return m.other.MapIndex(k.other).Interface()
}

// get returns the value under the first key of that text, or nil.
func (m mapping) get(text string) any {
	if !m.other.IsValid() {
		return m.plain[text]
	}
	var first key
	for it := m.other.MapRange(); it.Next(); {
		k := key{fmt.Sprint(it.Key().Interface()), it.Key()}
		if k.text == text && (!first.other.IsValid() || compareKeys(k, first) < 0) {
			first = k
		}
	}
	if !first.other.IsValid() {
		return nil
	}
	return m.at(first)
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
