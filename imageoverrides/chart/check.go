// SPDX-License-Identifier: Apache-2.0

package chart

import (
	"cmp"
	"fmt"
	"io/fs"
	"path"
	"regexp"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"
)

// A Miss is a place in a chart that images escape through.
type Miss struct {
	File    string // in the file system that was checked
	Line    int    // from 1
	Message string
}

// String returns the miss in one line: file:line: message.
func (m Miss) String() string { return fmt.Sprintf("%s:%d: %s", m.File, m.Line, m.Message) }

// Check looks at every chart in fsys, subcharts included, and returns what is missing for
// the table to reach its releases, by file and line:
//
//   - a HelmRelease in a template, in whose document image-overrides.postRenderers is not
//     called, neither itself nor by way of a template of the same chart;
//   - a chart with a HelmRelease that does not carry the library chart, neither among the
//     dependencies of its Chart.yaml nor in its folder charts.
//
// A HelmRelease is a line kind: HelmRelease with metadata beside it; other mentions of the
// kind, as in a health check, are none. Comments of YAML and of templates do not count. The
// templates are read, not rendered, so a kind that is itself rendered is not seen.
//
// No misses are nil. A file system without a chart is an error, and so is a Chart.yaml that is
// no YAML, and a file that cannot be read.
func Check(fsys fs.FS) ([]Miss, error) {
	var charts []string
	err := fs.WalkDir(fsys, ".", func(name string, d fs.DirEntry, err error) error {
		if err == nil && !d.IsDir() && path.Base(name) == "Chart.yaml" {
			charts = append(charts, path.Dir(name))
		}
		return err
	})
	if err != nil {
		return nil, err
	}
	if len(charts) == 0 {
		return nil, fmt.Errorf("there is no Chart.yaml: %w", fs.ErrNotExist)
	}
	var misses []Miss
	for _, dir := range charts {
		m, err := checkChart(fsys, dir)
		if err != nil {
			return nil, err
		}
		misses = append(misses, m...)
	}
	slices.SortFunc(misses, func(a, b Miss) int {
		return cmp.Or(strings.Compare(a.File, b.File), cmp.Compare(a.Line, b.Line))
	})
	return misses, nil
}

// checkChart checks the chart in a folder, without its subcharts.
func checkChart(fsys fs.FS, dir string) ([]Miss, error) {
	templates, err := readTemplates(fsys, path.Join(dir, "templates"))
	if err != nil {
		return nil, err
	}
	helpers := callers(templates)
	var misses []Miss
	releases := false
	for _, t := range templates {
		for _, document := range t.documents() {
			line := document.release()
			if line == 0 {
				continue
			}
			releases = true
			if !document.calls(helpers) {
				misses = append(misses, Miss{t.name, line, "this HelmRelease does not call image-overrides.postRenderers; its images are not overridden"})
			}
		}
	}
	if !releases {
		return nil, nil
	}
	line, carried, err := dependency(fsys, dir)
	if err != nil {
		return nil, err
	}
	if !carried {
		misses = append(misses, Miss{path.Join(dir, "Chart.yaml"), line, "the chart has HelmReleases and does not depend on the library chart " + Name})
	}
	return misses, nil
}

// A template is a file of templates, its comments blanked.
type template struct {
	name string
	text string
	line int // of its first line, from 1
}

// readTemplates reads the files below a folder. A folder that is not there has none.
func readTemplates(fsys fs.FS, dir string) ([]template, error) {
	var templates []template
	err := fs.WalkDir(fsys, dir, func(name string, d fs.DirEntry, err error) error {
		if err != nil {
			if name == dir {
				return fs.SkipDir // a chart need not have templates
			}
			return err
		}
		if d.IsDir() || path.Base(name) == "NOTES.txt" {
			return nil
		}
		text, err := fs.ReadFile(fsys, name)
		if err != nil {
			return err
		}
		templates = append(templates, template{name, blankComments(string(text)), 1})
		return nil
	})
	return templates, err
}

var (
	templateComment = regexp.MustCompile(`(?s)\{\{-?\s*/\*.*?\*/\s*-?\}\}`)
	yamlComment     = regexp.MustCompile(`(?m)(^|[ \t])#.*$`)
	separator       = regexp.MustCompile(`(?m)^---(\s|$)`)
	notNewline      = regexp.MustCompile(`[^\n]`)
)

// blankComments makes spaces of comments, so that lines stay where they are.
func blankComments(text string) string {
	blank := func(comment string) string { return notNewline.ReplaceAllString(comment, " ") }
	text = templateComment.ReplaceAllStringFunc(text, blank)
	return yamlComment.ReplaceAllStringFunc(text, func(comment string) string {
		if strings.Contains(comment, "{{") {
			return comment // an action in a comment is run all the same
		}
		return blank(comment)
	})
}

// documents cuts a template at the separators of YAML documents.
func (t template) documents() []template {
	var documents []template
	start, line := 0, t.line
	cut := func(end int) {
		documents = append(documents, template{t.name, t.text[start:end], line})
		line += strings.Count(t.text[start:end], "\n")
		start = end
	}
	for _, at := range separator.FindAllStringIndex(t.text, -1) {
		cut(at[0])
	}
	cut(len(t.text))
	return documents
}

var (
	kindField     = regexp.MustCompile(`^ *(- +)?["']?kind["']?\s*:\s*["']?HelmRelease["']?\s*$`)
	metadataField = regexp.MustCompile(`^ *(- +)?["']?metadata["']?\s*:`)
	flowKind      = regexp.MustCompile(`\{.*["']?\bkind["']?\s*:\s*["']?HelmRelease["']?\s*[,}]`)
	flowMetadata  = regexp.MustCompile(`["']?\bmetadata["']?\s*:`)
)

// release returns the line of the first HelmRelease of a document, or 0.
func (t template) release() int {
	lines := strings.Split(t.text, "\n")
	for i, line := range lines {
		if flowKind.MatchString(line) && flowMetadata.MatchString(line) || kindField.MatchString(line) && hasMetadata(lines, i) {
			return t.line + i
		}
	}
	return 0
}

// hasMetadata reports whether the map that has its field kind on line i has metadata too.
func hasMetadata(lines []string, i int) bool {
	column, first := place(lines[i])
	for at := i - 1; at >= 0 && !first; at-- {
		if skipped(lines[at]) {
			continue
		}
		var c int
		if c, first = place(lines[at]); c < column {
			break
		} else if c == column && metadataField.MatchString(lines[at]) {
			return true
		}
		first = first && c == column // the map is an item of a list, and starts here
	}
	for _, line := range lines[i+1:] {
		if skipped(line) {
			continue
		}
		c, item := place(line)
		if c < column || item && c == column {
			break
		}
		if c == column && metadataField.MatchString(line) {
			return true
		}
	}
	return false
}

// place returns the column of a line's text, from 0, and whether a dash stands before it.
func place(line string) (column int, item bool) {
	text := strings.TrimLeft(line, " ")
	if rest, ok := strings.CutPrefix(text, "- "); ok {
		text, item = strings.TrimLeft(rest, " "), true
	}
	return len(line) - len(text), item
}

// skipped reports whether a line has nothing of YAML.
func skipped(line string) bool {
	text := strings.TrimSpace(line)
	return text == "" || strings.HasPrefix(text, "{{")
}

var (
	call   = regexp.MustCompile(`\b(?:include|template)\s+"([^"]+)"`)
	define = regexp.MustCompile(`\{\{-?\s*define\s+"([^"]+)"`)
)

// calls reports whether the text calls one of the named templates.
func (t template) calls(names map[string]bool) bool {
	for _, m := range call.FindAllStringSubmatch(t.text, -1) {
		if names[m[1]] {
			return true
		}
	}
	return false
}

// callers returns the names of the templates that put the table's post-renderer in, those of a
// chart that call the library's included.
func callers(templates []template) map[string]bool {
	names := map[string]bool{"image-overrides.postRenderers": true}
	for before := 0; before < len(names); {
		before = len(names)
		for _, t := range templates {
			defines := define.FindAllStringSubmatchIndex(t.text, -1)
			for i, at := range defines {
				end := len(t.text)
				if i+1 < len(defines) {
					end = defines[i+1][0]
				}
				if body := (template{text: t.text[at[1]:end]}); body.calls(names) {
					names[t.text[at[2]:at[3]]] = true
				}
			}
		}
	}
	return names
}

// dependency reports whether a chart carries the library chart, and the line of its Chart.yaml where
// it should say so.
func dependency(fsys fs.FS, dir string) (line int, carried bool, err error) {
	name := path.Join(dir, "Chart.yaml")
	text, err := fs.ReadFile(fsys, name)
	if err != nil {
		return 0, false, err
	}
	var chart yaml.Node
	if err := yaml.Unmarshal(text, &chart); err != nil {
		return 0, false, fmt.Errorf("%s: %w", name, err)
	}
	line = 1
	if len(chart.Content) > 0 {
		fields := chart.Content[0]
		for i := 0; i+1 < len(fields.Content); i += 2 {
			if fields.Content[i].Value != "dependencies" {
				continue
			}
			line = fields.Content[i].Line
			var list []struct{ Name string }
			if err := fields.Content[i+1].Decode(&list); err != nil {
				return 0, false, fmt.Errorf("%s: dependencies: %w", name, err)
			}
			for _, d := range list {
				carried = carried || d.Name == Name
			}
		}
	}
	vendored, err := fs.Glob(fsys, path.Join(dir, "charts", Name+"*"))
	if err != nil {
		return 0, false, err
	}
	for _, v := range vendored {
		base := path.Base(v)
		carried = carried || base == Name || strings.HasPrefix(base, Name+"-") && strings.HasSuffix(base, ".tgz")
	}
	return line, carried, nil
}
