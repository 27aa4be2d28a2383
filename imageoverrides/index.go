// SPDX-License-Identifier: Apache-2.0

package imageoverrides

import (
	"slices"
	"strings"
	"unicode/utf8"
)

// kustomize matches an image against the name of an entry with the regular expression
//
//	^NAME(:[a-zA-Z0-9_.{}-]*)?(@sha256:[a-zA-Z0-9_.{}-]*)?$
//
// in which the name itself is an expression. In the name of an image the dot is the
// only special character, and stands for any character. The index finds the
// entries of such names by their length, and in a map by their text, once for each
// arrangement of dots that the table has for that length. Registries have a few
// of these, however many images there are; a table made for it has more.
//
// Names of one length with dots in more places than that are found by sets; see wild.
//
// Names with other special characters, which Lint calls errors, are compiled when
// they are first needed and tried one by one, as far as they are small enough all
// together; see pattern.

// index finds the entries that match an image.
type index struct {
	byLength []*names   // literal names, by length in characters; nil for none
	patterns []*pattern // other names, in the order of the table
	excess   int        // the first entry whose name is too large to be tried, or -1
	whole    []string   // what an entry makes of every image that it matches; "" where that depends on the image
}

// names are names of one length.
type names struct {
	dots    [][]int          // the arrangements of dots: their places, in characters
	entries map[string][]int // entries by name, in the order of the table
	wild    *wild            // in place of both, where there are many arrangements
}

// maxArrangements is how many arrangements of dots are tried one after the other.
const maxArrangements = 16

// maxWhole is how long a new name may be that is put together once for all images. A
// table whose entries share one text may hold no more than that.
const maxWhole = 512

func newIndex(overrides []Override) index {
	x := index{whole: make([]string, len(overrides)), excess: -1}
	many := make(map[int]bool) // lengths with many arrangements
	room := maxSteps
	for i, o := range overrides {
		if o.NewName != "" && (o.NewTag != "" || o.Digest != "") && len(o.NewName)+len(o.NewTag) <= maxWhole {
			x.whole[i] = o.replace("")
		}
		if specialIn(o.Name) >= 0 || !utf8.ValidString(o.Name) {
			x.pattern(i, o.Name, &room)
			continue
		}
		length := utf8.RuneCountInString(o.Name)
		if length >= len(x.byLength) {
			x.byLength = append(x.byLength, make([]*names, length+1-len(x.byLength))...)
		}
		n := x.byLength[length]
		if n == nil {
			n = &names{entries: make(map[string][]int)}
			x.byLength[length] = n
		}
		n.entries[o.Name] = append(n.entries[o.Name], i)
		if many[length] {
			continue
		}
		dots := dotPlaces(o.Name)
		if !slices.ContainsFunc(n.dots, func(d []int) bool { return slices.Equal(d, dots) }) {
			n.dots = append(n.dots, dots)
			many[length] = len(n.dots) > maxArrangements
		}
	}
	for length := range many {
		if n := x.byLength[length]; many[length] {
			n.wild = newWild(n.entries, length)
			n.dots, n.entries = nil, nil
		}
	}
	return x
}

// dotPlaces returns the places of dots in a name, counted in characters.
func dotPlaces(name string) []int {
	var places []int
	at := 0
	for _, r := range name {
		if r == '.' {
			places = append(places, at)
		}
		at++
	}
	return places
}

// next returns the first entry from entry from on that matches the image, or -1.
func (x *index) next(image string, from int) int {
	best := x.literal(image, from)
	for _, p := range x.patterns {
		if best >= 0 && p.entry > best {
			break
		}
		if p.entry >= from && p.matches(image) {
			return p.entry
		}
	}
	return best
}

// literal is next among the entries with literal names.
func (x *index) literal(image string, from int) int {
	best := -1
	all := byte(0)
	for i := range len(image) {
		all |= image[i]
	}
	for _, end := range nameEnds(image) {
		if end >= 0 {
			best = earlier(best, x.named(image[:end], all < utf8.RuneSelf, from))
		}
	}
	return best
}

func earlier(a, b int) int {
	if a < 0 || b >= 0 && b < a {
		return b
	}
	return a
}

// named returns the first entry from entry from on whose literal name matches the
// whole of s, or -1. ascii says that each character of s is one byte.
func (x *index) named(s string, ascii bool, from int) int {
	if len(s) > utf8.UTFMax*len(x.byLength) {
		return -1
	}
	length := len(s)
	if !ascii {
		length = utf8.RuneCountInString(s)
	}
	if length >= len(x.byLength) || x.byLength[length] == nil {
		return -1
	}
	n := x.byLength[length]
	if n.wild != nil {
		return n.wild.next(s, from)
	}
	best := -1
	var buffer [256]byte
	for _, dots := range n.dots {
		key := append(buffer[:0], s...)
		if len(s) == length {
			for _, at := range dots {
				if key[at] == '\n' {
					key = nil // a dot does not stand for a line feed
					break
				}
				key[at] = '.'
			}
		} else {
			key = dotted(key[:0], s, dots)
		}
		for _, entry := range n.entries[string(key)] {
			if entry >= from {
				best = earlier(best, entry)
				break
			}
		}
	}
	return best
}

// dotted appends s, which has characters of more than one byte, to b, with dots at
// the given places, in characters. It returns nil where a dot would stand for a line feed.
func dotted(b []byte, s string, places []int) []byte {
	at := 0
	for i := 0; i < len(s); at++ {
		r, size := utf8.DecodeRuneInString(s[i:])
		if len(places) > 0 && places[0] == at {
			if r == '\n' {
				return nil
			}
			b = append(b, '.')
			places = places[1:]
		} else {
			b = append(b, s[i:i+size]...)
		}
		i += size
	}
	return b
}

// nameEnds returns where the name may end in an image: at its end, before a digest,
// before a tag, and before both. An end that is not there is -1.
func nameEnds(image string) (ends [4]int) {
	const digest = "@sha256"
	ends = [4]int{len(image), -1, -1, -1}
	colon := beforeTag(image)
	ends[1] = colon
	if colon >= 0 && strings.HasSuffix(image[:colon], digest) {
		ends[2] = colon - len(digest)
		ends[3] = beforeTag(image[:ends[2]])
	}
	return ends
}

// beforeTag returns the offset of the colon that ends s but for characters of a
// tag, as kustomize knows them, or -1.
func beforeTag(s string) int {
	for i := len(s) - 1; i >= 0; i-- {
		if !tagByte[s[i]] {
			if s[i] == ':' {
				return i
			}
			return -1
		}
	}
	return -1
}

// tagByte has the bytes that kustomize takes for those of a tag.
var tagByte = func() (set [256]bool) {
	for _, c := range []byte("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_.{}-") {
		set[c] = true
	}
	return set
}()
