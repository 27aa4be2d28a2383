// SPDX-License-Identifier: Apache-2.0

package imageoverrides

import (
	"fmt"
	"strings"

	"github.com/cozystack/image-overrides/internal/quote"
	"github.com/cozystack/image-overrides/internal/whole"
)

// An input is a text that was read whole, as Helm would read it: what it decodes to, and where everything
// stands. The zero input stands for values without a text.
type input struct {
	text  *whole.Text // nil for no text
	value any
}

// rulesOf are the rules of what makes a text unreadable.
var rulesOf = map[whole.Kind]Rule{whole.Syntax: RuleSyntax, whole.More: RuleDocument, whole.Aliases: RuleAliases}

// open reads a text that holds one document at most. The error is of the text: it is no YAML, goes
// on behind its first document, or has aliases that stand for too much.
func open(text []byte) (*input, error) {
	parsed, fault := whole.Parse(text, isJSON(text))
	if fault != nil {
		return nil, faults{textFault(rulesOf[fault.Kind], int(fault.Place.Line), int(fault.Place.Column), fault.Reason)}.err()
	}
	// What parses and still does not decode, such as a list as a key, is told at the start of the text.
	value, err := decode(text)
	if err != nil {
		reason := strings.TrimPrefix(err.Error(), "error converting YAML to JSON: ")
		return nil, faults{textFault(RuleSyntax, 1, 1, quote.Shorten(strings.TrimPrefix(reason, "yaml: "), quote.Limit))}.err()
	}
	return &input{parsed, value}, nil
}

// twice returns the keys that are set twice on the way to the table, which stands under the given keys,
// or inside it.
func (in *input) twice(keys ...string) (list faults) {
	for _, d := range in.text.Doubles(listPath, keys...) {
		e := &Error{Path: d.Path, Entry: d.Entry, Rule: RuleTwice, Line: int(d.Second.Line), Column: int(d.Second.Column)}
		what := d.Path
		if d.Entry >= 0 {
			e.Field, what = d.Key, fmt.Sprintf("%s[%d]: %s", d.Path, d.Entry, quote.Plain(d.Key))
		}
		e.text = fmt.Sprintf("%s is set twice, first in line %d, column %d; Helm reads the last one only", what, d.First.Line, d.First.Column)
		if d.Merged {
			e.text = fmt.Sprintf("%s is set twice, in line %d, column %d and by this merge key, which counts more to Helm than what stands before it; put the merge key first",
				what, d.First.Line, d.First.Column)
		}
		list = append(list, e)
	}
	return list
}

// locate gives the fault the position of the value under the given keys.
func (in *input) locate(e *Error, keys ...string) *Error {
	in.locateAll(faults{e}, keys...)
	return e
}

// locateAll gives faults their positions, where there is a text that has the table under the given
// keys: that of the field, or else of the entry, or else of the table.
func (in *input) locateAll(list faults, keys ...string) {
	if in.text == nil {
		return
	}
	questions := make([]whole.Question, len(list))
	for i, e := range list {
		questions[i] = whole.Question{Entry: e.Entry, Field: e.Field, Key: e.Rule == RuleField, Own: e.Rule == RuleDuplicate}
	}
	in.text.Answer(questions, keys...)
	for i, e := range list {
		e.Line, e.Column = int(questions[i].At.Line), int(questions[i].At.Column)
	}
}

// places returns where a table stands that has these overrides, and where its entries do.
func (in *input) places(overrides []Override, keys ...string) (position, []placed) {
	if in.text == nil {
		return position{}, nil
	}
	questions := []whole.Question{{Entry: -1}}
	if in.text.Len(keys...) == len(overrides) {
		for i := range overrides {
			questions = append(questions, whole.Question{Entry: i})
			for _, field := range fieldNames {
				questions = append(questions, whole.Question{Entry: i, Field: field, Only: true})
			}
		}
	}
	in.text.Answer(questions, keys...)
	at := func(i int) position { return position{questions[i].At.Line, questions[i].At.Column} }
	entries := make([]placed, len(overrides))
	for i := range entries {
		first := 1 + i*(1+len(fieldNames))
		if first >= len(questions) {
			break
		}
		entries[i].entry = at(first)
		for j := range fieldNames {
			entries[i].fields[j] = at(first + 1 + j)
		}
	}
	return at(0), entries
}
