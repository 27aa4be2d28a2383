// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/cozystack/image-overrides/imageoverrides"
	"github.com/cozystack/image-overrides/internal/quote"
)

// behind returns what an alias stands for, and any other node as it is.
func behind(n *yaml.Node) *yaml.Node {
	if n != nil && n.Kind == yaml.AliasNode {
		return n.Alias
	}
	return n
}

// last returns the last key of that text in a map, and its value: the one that decoding
// keeps.
func last(n *yaml.Node, name string) (key, value *yaml.Node) {
	if n.Kind != yaml.MappingNode {
		return nil, nil
	}
	for i := len(n.Content) - 2; i >= 0; i -= 2 {
		if behind(n.Content[i]).Value == name {
			return n.Content[i], behind(n.Content[i+1])
		}
	}
	return nil, nil
}

// scalar returns the text of a map's field.
func scalar(n *yaml.Node, name string) string {
	if n = behind(n); n == nil {
		return ""
	}
	_, value := last(n, name)
	if value == nil || value.Kind != yaml.ScalarNode {
		return ""
	}
	return value.Value
}

// child returns the value of a map's key, behind aliases and merge keys. It returns nil where the
// key is not there, and where n is no map.
func child(n *yaml.Node, key string) *yaml.Node { return childOf(n, key, nil) }

// childOf is child, but for maps that were seen.
func childOf(n *yaml.Node, key string, seen map[*yaml.Node]bool) *yaml.Node {
	if n = behind(n); n == nil || n.Kind != yaml.MappingNode || seen[n] {
		return nil
	}
	if _, value := last(n, key); value != nil {
		return value
	}
	for i := 0; i+1 < len(n.Content); i += 2 {
		if n.Content[i].Tag != "!!merge" {
			continue
		}
		if seen == nil {
			seen = make(map[*yaml.Node]bool)
		}
		seen[n] = true
		from := []*yaml.Node{n.Content[i+1]}
		if list := behind(from[0]); list.Kind == yaml.SequenceNode {
			from = list.Content
		}
		for _, m := range from {
			if value := childOf(m, key, seen); value != nil {
				return value
			}
		}
	}
	return nil
}

// isNull reports whether a value is not there, or null.
func isNull(n *yaml.Node) bool { return n == nil || n.Tag == "!!null" }

// objectOf names the object of a manifest.
func objectOf(n *yaml.Node) imageoverrides.Object {
	metadata := child(n, "metadata")
	return imageoverrides.Object{
		APIVersion: scalar(n, "apiVersion"), Kind: scalar(n, "kind"),
		Namespace: scalar(metadata, "namespace"), Name: scalar(metadata, "name"),
	}
}

// A trail is the way from a document to one of its values, the value's own step last. Nil is the
// document itself.
type trail struct {
	up   *trail
	key  string
	item int // of a list, or -1
}

func (t *trail) under(key string) *trail { return &trail{t, key, -1} }
func (t *trail) at(i int) *trail         { return &trail{t, "", i} }

// String writes a trail as people write it, spec.values.registries.
func (t *trail) String() string {
	var steps []*trail
	for ; t != nil; t = t.up {
		steps = append(steps, t)
	}
	var b strings.Builder
	for _, s := range slices.Backward(steps) {
		switch {
		case s.item >= 0:
			fmt.Fprintf(&b, "[%d]", s.item)
		case s.key == "" || strings.ContainsAny(s.key, `.[]"`) || quote.Plain(s.key) != s.key:
			fmt.Fprintf(&b, "[%s]", quote.Value(s.key))
		default:
			if b.Len() > 0 {
				b.WriteByte('.')
			}
			b.WriteString(s.key)
		}
	}
	return b.String()
}

// An object is one of the objects of a text: a document, or an item of a list of objects.
type object struct {
	node  *yaml.Node
	trail *trail
}

// objects returns the objects of documents, in their order.
func objects(roots []*yaml.Node) []object {
	var found []object
	var visit func(n *yaml.Node, t *trail)
	visit = func(n *yaml.Node, t *trail) {
		items := child(n, "items")
		if items == nil || items.Kind != yaml.SequenceNode || !strings.HasSuffix(scalar(n, "kind"), "List") {
			found = append(found, object{n, t})
			return
		}
		for i, item := range items.Content {
			if item.Kind != yaml.AliasNode { // which is the object that it stands for
				visit(item, t.under("items").at(i))
			}
		}
	}
	for _, root := range roots {
		visit(root, nil)
	}
	return found
}
