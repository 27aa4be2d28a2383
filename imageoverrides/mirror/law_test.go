// SPDX-License-Identifier: Apache-2.0

package mirror_test

import (
	stdcmp "cmp"
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/cozystack/image-overrides/imageoverrides"
	"github.com/cozystack/image-overrides/imageoverrides/mirror"
	"github.com/cozystack/image-overrides/reference"
)

// hosts are those of sources, and what may be taken for them: ports, letters of both cases, addresses, and names that differ only in
// what one of the rules changes.
var hosts = rapid.OneOf(
	rapid.SampledFrom([]string{"", "", "docker.io", "index.docker.io", "quay.io", "localhost", "localhost:5000", "host:5000", "host:05000", "host.5000", "Host", "HOST", "hOst", "host-u1:1", "Host:1",
		"[::1]", "[::1]:5000", "[::A]", "[::a]", "[1]", "ipv6.xx1", "ipv6:1", "a.b", "a.b:1", "a-b.c", "a--b.c", "mirror.example.org", "mirror.example.org:5000", "mirror.example.org.p", "mirror-example.org", "mirror.example-org"}),
	rapid.StringMatching(`[abAB0]([abAB0-]{0,3}[abAB0])?(\.[abu0]{1,3}){0,2}(:[01]{1,2})?`),
	rapid.StringMatching(`\[[01aA:x]{1,5}\](:[01]{1,2})?`),
)

// paths are those of images.
var paths = rapid.OneOf(
	rapid.SampledFrom([]string{"nginx", "library/nginx", "a", "a/b", "a.b/c", "axb/c", "a-b/c", "p/a", "p.quay.io/a", "5000/a", "library", "p/quay.io/a", "p/docker.io/library/nginx", "host/5000/a", "host_5000/a", "docker.io/a"}),
	rapid.StringMatching(`[ab0]{1,2}((\.|_|__|-{1,2})[ab0]{1,2}){0,2}(/[ab0]{1,2}){0,2}`),
	rapid.Map(rapid.IntRange(200, 255), func(n int) string { return strings.Repeat("p", n) }),
)

// names are names of images.
var names = rapid.Custom(func(t *rapid.T) string {
	host, path := hosts.Draw(t, "host"), paths.Draw(t, "path")
	if host == "" {
		return path
	}
	return host + "/" + path
}).Filter(func(s string) bool { return reference.CheckName(s) == nil })

var (
	hex64   = strings.Repeat("0123456789abcdef", 4)
	endings = rapid.SampledFrom([]string{"", ":v1", ":1.20", "@sha256:" + hex64, ":v1@sha256:" + hex64, "@sha512:" + hex64 + hex64})
)

// images are what manifests have for images, sound and not.
var images = rapid.SliceOfN(rapid.OneOf(
	rapid.Custom(func(t *rapid.T) string { return names.Draw(t, "name") + endings.Draw(t, "ending") }),
	rapid.Custom(func(t *rapid.T) string {
		return rapid.SampledFrom([]string{"nginx", "docker.io/nginx", "quay.io/a", "a.b/c", "axb/c"}).Draw(t, "name") + endings.Draw(t, "ending")
	}),
	rapid.SampledFrom([]string{"", "Nginx", "${IMAGE}", "a b", "\xff", "nginx:", "https://quay.io/a", hex64 + ":v1", "a@sha256:12"}),
), 0, 8)

var mirrors = rapid.Custom(func(t *rapid.T) mirror.Mirror {
	return mirror.Mirror{
		Host:       rapid.SampledFrom([]string{"mirror.example.org", "mirror.example.org:5000", "Mirror.local", "[::1]:5000", "docker.io", "index.docker.io", "localhost"}).Draw(t, "mirror"),
		Repository: rapid.SampledFrom([]string{"", "p", "p", "a/b", "library"}).Draw(t, "repository"),
	}
})

// Names are valid and not too long, one for each image however it is spelled, and a name leads back to its image.
func TestNames(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		m := mirrors.Draw(t, "mirror")
		derive := func(name string) (image, mirrored reference.Image) {
			image, err := reference.Parse(name + endings.Draw(t, "ending"))
			if err != nil {
				t.Skip("too long")
			}
			mirrored, err = m.Image(image)
			if err != nil {
				var e *mirror.Error
				if !errors.As(err, &e) || len(image.Name()) < 100 {
					t.Fatalf("%s: %v", image, err)
				}
				t.Skip("too long")
			}
			return image, mirrored
		}
		name := names.Draw(t, "name")
		a, in := derive(name)
		if parsed, err := reference.Parse(in.String()); err != nil || parsed != in || len(in.Name()) > 255 && !m.Holds(a) {
			t.Fatalf("%s becomes %s: %v", a, in, err)
		}
		if !m.Holds(in) || in.Tag() != a.Tag() || in.Digest() != a.Digest() {
			t.Fatalf("%s becomes %s", a, in)
		}
		if again, err := m.Image(in); err != nil || again != in {
			t.Fatalf("%s becomes %s, and that %s: %v", a, in, again, err)
		}
		second := names.Draw(t, "another")
		if rapid.IntRange(0, 3).Draw(t, "near") > 0 { // which differs in one place
			at := rapid.IntRange(0, len(name)-1).Draw(t, "at")
			part := rapid.SampledFrom([]string{":", "/", "_", "__", "-", ".", "x", "X", "u", "1", "[", "]", "__u1", "_1", "ipv6__x", strings.ToUpper(name[at : at+1])}).Draw(t, "part")
			second = name[:at] + part + name[at+rapid.IntRange(0, 1).Draw(t, "instead"):]
			if reference.CheckName(second) != nil {
				t.Skip("no name")
			}
		}
		b, other := derive(second)
		if m.Holds(a) || m.Holds(b) {
			return
		}
		if same := a.Canonical().Name() == b.Canonical().Name(); same != (in.Canonical().Name() == other.Canonical().Name()) {
			t.Fatalf("%s becomes %s, and %s becomes %s", a, in, b, other)
		}
	})
}

// A table of derived names has no error and runs every image of the inventory out of the mirror, under its own name, but those that
// are told; and a second pass changes nothing.
func TestTableLaw(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		m := mirrors.Draw(t, "mirror")
		m.WithoutHost = rapid.IntRange(0, 9).Draw(t, "without") == 0
		list := images.Draw(t, "images")
		before := slices.Clone(list)
		own, _ := imageoverrides.New()
		table, left, err := m.Table(own, list)
		if diff := cmp.Diff(before, list); diff != "" {
			t.Fatal(diff)
		}
		if err != nil {
			checkFault(t, m, list, err)
			return
		}
		if err := table.Strict(); err != nil {
			t.Fatal(err)
		}
		told := make(map[string]string)
		for _, l := range left {
			told[l.Image] = l.Reason
		}
		for _, text := range list {
			outcome, _ := table.Apply(text)
			image, err := reference.Parse(text)
			if err != nil { // Flux finds some all the same, as nginx:
				if after, err := reference.Parse(outcome); (told[text] == "") != (err == nil && m.Holds(after)) {
					t.Fatalf("%q becomes %q, and %q is told", text, outcome, told[text])
				}
				continue
			}
			if again, _ := table.Apply(outcome); again != outcome {
				t.Fatalf("%s becomes %s, and that %s", text, outcome, again)
			}
			switch want, err := m.Image(image); {
			case err != nil:
				t.Fatal(err)
			case told[text] != "":
				if outcome != text {
					t.Fatalf("%s becomes %s, and is told: %s", text, outcome, told[text])
				}
			case outcome != want.String():
				t.Fatalf("%s becomes %s, want %s", text, outcome, want)
			}
		}
		again, _, err := m.Table(table, list)
		if err != nil || !again.Equal(table) {
			t.Fatalf("again: %v, %v", again, err)
		}
		shuffled := rapid.Permutation(list).Draw(t, "shuffled")
		if other, _, err := m.Table(own, append(shuffled, shuffled...)); err != nil || !other.Equal(table) {
			t.Fatalf("in another order: %v, %v", other, err)
		}
		checkCopies(t, m, table, list, told)
	})
}

// checkFault checks that a refusal names images that are too long, or two with one name.
func checkFault(t *rapid.T, m mirror.Mirror, list []string, err error) {
	var e *mirror.Error
	if !errors.As(err, &e) {
		t.Fatal(err)
	}
	switch {
	case len(e.Images) == 1:
		image, parsed := reference.Parse(e.Images[0])
		if _, refused := m.Image(image); parsed != nil || refused == nil {
			t.Fatalf("%v", e)
		}
	case len(e.Images) == 2 && m.WithoutHost:
		a, _ := reference.Parse(e.Images[0])
		b, _ := reference.Parse(e.Images[1])
		one, _ := m.Image(a)
		other, _ := m.Image(b)
		if one.Canonical() != other.Canonical() || a.Canonical() == b.Canonical() {
			t.Fatalf("%v", e)
		}
	default:
		t.Fatalf("%v of %q", e, list)
	}
}

// checkCopies checks that what pods run is what is copied, and from where.
func checkCopies(t *rapid.T, m mirror.Mirror, table imageoverrides.Table, list []string, told map[string]string) {
	copies, err := m.Copies(table, list)
	if err != nil {
		t.Fatal(err)
	}
	var to, want []string
	tags, sent := make(map[string]string), make(map[string]bool)
	tagOf := func(i reference.Image) string {
		if i.Tag() == "" && i.Digest() != "" {
			return ""
		}
		return i.Canonical().Name() + ":" + stdcmp.Or(i.Tag(), "latest")
	}
	for _, c := range copies {
		if tag := tagOf(c.Place); tag != "" {
			if content, ok := tags[tag]; ok && content != c.To.Digest() {
				t.Fatalf("%s is to be %q and %q", tag, content, c.To.Digest())
			}
			tags[tag], sent[tag] = c.To.Digest(), true
		}
	}
	for _, c := range copies {
		if bare := c.To.Name() + "@" + c.To.Digest(); c.Place != c.To && (c.Place.String() != bare || !sent[tagOf(c.To)]) {
			t.Fatalf("%s is sent to %s", c.To, c.Place)
		}
		to = append(to, c.To.String())
		if c.From.IsValid() {
			mirrored, err := m.Image(c.From)
			if err != nil || mirrored.Canonical() != c.To.Canonical() {
				t.Fatalf("%s is a copy of %s: %v", c.To, c.From, err)
			}
		}
	}
	for _, text := range list {
		if told[text] == "" {
			outcome, _ := table.Apply(text)
			want = append(want, outcome)
		}
	}
	slices.Sort(want)
	if diff := cmp.Diff(slices.Compact(want), to); diff != "" {
		t.Fatal(diff)
	}
}
