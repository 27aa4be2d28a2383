// SPDX-License-Identifier: Apache-2.0

package imageoverrides

import (
	"bytes"
	"fmt"
	"strings"
	"testing"

	"sigs.k8s.io/kustomize/api/types"

	"github.com/cozystack/image-overrides/internal/oracle"
)

// kustomize is what kustomize makes of manifests.
func kustomize(overrides []Override, manifests string) (string, error) {
	var images []types.Image
	for _, o := range overrides {
		images = append(images, types.Image{Name: o.Name, NewName: o.NewName, NewTag: o.NewTag, Digest: o.Digest})
	}
	return oracle.Kustomize(images, manifests)
}

// tester is what testing.T and rapid.T have in common.
type tester = oracle.T

// fact is one line of testdata/kustomize-5.8.1.jsonl: what kustomize made of manifests.
type fact struct {
	Why    string     `json:"why"`
	Images []Override `json:"images"`
	In     string     `json:"in"`
	Out    string     `json:"out"`
	Error  string     `json:"error"`
}

func facts(t testing.TB) []fact {
	return lines[fact](t, "testdata/kustomize-5.8.1.jsonl")
}

// unchecked makes a table that the chart would refuse: kustomize was measured with such too.
func unchecked(overrides []Override) Table { return known(overrides, source{path: listPath}) }

func rewrite(t tester, table Table, in string) (string, Result) {
	t.Helper()
	var out bytes.Buffer
	result, err := Rewrite(&out, strings.NewReader(in), table)
	if err != nil {
		t.Fatalf("%v in\n%.4000s", err, in)
	}
	return out.String(), result
}

// apart are the facts in which Rewrite and kustomize part: what kustomize refuses, and
// what it changes besides images. Each has the number of images that Rewrite
// changes, or its error. In all of them Rewrite leaves every other byte as it is.
var apart = map[string]struct {
	changes int
	err     string
}{
	// No YAML.
	"matching nginx:": {err: "line 7, column 17: mapping values are not allowed in this context"},

	// A field is not what kustomize expects: that field is left alone.
	"strings in containers":                   {},
	"a list in containers":                    {},
	"image as a map in containers":            {},
	"spec.containers is a string":             {},
	"spec.template is a string":               {},
	"spec.volumes[].image is a string":        {},
	"spec.volumes[].image.reference is a map": {},
	"spec is a string":                        {},
	"top level is a string":                   {},

	// The stream is refused for what has nothing to do with images.
	"integer keys":                  {},
	"duplicate resource":            {changes: 2},
	"content on the separator line": {changes: 1},
	"separator glued to a key":      {changes: 1},
	"YAML directive":                {changes: 1},
	"notation: JSON with escapes":   {changes: 1},

	// The name is no regular expression, and kustomize panics.
	"name is an invalid regular expression": {},

	// kustomize changes or loses what is no image.
	"image null in containers":                            {},
	"spec.containers is null":                             {},
	"notation: two JSON objects in a row lose the second": {changes: 2},
}

// TestKustomizeFacts holds Rewrite against what kustomize was measured to do: the
// same objects, whole. Facts in which the two part are in apart.
func TestKustomizeFacts(t *testing.T) {
	seen := 0
	for _, fact := range facts(t) {
		t.Run(fact.Why, func(t *testing.T) {
			want, ok := apart[fact.Why]
			if !ok {
				if fact.Error != "" {
					t.Fatalf("kustomize refuses this, and apart does not say what Rewrite does: %s", fact.Error)
				}
				out, _ := rewrite(t, unchecked(fact.Images), fact.In)
				oracle.SameObjects(t, out, fact.Out)
				return
			}
			seen++
			var out bytes.Buffer
			result, err := Rewrite(&out, strings.NewReader(fact.In), unchecked(fact.Images))
			if text := fmt.Sprint(err); err != nil && text != want.err || err == nil && want.err != "" {
				t.Fatalf("error %v, want %q", err, want.err)
			}
			if err != nil {
				if out.Len() > 0 {
					t.Errorf("an error, and yet written: %q", out.String())
				}
				return
			}
			if len(result.Changes) != want.changes || len(result.Edits) != want.changes {
				t.Errorf("%d changes by %d edits, want %d", len(result.Changes), len(result.Edits), want.changes)
			}
			for _, change := range result.Changes {
				if image, _ := unchecked(fact.Images).Apply(change.Old); change.New != image {
					t.Errorf("%q became %q, want %q", change.Old, change.New, image)
				}
			}
			if back := undo(out.String(), result.Edits); back != fact.In {
				t.Errorf("undone, the text is %q, was %q", back, fact.In)
			}
		})
	}
	if seen != len(apart) {
		t.Errorf("apart has %d facts, %d were seen", len(apart), seen)
	}
}

// undo takes edits back.
func undo(out string, edits []Edit) string {
	var b strings.Builder
	at, grown := 0, 0 // in out, and how much longer than src it is so far
	for _, e := range edits {
		start := int(e.Offset) + grown
		b.WriteString(out[at:start])
		b.WriteString(e.Old)
		at = start + len(e.New)
		grown += len(e.New) - len(e.Old)
	}
	return b.String() + out[at:]
}
