// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"errors"
	"fmt"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/cozystack/image-overrides/imageoverrides"
	"github.com/cozystack/image-overrides/internal/manifest/document"
	"github.com/cozystack/image-overrides/internal/quote"
)

// A splice puts text in place of the bytes from start to end.
type splice struct {
	start, end int
	text       string
}

// edit returns a table's text with the digests of another table, which has the same entries. All else stays to the
// byte. Where that cannot be done without doubt it is an error.
func edit(text []byte, pinned imageoverrides.Table) ([]byte, error) {
	before, err := imageoverrides.Find(text)
	if err != nil {
		return nil, err
	}
	doc, err := document.Parse(text)
	if err != nil {
		return nil, err
	}
	entries := tableNode(doc)
	var splices []splice
	for _, d := range imageoverrides.Diff(before.Table, pinned) {
		if d.Kind != imageoverrides.Digest || d.NewEntry < 0 || entries == nil || d.NewEntry >= len(entries.Content) {
			return nil, errors.New("the table cannot be edited in this place: only a list, and values of the platform chart, can")
		}
		one, ok := digestSplice(doc, entries.Content[d.NewEntry], d.New.Digest)
		if !ok {
			return nil, fmt.Errorf("entry %d (%s) cannot be edited in this place; write it out, a field a line, without anchors and aliases", d.NewEntry, quote.Plain(d.Name))
		}
		splices = append(splices, one)
	}
	slices.SortFunc(splices, func(a, b splice) int { return a.start - b.start })
	var out []byte
	at := 0
	for _, one := range splices {
		if one.start < at {
			return nil, errors.New("the table cannot be edited: entries share their text")
		}
		out = append(append(out, text[at:one.start]...), one.text...)
		at = one.end
	}
	out = append(out, text[at:]...)
	if after, err := imageoverrides.Find(out); err != nil || !after.Table.Equal(pinned) {
		return nil, errors.New("the table cannot be edited in its notation; write it out, a field a line, without anchors and aliases")
	}
	return out, nil
}

// tableNode finds the list of entries.
func tableNode(doc *document.Text) *yaml.Node {
	if len(doc.Roots) != 1 {
		return nil
	}
	n := doc.Roots[0]
	if n.Kind == yaml.DocumentNode && len(n.Content) == 1 {
		n = n.Content[0]
	}
	if n.Kind == yaml.SequenceNode {
		return n
	}
	for _, key := range []string{"registries", "imageOverrides"} {
		if _, n = field(n, key); n == nil {
			return nil
		}
	}
	if n.Kind != yaml.SequenceNode {
		return nil
	}
	return n
}

// field returns a map's key and its value.
func field(n *yaml.Node, name string) (key, value *yaml.Node) {
	if n == nil || n.Kind != yaml.MappingNode {
		return nil, nil
	}
	for i := 0; i+1 < len(n.Content); i += 2 {
		if n.Content[i].Value == name {
			return n.Content[i], n.Content[i+1]
		}
	}
	return nil, nil
}

// digestSplice gives an entry its digest: in place of the one that it has, or behind its newTag.
func digestSplice(doc *document.Text, entry *yaml.Node, digest string) (splice, bool) {
	if entry.Kind != yaml.MappingNode {
		return splice{}, false
	}
	if _, value := field(entry, "digest"); value != nil && value.Kind == yaml.ScalarNode && value.Value != "" {
		s, ok := doc.Scalar(value)
		if !ok {
			return splice{}, false
		}
		start, end, text := s.Replace(digest, bytes.HasPrefix(doc.Bytes[s.Start:], []byte(`"`)))
		return splice{start, end, text}, true
	} else if value != nil {
		return splice{}, false
	}
	key, value := field(entry, "newTag")
	if value == nil || value.Kind != yaml.ScalarNode {
		return splice{}, false
	}
	s, ok := doc.Scalar(value)
	at, placed := doc.Offset(key)
	if !ok || !placed || bytes.ContainsAny(doc.Bytes[s.Start:s.End], "\r\n") {
		return splice{}, false
	}
	if entry.Style&yaml.FlowStyle != 0 {
		text := ", digest: " + digest
		if doc.Bytes[at] == '"' {
			text = `, "digest": "` + digest + `"`
		}
		return splice{s.End, s.End, text}, true
	}
	lineStart := bytes.LastIndexByte(doc.Bytes[:at], '\n') + 1
	indent := strings.Repeat(" ", len([]rune(string(bytes.TrimPrefix(doc.Bytes[lineStart:at], []byte("\uFEFF"))))))
	end, lineBreak := len(doc.Bytes), "\n"
	if n := bytes.IndexByte(doc.Bytes[s.End:], '\n'); n >= 0 {
		end = s.End + n
	}
	if bytes.HasSuffix(doc.Bytes[:end], []byte("\r")) || end == len(doc.Bytes) && bytes.Contains(doc.Bytes, []byte("\r\n")) {
		lineBreak = "\r\n"
		if end < len(doc.Bytes) {
			end--
		}
	}
	return splice{end, end, lineBreak + indent + "digest: " + digest}, true
}
