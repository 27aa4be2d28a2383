// SPDX-License-Identifier: Apache-2.0

package postrender_test

import (
	"errors"
	"os"
	"strings"
	"testing"

	helmv2 "github.com/fluxcd/helm-controller/api/v2"

	"github.com/cozystack/image-overrides/imageoverrides"
	"github.com/cozystack/image-overrides/postrender"
)

// What the README shows, to the letter.

func readTable(exists bool, secret map[string][]byte) (imageoverrides.Table, error) {
	if !exists {
		return imageoverrides.Table{}, nil // unknown: releases keep what they have
	}
	table, err := imageoverrides.ParseSecret(secret)
	if err != nil {
		return imageoverrides.Table{}, err // names the entry: nothing may be written
	}
	if err := table.Strict(); err != nil {
		return imageoverrides.Table{}, err // a table that Flux would break on
	}
	return table, nil
}

// An operator generates a release; live is what the cluster has of it, nil for none.
func generate(table imageoverrides.Table, release, live *helmv2.HelmRelease) {
	if live != nil && !table.Known() {
		release.Spec.PostRenderers = live.DeepCopy().Spec.PostRenderers // the last table's among them
	}
	postrender.Ensure(release, table)
}

// An API server is asked to write a release, and refuses while the table is broken.
func admit(exists bool, secret map[string][]byte, release, live *helmv2.HelmRelease) error {
	table, err := readTable(exists, secret)
	if err != nil {
		return err
	}
	generate(table, release, live)
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
		if err := admit(true, secret, release, nil); err == nil || release.Spec.PostRenderers != nil {
			t.Errorf("%s: %v, %v", why, err, release.Spec.PostRenderers)
		}
		if table, err := readTable(true, secret); err == nil || table.Known() {
			t.Errorf("%s: %v, %v", why, table, err)
		}
	}

	release := &helmv2.HelmRelease{}
	if err := admit(true, good, release, nil); err != nil {
		t.Fatal(err)
	}
	want, _ := readTable(true, good)
	if hash, ok := postrender.Hash(release.Spec.PostRenderers); !ok || !strings.HasPrefix(want.Hash(), hash) {
		t.Errorf("the release carries %q, %v", hash, ok)
	}

	generated := &helmv2.HelmRelease{}
	generate(imageoverrides.Table{}, generated, release)
	if len(generated.Spec.PostRenderers) != 1 {
		t.Errorf("while the table is unknown, a release becomes %v", generated.Spec.PostRenderers)
	}
	if err := admit(false, nil, &helmv2.HelmRelease{}, release); err != nil {
		t.Errorf("without a Secret the API server says %v", err)
	}
	fresh := &helmv2.HelmRelease{}
	if generate(imageoverrides.Table{}, fresh, nil); fresh.Spec.PostRenderers != nil {
		t.Errorf("while the table is unknown, a new release gets %v", fresh.Spec.PostRenderers)
	}
	if generate(want, fresh, nil); len(fresh.Spec.PostRenderers) != 1 {
		t.Errorf("a new release gets %v", fresh.Spec.PostRenderers)
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
