// SPDX-License-Identifier: Apache-2.0

// Package release finds the HelmReleases of a document, and puts other post-renderers into them where they are written: the
// bytes around stay. What it cannot edit without doubt it does not, and every edit is read again and compared with what it
// should have done.
//
// What the post-renderers should be is the business of package postrender.
package release

import (
	"slices"
	"strings"

	helmv2 "github.com/fluxcd/helm-controller/api/v2"
	"go.yaml.in/yaml/v3"

	"github.com/cozystack/image-overrides/imageoverrides"
	"github.com/cozystack/image-overrides/internal/manifest"
	"github.com/cozystack/image-overrides/internal/manifest/document"
	"github.com/cozystack/image-overrides/internal/node"
	"github.com/cozystack/image-overrides/internal/refuse"
)

// Version starts the versions of HelmRelease that have what is merged.
const Version = "helm.toolkit.fluxcd.io/v2"

// A Text is a parsed text and its releases, in their order.
type Text struct {
	Releases []*Release

	parsed  *document.Text
	find    node.Finder
	weights map[*yaml.Node]int // of what aliases stand for
	aliased int                // values that those in post-renderers stand for
	edits   []document.Edit
}

// A Release is a HelmRelease in a text.
type Release struct {
	Document int                   // which one of the text, from 0
	Existing []helmv2.PostRenderer // as Read has read them
	Merged   []helmv2.PostRenderer // as they are to be

	text   *Text
	object *yaml.Node
	trail  *node.Trail
	spec   field      // of object
	list   field      // spec.postRenderers
	sops   *yaml.Node // the key under which SOPS has signed it; nil for none
	texts  []string   // the items of the list, as JSON with its keys in order
	edited bool
}

// A field is a field of a map in a text. The zero field is not there.
type field struct {
	key, value *yaml.Node
	next       *yaml.Node // where the value's own lines have ended, nil for the end of the text
}

// get finds a field of a map whose own lines have ended at next.
func get(n *yaml.Node, name string, next *yaml.Node) field {
	if n == nil || n.Kind != yaml.MappingNode {
		return field{}
	}
	for i := len(n.Content) - 2; i >= 0; i -= 2 {
		if n.Content[i].Value == name {
			return field{n.Content[i], n.Content[i+1], next}
		}
		next = n.Content[i]
	}
	return field{}
}

// end returns where the lines of a field's value end, at the latest.
func (f field) end(text *document.Text) int {
	if f.next == nil {
		return len(text.Bytes)
	}
	return node.LineStart(text, f.next)
}

// Find finds the HelmReleases of a text: its documents, and items of lists of objects. An alias to one is passed over:
// it changes with what it stands for.
func Find(parsed *document.Text) *Text {
	t := &Text{parsed: parsed, weights: make(map[*yaml.Node]int)}
	var visit func(n, next, sops *yaml.Node, document int, trail *node.Trail)
	visit = func(n, next, sops *yaml.Node, document int, trail *node.Trail) {
		if n.Kind == yaml.AliasNode {
			return
		}
		if key := refuse.Signature(n, &t.find); key != nil {
			sops = key
		}
		kind := node.Scalar(n, "kind")
		switch {
		case kind == "HelmRelease" && strings.HasPrefix(node.Scalar(n, "apiVersion"), Version):
			r := &Release{Document: document, text: t, object: n, trail: trail, sops: sops}
			r.spec = get(n, "spec", next)
			r.list = get(r.spec.value, "postRenderers", r.spec.next)
			t.Releases = append(t.Releases, r)
		case manifest.IsList(kind):
			if items := get(n, "items", next); items.value != nil {
				trail := trail.Under("items")
				each(items, func(i int, n, next *yaml.Node) { visit(n, next, sops, document, trail.At(i)) })
			}
		}
	}
	each(field{value: &yaml.Node{Content: parsed.Roots}}, func(i int, n, next *yaml.Node) { visit(n, next, nil, i, nil) })
	return t
}

// each visits the items of a list, each with the node at which its lines have ended.
func each(list field, visit func(i int, n, next *yaml.Node)) {
	items := list.value.Content
	for i, item := range items {
		next := list.next
		if i+1 < len(items) {
			next = items[i+1]
		}
		visit(i, item, next)
	}
}

// Template finds an action of a template in the text, which parsed all the same.
func (t *Text) Template() (offset int, found bool) { return refuse.Template(t.parsed, &t.find) }

// Offset returns where the release starts in the text.
func (r *Release) Offset() int {
	at, _ := r.text.parsed.Offset(r.object)
	return at
}

// Object names the release.
func (r *Release) Object() imageoverrides.Object {
	return imageoverrides.Object(r.text.find.NameOf(r.object))
}

// Path returns the way to the release in its document, "" for the document itself.
func (r *Release) Path() string { return r.trail.String() }

// IsPatch reports whether what looks like a release is a patch of another, of which kustomize makes one later. A release
// names its chart, and a patch may change a chart's version. A patch with a list of post-renderers would
// replace the list of its release.
func (r *Release) IsPatch() bool {
	find := &r.text.find
	spec := find.Child(r.object, "spec")
	if !node.IsNull(find.Child(spec, "chartRef")) {
		return false
	}
	chart := find.Child(spec, "chart")
	template := find.Child(chart, "spec")
	return node.IsNull(chart) || template != nil && template.Kind == yaml.MappingNode && node.IsNull(find.Child(template, "chart"))
}

// Signature returns where SOPS has signed the release, or the list that it is an item of.
func (r *Release) Signature() (offset int, signed bool) {
	if r.sops == nil {
		return 0, false
	}
	offset, _ = r.text.parsed.Offset(r.sops)
	return offset, true
}

// plan says what becomes of the items of a list: where with has an item's index, the item goes, and
// those come in its place; the renderers of behind come after the item. Key -1 is the place
// before the first item. Merge keeps the pointers of the renderers that it keeps.
func (r *Release) plan() (with, behind map[int][]helmv2.PostRenderer) {
	with, behind = make(map[int][]helmv2.PostRenderer), make(map[int][]helmv2.PostRenderer)
	kept := make([]bool, len(r.Existing))
	before := make([]int, len(r.Merged)) // by merged renderer, the item kept last before it
	isKept := r.keeps(func(m, item int) {
		kept[item] = true
		before[m] = item
	})
	last := -1
	for i := range r.Merged {
		if isKept[i] {
			last = before[i]
		}
		before[i] = last
	}
	for j := range kept {
		if !kept[j] {
			with[j] = nil
		}
	}
	for i, m := range r.Merged {
		switch j := before[i]; {
		case isKept[i]:
		case j+1 < len(kept) && !kept[j+1]:
			with[j+1] = append(with[j+1], m)
		default:
			behind[j] = append(behind[j], m)
		}
	}
	return with, behind
}

// keeps tells which of the merged renderers are items of the list, and calls keep with each of these and its item. They have the
// order of the items.
func (r *Release) keeps(keep func(m, item int)) []bool {
	ahead := make(map[helmv2.PostRenderer]int) // how many equal items are still to come
	for _, e := range r.Existing {
		ahead[e]++
	}
	isKept := make([]bool, len(r.Merged))
	next := 0
	for i, m := range r.Merged {
		if ahead[m] == 0 {
			continue
		}
		for ; ; next++ {
			ahead[r.Existing[next]]--
			if r.Existing[next] == m {
				break
			}
		}
		keep(i, next)
		isKept[i] = true
		next++
	}
	return isKept
}

// Apply returns the text with the edits of its releases, which were planned by Edit. Where the post-renderers would not be as
// merged then, or anything else not as it was, there is no such text, and bad are the releases whose edits may be to blame. The
// Text is of no use afterwards.
func (t *Text) Apply() (text []byte, bad []*Release) {
	if t.edits == nil {
		return t.parsed.Bytes, nil
	}
	text, ok := document.Splice(t.parsed.Bytes, t.edits)
	if !ok {
		return nil, t.toBlame()
	}
	if bad := t.verify(text); bad != nil {
		return nil, bad
	}
	return text, nil
}

// verify reads a text whose releases were edited, and compares it with the one before.
func (t *Text) verify(text []byte) (bad []*Release) {
	parsed, err := document.Parse(text)
	if err != nil {
		return t.toBlame()
	}
	after := Find(parsed)
	if len(after.Releases) != len(t.Releases) {
		return t.toBlame()
	}
	for i, r := range t.Releases {
		found := after.Releases[i]
		if r.edited && (found.Read(nil) != nil || !slices.Equal(found.texts, r.want())) {
			return t.Releases[i : i+1]
		}
		if r.edited {
			r.drop()
			found.drop()
		}
	}
	if !slices.EqualFunc(t.parsed.Roots, parsed.Roots, equal) {
		return t.toBlame()
	}
	return nil
}

// toBlame returns the releases that were edited.
func (t *Text) toBlame() []*Release {
	return slices.DeleteFunc(slices.Clone(t.Releases), func(r *Release) bool { return !r.edited })
}

// want returns the items that the list is to have, as JSON: the release's own as they were.
func (r *Release) want() []string {
	want := make([]string, len(r.Merged))
	for i, kept := range r.keeps(func(m, item int) { want[m] = r.texts[item] }) {
		if !kept {
			want[i] = sorted(r.Merged[i])
		}
	}
	return want
}

// drop takes the post-renderers out of the release's tree.
func (r *Release) drop() {
	if spec := r.spec.value; r.list.key != nil {
		i := slices.Index(spec.Content, r.list.key)
		spec.Content = slices.Delete(spec.Content, i, i+2)
	}
}

// equal compares two trees, but for comments and styles.
func equal(a, b *yaml.Node) bool {
	return a.Kind == b.Kind && a.Tag == b.Tag && a.Value == b.Value && a.Anchor == b.Anchor &&
		slices.EqualFunc(a.Content, b.Content, equal)
}
