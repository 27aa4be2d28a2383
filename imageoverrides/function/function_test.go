// SPDX-License-Identifier: Apache-2.0

package function_test

import (
	"bytes"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/cozystack/image-overrides/imageoverrides"
	"github.com/cozystack/image-overrides/imageoverrides/function"
	"github.com/cozystack/image-overrides/internal/oracle"
)

const entries = "[{name: nginx, newName: registry.example.org/nginx}, {name: a, newName: registry.example.org/a, newTag: v2}, {name: quay.io/a/b, newTag: v3}]"

// The bytes are those of Rewrite for the ResourceList, and the images of its items those of Rewrite for the items alone.
func TestRun(t *testing.T) {
	table, err := imageoverrides.Parse([]byte(entries))
	if err != nil {
		t.Fatal(err)
	}
	rapid.Check(t, func(t *rapid.T) {
		manifests := oracle.Manifests().Draw(t, "manifests")
		var items, want strings.Builder
		for _, text := range strings.Split(strings.ReplaceAll(manifests, "\r\n", "\n"), "---") {
			if !strings.HasPrefix(text, "\napiVersion") || strings.Contains(text, "\n...") {
				continue
			}
			items.WriteString("-" + strings.ReplaceAll(" "+strings.Trim(text, "\n"), "\n", "\n  ") + "\n")
		}
		list := "# ours\nkind: ResourceList\nitems:\n" + items.String() + "functionConfig:\n  kind: ImageOverrides\n  registries: {imageOverrides: " + entries + "}\n"
		if items.Len() == 0 {
			list = strings.Replace(list, "items:", "items: []", 1)
		}
		if _, err := imageoverrides.Rewrite(&want, strings.NewReader(list), table); err != nil {
			t.Skip(err)
		}
		var got bytes.Buffer
		result, err := function.Run(&got, strings.NewReader(list))
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(want.String(), got.String()); diff != "" || (len(result.Changes) > 0) != (got.String() != list) {
			t.Fatal(diff)
		}
	})
}

// An item is read as the object that it is: a definition is left alone, and an image volume of a Pod is found.
func TestItems(t *testing.T) {
	item := func(kind, image string) string {
		return fmt.Sprintf("- kind: %s\n  spec:\n    containers: [{image: %s}]\n    volumes: [{image: {reference: %[2]s}}]\n", kind, image)
	}
	const config = "functionConfig: {registries: {imageOverrides: " + entries + "}, containers: [{image: a}]}\n" // which is no item
	var got strings.Builder
	if _, err := function.Run(&got, strings.NewReader("kind: ResourceList\nitems:\n"+item("Pod", "a")+item("CustomResourceDefinition", "a")+config)); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff("kind: ResourceList\nitems:\n"+item("Pod", "registry.example.org/a:v2")+item("CustomResourceDefinition", "a")+config, got.String()); diff != "" {
		t.Error(diff)
	}
}

func TestRefused(t *testing.T) {
	for text, want := range map[string]string{
		"":                     "a KRM function reads one document of kind ResourceList, and this is none; to rewrite manifests give a table",
		"kind: Pod\n":          "a KRM function reads one document of kind ResourceList, and this is none; to rewrite manifests give a table",
		"kind: ResourceList\n": "the ResourceList has no functionConfig, in which the table stands",
		"kind: ResourceList\nfunctionConfig: {kind: X}\n":                                                  "functionConfig: there is no registries.imageOverrides here; [] is how an empty table is written",
		"kind: ResourceList\nfunctionConfig: {kind: ConfigMap, data: {a: b}}\n":                            "functionConfig: values must be a map, got string",
		"kind: ResourceList\nfunctionConfig: {registries: {imageOverrides: [{name: a}]}}\n":                `functionConfig: registries.imageOverrides[0]: "a" sets none of newName, newTag, digest`,
		"kind: ResourceList\nfunctionConfig: {registries: {imageOverrides: [{name: 'a[', newTag: v1}]}}\n": `functionConfig: registries.imageOverrides[0]: name "a[" has the character '[', so that Flux reads it as a regular expression; write the image as manifests spell it, without tag and digest`,
		"a: [": "byte 3: did not find expected node content",
	} {
		var out strings.Builder
		_, err := function.Run(&out, strings.NewReader(text))
		if diff := cmp.Diff(want, fmt.Sprint(err)); diff != "" || out.Len() > 0 {
			t.Errorf("%s\n%s", out.String(), diff)
		}
	}
}
