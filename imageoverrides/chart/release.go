// SPDX-License-Identifier: Apache-2.0

package chart

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/cozystack/image-overrides/internal/quote"
)

const releaseKind = "HelmRelease"

// A verdict is what was found of a release, in every world in which it is rendered.
type verdict struct {
	place
	rule      Rule
	call      place // of RulePlace, RuleContext, RuleSubchart
	where     string
	condition atom // of RuleCondition
}

// A sighting is a release in one world.
type sighting struct {
	served bool
	fault  Rule
	call   place
	where  string
}

// A judge finds the releases in the output of a template.
type judge struct {
	*machine
	verdicts []verdict
	root     *tree          // the template
	open     bool           // it is a named template that nobody includes; its context is not known
	printed  map[place]bool // the calls whose result is printed somewhere
	found    []place        // of the releases, those that are served too
	room     int
	effort   int

	kinds map[*source][]int        // the lines of the places, for unprinted
	shown map[*source]map[int]bool // the lines of the calls whose result is printed
}

// The limits of what is tried for one template.
const (
	maxRoom     = 12 << 20 // bytes that are rendered in all
	maxTogether = 8        // conditions that are tried in every combination
)

// judge looks at the releases in an output. It reports whether all of it could be done.
func (j *judge) output(o *output) (ok bool) {
	j.room, j.effort = maxRoom, maxRoom
	j.prints(o, make(map[*output]bool))
	for _, part := range j.parts(o) {
		if !j.part(part) {
			return false
		}
	}
	return true
}

// prints collects the calls whose result is somewhere in an output.
func (j *judge) prints(o *output, seen map[*output]bool) {
	if o == nil || o.has&hasCall == 0 || seen[o] {
		return
	}
	seen[o] = true
	if o.op == opText {
		for _, m := range readOutline(o.text).calls {
			j.printed[j.calls[m.number].place] = true
		}
	}
	for _, inner := range o.list {
		j.prints(inner, seen)
	}
}

// A part is one document, or a few that belong together: what stands between two separators.
type part []guarded

type guarded struct {
	*output
	cond *condition
}

// parts cuts an output at its separators, as far as branches allow it.
func (j *judge) parts(o *output) (list []part) {
	var now part
	cut := func() {
		if len(now) > 0 {
			list = append(list, now)
			now = nil
		}
	}
	var collect func(o *output, c *condition)
	collect = func(o *output, c *condition) {
		switch {
		case o == nil:
		case o.has&hasSeparator == 0 || o.op == opApply || o.op == opStop || o.op == opFail:
			now = append(now, guarded{o, c})
		case o.op == opSeq:
			for _, item := range o.list {
				collect(item, c)
			}
		case o.op == opLoop:
			collect(o.list[0], c)
		case o.op == opBranch:
			collect(o.list[0], j.and(c, o.cond))
			collect(o.list[1], j.and(c, j.not(o.cond)))
		default:
			text := o.text
			for {
				i := separatorIn(text)
				if i < 0 {
					break
				}
				now = append(now, guarded{plain(text[:i]), c})
				cut()
				now = append(now, guarded{plain(text[i : i+3]), c})
				text = text[i+3:]
			}
			now = append(now, guarded{plain(text), c})
		}
	}
	collect(o, always)
	cut()
	return list
}

// separatorIn is where a separator of documents begins in a text that is part of a line, or -1.
func separatorIn(text string) int {
	for from := 0; ; {
		i := strings.Index(text[from:], "---")
		if i < 0 {
			return -1
		}
		i += from
		if (i == 0 || text[i-1] == '\n') && (i+3 == len(text) || strings.IndexByte(" \t\r\n", text[i+3]) >= 0) {
			return i
		}
		from = i + 3
	}
}

// part looks at the releases of one part, in all the worlds that matter to it.
func (j *judge) part(p part) (ok bool) {
	var has features
	for _, g := range p {
		if g.output != nil {
			has |= g.has
		}
	}
	if has&hasKind == 0 {
		return true
	}
	matter, rest, spots := j.survey(p)
	all := slices.Concat(matter, rest)
	w := make(world, len(j.atoms))
	for i := range w {
		w[i] = true
	}
	seen := make(map[int][]seenIn)
	try := func() bool {
		if j.impossible(w, matter, rest) {
			return true
		}
		pr := &printer{world: w, room: j.room}
		var b strings.Builder
		for _, g := range p {
			if !w.holds(g.cond) {
				continue
			}
			if end := pr.print(&b, g.output); end == failed {
				j.room = pr.room
				return j.room >= 0
			}
		}
		j.room = pr.room - b.Len()
		now := make([]bool, len(all))
		for i, a := range all {
			now[i] = w[a]
		}
		for site, found := range j.sightings(readOutline(b.String())) {
			seen[site] = append(seen[site], seenIn{now, found})
		}
		return j.room >= 0
	}
	if len(matter) <= maxTogether {
		for _, others := range []bool{true, false} {
			for _, a := range rest {
				w[a] = others
			}
			for n := range 1 << len(matter) {
				for i, a := range matter {
					w[a] = n>>i&1 == 0
				}
				if !try() {
					return false
				}
			}
			if len(rest) == 0 {
				break
			}
		}
	} else if !j.some(w, matter, rest, spots, try) {
		return false
	}
	for _, site := range slices.Sorted(maps.Keys(seen)) {
		j.decide(site, seen[site], all)
	}
	return true
}

// some tries some worlds, where all would be too many: with all conditions true, or all false, each of
// them the other way in turn; and the same for every place of a release, on the way that leads
// there and with the conditions around it.
func (j *judge) some(w world, matter, rest []int, spots []*spot, try func() bool) bool {
	for _, others := range []bool{true, false} {
		for _, s := range append(spots, &spot{always, matter}) {
			fixed := make(map[int]bool)
			for _, list := range [][]int{matter, rest} {
				for _, a := range list {
					w[a] = others
				}
			}
			w.want(s.cond, true, fixed)
			if !try() {
				return false
			}
			for _, a := range s.near {
				if fixed[a] {
					continue
				}
				w[a] = !w[a]
				if !try() {
					return false
				}
				w[a] = !w[a]
			}
		}
	}
	return true
}

// A spot is a condition under which there is the place of a release, with the atoms that matter
// between the places in front of it and behind.
type spot struct {
	cond *condition
	near []int
}

// survey lists the atoms of a part: those that decide over something that matters, and the
// others. And it lists the spots.
func (j *judge) survey(p part) (matter, rest []int, spots []*spot) {
	first := make(map[int]bool)
	other := make(map[int]bool)
	seen := make(map[*output]bool)
	known := make(map[*condition]*spot)
	var last *spot
	var recent []int
	decides := func(a int) {
		first[a] = true
		recent = append(recent, a)
		if last != nil {
			last.near = append(last.near, a)
		}
	}
	var walk func(o *output, c *condition)
	walk = func(o *output, c *condition) {
		if o == nil || o.has&(hasBranch|hasKind) == 0 || seen[o] {
			return
		}
		seen[o] = true
		switch o.op {
		case opBranch:
			if o.has&(hasCall|hasKind|hasKey) != 0 || stops(o) {
				atomsOf(o.cond, decides)
			} else {
				atomsOf(o.cond, func(a int) { other[a] = true })
			}
			walk(o.list[0], j.and(c, o.cond))
			walk(o.list[1], j.and(c, j.not(o.cond)))
		case opText:
			if last = known[c]; last == nil {
				last = &spot{cond: c}
				known[c] = last
				spots = append(spots, last)
			}
			last.near = append(last.near, recent...)
			recent = nil
		default:
			for _, inner := range o.list {
				walk(inner, c)
			}
		}
	}
	for _, g := range p {
		atomsOf(g.cond, decides)
		walk(g.output, g.cond)
	}
	for a := range first {
		delete(other, a)
	}
	for _, s := range spots {
		slices.Sort(s.near)
		s.near = slices.Compact(s.near)
	}
	return slices.Sorted(maps.Keys(first)), slices.Sorted(maps.Keys(other)), spots
}

// stops reports whether an arm of a branch is nothing but the end of a range or of the rendering.
func stops(o *output) bool {
	return slices.ContainsFunc(o.list, func(arm *output) bool {
		if arm != nil && arm.op == opSeq {
			arm = arm.list[len(arm.list)-1]
		}
		return arm != nil && (arm.op == opStop || arm.op == opFail)
	})
}

// impossible reports whether a world is one that cannot be: a value is two things at once, or
// the rendering fails.
func (j *judge) impossible(w world, matter, rest []int) bool {
	known := make(map[int]bool)
	is := make(map[string]string)
	for _, list := range [][]int{matter, rest} {
		for _, n := range list {
			known[n] = true
			if a := j.atoms[n]; a.about != "" && w[n] {
				if with, ok := is[a.about]; ok && with != a.with {
					return true
				}
				is[a.about] = a.with
			}
		}
	}
	return slices.ContainsFunc(j.failures, func(c *condition) bool {
		all := true
		atomsOf(c, func(a int) { all = all && known[a] })
		return all && w.holds(c)
	})
}

type seenIn struct {
	world []bool // of the atoms that matter, and of the others
	found []sighting
}

// sightings finds the releases of one world, by the numbers of their places.
func (j *judge) sightings(o *outline) map[int][]sighting {
	var found map[int][]sighting
	for _, root := range o.roots {
		visit(root, func(n *node, top, item bool) {
			kind := n.get("kind")
			if kind == nil || kind.text != releaseKind || !isRelease(n, top, item) {
				return
			}
			site, ok := o.site(kind)
			if !ok {
				site = j.site(place{tree: j.root})
			}
			if found == nil {
				found = make(map[int][]sighting)
			}
			found[site] = append(found[site], j.look(n))
		})
	}
	return found
}

// visit calls f with each map below a node. Text is not looked into: a manifest in it is
// none of the chart's own.
func visit(root *node, f func(n *node, top, item bool)) {
	type step struct {
		*node
		top, item bool
	}
	for todo := []step{{root, true, false}}; len(todo) > 0; {
		n := todo[len(todo)-1]
		todo = todo[:len(todo)-1]
		switch n.kind {
		case isMap:
			f(n.node, n.top, n.item)
			for _, e := range n.entries {
				todo = append(todo, step{e.value, false, false})
				if e.key == "items" {
					for _, item := range e.value.items {
						todo = append(todo, step{item, false, true})
					}
					todo[len(todo)-1-len(e.value.items)].node = &node{}
				}
			}
		case isList:
			for _, item := range n.items {
				todo = append(todo, step{item, false, n.top})
			}
		}
	}
}

// isRelease reports whether a map with that kind is a release. It is none but refers to one, as
// targetRef and healthChecks do, if it has neither metadata nor spec; unless it is a document with
// no name in their place, or an item of a list with something in it that is not known.
func isRelease(n *node, top, item bool) bool {
	if n.get("metadata") != nil || n.get("spec") != nil {
		return true
	}
	return n.get("name") == nil && (top || item && n.open)
}

// look says of a release whether it is served.
func (j *judge) look(n *node) sighting {
	renderers := n.get("spec").get("postRenderers")
	var fault sighting
	for _, call := range items(renderers) {
		c := j.calls[call]
		if c.fault == "" {
			return sighting{served: true}
		}
		fault = sighting{fault: c.fault, call: c.place, where: c.what}
	}
	if fault.fault == "" && renderers != nil && renderers.given(j) {
		return sighting{served: true}
	}
	if fault.fault != "" {
		return fault
	}
	if call, where, ok := elsewhere(n); ok {
		return sighting{fault: RulePlace, call: j.calls[call].place, where: where}
	}
	return sighting{fault: RuleCall}
}

// given reports whether what is not known comes from who includes the template.
func (n *node) given(j *judge) bool { return n.open && j.open }

// items is the calls whose item is one of a list.
func items(n *node) []int {
	if n = n.real(); n == nil {
		return nil
	}
	list := n.calls
	for _, item := range n.items {
		if item = item.real(); item != nil && (item.kind == isScalar || item.kind == isEmpty) {
			list = append(list[:len(list):len(list)], item.calls...)
		}
	}
	return list
}

// elsewhere finds a call in a release that does not stand where it belongs.
func elsewhere(n *node) (call int, where string, ok bool) {
	type step struct {
		*node
		path []string
	}
	best := -1
	for todo := []step{{n, nil}}; len(todo) > 0; {
		n := todo[len(todo)-1]
		todo = todo[:len(todo)-1]
		for _, list := range [][]int{n.calls, n.quoted} {
			for _, c := range list {
				if best < 0 || c < best {
					best, where = c, strings.Join(n.path, ".")
				}
			}
		}
		for _, e := range n.entries {
			path := n.path
			if len(path) < 3 && e.key != "" {
				path = append(path[:len(path):len(path)], e.key)
			}
			todo = append(todo, step{e.value, path})
		}
		for _, item := range n.items {
			todo = append(todo, step{item, n.path})
		}
	}
	return best, where, best >= 0
}

// decide turns what was seen of a release into a verdict.
func (j *judge) decide(site int, seen []seenIn, atoms []int) {
	j.found = append(j.found, j.sites[site])
	var good [][]bool
	var bad []seenIn
	for _, in := range seen {
		if i := slices.IndexFunc(in.found, func(s sighting) bool { return !s.served }); i >= 0 {
			in.found = in.found[i : i+1]
			bad = append(bad, in)
		} else {
			good = append(good, in.world)
		}
	}
	if len(bad) == 0 {
		return
	}
	s := bad[0].found[0]
	v := verdict{place: j.sites[site], rule: s.fault, call: s.call, where: s.where}
	if len(good) > 0 && (s.fault == RuleCall || s.fault == RulePlace) {
		v.rule = RuleCondition
		v.condition = j.atoms[atoms[j.difference(good, bad)]]
	}
	j.verdicts = append(j.verdicts, v)
}

// difference is the first condition in which a good world and a bad one differ that are as much
// alike as can be, as far as the effort goes.
func (j *judge) difference(good [][]bool, bad []seenIn) int {
	at, least := 0, -1
	for _, b := range bad {
		for _, g := range good {
			if j.effort -= len(g); j.effort < 0 && least >= 0 {
				return at
			}
			n, first := 0, 0
			for i := range g {
				if g[i] != b.world[i] {
					if n++; n == 1 {
						first = i
					}
				}
			}
			if n > 0 && (least < 0 || n < least) {
				at, least = first, n
			}
		}
	}
	return at
}

// miss is the miss of a verdict.
func (j *judge) miss(v verdict) Miss {
	const lost = "; its images are not overridden"
	m := Miss{File: v.source.file, Line: v.line(), Rule: v.rule}
	switch v.rule {
	case RulePlace:
		at := "in " + quote.Plain(v.where)
		if v.where == "" {
			at = "beside its fields"
		}
		m.Message = fmt.Sprintf("this HelmRelease calls %s %s (%s), not as the items of its spec.postRenderers%s", helper, at, j.from(v, v.call), lost)
	case RuleCondition:
		if name := v.condition.several; name != "" {
			m.Message = fmt.Sprintf("this HelmRelease includes %s (%s), of which there are several, and not each calls %s; give them names of their own", quote.Value(name), j.from(v, v.condition.at), helper)
			break
		}
		m.Message = fmt.Sprintf("this HelmRelease has what %s returns under a condition only (%s); where that is otherwise its images are not overridden", helper, j.from(v, v.condition.at))
	case RuleContext:
		m.Message = fmt.Sprintf("this HelmRelease calls %s with %s (%s), in which there is no .Values._cluster; pass the root context, $", helper, v.where, j.from(v, v.call))
	case RuleSubchart:
		m.Message = fmt.Sprintf("this HelmRelease is in a subchart, to which Helm hands no .Values._cluster (%s); render it in the parent chart, or pass %s a context with the table out of .Values.global", j.from(v, v.call), helper)
	case RuleUnprinted:
		m.Message = fmt.Sprintf("this HelmRelease calls %s (%s) and prints nothing of it%s", helper, j.from(v, v.call), lost)
	default:
		m.Message = "this HelmRelease does not call " + helper + lost
	}
	return m
}

// from tells a place, with its file where that is another one than the release's.
func (j *judge) from(v verdict, p place) string {
	if p.source == v.source {
		return fmt.Sprintf("line %d", p.line())
	}
	return fmt.Sprintf("%s:%d", quote.Plain(p.source.file), p.line())
}
