// SPDX-License-Identifier: Apache-2.0

package values

import (
	"bytes"
	"encoding/base64"
	"fmt"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/cozystack/image-overrides/internal/manifest/document"
	"github.com/cozystack/image-overrides/internal/node"
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
func (in *reader) where(c carrier) (*yaml.Node, string) {
	for _, h := range []Home{Chart, Secret} {
		if table := in.table(h, c.value); table != nil {
			return table, c.path + "." + h.Path()
		}
	}
	return c.value, c.path
}

// areManifests reports whether all documents are manifests. Values may have a field kind too.
func (in *reader) areManifests() bool {
	known := []string{"ConfigMap", "HelmRelease", "List", "Package", "Secret"}
	return !slices.ContainsFunc(in.Roots, func(root *yaml.Node) bool {
		kind := node.Scalar(root, "kind")
		return kind == "" || !slices.Contains(known, kind) && in.Child(root, "apiVersion") == nil
	})
}

// manifests finds the one place in manifests that has a table.
func (in *reader) manifests(p Place) (Place, *Fault) {
	all := in.Objects(in.Roots)
	var with, without []carrier
	for _, o := range all {
		carriers, fault := in.carriers(o)
		if fault != nil {
			return p, fault
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
		first, firstPath := in.where(with[0])
		second, secondPath := in.where(with[1])
		return p, in.two(first, firstPath, second, secondPath)
	case len(with) == 1:
		return in.carried(p, with[0])
	case len(all) != 1:
		return p, absent(fmt.Sprintf("none of %d manifests holds a table%s; %s", len(all), in.told(in.nearIn(in.Roots)), Expected))
	}
	// What there may have been meant for one.
	kind := node.Scalar(all[0].Node, "kind")
	texts := slices.DeleteFunc(slices.Clone(without), func(c carrier) bool {
		return c.key != valuesFile && (c.key == "" || kind == "Secret" || len(without) > 1)
	})
	switch {
	case len(texts) == 1:
		return in.carried(p, texts[0]) // which says what is wrong with the text
	case kind == "Secret":
		return p, &Fault{Rule: InSecret, Reason: NoKey}
	case len(without) > 0 && without[0].key == "":
		var maps []*yaml.Node
		for _, c := range without {
			maps = append(maps, c.value)
		}
		return p, absent(fmt.Sprintf("a manifest of kind %s holds no table: %s", kind, in.noTable(Chart, in.nearIn(maps))))
	}
	return p, absent(fmt.Sprintf("a manifest of kind %s holds no table%s; %s", quote.Plain(kind), in.told(in.nearIn(in.Roots)), Expected))
}

// carried finds the table of a carrier.
func (in *reader) carried(p Place, c carrier) (Place, *Fault) {
	var fault *Fault
	if c.key != "" {
		p.Key, p.Text = c.key, c.text
	} else if p.Text, fault = in.alone(c.value); fault != nil {
		return p, fault
	}
	p.At = ""
	values, fault := read(p.Text)
	if fault != nil {
		return p, fault
	}
	if c.key == "" {
		p.At = c.path
	}
	return values.values(p, c.kind == "Secret" && c.key == valuesFile)
}

// carriers returns the places of an object that have values.
func (in *reader) carriers(o node.Object) ([]carrier, *Fault) {
	switch kind := node.Scalar(o.Node, "kind"); kind {
	case "HelmRelease":
		return in.maps(kind, o.Node, o.Trail, "spec", "values")
	case "Package":
		return in.maps(kind, o.Node, o.Trail, "spec", "components", "*", "values")
	case "Secret", "ConfigMap":
		return in.texts(kind, o)
	}
	return nil, nil
}

// maps returns the maps under keys of n, which is at t; the key * is each. A key that is there twice is an error: the last
// one counts, and somebody wrote the other.
func (in *reader) maps(kind string, n *yaml.Node, t *node.Trail, way ...string) ([]carrier, *Fault) {
	switch {
	case n == nil || n.Kind != yaml.MappingNode:
		return nil, nil
	case len(way) == 0:
		c := carrier{kind: kind, path: t.String(), value: n}
		c.table = in.table(Chart, n) != nil || in.table(Secret, n) != nil
		return []carrier{c}, nil
	}
	var list []carrier
	first := make(map[string]*yaml.Node)
	for i := 0; i+1 < len(n.Content); i += 2 {
		key := document.Behind(n.Content[i])
		if key.Value != way[0] && way[0] != "*" {
			continue
		}
		if before := first[key.Value]; before != nil {
			return nil, in.twice(t.Under(key.Value).String(), before, key)
		}
		first[key.Value] = key
		below, fault := in.maps(kind, document.Behind(n.Content[i+1]), t.Under(key.Value), way[1:]...)
		if fault != nil {
			return nil, fault
		}
		list = append(list, below...)
	}
	if value := in.Child(n, way[0]); len(first) == 0 && value != nil { // by way of a merge key
		return in.maps(kind, value, t.Under(way[0]), way[1:]...)
	}
	return list, nil
}

// twice is the fault of a key that a map has twice.
func (in *reader) twice(path string, first, second *yaml.Node) *Fault {
	line, column := in.position(first)
	at, _ := in.Offset(second)
	return in.fault(Twice, at, fmt.Sprintf("%s is set twice, first in line %d, column %d", path, line, column))
}

// texts returns the texts of a Secret or a ConfigMap. As in a cluster, stringData counts more than data.
func (in *reader) texts(kind string, o node.Object) ([]carrier, *Fault) {
	var list []carrier
	places := make(map[string]int) // of the keys in the list
	for _, field := range []string{"data", "stringData"} {
		values := in.Child(o.Node, field)
		switch {
		case node.IsNull(values) || kind == "ConfigMap" && field == "stringData":
			continue
		case values.Kind != yaml.MappingNode:
			return nil, &Fault{Rule: InSecret, Reason: fmt.Sprintf("%s of the %s must be a map", field, kind)}
		}
		for i := 0; i+1 < len(values.Content); i += 2 {
			c := carrier{kind: kind, key: document.Behind(values.Content[i]).Value, value: document.Behind(values.Content[i+1])}
			c.path = o.Trail.Under(field).Under(c.key).String()
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
				return nil, &Fault{Rule: InSecret, Reason: fmt.Sprintf("%s of the Secret: %s %s", field, c.key, problem)}
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
	if !bytes.Contains(c.text, []byte(Chart.Inner)) && !bytes.Contains(c.text, []byte(Secret.Outer)) {
		return false
	}
	parsed, err := document.Parse(c.text)
	if err != nil || len(parsed.Roots) == 0 {
		return false
	}
	in, root := reader{}, parsed.Roots[0]
	return in.table(Chart, root) != nil || in.table(Secret, root) != nil || c.key == valuesFile && in.Child(root, Secret.Outer) != nil
}

// alone returns the text without all but a map: what is before it is blank, so that lines and
// columns stay what they are, and what is behind it is gone.
func (in *reader) alone(n *yaml.Node) ([]byte, *Fault) {
	if alias := strange(n); alias != nil {
		at, _ := in.Offset(alias)
		return nil, in.fault(Outside, at, fmt.Sprintf("alias %s stands for what is not in the values; write it out", quote.Plain("*"+alias.Value)))
	}
	start, _ := in.Offset(n)
	end := len(in.Bytes)
	if _, e, ok := node.Flow(in.Text, n); ok {
		end = e
	} else if next := following(in.Roots, n); next != nil {
		end = node.LineStart(in.Text, next)
	}
	var alone []byte
	for _, r := range string(in.Bytes[:start]) {
		if !strings.ContainsRune("\n\r\u0085\u2028\u2029\uFEFF", r) {
			r = ' '
		}
		alone = append(alone, string(r)...)
	}
	body := in.Bytes[start:end]
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
