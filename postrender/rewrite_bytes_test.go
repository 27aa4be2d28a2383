// SPDX-License-Identifier: Apache-2.0

package postrender

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/cozystack/image-overrides/imageoverrides"
)

// TestRewriteBytes puts a table of one entry, or the empty table, into one release.
func TestRewriteBytes(t *testing.T) {
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
		{why: "no post-renderers: behind the other fields", in: nobody + "spec:\n  chart: c\n", out: nobody + "spec:\n  chart: c\n  postRenderers:\n" + table, change: added},
		{why: "before blank lines and what follows", change: added,
			in:  nobody + "spec:\n  chart: c\n  values:\n    a: b   # why\n    # c: d\n  # e: f\n\n# of the status\nstatus: {}\n",
			out: nobody + "spec:\n  chart: c\n  values:\n    a: b   # why\n    # c: d\n  # e: f\n  postRenderers:\n" + table + "\n# of the status\nstatus: {}\n"},
		{why: "behind a block of text that keeps its blank lines", change: added,
			in:  nobody + "spec:\n  chart: c\n  values:\n    a: |+\n      # b\n\n\nstatus: {}\n",
			out: nobody + "spec:\n  chart: c\n  values:\n    a: |+\n      # b\n\n\n  postRenderers:\n" + table + "status: {}\n"},
		{why: "behind a block of text that ends in spaces", change: added,
			in:  nobody + "spec:\n  chart: c\n  values: |\n    b\n     \nstatus: {}\n",
			out: nobody + "spec:\n  chart: c\n  values: |\n    b\n     \n  postRenderers:\n" + table + "status: {}\n"},
		{why: "text that ends in what looks like a comment", change: added,
			in:  nobody + "spec:\n  chart: c\n  values: |\n   # b\n\nstatus: {}\n",
			out: nobody + "spec:\n  chart: c\n  values: |\n   # b\n  postRenderers:\n" + table + "\nstatus: {}\n"},
		{why: "no line break at the end", change: added,
			in: nobody + "spec:\n  chart: c", out: nobody + "spec:\n  chart: c\n  postRenderers:\n" + strings.TrimSuffix(table, "\n")},
		{why: "CRLF", change: added, in: crlf(nobody + "spec:\n  chart: c\n\n"), out: crlf(nobody + "spec:\n  chart: c\n  postRenderers:\n" + table + "\n")},
		{why: "an end of document", change: added, in: nobody + "spec:\n  chart: c\n...\n", out: nobody + "spec:\n  chart: c\n  postRenderers:\n" + table + "...\n"},

		{why: "own post-renderers", change: added,
			in:  nobody + "spec:\n  chart: c\n  postRenderers:\n" + own + "\n  # of the values\n  values: {}\n",
			out: nobody + "spec:\n  chart: c\n  postRenderers:\n" + own + table + "\n  # of the values\n  values: {}\n"},
		{why: "own post-renderers, in an indented list", change: added,
			in:  nobody + "spec:\n  chart: c\n  postRenderers:\n" + deeper(own) + "  # of the values\n  values: {}\n",
			out: nobody + "spec:\n  chart: c\n  postRenderers:\n" + deeper(own) + deeper(table) + "  # of the values\n  values: {}\n"},
		{why: "own post-renderers, no line break at the end", change: added,
			in:  nobody + "spec:\n  chart: c\n  postRenderers:\n" + strings.TrimSuffix(own, "\n"),
			out: nobody + "spec:\n  chart: c\n  postRenderers:\n" + own + strings.TrimSuffix(table, "\n")},
		{why: "a post-renderer without effect is the release's own", change: added,
			in: nobody + "spec:\n  chart: c\n  postRenderers:\n  - {}\n", out: nobody + "spec:\n  chart: c\n  postRenderers:\n  - {}\n" + table},
		{why: "own post-renderer behind an alias", change: added,
			in:  nobody + "spec:\n  chart: c\n  postRenderers:\n  - &a {kustomize: {images: []}}\n  - *a\n",
			out: nobody + "spec:\n  chart: c\n  postRenderers:\n  - &a {kustomize: {images: []}}\n  - *a\n" + table},
		{why: "fields of a beta that v2 does not know", change: added,
			in:  nobody + "spec:\n  chart: c\n  postRenderers:\n  - kustomize: {patchesStrategicMerge: [{a: 5}], images: [{name: registry.k8s.io/pause, newTag: '3.10'}]}\n",
			out: nobody + "spec:\n  chart: c\n  postRenderers:\n  - kustomize: {patchesStrategicMerge: [{a: 5}], images: [{name: registry.k8s.io/pause, newTag: '3.10'}]}\n" + table},

		{why: "an older table's, in its place; comments around it stay", change: replaced,
			in:  nobody + "spec:\n  chart: c\n  postRenderers:\n" + own + "  # from the platform\n" + older + "  # of the values\n  values: {}\n",
			out: nobody + "spec:\n  chart: c\n  postRenderers:\n" + own + "  # from the platform\n" + table + "  # of the values\n  values: {}\n"},
		{why: "an older table's, no line break at the end", change: replaced,
			in:  nobody + "spec:\n  chart: c\n  postRenderers:\n" + strings.TrimSuffix(older, "\n"),
			out: nobody + "spec:\n  chart: c\n  postRenderers:\n" + strings.TrimSuffix(table, "\n")},
		{why: "an older table's goes behind the release's own", change: replaced,
			in: nobody + "spec:\n  chart: c\n  postRenderers:\n" + older + own, out: nobody + "spec:\n  chart: c\n  postRenderers:\n" + own + table},
		{why: "two older tables'", change: replaced,
			in: nobody + "spec:\n  chart: c\n  postRenderers:\n" + older + own + older, out: nobody + "spec:\n  chart: c\n  postRenderers:\n" + own + table},
		{why: "patches in an older table's stay in its place", change: replaced,
			in: nobody + "spec:\n  chart: c\n  postRenderers:\n" + older + "      patches:\n      - patch: |\n          - op: remove\n            path: /a\n        target: {kind: Pod, name: 'yes'}\n" + own,
			out: nobody + "spec:\n  chart: c\n  postRenderers:\n  - kustomize:\n      patches:\n      - patch: |\n          - op: remove\n            path: /a\n" +
				"        target:\n          kind: Pod\n          name: \"yes\"\n" + own + table},
		{why: "a patch with a character that JSON may hold and YAML may not", change: replaced,
			in:  nobody + "spec:\n  chart: c\n  postRenderers:\n" + older + "      patches: [{patch: \"a\\x7F\\nb\"}]\n",
			out: nobody + "spec:\n  chart: c\n  postRenderers:\n  - kustomize:\n      patches:\n      - patch: \"a\\x7F\\nb\"\n" + table},
		{why: "the table's as earlier versions wrote it", change: added,
			in:  nobody + "spec:\n  chart: c\n  postRenderers:\n  - kustomize:\n      images:\n      - newTag: \"3.10\"\n        name: registry.k8s.io/pause\n",
			out: nobody + "spec:\n  chart: c\n  postRenderers:\n" + table},
		{why: "the table's, damaged", change: "table b2ddc34e3209 put right",
			in:  nobody + "spec:\n  chart: c\n  postRenderers:\n" + strings.Replace(table, "3.10", "3.1", 1),
			out: nobody + "spec:\n  chart: c\n  postRenderers:\n" + table},
		{why: "the table's is there in another notation: not a byte changes",
			in:  nobody + "spec:\n  chart: c\n  postRenderers: [" + tableJSON + " ]  # done\n",
			out: nobody + "spec:\n  chart: c\n  postRenderers: [" + tableJSON + " ]  # done\n"},

		{why: "an empty list", change: added, in: nobody + "spec:\n  chart: c\n  postRenderers: []\n  chart: c\n", out: nobody + "spec:\n  chart: c\n  postRenderers:\n" + table + "  chart: c\n"},
		{why: "null, with a comment", change: added, in: nobody + "spec:\n  chart: c\n  postRenderers: ~  # none\n", out: nobody + "spec:\n  chart: c\n  postRenderers:  # none\n" + table},
		{why: "nothing", change: added, in: nobody + "spec:\n  chart: c\n  postRenderers:\n  chart: c\n", out: nobody + "spec:\n  chart: c\n  postRenderers:\n" + table + "  chart: c\n"},
		{why: "nothing, at the end of the text", change: added, in: nobody + "spec:\n  chart: c\n  postRenderers:", out: nobody + "spec:\n  chart: c\n  postRenderers:\n" + strings.TrimSuffix(table, "\n")},
		{why: "nothing, in braces", change: added, in: nobody + "spec: {postRenderers: , chart: b}\n", out: nobody + "spec: {postRenderers: [" + tableJSON + "], chart: b}\n"},
		{why: "null, in braces", change: added, in: nobody + "spec: {chart: c, postRenderers: null}\n", out: nobody + "spec: {chart: c, postRenderers: [" + tableJSON + "]}\n"},
		{why: "an empty list, in braces", change: added, in: nobody + "spec: {chart: c, postRenderers: []}\n", out: nobody + "spec: {chart: c, postRenderers: [" + tableJSON + "]}\n"},

		{why: "a spec in braces", change: added, in: nobody + "spec: {chart: c}\n", out: nobody + "spec: {\"postRenderers\": [" + tableJSON + "], chart: c}\n"},
		{why: "comments in braces", change: added,
			in:  nobody + "spec: {chart: c, # ]}\n  a: b, #[\n  postRenderers: [] # }\n  }\n",
			out: nobody + "spec: {chart: c, # ]}\n  a: b, #[\n  postRenderers: [" + tableJSON + "] # }\n  }\n"},
		{why: "a comment at the end of braces", change: added,
			in:  nobody + "spec: {chart: c # }\n  }\n",
			out: nobody + "spec: {\"postRenderers\": [" + tableJSON + "], chart: c # }\n  }\n"},
		{why: "a comment within a list in brackets", change: added,
			in:  nobody + "spec:\n  chart: c\n  postRenderers: [{kustomize: {images: [ # ]}\n    ]}}]\n",
			out: nobody + "spec:\n  chart: c\n  postRenderers: [{kustomize: {images: [ # ]}\n    ]}}, " + tableJSON + "]\n"},
		{why: "own in brackets", change: added,
			in:  nobody + "spec:\n  chart: c\n  postRenderers: [{kustomize: {images: [{name: 'it''s]', newTag: \"\\\"]\"}]}}]  # own\n",
			out: nobody + "spec:\n  chart: c\n  postRenderers: [{kustomize: {images: [{name: 'it''s]', newTag: \"\\\"]\"}]}}, " + tableJSON + "]  # own\n"},
		{why: "an older table's in brackets", change: replaced,
			in:  nobody + "spec:\n  chart: c\n  postRenderers: [ {kustomize: {images: [{name: image-overrides.invalid/table, newTag: aaaaaaaaaaaa}]}}, {kustomize: {}}, ]\n",
			out: nobody + "spec:\n  chart: c\n  postRenderers: [ {kustomize: {}}, " + tableJSON + " ]\n"},
		{why: "JSON", change: added,
			in:  `{"apiVersion":"helm.toolkit.fluxcd.io/v2","kind":"HelmRelease","metadata":{"name":"r","namespace":"n"},"spec":{"chart":"5m"}}`,
			out: `{"apiVersion":"helm.toolkit.fluxcd.io/v2","kind":"HelmRelease","metadata":{"name":"r","namespace":"n"},"spec":{"postRenderers": [` + tableJSON + `], "chart":"5m"}}`},
		{why: "JSON that YAML 1.1 has no escapes for, over many lines", change: replaced,
			in: "{\n    \"apiVersion\": \"helm.toolkit.fluxcd.io/v2beta1\",\n    \"kind\": \"HelmRelease\",\n    \"metadata\": {\"name\": \"r\", \"namespace\": \"n\"},\n    \"spec\": {\n        \"chart\": \"5\\/m\",\n        \"postRenderers\": [\n" +
				"            {\"kustomize\": {\"patches\": [{\"patch\": \"\\/\"}]}},\n            {\"kustomize\": {\"images\": [{\"name\": \"image-overrides.invalid/table\", \"newTag\": \"aaaaaaaaaaaa\"}]}}\n        ]\n    }\n}\n",
			out: "{\n    \"apiVersion\": \"helm.toolkit.fluxcd.io/v2beta1\",\n    \"kind\": \"HelmRelease\",\n    \"metadata\": {\"name\": \"r\", \"namespace\": \"n\"},\n    \"spec\": {\n        \"chart\": \"5\\/m\",\n        \"postRenderers\": [\n" +
				"            {\"kustomize\": {\"patches\": [{\"patch\": \"\\/\"}]}},\n            " + tableJSON + "\n        ]\n    }\n}\n"},

		{why: "an empty table removes", empty: true, change: removed,
			in:  nobody + "spec:\n  chart: c\n  # of the list\n  postRenderers:\n" + older + "  # of the values\n  values: {}\n",
			out: nobody + "spec:\n  chart: c\n  # of the list\n  # of the values\n  values: {}\n"},
		{why: "an empty table keeps the release's own", empty: true, change: removed,
			in: nobody + "spec:\n  chart: c\n  postRenderers:\n" + own + older, out: nobody + "spec:\n  chart: c\n  postRenderers:\n" + own},
		{why: "an empty table, in braces", empty: true, change: removed,
			in:  nobody + "spec: {chart: b, postRenderers: [{kustomize: {images: [{name: image-overrides.invalid/table, newTag: aaaaaaaaaaaa}]}}]}\n",
			out: nobody + "spec: {chart: b}\n"},
		{why: "an empty table, in braces, a field behind", empty: true, change: removed,
			in:  nobody + "spec: {postRenderers: [{kustomize: {images: [{name: image-overrides.invalid/table, newTag: aaaaaaaaaaaa}]}}], chart: b}\n",
			out: nobody + "spec: {chart: b}\n"},
		{why: "an empty table, nothing to remove", empty: true, in: nobody + "spec:\n  chart: c\n  postRenderers: []\n", out: nobody + "spec:\n  chart: c\n  postRenderers: []\n"},

		{why: "two releases and others in a List", change: added,
			in: "apiVersion: v1\nkind: List\nitems:\n- apiVersion: helm.toolkit.fluxcd.io/v2\n  kind: HelmRelease\n  metadata: {name: r, namespace: n}\n  spec:\n    chart: c\n# next\n- kind: Pod\nmetadata: {}\n",
			out: "apiVersion: v1\nkind: List\nitems:\n- apiVersion: helm.toolkit.fluxcd.io/v2\n  kind: HelmRelease\n  metadata: {name: r, namespace: n}\n  spec:\n    chart: c\n    postRenderers:\n" +
				deeper(table) + "# next\n- kind: Pod\nmetadata: {}\n"},
	} {
		t.Run(c.why, func(t *testing.T) {
			table := pause(t)
			if c.empty {
				var err error
				if table, err = imageoverrides.New(); err != nil {
					t.Fatal(err)
				}
			}
			var says []string
			if c.change != "" {
				at := "1:1"
				if strings.HasPrefix(c.in, "apiVersion: v1") {
					at = "4:3"
				}
				says = []string{at + ": HelmRelease n/r: " + c.change}
			}
			rewriteOnce(t, table, c.in, c.out, says...)
			rewriteOnce(t, table, c.out, c.out)
			// In a stream, a release is what it is alone.
			if in := c.in; strings.HasSuffix(in, "\n") && strings.HasPrefix(in, nobody) && c.change != "" {
				rewriteOnce(t, table, service+"--- # next\n"+in+"---\n"+in, service+"--- # next\n"+c.out+"---\n"+c.out,
					"5:1: HelmRelease n/r: "+c.change, fmt.Sprintf("%d:1: HelmRelease n/r: %s", 6+strings.Count(in, "\n"), c.change))
			}
		})
	}
}

// rewriteOnce rewrites a text, and compares all bytes and what is told of releases that changed.
func rewriteOnce(t *testing.T, table imageoverrides.Table, in, out string, says ...string) {
	t.Helper()
	var got strings.Builder
	result, err := Rewrite(&got, strings.NewReader(in), table)
	if err != nil {
		t.Error(err)
	}
	if got.String() != out {
		t.Errorf("got\n%s\nwant\n%s\ngot  %q\nwant %q", &got, out, &got, out)
	}
	var told []string
	for _, r := range result.Releases {
		if r.Outcome != Kept {
			told = append(told, fmt.Sprintf("%d:%d: %s", r.Line, r.Column, r))
		}
	}
	if diff := cmp.Diff(says, told); diff != "" {
		t.Error(diff)
	}
}
