// SPDX-License-Identifier: Apache-2.0

package imageoverrides

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"unicode/utf8"

	"go.yaml.in/yaml/v3"
	yamljson "sigs.k8s.io/yaml"

	"github.com/cozystack/image-overrides/internal/document"
)

const (
	listPath  = "overrides"
	valuesKey = "registries"
	secretKey = "values.yaml"
)

// Parse reads a table from the text of a YAML or JSON list of entries. The text is
// read as Helm reads a values file (YAML 1.1, so that a tag written 1.20 or yes is
// a number or a boolean, and refused), and checked by the chart's rules. Empty text
// and every value that Helm counts as empty give the known, empty table.
//
// The error is a list of [*Error], each with its line and column; their path is
// "overrides". Nothing of data is kept.
func Parse(data []byte) (Table, error) {
	if overrides, rest, indent := scanList(data); indent >= 0 && len(rest) == 0 {
		return check(overrides, listPath, data)
	}
	v, err := decode(data)
	if err != nil {
		return Table{}, err
	}
	return read(v, listPath, data)
}

// ParseValues reads the table from a chart's decoded values, at
// registries.imageOverrides, by the chart's rules. Values without that key, and every
// value there that Helm counts as empty, give the known, empty table. The error is
// a list of [*Error], whose first is what the chart would have said. Values are
// of the types that Helm's decoding gives; those that other decoders give
// (map[any]any, integers, json.Number) are understood. Nothing of values is kept or changed.
func ParseValues(values map[string]any) (Table, error) {
	return readAt(values, valuesKey, "imageOverrides", nil)
}

// ParseValuesText is [ParseValues] for the text of a chart's values file, which is read as Helm
// reads it. Its faults have line and column. Text that is no YAML map is an error, and
// empty text the known, empty table.
func ParseValuesText(data []byte) (Table, error) {
	return readText("values", data, valuesKey, "imageOverrides")
}

// ParseSecret reads the table from the data of the Secret that the chart writes, at
// _cluster.image-overrides in the text under the key values.yaml. It is called when
// the Secret exists; while it does not, the table is the unknown one, Table{}.
//
// Data without values.yaml is an error, and so is values.yaml that is no YAML map. Where it
// is one without _cluster.image-overrides, the table is known and empty. The error is
// a list of [*Error]; line and column count from the start of values.yaml.
func ParseSecret(data map[string][]byte) (Table, error) {
	text, ok := data[secretKey]
	if !ok {
		return Table{}, faults{{Entry: -1, Rule: RuleSecret, text: fmt.Sprintf("the Secret has no key %q", secretKey)}}
	}
	return readText(secretKey, text, "_cluster", "image-overrides")
}

// readText reads the table under two keys of a text, which must be a map, or empty. What is the
// name of the text.
func readText(what string, text []byte, outer, inner string) (Table, error) {
	if overrides, ok := scanTable(text, outer, inner); ok {
		return check(overrides, outer+"."+inner, text)
	}
	return readParsed(what, text, outer, inner)
}

// readParsed is readText without its quick way.
func readParsed(what string, text []byte, outer, inner string) (Table, error) {
	v, err := decode(text)
	if err != nil {
		return Table{}, err
	}
	values, ok := v.(map[string]any)
	if !ok && v != nil {
		return Table{}, faults{notMap(what, v).locate(text)}
	}
	return readAt(values, outer, inner, text)
}

// readAt reads the table under two keys of values. Where text is given, values were decoded from
// it. What is under the first must be a map or null; in a chart's values, it may also be
// anything else that Helm counts as empty.
func readAt(values map[string]any, outer, inner string, text []byte) (Table, error) {
	m, ok := asMap(values[outer])
	if !ok && values[outer] != nil && !(outer == valuesKey && empty(values[outer])) {
		f := notMap(outer, values[outer])
		if text != nil {
			f.locate(text, outer)
		}
		return Table{}, faults{f}
	}
	return read(m[inner], outer+"."+inner, text)
}

func notMap(path string, v any) *Error {
	return &Error{
		Path: path, Entry: -1, Rule: RuleValues,
		text: fmt.Sprintf("%s must be a map, got %s", path, kindOf(v)),
	}
}

// read checks a decoded table. Where text is given, it is what the table was decoded from.
func read(v any, path string, text []byte) (Table, error) {
	c := checker{path: path}
	overrides := c.table(v)
	return c.result(overrides, text)
}

// check checks a table whose entries are typed, as they stand in text.
func check(overrides []Override, path string, text []byte) (Table, error) {
	c := checker{path: path}
	c.overrides(overrides)
	return c.result(overrides, text)
}

// result returns the table of overrides that were checked, or the faults, with
// their positions where text is given.
func (c *checker) result(overrides []Override, text []byte) (Table, error) {
	if len(c.faults) == 0 {
		return known(overrides), nil
	}
	if text != nil {
		var keys []string
		if c.path != listPath {
			keys = strings.Split(c.path, ".")
		}
		c.faults.locate(text, keys...)
	}
	return Table{}, c.faults
}

// decode reads text as Helm reads values. JSON is read as JSON, since YAML 1.1 lacks some
// of its escapes.
func decode(text []byte) (v any, err error) {
	if json.Valid(text) && utf8.Valid(text) && !hasLoneSurrogate(text) {
		if err := json.Unmarshal(text, &v); err == nil {
			return v, nil
		}
	}
	// Decoding stops behind the first document, whatever follows.
	if manyDocuments.Match(text) {
		parsed, err := document.Parse(text)
		if err != nil {
			return nil, faults{syntaxFault(text, err)}
		}
		if len(parsed.Roots) > 1 {
			at, _ := parsed.Offset(parsed.Roots[1])
			line, column := document.NewLines(text).Position(at)
			return nil, faults{textFault(RuleDocument, line, column, "a second document; the table must be in the only one")}
		}
	}
	if err := yamljson.Unmarshal(text, &v); err != nil {
		return nil, faults{syntaxFault(text, err)}
	}
	return v, nil
}

// manyDocuments matches texts that may hold more than one document, or something behind it.
var manyDocuments = regexp.MustCompile(`[\n\r\x{85}\x{2028}\x{2029}](---|\.\.\.)`)

// hasLoneSurrogate reports whether JSON has an escaped half of a character, which
// encoding/json would replace silently. It may be wrong about a backslash that is escaped.
func hasLoneSurrogate(text []byte) bool {
	return bytes.Contains(text, []byte(`\u`)) && surrogate.Match(surrogatePair.ReplaceAll(text, nil))
}

var (
	surrogate     = regexp.MustCompile(`\\u[dD][89a-fA-F]`)
	surrogatePair = regexp.MustCompile(`\\u[dD][89abAB][0-9a-fA-F]{2}\\u[dD][c-fC-F][0-9a-fA-F]{2}`)
)

// syntaxFault is the fault of text that does not decode, with the position at which
// parsing stops. What parses and still does not decode (aliases without
// bounds, a list as a key) is told at the start of the text.
func syntaxFault(text []byte, cause error) *Error {
	var syntax *document.SyntaxError
	if _, err := document.Parse(text); errors.As(err, &syntax) {
		line, column := document.NewLines(text).Position(syntax.Offset)
		return textFault(RuleSyntax, line, column, syntax.Reason)
	}
	reason := strings.TrimPrefix(cause.Error(), "error converting YAML to JSON: ")
	return textFault(RuleSyntax, 1, 1, strings.TrimPrefix(reason, "yaml: "))
}

// locate gives the fault the position of the value under the given keys.
func (e *Error) locate(text []byte, keys ...string) *Error {
	faults{e}.locate(text, keys...)
	return e
}

// locate gives the faults their positions in the text that has the table under the given
// keys: that of the field, or else of the entry, or else of the table.
func (f faults) locate(text []byte, keys ...string) {
	parsed, err := document.Parse(text)
	if err != nil || len(parsed.Roots) == 0 {
		parsed = &document.Text{Bytes: text, Roots: []*yaml.Node{{Line: 1, Column: 1}}}
	}
	table := parsed.Roots[0]
	for _, key := range keys {
		at, ok := placesOf(table)[key]
		if !ok || table.Kind != yaml.MappingNode {
			break
		}
		table = resolve(table.Content[at+1])
	}
	nodes := make([]*yaml.Node, len(f))
	entry, places := -1, map[string]int(nil) // of the entry before
	for i, e := range f {
		n := table
		if e.Entry >= 0 && n.Kind == yaml.SequenceNode && e.Entry < len(n.Content) {
			n = n.Content[e.Entry]
			if e.Rule != RuleDuplicate { // which the alias is, not what it stands for
				n = resolve(n)
			}
		}
		if e.Field != "" && n.Kind == yaml.MappingNode {
			if e.Entry != entry || places == nil {
				entry, places = e.Entry, placesOf(n)
			}
			if at, ok := places[e.Field]; ok && e.Rule == RuleField {
				n = n.Content[at]
			} else if ok {
				n = resolve(n.Content[at+1])
			}
		}
		nodes[i] = n
	}
	// In the order of the text, in which places are found fastest.
	order := make([]int, len(f))
	for i := range order {
		order[i] = i
	}
	slices.SortFunc(order, func(a, b int) int { return before(nodes[a], nodes[b]) })
	lines := document.NewLines(text)
	for _, i := range order {
		at, _ := parsed.Offset(nodes[i])
		f[i].Line, f[i].Column = lines.Position(at)
	}
}

// placesOf returns where the keys of a map are among its children: the last of each, which
// is the one that decoding keeps.
func placesOf(n *yaml.Node) map[string]int {
	places := make(map[string]int, len(n.Content)/2)
	for i := 0; i+1 < len(n.Content); i += 2 {
		places[resolve(n.Content[i]).Value] = i
	}
	return places
}

// resolve returns what an alias stands for, and any other node as it is.
func resolve(n *yaml.Node) *yaml.Node {
	if n.Kind == yaml.AliasNode {
		return n.Alias
	}
	return n
}
