// SPDX-License-Identifier: Apache-2.0

package reference_test

import (
	"errors"
	"fmt"

	"github.com/cozystack/image-overrides/reference"
)

func ExampleParse() {
	img, err := reference.Parse("registry.k8s.io/sig-storage/csi-attacher:v4.6.1")
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(img.Host())
	fmt.Println(img.Path())
	fmt.Println(img.Tag())

	_, err = reference.Parse("ghcr.io/Cozystack/installer:v1")
	fmt.Println(err)

	// Output:
	// registry.k8s.io
	// sig-storage/csi-attacher
	// v4.6.1
	// image reference "ghcr.io/Cozystack/installer:v1": repository "Cozystack/installer" has the upper case letter 'C'
}

func ExampleSplit() {
	for _, s := range []string{"localhost:5000/nginx:1.27", "nginx:1:2", "nginx@sha256:ab"} {
		name, tag, digest := reference.Split(s)
		fmt.Printf("%q %q %q\n", name, tag, digest)
	}

	// Output:
	// "localhost:5000/nginx" "1.27" ""
	// "nginx" "1:2" ""
	// "nginx" "" "sha256:ab"
}

func ExampleCheckName() {
	fmt.Println(reference.CheckName("registry.k8s.io/pause"))
	fmt.Println(reference.CheckName("registry.k8s.io/pause:3.9"))
	fmt.Println(reference.CheckName("https://registry.k8s.io/pause"))

	// Output:
	// <nil>
	// name "registry.k8s.io/pause:3.9" has the tag "3.9"
	// name "https://registry.k8s.io/pause" has the scheme "https://" in front
}

func ExampleCheckTag() {
	fmt.Println(reference.CheckTag("4.10.0"))
	fmt.Println(reference.CheckTag("4.10.0+build7"))

	// Output:
	// <nil>
	// tag "4.10.0+build7" has the character '+'
}

func ExampleCheckDigest() {
	fmt.Println(reference.CheckDigest("sha256:f80b60d4523dcdecb225c3113bcbd0eedc45b4d2b46f87c0ccf4f14d09a4a35f"))
	fmt.Println(reference.CheckDigest("sha256:f80b60d4523d"))

	// Output:
	// <nil>
	// digest "sha256:f80b60d4523d" has 12 hex digits, sha256 has 64
}

func ExampleValidateHost() {
	fmt.Println(reference.ValidateHost("registry.example.org:5000"))
	fmt.Println(reference.ValidateHost("registry"))

	// Output:
	// <nil>
	// host "registry" would be read as a path on Docker Hub, for want of a '.' or a port
}

func ExampleValidateRepository() {
	fmt.Println(reference.ValidateRepository("mirror/docker.io"))
	fmt.Println(reference.ValidateRepository("mirror/"))

	// Output:
	// <nil>
	// repository "mirror/" ends with '/'
}

func ExampleImage_Canonical() {
	for _, s := range []string{"nginx:1", "library/nginx:1", "docker.io/nginx:1", "index.docker.io/library/nginx:1", "quay.io/nginx:1"} {
		img, err := reference.Parse(s)
		if err != nil {
			fmt.Println(err)
			return
		}
		fmt.Println(img.Canonical())
	}

	// Output:
	// docker.io/library/nginx:1
	// docker.io/library/nginx:1
	// docker.io/library/nginx:1
	// docker.io/library/nginx:1
	// quay.io/nginx:1
}

func ExampleImage_Familiar() {
	for _, s := range []string{"docker.io/library/nginx", "docker.io/grafana/grafana", "quay.io/nginx"} {
		img, err := reference.Parse(s)
		if err != nil {
			fmt.Println(err)
			return
		}
		fmt.Println(img.Familiar())
	}

	// Output:
	// nginx
	// grafana/grafana
	// quay.io/nginx
}

func ExampleError() {
	_, err := reference.Parse("nginx:1.0+build")
	var e *reference.Error
	if errors.As(err, &e) {
		fmt.Printf("%s of %s: %s\n", e.Part, e.Text, e.Reason)
	}

	// Output:
	// tag of nginx:1.0+build: has the character '+'
}
