// SPDX-License-Identifier: Apache-2.0

package audit

import (
	"fmt"
	"math"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/cozystack/image-overrides/internal/manifest"
	"github.com/cozystack/image-overrides/internal/manifest/document"
	"github.com/cozystack/image-overrides/internal/manifest/paths"
	"github.com/cozystack/image-overrides/internal/manifest/reach"
	"github.com/cozystack/image-overrides/internal/quote"
)

// What kustomize 5.8.1 refuses, once it has an images entry to apply. It was found by running it, and the tests hold the two together.
// Most pieces have nothing of it, which the finder sees; the others are parsed to be judged here.

// A refusal is something in a piece that kustomize refuses.
type refusal struct {
	rule    RiskRule
	object  manifest.Object
	path    string
	place   int // in the text that was parsed
	message string
}

// A judge looks for refusals in a document.
type judge struct {
	text   *document.Text
	object manifest.Object
	path   []paths.Step
	first  bool              // it may be alone in its stream, where kustomize reads a List in another way
	base   int               // how many of its steps lead to the object
	around map[RiskRule]bool // the rules that count of a list object, of which kustomize keeps the items only; nil for all
	steps  int               // values that were looked at
	found  []refusal
	told   map[RiskRule]bool // of the object: the first of each rule is enough
}

// maxSteps is how many values of a document are looked at, those behind aliases each time.
const maxSteps = 1 << 22

// refusals judges the documents of a text.
func refusals(text *document.Text, first bool) []refusal {
	j := judge{text: text, first: first}
	if text.JSON {
		j.told, j.object = make(map[RiskRule]bool), j.name(text.Roots[0])
		j.find(RiskSyntax, text.Roots[0], "JSON that is no YAML 1.1, as which kustomize reads it; write characters as they are, or as \\u escapes of those that YAML knows")
	}
	for _, root := range text.Roots {
		j.document(root)
	}
	if j.steps > maxSteps {
		j.told = make(map[RiskRule]bool)
		j.find(RiskUnread, text.Roots[0], "more than %d values, with those that aliases stand for; it was not judged to the end for what Flux refuses", maxSteps)
	}
	return j.found
}

func (j *judge) find(rule RiskRule, n *yaml.Node, format string, args ...any) {
	if j.told[rule] || j.around != nil && !j.around[rule] || j.told[RiskTemplate] && (rule == RiskImage || rule == RiskContainers || rule == RiskTemplated) {
		return
	}
	j.told[rule] = true
	at, _ := j.text.Offset(n)
	j.found = append(j.found, refusal{rule, j.object, string(paths.Append(nil, j.path)), at, fmt.Sprintf(format, args...)})
}

// at calls f with a step further on the path.
func (j *judge) at(step paths.Step, f func()) {
	j.path = append(j.path, step)
	f()
	j.path = j.path[:len(j.path)-1]
}

func key(k string) paths.Step { return paths.Step{Key: k, Item: -1} }
func item(i int) paths.Step   { return paths.Step{Item: i} }

func resolve(n *yaml.Node) *yaml.Node {
	if n.Kind == yaml.AliasNode {
		return n.Alias
	}
	return n
}

func isNull(n *yaml.Node) bool { return n.Kind == yaml.ScalarNode && n.ShortTag() == "!!null" }

// isMerge reports whether a key merges.
func isMerge(n *yaml.Node) bool { return n.Kind == yaml.ScalarNode && n.ShortTag() == "!!merge" }

// field returns the value of a key of a map, nil where it has none.
func (j *judge) field(n *yaml.Node, key string) *yaml.Node {
	if n == nil || n.Kind != yaml.MappingNode || j.steps > maxSteps {
		return nil
	}
	j.steps += len(n.Content) / 2
	for i := 0; i+1 < len(n.Content); i += 2 {
		if k := resolve(n.Content[i]); k.Kind == yaml.ScalarNode && k.Value == key {
			return resolve(n.Content[i+1])
		}
	}
	for i := 0; i+1 < len(n.Content); i += 2 {
		if j.steps++; !isMerge(n.Content[i]) || j.steps > maxSteps {
			continue
		}
		from := resolve(n.Content[i+1])
		maps := []*yaml.Node{from}
		if from.Kind == yaml.SequenceNode {
			maps = from.Content
		}
		for _, m := range maps {
			if v := j.field(resolve(m), key); v != nil {
				return v
			}
		}
	}
	return nil
}

func (j *judge) scalar(n *yaml.Node, key string) string {
	if v := j.field(n, key); v != nil && v.Kind == yaml.ScalarNode && !isNull(v) {
		return v.Value
	}
	return ""
}

// document judges an object, or the items of a list object.
func (j *judge) document(n *yaml.Node) {
	n = resolve(n)
	j.told, j.object = make(map[RiskRule]bool), manifest.Object{}
	switch {
	case isNull(n), n.Kind != yaml.ScalarNode && len(n.Content) == 0:
		return
	case n.Kind != yaml.MappingNode:
		j.find(RiskNoObject, n, "no object of Kubernetes but %s", what(n))
		return
	}
	kind := j.scalar(n, "kind")
	items := j.field(n, "items")
	if manifest.IsList(kind) && items != nil && (items.Kind == yaml.SequenceNode || isNull(items) || kind == "List" && j.first) {
		decoded := kind != "List" || !j.first
		j.around = map[RiskRule]bool{RiskMerge: true, RiskKeyTwice: decoded, RiskNumber: decoded}
		has := make(map[string]bool)
		for i := 0; i+1 < len(n.Content); i += 2 {
			if k := resolve(n.Content[i]); k.Kind == yaml.ScalarNode {
				j.at(key(k.Value), func() {
					if j.key(k, n.Content[i+1], n.Content[i], has); resolve(n.Content[i+1]) != items {
						j.keys(n.Content[i+1])
					}
				})
			}
		}
		j.around = nil
		j.at(key("items"), func() {
			for i, one := range items.Content {
				if items.Kind != yaml.SequenceNode {
					break
				}
				j.at(item(i), func() { j.document(one) })
			}
		})
		return
	}
	metadata := j.field(n, "metadata")
	j.object = j.name(n)
	switch {
	case kind == "" && j.object.APIVersion == "" && (metadata == nil || metadata.Kind != yaml.MappingNode || len(metadata.Content) == 0):
		j.find(RiskNoObject, n, "no object of Kubernetes: it has no apiVersion, no kind and no metadata")
	case kind == "":
		j.find(RiskNoKind, n, "an object without a kind")
	case j.object.Name == "" && !manifest.IsList(kind):
		j.find(RiskNoName, n, "an object without a name in its metadata; a generateName is none to Flux")
	}
	if annotations := j.field(metadata, "annotations"); annotations != nil {
		j.at(key("metadata"), func() { j.at(key("annotations"), func() { j.annotations(annotations) }) })
	}
	if manifest.IsList(kind) && items != nil {
		j.at(key("items"), func() {
			j.find(RiskItems, items, "items that are %s, of an object that kustomize takes for a list of objects by its kind", what(items))
		})
	}
	j.base = len(j.path)
	j.keys(n)
	if reach.Definition(kind) {
		return
	}
	j.containers(n)
	for _, way := range ways {
		j.way(n, way)
	}
}

// annotations judges an object's annotations. Kustomize writes them anew, with keys that have no quotes and values that are texts, and
// leaves out what is no map.
func (j *judge) annotations(n *yaml.Node) {
	switch {
	case n.Kind == yaml.SequenceNode && len(n.Content) > 0:
		j.find(RiskMetadata, n, "annotations that are a list, of which kustomize panics; write a map")
	case n.Kind == yaml.MappingNode:
		for i := 0; i+1 < len(n.Content); i += 2 {
			j.steps++
			j.annotation(n.Content[i], n.Content[i+1])
		}
	}
}

// annotation judges an annotation's key, and what it merges.
func (j *judge) annotation(at, value *yaml.Node) {
	k := resolve(at)
	if k.Kind != yaml.ScalarNode {
		j.find(RiskKey, k, "a key that is %s; keys are strings", what(k))
		return
	}
	j.at(key(k.Value), func() {
		switch {
		case isMerge(k):
			j.key(k, value, at, make(map[string]bool))
		case !isText(k.Value):
			j.find(RiskKey, at, "key %s of an annotation is no string, with quotes neither, as kustomize drops them; give it another name", quote.Value(k.Value))
		}
	})
}

// isText reports whether a text is a string, or a merge key, without quotes too.
func isText(s string) bool {
	tag := (&yaml.Node{Kind: yaml.ScalarNode, Value: s}).ShortTag()
	return tag == "!!str" || tag == "!!merge"
}

// name is what an object is called.
func (j *judge) name(n *yaml.Node) manifest.Object {
	metadata := j.field(n, "metadata")
	return manifest.Object{APIVersion: j.scalar(n, "apiVersion"), Kind: j.scalar(n, "kind"), Namespace: j.scalar(metadata, "namespace"), Name: j.scalar(metadata, "name")}
}

// what says what kind of value a node is.
func what(n *yaml.Node) string {
	switch n.Kind {
	case yaml.MappingNode:
		return "a map"
	case yaml.SequenceNode:
		return "a list"
	}
	if isNull(n) {
		return "null"
	}
	return "the text " + quote.Value(n.Value)
}

// keys judges the keys of all maps of a value, and its numbers.
func (j *judge) keys(n *yaml.Node) {
	if j.steps++; j.steps > maxSteps {
		return
	}
	if n := len(j.path); j.around == nil && n == j.base+2 && j.path[n-1].Key == "annotations" && j.path[n-2].Key == "metadata" {
		return // see annotations
	}
	switch n.Kind {
	case yaml.ScalarNode:
		j.number(n)
	case yaml.SequenceNode:
		for i, child := range n.Content {
			j.at(item(i), func() { j.keys(child) })
		}
	case yaml.MappingNode:
		has := make(map[string]bool, len(n.Content)/2)
		for i := 0; i+1 < len(n.Content); i += 2 {
			k := resolve(n.Content[i])
			if k.Kind != yaml.ScalarNode {
				if k.Kind == yaml.MappingNode && len(k.Content) > 0 && n.Content[i+1].Tag == "!!null" {
					j.find(RiskTemplate, n, "a template that was not rendered, for it reads {{ … }}, which is a map in a map; render it first")
				} else {
					j.find(RiskKey, k, "a key that is %s; keys are strings", what(k))
				}
				continue
			}
			j.at(key(k.Value), func() {
				j.key(k, n.Content[i+1], n.Content[i], has)
				j.keys(n.Content[i+1])
			})
		}
	}
}

// key judges a key, which stands at a node, and what it merges.
func (j *judge) key(k, value, at *yaml.Node, has map[string]bool) {
	switch tag := k.ShortTag(); {
	case tag == "!!merge":
		if has[k.Value] {
			j.find(RiskMerge, at, "a merge key twice in a map; write one, with a list")
		}
		if !isMaps(resolve(value), true) {
			j.find(RiskMerge, at, "a merge key whose value is no map and no list of maps")
		}
	case has[k.Value]:
		j.find(RiskKeyTwice, at, "key %s is twice in a map; drop one", quote.Value(k.Value))
	case tag == "!!null" && j.around != nil: // kustomize itself puts it in once more
		j.find(RiskKeyTwice, at, "key %s is null; quote it", quote.Value(k.Value))
	case tag == "!!null", tag != "!!str" && len(j.path) > j.base+1: // an object's own keys become strings
		j.find(RiskKey, at, "key %s is no string; quote it", quote.Value(k.Value))
	}
	has[k.Value] = true
}

// isMaps reports whether a value is a map, or a list of maps.
func isMaps(n *yaml.Node, list bool) bool {
	if n.Kind == yaml.SequenceNode && list {
		for _, one := range n.Content {
			if !isMaps(resolve(one), false) {
				return false
			}
		}
		return true
	}
	return n.Kind == yaml.MappingNode
}

// number judges a scalar that may be a number, or what else JSON has not.
func (j *judge) number(n *yaml.Node) {
	tag := n.ShortTag()
	if n.Style&yaml.TaggedStyle == 0 && tag != "!!float" {
		return
	}
	var v any
	if err := n.Decode(&v); err != nil {
		j.find(RiskNumber, n, "%s is no %s, as its tag has it", quote.Value(n.Value), tag)
		return
	}
	if f, ok := v.(float64); ok && j.around == nil && (math.IsInf(f, 0) || math.IsNaN(f)) {
		j.find(RiskNumber, n, "%s is a number that JSON does not have; quote it, if a text is meant", quote.Value(n.Value))
	}
}

// containers judges the lists that kustomize takes for containers, at any depth.
func (j *judge) containers(n *yaml.Node) {
	if j.steps++; j.steps > maxSteps || len(j.path) > maxDepth {
		return
	}
	switch n.Kind {
	case yaml.SequenceNode:
		for i, child := range n.Content {
			j.at(item(i), func() { j.containers(resolve(child)) })
		}
	case yaml.MappingNode:
		for i := 0; i+1 < len(n.Content); i += 2 {
			k, v := resolve(n.Content[i]), resolve(n.Content[i+1])
			j.at(key(k.Value), func() {
				if (k.Value == "containers" || k.Value == "initContainers") && v.Kind == yaml.SequenceNode {
					j.list(v)
				}
				j.containers(v)
			})
		}
	}
}

// maxDepth is deeper than any manifest that is read.
const maxDepth = 1000

// list judges a list of containers.
func (j *judge) list(n *yaml.Node) {
	for i, one := range n.Content {
		one = resolve(one)
		j.at(item(i), func() {
			switch {
			case isNull(one):
			case one.Kind != yaml.MappingNode:
				j.find(RiskContainers, one, "%s in a list called %s, which kustomize takes for containers; give the list another name", what(one), j.path[len(j.path)-2].Key)
			default:
				j.image(j.field(one, "image"), "image")
			}
		})
	}
}

// image judges what stands where kustomize looks for an image, under a key.
func (j *judge) image(n *yaml.Node, under string) {
	if n != nil && n.Kind != yaml.ScalarNode {
		j.at(key(under), func() {
			j.find(RiskImage, n, "%s where kustomize looks for an image; give the field or the list around another name", what(n))
		})
	}
}

// ways lead to the images of Pods and Pod templates, as kustomize is configured with them.
var ways = [][]string{
	{"spec", "containers", "image"}, {"spec", "initContainers", "image"}, {"spec", "volumes", "image", "reference"},
	{"spec", "template", "spec", "containers", "image"}, {"spec", "template", "spec", "initContainers", "image"}, {"spec", "template", "spec", "volumes", "image", "reference"},
}

// way judges what is on a way.
func (j *judge) way(n *yaml.Node, way []string) {
	if j.steps++; j.steps > maxSteps || len(j.path) > maxDepth {
		return
	}
	switch n.Kind {
	case yaml.SequenceNode:
		for i, child := range n.Content {
			j.at(item(i), func() { j.way(resolve(child), way) })
		}
	case yaml.MappingNode:
		v := j.field(n, way[0])
		switch {
		case v == nil:
		case len(way) == 1:
			j.image(v, way[0])
		default:
			j.at(key(way[0]), func() { j.way(v, way[1:]) })
		}
	default:
		if !isNull(n) {
			j.find(RiskTemplated, n, "%s where kustomize looks for %s in a map or a list; give the field another name, or leave it out", what(n), strconv.Quote(strings.Join(way, ".")))
		}
	}
}

// isOddPath reports whether a scalar stands where kustomize might not expect one: its document has to be judged.
func isOddPath(path []paths.Step) bool {
	last := len(path) - 1
	if last < 0 {
		return true
	}
	if path[0].Key == "items" && (last == 0 || path[1].Item < 0) {
		return true
	}
	before := ""                        // the key before
	containers, volumes := false, false // keys before
	for i, step := range path {
		if step.Item >= 0 {
			continue
		}
		switch len(step.Key) {
		case 4, 5, 7, 8, 9, 10, 14: // those below
		default:
			before = step.Key
			continue
		}
		rest := path[i+1:]
		switch step.Key {
		case "containers", "initContainers":
			containers = true
			if allItems(rest) || len(rest) > 1 && allItems(rest[:2]) { // it, or its item, is the scalar, or its item is a list
				return true
			}
		case "volumes":
			volumes = true
			if allItems(rest) {
				return true
			}
		case "spec", "template":
			if allItems(rest) {
				return true
			}
		case "image":
			if i == last && before == "volumes" || i < last && containers {
				return true
			}
			if i < last && volumes && (path[last].Key != "reference" || last != i+1) {
				return true
			}
		case "reference":
			if i < last && (containers || volumes) {
				return true
			}
		}
		before = step.Key
	}
	return false
}

// allItems reports whether all steps are into lists.
func allItems(path []paths.Step) bool {
	for _, step := range path {
		if step.Item < 0 {
			return false
		}
	}
	return true
}
