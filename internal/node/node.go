// SPDX-License-Identifier: Apache-2.0

// Package node reads the YAML nodes of manifests: the fields of maps behind aliases and merge keys, the objects of documents, and
// the ways to their values. What a question costs is bounded by the text, however often its aliases stand for one map.
package node

import (
	"bytes"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/cozystack/image-overrides/internal/manifest/document"
)

// Map returns the map that the first document of a text is, and nil where it is none.
func Map(text []byte) (*yaml.Node, error) {
	var document yaml.Node
	if err := yaml.Unmarshal(text, &document); err != nil {
		return nil, err
	}
	if len(document.Content) == 0 || document.Content[0].Kind != yaml.MappingNode {
		return nil, nil
	}
	return document.Content[0], nil
}

// Own returns the last key of that text in a map, which is the one that decoding keeps, and its value as it stands. They are nil
// where there is none, and where n is no map.
func Own(n *yaml.Node, name string) (key, value *yaml.Node) {
	if n == nil || n.Kind != yaml.MappingNode {
		return nil, nil
	}
	for i := len(n.Content) - 2; i >= 0; i -= 2 {
		if document.Behind(n.Content[i]).Value == name {
			return n.Content[i], n.Content[i+1]
		}
	}
	return nil, nil
}

// Last is [Own] with the value behind an alias.
func Last(n *yaml.Node, name string) (key, value *yaml.Node) {
	key, value = Own(n, name)
	return key, document.Behind(value)
}

// Anchored reports whether an anchor stands on a value or in it.
func Anchored(n *yaml.Node) bool { return n.Anchor != "" || slices.ContainsFunc(n.Content, Anchored) }

// Scalar returns the text of a map's field, and "" where that is no scalar. Merge keys do not count.
func Scalar(n *yaml.Node, name string) string {
	_, value := Last(document.Behind(n), name)
	if value == nil || value.Kind != yaml.ScalarNode {
		return ""
	}
	return value.Value
}

// IsNull reports whether a value is not there, or null.
func IsNull(n *yaml.Node) bool { return n == nil || n.Tag == "!!null" }

// A Finder finds the values of maps. The zero Finder is ready for the nodes of one text, which must not change while it is used.
type Finder struct {
	found map[question]*yaml.Node // the answers for maps of many keys, and with merge keys
}

type question struct {
	n   *yaml.Node
	key string
}

// Child returns the value of a map's key, behind aliases and merge keys. It returns nil where the key is not there, and where
// n is nil or no map. Each map is looked through once for each key.
func (f *Finder) Child(n *yaml.Node, key string) *yaml.Node {
	const few = 16 // keys
	if n = document.Behind(n); n == nil || n.Kind != yaml.MappingNode {
		return nil
	}
	var merges []*yaml.Node
	if len(n.Content) <= 2*few {
		if _, value := Last(n, key); value != nil {
			return value
		}
		if merges = mergesOf(n); merges == nil {
			return nil
		}
	}
	q := question{n, key}
	if value, ok := f.found[q]; ok {
		return value
	}
	if f.found == nil {
		f.found = make(map[question]*yaml.Node)
	}
	f.found[q] = nil // for a map that merges itself
	_, value := Last(n, key)
	if merges == nil && value == nil {
		merges = mergesOf(n)
	}
	for i := 0; i < len(merges) && value == nil; i++ {
		value = f.Child(merges[i], key)
	}
	f.found[q] = value
	return value
}

// mergesOf returns the maps that the merge keys of a map bring in, in their order.
func mergesOf(n *yaml.Node) (maps []*yaml.Node) {
	for i := 0; i+1 < len(n.Content); i += 2 {
		if n.Content[i].Tag != document.MergeTag {
			continue
		}
		from := n.Content[i+1]
		if from.Kind == yaml.SequenceNode {
			maps = append(maps, from.Content...)
		} else {
			maps = append(maps, from)
		}
	}
	return maps
}

// Flow finds a list in brackets or a map in braces. ok is false for another node.
func Flow(t *document.Text, n *yaml.Node) (start, end int, ok bool) {
	text := t.Bytes
	start, ok = t.Offset(n)
	if !ok || start == len(text) || text[start] != '[' && text[start] != '{' {
		return 0, 0, false
	}
	depth := 0
	before := byte('[') // the last byte that was no white space
	for i := start; i < len(text); i++ {
		c := text[i]
		switch {
		case c == '[' || c == '{':
			depth++
		case c == ']' || c == '}':
			if depth--; depth == 0 {
				return start, i + 1, true
			}
		case c == '#' && strings.IndexByte(" \t\r\n", text[i-1]) >= 0:
			for i+1 < len(text) && text[i+1] != '\n' {
				i++
			}
			continue
		case (c == '"' || c == '\'') && strings.IndexByte("[{,:?", before) >= 0:
			for i++; i < len(text) && text[i] != c; i++ { // a quote within '' opens another
				if text[i] == '\\' && c == '"' {
					i++
				}
			}
			if c == '\'' {
				c = ':' // so that it can
			}
		}
		if strings.IndexByte(" \t\r\n", c) < 0 {
			before = c
		}
	}
	return 0, 0, false
}

// Indent returns how far a key is indented, and whether only spaces are before it in its line, a byte order mark aside.
func Indent(text *document.Text, key *yaml.Node) (int, bool) {
	at, ok := text.Offset(key)
	before := bytes.TrimPrefix(text.Bytes[LineStart(text, key):at], []byte("\uFEFF"))
	return len(before), ok && strings.Trim(string(before), " ") == ""
}

// LineStart returns the offset of the line that a node starts in.
func LineStart(text *document.Text, n *yaml.Node) int {
	at, _ := text.Offset(n)
	return bytes.LastIndexByte(text.Bytes[:at], '\n') + 1
}
