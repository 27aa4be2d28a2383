// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestAuditReadme: the lines that the README shows.
func TestAuditReadme(t *testing.T) {
	t.Chdir(filepath.Join("..", ".."))
	files, err := filepath.Glob("examples/testdata/manifests/*")
	if err != nil {
		t.Fatal(err)
	}
	var stdout, stderr bytes.Buffer
	if status := run(append([]string{"audit", "-t", "examples/testdata/overrides.yaml"}, files...), nil, &stdout, &stderr); status != 1 {
		t.Errorf("status %d, %s", status, stderr.String())
	}
	readme, err := os.ReadFile("README.md")
	if err != nil {
		t.Fatal(err)
	}
	_, section, _ := strings.Cut(string(readme), "manifests/* | head -5\n\n")
	section, _, found := strings.Cut(section, "\n\n")
	if !found {
		t.Fatal("the README has no audit")
	}
	want := strings.ReplaceAll("\n"+section, "\n    ", "\n")[1:] + "\n"
	if lines := strings.SplitAfter(stdout.String(), "\n"); len(lines) < 5 || strings.Join(lines[:5], "") != want {
		t.Errorf("want (-), got (+)\n%s", cmp.Diff(want, stdout.String()))
	}
}

func TestAudit(t *testing.T) {
	const (
		table = "- {name: nginx, newName: reg.example.org/web}\n- {name: redi, newTag: '2'}\n"
		pod   = "apiVersion: v1\nkind: Pod\nmetadata: {name: p}\nspec: {containers: [{image: nginx:1, args: ['--image=quay.io/a/b:v1']}, {image: redis:6}]}\n"
		sum   = "3 images in 1 document: 1 rewritten, 1 kept, 0 missed, 1 unreached, 0 suspected; 1 entry without effect; 0 errors, 0 warnings"
		found = "unreached: quay.io/a/b:v1: set it in the chart's values, or patch it\n  a.yaml:4:54: Pod p spec.containers[0].args[0] (argument)\n"
		none  = "unused: redi: entry 1 meets no image; the nearest that there is: redis\n"
	)
	files := map[string]string{"t.yaml": table, "a.yaml": pod}
	with := func(more ...string) map[string]string {
		m := map[string]string{"t.yaml": table, "a.yaml": pod}
		for i := 0; i < len(more); i += 2 {
			m[more[i]] = more[i+1]
		}
		return m
	}
	misuse := func(reason string) string { return "imageoverrides audit: " + reason + "\n\n" + auditUsage }
	const known = "# What is known of the images of the platform, and accepted: findings of imageoverrides audit.\nunused redi\n"
	calls(t, []call{
		{why: "text", files: files, args: "audit -t t.yaml a.yaml", stdout: sum + "\n" + found + none, status: 1},
		{why: "nothing to fail on", files: files, args: "audit -t t.yaml -fail missed,risks a.yaml", stdout: sum + "\n" + found + none},
		{why: "none", files: files, args: "audit -t t.yaml -fail none a.yaml", stdout: sum + "\n" + found + none},
		{why: "standard input", files: files, args: "audit -t t.yaml -fail unreached -", stdin: pod, stdout: sum + "\n" + strings.Replace(found, "a.yaml", "<stdin>", 1) + none, status: 1},
		{why: "images", files: files, args: "audit -t t.yaml -o images -fail none a.yaml", stdout: "quay.io/a/b:v1\nredis:6\nreg.example.org/web:1\n"},
		{why: "outside", files: files, args: "audit -t t.yaml -fail outside -allow reg.example.org -allow quay.io -allow docker.io/library a.yaml", stdout: sum + "\n" + found + none},
		{why: "one outside", files: files, args: "audit -t t.yaml -o images -fail outside -allow reg.example.org -allow quay.io a.yaml", stdout: "quay.io/a/b:v1\nredis:6\nreg.example.org/web:1\n", status: 1},
		{why: "a baseline is written", files: with("b", ""), args: "audit -t t.yaml -write b a.yaml", stdout: sum + "\n" + found + none, after: map[string]string{"b": known}},
		{why: "a baseline is read", files: with("b", known), args: "audit -t t.yaml -baseline b a.yaml", stdout: sum + "; 1 accepted\n" + found},
		{why: "markdown", files: files, args: "audit -t t.yaml -o markdown -fail none a.yaml", stdout: "### Images\n\n" + sum + "\n\n| | image | places | why | what to do |\n|---|---|---|---|---|\n" +
			"| unreached | `quay.io/a/b:v1` | `a.yaml:4:54 Pod p` | argument | set it in the chart's values, or patch it |\n\n| entry | name | nearest |\n|---|---|---|\n| 1 | `redi` | `redis` |\n"},
		{why: "no table", files: files, args: "audit a.yaml", stderr: misuse("-t TABLE is missing"), status: 2},
		{why: "no files", files: files, args: "audit -t t.yaml", stderr: misuse("no files; - is standard input"), status: 2},
		{why: "an unknown kind", files: files, args: "audit -t t.yaml -fail mised a.yaml", stderr: misuse(`-fail: there is no "mised"`), status: 2},
		{why: "an unknown format", files: files, args: "audit -t t.yaml -o yaml a.yaml", stderr: misuse(`-o "yaml" is none of text, json, markdown and images`), status: 2},
		{why: "hooks", files: files, args: "audit -t t.yaml -hooks no a.yaml", stderr: misuse(`-hooks "no" is neither reached nor kept`), status: 2},
		{why: "outside of nothing", files: files, args: "audit -t t.yaml -fail outside a.yaml", stderr: misuse("-fail outside needs -allow, for nothing is outside without it"), status: 2},
		{why: "no such file", files: files, args: "audit -t t.yaml b.yaml", stderr: "b.yaml: no such file or directory\n", status: 1},
	})
}

// TestAuditJSON: the one object that it is, with the fields that others read.
func TestAuditJSON(t *testing.T) {
	t.Chdir(t.TempDir())
	write(t, "t.yaml", "- {name: nginx, newTag: '2'}\n")
	write(t, "a.yaml", "kind: Job\napiVersion: batch/v1\nmetadata: {name: p, namespace: n}\nspec: {template: {spec: {containers: [{image: nginx:1}]}}}\n")
	var stdout, stderr bytes.Buffer
	if status := run(strings.Fields("audit -t t.yaml -o json a.yaml"), nil, &stdout, &stderr); status != 0 {
		t.Fatalf("status %d, %s", status, stderr.String())
	}
	var got map[string]any
	if err := json.Unmarshal(stdout.Bytes(), &got); err != nil {
		t.Fatal(err)
	}
	delete(got["table"].(map[string]any), "hash")
	delete(got["risks"].([]any)[0].(map[string]any), "message")
	place := map[string]any{"source": "a.yaml", "apiVersion": "batch/v1", "kind": "Job", "namespace": "n", "name": "p", "path": "spec.template.spec.containers[0].image", "line": 4., "column": 47., "offset": 111.}
	plus := func(more map[string]any) map[string]any {
		m := make(map[string]any)
		for _, from := range []map[string]any{place, more} {
			for k, v := range from {
				m[k] = v
			}
		}
		return m
	}
	want := map[string]any{
		"table":   map[string]any{"entries": 1.},
		"summary": map[string]any{"sources": 1., "documents": 1., "images": 1., "rewritten": 1., "kept": 0., "missed": 0., "unreached": 0., "suspected": 0., "values": 0., "outside": 0., "unused": 0., "errors": 0., "warnings": 1.},
		"places":  []any{plus(map[string]any{"image": "nginx:1", "new": "nginx:2", "status": "rewritten", "reason": "", "entry": 0., "outside": false})},
		"entries": []any{map[string]any{"entry": 0., "name": "nginx", "rewritten": 1., "kept": 0., "missed": 0., "unreached": 0., "suspected": 0., "chained": 0., "near": ""}},
		"risks":   []any{plus(map[string]any{"rule": "job", "severity": "warning"})},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}
