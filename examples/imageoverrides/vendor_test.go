// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/cozystack/image-overrides/imageoverrides/chart"
)

// filesIn is the files below a folder, by their paths, with links as such.
func filesIn(t *testing.T, dir string) map[string]string {
	t.Helper()
	files := make(map[string]string)
	err := filepath.WalkDir(dir, func(name string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		at, err := filepath.Rel(dir, name)
		if err != nil {
			return err
		}
		if d.Type()&fs.ModeSymlink != 0 {
			files[filepath.ToSlash(at)], err = os.Readlink(name)
			return err
		}
		text, err := os.ReadFile(name)
		files[filepath.ToSlash(at)] = string(text)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return files
}

func place(t *testing.T, name, text string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(name), 0o777); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(name, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
}

func TestVendor(t *testing.T) {
	t.Chdir(t.TempDir())
	try := func(args, stdout, stderr string, status int) {
		t.Helper()
		var out, errs bytes.Buffer
		if got := run(strings.Fields(args), strings.NewReader(""), &out, &errs); got != status {
			t.Errorf("%s: status %d, want %d", args, got, status)
		}
		same(t, args+": standard output", out.String(), stdout)
		same(t, args+": standard error", errs.String(), stderr)
	}
	inStep := func(target string) {
		t.Helper()
		want := make(map[string]string)
		for _, name := range libraryFiles() {
			text, err := chart.FS.ReadFile(chart.Name + "/" + name)
			if err != nil {
				t.Fatal(err)
			}
			want[name] = string(text)
		}
		if diff := cmp.Diff(want, filesIn(t, target)); diff != "" {
			t.Errorf("%s: %s", target, diff)
		}
	}

	// A new copy, in a folder that is made, and once more.
	place(t, "a/Chart.yaml", "name: a\n")
	try("vendor -check a/charts", "a/charts/image-overrides: is missing\n", "", 1)
	try("vendor a/charts", "wrote a/charts/image-overrides: version "+chart.Version+"\n", "", 0)
	inStep("a/charts/image-overrides")
	try("vendor a/charts", "", "", 0)
	try("vendor -check a/charts", "", "", 0)

	// One that is not this version's, with files and folders in the way, beside one that is.
	target := "b/charts/image-overrides"
	place(t, target+"/Chart.yaml", "name: image-overrides\nversion: 0.0.1\n")
	place(t, target+"/templates/_table.tpl/deep/x", "")
	place(t, target+"/old/y", "")
	place(t, target+"/.imageoverrides-123", "")
	if err := os.Symlink("../../a/Chart.yaml", target+"/link"); err != nil {
		t.Skip(err)
	}
	var missing []string
	for _, name := range libraryFiles() {
		if name != "Chart.yaml" {
			missing = append(missing, name)
		}
	}
	differs := target + ": version 0.0.1 instead of " + chart.Version + "; changed: Chart.yaml; missing: " + strings.Join(missing, ", ") + "; not part of it: .imageoverrides-123, link, old/y, templates/_table.tpl/deep/x\n"
	before := filesIn(t, "b")
	try("vendor -check a/charts b/charts", differs, "", 1)
	if diff := cmp.Diff(before, filesIn(t, "b")); diff != "" {
		t.Errorf("-check wrote: %s", diff)
	}
	try("vendor a/charts b/charts", "updated "+differs, "", 0)
	inStep(target)
	if _, err := os.Stat(target + "/old"); !os.IsNotExist(err) {
		t.Errorf("the empty folder is still there: %v", err)
	}
	if text, err := os.ReadFile("a/Chart.yaml"); err != nil || string(text) != "name: a\n" {
		t.Errorf("behind the link: %q, %v", text, err)
	}

	// A text of one byte less, and the file's mode.
	text, err := os.ReadFile(target + "/templates/_table.tpl")
	if err != nil {
		t.Fatal(err)
	}
	place(t, target+"/templates/_table.tpl", string(text[1:]))
	if err := os.Chmod(target+"/templates/_table.tpl", 0o600); err != nil {
		t.Fatal(err)
	}
	try("vendor b/charts", "updated "+target+": changed: templates/_table.tpl\n", "", 0)
	inStep(target)
	if info, err := os.Stat(target + "/templates/_table.tpl"); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("mode %v, %v", info.Mode(), err)
	}

	// An empty folder.
	if err := os.MkdirAll("c/image-overrides", 0o777); err != nil {
		t.Fatal(err)
	}
	try("vendor c", "updated c/image-overrides: version none instead of "+chart.Version+"; missing: "+strings.Join(libraryFiles(), ", ")+"\n", "", 0)
	inStep("c/image-overrides")

	// What is refused stays as it is.
	place(t, "d/image-overrides/Chart.yaml", "name: another\n")
	place(t, "e/image-overrides/x", "")
	place(t, "f/image-overrides", "")
	place(t, "g/image-overrides/Chart.yaml", "name: image-overrides\n")
	for link, to := range map[string]string{"g/image-overrides/templates": "../../d", "h": "a/charts"} {
		if err := os.Symlink(to, link); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Mkdir("i", 0o777); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink("../a/charts/image-overrides", "i/image-overrides"); err != nil {
		t.Fatal(err)
	}
	const isLink = ": is a link, and vendor writes to no other folder than the one it is given; remove it, or name the folder that it leads to\n"
	const noCopy = ": is no copy of the library chart: its Chart.yaml does not say name: image-overrides; move it away\n"
	before = filesIn(t, ".")
	try("vendor d", "", "d/image-overrides"+noCopy, 1)
	try("vendor -check e", "", "e/image-overrides"+noCopy, 1)
	try("vendor f", "", "f/image-overrides: not a directory\n", 1)
	try("vendor g", "", "g/image-overrides/templates"+isLink, 1)
	try("vendor i", "", "i/image-overrides"+isLink, 1)
	try("vendor -check i", "", "", 0)
	try("vendor h", "", "", 0)
	try("vendor no/where", "", "no/where: no such file or directory\n", 1)
	try("vendor", "", "imageoverrides vendor: a folder for charts is expected\n\n"+vendorUsage, 2)
	try("vendor -h", vendorUsage, "", 0)
	if diff := cmp.Diff(before, filesIn(t, ".")); diff != "" {
		t.Error(diff)
	}
}
