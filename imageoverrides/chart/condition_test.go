// SPDX-License-Identifier: Apache-2.0

package chart

import (
	"fmt"
	"testing"

	"pgregory.net/rapid"
)

// TestConditions: a condition made of others holds in the worlds in which they say so, or is an atom of its own where it would be large.
func TestConditions(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		m := &machine{conditions: make(map[string]*condition)}
		const atoms = 4
		made := []*condition{always, never}
		holds := []func(w world) bool{func(world) bool { return true }, func(world) bool { return false }}
		for i := range atoms {
			made = append(made, m.atom(atom{id: fmt.Sprint(i)}))
			holds = append(holds, func(w world) bool { return w[i] })
		}
		for range rapid.IntRange(1, 6).Draw(t, "steps") {
			pick := func(label string) (*condition, func(w world) bool) {
				i := rapid.IntRange(0, len(made)-1).Draw(t, label)
				return made[i], holds[i]
			}
			a, inA := pick("a")
			b, inB := pick("b")
			c, inC := pick("c")
			made = append(made, m.either(a, b, c), m.and(a, b), m.not(a))
			holds = append(holds, func(w world) bool {
				if inA(w) {
					return inB(w)
				}
				return inC(w)
			}, func(w world) bool { return inA(w) && inB(w) }, func(w world) bool { return !inA(w) })
		}
		for i, c := range made {
			if c.size > maxCondition || len(m.atoms) > atoms {
				t.Skip("large")
			}
			for n := range 1 << atoms {
				w := make(world, atoms)
				for a := range w {
					w[a] = n>>a&1 == 1
				}
				if got, want := w.holds(c), holds[i](w); got != want {
					t.Fatalf("condition %d in %v: %v, want %v", i, w, got, want)
				}
			}
		}
	})
	m := &machine{conditions: make(map[string]*condition)}
	c := m.atom(atom{id: "0"})
	atoms := 1
	for ; c.size+2 <= maxCondition; atoms++ { // an atom, and what holds nowhere
		c = m.and(m.atom(atom{id: fmt.Sprint(atoms)}), c)
	}
	if c.op != opIf || c.size != maxCondition-1 || len(m.atoms) != atoms { // all sizes are odd
		t.Errorf("%d atoms are %v of %d parts", len(m.atoms), c.op, c.size)
	}
	if m.either(c, always, never) != c {
		t.Errorf("what is the same in other words is larger")
	}
	if c = m.and(m.atom(atom{id: "one more"}), c); c.op != opAtom || len(m.atoms) != atoms+2 {
		t.Errorf("one more is %v of %d parts", c.op, c.size)
	}
}
