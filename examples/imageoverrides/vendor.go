// SPDX-License-Identifier: Apache-2.0

package main

import (
	"errors"
	"flag"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/cozystack/image-overrides/imageoverrides/chart"
	"github.com/cozystack/image-overrides/internal/quote"
)

const vendorUsage = `usage: imageoverrides vendor [-check] DIR...

Puts the library chart image-overrides of this version into each folder, which is the folder
charts of another chart: the chart is in DIR/image-overrides then, byte for byte. What is
there already is brought to this version, and files that are no part of it are
removed. A folder of that name is left alone, and that is an error, if its Chart.yaml does
not say name: image-overrides, or if there are links to folders in the way. DIR is made
if only itself is missing.

  -check  writes nothing, and tells copies that are missing or not this version's

Standard output gets a line for each copy that was written, or differs; none for those that are in
step:

  wrote DIR/image-overrides: version
  updated DIR/image-overrides: what differed
  DIR/image-overrides: what differs          with -check

Each file is written beside its place and renamed: after an error every file is either the
old one or the new one, and the command can be run again.

Example:

  imageoverrides vendor packages/library/charts
  imageoverrides vendor -check packages/library/charts

Exit status: 0 all copies are this version's, 1 one is not (with -check), or cannot be written,
2 wrong usage.
`

// vendor runs the command vendor.
func (s streams) vendor(args []string) int {
	flags := flag.NewFlagSet("imageoverrides vendor", flag.ContinueOnError)
	check := flags.Bool("check", false, "")
	if status, ok := s.parse(flags, vendorUsage, args); !ok {
		return status
	}
	if flags.NArg() == 0 {
		return s.misuse(flags.Name(), vendorUsage, "a folder for charts is expected")
	}
	status := 0
	for _, dir := range flags.Args() {
		told, err := vendorInto(dir, *check)
		if told != "" {
			say(s.stdout, told)
			if *check {
				status = 1
			}
		}
		if err != nil {
			status = s.fail(err)
		}
	}
	return status
}

// vendorInto brings the copy in a folder to this version, or only tells what differs. What it did,
// or found, is one line, or "" for nothing.
func vendorInto(dir string, check bool) (told string, err error) {
	target := filepath.Join(dir, chart.Name)
	switch _, err := os.Lstat(target); {
	case errors.Is(err, fs.ErrNotExist) && check:
		return quote.Plain(target) + ": is missing", nil
	case errors.Is(err, fs.ErrNotExist):
		if err := os.Mkdir(dir, 0o777); err != nil && !errors.Is(err, fs.ErrExist) {
			return "", fileError(dir, err)
		}
		if err := os.Mkdir(target, 0o777); err != nil {
			return "", fileError(target, err)
		}
		if err := writeAll(target, libraryFiles()); err != nil {
			return "", err
		}
		return fmt.Sprintf("wrote %s: version %s", quote.Plain(target), chart.Version), nil
	case err != nil:
		return "", fileError(target, err)
	}
	if err := isCopy(target, check); err != nil {
		return "", err
	}
	copies, err := chart.Vendored(os.DirFS(target))
	if err != nil {
		return "", fmt.Errorf("in %s: %w", target, err)
	}
	files := libraryFiles()
	c := chart.Copy{Missing: files} // of an empty folder
	if i := slices.IndexFunc(copies, func(c chart.Copy) bool { return c.Dir == "." }); i >= 0 {
		c = copies[i]
	} else if _, err := os.Stat(filepath.Join(target, "Chart.yaml")); err == nil {
		return "", nil
	}
	c.Dir = target
	if check {
		return c.String(), nil
	}
	// In the order of the chart's files: Chart.yaml, by which the folder is known, is the first.
	files = slices.DeleteFunc(files, func(name string) bool {
		return !slices.Contains(c.Changed, name) && !slices.Contains(c.Missing, name)
	})
	// What goes may stand where a file or a folder is to be.
	if err := removeAll(target, c.Extra); err != nil {
		return "", err
	}
	if err := writeAll(target, files); err != nil {
		return "", err
	}
	return "updated " + c.String(), nil
}

// isCopy returns an error where a folder is not one that vendor may write to, or compare.
func isCopy(target string, check bool) error {
	refuse := func(reason string) error { return fmt.Errorf("%s: %s", target, reason) }
	entries, err := os.ReadDir(target)
	if err != nil {
		return fileError(target, err)
	}
	text, err := os.ReadFile(filepath.Join(target, "Chart.yaml"))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fileError(filepath.Join(target, "Chart.yaml"), err)
	}
	var metadata struct{ Name string }
	if (yaml.Unmarshal(text, &metadata) != nil || metadata.Name != chart.Name) && len(entries) > 0 {
		return refuse("is no copy of the library chart: its Chart.yaml does not say name: " + chart.Name + "; move it away")
	}
	if check {
		return nil
	}
	return filepath.WalkDir(target, func(name string, d fs.DirEntry, err error) error {
		if err != nil {
			return fileError(name, err)
		}
		if d.Type()&fs.ModeSymlink == 0 {
			return nil
		}
		if info, err := os.Stat(name); err == nil && info.IsDir() || name == target {
			return fmt.Errorf("%s: is a link, and vendor writes to no other folder than the one it is given; remove it, or name the folder that it leads to", name)
		}
		return nil
	})
}

// libraryFiles lists the files of the library chart.
func libraryFiles() (list []string) {
	fs.WalkDir(chart.FS, chart.Name, func(name string, d fs.DirEntry, err error) error {
		if err == nil && !d.IsDir() {
			list = append(list, strings.TrimPrefix(name, chart.Name+"/"))
		}
		return err // it is embedded: there is none
	})
	return list
}

// writeAll writes files of the library chart to a copy of it.
func writeAll(target string, files []string) error {
	for _, name := range files {
		text, err := chart.FS.ReadFile(chart.Name + "/" + name)
		if err != nil {
			return err
		}
		file := filepath.Join(target, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(file), 0o777); err != nil {
			return fileError(filepath.Dir(file), err)
		}
		if err := writeFile(file, text); err != nil {
			return fileError(file, err)
		}
	}
	return nil
}

// writeFile writes a file as [writeBeside] does, with the mode that it has or a new file's.
func writeFile(file string, text []byte) error {
	mode := fs.FileMode(0o644)
	if info, err := os.Stat(file); err == nil && info.Mode().IsRegular() {
		mode = info.Mode().Perm()
	}
	return writeBeside(file, text, func(temp *os.File) error { return temp.Chmod(mode) })
}

// removeAll removes files from a copy of the library chart, and the folders that are empty then.
func removeAll(target string, files []string) error {
	for _, name := range files {
		file := filepath.Join(target, filepath.FromSlash(name))
		if err := os.Remove(file); err != nil {
			return fileError(file, err)
		}
		for dir := filepath.Dir(file); dir != target; dir = filepath.Dir(dir) {
			if os.Remove(dir) != nil {
				break // it is not empty
			}
		}
	}
	return nil
}
