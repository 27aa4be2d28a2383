// SPDX-License-Identifier: Apache-2.0

package imageoverrides

import (
	"cmp"
	"encoding/base64"
	"errors"
	"fmt"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/cozystack/image-overrides/internal/manifest/document"
	"github.com/cozystack/image-overrides/internal/quote"
)

// An input is a text that was read whole, as Helm would read it: what it decodes to, and the nodes
// that say where everything stands. The zero input stands for values without a text.
type input struct {
	parsed *document.Text // nil for no text
	value  any
}

// maxAliasedText is how many bytes the aliases of a text may stand for. What they make
// of it is decoded, checked and kept.
const maxAliasedText = 4 << 20

// open reads a text that holds one document at most. The error is of the text: it is no YAML, goes
// on behind its first document, or has aliases that stand for too much.
func open(text []byte) (*input, error) {
	fault := func(rule Rule, offset int, reason string) (*input, error) {
		line, column := document.NewLines(text).Position(offset)
		return nil, faults{textFault(rule, line, column, reason)}.err()
	}
	parse := document.Parse
	if isJSON(text) {
		parse = document.ParseJSON
	}
	parsed, err := parse(text)
	if err != nil {
		var syntax *document.SyntaxError
		errors.As(err, &syntax)
		if syntax.Reason == document.MoreText {
			return fault(RuleDocument, syntax.Offset, "text behind the first document, which is all that Helm reads; is a line above indented by more than this one, or a value complete?")
		}
		return fault(RuleSyntax, syntax.Offset, syntax.Reason)
	}
	in := &input{parsed: parsed}
	if len(parsed.Roots) > 1 {
		at, _ := parsed.Offset(parsed.Roots[1])
		return fault(RuleDocument, at, "a second document; the table must be in the only one")
	}
	if alias := excess(parsed.Roots); alias != nil {
		at, _ := parsed.Offset(alias)
		return fault(RuleAliases, at, fmt.Sprintf("aliases stand for more than %d bytes; write what they stand for, or less of it", maxAliasedText))
	}
	// What parses and still does not decode, such as a list as a key, is told at the start of the text.
	if in.value, err = decode(text); err != nil {
		reason := strings.TrimPrefix(err.Error(), "error converting YAML to JSON: ")
		return fault(RuleSyntax, 0, quote.Shorten(strings.TrimPrefix(reason, "yaml: "), quote.Limit))
	}
	return in, nil
}

// excess returns the first alias with which aliases stand for too much, or nil.
func excess(roots []*yaml.Node) *yaml.Node {
	a := aliased{sizes: make(map[*yaml.Node]int)}
	for _, root := range roots {
		a.size(root)
	}
	return a.excess
}

// aliased measures what aliases stand for.
type aliased struct {
	sizes  map[*yaml.Node]int // of what has an anchor, in bytes, as if written out
	total  int                // of all aliases in the text so far
	excess *yaml.Node
}

// size returns how long a value is as if it were written out, roughly, and at most a little more than the
// limit.
func (a *aliased) size(n *yaml.Node) int {
	const more = 4 // a separator, a dash, quotes
	if n.Kind == yaml.AliasNode {
		size := a.sizes[n.Alias] // 0 for one that the alias stands in, which does not decode
		if a.total = min(a.total+size, maxAliasedText+1); a.total > maxAliasedText && a.excess == nil {
			a.excess = n
		}
		return size
	}
	size := len(n.Value) + more
	for _, child := range n.Content {
		size = min(size+a.size(child), maxAliasedText+1)
	}
	if n.Anchor != "" {
		a.sizes[n] = size
	}
	return size
}

// twice returns the keys that are set twice on the way to the table, which stands under the given keys,
// or inside it.
func (in *input) twice(keys ...string) faults {
	if len(in.parsed.Roots) == 0 {
		return nil
	}
	d := doubles{path: listPath, seen: make(map[*yaml.Node]bool)}
	n := resolve(in.parsed.Roots[0])
	for i, key := range keys {
		d.path = strings.Join(keys[:i+1], ".")
		d.onTheWay(n, key)
		at, ok := placesOf(n)[key]
		if !ok {
			return d.faults(in)
		}
		n = resolve(n.Content[at+1])
	}
	if len(d.found) == 0 && n.Kind == yaml.SequenceNode {
		for i, entry := range n.Content {
			d.inside(resolve(entry), i)
		}
	}
	return d.faults(in)
}

// doubles finds keys that are set twice.
type doubles struct {
	path  string
	seen  map[*yaml.Node]bool // the entries so far, which aliases may stand for
	found []double
}

// A double is a key that is set again.
type double struct {
	path          string
	entry         int // or -1, for a key on the way to the table
	key           string
	first, second *yaml.Node
}

// onTheWay looks for one key in a map.
func (d *doubles) onTheWay(n *yaml.Node, key string) {
	d.fields(n, func(k string, second, first *yaml.Node) {
		if k == key {
			d.found = append(d.found, double{d.path, -1, key, first, second})
		}
	})
}

// inside looks for every key in an entry.
func (d *doubles) inside(n *yaml.Node, entry int) {
	if d.seen[n] {
		return
	}
	d.seen[n] = true
	d.fields(n, func(k string, second, first *yaml.Node) {
		d.found = append(d.found, double{d.path, entry, k, first, second})
	})
}

// fields calls twice with each key of a map that is set again: by the same key further down, or by a
// merge key behind it, which Helm's decoder lets win. What a merge key brings in first, a key of the map's own
// may set, and does.
func (d *doubles) fields(n *yaml.Node, twice func(k string, second, first *yaml.Node)) {
	if n.Kind != yaml.MappingNode {
		return
	}
	own, merged := make(map[string]*yaml.Node), make(map[string]*yaml.Node)
	for i := 0; i+1 < len(n.Content); i += 2 {
		node := n.Content[i]
		key := resolve(node)
		if key.Tag != mergeTag {
			if first := own[keyText(key)]; first != nil {
				twice(keyText(key), node, first)
			} else if key.Kind == yaml.ScalarNode {
				own[keyText(key)] = node
			}
			continue
		}
		for _, m := range mergedBy(n.Content[i+1]) {
			for j := 0; j+1 < len(m.Content); j += 2 {
				k := resolve(m.Content[j])
				first := own[keyText(k)]
				if first == nil {
					first = merged[keyText(k)]
				}
				switch {
				case k.Kind != yaml.ScalarNode:
				case first != nil && first != node:
					twice(keyText(k), node, first)
				default:
					merged[keyText(k)] = node
				}
			}
		}
	}
}

// mergedBy returns the maps that a merge key brings in.
func mergedBy(value *yaml.Node) []*yaml.Node {
	value = resolve(value)
	if value.Kind == yaml.MappingNode {
		return []*yaml.Node{value}
	}
	var maps []*yaml.Node
	for _, item := range value.Content {
		if item = resolve(item); item.Kind == yaml.MappingNode {
			maps = append(maps, item)
		}
	}
	return maps
}

// faults tells what was found, with both places.
func (d *doubles) faults(in *input) (list faults) {
	at := make([]struct{ first, second position }, len(d.found))
	spots := make([]spot, 0, 2*len(at))
	for i, f := range d.found {
		spots = append(spots, spot{f.first, &at[i].first}, spot{f.second, &at[i].second})
	}
	in.find(spots)
	for i, f := range d.found {
		e := &Error{Path: f.path, Entry: f.entry, Rule: RuleTwice, Line: int(at[i].second.line), Column: int(at[i].second.column)}
		what := f.path
		if f.entry >= 0 {
			e.Field, what = f.key, fmt.Sprintf("%s[%d]: %s", f.path, f.entry, quote.Plain(f.key))
		}
		e.text = fmt.Sprintf("%s is set twice, first in line %d, column %d; Helm reads the last one only", what, at[i].first.line, at[i].first.column)
		if resolve(f.second).Tag == mergeTag {
			e.text = fmt.Sprintf("%s is set twice, in line %d, column %d and by this merge key, which counts more to Helm than what stands before it; put the merge key first",
				what, at[i].first.line, at[i].first.column)
		}
		list = append(list, e)
	}
	return list
}

// keyText is a key as Helm's decoder has it.
func keyText(key *yaml.Node) string {
	if key.Tag == "!!binary" {
		if text, err := base64.StdEncoding.DecodeString(key.Value); err == nil {
			return string(text)
		}
	}
	return key.Value
}

// A spot is a node whose place is asked for.
type spot struct {
	node *yaml.Node
	at   *position
}

// locate gives the fault the position of the value under the given keys.
func (in *input) locate(e *Error, keys ...string) *Error {
	in.locateAll(faults{e}, keys...)
	return e
}

// locateAll gives faults their positions, where there is a text that has the table under the given
// keys: that of the field, or else of the entry, or else of the table.
func (in *input) locateAll(list faults, keys ...string) {
	if in.parsed == nil {
		return
	}
	table := in.under(keys...)
	spots := make([]spot, len(list))
	entry, fields := -1, map[string]int(nil) // of the entry before
	for i, e := range list {
		n := table
		if e.Entry >= 0 && n.Kind == yaml.SequenceNode && e.Entry < len(n.Content) {
			n = n.Content[e.Entry]
			if e.Rule != RuleDuplicate { // which the alias is, not what it stands for
				n = resolve(n)
			}
		}
		if e.Field != "" && n.Kind == yaml.MappingNode {
			if e.Entry != entry || fields == nil {
				entry, fields = e.Entry, placesOf(n)
			}
			if at, ok := fields[e.Field]; ok && e.Rule == RuleField {
				n = n.Content[at]
			} else if ok {
				n = resolve(n.Content[at+1])
			}
		}
		spots[i] = spot{n, new(position)}
	}
	in.find(slices.Clone(spots))
	for i, e := range list {
		e.Line, e.Column = int(spots[i].at.line), int(spots[i].at.column)
	}
}

// places returns where a table stands that has these overrides, and where its entries do.
func (in *input) places(overrides []Override, keys ...string) (position, []placed) {
	var list position
	if in.parsed == nil {
		return list, nil
	}
	table := in.under(keys...)
	spots := []spot{{table, &list}}
	entries := make([]placed, len(overrides))
	if table.Kind == yaml.SequenceNode && len(table.Content) == len(entries) {
		for i, n := range table.Content {
			n = resolve(n)
			spots = append(spots, spot{n, &entries[i].entry})
			fields := placesOf(n)
			for j, field := range fieldNames {
				if at, ok := fields[field]; ok {
					spots = append(spots, spot{resolve(n.Content[at+1]), &entries[i].fields[j]})
				}
			}
		}
	}
	in.find(spots)
	return list, entries
}

// under returns the node under the given keys, or the last one on the way there.
func (in *input) under(keys ...string) *yaml.Node {
	if len(in.parsed.Roots) == 0 {
		return &yaml.Node{Line: 1, Column: 1}
	}
	n := resolve(in.parsed.Roots[0])
	for _, key := range keys {
		at, ok := placesOf(n)[key]
		if !ok {
			break
		}
		n = resolve(n.Content[at+1])
	}
	return n
}

// find fills in the places of spots, which it puts into the order of the text: so it is found fastest.
func (in *input) find(spots []spot) {
	slices.SortStableFunc(spots, func(a, b spot) int {
		return cmp.Or(cmp.Compare(a.node.Line, b.node.Line), cmp.Compare(a.node.Column, b.node.Column))
	})
	lines := document.NewLines(in.parsed.Bytes)
	for _, s := range spots {
		offset, _ := in.parsed.Offset(s.node)
		line, column := lines.Position(offset)
		*s.at = position{int32(line), int32(column)}
	}
}

// placesOf returns where the keys of a map are among its children: the last of each, which
// is the one that decoding keeps.
func placesOf(n *yaml.Node) map[string]int {
	if n.Kind != yaml.MappingNode {
		return nil
	}
	places := make(map[string]int, len(n.Content)/2)
	for i := 0; i+1 < len(n.Content); i += 2 {
		places[keyText(resolve(n.Content[i]))] = i
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

// mergeTag is the tag that the YAML parser gives to a plain <<.
const mergeTag = "!!merge"
