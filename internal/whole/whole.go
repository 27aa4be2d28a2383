// SPDX-License-Identifier: Apache-2.0

// Package whole reads a text of values as a whole: it says where Helm's decoder would read only a part of it, and where everything
// stands that a table of entries is made of.
package whole

import (
	"cmp"
	"encoding/base64"
	"errors"
	"fmt"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/cozystack/image-overrides/internal/manifest/document"
)

// A Text is a text that holds one document at most.
type Text struct{ parsed *document.Text }

// A Place is a line and a column of a text, both from 1, the column in characters. The zero Place is none.
type Place struct{ Line, Column int32 }

// A Kind says what a fault is of.
type Kind int

const (
	Syntax  Kind = iota // it is no YAML
	More                // something stands behind the first document
	Aliases             // aliases stand for too much
)

// A Fault says why a text is not read.
type Fault struct {
	Kind   Kind
	Place  Place
	Reason string
}

// MaxAliased is how many bytes the aliases of a text may stand for. What they make
// of it is decoded, checked and kept.
const MaxAliased = 4 << 20

// Parse reads a text, which is known to be JSON or may be YAML.
func Parse(text []byte, json bool) (*Text, *Fault) {
	fault := func(kind Kind, offset int, reason string) (*Text, *Fault) {
		line, column := document.NewLines(text).Position(offset)
		return nil, &Fault{kind, Place{int32(line), int32(column)}, reason}
	}
	parse := document.Parse
	if json {
		parse = document.ParseJSON
	}
	parsed, err := parse(text)
	if err != nil {
		var syntax *document.SyntaxError
		errors.As(err, &syntax)
		if syntax.Reason == document.MoreText {
			return fault(More, syntax.Offset, "text behind the first document, which is all that Helm reads; is a line above indented by more than this one, or a value complete?")
		}
		return fault(Syntax, syntax.Offset, syntax.Reason)
	}
	if len(parsed.Roots) > 1 {
		at, _ := parsed.Offset(parsed.Roots[1])
		return fault(More, at, "a second document; the table must be in the only one")
	}
	if alias := excess(parsed.Roots); alias != nil {
		at, _ := parsed.Offset(alias)
		return fault(Aliases, at, fmt.Sprintf("aliases stand for more than %d bytes; write what they stand for, or less of it", MaxAliased))
	}
	return &Text{parsed}, nil
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
		if a.total = min(a.total+size, MaxAliased+1); a.total > MaxAliased && a.excess == nil {
			a.excess = n
		}
		return size
	}
	size := len(n.Value) + more
	for _, child := range n.Content {
		size = min(size+a.size(child), MaxAliased+1)
	}
	if n.Anchor != "" {
		a.sizes[n] = size
	}
	return size
}

// A Double is a key that is set again.
type Double struct {
	Path          string // of the map around, from the root of the text
	Entry         int    // of the table, or -1 for a key on the way to it
	Key           string
	Merged        bool // it is set again by a merge key, which counts more to Helm than what stands before it
	First, Second Place

	first, second *yaml.Node
}

// Doubles returns the keys that are set twice on the way to the table, which stands under the given keys,
// or inside it. The path is that of a table that is all of the text.
func (t *Text) Doubles(path string, keys ...string) []Double {
	if len(t.parsed.Roots) == 0 {
		return nil
	}
	d := doubles{path: path, seen: make(map[*yaml.Node]bool)}
	n := document.Behind(t.parsed.Roots[0])
	for i, key := range keys {
		d.path = strings.Join(keys[:i+1], ".")
		d.onTheWay(n, key)
		at, ok := placesOf(n)[key]
		if !ok {
			return t.placed(d.found)
		}
		n = document.Behind(n.Content[at+1])
	}
	if len(d.found) == 0 && n.Kind == yaml.SequenceNode {
		for i, entry := range n.Content {
			d.inside(document.Behind(entry), i)
		}
	}
	return t.placed(d.found)
}

// placed gives doubles their places.
func (t *Text) placed(list []Double) []Double {
	spots := make([]spot, 0, 2*len(list))
	for i := range list {
		d := &list[i]
		d.Merged = document.Behind(d.second).Tag == document.MergeTag
		spots = append(spots, spot{d.first, &d.First}, spot{d.second, &d.Second})
	}
	t.find(spots)
	return list
}

// doubles finds keys that are set twice.
type doubles struct {
	path  string
	seen  map[*yaml.Node]bool // the entries so far, which aliases may stand for
	found []Double
}

// onTheWay looks for one key in a map.
func (d *doubles) onTheWay(n *yaml.Node, key string) {
	d.fields(n, func(k string, second, first *yaml.Node) {
		if k == key {
			d.found = append(d.found, Double{Path: d.path, Entry: -1, Key: key, first: first, second: second})
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
		d.found = append(d.found, Double{Path: d.path, Entry: entry, Key: k, first: first, second: second})
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
		key := document.Behind(node)
		if key.Tag != document.MergeTag {
			if first := own[keyText(key)]; first != nil {
				twice(keyText(key), node, first)
			} else if key.Kind == yaml.ScalarNode {
				own[keyText(key)] = node
			}
			continue
		}
		for _, m := range mergedBy(n.Content[i+1]) {
			for j := 0; j+1 < len(m.Content); j += 2 {
				k := document.Behind(m.Content[j])
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
	value = document.Behind(value)
	if value.Kind == yaml.MappingNode {
		return []*yaml.Node{value}
	}
	var maps []*yaml.Node
	for _, item := range value.Content {
		if item = document.Behind(item); item.Kind == yaml.MappingNode {
			maps = append(maps, item)
		}
	}
	return maps
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

// A Question asks where something stands.
type Question struct {
	Entry int    // of the table; -1: the table
	Field string // of the entry; "": the entry
	Key   bool   // the field's key, and not its value
	Own   bool   // the entry as it stands, perhaps an alias
	Only  bool   // nothing, where the entry has no such field; otherwise what is around it

	At Place // the answer
}

// Len returns how many entries the table has that stands under the given keys, or -1 where there is no list.
func (t *Text) Len(keys ...string) int {
	if n := t.under(keys...); n.Kind == yaml.SequenceNode {
		return len(n.Content)
	}
	return -1
}

// Answer answers questions about the table that stands under the given keys, or about the last thing on the way to it. It is
// fast where the questions about an entry stand side by side.
func (t *Text) Answer(list []Question, keys ...string) {
	table := t.under(keys...)
	spots := make([]spot, 0, len(list))
	entry, fields := -1, map[string]int(nil) // of the entry before
	for i := range list {
		q := &list[i]
		n := table
		if q.Entry >= 0 && n.Kind == yaml.SequenceNode && q.Entry < len(n.Content) {
			n = n.Content[q.Entry]
			if !q.Own {
				n = document.Behind(n)
			}
		}
		if q.Field != "" {
			at, ok := 0, false
			if n.Kind == yaml.MappingNode {
				if q.Entry != entry || fields == nil {
					entry, fields = q.Entry, placesOf(n)
				}
				at, ok = fields[q.Field]
			}
			switch {
			case ok && q.Key:
				n = n.Content[at]
			case ok:
				n = document.Behind(n.Content[at+1])
			case q.Only:
				continue
			}
		}
		spots = append(spots, spot{n, &q.At})
	}
	t.find(spots)
}

// A spot is a node whose place is asked for.
type spot struct {
	node *yaml.Node
	at   *Place
}

// under returns the node under the given keys, or the last one on the way there.
func (t *Text) under(keys ...string) *yaml.Node {
	if len(t.parsed.Roots) == 0 {
		return &yaml.Node{Line: 1, Column: 1}
	}
	n := document.Behind(t.parsed.Roots[0])
	for _, key := range keys {
		at, ok := placesOf(n)[key]
		if !ok {
			break
		}
		n = document.Behind(n.Content[at+1])
	}
	return n
}

// find fills in the places of spots, which it puts into the order of the text: so it is found fastest.
func (t *Text) find(spots []spot) {
	slices.SortStableFunc(spots, func(a, b spot) int {
		return cmp.Or(cmp.Compare(a.node.Line, b.node.Line), cmp.Compare(a.node.Column, b.node.Column))
	})
	lines := document.NewLines(t.parsed.Bytes)
	for _, s := range spots {
		offset, _ := t.parsed.Offset(s.node)
		line, column := lines.Position(offset)
		*s.at = Place{int32(line), int32(column)}
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
		places[keyText(document.Behind(n.Content[i]))] = i
	}
	return places
}
