// SPDX-License-Identifier: Apache-2.0

package chart

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"regexp"
	"strconv"
	"strings"

	yamlnode "github.com/cozystack/image-overrides/internal/node"
	"github.com/cozystack/image-overrides/internal/quote"
)

const (
	maxDepth   = 16     // charts in charts, and folders in templates
	maxFolders = 20_000 // of charts and of templates, those behind links included
)

// A loader reads charts, each one once, whatever links lead to it.
type loader struct {
	fsys    fs.FS
	charts  map[string]*chart // by folder; nil where there is none
	folders map[string][]folder
	found   map[string]bool // the folders that a walk found a Chart.yaml in
	count   int
	errs    []error
}

// A folder is one that was read.
type folder struct {
	info  fs.FileInfo
	chart *chart // that it is, or that has it among its templates
}

// enter is called for every folder before it is read, with its chart. Where ok is false it must
// not be: it cannot be, or a link led to it that was read before, with the chart that it has then.
func (l *loader) enter(dir string, c *chart) (first *chart, ok bool) {
	info, err := fs.Stat(l.fsys, dir)
	if err != nil {
		if !errors.Is(err, fs.ErrNotExist) {
			l.fail(err)
		}
		return nil, false
	}
	key := fmt.Sprint(info.ModTime().UnixNano(), info.Size(), info.Mode())
	if dir != c.dir {
		key += c.dir // templates may be shared
	}
	for _, f := range l.folders[key] {
		if os.SameFile(f.info, info) {
			return f.chart, false
		}
	}
	if l.count++; l.count > maxFolders {
		if l.count == maxFolders+1 {
			l.fail(&Error{dir, 1, fmt.Sprintf("is one of more than %d folders of charts, with those behind links; no more are read", maxFolders)})
		}
		return nil, false
	}
	l.folders[key] = append(l.folders[key], folder{info, c})
	return c, true
}

func newLoader(fsys fs.FS) *loader {
	return &loader{fsys: fsys, charts: make(map[string]*chart), folders: make(map[string][]folder), found: make(map[string]bool)}
}

func (l *loader) fail(err error) {
	if err != nil {
		l.errs = append(l.errs, err)
	}
}

// find lists the folders that have a Chart.yaml.
func (l *loader) find() (dirs []string) {
	l.fail(fs.WalkDir(l.fsys, ".", func(name string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			l.fail(err)
		case d.IsDir() && name != "." && strings.HasPrefix(d.Name(), "."):
			return fs.SkipDir
		case d.Name() == "Chart.yaml" && !d.IsDir():
			dirs = append(dirs, path.Dir(name))
			l.found[path.Dir(name)] = true
		}
		return nil
	}))
	return dirs
}

// A chart is what is known of one chart.
type chart struct {
	dir          string
	name         string
	library      bool // its files are not rendered
	dependencies []dependency
	line         int      // of the dependencies in Chart.yaml, or 1
	vendored     []string // the folders under charts/
	packaged     []string // the archives there
	templates    []*source
}

type dependency struct{ Name, Repository string }

// archive is the name of the library chart's archive, whatever its version.
var archive = regexp.MustCompile(`^` + Name + `-v?[0-9].*\.tgz$`)

// carries reports whether a chart is the library chart, or has it as a dependency.
func (c *chart) carries() bool {
	if c.name == Name {
		return true
	}
	for _, d := range c.dependencies {
		if d.Name == Name {
			return true
		}
	}
	for _, name := range c.packaged {
		if archive.MatchString(name) {
			return true
		}
	}
	return false
}

func (c *chart) uncarried() Miss {
	return Miss{path.Join(c.dir, "Chart.yaml"), c.line, RuleLibrary, "the chart has HelmReleases and does not depend on the library chart " + Name}
}

// below is the charts that Helm finds under a chart: in its folder charts/, and beside it where it
// says so.
func (l *loader) below(c *chart) (list []*chart) {
	for _, dir := range c.vendored {
		list = append(list, l.chart(dir))
	}
	for _, d := range c.dependencies {
		if local, ok := strings.CutPrefix(d.Repository, "file://"); ok {
			if dir := path.Join(c.dir, local); fs.ValidPath(dir) {
				list = append(list, l.chart(dir))
			}
		}
	}
	return list
}

// chart reads the chart in a folder. Where there is none, it is nil.
func (l *loader) chart(dir string) *chart {
	if known, ok := l.charts[dir]; ok {
		return known
	}
	l.charts[dir] = nil
	info, err := fs.Stat(l.fsys, path.Join(dir, "Chart.yaml"))
	if err != nil {
		if l.found[dir] {
			l.fail(err)
		}
		return nil
	}
	if info.IsDir() {
		return nil
	}
	c := &chart{dir: dir, line: 1, name: path.Base(dir)}
	first, ok := l.enter(dir, c)
	l.charts[dir] = first
	if !ok {
		return first
	}
	text, err := l.read(path.Join(dir, "Chart.yaml"))
	if err != nil {
		l.fail(err)
		return c
	}
	l.metadata(c, "Chart.yaml", text)
	switch text, err := l.read(path.Join(dir, "requirements.yaml")); { // of apiVersion v1
	case err == nil:
		l.metadata(c, "requirements.yaml", text)
	case !errors.Is(err, fs.ErrNotExist):
		l.fail(err)
	}
	entries, err := fs.ReadDir(l.fsys, path.Join(dir, "charts"))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		l.fail(err)
	}
	for _, e := range entries {
		if strings.HasPrefix(e.Name(), ".") || strings.HasPrefix(e.Name(), "_") {
			continue // Helm passes over them
		}
		sub := path.Join(dir, "charts", e.Name())
		if _, err := fs.Stat(l.fsys, path.Join(sub, "Chart.yaml")); err == nil {
			c.vendored = append(c.vendored, sub)
		} else if path.Ext(e.Name()) == ".tgz" {
			c.packaged = append(c.packaged, e.Name())
		}
	}
	l.templates(c, path.Join(dir, "templates"), 0)
	return c
}

// read reads a file that is not larger than Helm takes.
func (l *loader) read(name string) ([]byte, error) { return readFile(l.fsys, name) }

func readFile(fsys fs.FS, name string) ([]byte, error) {
	f, err := fsys.Open(name)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	text, err := io.ReadAll(io.LimitReader(f, maxFile+1))
	if err == nil && len(text) > maxFile {
		err = &Error{name, 1, fmt.Sprintf("is larger than %d bytes, which Helm does not load", maxFile)}
	}
	return text, err
}

// metadata reads the name and the dependencies of a chart.
func (l *loader) metadata(chart *chart, name string, text []byte) {
	file := path.Join(chart.dir, name)
	fields, err := yamlnode.Map(text)
	if err != nil {
		l.fail(yamlError(file, err))
		return
	}
	if fields == nil {
		l.fail(&Error{file, 1, "is no map"})
		return
	}
	if _, kind := yamlnode.Last(fields, "type"); kind != nil {
		chart.library = kind.Value == "library"
	}
	if name == "Chart.yaml" {
		chart.name = yamlnode.Scalar(fields, "name")
	}
	key, value := yamlnode.Last(fields, "dependencies")
	if key == nil {
		return
	}
	if name == "Chart.yaml" {
		chart.line = key.Line
	}
	var list []dependency
	if err := value.Decode(&list); err != nil {
		l.fail(&Error{file, key.Line, "dependencies are no list of maps"})
	}
	chart.dependencies = append(chart.dependencies, list...)
}

// yamlError takes the line out of an error of the YAML library: "yaml: line 2: reason", or
// "yaml: reason" for the first line.
func yamlError(file string, err error) *Error {
	e := &Error{File: file, Line: 1, Reason: strings.TrimPrefix(err.Error(), "yaml: ")}
	if rest, ok := strings.CutPrefix(e.Reason, "line "); ok {
		at, reason, _ := strings.Cut(rest, ": ")
		if line, err := strconv.Atoi(at); err == nil {
			e.Line, e.Reason = line, reason
		}
	}
	e.Reason = shorten(e.Reason)
	return e
}

// shorten keeps a text out of a file short enough for a message.
func shorten(text string) string { return quote.Shorten(text, quote.Limit) }

// templates reads the files under a folder of templates.
func (l *loader) templates(chart *chart, dir string, depth int) {
	if _, ok := l.enter(dir, chart); !ok {
		return
	}
	entries, err := fs.ReadDir(l.fsys, dir)
	l.fail(err)
	for _, e := range entries {
		name := path.Join(dir, e.Name())
		info, err := fs.Stat(l.fsys, name) // follows links
		switch {
		case err != nil:
			l.fail(err)
		case strings.HasPrefix(e.Name(), ".") || e.Name() == "NOTES.txt" && depth == 0:
		case info.IsDir() && depth == maxDepth:
			l.fail(&Error{name, 1, fmt.Sprintf("is a folder more than %d deep in templates; it is not read", maxDepth)})
		case info.IsDir():
			l.templates(chart, name, depth+1)
		case info.Mode().IsRegular():
			text, err := l.read(name)
			if err != nil {
				l.fail(err)
				break
			}
			source, err := parseSource(name, string(text))
			if err != nil {
				l.fail(err)
				break
			}
			chart.templates = append(chart.templates, source)
		}
	}
}
