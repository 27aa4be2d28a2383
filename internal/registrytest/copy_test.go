// SPDX-License-Identifier: Apache-2.0

package registrytest

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/random"
	"github.com/google/go-containerregistry/pkg/v1/remote"
	"github.com/google/go-containerregistry/pkg/v1/validate"

	"github.com/cozystack/image-overrides/reference"
	"github.com/cozystack/image-overrides/reference/registry"
)

// put writes an index of three platforms to a registry, and returns its digest.
func put(t testing.TB, r *real, image string, size int64) string {
	t.Helper()
	index := multi(t, size)
	if err := remote.WriteIndex(r.name(t, image), index, r.options()...); err != nil {
		t.Fatal(err)
	}
	digest, err := index.Digest()
	if err != nil {
		t.Fatal(err)
	}
	r.asked()
	return digest.String()
}

// whole checks that an index is at a registry with all that is in it, each byte hashed.
func whole(t testing.TB, r *real, image, digest string) {
	t.Helper()
	index, err := remote.Index(r.name(t, image), r.options()...)
	if err != nil {
		t.Fatal(err)
	}
	if got, err := index.Digest(); err != nil || got.String() != digest {
		t.Fatalf("%s has the digest %s, %v, want %s", image, got, err, digest)
	}
	if err := validate.Index(index); err != nil {
		t.Fatal(err)
	}
	r.asked()
}

// sends are the requests that change a registry.
func sends(requests []string) (list []string) {
	for _, q := range requests {
		if !strings.HasPrefix(q, "HEAD ") && !strings.HasPrefix(q, "GET ") {
			list = append(list, q)
		}
	}
	return list
}

// TestCopy: an index and all its platforms, between registries of every kind. A second run asks each registry for
// one digest and sends nothing; a new tag sends one manifest.
func TestCopy(t *testing.T) {
	for _, test := range []struct{ from, to access }{{anonymous, anonymous}, {anonymous, htpasswd}, {htpasswd, tokens}, {tokens, anonymous}} {
		t.Run(string(test.from)+" to "+string(test.to), func(t *testing.T) {
			from, to := start(t, test.from), start(t, test.to)
			digest := put(t, from, "team/multi:1", 100<<10)
			c := client(t, registry.Settings{Platform: "linux/arm64"}, from, to)
			var told []registry.Copied
			copied, err := c.CopyWith(t.Context(), from.image(t, "team/multi:1"), to.image(t, "mirror/multi:1"), registry.Copying{
				Progress: func(p registry.Copied) { told = append(told, p) },
			})
			if err != nil {
				t.Fatal(err)
			}
			// Three platforms of a config, two layers of their own, and one that all have.
			want := registry.Copied{Digest: digest, Manifests: 4, Blobs: 3*3 + 1}
			bytes := copied.Bytes
			copied.Bytes = 0
			if diff := cmp.Diff(want, copied); diff != "" || bytes < 7*100<<10 {
				t.Errorf("%d bytes: %s", bytes, diff)
			}
			if _, received := to.asked(); received != bytes {
				t.Errorf("%d bytes sent, and %d came", bytes, received)
			}
			if len(told) != 14 || told[13].Bytes != bytes {
				t.Errorf("told %d times: %+v", len(told), told)
			}
			whole(t, to, "mirror/multi:1", digest)
			from.asked()

			again, err := c.CopyWith(t.Context(), from.image(t, "team/multi:1"), to.image(t, "mirror/multi:1"), registry.Copying{})
			if diff := cmp.Diff(registry.Copied{Digest: digest, Present: 1}, again); err != nil || diff != "" {
				t.Errorf("again: %v, %s", err, diff)
			}
			for _, r := range []*real{from, to} {
				requests, received := r.asked()
				heads := counts(requests)["HEAD"]
				if len(sends(requests)) > 0 || received > 0 || counts(requests)["GET"] > 0 || heads > 2 || r.access == anonymous && heads > 1 {
					t.Errorf("the second run: %d bytes, %q", received, requests)
				}
			}

			if got, err := c.Copy(t.Context(), from.image(t, "team/multi@"+digest), to.image(t, "mirror/multi:2")); err != nil || got != digest {
				t.Errorf("%s, %v", got, err)
			}
			if requests, _ := to.asked(); !slices.Equal(sends(requests), []string{"PUT /v2/mirror/multi/manifests/2"}) {
				t.Errorf("a new tag: %q", requests)
			}
			if got, err := c.Copy(t.Context(), from.image(t, "team/multi:1"), to.image(t, "mirror/other@"+digest)); err != nil || got != digest {
				t.Errorf("by digest: %s, %v", got, err)
			}
			whole(t, to, "mirror/other@"+digest, digest)
			if err := c.Check(t.Context(), to.image(t, "mirror/other")); !errors.Is(err, registry.ErrNotFound) {
				t.Errorf("a copy by digest has the tag latest: %v", err)
			}
		})
	}
}

// TestCopyErrors: what cannot be copied says which of both images is at fault, and sends nothing.
func TestCopyErrors(t *testing.T) {
	from, to := start(t, anonymous), start(t, htpasswd)
	put(t, from, "team/multi:1", 1<<10)
	other := "sha256:" + strings.Repeat("a", 64)
	for _, test := range []struct {
		why, from, to, password string
		want                    error
		text                    string
	}{
		{"no such image", from.host + "/team/none:1", to.host + "/mirror/none:1", password, registry.ErrNotFound, from.host + "/team/none:1: not found: "},
		{"wrong password", from.host + "/team/multi:1", to.host + "/mirror/multi:1", "wrong", registry.ErrRejected, to.host + "/mirror/multi:1: rejected: "},
		{"another digest", from.host + "/team/multi:1", to.host + "/mirror/multi:1@" + other, password, registry.ErrBadReply, from.host + "/team/multi:1: bad reply: has the digest sha256:"},
		{"from elsewhere", "r.example.org/team/multi:1", to.host + "/mirror/multi:1", password, registry.ErrNotConfigured, "r.example.org/team/multi:1: not configured: "},
		{"to elsewhere", from.host + "/team/multi:1", "r.example.org/team/multi:1", password, registry.ErrNotConfigured, "r.example.org/team/multi:1: not configured: "},
	} {
		a, err := reference.Parse(test.from)
		if err != nil {
			t.Fatal(err)
		}
		b, err := reference.Parse(test.to)
		if err != nil {
			t.Fatal(err)
		}
		digest, err := clientAs(t, test.password, registry.Settings{}, from, to).Copy(t.Context(), a, b)
		if !errors.Is(err, test.want) || digest != "" || !strings.HasPrefix(err.Error(), test.text) {
			t.Errorf("%s: %q, %v", test.why, digest, err)
		}
		if requests, received := to.asked(); received > 0 || len(sends(requests)) > 0 {
			t.Errorf("%s: sent: %q", test.why, requests)
		}
	}
}

// TestCopyCutOff: a copy that the network cut off goes on where it was: no blob that had arrived is sent again.
func TestCopyCutOff(t *testing.T) {
	from, to := start(t, htpasswd), start(t, tokens)
	digest := put(t, from, "team/multi:1", 1<<20)
	uploads := func(requests []string) (n int) {
		for _, q := range requests {
			if strings.HasPrefix(q, "PUT ") && strings.Contains(q, "/blobs/uploads/") {
				n++
			}
		}
		return n
	}
	c := client(t, registry.Settings{Attempts: 1, Parallel: 1}, from, to)
	image, place := from.image(t, "team/multi:1"), to.image(t, "mirror/multi:1")
	done, cuts := 0, 0
	for {
		if cuts < 4 {
			to.mu.Lock()
			to.cut = 1 << 19
			to.mu.Unlock()
		}
		copied, err := c.CopyWith(t.Context(), image, place, registry.Copying{})
		requests, _ := to.asked()
		done += uploads(requests)
		if err == nil {
			if copied.Digest != digest {
				t.Fatal(copied)
			}
			break
		}
		if !errors.Is(err, registry.ErrUnreachable) || errors.Is(err, registry.ErrBadReply) {
			t.Fatal(err)
		}
		if e := new(registry.Error); !errors.As(err, &e) || !e.Again || e.Image != place.String() {
			t.Fatalf("%+v", e)
		}
		if err := c.Check(t.Context(), place); !errors.Is(err, registry.ErrNotFound) {
			t.Fatalf("half a copy is there: %v", err)
		}
		to.asked()
		if cuts++; cuts > 10 {
			t.Fatal("no end")
		}
	}
	if want := 3*3 + 1 + cuts; done != want || cuts != 4 {
		t.Errorf("%d blobs sent with %d cuts, want %d", done, cuts, want)
	}
	whole(t, to, "mirror/multi:1", digest)

	// With attempts left one call is enough.
	to.mu.Lock()
	to.cut = 1 << 19
	to.mu.Unlock()
	c = client(t, registry.Settings{MaxWait: 1, Parallel: 2}, from, to)
	if got, err := c.Copy(t.Context(), image, to.image(t, "mirror/again:1")); err != nil || got != digest {
		t.Errorf("%s, %v", got, err)
	}
	to.mu.Lock()
	left := to.cut
	to.mu.Unlock()
	if left != 0 {
		t.Error("nothing was cut off")
	}
	whole(t, to, "mirror/again:1", digest)
}

// TestCopyInside: inside one registry blobs are not sent, but mounted.
func TestCopyInside(t *testing.T) {
	r := start(t, tokens)
	digest := put(t, r, "team/multi:1", 100<<10)
	copied, err := client(t, registry.Settings{}, r).CopyWith(t.Context(), r.image(t, "team/multi:1"), r.image(t, "mirror/multi:1"), registry.Copying{})
	if err != nil || copied.Digest != digest || copied.Blobs != 0 || copied.Mounted != 10 {
		t.Errorf("%+v, %v", copied, err)
	}
	whole(t, r, "mirror/multi:1", digest)
}

// TestReferrers: what refers to an image and to its platforms, and what refers to that, comes with it on wish: between registries
// with the referrers API and without it; a second run sends nothing.
func TestReferrers(t *testing.T) {
	for _, test := range []struct {
		why      string
		from, to *real
	}{
		{"without the API", start(t, anonymous), start(t, htpasswd)},
		{"with the API", startReferrers(t), startReferrers(t)},
		{"from the API", startReferrers(t), start(t, anonymous)},
		{"to the API", start(t, anonymous), startReferrers(t)},
	} {
		t.Run(test.why, func(t *testing.T) {
			from, to := test.from, test.to
			digest := put(t, from, "team/multi:1", 1<<10)
			index, err := remote.Index(from.name(t, "team/multi:1"), from.options()...)
			if err != nil {
				t.Fatal(err)
			}
			manifests, err := index.IndexManifest()
			if err != nil {
				t.Fatal(err)
			}
			refer := func(subject v1.Descriptor) v1.Descriptor {
				t.Helper()
				img, err := random.Image(512, 1)
				if err != nil {
					t.Fatal(err)
				}
				img = mutate.MediaType(img, "application/vnd.oci.image.manifest.v1+json")
				img = mutate.Subject(img, subject).(v1.Image)
				hash, err := img.Digest()
				if err != nil {
					t.Fatal(err)
				}
				if err := remote.Write(from.name(t, "team/multi@"+hash.String()), img, from.options()...); err != nil {
					t.Fatal(err)
				}
				size, err := img.Size()
				if err != nil {
					t.Fatal(err)
				}
				return v1.Descriptor{MediaType: "application/vnd.oci.image.manifest.v1+json", Digest: hash, Size: size}
			}
			hash, err := v1.NewHash(digest)
			if err != nil {
				t.Fatal(err)
			}
			size, err := index.Size()
			if err != nil {
				t.Fatal(err)
			}
			sbom := refer(v1.Descriptor{MediaType: "application/vnd.oci.image.index.v1+json", Digest: hash, Size: size})
			signature := refer(sbom)
			platform := refer(manifests.Manifests[1])
			beside, err := random.Image(64, 1)
			if err != nil {
				t.Fatal(err)
			}
			cosign := "team/multi:sha256-" + hash.Hex + ".sig"
			if err := remote.Write(from.name(t, cosign), beside, from.options()...); err != nil {
				t.Fatal(err)
			}

			c := client(t, registry.Settings{}, from, to)
			image, place := from.image(t, "team/multi:1"), to.image(t, "mirror/multi:1")
			if _, err := c.Copy(t.Context(), image, place); err != nil {
				t.Fatal(err)
			}
			for _, one := range []v1.Descriptor{sbom, signature, platform} {
				if err := c.Check(t.Context(), to.image(t, "mirror/multi@"+one.Digest.String())); !errors.Is(err, registry.ErrNotFound) {
					t.Errorf("came without being asked for: %v", err)
				}
			}
			copied, err := c.CopyWith(t.Context(), image, place, registry.Copying{Referrers: true})
			if err != nil || copied.Referrers != 4 {
				t.Fatalf("%+v, %v", copied, err)
			}
			for subject, want := range map[string]v1.Hash{digest: sbom.Digest, sbom.Digest.String(): signature.Digest, manifests.Manifests[1].Digest.String(): platform.Digest} {
				list, err := remote.Referrers(to.name(t, "mirror/multi@"+subject).Context().Digest(subject), to.options()...)
				if err != nil {
					t.Fatal(err)
				}
				m, err := list.IndexManifest()
				if err != nil {
					t.Fatal(err)
				}
				if len(m.Manifests) != 1 || m.Manifests[0].Digest != want {
					t.Errorf("%s is referred to by %v, want %s", subject, m.Manifests, want)
				}
				got, err := remote.Image(to.name(t, "mirror/multi@"+want.String()), to.options()...)
				if err != nil {
					t.Fatal(err)
				}
				if err := validate.Image(got); err != nil {
					t.Error(err)
				}
			}
			if err := c.Check(t.Context(), to.image(t, strings.Replace(cosign, "team", "mirror", 1))); err != nil {
				t.Error(err)
			}
			to.asked()
			if again, err := c.CopyWith(t.Context(), image, place, registry.Copying{Referrers: true}); err != nil || again.Bytes != 0 || again.Referrers != 4 {
				t.Errorf("again: %+v, %v", again, err)
			}
			if requests, received := to.asked(); received > 0 || len(sends(requests)) > 0 {
				t.Errorf("the second run sends %q", sends(requests))
			}
		})
	}
}
