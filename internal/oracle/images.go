// SPDX-License-Identifier: Apache-2.0

// Package oracle has what the tests hold Rewrite against: kustomize itself, of the version that the module of the tests
// has, and manifests and images drawn at random, for it and for Rewrite. Only tests import it.
package oracle

import (
	"strings"

	"pgregory.net/rapid"
)

// digest is that of nothing in particular.
var digest = "sha256:" + strings.Repeat("ab", 32)

// names that tables and images are made of: spellings of one image, ports,
// dots that match other characters, and names that differ in one character.
var names = []string{
	"nginx", "library/nginx", "docker.io/nginx", "docker.io/library/nginx", "index.docker.io/library/nginx",
	"a", "b", "c", "a.b", "axb", "a.b/c", "axb/c", "a-b/c", "quay.io/a/b", "quayxio/a/b", "quay.io/a/b.c",
	"host:5000/a", "host:5001/a", "localhost/a", "registry.k8s.io/pause", "a.sha256", "x/nginx", "nginx/x",
	"true", "1e3",
}

// Name gives one of them.
func Name() *rapid.Generator[string] { return rapid.SampledFrom(names) }

// Image gives images that tables of those names match, nearly match and do not match.
func Image() *rapid.Generator[string] {
	return rapid.Custom(func(t *rapid.T) string {
		image := rapid.OneOf(Name(), Name(), Name(), Name(), rapid.SampledFrom(OddNames)).Draw(t, "name")
		if rapid.IntRange(0, 9).Draw(t, "near") == 0 {
			image = strings.Replace(image, ".", rapid.SampledFrom([]string{"x", ":", "é", "/", "@", "\n", ""}).Draw(t, "for the dot"), 1)
		}
		image += rapid.SampledFrom([]string{"", "", ":v1", ":1.20", ":", ":1:2", "@" + digest, ":v1@" + digest,
			"@sha256", "@sha256:", "@sha512:ab", ":a@b", ":{TAG}", "@sha256:{D}", "/x", ":v1 "}).Draw(t, "rest")
		return image
	})
}

// OddNames are no image names, and literal to kustomize all the same.
var OddNames = []string{
	"a b", "a ", ".", "..", "é", "a\nb", "Nginx", "ghcr.io/Acme/Tool", "IMAGE_PLACEHOLDER", "https://quay.io/a", "a/", "/a", "a//b", "a:1/b", "-", "a_.b", "#a",
}
