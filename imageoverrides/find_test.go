// SPDX-License-Identifier: Apache-2.0

package imageoverrides

import (
	"encoding/base64"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

// A table is found in each of its shapes, with its whole path, and the key that lines and columns count in.
func TestFind(t *testing.T) {
	const list = "- name: registry.k8s.io/pause\n  newTag: \"3.10\"\n"
	in := func(margin string) string {
		return margin + strings.ReplaceAll(strings.TrimSuffix(list, "\n"), "\n", "\n"+margin) + "\n"
	}
	values := "registries:\n  imageOverrides:\n" + in("  ")
	handedOn := "_cluster:\n  image-overrides:\n" + in("  ")
	coded := base64.StdEncoding.EncodeToString([]byte(handedOn))
	for _, c := range []struct{ why, text, path, key string }{
		{"a list", list, "overrides", ""},
		{"values", values, "registries.imageOverrides", ""},
		{"what the platform hands on", handedOn, "_cluster.image-overrides", ""},
		{"its Secret", "apiVersion: v1\nkind: Secret\ndata: {values.yaml: " + coded + "}\n", "_cluster.image-overrides", "values.yaml"},
		{"a HelmRelease", "kind: HelmRelease\nspec: {values: {registries: {imageOverrides: [{name: registry.k8s.io/pause, newTag: '3.10'}]}}}\n", "spec.values.registries.imageOverrides", ""},
		{"a ConfigMap in a stream", "kind: Service\napiVersion: v1\n---\nkind: ConfigMap\ndata: {my: '{registries: {imageOverrides: [{name: registry.k8s.io/pause, newTag: \"3.10\"}]}}'}\n", "registries.imageOverrides", "my"},
	} {
		text := []byte(c.text)
		got, err := Find(text)
		if err != nil || got.Path != c.path || got.Key != c.key || got.Table.Len() != 1 || string(text) != c.text {
			t.Errorf("%s: %+v, %v", c.why, got, err)
		}
		for _, f := range got.Table.Lint() {
			t.Errorf("%s: %s", c.why, f)
		}
	}
	// Findings and Strict name the whole path.
	got, err := Find([]byte("kind: HelmRelease\nspec: {values: {registries: {imageOverrides: [{name: 'c++', newTag: a}]}}}\n"))
	if err != nil {
		t.Fatal(err)
	}
	const path = "spec.values.registries.imageOverrides"
	if f := got.Table.Lint(); len(f) != 1 || f[0].Path != path || f[0].Line != 2 || f[0].Column != 54 {
		t.Errorf("%+v", f)
	}
	if err := got.Table.Strict(); err == nil || !strings.HasPrefix(err.Error(), path+"[0]") {
		t.Error(err)
	}
}

// What is no table has a rule, a place where there is one, and no table with it.
func TestFindErrors(t *testing.T) {
	for _, c := range []struct {
		text, key string
		want      Error
		error     string
	}{
		{"", "", Error{Entry: -1, Rule: RuleAbsent}, "there is no table here, for there is nothing; [] is how an empty table is written"},
		{"registries: {imageoverrides: []}\n", "", Error{Entry: -1, Rule: RuleAbsent}, `there is no registries.imageOverrides here; line 1 has "imageoverrides"; [] is how an empty table is written`},
		{"kind: ConfigMap\ndata: {values.yaml: 'a: b'}\n", "values.yaml", Error{Entry: -1, Rule: RuleAbsent}, "there is no registries.imageOverrides here; [] is how an empty table is written"},
		{"a: {{ .x }}\n", "", Error{Entry: -1, Rule: RuleTemplate, Line: 1, Column: 4}, "line 1, column 4: a template; render it first (helm template)"},
		{"a: [\n", "", Error{Entry: -1, Rule: RuleSyntax, Line: 1, Column: 4}, "line 1, column 4: did not find expected node content"},
		{"kind: Secret\ndata: {a: b}\n", "", Error{Entry: -1, Rule: RuleSecret}, `the Secret has no key "values.yaml"`},
		{"kind: Secret\ndata: [a]\n", "", Error{Entry: -1, Rule: RuleSecret}, "data of the Secret must be a map"},
		{"kind: HelmRelease\nspec: {values: {}, values: {}}\n", "", Error{Entry: -1, Rule: RuleTwice, Line: 2, Column: 20}, "spec.values is set twice, first in line 2, column 8"},
		{"registries: {imageOverrides: []}\n_cluster: {image-overrides: []}\n", "", Error{Entry: -1, Rule: RuleSecond, Line: 2, Column: 29},
			"line 2, column 29: a second table, _cluster.image-overrides; the first, registries.imageOverrides, is at line 1, column 30; keep one of them in the file"},
		{"x: &x [{name: a, newTag: b}]\nkind: HelmRelease\nspec: {values: {registries: {imageOverrides: *x}}}\n", "", Error{Entry: -1, Rule: RuleOutside, Line: 3, Column: 46},
			"line 3, column 46: alias *x stands for what is not in the values; write it out"},
		{"kind: HelmRelease\nspec:\n  values:\n    registries:\n      imageOverrides:\n      - {name: a}\n", "", Error{Path: "spec.values.registries.imageOverrides", Entry: 0, Rule: RuleNothing, Line: 6, Column: 9},
			`spec.values.registries.imageOverrides[0]: "a" sets none of newName, newTag, digest`},
		{"kind: ConfigMap\ndata:\n  values.yaml: |\n    registries:\n      imageOverrides: {a: b}\n", "values.yaml", Error{Path: "registries.imageOverrides", Entry: -1, Rule: RuleList, Line: 2, Column: 19},
			"registries.imageOverrides must be a list, got map"},
	} {
		got, err := Find([]byte(c.text))
		if got.Table.Known() || got.Path != "" || got.Key != c.key {
			t.Errorf("%q: %+v", c.text, got)
		}
		var e *Error
		if !errors.As(err, &e) {
			t.Errorf("%q: %v", c.text, err)
			continue
		}
		is := *e
		is.text = ""
		if diff := cmp.Diff(c.want, is, cmp.AllowUnexported(Error{})); diff != "" || err.Error() != c.error {
			t.Errorf("%q: %s\n%v", c.text, diff, err)
		}
	}
}

// Alone, values and lists are what their own functions make of them.
func TestFindLaw(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		entry := rapid.SampledFrom([]string{"{name: a, newTag: b}", "{name: c, newTag: 5}", "{name: a}", "x", "{name: 'é', digest: x, y: z}"})
		list := "[" + strings.Join(rapid.SliceOfN(entry, 1, 4).Draw(t, "entries"), ", ") + "]"
		for text, parse := range map[string]func([]byte) (Table, error){
			list: Parse,
			"a: b\nregistries: {imageOverrides: " + list + "}\n": ParseValuesText,
			"_cluster: {image-overrides: " + list + "}\n":        func(b []byte) (Table, error) { return ParseSecret(map[string][]byte{"values.yaml": b}) },
		} {
			want, wantErr := parse([]byte(text))
			got, err := Find([]byte(text))
			if !got.Table.Equal(want) || fmt.Sprint(err) != fmt.Sprint(wantErr) {
				t.Fatalf("%s: %v, %v, want %v", text, got, err, wantErr)
			}
			if diff := cmp.Diff(Faults(wantErr), Faults(err), cmp.AllowUnexported(Error{})); diff != "" {
				t.Fatalf("%s: %s", text, diff)
			}
		}
	})
}
