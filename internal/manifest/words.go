// SPDX-License-Identifier: Apache-2.0

package manifest

import (
	"encoding/binary"
	"math/bits"
)

// Most of a manifest is indentation, keys and simple values. These are looked at eight bytes at a
// time: each byte of a word gets its high bit set where it is of the kind, by sums that stay within
// the byte as long as the high bits of the summands are not both set. TestWords holds them
// against the classes.

// A byte of each kind in all eight places.
const (
	ones = 0x0101010101010101
	high = 0x80 * ones
)

// spaces returns how many spaces a text starts with.
func spaces(text []byte) int {
	n := 0
	for ; len(text)-n >= 8; n += 8 {
		if w := binary.LittleEndian.Uint64(text[n:]) ^ ' '*ones; w != 0 {
			return n + bits.TrailingZeros64(w)/8
		}
	}
	for n < len(text) && text[n] == ' ' {
		n++
	}
	return n
}

// keyBytes returns how many bytes of class keyNext a text starts with.
func keyBytes(text []byte) int {
	n := 0
	for ; len(text)-n >= 8; n += 8 {
		w := binary.LittleEndian.Uint64(text[n:])
		x := w &^ high
		lower := x | 0x20*ones
		letter := (lower + (0x80-'a')*ones) &^ (lower + (0x7F-'z')*ones)
		other := (x + (0x80-'-')*ones) &^ (x + (0x7F-'9')*ones) // -./ and digits
		if not := ^(letter|other|(high-(x^'_'*ones)))&high | w&high; not != 0 {
			return n + bits.TrailingZeros64(not)/8
		}
	}
	for n < len(text) && class[text[n]]&keyNext != 0 {
		n++
	}
	return n
}

// plainBytes returns how many bytes of class plainNext a text starts with.
func plainBytes(text []byte) int {
	n := 0
	for ; len(text)-n >= 8; n += 8 {
		w := binary.LittleEndian.Uint64(text[n:])
		x := w &^ high
		plain := (x + (0x80-' ')*ones) &^ (x + ones) // ' ' to '~'
		special := (high - (x ^ ':'*ones)) | (high - (x ^ '#'*ones))
		if not := (^plain | special | w) & high; not != 0 {
			return n + bits.TrailingZeros64(not)/8
		}
	}
	for n < len(text) && class[text[n]]&plainNext != 0 {
		n++
	}
	return n
}
