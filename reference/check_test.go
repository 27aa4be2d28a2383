// SPDX-License-Identifier: Apache-2.0

package reference_test

import (
	"strings"
	"testing"

	"github.com/cozystack/image-overrides/reference"
)

// checks are texts for the functions that judge one part; an empty message means
// that the text is accepted.
var checks = []struct {
	what string
	f    func(string) error
	part string
	rows []check
}{
	{"CheckName", reference.CheckName, "name", []check{
		{"short", "nginx", ""},
		{"with a host", "registry.k8s.io/sig-storage/csi-attacher", ""},
		{"with a port", "localhost:5000/a", ""},
		{"with IPv6", "[::1]:5000/a", ""},
		{"nothing", "", `name "" is empty`},
		{"a tag", "nginx:1", `name "nginx:1" has the tag "1"`},
		{"a host and port alone", "localhost:5000", `name "localhost:5000" has the tag "5000"`},
		{"a digest", "nginx@" + sha256, `name "nginx@` + sha256 + `" has the digest "` + sha256 + `"`},
		{"both", "nginx:1@" + sha256, `name "nginx:1@` + sha256 + `" has the tag "1"`},
		{"a scheme", "oci://nginx", `name "oci://nginx" has the scheme "oci://" in front`},
	}},
	{"CheckTag", reference.CheckTag, "tag", []check{
		{"a version", "v1.2.3-rc.1_x", ""},
		{"a '_' in front", "_", ""},
		{"the longest", strings.Repeat("a", 128), ""},
		{"nothing", "", `tag "" is empty`},
		{"too long", strings.Repeat("a", 129), `tag "` + strings.Repeat("a", 129) + `" has 129 characters, 128 are allowed`},
		{"a '.' in front", ".1", `tag ".1" begins with '.'`},
		{"a '-' in front", "-1", `tag "-1" begins with '-'`},
		{"its ':'", ":1", `tag ":1" has the character ':'`},
		{"a digest", "1@" + sha256, `tag "1@` + sha256 + `" has the character '@'`},
		{"a space", "1 2", `tag "1 2" has a space`},
		{"a tab", "1\t", `tag "1\t" has the character '\t'`},
		{"another alphabet", "ß", `tag "ß" has the character 'ß'`},
		{"the replacement character", "\ufffd", `tag "�" has the character '�'`},
		{"no UTF-8", "1\x80", `tag "1\x80" has the byte 0x80`},
	}},
	{"CheckDigest", reference.CheckDigest, "digest", []check{
		{"sha256", sha256, ""},
		{"sha384", sha384, ""},
		{"sha512", sha512, ""},
		{"nothing", "", `digest "" is empty`},
		{"its '@'", "@" + sha256, `digest "@` + sha256 + `" has the algorithm "@sha256", which is not sha256, sha384 or sha512`},
		{"only hex", hex64, `digest "` + hex64 + `" has no ':' between an algorithm and its hex digits`},
		{"too long", sha256 + "0", `digest "` + sha256 + `0" has 65 hex digits, sha256 has 64`},
		{"upper case", "sha256:AB", `digest "sha256:AB" has the upper case letter 'A' among its hex digits`},
		{"a space behind", sha256 + " ", `digest "` + sha256 + ` " has a space among its hex digits`},
	}},
	{"ValidateHost", reference.ValidateHost, "host", []check{
		{"a name", "registry.example.org", ""},
		{"a word with a port", "registry:5000", ""},
		{"IPv4", "10.0.0.1", ""},
		{"IPv6", "[::1]", ""},
		{"IPv6 and a port", "[2001:db8::1]:443", ""},
		{"localhost", "localhost", ""},
		{"localhost and a port", "localhost:5000", ""},
		{"upper case", "Registry", ""},
		{"the last port", "a:65535", ""},
		{"the hub", "docker.io", ""},
		{"nothing", "", `host "" is empty`},
		{"a scheme", "https://registry.example.org", `host "https://registry.example.org" has the scheme "https://" in front`},
		{"a path", "registry.example.org/mirror", `host "registry.example.org/mirror" has the path "/mirror"`},
		{"a slash behind", "registry.example.org/", `host "registry.example.org/" has the path "/"`},
		{"a tag", "registry.example.org:v1", `host "registry.example.org:v1" has the port "v1", which is not a number`},
		{"a user", "me@registry.example.org", `host "me@registry.example.org" has '@', where a host has neither user nor digest`},
		{"a word", "registry", `host "registry" would be read as a path on Docker Hub, for want of a '.' or a port`},
		{"port 0", "a:0", `host "a:0" has the port 0, which is not 1 to 65535`},
		{"port 00", "a:00", `host "a:00" has the port 00, which is not 1 to 65535`},
		{"a port out of range", "a:65536", `host "a:65536" has the port 65536, which is not 1 to 65535`},
		{"a port beyond every number", "a:99999999999999999999", `host "a:99999999999999999999" has the port 99999999999999999999, which is not 1 to 65535`},
		{"a signed port", "a:+1", `host "a:+1" has the port "+1", which is not a number`},
		{"no port", "a:", `host "a:" has an empty port`},
		{"no name", ":5000", `host ":5000" has nothing in front of its port`},
		{"a trailing dot", "registry.example.org.", `host "registry.example.org." ends with '.'`},
		{"a '_'", "my_registry.local", `host "my_registry.local" has the character '_'`},
		{"IPv6 without brackets", "::1", `host "::1" has more than one ':' (an IPv6 address stands in brackets)`},
		{"no IPv6 address", "[:]", `host "[:]" has no IPv6 address in its brackets`},
		{"hex digits that are no address", "[ABCD]:1", `host "[ABCD]:1" has no IPv6 address in its brackets`},
		{"a zone", "[fe80::1%eth0]", `host "[fe80::1%eth0]" has the character '%' in its brackets`},
		{"IPv4 in brackets", "[10.0.0.1]", `host "[10.0.0.1]" has the character '.' in its brackets`},
		{"a space", " registry.example.org", `host " registry.example.org" has a space`},
	}},
	{"ValidateRepository", reference.ValidateRepository, "repository", []check{
		{"nothing", "", ""},
		{"one component", "mirror", ""},
		{"some", "os/external__x/a-b.c_d", ""},
		{"a host is a component as any", "docker.io/library", ""},
		{"the longest", strings.Repeat("a", 255), ""},
		{"too long", strings.Repeat("a", 256), `repository "` + strings.Repeat("a", 256) + `" has 256 characters, 255 are allowed`},
		{"a slash in front", "/a", `repository "/a" begins with '/'`},
		{"a slash behind", "a/", `repository "a/" ends with '/'`},
		{"only a slash", "/", `repository "/" begins with '/'`},
		{"two slashes", "a//b", `repository "a//b" has "//"`},
		{"upper case", "Mirror", `repository "Mirror" has the upper case letter 'M'`},
		{"a port", "registry:5000/a", `repository "registry:5000/a" has the character ':'`},
		{"up a directory", "a/../b", `repository "a/../b" has "..", which begins with '.'`},
	}},
}

type check struct{ why, in, message string }

func TestChecks(t *testing.T) {
	for _, test := range checks {
		t.Run(test.what, func(t *testing.T) {
			for _, row := range test.rows {
				err := test.f(row.in)
				if row.message != "" {
					checkError(t, row.why, err, row.in, test.part, row.message)
				} else if err != nil {
					t.Errorf("%s: %q: %v", row.why, row.in, err)
				}
			}
		})
	}
}

// What CheckName has from Parse, it tells as Parse does.
func TestCheckNameRefusesWhatParseRefuses(t *testing.T) {
	for _, test := range refused {
		checkError(t, test.why, reference.CheckName(test.in), test.in, test.part, test.message)
	}
}
