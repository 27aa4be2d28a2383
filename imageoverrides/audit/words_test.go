// SPDX-License-Identifier: Apache-2.0

package audit

import (
	"regexp"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// TestWordsOf: words end at what stands between them, and where a capital letter follows on none.
func TestWordsOf(t *testing.T) {
	between, word := regexp.MustCompile(`[-_.= ,]`), regexp.MustCompile(`[A-Z]*[^A-Z]+|[A-Z]+`)
	key := rapid.StringOf(rapid.SampledFrom([]rune("aazAAZ@[5/é-_.= ,")))
	rapid.Check(t, func(t *rapid.T) {
		key := key.Draw(t, "key")
		var want []string
		for _, part := range between.Split(key, -1) {
			for _, w := range word.FindAllString(part, -1) {
				want = append(want, strings.ToLower(w))
			}
		}
		if got := wordsOf(key); !slices.Equal(got, want) {
			t.Fatalf("%q has the words %q, want %q", key, got, want)
		}
	})
}

// TestTables: what the tables of words say, one by one.
func TestTables(t *testing.T) {
	for word := range strings.FieldsSeq("pull tag tags version registry registries type format features id digest sha hash size gc policy secret secrets stream streams minimum maximum prefix path family os project catalog config configs scan cache") {
		for key, want := range map[string]bool{"image-" + word: false, "image_" + word: false, "x.image." + word: false, "image-a-" + word: false, "image-" + word + "-a": false, "image-a" + word: true, word + "-image": !otherImage[word], "a/image-" + word: false} {
			if isHint(key) != want {
				t.Errorf("%q says that its value is an image: %v", key, !want)
			}
		}
	}
	for word := range strings.FieldsSeq("backing disk vm machine boot os golden cloud node snapshot background logo icon avatar cover splash") {
		for key, want := range map[string]bool{word + "-image": false, word + "Images": false, "a-" + word + "-image": false, word + "-a-image": true, "x" + word + "-image": true} {
			if isHint(key) != want {
				t.Errorf("%q says that its value is an image: %v", key, !want)
			}
		}
	}
	for key, want := range map[string]bool{"image": true, "images": true, "myImage": true, "imageName": true, "IMAGE": true, "imagename": true, "imageref": true, "dockerimage": true, "containerimage": true, "imagePullSpec": true, "imagePull": false, "imagination": false,
		"diskImage-image": true, "image/a": false, "a/image": true, "": false, strings.Repeat("a", longest-6) + "-image": true, strings.Repeat("a", longest-5) + "-image": false} {
		if isHint(key) != want {
			t.Errorf("%q says that its value is an image: %v", key, !want)
		}
	}
	for end := range strings.FieldsSeq("png svg jpg jpeg gif ico qcow2 img iso raw vmdk gz xz zip tar tgz yaml yml json toml conf txt sh md") {
		for text, want := range map[string]bool{"a." + end: true, "a/b.c." + end: true, "." + end: false, end: false, "a." + end + "x": false, "a" + end: false, "a.x" + end: false} {
			if isFile(text) != want {
				t.Errorf("%q is a file: %v", text, !want)
			}
		}
	}
	for host := range strings.FieldsSeq("docker.io index.docker.io ghcr.io quay.io gcr.io nvcr.io mcr.microsoft.com public.ecr.aws xpkg.upbound.io cgr.dev registry.a.b docker.a.b cr.a.b oci.a.b harbor.a.b eu.gcr.io a.pkg.dev a.azurecr.io a.amazonaws.com a.icr.io") {
		if !isRegistry(host) || isRegistry("x"+host[:len(host)-1]) {
			t.Errorf("%q is no registry", host)
		}
	}
	for _, host := range []string{"", "registry.a", "docker.a", "cr.a", "oci.a", "harbor.a", "a.b.c", "xregistry.a.b", "a.pkg.devx", "xghcr.io"} {
		if isRegistry(host) {
			t.Errorf("%q is a registry", host)
		}
	}
	for want, keys := range map[role]string{
		repository: "repository repo imageRepository image_repository imageRepo", imageName: "image imageName name", tag: "tag imageTag image_tag version imageVersion image_version versionTag defaultImageVersion",
		registry: "registry hub imageRegistry", digest: "digest digestHash hash sha", noRole: "Repository a tags images",
	} {
		for key := range strings.FieldsSeq(keys) {
			if got := roleOf(key); got != want {
				t.Errorf("%q has role %d, want %d", key, got, want)
			}
		}
	}
}
