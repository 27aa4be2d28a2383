// SPDX-License-Identifier: Apache-2.0

package release

import (
	"bytes"
	"encoding/json"
	"errors"
	"strings"

	helmv2 "github.com/fluxcd/helm-controller/api/v2"
	"go.yaml.in/yaml/v3"

	"github.com/cozystack/image-overrides/internal/manifest/document"
)

// lines is the edit that puts lines at the start of a line, or at the end of the text.
func (r *Release) lines(at, indent int, lines string) document.Edit {
	return document.Insert(r.bytes(), at, indent, lines)
}

// linesEnd returns where the lines of a block style value end, which is at end or before. Blank lines and
// comments behind them belong to what follows, comments only where they are indented by less
// than indent: no text in a value can be.
func (r *Release) linesEnd(n *yaml.Node, end, indent int) int {
	text := r.bytes()
	blank := endsBlank(n)
	for end > 0 {
		start := bytes.LastIndexByte(text[:end-1], '\n') + 1
		line := strings.TrimRight(string(text[start:end]), " \t\r\n")
		content := strings.TrimLeft(line, " ")
		switch {
		case content == "" && !blank:
		case strings.HasPrefix(content, "#") && len(line)-len(content) < indent:
		case strings.HasPrefix(line, "..."): // the end of a document
		default:
			return end
		}
		end = start
	}
	return end
}

// endsBlank reports whether a value ends in a block of text that ends in blank lines.
func endsBlank(n *yaml.Node) bool {
	for len(n.Content) > 0 {
		n = n.Content[len(n.Content)-1]
	}
	lines := strings.Split(strings.TrimSuffix(n.Value, "\n"), "\n")
	return n.Style&(yaml.LiteralStyle|yaml.FoldedStyle) != 0 && strings.TrimSpace(lines[len(lines)-1]) == ""
}

// blockText writes a list of post-renderers as YAML in block style.
func blockText(list []helmv2.PostRenderer) string {
	parsed, err := document.Parse([]byte(flowText(list)))
	if err != nil {
		panic(err) // JSON of our own
	}
	n := parsed.Roots[0]
	restyle(n)
	var b strings.Builder
	e := yaml.NewEncoder(&b)
	e.SetIndent(2)
	e.CompactSeqIndent()
	if err := errors.Join(e.Encode(n), e.Close()); err != nil {
		panic(err)
	}
	return b.String()
}

// restyle makes a tree of flow style one of block style, with quotes where any version of YAML
// needs them.
func restyle(n *yaml.Node) {
	n.Style = 0
	switch {
	case n.Kind != yaml.ScalarNode:
	case strings.Contains(n.Value, "\n"):
		n.Style = yaml.LiteralStyle
	case !document.IsPlain(n.Value):
		n.Style = yaml.DoubleQuotedStyle
	}
	for _, child := range n.Content {
		restyle(child)
	}
}

// flowText writes a value of the Flux API as JSON.
func flowText(v any) string {
	var b strings.Builder
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(v); err != nil {
		panic(err) // its fields are strings
	}
	return strings.TrimSuffix(b.String(), "\n")
}

// sorted writes a value of the Flux API as JSON with its keys in order.
func sorted(v any) string {
	var value any
	if err := json.Unmarshal([]byte(flowText(v)), &value); err != nil {
		panic(err) // JSON of our own
	}
	return flowText(value)
}
