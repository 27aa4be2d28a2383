// SPDX-License-Identifier: Apache-2.0

package audit

import (
	"cmp"
	"slices"
	"strings"

	"github.com/cozystack/image-overrides/reference"
)

// maxCompared is how many bytes of names are compared for entries that met nothing. It bounds the time that a report takes: what is
// not compared any more has no near name but one that is the same at its end.
const maxCompared = 1 << 19

// near finds for each entry that met nothing the nearest name that the manifests have: one that takes few slips of the pen to
// become the entry's, all in its last component or all in front of it, or else one that is the same behind the registry or in its last component.
func (w *writer) near() {
	if !slices.ContainsFunc(w.report.Entries, func(e Entry) bool { return e.Unused() }) {
		return
	}
	var names []string
	seen := make(map[string]bool)
	for i := range w.report.Places {
		p := &w.report.Places[i]
		name, _, _ := reference.Split(cmp.Or(p.Whole, p.Image))
		if p.Status != Suspected && !seen[name] && name != "" && len(name) <= longest {
			seen[name] = true
			names = append(names, name)
		}
	}
	slices.Sort(names)
	paths, lasts := make(map[string]string), make(map[string]string) // the first name with that end
	alike := make(map[string][]string)                               // names by what is in front of the last component, and by that
	for _, name := range names {
		path, last := endsOf(w.spell(name))
		if _, ok := paths[path]; !ok {
			paths[path] = name
		}
		if _, ok := lasts[last]; !ok {
			lasts[last] = name
		}
		front := name[:strings.LastIndexByte(name, '/')+1]
		alike[front], alike["/"+last] = append(alike[front], name), append(alike["/"+last], name)
	}
	room := maxCompared
	var row []int
	for i := range w.report.Entries {
		e := &w.report.Entries[i]
		if !e.Unused() || len(e.Name) > longest {
			continue
		}
		path, last := endsOf(w.spell(e.Name))
		best := 1 + min(3, len(e.Name)/4)
		for _, list := range [][]string{alike[e.Name[:strings.LastIndexByte(e.Name, '/')+1]], alike["/"+last]} {
			for _, name := range list {
				if d := len(name) - len(e.Name); d >= best || -d >= best {
					continue
				}
				a, b := differing(e.Name, name)
				if room -= 8 + len(b); room < 0 {
					break
				}
				if d := distance(a, b, best, &row); d < best {
					best, e.Near = d, name
				}
			}
		}
		if e.Near == "" {
			e.Near = cmp.Or(paths[path], lasts[last])
		}
	}
}

// endsOf returns a name without its registry, and its last component.
func endsOf(name string) (path, last string) {
	path = name
	if image, err := reference.Parse(name); err == nil {
		path = image.Path()
	}
	return path, path[strings.LastIndexByte(path, '/')+1:]
}

// differing returns what two texts do not have in common at their starts and ends.
func differing(a, b string) (string, string) {
	n := 0
	for n < len(a) && n < len(b) && a[n] == b[n] {
		n++
	}
	a, b = a[n:], b[n:]
	for len(a) > 0 && len(b) > 0 && a[len(a)-1] == b[len(b)-1] {
		a, b = a[:len(a)-1], b[:len(b)-1]
	}
	return a, b
}

// distance returns how many bytes have to be put in, taken out or changed to make one text of another, or limit where it is as
// much. It looks only at what is that near to the diagonal.
func distance(a, b string, limit int, room *[]int) int {
	*room = slices.Grow((*room)[:0], len(b)+1)[:len(b)+1]
	row := *room
	for j := range row {
		row[j] = min(j, limit)
	}
	for i := 1; i <= len(a); i++ {
		from, to := max(1, i-limit), min(len(b), i+limit)
		before := row[from-1] // up and left
		if from == 1 {
			row[0] = min(i, limit)
		} else {
			row[from-1] = limit
		}
		least := row[from-1]
		for j := from; j <= to; j++ {
			d := before
			if a[i-1] != b[j-1] {
				d = 1 + min(before, row[j], row[j-1])
			}
			before, row[j] = row[j], min(d, limit)
			least = min(least, row[j])
		}
		if to < len(b) {
			row[to+1] = limit
		}
		if least >= limit {
			return limit
		}
	}
	return row[len(b)]
}
