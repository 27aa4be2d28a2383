// SPDX-License-Identifier: Apache-2.0

package conformance

import (
	"bytes"
	"encoding/json"
	"os"
	"regexp"
	"runtime/debug"
	"strings"
	"testing"

	"pgregory.net/rapid"
	"sigs.k8s.io/kustomize/api/types"

	"github.com/cozystack/image-overrides/imageoverrides"
	"github.com/cozystack/image-overrides/internal/oracle"
)

// TestKustomizeVersion: this module has the kustomize of Flux 2.9, which the facts were measured with, while the root's
// tests have that of Flux 2.8.
func TestKustomizeVersion(t *testing.T) {
	info, ok := debug.ReadBuildInfo()
	if !ok {
		t.Fatal("a test without build information")
	}
	for _, m := range info.Deps {
		if m.Path == "sigs.k8s.io/kustomize/api" && m.Version != "v0.21.1" {
			t.Errorf("kustomize/api is at %s", m.Version)
		}
	}
}

// TestKustomizeFacts: what was measured is what kustomize does, to the byte, errors included, their white space aside. The root's test of this
// name holds Rewrite against the same lines.
func TestKustomizeFacts(t *testing.T) {
	seen := 0
	for line := range strings.Lines(string(must(os.ReadFile("../../imageoverrides/testdata/kustomize-5.8.1.jsonl")))) {
		var fact struct {
			Why, In, Out, Error string
			Images              []types.Image
		}
		must(0, json.Unmarshal([]byte(line), &fact))
		seen++
		out, err := oracle.Kustomize(fact.Images, fact.In)
		switch {
		case err == nil && (fact.Error != "" || out != fact.Out):
			t.Errorf("%s: kustomize gives\n%s\nmeasured were %q and\n%s", fact.Why, out, fact.Error, fact.Out)
		case err != nil && fact.Error == "":
			t.Errorf("%s: kustomize refuses it: %v", fact.Why, err)
		case err != nil && steady(err.Error()) != steady(fact.Error):
			t.Errorf("%s: kustomize says\n%v\nmeasured was\n%s", fact.Why, err, fact.Error)
		}
	}
	if seen < 100 {
		t.Errorf("only %d facts", seen)
	}
}

// steady is kustomize's message in one line, without the addresses, which are others in each run.
func steady(text string) string {
	return address.ReplaceAllString(strings.Join(strings.Fields(text), " "), "0x0")
}

var address = regexp.MustCompile(`0x[0-9a-f]+`)

// TestRewriteAsKustomize is the root's law of this name with the other version of kustomize: the objects after Rewrite are those
// after kustomize, whole, for every table that Lint finds no error in.
func TestRewriteAsKustomize(t *testing.T) {
	t.Parallel()
	entry := rapid.Custom(func(t *rapid.T) imageoverrides.Override {
		return imageoverrides.Override{
			Name:    oracle.Name().Draw(t, "name"),
			NewName: rapid.OneOf(rapid.Just(""), oracle.Name(), rapid.Just("m.example.org:5000/y")).Draw(t, "newName"),
			NewTag:  rapid.SampledFrom([]string{"v2", "1.20", "b", "true"}).Draw(t, "newTag"),
			Digest:  rapid.SampledFrom([]string{"", "", "sha256:" + strings.Repeat("cd", 32)}).Draw(t, "digest"),
		}
	})
	tables := rapid.SliceOfNDistinct(entry, 0, 6, func(o imageoverrides.Override) string { return o.Name })
	rapid.Check(t, func(t *rapid.T) {
		list := tables.Draw(t, "table")
		table, err := imageoverrides.New(list...)
		if err == nil {
			err = table.Strict()
		}
		if err != nil {
			t.Fatalf("the generator is wrong: %v", err)
		}
		var images []types.Image
		for _, o := range list {
			images = append(images, types.Image{Name: o.Name, NewName: o.NewName, NewTag: o.NewTag, Digest: o.Digest})
		}
		in := oracle.Manifests().Draw(t, "manifests")
		want, err := oracle.Kustomize(images, in)
		if err != nil {
			t.Fatalf("kustomize refuses what the generator gives: %v\n%s", err, in)
		}
		var out bytes.Buffer
		if _, err := imageoverrides.Rewrite(&out, strings.NewReader(in), table); err != nil {
			t.Fatalf("%v in\n%s", err, in)
		}
		oracle.SameObjects(t, out.String(), want)
	})
}
