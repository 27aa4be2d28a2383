// SPDX-License-Identifier: Apache-2.0

package chart

import (
	"slices"
	"strings"

	"github.com/cozystack/image-overrides/internal/quote"
)

// maxItems is how many items a list may get.
const maxItems = 1000

// call is what a function of text/template, of Helm or of Sprig returns. Of functions that are not
// here nothing is known but that the same arguments give the same value.
func (m *machine) call(name string, args []value, at place) value {
	name = strings.TrimPrefix(name, "must")
	name = strings.ToLower(name[:min(1, len(name))]) + name[min(1, len(name)):]
	for _, a := range args {
		if _, ok := a.(failing); ok {
			return a
		}
	}
	last := func() value { return args[len(args)-1] }
	switch n := len(args); name {
	case "include":
		if n == 2 {
			return m.lift(args[0], func(v value) value {
				if name, ok := stringOf(v); ok {
					return m.include(name, args[1], at)
				}
				return m.made("include", v, args[1])
			})
		}
	case "fail":
		return failing{}
	case "tpl":
		if n == 2 {
			return m.lift(args[0], func(v value) value {
				if s, ok := stringOf(v); ok && !strings.Contains(s, "{{") {
					return v
				}
				if t, ok := v.(text); ok {
					return t
				}
				return m.made("tpl", args...)
			})
		}
	case "required":
		if n == 2 {
			return args[1]
		}

	case "not":
		if n == 1 {
			return truth{m.not(m.truth(args[0]))}
		}
	case "and", "or":
		if n > 0 {
			v := last()
			for i := n - 2; i >= 0; i-- {
				if c := m.truth(args[i]); name == "and" {
					v = m.choose(c, v, args[i])
				} else {
					v = m.choose(c, args[i], v)
				}
			}
			return v
		}
	case "empty":
		if n == 1 {
			return truth{m.not(m.truth(args[0]))}
		}
	case "default":
		if n == 2 {
			return m.choose(m.truth(args[1]), args[1], args[0])
		}
		if n == 1 {
			return args[0]
		}
	case "coalesce":
		var v value = constant{}
		for i := n - 1; i >= 0; i-- {
			v = m.choose(m.truth(args[i]), args[i], v)
		}
		return v
	case "ternary":
		if n == 3 {
			return m.choose(m.truth(args[2]), args[0], args[1])
		}
	case "eq", "ne":
		if n >= 2 {
			c := never
			for _, other := range args[1:] {
				c = m.either(c, always, m.equal(args[0], other))
			}
			if name == "ne" {
				c = m.not(c)
			}
			return truth{c}
		}
	case "kindIs", "typeIs":
		if n == 2 {
			return m.lift(args[0], func(kind value) value { return m.kindIs(name, kind, args[1]) })
		}

	case "list", "tuple":
		l := m.newList()
		for _, a := range args {
			l.items = append(l.items, item{value: a})
		}
		return l
	case "append", "push", "prepend":
		if n == 2 {
			return m.lift(args[0], func(v value) value {
				if name == "prepend" {
					return m.joined(item{value: args[1]}, item{v, true})
				}
				return m.joined(item{v, true}, item{value: args[1]})
			})
		}
	case "concat":
		var items []item
		for _, a := range args {
			items = append(items, item{a, true})
		}
		return m.joined(items...)
	case "first", "last", "rest", "initial":
		if n == 1 {
			return m.lift(args[0], func(v value) value { return m.part(name, v) })
		}
	case "compact", "uniq", "without", "reverse":
		if n > 0 {
			if l, ok := args[0].(*list); ok && (name == "compact" || name == "uniq") {
				return l
			}
		}

	case "dict":
		d := m.newDict()
		for i := 0; i+1 < n; i += 2 {
			key, ok := stringOf(args[i])
			if !ok {
				d.bases = append(d.bases, m.made("dict", args[i], args[i+1]))
				continue
			}
			m.set(d, key, args[i+1])
		}
		if n%2 == 1 {
			if key, ok := stringOf(last()); ok {
				m.set(d, key, constant{of: ""})
			}
		}
		return d
	case "set":
		if n == 3 {
			return m.change(args[0], func(v value) value { return m.setIn(v, args[1], args[2]) })
		}
	case "unset":
		if n == 2 {
			return m.change(args[0], func(v value) value { return m.setIn(v, args[1], missing{gone: true}) })
		}
	case "get", "index":
		if n > 1 {
			v := args[0]
			for _, a := range args[1:] {
				v = m.element(v, a)
			}
			return v
		}
		if n == 1 {
			return args[0]
		}
	case "dig":
		if n > 2 {
			return m.dig(last(), args[:n-2], args[n-2])
		}
	case "hasKey":
		if n == 2 {
			key, ok := stringOf(args[1])
			if !ok {
				break
			}
			return m.lift(args[0], func(v value) value { return truth{m.has(v, key)} })
		}
	case "merge", "mergeOverwrite":
		if n > 0 {
			return m.merge(name == "mergeOverwrite", args)
		}
	case "deepCopy":
		if n == 1 {
			return m.lift(args[0], func(v value) value {
				if d, ok := v.(*dict); ok {
					return m.copy(d, 0)
				}
				return v
			})
		}
	case "omit", "pick":
		if n > 1 {
			return m.lift(args[0], func(v value) value {
				d, ok := v.(*dict)
				if !ok {
					d = m.over(v)
				}
				return m.some(d, name == "omit", args[1:])
			})
		}

	case "toYaml", "toYamlPretty":
		if n == 1 {
			return text{m.apply(m.yaml(args[0], 0), strings.TrimSpace)}
		}
	case "toJson", "toPrettyJson", "toRawJson":
		if n == 1 {
			return text{m.json(args[0], 0)}
		}
	case "fromYaml", "fromJson":
		if n == 1 {
			return m.lift(args[0], func(v value) value {
				if t, ok := v.(text); ok {
					d := m.newDict()
					if t.output != nil {
						d.bases = []value{decoded{output: t.output}}
					}
					return d
				}
				return m.made(name, v)
			})
		}
	case "fromYamlArray", "fromJsonArray":
		if n == 1 {
			return m.lift(args[0], func(v value) value {
				if t, ok := v.(text); ok {
					if t.output == nil {
						return m.newList()
					}
					return decoded{output: t.output}
				}
				return m.made(name, v)
			})
		}

	case "print", "println", "cat", "printf":
		return m.printed(name, args)
	case "join":
		if n == 2 {
			if l, ok := args[1].(*list); ok && m.flat(l) {
				var parts []*output
				for i, it := range l.items {
					if i > 0 {
						parts = append(parts, m.show(args[0]))
					}
					parts = append(parts, m.show(it.value))
				}
				return text{sequence(parts...)}
			}
		}
	}
	if f := textFunction(name, args); f != nil {
		return m.lift(last(), func(v value) value {
			if s, ok := stringOf(v); ok {
				m.charge(s)
				return constant{f(s), v.(constant).at}
			}
			switch v.(type) {
			case text, truth, constant:
				o := m.apply(m.show(v), f)
				if name == "trim" && o != nil {
					o.trim = true
				}
				return text{o}
			case *unknown:
				o := *m.show(v)
				if o.text = f(unknownMark); o.text != unknownMark {
					o.id = ""
				}
				return text{&o}
			}
			return m.made(name, args...)
		})
	}
	return m.made(name, args...)
}

// textFunction is a function on texts whose last argument is the text, and which passes that on.
func textFunction(name string, args []value) func(string) string {
	if len(args) == 0 {
		return nil
	}
	if len(args) == 1 {
		switch name {
		case "trim":
			return strings.TrimSpace
		case "toString":
			return func(s string) string { return s }
		case "quote":
			return func(s string) string {
				return `"` + strings.NewReplacer("\n", " ", `"`, "'").Replace(s) + `"`
			}
		case "squote":
			return func(s string) string {
				return "'" + strings.NewReplacer("\n", " ", "'", `"`).Replace(s) + "'"
			}
		}
		return nil
	}
	if len(args) != 2 {
		return nil
	}
	first, ok := args[0].(constant)
	if !ok {
		return nil
	}
	switch of := first.of.(type) {
	case float64:
		switch n := int(min(max(of, 0), maxIndent)); name {
		case "indent":
			f, pad := indented(n), strings.Repeat(" ", n)
			return func(s string) string { return pad + f(s) }
		case "nindent":
			f, pad := indented(n), "\n"+strings.Repeat(" ", n)
			return func(s string) string { return pad + f(s) }
		}
	case string:
		switch name {
		case "trimSuffix":
			return func(s string) string { return strings.TrimSuffix(s, of) }
		case "trimPrefix":
			return func(s string) string { return strings.TrimPrefix(s, of) }
		case "trimAll":
			return func(s string) string { return strings.Trim(s, of) }
		}
	}
	return nil
}

func stringOf(v value) (string, bool) {
	c, ok := v.(constant)
	if !ok {
		return "", false
	}
	s, ok := c.of.(string)
	return s, ok
}

// equal is whether two values are equal.
func (m *machine) equal(a, b value) *condition {
	if c, ok := a.(*choice); ok {
		return m.either(c.cond, m.equal(c.a, b), m.equal(c.b, b))
	}
	if c, ok := b.(*choice); ok {
		return m.either(c.cond, m.equal(a, c.a), m.equal(a, c.b))
	}
	x, first := a.(constant)
	y, second := b.(constant)
	switch {
	case first && second:
		return m.holds(x.of == y.of)
	case same(a, b):
		return always
	case first:
		a, b, y, second = b, a, x, true
	}
	if t, ok := a.(truth); ok && second {
		if of, ok := y.of.(bool); ok {
			return m.either(m.holds(of), t.condition, m.not(t.condition))
		}
	}
	at := atom{id: "(eq " + m.id(a) + " " + m.id(b) + ")"}
	if second {
		at.about, at.with = m.id(a), m.id(b)
	}
	return m.atom(at)
}

// kindIs is whether a value has a kind, or a type, as far as it is known.
func (m *machine) kindIs(function string, kind, v value) value {
	return m.lift(v, func(v value) value {
		name, ok := stringOf(kind)
		is := ""
		switch v := v.(type) {
		case *list:
			is = "slice"
		case *dict:
			is = "map"
		case text:
			is = "string"
		case truth:
			is = "bool"
		case constant:
			switch v.of.(type) {
			case string:
				is = "string"
			case bool:
				is = "bool"
			case nil:
				is = "invalid"
			}
		}
		if !ok || is == "" {
			return m.made(function, kind, v)
		}
		if spelled := types[is]; spelled != "" && function == "typeIs" {
			is = spelled
		}
		return constant{of: name == is}
	})
}

// types are the types of values that are not spelled as their kinds.
var types = map[string]string{"slice": "[]interface {}", "map": "map[string]interface {}", "invalid": "<nil>"}

// has is whether a value has a key.
func (m *machine) has(v value, key string) *condition {
	switch v := v.(type) {
	case *choice:
		return m.either(v.cond, m.has(v.a, key), m.has(v.b, key))
	case *dict:
		has := never
		if found, ok := v.values[key]; ok {
			has = m.not(m.missing(found))
			if m.behind(found) == never {
				return has
			}
		}
		for _, b := range v.bases {
			has = m.either(has, always, m.has(b, key))
		}
		return has
	case *unknown:
		return m.either(m.truth(m.field(v, key)), always, m.atom(atom{id: m.made("hasKey", v, constant{of: key}).id}))
	case decoded:
		return m.atom(atom{id: m.made("hasKey", v, constant{of: key}).id})
	}
	return never
}

// dig is what is found by keys in maps, or another value where one has not the key.
func (m *machine) dig(v value, keys []value, other value) value {
	if len(keys) == 0 {
		return v
	}
	return m.lift(v, func(v value) value {
		key, ok := stringOf(keys[0])
		if !ok {
			return m.fresh()
		}
		return m.choose(m.has(v, key), m.dig(m.field(v, key), keys[1:], other), other)
	})
}

// joined is a list of items and of lists.
func (m *machine) joined(items ...item) value {
	l := m.newList()
	for _, it := range items {
		if inner, ok := it.value.(*list); ok && it.spread {
			l.items = append(l.items, inner.items...)
			m.steps -= len(inner.items) / 16
			continue
		}
		l.items = append(l.items, it)
	}
	if len(l.items) > maxItems {
		return m.fresh()
	}
	return l
}

// flat reports whether every item of a list is known.
func (m *machine) flat(l *list) bool {
	return !slices.ContainsFunc(l.items, func(it item) bool { return it.spread })
}

// part is the first item of a list, its last, or what is left without it.
func (m *machine) part(name string, v value) value {
	l, ok := v.(*list)
	if !ok {
		if u, ok := v.(*unknown); ok && u.chart {
			return &unknown{brief("(" + name + " " + u.id + ")"), true, u.further("[" + name + "]")}
		}
		return m.made(name, v)
	}
	if len(l.items) == 0 {
		return constant{}
	}
	at, rest := 0, l.items[1:]
	if name == "last" || name == "initial" {
		at, rest = len(l.items)-1, l.items[:len(l.items)-1]
	}
	switch it := l.items[at]; {
	case it.spread:
		return m.made(name, v)
	case name == "first" || name == "last":
		return it.value
	}
	return m.newList(slices.Clone(rest)...)
}

// element is what index finds in a map or list.
func (m *machine) element(v, at value) value {
	if key, ok := stringOf(at); ok {
		return m.field(v, key)
	}
	return m.lift(v, func(v value) value {
		if l, ok := v.(*list); ok && m.flat(l) {
			if c, ok := at.(constant); ok {
				if i, ok := c.of.(float64); ok && 0 <= i && int(i) < len(l.items) {
					return l.items[int(i)].value
				}
			}
		}
		if u, ok := v.(*unknown); ok && u.chart {
			return &unknown{brief("(index " + u.id + " " + m.id(at) + ")"), true, u.further("[]")}
		}
		return m.made("index", v, at)
	})
}

// setIn is a map in which a key has got a value, or is gone.
func (m *machine) setIn(v, at, to value) value {
	d, ok := v.(*dict)
	if !ok {
		d = m.over(v)
	}
	if key, ok := stringOf(at); ok {
		m.set(d, key, to)
	}
	return d
}

// over is a map whose keys are those of another value.
func (m *machine) over(v value) *dict {
	d := m.newDict()
	if _, ok := v.(missing); !ok {
		d.bases = []value{v}
	}
	return d
}

// copy is a map of its own with the keys of another.
func (m *machine) copy(d *dict, level int) *dict {
	c := m.newDict()
	m.steps -= len(d.keys)
	c.keys, c.bases = slices.Clone(d.keys), slices.Clone(d.bases)
	for k, v := range d.values {
		if inner, ok := v.(*dict); ok && level < maxLevels {
			v = m.copy(inner, level+1)
		}
		c.values[k] = v
	}
	return c
}

// some is a map with the keys of another that are named, or with all others.
func (m *machine) some(d *dict, others bool, names []value) value {
	named := make(map[string]bool)
	for _, n := range names {
		key, ok := stringOf(n)
		if !ok {
			return m.fresh()
		}
		named[key] = true
	}
	c := m.newDict()
	for _, k := range d.keys {
		if named[k] != others {
			m.set(c, k, d.values[k])
		}
	}
	if others {
		c.bases = d.bases
		for k := range named {
			c.values[k] = missing{gone: true}
		}
		return c
	}
	for k := range named {
		if _, ok := c.values[k]; !ok && len(d.bases) > 0 {
			m.set(c, k, m.field(d, k))
		}
	}
	slices.Sort(c.keys)
	return c
}

// merge adds the keys of maps to the first of them, which it returns.
func (m *machine) merge(overwrite bool, args []value) value {
	for i, a := range args {
		if _, ok := a.(*choice); ok {
			return m.change(a, func(v value) value {
				one := slices.Clone(args)
				one[i] = v
				return m.merge(overwrite, one)
			})
		}
	}
	first, ok := args[0].(*dict)
	if !ok {
		first = m.over(args[0])
	}
	for _, other := range args[1:] {
		m.mergeInto(first, other, overwrite, 0)
	}
	return first
}

func (m *machine) mergeInto(d *dict, other value, overwrite bool, level int) {
	from, ok := other.(*dict)
	if !ok {
		m.base(d, other)
		return
	}
	m.steps -= len(from.keys) + 1
	if level > maxLevels || m.steps < 0 || from == d {
		return
	}
	for _, k := range from.keys {
		before, known := d.values[k]
		inner, isDict := before.(*dict)
		_, alsoDict := from.values[k].(*dict)
		switch {
		case !known:
			m.set(d, k, from.values[k])
		case isDict && alsoDict:
			m.mergeInto(inner, from.values[k], overwrite, level+1)
		case overwrite:
			m.set(d, k, m.choose(m.missing(from.values[k]), before, from.values[k]))
		default:
			m.set(d, k, m.choose(m.truth(before), before, from.values[k])) // what is empty counts as missing
		}
	}
	for _, b := range from.bases {
		m.base(d, b)
	}
}

// base puts another value behind a map, in the branches that are being taken.
func (m *machine) base(d *dict, other value) {
	if m.guard != d.within {
		other = m.choose(m.guard.all, other, missing{})
	}
	if _, none := other.(missing); !none && len(d.bases) < maxItems {
		d.bases = append(d.bases, other)
	}
}

// printed is what print and its like return.
func (m *machine) printed(name string, args []value) value {
	var parts []*output
	if name != "printf" {
		for i, a := range args {
			if i > 0 && (name == "cat" || name == "println") {
				parts = append(parts, plain(" "))
			}
			parts = append(parts, m.show(a))
		}
		if name == "println" {
			parts = append(parts, plain("\n"))
		}
	} else if len(args) > 0 {
		format, ok := stringOf(args[0])
		if !ok {
			return m.made(name, args...)
		}
		args = args[1:]
		for {
			before, behind, found := strings.Cut(format, "%")
			parts = append(parts, m.quoted(before, m.here))
			if !found || behind == "" {
				break
			}
			format = behind[1:]
			switch verb := behind[0]; {
			case verb == '%':
				parts = append(parts, plain("%"))
			case len(args) == 0:
			default:
				shown := m.show(args[0])
				switch verb {
				case 's', 'v', 'd', 't':
				case 'q':
					shown = m.inQuotes(shown)
				default:
					shown = plain(unknownMark)
				}
				parts = append(parts, shown)
				args = args[1:]
			}
		}
	}
	o := sequence(parts...)
	if o == nil {
		return constant{"", m.here}
	}
	// What is known as a whole is a string like any other.
	if all := wholly(o); all != "" && strings.IndexByte(all, callMark) < 0 && !strings.Contains(all, unknownMark) {
		return constant{unmarked(all), m.here}
	}
	return text{o}
}

// wholly is the text of an output that is one in every world, or "".
func wholly(o *output) string {
	switch o.op {
	case opText:
		return o.text
	case opSeq:
		var b strings.Builder
		for _, part := range o.list {
			if part.op != opText {
				return ""
			}
			b.WriteString(part.text)
		}
		return b.String()
	}
	return ""
}

// unmarked is a text without the marks of places.
func unmarked(text string) string {
	if strings.IndexByte(text, siteMark) < 0 {
		return text
	}
	var b strings.Builder
	for i, part := range strings.Split(text, string(siteMark)) {
		if i%2 == 0 {
			b.WriteString(part)
		}
	}
	return b.String()
}

// context is what is wrong with what a call of the helper gets as its context, "" if nothing.
func (m *machine) context(v value) (Rule, string) {
	switch v := v.(type) {
	case *choice:
		if fault, what := m.context(v.a); fault != "" {
			return fault, what
		}
		return m.context(v.b)
	case *list:
		if len(v.items) == 0 {
			return RuleContext, "an empty list"
		}
		if v.items[0].spread {
			return "", ""
		}
		if _, ok := v.items[0].value.(*list); ok {
			return RuleContext, "a list in a list"
		}
		return m.context(v.items[0].value)
	case *unknown:
		switch {
		case !v.chart:
			return "", ""
		case len(v.path) > 0:
			return RuleContext, quote.Plain("." + strings.Join(v.path, "."))
		case m.sub:
			return RuleSubchart, ""
		}
		return "", ""
	case *dict:
		values, ok := v.values["Values"]
		if ok {
			return m.contextValues(values)
		}
		for _, b := range v.bases {
			if fault, what := m.context(b); fault != RuleContext {
				return fault, what
			}
		}
		return RuleContext, "a dict without Values"
	case missing:
		return RuleContext, "nil"
	case constant:
		return RuleContext, "no map"
	case decoded:
		return "", ""
	}
	return RuleContext, "a text"
}

// contextValues is the same for the Values of a context.
func (m *machine) contextValues(v value) (Rule, string) {
	switch v := v.(type) {
	case *choice:
		if fault, what := m.contextValues(v.a); fault != "" {
			return fault, what
		}
		return m.contextValues(v.b)
	case *unknown:
		return m.contextPath(v, 1)
	case *dict:
		if cluster, ok := v.values["_cluster"]; ok {
			return m.contextCluster(cluster)
		}
		for _, b := range v.bases {
			if fault, what := m.contextValues(b); fault != RuleContext {
				return fault, what
			}
		}
		return RuleContext, "Values without _cluster"
	case decoded:
		return "", ""
	}
	return RuleContext, "Values that are no map"
}

// contextCluster is the same for the _cluster of the values.
func (m *machine) contextCluster(v value) (Rule, string) {
	switch v := v.(type) {
	case *choice:
		if fault, what := m.contextCluster(v.a); fault != "" {
			return fault, what
		}
		return m.contextCluster(v.b)
	case *unknown:
		return m.contextPath(v, 2)
	case *dict:
		if table, ok := v.values["image-overrides"]; ok && m.missing(table) != always {
			return "", ""
		}
		for _, b := range v.bases {
			if _, gone := v.values["image-overrides"]; gone {
				break
			}
			if fault, what := m.contextCluster(b); fault != RuleContext {
				return fault, what
			}
		}
		return RuleContext, "a _cluster without image-overrides"
	case missing:
		return RuleContext, "Values without _cluster"
	}
	return "", ""
}

// contextPath is the same for something out of the chart's own context, which Helm gives the
// table at .Values._cluster, and below global in subcharts too.
func (m *machine) contextPath(v *unknown, level int) (Rule, string) {
	path := v.path
	switch {
	case !v.chart:
		return "", ""
	case len(path) > 1 && path[0] == "Values" && path[1] == "global":
		return "", ""
	case m.sub && len(path) > 0 && path[0] == "Values" && len(path) <= level:
		return RuleSubchart, ""
	case level == 1 && len(path) == 1 && path[0] == "Values":
		return "", ""
	case level == 2 && len(path) > 1 && path[0] == "Values":
		return "", "" // a table of the chart's own
	}
	return RuleContext, quote.Plain("." + strings.Join(path, "."))
}
