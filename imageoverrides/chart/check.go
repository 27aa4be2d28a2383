// SPDX-License-Identifier: Apache-2.0

package chart

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"slices"
	"strings"

	"github.com/cozystack/image-overrides/internal/quote"
)

// helper is the named template that every HelmRelease must call.
const helper = Name + ".postRenderers"

// A Rule names what a [Miss] is about. Its text is stable, for programs.
type Rule string

// The rules of [Check].
const (
	RuleCall      Rule = "call"      // a HelmRelease does not call the helper
	RulePlace     Rule = "place"     // it does, and what that returns is not the items of its spec.postRenderers
	RuleUnprinted Rule = "unprinted" // there is a call, and nothing of it is printed: in a branch that is never taken, or into a variable
	RuleCondition Rule = "condition" // there are values with which the release is rendered without the call
	RuleContext   Rule = "context"   // the call gets a context in which there is no .Values._cluster
	RuleSubchart  Rule = "subchart"  // the call gets the context of a subchart, to which Helm hands no .Values._cluster
	RuleLibrary   Rule = "library"   // a chart has HelmReleases and does not carry the library chart
)

// A Miss is a place in a chart that images escape through.
type Miss struct {
	File    string // in the file system that was checked
	Line    int    // from 1; of a release that of its kind
	Rule    Rule
	Message string
}

// String returns the miss in one line: file:line: message.
func (m Miss) String() string {
	return fmt.Sprintf("%s:%d: %s", quote.Plain(m.File), m.Line, m.Message)
}

// An Error is a file that Check cannot read as what it is: a Chart.yaml that is no YAML, a
// template that Helm could not parse, or one that takes too much to judge.
type Error struct {
	File   string // in the file system that was checked
	Line   int    // from 1
	Reason string
}

// Error returns one line: file:line: reason.
func (e *Error) Error() string {
	return fmt.Sprintf("%s:%d: %s", quote.Plain(e.File), e.Line, e.Reason)
}

// Check looks at every chart in fsys, subcharts included, and returns what is missing for
// the table to reach its releases, by file and line. What each rule means stands at the
// constants of [Rule], and how Check finds it in the documentation of the package.
//
// No misses are nil. A file system without a chart is an error. Where a file cannot be read, or
// not as what it is, the misses of all others come with the error, which joins one for each
// file: the file system's own, or an [*Error].
func Check(fsys fs.FS) ([]Miss, error) {
	c := checker{loader: newLoader(fsys), under: make(map[*tree]bool), seen: make(map[Miss]bool)}
	dirs := c.find()
	if len(dirs) == 0 && len(c.errs) == 0 {
		c.fail(fmt.Errorf("there is no Chart.yaml: %w", fs.ErrNotExist))
	}
	var roots []*family
	for _, dir := range dirs {
		c.chart(dir) // by its own path, and not by that of a link
	}
	for _, dir := range dirs {
		if chart := c.chart(dir); chart != nil && !c.isSub(dir) {
			roots = append(roots, c.family(chart))
		}
	}
	for _, f := range roots {
		c.check(f)
	}
	for _, f := range roots {
		c.rest(f)
	}
	slices.SortFunc(c.misses, func(a, b Miss) int {
		return cmp.Or(strings.Compare(a.File, b.File), cmp.Compare(a.Line, b.Line), strings.Compare(string(a.Rule), string(b.Rule)), strings.Compare(a.Message, b.Message))
	})
	return c.misses, errors.Join(c.errs...)
}

type checker struct {
	*loader
	under  map[*tree]bool // the templates that some chart renders or includes
	misses []Miss
	seen   map[Miss]bool
}

// isSub reports whether a folder is that of a subchart, which is checked with the chart above it.
func (c *checker) isSub(dir string) bool {
	return path.Base(path.Dir(dir)) == "charts" && c.chart(path.Dir(path.Dir(dir))) != nil
}

// A family is a chart with all those below it, whose named templates Helm parses together.
type family struct {
	charts  []*chart // the first is the one that is installed
	named   map[string][]*tree
	tells   map[string]bool // the named templates that may write a HelmRelease
	carries bool            // the library chart is among them
}

func (c *checker) family(root *chart) *family {
	f := &family{named: make(map[string][]*tree), tells: make(map[string]bool)}
	seen := make(map[*chart]bool)
	var collect func(chart *chart, depth int)
	collect = func(chart *chart, depth int) {
		if chart == nil || seen[chart] || depth > maxDepth {
			return
		}
		seen[chart] = true
		f.carries = f.carries || chart.carries()
		f.charts = append(f.charts, chart)
		for _, sub := range c.below(chart) {
			collect(sub, depth+1)
		}
	}
	collect(root, 0)
	for _, chart := range f.charts {
		if chart.name == Name {
			continue
		}
		for _, s := range chart.templates {
			for _, t := range s.named {
				if !slices.ContainsFunc(f.named[t.name], func(other *tree) bool { return other.source.text == s.text }) {
					f.named[t.name] = append(f.named[t.name], t)
				}
			}
		}
	}
	callers := make(map[string][]string)
	var todo []string
	for name, trees := range f.named {
		for _, t := range trees {
			if t.tells || t.dynamic {
				todo = append(todo, name)
			}
			for _, callee := range t.callees {
				callers[callee] = append(callers[callee], name)
			}
		}
	}
	for len(todo) > 0 {
		name := todo[len(todo)-1]
		todo = todo[:len(todo)-1]
		if !f.tells[name] {
			f.tells[name] = true
			todo = append(todo, callers[name]...)
		}
	}
	return f
}

// mayTell reports whether a template may write a HelmRelease.
func (f *family) mayTell(t *tree) bool {
	return t.tells || t.dynamic || slices.ContainsFunc(t.callees, func(name string) bool { return f.tells[name] })
}

// check adds the misses of what a chart renders, its subcharts included.
func (c *checker) check(f *family) {
	for i, chart := range f.charts {
		if chart.library {
			continue // Helm renders none of its files
		}
		releases := false
		for _, s := range chart.templates {
			if s.partial() || !f.mayTell(s.own) {
				continue
			}
			m := newMachine(f.named, i > 0, c.under)
			releases = c.judge(m, s.own, &unknown{id: "$", chart: true}, false) || releases
		}
		if releases && !f.carries {
			c.miss(chart.uncarried())
		}
	}
}

// rest adds the misses of the named templates that nobody includes here.
func (c *checker) rest(f *family) {
	for _, chart := range f.charts {
		releases := false
		for _, s := range chart.templates {
			for _, t := range s.named {
				if c.under[t] || chart.name == Name || !f.mayTell(t) {
					continue
				}
				m := newMachine(f.named, false, c.under) // nothing is known of its context
				releases = c.judge(m, t, &unknown{id: "$"}, true) || releases
			}
		}
		if releases && !f.carries {
			c.miss(chart.uncarried())
		}
	}
}

// judge adds the misses of one template, and reports whether there are releases in it.
func (c *checker) judge(m *machine, t *tree, dot value, open bool) bool {
	j := judge{machine: m, root: t, open: open, printed: make(map[place]bool)}
	out := m.run(t, dot)
	if m.steps < 0 || !j.output(out) {
		c.fail(&Error{t.source.file, 1, "takes too much to judge: loops, includes or conditions multiply; split the file"})
		return len(j.found) > 0
	}
	for _, v := range j.verdicts {
		if v.rule == RuleCall {
			v = j.unprinted(v)
		}
		c.miss(j.miss(v))
	}
	return len(j.found) > 0
}

// unprinted looks for a call in the template of a release of which nothing is printed: behind its
// kind and in front of the next, or else in front of it in the same document.
func (j *judge) unprinted(v verdict) verdict {
	if j.kinds == nil {
		j.kinds, j.shown = make(map[*source][]int), make(map[*source]map[int]bool)
		for _, s := range j.found {
			j.kinds[s.source] = append(j.kinds[s.source], s.line())
		}
		for source, lines := range j.kinds {
			slices.Sort(lines)
			j.kinds[source] = slices.Compact(lines)
		}
		for p := range j.printed {
			if j.shown[p.source] == nil {
				j.shown[p.source] = make(map[int]bool)
			}
			j.shown[p.source][p.line()] = true
		}
	}
	at := v.line()
	kinds, calls := j.kinds[v.source], v.tree.calls
	this, _ := slices.BinarySearch(kinds, at)
	next, _ := slices.BinarySearch(kinds, at+1)
	first, _ := slices.BinarySearch(calls, at)
	found := 0
	for _, line := range calls[first:] {
		if next < len(kinds) && line >= kinds[next] {
			break
		}
		if !j.shown[v.source][line] {
			if !v.source.separated(v.at, v.source.offset(line)) {
				found = line
			}
			break
		}
	}
	for i := first - 1; i >= 0 && found == 0; i-- {
		line := calls[i]
		if this > 0 && line <= kinds[this-1] {
			break
		}
		if !j.shown[v.source][line] {
			if !v.source.separated(v.source.offset(line), v.at) {
				found = line
			}
			break
		}
	}
	if found > 0 {
		v.rule, v.call = RuleUnprinted, place{v.tree, v.source.offset(found)}
	}
	return v
}

func (c *checker) miss(m Miss) {
	if !c.seen[m] {
		c.seen[m] = true
		c.misses = append(c.misses, m)
	}
}
