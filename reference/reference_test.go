// SPDX-License-Identifier: Apache-2.0

package reference_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/cozystack/image-overrides/reference"
)

var (
	hex64  = strings.Repeat("0f", 32)
	sha256 = "sha256:" + hex64
	sha384 = "sha384:" + strings.Repeat("3c", 48)
	sha512 = "sha512:" + strings.Repeat("5a", 64)
)

// accepted are references with all that is in them.
var accepted = []struct {
	why, in                 string
	host, path, tag, digest string
	canonical, familiar     string // without tag and digest
}{
	{why: "an official image", in: "nginx", path: "nginx", canonical: "docker.io/library/nginx", familiar: "nginx"},
	{why: "library spelled out", in: "library/nginx", path: "library/nginx", canonical: "docker.io/library/nginx", familiar: "nginx"},
	{why: "the hub spelled out", in: "docker.io/nginx", host: "docker.io", path: "nginx", canonical: "docker.io/library/nginx", familiar: "nginx"},
	{why: "both spelled out", in: "docker.io/library/nginx", host: "docker.io", path: "library/nginx", canonical: "docker.io/library/nginx", familiar: "nginx"},
	{why: "the hub's old name", in: "index.docker.io/library/nginx", host: "index.docker.io", path: "library/nginx", canonical: "docker.io/library/nginx", familiar: "nginx"},
	{why: "the hub's old name alone", in: "index.docker.io/nginx", host: "index.docker.io", path: "nginx", canonical: "docker.io/library/nginx", familiar: "nginx"},
	{why: "a user's image on the hub", in: "grafana/grafana:11.2.0", path: "grafana/grafana", tag: "11.2.0", canonical: "docker.io/grafana/grafana", familiar: "grafana/grafana"},
	{why: "library is short only for one component", in: "docker.io/library/a/b", host: "docker.io", path: "library/a/b", canonical: "docker.io/library/a/b", familiar: "library/a/b"},
	{why: "an image called library", in: "library", path: "library", canonical: "docker.io/library/library", familiar: "library"},
	{why: "the hub with a port is another registry", in: "docker.io:443/nginx", host: "docker.io:443", path: "nginx", canonical: "docker.io:443/nginx", familiar: "docker.io:443/nginx"},
	{why: "the hub in upper case is another registry", in: "Docker.io/nginx", host: "Docker.io", path: "nginx", canonical: "Docker.io/nginx", familiar: "Docker.io/nginx"},
	{why: "a registry", in: "registry.k8s.io/sig-storage/csi-attacher:v4.6.1", host: "registry.k8s.io", path: "sig-storage/csi-attacher", tag: "v4.6.1", canonical: "registry.k8s.io/sig-storage/csi-attacher", familiar: "registry.k8s.io/sig-storage/csi-attacher"},
	{why: "library elsewhere is a path as any", in: "quay.io/library/nginx", host: "quay.io", path: "library/nginx", canonical: "quay.io/library/nginx", familiar: "quay.io/library/nginx"},
	{why: "a digest", in: "nginx@" + sha256, path: "nginx", digest: sha256, canonical: "docker.io/library/nginx", familiar: "nginx"},
	{why: "tag and digest", in: "quay.io/a/b:v1@" + sha256, host: "quay.io", path: "a/b", tag: "v1", digest: sha256, canonical: "quay.io/a/b", familiar: "quay.io/a/b"},
	{why: "sha384", in: "nginx@" + sha384, path: "nginx", digest: sha384, canonical: "docker.io/library/nginx", familiar: "nginx"},
	{why: "sha512", in: "nginx:1@" + sha512, path: "nginx", tag: "1", digest: sha512, canonical: "docker.io/library/nginx", familiar: "nginx"},
	{why: "a port", in: "registry:5000/a", host: "registry:5000", path: "a", canonical: "registry:5000/a", familiar: "registry:5000/a"},
	{why: "a port and a tag", in: "10.0.0.1:5000/a:5000", host: "10.0.0.1:5000", path: "a", tag: "5000", canonical: "10.0.0.1:5000/a", familiar: "10.0.0.1:5000/a"},
	{why: "any number is a port, as in distribution", in: "a:0/b", host: "a:0", path: "b", canonical: "a:0/b", familiar: "a:0/b"},
	{why: "a port out of range, as in distribution", in: "a:123456/b", host: "a:123456", path: "b", canonical: "a:123456/b", familiar: "a:123456/b"},
	{why: "what could be tag and directory is a port", in: "nginx:1/2", host: "nginx:1", path: "2", canonical: "nginx:1/2", familiar: "nginx:1/2"},
	{why: "IPv6", in: "[::1]:5000/a", host: "[::1]:5000", path: "a", canonical: "[::1]:5000/a", familiar: "[::1]:5000/a"},
	{why: "IPv6 without a port", in: "[2001:DB8::1]/a/b:1", host: "[2001:DB8::1]", path: "a/b", tag: "1", canonical: "[2001:DB8::1]/a/b", familiar: "[2001:DB8::1]/a/b"},
	{why: "no IPv6 address, as in distribution", in: "[:]/a", host: "[:]", path: "a", canonical: "[:]/a", familiar: "[:]/a"},
	{why: "localhost is a host", in: "localhost/a", host: "localhost", path: "a", canonical: "localhost/a", familiar: "localhost/a"},
	{why: "localhost with a port", in: "localhost:5000/a:1", host: "localhost:5000", path: "a", tag: "1", canonical: "localhost:5000/a", familiar: "localhost:5000/a"},
	{why: "localhost alone is an image", in: "localhost:5000", path: "localhost", tag: "5000", canonical: "docker.io/library/localhost", familiar: "localhost"},
	{why: "a host alone is an image", in: "registry.example.org", path: "registry.example.org", canonical: "docker.io/library/registry.example.org", familiar: "registry.example.org"},
	{why: "a word in front is no host", in: "registry/a", path: "registry/a", canonical: "docker.io/registry/a", familiar: "registry/a"},
	{why: "upper case makes it one", in: "Registry/a", host: "Registry", path: "a", canonical: "Registry/a", familiar: "Registry/a"},
	{why: "every upper case letter", in: "Z/a", host: "Z", path: "a", canonical: "Z/a", familiar: "Z/a"},
	{why: "one letter is a label", in: "a.B/c", host: "a.B", path: "c", canonical: "a.B/c", familiar: "a.B/c"},
	{why: "separators of a component", in: "q.io/a.b_c__d-e---f/g", host: "q.io", path: "a.b_c__d-e---f/g", canonical: "q.io/a.b_c__d-e---f/g", familiar: "q.io/a.b_c__d-e---f/g"},
	{why: "a host with '_' is a host", in: "my_registry.local/a", host: "my_registry.local", path: "a", canonical: "my_registry.local/a", familiar: "my_registry.local/a"},
	{why: "a tag of all kinds of characters", in: "a:_V.1-x", path: "a", tag: "_V.1-x", canonical: "docker.io/library/a", familiar: "a"},
	{why: "the longest tag", in: "a:" + strings.Repeat("t", 128), path: "a", tag: strings.Repeat("t", 128), canonical: "docker.io/library/a", familiar: "a"},
	{why: "the longest path", in: "quay.io/" + strings.Repeat("p", 255), host: "quay.io", path: strings.Repeat("p", 255), canonical: "quay.io/" + strings.Repeat("p", 255), familiar: "quay.io/" + strings.Repeat("p", 255)},
	{why: "the longest official path", in: strings.Repeat("p", 247), path: strings.Repeat("p", 247), canonical: "docker.io/library/" + strings.Repeat("p", 247), familiar: strings.Repeat("p", 247)},
	{why: "the host does not count", in: strings.Repeat("h", 255) + ".io/" + strings.Repeat("p", 255), host: strings.Repeat("h", 255) + ".io", path: strings.Repeat("p", 255), canonical: strings.Repeat("h", 255) + ".io/" + strings.Repeat("p", 255), familiar: strings.Repeat("h", 255) + ".io/" + strings.Repeat("p", 255)},
	{why: "hex digits with a tag are a name", in: hex64 + ":1", path: hex64, tag: "1", canonical: "docker.io/library/" + hex64, familiar: hex64},
	{why: "a digest alone is a name with a tag", in: sha256, path: "sha256", tag: hex64, canonical: "docker.io/library/sha256", familiar: "sha256"},
	{why: "65 hex digits are a name", in: hex64 + "0", path: hex64 + "0", canonical: "docker.io/library/" + hex64 + "0", familiar: hex64 + "0"},
	{why: "63 hex digits are a name", in: hex64[1:], path: hex64[1:], canonical: "docker.io/library/" + hex64[1:], familiar: hex64[1:]},

	{why: "the short form would be an image ID", in: "library/" + hex64, path: "library/" + hex64, canonical: "docker.io/library/" + hex64, familiar: "docker.io/library/" + hex64},
	{why: "the short form would be localhost's", in: "docker.io/localhost/a", host: "docker.io", path: "localhost/a", canonical: "docker.io/localhost/a", familiar: "docker.io/localhost/a"},
	{why: "the short form would be another registry's", in: "docker.io/quay.io/a:1", host: "docker.io", path: "quay.io/a", tag: "1", canonical: "docker.io/quay.io/a", familiar: "docker.io/quay.io/a"},
}

// refused are texts that are no reference, with the whole message.
var refused = []struct {
	why, in, part, message string
}{
	{"nothing", "", "name", `name "" is empty`},
	{"a scheme", "https://ghcr.io/a/b:1", "name", `name "https://ghcr.io/a/b:1" has the scheme "https://" in front`},
	{"a scheme of OCI tools", "docker://nginx", "name", `name "docker://nginx" has the scheme "docker://" in front`},
	{"a scheme with all its characters", "git+ssh-2.0://a/b", "name", `name "git+ssh-2.0://a/b" has the scheme "git+ssh-2.0://" in front`},
	{"an image ID", hex64, "name", `name "` + hex64 + `" is 64 hex digits, which is an image ID and no name`},

	{"no scheme in front of ://", "://a", "host", `image reference "://a": host ":" has nothing in front of its port`},
	{"a scheme has no '_'", "a_b://c", "host", `image reference "a_b://c": host "a_b:" has the character '_'`},
	{"no name in front of the port", ":5000/a", "host", `image reference ":5000/a": host ":5000" has nothing in front of its port`},
	{"IPv6 without brackets", "::1/a", "host", `image reference "::1/a": host "::1" has more than one ':' (an IPv6 address stands in brackets)`},
	{"two ports", "a:1:2/b", "host", `image reference "a:1:2/b": host "a:1:2" has more than one ':' (an IPv6 address stands in brackets)`},
	{"an empty port", "a:/b", "host", `image reference "a:/b": host "a:" has an empty port`},
	{"a port of letters", "a:http/b", "host", `image reference "a:http/b": host "a:http" has the port "http", which is not a number`},
	{"a port of hex digits", "a:50f0/b", "host", `image reference "a:50f0/b": host "a:50f0" has the port "50f0", which is not a number`},
	{"a bracket in the port", "[::1]:5]/a", "host", `image reference "[::1]:5]/a": host "[::1]:5]" has the port "5]", which is not a number`},
	{"a tag in the wrong place", "quay.io/a:1/b", "tag", `image reference "quay.io/a:1/b": tag "1/b" has the character '/'`},
	{"a tag behind a host", "quay.io:v1/b", "host", `image reference "quay.io:v1/b": host "quay.io:v1" has the port "v1", which is not a number`},
	{"a dot in front", ".io/a", "host", `image reference ".io/a": host ".io" begins with '.'`},
	{"a dot behind", "quay.io./a", "host", `image reference "quay.io./a": host "quay.io." ends with '.'`},
	{"two dots", "quay..io/a", "host", `image reference "quay..io/a": host "quay..io" has ".."`},
	{"a label that begins with '-'", "quay.-io/a", "host", `image reference "quay.-io/a": host "quay.-io" has "-io", which begins with '-'`},
	{"a label that ends with '-'", "quay-.io/a", "host", `image reference "quay-.io/a": host "quay-.io" has "quay-", which ends with '-'`},
	{"a '_' together with a port", "my_registry.local:5000/a", "host", `image reference "my_registry.local:5000/a": host "my_registry.local:5000" has the character '_'`},
	{"a '_' together with upper case", "My_registry/a", "host", `image reference "My_registry/a": host "My_registry" has the character '_'`},
	{"a user", "me@quay.io/a", "digest", `image reference "me@quay.io/a": digest "quay.io/a" has no ':' between an algorithm and its hex digits`},
	{"no bracket behind", "[::1/a", "host", `image reference "[::1/a": host "[::1" has a '[' and no ']' at the end or in front of a port`},
	{"text behind the bracket", "[::1]x:5000/a", "host", `image reference "[::1]x:5000/a": host "[::1]x:5000" has a '[' and no ']' at the end or in front of a port`},
	{"empty brackets", "[]:5000/a", "host", `image reference "[]:5000/a": host "[]:5000" has empty brackets`},
	{"a zone", "[fe80::1%eth0]/a", "host", `image reference "[fe80::1%eth0]/a": host "[fe80::1%eth0]" has the character '%' in its brackets`},
	{"an IPv4 address inside IPv6", "[::ffff:10.0.0.1]/a", "host", `image reference "[::ffff:10.0.0.1]/a": host "[::ffff:10.0.0.1]" has the character '.' in its brackets`},
	{"a second bracket", "[::1]]/a", "host", `image reference "[::1]]/a": host "[::1]]" has the character ']' in its brackets`},
	{"no port behind IPv6", "[::1]:/a", "host", `image reference "[::1]:/a": host "[::1]:" has an empty port`},
	{"a space in a host", "quay .io/a", "host", `image reference "quay .io/a": host "quay .io" has a space`},

	{"upper case", "Nginx", "repository", `repository "Nginx" has the upper case letter 'N'`},
	{"upper case and a tag", "Nginx:1", "repository", `image reference "Nginx:1": repository "Nginx" has the upper case letter 'N'`},
	{"upper case behind a host", "ghcr.io/Org/app", "repository", `image reference "ghcr.io/Org/app": repository "Org/app" has the upper case letter 'O'`},
	{"a space in front", " nginx", "repository", `repository " nginx" has a space`},
	{"a space behind", "nginx ", "repository", `repository "nginx " has a space`},
	{"a line break behind", "nginx\n", "repository", `repository "nginx\n" has the character '\n'`},
	{"a template", "{{ .image }}", "repository", `repository "{{ .image }}" has the character '{'`},
	{"a letter of another alphabet", "ngînx", "repository", `repository "ngînx" has the character 'î'`},
	{"no UTF-8", "ngin\xff", "repository", `repository "ngin\xff" has the byte 0xff`},
	{"brackets that are no host", "[1]/a", "repository", `repository "[1]/a" has the character '['`},
	{"no repository behind the host", "quay.io/", "repository", `image reference "quay.io/": repository "" is empty`},
	{"only a tag", ":1", "repository", `image reference ":1": repository "" is empty`},
	{"only a digest", "@" + sha256, "repository", `image reference "@` + sha256 + `": repository "" is empty`},
	{"no host in front", "/a", "repository", `repository "/a" begins with '/'`},
	{"a slash behind", "a/", "repository", `repository "a/" ends with '/'`},
	{"two slashes", "a//b", "repository", `repository "a//b" has "//"`},
	{"a '-' in front", "-a", "repository", `repository "-a" has "-a", which begins with '-'`},
	{"a '-' behind", "a/b-/c", "repository", `repository "a/b-/c" has "b-", which ends with '-'`},
	{"a '.' in front", "a/.b", "repository", `repository "a/.b" has ".b", which begins with '.'`},
	{"two '.'", "a..b", "repository", `repository "a..b" has "..", where one '.', one or two '_' or any number of '-' may stand`},
	{"three '_'", "a___b", "repository", `repository "a___b" has "___", where one '.', one or two '_' or any number of '-' may stand`},
	{"mixed separators", "a-b-_c", "repository", `repository "a-b-_c" has "-_", where one '.', one or two '_' or any number of '-' may stand`},
	{"a long path", "q.io/" + strings.Repeat("p", 256), "repository", `image reference "q.io/` + strings.Repeat("p", 256) + `": repository "` + strings.Repeat("p", 256) + `" has 256 characters, 255 are allowed`},
	{"a long official path", strings.Repeat("p", 248), "repository", `repository "` + strings.Repeat("p", 248) + `" has 256 characters with "library/" in front, 255 are allowed`},
	{"a long path behind a '_'", "a_b.c/" + strings.Repeat("p", 250), "repository", `image reference "a_b.c/` + strings.Repeat("p", 250) + `": repository "` + strings.Repeat("p", 250) + `" has 256 characters with "a_b.c/" in front, 255 are allowed`},

	{"an empty tag", "nginx:", "tag", `image reference "nginx:": tag "" is empty`},
	{"an empty tag in front of a digest", "nginx:@" + sha256, "tag", `image reference "nginx:@` + sha256 + `": tag "" is empty`},
	{"two tags", "nginx:1:2", "tag", `image reference "nginx:1:2": tag "1:2" has the character ':'`},
	{"a '.' in front of a tag", "nginx:.1", "tag", `image reference "nginx:.1": tag ".1" begins with '.'`},
	{"a '-' in front of a tag", "nginx:-1", "tag", `image reference "nginx:-1": tag "-1" begins with '-'`},
	{"build metadata", "nginx:1.0+build", "tag", `image reference "nginx:1.0+build": tag "1.0+build" has the character '+'`},
	{"a placeholder, which kustomize takes", "nginx:{TAG}", "tag", `image reference "nginx:{TAG}": tag "{TAG}" has the character '{'`},
	{"a long tag", "a:" + strings.Repeat("t", 129), "tag", `image reference "a:` + strings.Repeat("t", 129) + `": tag "` + strings.Repeat("t", 129) + `" has 129 characters, 128 are allowed`},
	{"a tag and a bad digest", "a:1@b", "digest", `image reference "a:1@b": digest "b" has no ':' between an algorithm and its hex digits`},

	{"an empty digest", "a@", "digest", `image reference "a@": digest "" is empty`},
	{"no algorithm", "a@:" + hex64, "digest", `image reference "a@:` + hex64 + `": digest ":` + hex64 + `" has the algorithm "", which is not sha256, sha384 or sha512`},
	{"an unknown algorithm", "a@md5:" + hex64[:32], "digest", `image reference "a@md5:` + hex64[:32] + `": digest "md5:` + hex64[:32] + `" has the algorithm "md5", which is not sha256, sha384 or sha512`},
	{"an algorithm in upper case", "a@SHA256:" + hex64, "digest", `image reference "a@SHA256:` + hex64 + `": digest "SHA256:` + hex64 + `" has the algorithm "SHA256", which is not sha256, sha384 or sha512`},
	{"a short digest", "a@sha256:" + hex64[:63], "digest", `image reference "a@sha256:` + hex64[:63] + `": digest "sha256:` + hex64[:63] + `" has 63 hex digits, sha256 has 64`},
	{"the length of another algorithm", "a@sha512:" + hex64, "digest", `image reference "a@sha512:` + hex64 + `": digest "sha512:` + hex64 + `" has 64 hex digits, sha512 has 128`},
	{"no hex digits", "a@sha384:", "digest", `image reference "a@sha384:": digest "sha384:" has 0 hex digits, sha384 has 96`},
	{"upper case hex", "a@sha256:" + strings.ToUpper(hex64), "digest", `image reference "a@sha256:` + strings.ToUpper(hex64) + `": digest "sha256:` + strings.ToUpper(hex64) + `" has the upper case letter 'F' among its hex digits`},
	{"a letter that is no hex digit", "a@sha256:xyz", "digest", `image reference "a@sha256:xyz": digest "sha256:xyz" has the character 'x' among its hex digits`},
	{"a tag behind the digest", "a@" + sha256 + ":1", "digest", `image reference "a@` + sha256 + `:1": digest "` + sha256 + `:1" has the character ':' among its hex digits`},
	{"two digests", "a@" + sha256 + "@" + sha256, "digest", `image reference "a@` + sha256 + `@` + sha256 + `": digest "` + sha256 + `@` + sha256 + `" has the character '@' among its hex digits`},
}

func TestParse(t *testing.T) {
	for _, test := range accepted {
		img, err := reference.Parse(test.in)
		if err != nil {
			t.Errorf("%s: Parse(%q): %v", test.why, test.in, err)
			continue
		}
		suffix := strings.TrimPrefix(test.in, img.Name())
		for _, part := range []struct{ name, got, want string }{
			{"String", img.String(), test.in},
			{"Host", img.Host(), test.host},
			{"Path", img.Path(), test.path},
			{"Tag", img.Tag(), test.tag},
			{"Digest", img.Digest(), test.digest},
			{"Canonical", img.Canonical().String(), test.canonical + suffix},
			{"Familiar", img.Familiar().String(), test.familiar + suffix},
		} {
			if part.got != part.want {
				t.Errorf("%s: %s of %q is %q, want %q", test.why, part.name, test.in, part.got, part.want)
			}
		}
	}
}

func TestParseRefuses(t *testing.T) {
	for _, test := range refused {
		img, err := reference.Parse(test.in)
		if img != (reference.Image{}) {
			t.Errorf("%s: Parse(%q) gives the image %q with its error", test.why, test.in, img)
		}
		checkError(t, test.why, err, test.in, test.part, test.message)
	}
}

// checkError wants an *Error about a text, with this part and message.
func checkError(t *testing.T, why string, err error, text, part, message string) {
	t.Helper()
	var e *reference.Error
	if !errors.As(err, &e) {
		t.Errorf("%s: %q gives the error %v, want an *Error", why, text, err)
		return
	}
	if e.Text != text || e.Part != part || e.Error() != message {
		t.Errorf("%s: %q\n got %s: %s\nwant %s: %s", why, text, e.Part, e.Error(), part, message)
	}
}

func TestZeroImage(t *testing.T) {
	var zero reference.Image
	if zero.IsValid() {
		t.Error("the zero Image is valid")
	}
	if got := zero.String() + zero.Name() + zero.Host() + zero.Path() + zero.Tag() + zero.Digest(); got != "" {
		t.Errorf("the zero Image has the text %q", got)
	}
	if zero.Canonical() != zero || zero.Familiar() != zero {
		t.Error("the zero Image has another spelling")
	}
}

// Five spellings that people take for one another are one image, and the
// spellings stay five.
func TestHubSpellings(t *testing.T) {
	spellings := []string{"nginx:1", "library/nginx:1", "docker.io/nginx:1", "docker.io/library/nginx:1", "index.docker.io/library/nginx:1"}
	seen := map[reference.Image]bool{}
	canonical := map[reference.Image]bool{}
	familiar := map[reference.Image]bool{}
	for _, s := range spellings {
		img, err := reference.Parse(s)
		if err != nil {
			t.Fatal(err)
		}
		seen[img] = true
		canonical[img.Canonical()] = true
		familiar[img.Familiar()] = true
	}
	if len(seen) != 5 || len(canonical) != 1 || len(familiar) != 1 {
		t.Errorf("%d spellings, %d canonical, %d familiar; want 5, 1, 1", len(seen), len(canonical), len(familiar))
	}
}
