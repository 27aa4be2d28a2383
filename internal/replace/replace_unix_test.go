// SPDX-License-Identifier: Apache-2.0

//go:build unix

package replace

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// in is what a folder has: names with modes and texts.
func in(t *testing.T, dir string) map[string]string {
	t.Helper()
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	list := make(map[string]string)
	for _, e := range entries {
		info, err := e.Info()
		if err != nil {
			t.Fatal(err)
		}
		text, _ := os.ReadFile(filepath.Join(dir, e.Name()))
		list[e.Name()] = info.Mode().String() + " " + string(text)
	}
	return list
}

func write(t *testing.T, file, text string, mode fs.FileMode) {
	t.Helper()
	if err := os.WriteFile(file, []byte(text), mode); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(file, mode); err != nil {
		t.Fatal(err)
	}
}

// TestFile: a file has its new content and its old mode, and there is no other file beside it.
func TestFile(t *testing.T) {
	for _, mode := range []fs.FileMode{0o600, 0o644, 0o755, 0o666, 0o777 | fs.ModeSticky, 0o755 | fs.ModeSetgid} {
		dir := t.TempDir()
		write(t, filepath.Join(dir, "a"), "old and longer", mode)
		want := in(t, dir)["a"]
		if err := File(filepath.Join(dir, "a"), []byte("new")); err != nil {
			t.Errorf("%v: %v", mode, err)
		}
		if diff := cmp.Diff(map[string]string{"a": want[:len(want)-len("old and longer")] + "new"}, in(t, dir)); diff != "" {
			t.Errorf("%v: - wanted, + there is\n%s", mode, diff)
		}
	}
}

// TestFileLink: a link stays, and the file that it leads to, in another folder, is replaced.
func TestFileLink(t *testing.T) {
	dir, other := t.TempDir(), t.TempDir()
	write(t, filepath.Join(other, "a"), "old", 0o640)
	if err := os.Symlink(filepath.Join(other, "a"), filepath.Join(dir, "link")); err != nil {
		t.Skip(err)
	}
	if err := File(filepath.Join(dir, "link"), []byte("new")); err != nil {
		t.Fatal(err)
	}
	if to, err := os.Readlink(filepath.Join(dir, "link")); err != nil || to != filepath.Join(other, "a") {
		t.Errorf("the link leads to %q, %v", to, err)
	}
	if diff := cmp.Diff(map[string]string{"a": fs.FileMode(0o640).String() + " new"}, in(t, other)); diff != "" {
		t.Error(diff)
	}
}

// TestErrors: after an error everything is as it was.
func TestErrors(t *testing.T) {
	dir := t.TempDir()
	write(t, filepath.Join(dir, "a"), "old", 0o644)
	before := in(t, dir)
	wrong := errors.New("wrong")
	for why, run := range map[string]func() error{
		"no file":   func() error { return File(filepath.Join(dir, "b"), nil) },
		"a folder":  func() error { return File(dir, nil) },
		"no folder": func() error { return Beside(filepath.Join(dir, "b", "c"), nil, func(*os.File) error { return nil }) },
		"a mode that is none": func() error {
			return Beside(filepath.Join(dir, "a"), []byte("new"), func(*os.File) error { return wrong })
		},
		"a file that is closed": func() error {
			return Beside(filepath.Join(dir, "a"), []byte("new"), func(temp *os.File) error { return temp.Close() })
		},
	} {
		err := run()
		if err == nil || why == "a mode that is none" && err != wrong {
			t.Errorf("%s: %v", why, err)
		}
		if diff := cmp.Diff(before, in(t, dir)); diff != "" {
			t.Errorf("%s: - was, + is\n%s", why, diff)
		}
	}
}

// TestBeside: the other file is whole when it gets its mode, which the file has then.
func TestBeside(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(dir, "a")
	err := Beside(file, []byte("new"), func(temp *os.File) error {
		if text, err := os.ReadFile(temp.Name()); err != nil || string(text) != "new" || filepath.Dir(temp.Name()) != dir {
			t.Errorf("%q in %s, %v", text, temp.Name(), err)
		}
		return temp.Chmod(0o604)
	})
	if diff := cmp.Diff(map[string]string{"a": fs.FileMode(0o604).String() + " new"}, in(t, dir)); diff != "" || err != nil {
		t.Errorf("%v\n%s", err, diff)
	}
}

func TestReason(t *testing.T) {
	for _, err := range []error{&fs.PathError{Op: "open", Path: "a", Err: fs.ErrExist}, &os.LinkError{Op: "rename", Old: "a", New: "b", Err: fs.ErrExist}, fs.ErrExist} {
		if got := Reason(err); got != fs.ErrExist {
			t.Errorf("%v: %v", err, got)
		}
	}
}
