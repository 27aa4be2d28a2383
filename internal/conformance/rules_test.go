// SPDX-License-Identifier: Apache-2.0

package conformance

import (
	"bufio"
	"encoding/json"
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"
	"sigs.k8s.io/yaml"

	"github.com/cozystack/image-overrides/imageoverrides"
)

// rules is where the facts are that were measured on the platform's own chart.
const rules = "../../imageoverrides/testdata/chart-rules.jsonl"

// TestRules holds the library chart, with both Helms, and ParseValues against what the
// platform's own chart was measured to say.
func TestRules(t *testing.T) {
	table := newSuite(t, library).table
	name := filepath.Join(t.TempDir(), "values.yaml")
	f, err := os.Open(rules)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	n := 0
	for s := bufio.NewScanner(f); s.Scan(); n++ {
		var fact struct {
			Why, Values, Error string
			Out                *string
			Fails              any
		}
		if err := json.Unmarshal(s.Bytes(), &fact); err != nil {
			t.Fatal(err)
		}
		t.Run(fact.Why, func(t *testing.T) {
			if err := os.WriteFile(name, []byte(fact.Values), 0o600); err != nil {
				t.Fatal(err)
			}
			raw, err := yaml.YAMLToJSON([]byte(fact.Values))
			if err != nil {
				t.Fatal(err)
			}
			for i, h := range helms {
				given, err := h.values(options{files: []string{name}})
				if err != nil {
					t.Fatal(err)
				}
				var flux map[string]any
				if err := json.Unmarshal(raw, &flux); err != nil {
					t.Fatal(err)
				}
				for way, values := range map[string]map[string]any{"-f": given, "JSON": flux} {
					got := table.run(each(values))[i]
					parsed, err := imageoverrides.ParseValues(values)
					agree(t, h, got, list, parsed, err)
					switch {
					case fact.Out == nil && got.message == "":
						t.Errorf("%s, %s: accepted, the platform's chart says %q, %v", h.name, way, fact.Error, fact.Fails)
					case fact.Error != "" && got.message != fact.Error:
						t.Errorf("%s, %s:\n  %s\nthe platform's chart:\n  %s", h.name, way, got.message, fact.Error)
					case fact.Out != nil && got.message != "":
						t.Errorf("%s, %s: %s; the platform's chart accepts it", h.name, way, got.message)
					case fact.Out != nil:
						if diff := cmp.Diff(list(t, *fact.Out), list(t, got.text)); diff != "" {
							t.Errorf("%s, %s (-the platform's chart +this one):\n%s", h.name, way, diff)
						}
					}
				}
			}
		})
	}
	if n < 170 {
		t.Errorf("%d facts", n)
	}
}

// TestNumbers shows of which type a number is that comes into a template, by every way that
// values have, and that ParseValues and the chart name it alike.
func TestNumbers(t *testing.T) {
	const text = "registries: {imageOverrides: [{name: a, newTag: 5}]}\n"
	name := filepath.Join(t.TempDir(), "values.yaml")
	if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	const path = "registries.imageOverrides[0]."
	flags := func(h helm, o options) map[string]any {
		values, err := h.values(o)
		if err != nil {
			t.Fatal(err)
		}
		return values
	}
	float := path + "newTag must be a string, got float64; quote it"
	integer := path + "newTag must be a string, got int64; quote it"
	ways := []struct {
		way    string
		values func(h helm) map[string]any
		want   string
	}{
		{"-f", func(h helm) map[string]any { return flags(h, options{files: []string{name}}) }, float},
		{"--set", func(h helm) map[string]any {
			return flags(h, options{set: []string{path + "name=a," + path + "newTag=5"}})
		}, integer},
		{"--set, a fraction", func(h helm) map[string]any {
			return flags(h, options{set: []string{path + "name=a," + path + "newTag=1.20"}})
		}, ""},
		{"--set, a zero in front", func(h helm) map[string]any {
			return flags(h, options{set: []string{path + "name=a," + path + "newTag=010"}})
		}, ""},
		{"--set over -f", func(h helm) map[string]any {
			return flags(h, options{files: []string{name}, set: []string{path + "newTag=7"}})
		}, integer},
		{"--set-string", func(h helm) map[string]any {
			return flags(h, options{setString: []string{path + "name=a," + path + "newTag=5"}})
		}, ""},
		{"--set-json", func(h helm) map[string]any {
			return flags(h, options{setJSON: []string{`registries.imageOverrides=[{"name": "a", "newTag": 5}]`}})
		}, float},
		{"Flux, values", func(helm) map[string]any {
			var values map[string]any
			if err := json.Unmarshal([]byte(`{"registries": {"imageOverrides": [{"name": "a", "newTag": 5}]}}`), &values); err != nil {
				t.Fatal(err)
			}
			return values
		}, float},
		{"Flux, valuesFrom", func(h helm) map[string]any {
			values, err := h.read([]byte(text))
			if err != nil {
				t.Fatal(err)
			}
			return values
		}, float},
		// Helm 3.18.0, in chart's values.yaml and in valuesFrom.
		{"json.Number", func(helm) map[string]any { return numbers("a", json.Number("5")) }, float},
		{"json.Number 0 for the table", func(helm) map[string]any {
			return map[string]any{"registries": map[string]any{"imageOverrides": json.Number("0.0")}}
		}, ""},
		{"json.Number for the table", func(helm) map[string]any {
			return map[string]any{"registries": map[string]any{"imageOverrides": json.Number("5")}}
		}, "registries.imageOverrides must be a list, got float64"},
		{"json.Number for registries", func(helm) map[string]any { return map[string]any{"registries": json.Number("5")} },
			"registries must be a map, got float64"},
		{"a number for a map", func(h helm) map[string]any { return flags(h, options{set: []string{"registries=5"}}) },
			"registries must be a map, got int64"},
	}
	table := newSuite(t, library).table
	for _, w := range ways {
		for i, h := range helms {
			values := w.values(h)
			got := table.run(each(values))[i]
			parsed, err := imageoverrides.ParseValues(values)
			agree(t, h, got, list, parsed, err)
			if got.message != w.want {
				t.Errorf("%s, %s: got %q, want %q", h.name, w.way, got.message, w.want)
			}
		}
	}

	// The chart's own values are decoded by its loader.
	files := filesOf(t, library, `{{ include "image-overrides.table" . }}`)
	files["values.yaml"] = text
	for i, got := range load(t, files).run(each(nil)) {
		if got.message != float {
			t.Errorf("%s, values.yaml: %q", helms[i].name, got.message)
		}
	}
}

func numbers(name, newTag any) map[string]any {
	return map[string]any{"registries": map[string]any{"imageOverrides": []any{map[string]any{"name": name, "newTag": newTag}}}}
}
