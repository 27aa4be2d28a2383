// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/fstest"
)

func TestCharts(t *testing.T) {
	const release = "kind: HelmRelease\nmetadata: {name: a}\n"
	const call = "spec:\n  postRenderers: {{- include \"image-overrides.postRenderers\" . | nindent 4 }}\n"
	t.Chdir(t.TempDir())
	fsys := fstest.MapFS{
		"good/Chart.yaml":       {Data: []byte("name: good\ndependencies: [{name: image-overrides}]\n")},
		"good/templates/a.yaml": {Data: []byte(release + call)},
		"bad/Chart.yaml":        {Data: []byte("name: bad\n")},
		"bad/templates/a.yaml":  {Data: []byte(release + call + "---\n" + release)},
		"none/a.yaml":           {},
		"broken/Chart.yaml":     {Data: []byte("a: b: c\n")},
	}
	if err := os.CopyFS(".", fsys); err != nil {
		t.Fatal(err)
	}
	const misses = "bad/Chart.yaml:1: the chart has HelmReleases and does not depend on the library chart image-overrides\n" +
		"bad/templates/a.yaml:6: this HelmRelease does not call image-overrides.postRenderers; its images are not overridden\n"
	for _, c := range []struct {
		args, stdout, stderr string
		status               int
	}{
		{"charts good", "", "", 0},
		{"charts bad", misses, "", 1},
		{"charts good bad", misses, "", 1},
		{"charts none", "", "in none: there is no Chart.yaml: file does not exist\n", 1},
		{"charts broken", "", "in broken: Chart.yaml:1: mapping values are not allowed in this context\n", 1},
		{"charts nowhere", "", "in nowhere: stat .: no such file or directory\n", 1},
		{"charts", "", "imageoverrides charts: a folder with charts is expected\n\n" + chartsUsage, 2},
		{"charts -h", chartsUsage, "", 0},
	} {
		var stdout, stderr bytes.Buffer
		if status := run(strings.Fields(c.args), strings.NewReader(""), &stdout, &stderr); status != c.status {
			t.Errorf("%s: status %d, want %d", c.args, status, c.status)
		}
		same(t, c.args+": standard output", stdout.String(), c.stdout)
		same(t, c.args+": standard error", stderr.String(), c.stderr)
	}
}

// TestChartsOddName: what a folder of charts calls its files stays on its line.
func TestChartsOddName(t *testing.T) {
	dir := t.TempDir()
	templates := filepath.Join(dir, "templates")
	name := "a\n\x1b[2J.yaml"
	for file, text := range map[string]string{
		filepath.Join(dir, "Chart.yaml"): "apiVersion: v2\nname: a\nversion: 0.1.0\n",
		filepath.Join(templates, name):   "apiVersion: helm.toolkit.fluxcd.io/v2\nkind: HelmRelease\nmetadata: {name: a}\nspec: {}\n",
	} {
		if err := errors.Join(os.MkdirAll(filepath.Dir(file), 0o755), os.WriteFile(file, []byte(text), 0o644)); err != nil {
			t.Fatal(err)
		}
	}
	var stdout, stderr strings.Builder
	if status := run([]string{"charts", dir}, strings.NewReader(""), &stdout, &stderr); status != 1 || stderr.String() != "" {
		t.Errorf("status %d, %q", status, stderr.String())
	}
	if !strings.Contains(stdout.String(), `/templates/a\n\x1b[2J.yaml":2: `) || strings.Contains(stdout.String(), "\x1b") {
		t.Errorf("%q", stdout.String())
	}
}
