// SPDX-License-Identifier: Apache-2.0

package paths

import (
	"fmt"
	"strings"
)

// Rules say which values of an object are meant, by their paths. They are followed step by step, each in constant time, so
// that nobody looks at a path twice: a [State] is where some path has come to.
//
// A rule is written like spec.template.spec.containers.image. Any number of lists may stand at each step. A key
// with [] behind is one that holds a list, whose items, and nothing further in, the rest of the rule is about; a rule that starts
// with **. may start at any depth.
type Rules struct {
	keys   map[string]State // the steps that a key takes
	last   [32]uint32       // by length and first letter, the keys that end a rule
	any    [32]uint32       // the same of all keys
	root   State            // where an object begins
	start  State            // where rules of any depth begin, everywhere
	stays  State            // where a list makes no difference
	items  State            // where the items of a list are meant
	groups []State          // the ends of the rules of each group
}

// A State has one bit for each step of each rule.
type State uint64

// NewRules makes rules out of groups of them. It panics where one is malformed, or all have more than some 60 steps: they are
// part of the program.
func NewRules(groups ...[]string) *Rules {
	r := &Rules{keys: make(map[string]State), groups: make([]State, len(groups))}
	bit := State(1)
	next := func() State {
		if bit == 0 {
			panic("paths: too many steps in rules")
		}
		b := bit
		bit <<= 1
		return b
	}
	for group, rules := range groups {
		for _, rule := range rules {
			keys, deep := strings.CutPrefix(rule, "**.")
			before := next() // which also keeps the end of the rule before from leading into this one
			r.stays |= before
			if deep {
				r.start |= before
			}
			r.root |= before
			var end State
			var last string
			for key := range strings.SplitSeq(keys, ".") {
				key, list := strings.CutSuffix(key, "[]")
				if key == "" || len(key) >= len(r.last) {
					panic(fmt.Sprintf("paths: a malformed key in rule %q", rule))
				}
				end = next()
				r.keys[key] |= end
				r.any[len(key)] |= 1 << (key[0] & 31)
				if list {
					r.items |= end
					end = next()
				} else {
					r.stays |= end
				}
				last = key
			}
			r.stays &^= end // a list where the rule ends is not what it means
			r.last[len(last)] |= 1 << (last[0] & 31)
			r.groups[group] |= end
		}
	}
	return r
}

// Root is where an object begins.
func (r *Rules) Root() State { return r.root }

// Key is where a key of a map leads.
func (r *Rules) Key(s State, key string) State {
	if len(key) >= len(r.any) || len(key) == 0 || r.any[len(key)]>>(key[0]&31)&1 == 0 {
		return 0 // as most keys do
	}
	return (s&^r.items | r.start) << 1 & r.keys[key]
}

// Item is where an item of a list leads.
func (r *Rules) Item(s State) State { return s&r.stays | s&r.items<<1 }

// May is true for keys that end a rule, and for those of the same length that begin with the same letter.
func (r *Rules) May(key string) bool {
	return len(key) < len(r.last) && len(key) > 0 && r.last[len(key)]>>(key[0]&31)&1 != 0
}

// In reports whether a rule of a group, by its place in NewRules, ends there.
func (r *Rules) In(group int, s State) bool { return s&r.groups[group] != 0 }

// Any reports whether any rule ends there.
func (r *Rules) Any(s State) bool {
	for _, group := range r.groups {
		if s&group != 0 {
			return true
		}
	}
	return false
}
