// SPDX-License-Identifier: Apache-2.0

package chart

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"testing/fstest"
	"time"
)

// TestBounds has what a hostile megabyte can be made of: it is done or refused within little time
// and memory.
func TestBounds(t *testing.T) {
	if testing.Short() {
		t.Skip("some seconds")
	}
	const size = 1 << 20
	fill := func(text string) string { return strings.Repeat(text, size/len(text)) }
	nest := func(open, middle, end string, n int) string {
		return strings.Repeat(open, n) + middle + strings.Repeat(end, n)
	}
	const helper = `{{ include "image-overrides.postRenderers" . }}`
	doubling := func(call string) string {
		var b strings.Builder
		for i := range 60 {
			fmt.Fprintf(&b, "{{ define \"t%d\" }}{{ %s }}{{ end }}\n", i, strings.ReplaceAll(call, "NEXT", fmt.Sprintf("\"t%d\"", i+1)))
		}
		return b.String() + "{{ define \"t60\" }}kind: HelmRelease\n{{ end }}{{ include \"t0\" . }}"
	}
	for _, test := range []struct {
		why, text string
		refused   bool
	}{
		{"8,000 nested ifs", nest("{{if .a}}", release, "{{end}}", 8000), true},
		{"400,000 nested ifs", strings.Repeat("{{if .a}}", 400_000), true},
		{"nested ifs of the limit", nest("{{if .a}}", release, "{{end}}", maxNesting), false},
		{"nested ifs beyond the limit", nest("{{if .a}}", release, "{{end}}", maxNesting+1), true},
		{"different nested ifs", nestNumbered(maxNesting), false},
		{"a chain of else ifs", "{{if .a}}" + fill("{{else if .b}}") + "{{end}}", true},
		{"nested parentheses", "kind: HelmRelease\n{{ " + nest("(", ".a", ")", size/2) + " }}", true},
		{"parentheses of the limit", release + called + "{{ " + nest("(", ".a", ")", maxNesting) + " }}", false},
		{"ifs in a row around releases", fill("{{if .a}}---\n" + release + called + "{{end}}\n"), false},
		{"different ifs in a row around releases", numbered("{{if .a%d}}---\n"+release+called+"{{end}}\n", size), false},
		{"different ifs in one document", "kind: List\nitems:\n" + numbered("{{if .a%d}}- {kind: HelmRelease, spec: {}}{{end}}\n", size), true},
		{"different ifs inside of a release", release + numbered("  {{if .a%d}}a: spec{{end}}\n", size), true},
		{"different ifs inside of a release, that do not matter", release + numbered("  {{if .a%d}}a: b{{end}}\n", size) + called, false},
		{"kinds", fill("kind: HelmRelease\n"), false},
		{"kinds in a line", fill("HelmRelease "), false},
		{"releases in a list", "items:\n" + fill("- {kind: HelmRelease, spec: {a: b}}\n"), false},
		{"calls", release + fill("  "+helper+"\n"), false},
		{"calls in a list", release + "  postRenderers:\n" + fill("  "+helper+"\n"), false},
		{"actions", release + called + fill("{{.}}"), false},
		{"fields", release + called + "{{ " + fill(".a") + " }}", false},
		{"assignments", release + called + "{{ $x := 1 }}" + fill("{{ $x = .a }}"), false},
		{"assignments in ifs", release + called + "{{ $x := 1 }}" + numbered("{{ if .a%d }}{{ $x = .b }}{{ end }}", size) + "  a: {{ $x }}\n", false},
		{"variables", release + called + numbered("{{ $x%d := .a }}", size), false},
		{"a list that grows", release + called + "{{ $x := list }}" + fill("{{ $x = append $x 1 }}") + "{{ toYaml $x }}", true},
		{"a dict that grows", release + called + "{{ $x := dict }}" + numbered("{{ $_ := set $x \"%d\" $x }}{{ toYaml $x }}", size), true},
		{"a text that grows", release + called + "{{ $x := \"a\\n\" }}" + strings.Repeat("{{ $x = print $x $x }}", 200) + "{{ $x }}", true},
		{"a text that is indented", release + called + "{{ $x := \"" + strings.Repeat("\\n", 10_000) + "\" }}" + fill("{{ $x | nindent 1000 }}"), true},
		{"a long text, often", release + called + "{{ $x := \"" + strings.Repeat("a", 500_000) + "\" }}" + strings.Repeat("{{ $x | upper | trim }}", 20_000), true},
		{"includes that double", doubling("include NEXT . }}{{ include NEXT ."), false},
		{"includes that double what they are given", doubling("include NEXT (list . .) }}{{ include NEXT (list .)"), true},
		{"includes around", "{{ define \"a\" }}{{ include \"a\" (list .) }}{{ include \"a\" . }}{{ end }}" + release + called + "{{ include \"a\" . }}", true},
		{"ranges in ranges over lists", release + called + nest("{{ range list 1 2 3 4 5 6 7 8 9 }}", "a", "{{ end }}", 9), true},
		{"brackets", release + called + "  a: " + fill("["), false},
		{"braces", release + called + "  a: " + fill("{a: "), false},
		{"quotes without an end", release + called + fill("  a: \"\n  b: '\n"), false},
		{"quotes without an end in brackets", release + called + "  a: [" + fill("\"',"), false},
		{"dashes", release + called + "  a:\n  " + fill("- "), false},
		{"keys in keys", release + called + "  " + fill("a: "), false},
		{"deeper and deeper", release + called + deeper(1400), false},
		{"comments", release + called + fill("# a\n"), false},
		{"anchors", release + called + "  a: " + fill("&a "), false},
		{"aliases of aliases", "x: &a0 {a: b}\n" + aliases(20_000) + release + called, false},
		{"merges of a large map", "x: &a\n" + numbered("  k%d: v\n", size/3) + "y:\n" + strings.Repeat("- {<<: *a}\n", 60_000) + "---\n" + release + called, false},
		{"releases that merge a large map", "x: &a\n" + numbered("  k%d: v\n", size/3) + "y:\n" + strings.Repeat("- {<<: *a, kind: HelmRelease}\n", 20_000), false},
		{"separators", release + called + fill("---\n"), false},
		{"separators in actions", release + called + fill("{{ \"---\" }}\n"), false},
		{"line breaks", release + called + fill("\n"), false},
		{"zero bytes", release + called + fill("\x00\x01\x02"), false},
		{"definitions", release + called + numbered("{{ define \"t%d\" }}kind: HelmRelease\n{{ end }}", size), false},
		{"a large file", release + called + strings.Repeat(" ", maxFile), true},
	} {
		t.Run(test.why, func(t *testing.T) {
			fsys := fstest.MapFS{"Chart.yaml": {Data: []byte(withChart)}, "templates/a.yaml": {Data: []byte(test.text)}}
			bounded(t, func() {
				misses, err := Check(fsys)
				var e *Error
				if refused := err != nil; refused != test.refused || refused && (!errors.As(err, &e) || e.File != "templates/a.yaml" || e.Line < 1) {
					t.Errorf("%d misses, %.200v", len(misses), err)
				}
			})
		})
	}
}

// bounded fails a test that takes more than it may. That is 3 s and 1 GB on a machine that does
// nothing else, and what multiplies takes minutes: the limit is one for machines that are busy.
func bounded(t *testing.T, f func()) {
	t.Helper()
	stop, done := make(chan struct{}), make(chan uint64)
	runtime.GC()
	go func() {
		var most uint64
		tick := time.NewTicker(20 * time.Millisecond)
		defer tick.Stop()
		for {
			select {
			case <-stop:
				done <- most
				return
			case <-tick.C:
				var stats runtime.MemStats
				runtime.ReadMemStats(&stats)
				most = max(most, stats.HeapInuse)
			}
		}
	}()
	start := time.Now()
	f()
	took := time.Since(start)
	close(stop)
	most := <-done
	if took > 15*time.Second || most > 1<<30 {
		t.Errorf("took %v and %d MB", took, most>>20)
	}
	t.Logf("%v, %d MB", took.Round(time.Millisecond), most>>20)
}

// numbered repeats a text with a number in it up to a size.
func numbered(format string, size int) string {
	var b strings.Builder
	for i := 0; b.Len() < size; i++ {
		fmt.Fprintf(&b, format, i)
	}
	return b.String()
}

func nestNumbered(n int) string {
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, "{{ if .a%d }}", i)
	}
	return b.String() + release + called + strings.Repeat("{{ end }}", n)
}

func deeper(n int) string {
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, "%sa:\n", strings.Repeat(" ", i+2))
	}
	return b.String()
}

func aliases(n int) string {
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, "x%d: &a%d {<<: *a%d, b: [*a%d, *a%d]}\n", i, i+1, i, i, i)
	}
	return b.String()
}

// TestRings has folders that links lead around in.
func TestRings(t *testing.T) {
	for _, test := range []struct {
		why   string
		files map[string]string
		links map[string]string
	}{
		{"two links to the chart itself", map[string]string{"a/charts/.x": ""}, map[string]string{"a/charts/p": "..", "a/charts/q": "../../a"}},
		{"two links to the folder above", map[string]string{"Chart.yaml": plainChart, "charts/.x": "", "a/charts/.x": ""}, map[string]string{"a/charts/p": "../..", "a/charts/q": "../..", "charts/a": "../a"}},
		{"two charts in each other", map[string]string{"b/Chart.yaml": plainChart, "b/templates/a.yaml": release, "a/charts/.x": "", "b/charts/.x": ""}, map[string]string{"a/charts/p": "../../b", "a/charts/q": "../../b", "b/charts/r": "../../a", "b/charts/s": "../../a"}},
		{"templates in templates", nil, map[string]string{"a/templates/p": "../templates", "a/templates/q": "../../a/templates"}},
		{"folders side by side", map[string]string{"a/templates/b/.x": "", "a/templates/c/.x": "", "a/templates/d/.x": ""}, map[string]string{"a/templates/b/p": "../c", "a/templates/b/q": "../d", "a/templates/c/p": "../b", "a/templates/c/q": "../d", "a/templates/d/p": "../b", "a/templates/d/q": "../c"}},
	} {
		t.Run(test.why, func(t *testing.T) {
			dir := t.TempDir()
			fsys := fstest.MapFS{"a/Chart.yaml": {Data: []byte(withChart)}, "a/templates/a.yaml": {Data: []byte(release)}}
			for name, text := range test.files {
				fsys[name] = &fstest.MapFile{Data: []byte(text)}
			}
			if err := os.CopyFS(dir, fsys); err != nil {
				t.Fatal(err)
			}
			for link, to := range test.links {
				if err := os.Symlink(to, filepath.Join(dir, link)); err != nil {
					t.Skip(err)
				}
			}
			bounded(t, func() {
				misses, err := Check(os.DirFS(dir))
				if err != nil || len(misses) == 0 || misses[0].File != "a/templates/a.yaml" || misses[0].Line != 2 {
					t.Errorf("%v, %v", misses, err)
				}
				for _, m := range misses {
					if strings.Count(m.File, "/") > 2 {
						t.Errorf("by a link: %v", m)
					}
				}
			})
		})
	}
}
