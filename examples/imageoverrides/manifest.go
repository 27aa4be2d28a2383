// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"encoding/base64"
	"fmt"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/cozystack/image-overrides/imageoverrides"
	"github.com/cozystack/image-overrides/internal/manifest/document"
	"github.com/cozystack/image-overrides/internal/quote"
)

// valuesFile is the key of the platform chart's Secret that has the values.
const valuesFile = "values.yaml"

// A carrier is a place in a manifest that has values: a map, or the text of a key of a Secret or a
// ConfigMap.
type carrier struct {
	kind  string     // of the object
	path  string     // of the values, or of the text
	value *yaml.Node // the map, or the text
	key   string     // "" for a map
	text  []byte     // of the key
	table bool       // the values have one
}

// where returns the table of a carrier, or what it is in, and its whole path.
func (c carrier) where() (*yaml.Node, string) {
	for _, k := range []keys{chartKeys, secretKeys} {
		if table := k.in(c.value); table != nil {
			return table, c.path + "." + k.path()
		}
	}
	return c.value, c.path
}

// areManifests reports whether all documents are manifests. Values may have a field kind too.
func areManifests(roots []*yaml.Node) bool {
	known := []string{"ConfigMap", "HelmRelease", "List", "Package", "Secret"}
	return !slices.ContainsFunc(roots, func(root *yaml.Node) bool {
		kind := scalar(root, "kind")
		return kind == "" || !slices.Contains(known, kind) && child(root, "apiVersion") == nil
	})
}

// manifests reads the table of the one place in manifests that has one.
func (src source) manifests(text *document.Text) (source, error) {
	all := objects(text.Roots)
	var with, without []carrier
	for _, o := range all {
		carriers, err := src.carriers(text, o)
		if err != nil {
			return source{}, err
		}
		for _, c := range carriers {
			if c.table {
				with = append(with, c)
			} else {
				without = append(without, c)
			}
		}
	}
	switch {
	case len(with) > 1:
		first, firstPath := with[0].where()
		second, secondPath := with[1].where()
		return source{}, src.two(text, first, firstPath, second, secondPath)
	case len(with) == 1:
		return src.carried(text, with[0])
	case len(all) != 1:
		return source{}, faults{fmt.Sprintf("%s: none of %d manifests holds a table%s; %s", src.file, len(all), told(text, nearIn(text.Roots)), expected)}
	}
	// What there may have been meant for one.
	kind := scalar(all[0].node, "kind")
	texts := slices.DeleteFunc(slices.Clone(without), func(c carrier) bool {
		return c.key != valuesFile && (c.key == "" || kind == "Secret" || len(without) > 1)
	})
	switch {
	case len(texts) == 1:
		return src.carried(text, texts[0]) // which says what is wrong with the text
	case kind == "Secret":
		_, err := imageoverrides.ParseSecret(nil)
		return source{}, src.faults(err)
	case len(without) > 0 && without[0].key == "":
		var maps []*yaml.Node
		for _, c := range without {
			maps = append(maps, c.value)
		}
		src.path = chartKeys.path()
		return source{}, faults{fmt.Sprintf("%s: a manifest of kind %s holds no table: %s", src.file, kind, src.absent(text, nearIn(maps)))}
	}
	return source{}, faults{fmt.Sprintf("%s: a manifest of kind %s holds no table%s; %s", src.file, quote.Plain(kind), told(text, nearIn(text.Roots)), expected)}
}

// carried reads the table of a carrier.
func (src source) carried(text *document.Text, c carrier) (source, error) {
	if c.key != "" {
		src.key, src.secret = c.key, c.kind == "Secret" && c.key == valuesFile
		return src.values(c.text)
	}
	values, fault := src.alone(text, c.value)
	if fault != nil {
		return source{}, fault
	}
	src.at = c.path
	return src.values(values)
}

// carriers returns the places of an object that have values.
func (src source) carriers(text *document.Text, o object) ([]carrier, error) {
	switch kind := scalar(o.node, "kind"); kind {
	case "HelmRelease":
		return src.maps(text, kind, o.node, o.trail, "spec", "values")
	case "Package":
		return src.maps(text, kind, o.node, o.trail, "spec", "components", "*", "values")
	case "Secret", "ConfigMap":
		return src.texts(kind, o)
	}
	return nil, nil
}

// maps returns the maps under keys of n, which is at t; the key * is each. A key that is there twice is an error: the last
// one counts, and somebody wrote the other.
func (src source) maps(text *document.Text, kind string, n *yaml.Node, t *trail, way ...string) ([]carrier, error) {
	switch {
	case n == nil || n.Kind != yaml.MappingNode:
		return nil, nil
	case len(way) == 0:
		c := carrier{kind: kind, path: t.String(), value: n}
		c.table = chartKeys.in(n) != nil || secretKeys.in(n) != nil
		return []carrier{c}, nil
	}
	var list []carrier
	first := make(map[string]*yaml.Node)
	for i := 0; i+1 < len(n.Content); i += 2 {
		key := behind(n.Content[i])
		if key.Value != way[0] && way[0] != "*" {
			continue
		}
		if before := first[key.Value]; before != nil {
			return nil, src.twice(text, t.under(key.Value).String(), before, key)
		}
		first[key.Value] = key
		below, err := src.maps(text, kind, behind(n.Content[i+1]), t.under(key.Value), way[1:]...)
		if err != nil {
			return nil, err
		}
		list = append(list, below...)
	}
	if value := child(n, way[0]); len(first) == 0 && value != nil { // by way of a merge key
		return src.maps(text, kind, value, t.under(way[0]), way[1:]...)
	}
	return list, nil
}

// twice is the fault of a key that a map has twice.
func (src source) twice(text *document.Text, path string, first, second *yaml.Node) faults {
	lines := document.NewLines(text.Bytes)
	at, _ := text.Offset(first)
	line, column := lines.Position(at)
	at, _ = text.Offset(second)
	return faults{fmt.Sprintf("%s: %s is set twice, first in line %d, column %d", src.place(lines.Position(at)), path, line, column)}
}

// texts returns the texts of a Secret or a ConfigMap. As in a cluster, stringData counts more than data.
func (src source) texts(kind string, o object) ([]carrier, error) {
	var list []carrier
	places := make(map[string]int) // of the keys in the list
	for _, field := range []string{"data", "stringData"} {
		values := child(o.node, field)
		switch {
		case isNull(values) || kind == "ConfigMap" && field == "stringData":
			continue
		case values.Kind != yaml.MappingNode:
			return nil, faults{fmt.Sprintf("%s: %s of the %s must be a map", src.file, field, kind)}
		}
		for i := 0; i+1 < len(values.Content); i += 2 {
			c := carrier{kind: kind, key: behind(values.Content[i]).Value, value: behind(values.Content[i+1])}
			c.path = o.trail.under(field).under(c.key).String()
			var problem string
			switch {
			case c.value.Kind != yaml.ScalarNode || c.value.ShortTag() != "!!str":
				problem = "must be a string"
			case kind == "Secret" && field == "data":
				decoded, err := base64.StdEncoding.DecodeString(c.value.Value)
				if err != nil {
					problem = "is no base64: " + err.Error()
				}
				c.text = decoded
			default:
				c.text = []byte(c.value.Value)
			}
			if problem != "" && kind == "Secret" && c.key == valuesFile {
				return nil, faults{fmt.Sprintf("%s: %s of the Secret: %s %s", src.file, field, c.key, problem)}
			}
			c.table = problem == "" && c.textHasTable()
			if at, ok := places[c.key]; ok {
				list[at] = c
				continue
			}
			places[c.key] = len(list)
			list = append(list, c)
		}
	}
	return list, nil
}

// textHasTable reports whether a text is values with a table. Where it is the platform's, an empty
// table has no key.
func (c carrier) textHasTable() bool {
	if !bytes.Contains(c.text, []byte(chartKeys.inner)) && !bytes.Contains(c.text, []byte(secretKeys.outer)) {
		return false
	}
	parsed, err := document.Parse(c.text)
	if err != nil || len(parsed.Roots) == 0 {
		return false
	}
	root := parsed.Roots[0]
	return chartKeys.in(root) != nil || secretKeys.in(root) != nil || c.key == valuesFile && child(root, secretKeys.outer) != nil
}

// alone returns the text without all but a map: what is before it is blank, so that lines and
// columns stay what they are, and what is behind it is gone.
func (src source) alone(text *document.Text, n *yaml.Node) ([]byte, error) {
	if alias := strange(n); alias != nil {
		at, _ := text.Offset(alias)
		line, column := document.NewLines(text.Bytes).Position(at)
		return nil, faults{fmt.Sprintf("%s: alias %s stands for what is not in the values; write it out", src.place(line, column), quote.Plain("*"+alias.Value))}
	}
	start, _ := text.Offset(n)
	end := len(text.Bytes)
	if _, e, ok := flow(text, n); ok {
		end = e
	} else if next := following(text.Roots, n); next != nil {
		end = lineStart(text, next)
	}
	var alone []byte
	for _, r := range string(text.Bytes[:start]) {
		if !strings.ContainsRune("\n\r\u0085\u2028\u2029\uFEFF", r) {
			r = ' '
		}
		alone = append(alone, string(r)...)
	}
	body := text.Bytes[start:end]
	for _, mark := range []string{"\n---", "\n..."} { // which no value has at the start of a line
		if at := bytes.Index(body, []byte(mark)); at >= 0 {
			body = body[:at+1]
		}
	}
	return append(alone, body...), nil
}

// strange returns the first alias in a tree that stands for something outside of it.
func strange(n *yaml.Node) *yaml.Node {
	inside := make(map[*yaml.Node]bool)
	var aliases []*yaml.Node
	var walk func(n *yaml.Node)
	walk = func(n *yaml.Node) {
		inside[n] = true
		if n.Kind == yaml.AliasNode {
			aliases = append(aliases, n)
		}
		for _, c := range n.Content {
			walk(c)
		}
	}
	walk(n)
	for _, alias := range aliases {
		if !inside[alias.Alias] {
			return alias
		}
	}
	return nil
}

// following returns the node that starts behind a tree, nil for none.
func following(roots []*yaml.Node, n *yaml.Node) *yaml.Node {
	passed := false
	var walk func(list []*yaml.Node) *yaml.Node
	walk = func(list []*yaml.Node) *yaml.Node {
		for _, c := range list {
			switch {
			case passed:
				return c
			case c == n:
				passed = true
			default:
				if next := walk(c.Content); next != nil {
					return next
				}
			}
		}
		return nil
	}
	return walk(roots)
}
