// SPDX-License-Identifier: Apache-2.0

package conformance

import (
	"fmt"
	"io/fs"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/google/go-cmp/cmp"
	"sigs.k8s.io/yaml"

	"github.com/cozystack/image-overrides/imageoverrides"
)

// TestContext calls each template with what is no root context. It says what it got, and what to pass.
func TestContext(t *testing.T) {
	const values = `{_cluster: {image-overrides: [{name: a, newTag: x}]}, registries: {imageOverrides: [{name: a, newTag: x}]}, list: [1, 2], text: x}`
	const without = "a map without Values, as .Values itself is, or the item of a range"
	type call struct{ context, got string }
	common := []call{
		{`"x"`, "string"},
		{`nil`, "nil"},
		{`.Values.nothing`, "nil"},
		{`5`, "int"},
		{`true`, "bool"},
		{`.Capabilities`, "ptr"},
		{`.Files`, "a map whose Values are slice"},
		{`(dict)`, without},
		{`.Values`, without},
		{`.Values._cluster`, without},
		{`(dict "Values" nil)`, without},
		{`(dict "Values" "x")`, "a map whose Values are string"},
		{`(dict "Values" (list .Values))`, "a map whose Values are slice"},
	}
	inList := []call{
		{`(list)`, "a list of 0"},
		{`(list . (list) .)`, "a list of 3"},
		{`.Values.list`, "float64"},
		{`(list "x" .)`, "string"},
		{`(list .Values.list .)`, "slice"},
		{`(list nil)`, "nil"},
		{`(list .Values (list))`, without},
	}
	aList := []call{{`(list .)`, "slice"}, {`(list . (list))`, "slice"}}
	for name, test := range map[string]struct {
		pass  string
		calls []call
	}{
		"table":         {"$", aList},
		"strict":        {"$", aList},
		"hash":          {"$", aList},
		"postRenderers": {"$, or (list $ OWN) where the release has post-renderers of its own", inList},
	} {
		for _, c := range append(test.calls, common...) {
			contexts(t, name, c.context, values, fmt.Sprintf("image-overrides.%s must be called with the root context, got %s; pass %s", name, c.got, test.pass))
		}
		// Inside of range and with, the point is something else.
		contexts(t, name, `.`, values, fmt.Sprintf("image-overrides.%s must be called with the root context, got %s; pass %s", name, "string", test.pass),
			`{{ with .Values.text }}`, `{{ end }}`)
		contexts(t, name, `.`, values, fmt.Sprintf("image-overrides.%s must be called with the root context, got %s; pass %s", name, without, test.pass),
			`{{ range .Values }}{{ if kindIs "map" . }}`, `{{ end }}{{ end }}`)
	}

	// Without _cluster nobody knows of a table.
	for _, name := range []string{"hash", "postRenderers"} {
		for _, c := range []struct{ context, values, message string }{
			{`.`, `{}`, "image-overrides." + name + missing},
			{`.`, `{registries: {imageOverrides: [{name: a, newTag: x}]}}`, "image-overrides." + name + missing},
			{`(dict "Values" dict)`, values, "image-overrides." + name + missing},
			{`(dict "Values" (omit .Values "_cluster"))`, values, "image-overrides." + name + missing},
			{`.`, `{_cluster: {}}`, ""},
			{`(dict "Values" (dict "_cluster" nil))`, `{}`, ""},
			{`.`, `{_cluster: x}`, "_cluster must be a map, got string"},
			{`.`, `{_cluster: []}`, "_cluster must be a map, got slice"},
			{`.`, `{_cluster: ""}`, "_cluster must be a map, got string"},
			{`.`, `{_cluster: {image-overrides: x}}`, "_cluster.image-overrides must be a list, got string"},
			{`(dict "Values" .Files)`, values, "_cluster must be a map, got slice"},
		} {
			contexts(t, name, c.context, c.values, c.message)
		}
	}
	for _, name := range []string{"table", "strict"} {
		contexts(t, name, `.`, `{}`, "")
	}
}

// contexts calls a template, and holds what it says.
func contexts(t *testing.T, name, context, values, message string, around ...string) {
	t.Helper()
	var decoded map[string]any
	if err := yaml.Unmarshal([]byte(values), &decoded); err != nil {
		t.Fatal(err)
	}
	template := `{{ include "image-overrides.` + name + `" ` + context + ` }}`
	if len(around) > 0 {
		template = around[0] + template + around[1]
	}
	for i, got := range try(t, library, template).run(each(decoded)) {
		if got.err != nil || got.message != message {
			t.Errorf("%s: %s of %s:\n  %v%s\nwant\n  %s", helms[i].name, template, values, got.err, got.message, message)
		}
	}
}

// TestSubchart has a release in a subchart, to which Helm hands no _cluster down: it stops, wherever the library
// chart is vendored, unless the subchart has values of that name of its own.
func TestSubchart(t *testing.T) {
	const release = `{{ include "image-overrides.postRenderers" . }}`
	const table = `_cluster: {image-overrides: [{name: a, newTag: x}]}` + "\n"
	for _, test := range []struct{ why, values, message, text string }{
		{"the parent has the table", table, "image-overrides.postRenderers" + missing, ""},
		{"nobody has one", "{}", "image-overrides.postRenderers" + missing, ""},
		{"the subchart is given an empty one", table + "sub: {_cluster: {}}\n", "", ""},
		{"the subchart is given one", table + "sub: {_cluster: {image-overrides: [{name: b, newTag: w}]}}\n", "", `[{"kustomize":{"images":[{"name":"b","newTag":"w"}]}}]`},
	} {
		for _, at := range []string{"charts/", "charts/sub/charts/"} {
			files := map[string]string{
				"Chart.yaml":                        "apiVersion: v2\nname: trial\nversion: 0.0.0\n",
				"charts/sub/Chart.yaml":             "apiVersion: v2\nname: sub\nversion: 0.0.0\n",
				"charts/sub/templates/release.yaml": release,
			}
			for name, text := range filesOf(t, library, release) {
				if library, ok := strings.CutPrefix(name, "charts/"); ok {
					files[at+library] = text
				}
			}
			var values map[string]any
			if err := yaml.Unmarshal([]byte(test.values), &values); err != nil {
				t.Fatal(err)
			}
			for i, p := range load(t, files) {
				rendered, err := p(values)
				message := ""
				if err != nil {
					if message, err = failure(err); err != nil {
						t.Errorf("%s, %s, library in %s: %v", test.why, helms[i].name, at, err)
					}
				}
				if message != test.message {
					t.Errorf("%s, %s, library in %s:\n  %s\nwant\n  %s", test.why, helms[i].name, at, message, test.message)
				}
				got := list(t, rendered["trial/charts/sub/templates/release.yaml"])
				for _, r := range got.([]any) { // without the marker
					kustomize := r.(map[string]any)["kustomize"].(map[string]any)
					kustomize["images"] = kustomize["images"].([]any)[1:]
				}
				if diff := cmp.Diff(list(t, test.text), got); diff != "" {
					t.Errorf("%s, %s, library in %s (-want +got):\n%s", test.why, helms[i].name, at, diff)
				}
			}
		}
	}
}

// counted is the library chart, which counts in .Release how often it checks a table and prints one.
func counted(t *testing.T) fs.FS {
	count := func(what string) string {
		return `{{- $_ := set $release "` + what + `" (get $release "` + what + `" | default 0 | add1) -}}`
	}
	files := plant(t, difference{file: contextFile, old: `{{- $list := include "image-overrides.entries"`,
		new: count("checks") + `{{- $list := include "image-overrides.entries"`}).(fstest.MapFS)
	const print = `{{- $item = include "image-overrides.item"`
	text := string(files[renderersFile].Data)
	if strings.Count(text, print) != 1 {
		t.Fatalf("%s does not have %s once", renderersFile, print)
	}
	files[renderersFile].Data = []byte(strings.Replace(text, print, `{{- $release := index (index . 0) "Release" -}}`+count("prints")+print, 1))
	return files
}

// TestOnce: a table is checked and printed once for each rendering, however many templates and releases a chart
// has; yet what is rendered follows the values wherever a chart changes them, and what is kept stands in none of them.
func TestOnce(t *testing.T) {
	const releases = `{{ range list 1 2 3 }}{{ include "image-overrides.postRenderers" $ }}{{ include "image-overrides.postRenderers" (list (merge (dict "x" .) $) (list)) }}` +
		`{{ include "image-overrides.hash" $ }}{{ include "image-overrides.table" $ }}{{ end }}`
	const state = `{{ list .Release.checks .Release.prints (len (get .Release "image-overrides")) | toJson }}`
	files := filesOf(t, counted(t), releases)
	for i := range 5 {
		files[fmt.Sprintf("templates/b%d.yaml", i)] = releases + state
	}
	// Helm renders templates in the order of their names, the last one first.
	files["templates/a.yaml"] = releases + `{{ toJson .Values }}` + state
	const entries = `[{name: a, newTag: x}, {name: b, newTag: w}]`
	const values = `{_cluster: {image-overrides: ` + entries + `}, registries: {imageOverrides: ` + entries + `}}`
	for i, p := range load(t, files) {
		var given, before map[string]any
		for _, v := range []*map[string]any{&given, &before} {
			if err := yaml.Unmarshal([]byte(values), v); err != nil {
				t.Fatal(err)
			}
		}
		rendered, err := p(given)
		if err != nil {
			t.Fatal(err)
		}
		a := rendered["trial/templates/a.yaml"]
		if !strings.HasSuffix(a, "[1,1,1]") {
			t.Errorf("%s: checked, printed and kept, and how many are kept: %s, want [1,1,1]", helms[i].name, a[strings.LastIndex(a, "["):])
		}
		if text := `{"_cluster":{"image-overrides":[{"name":"a","newTag":"x"},{"name":"b","newTag":"w"}]}`; !strings.Contains(a, text) || strings.Contains(a[strings.Index(a, text):], `"list"`) {
			t.Errorf("%s: the values are changed: %s", helms[i].name, a)
		}
		if diff := cmp.Diff(before, given); diff != "" {
			t.Errorf("%s: the caller's values (-before +after):\n%s", helms[i].name, diff)
		}
	}

	// Nothing of that is seen in what is rendered.
	for i, p := range try(t, forgetful(t), releases) {
		var texts [2]string
		for j, p := range []prog{p, try(t, library, releases)[i]} {
			var given map[string]any
			if err := yaml.Unmarshal([]byte(values), &given); err != nil {
				t.Fatal(err)
			}
			rendered, err := p(given)
			if err != nil {
				t.Fatal(err)
			}
			texts[j] = rendered["trial/templates/trial.yaml"]
		}
		if diff := cmp.Diff(texts[0], texts[1]); diff != "" {
			t.Errorf("%s (-nothing kept +as it is):\n%s", helms[i].name, diff)
		}
	}

	// A chart that changes its values between two calls, in one way or another.
	const call = `{{ include "image-overrides.postRenderers" $ }}` + "\x00" + `{{ include "image-overrides.hash" $ }}` + "\x00"
	trial := try(t, library, call+
		`{{ $_ := set (index .Values._cluster "image-overrides" 0) "newTag" "z" }}`+call+
		`{{ $_ := set .Values._cluster "image-overrides" (list (dict "name" "c" "newTag" "v")) }}`+call+
		`{{ $_ := unset .Values._cluster "image-overrides" }}`+call)
	want := []imageoverrides.Table{
		must(imageoverrides.New(imageoverrides.Override{Name: "a", NewTag: "x"}, imageoverrides.Override{Name: "b", NewTag: "w"})),
		must(imageoverrides.New(imageoverrides.Override{Name: "a", NewTag: "z"}, imageoverrides.Override{Name: "b", NewTag: "w"})),
		must(imageoverrides.New(imageoverrides.Override{Name: "c", NewTag: "v"})),
		must(imageoverrides.New()),
	}
	for i := range helms {
		var given map[string]any
		if err := yaml.Unmarshal([]byte(values), &given); err != nil {
			t.Fatal(err)
		}
		rendered, err := trial[i](given)
		if err != nil {
			t.Fatal(err)
		}
		texts := strings.Split(rendered["trial/templates/trial.yaml"], "\x00")
		for j, table := range want {
			if diff := cmp.Diff(model(t, nil, table), list(t, texts[2*j])); diff != "" {
				t.Errorf("%s, change %d (-want +got):\n%s", helms[i].name, j, diff)
			}
			if hash := hashOf(table); strings.TrimSpace(texts[2*j+1]) != hash {
				t.Errorf("%s, change %d: the hash is %q, want %q", helms[i].name, j, texts[2*j+1], hash)
			}
		}
	}
}

// BenchmarkReleases renders releases with a table of 1,000 entries, each in a file of its own: 100 with the chart as it
// is, and 10 with a copy that keeps nothing from one call to the next.
func BenchmarkReleases(b *testing.B) {
	var overrides []imageoverrides.Override
	for i := range 1000 {
		overrides = append(overrides, imageoverrides.Override{
			Name: fmt.Sprintf("registry.example.org/team/app-%d", i), NewName: fmt.Sprintf("mirror.example.net/os/app-%d", i), NewTag: "v1", Digest: digest,
		})
	}
	values := map[string]any{"_cluster": map[string]any{"image-overrides": decoded(b, must(imageoverrides.New(overrides...)))}}
	for _, bench := range []struct {
		name     string
		library  fs.FS
		releases int
	}{{"kept", library, 100}, {"nothing kept", forgetful(b), 10}} {
		files := filesOf(b, bench.library, `{{ include "image-overrides.postRenderers" . }}`)
		for i := range bench.releases - 1 {
			files[fmt.Sprintf("templates/release-%d.yaml", i)] = files["templates/trial.yaml"]
		}
		for i, p := range load(b, files) {
			b.Run(fmt.Sprintf("%s/%d releases/%s", bench.name, bench.releases, helms[i].name), func(b *testing.B) {
				for b.Loop() {
					if _, err := p(values); err != nil {
						b.Fatal(err)
					}
				}
			})
		}
	}
}

// forgetful is the library chart without what keeps a table from one call to the next.
func forgetful(t testing.TB) fs.FS {
	return plant(t, difference{file: contextFile, old: `(typeIs "map[string]interface {}" $release)`, new: `false`})
}
