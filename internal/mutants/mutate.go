// SPDX-License-Identifier: Apache-2.0

package main

import (
	"go/ast"
	"go/token"
	"go/types"
	"strconv"
	"strings"
)

// An edit replaces the bytes from start to end of a file by text.
type edit struct {
	start, end int
	text       string
}

// source is a file of the package as it is.
type source struct {
	name string // the whole path
	text string
	file *ast.File
	kept bool // it has no mutants
}

// mutator collects what can be changed in a file, one list of edits for each place.
type mutator struct {
	*source
	fset   *token.FileSet
	pkg    *types.Package
	info   *types.Info
	places [][]edit
}

// places returns the places of a file at which it can be mutated, each with the ways to do so, in the
// order of the file. Not all of them compile.
func places(s *source, fset *token.FileSet, pkg *types.Package, info *types.Info) [][]edit {
	m := mutator{source: s, fset: fset, pkg: pkg, info: info}
	ast.Inspect(s.file, m.visit)
	return m.places
}

func (m *mutator) offset(p token.Pos) int { return m.fset.Position(p).Offset }

func (m *mutator) of(n ast.Node) string { return m.text[m.offset(n.Pos()):m.offset(n.End())] }

// place adds a place: a node, and what stands there instead.
func (m *mutator) place(n ast.Node, texts ...string) {
	m.at(m.offset(n.Pos()), m.offset(n.End()), texts...)
}

func (m *mutator) at(start, end int, texts ...string) {
	var edits []edit
	for _, text := range texts {
		if text != m.text[start:end] {
			edits = append(edits, edit{start, end, text})
		}
	}
	if len(edits) > 0 {
		m.places = append(m.places, edits)
	}
}

// operators are what stands for a binary operator instead.
var operators = map[token.Token][]string{
	token.LSS: {"<=", ">="}, token.LEQ: {"<", ">"}, token.GTR: {">=", "<="}, token.GEQ: {">", "<"},
	token.EQL: {"!="}, token.NEQ: {"=="}, token.LAND: {"||"}, token.LOR: {"&&"},
	token.ADD: {"-"}, token.SUB: {"+"}, token.MUL: {"/"}, token.QUO: {"*"}, token.REM: {"*"},
	token.AND: {"|"}, token.OR: {"&"}, token.XOR: {"&"}, token.AND_NOT: {"&"}, token.SHL: {">>"}, token.SHR: {"<<"},
	token.ADD_ASSIGN: {"-=", "="}, token.SUB_ASSIGN: {"+=", "="}, token.MUL_ASSIGN: {"/=", "="}, token.QUO_ASSIGN: {"*="},
	token.OR_ASSIGN: {"&=", "="}, token.AND_ASSIGN: {"|=", "="}, token.SHL_ASSIGN: {">>="}, token.SHR_ASSIGN: {"<<="},
}

func (m *mutator) visit(n ast.Node) bool {
	switch n := n.(type) {
	case *ast.ImportSpec, *ast.Field, *ast.ArrayType, *ast.MapType, *ast.FuncType, *ast.StructType, *ast.InterfaceType, *ast.ChanType:
		return false // types are no code
	case *ast.BinaryExpr:
		at := m.offset(n.OpPos)
		m.at(at, at+len(n.Op.String()), operators[n.Op]...)
		if n.Op == token.LAND || n.Op == token.LOR || n.Op == token.ADD && m.is(n, types.IsString) {
			m.place(n, m.of(n.X), m.of(n.Y))
		}
		m.number(n.X)
		m.number(n.Y)
	case *ast.UnaryExpr:
		if n.Op == token.NOT || n.Op == token.SUB {
			m.place(n, m.of(n.X))
		}
	case *ast.BasicLit:
		m.literal(n)
	case *ast.Ident:
		if _, constant := m.info.Uses[n].(*types.Const); constant && n.Name == "true" {
			m.place(n, "false")
		} else if constant && n.Name == "false" {
			m.place(n, "true")
		}
	case *ast.CallExpr:
		return m.call(n)
	case *ast.SliceExpr:
		for _, bound := range []ast.Expr{n.Low, n.High} {
			if bound != nil {
				m.place(bound, "")
				m.number(bound)
			}
		}
	case *ast.IndexExpr:
		m.number(n.Index)
	case *ast.CompositeLit:
		for _, element := range n.Elts {
			m.cut(element)
		}
	case ast.Stmt:
		m.statement(n)
	}
	return true
}

func (m *mutator) statement(n ast.Stmt) {
	switch n := n.(type) {
	case *ast.ExprStmt, *ast.DeferStmt, *ast.GoStmt, *ast.SendStmt:
		m.place(n, "")
	case *ast.IncDecStmt:
		m.place(n, "", m.of(n.X)+map[token.Token]string{token.INC: "--", token.DEC: "++"}[n.Tok])
	case *ast.AssignStmt:
		at := m.offset(n.TokPos)
		m.at(at, at+len(n.Tok.String()), operators[n.Tok]...)
		if n.Tok != token.DEFINE {
			m.place(n, "")
		}
		for _, e := range n.Rhs {
			m.number(e)
		}
	case *ast.BranchStmt:
		switch n.Tok {
		case token.BREAK:
			m.place(n, "", "continue")
		case token.CONTINUE:
			m.place(n, "", "break")
		}
	case *ast.ReturnStmt:
		if len(n.Results) == 0 {
			m.place(n, "")
		}
		for _, e := range n.Results {
			m.zero(e)
		}
	case *ast.IfStmt:
		condition := m.of(n.Cond)
		m.place(n.Cond, "!("+condition+")", "("+condition+") || true", "("+condition+") && false")
		if n.Else == nil {
			m.place(n, "")
		} else {
			m.at(m.offset(n.Body.End()), m.offset(n.Else.End()), "")
		}
	case *ast.ForStmt:
		if n.Cond != nil {
			m.place(n.Cond, "!("+m.of(n.Cond)+")", "("+m.of(n.Cond)+") && false")
		}
	case *ast.CaseClause:
		m.place(n, "")
		if len(n.Body) > 0 {
			m.at(m.offset(n.Body[0].Pos()), m.offset(n.End()), "")
		}
		for _, e := range n.List {
			if len(n.List) > 1 {
				m.cut(e)
			}
			if m.is(e, types.IsBoolean) {
				m.place(e, "!("+m.of(e)+")", "("+m.of(e)+") && false")
			}
		}
	}
}

// cut takes an element out of a list, with the comma behind it, or the one in front of it where it is the last.
func (m *mutator) cut(n ast.Node) {
	start, end := m.offset(n.Pos()), m.offset(n.End())
	if rest := strings.TrimLeft(m.text[end:], " \t\n"); strings.HasPrefix(rest, ",") {
		end = len(m.text) - len(rest) + 1
	} else if before := strings.TrimRight(m.text[:start], " \t\n"); strings.HasSuffix(before, ",") {
		start = len(before) - 1
	}
	m.at(start, end, "")
}

// call swaps arguments of one type and the two ends of a comparison, and leaves capacities alone: a slice that
// grows later is the same slice.
func (m *mutator) call(n *ast.CallExpr) bool {
	name := m.of(n.Fun)
	switch {
	case name == "min":
		m.place(n.Fun, "max")
	case name == "max":
		m.place(n.Fun, "min")
	case name == "make" && len(n.Args) == 3:
		ast.Inspect(n.Args[1], m.visit)
		return false
	case name == "make" && len(n.Args) == 2 && !m.isSlice(n.Args[0]):
		return false
	case strings.HasSuffix(name, ".Grow"):
		return false
	}
	for i, a := range n.Args {
		m.number(a)
		if i == 0 || n.Ellipsis.IsValid() {
			continue
		}
		if b := n.Args[i-1]; m.info.TypeOf(a) != nil && m.info.TypeOf(b) != nil && types.Identical(m.info.TypeOf(a), m.info.TypeOf(b)) {
			between := m.text[m.offset(b.End()):m.offset(a.Pos())]
			m.at(m.offset(b.Pos()), m.offset(a.End()), m.of(a)+between+m.of(b))
		}
	}
	return true
}

func (m *mutator) isSlice(e ast.Expr) bool {
	t := m.info.TypeOf(e)
	if t == nil {
		return false
	}
	_, ok := t.Underlying().(*types.Slice)
	return ok
}

// is says whether an expression is of such a basic type.
func (m *mutator) is(e ast.Expr, kind types.BasicInfo) bool {
	t := m.info.TypeOf(e)
	if t == nil {
		return false
	}
	basic, ok := t.Underlying().(*types.Basic)
	return ok && basic.Info()&kind != 0
}

// number moves an integer by one. Literals are places of their own.
func (m *mutator) number(e ast.Expr) {
	if _, literal := e.(*ast.BasicLit); !literal && m.is(e, types.IsInteger) {
		m.place(e, "("+m.of(e)+"+1)", "("+m.of(e)+"-1)")
	}
}

func (m *mutator) literal(n *ast.BasicLit) {
	switch n.Kind {
	case token.INT, token.CHAR:
		m.place(n, "("+n.Value+"+1)", "("+n.Value+"-1)")
	case token.FLOAT:
		m.place(n, "("+n.Value+"*2)")
	case token.STRING:
		text, err := strconv.Unquote(n.Value)
		if err != nil {
			return
		}
		quote := strconv.Quote
		if n.Value[0] == '`' {
			quote = func(s string) string { return "`" + s + "`" }
		}
		if text == "" {
			m.place(n, quote("X"))
			return
		}
		m.place(n, quote(""), quote(text+"X"), quote(text[1:]), quote(text[:len(text)-1]))
	}
}

// zero returns something else, most of all the zero value.
func (m *mutator) zero(e ast.Expr) {
	t := m.info.TypeOf(e)
	if t == nil {
		return
	}
	switch {
	case m.is(e, types.IsBoolean):
		m.place(e, "!("+m.of(e)+")", "true", "false")
		return
	case m.is(e, types.IsInteger):
		m.place(e, "0", "("+m.of(e)+"+1)", "("+m.of(e)+"-1)")
		return
	case m.is(e, types.IsString):
		m.place(e, `""`)
		return
	}
	switch t.Underlying().(type) {
	case *types.Pointer, *types.Slice, *types.Map, *types.Interface, *types.Signature, *types.Chan:
		m.place(e, "nil")
	case *types.Struct:
		name := types.TypeString(t, func(p *types.Package) string {
			if p == m.pkg {
				return ""
			}
			return p.Name()
		})
		m.place(e, name+"{}")
	}
}
