// SPDX-License-Identifier: Apache-2.0

package chart

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	gocmp "github.com/google/go-cmp/cmp"
)

// TestMetadata has files of metadata, and what is told of each: the misses of a chart with a release that calls the
// helper, or the error.
func TestMetadata(t *testing.T) {
	const uncarried = ": the chart has HelmReleases and does not depend on the library chart image-overrides"
	for _, test := range []struct{ chart, requirements, want string }{
		{"", "", "Chart.yaml:1: is no map"},
		{"# c\n", "", "Chart.yaml:1: is no map"},
		{"---\n", "", "Chart.yaml:1: is no map"},
		{"[]\n", "", "Chart.yaml:1: is no map"},
		{"image-overrides\n", "", "Chart.yaml:1: is no map"},
		{"{}\n", "", "Chart.yaml:1" + uncarried},
		{"name: a\n", "", "Chart.yaml:1" + uncarried},
		{"name: a\n", "name: image-overrides\n", "Chart.yaml:1" + uncarried},
		{"name: a\n\ndependencies: []\n", "", "Chart.yaml:3" + uncarried},
		{"name: a\ndependencies: null\n", "", "Chart.yaml:2" + uncarried},
		{"name: a\ndependencies: [{name: b}, {name: image-overridess}]\n", "dependencies: [{name: c}]\n", "Chart.yaml:2" + uncarried},
		{"name: a\ndependencies: [{name: b}, {name: image-overrides}]\n", "", ""},
		{"name: a\ndependencies: [{name: b}]\n", "dependencies: [{name: image-overrides}]\n", ""},
		{"name: a\n", "\ndependencies: [{name: image-overrides}]\n", ""},
		{"name: image-overrides\n", "", ""},
		{"name: a\ntype: library\n", "", ""},
		{"name: a\ntype: application\n", "", "Chart.yaml:1" + uncarried},
		{"name: a\ndependencies: x\n", "", "Chart.yaml:2: dependencies are no list of maps"},
		{"name: a\ndependencies: [x]\n", "", "Chart.yaml:2: dependencies are no list of maps"},
		{"name: a\n", "\n\ndependencies: {a: b}\n", "requirements.yaml:3: dependencies are no list of maps"},
		{"name: a\n", "[]\n", "requirements.yaml:1: is no map"},
		{"name: a\n", "a: [\n", "requirements.yaml:1: did not find expected node content"},
		{"name: a\nx: \"\\" + "q\"\n", "", "Chart.yaml:2: found unknown escape character"},
		{"name: *a\n", "", "Chart.yaml:1: unknown anchor 'a' referenced"},
	} {
		fsys := fstest.MapFS{"Chart.yaml": {Data: []byte(test.chart)}, "templates/a.yaml": {Data: []byte(release + called)}}
		if test.requirements != "" {
			fsys["requirements.yaml"] = &fstest.MapFile{Data: []byte(test.requirements)}
		}
		misses, err := Check(fsys)
		got := ""
		if err != nil {
			got = err.Error()
			if !strings.Contains(got, "\n") {
				var e *Error
				if !errors.As(err, &e) || e.Error() != got {
					t.Errorf("%q: %#v", test.chart, err)
				}
			}
		} else if len(misses) > 0 {
			got = misses[0].String()
		}
		if got != test.want || err == nil && len(misses) > 1 {
			t.Errorf("%q, %q: %q, %v, want %q", test.chart, test.requirements, got, misses, test.want)
		}
	}
}

// TestCharts has charts by where they stand: which of them see the named templates of which others.
func TestCharts(t *testing.T) {
	const (
		calls   = "kind: HelmRelease\nspec: {{- include \"own\" . | nindent 2 }}\n"
		defines = "{{ define \"own\" }}\npostRenderers: {{- include \"image-overrides.postRenderers\" . | nindent 2 }}\n{{ end }}\n"
		carries = "dependencies: [{name: image-overrides}]\n"
	)
	for _, test := range []struct{ why, files, want string }{
		{"in a folder charts that no chart is around", "-- charts/a/Chart.yaml --\n" + carries + "-- charts/a/templates/a.yaml --\n" + calls + "-- charts/a/templates/_o.tpl --\n" + defines, ""},
		{"without its own", "-- charts/a/Chart.yaml --\n" + carries + "-- charts/a/templates/a.yaml --\n" + calls, "charts/a/templates/a.yaml:1 call"},
		{"two in such a folder", "-- charts/a/Chart.yaml --\n" + carries + "-- charts/a/templates/a.yaml --\n" + calls + "-- charts/b/Chart.yaml --\n" + carries + "-- charts/b/templates/_o.tpl --\n" + defines, "charts/a/templates/a.yaml:1 call"},
		{"two in a chart", "-- Chart.yaml --\n" + carries + "-- charts/a/Chart.yaml --\n-- charts/a/Chart.yaml --\nname: a\n-- charts/a/templates/a.yaml --\n" + calls + "-- charts/b/Chart.yaml --\nname: b\n-- charts/b/templates/_o.tpl --\n" + defines, "charts/a/templates/a.yaml:1 subchart"},
		{"in a chart in a chart in a chart", "-- x/Chart.yaml --\n" + carries + "-- x/templates/a.yaml --\n" + calls + "-- x/charts/b/Chart.yaml --\nname: b\n-- x/charts/b/charts/c/Chart.yaml --\nname: c\n-- x/charts/b/charts/c/templates/_o.tpl --\n" + defines, ""},
		{"in a folder that is not charts", "-- Chart.yaml --\n" + carries + "-- templates/a.yaml --\n" + calls + "-- chart/b/Chart.yaml --\nname: b\n-- chart/b/templates/_o.tpl --\n" + defines, "templates/a.yaml:1 call"},
		{"deeper than charts", "-- Chart.yaml --\n" + carries + "-- templates/a.yaml --\n" + calls + "-- charts/x/b/Chart.yaml --\nname: b\n-- charts/x/b/templates/_o.tpl --\n" + defines, "templates/a.yaml:1 call"},
		{"a library's releases are those of who includes them", "-- Chart.yaml --\n" + carries + "-- templates/a.yaml --\n{{ include \"r\" . }}\n-- charts/b/Chart.yaml --\nname: b\ntype: library\n-- charts/b/templates/_o.tpl --\n{{ define \"r\" }}" + calls + "{{ end }}\n-- charts/b/templates/a.yaml --\nkind: HelmRelease\nspec: {}\n", "charts/b/templates/_o.tpl:1 call"},
		{"a dependency on itself", "-- Chart.yaml --\ndependencies: [{name: a, repository: 'file://.'}, {name: image-overrides}]\n-- templates/a.yaml --\n" + calls, "templates/a.yaml:1 call"},
		{"files that are no templates", "-- Chart.yaml --\n" + carries + "-- a.yaml --\n" + calls + "-- template/a.yaml --\n" + calls + "-- templates/NOTES.txt --\n" + calls + "-- templates/.a --\n" + calls + "-- crds/a.yaml --\n" + calls, ""},
		{"files that are", "-- Chart.yaml --\n" + carries + "-- templates/a --\n" + calls + "-- templates/b.txt --\n" + calls + "-- templates/sub/NOTES.txt --\n" + calls + "-- templates/_c.tpl --\n" + calls, "templates/a:1 call, templates/b.txt:1 call, templates/sub/NOTES.txt:1 call"},
	} {
		misses, err := Check(files(test.files))
		var got []string
		for _, m := range misses {
			got = append(got, fmt.Sprintf("%s:%d %s", m.File, m.Line, m.Rule))
		}
		if strings.Join(got, ", ") != test.want || err != nil {
			t.Errorf("%s: %q, %v, want %q", test.why, got, err, test.want)
		}
	}
}

// TestOrder: misses come by file, by line, by rule and by message, each once, however many templates lead there.
func TestOrder(t *testing.T) {
	fsys := fstest.MapFS{"b/Chart.yaml": {Data: []byte("name: b\n")}, "a/Chart.yaml": {Data: []byte("name: a\n")}}
	var text strings.Builder
	for i := range 30 {
		fmt.Fprintf(&text, "{{ define \"t%d\" }}\n---\nkind: HelmRelease\nspec:\n  x: {{ . }}\n{{ end }}\n", i)
	}
	fsys["a/templates/_r.tpl"] = &fstest.MapFile{Data: []byte(text.String())}
	for i := range 12 {
		call := fmt.Sprintf("{{ include \"t%d\" (include \"image-overrides.postRenderers\" .Values.v%d) }}\n", i%3, i)
		fsys[fmt.Sprintf("a/templates/%d.yaml", i)] = &fstest.MapFile{Data: []byte(strings.Repeat(call, 2) + "---\nkind: HelmRelease\nspec: {}\n")}
	}
	var first []Miss
	for range 5 {
		misses, err := Check(fsys)
		if err != nil {
			t.Fatal(err)
		}
		if first == nil {
			first = misses
		}
		if diff := gocmp.Diff(first, misses); diff != "" {
			t.Fatalf("another time: %s", diff)
		}
		if !slices.IsSortedFunc(misses, func(a, b Miss) int {
			return cmp.Or(cmp.Compare(a.File, b.File), cmp.Compare(a.Line, b.Line), cmp.Compare(a.Rule, b.Rule), cmp.Compare(a.Message, b.Message))
		}) {
			t.Errorf("not in order: %v", misses)
		}
		if len(slices.Compact(misses)) != len(misses) {
			t.Errorf("twice: %v", misses)
		}
	}
	const perFile, inHelpers, ofChart = 12, 12*2 + 27, 1
	if len(first) != perFile+inHelpers+ofChart {
		t.Errorf("%d misses: %v", len(first), first)
	}
}

// TestLimits has what is read at its limit, and one more.
func TestLimits(t *testing.T) {
	for _, test := range []struct {
		why  string
		fsys fstest.MapFS
		err  string
	}{
		{"folders in templates", fstest.MapFS{"templates/" + strings.Repeat("d/", maxDepth) + "a.yaml": {Data: []byte(release)}}, ""},
		{"one more", fstest.MapFS{"templates/" + strings.Repeat("d/", maxDepth+1) + "a.yaml": {Data: []byte(release)}},
			"templates/" + strings.TrimSuffix(strings.Repeat("d/", maxDepth+1), "/") + ":1: is a folder more than 16 deep in templates; it is not read"},
		{"a file", fstest.MapFS{"templates/a.yaml": {Data: []byte(release + strings.Repeat(" ", maxFile-len(release)))}}, ""},
		{"a byte more", fstest.MapFS{"templates/a.yaml": {Data: []byte(release + strings.Repeat(" ", maxFile-len(release)+1))}}, "templates/a.yaml:1: is larger than 5242880 bytes, which Helm does not load"},
	} {
		test.fsys["Chart.yaml"] = &fstest.MapFile{Data: []byte(withChart)}
		misses, err := Check(test.fsys)
		if got := cmp.Or(errorText(err), ""); got != test.err || (err == nil) != (len(misses) == 1) {
			t.Errorf("%s: %v, %s", test.why, misses, got)
		}
	}
	// Charts in charts: the named templates of one that is too deep are not seen.
	for depth, want := range map[int]int{maxDepth: 0, maxDepth + 1: 1} {
		fsys := fstest.MapFS{"Chart.yaml": {Data: []byte(withChart)}, "templates/a.yaml": {Data: []byte("kind: HelmRelease\nspec: {{- include \"own\" . | nindent 2 }}\n")}}
		dir := ""
		for range depth {
			dir += "charts/c/"
			fsys[dir+"Chart.yaml"] = &fstest.MapFile{Data: []byte("name: c\n")}
		}
		fsys[dir+"templates/_o.tpl"] = &fstest.MapFile{Data: []byte("{{ define \"own\" }}" + strings.TrimSpace(called) + "{{ end }}")}
		if misses, err := Check(fsys); len(misses) != want || err != nil {
			t.Errorf("%d charts in charts: %v, %v", depth, misses, err)
		}
	}
}

func errorText(err error) string {
	if err == nil {
		return ""
	}
	return err.Error()
}

// faulty is a file system that fails at one file or folder, in the given way.
type faulty struct {
	fs.FS
	name, way string
	met       *bool
}

var errFaulty = errors.New("the disk is gone")

func (f faulty) Open(name string) (fs.File, error) {
	if name == f.name && f.way == "open" {
		*f.met = true
		return nil, &fs.PathError{Op: "open", Path: name, Err: errFaulty}
	}
	file, err := f.FS.Open(name)
	if name == f.name && f.way == "read" && err == nil {
		return unreadable{file, f.met}, nil
	}
	return file, err
}

func (f faulty) Stat(name string) (fs.FileInfo, error) {
	if name == f.name && f.way == "stat" {
		*f.met = true
		return nil, &fs.PathError{Op: "stat", Path: name, Err: errFaulty}
	}
	return fs.Stat(f.FS, name)
}

type unreadable struct {
	fs.File
	met *bool
}

func (u unreadable) Read([]byte) (int, error) {
	*u.met = true
	return 0, errFaulty
}

func (u unreadable) ReadDir(int) ([]fs.DirEntry, error) {
	*u.met = true
	return nil, errFaulty
}

// TestFaultyFiles: whatever file or folder of a chart cannot be opened, read or asked for, the error says so, and the misses of all
// others come with it.
func TestFaultyFiles(t *testing.T) {
	fsys := fstest.MapFS{
		"a/Chart.yaml": {Data: []byte("name: a\n")}, "a/templates/a.yaml": {Data: []byte(release)}, "a/templates/sub/a.yaml": {Data: []byte(release)},
		"a/requirements.yaml": {Data: []byte("dependencies: []\n")}, "a/charts/c/Chart.yaml": {Data: []byte("name: c\n")}, "a/charts/c/templates/_c.tpl": {Data: []byte("x")},
		"b/Chart.yaml": {Data: []byte(withChart)}, "b/templates/a.yaml": {Data: []byte(release)},
	}
	for _, name := range []string{"a", "a/Chart.yaml", "a/requirements.yaml", "a/templates", "a/templates/a.yaml", "a/templates/sub", "a/templates/sub/a.yaml", "a/charts", "a/charts/c", "a/charts/c/Chart.yaml", "a/charts/c/templates", "a/charts/c/templates/_c.tpl"} {
		for _, way := range []string{"open", "read", "stat"} {
			met := false
			misses, err := Check(faulty{fsys, name, way, &met})
			if met && !errors.Is(err, errFaulty) {
				t.Errorf("%s %s: %v, and no error of it: %v", way, name, misses, err)
			}
			if way != "stat" && !met {
				t.Errorf("%s %s: nobody does", way, name)
			}
			if !slices.ContainsFunc(misses, func(m Miss) bool { return m.File == "b/templates/a.yaml" }) {
				t.Errorf("%s %s: nothing of the other chart: %v", way, name, misses)
			}
		}
	}
}

// TestSameFolder: a chart behind two links is read once.
func TestSameFolder(t *testing.T) {
	dir := t.TempDir()
	if err := os.CopyFS(dir, fstest.MapFS{"a/Chart.yaml": {Data: []byte("name: a\n")}, "a/templates/a.yaml": {Data: []byte(release)}, "a/charts/x": {}}); err != nil {
		t.Fatal(err)
	}
	for link, to := range map[string]string{"a/charts/b": "../../a", "a/charts/c": "../../a", "a/templates/t": "../templates"} {
		if err := os.Symlink(to, filepath.Join(dir, link)); err != nil {
			t.Skip(err)
		}
	}
	misses, err := Check(os.DirFS(dir))
	if err != nil || len(misses) != 2 || path.Dir(misses[1].File) != "a/templates" {
		t.Errorf("%v, %v", misses, err)
	}
}

// TestShortErrors: however long what a file has is, the error is short.
func TestShortErrors(t *testing.T) {
	long := strings.Repeat("a", 100_000)
	for _, fsys := range []fstest.MapFS{
		{"Chart.yaml": {Data: []byte("name: *" + long)}},
		{"Chart.yaml": {Data: []byte(plainChart)}, "requirements.yaml": {Data: []byte("name: *" + long)}},
		{"Chart.yaml": {Data: []byte(plainChart)}, "templates/a.yaml": {Data: []byte("{{ $" + long + " }}")}},
	} {
		if _, err := Check(fsys); err == nil || len(err.Error()) > 2048 || !strings.Contains(err.Error(), "aaaa") {
			t.Errorf("%.100v: %d bytes", err, len(errorText(err)))
		}
	}
}
