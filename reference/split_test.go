// SPDX-License-Identifier: Apache-2.0

package reference_test

import (
	"regexp"
	"testing"

	"pgregory.net/rapid"
	"sigs.k8s.io/kustomize/api/filters/imagetag"
	"sigs.k8s.io/kustomize/api/types"
	"sigs.k8s.io/kustomize/kyaml/yaml"

	"github.com/cozystack/image-overrides/reference"
)

var splits = []struct {
	why, in, name, tag, digest string
}{
	{"nothing", "", "", "", ""},
	{"a name", "nginx", "nginx", "", ""},
	{"a tag", "nginx:1", "nginx", "1", ""},
	{"a digest", "nginx@" + sha256, "nginx", "", sha256},
	{"both", "nginx:1@" + sha256, "nginx", "1", sha256},
	{"a port", "localhost:5000/a", "localhost:5000/a", "", ""},
	{"a port and both", "localhost:5000/a/b:1@" + sha512, "localhost:5000/a/b", "1", sha512},
	{"a port without a path is a tag", "localhost:5000", "localhost", "5000", ""},
	{"IPv6", "[::1]:5000/a:1", "[::1]:5000/a", "1", ""},
	{"IPv6 without a path", "[::1]", "[", ":1]", ""},
	{"a scheme", "https://a/b:1", "https://a/b", "1", ""},
	{"an empty tag", "nginx:", "nginx", "", ""},
	{"an empty digest", "nginx@", "nginx", "", ""},
	{"both empty", "nginx:@", "nginx", "", ""},
	{"two tags", "nginx:1:2", "nginx", "1:2", ""},
	{"two tags and a digest", "nginx:1:2@x", "nginx", "1:2", "x"},
	{"a tag behind the digest", "nginx@sha256:ab:1", "nginx", "", "sha256:ab:1"},
	{"two digests", "nginx:1@a@b", "nginx", "1", "a@b"},
	{"only separators", ":@", "", "", ""},
	{"separators the other way round", "@:", "", "", ":"},
	{"doubled separators", "a::b@@c", "a", ":b", "@c"},
	{"a doubled '@'", "a@@b", "a", "", "@b"},
	{"a slash in the tag", "a/b:1/2", "a/b", "1/2", ""},
	{"the first slash counts, wherever it is", "a:1/b:2", "a:1/b", "2", ""},
	{"also behind an '@'", "a@b/c:1", "a@b/c", "1", ""},
	{"a slash in front does not count", "/a:1", "/a", "1", ""},
	{"only a slash", "/", "/", "", ""},
	{"a tag right behind the slash", "a/:1", "a/", "1", ""},
	{"spaces", " a : 1 ", " a ", " 1 ", ""},
	{"line breaks", "a\n:1\n", "a\n", "1\n", ""},
	{"no UTF-8", "\xff:\xfe@\xfd", "\xff", "\xfe", "\xfd"},
}

func TestSplit(t *testing.T) {
	for _, test := range splits {
		name, tag, digest := reference.Split(test.in)
		if name != test.name || tag != test.tag || digest != test.digest {
			t.Errorf("%s: Split(%q) = %q, %q, %q, want %q, %q, %q",
				test.why, test.in, name, tag, digest, test.name, test.tag, test.digest)
		}
		checkSplit(t, test.in)
	}
}

func TestSplitLaw(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) { checkSplit(t, texts.Draw(t, "text")) })
}

func FuzzSplit(f *testing.F) {
	for _, test := range splits {
		f.Add(test.in)
	}
	for _, test := range accepted {
		f.Add(test.in)
	}
	f.Fuzz(func(t *testing.T, s string) { checkSplit(t, s) })
}

// slowSplit is Split as a picture: a name that may have a first part in which
// nothing counts, a tag without an '@', and a digest that is the rest.
var slowSplit = regexp.MustCompile(`^(?s:((?:[^/]+/)?[^:@]*)(?::([^@]*))?(?:@(.*))?)$`)

// checkSplit compares Split with slowSplit and with kustomize itself.
func checkSplit(t rapid.TB, s string) {
	t.Helper()
	name, tag, digest := reference.Split(s)

	want := slowSplit.FindStringSubmatch(s)
	if want == nil || name != want[1] || tag != want[2] || digest != want[3] {
		t.Errorf("Split(%q) = %q, %q, %q, want %q", s, name, tag, digest, want)
	}

	// kustomize keeps its Split to itself, but what it puts together shows the
	// parts: a new tag leaves the name, a new name leaves tag and digest.
	if got := kustomize(t, s, types.Image{NewTag: "T"}); got != name+":T" {
		t.Errorf("Split(%q) has the name %q, with a new tag kustomize makes %q", s, name, got)
	}
	rebuilt := "N"
	if tag != "" {
		rebuilt += ":" + tag
	}
	if digest != "" {
		rebuilt += "@" + digest
	}
	if got := kustomize(t, s, types.Image{NewName: "N"}); got != rebuilt {
		t.Errorf("Split(%q) has the tag %q and the digest %q, with a new name kustomize makes %q", s, tag, digest, got)
	}
}

// kustomize returns what kustomize's image filter makes of an image that the entry
// is for.
func kustomize(t rapid.TB, image string, entry types.Image) string {
	t.Helper()
	entry.Name = "(?s:.*)" // a regular expression there, and this matches every text
	node := yaml.NewScalarRNode(image)
	object := yaml.NewMapRNode(nil)
	if err := object.PipeE(yaml.FieldSetter{Name: "image", Value: node}); err != nil {
		t.Fatal(err)
	}
	filter := imagetag.Filter{ImageTag: entry, FsSlice: types.FsSlice{{Path: "image"}}}
	if _, err := filter.Filter([]*yaml.RNode{object}); err != nil {
		t.Fatal(err)
	}
	return node.YNode().Value
}

func TestSplitDoesNotAllocate(t *testing.T) {
	for _, test := range splits {
		if n := testing.AllocsPerRun(100, func() { reference.Split(test.in) }); n != 0 {
			t.Errorf("%s: Split(%q) allocates %v times", test.why, test.in, n)
		}
	}
}
