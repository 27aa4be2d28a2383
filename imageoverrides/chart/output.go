// SPDX-License-Identifier: Apache-2.0

package chart

import (
	"strconv"
	"strings"
)

// An output is what a template writes, in every rendering: a tree with the branches that
// values decide. A nil output is empty.
type output struct {
	op   outputOp
	text string              // of opText
	id   string              // of a text that values decide
	list []*output           // of opSeq; of opBranch both arms; of opLoop and opApply the one that is meant
	cond *condition          // of opBranch
	f    func(string) string // of opApply
	trim bool                // it takes white space away at both ends
	has  features
}

type outputOp byte

const (
	opText   outputOp = iota
	opSeq             // one after the other
	opBranch          // one of two
	opLoop            // the body of a range, once
	opApply           // what a function makes of another output
	opStop            // break and continue
	opFail            // no rendering at all
)

// features are what an output has somewhere in it.
type features byte

const (
	hasCall      features = 1 << iota // of the helper
	hasKind                           // a HelmRelease's
	hasKey                            // of those on the way to the post-renderers
	hasSeparator                      // of documents
	hasBranch
)

// What is not known as text stands in an output as one of these.
const (
	unknownMark = "\x00" // a text that values decide
	callMark    = '\x01' // an item that the helper returns: the mark, the number of the call, the mark
	siteMark    = '\x02' // the place of what stands behind, in the same way
)

var marks = strings.NewReplacer("\x00", " ", "\x01", " ", "\x02", " ")

func number(n int) string { return strconv.Itoa(n) }

func mark(c byte, n int) string { return string(c) + strconv.Itoa(n) + string(c) }

// verbatim is a text of the template, with the place of each HelmRelease in it.
func (m *machine) verbatim(text string, at place) *output {
	if text == "" {
		return nil
	}
	if strings.ContainsAny(text, "\x00\x01\x02") {
		text = marks.Replace(text)
	}
	if !strings.Contains(text, releaseKind) {
		return plain(text)
	}
	var b strings.Builder
	for from := 0; ; {
		i := strings.Index(text[from:], releaseKind)
		if i < 0 {
			b.WriteString(text[from:])
			return plain(b.String())
		}
		b.WriteString(text[from : from+i])
		b.WriteString(mark(siteMark, m.site(place{at.tree, at.at + from + i})))
		b.WriteString(releaseKind)
		from += i + len(releaseKind)
	}
}

// quoted is a string in an action, which has one place.
func (m *machine) quoted(text string, at place) *output {
	m.charge(text)
	if text == "" {
		return nil
	}
	if strings.ContainsAny(text, "\x00\x01\x02") {
		text = marks.Replace(text)
	}
	if at.tree == nil {
		at = m.here // a key of a dict, in a range over it
	}
	if mentions(text) && strings.TrimSpace(text) == text {
		text = mark(siteMark, m.site(at)) + text
	}
	return plain(text)
}

// charge counts the work that a text makes.
func (m *machine) charge(text string) { m.steps -= len(text) / 64 }

// plain is a text that has its marks.
func plain(text string) *output {
	if text == "" {
		return nil
	}
	o := &output{op: opText, text: text}
	if strings.IndexByte(text, callMark) >= 0 {
		o.has |= hasCall
	}
	if mentions(text) || strings.IndexByte(text, siteMark) >= 0 {
		o.has |= hasKind
	}
	if strings.Contains(text, "spec") || strings.Contains(text, "postRenderers") || strings.Contains(text, "kind") {
		o.has |= hasKey
	}
	if strings.Contains(text, "---") {
		o.has |= hasSeparator
	}
	return o
}

// sequence is outputs one after the other.
func sequence(list ...*output) *output {
	n := 0
	var has features
	for _, o := range list {
		if o != nil {
			list[n] = o
			has |= o.has
			n++
		}
	}
	switch list = list[:n]; n {
	case 0:
		return nil
	case 1:
		return list[0]
	}
	return &output{op: opSeq, list: list, has: has}
}

// branch is one of two outputs.
func branch(c *condition, a, b *output) *output {
	switch {
	case c.op == opAlways || a == b:
		return a
	case c.op == opNever:
		return b
	}
	o := &output{op: opBranch, list: []*output{a, b}, cond: c, has: hasBranch}
	for _, arm := range o.list {
		if arm != nil {
			o.has |= arm.has
		}
	}
	return o
}

// apply is what a function makes of an output. Of an output without branches that is known.
func (m *machine) apply(o *output, f func(string) string) *output {
	if o == nil {
		return plain(f(""))
	}
	if o.op == opText {
		m.charge(o.text)
		if m.steps < 0 {
			return nil
		}
		return plain(f(o.text))
	}
	return &output{op: opApply, list: []*output{o}, f: f, has: o.has}
}

// A printer writes an output as it is in one world.
type printer struct {
	world world
	room  int // how many bytes may be written still
}

type ending byte

const (
	ended   ending = iota
	stopped        // by break or continue, up to the end of the range
	failed         // there is no rendering
)

func (p *printer) print(b *strings.Builder, o *output) ending {
	if o == nil {
		return ended
	}
	switch p.room--; {
	case p.room < 0:
		return failed
	case o.op == opText:
		p.room -= len(o.text)
		b.WriteString(o.text)
	case o.op == opSeq:
		for _, item := range o.list {
			if end := p.print(b, item); end != ended {
				return end
			}
		}
	case o.op == opBranch:
		if p.world.holds(o.cond) {
			return p.print(b, o.list[0])
		}
		return p.print(b, o.list[1])
	case o.op == opLoop:
		if end := p.print(b, o.list[0]); end == failed {
			return failed
		}
	case o.op == opApply:
		var inner strings.Builder
		end := p.print(&inner, o.list[0])
		text := o.f(inner.String())
		p.room -= len(text)
		b.WriteString(text)
		return end
	case o.op == opStop:
		return stopped
	case o.op == opFail:
		return failed
	}
	return ended
}

// truthOf is whether an output is not empty.
func (m *machine) truthOf(o *output) *condition { return m.writes(writing{o, false}) }

// A writing is an output, or what trim leaves of it.
type writing struct {
	*output
	trimmed bool
}

// writes is whether anything is written.
func (m *machine) writes(w writing) *condition {
	o := w.output
	if o == nil {
		return never
	}
	if known, ok := m.truths[w]; ok {
		return known
	}
	empty := func(text string) bool { return text == "" || w.trimmed && strings.TrimSpace(text) == "" }
	truth := always
	switch o.op {
	case opSeq:
		truth = never
		for _, item := range o.list {
			if truth.op != opAlways {
				truth = m.either(truth, always, m.writes(writing{item, w.trimmed}))
			}
		}
	case opBranch:
		truth = m.either(o.cond, m.writes(writing{o.list[0], w.trimmed}), m.writes(writing{o.list[1], w.trimmed}))
	case opLoop:
		truth = m.writes(writing{o.list[0], w.trimmed})
	case opApply:
		if empty(o.f("")) {
			truth = m.writes(writing{o.list[0], w.trimmed || o.trim})
		}
	case opText:
		if o.id != "" {
			truth = m.atom(atom{id: o.id})
		} else {
			truth = m.holds(!empty(o.text))
		}
	case opStop:
		truth = never
	}
	m.truths[w] = truth
	return truth
}
