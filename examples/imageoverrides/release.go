// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"regexp"
	"slices"
	"strings"

	helmv2 "github.com/fluxcd/helm-controller/api/v2"
	"github.com/fluxcd/pkg/apis/kustomize"
	"go.yaml.in/yaml/v3"

	"github.com/cozystack/image-overrides/internal/manifest/document"
	"github.com/cozystack/image-overrides/postrender"
)

// releaseVersion starts the versions of HelmRelease that have what is merged.
const releaseVersion = "helm.toolkit.fluxcd.io/v2"

// A release is a HelmRelease in a text.
type release struct {
	text   *document.Text
	object *yaml.Node
	spec   field      // of object
	list   field      // spec.postRenderers
	sops   *yaml.Node // the key under which SOPS has signed it; nil for none

	texts    []string              // the items of the list, as JSON with its keys in order
	existing []helmv2.PostRenderer // the same, decoded
	merged   []helmv2.PostRenderer // as they are to be
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
	return lineStart(text, f.next)
}

// lineStart returns the offset of the line that a node starts in.
func lineStart(text *document.Text, n *yaml.Node) int {
	at, _ := text.Offset(n)
	return bytes.LastIndexByte(text.Bytes[:at], '\n') + 1
}

// findReleases returns the HelmReleases of a text, in their order. An alias to one is passed over:
// it changes with what it stands for.
func findReleases(text *document.Text) []*release {
	var releases []*release
	var visit func(n, next, sops *yaml.Node)
	visit = func(n, next, sops *yaml.Node) {
		if key := sopsKey(n); key != nil {
			sops = key
		}
		kind := scalar(n, "kind")
		switch {
		case kind == "HelmRelease" && strings.HasPrefix(scalar(n, "apiVersion"), releaseVersion):
			r := &release{text: text, object: n, sops: sops}
			r.spec = get(n, "spec", next)
			r.list = get(r.spec.value, "postRenderers", r.spec.next)
			releases = append(releases, r)
		case strings.HasSuffix(kind, "List"):
			if items := get(n, "items", next); items.value != nil {
				each(items, func(n, next *yaml.Node) { visit(n, next, sops) })
			}
		}
	}
	each(field{value: &yaml.Node{Content: text.Roots}}, func(n, next *yaml.Node) { visit(n, next, nil) })
	return releases
}

// each visits the items of a list, each with the node at which its lines have ended.
func each(list field, visit func(n, next *yaml.Node)) {
	items := list.value.Content
	for i, item := range items {
		next := list.next
		if i+1 < len(items) {
			next = items[i+1]
		}
		visit(item, next)
	}
}

func (r *release) offset() int {
	at, _ := r.text.Offset(r.object)
	return at
}

// name names the release as messages do.
func (r *release) name() string { return objectOf(r.object).String() }

// isPatch reports whether what looks like a release is a patch of another, of which kustomize makes one later. A release
// names its chart, and a patch may change a chart's version. A patch with a list of post-renderers would
// replace the list of its release.
func (r *release) isPatch() bool {
	spec := child(r.object, "spec")
	if !isNull(child(spec, "chartRef")) {
		return false
	}
	chart := child(spec, "chart")
	template := child(chart, "spec")
	return isNull(chart) || template != nil && template.Kind == yaml.MappingNode && isNull(child(template, "chart"))
}

// read decodes the release's post-renderers.
func (r *release) read() error {
	list := child(r.spec.value, "postRenderers") // perhaps by way of an alias or a merge key
	switch {
	case isNull(list):
		return nil
	case list.Kind != yaml.SequenceNode:
		return errors.New("spec.postRenderers must be a list")
	}
	if n := wide(list); n != nil {
		return fmt.Errorf("spec.postRenderers has a map with more than %d keys", maxKeys)
	}
	for i, item := range list.Content {
		if err := r.readItem(item); err != nil {
			return fmt.Errorf("spec.postRenderers[%d]: %w", i, err)
		}
	}
	return nil
}

// maxKeys is how many keys a map in a post-renderer may have. The decoder compares each with each.
const maxKeys = 5000

// wide finds a map with more than that.
func wide(n *yaml.Node) *yaml.Node {
	if n.Kind == yaml.MappingNode && len(n.Content) > 2*maxKeys {
		return n
	}
	for _, c := range n.Content {
		if found := wide(c); found != nil {
			return found
		}
	}
	return nil
}

// readItem decodes one post-renderer.
func (r *release) readItem(item *yaml.Node) error {
	var value any
	if err := item.Decode(&value); err != nil {
		return decodeError(err)
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

// decoderLine is how the YAML decoder tells lines, which are not those of the file.
var decoderLine = regexp.MustCompile(`^line \d+: | at line \d+$`)

// decodeError writes an error of the YAML decoder in one line.
func decodeError(err error) error {
	var e *yaml.TypeError
	if errors.As(err, &e) {
		return errors.New(decoderLine.ReplaceAllString(e.Errors[0], ""))
	}
	return errors.New(strings.TrimPrefix(err.Error(), "yaml: "))
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
