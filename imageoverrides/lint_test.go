// SPDX-License-Identifier: Apache-2.0

package imageoverrides

import (
	"fmt"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

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
			`error no-reference 0 name: name "[" is no image name, and Flux reads it as a regular expression; write the image as manifests spell it, without tag and digest`}},
		{"a name that is another expression", []Override{tag("quay.io/c++")}, []string{
			`error no-reference 0 name: name "quay.io/c++" is no image name, and Flux reads it as a regular expression; write the image as manifests spell it, without tag and digest`}},
		{"a name with a scheme", []Override{tag("https://quay.io/a")}, []string{
			`error no-reference 0 name: name "https://quay.io/a" is no image name, and Flux reads it as a regular expression; write the image as manifests spell it, without tag and digest`}},
		{"a name with an IPv6 host", []Override{tag("[::1]:5000/a")}, []string{
			`error ipv6 0 name: name "[::1]:5000/a" has an IPv6 host, which Flux reads as a regular expression and never finds; give the registry a name`}},
		{"a newName with a tag", []Override{renamed("quay.io/a/b", "quay.io/c:v1")}, []string{
			`error new-name-bare 0 newName: newName "quay.io/c:v1" carries a tag or digest; move it to newTag or digest`}},
		{"a newName with a digest", []Override{renamed("quay.io/a/b", "quay.io/c@"+digestA)}, []string{
			`error new-name-bare 0 newName: newName "quay.io/c@` + digestA + `" carries a tag or digest; move it to newTag or digest`}},
		{"a newName that is none", []Override{renamed("quay.io/a/b", "quay.io/C/")}, []string{
			`error new-name 0 newName: newName "quay.io/C/" is no image name; write host and path, without a scheme`}},
		{"a newTag that is none", []Override{{Name: "quay.io/a/b", NewTag: "v1@sha256:ab"}}, []string{
			`error new-tag 0 newTag: newTag "v1@sha256:ab" is no tag; use up to 128 letters, digits, underscores, dots and dashes, and start with none of the last two`}},
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
			`warning spelling 0 name: "docker.io/library/nginx" leaves other spellings of the image alone: library/nginx, index.docker.io/library/nginx, nginx, docker.io/nginx, index.docker.io/nginx; add an entry for each that manifests use`}},
		{"an image of Docker Hub, not official", []Override{tag("bitnami/redis")}, []string{
			`warning spelling 0 name: "bitnami/redis" leaves other spellings of the image alone: docker.io/bitnami/redis, index.docker.io/bitnami/redis; add an entry for each that manifests use`}},
		{"two spellings", []Override{renamed("bitnami/redis", "quay.io/a"), renamed("docker.io/bitnami/redis", "quay.io/a"), tag("index.docker.io/bitnami/redis")}, []string{
			`warning same-image 1 name: "docker.io/bitnami/redis" is the image of entry 0 in another spelling; see that both say the same`,
			`warning same-image 2 name: "index.docker.io/bitnami/redis" is the image of entry 0 in another spelling; see that both say the same`}},
		{"one target", []Override{renamed("quay.io/a", "quay.io/x"), renamed("quay.io/b", "quay.io/x"), {Name: "quay.io/c", NewName: "quay.io/x", NewTag: "v1"}}, []string{
			`warning same-target 1 newName: "quay.io/b" and entry 0 become the same image; see that both are meant`}},
		{"three spellings, two with one target", []Override{renamed("bitnami/redis", "quay.io/a"), renamed("docker.io/bitnami/redis", "quay.io/b"), renamed("index.docker.io/bitnami/redis", "quay.io/b")}, []string{
			`warning same-image 1 name: "docker.io/bitnami/redis" is the image of entry 0 in another spelling; see that both say the same`,
			`warning same-image 2 name: "index.docker.io/bitnami/redis" is the image of entry 0 in another spelling; see that both say the same`}},
		{"one target, spelled in two ways", []Override{renamed("quay.io/a", "library/x"), renamed("quay.io/b", "docker.io/x")}, []string{
			`warning same-target 1 newName: "quay.io/b" and entry 0 become the same image; see that both are meant`}},
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
		err := table.Strict()
		if len(errs) == 0 && err != nil || len(errs) > 0 && (err == nil || err.Error() != strings.Join(errs, "\n")) {
			t.Errorf("%s: Strict says %v, the errors are %q", test.why, err, errs)
		}
		if list := all(err); len(list) != len(errs) {
			t.Errorf("%s: %d errors behind Strict's, want %d", test.why, len(list), len(errs))
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
