// SPDX-License-Identifier: Apache-2.0

package mirror_test

import (
	"fmt"
	"os"

	"github.com/cozystack/image-overrides/imageoverrides"
	"github.com/cozystack/image-overrides/imageoverrides/mirror"
)

// A values file gets the entries of a mirror behind those that a person wrote, and the list of copies is written for a tool.
func Example() {
	file := []byte(`registries:
  imageOverrides:
  # rebuilt, see ticket 12
  - name: registry.k8s.io/pause
    newName: registry.example.org/mirror/pause-rebuilt
`)
	images := []string{"registry.k8s.io/pause:3.10", "quay.io/cilium/cilium:v1.17.0", "nginx:1.27", "${IMAGE}"}

	own, err := imageoverrides.Find(file)
	if err != nil {
		fmt.Println(err)
		return
	}
	m := mirror.Mirror{Host: "registry.example.org", Repository: "mirror"}
	table, left, err := m.Table(own.Table, images)
	if err != nil {
		fmt.Println(err)
		return
	}
	file, err = imageoverrides.Replace(file, table)
	fmt.Printf("%s%v\n", file, err)
	for _, l := range left {
		fmt.Println(l)
	}
	copies, err := m.Copies(table, images)
	if err != nil {
		fmt.Println(err)
		return
	}
	unknown, err := mirror.Write(os.Stdout, mirror.Pairs, copies)
	for _, c := range unknown {
		fmt.Println("nobody says where from:", c.To)
	}
	fmt.Println(err)
	// Output:
	// registries:
	//   imageOverrides:
	//   # rebuilt, see ticket 12
	//   - name: registry.k8s.io/pause
	//     newName: registry.example.org/mirror/pause-rebuilt
	//   - name: nginx
	//     newName: registry.example.org/mirror/docker.io/library/nginx
	//   - name: quay.io/cilium/cilium
	//     newName: registry.example.org/mirror/quay.io/cilium/cilium
	// <nil>
	// ${IMAGE}: it is no image name (repository "${IMAGE}" has the character '$'); write it as one
	// docker.io/library/nginx:1.27 registry.example.org/mirror/docker.io/library/nginx:1.27
	// quay.io/cilium/cilium:v1.17.0 registry.example.org/mirror/quay.io/cilium/cilium:v1.17.0
	// nobody says where from: registry.example.org/mirror/pause-rebuilt:3.10
	// <nil>
}
