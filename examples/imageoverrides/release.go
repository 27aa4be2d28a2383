// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"

	helmv2 "github.com/fluxcd/helm-controller/api/v2"
	"github.com/fluxcd/pkg/apis/kustomize"
	"go.yaml.in/yaml/v3"

	"github.com/cozystack/image-overrides/imageoverrides"
	"github.com/cozystack/image-overrides/internal/document"
	"github.com/cozystack/image-overrides/postrender"
)

// A release is a HelmRelease in a text.
type release struct {
	text   *document.Text
	object *yaml.Node
	spec   field // of object
	list   field // spec.postRenderers

	texts    []string              // the items of the list, as JSON with its keys in order
	existing []helmv2.PostRenderer // the same, decoded
	merged   []helmv2.PostRenderer // as they are to be
}

// A field is a field of a map in a text. The zero field is not there.
type field struct {
	key, value *yaml.Node
	end        int // where the lines of the value end, at the latest
}

// get finds a field of a map whose own lines end at end.
func get(text *document.Text, n *yaml.Node, name string, end int) field {
	if n == nil || n.Kind != yaml.MappingNode {
		return field{}
	}
	for i := len(n.Content) - 2; i >= 0; i -= 2 {
		if n.Content[i].Value == name {
			return field{n.Content[i], n.Content[i+1], end}
		}
		end = lineStart(text, n.Content[i])
	}
	return field{}
}

// lineStart returns the offset of the line that a node starts in.
func lineStart(text *document.Text, n *yaml.Node) int {
	at, _ := text.Offset(n)
	return bytes.LastIndexByte(text.Bytes[:at], '\n') + 1
}

// scalar returns the text of a map's field.
func scalar(n *yaml.Node, name string) string {
	_, value := last(behind(n), name)
	if value == nil || value.Kind != yaml.ScalarNode {
		return ""
	}
	return value.Value
}

// findReleases returns the HelmReleases of a text, in their order. An alias to one is passed over:
// it changes with what it stands for.
func findReleases(text *document.Text) []*release {
	var releases []*release
	var visit func(n *yaml.Node, end int)
	visit = func(n *yaml.Node, end int) {
		kind := scalar(n, "kind")
		switch {
		case kind == "HelmRelease" && strings.HasPrefix(scalar(n, "apiVersion"), "helm.toolkit.fluxcd.io/v2"):
			r := &release{text: text, object: n}
			r.spec = get(text, n, "spec", end)
			r.list = get(text, r.spec.value, "postRenderers", r.spec.end)
			releases = append(releases, r)
		case strings.HasSuffix(kind, "List"):
			if items := get(text, n, "items", end); items.value != nil {
				each(text, items, visit)
			}
		}
	}
	each(text, field{value: &yaml.Node{Content: text.Roots}, end: len(text.Bytes)}, visit)
	return releases
}

// each visits the items of a list, each with the end of its lines.
func each(text *document.Text, list field, visit func(n *yaml.Node, end int)) {
	items := list.value.Content
	for i, item := range items {
		end := list.end
		if i+1 < len(items) {
			end = lineStart(text, items[i+1])
		}
		visit(item, end)
	}
}

func (r *release) offset() int {
	at, _ := r.text.Offset(r.object)
	return at
}

// name names the release as messages do.
func (r *release) name() string {
	_, metadata := last(r.object, "metadata")
	o := imageoverrides.Object{Kind: "HelmRelease"}
	if metadata != nil {
		o.Namespace, o.Name = scalar(metadata, "namespace"), scalar(metadata, "name")
	}
	return o.String()
}

// read decodes the release's post-renderers.
func (r *release) read() error {
	spec, list := r.spec.value, r.list.value
	if spec == nil {
		return nil
	}
	if list == nil || spec.Kind != yaml.MappingNode { // perhaps by way of an alias or a merge key
		var decoded struct {
			PostRenderers yaml.Node `yaml:"postRenderers"`
		}
		if err := spec.Decode(&decoded); err != nil {
			return fmt.Errorf("spec: %s", strings.TrimPrefix(err.Error(), "yaml: "))
		}
		list = &decoded.PostRenderers
	}
	list = behind(list)
	switch {
	case list.IsZero() || list.Tag == "!!null":
		return nil
	case list.Kind != yaml.SequenceNode:
		return errors.New("spec.postRenderers must be a list")
	}
	for i, item := range list.Content {
		if err := r.readItem(item); err != nil {
			return fmt.Errorf("spec.postRenderers[%d]: %w", i, err)
		}
	}
	return nil
}

// readItem decodes one post-renderer.
func (r *release) readItem(item *yaml.Node) error {
	var value any
	if err := item.Decode(&value); err != nil {
		return errors.New(strings.TrimPrefix(err.Error(), "yaml: "))
	}
	text, err := json.Marshal(value)
	if err != nil {
		return err
	}
	var renderer helmv2.PostRenderer
	if err := json.Unmarshal(text, &renderer); err != nil {
		return typeError(err)
	}
	// A field that helm.toolkit.fluxcd.io/v2 does not know, such as patchesStrategicMerge of its
	// betas, makes the renderer the release's own, whatever else is in it. Its text stays.
	strict := json.NewDecoder(bytes.NewReader(text))
	strict.DisallowUnknownFields()
	if err := strict.Decode(&helmv2.PostRenderer{}); err != nil {
		if _, ok := postrender.Hash([]helmv2.PostRenderer{renderer}); ok {
			return fmt.Errorf("the table's post-renderer has an %s; give that a post-renderer of its own", strings.TrimPrefix(err.Error(), "json: "))
		}
		renderer = helmv2.PostRenderer{Kustomize: &helmv2.Kustomize{Patches: []kustomize.Patch{{}}}}
	}
	r.texts = append(r.texts, flowText(value))
	r.existing = append(r.existing, renderer)
	return nil
}

// typeError says in the words of YAML what type of a field was expected.
func typeError(err error) error {
	var e *json.UnmarshalTypeError
	if !errors.As(err, &e) {
		return err
	}
	want := map[reflect.Kind]string{reflect.Slice: "list", reflect.Struct: "map", reflect.Pointer: "map", reflect.String: "string"}[e.Type.Kind()]
	got := strings.NewReplacer("array", "list", "object", "map").Replace(e.Value)
	if e.Field == "" {
		return fmt.Errorf("must be a %s, got %s", want, got)
	}
	return fmt.Errorf("%s must be a %s, got %s", e.Field, want, got)
}

// unchanged reports whether the merge changed nothing. Merge keeps the pointers of the
// renderers that it keeps.
func (r *release) unchanged() bool { return slices.Equal(r.existing, r.merged) }

// change says what the merge did.
func (r *release) change() string {
	older, had := postrender.Hash(r.existing)
	newer, has := postrender.Hash(r.merged)
	switch {
	case !had:
		return "table " + newer + " added"
	case !has:
		return "table " + older + " removed"
	case older == newer:
		return "table " + newer + " put right"
	}
	return "table " + newer + " in place of " + older
}

// verify reads a text whose releases were edited, and compares it with the one before. It
// returns nil where their post-renderers are as merged and all else is as it was, and
// otherwise the releases whose edits may be to blame.
func verify(before *document.Text, body []byte, releases []*release) []*release {
	after, err := document.Parse(body)
	if err != nil {
		return releases
	}
	found := findReleases(after)
	if len(found) != len(releases) {
		return releases
	}
	for i, r := range releases {
		if found[i].read() != nil || !slices.Equal(found[i].texts, r.want()) {
			return releases[i : i+1]
		}
		r.drop()
		found[i].drop()
	}
	if !slices.EqualFunc(before.Roots, after.Roots, equal) {
		return releases
	}
	return nil
}

// want returns the items that the list is to have, as JSON: the release's own as they were.
func (r *release) want() []string {
	var want []string
	own := 0
	for _, m := range r.merged {
		if j := slices.Index(r.existing[own:], m); j >= 0 {
			own += j + 1
			want = append(want, r.texts[own-1])
			continue
		}
		var value any
		if err := json.Unmarshal([]byte(flowText(m)), &value); err != nil {
			panic(err) // JSON of our own
		}
		want = append(want, flowText(value))
	}
	return want
}

// drop takes the post-renderers out of the release's tree.
func (r *release) drop() {
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

// last returns the last key of that text in a map, and its value: the one that decoding
// keeps.
func last(n *yaml.Node, name string) (key, value *yaml.Node) {
	if n.Kind != yaml.MappingNode {
		return nil, nil
	}
	for i := len(n.Content) - 2; i >= 0; i -= 2 {
		if behind(n.Content[i]).Value == name {
			return n.Content[i], behind(n.Content[i+1])
		}
	}
	return nil, nil
}

// behind returns what an alias stands for, and any other node as it is.
func behind(n *yaml.Node) *yaml.Node {
	if n.Kind == yaml.AliasNode {
		return n.Alias
	}
	return n
}
