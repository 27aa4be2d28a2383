// SPDX-License-Identifier: Apache-2.0

package imageoverrides

import (
	"fmt"
	"io"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"go.yaml.in/yaml/v3"
	"pgregory.net/rapid"

	"github.com/cozystack/image-overrides/internal/oracle"
	"github.com/cozystack/image-overrides/internal/platform"
)

// TestRewriteObject: an object in memory becomes what its rewritten manifest decodes to, by
// the same changes.
func TestRewriteObject(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		table := genTable(true).Filter(func(table Table) bool {
			for _, o := range table.All() {
				if slices.Contains([]string{"true", ".", "..", "1e3"}, o.Name) {
					return false // which match what is no string in an object
				}
			}
			return true
		}).Draw(t, "table")
		in := oracle.Manifests().Draw(t, "manifests")
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
		if diff := cmp.Diff(want, got); diff != "" {
			t.Fatal(diff)
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

// reshape gives a decoded value the shapes that Go programs build, as the draws have it.
func reshape(t *rapid.T, v any) any {
	type named map[string]any
	type word string
	switch v := v.(type) {
	case map[string]any:
		allStrings := len(v) > 0
		for key, value := range v {
			v[key] = reshape(t, value)
			_, isString := v[key].(string)
			allStrings = allStrings && isString
		}
		switch choice := rapid.IntRange(0, 4).Draw(t, "map"); {
		case choice == 0 && allStrings:
			m := make(map[string]string)
			for key, value := range v {
				m[key] = value.(string)
			}
			return m
		case choice == 1:
			m := make(map[any]any)
			for key, value := range v {
				m[key] = value
			}
			return m
		case choice == 2:
			return named(v)
		case choice == 3:
			m := make(map[word]any)
			for key, value := range v {
				m[word(key)] = value
			}
			return m
		}
	case []any:
		allMaps := len(v) > 0
		for i := range v {
			_, isMap := v[i].(map[string]any)
			v[i] = reshape(t, v[i])
			_, isPlain := v[i].(map[string]any)
			allMaps = allMaps && isMap && isPlain
		}
		if allMaps && rapid.IntRange(0, 1).Draw(t, "list") == 0 {
			list := make([]map[string]any, len(v))
			for i := range v {
				list[i] = v[i].(map[string]any)
			}
			return list
		}
	case string:
		if rapid.IntRange(0, 4).Draw(t, "string") == 0 {
			return word(v)
		}
	}
	return v
}

// plain gives any value the shape that a decoder gives it.
func plain(v any) any {
	switch r := reflect.ValueOf(v); r.Kind() {
	case reflect.Map:
		m := make(map[string]any)
		for it := r.MapRange(); it.Next(); {
			m[fmt.Sprint(it.Key().Interface())] = plain(it.Value().Interface())
		}
		return m
	case reflect.Slice:
		list := make([]any, r.Len())
		for i := range list {
			list[i] = plain(r.Index(i).Interface())
		}
		return list
	case reflect.String:
		return r.String()
	}
	return v
}

// TestRewriteObjectShapes: an object of other types becomes what the same object of a decoder's types
// becomes, by the same changes, and keeps its types.
func TestRewriteObjectShapes(t *testing.T) {
	changed := 0
	rapid.Check(t, func(t *rapid.T) {
		table := genTable(false).Draw(t, "table")
		for d := yaml.NewDecoder(strings.NewReader(oracle.Manifests().Draw(t, "manifests"))); ; {
			var node yaml.Node
			if err := d.Decode(&node); err != nil {
				break
			}
			var want, v map[string]any
			if node.Decode(&want) != nil || node.Decode(&v) != nil || want == nil {
				continue
			}
			for key, value := range v {
				v[key] = reshape(t, value)
			}
			types := fmt.Sprintf("%T", v["spec"])
			changes := RewriteObject(want, table)
			changed += len(changes)
			if diff := cmp.Diff(changes, RewriteObject(v, table)); diff != "" {
				t.Fatalf("%#v\n%s", v, diff)
			}
			if diff := cmp.Diff(any(want), plain(v)); diff != "" || fmt.Sprintf("%T", v["spec"]) != types {
				t.Fatalf("%#v\n%s", v, diff)
			}
		}
	})
	if changed == 0 {
		t.Error("nothing was changed")
	}
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
	if diff := cmp.Diff(want, RewriteObject(object, webTable(t))); diff != "" {
		t.Error(diff)
	}
}

// BenchmarkRewriteObject looks through an object that the table changes nothing of, again and again.
func BenchmarkRewriteObject(b *testing.B) {
	var object map[string]any
	if err := yaml.Unmarshal(platform.Workload(7), &object); err != nil {
		b.Fatal(err)
	}
	table := manyTable(b, 100)
	b.ReportAllocs()
	for b.Loop() {
		if changes := RewriteObject(object, table); changes != nil {
			b.Fatal(changes)
		}
	}
}
