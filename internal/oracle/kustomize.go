// SPDX-License-Identifier: Apache-2.0

package oracle

import (
	"fmt"
	"io"
	"maps"
	"reflect"
	"slices"
	"strings"

	"github.com/google/go-cmp/cmp"
	"go.yaml.in/yaml/v3"
	"sigs.k8s.io/kustomize/api/krusty"
	"sigs.k8s.io/kustomize/api/types"
	"sigs.k8s.io/kustomize/kyaml/filesys"
	yamljson "sigs.k8s.io/yaml"
)

// Kustomize runs the real thing as Flux's helm-controller does: an in-memory
// kustomization with the manifests as its one resource, no plugins, no load
// restrictions. A panic of kustomize is an error.
func Kustomize(images []types.Image, manifests string) (out string, err error) {
	return kustomize(types.Kustomization{Images: images}, manifests)
}

// Patched is Kustomize with patches in place of images.
func Patched(patches []types.Patch, manifests string) (out string, err error) {
	return kustomize(types.Kustomization{Patches: patches}, manifests)
}

func kustomize(k types.Kustomization, manifests string) (out string, err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("PANIC: %v", p)
		}
	}()
	k.Resources = []string{"helm-output.yaml"}
	k.APIVersion, k.Kind = types.KustomizationVersion, types.KustomizationKind
	text, err := yamljson.Marshal(k)
	if err != nil {
		return "", err
	}
	fs := filesys.MakeFsInMemory()
	for name, data := range map[string][]byte{"kustomization.yaml": text, "helm-output.yaml": []byte(manifests)} {
		if err := fs.WriteFile(name, data); err != nil {
			return "", err
		}
	}
	m, err := krusty.MakeKustomizer(&krusty.Options{
		LoadRestrictions: types.LoadRestrictionsNone,
		PluginConfig:     types.DisabledPluginConfig(),
	}).Run(fs, ".")
	if err != nil {
		return "", err
	}
	yml, err := m.AsYaml()
	return string(yml), err
}

// T is what testing.T and rapid.T have in common.
type T interface {
	Helper()
	Fatalf(format string, args ...any)
	Errorf(format string, args ...any)
}

// Objects decodes a stream as kustomize sees it: the items of a list are objects,
// and empty documents are none.
func Objects(t T, manifests string) []any {
	t.Helper()
	var list []any
	var flatten func(v any)
	flatten = func(v any) {
		m, ok := v.(map[string]any)
		if kind, _ := m["kind"].(string); ok && strings.HasSuffix(kind, "List") {
			if items, ok := m["items"].([]any); ok {
				for _, item := range items {
					flatten(item)
				}
				return
			}
		}
		if v != nil {
			list = append(list, v)
		}
	}
	for d := yaml.NewDecoder(strings.NewReader(manifests)); ; {
		var v any
		if err := d.Decode(&v); err == io.EOF {
			slices.SortFunc(list, func(a, b any) int { return strings.Compare(nameOf(a), nameOf(b)) })
			return list
		} else if err != nil {
			t.Fatalf("%v in\n%s", err, manifests)
		}
		flatten(v)
	}
}

// nameOf gives objects an order: kustomize takes the items of lists to the end.
func nameOf(object any) string {
	m, _ := object.(map[string]any)
	metadata, _ := m["metadata"].(map[string]any)
	return fmt.Sprint(m["kind"], " ", metadata["name"])
}

// Pruned takes fields out that are null or empty lists: kustomize drops some nulls, and
// makes empty lists of others.
func Pruned(v any) any {
	switch v := v.(type) {
	case map[string]any:
		for key, child := range v {
			if list, ok := child.([]any); child == nil || ok && len(list) == 0 {
				delete(v, key)
				continue
			}
			v[key] = Pruned(child)
		}
	case []any:
		for i := range v {
			v[i] = Pruned(v[i])
		}
	}
	return v
}

// SameObjects compares the objects of two streams, whole.
func SameObjects(t T, got, want string) {
	t.Helper()
	SameLists(t, Objects(t, got), Objects(t, want))
}

// SameLists compares objects.
func SameLists(t T, got, want []any) {
	t.Helper()
	if !same(want, got) {
		t.Errorf("kustomize has the objects (-), and not (+)\n%s", cmp.Diff(want, got))
	}
}

// same reports whether values are the same, but for two things that kustomize does besides: of nothing in braces it makes an empty
// text, and a number that it took through JSON may be an integer now, and was none.
func same(a, b any) bool {
	switch a := a.(type) {
	case nil:
		return b == nil || b == ""
	case string:
		return a == b || a == "" && b == nil
	case int:
		f, isFloat := b.(float64)
		return a == b || isFloat && float64(a) == f
	case float64:
		i, isInt := b.(int)
		return a == b || isInt && float64(i) == a
	case []any:
		list, ok := b.([]any)
		return ok && slices.EqualFunc(a, list, same)
	case map[string]any:
		m, ok := b.(map[string]any)
		return ok && maps.EqualFunc(a, m, same)
	}
	return reflect.DeepEqual(a, b)
}
