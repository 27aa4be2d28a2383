// SPDX-License-Identifier: Apache-2.0

package main

import (
	"encoding/base64"
	"fmt"
	"strings"
	"testing"
)

// one is a table of one entry without findings, in its three shapes.
const (
	one       = "- name: registry.k8s.io/pause\n  newTag: \"3.10\"\n"
	oneValues = "registries:\n  imageOverrides:\n  - name: registry.k8s.io/pause\n    newTag: \"3.10\"\n"
	oneSecret = "_cluster:\n  image-overrides:\n  - name: registry.k8s.io/pause\n    newTag: \"3.10\"\n"
	oneHash   = "b2ddc34e3209"
	emptyHash = "4f53cda18c2b"
)

func secretText(field, text string) string {
	return "apiVersion: v1\nkind: Secret\nmetadata: {name: cozystack-values, namespace: cozy-system}\n" + field + ":\n  values.yaml: " + text + "\n"
}

func base64Text(text string) string { return base64.StdEncoding.EncodeToString([]byte(text)) }

func TestCheck(t *testing.T) {
	fits := "overrides: 1 entry, hash " + oneHash + "\n"
	inSecret := "_cluster.image-overrides: 1 entry, hash " + oneHash + "\n"
	const expected = "; expected the platform chart's values, a list of entries, or a manifest of kind Secret, ConfigMap, HelmRelease or Package that has them\n"
	f := func(text string) map[string]string { return map[string]string{"f": text} }
	calls(t, []call{
		{why: "plain list", files: f(one), args: "check f", stdout: "f: " + fits},
		{why: "plain list, JSON", files: f(`[{"name": "registry.k8s.io/pause", "newTag": "3.10"}]`), args: "check f", stdout: "f: " + fits},
		{why: "plain list, standard input", stdin: one, args: "check -", stdout: "<stdin>: " + fits},
		{why: "plain list, byte order mark and CRLF", stdin: "\uFEFF" + strings.ReplaceAll(one, "\n", "\r\n"), args: "check -", stdout: "<stdin>: " + fits},
		{why: "values", files: f(oneValues), args: "check f", stdout: "f: registries.imageOverrides: 1 entry, hash " + oneHash + "\n"},
		{why: "Secret, stringData", files: f(secretText("stringData", "|\n    "+strings.ReplaceAll(oneSecret, "\n", "\n    "))), args: "check f", stdout: "f: " + inSecret},
		{why: "Secret, data", files: f(secretText("data", base64Text(oneSecret))), args: "check f", stdout: "f: " + inSecret},
		{why: "Secret, JSON", stdin: `{"apiVersion":"v1","kind":"Secret","data":{"values.yaml":"` + base64Text(oneSecret) + `"}}`, args: "check -", stdout: "<stdin>: " + inSecret},
		{why: "Secret: stringData counts more than data", files: f(secretText("data", base64Text("_cluster: 5")) + "stringData:\n  values.yaml: \"_cluster: {}\"\n"), args: "check f",
			stdout: "f: _cluster.image-overrides: the table is empty, hash " + emptyHash + "\n"},
		{why: "the Secret's text alone", files: f(oneSecret), args: "check f", stdout: "f: " + inSecret},

		{why: "empty list", files: f("[]\n"), args: "check f", stdout: "f: overrides: the table is empty, hash " + emptyHash + "\n"},

		{why: "warning: status 0, and the summary", stdin: "- {name: quay.io/a/b, newName: quay.io/a/b}\n", args: "check -",
			stdout: "<stdin>:1:32: warning: overrides[0]: newName is the name itself, and nothing else is set; drop the entry (no-change)\n" +
				"<stdin>: overrides: 1 entry, hash 278dbee03280\n"},
		{why: "error of Lint: status 1, no summary", files: f("registries: {imageOverrides: [{name: 'c++', newTag: a}]}"), args: "check f", status: 1,
			stdout: "f:1:38: error: registries.imageOverrides[0]: name \"c++\" has the character '+', so that Flux reads it as a regular expression; write the image as manifests spell it, without tag and digest (no-reference)\n"},
		{why: "error of Lint in a Secret", files: f(secretText("stringData", "'_cluster: {image-overrides: [{name: a/b, newTag: -x}]}'")), args: "check f", status: 1,
			stdout: "f: values.yaml:1:50: _cluster.image-overrides[0]: newTag \"-x\" is no tag: it begins with '-'\n"},

		{why: "a finding of several entries", stdin: "- {name: docker.io/a/b, newTag: c}\n- {name: docker.io/d/e, newTag: f}\n", args: "check -",
			stdout: "<stdin>:1:10: warning: overrides[0] and 1 more: manifests may spell images of Docker Hub in ways that the table leaves alone: " +
				"\"docker.io/a/b\" as a/b, index.docker.io/a/b; \"docker.io/d/e\" as d/e, index.docker.io/d/e. Add an entry for each spelling that they use (spelling)\n" +
				"<stdin>: overrides: 2 entries, hash 4fbdbd62d08f\n"},
		{why: "every fault of a list, with its position", args: "check f", status: 1,
			files: f("- name: nginx:1\n  newTag: 1.20\n- newTag: a\n- {name: a, tag: b}\n- name: a\n  digest: sha256:0\n- x\n"),
			stdout: `f:2:11: overrides[0].newTag must be a string, got float64; quote it
f:1:9: overrides[0]: name "nginx:1" must not carry a tag or digest
f:3:3: overrides[1]: name is required
f:4:13: overrides[2]: unknown field "tag"
f:6:11: overrides[3]: digest "sha256:0" is not sha256:<64 hex>
f:5:9: overrides[3]: "a" is listed twice
f:7:3: overrides[4] must be a map
`},
		{why: "every fault of values, with its position", args: "check f", status: 1,
			files: f("other: 1\nregistries:\n  imageOverrides:\n  - name: nginx:1\n    newTag: 1.20\n  - newTag: a\n  - {name: é, tag: b}\n  - name: é\n    digest: sha256:0\n  - x\n"),
			stdout: `f:5:13: registries.imageOverrides[0].newTag must be a string, got float64; quote it
f:4:11: registries.imageOverrides[0]: name "nginx:1" must not carry a tag or digest
f:6:5: registries.imageOverrides[1]: name is required
f:7:15: registries.imageOverrides[2]: unknown field "tag"
f:9:13: registries.imageOverrides[3]: digest "sha256:0" is not sha256:<64 hex>
f:8:11: registries.imageOverrides[3]: "é" is listed twice
f:10:5: registries.imageOverrides[4] must be a map
`},
		{why: "faults behind an alias stand where the value is written", stdin: "x: &x {name: a, newTag: 1}\nregistries: {imageOverrides: [*x]}\n", args: "check -", status: 1,
			stdout: "<stdin>:1:25: registries.imageOverrides[0].newTag must be a string, got float64; quote it\n"},
		{why: "values as JSON", stdin: `{"registries": {"imageOverrides": [{"name": "a", "newTag": 5}], "x": "\/"}}`, args: "check -", status: 1,
			stdout: "<stdin>:1:60: registries.imageOverrides[0].newTag must be a string, got float64; quote it\n"},
		{why: "the table is no list", stdin: "registries:\n  imageOverrides: {a: b}\n", args: "check -", status: 1,
			stdout: "<stdin>:2:19: registries.imageOverrides must be a list, got map\n"},
		{why: "registries is no map", stdin: "a: 1\nregistries: x\n", args: "check -", status: 1,
			stdout: "<stdin>:2:13: registries must be a map, got string\n"},
		{why: "line and column of a Secret count in its text", files: f(secretText("data", base64Text(oneSecret+"    digest: abc\n"))), args: "check f", status: 1,
			stdout: "f: values.yaml:5:13: _cluster.image-overrides[0]: digest \"abc\" is not sha256:<64 hex>\n"},
		{why: "Secret whose text is no YAML", files: f(secretText("data", base64Text("_cluster: [\n"))), args: "check f", status: 1,
			stdout: "f: values.yaml:1:11: did not find expected node content\n"},
		{why: "Secret whose text is no map", files: f(secretText("stringData", "text")), args: "check f", status: 1,
			stdout: "f: values.yaml:1:1: values.yaml must be a map, got string\n"},
		{why: "Secret without values.yaml", files: f("apiVersion: v1\nkind: Secret\ndata: {other: aGk=}\n"), args: "check f", status: 1,
			stdout: "f: the Secret has no key \"values.yaml\"\n"},
		{why: "Secret with bad base64", files: f(secretText("data", "'%%%'")), args: "check f", status: 1,
			stdout: "f: data of the Secret: values.yaml is no base64: illegal base64 data at input byte 0\n"},
		{why: "Secret with a map for text", files: f(secretText("stringData", "{a: b}")), args: "check f", status: 1,
			stdout: "f: stringData of the Secret: values.yaml must be a string\n"},
		{why: "Secret whose data is no map", files: f("apiVersion: v1\nkind: Secret\ndata: [a]\n"), args: "check f", status: 1,
			stdout: "f: data of the Secret must be a map\n"},

		{why: "another manifest", files: f("apiVersion: apps/v1\nkind: Deployment\n"), args: "check f", status: 1,
			stdout: "f: a manifest of kind Deployment holds no table" + expected},
		{why: "text", files: f("hello there\n"), args: "check f", status: 1, stdout: "f: a string holds no table" + expected},
		{why: "a value that Helm counts as empty", files: f("false\n"), args: "check f", status: 1, stdout: "f: a bool holds no table" + expected},
		{why: "two documents", files: f(oneValues + "---\n" + oneValues), args: "check f", status: 1,
			stdout: "f:6:1: a second document; the table must be in the only one\n"},
		{why: "no YAML", files: f("registries:\n  imageOverrides: [\n"), args: "check f", status: 1,
			stdout: "f:2:19: did not find expected node content\n"},
		{why: "no UTF-8", files: f("a: b\nc: \xff\n"), args: "check f", status: 1, stdout: "f:2:4: byte 0xff is not UTF-8\n"},
		{why: "alias bomb", files: f(bomb("registries: {imageOverrides: *i}\n")), args: "check f", status: 1,
			stdout: "f:6:32: aliases stand for more than 4194304 bytes; write what they stand for, or less of it\n"},
		{why: "no such file", args: "check f.yaml", status: 1, stderr: "f.yaml: no such file or directory\n"},
		{why: "a folder", args: "check .", status: 1, stderr: ".: is a directory; name the files in it\n"},
	})
}

// bomb defines aliases that stand for a hundred million values.
func bomb(text string) string {
	var b strings.Builder
	b.WriteString("a: &a [x, x, x, x, x, x, x, x, x, x]\n")
	for c := 'b'; c <= 'i'; c++ {
		fmt.Fprintf(&b, "%c: &%[1]c [*%[2]c, *%[2]c, *%[2]c, *%[2]c, *%[2]c, *%[2]c, *%[2]c, *%[2]c, *%[2]c, *%[2]c]\n", c, c-1)
	}
	return b.String() + text
}

// A table that no Secret can hold is an error, and told in bounded time.
func TestCheckLarge(t *testing.T) {
	var b strings.Builder
	for i := range 100_000 {
		fmt.Fprintf(&b, "- name: registry.example.org/a/image-%d\n  newTag: v1\n", i)
	}
	calls(t, []call{{why: "100,000 entries", args: "check -", stdin: b.String(), status: 1,
		stdout: "<stdin>:1:1: error: overrides: the table takes 5988891 bytes as JSON, more than the 1048576 that a Secret can hold; split the platform or drop entries (size)\n"}})
}
