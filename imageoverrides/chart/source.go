// SPDX-License-Identifier: Apache-2.0

package chart

import (
	"fmt"
	"maps"
	"path"
	"slices"
	"strconv"
	"strings"
	"text/template/parse"
)

// The limits of what a template may cost. What is beyond them is told as an [Error].
const (
	maxFile    = 5 << 20 // bytes of a file; Helm loads none that is larger
	maxNesting = 500     // blocks, or parentheses, in each other; the parser has no limit and recurses
)

// A source is a file of templates.
type source struct {
	file  string
	text  string
	own   *tree   // the file's own template
	named []*tree // those that it defines, by name
	lines []int   // the offsets of the line breaks, once they are needed
}

// A tree is a file's own template, or a named one.
type tree struct {
	source  *source
	name    string
	root    *parse.ListNode
	tells   bool     // it has the kind of releases, or a piece of it
	callees []string // the templates that it includes by a name in the text
	calls   []int    // the lines in which it calls the helper, in their order
	dynamic bool     // it includes some by a name that is made
}

// line is the line of an offset.
func (s *source) line(at int) int {
	if s.lines == nil {
		s.lines = []int{}
		for i := range len(s.text) {
			if s.text[i] == '\n' {
				s.lines = append(s.lines, i)
			}
		}
	}
	n, _ := slices.BinarySearch(s.lines, at)
	return 1 + n
}

// parseSource reads a file as text/template does. The error is an [*Error].
func parseSource(file, text string) (*source, error) {
	s := &source{file: file, text: text}
	if at := tooDeep(text); at >= 0 {
		return nil, &Error{file, s.line(at), fmt.Sprintf("has more than %d blocks or parentheses in each other", maxNesting)}
	}
	t := parse.New(file)
	t.Mode = parse.SkipFuncCheck // Helm has functions that are not known here
	parsed := make(map[string]*parse.Tree)
	if _, err := t.Parse(text, "", "", parsed); err != nil {
		return nil, parseError(file, err)
	}
	delete(parsed, file)
	s.own = s.tree(file, t.Root)
	for _, name := range slices.Sorted(maps.Keys(parsed)) {
		s.named = append(s.named, s.tree(name, parsed[name].Root))
	}
	if !s.own.tells && !s.own.dynamic && len(s.own.callees) == 0 {
		s.own.root = nil // nobody will go through it, and a platform has many
		if len(s.named) == 0 {
			s.text = ""
		}
	}
	return s, nil
}

// tree is a template of the file, with what a look at its nodes says of it.
func (s *source) tree(name string, root *parse.ListNode) *tree {
	t := &tree{source: s, name: name, root: root}
	if root != nil {
		t.survey(root)
	}
	slices.Sort(t.calls)
	return t
}

// survey collects what the nodes of a template mention.
func (t *tree) survey(node parse.Node) {
	switch n := node.(type) {
	case *parse.ListNode:
		if n != nil {
			for _, item := range n.Nodes {
				t.survey(item)
			}
		}
	case *parse.TextNode:
		t.tells = t.tells || mentions(string(n.Text))
	case *parse.IfNode:
		t.surveyBranch(&n.BranchNode)
	case *parse.WithNode:
		t.surveyBranch(&n.BranchNode)
	case *parse.RangeNode:
		t.surveyBranch(&n.BranchNode)
	case *parse.TemplateNode:
		t.include(n.Name, n.Pos)
		t.survey(n.Pipe)
	case *parse.ActionNode:
		t.survey(n.Pipe)
	case *parse.PipeNode:
		if n != nil {
			for _, command := range n.Cmds {
				t.surveyCommand(command)
			}
		}
	case *parse.ChainNode:
		t.survey(n.Node)
	case *parse.StringNode:
		t.tells = t.tells || mentions(n.Text)
	}
}

func (t *tree) surveyBranch(n *parse.BranchNode) {
	t.survey(n.Pipe)
	t.survey(n.List)
	t.survey(n.ElseList)
}

func (t *tree) surveyCommand(command *parse.CommandNode) {
	if f, ok := command.Args[0].(*parse.IdentifierNode); ok && f.Ident == "include" {
		if len(command.Args) > 1 {
			if name, ok := command.Args[1].(*parse.StringNode); ok {
				t.include(name.Text, name.Pos)
			} else {
				t.dynamic = true
			}
		}
	}
	for _, arg := range command.Args {
		t.survey(arg)
	}
}

func (t *tree) include(name string, at parse.Pos) {
	t.callees = append(t.callees, name)
	if name == helper {
		t.calls = append(t.calls, t.source.line(int(at)))
	}
}

// mentions reports whether a text may be a piece of the kind of releases.
func mentions(text string) bool {
	return strings.Contains(text, "Helm") || strings.Contains(text, "Release")
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
	e.Reason = shorten(e.Reason)
	return e
}

// tooDeep returns where a template nests deeper than the limit, or -1. It reads just so much of
// the actions as that takes.
func tooDeep(text string) int {
	var blocks []int // of each open block, how many levels end with it
	depth := 0
	for at := 0; at < len(text); {
		open := strings.Index(text[at:], "{{")
		if open < 0 {
			break
		}
		at += open + len("{{")
		rest := text[at:]
		if len(rest) > 1 && rest[0] == '-' && strings.IndexByte(" \t\r\n", rest[1]) >= 0 {
			rest = rest[1:]
		}
		rest = strings.TrimLeft(rest, " \t\r\n")
		if strings.HasPrefix(rest, "/*") {
			end := strings.Index(rest, "*/")
			if end < 0 {
				return -1
			}
			at = len(text) - len(rest) + end
			continue
		}
		word, behind := cutWord(rest)
		switch word {
		case "if", "with", "range", "define", "block":
			blocks = append(blocks, 1)
			depth++
		case "else":
			if next, _ := cutWord(strings.TrimLeft(behind, " \t\r\n")); (next == "if" || next == "with") && len(blocks) > 0 {
				blocks[len(blocks)-1]++
				depth++
			}
		case "end":
			if len(blocks) > 0 {
				depth -= blocks[len(blocks)-1]
				blocks = blocks[:len(blocks)-1]
			}
		}
		if depth > maxNesting {
			return at
		}
		parens := 0
	action:
		for at = len(text) - len(rest); at < len(text); at++ {
			switch c := text[at]; c {
			case '(':
				if parens++; parens > maxNesting {
					return at
				}
			case ')':
				parens--
			case '"', '\'', '`':
				for at++; at < len(text) && text[at] != c; at++ {
					if c == '`' {
						continue
					}
					if text[at] == '\n' {
						return -1 // the parser reads no further
					}
					if text[at] == '\\' {
						at++
					}
				}
			case '}':
				if strings.HasPrefix(text[at:], "}}") {
					break action
				}
			}
		}
	}
	return -1
}

// cutWord cuts the letters in front of a text.
func cutWord(text string) (word, rest string) {
	i := 0
	for i < len(text) && 'a' <= text[i] && text[i] <= 'z' {
		i++
	}
	return text[:i], text[i:]
}

// partial reports whether Helm takes only the named templates of a file.
func (s *source) partial() bool { return strings.HasPrefix(path.Base(s.file), "_") }

// offset is where a line begins.
func (s *source) offset(line int) int {
	s.line(0)
	if line < 2 {
		return 0
	}
	return s.lines[line-2] + 1
}

// separated reports whether there is something between two offsets that looks like a separator of
// documents.
func (s *source) separated(from, to int) bool {
	return from < to && strings.Contains(s.text[from:to], "---")
}
