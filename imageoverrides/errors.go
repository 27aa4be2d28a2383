// SPDX-License-Identifier: Apache-2.0

package imageoverrides

import (
	"fmt"
	"slices"
	"strings"

	"github.com/cozystack/image-overrides/internal/quote"
)

// A Rule names what an [Error] or a [Finding] is about. Its text is stable, for
// programs and for metrics.
type Rule string

// The rules of the chart and of the text that a table comes in. An [Error] has
// one of these, or one of the rules of [Table.Lint].
const (
	RuleSyntax    Rule = "syntax"        // the text is no YAML
	RuleDocument  Rule = "document"      // the text goes on behind its first document
	RuleTwice     Rule = "twice"         // a key on the way to the table, or inside it, is set twice
	RuleAliases   Rule = "aliases"       // aliases make more of the text than it may be
	RuleTooLong   Rule = "too-long"      // a document of manifests is longer than the limit
	RuleTemplate  Rule = "template"      // a chart's template, which nobody rendered
	RuleSigned    Rule = "signed"        // a document that would change is signed by SOPS
	RuleAbsent    Rule = "absent"        // a text has no table where one is expected
	RuleSecond    Rule = "second-table"  // a text has two tables
	RuleOutside   Rule = "outside"       // an alias in values stands for what is not in them
	RuleSecret    Rule = "secret"        // the Secret has no values.yaml, or nothing in it
	RuleValues    Rule = "values"        // what should hold the table is no map
	RuleList      Rule = "list"          // the table is no list
	RuleEntry     Rule = "entry"         // an entry is no map
	RuleField     Rule = "unknown-field" // an entry has a field that is not known
	RuleString    Rule = "string"        // a field is no string
	RuleUTF8      Rule = "utf-8"         // a field is no UTF-8
	RuleName      Rule = "name-required" // an entry has no name
	RuleBareName  Rule = "bare-name"     // a name carries a tag or a digest
	RuleNothing   Rule = "nothing-set"   // an entry sets none of newName, newTag, digest
	RuleDigest    Rule = "digest"        // a digest is not sha256:<64 hex>
	RuleDuplicate Rule = "duplicate"     // a name is listed twice
)

// An Error is one fault of a table, or of a manifest that [Rewrite] cannot read.
//
// What [New], [Validate], [Parse], [ParseValues], [ParseValuesText], [ParseSecret], [Find],
// [Table.Strict] and [Rewrite] return for bad input is a list of these, in the order in which the
// chart would meet them, behind a pointer: it can be compared. [errors.As] finds the first, and
// [Faults] all of them. The list's own text has the first ten, a line for each, and says how many
// more there are; it is shorter than 4 KB whatever the input.
type Error struct {
	// Path is where the table stood: "registries.imageOverrides" in chart values,
	// "_cluster.image-overrides" in the Secret, "overrides" in a plain list and for entries in
	// memory. It is empty for a fault of a manifest or of the text as a whole.
	Path string

	// Entry is the index of the entry, from 0, or -1 where the fault is not of one entry.
	Entry int

	// Field is the entry's field that the fault is of, as it was spelled, or "".
	Field string

	// Rule is the rule that was broken.
	Rule Rule

	// Line and Column say where the fault stands in the text, both from 1, the
	// column counted in characters. They are 0 where there was no text: in
	// faults of New, Validate and ParseValues, and of Strict for such a table.
	Line, Column int

	text string
}

// Error returns the fault's text. For a rule of the chart it is the message of
// the chart to the letter, behind the path that the table came from; only a value of more than 1,024
// bytes is shortened. Line and Column are not part of it, but for a fault of the text itself
// ([RuleSyntax], [RuleDocument], [RuleAliases], [RuleTooLong], [RuleTemplate], [RuleSigned], [RuleSecond] and [RuleOutside]), which
// starts with them.
func (e *Error) Error() string {
	switch e.Rule {
	case RuleSyntax, RuleDocument, RuleAliases, RuleTooLong, RuleTemplate, RuleSigned, RuleSecond, RuleOutside:
		return fmt.Sprintf("line %d, column %d: %s", e.Line, e.Column, e.text)
	}
	return e.text
}

// Reason returns the text without line and column, for who writes these in another
// form. It is the same as Error for all but faults of the text itself.
func (e *Error) Reason() string { return e.text }

// Faults returns every [*Error] in the tree of err, in order: all faults of a table, also where the
// error was wrapped (%w) or joined with others. It is nil for nil, and for an error without any.
func Faults(err error) []*Error {
	switch e := err.(type) {
	case nil:
		return nil
	case *Error:
		return []*Error{e}
	case *faultList:
		return slices.Clone(e.list)
	case interface{ Unwrap() error }:
		return Faults(e.Unwrap())
	case interface{ Unwrap() []error }:
		var list []*Error
		for _, err := range e.Unwrap() {
			list = append(list, Faults(err)...)
		}
		return list
	}
	return nil
}

// faults is every fault of one input, in the order in which the chart would
// meet them.
type faults []*Error

// err returns the faults as an error, and nil for none.
func (f faults) err() error {
	if len(f) == 0 {
		return nil
	}
	return &faultList{f}
}

// A faultList is an error that is faults, of which there is one at least.
type faultList struct{ list faults }

// How much of a list its text tells.
const (
	maxTold = 10
	maxText = 3900 // bytes of the faults' texts together
)

func (f *faultList) Error() string {
	var b strings.Builder
	told := min(len(f.list), maxTold)
	for i, e := range f.list[:told] {
		if i > 0 {
			b.WriteByte('\n')
		}
		b.WriteString(quote.Shorten(e.Error(), maxText/told-len("\n")))
	}
	if more := len(f.list) - told; more > 0 {
		fmt.Fprintf(&b, "\nand %d more", more)
	}
	return b.String()
}

// Unwrap makes errors.Is and errors.As look at each fault.
func (f *faultList) Unwrap() []error {
	list := make([]error, len(f.list))
	for i, e := range f.list {
		list[i] = e
	}
	return list
}

// textFault is a fault of text that is no YAML, or that is too much of it.
func textFault(rule Rule, line, column int, reason string) *Error {
	return &Error{Entry: -1, Rule: rule, Line: line, Column: column, text: reason}
}
