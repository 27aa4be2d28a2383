// SPDX-License-Identifier: Apache-2.0

package release

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"regexp"
	"strings"

	helmv2 "github.com/fluxcd/helm-controller/api/v2"
	"github.com/fluxcd/pkg/apis/kustomize"
	"go.yaml.in/yaml/v3"

	"github.com/cozystack/image-overrides/internal/node"
)

// Read decodes the release's post-renderers. isTable says which of them is a table's, nil for none. A field that
// helm.toolkit.fluxcd.io/v2 does not know, such as patchesStrategicMerge of its betas, makes a renderer the release's own, whatever
// else is in it: it is read as one with an empty patch, and its text stays.
func (r *Release) Read(isTable func(helmv2.PostRenderer) bool) error {
	list := r.text.find.Child(r.spec.value, "postRenderers") // perhaps by way of an alias or a merge key
	switch {
	case node.IsNull(list):
		return nil
	case list.Kind != yaml.SequenceNode:
		return errors.New("spec.postRenderers must be a list")
	case wide(list, make(map[*yaml.Node]bool)):
		return fmt.Errorf("spec.postRenderers has a map with more than %d keys", maxKeys)
	}
	for i, item := range list.Content {
		if err := r.readItem(item, isTable); err != nil {
			return fmt.Errorf("spec.postRenderers[%d]: %w", i, err)
		}
	}
	return nil
}

// maxKeys is how many keys a map in a post-renderer may have. The decoder compares each with each.
const maxKeys = 5000

// wide reports whether there is a map with more than that, also behind aliases.
func wide(n *yaml.Node, seen map[*yaml.Node]bool) bool {
	if n.Kind == yaml.AliasNode {
		if seen[n.Alias] {
			return false
		}
		seen[n.Alias] = true
		n = n.Alias
	}
	if n.Kind == yaml.MappingNode && len(n.Content) > 2*maxKeys {
		return true
	}
	for _, c := range n.Content {
		if wide(c, seen) {
			return true
		}
	}
	return false
}

// maxAliased is how many values the aliases in the post-renderers of a text may stand for, all together. Each is
// decoded where it stands.
const maxAliased = 1 << 17

// weight returns how many values a value is if its aliases are written out, at most one more than the limit.
func (t *Text) weight(n *yaml.Node) int {
	if n.Kind == yaml.AliasNode {
		w, ok := t.weights[n.Alias]
		if !ok {
			t.weights[n.Alias] = 0 // for one that the alias stands in, which does not decode
			w = t.weight(n.Alias)
			t.weights[n.Alias] = w
		}
		t.aliased = min(t.aliased+w, maxAliased+1)
		return w
	}
	w := 1
	for _, c := range n.Content {
		w = min(w+t.weight(c), maxAliased+1)
	}
	return w
}

// readItem decodes one post-renderer.
func (r *Release) readItem(item *yaml.Node, isTable func(helmv2.PostRenderer) bool) error {
	if r.text.weight(item); r.text.aliased > maxAliased {
		return errors.New("document contains excessive aliasing")
	}
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
	strict := json.NewDecoder(bytes.NewReader(text))
	strict.DisallowUnknownFields()
	if err := strict.Decode(&helmv2.PostRenderer{}); err != nil {
		if isTable != nil && isTable(renderer) {
			return fmt.Errorf("the table's post-renderer has an %s; give that a post-renderer of its own", strings.TrimPrefix(err.Error(), "json: "))
		}
		renderer = helmv2.PostRenderer{Kustomize: &helmv2.Kustomize{Patches: []kustomize.Patch{{}}}}
	}
	r.texts = append(r.texts, flowText(value))
	r.Existing = append(r.Existing, renderer)
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
