// SPDX-License-Identifier: Apache-2.0

// Package values finds where a text holds a table of image overrides: as a list, in a chart's values, in the values of a manifest,
// or in a text of a Secret or a ConfigMap. What the table says it does not read.
package values

import (
	"fmt"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/cozystack/image-overrides/internal/manifest/document"
	"github.com/cozystack/image-overrides/internal/node"
	"github.com/cozystack/image-overrides/internal/refuse"
)

// A Home is how a table stands in values: under two keys, or as the list alone for the zero Home.
type Home struct{ Outer, Inner string }

// The homes of the platform chart.
var (
	List   = Home{}
	Chart  = Home{"registries", "imageOverrides"}
	Secret = Home{"_cluster", "image-overrides"} // of the values that the chart hands on
)

// Path returns the keys as one.
func (h Home) Path() string { return h.Outer + "." + h.Inner }

// A Place is where a text has its table, or should have it.
type Place struct {
	Home Home
	Text []byte // the values alone, with the lines and columns that they have in the text; of a key, its text
	Key  string // of the Secret or the ConfigMap, in whose text lines and columns count; "" for the text itself
	At   string // the way to the values in a manifest; "" where Text is all values

	in       *reader
	root     *yaml.Node
	handedOn bool
}

// A Fault says why a text has no place of a table. Line and Column are 0 where it has none.
type Fault struct {
	Rule         string // of package imageoverrides
	Line, Column int    // of the text, or of that of the key
	Reason       string
}

func (f *Fault) Error() string { return f.Reason }

// The rules of faults.
const (
	Syntax   = "syntax"
	Template = "template"
	Absent   = "absent"
	Twice    = "twice"
	Second   = "second-table"
	Outside  = "outside"
	InSecret = "secret"
)

// Expected is what a text without a table is told.
const Expected = "expected the platform chart's values, a list of entries, or a manifest of kind Secret, ConfigMap, HelmRelease or Package that has them"

// NoKey is the reason of a fault of a Secret that has no values.yaml.
const NoKey = "the Secret has no values.yaml"

// A reader reads one text.
type reader struct {
	*document.Text
	node.Finder
	lines *document.Lines
}

// Find finds the place of the one table that a text has, and tells the shapes apart by what the text holds. The place is also
// filled in, as far as it is known, where there is a fault: with Text and Key.
func Find(text []byte) (Place, *Fault) {
	p := Place{Text: text}
	in, fault := read(text)
	if fault != nil {
		return p, fault
	}
	p.in = in
	roots := in.Roots
	switch {
	case len(roots) == 0 || len(roots) == 1 && node.IsNull(roots[0]):
		return p, absent("there is no table here, for there is nothing; [] is how an empty table is written")
	case in.areManifests():
		return in.manifests(p)
	case len(roots) == 1 && roots[0].Kind == yaml.MappingNode:
		return in.values(p, false)
	case len(roots) == 1 && roots[0].Kind == yaml.ScalarNode:
		return p, absent(fmt.Sprintf("a %s holds no table; %s", scalarKind(roots[0]), Expected))
	}
	return p, nil
}

func absent(reason string) *Fault { return &Fault{Rule: Absent, Reason: reason} }

// scalarKind names what a text is that is one scalar.
func scalarKind(n *yaml.Node) string {
	switch n.ShortTag() {
	case "!!bool":
		return "bool"
	case "!!int", "!!float":
		return "number"
	}
	return "string"
}

// read parses a text, and refuses what is no YAML, and what would be if somebody rendered it.
func read(text []byte) (*reader, *Fault) {
	in := &reader{lines: document.NewLines(text)}
	parsed, err := document.Parse(text)
	if err != nil {
		syntax := err.(*document.SyntaxError) // which it always is
		if at, ok := refuse.Unparsed(text); ok && at <= syntax.Offset {
			return nil, in.fault(Template, at, refuse.NotRendered)
		}
		return nil, in.fault(Syntax, syntax.Offset, syntax.Reason)
	}
	in.Text = parsed
	if at, ok := refuse.Action(parsed); ok {
		return nil, in.fault(Template, at, refuse.NotRendered)
	}
	return in, nil
}

// fault is a fault at an offset.
func (in *reader) fault(rule string, offset int, reason string) *Fault {
	line, column := in.lines.Position(offset)
	return &Fault{rule, line, column, reason}
}

// position returns the line and the column of a node.
func (in *reader) position(n *yaml.Node) (line, column int) {
	at, _ := in.Offset(n)
	return in.lines.Position(at)
}

// table returns the table of a home in values, nil where there is none.
func (in *reader) table(h Home, values *yaml.Node) *yaml.Node {
	return in.Child(in.Child(values, h.Outer), h.Inner)
}

// values finds the home of the table in values that are the place's text: the platform chart's, or those that it hands on in its
// Secret. In the latter a table may be missing, which is how the chart writes an empty one. inSecret says that they are a
// Secret's values.yaml.
func (in *reader) values(p Place, inSecret bool) (Place, *Fault) {
	p.in = in
	if len(in.Roots) > 0 {
		p.root = in.Roots[0]
	}
	ofChart, ofSecret := in.table(Chart, p.root), in.table(Secret, p.root)
	p.Home = Chart
	p.handedOn = in.Child(p.root, Secret.Outer) != nil && in.Child(p.root, Chart.Outer) == nil
	if p.handedOn || ofSecret != nil || inSecret && ofChart == nil {
		p.Home = Secret
	}
	if ofChart != nil && ofSecret != nil {
		before := strings.TrimPrefix(p.At+".", ".")
		return p, in.two(ofChart, before+Chart.Path(), ofSecret, before+Secret.Path())
	}
	return p, nil
}

// Missing returns why it is a fault that there is no table in the place, with what may have been meant for it, and nil where that
// is how the platform hands on an empty one.
func (p Place) Missing() *Fault {
	found := near(p.root, p.handedOn, &p.in.Finder)
	if p.handedOn && len(found) == 0 {
		return nil
	}
	return absent(p.in.noTable(p.Home, found))
}

// noTable says that there is no table, and what may have been meant for it.
func (in *reader) noTable(h Home, found []miss) string {
	return fmt.Sprintf("there is no %s here%s; [] is how an empty table is written", h.Path(), in.told(found))
}

// two says that there are two tables, where one is expected.
func (in *reader) two(first *yaml.Node, firstPath string, second *yaml.Node, secondPath string) *Fault {
	line, column := in.position(first)
	at, _ := in.Offset(second)
	return in.fault(Second, at, fmt.Sprintf("a second table, %s; the first, %s, is at line %d, column %d; keep one of them in the file",
		secondPath, firstPath, line, column))
}
