// SPDX-License-Identifier: Apache-2.0

package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestPatches: what is patched, what is not and why, and the exit status.
func TestPatches(t *testing.T) {
	dir := t.TempDir()
	write := func(name, text string) string {
		file := filepath.Join(dir, name)
		if err := os.WriteFile(file, []byte(text), 0o666); err != nil {
			t.Fatal(err)
		}
		return file
	}
	table := write("values.yaml", "registries:\n  imageOverrides:\n  - {name: quay.io/a/b, newName: reg.example.org/a/b}\n  - {name: quay.io/c, newTag: v2}\n")
	thing := "apiVersion: x.io/v1\nkind: Thing\nmetadata: {name: n, namespace: s}\nspec:\n  image: quay.io/a/b:v1\n"
	job := "apiVersion: batch/v1\nkind: Job\nmetadata: {name: n, namespace: s}\nspec: {template: {spec: {containers: [{name: c, image: quay.io/c:v1, args: [--image=quay.io/a/b:v1]}]}}}\n"
	patched := `postRenderers:
- kustomize:
    patches:
    - patch: |
        [
          {"op":"test","path":"/spec/image","value":"quay.io/a/b:v1"},
          {"op":"replace","path":"/spec/image","value":"reg.example.org/a/b:v1"}
        ]
      target:
        group: x\.io
        kind: Thing
        name: "n"
        namespace: s
        version: v1
`
	for _, test := range []struct {
		why    string
		files  []string // their texts, in order a.yaml, b.yaml
		flags  []string
		status int
		stdout string
		stderr string // $ is the folder
	}{
		{"nothing", nil, nil, 2, "", "the manifests have no document; see whether what renders them has failed\n"},
		{"no image", []string{"apiVersion: v1\nkind: Namespace\nmetadata: {name: n}\n"}, nil, 0, "", "0 images where Flux does not look: 0 in step with the table, 0 not, of which 0 without an entry\n"},
		{"an image", []string{thing}, nil, 0, "# $/a.yaml\n" + patched, "1 image where Flux does not look: 1 in step with the table, 0 not, of which 0 without an entry\n"},
		{"two releases, one of them without", []string{thing, strings.Replace(thing, "a/b:v1", "x:v1", 1), thing}, nil, 1, "# $/a.yaml\n" + patched + "---\n# $/c.yaml\n" + patched,
			"$/b.yaml:5:10: Thing s/n: spec.image: quay.io/x:v1 is not patched: the table has no entry for it\n3 images where Flux does not look: 2 in step with the table, 1 not, of which 1 without an entry\n"},
		{"what may stay", []string{strings.Replace(thing, "a/b:v1", "x:v1", 1)}, []string{"-allow", "quay.io/x"}, 0, "", "1 image where Flux does not look: 1 in step with the table, 0 not, of which 0 without an entry\n"},
		{"suspected", []string{strings.Replace(thing, "image: quay.io/a/b:v1", "text: see a/b:v1.0 quay.io/a/b", 1)}, nil, 1, "",
			"$/a.yaml:5:22: Thing s/n: spec.text: quay.io/a/b is not patched: it reads like an image, and nothing says that it is one; look at it, and have it patched as one if it is\n1 image where Flux does not look: 0 in step with the table, 1 not, of which 0 without an entry\n"},
		{"a Job", []string{job}, []string{"-o", "json"}, 0, `[
  {
    "source": "$/a.yaml",
    "postRenderers": [
      {
        "kustomize": {
          "patches": [
            {
              "patch": "[\n  {\"op\":\"test\",\"path\":\"/spec/template/spec/containers/0/args/0\",\"value\":\"--image=quay.io/a/b:v1\"},\n  {\"op\":\"replace\",\"path\":\"/spec/template/spec/containers/0/args/0\",\"value\":\"--image=reg.example.org/a/b:v1\"}\n]\n",
              "target": {
                "group": "batch",
                "version": "v1",
                "kind": "Job",
                "namespace": "s",
                "name": "n"
              }
            }
          ]
        }
      }
    ]
  }
]
`, "$/a.yaml:4:85: Job s/n: spec.template.spec.containers[0].args[0]: a Job, whose template is immutable: once it is there, an upgrade fails unless its name changes\n1 image where Flux does not look: 1 in step with the table, 0 not, of which 0 without an entry\n"},
		{"a Job that is a hook", []string{strings.Replace(job, "{name: n,", "{annotations: {helm.sh/hook: pre-install}, name: n,", 1)}, []string{"-hooks", "kept"}, 1, "",
			"$/a.yaml:4:56: Job s/n: spec.template.spec.containers[0].image: quay.io/c:v1 is not patched: it is a hook, which Flux keeps from post-renderers; change it in the chart's values\n" +
				"$/a.yaml:4:85: Job s/n: spec.template.spec.containers[0].args[0]: quay.io/a/b:v1 is not patched: it is a hook, which Flux keeps from post-renderers; change it in the chart's values\n" +
				"2 images where Flux does not look: 0 in step with the table, 2 not, of which 0 without an entry\n"},
		{"what is not read", []string{"a: [\n---\n" + thing}, nil, 1, "# $/a.yaml\n" + patched, "$/a.yaml:1:4: did not find expected node content\n1 image where Flux does not look: 1 in step with the table, 0 not, of which 0 without an entry\n"},
	} {
		args := append([]string{"patches", "-t", table}, test.flags...)
		if test.files == nil {
			args = append(args, write("a.yaml", ""))
		}
		for i, text := range test.files {
			args = append(args, write(string(rune('a'+i))+".yaml", text))
		}
		status, stdout, stderr := command(t, "", false, args...)
		if diff := cmp.Diff([]any{test.status, test.stdout, test.stderr}, []any{status, strings.ReplaceAll(stdout, dir, "$"), strings.ReplaceAll(stderr, dir, "$")}); diff != "" {
			t.Errorf("%s\n%s", test.why, diff)
		}
	}
	status, stdout, _ := command(t, thing, false, "patches", "-t", table, "-suspected", "-")
	if diff := cmp.Diff("# <stdin>\n"+patched, stdout); status != 0 || diff != "" {
		t.Errorf("%d\n%s", status, diff)
	}
}
