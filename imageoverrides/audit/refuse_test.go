// SPDX-License-Identifier: Apache-2.0

package audit_test

import (
	"encoding/json"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"
	"sigs.k8s.io/kustomize/api/types"

	"github.com/cozystack/image-overrides/imageoverrides"
	"github.com/cozystack/image-overrides/imageoverrides/audit"
	"github.com/cozystack/image-overrides/internal/oracle"
)

// errorsOf are the rules of severity error that are told of manifests.
func errorsOf(t oracle.T, in string) (rules []audit.RiskRule, r *audit.Report) {
	t.Helper()
	table, err := imageoverrides.New(imageoverrides.Override{Name: "nginx", NewTag: "v2"})
	if err != nil {
		t.Fatalf("%v", err)
	}
	a := audit.New(table, audit.Options{})
	if err := a.Add("s", strings.NewReader(in)); err != nil {
		t.Fatalf("%v", err)
	}
	r = a.Report()
	for _, k := range r.Risks {
		if k.Severity == audit.SeverityError {
			rules = append(rules, k.Rule)
		}
	}
	slices.Sort(rules)
	return slices.Compact(rules), r
}

// refused are the facts that kustomize refuses, with the rule that is told.
var refused = map[string]audit.RiskRule{
	"matching nginx:": audit.RiskSyntax, "strings in containers": audit.RiskContainers, "a list in containers": audit.RiskContainers, "image as a map in containers": audit.RiskImage,
	"spec.containers is a string": audit.RiskTemplated, "spec.template is a string": audit.RiskTemplated, "spec.volumes[].image is a string": audit.RiskTemplated,
	"spec.volumes[].image.reference is a map": audit.RiskImage, "spec is a string": audit.RiskTemplated, "integer keys": audit.RiskKey, "duplicate resource": audit.RiskTwice,
	"content on the separator line": audit.RiskSeparator, "separator glued to a key": audit.RiskSeparator, "top level is a string": audit.RiskNoObject, "YAML directive": audit.RiskDirective,
	"notation: JSON with escapes": audit.RiskSyntax, "name is an invalid regular expression": audit.RiskTable,
}

// TestRefusedFacts: every refusal that was measured is told by its rule, of its object, and none is told of what was accepted.
func TestRefusedFacts(t *testing.T) {
	text, err := os.ReadFile("../testdata/kustomize-5.8.1.jsonl")
	if err != nil {
		t.Fatal(err)
	}
	seen := 0
	for _, line := range strings.Split(strings.TrimSpace(string(text)), "\n") {
		var fact struct {
			Why    string                    `json:"why"`
			Images []imageoverrides.Override `json:"images"`
			In     string                    `json:"in"`
			Error  string                    `json:"error"`
		}
		if err := json.Unmarshal([]byte(line), &fact); err != nil {
			t.Fatal(err)
		}
		table, err := imageoverrides.New(fact.Images...)
		if err != nil { // the chart refuses the name, which is of no matter here
			table, err = imageoverrides.New()
		}
		if err != nil {
			t.Fatal(err)
		}
		a := audit.New(table, audit.Options{})
		if err := a.Add("s", strings.NewReader(fact.In)); err != nil {
			t.Fatal(err)
		}
		var rules []audit.RiskRule
		for _, k := range a.Report().Risks {
			if k.Severity != audit.SeverityError || k.Rule == audit.RiskTable && fact.Error == "" {
				continue // names that are expressions are told of the table, whatever they match
			}
			rules = append(rules, k.Rule)
			if strings.Contains(fact.Error, "Thing.v1.example.org/t") && (k.Kind != "Thing" || k.Name != "t" || k.Path == "") {
				t.Errorf("%s: told of %+v", fact.Why, k)
			}
		}
		want, ok := refused[fact.Why]
		if ok != (fact.Error != "") {
			t.Fatalf("%s: kustomize says %q, and the test expects %q", fact.Why, fact.Error, want)
		}
		if ok {
			seen++
		}
		if ok && !slices.Equal(rules, []audit.RiskRule{want}) || !ok && rules != nil {
			t.Errorf("%s: told %v, want %v, kustomize says %q", fact.Why, rules, want, fact.Error)
		}
	}
	if seen != len(refused) {
		t.Errorf("%d of %d refusals were seen", seen, len(refused))
	}
}

const (
	pod   = "apiVersion: v1\nkind: Pod\nmetadata: {name: p}\n"
	thing = "apiVersion: example.org/v1\nkind: Thing\nmetadata: {name: t}\n"
)

// odd are manifests that kustomize refuses, and some of their like that it accepts: which is asked of kustomize.
var odd = []string{

	pod + "spec: {a: 1, a: 2}\n", pod + "spec: {a: {}}\nspec: {}\n", pod + "data: {true: x}\n", pod + "data: {1.5: x}\n", pod + "data: {~: x}\n", pod + "data: {2020-01-01: x}\n", pod + "data: {yes: x}\n", pod + "data: {010: x}\n", pod + "data: {'1': x, 1: y}\n", pod + "? [a]\n: b\n", pod + "? {a: b}\n: b\n",
	pod + "data: {!!str 5: x}\n", pod + "data: {.inf: x}\n", pod + "data: {a: .inf}\n", pod + "data: {a: .nan}\n",
	"apiVersion: v1\nkind: Pod\n", "apiVersion: v1\nkind: Pod\nmetadata: {}\n", "apiVersion: v1\nkind: Pod\nmetadata: {name: ''}\n", "apiVersion: v1\nkind: Pod\nmetadata: {name: null}\n", "apiVersion: v1\nkind: Pod\nmetadata: {name: 5}\n", "apiVersion: v1\nkind: Pod\nmetadata: {name: [a]}\n", "apiVersion: v1\nkind: Pod\nmetadata: {generateName: a}\n",
	"apiVersion: v1\nmetadata: {name: p}\n", "kind: Pod\nmetadata: {name: p}\n", "a: b\n", "[a]\n", "- a: b\n", "5\n", "null\n", "{}\n", "apiVersion: v1\nkind: ''\nmetadata: {name: p}\n", "apiVersion: v1\nkind: 5\nmetadata: {name: p}\n", "apiVersion: 1\nkind: Pod\nmetadata: {name: p}\n", "apiVersion: v1\nkind: Pod\nmetadata: text\n", "apiVersion: v1\nkind: Pod\nmetadata: [a]\n",
	"apiVersion: v1\nkind: Pod\nmetadata: {name: p, annotations: {a: 1}}\n", "apiVersion: v1\nkind: Pod\nmetadata: {name: p, annotations: {a: true}}\n", "apiVersion: v1\nkind: Pod\nmetadata: {name: p, annotations: [a]}\n", "apiVersion: v1\nkind: Pod\nmetadata: {name: p, annotations: []}\n", "apiVersion: v1\nkind: Pod\nmetadata: {name: p, annotations: {'1': b}}\n", "apiVersion: v1\nkind: Pod\nmetadata: {name: p, annotations: {'true': b}}\n", "apiVersion: v1\nkind: Pod\nmetadata: {name: p, annotations: {'~': b}}\n", "apiVersion: v1\nkind: Pod\nmetadata: {name: p, annotations: {'': b}}\n", "apiVersion: v1\nkind: Pod\nmetadata: {name: p, annotations: {'2020-01-01': b}}\n", "apiVersion: v1\nkind: Pod\nmetadata: {name: p, annotations: {'1e3': b}}\n", "apiVersion: v1\nkind: Pod\nmetadata: {name: p, annotations: {'yes': b}}\n", "apiVersion: v1\nkind: Pod\nmetadata: {name: p, annotations: {'<<': b}}\n", "apiVersion: v1\nkind: Pod\nmetadata: {name: p, annotations: {'1:30': b}}\n", "apiVersion: v1\nkind: Pod\nmetadata: {name: p, annotations: {'a/b': b}}\n", "apiVersion: v1\nkind: Pod\nmetadata: {name: p, annotations: {'=': b}}\n", "apiVersion: v1\nkind: Pod\nmetadata: {name: p, annotations: {'0o7': b}}\n", "apiVersion: v1\nkind: Pod\nmetadata:\n  name: p\n  annotations:\n    \"1\": b\n", "apiVersion: v1\nkind: Pod\nmetadata:\n  name: p\n  labels:\n    \"1\": b\n", "apiVersion: v1\nkind: Pod\nmetadata: {name: p, annotations: {!!str 1: b}}\n", pod + "spec: {template: {metadata: {annotations: {'1': b}}}}\n", "apiVersion: v1\nkind: List\nitems: [{apiVersion: v1, kind: Pod, metadata: {name: p, annotations: {'1': b}}}]\n", "apiVersion: v1\nkind: Pod\nmetadata: {name: p, annotations: [{}]}\n", "apiVersion: v1\nkind: Pod\nmetadata: {name: p, annotations: [[]]}\n", "apiVersion: v1\nkind: Pod\nmetadata: {name: p, annotations: [{a: b}]}\n", "apiVersion: v1\nkind: Pod\nmetadata:\n  name: p\n  annotations:\n  - a: b\n", "apiVersion: v1\nkind: Pod\nmetadata:\n  name: p\n  annotations:\n  - {}\n", "apiVersion: v1\nkind: Pod\nmetadata:\n  name: p\n  annotations:\n  - []\n", "apiVersion: v1\nkind: Pod\nmetadata: {name: p, annotations: text}\n", "apiVersion: v1\nkind: Pod\nmetadata: {name: p, annotations: {a: {b: c}}}\n", "apiVersion: v1\nkind: Pod\nmetadata: {name: p, annotations: {a: null}}\n", "apiVersion: v1\nkind: Pod\nmetadata: {name: p, annotations: null}\n", "apiVersion: v1\nkind: Pod\nmetadata: {name: p, labels: {a: 1}}\n", "apiVersion: v1\nkind: Pod\nmetadata: {name: p, labels: [a]}\n", "apiVersion: v1\nkind: Pod\nmetadata: {name: p, labels: text}\n", "apiVersion: v1\nkind: Pod\nmetadata: {name: p, namespace: 5}\n", "apiVersion: v1\nkind: Pod\nmetadata: {name: p, namespace: [a]}\n", "apiVersion: v1\nkind: Pod\nmetadata: {name: p, ownerReferences: text}\n",
	thing + "spec: {containers: {a: b}}\n", thing + "spec: {containers: []}\n", thing + "spec: {containers: [null]}\n", thing + "spec: {a: {containers: text}}\n", thing + "spec: {a: {containers: [{image: []}]}}\n", thing + "spec: {a: {containers: [{image: {}}]}}\n", thing + "spec: {a: {containers: [[]]}}\n", thing + "spec: {a: {containers: [{}]}}\n", thing + "spec: {a: {containers: {image: {a: b}}}}\n", thing + "spec: {a: {containers: {containers: [x]}}}\n", thing + "spec: {a: {containers: [{containers: [x]}]}}\n", thing + "spec: {a: {containers: [{x: {containers: [x]}}]}}\n",
	thing + "spec: {containers: {image: {a: b}}}\n", thing + "spec: {containers: {image: nginx}}\n", thing + "spec: {template: null}\n", thing + "spec: {template: []}\n", thing + "spec: {template: {}}\n", thing + "spec: {template: [text]}\n", thing + "spec: {template: [null]}\n", thing + "spec: {template: {spec: text}}\n", thing + "spec: {template: {spec: null}}\n", thing + "spec: {template: {spec: {volumes: text}}}\n", thing + "spec: {volumes: text}\n", thing + "spec: {volumes: [text]}\n", thing + "spec: {volumes: [null]}\n", thing + "spec: {volumes: {a: b}}\n", thing + "spec: {volumes: {image: text}}\n", thing + "spec: {volumes: [{image: null}]}\n", thing + "spec: {volumes: [{image: {reference: null}}]}\n", thing + "spec: {volumes: [{image: {reference: []}}]}\n", thing + "spec: {volumes: [{image: []}]}\n", thing + "spec: {volumes: [{image: [text]}]}\n", thing + "spec: {volumes: [{image: [{reference: [a]}]}]}\n", thing + "spec: {volumes: [[text]]}\n", thing + "spec: {volumes: [[{image: text}]]}\n",
	thing + "spec: null\n", thing + "spec: ''\n", thing + "spec: ~\n", thing + "spec:\n", thing + "spec: 5\n", thing + "spec: [text]\n", thing + "spec: [[text]]\n", thing + "spec: []\n", thing + "spec: {template: ''}\n", thing + "spec: {containers: ''}\n", thing + "spec: {containers: [{image: 5}]}\n",
	"apiVersion: v1\nkind: Secret\nmetadata: {name: t}\nspec: text\n", "apiVersion: apiextensions.k8s.io/v1\nkind: CustomResourceDefinition\nmetadata: {name: t}\nspec: text\n", "apiVersion: apiextensions.k8s.io/v1\nkind: CustomResourceDefinition\nmetadata: {name: t}\nspec: {containers: [x]}\n",
	pod + "{{ if }}\n", pod + "spec: {{ .Values.x }}\n", pod + "a: {{ .Values.x }}\n", "{{- if a }}\n" + pod + "{{- end }}\n",
	"apiVersion: v1\nkind: List\nitems: []\n", "apiVersion: v1\nkind: List\nitems: [a]\n", "apiVersion: v1\nkind: List\nitems: [null]\n", "apiVersion: v1\nkind: List\nitems: text\n", "apiVersion: v1\nkind: List\n", "apiVersion: v1\nkind: FooList\nitems: [{a: b}]\n", "apiVersion: v1\nkind: FooList\nx: !!int a\nitems: []\n", "apiVersion: v1\nkind: FooList\nx: .inf\nitems: []\n", "apiVersion: v1\nkind: List\nx: !!int a\nitems: []\n", "apiVersion: v1\nkind: List\nx: .inf\nitems: []\n", pod + "---\napiVersion: v1\nkind: List\nx: !!int a\nitems: []\n", pod + "---\napiVersion: v1\nkind: List\nx: .inf\nitems: []\n", "apiVersion: v1\nkind: List\nitems: [{a: b}]\n", "apiVersion: v1\nkind: List\nx: {1: b}\nitems: []\n", pod + "---\napiVersion: v1\nkind: List\nitems: [a]\n", pod + "---\napiVersion: v1\nkind: List\nx: {1: b}\nitems: []\n", pod + "---\napiVersion: v1\nkind: List\nitems: []\n", pod + "---\napiVersion: v1\nkind: List\nmetadata: {name: x}\nitems: [{apiVersion: v1, kind: Pod, metadata: {name: p}}]\n", pod + "---\napiVersion: v1\nkind: List\nitems: [{apiVersion: v1, kind: List, items: [{apiVersion: v1, kind: Pod, metadata: {name: p}}]}]\n",
	pod + "...\napiVersion: v1\nkind: Pod\nmetadata: {name: q}\n", pod + "...\n---\napiVersion: v1\nkind: Pod\nmetadata: {name: q}\n", pod + "--- \t\napiVersion: v1\nkind: Pod\nmetadata: {name: q}\n", pod + "--- text\n", pod + "--- text", pod + "---\n---\n---text\n", "--- {a: b}\n", "--- # c\n" + pod, "---text\n" + pod, "--- |\n a\n",
	pod + "x: &a [*a]\n", pod + "x: &a {b: *c}\n", pod + "x: *c\n", pod + "x: &a {<<: *a}\n", pod + "x: {<<: text}\n", pod + "x: {<<: [text]}\n", pod + "x: {<<: null}\n", pod + "x: &a {b: c}\ny: {<<: *a, <<: *a}\n", pod + "x: &a {b: c}\ny: {<<: *a, b: d}\n", pod + "x: &a {b: c}\ny: {<<: [*a, *a]}\n", pod + "x: &a 5\ny: {*a : b}\n", pod + "x: &a s\ny: {*a : b}\n", pod + "x: &a s\ny: {*a : b, s: c}\n",
	pod + "---\n%YAML 1.1\n---\n" + thing, pod + "---\n%YAML 1.1\n", pod + "---\n# c\n%YAML 1.1\n---\n" + thing, "---\n%YAML 1.1\n---\n" + pod, "\n---\n%YAML 1.1\n---\n" + pod, "# c\n---\n%YAML 1.1\n---\n" + pod, pod + "---\n%YAML 1.1\n" + thing, pod + "--- # c\n%YAML 1.1\n---\n" + thing, pod + "--- text\n%YAML 1.1\n---\n" + thing,
	pod + "%YAML 1.2\n---\na: b\n", "%YAML 1.1\n---\n" + pod, "%TAG ! tag:a,2000:\n---\n" + pod, pod + "x: !!int a\n", pod + "x: !!binary a\n", pod + "x: !!timestamp a\n", pod + "x: !!float a\n", pod + "x: !!foo a\n", pod + "x: !!set {a: b}\n", pod + "x: 99999999999999999999999\n", pod + "x: 0x1F\n", pod + "x: 2020-01-01\n", pod + "x: \"\\uD800\"\n", pod + "x: \xff\n", pod + "x: \x01\n",
	"apiVersion: rbac.authorization.k8s.io/v1\nkind: ClusterRole\nmetadata: {name: p, namespace: a}\n---\napiVersion: rbac.authorization.k8s.io/v1\nkind: ClusterRole\nmetadata: {name: p}\n",
	pod + "---\napiVersion: v1\nkind: Pod\nmetadata: {name: p, namespace: default}\n", pod + "---\napiVersion: v2\nkind: Pod\nmetadata: {name: p}\n", pod + "---\napiVersion: x/v1\nkind: Pod\nmetadata: {name: p}\n", pod + "---\napiVersion: v1\nkind: Pod\nmetadata: {name: p, namespace: a}\n", "apiVersion: example.org/v1\nkind: Namespace\nmetadata: {name: p, namespace: a}\n---\napiVersion: example.org/v1\nkind: Namespace\nmetadata: {name: p, namespace: b}\n", "apiVersion: v1\nkind: Namespace\nmetadata: {name: p, namespace: a}\n---\napiVersion: v1\nkind: Namespace\nmetadata: {name: p, namespace: b}\n",
}

// TestRefusedAsKustomize: what kustomize refuses is told as an error, and what it accepts is not.
func TestRefusedAsKustomize(t *testing.T) {
	for _, in := range odd {
		sameAsKustomize(t, in)
	}
}

func sameAsKustomize(t oracle.T, in string) {
	t.Helper()
	rules, r := errorsOf(t, in)
	if slices.Contains(rules, audit.RiskAlias) {
		return // which kustomize does not survive
	}
	_, err := oracle.Kustomize([]types.Image{{Name: "nginx", NewTag: "v2"}}, in)
	if (err != nil) != (len(rules) > 0) {
		t.Errorf("told %v, kustomize says %v, of\n%s%+v", rules, err, in, r.Risks)
	}
}

// TestRefusedAlias: an alias that stands for a value around itself is told. Behind the kind of a CustomResourceDefinition nothing is looked at.
func TestRefusedAlias(t *testing.T) {
	for _, in := range []string{pod + "x: &a [*a]\n", pod + "x: &a {b: [{c: *a}]}\n", pod + "x: &a {<<: *a}\n"} {
		if rules, r := errorsOf(t, in); !slices.Equal(rules, []audit.RiskRule{audit.RiskAlias}) {
			t.Errorf("%q: %+v", in, r.Risks)
		}
	}
}

// TestRefusedLaw: the same of manifests that the oracle gives, which kustomize takes, with something odd put into some of them.
func TestRefusedLaw(t *testing.T) {
	value := rapid.SampledFrom([]string{
		"x", "5", "~", "null", "''", "[]", "{}", "[x]", "[[]]", "[~]", "[{}]", "{a: b}", "[{image: {a: b}}]", "[{image: []}]", "[{image: ~}]", "[{image: x}]", "[{reference: []}]", "{image: {reference: x}}",
		"{image: {}}", "{image: x}", "{reference: {}}", "{1: b}", "{true: b}", "{'1': b}", "{a: b, a: c}", "{a: b, 'a': c}", ".inf", "[.NaN]", "'.inf'", "!!int a", "!!str 5", "&x {a: b}", "{<<: {a: b}}", "{<<: a}", "{containers: [x]}", "{containers: x}", "[{containers: [[]]}]",
	})
	key := rapid.SampledFrom([]string{"a", "spec", "template", "containers", "initContainers", "volumes", "image", "reference", "items", "annotations", "1", "true", "~", "'5'"})
	rapid.Check(t, func(t *rapid.T) {
		var b strings.Builder
		object := rapid.SampledFrom([]string{pod, thing, "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: c}\n", "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: c, annotations: %s}\n", "kind: FooList\nmetadata: {name: l}\n"}).Draw(t, "object")
		if strings.Contains(object, "%s") {
			object = fmt.Sprintf(object, value.Draw(t, "annotations"))
		}
		b.WriteString(object)
		for range rapid.IntRange(1, 3).Draw(t, "fields") {
			depth := rapid.IntRange(0, 4).Draw(t, "depth")
			close := ""
			for i := range depth {
				open := rapid.SampledFrom([]string{"{", "[{", "{spec: {", "{template: {spec: {", "{volumes: [{", "{containers: [{"}).Draw(t, "open")
				k := key.Draw(t, "key")
				if i == 0 {
					b.WriteString(k + ": " + open)
				} else {
					b.WriteString(k + ": " + open)
				}
				back := ""
				for _, c := range open {
					switch c {
					case '{':
						back = "}" + back
					case '[':
						back = "]" + back
					}
				}
				close = back + close
			}
			b.WriteString(key.Draw(t, "key") + ": " + value.Draw(t, "value") + close + "\n")
		}
		in := b.String()
		if rapid.Bool().Draw(t, "more") {
			in = oracle.Manifests().Filter(func(s string) bool { return strings.HasSuffix(s, "\n") && !strings.HasPrefix(s, "\uFEFF") }).Draw(t, "before") + "---\n" + in
		}
		sameAsKustomize(t, in)
	})
}
