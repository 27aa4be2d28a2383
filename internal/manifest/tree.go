// SPDX-License-Identifier: Apache-2.0

package manifest

import (
	"encoding/json"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/cozystack/image-overrides/internal/manifest/document"
	"github.com/cozystack/image-overrides/internal/manifest/paths"
)

// A tree walks a document that was parsed.
type tree struct {
	walker
	text  *document.Text
	shift int // where the text stands in the document
	doc   *yaml.Node
	steps []step // from the document to the value, in the text

	alias   int   // the first step that is an alias, or -1: from there on the value has no bytes of its own
	aliased int   // values under aliases so far, those that merge keys brought in counted
	most    int   // how many may be
	marked  []int // the steps that lead to what aliases stand for, up to the first that is an alias
	fault   *nodeFault

	aliases  map[*yaml.Node]bool // what the document has aliases to; nil for none
	replaced []replaced
	ways     ways
	edits    []document.Edit
}

// A branch is a value of a tree.
type branch struct {
	tree *tree
	kid  *kid
	node *node // nil for a scalar
}

func (t *tree) branch(k *kid) branch { return branch{t, k, k.node} }

func (b branch) isMap() bool  { return b.node != nil && b.node.text.Kind == yaml.MappingNode }
func (b branch) isList() bool { return b.node != nil && b.node.text.Kind == yaml.SequenceNode }

func (b branch) each(do visit, state paths.State) {
	t := b.tree
	isMap := b.isMap()
	for i := range b.node.kids {
		k := &b.node.kids[i]
		s := paths.Step{Item: i}
		if isMap {
			key, ok := k.keyText()
			if !ok {
				continue
			}
			s = paths.Step{Key: key, Item: -1}
		}
		steps, alias, marked := len(t.steps), t.alias, len(t.marked)
		if k.via != nil {
			for _, via := range *k.via {
				t.step(via)
			}
		}
		t.step(step{k.at, k.child})
		if t.alias >= 0 {
			if t.aliased++; t.aliased > t.most {
				t.fail(tooMany(k.at, t.most))
			}
		}
		if !t.stopped {
			do(&t.walker, s, t.branch(k), state)
		}
		t.steps, t.alias, t.marked = t.steps[:steps], alias, t.marked[:marked]
	}
}

// step goes a step further in the text.
func (t *tree) step(s step) {
	switch {
	case t.alias >= 0:
	case s.at.Kind == yaml.AliasNode:
		t.alias = len(t.steps)
	case t.aliases[s.at]:
		t.marked = append(t.marked, len(t.steps))
	}
	if t.steps = append(t.steps, s); len(t.path) > maxDepth {
		t.fail(&nodeFault{node: s.at, reason: "more than " + strconv.Itoa(maxDepth) + " maps and lists in each other"})
	}
}

func (t *tree) fail(f *nodeFault) {
	t.stopped = true
	if t.fault == nil {
		t.fault = f
	}
}

func (b branch) field(key string, fits func(value) bool) value {
	if !b.isMap() {
		return nil
	}
	for i := range b.node.kids {
		k := &b.node.kids[i]
		if text, ok := k.keyText(); ok && text == key {
			if v := b.tree.branch(k); fits(v) {
				return v
			}
		}
	}
	return nil
}

func (b branch) name() string {
	if b.node != nil {
		return ""
	}
	n := document.Behind(b.kid.at)
	if n.Kind != yaml.ScalarNode || n.Tag == "!!null" {
		return ""
	}
	return n.Value
}

func (b branch) text(listed bool) (string, bool) {
	n := document.Behind(b.kid.at)
	switch {
	case n.Kind != yaml.ScalarNode || n.Value == "" && n.Style == 0: // null, but for nothing at all, is an image called null
		return "", false
	case listed:
		return throughJSON(n), true
	}
	return n.Value, true
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

// visit tells the scalars of a document of the text, which is the nth there, and notes what to edit.
func (t *tree) visit(text *document.Text, doc *yaml.Node, nth int) *nodeFault {
	b, fault := t.open(text, doc)
	if fault != nil {
		return fault
	}
	t.scalar.Document = nth
	t.document(b)
	return t.close()
}

// visitItem tells the scalars of an item of a list object that is all of the text, or the one item of a list that is. The
// path is the item's.
func (t *tree) visitItem(text *document.Text, doc *yaml.Node, path []paths.Step, inList bool) *nodeFault {
	b, fault := t.open(text, doc)
	if fault != nil {
		return fault
	}
	t.path, t.listed = append(t.path[:0], path...), true
	if !inList {
		t.document(b)
		return t.close()
	}
	if len(doc.Content) != 1 || doc.Kind != yaml.SequenceNode {
		return &nodeFault{node: doc, reason: "no list of one item"}
	}
	b.each(func(w *walker, _ paths.Step, v value, _ paths.State) { w.document(v) }, 0)
	return t.close()
}

// open begins a document.
func (t *tree) open(text *document.Text, doc *yaml.Node) (branch, *nodeFault) {
	root, merged, fault := evaluate(doc, t.most-t.aliased)
	t.text, t.doc, t.source = text, doc, t
	t.steps, t.alias, t.marked, t.ways = t.steps[:0], -1, t.marked[:0], ways{}
	t.aliased += merged
	t.aliases, t.replaced, t.fault, t.stopped = nil, t.replaced[:0], nil, false
	aliasTargets(doc, &t.aliases)
	return branch{t, &kid{at: doc}, root}, fault
}

// close ends the document.
func (t *tree) close() *nodeFault {
	if t.fault == nil {
		t.edit()
	}
	return t.fault
}

// aliasTargets collects what the aliases below a node stand for.
func aliasTargets(n *yaml.Node, into *map[*yaml.Node]bool) {
	if n.Kind == yaml.AliasNode {
		if *into == nil {
			*into = make(map[*yaml.Node]bool)
		}
		(*into)[n.Alias] = true
		return
	}
	for _, child := range n.Content {
		aliasTargets(child, into)
	}
}
