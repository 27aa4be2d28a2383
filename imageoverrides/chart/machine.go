// SPDX-License-Identifier: Apache-2.0

package chart

import (
	"text/template/parse"
)

// A machine goes through a template as Helm's engine does, with values that are not known. Where
// they decide it goes both ways.
type machine struct {
	named map[string][]*tree // what include finds
	sub   bool               // the chart is a subchart
	under map[*tree]bool     // the templates that were gone through

	conditions map[string]*condition
	atoms      []atom
	sites      []place
	calls      []helperCall
	included   map[inclusion]*output
	truths     map[writing]*condition
	ids        map[*output]string
	failures   []*condition // under which there is no rendering
	serial     int
	steps      int // that are left
	depth      int // of templates in templates

	guard *guard
	here  place
	tree  *tree
	dot   value
	vars  []variable
}

// The limits of one template, which are far beyond those that are meant.
const (
	maxSteps   = 1_000_000 // actions and texts, those of included templates counted each time
	maxInclude = 60        // templates in templates
)

// A guard is the branches that are being taken.
type guard struct {
	above *guard
	all   *condition // all of them hold
}

type variable struct {
	name  string
	value value
	guard *guard // in which it was declared
}

// A helperCall is a call of the helper that is gone through.
type helperCall struct {
	place
	fault Rule // of its context, or ""
	what  string
}

type inclusion struct {
	tree  *tree
	dot   string
	guard *guard
}

func newMachine(named map[string][]*tree, sub bool, under map[*tree]bool) *machine {
	return &machine{
		named: named, sub: sub, under: under, steps: maxSteps, guard: &guard{all: always},
		conditions: make(map[string]*condition), included: make(map[inclusion]*output),
		truths: make(map[writing]*condition), ids: make(map[*output]string),
	}
}

func (m *machine) site(at place) int {
	m.sites = append(m.sites, at)
	return len(m.sites) - 1
}

// run is what a template writes for a context.
func (m *machine) run(t *tree, dot value) *output {
	m.under[t] = true
	if t.root == nil {
		return nil
	}
	saved := *m
	m.tree, m.dot = t, dot
	m.vars = []variable{{"$", dot, m.guard}}
	m.depth++
	o := m.list(t.root)
	m.tree, m.dot, m.vars, m.here, m.depth = saved.tree, saved.dot, saved.vars, saved.here, saved.depth
	return o
}

func (m *machine) at(p parse.Pos) place { return place{m.tree, int(p)} }

// list is what the nodes of a list write. Variables that they declare end with it.
func (m *machine) list(n *parse.ListNode) *output {
	if n == nil {
		return nil
	}
	declared := len(m.vars)
	var parts []*output
	for _, node := range n.Nodes {
		if m.steps--; m.steps < 0 {
			break
		}
		parts = append(parts, m.node(node))
	}
	m.vars = m.vars[:declared]
	return sequence(parts...)
}

func (m *machine) node(node parse.Node) *output {
	switch n := node.(type) {
	case *parse.TextNode:
		return m.verbatim(string(n.Text), m.at(n.Pos))
	case *parse.ActionNode:
		m.here = m.at(n.Pos)
		v := m.pipe(n.Pipe)
		if _, ok := v.(failing); ok {
			m.failures = append(m.failures, m.guard.all)
			return &output{op: opFail}
		}
		if len(n.Pipe.Decl) > 0 {
			return nil
		}
		return m.show(v)
	case *parse.TemplateNode:
		m.here = m.at(n.Pos)
		var dot value = constant{}
		if n.Pipe != nil {
			dot = m.pipe(n.Pipe)
		}
		return m.show(m.include(n.Name, dot, m.at(n.Pos)))
	case *parse.IfNode:
		return m.branch(&n.BranchNode, nil)
	case *parse.WithNode:
		return m.branch(&n.BranchNode, func(v value) value { return v })
	case *parse.RangeNode:
		return m.loop(n)
	case *parse.BreakNode, *parse.ContinueNode:
		return &output{op: opStop}
	}
	return nil // comments and definitions
}

// within goes through something in a branch.
func (m *machine) within(c *condition, f func() *output) *output {
	if c.op == opNever {
		return nil
	}
	if c.op != opAlways {
		above := m.guard
		m.guard = &guard{above, m.and(above.all, c)}
		defer func() { m.guard = above }()
	}
	return f()
}

// branch goes through an if, or a with, which has a dot.
func (m *machine) branch(n *parse.BranchNode, dot func(value) value) *output {
	m.here = m.at(n.Pos)
	declared, before := len(m.vars), m.dot
	v := m.pipe(n.Pipe)
	m.here = m.at(n.Pos)
	c := m.truth(v)
	a := m.within(c, func() *output {
		if dot != nil {
			m.dot = dot(v)
		}
		return m.list(n.List)
	})
	m.dot = before
	b := m.within(m.not(c), func() *output { return m.list(n.ElseList) })
	m.vars = m.vars[:declared]
	return branch(c, a, b)
}

// maxTurns is how often a range over a list that is known is gone through.
const maxTurns = 16

// loop goes through a range: once for each item of a list that is known, and otherwise once.
func (m *machine) loop(n *parse.RangeNode) *output {
	m.here = m.at(n.Pos)
	declared, before := len(m.vars), m.dot
	pipe := *n.Pipe
	pipe.Decl = nil // they are of the items
	v := m.pipe(&pipe)
	m.here = m.at(n.Pos)
	c := m.truth(v)
	body := m.within(c, func() *output {
		var turns []*output
		for i, it := range m.items(v, always) {
			if i == maxTurns {
				break
			}
			m.vars = m.vars[:declared]
			switch decl := n.Pipe.Decl; len(decl) {
			case 1:
				m.vars = append(m.vars, variable{decl[0].Ident[0], it.value, m.guard})
			case 2:
				m.vars = append(m.vars, variable{decl[0].Ident[0], it.key, m.guard}, variable{decl[1].Ident[0], it.value, m.guard})
			}
			m.dot = it.value
			turns = append(turns, branch(it.when, m.within(it.when, func() *output { return m.list(n.List) }), nil))
		}
		o := sequence(turns...)
		if o != nil {
			o = &output{op: opLoop, list: []*output{o}, has: o.has}
		}
		return o
	})
	m.dot = before
	m.vars = m.vars[:declared]
	rest := m.within(m.not(c), func() *output { return m.list(n.ElseList) })
	m.vars = m.vars[:declared]
	return branch(c, body, rest)
}

// A turn is one item of a range.
type turn struct {
	key, value value
	when       *condition
}

// items is what a range over a value goes through where a condition holds.
func (m *machine) items(v value, when *condition) []turn {
	switch v := v.(type) {
	case *list:
		var turns []turn
		for i, it := range v.items {
			if it.spread {
				turns = append(turns, m.items(it.value, when)...)
			} else {
				turns = append(turns, turn{constant{of: float64(i)}, it.value, when})
			}
			if len(turns) > maxTurns {
				break
			}
		}
		return turns
	case *dict:
		var turns []turn
		for _, k := range v.keys {
			if len(turns) > maxTurns {
				break
			}
			value := v.values[k]
			turns = append(turns, turn{constant{of: k}, value, m.and(when, m.not(m.missing(value)))})
		}
		for _, b := range v.bases {
			turns = append(turns, m.items(b, when)...)
		}
		return turns
	case *choice:
		return append(m.items(v.a, m.and(when, v.cond)), m.items(v.b, m.and(when, m.not(v.cond)))...)
	case decoded:
		return []turn{{m.made("key", v), decoded{output: v.output, item: true}, when}}
	case *unknown:
		item := &unknown{id: brief(v.id + "[]"), chart: v.chart, path: v.further("[]")}
		return []turn{{m.made("key", v), item, when}}
	}
	return []turn{{m.made("key", v), m.made("item", v), when}}
}

// pipe is the value of a pipeline, which its variables get too.
func (m *machine) pipe(n *parse.PipeNode) value {
	if n == nil {
		return constant{}
	}
	var v value
	for _, command := range n.Cmds {
		v = m.command(command, v)
	}
	for _, decl := range n.Decl {
		name := decl.Ident[0]
		if !n.IsAssign {
			m.vars = append(m.vars, variable{name, v, m.guard})
			continue
		}
		for i := len(m.vars) - 1; i >= 0; i-- {
			if known := &m.vars[i]; known.name == name {
				if known.guard == m.guard {
					known.value = v
				} else {
					known.value = m.choose(m.guard.all, v, known.value)
				}
				break
			}
		}
	}
	return v
}

// command is the value of one part of a pipeline, with that of the part in front, if any.
func (m *machine) command(n *parse.CommandNode, last value) value {
	if m.steps--; m.steps < 0 {
		return m.fresh()
	}
	var args []value
	for _, arg := range n.Args[1:] {
		args = append(args, m.arg(arg))
	}
	if last != nil {
		args = append(args, last)
	}
	if f, ok := n.Args[0].(*parse.IdentifierNode); ok {
		return m.call(f.Ident, args, m.at(f.Pos))
	}
	v := m.arg(n.Args[0])
	if len(args) > 0 { // a method
		return m.made("call", append([]value{v}, args...)...)
	}
	return v
}

// arg is the value of one argument.
func (m *machine) arg(node parse.Node) value {
	switch n := node.(type) {
	case *parse.DotNode:
		return m.dot
	case *parse.NilNode:
		return constant{}
	case *parse.StringNode:
		return constant{n.Text, m.at(n.Pos)}
	case *parse.BoolNode:
		return constant{of: n.True}
	case *parse.NumberNode:
		switch {
		case n.IsInt:
			return constant{of: float64(n.Int64)}
		case n.IsFloat:
			return constant{of: n.Float64}
		}
		return m.made(n.Text)
	case *parse.FieldNode:
		return m.fields(m.dot, n.Ident)
	case *parse.VariableNode:
		for i := len(m.vars) - 1; i >= 0; i-- {
			if m.vars[i].name == n.Ident[0] {
				return m.fields(m.vars[i].value, n.Ident[1:])
			}
		}
	case *parse.ChainNode:
		return m.fields(m.arg(n.Node), n.Field)
	case *parse.PipeNode:
		return m.pipe(n)
	case *parse.IdentifierNode:
		return m.call(n.Ident, nil, m.at(n.Pos))
	}
	return m.fresh()
}

func (m *machine) fields(v value, names []string) value {
	for _, name := range names {
		v = m.field(v, name)
	}
	return v
}

// include is what a named template writes. Of several with one name Helm takes one, by
// the order of their files; here each is possible.
func (m *machine) include(name string, dot value, at place) value {
	if name == helper {
		fault, what := m.context(dot)
		m.calls = append(m.calls, helperCall{at, fault, what})
		return text{plain("- " + mark(callMark, len(m.calls)-1))}
	}
	trees := m.named[name]
	if len(trees) == 0 || m.depth > maxInclude {
		u := m.made("include", constant{of: name}, dot)
		if name == Name+".table" {
			u.chart, u.path = true, []string{"Values", "registries", "imageOverrides"}
		}
		return u
	}
	var o *output
	for i, t := range trees {
		key := inclusion{t, m.id(dot), m.guard}
		one, ok := m.included[key]
		if !ok {
			one = m.run(t, dot)
			m.included[key] = one
		}
		if i == 0 {
			o = one
			continue
		}
		o = branch(m.atom(atom{id: m.fresh().id, several: name}), one, o)
	}
	return text{o}
}

// A failing is what fail returns: nothing is rendered.
type failing struct{}
