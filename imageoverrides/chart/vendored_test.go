// SPDX-License-Identifier: Apache-2.0

package chart

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/google/go-cmp/cmp"
)

// vendored is the library chart in a folder of a file system.
func vendored(t *testing.T, fsys fstest.MapFS, dir string) {
	t.Helper()
	for _, name := range libraryFiles() {
		text, err := fs.ReadFile(FS, Name+"/"+name)
		if err != nil {
			t.Fatal(err)
		}
		fsys[dir+"/"+name] = &fstest.MapFile{Data: text}
	}
}

func TestVendored(t *testing.T) {
	fsys := fstest.MapFS{}
	for _, dir := range []string{"a/charts/image-overrides", "b/charts/lib/charts/io", "c/charts/image-overrides", "d/image-overrides", "e", ".git/image-overrides", "same"} {
		vendored(t, fsys, dir)
	}
	old := string(fsys["c/charts/image-overrides/Chart.yaml"].Data)
	old = strings.Replace(old, "version: "+Version, "version: 0.0.1", 1)
	fsys["b/charts/lib/charts/io/templates/_table.tpl"].Data = append(fsys["b/charts/lib/charts/io/templates/_table.tpl"].Data, '\n')
	fsys["c/charts/image-overrides/Chart.yaml"] = &fstest.MapFile{Data: []byte(old)}
	delete(fsys, "c/charts/image-overrides/templates/_values.tpl")
	delete(fsys, "c/charts/image-overrides/templates/_strict.tpl")
	fsys["c/charts/image-overrides/.helmignore"] = &fstest.MapFile{}
	fsys["c/charts/image-overrides/charts/image-overrides/Chart.yaml"] = &fstest.MapFile{Data: []byte(old)}
	fsys["d/image-overrides/Chart.yaml"] = &fstest.MapFile{Data: []byte("name: another\n")}
	fsys["e/Chart.yaml"] = &fstest.MapFile{Data: []byte("name: image-overrides\n")}
	fsys["f/Chart.yaml"] = &fstest.MapFile{Data: []byte("a: b: c\n")}
	fsys["g/Chart.yaml/a"] = &fstest.MapFile{}
	want := []Copy{
		{Dir: "b/charts/lib/charts/io", Version: Version, Changed: []string{"templates/_table.tpl"}},
		{Dir: "c/charts/image-overrides", Version: "0.0.1", Changed: []string{"Chart.yaml"}, Missing: []string{"templates/_strict.tpl", "templates/_values.tpl"}, Extra: []string{".helmignore", "charts/image-overrides/Chart.yaml"}},
		{Dir: "e", Changed: []string{"Chart.yaml"}},
	}
	got, err := Vendored(fsys)
	if err != nil {
		t.Error(err)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	var lines []string
	for _, c := range got {
		lines = append(lines, c.String())
	}
	text := []string{
		"b/charts/lib/charts/io: changed: templates/_table.tpl",
		"c/charts/image-overrides: version 0.0.1 instead of " + Version + "; changed: Chart.yaml; missing: templates/_strict.tpl, templates/_values.tpl; not part of it: .helmignore, charts/image-overrides/Chart.yaml",
		"e: version none instead of " + Version + "; changed: Chart.yaml",
	}
	if diff := cmp.Diff(text, lines); diff != "" {
		t.Error(diff)
	}
	for _, fsys := range []fs.FS{FS, os.DirFS("."), os.DirFS(Name), fstest.MapFS{}} {
		if got, err := Vendored(fsys); err != nil || got != nil {
			t.Errorf("%v, %v", got, err)
		}
	}
}

// TestVendoredText has what a copy may hold that is not fit for a message.
func TestVendoredText(t *testing.T) {
	c := Copy{Dir: "a\nb", Version: "1\x1b[31m", Extra: []string{strings.Repeat("x", 5000)}}
	for i := range 12 {
		c.Changed = append(c.Changed, fmt.Sprint(i))
	}
	want := `"a\nb": version "1\x1b[31m" instead of ` + Version + "; changed: 0, 1, 2, 3, 4, 5, 6, 7, 8, 9 and 2 more; not part of it: " + `"` + strings.Repeat("x", 1000) + `…" (5000 bytes)`
	if got := c.String(); got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
}

// TestVendoredLinks follows links, but not around.
func TestVendoredLinks(t *testing.T) {
	dir := t.TempDir()
	fsys := fstest.MapFS{}
	vendored(t, fsys, "shared/image-overrides")
	fsys["shared/image-overrides/x"] = &fstest.MapFile{}
	fsys["a/charts/y"] = &fstest.MapFile{}
	if err := os.CopyFS(dir, fsys); err != nil {
		t.Fatal(err)
	}
	for link, to := range map[string]string{"a/charts/io": "../../shared/image-overrides", "a/charts/up": "..", "shared/image-overrides/templates/up": ".."} {
		if err := os.Symlink(to, filepath.Join(dir, link)); err != nil {
			t.Skip(err)
		}
	}
	bounded(t, func() {
		got, err := Vendored(os.DirFS(dir))
		if len(got) != 2 || got[0].Dir != "a/charts/io" || got[1].Dir != "shared/image-overrides" || got[0].Changed != nil || got[0].Missing != nil || len(got[0].Extra) == 0 {
			t.Errorf("%.500v", got)
		}
		if err == nil || !strings.Contains(err.Error(), "has too many files or folders for a copy of the library chart") {
			t.Errorf("%.500v", err)
		}
	})
}

// TestVendoredBesideLinks: behind a link to a copy, and behind a copy, what is beside them is looked at.
func TestVendoredBesideLinks(t *testing.T) {
	dir := t.TempDir()
	fsys := fstest.MapFS{}
	for _, name := range []string{"a/charts/x", "a/charts/z", "shared"} {
		vendored(t, fsys, name)
		fsys[name+"/extra"] = &fstest.MapFile{}
	}
	if err := os.CopyFS(dir, fsys); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink("../../shared", filepath.Join(dir, "a/charts/y")); err != nil {
		t.Skip(err)
	}
	copies, err := Vendored(os.DirFS(dir))
	var got []string
	for _, c := range copies {
		got = append(got, c.Dir)
	}
	if want := "a/charts/x a/charts/y a/charts/z shared"; strings.Join(got, " ") != want || err != nil {
		t.Errorf("%q, %v, want %s", got, err, want)
	}
}

// broken is a file system that does not read one file.
type broken struct {
	fs.FS
	name string
}

var errDisk = errors.New("disk")

func (b broken) Open(name string) (fs.File, error) {
	if name == b.name {
		return nil, &fs.PathError{Op: "open", Path: name, Err: errDisk}
	}
	return b.FS.Open(name)
}

// TestBroken tells each file that cannot be read, with what was found in the others.
func TestBroken(t *testing.T) {
	fsys := fstest.MapFS{}
	vendored(t, fsys, "a")
	fsys["a/x"] = &fstest.MapFile{}
	got, err := Vendored(broken{fsys, "a/templates/_table.tpl"})
	want := []Copy{{Dir: "a", Version: Version, Extra: []string{"x"}}}
	if diff := cmp.Diff(want, got); diff != "" || !errors.Is(err, errDisk) {
		t.Errorf("%v, %s", err, diff)
	}
	if got, err := Vendored(broken{fsys, "."}); got != nil || !errors.Is(err, errDisk) {
		t.Errorf("%v, %v", got, err)
	}

	fsys = fstest.MapFS{"Chart.yaml": {Data: []byte(withChart)}, "templates/a.yaml": {Data: []byte(release)}, "templates/b/c.yaml": {Data: []byte(release)}, "charts/.x": {}}
	for _, name := range []string{"templates/a.yaml", "templates/b", "charts", "templates/b/c.yaml", "Chart.yaml", "."} {
		misses, err := Check(broken{fsys, name})
		if !errors.Is(err, errDisk) {
			t.Errorf("%s: %v, %v", name, misses, err)
		}
		if strings.HasPrefix(name, "templates/b") && (len(misses) != 1 || misses[0].File != "templates/a.yaml") {
			t.Errorf("%s: %v", name, misses)
		}
	}
}
