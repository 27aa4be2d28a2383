// SPDX-License-Identifier: Apache-2.0

package conformance

import (
	"fmt"
	"maps"
	"os"
	"regexp"
	"strings"
	"testing"

	"sigs.k8s.io/yaml"
)

// TestCheckTruths holds the pairs of conditions with which chart.Check is tested against what Helm makes of them.
func TestCheckTruths(t *testing.T) {
	var pairs []string
	b := strings.Builder{}
	b.WriteString(read(t, "helpers.tpl"))
	for line := range strings.Lines(read(t, "truths.txt")) {
		line = strings.TrimSuffix(line, "\n")
		left, right, ok := strings.Cut(line, " == ")
		if !ok || line[0] == '#' {
			continue
		}
		fmt.Fprintf(&b, "\n%d {{ if %s }}1{{ else }}0{{ end }}{{ if %s }}1{{ else }}0{{ end }}", len(pairs), left, right)
		pairs = append(pairs, line)
	}
	b.WriteString("\n{{/* include \"image-overrides.postRenderers\" */}}")
	p := try(t, library, b.String())
	for _, values := range someValues(".Values.") {
		for i, got := range p.run(each(values)) {
			if got.err != nil || got.message != "" {
				t.Fatalf("%s: %v%s", helms[i].name, got.err, got.message)
			}
			for k, pair := range pairs {
				if !strings.Contains(got.text, fmt.Sprintf("\n%d 00\n", k)) && !strings.Contains(got.text, fmt.Sprintf("\n%d 11\n", k)) {
					t.Errorf("%s: %s does not hold with a=%v b=%v c=%v s=%v l=%v", helms[i].name, pair, values["a"], values["b"], values["c"], values["s"], values["l"])
				}
			}
		}
	}
}

// TestCheckCases holds the templates with which chart.Check is tested against what Helm renders of them.
func TestCheckCases(t *testing.T) {
	carried := filesOf(t, library, `include "image-overrides.postRenderers"`)
	delete(carried, "templates/trial.yaml")
	carried["templates/_helpers.tpl"] = read(t, "helpers.tpl") + read(t, "release.tpl")
	_, all, _ := strings.Cut(read(t, "cases.txt"), "\n== ")
	for i, one := range strings.Split(all, "\n== ") {
		rule, text, _ := strings.Cut(one, "\n")
		if text == "" || text[0] == ' ' || text[0] == '\n' {
			text = "kind: HelmRelease\nmetadata: {name: r}\nspec:\n" + text
		}
		files := maps.Clone(carried)
		files["templates/trial.yaml"] = strings.NewReplacer("CALL_", `(include "image-overrides.postRenderers" .)`, "CALL", `include "image-overrides.postRenderers" .`).Replace(text) + "\n"
		for k, program := range load(t, files) {
			served, missed := 0, 0
			for _, values := range someValues(text) {
				rendered, err := program(values)
				if err != nil {
					if strings.Contains(err.Error(), "error calling fail") || strings.Contains(err.Error(), "execution error at") {
						continue
					}
					t.Errorf("%d: %s: %v\n%s", i+1, helms[k].name, err, text)
					break
				}
				objects, lost := 0, make(map[string]bool)
				for _, document := range regexp.MustCompile(`(?m)^---(?: .*)?$`).Split(rendered["trial/templates/trial.yaml"], -1) {
					var object any
					if err := yaml.Unmarshal([]byte(document), &object); err != nil {
						t.Errorf("%d: %s: %v\n%s", i+1, helms[k].name, err, document)
						break
					}
					look(object, lost)
					if strings.Contains(document, "HelmRelease") {
						objects++
					}
				}
				if len(lost) > 0 {
					missed++
				} else if objects > 0 {
					served++
				}
			}
			ok := served == 0 && missed > 0
			switch {
			case rule == "served" || strings.HasPrefix(rule, "careful "):
				ok = missed == 0 && served > 0
			case rule == "condition":
				ok = missed > 0 && served > 0
			}
			if !ok {
				t.Errorf("%d: %s: served %d times, missed %d times: that is not %q\n%s", i+1, helms[k].name, served, missed, rule, text)
			}
		}
	}
}

// someValues are what the templates of the tests of chart are tried with, or one of them where a text has no values.
func someValues(text string) (list []map[string]any) {
	for n := range 1 << 5 {
		if n > 0 && !strings.Contains(text, ".Values") && !strings.Contains(text, `"t.blank"`) {
			break
		}
		values := map[string]any{
			"_cluster": map[string]any{"image-overrides": []any{map[string]any{"name": "i", "newTag": "1"}}},
			"a":        n&1 != 0, "b": n&2 != 0, "c": n&4 != 0, "s": "", "l": []any{},
		}
		if n&8 != 0 {
			values["s"] = "x"
		}
		if n&16 != 0 {
			values["l"] = []any{"x"}
		}
		list = append(list, values)
	}
	return list
}

func read(t *testing.T, name string) string {
	t.Helper()
	text, err := os.ReadFile("../../imageoverrides/chart/testdata/" + name)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}
