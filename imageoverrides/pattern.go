// SPDX-License-Identifier: Apache-2.0

package imageoverrides

import (
	"regexp"
	"regexp/syntax"
	"sync"
)

// A pattern is a name that is a regular expression to kustomize, and not just a text with dots. A
// name that does not compile matches nothing, as does one of more than maxPattern bytes; Flux fails on the
// first.
type pattern struct {
	entry   int
	name    string
	compile sync.Once
	re      *regexp.Regexp // nil for one that matches nothing
}

const (
	// special are the characters that make a name more than that.
	special    = `\+*?()|[]{}^$`
	afterNames = `(:[a-zA-Z0-9_.{}-]*)?(@sha256:[a-zA-Z0-9_.{}-]*)?$`

	// maxPattern is more than an image name may have.
	maxPattern = 512

	// maxSteps is how large the patterns of a table may be, all of them together. Every image is
	// tried against each, and takes time in proportion to it.
	maxSteps = 4096
)

// isSpecial has the special characters.
var isSpecial = func() (set [256]bool) {
	for _, c := range []byte(special) {
		set[c] = true
	}
	return set
}()

// specialIn returns where the first special character of a name stands, or -1.
func specialIn(name string) int {
	for i := range len(name) {
		if isSpecial[name[i]] {
			return i
		}
	}
	return -1
}

// pattern adds the pattern of an entry, as long as there is room.
func (x *index) pattern(entry int, name string, room *int) {
	if x.excess >= 0 || len(name) > maxPattern {
		return
	}
	if parsed, err := syntax.Parse(name, syntax.Perl); err == nil {
		if *room -= steps(parsed, *room); *room < 0 {
			x.excess = entry
			return
		}
	}
	x.patterns = append(x.patterns, &pattern{entry: entry, name: name})
}

// steps returns how large an expression is once its repetitions are written out, roughly, or a little more
// than limit where it is larger than that.
func steps(re *syntax.Regexp, limit int) int {
	n := 1 + len(re.Rune)/2
	for _, sub := range re.Sub {
		if n += steps(sub, limit); n > limit {
			return limit + 1
		}
	}
	if re.Op == syntax.OpRepeat {
		n *= max(re.Min, re.Max, 1) // each at most 1,000
	}
	return min(n, limit+1)
}

func (p *pattern) matches(image string) bool {
	p.compile.Do(func() { p.re, _ = regexp.Compile("^" + p.name + afterNames) })
	return p.re != nil && p.re.MatchString(image)
}
