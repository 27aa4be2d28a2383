// SPDX-License-Identifier: Apache-2.0

package chart

import (
	"fmt"
	"hash/fnv"
	"slices"
	"strconv"
	"strings"
)

// A value is what is known of a value in a template: one of the types below.
type value any

type (
	// A constant is a string, a number, a bool or nil that stands in the template.
	constant struct {
		of any
		at place
	}

	// An unknown is a value that only the rendering knows. The same id is the same value.
	unknown struct {
		id    string
		chart bool     // it is the root context, or found in it by the path
		path  []string // from the root context
	}

	// A text is what an include or a function on texts returns.
	text struct{ *output }

	// A truth is a bool.
	truth struct{ *condition }

	// A choice is one of two values.
	choice struct {
		cond *condition
		a, b value
		size int
	}

	// A list has items, and other lists in their places.
	list struct {
		serial int
		items  []item
	}

	// A dict has its own keys, and behind them those of other maps.
	dict struct {
		serial int
		sets   int
		within *guard
		keys   []string
		values map[string]value
		bases  []value // an unknown, or a decoded
	}

	// A decoded is what fromYaml and its like make of a text, or one item of that list.
	decoded struct {
		*output
		item bool
		key  string // it is the value of a key in such a text, and this its id
	}

	// A missing is the value of a key that a map does not have.
	missing struct {
		gone bool // it has none behind it either
	}
)

type item struct {
	value
	spread bool // the value is a list, whose items stand here
}

// maxChoice is how many values a variable may be one of.
const maxChoice = 16

// choose is a where the condition holds, and otherwise b.
func (m *machine) choose(c *condition, a, b value) value {
	switch {
	case c.op == opAlways || same(a, b):
		return a
	case c.op == opNever:
		return b
	}
	size := sizeOf(a) + sizeOf(b)
	if size > maxChoice {
		return m.fresh()
	}
	return &choice{c, a, b, size}
}

func sizeOf(v value) int {
	if c, ok := v.(*choice); ok {
		return c.size
	}
	return 1
}

// same reports whether two values are one, as far as is known.
func same(a, b value) bool {
	switch a := a.(type) {
	case constant:
		b, ok := b.(constant)
		return ok && a.of == b.of
	case *unknown:
		b, ok := b.(*unknown)
		return ok && a.id == b.id
	case text:
		b, ok := b.(text)
		return ok && a.output == b.output
	case truth:
		b, ok := b.(truth)
		return ok && a.condition == b.condition
	case missing:
		b, ok := b.(missing)
		return ok && a == b
	case decoded:
		b, ok := b.(decoded)
		return ok && a == b
	}
	return a == b // pointers
}

// fresh is a value of which nothing is known.
func (m *machine) fresh() *unknown {
	m.serial++
	return &unknown{id: "#" + number(m.serial)}
}

// made is the unknown that a function makes of values.
func (m *machine) made(function string, args ...value) *unknown {
	var b strings.Builder
	b.WriteString(function)
	for _, a := range args {
		b.WriteByte(' ')
		b.WriteString(m.id(a))
	}
	return &unknown{id: "(" + brief(b.String()) + ")"}
}

// brief keeps an id short.
func brief(id string) string {
	if len(id) <= 200 {
		return id
	}
	h := fnv.New128a()
	h.Write([]byte(id))
	return fmt.Sprintf("%x", h.Sum(nil))
}

// id names a value: what has the same id is the same.
func (m *machine) id(v value) string {
	switch v := v.(type) {
	case constant:
		if s, ok := v.of.(string); ok {
			if m.charge(s); m.steps < 0 {
				return ""
			}
			return brief(strconv.Quote(s))
		}
		return fmt.Sprint(v.of)
	case *unknown:
		return v.id
	case *list:
		return "list" + number(v.serial)
	case *dict:
		return "dict" + number(v.serial) + "." + number(v.sets)
	case text:
		return m.outputID(v.output)
	case decoded:
		if v.key != "" {
			return v.key
		}
		return "decoded" + m.outputID(v.output) + strconv.FormatBool(v.item)
	}
	return m.fresh().id
}

func (m *machine) outputID(o *output) string {
	id, ok := m.ids[o]
	if !ok {
		m.serial++
		id = "text" + number(m.serial)
		m.ids[o] = id
	}
	return id
}

// truth is whether a value is one that if takes. The table is taken to be there: that is the
// case in which a release must have it.
func (m *machine) truth(v value) *condition {
	switch v := v.(type) {
	case constant:
		switch c := v.of.(type) {
		case string:
			return m.holds(c != "")
		case bool:
			return m.holds(c)
		case float64:
			return m.holds(c != 0)
		}
		return never // nil
	case *unknown:
		if v.chart && isTable(v.path) {
			return always
		}
		return m.atom(atom{id: v.id})
	case text:
		return m.truthOf(v.output)
	case decoded:
		if v.key != "" {
			return m.atom(atom{id: v.key})
		}
		return m.truthOf(v.output)
	case truth:
		return v.condition
	case *choice:
		return m.either(v.cond, m.truth(v.a), m.truth(v.b))
	case *list:
		found := never
		m.steps -= len(v.items)
		for _, it := range v.items {
			if !it.spread {
				return always
			}
			found = m.either(found, always, m.truth(it.value))
		}
		return found
	case *dict:
		found := never
		m.steps -= len(v.keys)
		for _, k := range v.keys {
			found = m.either(found, always, m.not(m.missing(v.values[k])))
		}
		for _, b := range v.bases {
			found = m.either(found, always, m.truth(b))
		}
		return found
	}
	return never
}

// missing is whether a key's value is none.
func (m *machine) missing(v value) *condition {
	switch v := v.(type) {
	case missing:
		return always
	case *choice:
		return m.either(v.cond, m.missing(v.a), m.missing(v.b))
	}
	return never
}

// behind is whether a key's value is one that the maps behind it have, if any does.
func (m *machine) behind(v value) *condition {
	switch v := v.(type) {
	case missing:
		return m.holds(!v.gone)
	case *choice:
		return m.either(v.cond, m.behind(v.a), m.behind(v.b))
	}
	return never
}

// isTable reports whether a path is one on the way to a table.
func isTable(path []string) bool {
	for _, table := range [][]string{
		{"Values", "_cluster", "image-overrides"},
		{"Values", "global", "_cluster", "image-overrides"},
		{"Values", "registries", "imageOverrides"},
	} {
		if len(path) > 0 && len(path) <= len(table) && slices.Equal(path, table[:len(path)]) {
			return true
		}
	}
	return false
}

// lift does the same to each of the values that a value may be.
func (m *machine) lift(v value, f func(value) value) value {
	if c, ok := v.(*choice); ok {
		return m.choose(c.cond, m.lift(c.a, f), m.lift(c.b, f))
	}
	return f(v)
}

// change does the same to each of the values that a value may be, where it is that one.
func (m *machine) change(v value, f func(value) value) value {
	c, ok := v.(*choice)
	if !ok {
		return f(v)
	}
	var a, b value
	m.within(c.cond, func() *output { a = m.change(c.a, f); return nil })
	m.within(m.not(c.cond), func() *output { b = m.change(c.b, f); return nil })
	return m.choose(c.cond, a, b)
}

// further is the path of something in a value. Where it goes deep does not matter.
func (v *unknown) further(key string) []string {
	if len(v.path) > maxLevels {
		return v.path
	}
	return append(slices.Clip(v.path), key)
}

// field is the value of a key.
func (m *machine) field(v value, key string) value {
	return m.lift(v, func(v value) value {
		switch v := v.(type) {
		case *unknown:
			u := &unknown{id: brief(v.id + "." + key), chart: v.chart}
			if v.chart {
				u.path = v.further(key)
			}
			return u
		case *dict:
			found, ok := v.values[key]
			if !ok {
				found = missing{}
			}
			if absent := m.behind(found); absent != never && len(v.bases) > 0 {
				inner := m.field(v.bases[0], key)
				if _, ok := inner.(decoded); ok && absent == always {
					// What set does to it is to be seen in this map too.
					d := m.over(inner)
					d.within = v.within
					v.keys = append(v.keys, key)
					v.values[key] = d
					return d
				}
				return m.choose(absent, inner, found)
			}
			return found
		case decoded:
			return decoded{output: m.apply(v.output, func(text string) string {
				o := readOutline(text)
				return o.inFlow(o.roots[len(o.roots)-1].get(key))
			}), key: brief("(." + key + " " + m.id(v) + ")")}
		}
		return missing{}
	})
}

// set gives a key of a map a value, in the branches that are being taken.
func (m *machine) set(d *dict, key string, v value) {
	before, ok := d.values[key]
	if !ok {
		before = missing{}
		d.keys = append(d.keys, key)
	}
	if m.guard != d.within {
		v = m.choose(m.guard.all, v, before)
	}
	d.values[key] = v
	d.sets++
}

func (m *machine) newDict() *dict {
	m.serial++
	return &dict{serial: m.serial, within: m.guard, values: make(map[string]value)}
}

func (m *machine) newList(items ...item) *list {
	m.serial++
	return &list{serial: m.serial, items: items}
}

// show is what an action prints of a value.
func (m *machine) show(v value) *output {
	switch v := v.(type) {
	case constant:
		switch c := v.of.(type) {
		case string:
			return m.quoted(c, v.at)
		case nil:
			return nil
		default:
			return plain(fmt.Sprint(c))
		}
	case text:
		return v.output
	case truth:
		return branch(v.condition, plain("true"), plain("false"))
	case *choice:
		return branch(v.cond, m.show(v.a), m.show(v.b))
	case missing:
		return nil
	case *unknown:
		return &output{op: opText, text: unknownMark, id: "(text " + v.id + ")"}
	}
	return plain(unknownMark) // a map or list, in the notation of Go
}

// maxLevels is how deep values in values are written.
const maxLevels = 32

// yaml is what toYaml writes of a value.
func (m *machine) yaml(v value, level int) *output {
	if m.steps -= 4; level > maxLevels || m.steps < 0 {
		return plain(unknownMark)
	}
	switch v := v.(type) {
	case constant:
		if s, ok := v.of.(string); ok {
			return m.scalar(m.quoted(s, v.at))
		}
		return plain(fmt.Sprint(v.of))
	case text:
		return m.scalar(v.output)
	case decoded:
		if v.item {
			return m.apply(v.output, func(text string) string { return strings.TrimPrefix(strings.TrimSpace(text), "- ") })
		}
		return m.apply(v.output, strings.TrimSpace)
	case *choice:
		return branch(v.cond, m.yaml(v.a, level), m.yaml(v.b, level))
	case *list:
		var lines []*output
		for _, it := range v.items {
			if !it.spread {
				lines = append(lines, plain("- "), m.apply(m.yaml(it.value, level+1), indented(2)), plain("\n"))
				continue
			}
			lines = append(lines, m.yaml(it.value, level+1), plain("\n"))
		}
		if len(lines) == 0 {
			return plain("[]")
		}
		return sequence(lines...)
	case *dict:
		var lines []*output
		for _, b := range v.bases {
			lines = append(lines, m.yaml(b, level+1), plain("\n"))
		}
		for _, k := range v.keys {
			lines = append(lines, m.entry(k, v.values[k], level))
		}
		if len(lines) == 0 {
			return plain("{}")
		}
		return sequence(lines...)
	case *unknown:
		return plain(unknownMark) // null is a text too
	}
	return m.show(v)
}

// entry is a key with its value, where that is not missing.
func (m *machine) entry(key string, v value, level int) *output {
	switch c := v.(type) {
	case missing:
		return nil
	case *choice:
		return branch(c.cond, m.entry(key, c.a, level), m.entry(key, c.b, level))
	}
	value := m.yaml(v, level+1)
	switch v.(type) {
	case *list, *dict, decoded:
		value = m.apply(value, func(text string) string { return "\n  " + indented(2)(text) })
	}
	return sequence(plain(marks.Replace(key)+": "), value, plain("\n"))
}

// scalar is a text as toYaml writes it, which is a block of text where it has line breaks.
func (m *machine) scalar(o *output) *output {
	return m.apply(o, func(text string) string {
		if text == "" {
			return `""`
		}
		if strings.Contains(text, "\n") || strings.IndexByte(text, callMark) >= 0 {
			return "|-\n  " + indented(2)(text)
		}
		return text
	})
}

// json is what toJson writes of a value.
func (m *machine) json(v value, level int) *output {
	if level > maxLevels {
		return plain(unknownMark)
	}
	switch v := v.(type) {
	case constant:
		if s, ok := v.of.(string); ok {
			return m.inQuotes(m.quoted(s, v.at))
		}
		return plain(fmt.Sprint(v.of))
	case text:
		return m.inQuotes(v.output)
	case decoded:
		return m.apply(m.yaml(v, level), flow)
	case *choice:
		return branch(v.cond, m.json(v.a, level), m.json(v.b, level))
	case *list, *dict:
		return m.apply(m.yaml(v, level), flow)
	case *unknown:
		return plain(unknownMark)
	}
	return m.show(v)
}

// inQuotes is a text as quote writes it.
func (m *machine) inQuotes(o *output) *output {
	return m.apply(o, func(text string) string {
		return `"` + strings.NewReplacer("\n", " ", `"`, "'").Replace(text) + `"`
	})
}

// indented is the function that puts spaces in front of every line but the first. It leaves a text
// that would become huge, which no template that is meant has.
func indented(n int) func(string) string {
	pad := "\n" + strings.Repeat(" ", min(max(n, 0), maxIndent))
	return func(text string) string {
		if strings.Count(text, "\n") > maxIndented/len(pad) {
			return text
		}
		return strings.ReplaceAll(text, "\n", pad)
	}
}

const (
	maxIndent   = 1 << 10
	maxIndented = 8 << 20
)
