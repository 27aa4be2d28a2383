// SPDX-License-Identifier: Apache-2.0

package chart

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"slices"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v3"
)

// helper is the named template that every HelmRelease must call.
const helper = Name + ".postRenderers"

// A Miss is a place in a chart that images escape through.
type Miss struct {
	File    string // in the file system that was checked
	Line    int    // from 1
	Message string
}

// String returns the miss in one line: file:line: message.
func (m Miss) String() string { return fmt.Sprintf("%s:%d: %s", m.File, m.Line, m.Message) }

// An Error is a file that Check cannot read as what it is: a Chart.yaml that is no YAML, or a
// template that Helm could not parse.
type Error struct {
	File   string // in the file system that was checked
	Line   int    // from 1
	Reason string
}

// Error returns one line: file:line: reason.
func (e *Error) Error() string { return fmt.Sprintf("%s:%d: %s", e.File, e.Line, e.Reason) }

// Check looks at every chart in fsys, subcharts included, and returns what is missing for
// the table to reach its releases, by file and line:
//
//   - a HelmRelease in a template, in whose own text image-overrides.postRenderers is not
//     called, neither itself nor by way of another named template;
//   - a chart with a HelmRelease that does not carry the library chart, neither among the
//     dependencies of its Chart.yaml nor in its folder charts.
//
// The templates are parsed, as Helm does it, and not rendered. A HelmRelease is a map whose kind
// says so, as text, as a string in an action or as one side of a condition, in
// block style or flow style; or a dict with that kind. Its call must be inside of that map and
// not in the other arm of an if. Other mentions of the kind are none: those in
// comments, and maps that only refer to a release, as a health check does. A call
// that is commented out is no call.
//
// Templates are the files below templates, partials included, but for NOTES.txt and names that
// begin with a dot. Links are followed there and in the folder charts. Folders whose
// names begin with a dot are passed over.
//
// No misses are nil. A file system without a chart is an error. Where a file cannot be read, or
// not as what it is, the misses of all others come with the error, which joins one for each
// file: the file system's own, or an [*Error].
func Check(fsys fs.FS) ([]Miss, error) {
	c := checker{fsys: fsys, charts: make(map[string]*chart)}
	var dirs []string
	c.fail(fs.WalkDir(fsys, ".", func(name string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			c.fail(err)
		case d.IsDir() && name != "." && strings.HasPrefix(d.Name(), "."):
			return fs.SkipDir
		case d.Name() == "Chart.yaml" && !d.IsDir():
			dirs = append(dirs, path.Dir(name))
		}
		return nil
	}))
	if len(dirs) == 0 && len(c.errs) == 0 {
		c.fail(fmt.Errorf("there is no Chart.yaml: %w", fs.ErrNotExist))
	}
	for _, dir := range dirs {
		c.check(c.chart(dir))
	}
	slices.SortFunc(c.misses, func(a, b Miss) int {
		return cmp.Or(strings.Compare(a.File, b.File), cmp.Compare(a.Line, b.Line))
	})
	return c.misses, errors.Join(c.errs...)
}

type checker struct {
	fsys   fs.FS
	charts map[string]*chart // by directory
	misses []Miss
	errs   []error
}

func (c *checker) fail(err error) {
	if err != nil {
		c.errs = append(c.errs, err)
	}
}

// A chart is what is known of one chart.
type chart struct {
	dir          string
	name         string
	dependencies []dependency
	line         int      // of the dependencies in Chart.yaml, or 1
	vendored     []string // the directories under charts/
	packaged     []string // the archives there
	templates    []*source
}

type dependency struct{ Name, Repository string }

// check adds the misses of one chart.
func (c *checker) check(chart *chart) {
	calls := c.callers(chart)
	releases := false
	for _, source := range chart.templates {
		for _, r := range source.releases {
			releases = true
			if !r.served(calls) {
				c.misses = append(c.misses, Miss{source.file, r.line, "this HelmRelease does not call " + helper + "; its images are not overridden"})
			}
		}
	}
	if releases && !c.carries(chart) {
		c.misses = append(c.misses, Miss{path.Join(chart.dir, "Chart.yaml"), chart.line, "the chart has HelmReleases and does not depend on the library chart " + Name})
	}
}

// carries reports whether a chart has the library chart as a dependency.
func (c *checker) carries(chart *chart) bool {
	for _, d := range chart.dependencies {
		if d.Name == Name {
			return true
		}
	}
	for _, dir := range chart.vendored {
		if c.chart(dir).name == Name {
			return true
		}
	}
	for _, archive := range chart.packaged {
		if strings.HasPrefix(archive, Name+"-") {
			return true
		}
	}
	return false
}

// callers returns the named templates that call the helper, with the helper itself, of all
// that Helm would parse together with a chart: those of the chart, of its dependencies, and of
// the charts that it is under. Of several with one name each must call it.
func (c *checker) callers(of *chart) map[string]bool {
	root := of.dir
	for {
		above := path.Dir(path.Dir(root))
		if path.Base(path.Dir(root)) != "charts" || c.chart(above).name == "" {
			break
		}
		root = above
	}
	var trees []*tree
	seen := make(map[string]bool)
	var collect func(dir string, depth int)
	collect = func(dir string, depth int) {
		if seen[dir] || depth > maxDepth {
			return
		}
		seen[dir] = true
		chart := c.chart(dir)
		for _, source := range chart.templates {
			trees = append(trees, source.trees...)
		}
		for _, sub := range chart.vendored {
			collect(sub, depth+1)
		}
		for _, d := range chart.dependencies {
			if local, ok := strings.CutPrefix(d.Repository, "file://"); ok && fs.ValidPath(path.Join(dir, local)) {
				collect(path.Join(dir, local), depth+1)
			}
		}
	}
	collect(root, 0)

	calls := map[string]bool{helper: true}
	for grown := true; grown; {
		grown = false
		all := make(map[string]bool) // by name, whether each of the templates so far calls it
		for _, t := range trees {
			before, ok := all[t.name]
			all[t.name] = (before || !ok) && slices.ContainsFunc(t.calls, func(c call) bool { return calls[c.name] })
		}
		for name, ok := range all {
			if ok && !calls[name] {
				calls[name] = true
				grown = true
			}
		}
	}
	return calls
}

// maxDepth is how deep charts in charts and directories in templates are followed.
const maxDepth = 16

// chart reads the chart in a directory. Where there is none, its name is empty.
func (c *checker) chart(dir string) *chart {
	if known, ok := c.charts[dir]; ok {
		return known
	}
	chart := &chart{dir: dir, line: 1}
	c.charts[dir] = chart
	text, err := fs.ReadFile(c.fsys, path.Join(dir, "Chart.yaml"))
	if err != nil {
		return chart
	}
	chart.name = path.Base(dir)
	c.metadata(chart, "Chart.yaml", text)
	if text, err := fs.ReadFile(c.fsys, path.Join(dir, "requirements.yaml")); err == nil { // of apiVersion v1
		c.metadata(chart, "requirements.yaml", text)
	}
	entries, err := fs.ReadDir(c.fsys, path.Join(dir, "charts"))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		c.fail(err)
	}
	for _, e := range entries {
		sub := path.Join(dir, "charts", e.Name())
		if _, err := fs.Stat(c.fsys, path.Join(sub, "Chart.yaml")); err == nil {
			chart.vendored = append(chart.vendored, sub)
		} else if path.Ext(e.Name()) == ".tgz" {
			chart.packaged = append(chart.packaged, e.Name())
		}
	}
	c.templates(chart, path.Join(dir, "templates"), 0)
	return chart
}

// metadata reads the name and the dependencies of a chart.
func (c *checker) metadata(chart *chart, name string, text []byte) {
	file := path.Join(chart.dir, name)
	var document yaml.Node
	if err := yaml.Unmarshal(text, &document); err != nil {
		c.fail(yamlError(file, err))
		return
	}
	if len(document.Content) == 0 || document.Content[0].Kind != yaml.MappingNode {
		c.fail(&Error{file, 1, "is no map"})
		return
	}
	fields := document.Content[0].Content
	for i := 0; i+1 < len(fields); i += 2 {
		switch key, value := fields[i], fields[i+1]; key.Value {
		case "name":
			chart.name = value.Value
		case "dependencies":
			if name == "Chart.yaml" {
				chart.line = key.Line
			}
			var list []dependency
			if err := value.Decode(&list); err != nil {
				c.fail(&Error{file, key.Line, "dependencies are no list of maps"})
			}
			chart.dependencies = append(chart.dependencies, list...)
		}
	}
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
	return e
}

// templates reads the files under a directory of templates.
func (c *checker) templates(chart *chart, dir string, depth int) {
	entries, err := fs.ReadDir(c.fsys, dir)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		c.fail(err)
	}
	for _, e := range entries {
		name := path.Join(dir, e.Name())
		info, err := fs.Stat(c.fsys, name) // follows links
		switch {
		case err != nil:
			c.fail(err)
		case strings.HasPrefix(e.Name(), ".") || e.Name() == "NOTES.txt" && depth == 0:
		case info.IsDir() && depth < maxDepth:
			c.templates(chart, name, depth+1)
		case info.Mode().IsRegular():
			text, err := fs.ReadFile(c.fsys, name)
			if err != nil {
				c.fail(err)
				break
			}
			source, err := parseSource(name, string(text))
			if err != nil {
				c.fail(err)
				break
			}
			chart.templates = append(chart.templates, source)
		}
	}
}
