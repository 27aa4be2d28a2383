// SPDX-License-Identifier: Apache-2.0

package chart

// A condition says whether an action in a template is taken. It is made of atoms, the conditions
// that only values decide, and of those that are known.
type condition struct {
	op      conditionOp
	atom    int        // of opAtom
	a, b, c *condition // of opIf: b where a holds, c where it does not
	size    int
}

type conditionOp byte

const (
	opAlways conditionOp = iota
	opNever
	opAtom
	opIf
)

var (
	always = &condition{op: opAlways, size: 1}
	never  = &condition{op: opNever, size: 1}
)

// maxCondition is how many parts a condition may have. What would be larger is an atom of its own.
const maxCondition = 64

// An atom is a condition that only values decide.
type atom struct {
	id      string
	about   string // what is compared with a constant, and
	with    string // with which: two atoms about the same value are not true together
	several string // the name, if it is which of several templates with one name is taken
	at      place  // where it was met first
}

// A place is an offset in a template.
type place struct {
	*tree
	at int
}

func (p place) line() int { return p.source.line(p.at) }

// either is b where a holds, and c where it does not.
func (m *machine) either(a, b, c *condition) *condition {
	if b == a {
		b = always
	}
	if c == a {
		c = never
	}
	switch {
	case a.op == opAlways || b == c:
		return b
	case a.op == opNever:
		return c
	case b.op == opAlways && c.op == opNever:
		return a
	case b.op == opIf && b.a == a:
		return m.either(a, b.b, c)
	case c.op == opIf && c.a == a:
		return m.either(a, b, c.c)
	}
	size := a.size + b.size + c.size
	if size > maxCondition {
		return m.atom(atom{id: m.fresh().id})
	}
	return &condition{op: opIf, a: a, b: b, c: c, size: size}
}

func (m *machine) not(a *condition) *condition    { return m.either(a, never, always) }
func (m *machine) and(a, b *condition) *condition { return m.either(a, b, never) }
func (m *machine) holds(of bool) *condition {
	if of {
		return always
	}
	return never
}

// atom is the condition of an atom, the same one for the same id.
func (m *machine) atom(a atom) *condition {
	c, ok := m.conditions[a.id]
	if !ok {
		a.at = m.here
		c = &condition{op: opAtom, atom: len(m.atoms), size: 1}
		m.atoms = append(m.atoms, a)
		m.conditions[a.id] = c
	}
	return c
}

// A world says which atoms hold.
type world []bool

func (w world) holds(c *condition) bool {
	for {
		switch c.op {
		case opAlways:
			return true
		case opNever:
			return false
		case opAtom:
			return w[c.atom]
		}
		if w.holds(c.a) {
			c = c.b
		} else {
			c = c.c
		}
	}
}

// atomsOf calls add with each atom of a condition.
func atomsOf(c *condition, add func(int)) {
	switch c.op {
	case opAtom:
		add(c.atom)
	case opIf:
		atomsOf(c.a, add)
		atomsOf(c.b, add)
		atomsOf(c.c, add)
	}
}

// want sets the atoms of a condition so that it is as wanted, as far as that is easily seen.
func (w world) want(c *condition, holds bool, fixed map[int]bool) {
	switch c.op {
	case opAtom:
		w[c.atom] = holds
		fixed[c.atom] = true
	case opIf:
		if w.holds(c) == holds {
			atomsOf(c, func(a int) { fixed[a] = true })
			return
		}
		for _, first := range []bool{true, false} {
			branch := c.b
			if !first {
				branch = c.c
			}
			if holds && branch.op != opNever || !holds && branch.op != opAlways {
				w.want(c.a, first, fixed)
				w.want(branch, holds, fixed)
				return
			}
		}
	}
}
