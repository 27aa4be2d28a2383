// SPDX-License-Identifier: Apache-2.0

package imageoverrides

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

// long is how a value of 300,000 letters is quoted.
var long = `"` + strings.Repeat("A", 1000) + `…" (300000 bytes)`

// expressions are the findings of names that are an a and one of these characters.
func expressions(characters string) (list []string) {
	for i, c := range characters {
		list = append(list, fmt.Sprintf("error no-reference %d name: name %q has the character %q, so that Flux reads it as a regular expression; write the image as manifests spell it, without tag and digest", i, "a"+string(c), c))
	}
	return list
}

func TestLint(t *testing.T) {
	tag := func(name string) Override { return Override{Name: name, NewTag: "v1"} }
	renamed := func(name, newName string) Override { return Override{Name: name, NewName: newName} }
	for _, test := range []struct {
		why       string
		overrides []Override
		want      []string
	}{
		{"a table as it should be", []Override{{"quay.io/a/b", "registry.example.org:5000/a/b", "v1.2", digestA}}, nil},
		{"a name that is a broken expression", []Override{tag("[")}, []string{
			`error no-reference 0 name: name "[" has the character '[', so that Flux reads it as a regular expression; write the image as manifests spell it, without tag and digest`}},
		{"a name that is another expression", []Override{tag("quay.io/c++")}, []string{
			`error no-reference 0 name: name "quay.io/c++" has the character '+', so that Flux reads it as a regular expression; write the image as manifests spell it, without tag and digest`}},
		{"a name with a scheme", []Override{tag("https://quay.io/a")}, []string{
			`warning no-reference 0 name: name "https://quay.io/a" is no image name: name "https://quay.io/a" has the scheme "https://" in front; it is only for images that are spelled so`}},
		{"a placeholder", []Override{tag("IMAGE_PLACEHOLDER"), tag("ghcr.io/Acme/Tool")}, []string{
			`warning no-reference 0 name: name "IMAGE_PLACEHOLDER" is no image name: repository "IMAGE_PLACEHOLDER" has the upper case letter 'I'; it is only for images that are spelled so`,
			`warning no-reference 1 name: name "ghcr.io/Acme/Tool" is no image name: repository "Acme/Tool" has the upper case letter 'A'; it is only for images that are spelled so`}},
		{"every character that is special", []Override{tag(`a\`), tag("a["), tag("a]"), tag("a("), tag("a)"), tag("a{"), tag("a}"), tag("a*"), tag("a+"), tag("a?"), tag("a|"), tag("a^"), tag("a$")}, expressions(`\[](){}*+?|^$`)},
		{"a name with an IPv6 host", []Override{tag("[::1]:5000/a")}, []string{
			`error ipv6 0 name: name "[::1]:5000/a" has an IPv6 host, which Flux reads as a regular expression and never finds; give the registry a name`}},
		{"a newName with a tag", []Override{renamed("quay.io/a/b", "quay.io/c:v1")}, []string{
			`error new-name-bare 0 newName: newName "quay.io/c:v1" carries a tag or digest; move it to newTag or digest`}},
		{"a newName with a digest", []Override{renamed("quay.io/a/b", "quay.io/c@"+digestA)}, []string{
			`error new-name-bare 0 newName: newName "quay.io/c@` + digestA + `" carries a tag or digest; move it to newTag or digest`}},
		{"a newName that is none", []Override{renamed("quay.io/a/b", "quay.io/C/")}, []string{
			`error new-name 0 newName: newName "quay.io/C/" is no image name: repository "C/" has the upper case letter 'C'`}},
		{"newNames that are none, each for its reason", []Override{renamed("quay.io/a", "ghcr.io/Acme/a"), renamed("quay.io/b", "https://a/b"), renamed("quay.io/c", "quay.io/a b"), renamed("quay.io/d", "quay.io/a/"), renamed("quay.io/e", "quay.io/")}, []string{
			`error new-name 0 newName: newName "ghcr.io/Acme/a" is no image name: repository "Acme/a" has the upper case letter 'A'`,
			`error new-name 1 newName: newName "https://a/b" is no image name: name "https://a/b" has the scheme "https://" in front`,
			`error new-name 2 newName: newName "quay.io/a b" is no image name: repository "a b" has a space`,
			`error new-name 3 newName: newName "quay.io/a/" is no image name: repository "a/" ends with '/'`,
			`error new-name 4 newName: newName "quay.io/" is no image name: repository "" is empty`}},
		{"hosts that no registry has", []Override{renamed("quay.io/a", "my_reg.example.org/a"), renamed("quay.io/b", "a:0/b"), renamed("quay.io/c", "a:70000/c"), renamed("quay.io/d", "[ff::1::2]:5000/d"), renamed("quay.io/e", "Registry:5000/e"), renamed("quay.io/f", "[::1]/f")}, []string{
			`error new-name-host 0 newName: newName "my_reg.example.org/a" has the host "my_reg.example.org", which has the character '_'`,
			`error new-name-host 1 newName: newName "a:0/b" has the host "a:0", which has the port 0, which is not 1 to 65535`,
			`error new-name-host 2 newName: newName "a:70000/c" has the host "a:70000", which has the port 70000, which is not 1 to 65535`,
			`error new-name-host 3 newName: newName "[ff::1::2]:5000/d" has the host "[ff::1::2]:5000", which has no IPv6 address in its brackets`}},
		{"no registry in front", []Override{renamed("quay.io/a", "nb-reg/k8s/pause"), renamed("quay.io/b", "my_reg/b"), renamed("quay.io/c", "pause")}, []string{
			`warning new-name-host 0 newName: newName "nb-reg/k8s/pause" names no registry, so that it is docker.io/nb-reg/k8s/pause; write docker.io/ in front if that is meant`,
			`warning new-name-host 1 newName: newName "my_reg/b" names no registry, so that it is docker.io/my_reg/b; write docker.io/ in front if that is meant`,
			`warning new-name-host 2 newName: newName "pause" names no registry, so that it is docker.io/library/pause; write docker.io/ in front if that is meant`}},
		{"a long value", []Override{renamed("quay.io/a", strings.Repeat("A", 300_000))}, []string{
			`error new-name 0 newName: newName ` + long + ` is no image name: repository ` + long + ` has the upper case letter 'A'`}},
		{"a newTag that is none", []Override{{Name: "quay.io/a/b", NewTag: "v1@sha256:ab"}}, []string{
			`error new-tag 0 newTag: newTag "v1@sha256:ab" is no tag: it has the character '@'`}},
		{"newTags that are none, each for its reason", []Override{{Name: "quay.io/a", NewTag: "1 2"}, {Name: "quay.io/b", NewTag: "-1"}, {Name: "quay.io/c", NewTag: strings.Repeat("1", 129)}}, []string{
			`error new-tag 0 newTag: newTag "1 2" is no tag: it has a space`,
			`error new-tag 1 newTag: newTag "-1" is no tag: it begins with '-'`,
			`error new-tag 2 newTag: newTag "` + strings.Repeat("1", 129) + `" is no tag: it has 129 characters, 128 are allowed`}},
		{"a chain", []Override{renamed("quay.io/a", "quay.io/b"), renamed("quay.io/b", "quay.io/c")}, []string{
			`warning chain 0 newName: "quay.io/a" becomes what entry 1 renames in turn; write the last name here, if both are meant`}},
		{"a chain, backwards", []Override{renamed("quay.io/b", "quay.io/c"), renamed("quay.io/a", "quay.io/b")}, []string{
			`warning chain 1 newName: "quay.io/a" becomes what entry 0, further up, renames: a second pass over the outcome would change it again; write the last name here`}},
		{"a swap", []Override{renamed("quay.io/a", "quay.io/b"), renamed("quay.io/b", "quay.io/a")}, []string{
			`warning ring 0 newName: "quay.io/a" becomes what entry 1 renames, in a ring; entries apply one after the other, so images do not swap places`,
			`warning ring 1 newName: "quay.io/b" becomes what entry 0 renames, in a ring; entries apply one after the other, so images do not swap places`}},
		{"a ring of three, and an entry that leads into it", []Override{renamed("quay.io/x", "quay.io/a"), renamed("quay.io/a", "quay.io/b"), renamed("quay.io/b", "quay.io/c"), renamed("quay.io/c", "quay.io/a")}, []string{
			`warning chain 0 newName: "quay.io/x" becomes what entry 1 renames in turn; write the last name here, if both are meant`,
			`warning ring 1 newName: "quay.io/a" becomes what entry 2 renames, in a ring; entries apply one after the other, so images do not swap places`,
			`warning ring 2 newName: "quay.io/b" becomes what entry 3 renames, in a ring; entries apply one after the other, so images do not swap places`,
			`warning ring 3 newName: "quay.io/c" becomes what entry 1 renames, in a ring; entries apply one after the other, so images do not swap places`,
			`warning same-target 3 newName: "quay.io/c" and entry 0 become the same image; see that both are meant`}},
		{"an image of Docker Hub", []Override{tag("docker.io/library/nginx")}, []string{
			`warning spelling 0 name: manifests may spell images of Docker Hub in ways that the table leaves alone: "docker.io/library/nginx" as library/nginx, index.docker.io/library/nginx, nginx, docker.io/nginx, index.docker.io/nginx. Add an entry for each spelling that they use`}},
		{"an image of Docker Hub, not official", []Override{tag("bitnami/redis")}, []string{
			`warning spelling 0 name: manifests may spell images of Docker Hub in ways that the table leaves alone: "bitnami/redis" as docker.io/bitnami/redis, index.docker.io/bitnami/redis. Add an entry for each spelling that they use`}},
		{"two spellings", []Override{renamed("bitnami/redis", "quay.io/a"), renamed("docker.io/bitnami/redis", "quay.io/a"), tag("index.docker.io/bitnami/redis")}, []string{
			`warning same-image 1 name: "docker.io/bitnami/redis" is the image of entry 0 in another spelling; see that both say the same`,
			`warning same-image 2 name: "index.docker.io/bitnami/redis" is the image of entry 0 in another spelling; see that both say the same`}},
		{"one target", []Override{renamed("quay.io/a", "quay.io/x"), renamed("quay.io/b", "quay.io/x"), {Name: "quay.io/c", NewName: "quay.io/x", NewTag: "v1"}}, []string{
			`warning same-target 1 newName: "quay.io/b" and entry 0 become the same image; see that both are meant`}},
		{"three spellings, two with one target", []Override{renamed("bitnami/redis", "quay.io/a"), renamed("docker.io/bitnami/redis", "quay.io/b"), renamed("index.docker.io/bitnami/redis", "quay.io/b")}, []string{
			`warning same-image 1 name: "docker.io/bitnami/redis" is the image of entry 0 in another spelling; see that both say the same`,
			`warning same-image 2 name: "index.docker.io/bitnami/redis" is the image of entry 0 in another spelling; see that both say the same`}},
		{"one target, spelled in two ways", []Override{renamed("quay.io/a", "library/x"), renamed("quay.io/b", "docker.io/x")}, []string{
			`warning new-name-host 0 newName: newName "library/x" names no registry, so that it is docker.io/library/x; write docker.io/ in front if that is meant`,
			`warning same-target 1 newName: "quay.io/b" and entry 0 become the same image; see that both are meant`}},
		{"two entries without a new name", []Override{tag("quay.io/a"), tag("quay.io/b")}, nil},
		{"no change", []Override{renamed("quay.io/a", "quay.io/a")}, []string{
			`warning no-change 0 newName: newName is the name itself, and nothing else is set; drop the entry`}},
		{"the name itself, and a tag", []Override{{Name: "quay.io/a", NewName: "quay.io/a", NewTag: "v1"}}, nil},
	} {
		table := mustTable(t, test.overrides...)
		var got, errs []string
		for _, f := range table.Lint() {
			got = append(got, fmt.Sprintf("%s %s %d %s: %s", f.Severity, f.Rule, f.Entry, f.Field, f.Message))
			if f.Severity == SeverityError {
				errs = append(errs, fmt.Sprintf("overrides[%d]: %s", f.Entry, f.Message))
			}
		}
		if strings.Join(got, "\n") != strings.Join(test.want, "\n") {
			t.Errorf("%s: got\n%s\nwant\n%s", test.why, strings.Join(got, "\n"), strings.Join(test.want, "\n"))
		}
		var refused []string
		for _, e := range Faults(table.Strict()) {
			refused = append(refused, e.Error())
		}
		if diff := cmp.Diff(errs, refused); diff != "" {
			t.Errorf("%s: the errors, and what Strict says\n%s", test.why, diff)
		}
	}
}

// TestLintChains: Lint tells a chain or a ring exactly where a second pass over some
// image that an entry matches, or a later entry, makes a difference.
func TestLintChains(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		table := genTable(true).Draw(t, "table")
		told := make(map[int]bool)
		for _, f := range table.Lint() {
			if f.Rule == RuleChain || f.Rule == RuleRing {
				told[f.Entry] = true
			}
		}
		for i, o := range table.All() {
			outcome := o.replace(o.Name)
			feeds := false
			for j := range table.All() {
				feeds = feeds || j != i && table.t.index.next(outcome, j) == j
			}
			if feeds != told[i] {
				t.Fatalf("%+v: entry %d makes %q, told %v, feeds another %v", overridesOf(table), i, outcome, told[i], feeds)
			}
		}
	})
}

// TestLintLong: a ring and a chain through every entry of a large table are found in
// time that follows its length.
func TestLintLong(t *testing.T) {
	const n = 20_000
	overrides := make([]Override, n)
	for i := range overrides {
		overrides[i] = Override{Name: fmt.Sprintf("quay.io/a/%d", i), NewName: fmt.Sprintf("quay.io/a/%d", (i+1)%n)}
	}
	count := make(map[Rule]int)
	for _, f := range mustTable(t, overrides...).Lint() {
		count[f.Rule]++
	}
	if count[RuleRing] != n || count[RuleChain] != 0 {
		t.Errorf("the ring gives %v", count)
	}
	count = make(map[Rule]int)
	for _, f := range mustTable(t, overrides[:n-1]...).Lint() {
		count[f.Rule]++
	}
	if count[RuleChain] != n-2 || count[RuleRing] != 0 {
		t.Errorf("the chain gives %v", count)
	}
}

// TestLintSpellings: the spellings of all images of Docker Hub are one finding, which names the first ten.
func TestLintSpellings(t *testing.T) {
	var overrides []Override
	var named []string
	for i := range 37 {
		name := fmt.Sprintf("org/app-%d", i)
		overrides = append(overrides, Override{Name: name, NewTag: "v1"}, Override{Name: fmt.Sprintf("quay.io/a/%d", i), NewTag: "v1"})
		named = append(named, fmt.Sprintf("%q as docker.io/%s, index.docker.io/%s", name, name, name))
	}
	// The spelling that the table has, and the image that it has in another, are not told.
	overrides = append(overrides, Override{Name: "docker.io/org/app-0", NewTag: "v1"})
	named[0] = `"org/app-0" as index.docker.io/org/app-0`
	want := Finding{
		Rule: RuleSpelling, Severity: SeverityWarning, Path: "overrides", Field: "name",
		Message: "manifests may spell images of Docker Hub in ways that the table leaves alone: " + strings.Join(named[:10], "; ") +
			"; and 27 images more. Add an entry for each spelling that they use",
	}
	for i := range 37 {
		want.Entries = append(want.Entries, 2*i)
	}
	findings := mustTable(t, overrides...).Lint()
	same := Finding{Rule: RuleSameImage, Severity: SeverityWarning, Path: "overrides", Entry: 74, Field: "name", Message: `"docker.io/org/app-0" is the image of entry 0 in another spelling; see that both say the same`}
	if diff := cmp.Diff([]Finding{want, same}, findings); diff != "" {
		t.Error(diff)
	}
}
