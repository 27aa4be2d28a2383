// SPDX-License-Identifier: Apache-2.0

package imageoverrides

import (
	"fmt"
	"strings"
)

// A Rule names what an [Error] or a [Finding] is about. Its text is stable, for
// programs and for metrics.
type Rule string

// The rules of the chart and of the text that a table comes in. An [Error] has
// one of these, or one of the rules of [Table.Lint].
const (
	RuleSyntax    Rule = "syntax"        // the text is no YAML
	RuleDocument  Rule = "document"      // the text holds more than one document
	RuleTooLong   Rule = "too-long"      // a document of manifests is longer than the limit
	RuleSecret    Rule = "secret"        // the Secret has no values.yaml
	RuleValues    Rule = "values"        // what should hold the table is no map
	RuleList      Rule = "list"          // the table is no list
	RuleEntry     Rule = "entry"         // an entry is no map
	RuleField     Rule = "unknown-field" // an entry has a field that is not known
	RuleString    Rule = "string"        // a field is no string
	RuleName      Rule = "name-required" // an entry has no name
	RuleBareName  Rule = "bare-name"     // a name carries a tag or a digest
	RuleNothing   Rule = "nothing-set"   // an entry sets none of newName, newTag, digest
	RuleDigest    Rule = "digest"        // a digest is not sha256:<64 hex>
	RuleDuplicate Rule = "duplicate"     // a name is listed twice
)

// An Error is one fault of a table, or of a manifest that [Rewrite] cannot read.
//
// What [New], [Validate], [Parse], [ParseValues], [ParseSecret], [Table.Strict]
// and [Rewrite] return for bad input is a list of these: [errors.As] finds the
// first, and the list has Unwrap() []error for the others.
type Error struct {
	// Path is where the table stood: "registries.imageOverrides" in chart values,
	// "_cluster.image-overrides" in the Secret, "overrides" in a plain list. It is
	// empty for a fault of a manifest or of the text as a whole.
	Path string

	// Entry is the index of the entry, from 0, or -1 where the fault is not of one entry.
	Entry int

	// Field is the entry's field that the fault is of, as it was spelled, or "".
	Field string

	// Rule is the rule that was broken.
	Rule Rule

	// Line and Column say where the fault stands in the text, both from 1, the
	// column counted in characters. They are 0 where there was no text: in
	// faults of New, Validate, ParseValues and Strict.
	Line, Column int

	text string
}

// Error returns the fault's text. For a rule of the chart it is the message of
// the chart to the letter, behind the path that the table came from; Line and
// Column are not part of it. Only a fault of the text itself ([RuleSyntax],
// [RuleDocument] and [RuleTooLong]) starts with its line and column.
func (e *Error) Error() string {
	switch e.Rule {
	case RuleSyntax, RuleDocument, RuleTooLong:
		return fmt.Sprintf("line %d, column %d: %s", e.Line, e.Column, e.text)
	}
	return e.text
}

// Reason returns the text without line and column, for who writes these in another
// form. It is the same as Error for all but faults of the text itself.
func (e *Error) Reason() string { return e.text }

// faults is every fault of one input, in the order in which the chart would
// meet them.
type faults []*Error

func (f faults) Error() string {
	var b strings.Builder
	for i, e := range f {
		if i > 0 {
			b.WriteByte('\n')
		}
		b.WriteString(e.Error())
	}
	return b.String()
}

// Unwrap makes errors.Is and errors.As look at each fault.
func (f faults) Unwrap() []error {
	list := make([]error, len(f))
	for i, e := range f {
		list[i] = e
	}
	return list
}

// err returns the faults as an error, and nil for none.
func (f faults) err() error {
	if len(f) == 0 {
		return nil
	}
	return f
}

// textFault is a fault of text that is no YAML, or that is too much of it.
func textFault(rule Rule, line, column int, reason string) *Error {
	return &Error{Entry: -1, Rule: rule, Line: line, Column: column, text: reason}
}
