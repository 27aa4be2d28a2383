// SPDX-License-Identifier: Apache-2.0

package postrender_test

import (
	"errors"
	"os"
	"strings"
	"testing"

	helmv2 "github.com/fluxcd/helm-controller/api/v2"
	"github.com/fluxcd/pkg/apis/kustomize"
	"github.com/google/go-cmp/cmp"

	"github.com/cozystack/image-overrides/imageoverrides"
	"github.com/cozystack/image-overrides/postrender"
)

// What the README shows, to the letter.

func readTable(exists bool, secret map[string][]byte) (imageoverrides.Table, error) {
	if !exists {
		return imageoverrides.Table{}, nil // unknown: releases keep what they have
	}
	return imageoverrides.ParseSecret(secret) // an error names the entry; nothing may be written
}

// An operator generates a release; live is what the cluster has of it, nil for none.
func generate(table imageoverrides.Table, release, live *helmv2.HelmRelease) {
	var carried []helmv2.PostRenderer
	if live != nil {
		carried = live.Spec.PostRenderers // kept while the table is unknown, as far as it is a table's
	}
	release.Spec.PostRenderers = postrender.Compose(release.Spec.PostRenderers, carried, table)
}

// An API server is asked to write a release, and refuses while the table is broken. But the release whose
// chart writes the Secret has to be written, or the mended table could never arrive.
func admit(exists bool, secret map[string][]byte, release, live *helmv2.HelmRelease, writesSecret bool) error {
	table, err := readTable(exists, secret)
	if err != nil && !writesSecret {
		return err
	}
	generate(table, release, live) // with an error the table is unknown
	return nil
}

// A controller brings the releases in line that are there. An update that meets another's edit must fail.
func follow(table imageoverrides.Table, releases []*helmv2.HelmRelease, update func(*helmv2.HelmRelease) error) error {
	var errs []error
	for _, cached := range releases {
		if release := cached.DeepCopy(); postrender.Ensure(release, table) {
			errs = append(errs, update(release))
		}
	}
	return errors.Join(errs...)
}

// TestReadme: the README's code is the code above.
func TestReadme(t *testing.T) {
	readme, err := os.ReadFile("../README.md")
	if err != nil {
		t.Fatal(err)
	}
	source, err := os.ReadFile("readme_test.go")
	if err != nil {
		t.Fatal(err)
	}
	blocks := strings.Split(string(readme), "```go\n")[1:]
	for _, block := range blocks {
		code, _, _ := strings.Cut(block, "```")
		if !strings.Contains(string(source), code) {
			t.Errorf("no test compiles\n%s", code)
		}
	}
	if len(blocks) != 4 {
		t.Errorf("%d blocks of Go, want 4", len(blocks))
	}
}

// TestReadmeRuns: what the README shows does what it says.
func TestReadmeRuns(t *testing.T) {
	good := map[string][]byte{"values.yaml": []byte("_cluster:\n  image-overrides:\n  - name: nginx\n    newTag: v2\n")}
	for why, secret := range map[string]map[string][]byte{
		"no values":          {},
		"no data":            nil,
		"a fault":            {"values.yaml": []byte("_cluster:\n  image-overrides:\n  - name: nginx\n")},
		"Flux panics on it":  {"values.yaml": []byte("_cluster:\n  image-overrides:\n  - name: '['\n    newTag: v2\n")},
		"not the text of it": {"values.yaml": []byte("{")},
	} {
		release := &helmv2.HelmRelease{}
		if err := admit(true, secret, release, nil, false); err == nil || release.Spec.PostRenderers != nil {
			t.Errorf("%s: %v, %v", why, err, release.Spec.PostRenderers)
		}
		if table, err := readTable(true, secret); err == nil || table.Known() {
			t.Errorf("%s: %v, %v", why, table, err)
		}
	}

	release := &helmv2.HelmRelease{}
	if err := admit(true, good, release, nil, false); err != nil {
		t.Fatal(err)
	}
	want, _ := readTable(true, good)
	if hash, ok := postrender.Hash(release.Spec.PostRenderers); !ok || !strings.HasPrefix(want.Hash(), hash) {
		t.Errorf("the release carries %q, %v", hash, ok)
	}

	// A new own renderer, each state of the table, and the release that writes the Secret.
	patch := helmv2.PostRenderer{Kustomize: &helmv2.Kustomize{Patches: []kustomize.Patch{{Patch: "own"}}}}
	withOwn := func() *helmv2.HelmRelease {
		return &helmv2.HelmRelease{Spec: helmv2.HelmReleaseSpec{PostRenderers: []helmv2.PostRenderer{patch}}}
	}
	bad := map[string][]byte{"values.yaml": []byte("{")}
	both := []helmv2.PostRenderer{patch, postrender.Renderer(want)}
	for _, test := range []struct {
		why          string
		exists       bool
		secret       map[string][]byte
		live         *helmv2.HelmRelease
		writesSecret bool
		want         []helmv2.PostRenderer
	}{
		{"a table, a new release", true, good, nil, false, both},
		{"a table", true, good, release, false, both},
		{"no Secret", false, nil, release, false, both},
		{"no Secret, a new release", false, nil, nil, false, both[:1]},
		{"a broken table", true, bad, release, true, both},
		{"a broken table, a new release", true, bad, nil, true, both[:1]},
		{"an empty table", true, map[string][]byte{"values.yaml": []byte("_cluster: {}\n")}, release, false, both[:1]},
	} {
		generated := withOwn()
		if err := admit(test.exists, test.secret, generated, test.live, test.writesSecret); err != nil {
			t.Errorf("%s: %v", test.why, err)
		}
		if diff := cmp.Diff(test.want, generated.Spec.PostRenderers); diff != "" {
			t.Errorf("%s: -want +got\n%s", test.why, diff)
		}
	}

	conflict := errors.New("conflict")
	var updated []*helmv2.HelmRelease
	behind := &helmv2.HelmRelease{}
	err := follow(want, []*helmv2.HelmRelease{release, behind}, func(hr *helmv2.HelmRelease) error {
		updated = append(updated, hr)
		return conflict
	})
	if !errors.Is(err, conflict) || len(updated) != 1 || updated[0] == behind || behind.Spec.PostRenderers != nil {
		t.Errorf("%v, %d updates", err, len(updated))
	}
}
