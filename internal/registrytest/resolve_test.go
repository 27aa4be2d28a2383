// SPDX-License-Identifier: Apache-2.0

package registrytest

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-containerregistry/pkg/v1/remote"

	"github.com/cozystack/image-overrides/reference"
	"github.com/cozystack/image-overrides/reference/registry"
)

func clientTLS(cas *x509.CertPool) *tls.Config {
	return &tls.Config{RootCAs: cas, MinVersion: tls.VersionTLS12}
}

// TestResolve: 120 images in as many repositories, with as few requests as the registry allows: one HEAD each where no
// token is wanted, one more for its token where one is.
func TestResolve(t *testing.T) {
	const n = 120
	for _, test := range []struct {
		access access
		want   map[string]int
	}{
		{anonymous, map[string]int{"HEAD": n}},
		{htpasswd, map[string]int{"HEAD": n + 1}},           // the first is asked once without
		{tokens, map[string]int{"HEAD": n + 1, "token": n}}, // likewise
	} {
		t.Run(string(test.access), func(t *testing.T) {
			r := start(t, test.access)
			images, digests := r.fill(t, n)
			c := client(t, registry.Settings{Parallel: 8}, r)
			answers, err := c.Each(t.Context(), images, nil)
			if err != nil {
				t.Fatal(err)
			}
			for i, a := range answers {
				if a.Digest != digests[i] {
					t.Errorf("%s: %s, want %s", a.Image, a.Digest, digests[i])
				}
			}
			requests, _ := r.asked()
			if diff := cmp.Diff(test.want, counts(requests)); diff != "" {
				t.Errorf("requests: %s", diff)
			}
			image := images[0].Name()
			for _, one := range []struct {
				why, image string
				want       error
			}{
				{"a tag", image + ":1", nil},
				{"the digest", image + "@" + digests[0], nil},
				{"tag and digest", image + ":2@" + digests[0], nil},
				{"no such tag", image + ":2", registry.ErrNotFound},
				{"no such repository", r.host + "/team/none:1", registry.ErrNotFound},
				{"a digest of another repository", image + "@" + digests[1], registry.ErrNotFound},
			} {
				img, err := reference.Parse(one.image)
				if err != nil {
					t.Fatal(err)
				}
				if err := c.Check(t.Context(), img); !errors.Is(err, one.want) {
					t.Errorf("%s: %v, want %v", one.why, err, one.want)
				}
			}
			if test.access != anonymous {
				for _, wrong := range []string{"wrong", ""} {
					err := clientAs(t, wrong, registry.Settings{}, r).Check(t.Context(), images[0])
					if !errors.Is(err, registry.ErrRejected) {
						t.Errorf("password %q: %v", wrong, err)
					}
				}
				strange := start(t, anonymous)
				strange.host, strange.cas = r.host, nil
				if err := client(t, registry.Settings{Attempts: 1}, strange).Check(t.Context(), images[0]); !errors.Is(err, registry.ErrBadReply) {
					t.Errorf("by plain HTTP: %v", err)
				}
				strange.cas = x509.NewCertPool()
				if err := client(t, registry.Settings{}, strange).Check(t.Context(), images[0]); !errors.Is(err, registry.ErrUnreachable) || !strings.Contains(err.Error(), "certificate") {
					t.Errorf("with other CAs: %v", err)
				}
			}
		})
	}
}

// TestPlatform: the digest of one platform, in an index and of an image for one.
func TestPlatform(t *testing.T) {
	r := start(t, anonymous)
	index := multi(t, 256)
	if err := remote.WriteIndex(r.name(t, "team/multi:1"), index, r.options()...); err != nil {
		t.Fatal(err)
	}
	m, err := index.IndexManifest()
	if err != nil {
		t.Fatal(err)
	}
	img, err := index.Image(m.Manifests[2].Digest)
	if err != nil {
		t.Fatal(err)
	}
	if err := remote.Write(r.name(t, "team/single:1"), img, r.options()...); err != nil {
		t.Fatal(err)
	}
	digest, err := index.Digest()
	if err != nil {
		t.Fatal(err)
	}
	for _, test := range []struct{ platform, image, want string }{
		{"", "team/multi:1", digest.String()},
		{"linux/amd64", "team/multi:1", m.Manifests[0].Digest.String()},
		{"linux/amd64/v1", "team/multi:1", m.Manifests[0].Digest.String()},
		{"linux/arm64", "team/multi:1", m.Manifests[1].Digest.String()},
		{"linux/arm64/v8", "team/multi:1", m.Manifests[1].Digest.String()},
		{"linux/arm", "team/multi:1", m.Manifests[2].Digest.String()},
		{"linux/arm/v6", "team/multi:1", ": not found: tag 1 is there, but not for linux/arm/v6"},
		{"linux/riscv64", "team/multi:1", ": not found: tag 1 is there, but not for linux/riscv64"},
		{"linux/arm/v7", "team/single:1", m.Manifests[2].Digest.String()},
		{"linux/amd64", "team/single:1", ": not found: tag 1 is there, but for linux/arm/v7 and not for linux/amd64"},
		{"linux/amd64", "team/none:1", `answers 404 Not Found`},
	} {
		got, err := client(t, registry.Settings{Platform: test.platform}, r).Resolve(t.Context(), r.image(t, test.image))
		if err != nil {
			got = err.Error()
		}
		if !strings.Contains(got, test.want) || err != nil && !errors.Is(err, registry.ErrNotFound) {
			t.Errorf("%s of %s: %s, want %s", test.platform, test.image, got, test.want)
		}
	}
}
