// SPDX-License-Identifier: Apache-2.0

package postrender_test

import (
	"encoding/json"
	"fmt"
	"os"
	"strings"

	helmv2 "github.com/fluxcd/helm-controller/api/v2"
	"github.com/fluxcd/pkg/apis/kustomize"

	"github.com/cozystack/image-overrides/imageoverrides"
	"github.com/cozystack/image-overrides/postrender"
)

func ExampleMerge() {
	own := []helmv2.PostRenderer{{Kustomize: &helmv2.Kustomize{Patches: []kustomize.Patch{{Patch: "…"}}}}}
	table, err := imageoverrides.New(imageoverrides.Override{Name: "nginx", NewName: "registry.example.org/nginx"})
	if err != nil {
		fmt.Println(err)
		return
	}
	empty, err := imageoverrides.New()
	if err != nil {
		fmt.Println(err)
		return
	}
	merged := postrender.Merge(own, table)
	fmt.Println("with the table:", len(merged))
	fmt.Println("again:", len(postrender.Merge(merged, table)))
	fmt.Println("while nothing is known:", len(postrender.Merge(merged, imageoverrides.Table{})))
	fmt.Println("without overrides:", len(postrender.Merge(merged, empty)))
	// Output:
	// with the table: 2
	// again: 2
	// while nothing is known: 2
	// without overrides: 1
}

func ExampleEnsure() {
	table, err := imageoverrides.New(imageoverrides.Override{Name: "nginx", NewName: "registry.example.org/nginx"})
	if err != nil {
		fmt.Println(err)
		return
	}
	release := &helmv2.HelmRelease{}
	fmt.Println("while nothing is known:", postrender.Ensure(release, imageoverrides.Table{}))
	fmt.Println("with the table:", postrender.Ensure(release, table))
	fmt.Println("again:", postrender.Ensure(release, table))
	// Output:
	// while nothing is known: false
	// with the table: true
	// again: false
}

// A generator wants one post-renderer more while the table is unknown: the release gets it, and keeps
// the table that it carries.
func ExampleCompose() {
	own := []helmv2.PostRenderer{{Kustomize: &helmv2.Kustomize{Patches: []kustomize.Patch{{Patch: "…"}}}}}
	table, err := imageoverrides.New(imageoverrides.Override{Name: "nginx", NewName: "registry.example.org/nginx"})
	if err != nil {
		fmt.Println(err)
		return
	}
	live := postrender.Compose(nil, nil, table)
	fmt.Println("with the table:", len(live))
	composed := postrender.Compose(own, live, imageoverrides.Table{})
	hash, ok := postrender.Hash(composed)
	fmt.Println("while nothing is known:", len(composed), hash, ok)
	fmt.Println("a new release:", len(postrender.Compose(own, nil, imageoverrides.Table{})))
	// Output:
	// with the table: 1
	// while nothing is known: 2 3beba97e6fa8 true
	// a new release: 1
}

// A release was written with a table of before, without a marker. Merge takes that for the release's
// own, and it would apply first; Adopt replaces it.
func ExampleAdopt() {
	existing := []helmv2.PostRenderer{{Kustomize: &helmv2.Kustomize{Images: []kustomize.Image{{Name: "nginx", NewTag: "v1"}}}}}
	table, err := imageoverrides.New(imageoverrides.Override{Name: "nginx", NewTag: "v2"})
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println("merged:", len(postrender.Merge(existing, table)))
	adopted := postrender.Adopt(existing, table)
	fmt.Println("adopted:", len(adopted))
	fmt.Println("again:", len(postrender.Adopt(adopted, table)))
	// Output:
	// merged: 2
	// adopted: 1
	// again: 1
}

func ExampleCarries() {
	table, err := imageoverrides.New(imageoverrides.Override{Name: "nginx", NewTag: "v2"})
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println("without the table:", postrender.Carries(nil, table))
	fmt.Println("with it:", postrender.Carries(postrender.Merge(nil, table), table))
	fmt.Println("while nothing is known:", postrender.Carries(nil, imageoverrides.Table{}))
	// Output:
	// without the table: false
	// with it: true
	// while nothing is known: true
}

func ExampleRenderer() {
	table, err := imageoverrides.New(imageoverrides.Override{Name: "nginx", NewName: "registry.example.org/nginx"})
	if err != nil {
		fmt.Println(err)
		return
	}
	text, err := json.MarshalIndent(postrender.Renderer(table), "", "  ")
	fmt.Println(string(text), err)
	// Output:
	// {
	//   "kustomize": {
	//     "images": [
	//       {
	//         "name": "image-overrides.invalid/table",
	//         "newTag": "3beba97e6fa8"
	//       },
	//       {
	//         "name": "nginx",
	//         "newName": "registry.example.org/nginx"
	//       }
	//     ]
	//   }
	// } <nil>
}

func ExampleHash() {
	table, err := imageoverrides.New(imageoverrides.Override{Name: "nginx", NewTag: "v2"})
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(postrender.Hash(postrender.Merge(nil, table)))
	_, ok := postrender.Hash(nil)
	fmt.Println(ok)
	// Output:
	// 270f07e77861 true
	// false
}

func ExampleRewrite() {
	const manifests = `# Storage.
apiVersion: helm.toolkit.fluxcd.io/v2
kind: HelmRelease
metadata: {name: csi, namespace: storage}
spec:
  chartRef: {kind: OCIRepository, name: csi}   # by the platform

---
apiVersion: helm.toolkit.fluxcd.io/v2
kind: HelmRelease
metadata: {name: csi, namespace: storage}
spec:
  values: {replicas: 2}
`
	table, err := imageoverrides.New(imageoverrides.Override{Name: "registry.k8s.io/pause", NewTag: "3.10"})
	if err != nil {
		fmt.Println(err)
		return
	}
	result, err := postrender.Rewrite(os.Stdout, strings.NewReader(manifests), table)
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println("---")
	for _, r := range result.Releases {
		fmt.Printf("line %d: %s\n", r.Line, r)
	}
	// Output:
	// # Storage.
	// apiVersion: helm.toolkit.fluxcd.io/v2
	// kind: HelmRelease
	// metadata: {name: csi, namespace: storage}
	// spec:
	//   chartRef: {kind: OCIRepository, name: csi}   # by the platform
	//   postRenderers:
	//   - kustomize:
	//       images:
	//       - name: image-overrides.invalid/table
	//         newTag: b2ddc34e3209
	//       - name: registry.k8s.io/pause
	//         newTag: "3.10"
	//
	// ---
	// apiVersion: helm.toolkit.fluxcd.io/v2
	// kind: HelmRelease
	// metadata: {name: csi, namespace: storage}
	// spec:
	//   values: {replicas: 2}
	// ---
	// line 2: HelmRelease storage/csi: table b2ddc34e3209 added
	// line 9: HelmRelease storage/csi: left alone: a patch of another release, for it names no chart (spec.chart or spec.chartRef)
}

func ExampleRewriter() {
	// One document after the other, for a stream of any length, in which each may have 1 MB.
	table, err := imageoverrides.New(imageoverrides.Override{Name: "registry.k8s.io/pause", NewTag: "3.10"})
	if err != nil {
		fmt.Println(err)
		return
	}
	found := func(releases []postrender.Release) error {
		for _, r := range releases {
			if r.Outcome == postrender.Inside {
				return fmt.Errorf("line %d: %s", r.Line, r)
			}
		}
		return nil
	}
	const manifests = `kind: ResourceSet
metadata: {name: tenants}
spec:
  resources:
  - {apiVersion: helm.toolkit.fluxcd.io/v2, kind: HelmRelease, metadata: {name: etcd}}
`
	_, err = postrender.Rewriter{Limit: 1 << 20, Found: found}.Rewrite(&strings.Builder{}, strings.NewReader(manifests), table)
	fmt.Println(err)
	// Output:
	// line 5: a HelmRelease inside ResourceSet tenants at spec.resources[0]: not reached
}
