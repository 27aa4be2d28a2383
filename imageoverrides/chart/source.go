// SPDX-License-Identifier: Apache-2.0

package chart

import (
	"maps"
	"slices"
	"strconv"
	"strings"
	"text/template/parse"
)

// A source is a file of templates.
type source struct {
	file     string
	text     string
	trees    []*tree
	releases []*helmRelease // in the order of their lines
}

// A tree is the file's own template, or a named one that it defines.
type tree struct {
	source  *source
	name    string
	masked  []byte // the file, with everything but the template's own text blank
	spans   []span
	calls   []call
	strings []literal
}

// A span is a text of the template by its offsets, with the branches that it is in.
type span struct {
	from, to int
	path     []branch
}

// A call is an include, or a template action, of a named template.
type call struct {
	name string
	spot
}

// A literal is a string in an action.
type literal struct {
	text string
	kind bool // it stands behind the string kind, as in dict "kind" "HelmRelease"
	spot
}

// A spot is a place in a template.
type spot struct {
	at   int      // the offset
	path []branch // the branches that it is in, from the outside
}

// A branch is one of the two lists of an if, with or range.
type branch struct {
	at        parse.Pos // where that begins
	otherwise bool      // the list is the one behind else
}

// near reports whether two places may be rendered together: one is in every branch that the
// other is in.
func (s spot) near(other spot) bool {
	n := min(len(s.path), len(other.path))
	return slices.Equal(s.path[:n], other.path[:n])
}

// parseSource reads a file as text/template does. The error is an [*Error].
func parseSource(file, text string) (*source, error) {
	t := parse.New(file)
	t.Mode = parse.SkipFuncCheck // Helm has functions that are not known here
	parsed := make(map[string]*parse.Tree)
	if _, err := t.Parse(text, "", "", parsed); err != nil {
		return nil, parseError(file, err)
	}
	parsed[file] = t // which is not there if it is empty
	s := &source{file: file, text: text}
	for _, name := range slices.Sorted(maps.Keys(parsed)) {
		tree := &tree{source: s, name: name, masked: blank(text)}
		tree.walk(parsed[name].Root, nil)
		s.trees = append(s.trees, tree)
		s.releases = append(s.releases, tree.releases()...)
	}
	slices.SortStableFunc(s.releases, func(a, b *helmRelease) int { return a.at - b.at })
	return s, nil
}

// parseError takes the line out of an error of text/template: "template: file:line: reason", or
// "template: file:line:column: reason".
func parseError(file string, err error) *Error {
	e := &Error{File: file, Line: 1, Reason: err.Error()}
	if rest, ok := strings.CutPrefix(e.Reason, "template: "+file+":"); ok {
		at, reason, _ := strings.Cut(rest, ": ")
		at, _, _ = strings.Cut(at, ":")
		if line, err := strconv.Atoi(at); err == nil {
			e.Line, e.Reason = line, reason
		}
	}
	return e
}

// blank is a text of spaces, with the lines of another.
func blank(text string) []byte {
	b := []byte(text)
	for i, c := range b {
		if c != '\n' {
			b[i] = ' '
		}
	}
	return b
}

// spot is the place of an offset in the template's own text.
func (t *tree) spot(at int) spot {
	for _, s := range t.spans {
		if s.from <= at && at < s.to {
			return spot{at, s.path}
		}
	}
	return spot{at: at}
}

// walk collects what a node has, which is in the given branches.
func (t *tree) walk(node parse.Node, path []branch) {
	switch n := node.(type) {
	case *parse.ListNode:
		if n == nil {
			return
		}
		for _, item := range n.Nodes {
			t.walk(item, path)
		}
	case *parse.TextNode:
		from := int(n.Pos)
		copy(t.masked[from:], n.Text)
		t.spans = append(t.spans, span{from, from + len(n.Text), path})
	case *parse.IfNode:
		t.branches(&n.BranchNode, path)
	case *parse.WithNode:
		t.branches(&n.BranchNode, path)
	case *parse.RangeNode:
		t.branches(&n.BranchNode, path)
	case *parse.TemplateNode:
		t.calls = append(t.calls, call{n.Name, spot{int(n.Pos), path}})
		t.pipe(n.Pipe, path)
	case *parse.ActionNode:
		t.pipe(n.Pipe, path)
	}
}

// branches collects both lists of an if, with or range. Its pipeline is outside of both.
func (t *tree) branches(n *parse.BranchNode, path []branch) {
	t.pipe(n.Pipe, path)
	path = slices.Clip(path)
	t.walk(n.List, append(path, branch{n.Pos, false}))
	t.walk(n.ElseList, append(path, branch{n.Pos, true}))
}

// pipe collects the calls and the strings of a pipeline.
func (t *tree) pipe(n *parse.PipeNode, path []branch) {
	if n == nil {
		return
	}
	for _, command := range n.Cmds {
		var before parse.Node
		for _, arg := range command.Args {
			switch a := arg.(type) {
			case *parse.PipeNode:
				t.pipe(a, path)
			case *parse.ChainNode: // (…).field
				if inner, ok := a.Node.(*parse.PipeNode); ok {
					t.pipe(inner, path)
				}
			case *parse.StringNode:
				s := spot{int(a.Pos), path}
				if f, ok := before.(*parse.IdentifierNode); ok && f.Ident == "include" {
					t.calls = append(t.calls, call{a.Text, s})
				}
				key, ok := before.(*parse.StringNode)
				t.strings = append(t.strings, literal{a.Text, ok && key.Text == "kind", s})
			}
			before = arg
		}
	}
}
