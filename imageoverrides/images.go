// SPDX-License-Identifier: Apache-2.0

package imageoverrides

import (
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/cozystack/image-overrides/internal/quote"
)

// What kustomize 5.8.1 reaches with an images entry, in every object whose kind is
// not CustomResourceDefinition:
//
//   - image of each item of a list named containers or initContainers, at any depth;
//   - the fields of fieldPaths, in which a list may stand at every step.
//
// The items of a list object (a kind that ends in List, with items) are objects of
// their own. Anchors, aliases and merge keys are resolved before, so an image counts
// once for each place that it is used in.

// A place is a step of fieldPaths.
type place int

const (
	nowhere place = iota
	root
	spec       // spec
	template   // spec/template
	podSpec    // spec/template/spec
	containers // spec/containers, and the like
	volumes    // spec/volumes, and the like
	imageOf    // spec/volumes/image, and the like
	leaf       // an image
)

// step returns the place under a key of a map.
func (p place) step(key string) place {
	switch {
	case p == root && key == "spec":
		return spec
	case p == spec && key == "template":
		return template
	case p == template && key == "spec":
		return podSpec
	case (p == spec || p == podSpec) && isContainers(key):
		return containers
	case (p == spec || p == podSpec) && key == "volumes":
		return volumes
	case p == containers && key == "image", p == imageOf && key == "reference":
		return leaf
	case p == volumes && key == "image":
		return imageOf
	}
	return nowhere
}

// isContainers reports whether a list of that name is one of containers.
func isContainers(key string) bool { return key == "containers" || key == "initContainers" }

// isListKind reports whether the items of an object of that kind, if it has any, are
// objects themselves.
func isListKind(kind string) bool { return strings.HasSuffix(kind, "List") }

// An image is a scalar that kustomize takes for an image.
type image struct {
	node   *yaml.Node
	text   string // as kustomize sees it
	object *Object
	trail  *trail
	twice  bool // both filters of kustomize reach it
}

// A trail is the way from the root of a document to a node, the node's own step last.
type trail struct {
	up    *trail
	node  *yaml.Node // as it stands in the text: perhaps an alias
	child int        // the node's index among the children of its parent
	key   string     // of the map that holds the node
	item  int        // in the list that holds the node, or -1
	merge bool       // the node is merged into the map around, and no step of its path
}

// path writes a trail as people write it, spec.containers[0].image.
func (t *trail) path() string {
	var p path
	for _, s := range t.steps() {
		switch {
		case s.merge:
		case s.item >= 0:
			p.item(s.item)
		default:
			p.key(s.key)
		}
	}
	return p.String()
}

// steps returns the trail from the top down, the root left out.
func (t *trail) steps() []*trail {
	var steps []*trail
	for ; t.up != nil; t = t.up {
		steps = append(steps, t)
	}
	slices.Reverse(steps)
	return steps
}

// A path is written step by step.
type path []byte

func (p *path) item(i int) {
	*p = append(strconv.AppendInt(append(*p, '['), int64(i), 10), ']')
}

func (p *path) key(key string) {
	simple := key != ""
	for i := range len(key) {
		c := key[i]
		simple = simple && c > ' ' && c <= '~' && c != '.' && c != '[' && c != ']' && c != '"'
	}
	if !simple {
		*p = append(append(append(*p, '['), quote.Value(key)...), ']')
		return
	}
	if len(*p) > 0 {
		*p = append(*p, '.')
	}
	*p = append(*p, key...)
}

func (p path) String() string { return string(p) }

// maxDepth is how deep maps and lists may stand in each other.
const maxDepth = 1000

// maxAliased is how many nodes the aliases of a document may stand for.
const maxAliased = 1 << 17

// finder finds the images of a document.
type finder struct {
	images  []image
	object  *Object
	depth   int                 // of the trail
	aliased int                 // nodes under aliases so far
	listed  bool                // the object is an item of a list object
	open    map[*yaml.Node]bool // what the aliases on the trail stand for
	fault   *nodeFault
}

// findImages returns the images of a document in the order in which they stand there,
// those behind aliases in the place of the alias.
func findImages(n *yaml.Node) ([]image, *nodeFault) {
	f := finder{open: make(map[*yaml.Node]bool)}
	f.document(&trail{node: n, item: -1})
	if f.fault != nil {
		return nil, f.fault
	}
	return f.images, nil
}

// document looks for the images of an object, or of each item of a list object.
func (f *finder) document(t *trail) {
	f.inside(t, func(n *yaml.Node) {
		kind := value(n, "kind")
		if items := items(n, kind); items != nil {
			list := f.under(t, n, items)
			f.inside(list, func(items *yaml.Node) {
				listed := f.listed
				f.listed = true
				for i, item := range items.Content {
					f.document(&trail{up: list, node: item, child: i, item: i})
				}
				f.listed = listed
			})
			return
		}
		if kind == definition {
			return
		}
		f.object = &Object{APIVersion: value(n, "apiVersion"), Kind: kind}
		if metadata := lookup(n, "metadata"); metadata != nil {
			f.object.Namespace = value(metadata, "namespace")
			f.object.Name = value(metadata, "name")
		}
		f.value(t, n, root, false)
	})
}

// items returns the list of a list object's items, as it stands in the text.
func items(n *yaml.Node, kind string) *yaml.Node {
	if !isListKind(kind) || n.Kind != yaml.MappingNode {
		return nil
	}
	for i := 0; i+1 < len(n.Content); i += 2 {
		if n.Content[i].Value == "items" && resolve(n.Content[i+1]).Kind == yaml.SequenceNode {
			return n.Content[i+1]
		}
	}
	return nil
}

// under returns the trail of a value of map n.
func (f *finder) under(t *trail, n, v *yaml.Node) *trail {
	for i := 1; i < len(n.Content); i += 2 {
		if n.Content[i] == v {
			return &trail{up: t, node: v, child: i, key: resolve(n.Content[i-1]).Value, item: -1}
		}
	}
	return t
}

// inside calls visit with what the trail's node stands for, and holds it open
// meanwhile if that is an alias.
func (f *finder) inside(t *trail, visit func(*yaml.Node)) {
	n := t.node
	if f.fault != nil {
		return
	}
	if f.depth++; f.depth > maxDepth {
		f.fault = &nodeFault{n, fmt.Sprintf("more than %d maps and lists in each other", maxDepth)}
		return
	}
	defer func() { f.depth-- }()
	if len(f.open) > 0 || n.Kind == yaml.AliasNode {
		if f.aliased++; f.aliased > maxAliased {
			f.fault = &nodeFault{n, "aliases stand for more than " + strconv.Itoa(maxAliased) + " values"}
			return
		}
	}
	if n.Kind != yaml.AliasNode {
		visit(n)
		return
	}
	if f.open[n.Alias] {
		f.fault = &nodeFault{n, "alias " + strconv.Quote("*"+n.Value) + " stands for a value around itself"}
		return
	}
	f.open[n.Alias] = true
	visit(n.Alias)
	delete(f.open, n.Alias)
}

// node looks for images in a value that may be an alias. container says that it is
// an item of a list of containers.
func (f *finder) node(t *trail, p place, container bool) {
	f.inside(t, func(n *yaml.Node) { f.value(t, n, p, container) })
}

// value looks for images in n, which the trail's node stands for.
func (f *finder) value(t *trail, n *yaml.Node, p place, container bool) {
	switch n.Kind {
	case yaml.MappingNode:
		f.mapping(t, n, p, container, nil)
	case yaml.SequenceNode:
		list := isContainers(t.key)
		for i, item := range n.Content {
			f.node(&trail{up: t, node: item, child: i, item: i}, p, list)
		}
	}
}

// mapping looks for images in a map's own fields, and in those that are merged into
// it. Where the map is itself merged into another, hidden are the keys that the other has
// already; the keys found are added.
func (f *finder) mapping(t *trail, n *yaml.Node, p place, container bool, hidden map[string]bool) {
	var merged []*trail
	for i := 0; i+1 < len(n.Content); i += 2 {
		key := resolve(n.Content[i])
		step := &trail{up: t, node: n.Content[i+1], child: i + 1, key: key.Value, item: -1}
		switch {
		case key.Tag == mergeTag:
			step.merge = true
			merged = append(merged, step)
		case key.Kind == yaml.ScalarNode && !hidden[key.Value]:
			f.field(step, p.step(key.Value), container && key.Value == "image")
		}
	}
	if len(merged) > 0 && hidden == nil {
		hidden = make(map[string]bool)
	}
	if hidden != nil {
		for i := 0; i+1 < len(n.Content); i += 2 {
			if key := resolve(n.Content[i]); key.Kind == yaml.ScalarNode && key.Tag != mergeTag {
				hidden[key.Value] = true
			}
		}
	}
	for _, step := range merged {
		f.merge(step, p, container, hidden)
	}
}

// merge looks for images in what a merge key brings in: a map, or a list of maps, of
// which the first that has a field gives it.
func (f *finder) merge(t *trail, p place, container bool, hidden map[string]bool) {
	f.inside(t, func(n *yaml.Node) {
		switch n.Kind {
		case yaml.MappingNode:
			f.mapping(t, n, p, container, hidden)
		case yaml.SequenceNode:
			for i, item := range n.Content {
				f.merge(&trail{up: t, node: item, child: i, item: i, merge: true}, p, container, hidden)
			}
		}
	})
}

// field looks at the value of a field: an image, or what may hold images.
func (f *finder) field(t *trail, p place, legacy bool) {
	n := resolve(t.node)
	if n.Kind != yaml.ScalarNode {
		if p == leaf {
			p = nowhere
		}
		f.node(t, p, false)
		return
	}
	if (legacy || p == leaf) && (n.Value != "" || n.Style != 0) { // null, but for nothing at all, is an image called null
		text := n.Value
		if f.listed {
			text = throughJSON(n)
		}
		f.images = append(f.images, image{node: n, text: text, object: f.object, trail: t, twice: legacy && p == leaf})
	}
}

// throughJSON is the text of a scalar in an item of a list object: kustomize takes these
// out of their list by way of JSON, which has its own notations for what is no string. (Not where a List is all that
// the stream holds, which a reader of streams cannot know.)
func throughJSON(n *yaml.Node) string {
	if n.Tag == "!!str" {
		return n.Value
	}
	var v any
	if n.Decode(&v) != nil {
		return n.Value
	}
	if s, ok := v.(string); ok {
		return s
	}
	text, err := json.Marshal(v)
	if err != nil {
		return n.Value // infinite, which kustomize refuses
	}
	if s := strings.Trim(string(text), `"`); len(s) < len(text) { // a time
		return s
	}
	if f, ok := v.(float64); ok {
		if _, err := strconv.ParseInt(string(text), 10, 64); err != nil {
			return strconv.FormatFloat(f, 'g', -1, 64)
		}
	}
	return string(text)
}

// mergeTag is the tag that the YAML parser gives to a plain <<.
const mergeTag = "!!merge"

// lookup returns the value of a map's field, behind aliases and merge keys, or nil.
func lookup(n *yaml.Node, key string) *yaml.Node {
	return find(n, key, func(*yaml.Node) bool { return true }, nil)
}

// value returns the text of a map's field, or "" where it is not there, null, or no scalar.
func value(n *yaml.Node, key string) string {
	v := find(n, key, func(v *yaml.Node) bool { return v.Kind == yaml.ScalarNode && v.Tag != "!!null" }, nil)
	if v == nil {
		return ""
	}
	return v.Value
}

// find returns the first value of that key that fits: of the map's own, or else of those
// merged into it. It passes over the maps that it has seen, of which nil is none.
func find(n *yaml.Node, key string, fits func(*yaml.Node) bool, seen map[*yaml.Node]bool) *yaml.Node {
	if n.Kind != yaml.MappingNode || seen[n] {
		return nil
	}
	for i := 0; i+1 < len(n.Content); i += 2 {
		if k, v := resolve(n.Content[i]), resolve(n.Content[i+1]); k.Kind == yaml.ScalarNode && k.Value == key && fits(v) {
			return v
		}
	}
	for i := 0; i+1 < len(n.Content); i += 2 {
		if n.Content[i].Tag != mergeTag {
			continue
		}
		if seen == nil {
			seen = make(map[*yaml.Node]bool)
		}
		seen[n] = true
		maps := []*yaml.Node{n.Content[i+1]}
		if from := resolve(maps[0]); from.Kind == yaml.SequenceNode {
			maps = from.Content
		}
		for _, m := range maps {
			if v := find(resolve(m), key, fits, seen); v != nil {
				return v
			}
		}
	}
	return nil
}
