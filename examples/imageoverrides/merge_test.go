// SPDX-License-Identifier: Apache-2.0

package main

import (
	"strings"
	"testing"
)

// head is a HelmRelease up to its spec.
const head = "apiVersion: helm.toolkit.fluxcd.io/v2\nkind: HelmRelease\nmetadata: {name: r, namespace: n}\n"

func TestMergeCommand(t *testing.T) {
	const release = head + "spec:\n  chart: c\n"
	const after = release + "  postRenderers:\n  - kustomize:\n      images:\n      - name: image-overrides.invalid/table\n        newTag: b2ddc34e3209\n      - name: registry.k8s.io/pause\n        newTag: \"3.10\"\n"
	files := func(text string) map[string]string { return map[string]string{"t": one, "a": text} }
	bad := func(why, text, at, reason string) call {
		return call{why: why, files: files(text), args: "merge -t t a", status: 1, stderr: "a:" + at + reason + "\n"}
	}
	const place = "spec.postRenderers cannot be edited in this place; write spec and spec.postRenderers out, as block style maps and lists without anchors"
	calls(t, []call{
		{why: "several files, a table in values", files: map[string]string{"v": oneValues, "a": strings.TrimSpace(release), "b": service, "c": "---\n" + release},
			args:   "merge -t v a b c",
			stdout: strings.TrimSuffix(after, "\n") + "\n---\n" + service + "---\n" + after,
			stderr: "a:1:1: HelmRelease n/r: table b2ddc34e3209 added\nc:2:1: HelmRelease n/r: table b2ddc34e3209 added\n3 documents, 2 releases, 2 changed\n"},
		{why: "what is no HelmRelease of v2", files: map[string]string{"t": one},
			stdin:  "\uFEFF# only a comment\n---\n\n---\napiVersion: helm.fluxcd.io/v1\nkind: HelmRelease\nspec: {}\n--- \napiVersion: helm.toolkit.fluxcd.io/v2\nkind: Other\nspec: {}\n---\n- HelmRelease\n---\ntext",
			stdout: "\uFEFF# only a comment\n---\n\n---\napiVersion: helm.fluxcd.io/v1\nkind: HelmRelease\nspec: {}\n--- \napiVersion: helm.toolkit.fluxcd.io/v2\nkind: Other\nspec: {}\n---\n- HelmRelease\n---\ntext",
			args:   "merge -t t", stderr: "<stdin>:5:1: HelmRelease of helm.fluxcd.io/v1, and not of helm.toolkit.fluxcd.io/v2: not reached\n4 documents, 0 releases, 0 changed, 1 not reached\n"},
		{why: "nothing", files: map[string]string{"t": one}, args: "merge -t t", stderr: "0 documents, 0 releases, 0 changed\n"},
		{why: "a table that breaks Flux", files: map[string]string{"t": "[{name: '[', newTag: a}]", "a": release}, args: "merge -t t a", status: 1,
			stderr: "t:1:9: error: overrides[0]: name \"[\" has the character '[', so that Flux reads it as a regular expression; write the image as manifests spell it, without tag and digest (no-reference)\n"},
		{why: "a broken table", files: map[string]string{"t": "[{name: a, newTag: 1}]", "a": release}, args: "merge -t t a", status: 1,
			stderr: "t:1:20: overrides[0].newTag must be a string, got float64; quote it\n"},
		{why: "no such file", files: files(release), args: "merge -t t a b", status: 1, stdout: after,
			stderr: "a:1:1: HelmRelease n/r: table b2ddc34e3209 added\nb: no such file or directory\n"},
		{why: "a folder", files: files(release), args: "merge -t t .", status: 1, stderr: ".: is a directory; name the files in it\n"},
		{why: "an error behind a release that is done", files: files(release + "---\n" + head + "spec: {chart: c, postRenderers: 5}\n---\n" + release), args: "merge -t t a", status: 1, stdout: after,
			stderr: "a:1:1: HelmRelease n/r: table b2ddc34e3209 added\na:7:1: HelmRelease n/r: spec.postRenderers must be a list\n"},
		bad("no YAML", "kind: [HelmRelease\n", "1:18: ", "did not find expected ',' or ']'"),
		bad("post-renderers that are a map", head+"spec:\n  chart: c\n  postRenderers: {kustomize: {}}\n", "1:1: ", "HelmRelease n/r: spec.postRenderers must be a list"),
		bad("a post-renderer that is text", head+"spec:\n  chart: c\n  postRenderers: [a]\n", "1:1: ", "HelmRelease n/r: spec.postRenderers[0]: must be a map, got string"),
		bad("images that are a map", head+"spec:\n  chart: c\n  postRenderers: [{kustomize: {images: {a: b}}}]\n", "1:1: ", "HelmRelease n/r: spec.postRenderers[0]: kustomize.images must be a list, got map"),
		bad("a tag that is a number", head+"spec:\n  chart: c\n  postRenderers: [{}, {kustomize: {images: [{name: a, newTag: 1.20}]}}]\n", "1:1: ",
			"HelmRelease n/r: spec.postRenderers[1]: kustomize.images.newTag must be a string, got number"),
		bad("a key that is a number", head+"spec:\n  chart: c\n  postRenderers: [{5: 6}]\n", "1:1: ", "HelmRelease n/r: spec.postRenderers[0]: json: unsupported type: map[interface {}]interface {}"),
		bad("a key given twice", head+"spec:\n  chart: c\n  postRenderers: [{kustomize: {}, kustomize: {}}]\n", "1:1: ",
			"HelmRelease n/r: spec.postRenderers[0]: mapping key \"kustomize\" already defined"),
		bad("an unknown field in the table's post-renderer", head+"spec:\n  chart: c\n  postRenderers: [{kustomize: {images: [{name: image-overrides.invalid/table, newTag: a}], patchesJson6902: []}}]\n", "1:1: ",
			"HelmRelease n/r: spec.postRenderers[0]: the table's post-renderer has an unknown field \"patchesJson6902\"; give that a post-renderer of its own"),
		bad("a spec behind an alias", "base: &s {chart: c}\n"+head+"spec: *s\n", "1:1: ", "HelmRelease n/r: "+place),
		bad("a list behind an alias", "base: &p []\n"+head+"spec: {chart: c, postRenderers: *p}\n", "1:1: ", "HelmRelease n/r: "+place),
		bad("a list from a merge key", "base: &s {postRenderers: [{}]}\n"+head+"spec:\n  <<: *s\n  chart: c\n", "1:1: ", "HelmRelease n/r: "+place),
		bad("a dash in a line of its own", head+"spec:\n  chart: c\n  postRenderers:\n  -\n    kustomize: {}\n", "1:1: ", "HelmRelease n/r: "+place),
		bad("a comment between items in brackets", head+"spec:\n  chart: c\n  postRenderers: [{}, # why\n    {}]\n", "1:1: ", "HelmRelease n/r: "+place),
		bad("text in quotes with a line that looks like a comment", head+"spec:\n  chart: c\n  a: \"b\n# c\"\nstatus: {}\n", "1:1: ", "HelmRelease n/r: "+place),
		bad("the same in a post-renderer", head+"spec:\n  chart: c\n  postRenderers:\n  - kustomize:\n      images:\n      - name: a\n        newTag: 'b\n# c'\n", "1:1: ", "HelmRelease n/r: "+place),
		bad("the same in a List", "kind: List\nitems:\n- "+strings.ReplaceAll(head, "\n", "\n  ")+"spec: {chart: c}\n- "+strings.ReplaceAll(head, "\n", "\n  ")+"spec:\n    chart: c\n    a: \"b\n# c\"\n", "3:3: ",
			"HelmRelease n/r, HelmRelease n/r: "+place),
		bad("an anchor in what would go", head+"spec:\n  chart: c\n  postRenderers:\n  - kustomize: {images: &a [{name: image-overrides.invalid/table}]}\n  a: *a\n", "1:1: ", "HelmRelease n/r: "+place),
		bad("an anchor in what would go, and one before", "base: &a x\n"+head+"spec:\n  chart: c\n  postRenderers:\n  - kustomize: {images: &a [{name: image-overrides.invalid/table}]}\n  a: *a\n", "1:1: ", "HelmRelease n/r: "+place),
		bad("a list that an alias stands for", head+"spec:\n  chart: c\n  postRenderers: &p\n  - {}\nother: *p\n", "1:1: ", "HelmRelease n/r: "+place),
		bad("a spec with a list that an alias stands for", head+"spec: &s\n  chart: c\n  postRenderers:\n  - {}\nother: *s\n", "1:1: ", "HelmRelease n/r: "+place),
		bad("a spec that an alias stands for", head+"spec: &s\n  chart: c\nother: *s\n", "1:1: ", "HelmRelease n/r: "+place),
		bad("an alias bomb", bomb(head+"spec: {chart: c, postRenderers: *i}\n"), "1:1: ", "HelmRelease n/r: spec.postRenderers[0]: document contains excessive aliasing"),
	})
}
