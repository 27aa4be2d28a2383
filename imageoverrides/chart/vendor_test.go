// SPDX-License-Identifier: Apache-2.0

package chart

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// What Compare finds is what Vendor mends, once; a new copy is all files of the chart. examples/imageoverrides has the tests of what is
// refused, and of full disks.
func TestVendor(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "charts")
	target := filepath.Join(dir, Name)
	step := func(why string, want Copy, differs bool) {
		t.Helper()
		got, is, err := Compare(dir)
		if diff := cmp.Diff(want, got); err != nil || is != differs || diff != "" {
			t.Errorf("%s: Compare: %t, %v, %s", why, is, err, diff)
		}
		got, changed, err := Vendor(dir)
		if diff := cmp.Diff(want, got); err != nil || changed != differs || diff != "" {
			t.Errorf("%s: Vendor: %t, %v, %s", why, changed, err, diff)
		}
		if copies, err := Vendored(os.DirFS(dir)); err != nil || copies != nil {
			t.Errorf("%s: %v, %v", why, copies, err)
		}
	}
	write := func(name, text string) {
		t.Helper()
		if err := os.WriteFile(filepath.Join(target, name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	step("no folder", Copy{Dir: target, Absent: true}, true)
	step("in step", Copy{Dir: target, Version: Version}, false)
	write("Chart.yaml", "name: "+Name+"\nversion: 0.0.1\n")
	write("x", "")
	if err := os.Remove(filepath.Join(target, libraryFiles()[1])); err != nil {
		t.Fatal(err)
	}
	step("another version", Copy{Dir: target, Version: "0.0.1", Changed: []string{"Chart.yaml"}, Missing: libraryFiles()[1:2], Extra: []string{"x"}}, true)
	if err := os.RemoveAll(target); err != nil {
		t.Fatal(err)
	}
	if err := os.Mkdir(target, 0o777); err != nil {
		t.Fatal(err)
	}
	step("an empty folder", Copy{Dir: target, Missing: libraryFiles()}, true)

	write("Chart.yaml", "name: other\n")
	for why, run := range map[string]func(string) (Copy, bool, error){"Compare": Compare, "Vendor": Vendor} {
		if _, is, err := run(dir); is || err == nil {
			t.Errorf("%s: another chart: %t, %v", why, is, err)
		}
	}
	if got, want := (Copy{Dir: "a/b", Absent: true}).String(), "a/b: is missing"; got != want {
		t.Error(got)
	}
}

// TestVendorRefuses: what cannot be read, and what is no copy, is an error with its place, and stays.
func TestVendorRefuses(t *testing.T) {
	for _, test := range []struct{ why, folder, file, at string }{
		{"a file in the place of the folder", "", "charts", "charts/" + Name},
		{"a file in the place of the copy", "charts", "charts/" + Name, "charts/" + Name},
		{"a folder in the place of Chart.yaml", "charts/" + Name + "/Chart.yaml", "", "charts/" + Name + "/Chart.yaml"},
		{"no Chart.yaml", "charts/" + Name, "charts/" + Name + "/x", "charts/" + Name},
	} {
		dir := t.TempDir()
		if err := os.MkdirAll(filepath.Join(dir, test.folder), 0o777); err != nil {
			t.Fatal(err)
		}
		if test.file != "" {
			if err := os.WriteFile(filepath.Join(dir, test.file), []byte("name: other\n"), 0o666); err != nil {
				t.Fatal(err)
			}
		}
		at := filepath.Join(dir, filepath.FromSlash(test.at))
		for name, run := range map[string]func(string) (Copy, bool, error){"Compare": Compare, "Vendor": Vendor} {
			c, is, err := run(filepath.Join(dir, "charts"))
			if diff := cmp.Diff(Copy{Dir: filepath.Join(dir, "charts", Name)}, c); diff != "" || is || err == nil || !strings.Contains(err.Error(), at) {
				t.Errorf("%s: %s: %t, %v, want one about %s\n%s", test.why, name, is, err, at, diff)
			}
		}
		if text, err := os.ReadFile(filepath.Join(dir, test.file)); test.file != "" && (err != nil || string(text) != "name: other\n") {
			t.Errorf("%s: %q, %v", test.why, text, err)
		}
	}
}
