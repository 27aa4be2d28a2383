// SPDX-License-Identifier: Apache-2.0

package imageoverrides

import (
	"errors"
	"fmt"

	"go.yaml.in/yaml/v3"

	"github.com/cozystack/image-overrides/internal/entries"
	"github.com/cozystack/image-overrides/internal/manifest/document"
	"github.com/cozystack/image-overrides/internal/quote"
)

// Replace returns a text with a table in place of the one that [Find] finds in it. The entries of that table must be the first
// of the other by their names, in their order: their fields may change or come to be, and entries may come behind them. Every other byte stays, comments, order
// and notation among them; new entries are written in the notation of those that are there. A text whose table is equal comes back
// as it is, and is not copied.
//
// The error is that of Find, or says why the table cannot be edited: an entry would go, be renamed or lose a field; the table is in a text of a Secret or a ConfigMap,
// which is to be edited alone; it is written with anchors, aliases or another notation in which bytes cannot be told apart. What Replace returns has been
// read again and has the table. An unknown table is an error too.
func Replace(text []byte, t Table) ([]byte, error) {
	before, err := Find(text)
	switch {
	case err != nil:
		return nil, err
	case !t.Known():
		return nil, errors.New("the table to write is unknown")
	case before.Table.Equal(t):
		return text, nil
	case before.Key != "":
		return nil, fmt.Errorf("the table is in the text of the key %s; edit that text alone", quote.Plain(before.Key))
	}
	changed, err := edited(text, before, t)
	if err != nil {
		return nil, err
	}
	if after, err := Find(changed); err != nil || !after.Table.Equal(t) {
		return nil, fmt.Errorf("%s %w", before.Path, entries.ErrPlace)
	}
	return changed, nil
}

func edited(text []byte, before Found, t Table) ([]byte, error) {
	parsed, err := document.Parse(text)
	if err != nil {
		return nil, err // which Find has read
	}
	list := before.Table.listIn(parsed)
	if list == nil {
		return nil, fmt.Errorf("%s %w", before.Path, entries.ErrPlace)
	}
	old := before.Table.t.overrides
	for i, o := range t.t.overrides {
		if i >= len(old) {
			var fields []entries.Field
			for _, name := range fieldNames {
				if value := *o.field(name); value != "" {
					fields = append(fields, entries.Field{Name: name, Value: value})
				}
			}
			list.Append(fields...)
			continue
		}
		if o.Name != old[i].Name {
			return nil, fmt.Errorf("%s would be for %s, and is for %s; entries keep their places", at(before.Path, i), quote.Value(o.Name), quote.Value(old[i].Name))
		}
		for j, name := range fieldNames {
			switch value := *o.field(name); {
			case value == *old[i].field(name):
			case value == "":
				return nil, fmt.Errorf("%s would lose its %s; take the line out", at(before.Path, i), name)
			default:
				if err := list.Set(i, entries.Field{Name: name, Value: value}, fieldNames[:j]...); err != nil {
					return nil, fmt.Errorf("%s %w", at(before.Path, i), err)
				}
			}
		}
	}
	if t.Len() < len(old) {
		return nil, fmt.Errorf("%s would go; take it out by hand", at(before.Path, t.Len()))
	}
	changed, err := entries.Bytes(parsed, list)
	if err != nil {
		return nil, fmt.Errorf("%s %w", before.Path, err)
	}
	return changed, nil
}

// listIn returns the list of a table in the text that it was found in, nil where it has no place there.
func (t Table) listIn(text *document.Text) *entries.List {
	lines := document.NewLines(text.Bytes)
	start := t.t.at(-1, "")
	matches := func(n *yaml.Node) bool {
		if n.Kind != yaml.SequenceNode && (n.Kind != yaml.ScalarNode || n.ShortTag() != "!!null") || len(n.Content) != t.Len() {
			return false
		}
		at, ok := text.Offset(n)
		line, column := lines.Position(at)
		return ok && position{int32(line), int32(column)} == start
	}
	var find func(n *yaml.Node) *entries.List
	find = func(n *yaml.Node) *entries.List {
		for i, child := range n.Content {
			isValue := n.Kind == yaml.MappingNode && i%2 == 1
			if isValue && matches(child) {
				return entries.In(text, n, n.Content[i-1], child)
			}
			if found := find(child); found != nil {
				return found
			}
		}
		return nil
	}
	for _, root := range text.Roots {
		if matches(root) {
			return entries.In(text, nil, nil, root)
		}
		if found := find(root); found != nil {
			return found
		}
	}
	return nil
}
