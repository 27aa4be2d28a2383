// SPDX-License-Identifier: Apache-2.0

package node

import (
	"strings"
	"unicode/utf8"

	"go.yaml.in/yaml/v3"

	"github.com/cozystack/image-overrides/internal/manifest"
	"github.com/cozystack/image-overrides/internal/manifest/paths"
	"github.com/cozystack/image-overrides/internal/quote"
)

// NameOf returns the name of an object.
func (f *Finder) NameOf(n *yaml.Node) manifest.Object {
	metadata := f.Child(n, "metadata")
	return manifest.Object{
		APIVersion: Scalar(n, "apiVersion"), Kind: Scalar(n, "kind"), Namespace: Scalar(metadata, "namespace"), Name: Scalar(metadata, "name"),
	}
}

// A Trail is the way from a document to one of its values, the value's own step last. Nil is the
// document itself.
type Trail struct {
	up   *Trail
	key  string
	item int // of a list, or -1

	// Its text, once somebody has asked, without what is cut out between head and tail.
	known, cut bool
	head, tail string
}

// Under returns the trail one key further, and At that one item further.
func (t *Trail) Under(key string) *Trail { return &Trail{up: t, key: key, item: -1} }
func (t *Trail) At(i int) *Trail         { return &Trail{up: t, item: i} }

// String writes a trail as people write it: spec.values.registries, and odd keys quoted. Of a long one the middle is left out.
func (t *Trail) String() string {
	switch head, tail, cut := t.ends(); {
	case cut:
		return head + "…" + tail
	default:
		return head + tail
	}
}

// ends returns the text of a trail, each end of it not much longer than most bytes.
func (t *Trail) ends() (head, tail string, cut bool) {
	const most = 2 << 10
	if t == nil {
		return "", "", false
	}
	if !t.known {
		t.known = true
		t.head, t.tail, t.cut = t.up.ends()
		step := t.text(t.head != "")
		if t.tail == "" && len(t.head) < most {
			t.head += step
		} else if t.tail += step; len(t.tail) > 2*most { // seldom, so that little is copied
			at := len(t.tail) - most
			for at < len(t.tail) && !utf8.RuneStart(t.tail[at]) {
				at++
			}
			t.tail, t.cut = t.tail[at:], true
		}
	}
	return t.head, t.tail, t.cut
}

// text is one step, behind others or not. Unlike those of package paths, a key that prints stands without quotes
// though it is no ASCII, as the command has always written it.
func (t *Trail) text(behind bool) string {
	if t.item < 0 && quote.Plain(t.key) == t.key && t.key != "" && !strings.ContainsAny(t.key, `.[]"`) {
		if behind {
			return "." + t.key
		}
		return t.key
	}
	return string(paths.Step{Key: t.key, Item: t.item}.Append(nil, behind))
}

// An Object is one of the objects of a text: a document, or an item of a list of objects.
type Object struct {
	Node     *yaml.Node
	Trail    *Trail // from its document
	Document int    // which one, from 0
}

// Objects returns the objects of documents, in their order. What aliases and merge keys stand for is there once,
// where it is written.
func (f *Finder) Objects(roots []*yaml.Node) []Object {
	var found []Object
	seen := make(map[*yaml.Node]bool) // lists of items, which aliases and merge keys may stand for
	var visit func(n *yaml.Node, t *Trail, document int)
	visit = func(n *yaml.Node, t *Trail, document int) {
		items := f.Child(n, "items")
		if items == nil || items.Kind != yaml.SequenceNode || !manifest.IsList(Scalar(n, "kind")) {
			found = append(found, Object{n, t, document})
			return
		}
		if seen[items] {
			return
		}
		seen[items] = true
		for i, item := range items.Content {
			if item.Kind != yaml.AliasNode {
				visit(item, t.Under("items").At(i), document)
			}
		}
	}
	for i, root := range roots {
		visit(root, nil, i)
	}
	return found
}
