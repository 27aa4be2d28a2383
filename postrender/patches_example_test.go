// SPDX-License-Identifier: Apache-2.0

package postrender_test

import (
	"fmt"
	"strings"

	"github.com/fluxcd/pkg/apis/kustomize"
	"sigs.k8s.io/yaml"

	"github.com/cozystack/image-overrides/imageoverrides"
	"github.com/cozystack/image-overrides/imageoverrides/audit"
	"github.com/cozystack/image-overrides/postrender"
)

// An operator takes the image that it starts as an argument, where Flux does not look.
func ExamplePatches() {
	table, err := imageoverrides.Parse([]byte("[{name: quay.io/prometheus/prometheus, newName: registry.example.org/prometheus}]"))
	if err != nil {
		fmt.Println(err)
		return
	}
	a := audit.New(table, audit.Options{Parts: true})
	err = a.Add("prometheus-operator", strings.NewReader(`apiVersion: apps/v1
kind: Deployment
metadata: {name: operator, namespace: monitoring}
spec:
  template:
    spec:
      containers:
      - name: operator
        image: registry.example.org/operator:v1
        args: [--web, --prometheus-image=quay.io/prometheus/prometheus:v3]
`))
	if err != nil {
		fmt.Println(err)
		return
	}
	renderer, unpatched := postrender.Patches(table, a.Report().Places)
	text, err := yaml.Marshal(renderer)
	fmt.Printf("%s%v %v\n", text, unpatched, err)
	// Output:
	// kustomize:
	//   patches:
	//   - patch: |
	//       [
	//         {"op":"test","path":"/spec/template/spec/containers/0/args/1","value":"--prometheus-image=quay.io/prometheus/prometheus:v3"},
	//         {"op":"replace","path":"/spec/template/spec/containers/0/args/1","value":"--prometheus-image=registry.example.org/prometheus:v3"}
	//       ]
	//     target:
	//       group: apps
	//       kind: Deployment
	//       name: operator
	//       namespace: monitoring
	//       version: v1
	// [] <nil>
}

func ExampleMergeImages() {
	table, err := imageoverrides.Parse([]byte("[{name: nginx, newTag: v2}]"))
	if err != nil {
		fmt.Println(err)
		return
	}
	own := []kustomize.Image{{Name: "redis", NewTag: "7"}}
	images, err := postrender.MergeImages(own, table)
	for _, i := range images {
		fmt.Println(i.Name, i.NewTag)
	}
	fmt.Println(err)
	// Output:
	// redis 7
	// image-overrides.invalid/table 270f07e77861.1
	// nginx v2
	// <nil>
}

// The own entries and comments of a kustomization file stay where they are.
func ExampleRewriteKustomizations() {
	table, err := imageoverrides.Parse([]byte("[{name: nginx, newTag: v2}]"))
	if err != nil {
		fmt.Println(err)
		return
	}
	text, found, err := postrender.RewriteKustomizations([]byte(`resources: [deployment.yaml]
images:
- name: redis # see ticket 12
  newTag: "7"
namespace: apps
`), table)
	fmt.Printf("%s%d %v\n", text, found, err)
	// Output:
	// resources: [deployment.yaml]
	// images:
	// - name: redis # see ticket 12
	//   newTag: "7"
	// - name: image-overrides.invalid/table
	//   newTag: "270f07e77861.1"
	// - name: nginx
	//   newTag: v2
	// namespace: apps
	// 1 <nil>
}
