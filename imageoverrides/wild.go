// SPDX-License-Identifier: Apache-2.0

package imageoverrides

import (
	"slices"
	"unicode/utf8"
)

// wild finds names of one length that match a text, whatever the places of their dots. For each place
// and each character there it has the set of the names that the character does not rule out; the
// names in all sets of a text match it, but for a look at each. A lookup takes a step for each 64 names
// and each character, and mostly much less.
type wild struct {
	names  []named              // in the order of the table
	places []map[uint8][]uint64 // by place and class of character, a set of names
	dots   [][]uint64           // by place, the names that have a dot there
}

// named is a name and its entry.
type named struct {
	name  string
	entry int
}

// class tells the characters of ASCII apart, and all others by a remainder.
func class(r rune) uint8 {
	if r < utf8.RuneSelf {
		return uint8(r)
	}
	return utf8.RuneSelf | uint8(r)
}

// newWild takes names of a length in characters, each with its entries.
func newWild(byName map[string][]int, length int) *wild {
	w := &wild{places: make([]map[uint8][]uint64, length), dots: make([][]uint64, length)}
	for name, entries := range byName {
		for _, entry := range entries {
			w.names = append(w.names, named{name, entry})
		}
	}
	slices.SortFunc(w.names, func(a, b named) int { return a.entry - b.entry })
	words := (len(w.names) + 63) / 64
	for place := range length {
		w.places[place], w.dots[place] = make(map[uint8][]uint64), make([]uint64, words)
	}
	for i, n := range w.names {
		place := 0
		for _, r := range n.name {
			set := w.dots[place]
			if r != '.' {
				if set = w.places[place][class(r)]; set == nil {
					set = make([]uint64, words)
					w.places[place][class(r)] = set
				}
			}
			set[i/64] |= 1 << (i % 64)
			place++
		}
	}
	for place, dots := range w.dots {
		for _, set := range w.places[place] {
			for word := range set {
				set[word] |= dots[word]
			}
		}
	}
	return w
}

// next returns the first entry from entry from on whose name matches the whole of s, which has the names'
// length in characters, or -1.
func (w *wild) next(s string, from int) int {
	var buffer [256][]uint64
	sets := buffer[:0]
	for _, r := range s {
		set, ok := w.places[len(sets)][class(r)]
		if !ok {
			set = w.dots[len(sets)]
		}
		sets = append(sets, set)
	}
	first, _ := slices.BinarySearchFunc(w.names, from, func(n named, from int) int { return n.entry - from })
	for word := first / 64; word*64 < len(w.names); word++ {
		left := ^uint64(0)
		for i := len(sets) - 1; i >= 0 && left != 0; i-- { // names differ most at their ends
			left &= sets[i][word]
		}
		for i := word * 64; left != 0; i, left = i+1, left>>1 {
			if left&1 != 0 && i >= first && likeDots(w.names[i].name, s) {
				return w.names[i].entry
			}
		}
	}
	return -1
}

// likeDots reports whether s is name, but for characters at its dots, none of which is a line feed.
func likeDots(name, s string) bool {
	for name != "" && s != "" {
		a, n := utf8.DecodeRuneInString(name)
		b, m := utf8.DecodeRuneInString(s)
		if a == '.' && b == '\n' || a != '.' && name[:n] != s[:m] {
			return false
		}
		name, s = name[n:], s[m:]
	}
	return name == s
}
