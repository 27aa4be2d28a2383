// SPDX-License-Identifier: Apache-2.0

package registry_test

import (
	"errors"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/cozystack/image-overrides/imageoverrides"
	"github.com/cozystack/image-overrides/reference/registry"
)

// tagged answers each tag with a digest of its own: sha256 of the path's text.
func tagged(w http.ResponseWriter, r *http.Request) {
	send(w, r, 200, manifest, "Content-Type", ociType, "Docker-Content-Digest", digestOf([]byte(r.URL.Host+r.URL.Path)))
}

func newTable(t fataler, overrides ...imageoverrides.Override) imageoverrides.Table {
	t.Helper()
	table, err := imageoverrides.New(overrides...)
	if err != nil {
		t.Fatal(err)
	}
	return table
}

func TestPin(t *testing.T) {
	type o = imageoverrides.Override
	of := func(image string) string { return digestOf([]byte(image)) }
	table := newTable(t,
		o{Name: "quay.io/a/a", NewName: "r.example.org/a", NewTag: "1"},
		o{Name: "quay.io/a/b", NewName: "r.example.org/b", NewTag: "1", Digest: nowhere},
		o{Name: "quay.io/a/c", NewName: "r.example.org/c", Digest: nowhere},
		o{Name: "quay.io/a/d", NewName: "r.example.org/d"},
		o{Name: "quay.io/a/e", NewTag: "2"},
		o{Name: "quay.io/a/f", NewName: "r.example.org/g", NewTag: "1"}, // a chain
		o{Name: "r.example.org/g", NewName: "r.example.org/h", NewTag: "7"},
	)
	before := slices.Collect(func(yield func(o) bool) {
		for _, o := range table.All() {
			if !yield(o) {
				return
			}
		}
	})
	for _, test := range []struct {
		policy   registry.Policy
		want     map[int]string // digests by entry
		requests int
		said     []string
	}{
		{registry.Never, map[int]string{1: nowhere, 2: nowhere}, 0, nil},
		{registry.IfNotPresent, map[int]string{
			0: of("r.example.org/v2/a/manifests/1"), 1: nowhere, 2: nowhere, 4: of("quay.io/v2/a/e/manifests/2"),
			5: of("r.example.org/v2/h/manifests/7"), 6: of("r.example.org/v2/h/manifests/7"),
		}, 3, []string{
			"quay.io/a/a: r.example.org/a:1 has the digest " + of("r.example.org/v2/a/manifests/1"),
			"quay.io/a/b: not asked: it has a digest",
			"quay.io/a/c: not asked: it has a digest and no tag to follow",
			"quay.io/a/d: not asked: the tag is the manifest's",
			"quay.io/a/e: quay.io/a/e:2 has the digest " + of("quay.io/v2/a/e/manifests/2"),
			"quay.io/a/f: r.example.org/h:7 has the digest " + of("r.example.org/v2/h/manifests/7"),
			"r.example.org/g: r.example.org/h:7 has the digest " + of("r.example.org/v2/h/manifests/7"),
		}},
		{registry.Always, map[int]string{
			0: of("r.example.org/v2/a/manifests/1"), 1: of("r.example.org/v2/b/manifests/1"), 2: nowhere, 4: of("quay.io/v2/a/e/manifests/2"),
			5: of("r.example.org/v2/h/manifests/7"), 6: of("r.example.org/v2/h/manifests/7"),
		}, 4, nil},
	} {
		n := newNetwork(tagged)
		got, found, err := registry.Pin(t.Context(), n.client(t, registry.Settings{}), table, test.policy)
		if err != nil || len(n.requests) != test.requests || len(found) != table.Len() {
			t.Errorf("%s: %v, %q", test.policy, err, n.requests)
		}
		for i, o := range got.All() {
			want := before[i]
			want.Digest = test.want[i]
			if diff := cmp.Diff(want, o); diff != "" {
				t.Errorf("%s: entry %d: %s", test.policy, i, diff)
			}
		}
		if test.said != nil {
			var said []string
			for _, p := range found {
				said = append(said, p.String())
			}
			if diff := cmp.Diff(test.said, said); diff != "" {
				t.Errorf("%s: %s", test.policy, diff)
			}
		}
	}
}

// TestPinErrors: on an error the table comes back as it was, with all that was found.
func TestPinErrors(t *testing.T) {
	type o = imageoverrides.Override
	n := newNetwork(func(w http.ResponseWriter, r *http.Request) {
		switch {
		case strings.Contains(r.URL.Path, "/gone/"):
			fault(404, "MANIFEST_UNKNOWN")(w, r)
		case strings.Contains(r.URL.Path, "/sha512/"):
			send(w, r, 200, nil, "Content-Type", ociType, "Docker-Content-Digest", "sha512:"+strings.Repeat("ab", 64))
		default:
			tagged(w, r)
		}
	})
	table := newTable(t, o{Name: "r.example.org/a", NewTag: "1"}, o{Name: "r.example.org/b", NewName: "r.example.org/gone", NewTag: "1"}, o{Name: "r.example.org/c", NewName: "r.example.org/sha512", NewTag: "1"})
	got, found, err := registry.Pin(t.Context(), n.client(t, registry.Settings{}), table, registry.Always)
	if !got.Equal(table) || !errors.Is(err, registry.ErrNotFound) || !errors.Is(err, registry.ErrBadReply) || len(err.(registry.Errors)) != 2 {
		t.Errorf("%v", err)
	}
	if len(found) != 3 || !found[0].Changed() || found[1].Changed() || found[2].Changed() || kindOf(found[1].Err) != "not found" || kindOf(found[2].Err) != "bad reply" {
		t.Errorf("%v", found)
	}
	if got, found, err := registry.Pin(t.Context(), n.client(t, registry.Settings{}), table, "Sometimes"); !got.Equal(table) || found != nil || err == nil || err.Error() != `policy "Sometimes" is none of Never, IfNotPresent and Always` {
		t.Errorf("%v, %v", found, err)
	}
	if got, found, err := registry.Pin(t.Context(), n.client(t, registry.Settings{}), imageoverrides.Table{}, registry.Always); got.Known() || len(found) != 0 || err != nil {
		t.Errorf("%v, %v", found, err)
	}
}

// TestPinLaw: Pin changes digests only, what it pins is what Resolve says and Check finds, and pinning again changes nothing.
func TestPinLaw(t *testing.T) {
	n := newNetwork(tagged)
	rapid.Check(t, func(t *rapid.T) {
		entry := rapid.Custom(func(t *rapid.T) imageoverrides.Override {
			name := rapid.StringMatching(`r\.example\.org/[a-e]`)
			return imageoverrides.Override{
				Name: name.Draw(t, "name"), NewName: rapid.OneOf(name, rapid.Just("")).Draw(t, "newName"),
				NewTag: rapid.SampledFrom([]string{"", "1", "2"}).Draw(t, "newTag"), Digest: rapid.SampledFrom([]string{"", nowhere}).Draw(t, "digest"),
			}
		})
		table, err := imageoverrides.New(rapid.SliceOfNDistinct(entry, 0, 5, func(o imageoverrides.Override) string { return o.Name }).Draw(t, "table")...)
		if err != nil {
			t.Skip(err)
		}
		policy := rapid.SampledFrom([]registry.Policy{registry.Never, registry.IfNotPresent, registry.Always}).Draw(t, "policy")
		c, err := registry.New(registry.Settings{Transport: n})
		if err != nil {
			t.Fatal(err)
		}
		pinned, _, err := registry.Pin(t.Context(), c, table, policy)
		if err != nil {
			if !pinned.Equal(table) {
				t.Fatal("an error and another table")
			}
			return
		}
		for _, d := range imageoverrides.Diff(table, pinned) {
			if d.Kind != imageoverrides.Digest {
				t.Fatal(d)
			}
		}
		if again, _, err := registry.Pin(t.Context(), c, pinned, policy); err != nil || !again.Equal(pinned) {
			t.Fatalf("pinned again: %v, %v", err, imageoverrides.Diff(pinned, again))
		}
	})
}
