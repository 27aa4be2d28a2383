// SPDX-License-Identifier: Apache-2.0

package imageoverrides

import (
	"bytes"
	"encoding/json"
	"fmt"
	"regexp"
	"unicode/utf8"

	yamljson "sigs.k8s.io/yaml"

	"github.com/cozystack/image-overrides/internal/manifest/document"
)

const (
	listPath  = "overrides"
	secretKey = "values.yaml"
)

// A home is where a table stands in values: the path, and what the values are called.
type home struct{ what, outer, inner string }

var (
	inValues = home{"values", "registries", "imageOverrides"}
	inSecret = home{secretKey, "_cluster", "image-overrides"}
)

func (h home) path() string { return h.outer + "." + h.inner }

// Parse reads a table from the text of a YAML or JSON list of entries. The text is
// read as Helm reads a values file (YAML 1.1, so that a tag written 1.20 or yes is
// a number or a boolean, and refused), and checked by the chart's rules. Empty text
// and every value that Helm counts as empty give the known, empty table.
//
// The text is read whole, or not at all: where Helm would read a part of it and say nothing, it is
// an error. So is text behind the first document, with or without a separator between them, and a
// key that an entry sets twice. Aliases may stand for 4 MiB of text, all of them together.
//
// The error is a list of [*Error], each with its line and column; their path is
// "overrides". Nothing of data is kept.
func Parse(data []byte) (Table, error) {
	if l := scanList(data, 1); l.indent >= 0 && len(l.rest) == 0 {
		return check(l, listPath)
	}
	in, err := open(data)
	if err != nil {
		return Table{}, err
	}
	if err := in.twice().err(); err != nil {
		return Table{}, err
	}
	return in.read(in.value, listPath)
}

// ParseValues reads the table from a chart's decoded values, at
// registries.imageOverrides, by the chart's rules. Values without that key, and every
// value there that Helm counts as empty, give the known, empty table; [Table.Absent] tells
// the first. The error is a list of [*Error], whose first is what the chart would have said. Values are
// of the types that Helm's decoding gives; those that other decoders give
// (map[any]any, integers, json.Number) are understood. Nothing of values is kept or changed.
func ParseValues(values map[string]any) (Table, error) {
	return (&input{}).readAt(values, inValues)
}

// ParseValuesText is [ParseValues] for the text of a chart's values file, which is read as Helm
// reads it, but whole or not at all, as [Parse] does: text behind the first document is an error, and a key that is
// set twice on the way to the table or inside it. Other keys of the file are Helm's business.
// Faults have line and column. Text that is no YAML map is an error, and empty text the known, empty table.
func ParseValuesText(data []byte) (Table, error) {
	return readText(data, inValues)
}

// ParseSecret reads the table from the data of the Secret that the chart writes, at
// _cluster.image-overrides in the text under the key values.yaml. It is called when
// the Secret exists; while it does not, the table is the unknown one, Table{}.
//
// It is for who writes releases, and the one call that they need: the text is read whole or not at all, as
// [ParseValuesText] does it, and beside what breaks the chart's rules it refuses what
// [Table.Strict] refuses, on which Flux would break.
//
// Data without values.yaml is an error, and so is a values.yaml without any document (nothing, white
// space, comments: a Secret that was blanked by mistake) or one that is no YAML map. Where it
// is a map, or null, without _cluster.image-overrides, the table is known and empty: the platform chart leaves
// the key out for an empty table. The error is
// a list of [*Error]; line and column count from the start of values.yaml.
func ParseSecret(data map[string][]byte) (Table, error) {
	text, ok := data[secretKey]
	if !ok {
		return Table{}, faults{{Entry: -1, Rule: RuleSecret, text: fmt.Sprintf("the Secret has no key %q", secretKey)}}.err()
	}
	if document.Blank(text) && !separated(text) {
		return Table{}, faults{{
			Entry: -1, Rule: RuleSecret, Line: 1, Column: 1,
			text: fmt.Sprintf("key %q of the Secret holds no document; an empty table is written {}", secretKey),
		}}.err()
	}
	t, err := readText(text, inSecret)
	if err == nil {
		err = t.Strict()
	}
	if err != nil {
		return Table{}, err
	}
	return t, nil
}

// separated reports whether a text that is blank has a separator, and so an empty document.
func separated(text []byte) bool { return bytes.Contains(text, []byte("---")) }

// Changed reports whether the table may be another after a change of the Secret's data, where nil stands
// for a Secret that is not there: it compares what [ParseSecret] says of both. Two that it refuses
// are the same if it tells the same faults in the same places. Other keys, and other values in
// values.yaml, make no difference.
func Changed(before, after map[string][]byte) bool {
	if (before == nil) != (after == nil) {
		return true
	}
	a, had := before[secretKey]
	b, has := after[secretKey]
	if had == has && bytes.Equal(a, b) {
		return false
	}
	t, err := ParseSecret(before)
	u, err2 := ParseSecret(after)
	if err == nil || err2 == nil {
		return (err == nil) != (err2 == nil) || !t.Equal(u)
	}
	x, y := Faults(err), Faults(err2)
	for i := range min(len(x), len(y)) {
		if *x[i] != *y[i] {
			return true
		}
	}
	return len(x) != len(y)
}

// readText reads the table in a text, which must be a map, or empty.
func readText(text []byte, h home) (Table, error) {
	if l, ok := scanTable(text, h); ok {
		return check(l, h.path())
	}
	return readParsed(text, h)
}

// readParsed is readText without its quick way.
func readParsed(text []byte, h home) (Table, error) {
	in, err := open(text)
	if err != nil {
		return Table{}, err
	}
	values, ok := in.value.(map[string]any)
	if !ok && in.value != nil {
		return Table{}, faults{in.locate(notMap(h.what, in.value))}.err()
	}
	if err := in.twice(h.outer, h.inner).err(); err != nil {
		return Table{}, err
	}
	return in.readAt(values, h)
}

// readAt reads the table in values. What is under the outer key must be a map or null; in a chart's
// values, it may also be anything else that Helm counts as empty.
func (in *input) readAt(values map[string]any, h home) (Table, error) {
	outer := values[h.outer]
	m, ok := asMap(outer)
	if !ok && outer != nil && !(h == inValues && empty(outer)) {
		return Table{}, faults{in.locate(notMap(h.outer, outer), h.outer)}.err()
	}
	v, found := m[h.inner]
	t, err := in.read(v, h.path(), h.outer, h.inner)
	if err == nil {
		t.t.absent = !found
	}
	return t, err
}

func notMap(path string, v any) *Error {
	return &Error{
		Path: path, Entry: -1, Rule: RuleValues,
		text: fmt.Sprintf("%s must be a map, got %s", path, kindOf(v)),
	}
}

// read checks a decoded table, which stands under the given keys of the input.
func (in *input) read(v any, path string, keys ...string) (Table, error) {
	c := checker{path: path}
	overrides := c.table(v)
	if len(c.faults) > 0 {
		in.locateAll(c.faults, keys...)
		return Table{}, c.faults.err()
	}
	from := source{path: path}
	from.start, from.places = in.places(overrides, keys...)
	return known(overrides, from), nil
}

// check checks a table whose entries are typed, as they stand in a text.
func check(l listing, path string) (Table, error) {
	c := checker{path: path}
	c.overrides(l.overrides)
	from := source{path: path, start: l.start, places: l.places}
	if len(c.faults) == 0 {
		return known(l.overrides, from), nil
	}
	for _, e := range c.faults {
		at := from.at(e.Entry, e.Field)
		e.Line, e.Column = int(at.line), int(at.column)
	}
	return Table{}, c.faults.err()
}

// decode reads text as Helm reads values, of which it may read only a part. JSON is read as JSON, since YAML 1.1 lacks some
// of its escapes.
func decode(text []byte) (v any, err error) {
	if isJSON(text) {
		if err := json.Unmarshal(text, &v); err == nil {
			return v, nil
		}
	}
	err = yamljson.Unmarshal(text, &v)
	return v, err
}

// isJSON reports whether text is one JSON value, which loses nothing when it is read as that.
func isJSON(text []byte) bool {
	return json.Valid(text) && utf8.Valid(text) && !hasLoneSurrogate(text)
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
