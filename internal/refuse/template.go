// SPDX-License-Identifier: Apache-2.0

// Package refuse finds what must not be edited in a document of manifests: a chart's template that nobody rendered, and
// what SOPS has signed.
package refuse

import (
	"bytes"
	"regexp"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/cozystack/image-overrides/internal/manifest/document"
	"github.com/cozystack/image-overrides/internal/node"
)

// NotRendered is said of a chart's template.
const NotRendered = "a template; render it first (helm template)"

// Template finds an action of a template in a text of manifests that parses: one of [Action], or else one of those that are wrong
// within quotes too.
func Template(text *document.Text, f *node.Finder) (offset int, found bool) {
	if offset, found = Action(text); found {
		return offset, true
	}
	return quotedAction(text, f)
}

// mayHaveAction matches every text in which Action finds something.
var mayHaveAction = regexp.MustCompile(`(?m)(?:^|[-:,?\[{])[ \t]*\{\{`)

// Action finds the first action of a template in a text that parses all the same: {{ .Values.image }} is a map in a
// map, which no manifest and no values have. Within quotes and in blocks of text an action is text.
func Action(text *document.Text) (offset int, found bool) {
	if !mayHaveAction.Match(text.Bytes) {
		return 0, false
	}
	var walk func(list []*yaml.Node) bool
	walk = func(list []*yaml.Node) bool {
		for _, n := range list {
			if n.Kind == yaml.MappingNode && len(n.Content) > 0 && n.Content[0].Kind == yaml.MappingNode {
				if at, ok := text.Offset(n); ok && bytes.HasPrefix(text.Bytes[at:], []byte("{{")) {
					offset = at
					return true
				}
			}
			if walk(n.Content) {
				return true
			}
		}
		return false
	}
	return offset, walk(text.Roots)
}

// helmAction matches an action of a chart's template. Other programs than Helm have actions in texts
// that are right as they are.
var helmAction = regexp.MustCompile(`\{\{(?:[^}]*[\s(])?-?(?:\$?\.(?:Values|Chart|Release|Capabilities|Files|Template)\b|(?:include|template|tpl)\s)`)

// quotedAction finds the first action in a text of manifests where an action is wrong also within quotes: in the name
// of an object, and, of a chart's template, in the image of a container. Values are for Helm to render.
func quotedAction(text *document.Text, f *node.Finder) (offset int, found bool) {
	if !bytes.Contains(text.Bytes, []byte("{{")) {
		return 0, false
	}
	first := func(n *yaml.Node) {
		if at, ok := text.Offset(n); ok && (!found || at < offset) {
			offset, found = at, true
		}
	}
	var walk func(n *yaml.Node, containers bool)
	walk = func(n *yaml.Node, containers bool) {
		for i, c := range n.Content {
			switch {
			case n.Kind != yaml.MappingNode:
				walk(c, containers)
			case i%2 == 0:
			case c.Kind == yaml.ScalarNode && containers && n.Content[i-1].Value == "image" && helmAction.MatchString(c.Value):
				first(c)
			default:
				key := n.Content[i-1].Value
				walk(c, c.Kind == yaml.SequenceNode && (key == "containers" || key == "initContainers"))
			}
		}
	}
	for _, o := range f.Objects(text.Roots) {
		for _, key := range []string{"name", "namespace"} {
			if n := f.Child(f.Child(o.Node, "metadata"), key); n != nil && n.Kind == yaml.ScalarNode && strings.Contains(n.Value, "{{") {
				first(n)
			}
		}
		if kind := node.Scalar(o.Node, "kind"); kind != "HelmRelease" && kind != "Package" {
			walk(o.Node, false)
		}
	}
	return offset, found
}

var (
	// What may stand before a value in its line: dashes, and a key.
	lineHead = `^([ \t]*(?:[?-][ \t]+)*)(?:\{[ \t]*)?(?:(?:"[^"]*"|'[^']*'|[^\s"'#{}\[\]|>][^"'#]*?)[ \t]*:[ \t]+)?`
	// An action that is no text, for it is where a key or a value starts.
	actionStart = regexp.MustCompile(lineHead + `(\{\{)`)
	// The start of a block of text.
	blockStart = regexp.MustCompile(lineHead + `(?:[!&]\S*[ \t]+)*([|>])[-+0-9]*[ \t]*(?:#.*)?\r?$`)
)

// Unparsed finds the first action of a template in a text that does not parse. It is told by its place in the
// line; blocks of text are passed over.
func Unparsed(text []byte) (offset int, found bool) {
	block := -1 // the column of what has the block of text that we are in
	for at := 0; at < len(text); {
		line := text[at:]
		if i := bytes.IndexByte(line, '\n'); i >= 0 {
			line = line[:i]
		}
		indent := len(line) - len(bytes.TrimLeft(line, " "))
		if block >= 0 && indent <= block && len(bytes.TrimSpace(line)) > 0 {
			block = -1
		}
		if block < 0 {
			if m := actionStart.FindSubmatchIndex(line); m != nil {
				return at + m[4], true
			}
			if m := blockStart.FindSubmatchIndex(line); m != nil {
				block = m[3] // of the key
				if m[3] == m[4] {
					block = max(indent, bytes.LastIndexAny(line[:m[3]], "?-")) // of the dash
				}
			}
		}
		at += len(line) + 1
	}
	return 0, false
}
