// SPDX-License-Identifier: Apache-2.0

package conformance

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"pgregory.net/rapid"
	"sigs.k8s.io/kustomize/api/types"
	"sigs.k8s.io/kustomize/kyaml/resid"

	"github.com/cozystack/image-overrides/imageoverrides"
	"github.com/cozystack/image-overrides/imageoverrides/audit"
	"github.com/cozystack/image-overrides/internal/oracle"
	"github.com/cozystack/image-overrides/postrender"
)

// TestPatches: the kustomize of Flux 2.9 takes patches as that of the root's tests does: texts of all kinds are tested for and replaced, and a
// patch whose text is not there stops it.
func TestPatches(t *testing.T) {
	table := must(imageoverrides.Parse([]byte("[{name: nginx, newName: reg.example.org/nginx}]")))
	object := imageoverrides.Object{APIVersion: "x.io/v1", Kind: "Thing", Namespace: "n.s", Name: "a.b"}
	rapid.Check(t, func(t *rapid.T) {
		key := rapid.OneOf(rapid.StringMatching(`[a/~.'"<&é \\-]{0,4}`), rapid.StringMatching(`[0-9]{1,2}`), rapid.Just("<<")).Draw(t, "key")
		before := rapid.StringMatching(`[a<>&"'\\\n\t:#{}é☃ -]{0,6}`).Draw(t, "before")
		text := func(image string) string {
			return string(must(json.Marshal(map[string]any{
				"apiVersion": object.APIVersion, "kind": object.Kind, "metadata": map[string]any{"name": object.Name, "namespace": object.Namespace},
				"spec": map[string]any{"list": []any{"nginx", map[string]any{key: before + image}}},
			})))
		}
		r, unpatched := postrender.Patches(table, []audit.Place{{APIVersion: object.APIVersion, Kind: object.Kind, Namespace: object.Namespace, Name: object.Name, Status: audit.Unreached, Parts: []audit.Part{{
			Pointer: postrender.Pointer("spec", "list", 1, key), Text: before + "nginx", Start: len(before), End: len(before) + len("nginx"),
		}}}})
		if key == "<<" { // a merge key to kustomize, quotes or not
			if len(unpatched) != 1 || r.Kustomize != nil {
				t.Fatalf("%v", unpatched)
			}
			return
		}
		if unpatched != nil {
			t.Fatalf("%v", unpatched)
		}
		p := r.Kustomize.Patches[0]
		patches := []types.Patch{{Patch: p.Patch, Target: &types.Selector{ResId: resid.ResId{
			Gvk: resid.Gvk{Group: p.Target.Group, Version: p.Target.Version, Kind: p.Target.Kind}, Name: p.Target.Name, Namespace: p.Target.Namespace,
		}}}}
		want, err := oracle.Patched(nil, text("reg.example.org/nginx"))
		if err != nil {
			t.Skip(err)
		}
		nothing := []types.Patch{{Patch: `[{"op": "test", "path": "/kind", "value": "Thing"}]`, Target: patches[0].Target}}
		if _, err := oracle.Patched(nothing, text("nginx")); err != nil {
			t.Skip(err) // kustomize cannot patch an object with a text that begins with a tab and has lines
		}
		got, err := oracle.Patched(patches, text("nginx"))
		if err != nil {
			t.Fatalf("%v\n%s", err, p.Patch)
		}
		oracle.SameObjects(t, got, want)
		_, err = oracle.Patched(patches, text("redis"))
		if pointer := postrender.Pointer("spec", "list", 1, key); err == nil || !strings.Contains(fmt.Sprint(err), pointer) {
			t.Fatalf("%v", err)
		}
	})
}
