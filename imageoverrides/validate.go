// SPDX-License-Identifier: Apache-2.0

package imageoverrides

import (
	"encoding/json"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/cozystack/image-overrides/internal/quote"
)

// Validate checks overrides by the chart's rules, those that typed entries can
// break: a name that is missing or carries a tag or a digest, nothing to set, a
// digest that is not sha256:<64 hex>, a name listed twice. Text that is no UTF-8, which
// no chart can meet, is a fault too. It returns nil for a
// nil or empty slice, and otherwise every fault as a list of [*Error], in the
// chart's order, with the path "overrides".
func Validate(overrides []Override) error {
	c := checker{path: listPath}
	c.overrides(overrides)
	return c.faults.err()
}

// checker collects the faults of one table.
type checker struct {
	path   string
	seen   map[string]bool // the names so far
	faults faults
}

// fault adds a fault of the table as a whole (entry -1) or of one entry. The text
// follows the path of the table or of the entry.
func (c *checker) fault(entry int, field string, rule Rule, format string, args ...any) {
	c.faults = append(c.faults, &Error{
		Path: c.path, Entry: entry, Field: field, Rule: rule,
		text: at(c.path, entry) + fmt.Sprintf(format, args...),
	})
}

// at names a table, or one of its entries.
func at(path string, entry int) string {
	if entry < 0 {
		return path
	}
	return fmt.Sprintf("%s[%d]", path, entry)
}

// overrides checks entries whose fields are typed.
func (c *checker) overrides(overrides []Override) {
	c.seen = make(map[string]bool, len(overrides))
	for i, o := range overrides {
		c.fields(i, o, nil)
	}
}

// table checks a decoded table of any type, and returns its entries. They are of
// use only when there is no fault. A value that Helm counts as empty is an empty table.
func (c *checker) table(v any) []Override {
	if empty(v) {
		return nil
	}
	list, ok := asList(v)
	if !ok {
		c.fault(-1, "", RuleList, " must be a list, got %s", kindOf(v))
		return nil
	}
	overrides := make([]Override, list.len())
	for i := range overrides {
		m, ok := asMap(list.at(i))
		if !ok {
			c.fault(i, "", RuleEntry, " must be a map")
			continue
		}
		overrides[i] = c.entry(i, m)
	}
	return overrides
}

// entry checks one entry of a decoded table. Fields are looked at in the order of
// their names, as a template ranges over a map.
func (c *checker) entry(i int, m map[string]any) Override {
	var o Override
	var broken []string // known fields that are no strings, and unknown fields
	for _, key := range sortedKeys(m) {
		field := o.field(key)
		if field == nil {
			c.fault(i, key, RuleField, ": unknown field %s", quote.Value(key))
			broken = append(broken, key)
			continue
		}
		s, ok := asString(m[key])
		if !ok {
			c.fault(i, key, RuleString, ".%s must be a string, got %s; quote it", key, kindOf(m[key]))
			broken = append(broken, key)
			continue
		}
		*field = s
	}
	c.fields(i, o, broken)
	return o
}

// isDigest is the chart's idea of a digest, which knows sha256 only.
func isDigest(s string) bool {
	hex, ok := strings.CutPrefix(s, "sha256:")
	if !ok || len(hex) != 64 {
		return false
	}
	for i := range len(hex) {
		if c := hex[i]; (c < '0' || c > '9') && (c < 'a' || c > 'f') {
			return false
		}
	}
	return true
}

// fields checks the text of an entry's fields. A field that is broken already gets
// no second fault, and an entry with a broken field is not told to set one.
func (c *checker) fields(i int, o Override, broken []string) {
	for _, field := range fieldNames {
		if value := *o.field(field); !utf8.ValidString(value) && !slices.Contains(broken, field) {
			c.fault(i, field, RuleUTF8, ": %s %s is no UTF-8", field, quote.Value(value))
			broken = append(broken, field)
		}
	}
	switch {
	case slices.Contains(broken, "name"):
	case o.Name == "":
		c.fault(i, "name", RuleName, ": name is required")
	case carriesTagOrDigest(o.Name):
		c.fault(i, "name", RuleBareName, ": name %s must not carry a tag or digest", quote.Value(o.Name))
	}
	if o.Name != "" && o.NewName == "" && o.NewTag == "" && o.Digest == "" && len(broken) == 0 {
		c.fault(i, "", RuleNothing, ": %s sets none of newName, newTag, digest", quote.Value(o.Name))
	}
	if o.Digest != "" && !isDigest(o.Digest) && !slices.Contains(broken, "digest") {
		c.fault(i, "digest", RuleDigest, ": digest %s is not sha256:<64 hex>", quote.Value(o.Digest))
	}
	if o.Name == "" {
		return
	}
	if c.seen[o.Name] {
		c.fault(i, "name", RuleDuplicate, ": %s is listed twice", quote.Value(o.Name))
	}
	if c.seen == nil {
		c.seen = make(map[string]bool)
	}
	c.seen[o.Name] = true
}

// carriesTagOrDigest is the chart's idea of it: an @ anywhere, or a colon in the
// last path segment. A colon before a slash is a registry's port.
func carriesTagOrDigest(name string) bool {
	last := name[strings.LastIndexByte(name, '/')+1:]
	return strings.Contains(name, "@") || strings.Contains(last, ":")
}

// Decoded values are what Helm decodes, []any, map[string]any and scalars, nearly
// always. Other decoders give map[any]any, named maps and typed slices: these are
// read as what they are, since the chart looks at kinds only.

// list is a decoded list.
type list struct {
	items []any
	other reflect.Value // where it is no []any
}

func (l list) len() int {
	if l.other.IsValid() {
		return l.other.Len()
	}
	return len(l.items)
}

func (l list) at(i int) any {
	if l.other.IsValid() {
		return l.other.Index(i).Interface()
	}
	return l.items[i]
}

func asList(v any) (list, bool) {
	if items, ok := v.([]any); ok {
		return list{items: items}, true
	}
	r := reflect.ValueOf(v)
	return list{other: r}, r.Kind() == reflect.Slice
}

// asMap returns a decoded map by its keys' texts.
func asMap(v any) (map[string]any, bool) {
	if m, ok := v.(map[string]any); ok {
		return m, true
	}
	r := reflect.ValueOf(v)
	if r.Kind() != reflect.Map {
		return nil, false
	}
	m := make(map[string]any, r.Len())
	for it := r.MapRange(); it.Next(); {
		m[fmt.Sprint(it.Key().Interface())] = it.Value().Interface()
	}
	return m, true
}

func asString(v any) (string, bool) {
	switch s := v.(type) {
	case string:
		return s, true
	case json.Number:
		return "", false // a number, though its kind is string
	}
	r := reflect.ValueOf(v)
	return r.String(), r.Kind() == reflect.String
}

// kindOf names a value's kind as a template's kindOf does. A json.Number is a
// number: Helm would have decoded it as one.
func kindOf(v any) string {
	if _, ok := v.(json.Number); ok {
		return reflect.Float64.String()
	}
	return reflect.ValueOf(v).Kind().String()
}

// empty reports whether a template's "if" skips the value.
func empty(v any) bool {
	if n, ok := v.(json.Number); ok {
		f, err := n.Float64()
		return err == nil && f == 0
	}
	r := reflect.ValueOf(v)
	switch r.Kind() {
	case reflect.Slice, reflect.Map, reflect.String:
		return r.Len() == 0
	case reflect.Invalid:
		return true
	}
	return r.IsZero()
}

func sortedKeys(m map[string]any) []string {
	keys := make([]string, 0, len(m))
	for key := range m {
		keys = append(keys, key)
	}
	slices.Sort(keys)
	return keys
}
