// SPDX-License-Identifier: Apache-2.0

package main

import (
	"errors"
	"fmt"
	"regexp"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/cozystack/image-overrides/imageoverrides"
	"github.com/cozystack/image-overrides/internal/manifest/document"
	"github.com/cozystack/image-overrides/internal/quote"
)

// expected is what a text without a table is told.
const expected = "expected the platform chart's values, a list of entries, or a manifest of kind Secret, ConfigMap, HelmRelease or Package that has them"

// parse reads the table of a text, and tells the shapes apart by what the text holds.
func parse(file string, text []byte) (source, error) {
	src := source{file: file, path: "overrides"}
	if list.Match(text) { // which may be long, and which the library reads fast
		if table, err := imageoverrides.Parse(text); err == nil && table.Len() > 0 {
			src.table = table
			return src, nil
		}
	}
	parsed, fault := src.parse(text)
	switch {
	case fault != nil:
		return source{}, fault
	case len(parsed.Roots) == 0 || len(parsed.Roots) == 1 && isNull(parsed.Roots[0]):
		return source{}, faults{file + ": there is no table here, for there is nothing; [] is how an empty table is written"}
	case areManifests(parsed.Roots):
		return src.manifests(parsed)
	case len(parsed.Roots) == 1 && parsed.Roots[0].Kind == yaml.MappingNode:
		return src.values(text)
	}
	if root := parsed.Roots[0]; len(parsed.Roots) == 1 && root.Kind == yaml.ScalarNode {
		return source{}, faults{fmt.Sprintf("%s: a %s holds no table; %s", file, scalarKind(root), expected)}
	}
	var err error
	if src.table, err = imageoverrides.Parse(text); err != nil {
		return source{}, src.faults(err)
	}
	return src, nil
}

// scalarKind names what a text is that is one scalar.
func scalarKind(n *yaml.Node) string {
	switch n.ShortTag() {
	case "!!bool":
		return "bool"
	case "!!int", "!!float":
		return "number"
	}
	return "string"
}

// list matches the start of a text that is a list.
var list = regexp.MustCompile(`^(?:\x{FEFF}|\s|#.*\n|---)*[-\[]`)

// parse parses a text, and refuses what is no YAML, and what would be if somebody rendered it.
func (src source) parse(text []byte) (*document.Text, error) {
	parsed, err := document.Parse(text)
	var syntax *document.SyntaxError
	if errors.As(err, &syntax) {
		if at, ok := action(text); ok && at <= syntax.Offset {
			line, column := document.NewLines(text).Position(at)
			return nil, faults{src.place(line, column) + ": " + notRendered}
		}
		if _, err := imageoverrides.Parse(text); err != nil { // which knows text behind the end
			return nil, src.faults(err)
		}
		line, column := document.NewLines(text).Position(syntax.Offset)
		return nil, faults{src.place(line, column) + ": " + syntax.Reason}
	}
	if at, ok := parsedAction(parsed); ok {
		line, column := document.NewLines(text).Position(at)
		return nil, faults{src.place(line, column) + ": " + notRendered}
	}
	return parsed, err
}

// keys are the two keys that a table stands under in values.
type keys struct {
	outer, inner string
	parse        func(text []byte) (imageoverrides.Table, error)
}

func (k keys) path() string { return k.outer + "." + k.inner }

// in returns the table under the keys, nil where there is none.
func (k keys) in(values *yaml.Node) *yaml.Node { return child(child(values, k.outer), k.inner) }

var (
	chartKeys  = keys{"registries", "imageOverrides", imageoverrides.ParseValuesText}
	secretKeys = keys{"_cluster", "image-overrides", func(text []byte) (imageoverrides.Table, error) {
		return imageoverrides.ParseSecret(map[string][]byte{valuesFile: text})
	}}
)

// values reads the table of values: of the platform chart's, or of those that it hands on in its Secret. In
// the latter a table may be missing, which is how the chart writes an empty one.
func (src source) values(text []byte) (source, error) {
	parsed, err := src.parse(text)
	if err != nil {
		return source{}, err
	}
	var root *yaml.Node
	if len(parsed.Roots) > 0 {
		root = parsed.Roots[0]
	}
	k := chartKeys
	handedOn := child(root, secretKeys.outer) != nil && child(root, chartKeys.outer) == nil
	if handedOn || secretKeys.in(root) != nil || src.secret && chartKeys.in(root) == nil {
		k = secretKeys
	}
	src.path = k.path()
	if first, second := chartKeys.in(root), secretKeys.in(root); first != nil && second != nil {
		before := strings.TrimPrefix(src.at+".", ".")
		return source{}, src.two(parsed, first, before+chartKeys.path(), second, before+secretKeys.path())
	}
	src.table, err = k.parse(text)
	if err != nil {
		return source{}, src.faults(err)
	}
	if !src.table.Absent() {
		return src, nil
	}
	found := near(root, handedOn)
	if handedOn && len(found) == 0 {
		return src, nil
	}
	return source{}, faults{src.start() + ": " + src.absent(parsed, found)}
}

// start is what a message about the values as a whole starts with.
func (src source) start() string {
	if src.key == "" {
		return src.file
	}
	return src.file + ": " + quote.Plain(src.key)
}

// absent says that there is no table, and what may have been meant for it.
func (src source) absent(text *document.Text, found []miss) string {
	return fmt.Sprintf("there is no %s here%s; [] is how an empty table is written", src.path, told(text, found))
}

// two says that there are two tables, where one is expected.
func (src source) two(text *document.Text, first *yaml.Node, firstPath string, second *yaml.Node, secondPath string) faults {
	lines := document.NewLines(text.Bytes)
	at, _ := text.Offset(first)
	line, column := lines.Position(at)
	at, _ = text.Offset(second)
	return faults{fmt.Sprintf("%s: a second table, %s; the first, %s, is at line %d, column %d; keep one of them in the file",
		src.place(lines.Position(at)), secondPath, firstPath, line, column)}
}
