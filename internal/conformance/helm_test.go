// SPDX-License-Identifier: Apache-2.0

package conformance

import (
	"io"
	"io/fs"
	"log"
	"log/slog"
	"os"
	"path"
	"regexp"
	"runtime/debug"
	"strings"
	"testing"

	chart3 "helm.sh/helm/v3/pkg/chart"
	loader3 "helm.sh/helm/v3/pkg/chart/loader"
	util3 "helm.sh/helm/v3/pkg/chartutil"
	values3 "helm.sh/helm/v3/pkg/cli/values"
	engine3 "helm.sh/helm/v3/pkg/engine"

	common4 "helm.sh/helm/v4/pkg/chart/common"
	util4 "helm.sh/helm/v4/pkg/chart/common/util"
	"helm.sh/helm/v4/pkg/chart/loader/archive"
	chart4 "helm.sh/helm/v4/pkg/chart/v2"
	loader4 "helm.sh/helm/v4/pkg/chart/v2/loader"
	values4 "helm.sh/helm/v4/pkg/cli/values"
	engine4 "helm.sh/helm/v4/pkg/engine"

	"github.com/cozystack/image-overrides/imageoverrides"
	"github.com/cozystack/image-overrides/imageoverrides/chart"
)

// options are the flags by which a command line gives values.
type options struct {
	files, set, setString, setJSON []string
}

// A helm is one generation of Helm, by the functions that its commands call.
type helm struct {
	name    string
	values  func(options) (map[string]any, error)       // -f and --set
	read    func([]byte) (map[string]any, error)        // the text of a values file; Flux reads valuesFrom so
	prepare func(files map[string]string) (prog, error) // a chart, by the paths in it
}

// A prog is a chart, loaded once. It renders the values with every template, and the
// result is by the templates' names.
type prog func(values map[string]any) (map[string]string, error)

var helms = [...]helm{
	{
		name: "Helm 3",
		values: func(o options) (map[string]any, error) {
			v := values3.Options{ValueFiles: o.files, Values: o.set, StringValues: o.setString, JSONValues: o.setJSON}
			return v.MergeValues(nil)
		},
		read: func(text []byte) (map[string]any, error) {
			v, err := util3.ReadValues(text)
			return v, err
		},
		prepare: func(files map[string]string) (prog, error) {
			var list []*loader3.BufferedFile
			for name, text := range files {
				list = append(list, &loader3.BufferedFile{Name: name, Data: []byte(text)})
			}
			c, err := loader3.LoadFiles(list)
			return func(values map[string]any) (map[string]string, error) { return render3(c, values) }, err
		},
	},
	{
		name: "Helm 4",
		values: func(o options) (map[string]any, error) {
			v := values4.Options{ValueFiles: o.files, Values: o.set, StringValues: o.setString, JSONValues: o.setJSON}
			return v.MergeValues(nil)
		},
		read: func(text []byte) (map[string]any, error) {
			v, err := common4.ReadValues(text)
			return v, err
		},
		prepare: func(files map[string]string) (prog, error) {
			var list []*archive.BufferedFile
			for name, text := range files {
				list = append(list, &archive.BufferedFile{Name: name, Data: []byte(text)})
			}
			c, err := loader4.LoadFiles(list)
			return func(values map[string]any) (map[string]string, error) { return render4(c, values) }, err
		},
	},
}

func render3(c *chart3.Chart, values map[string]any) (map[string]string, error) {
	v, err := util3.ToRenderValues(c, values, util3.ReleaseOptions{Name: "r", Namespace: "n"}, nil)
	if err != nil {
		return nil, err
	}
	return engine3.Render(c, v)
}

func render4(c *chart4.Chart, values map[string]any) (map[string]string, error) {
	v, err := util4.ToRenderValues(c, values, common4.ReleaseOptions{Name: "r", Namespace: "n"}, nil)
	if err != nil {
		return nil, err
	}
	return engine4.Render(c, v)
}

// A trial is a chart of one template, which is prepared for each Helm.
type trial [len(helms)]prog

// try prepares a chart that has the library chart beside a template of the given text.
func try(t testing.TB, library fs.FS, template string) trial {
	t.Helper()
	return load(t, filesOf(t, library, template))
}

// filesOf is the files of such a chart. Files of the library that the template has no use
// for are left out: Helm parses every file for every rendering, and that takes the
// better part of a draw's time.
func filesOf(t testing.TB, library fs.FS, template string) map[string]string {
	t.Helper()
	all := make(map[string]string)
	err := fs.WalkDir(library, ".", func(name string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		text, err := fs.ReadFile(library, name)
		all["charts/"+name] = string(text)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	files := map[string]string{
		"Chart.yaml":           "apiVersion: v2\nname: trial\nversion: 0.0.0\n",
		"templates/trial.yaml": template,
	}
	needed := template
	for before := -1; before != len(files); {
		before = len(files)
		for name, text := range all {
			if _, ok := files[name]; !ok && (path.Base(name) == "Chart.yaml" || defines(text, needed)) {
				files[name] = text
				needed += comments.ReplaceAllString(text, "")
			}
		}
	}
	return files
}

// load prepares a chart for each Helm.
func load(t testing.TB, files map[string]string) (p trial) {
	t.Helper()
	for i, h := range helms {
		var err error
		if p[i], err = h.prepare(files); err != nil {
			t.Fatalf("%s: %v", h.name, err)
		}
	}
	return p
}

var (
	comments    = regexp.MustCompile(`(?s)\{\{-? ?/\*.*?\*/ ?-?\}\}`)
	definitions = regexp.MustCompile(`\{\{-? define ("[^"]+")`)
)

// defines reports whether a file has a named template that the text of others calls.
func defines(file, text string) bool {
	for _, m := range definitions.FindAllStringSubmatch(file, -1) {
		if strings.Contains(text, "include "+m[1]) {
			return true
		}
	}
	return false
}

// outcome is what a trial gives.
type outcome struct {
	text    string // the template, rendered
	message string // what fail said
	err     error  // what stopped the engine otherwise
}

// run renders with each Helm.
func (p trial) run(values [len(helms)]map[string]any) (got [len(helms)]outcome) {
	for i := range helms {
		rendered, err := p[i](values[i])
		got[i].text = rendered["trial/templates/trial.yaml"]
		if err != nil {
			got[i].message, got[i].err = failure(err)
		}
	}
	return got
}

// each is the same values for each Helm. Rendering does not change them.
func each(values map[string]any) (list [len(helms)]map[string]any) {
	for i := range list {
		list[i] = values
	}
	return list
}

var failed = regexp.MustCompile(`(?s)^execution error at \(trial/[^)]*\): (.*)$`)

// failure takes the message of fail out of an engine's error, and returns any other
// error as it is.
func failure(err error) (message string, other error) {
	if m := failed.FindStringSubmatch(err.Error()); m != nil {
		return m[1], nil
	}
	return "", err
}

// first is the message of the first error in a list.
func first(err error) string { return imageoverrides.Faults(err)[0].Error() }

// library is the chart under test.
var library fs.FS = chart.FS

func TestMain(m *testing.M) {
	log.SetOutput(io.Discard) // Helm warns of values that it does not merge
	slog.SetDefault(slog.New(slog.DiscardHandler))
	debug.SetGCPercent(2000) // parsing templates leaves much behind
	someDraws()
	os.Exit(m.Run())
}

// lines makes the text of a template out of its lines.
func lines(list ...string) string { return strings.Join(list, "\n") + "\n" }
