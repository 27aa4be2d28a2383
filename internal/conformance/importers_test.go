// SPDX-License-Identifier: Apache-2.0

package conformance

import (
	"errors"
	"flag"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

var update = flag.Bool("update", false, "write what the root module adds to the importers' versions")

// TestImporters: whoever imports the root module keeps each version of theirs. testdata/importers has modules that
// stand for them; in each, added.txt are the modules that an importer's list of versions gets by it, most of them needed by
// the root's tests alone, so never compiled there.
func TestImporters(t *testing.T) {
	if strings.TrimSpace(run(t, ".", "env", "GOPROXY")) == "off" {
		t.Skip("versions of importers need the Go module proxy, and GOPROXY is off")
	}
	root := must(filepath.Abs("../.."))
	importers := must(filepath.Glob("testdata/importers/*/go.mod"))
	if len(importers) < 2 {
		t.Fatalf("importers are missing, only %v", importers)
	}
	for _, importer := range importers {
		t.Run(filepath.Base(filepath.Dir(importer)), func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			for _, name := range []string{"go.mod", "go.sum"} {
				text := must(os.ReadFile(filepath.Join(filepath.Dir(importer), name)))
				must(0, os.WriteFile(filepath.Join(dir, name), text, 0o644))
			}
			before := versions(t, dir)
			run(t, dir, "mod", "edit", "-require="+module+"@v0.0.0", "-replace="+module+"="+root)
			after := versions(t, dir)
			for _, path := range slices.Sorted(maps.Keys(before)) {
				if after[path] != before[path] {
					t.Errorf("%s was at %s and is now at %q", path, before[path], after[path])
				}
			}
			var added []string
			for _, path := range slices.Sorted(maps.Keys(after)) {
				if _, ok := before[path]; !ok {
					added = append(added, path)
				}
			}
			file := filepath.Join(filepath.Dir(importer), "added.txt")
			got := strings.Join(added, "\n") + "\n"
			if *update {
				must(0, os.WriteFile(file, []byte(got), 0o644))
			}
			if want := string(must(os.ReadFile(file))); got != want {
				t.Errorf("the modules that are added are\n%swant, by %s (-update writes it),\n%s", got, file, want)
			}
		})
	}
}

const module = "github.com/cozystack/image-overrides"

// versions are the versions that a module builds with, the one of Go among them.
func versions(t *testing.T, dir string) map[string]string {
	t.Helper()
	list := make(map[string]string)
	for line := range strings.Lines(run(t, dir, "list", "-mod=mod", "-m", "all")) {
		path, version, _ := strings.Cut(strings.TrimSpace(line), " ")
		list[path] = version
	}
	for line := range strings.Lines(string(must(os.ReadFile(filepath.Join(dir, "go.mod"))))) {
		if version, ok := strings.CutPrefix(line, "go "); ok {
			list["go"] = strings.TrimSpace(version)
		}
	}
	if len(list) < 3 {
		t.Fatalf("a list of versions without any: %v", list)
	}
	return list
}

// run runs go, outside of any workspace.
func run(t *testing.T, dir string, args ...string) string {
	t.Helper()
	cmd := exec.Command("go", args...)
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "GOWORK=off")
	text, err := cmd.Output()
	if exit := (*exec.ExitError)(nil); errors.As(err, &exit) {
		t.Fatalf("go %s: %v\n%s", strings.Join(args, " "), err, exit.Stderr)
	} else if err != nil {
		t.Fatal(err)
	}
	return string(text)
}
