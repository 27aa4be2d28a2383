// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"fmt"
	"strings"
	"testing"
)

// head is a HelmRelease up to its spec.
const head = "apiVersion: helm.toolkit.fluxcd.io/v2\nkind: HelmRelease\nmetadata: {name: r, namespace: n}\n"

// TestMerge puts the table one, or the empty table, into one release.
func TestMerge(t *testing.T) {
	// The table's post-renderer, in a list that is indented by two.
	const table = `  - kustomize:
      images:
      - name: image-overrides.invalid/table
        newTag: b2ddc34e3209
      - name: registry.k8s.io/pause
        newTag: "3.10"
`
	const older = `  - kustomize:
      images:
      - name: image-overrides.invalid/table
        newTag: aaaaaaaaaaaa
      - name: registry.k8s.io/pause
        newTag: "3.8"   # goes with its comments
`
	const tableJSON = `{"kustomize":{"images":[{"name":"image-overrides.invalid/table","newTag":"b2ddc34e3209"},{"name":"registry.k8s.io/pause","newTag":"3.10"}]}}`
	const own = "  # the release's own\n  - kustomize:\n      images: [{name: a, newTag: b}]   # and its\n"
	deeper := func(text string) string {
		return "  " + strings.ReplaceAll(strings.TrimSuffix(text, "\n"), "\n", "\n  ") + "\n"
	}
	crlf := func(text string) string { return strings.ReplaceAll(text, "\n", "\r\n") }
	const added, replaced, removed = "table b2ddc34e3209 added", "table b2ddc34e3209 in place of aaaaaaaaaaaa", "table aaaaaaaaaaaa removed"

	for _, c := range []struct {
		why     string
		empty   bool // the table
		in, out string
		change  string // "" for none
	}{
		{why: "no post-renderers: behind the other fields", in: head + "spec:\n  chart: c\n", out: head + "spec:\n  chart: c\n  postRenderers:\n" + table, change: added},
		{why: "before blank lines and what follows", change: added,
			in:  head + "spec:\n  chart: c\n  values:\n    a: b   # why\n    # c: d\n  # e: f\n\n# of the status\nstatus: {}\n",
			out: head + "spec:\n  chart: c\n  values:\n    a: b   # why\n    # c: d\n  # e: f\n  postRenderers:\n" + table + "\n# of the status\nstatus: {}\n"},
		{why: "behind a block of text that keeps its blank lines", change: added,
			in:  head + "spec:\n  chart: c\n  values:\n    a: |+\n      # b\n\n\nstatus: {}\n",
			out: head + "spec:\n  chart: c\n  values:\n    a: |+\n      # b\n\n\n  postRenderers:\n" + table + "status: {}\n"},
		{why: "behind a block of text that ends in spaces", change: added,
			in:  head + "spec:\n  chart: c\n  values: |\n    b\n     \nstatus: {}\n",
			out: head + "spec:\n  chart: c\n  values: |\n    b\n     \n  postRenderers:\n" + table + "status: {}\n"},
		{why: "text that ends in what looks like a comment", change: added,
			in:  head + "spec:\n  chart: c\n  values: |\n   # b\n\nstatus: {}\n",
			out: head + "spec:\n  chart: c\n  values: |\n   # b\n  postRenderers:\n" + table + "\nstatus: {}\n"},
		{why: "no line break at the end", change: added,
			in: head + "spec:\n  chart: c", out: head + "spec:\n  chart: c\n  postRenderers:\n" + strings.TrimSuffix(table, "\n")},
		{why: "CRLF", change: added, in: crlf(head + "spec:\n  chart: c\n\n"), out: crlf(head + "spec:\n  chart: c\n  postRenderers:\n" + table + "\n")},
		{why: "an end of document", change: added, in: head + "spec:\n  chart: c\n...\n", out: head + "spec:\n  chart: c\n  postRenderers:\n" + table + "...\n"},

		{why: "own post-renderers", change: added,
			in:  head + "spec:\n  chart: c\n  postRenderers:\n" + own + "\n  # of the values\n  values: {}\n",
			out: head + "spec:\n  chart: c\n  postRenderers:\n" + own + table + "\n  # of the values\n  values: {}\n"},
		{why: "own post-renderers, in an indented list", change: added,
			in:  head + "spec:\n  chart: c\n  postRenderers:\n" + deeper(own) + "  # of the values\n  values: {}\n",
			out: head + "spec:\n  chart: c\n  postRenderers:\n" + deeper(own) + deeper(table) + "  # of the values\n  values: {}\n"},
		{why: "own post-renderers, no line break at the end", change: added,
			in:  head + "spec:\n  chart: c\n  postRenderers:\n" + strings.TrimSuffix(own, "\n"),
			out: head + "spec:\n  chart: c\n  postRenderers:\n" + own + strings.TrimSuffix(table, "\n")},
		{why: "a post-renderer without effect is the release's own", change: added,
			in: head + "spec:\n  chart: c\n  postRenderers:\n  - {}\n", out: head + "spec:\n  chart: c\n  postRenderers:\n  - {}\n" + table},
		{why: "own post-renderer behind an alias", change: added,
			in:  head + "spec:\n  chart: c\n  postRenderers:\n  - &a {kustomize: {images: []}}\n  - *a\n",
			out: head + "spec:\n  chart: c\n  postRenderers:\n  - &a {kustomize: {images: []}}\n  - *a\n" + table},
		{why: "fields of a beta that v2 does not know", change: added,
			in:  head + "spec:\n  chart: c\n  postRenderers:\n  - kustomize: {patchesStrategicMerge: [{a: 5}], images: [{name: registry.k8s.io/pause, newTag: '3.10'}]}\n",
			out: head + "spec:\n  chart: c\n  postRenderers:\n  - kustomize: {patchesStrategicMerge: [{a: 5}], images: [{name: registry.k8s.io/pause, newTag: '3.10'}]}\n" + table},

		{why: "an older table's, in its place; comments around it stay", change: replaced,
			in:  head + "spec:\n  chart: c\n  postRenderers:\n" + own + "  # from the platform\n" + older + "  # of the values\n  values: {}\n",
			out: head + "spec:\n  chart: c\n  postRenderers:\n" + own + "  # from the platform\n" + table + "  # of the values\n  values: {}\n"},
		{why: "an older table's, no line break at the end", change: replaced,
			in:  head + "spec:\n  chart: c\n  postRenderers:\n" + strings.TrimSuffix(older, "\n"),
			out: head + "spec:\n  chart: c\n  postRenderers:\n" + strings.TrimSuffix(table, "\n")},
		{why: "an older table's goes behind the release's own", change: replaced,
			in: head + "spec:\n  chart: c\n  postRenderers:\n" + older + own, out: head + "spec:\n  chart: c\n  postRenderers:\n" + own + table},
		{why: "two older tables'", change: replaced,
			in: head + "spec:\n  chart: c\n  postRenderers:\n" + older + own + older, out: head + "spec:\n  chart: c\n  postRenderers:\n" + own + table},
		{why: "patches in an older table's stay in its place", change: replaced,
			in: head + "spec:\n  chart: c\n  postRenderers:\n" + older + "      patches:\n      - patch: |\n          - op: remove\n            path: /a\n        target: {kind: Pod, name: 'yes'}\n" + own,
			out: head + "spec:\n  chart: c\n  postRenderers:\n  - kustomize:\n      patches:\n      - patch: |\n          - op: remove\n            path: /a\n" +
				"        target:\n          kind: Pod\n          name: \"yes\"\n" + own + table},
		{why: "a patch with a character that JSON may hold and YAML may not", change: replaced,
			in:  head + "spec:\n  chart: c\n  postRenderers:\n" + older + "      patches: [{patch: \"a\\x7F\\nb\"}]\n",
			out: head + "spec:\n  chart: c\n  postRenderers:\n  - kustomize:\n      patches:\n      - patch: \"a\\x7F\\nb\"\n" + table},
		{why: "the table's as earlier versions wrote it", change: added,
			in:  head + "spec:\n  chart: c\n  postRenderers:\n  - kustomize:\n      images:\n      - newTag: \"3.10\"\n        name: registry.k8s.io/pause\n",
			out: head + "spec:\n  chart: c\n  postRenderers:\n" + table},
		{why: "the table's, damaged", change: "table b2ddc34e3209 put right",
			in:  head + "spec:\n  chart: c\n  postRenderers:\n" + strings.Replace(table, "3.10", "3.1", 1),
			out: head + "spec:\n  chart: c\n  postRenderers:\n" + table},
		{why: "the table's is there in another notation: not a byte changes",
			in:  head + "spec:\n  chart: c\n  postRenderers: [" + tableJSON + " ]  # done\n",
			out: head + "spec:\n  chart: c\n  postRenderers: [" + tableJSON + " ]  # done\n"},

		{why: "an empty list", change: added, in: head + "spec:\n  chart: c\n  postRenderers: []\n  chart: c\n", out: head + "spec:\n  chart: c\n  postRenderers:\n" + table + "  chart: c\n"},
		{why: "null, with a comment", change: added, in: head + "spec:\n  chart: c\n  postRenderers: ~  # none\n", out: head + "spec:\n  chart: c\n  postRenderers:  # none\n" + table},
		{why: "nothing", change: added, in: head + "spec:\n  chart: c\n  postRenderers:\n  chart: c\n", out: head + "spec:\n  chart: c\n  postRenderers:\n" + table + "  chart: c\n"},
		{why: "nothing, at the end of the text", change: added, in: head + "spec:\n  chart: c\n  postRenderers:", out: head + "spec:\n  chart: c\n  postRenderers:\n" + strings.TrimSuffix(table, "\n")},
		{why: "nothing, in braces", change: added, in: head + "spec: {postRenderers: , chart: b}\n", out: head + "spec: {postRenderers: [" + tableJSON + "], chart: b}\n"},
		{why: "null, in braces", change: added, in: head + "spec: {chart: c, postRenderers: null}\n", out: head + "spec: {chart: c, postRenderers: [" + tableJSON + "]}\n"},
		{why: "an empty list, in braces", change: added, in: head + "spec: {chart: c, postRenderers: []}\n", out: head + "spec: {chart: c, postRenderers: [" + tableJSON + "]}\n"},

		{why: "a spec in braces", change: added, in: head + "spec: {chart: c}\n", out: head + "spec: {\"postRenderers\": [" + tableJSON + "], chart: c}\n"},
		{why: "comments in braces", change: added,
			in:  head + "spec: {chart: c, # ]}\n  a: b, #[\n  postRenderers: [] # }\n  }\n",
			out: head + "spec: {chart: c, # ]}\n  a: b, #[\n  postRenderers: [" + tableJSON + "] # }\n  }\n"},
		{why: "a comment at the end of braces", change: added,
			in:  head + "spec: {chart: c # }\n  }\n",
			out: head + "spec: {\"postRenderers\": [" + tableJSON + "], chart: c # }\n  }\n"},
		{why: "a comment within a list in brackets", change: added,
			in:  head + "spec:\n  chart: c\n  postRenderers: [{kustomize: {images: [ # ]}\n    ]}}]\n",
			out: head + "spec:\n  chart: c\n  postRenderers: [{kustomize: {images: [ # ]}\n    ]}}, " + tableJSON + "]\n"},
		{why: "own in brackets", change: added,
			in:  head + "spec:\n  chart: c\n  postRenderers: [{kustomize: {images: [{name: 'it''s]', newTag: \"\\\"]\"}]}}]  # own\n",
			out: head + "spec:\n  chart: c\n  postRenderers: [{kustomize: {images: [{name: 'it''s]', newTag: \"\\\"]\"}]}}, " + tableJSON + "]  # own\n"},
		{why: "an older table's in brackets", change: replaced,
			in:  head + "spec:\n  chart: c\n  postRenderers: [ {kustomize: {images: [{name: image-overrides.invalid/table, newTag: aaaaaaaaaaaa}]}}, {kustomize: {}}, ]\n",
			out: head + "spec:\n  chart: c\n  postRenderers: [ {kustomize: {}}, " + tableJSON + " ]\n"},
		{why: "JSON", change: added,
			in:  `{"apiVersion":"helm.toolkit.fluxcd.io/v2","kind":"HelmRelease","metadata":{"name":"r","namespace":"n"},"spec":{"chart":"5m"}}`,
			out: `{"apiVersion":"helm.toolkit.fluxcd.io/v2","kind":"HelmRelease","metadata":{"name":"r","namespace":"n"},"spec":{"postRenderers": [` + tableJSON + `], "chart":"5m"}}`},
		{why: "JSON that YAML 1.1 has no escapes for, over many lines", change: replaced,
			in: "{\n    \"apiVersion\": \"helm.toolkit.fluxcd.io/v2beta1\",\n    \"kind\": \"HelmRelease\",\n    \"metadata\": {\"name\": \"r\", \"namespace\": \"n\"},\n    \"spec\": {\n        \"chart\": \"5\\/m\",\n        \"postRenderers\": [\n" +
				"            {\"kustomize\": {\"patches\": [{\"patch\": \"\\/\"}]}},\n            {\"kustomize\": {\"images\": [{\"name\": \"image-overrides.invalid/table\", \"newTag\": \"aaaaaaaaaaaa\"}]}}\n        ]\n    }\n}\n",
			out: "{\n    \"apiVersion\": \"helm.toolkit.fluxcd.io/v2beta1\",\n    \"kind\": \"HelmRelease\",\n    \"metadata\": {\"name\": \"r\", \"namespace\": \"n\"},\n    \"spec\": {\n        \"chart\": \"5\\/m\",\n        \"postRenderers\": [\n" +
				"            {\"kustomize\": {\"patches\": [{\"patch\": \"\\/\"}]}},\n            " + tableJSON + "\n        ]\n    }\n}\n"},

		{why: "an empty table removes", empty: true, change: removed,
			in:  head + "spec:\n  chart: c\n  # of the list\n  postRenderers:\n" + older + "  # of the values\n  values: {}\n",
			out: head + "spec:\n  chart: c\n  # of the list\n  # of the values\n  values: {}\n"},
		{why: "an empty table keeps the release's own", empty: true, change: removed,
			in: head + "spec:\n  chart: c\n  postRenderers:\n" + own + older, out: head + "spec:\n  chart: c\n  postRenderers:\n" + own},
		{why: "an empty table, in braces", empty: true, change: removed,
			in:  head + "spec: {chart: b, postRenderers: [{kustomize: {images: [{name: image-overrides.invalid/table, newTag: aaaaaaaaaaaa}]}}]}\n",
			out: head + "spec: {chart: b}\n"},
		{why: "an empty table, in braces, a field behind", empty: true, change: removed,
			in:  head + "spec: {postRenderers: [{kustomize: {images: [{name: image-overrides.invalid/table, newTag: aaaaaaaaaaaa}]}}], chart: b}\n",
			out: head + "spec: {chart: b}\n"},
		{why: "an empty table, nothing to remove", empty: true, in: head + "spec:\n  chart: c\n  postRenderers: []\n", out: head + "spec:\n  chart: c\n  postRenderers: []\n"},

		{why: "two releases and others in a List", change: added,
			in: "apiVersion: v1\nkind: List\nitems:\n- apiVersion: helm.toolkit.fluxcd.io/v2\n  kind: HelmRelease\n  metadata: {name: r, namespace: n}\n  spec:\n    chart: c\n# next\n- kind: Pod\nmetadata: {}\n",
			out: "apiVersion: v1\nkind: List\nitems:\n- apiVersion: helm.toolkit.fluxcd.io/v2\n  kind: HelmRelease\n  metadata: {name: r, namespace: n}\n  spec:\n    chart: c\n    postRenderers:\n" +
				deeper(table) + "# next\n- kind: Pod\nmetadata: {}\n"},
	} {
		t.Run(c.why, func(t *testing.T) {
			t.Chdir(t.TempDir())
			write(t, "t", one)
			stderr := "1 document, 1 release, 0 changed\n"
			if c.change != "" {
				at := "1:1"
				if strings.HasPrefix(c.in, "apiVersion: v1") {
					at = "4:3"
				}
				stderr = "<stdin>:" + at + ": HelmRelease n/r: " + c.change + "\n1 document, 1 release, 1 changed\n"
			}
			says := ""
			if c.empty {
				write(t, "t", "[]")
				says = "t: overrides: the table is empty, hash " + emptyHash + "\n"
			}
			mergeOnce(t, c.in, c.out, says+stderr)
			mergeOnce(t, c.out, c.out, says+"1 document, 1 release, 0 changed\n")
			// In a stream, a release is what it is alone.
			if in := c.in; strings.HasSuffix(in, "\n") && strings.HasPrefix(in, head) && c.change != "" {
				mergeOnce(t, service+"--- # next\n"+in+"---\n"+in, service+"--- # next\n"+c.out+"---\n"+c.out, says+
					"<stdin>:5:1: HelmRelease n/r: "+c.change+"\n"+
					fmt.Sprintf("<stdin>:%d:1: HelmRelease n/r: %s\n", 6+strings.Count(in, "\n"), c.change)+
					"3 documents, 2 releases, 2 changed\n")
			}
		})
	}
}

func mergeOnce(t *testing.T, in, out, stderr string) {
	t.Helper()
	var stdout, errs bytes.Buffer
	if status := run([]string{"merge", "-t", "t"}, strings.NewReader(in), &stdout, &errs); status != 0 {
		t.Errorf("status %d", status)
	}
	same(t, "standard output", stdout.String(), out)
	same(t, "standard error", errs.String(), stderr)
}

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
