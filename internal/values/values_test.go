// SPDX-License-Identifier: Apache-2.0

package values

import (
	"encoding/base64"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"go.yaml.in/yaml/v3"
	"pgregory.net/rapid"

	"github.com/cozystack/image-overrides/internal/manifest/document"
)

// distancePlainly is distance as it is defined.
func distancePlainly(a, b string) int {
	switch {
	case a == "" || b == "":
		return len(a) + len(b)
	case a[0] == b[0]:
		return distancePlainly(a[1:], b[1:])
	}
	return 1 + min(distancePlainly(a[1:], b), distancePlainly(a, b[1:]), distancePlainly(a[1:], b[1:]))
}

func TestDistance(t *testing.T) {
	text := rapid.StringMatching(`[abc]{0,6}`)
	rapid.Check(t, func(t *rapid.T) {
		a, b := text.Draw(t, "a"), text.Draw(t, "b")
		if got, want := distance(a, b), distancePlainly(a, b); got != want {
			t.Fatalf("%q and %q: %d, want %d", a, b, got, want)
		}
		slips := rapid.IntRange(0, 3).Draw(t, "slips")
		if got, want := isNear(strings.ToUpper(a)+"-_", "."+b, slips), distancePlainly(a, b) <= slips && len(a) <= 2*len(b); got != want {
			t.Fatalf("%q and %q are near, up to %d slips: %v, want %v", a, b, slips, got, want)
		}
	})
}

// TestMissing: what may have been meant for the table is told in its order, with its way where it is the place that is wrong, five of it.
func TestMissing(t *testing.T) {
	const entry = "[{name: a, newTag: b}]"
	told := func(told string) string {
		return "there is no registries.imageOverrides here" + told + "; [] is how an empty table is written"
	}
	handed := func(told string) string {
		return "there is no _cluster.image-overrides here" + told + "; [] is how an empty table is written"
	}
	for _, test := range []struct{ text, want string }{
		{"a: b\n", told("")},
		{"registries:\n  mirrors: {}\n", told(`; line 1 has "registries" without imageOverrides`)},
		{"registry: {a: b}\n", told(`; line 1 has "registry"`)},
		{"Registries: {}\nregistrys: {}\nregistriesss: {}\nregistriessss: {}\nregist: {}\n", told(`; line 1 has "Registries", line 2 "registrys", line 3 "registriesss"`)},
		{"a:\n  registrys: {}\n", told("")},
		{"image-overrides: []\n", told(`; line 1 has "image-overrides"`)},
		{"imageOverrides: []\na: {b: [{imageOverrides: []}]}\n", told(`; line 1 has "imageOverrides", line 2 "a.b[0].imageOverrides"`)},
		{"registries:\n  image_override: []\n  imagOveride: []\n  imgOverrids: []\n  igOverrid: []\n  myImageOverridesOfAll: []\n", told(`; line 2 has "image_override", line 3 "imagOveride", line 4 "imgOverrids", line 6 "myImageOverridesOfAll"`)},
		{"a:\n  b: " + entry + "\n", told(`; line 2 has "a.b" with entries`)},
		{"a: [{name: a, newName: b}]\nb: [{name: a, digest: b}]\nc: [{name: a, tag: b}]\nd: [{newTag: b}]\ne: []\nf: [a]\n", told(`; line 1 has "a" with entries, line 2 "b" with entries`)},
		{"_cluster:\n  other: x\n  a: " + entry + "\n", ""},
		{"_cluster: {}\nregistry: {}\n", ""},
		{"_cluster:\n  imageOverrides: []\n", handed(`; line 2 has "_cluster.imageOverrides"`)},
		{"_cluster:\n  image-overide: []\n", handed(`; line 2 has "image-overide"`)},
		{"_cluster: {}\nregistries: {}\n", told(`; line 2 has "registries" without imageOverrides`)},
	} {
		p, fault := Find([]byte(test.text))
		if fault != nil {
			t.Errorf("%q: %v", test.text, fault)
			continue
		}
		got := ""
		if fault := p.Missing(); fault != nil {
			if got = fault.Reason; fault.Rule != Absent || fault.Line != 0 {
				t.Errorf("%q: %+v", test.text, fault)
			}
		}
		if got != test.want {
			t.Errorf("%q:\n%s, want\n%s", test.text, got, test.want)
		}
	}
	for n, want := range map[int]string{5: "", 6: ", and 1 more", 7: ", and 2 more"} {
		var b, w strings.Builder
		for i := range n {
			fmt.Fprintf(&b, "a%d: %s\n", i, entry)
			if i < 5 {
				before := map[bool]string{true: "; line 1 has", false: fmt.Sprintf(", line %d", i+1)}[i == 0]
				fmt.Fprintf(&w, "%s %q with entries", before, fmt.Sprintf("a%d", i))
			}
		}
		p, _ := Find([]byte(b.String()))
		if got, want := p.Missing().Error(), told(w.String()+want); got != want {
			t.Errorf("%d:\n%s, want\n%s", n, got, want)
		}
	}
}

// TestCarried: values in a manifest are the place's text, where they stand in lines and columns, with the way that leads there, however
// they are written and whatever is around them.
func TestCarried(t *testing.T) {
	indented := func(text string, n int) string {
		margin := strings.Repeat(" ", n)
		return margin + strings.ReplaceAll(strings.TrimSuffix(text, "\n"), "\n", "\n"+margin) + "\n"
	}
	rapid.Check(t, func(t *rapid.T) {
		home := rapid.SampledFrom([]Home{Chart, Secret}).Draw(t, "home")
		table := rapid.SampledFrom([]string{"[]", "[{name: é, newTag: b}]", "\n  - name: é\n    newTag: b", "\n  # c\n  - {name: a,\n     newTag: b} # é", "null"}).Draw(t, "table")
		values := rapid.SampledFrom([]string{"", "a: é\n", "# é\n", "b: [é]\n\n"}).Draw(t, "first") + home.Outer + ":\n  " + home.Inner + ": " + table + "\n" +
			rapid.SampledFrom([]string{"", "c: d\n", "c: |\n  ---x\n\n  # e\n", "\n# c\n", "c: [d,\n  e]\n"}).Draw(t, "last")
		var want any
		if err := yaml.Unmarshal([]byte(values), &want); err != nil {
			t.Fatal(err)
		}
		if flow := rapid.Bool().Draw(t, "flow"); flow {
			if table[0] == '\n' {
				table = "[]"
			}
			values = "{" + rapid.SampledFrom([]string{"", "a: é, ", "\n "}).Draw(t, "first") + home.Outer + ": {" + home.Inner + ": " + table + "}" + rapid.SampledFrom([]string{"", ", é: [c]", "\n"}).Draw(t, "last") + "}\n"
			want = nil
			if err := yaml.Unmarshal([]byte(values), &want); err != nil {
				t.Fatal(err)
			}
		}
		// The field that holds them, in its object.
		var object, path string
		field := func(name string) string {
			if values[0] == '{' {
				return name + ": " + values
			}
			return name + ":\n" + indented(values, 2)
		}
		after := rapid.SampledFrom([]string{"", "z: é\n", "# c\n", "z: [{}]\n"}).Draw(t, "after")
		switch rapid.IntRange(0, 2).Draw(t, "kind") {
		case 0:
			object, path = "kind: HelmRelease\nmetadata: {name: é}\nspec:\n"+indented("a: é\n"+field("values")+after, 2), "spec.values"
		case 1:
			object, path = "kind: Package\nspec:\n  components:\n    x: {enabled: true}\n    y:\n"+indented(field("values")+after, 6), "spec.components.y.values"
		case 2:
			object, path = "spec:\n"+indented(field("values")+after, 2)+"kind: HelmRelease\n", "spec.values"
		}
		switch rapid.IntRange(0, 3).Draw(t, "around") {
		case 0:
			object, path = "kind: List\nitems:\n- kind: Service\n  apiVersion: v1\n-\n"+indented(object, 2)+"- kind: HelmRelease\n", "items[1]."+path
		case 1:
			object = "kind: Service\napiVersion: v1\na: é\n--- # c\n" + object + "---\nkind: Secret\n"
		case 2:
			object = "\uFEFF# é\n" + object + "...\n"
		}
		ending := rapid.SampledFrom([]string{"\n", "\r\n"}).Draw(t, "line breaks")
		text := strings.ReplaceAll(object, "\n", ending)

		p, fault := Find([]byte(text))
		if fault != nil || p.At != path || p.Key != "" || p.Home != home {
			t.Fatalf("%q: %v, %+v, want %s and %s", text, fault, p.Home, p.At, path)
		}
		if strings.Contains(string(p.Text), "\n---") || strings.Contains(string(p.Text), "\n...") {
			t.Fatalf("%q: %q has the end of its document", text, p.Text)
		}
		var got any
		if err := yaml.Unmarshal(p.Text, &got); err != nil || !cmp.Equal(want, got) {
			t.Fatalf("%q: %q reads as %v (%v), want %v", text, p.Text, got, err, want)
		}
		// Where the key of the table stands.
		key := home.Inner + ":"
		line, column := document.NewLines([]byte(text)).Position(strings.Index(text, key))
		if l, c := document.NewLines(p.Text).Position(strings.Index(string(p.Text), key)); l != line || c != column {
			t.Fatalf("%q: %q has it at %d:%d, want %d:%d", text, p.Text, l, c, line, column)
		}
	})
}

// TestTexts: the text of a key is the place's text, as it is in a cluster, where stringData counts more than data.
func TestTexts(t *testing.T) {
	const values, other = "_cluster:\n  image-overrides: []\n", "a: b\n"
	code := func(text string) string { return base64.StdEncoding.EncodeToString([]byte(text)) }
	for _, test := range []struct{ text, key, want, fault string }{
		{"kind: Secret\ndata: {values.yaml: " + code(values) + "}\n", "values.yaml", values, ""},
		{"kind: Secret\nstringData: {values.yaml: 'a: b'}\ndata: {values.yaml: " + code(values) + "}\n", "values.yaml", "a: b", ""},
		{"kind: Secret\ndata: {values.yaml: " + code(other) + "}\n", "values.yaml", other, ""},
		{"kind: Secret\ndata: {a: " + code(values) + ", values.yaml: " + code(other) + "}\n", "a", values, ""},
		{"kind: Secret\ndata: {a: " + code(other) + "}\n", "", "", NoKey},
		{"kind: Secret\ndata: null\n", "", "", NoKey},
		{"kind: Secret\ndata: {values.yaml: 'a b'}\n", "", "", "data of the Secret: values.yaml is no base64: illegal base64 data at input byte 1"},
		{"kind: Secret\nstringData: {values.yaml: 5}\n", "", "", "stringData of the Secret: values.yaml must be a string"},
		{"kind: Secret\nstringData: a\n", "", "", "stringData of the Secret must be a map"},
		{"kind: Secret\ndata: {a: 'x y', values.yaml: " + code(values) + "}\n", "values.yaml", values, ""},
		{"kind: ConfigMap\ndata:\n  a: 'b'\n  c: |\n    registries: {imageOverrides: []}\n", "c", "registries: {imageOverrides: []}\n", ""},
		{"kind: ConfigMap\nstringData: a\ndata:\n  c: '_cluster: {}'\n", "c", "_cluster: {}", ""},
		{"kind: ConfigMap\ndata: {a: values.yaml, '_cluster: {}': c}\n", "", "", "a manifest of kind ConfigMap holds no table; " + Expected},
		{"kind: ConfigMap\ndata: {c: a, d: b}\n", "", "", "a manifest of kind ConfigMap holds no table; " + Expected},
		{"kind: ConfigMap\ndata: {c: a, values.yaml: 'b: c'}\n", "values.yaml", "b: c", ""},
		{"kind: ConfigMap\ndata: {values.yaml: '_cluster: {}'}\n---\nkind: HelmRelease\n", "values.yaml", "_cluster: {}", ""},
		{"kind: ConfigMap\ndata: {a: '_cluster: {}'}\n---\nkind: HelmRelease\n", "", "", "none of 2 manifests holds a table; " + Expected},
	} {
		p, fault := Find([]byte(test.text))
		switch {
		case fault != nil:
			if fault.Reason != test.fault {
				t.Errorf("%q: %v, want %q", test.text, fault, test.fault)
			}
		case test.fault != "" || p.Key != test.key || string(p.Text) != test.want || p.At != "":
			t.Errorf("%q: %q of %q at %q, want %q of %q", test.text, p.Text, p.Key, p.At, test.want, test.key)
		}
	}
}

// TestFaults: with a fault comes what is known of the place: the text, and the key that lines and columns count in.
func TestFaults(t *testing.T) {
	for _, test := range []struct {
		text, key, at string
		want          Fault
	}{
		{"a: [\n", "", "a: [\n", Fault{Syntax, 1, 4, "did not find expected node content"}},
		{"a: {{ .x }}\n", "", "a: {{ .x }}\n", Fault{Template, 1, 4, "a template; render it first (helm template)"}},
		{"", "", "", Fault{Absent, 0, 0, "there is no table here, for there is nothing; [] is how an empty table is written"}},
		{"~\n", "", "~\n", Fault{Absent, 0, 0, "there is no table here, for there is nothing; [] is how an empty table is written"}},
		{"5", "", "5", Fault{Absent, 0, 0, "a number holds no table; " + Expected}}, {"true", "", "true", Fault{Absent, 0, 0, "a bool holds no table; " + Expected}}, {"1.5", "", "1.5", Fault{Absent, 0, 0, "a number holds no table; " + Expected}},
		{"a", "", "a", Fault{Absent, 0, 0, "a string holds no table; " + Expected}},
		{"kind: ConfigMap\ndata:\n  c: |\n    registries: {imageOverrides: []}\n    _cluster: {image-overrides: []}\n", "c", "registries: {imageOverrides: []}\n_cluster: {image-overrides: []}\n",
			Fault{Second, 2, 29, "a second table, _cluster.image-overrides; the first, registries.imageOverrides, is at line 1, column 30; keep one of them in the file"}},
		{"kind: ConfigMap\ndata:\n  values.yaml: |\n    a: [\n", "values.yaml", "a: [\n", Fault{Syntax, 1, 4, "did not find expected node content"}},
		{"kind: HelmRelease\nspec: {values: {}}\n---\nkind: HelmRelease\nspec: {a: b,\n  values: {}, values: {}}\n", "", "", Fault{Twice, 6, 15, "spec.values is set twice, first in line 6, column 3"}},
		{"kind: HelmRelease\nspec: {values: {registries: {imageOverrides: []}}}\n---\nkind: HelmRelease\nspec: {values: {_cluster: {image-overrides: []}}}\n", "", "",
			Fault{Second, 5, 45, "a second table, spec.values._cluster.image-overrides; the first, spec.values.registries.imageOverrides, is at line 2, column 46; keep one of them in the file"}},
		{"kind: Deployment\napiVersion: v1\nspec: {registrys: []}\n", "", "", Fault{Absent, 0, 0, "a manifest of kind Deployment holds no table; " + Expected}},
		{"kind: HelmRelease\nspec: {values: {imageoverrides: []}}\n", "", "", Fault{Absent, 0, 0, `a manifest of kind HelmRelease holds no table: there is no registries.imageOverrides here; line 2 has "imageoverrides"; [] is how an empty table is written`}},
		{"kind: HelmRelease\n---\nkind: Package\nspec: {imageoverrides: []}\n", "", "", Fault{Absent, 0, 0, `none of 2 manifests holds a table; line 4 has "imageoverrides"; ` + Expected}},
	} {
		if test.at == "" {
			test.at = test.text
		}
		p, fault := Find([]byte(test.text))
		if fault == nil {
			t.Errorf("%q: no fault, %q of %q", test.text, p.Text, p.Key)
			continue
		}
		if diff := cmp.Diff(test.want, *fault); diff != "" || string(p.Text) != test.at || p.Key != test.key {
			t.Errorf("%q: %q of %q\n%s", test.text, p.Text, p.Key, diff)
		}
	}
}
