// SPDX-License-Identifier: Apache-2.0

package imageoverrides_test

import (
	"errors"
	"fmt"
	"os"
	"strings"

	helmv2 "github.com/fluxcd/helm-controller/api/v2"

	"github.com/cozystack/image-overrides/imageoverrides"
	"github.com/cozystack/image-overrides/postrender"
)

func ExampleNew() {
	table, err := imageoverrides.New(
		imageoverrides.Override{Name: "quay.io/prometheus/prometheus", NewName: "registry.example.org/prometheus"},
		imageoverrides.Override{Name: "registry.k8s.io/pause", NewTag: "3.10"},
	)
	fmt.Println(table.Len(), err)

	table, err = imageoverrides.New(imageoverrides.Override{Name: "registry.k8s.io/pause:3.9", NewTag: "3.10"})
	fmt.Println(table.Known(), err)
	// Output:
	// 2 <nil>
	// false overrides[0]: name "registry.k8s.io/pause:3.9" must not carry a tag or digest
}

func ExampleValidate() {
	err := imageoverrides.Validate([]imageoverrides.Override{
		{Name: "registry.k8s.io/pause"},
		{Name: "registry.k8s.io/etcd", Digest: "sha256:abc"},
	})
	fmt.Println(err)
	// Output:
	// overrides[0]: "registry.k8s.io/pause" sets none of newName, newTag, digest
	// overrides[1]: digest "sha256:abc" is not sha256:<64 hex>
}

func ExampleParse() {
	_, err := imageoverrides.Parse([]byte(`
- name: registry.k8s.io/pause
  newTag: 3.10
- name: registry.k8s.io/etcd
  tag: "3.6"
`))
	var fault *imageoverrides.Error
	if errors.As(err, &fault) {
		fmt.Printf("line %d, entry %d, field %s\n", fault.Line, fault.Entry, fault.Field)
	}
	fmt.Println(err)
	// Output:
	// line 3, entry 0, field newTag
	// overrides[0].newTag must be a string, got float64; quote it
	// overrides[1]: unknown field "tag"
}

func ExampleParseValues() {
	values := map[string]any{
		"registries": map[string]any{
			"imageOverrides": []any{
				map[string]any{"name": "registry.k8s.io/pause", "newTag": "3.10"},
			},
		},
	}
	table, err := imageoverrides.ParseValues(values)
	fmt.Println(table.Len(), err)
	// Output: 1 <nil>
}

func ExampleParseValuesText() {
	_, err := imageoverrides.ParseValuesText([]byte(`
registries:
  imageOverrides:
  - name: registry.k8s.io/pause
`))
	var fault *imageoverrides.Error
	if errors.As(err, &fault) {
		fmt.Printf("values.yaml:%d:%d: %s\n", fault.Line, fault.Column, fault.Reason())
	}
	// Output: values.yaml:4:5: registries.imageOverrides[0]: "registry.k8s.io/pause" sets none of newName, newTag, digest
}

func ExampleRewriteObject() {
	table, err := imageoverrides.New(imageoverrides.Override{Name: "nginx", NewTag: "1.29"})
	if err != nil {
		fmt.Println(err)
		return
	}
	pod := map[string]any{
		"kind": "Pod", "metadata": map[string]any{"name": "web"},
		"spec": map[string]any{"containers": []any{map[string]any{"image": "nginx:1.27"}}},
	}
	for _, c := range imageoverrides.RewriteObject(pod, table) {
		fmt.Printf("%s %s: %s -> %s\n", c.Object, c.Path, c.Old, c.New)
	}
	// Output: Pod web spec.containers[0].image: nginx:1.27 -> nginx:1.29
}

// The three states of the Secret that the chart writes: not there, there without a table,
// and there with one.
func ExampleParseSecret() {
	state := func(data map[string][]byte) {
		var table imageoverrides.Table // unknown, as long as there is no Secret
		if data != nil {
			var err error
			if table, err = imageoverrides.ParseSecret(data); err != nil {
				fmt.Println("broken:", err)
			}
		}
		fmt.Println("known:", table.Known(), "entries:", table.Len())
	}
	state(nil)
	state(map[string][]byte{"values.yaml": []byte("_cluster: {}")})
	state(map[string][]byte{"values.yaml": []byte("_cluster: {image-overrides: [{name: nginx, newTag: v2}]}")})
	state(map[string][]byte{"values.yaml": []byte("_cluster: {image-overrides: [{name: nginx}]}")})
	// Output:
	// known: false entries: 0
	// known: true entries: 0
	// known: true entries: 1
	// broken: _cluster.image-overrides[0]: "nginx" sets none of newName, newTag, digest
	// known: false entries: 0
}

func ExampleTable_Apply() {
	table, err := imageoverrides.New(
		imageoverrides.Override{Name: "nginx", NewName: "registry.example.org/nginx"},
		imageoverrides.Override{Name: "registry.example.org/nginx", NewTag: "1.29"},
	)
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, image := range []string{"nginx:1.27", "docker.io/library/nginx:1.27"} {
		fmt.Println(table.Apply(image))
	}
	// Output:
	// registry.example.org/nginx:1.29 [0 1]
	// docker.io/library/nginx:1.27 []
}

func ExampleTable_All() {
	table, err := imageoverrides.Parse([]byte(`[{"name": "a", "newTag": "v2"}, {"name": "b", "newName": "c"}]`))
	if err != nil {
		fmt.Println(err)
		return
	}
	for i, o := range table.All() {
		fmt.Println(i, o.Name, o.NewName, o.NewTag)
	}
	// Output:
	// 0 a  v2
	// 1 b c
}

// Whoever lists faults, as a condition or a metric does, asks Faults, whatever wraps the error.
func ExampleFaults() {
	_, err := imageoverrides.ParseValuesText([]byte(`registries:
  imageOverrides:
  - name: quay.io/a:v1
    newTag: 1.20
`))
	err = fmt.Errorf("values.yaml: %w", err)
	for _, fault := range imageoverrides.Faults(err) {
		fmt.Printf("%d:%d: %s (%s)\n", fault.Line, fault.Column, fault, fault.Rule)
	}
	// Output:
	// 4:13: registries.imageOverrides[0].newTag must be a string, got float64; quote it (string)
	// 3:11: registries.imageOverrides[0]: name "quay.io/a:v1" must not carry a tag or digest (bare-name)
}

// A controller that watches the Secret works only when the table may have changed.
func ExampleChanged() {
	before := map[string][]byte{"values.yaml": []byte("_cluster: {image-overrides: [{name: nginx, newTag: v1}], a: b}")}
	other := map[string][]byte{"values.yaml": []byte("_cluster: {image-overrides: [{name: nginx, newTag: v1}], a: c}")}
	after := map[string][]byte{"values.yaml": []byte("_cluster: {image-overrides: [{name: nginx, newTag: v2}], a: c}")}
	fmt.Println(imageoverrides.Changed(before, other), imageoverrides.Changed(other, after), imageoverrides.Changed(after, nil))
	// Output:
	// false true true
}

func ExampleTable_Absent() {
	for _, values := range []string{"registries: {imageoverrides: [{name: nginx, newTag: v1}]}", "registries: {imageOverrides: []}"} {
		table, err := imageoverrides.ParseValuesText([]byte(values))
		fmt.Println(table.Len(), "entries, absent:", table.Absent(), err)
	}
	// Output:
	// 0 entries, absent: true <nil>
	// 0 entries, absent: false <nil>
}

func ExampleTable_Hash() {
	table, err := imageoverrides.New(imageoverrides.Override{Name: "nginx", NewTag: "v2"})
	if err != nil {
		fmt.Println(err)
		return
	}
	text, err := table.MarshalJSON()
	fmt.Println(string(text), err)
	fmt.Println(table.Hash())
	// Output:
	// [{"name":"nginx","newTag":"v2"}] <nil>
	// 270f07e77861a7d2d6d508afe9038b7cc66d1abbdca5851a10d29883f3959b51
}

func ExampleTable_Lint() {
	table, err := imageoverrides.New(
		imageoverrides.Override{Name: "quay.io/c++", NewTag: "v2"},
		imageoverrides.Override{Name: "quay.io/a", NewName: "quay.io/a"},
	)
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, finding := range table.Lint() {
		fmt.Println(finding.Severity, finding.Rule, finding)
	}
	fmt.Println("strict:", table.Strict())
	// Output:
	// error no-reference overrides[0]: name "quay.io/c++" has the character '+', so that Flux reads it as a regular expression; write the image as manifests spell it, without tag and digest
	// warning no-change overrides[1]: newName is the name itself, and nothing else is set; drop the entry
	// strict: overrides[0]: name "quay.io/c++" has the character '+', so that Flux reads it as a regular expression; write the image as manifests spell it, without tag and digest
}

func ExampleRewrite() {
	const manifests = `# what the installer applies before there is a Flux
apiVersion: apps/v1
kind: Deployment
metadata: {name: web, namespace: default}
spec:
  template:
    spec:
      containers:
      - name: nginx
        image: "nginx:1.27"   # pinned by hand
`
	table, err := imageoverrides.New(imageoverrides.Override{Name: "nginx", NewName: "registry.example.org/nginx"})
	if err != nil {
		fmt.Println(err)
		return
	}
	result, err := imageoverrides.Rewrite(os.Stdout, strings.NewReader(manifests), table)
	fmt.Println("---", result.Documents, err)
	for _, c := range result.Changes {
		fmt.Printf("%d:%d: %s %s: %s -> %s\n", c.Line, c.Column, c.Object, c.Path, c.Old, c.New)
	}
	// Output:
	// # what the installer applies before there is a Flux
	// apiVersion: apps/v1
	// kind: Deployment
	// metadata: {name: web, namespace: default}
	// spec:
	//   template:
	//     spec:
	//       containers:
	//       - name: nginx
	//         image: "registry.example.org/nginx:1.27"   # pinned by hand
	// --- 1 <nil>
	// 10:17: Deployment default/web spec.template.spec.containers[0].image: nginx:1.27 -> registry.example.org/nginx:1.27
}

// The whole way of a table: an operator writes it in the chart's values, the chart checks
// it and hands it on in a Secret, and a controller brings the releases in line.
func Example_story() {
	// The chart's values, as Helm has decoded them. What is accepted here is accepted below.
	values := map[string]any{"registries": map[string]any{"imageOverrides": []any{
		map[string]any{"name": "quay.io/prometheus/prometheus", "newName": "registry.example.org/prometheus", "newTag": "v3.5.0"},
	}}}
	table, err := imageoverrides.ParseValues(values)
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, finding := range table.Lint() {
		fmt.Println(finding) // what the operator should look at
	}

	// The Secret that the chart writes, as the controller reads it.
	list, err := table.MarshalJSON()
	if err != nil {
		fmt.Println(err)
		return
	}
	secret := map[string][]byte{"values.yaml": fmt.Appendf(nil, "_cluster:\n  image-overrides: %s\n", list)}
	read, err := imageoverrides.ParseSecret(secret)
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println("the same table:", read.Equal(table))

	// A release with a post-renderer of its own.
	var release helmv2.HelmRelease
	release.Spec.PostRenderers = []helmv2.PostRenderer{{Kustomize: &helmv2.Kustomize{}}}
	release.Spec.PostRenderers = postrender.Merge(release.Spec.PostRenderers, read)
	hash, ok := postrender.Hash(release.Spec.PostRenderers)
	fmt.Println("renderers:", len(release.Spec.PostRenderers), "carries the table:", ok && strings.HasPrefix(read.Hash(), hash))

	// What Flux will make of an image.
	image, _ := read.Apply("quay.io/prometheus/prometheus:v3.4.1")
	fmt.Println(image)
	// Output:
	// the same table: true
	// renderers: 2 carries the table: true
	// registry.example.org/prometheus:v3.5.0
}

func ExampleFind() {
	found, err := imageoverrides.Find([]byte(`
kind: Package
spec:
  components:
    platform:
      values:
        registries:
          imageOverrides:
          - {name: nginx, newTag: "1.27"}
`))
	fmt.Println(found.Path, found.Table.Len(), err)
	_, err = imageoverrides.Find([]byte("registries: {imageoverrides: []}\n"))
	fmt.Println(err)
	// Output:
	// spec.components.platform.values.registries.imageOverrides 1 <nil>
	// there is no registries.imageOverrides here; line 1 has "imageoverrides"; [] is how an empty table is written
}
