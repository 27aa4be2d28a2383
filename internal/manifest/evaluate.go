// SPDX-License-Identifier: Apache-2.0

package manifest

import (
	"fmt"
	"strconv"

	"go.yaml.in/yaml/v3"

	"github.com/cozystack/image-overrides/internal/manifest/document"
)

// How kustomize 5.8.1 resolves anchors, aliases and merge keys before it looks for anything (kyaml, RNode.DeAnchor):
//
//   - It goes through the tree in order. Each map that it comes to is first copied, and its merge key taken out: what
//     the map has not, it takes from the maps that are merged, the first that has it. Then it goes into the values.
//   - An alias is replaced by what it stands for, once that has been gone through as well.
//   - What aliases and merge keys stand for are the nodes of the text, and not the copies. So a map that is merged still has
//     its own merge key, which lands in the map that it is merged into as a field called <<, unless an alias has
//     stood for it before: that one goes through the node itself.
//
// A merge key that landed so is resolved only when the text is written out at last, behind the images. What is
// an image there, the images entries do not see.

// maxDepth is how deep maps and lists may stand in each other.
const maxDepth = 1000

// maxAliased is how many nodes the aliases of a document may stand for, and those of a stream besides one for each byte that is
// parsed: many small documents cost no more than a large one.
const maxAliased = 1 << 17

// A node is a value of a document, with its aliases and merge keys resolved. Aliases share what they stand for.
type node struct {
	text  *yaml.Node // where it stands: no alias
	kids  []kid      // the fields of a map, or the items of a list
	loose bool       // a merge key was left somewhere in it, so that an alias would resolve more of it
}

// A kid is a field of a map or an item of a list.
type kid struct {
	key   *yaml.Node // as it stands in the text; nil for an item
	at    *yaml.Node // the value as it stands there, perhaps an alias
	child int        // the value's index among its parent's nodes there
	via   *[]step    // the steps to that parent where it is another than the one around: what a merge key brings in
	node  *node      // the value resolved; nil before, and for scalars
	merge bool       // the key is a merge key
}

// A step leads from a node of the text to one of those in it.
type step struct {
	at    *yaml.Node // the latter
	child int        // its index
}

// keyText is the text of a key, and ok that it is a scalar.
func (k *kid) keyText() (text string, ok bool) {
	n := document.Behind(k.key)
	return n.Value, n.Kind == yaml.ScalarNode
}

// nodeFault says which node cannot be read or changed, and why.
type nodeFault struct {
	node   *yaml.Node
	reason string
	around bool // an alias stands for what is around it
}

// An evaluator resolves the nodes of a document.
type evaluator struct {
	seen   map[*yaml.Node]*node // what aliases have stood for
	open   map[*yaml.Node]bool  // the anchored nodes around, and what the aliases around stand for
	depth  int
	merged int // keys that were looked at for merge keys
	most   int // how many may be
	fault  *nodeFault
}

// tooMany is the fault of aliases that stand for more than most values.
func tooMany(n *yaml.Node, most int) *nodeFault {
	reason := "aliases stand for more than " + strconv.Itoa(most) + " values"
	if most < maxAliased {
		reason += ", which is what those before have left of " + strconv.Itoa(maxAliased)
	}
	return &nodeFault{node: n, reason: reason}
}

func aroundItself(n *yaml.Node) *nodeFault {
	return &nodeFault{n, "alias " + strconv.Quote("*"+n.Value) + " stands for a value around itself", true}
}

func (e *evaluator) fail(f *nodeFault) {
	if e.fault == nil {
		e.fault = f
	}
}

// evaluate resolves a document whose aliases may stand for so many values, and returns for how many merge keys do.
func evaluate(root *yaml.Node, most int) (n *node, merged int, fault *nodeFault) {
	e := evaluator{seen: make(map[*yaml.Node]*node), open: make(map[*yaml.Node]bool), most: most}
	n = e.node(root, true)
	return n, e.merged, e.fault
}

// node resolves a node of the text. inPlace says that the node itself is gone through, and not a copy.
func (e *evaluator) node(n *yaml.Node, inPlace bool) *node {
	if n.Kind == yaml.ScalarNode || e.fault != nil {
		return nil
	}
	if n.Kind == yaml.AliasNode {
		return e.alias(n)
	}
	if e.depth++; e.depth > maxDepth {
		e.fail(&nodeFault{node: n, reason: fmt.Sprintf("more than %d maps and lists in each other", maxDepth)})
	}
	if n.Anchor != "" {
		e.open[n] = true
		defer delete(e.open, n)
	}
	made := &node{text: n, kids: kidsOf(n)}
	if n.Kind == yaml.MappingNode {
		e.resolve(made, false)
	} else {
		for i := range made.kids {
			k := &made.kids[i]
			k.node = e.node(k.at, inPlace)
			made.loose = made.loose || k.node != nil && k.node.loose
		}
	}
	if inPlace && n.Anchor != "" {
		e.seen[n] = made
	}
	e.depth--
	return made
}

// kidsOf returns what a map or a list has, as it stands.
func kidsOf(n *yaml.Node) []kid {
	if n.Kind == yaml.SequenceNode {
		kids := make([]kid, len(n.Content))
		for i, item := range n.Content {
			kids[i] = kid{at: item, child: i}
		}
		return kids
	}
	kids := make([]kid, 0, len(n.Content)/2)
	for i := 0; i+1 < len(n.Content); i += 2 {
		kids = append(kids, kid{key: n.Content[i], at: n.Content[i+1], child: i + 1, merge: n.Content[i].Tag == document.MergeTag})
	}
	return kids
}

// alias resolves an alias.
func (e *evaluator) alias(n *yaml.Node) *node {
	target := n.Alias
	if e.open[target] {
		e.fail(aroundItself(n))
		return nil
	}
	made := e.seen[target]
	switch {
	case made == nil:
		made = e.node(target, true)
	case made.loose:
		made = e.once(made)
	default:
		return made
	}
	if made != nil {
		e.seen[target] = made
	}
	return made
}

// once resolves what was resolved before once more.
func (e *evaluator) once(n *node) *node {
	if n == nil || !n.loose || e.fault != nil {
		return n
	}
	if e.merged += len(n.kids); e.merged > e.most {
		e.fail(tooMany(n.text, e.most))
		return n
	}
	made := &node{text: n.text, kids: append([]kid(nil), n.kids...)}
	e.resolve(made, true)
	return made
}

// resolve takes the merge keys out of a node's kids and puts in what they stand for, and resolves the values. again says that the kids
// were resolved before.
func (e *evaluator) resolve(n *node, again bool) {
	var merges []kid
	own := n.kids[:0:0]
	for i, k := range n.kids {
		if k.merge && merges == nil {
			own = append(own, n.kids[:i]...)
		}
		if k.merge {
			merges = append(merges, k)
		} else if merges != nil {
			own = append(own, k)
		}
	}
	if merges != nil {
		has := make(map[string]bool, len(own))
		for i := range own {
			if key, ok := own[i].keyText(); ok {
				has[key] = true
			}
		}
		n.kids = own
		for i := range merges {
			e.merge(n, &merges[i], nil, has)
		}
	}
	for i := range n.kids {
		k := &n.kids[i]
		if again || k.node != nil {
			k.node = e.once(k.node)
		} else {
			k.node = e.node(k.at, false)
		}
		n.loose = n.loose || k.merge || k.node != nil && k.node.loose
	}
}

// merge puts into a map what a merge key's value, or one of the list that this is, has and the map has not. via are the steps
// from the map to the node that holds the value.
func (e *evaluator) merge(n *node, k *kid, via []step, has map[string]bool) {
	from := k.node // resolved, where the merge key was left by another
	text := document.Behind(k.at)
	if from == nil {
		if e.open[text] {
			e.fail(aroundItself(k.at))
			return
		}
		if from = e.seen[text]; from == nil {
			from = &node{text: text}
			if text.Kind != yaml.ScalarNode {
				from.kids = kidsOf(text)
			}
		}
	}
	if k.via != nil {
		via = append(via[:len(via):len(via)], *k.via...)
	}
	via = append(via[:len(via):len(via)], step{k.at, k.child})
	for i := range from.kids {
		added := from.kids[i]
		if e.merged += 1 + len(via); e.merged > e.most || e.fault != nil {
			e.fail(tooMany(k.at, e.most))
			return
		}
		if text.Kind == yaml.SequenceNode {
			e.merge(n, &added, via, has)
			continue
		}
		key, ok := added.keyText()
		if !ok || has[key] {
			continue
		}
		has[key] = true
		way := via
		if added.via != nil {
			way = append(via[:len(via):len(via)], *added.via...)
			e.merged += len(way)
		}
		added.via = &way
		n.kids = append(n.kids, added)
	}
}
