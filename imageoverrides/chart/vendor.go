// SPDX-License-Identifier: Apache-2.0

package chart

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"

	"github.com/cozystack/image-overrides/internal/quote"
	"github.com/cozystack/image-overrides/internal/replace"
)

// Compare compares the copy of the library chart in dir/image-overrides with [FS]; dir is the folder charts of another chart. differs
// is false where they are the same. A copy that is not there has Absent set and nothing else but its Dir.
//
// It is an error where the folder of that name is no copy, by its Chart.yaml, and not empty, and where something cannot be
// read.
func Compare(dir string) (c Copy, differs bool, err error) {
	target := filepath.Join(dir, Name)
	c, err = compareTo(target)
	c.Dir = target
	return c, err == nil && (c.Absent || len(c.Changed)+len(c.Missing)+len(c.Extra) > 0), err
}

func compareTo(target string) (Copy, error) {
	if _, err := os.Lstat(target); errors.Is(err, fs.ErrNotExist) {
		return Copy{Absent: true}, nil
	} else if err != nil {
		return Copy{}, in(target, err)
	}
	entries, err := os.ReadDir(target)
	if err != nil {
		return Copy{}, in(target, err)
	}
	if len(entries) == 0 {
		return Copy{Missing: libraryFiles()}, nil
	}
	file := filepath.Join(target, "Chart.yaml")
	text, err := os.ReadFile(file)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return Copy{}, in(file, err)
	}
	name, version := identity(text)
	if name != Name {
		return Copy{}, fmt.Errorf("%s: is no copy of the library chart: its Chart.yaml does not say name: %s; move it away", quote.Plain(target), Name)
	}
	c, err := compare(os.DirFS(target), ".")
	c.Version = version
	if err != nil {
		err = fmt.Errorf("in %s: %w", quote.Plain(target), err)
	}
	return c, err
}

// Vendor brings the copy of the library chart in dir/image-overrides to this version, byte for byte, and removes files that are no
// part of it. What it found is returned, as [Compare] has it; changed is false where there was nothing to do, and also with an error,
// where only a part may have been done: every file is then either the old one or the new one, and Vendor can be
// called again. dir is made if only itself is missing.
//
// It writes to no other folder: where links to folders are in the way, or where the copy is one, that is an error.
func Vendor(dir string) (was Copy, changed bool, err error) {
	was, differs, err := Compare(dir)
	if err != nil {
		return was, false, err
	}
	if was.Absent {
		if err := os.Mkdir(dir, 0o777); err != nil && !errors.Is(err, fs.ErrExist) {
			return was, false, in(dir, err)
		}
		if err := os.Mkdir(was.Dir, 0o777); err != nil {
			return was, false, in(was.Dir, err)
		}
	}
	if err := noLinks(was.Dir); err != nil || !differs {
		return was, false, err
	}
	// What goes may stand where a file or a folder is to be.
	if err := removeAll(was.Dir, was.Extra); err != nil {
		return was, false, err
	}
	// In the order of the chart's files: Chart.yaml, by which the folder is known, is the first.
	for _, name := range libraryFiles() {
		if !was.Absent && !slices.Contains(was.Changed, name) && !slices.Contains(was.Missing, name) {
			continue
		}
		if err := write(was.Dir, name); err != nil {
			return was, false, err
		}
	}
	return was, true, nil
}

// in puts the file's name before an error's reason.
func in(file string, err error) error {
	return fmt.Errorf("%s: %w", quote.Plain(file), replace.Reason(err))
}

// noLinks returns an error where there is a link to a folder.
func noLinks(target string) error {
	return filepath.WalkDir(target, func(name string, d fs.DirEntry, err error) error {
		if err != nil {
			return in(name, err)
		}
		if d.Type()&fs.ModeSymlink == 0 {
			return nil
		}
		if info, err := os.Stat(name); err == nil && info.IsDir() || name == target {
			return fmt.Errorf("%s: is a link, and vendor writes to no other folder than the one it is given; remove it, or name the folder that it leads to", quote.Plain(name))
		}
		return nil
	})
}

// write writes a file of the library chart to a copy of it, with the mode that it has there or a new file's.
func write(target, name string) error {
	text, err := FS.ReadFile(Name + "/" + name)
	if err != nil {
		return err
	}
	file := filepath.Join(target, filepath.FromSlash(name))
	if err := os.MkdirAll(filepath.Dir(file), 0o777); err != nil {
		return in(filepath.Dir(file), err)
	}
	mode := fs.FileMode(0o644)
	if info, err := os.Stat(file); err == nil && info.Mode().IsRegular() {
		mode = info.Mode().Perm()
	}
	if err := replace.Beside(file, text, func(temp *os.File) error { return temp.Chmod(mode) }); err != nil {
		return in(file, err)
	}
	return nil
}

// removeAll removes files from a copy of the library chart, and the folders that are empty then.
func removeAll(target string, files []string) error {
	for _, name := range files {
		file := filepath.Join(target, filepath.FromSlash(name))
		if err := os.Remove(file); err != nil {
			return in(file, err)
		}
		for dir := filepath.Dir(file); dir != target; dir = filepath.Dir(dir) {
			if os.Remove(dir) != nil {
				break // it is not empty
			}
		}
	}
	return nil
}
