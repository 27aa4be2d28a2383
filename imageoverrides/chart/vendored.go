// SPDX-License-Identifier: Apache-2.0

package chart

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/cozystack/image-overrides/internal/quote"
)

// Version is the version of the library chart in [FS], by its Chart.yaml.
var Version = func() string {
	text, err := FS.ReadFile(Name + "/Chart.yaml")
	if err != nil {
		panic(err) // it is embedded
	}
	_, version := identity(text)
	return version
}()

// A Copy is a copy of the library chart that is not the one in [FS].
type Copy struct {
	Dir     string   // in the file system that was looked through
	Version string   // by its Chart.yaml
	Changed []string // the files that are other ones, by their paths in the copy and in order
	Missing []string // those that it does not have
	Extra   []string // those that it has beyond
	Absent  bool     // there is none, where one was asked for; see [Compare]
}

// String returns the copy in one line: dir: what differs. Of many files it names the first ten.
func (c Copy) String() string {
	if c.Absent {
		return quote.Plain(c.Dir) + ": is missing"
	}
	var parts []string
	if c.Version != Version {
		parts = append(parts, fmt.Sprintf("version %s instead of %s", version(c.Version), Version))
	}
	for _, p := range []struct {
		what  string
		files []string
	}{{"changed", c.Changed}, {"missing", c.Missing}, {"not part of it", c.Extra}} {
		if n := len(p.files); n > 10 {
			parts = append(parts, fmt.Sprintf("%s: %s and %d more", p.what, names(p.files[:10]), n-10))
		} else if n > 0 {
			parts = append(parts, fmt.Sprintf("%s: %s", p.what, names(p.files)))
		}
	}
	return quote.Plain(c.Dir) + ": " + strings.Join(parts, "; ")
}

// version is how a version is told, which is any text.
func version(v string) string {
	if v == "" {
		return "none"
	}
	return quote.Plain(v)
}

func names(list []string) string {
	quoted := make([]string, len(list))
	for i, s := range list {
		quoted[i] = quote.Plain(s)
	}
	return strings.Join(quoted, ", ")
}

// Vendored looks for copies of the library chart in fsys, at any depth: folders with a Chart.yaml of
// its name. It returns those that differ from [FS] in any byte of any file, in the order of their
// folders, and nil where there are none. Links to folders are followed where they lead to a copy.
// Packaged copies (.tgz) are not opened, and folders whose names begin with a dot are passed
// over, but not inside of a copy.
//
// Where a file or folder cannot be read the copies that could be come with the error.
func Vendored(fsys fs.FS) ([]Copy, error) {
	var copies []Copy
	var errs []error
	err := fs.WalkDir(fsys, ".", func(name string, d fs.DirEntry, err error) error {
		if err != nil {
			errs = append(errs, err)
			return nil
		}
		link := d.Type()&fs.ModeSymlink != 0
		if !d.IsDir() && !link {
			return nil
		}
		if name != "." && strings.HasPrefix(d.Name(), ".") {
			if d.IsDir() {
				return fs.SkipDir
			}
			return nil
		}
		text, err := readFile(fsys, path.Join(name, "Chart.yaml"))
		if err != nil {
			if info, statErr := fs.Stat(fsys, path.Join(name, "Chart.yaml")); statErr == nil && !info.IsDir() {
				errs = append(errs, err)
			}
			return nil
		}
		of, version := identity(text)
		if of != Name {
			return nil
		}
		c, err := compare(fsys, name)
		c.Version = version
		if err != nil {
			errs = append(errs, err)
		}
		if len(c.Changed)+len(c.Missing)+len(c.Extra) > 0 {
			copies = append(copies, c)
		}
		if link {
			return nil
		}
		return fs.SkipDir
	})
	if err != nil {
		errs = append(errs, err)
	}
	slices.SortFunc(copies, func(a, b Copy) int { return strings.Compare(a.Dir, b.Dir) })
	return copies, errors.Join(errs...)
}

// identity is the name and the version of a chart. They are empty where its Chart.yaml is none.
func identity(text []byte) (name, version string) {
	var metadata struct{ Name, Version string }
	if err := yaml.Unmarshal(text, &metadata); err != nil {
		return "", ""
	}
	return metadata.Name, metadata.Version
}

// compare compares a copy with the library chart. An error is of something in it that cannot be
// read; what could be is compared all the same.
func compare(fsys fs.FS, dir string) (Copy, error) {
	c := Copy{Dir: dir}
	var errs []error
	missing := make(map[string]bool)
	for _, name := range libraryFiles() {
		missing[name] = true
	}
	files := 0
	var walk func(in string, depth int)
	walk = func(in string, depth int) {
		entries, err := fs.ReadDir(fsys, path.Join(dir, in))
		if err != nil {
			errs = append(errs, err)
		}
		for _, e := range entries {
			name := path.Join(in, e.Name())
			if files++; files > maxFolders || depth > maxDepth {
				errs = append(errs, fmt.Errorf("%s: has too many files or folders for a copy of the library chart", path.Join(dir, name)))
				return
			}
			if info, err := fs.Stat(fsys, path.Join(dir, name)); err == nil && info.IsDir() { // links too
				walk(name, depth+1)
				continue
			}
			if !missing[name] {
				c.Extra = append(c.Extra, name)
				continue
			}
			missing[name] = false
			got, err := readFile(fsys, path.Join(dir, name))
			want, wantErr := fs.ReadFile(FS, path.Join(Name, name))
			if err := errors.Join(err, wantErr); err != nil {
				errs = append(errs, err)
			} else if !bytes.Equal(got, want) {
				c.Changed = append(c.Changed, name)
			}
		}
	}
	walk(".", 0)
	for name, is := range missing {
		if is {
			c.Missing = append(c.Missing, name)
		}
	}
	for _, list := range [][]string{c.Changed, c.Missing, c.Extra} {
		slices.Sort(list)
	}
	return c, errors.Join(errs...)
}

// libraryFiles lists the files of the library chart.
func libraryFiles() (list []string) {
	err := fs.WalkDir(FS, Name, func(name string, d fs.DirEntry, err error) error {
		if err == nil && !d.IsDir() {
			list = append(list, strings.TrimPrefix(name, Name+"/"))
		}
		return err
	})
	if err != nil {
		panic(err) // it is embedded
	}
	return list
}
