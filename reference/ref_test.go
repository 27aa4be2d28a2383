// SPDX-License-Identifier: Apache-2.0

package reference_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/cozystack/image-overrides/reference"
)

var hexDigest = "sha256:" + strings.Repeat("0f", 32)

// TestRef: the parts and their JSON, which is that of Flux's latestRef.
func TestRef(t *testing.T) {
	for _, test := range []struct{ image, json string }{
		{"ghcr.io/stefanprodan/podinfo:6.2.0", `{"name":"ghcr.io/stefanprodan/podinfo","tag":"6.2.0"}`},
		{"ghcr.io/stefanprodan/podinfo:6.2.0@" + hexDigest, `{"name":"ghcr.io/stefanprodan/podinfo","tag":"6.2.0","digest":"` + hexDigest + `"}`},
		{"localhost:5000/app@" + hexDigest, `{"name":"localhost:5000/app","tag":"","digest":"` + hexDigest + `"}`},
		{"nginx", `{"name":"nginx","tag":""}`},
	} {
		img, err := reference.Parse(test.image)
		if err != nil {
			t.Fatal(err)
		}
		text, err := json.Marshal(img.Ref())
		if err != nil || string(text) != test.json {
			t.Errorf("%s: %s, %v", test.image, text, err)
		}
		var back reference.Ref
		if err := json.Unmarshal(text, &back); err != nil {
			t.Error(err)
		}
		if again, err := back.Image(); err != nil || again != img {
			t.Errorf("%s: comes back as %s, %v", test.image, again, err)
		}
	}
	for _, test := range []struct {
		why, want string
		ref       reference.Ref
	}{
		{"nothing", `name "" is empty`, reference.Ref{}},
		{"a name with a tag", `name "a:1" has the tag "1"`, reference.Ref{Name: "a:1"}},
		{"a tag with a digest", `tag "1@sha256" has the character '@'`, reference.Ref{Name: "a", Tag: "1@sha256"}},
		{"a short digest", `digest "sha256:0" has 1 hex digits, sha256 has 64`, reference.Ref{Name: "a", Digest: "sha256:0"}},
	} {
		_, err := test.ref.Image()
		if err == nil {
			t.Errorf("%s: no error", test.why)
		} else if e, ok := err.(*reference.Error); !ok {
			t.Errorf("%s: %T", test.why, err)
		} else if diff := cmp.Diff(test.want, e.Error()); diff != "" {
			t.Errorf("%s: %s", test.why, diff)
		}
	}
	if (reference.Image{}).Ref() != (reference.Ref{}) || (reference.Ref{}).String() != "" {
		t.Error("the zero image")
	}
}

// TestRefLaw: what has an Image gives back the same parts, and an image gives back itself.
func TestRefLaw(t *testing.T) {
	part := rapid.StringMatching(`[a-zA-Z0-9_.:/@-]{0,12}`)
	rapid.Check(t, func(t *rapid.T) {
		r := reference.Ref{
			Name:   rapid.OneOf(part, rapid.SampledFrom([]string{"a", "r.example.org/a/b", "a:1", "localhost:5000/a"})).Draw(t, "name"),
			Tag:    rapid.OneOf(part, rapid.SampledFrom([]string{"", "1", "v1.2"})).Draw(t, "tag"),
			Digest: rapid.OneOf(part, rapid.SampledFrom([]string{"", hexDigest})).Draw(t, "digest"),
		}
		img, err := r.Image()
		if err == nil && img.Ref() != r {
			t.Fatalf("%+v comes back as %+v", r, img.Ref())
		}
		if parsed, parseErr := reference.Parse(r.String()); parseErr == nil {
			if again, err := parsed.Ref().Image(); err != nil || again != parsed {
				t.Fatalf("%s comes back as %s, %v", parsed, again, err)
			}
		}
	})
}
