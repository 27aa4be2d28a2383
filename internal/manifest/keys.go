// SPDX-License-Identifier: Apache-2.0

package manifest

import "hash/maphash"

// What a scanner that tells all scalars looks out for besides: what programs refuse that decode a document into maps with keys
// that are strings, and that no scalar tells. It does not judge, it only says that somebody should parse the document and look.

// key notes a key of the innermost level.
func (s *scanner) key(key string, quoted bool) {
	if (!quoted || s.inAnnotations()) && isOddKey(key) || s.keys.add(s.levels[len(s.levels)-1].id, key) {
		s.odd = true
	}
}

// inAnnotations reports whether the innermost level may be an object's annotations, of which kustomize drops the quotes of keys.
func (s *scanner) inAnnotations() bool {
	n := len(s.levels) - 2 // the level around it
	return n >= 0 && !s.levels[n].list && s.path[n].Key == "annotations"
}

// isOddKey reports whether a key without quotes may be something else than a string.
func isOddKey(key string) bool {
	if key == "" {
		return true
	}
	switch c := key[0]; {
	case '0' <= c && c <= '9', c == '+', c == '-', c == '.':
		return !hasLetters(key)
	case c|0x20 == 't', c|0x20 == 'f', c|0x20 == 'n':
		switch key {
		case "true", "True", "TRUE", "false", "False", "FALSE", "null", "Null", "NULL":
			return true
		}
		return false
	}
	return key[0] == '~' || key[0] == '<' || key[0] == '='
}

// hasLetters reports whether a text that begins like a number has what no number and no time has: two letters or more, or a slash.
func hasLetters(s string) bool {
	if len(s) < 2 || len(s) == 2 && s[0] == '0' {
		return false
	}
	letters := 0
	for i := range len(s) {
		switch c := s[i] | 0x20; {
		case 'g' <= c && c <= 'z' && c != 'o' && c != 'x' && c != 'i' && c != 'n' && c != 't', s[i] == '/', s[i] == '*':
			letters++
		}
	}
	return letters > 0
}

// inside notes a map or list that begins, which the path leads to.
func (s *scanner) inside(list bool) {
	n := len(s.path) - 1
	if n < 0 {
		return
	}
	if s.levels[n].list {
		if list {
			s.odd = s.odd || s.inContainers(n)
		}
		return
	}
	switch s.path[n].Key {
	case "annotations":
		s.odd = s.odd || list
	case "items":
		s.odd = s.odd || !list && n == s.base
	case "image", "reference": // where an image belongs, perhaps
		for _, step := range s.path[:n] {
			switch step.Key {
			case "containers", "initContainers", "volumes":
				s.odd = s.odd || step.Key != "volumes" || list || s.path[n].Key == "reference"
			}
		}
	}
}

// empty notes an empty map or list, which the path leads to, in flow style.
func (s *scanner) empty(list bool) {
	n := len(s.levels) - 2 // the level around it
	if n < 0 {
		s.odd = true // an empty document
		return
	}
	s.odd = s.odd || list && s.path[n].Key == "annotations"
}

// inContainers reports whether the key that is nearest on the path, up to a level, is one of containers.
func (s *scanner) inContainers(n int) bool {
	for ; n >= 0; n-- {
		if !s.levels[n].list {
			return s.path[n].Key == "containers" || s.path[n].Key == "initContainers"
		}
	}
	return false
}

// number notes a scalar without quotes that is an infinite number, or none.
func (s *scanner) number(start, end int) {
	if n := end - start; n < len(".inf") || n > len("-.inf") {
		return
	}
	switch text(s.text[start:end]) {
	case ".inf", ".Inf", ".INF", "+.inf", "+.Inf", "+.INF", "-.inf", "-.Inf", "-.INF", ".nan", ".NaN", ".NAN":
		s.odd = true
	}
}

// A keySet has the keys of the maps of a document, as hashes of 64 bits.
type keySet struct {
	seed  maphash.Seed
	slots []keySlot // a power of two of them, or none
	used  int
	round uint32 // of the document; slots of others are free
}

type keySlot struct {
	hash  uint64
	round uint32
}

// reset forgets all keys.
func (k *keySet) reset() {
	if k.round++; k.round == 0 || k.slots == nil {
		k.seed, k.slots, k.round = maphash.MakeSeed(), make([]keySlot, 1<<8), 1
	}
	k.used = 0
}

// add adds a key of a level, and reports whether it was there.
func (k *keySet) add(level uint32, key string) bool {
	h := maphash.String(k.seed, key) + uint64(level)*0x9E3779B97F4A7C15
	h ^= h >> 32
	if !k.put(h) {
		return true
	}
	if k.used++; 2*k.used > len(k.slots) {
		old := k.slots
		k.slots = make([]keySlot, 2*len(old))
		for _, slot := range old {
			if slot.round == k.round {
				k.put(slot.hash)
			}
		}
	}
	return false
}

// put is false where the hash is there.
func (k *keySet) put(h uint64) bool {
	mask := uint64(len(k.slots) - 1)
	for i := h & mask; ; i = (i + 1) & mask {
		slot := &k.slots[i]
		if slot.round != k.round {
			*slot = keySlot{h, k.round}
			return true
		}
		if slot.hash == h {
			return false
		}
	}
}
