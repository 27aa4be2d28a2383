// SPDX-License-Identifier: Apache-2.0

package registry_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"os"
	"strings"

	"github.com/cozystack/image-overrides/imageoverrides"
	"github.com/cozystack/image-overrides/reference"
	"github.com/cozystack/image-overrides/reference/registry"
)

// example is a network in which every registry has the tag 1 of every image, and no other.
func example() http.RoundTripper {
	return newNetwork(func(w http.ResponseWriter, r *http.Request) {
		if strings.HasSuffix(r.URL.Path, "/1") {
			found(w, r)
			return
		}
		fault(404, "MANIFEST_UNKNOWN")(w, r)
	})
}

func ExampleClient_Check() {
	client, err := registry.New(registry.Settings{
		Transport: example(), // the tests' own; leave it out
		Keyring: func(context.Context) (registry.Keyring, error) { // of a Secret; asked at each run
			return registry.ParseDockerConfig([]byte(`{"auths":{"registry.example.org":{"username":"robot","password":"secret"}}}`))
		},
	})
	if err != nil {
		panic(err)
	}
	for _, text := range []string{"registry.example.org/os/pause:1", "registry.example.org/os/pause:2"} {
		image, err := reference.Parse(text)
		if err != nil {
			panic(err)
		}
		switch err := client.Check(context.Background(), image); {
		case err == nil:
			fmt.Println(image, "is there")
		case errors.Is(err, registry.ErrNotFound):
			fmt.Println(image, "is not there")
		default: // rejected, not configured, unreachable: nothing is known of the image
			fmt.Println(err)
		}
	}
	// Output:
	// registry.example.org/os/pause:1 is there
	// registry.example.org/os/pause:2 is not there
}

func ExampleClient_Each() {
	client, err := registry.New(registry.Settings{Transport: example()})
	if err != nil {
		panic(err)
	}
	var images []reference.Image
	for _, text := range []string{"nginx:1", "docker.io/library/nginx:1", "nginx:2"} {
		image, err := reference.Parse(text)
		if err != nil {
			panic(err)
		}
		images = append(images, image)
	}
	answers, _ := client.Each(context.Background(), images, nil)
	for _, a := range answers {
		fmt.Println(a.Image, a.Err == nil)
	}
	// Output:
	// nginx:1 true
	// docker.io/library/nginx:1 true
	// nginx:2 false
}

func ExamplePin() {
	table, err := imageoverrides.New(imageoverrides.Override{Name: "registry.k8s.io/pause", NewName: "registry.example.org/os/pause", NewTag: "1"})
	if err != nil {
		panic(err)
	}
	client, err := registry.New(registry.Settings{Transport: example()})
	if err != nil {
		panic(err)
	}
	_, found, err := registry.Pin(context.Background(), client, table, registry.IfNotPresent)
	if err != nil {
		panic(err)
	}
	for _, p := range found {
		fmt.Println(p)
	}
	// Output:
	// registry.k8s.io/pause: registry.example.org/os/pause:1 has the digest sha256:eca47388aeb57cdb4e288371a26475427d7a1920b4bfd0e7fbe6be4cbb97968f
}

func ExampleKeyring_Find() {
	keyring, err := registry.ParseDockerConfig([]byte(`{"auths":{"registry.example.org":{"username":"all","password":"p"},"registry.example.org/team":{"username":"team","password":"q"}}}`))
	if err != nil {
		panic(err)
	}
	image, err := reference.Parse("registry.example.org/team/app:1")
	if err != nil {
		panic(err)
	}
	fmt.Fprintln(os.Stdout, keyring.Find(image), keyring)
	// Output:
	// [user "team" user "all"] 2 credentials
}
