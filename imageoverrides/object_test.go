// SPDX-License-Identifier: Apache-2.0

package imageoverrides

import (
	"fmt"
	"io"
	"reflect"
	"slices"
	"strings"
	"testing"

	"go.yaml.in/yaml/v3"
	"pgregory.net/rapid"
)

// TestRewriteObject: an object in memory becomes what its rewritten manifest decodes to, by
// the same changes.
func TestRewriteObject(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		table := genTable(true).Filter(func(table Table) bool {
			for _, o := range table.All() {
				if o.Name == "true" {
					return false // which is no string in an object
				}
			}
			return true
		}).Draw(t, "table")
		in := genManifests().Draw(t, "manifests")
		out, result := rewrite(t, table, in)
		var got []any
		var changes []string
		for d := yaml.NewDecoder(strings.NewReader(in)); ; {
			var v any
			if err := d.Decode(&v); err == io.EOF {
				break
			} else if err != nil {
				t.Fatalf("%v", err)
			}
			object, ok := v.(map[string]any)
			if !ok {
				continue // an empty document
			}
			for _, c := range RewriteObject(object, table) {
				changes = append(changes, fmt.Sprint(c.Object, c.Path, c.Old, c.New, c.Entries))
			}
			got = append(got, object)
		}
		var want []any
		for d := yaml.NewDecoder(strings.NewReader(out)); ; {
			var v any
			if err := d.Decode(&v); err == io.EOF {
				break
			} else if err != nil {
				t.Fatalf("%v", err)
			}
			if v != nil {
				want = append(want, v)
			}
		}
		if !reflect.DeepEqual(got, want) {
			t.Fatalf("got %v\nwant %v", got, want)
		}
		var wantChanges []string
		for _, c := range result.Changes {
			wantChanges = append(wantChanges, fmt.Sprint(c.Object, c.Path, c.Old, c.New, c.Entries))
		}
		slices.Sort(changes)
		slices.Sort(wantChanges)
		if !slices.Equal(changes, wantChanges) {
			t.Fatalf("changes\n%s\nwant\n%s", strings.Join(changes, "\n"), strings.Join(wantChanges, "\n"))
		}
	})
}

func TestRewriteObjectOdd(t *testing.T) {
	for _, object := range []map[string]any{
		nil, {}, {"containers": nil}, {"containers": "nginx"}, {"containers": []any{"nginx", nil, 5, []any{map[string]any{"image": "nginx"}}}},
		{"containers": []any{map[string]any{"image": map[string]any{"a": "nginx"}}}}, {"kind": "List", "items": []any{nil, "nginx"}},
		{"kind": "CustomResourceDefinition", "containers": []any{map[string]any{"image": "nginx"}}},
	} {
		before := fmt.Sprint(object)
		if changes := RewriteObject(object, webTable(t)); changes != nil || fmt.Sprint(object) != before {
			t.Errorf("%s becomes %v by %v", before, object, changes)
		}
	}
	object := map[string]any{"containers": []any{map[string]any{"image": "nginx"}}}
	for _, none := range []Table{{}, mustTable(t)} {
		if changes := RewriteObject(object, none); changes != nil {
			t.Errorf("without overrides: %v", changes)
		}
	}
	want := []Change{{Path: "containers[0].image", Old: "nginx", New: "m/web:v2", Entries: []int{0}}}
	if changes := RewriteObject(object, webTable(t)); !reflect.DeepEqual(changes, want) {
		t.Errorf("%+v, want %+v", changes, want)
	}
}
