// SPDX-License-Identifier: Apache-2.0

package reference_test

import (
	"errors"
	"net/netip"
	"slices"
	"strconv"
	"strings"
	"testing"

	distribution "github.com/distribution/reference"
	godigest "github.com/opencontainers/go-digest"
	"pgregory.net/rapid"

	"github.com/cozystack/image-overrides/reference"
)

// images are references that distribution accepts.
var images = rapid.Custom(drawReference).Filter(func(s string) bool {
	_, err := distribution.ParseNormalizedNamed(s)
	return err == nil
})

// texts are references, what looks like one, near misses, and anything.
var texts = rapid.OneOf(
	images,
	images,
	rapid.Custom(drawReference),
	rapid.Custom(drawNearMiss),
	rapid.Map(rapid.SliceOfN(rapid.SampledFrom(pieces), 0, 10), func(p []string) string { return strings.Join(p, "") }),
	rapid.String(),
	rapid.Map(rapid.SliceOf(rapid.Byte()), func(b []byte) string { return string(b) }),
)

// hosts and paths, sound and not.
var (
	hosts = rapid.OneOf(
		rapid.SampledFrom([]string{"", "docker.io", "index.docker.io", "localhost", "localhost:5000", "registry", "Registry", "registry:5000",
			"a_b.c", "a_b.c:1", "[::1]", "[::1]:5000", "[:]", "[abcd]", "[ABCD]", "[1]", "::1", "a.", ".a", "a..b", "a-.b", "10.0.0.1:80", "a:0", "a:65536"}),
		rapid.StringMatching(`[a-zA-Z0-9]([a-zA-Z0-9-]{0,5}[a-zA-Z0-9])?(\.[a-z0-9]{1,5}){0,3}(:[0-9]{1,6})?`),
		rapid.StringMatching(`\[[0-9a-fA-F:]{0,12}\](:[0-9]{0,6})?`),
		rapid.StringMatching(`[aA0._:-]{0,6}`),
	)
	paths = rapid.OneOf(
		rapid.SampledFrom([]string{"", "nginx", "library/nginx", "library/a/b", "library", "localhost/a", "quay.io/a", "library/localhost", hex64, "library/" + hex64}),
		rapid.StringMatching(`[a-z0-9]{1,4}((\.|_|__|-{1,3})[a-z0-9]{1,3}){0,2}(/[a-z0-9]{1,4}){0,3}`),
		rapid.StringMatching(`[aA0._/-]{0,8}`),
		rapid.Map(rapid.IntRange(240, 260), func(n int) string { return strings.Repeat("p", n) }),
	)
)

// pieces are what tells references apart.
var pieces = []string{"nginx", "library", "docker.io", "index.docker.io", "localhost", "quay.io", "a_b.c", "A", "0", "::1",
	"/", ":", "@", ".", "_", "-", "[", "]", "//", "://", " ", "\n", "é", "\xff",
	"5000", "99999", "sha256", "sha512", hex64, sha256, sha384, sha512, "md5:" + hex64[:32]}

func drawReference(t *rapid.T) string {
	s := paths.Draw(t, "path")
	if host := hosts.Draw(t, "host"); host != "" {
		s = host + "/" + s
	}
	s += rapid.SampledFrom([]string{"", "", ":1", ":v1.2_3-x", ":A", ":", ":.1", ":1:2", ":" + strings.Repeat("t", 128), ":" + strings.Repeat("t", 129)}).Draw(t, "tag")
	s += rapid.SampledFrom([]string{"", "", "@" + sha256, "@" + sha384, "@" + sha512, "@", "@x", "@sha256:" + hex64[1:], "@sha256:" + strings.ToUpper(hex64), "@sha1:" + hex64[:40]}).Draw(t, "digest")
	return s
}

// drawNearMiss changes one place of a reference.
func drawNearMiss(t *rapid.T) string {
	s := drawReference(t)
	i := rapid.IntRange(0, len(s)).Draw(t, "place")
	return s[:i] + rapid.SampledFrom(pieces).Draw(t, "piece") + s[min(i+rapid.IntRange(0, 1).Draw(t, "cut"), len(s)):]
}

func TestParseLaws(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) { checkParse(t, texts.Draw(t, "text")) })
}

func FuzzParse(f *testing.F) {
	for _, test := range accepted {
		f.Add(test.in)
	}
	for _, test := range refused {
		f.Add(test.in)
	}
	for _, test := range splits {
		f.Add(test.in)
	}
	f.Fuzz(func(t *testing.T, s string) { checkParse(t, s) })
}

// The tables obey the laws too, the rare ones that no draw may find included.
func TestTablesObeyTheLaws(t *testing.T) {
	for _, test := range accepted {
		checkParse(t, test.in)
	}
	for _, test := range refused {
		checkParse(t, test.in)
	}
}

// checkParse holds Parse and the methods of Image against distribution and against
// each other.
func checkParse(t rapid.TB, s string) {
	t.Helper()
	img, err := reference.Parse(s)
	oracle, oracleErr := distribution.ParseNormalizedNamed(s)
	if (err == nil) != (oracleErr == nil) {
		t.Fatalf("Parse(%q): %v, distribution says %v", s, err, oracleErr)
	}
	if err != nil {
		checkRefusal(t, s, img, err)
		return
	}
	checkSpelling(t, s, img)
	checkOracle(t, s, img, oracle)
	checkSpellings(t, img)

	named := reference.CheckName(s) == nil
	if want := img.Tag() == "" && img.Digest() == ""; named != want {
		t.Errorf("CheckName(%q) accepts: %v, want %v", s, named, want)
	}
}

func checkRefusal(t rapid.TB, s string, img reference.Image, err error) {
	t.Helper()
	var e *reference.Error
	if !errors.As(err, &e) {
		t.Fatalf("Parse(%q): the error %v is no *Error", s, err)
	}
	if e.Text != s || !slices.Contains([]string{"name", "tag", "digest", "host", "repository"}, e.Part) ||
		!strings.Contains(s, e.Value) || e.Reason == "" {
		t.Errorf("Parse(%q): %#v", s, e)
	}
	if errors.Unwrap(err) != nil {
		t.Errorf("Parse(%q): the error wraps %v", s, errors.Unwrap(err))
	}
	if img.IsValid() || img != (reference.Image{}) {
		t.Errorf("Parse(%q): the image %#v comes with an error", s, img)
	}
	if name := reference.CheckName(s); name == nil || name.Error() != err.Error() {
		t.Errorf("CheckName(%q): %v, want %v", s, name, err)
	}
}

// checkSpelling wants the parts of an image to be those of its text.
func checkSpelling(t rapid.TB, s string, img reference.Image) {
	t.Helper()
	if !img.IsValid() || img.String() != s {
		t.Errorf("Parse(%q) is %q, valid: %v", s, img, img.IsValid())
	}
	name, tag, digest := reference.Split(s)
	if img.Name() != name || img.Tag() != tag || img.Digest() != digest {
		t.Errorf("Parse(%q) has %q, %q, %q, Split gives %q, %q, %q", s, img.Name(), img.Tag(), img.Digest(), name, tag, digest)
	}
	whole := img.Path()
	if img.Host() != "" {
		whole = img.Host() + "/" + whole
	}
	if whole != img.Name() {
		t.Errorf("Parse(%q) has the host %q, the path %q, and the name %q", s, img.Host(), img.Path(), img.Name())
	}
	if tag != "" && reference.CheckTag(tag) != nil {
		t.Errorf("CheckTag refuses the tag of %q", s)
	}
	if digest != "" && reference.CheckDigest(digest) != nil {
		t.Errorf("CheckDigest refuses the digest of %q", s)
	}
	if err := reference.ValidateRepository(img.Path()); err != nil {
		t.Errorf("ValidateRepository refuses the path of %q: %v", s, err)
	}
}

func checkOracle(t rapid.TB, s string, img reference.Image, oracle distribution.Named) {
	t.Helper()
	canonical := img.Canonical()
	if canonical.String() != oracle.String() || canonical.Name() != oracle.Name() {
		t.Errorf("Canonical of %q is %q, distribution has %q", s, canonical, oracle)
	}
	host, path := distribution.Domain(oracle), distribution.Path(oracle)
	if host == "" { // a host with '_'; see the package's rules
		host, path, _ = strings.Cut(path, "/")
		if !strings.Contains(host, "_") || !strings.Contains(host, ".") {
			t.Errorf("distribution sees no host in %q", s)
		}
	}
	if canonical.Host() != host || canonical.Path() != path {
		t.Errorf("%q is host %q and path %q, distribution has %q and %q", s, canonical.Host(), canonical.Path(), host, path)
	}
	tag, digest := "", ""
	if tagged, ok := oracle.(distribution.Tagged); ok {
		tag = tagged.Tag()
	}
	if digested, ok := oracle.(distribution.Digested); ok {
		digest = digested.Digest().String()
	}
	if canonical.Tag() != tag || canonical.Digest() != digest || img.Tag() != tag || img.Digest() != digest {
		t.Errorf("%q has tag %q and digest %q, distribution has %q and %q", s, canonical.Tag(), canonical.Digest(), tag, digest)
	}
	familiar := distribution.FamiliarString(oracle)
	if again, err := distribution.ParseNormalizedNamed(familiar); err != nil || again.String() != oracle.String() {
		familiar = oracle.String() // another image, or none
	}
	if img.Familiar().String() != familiar {
		t.Errorf("Familiar of %q is %q, want %q", s, img.Familiar(), familiar)
	}
}

// checkSpellings wants the spellings of an image to be images, and one image.
func checkSpellings(t rapid.TB, img reference.Image) {
	t.Helper()
	canonical, familiar := img.Canonical(), img.Familiar()
	for _, spelling := range []reference.Image{img, canonical, familiar} {
		if again, err := reference.Parse(strings.Clone(spelling.String())); err != nil || again != spelling {
			t.Errorf("%q, of %q, is parsed as %#v, %v", spelling, img, again, err)
		}
		if spelling.Canonical() != canonical || spelling.Familiar() != familiar {
			t.Errorf("%q, of %q, has the spellings %q and %q", spelling, img, spelling.Canonical(), spelling.Familiar())
		}
	}
	if canonical.Host() == "" {
		t.Errorf("Canonical of %q has no host", img)
	}
}

// Two images are equal exactly if they are spelled alike, and have one Canonical
// exactly if distribution has one name for them.
func TestEqualLaw(t *testing.T) {
	spellings := rapid.SampledFrom([]string{"a", "library/a", "docker.io/a", "docker.io/library/a", "index.docker.io/a", "a:1", "library/a:1", "A.b/a", "a.b/a"})
	draws := rapid.OneOf(images, spellings)
	rapid.Check(t, func(t *rapid.T) {
		a, b := draws.Draw(t, "a"), draws.Draw(t, "b")
		x, errX := reference.Parse(a)
		y, errY := reference.Parse(b)
		if errX != nil || errY != nil {
			t.Fatal(errX, errY)
		}
		if (x == y) != (a == b) {
			t.Errorf("%q and %q are equal images: %v", a, b, x == y)
		}
		oracleX, _ := distribution.ParseNormalizedNamed(a)
		oracleY, _ := distribution.ParseNormalizedNamed(b)
		if (x.Canonical() == y.Canonical()) != (oracleX.String() == oracleY.String()) {
			t.Errorf("%q and %q are one image: %v", a, b, x.Canonical() == y.Canonical())
		}
	})
}

// A host is valid exactly if Parse takes it for the host of a name, and its port
// and its address can be dialled.
func TestValidateHostLaw(t *testing.T) {
	draws := rapid.OneOf(hosts, texts)
	rapid.Check(t, func(t *rapid.T) {
		host := draws.Draw(t, "host")
		img, err := reference.Parse(host + "/a")
		want := err == nil && img.Host() == host && canBeDialled(host)
		if got := reference.ValidateHost(host); (got == nil) != want {
			t.Errorf("ValidateHost(%q): %v, want accepted: %v", host, got, want)
		}
	})
}

// canBeDialled is for hosts that Parse accepts.
func canBeDialled(host string) bool {
	if strings.Contains(host, "_") {
		return false
	}
	if i := strings.LastIndex(host, ":"); i > strings.LastIndex(host, "]") {
		n, err := strconv.Atoi(host[i+1:])
		if err != nil || n < 1 || n > 65535 {
			return false
		}
		host = host[:i]
	}
	if host[0] == '[' {
		addr, err := netip.ParseAddr(host[1 : len(host)-1])
		return err == nil && addr.Is6()
	}
	return true
}

// A path is valid exactly if it is empty, or Parse takes it for the path of a name.
func TestValidateRepositoryLaw(t *testing.T) {
	draws := rapid.OneOf(paths, texts)
	rapid.Check(t, func(t *rapid.T) {
		path := draws.Draw(t, "path")
		img, err := reference.Parse("registry.example.org/" + path)
		want := path == "" || err == nil && img.Path() == path
		if got := reference.ValidateRepository(path); (got == nil) != want {
			t.Errorf("ValidateRepository(%q): %v, want accepted: %v", path, got, want)
		}
	})
}

// The oracle for tags is distribution's expression, for digests go-digest.
func TestCheckTagAndDigestLaw(t *testing.T) {
	algorithms := rapid.SampledFrom([]string{"sha256", "sha384", "sha512", "sha224", "md5", "SHA256", "blake3", ""})
	digests := rapid.Custom(func(t *rapid.T) string {
		n := rapid.SampledFrom([]int{0, 32, 63, 64, 65, 95, 96, 97, 127, 128, 129}).Draw(t, "length")
		digit := rapid.SampledFrom([]string{"0", "9", "a", "f", "F", "g", "é"}).Draw(t, "digit")
		return algorithms.Draw(t, "algorithm") + ":" + strings.Repeat(digit, n)
	})
	draws := rapid.OneOf(digests, texts, rapid.StringMatching(`[aZ9_.:-]{0,3}[a-z]{0,130}`))
	rapid.Check(t, func(t *rapid.T) {
		s := draws.Draw(t, "text")
		wantTag := s != "" && distribution.TagRegexp.FindString(s) == s
		if got := reference.CheckTag(s); (got == nil) != wantTag {
			t.Errorf("CheckTag(%q): %v, want accepted: %v", s, got, wantTag)
		}
		_, err := godigest.Parse(s)
		if got := reference.CheckDigest(s); (got == nil) != (err == nil) {
			t.Errorf("CheckDigest(%q): %v, go-digest says %v", s, got, err)
		}
	})
}
