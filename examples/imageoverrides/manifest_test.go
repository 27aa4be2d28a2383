// SPDX-License-Identifier: Apache-2.0

package main

import (
	"encoding/json"
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
	yamljson "sigs.k8s.io/yaml"

	"github.com/cozystack/image-overrides/imageoverrides"
)

// deeper indents a text.
func deeper(text string, by int) string {
	margin := strings.Repeat(" ", by)
	return margin + strings.ReplaceAll(strings.TrimSuffix(text, "\n"), "\n", "\n"+margin) + "\n"
}

// Manifests whose values have the table one.
var (
	onePackage = "apiVersion: cozystack.io/v1alpha1\nkind: Package\nmetadata: {name: cozystack.cozystack-platform}\nspec:\n  variant: isp-full\n" +
		"  components:\n    first: {values: {}}\n    platform:\n      values:\n        publishing: {host: example.org}\n" + deeper(oneValues, 8) + "    # last\n    last: {}\n"
	oneRelease = "apiVersion: helm.toolkit.fluxcd.io/v2\nkind: HelmRelease\nmetadata: {name: r}\nspec:\n  values:\n" + deeper(oneValues, 4) + "  interval: 5m\n"
)

// A table is found where a manifest carries values.
func TestManifests(t *testing.T) {
	const fits = ": 1 entry, hash " + oneHash + "\n"
	const inPackage, inRelease = "spec.components.platform.values.registries.imageOverrides", "spec.values.registries.imageOverrides"
	const configMap = "apiVersion: v1\nkind: ConfigMap\ndata:\n"
	broken := func(text string) string { return strings.Replace(text, `"3.10"`, "3.10", 1) }
	const number = "[0].newTag must be a string, got float64; quote it\n"
	cluster := "apiVersion: v1\nkind: Secret\nmetadata: {name: other}\ndata: {password: aGk=, x: '%%%'}\n---\n" + secretText("data", base64Text(oneSecret))
	valuesText := "  values.yaml: |\n" + deeper(oneValues, 4)
	for _, c := range []struct{ why, in, out string }{
		{"a Package", onePackage, "f: " + inPackage + fits},
		{"a HelmRelease", oneRelease, "f: " + inRelease + fits},
		{"no line break at the end", strings.TrimSuffix(oneRelease[:strings.Index(oneRelease, "  interval")], "\n"), "f: " + inRelease + fits},
		{"CRLF and a byte order mark", "\uFEFF" + strings.ReplaceAll(onePackage, "\n", "\r\n"), "f: " + inPackage + fits},
		{"what the platform hands on", strings.Replace(oneRelease, deeper(oneValues, 4), deeper(oneSecret, 4), 1), "f: spec.values._cluster.image-overrides" + fits},
		{"in braces", "{apiVersion: v1, kind: HelmRelease, spec: {values: {registries: {imageOverrides: [{name: 'registry.k8s.io/pause', newTag: '3.10'}]}, a: ']}'}, b: c}}\n", "f: " + inRelease + fits},
		{"JSON", `{"apiVersion": "v1", "kind": "Package", "spec": {"components": {"platform": {"values": {"registries": {"imageOverrides": [{"name": "registry.k8s.io/pause", "newTag": "3.10"}]}}}, "x": {}}}}`, "f: " + inPackage + fits},
		{"a stream, with separators, comments and an end", "# c\n---\n" + service + "---\n" + oneRelease + "...\n---\n# empty\n---\n" + service, "f: " + inRelease + fits},
		{"a stream, the last", service + "---\n" + oneRelease, "f: " + inRelease + fits},
		{"the platform's Secret in a stream with another", cluster, "f: _cluster.image-overrides" + fits},
		{"a List", "apiVersion: v1\nkind: List\nitems:\n- kind: Pod\n- " + strings.TrimLeft(deeper(oneRelease, 2), " "), "f: items[1]." + inRelease + fits},
		{"values behind an alias, whose anchor has them", "apiVersion: v1\nkind: HelmRelease\nx: &v\n" + deeper(oneValues, 2) + "spec: {values: *v}\n", "f: " + inRelease + fits},
		{"a spec from a merge key", "apiVersion: v1\nkind: HelmRelease\nx: &x\n  values:\n" + deeper(oneValues, 4) + "spec:\n  <<: *x\n", "f: " + inRelease + fits},
		{"a table that is written as an anchor in the values", "kind: HelmRelease\nspec:\n  values:\n    x: &x [{name: registry.k8s.io/pause, newTag: '3.10'}]\n    registries: {imageOverrides: *x}\n", "f: " + inRelease + fits},
		{"a component whose name has dots", strings.Replace(onePackage, "platform:", "a.b:", 1), `f: spec.components["a.b"].values.registries.imageOverrides` + fits},
		{"a ConfigMap with values", configMap + valuesText, "f: registries.imageOverrides" + fits},
		{"a ConfigMap with values under another key, among others", configMap + "  a: b\n" + strings.Replace(valuesText, "values.yaml", "platform", 1) + "  b: 'registries: {}'\n", "f: registries.imageOverrides" + fits},
		{"a Secret with values under another key", "apiVersion: v1\nkind: Secret\ndata:\n  other: aGk=\n  my: " + base64Text(oneValues), "f: registries.imageOverrides" + fits},
		{"an explicit empty table", strings.Replace(oneRelease, oneRelease[strings.Index(oneRelease, "imageOverrides:"):], "imageOverrides: []\n", 1), "f: " + inRelease + ": the table is empty, hash " + emptyHash + "\n"},

		{"the path that is told is the whole one, and the place is the file's", broken(onePackage), "f:14:21: " + inPackage + number},
		{"in a stream", service + "--- # s\n" + broken(onePackage), "f:18:21: " + inPackage + number},
		{"in a List", "kind: List\nitems:\n- kind: Pod\n- " + strings.TrimLeft(deeper(broken(oneRelease), 2), " "), "f:12:19: items[1]." + inRelease + number},
		{"behind characters of many bytes", "{kind: HelmRelease, x: 'éé→', spec: {values: {registries: {imageOverrides: [{name: a, newTag: 5}]}}}}", "f:1:95: " + inRelease + number},
		{"a fault on the way", strings.Replace(oneRelease, "imageOverrides:", "imageOverrides: {a: b}\n    x:", 1), "f:7:23: " + inRelease + " must be a list, got map\n"},
		{"a warning has its place", strings.Replace(oneRelease, "registry.k8s.io/pause\n        newTag: \"3.10\"", "quay.io/a\n        newName: quay.io/a", 1),
			"f:9:18: warning: " + inRelease + "[0]: newName is the name itself, and nothing else is set; drop the entry (no-change)\nf: " + inRelease + ": 1 entry, hash 173d1dc1a334\n"},
		{"a text's place is that of its key", configMap + broken(valuesText), "f: values.yaml:4:13: registries.imageOverrides" + number},

		{"two tables", oneRelease + "---\n" + onePackage, "f:24:11: a second table, " + inPackage + "; the first, " + inRelease + ", is at line 8, column 7; keep one of them in the file\n"},
		{"two tables in one Package", strings.Replace(onePackage, "last: {}", "last: {values: {registries: {imageOverrides: []}}}", 1),
			"f:16:50: a second table, spec.components.last.values.registries.imageOverrides; the first, " + inPackage + ", is at line 13, column 11; keep one of them in the file\n"},
		{"two texts", configMap + valuesText + strings.Replace(valuesText, "values.yaml", "b", 1), "f:9:6: a second table, data.b; the first, data[\"values.yaml\"], is at line 4, column 16; keep one of them in the file\n"},
		{"two in one map of values", "registries: {imageOverrides: []}\n_cluster: {image-overrides: []}\n",
			"f:2:29: a second table, _cluster.image-overrides; the first, registries.imageOverrides, is at line 1, column 30; keep one of them in the file\n"},
		{"values twice", oneRelease + "  values: {}\n", "f:11:3: spec.values is set twice, first in line 5, column 3\n"},
		{"registries twice", strings.Replace(oneRelease, "    registries:", "    registries: {}\n    registries:", 1), "f:7:5: spec.values.registries is set twice, first in line 6, column 5; Helm reads the last one only\n"},
		{"an alias to what is outside", "kind: HelmRelease\nx: &x [{name: a, newTag: b}]\nspec: {values: {registries: {imageOverrides: *x}}}\n", "f:3:46: alias *x stands for what is not in the values; write it out\n"},
		{"a second document that is no manifest", oneRelease + "---\n" + oneValues, "f:12:1: a second document; the table must be in the only one\n"},

		{"another kind", service, "f: a manifest of kind Service holds no table; " + expected + "\n"},
		{"several others", service + "---\n" + pod, "f: none of 2 manifests holds a table; " + expected + "\n"},
		{"another kind with what looks like one", "apiVersion: kustomize.config.k8s.io/v1\nkind: Kustomization\nimages:\n- name: a\n  newTag: b\n",
			"f: a manifest of kind Kustomization holds no table; line 3 has \"images\" with entries; " + expected + "\n"},
		{"another kind with values", "apiVersion: argoproj.io/v1alpha1\nkind: Application\nspec:\n  source: {helm: {valuesObject: {registries: {imageOverrides: []}}}}\n",
			"f: a manifest of kind Application holds no table; line 4 has \"spec.source.helm.valuesObject.registries.imageOverrides\"; " + expected + "\n"},
		{"a HelmRelease without values", head, "f: a manifest of kind HelmRelease holds no table; " + expected + "\n"},
		{"a Package with a slip", strings.Replace(onePackage, "registries:", "registry:", 1),
			"f: a manifest of kind Package holds no table: there is no registries.imageOverrides here; line 11 has \"registry\", line 12 \"registry.imageOverrides\"; [] is how an empty table is written\n"},
		{"a ConfigMap with a slip", configMap + strings.Replace(valuesText, "imageOverrides", "imageoverrides", 1),
			"f: values.yaml: there is no registries.imageOverrides here; line 2 has \"imageoverrides\"; [] is how an empty table is written\n"},
		{"a ConfigMap with texts that are none", configMap + "  a: b\n  c: d\n", "f: a manifest of kind ConfigMap holds no table; " + expected + "\n"},
	} {
		status := 1
		if regexp.MustCompile(`hash \w+\n$`).MatchString(c.out) {
			status = 0
		}
		calls(t, []call{{why: c.why, files: map[string]string{"f": c.in}, args: "check f", stdout: c.out, status: status}})
	}
}

// genValues gives values with a table of one entry whose tag is the number 4711, and junk around it.
func genValues(t *rapid.T) map[string]any {
	junk := rapid.SampledFrom([]any{"a", "]}", "é: # 'x", "---\nx", "x\n---\n", 5, nil, []any{}, map[string]any{"imageOverride": "x"}, []any{map[string]any{"registries": "y"}}})
	values := rapid.MapOfN(rapid.SampledFrom([]string{"a", "zz", "b.c", "global"}), junk, 0, 3).Draw(t, "around")
	registries := rapid.MapOfN(rapid.SampledFrom([]string{"mirrors", "zz"}), junk, 0, 2).Draw(t, "beside")
	entries := []any{map[string]any{"name": "a/b", "newName": "c/d"}, map[string]any{"name": "e/f", "newTag": 4711}}
	registries["imageOverrides"] = entries[rapid.IntRange(0, 1).Draw(t, "from"):]
	values["registries"] = registries
	return values
}

// Wherever a manifest carries the values, in any notation and among any others, the fault that is told is the one of the values
// alone behind the path of the values, and its place is where the file has the number.
func TestManifestsLaw(t *testing.T) {
	place := regexp.MustCompile(`^f:(\d+):(\d+): (.*)$`)
	rapid.Check(t, func(t *rapid.T) {
		values := genValues(t)
		alone, err := json.Marshal(values)
		if err != nil {
			t.Fatal(err)
		}
		_, err = imageoverrides.ParseValuesText(alone)
		list := imageoverrides.Faults(err)
		if len(list) != 1 {
			t.Fatal(err)
		}
		object, path := map[string]any{"apiVersion": "v1", "kind": "HelmRelease", "spec": map[string]any{"values": values, "x": "y"}}, "spec.values."
		if rapid.Bool().Draw(t, "package") {
			components := map[string]any{"m": map[string]any{"values": values, "a": "b"}}
			for _, name := range rapid.SliceOfDistinct(rapid.SampledFrom([]string{"a", "z"}), rapid.ID).Draw(t, "components") {
				components[name] = map[string]any{"values": map[string]any{"image": map[string]any{"registry": "x"}}}
			}
			object, path = map[string]any{"apiVersion": "v1", "kind": "Package", "spec": map[string]any{"components": components}}, "spec.components.m.values."
		}
		if rapid.Bool().Draw(t, "list") {
			object, path = map[string]any{"kind": "List", "items": []any{map[string]any{"kind": "Pod"}, object, map[string]any{"kind": "Pod"}}}, "items[1]."+path
		}
		text, err := yamljson.Marshal(object)
		switch rapid.IntRange(0, 2).Draw(t, "notation") {
		case 0:
			text, err = json.Marshal(object)
		case 1:
			text, err = json.MarshalIndent(object, "", "\t")
		}
		if err != nil {
			t.Fatal(err)
		}
		other := rapid.SampledFrom([]string{"", service + "---\n", "# é\n---\nkind: Secret\ndata: {a: b}\n---\n"})
		after := rapid.SampledFrom([]string{"", "\n", "\n---\n" + service, "\n...\n", "\n# c\n"})
		file := other.Draw(t, "before") + string(text) + after.Draw(t, "after")
		if rapid.Bool().Draw(t, "crlf") {
			file = strings.ReplaceAll(file, "\n", "\r\n")
		}
		_, err = parse("f", []byte(file))
		found, ok := err.(faults)
		if !ok || len(found) != 1 || !place.MatchString(found[0]) {
			t.Fatalf("%v\n%s", err, file)
		}
		m := place.FindStringSubmatch(found[0])
		if want := path + list[0].Reason(); m[3] != want {
			t.Fatalf("got  %s\nwant %s\n%s", m[3], want, file)
		}
		line, _ := strconv.Atoi(m[1])
		column, _ := strconv.Atoi(m[2])
		if rest := string([]rune(strings.Split(file, "\n")[line-1])[column-1:]); !strings.HasPrefix(rest, "4711") {
			t.Fatalf("%s is at %q\n%s", found[0], rest, file)
		}
	})
}

// Values without the table are an error, and what may have been meant for it is told.
func TestAbsent(t *testing.T) {
	for _, c := range []struct{ why, in, near string }{
		{"nothing like it", "a: b\n", ""},
		{"the keys as one", "registries.imageOverrides:\n- {name: a}\n", `line 1 has "registries.imageOverrides"`},
		{"another case, and the singular", "# c\na: b\nregistry:\n  imageoverrides: []\n", `line 3 has "registry", line 4 "imageoverrides"`},
		{"case of the first", "Registries: {imageOverrides: []}\n", `line 1 has "Registries", line 1 "Registries.imageOverrides"`},
		{"at the top", "imageOverrides: []\n", `line 1 has "imageOverrides"`},
		{"not indented", "registries:\nimageOverrides: []\n", `line 2 has "imageOverrides"`},
		{"under another parent", "global:\n  registries:\n    imageOverrides: []\n", `line 3 has "global.registries.imageOverrides"`},
		{"under a list", "- x\nregistries: [{imageOverrides: []}]\n"[4:], ""},
		{"in the style of the Secret", "registries: {image-overrides: []}\n", `line 1 has "registries.image-overrides"`},
		{"underscores", "registries: {image_overrides: []}\n", `line 1 has "image_overrides"`},
		{"the singular", "registries: {imageOverride: []}\n", `line 1 has "imageOverride"`},
		{"a letter too few", "registries: {imageOverides: []}\n", `line 1 has "imageOverides"`},
		{"a letter too many", "registriess: {imageOverrides: []}\n", `line 1 has "registriess", line 1 "registriess.imageOverrides"`},
		{"a blank in it", "registries: {'imageOverrides ': []}\n", `line 1 has "imageOverrides "`},
		{"other words around", "registries: {extraImageOverridesList: []}\n", `line 1 has "extraImageOverridesList"`},
		{"without the second", "registries: {mirrors: {}}\n", `line 1 has "registries" without imageOverrides`},
		{"only null in the first", "registries:\n", `line 1 has "registries" without imageOverrides`},
		{"a table of kustomize's", "images:\n- name: a\n  newName: b\n", `line 1 has "images" with entries`},
		{"a registry of an image is none", "image: {registry: docker.io}\n", ""},
		{"what does not print", "registries: {\"image\\u001bOverrides\": []}\n", `line 1 has "image\x1bOverrides"`},
		{"many", "imageOverrides1: x\nimageOverrides2: x\nimageOverrides3: x\nimageOverrides4: x\nimageOverrides5: x\nimageOverrides6: x\nimageOverrides7: x\n",
			`line 1 has "imageOverrides1", line 2 "imageOverrides2", line 3 "imageOverrides3", line 4 "imageOverrides4", line 5 "imageOverrides5", and 2 more`},
	} {
		says := "f: there is no registries.imageOverrides here; " + c.near + "; [] is how an empty table is written\n"
		if c.near == "" {
			says = "f: there is no registries.imageOverrides here; [] is how an empty table is written\n"
		}
		if c.why == "under a list" {
			says = "f:1:13: registries must be a map, got slice\n"
		}
		calls(t, []call{
			{why: c.why, files: map[string]string{"f": c.in}, args: "check f", stdout: says, status: 1},
			{why: c.why + ", merge", files: map[string]string{"f": c.in, "a": oneRelease}, args: "merge -t f a", stderr: says, status: 1},
			{why: c.why + ", rewrite", files: map[string]string{"f": c.in, "a": pod}, args: "rewrite -t f -w a", stderr: says, status: 1},
		})
	}
	cluster := func(why, in, out string) call {
		c := call{why: why, files: map[string]string{"f": in}, args: "check f", stdout: "f: _cluster.image-overrides: the table is empty, hash " + emptyHash + "\n"}
		if out != "" {
			c.stdout, c.status = "f: "+out+"; [] is how an empty table is written\n", 1
		}
		return c
	}
	calls(t, []call{
		cluster("the platform writes no key for an empty table", "_cluster: {root-host: a, overrides: {registry: b}}\n", ""),
		cluster("other keys are not near", "_cluster: {}\nregistry: a\nimages: [{name: a, newTag: b}]\n", ""),
		cluster("the same in its Secret", secretText("stringData", "'_cluster: {root-host: a}'"), ""),
		cluster("the same in a stream", service+"---\n"+secretText("data", base64Text("_cluster: {}\n")), ""),
		cluster("but a slip is one", "_cluster:\n  image_overrides: []\n", `there is no _cluster.image-overrides here; line 2 has "image_overrides"`),
		cluster("a slip in a Secret", secretText("stringData", "'_cluster: {imageOverrides: []}'"), `values.yaml: there is no _cluster.image-overrides here; line 1 has "_cluster.imageOverrides"`),
		cluster("beside it", "_cluster: {}\nimage-overrides: []\n", `there is no _cluster.image-overrides here; line 2 has "image-overrides"`),
		cluster("a Secret of somebody else", secretText("stringData", "'a: b'"), `values.yaml: there is no _cluster.image-overrides here`),
	})
	nothing := "f: there is no table here, for there is nothing; [] is how an empty table is written\n"
	calls(t, []call{
		{why: "an empty file", files: map[string]string{"f": ""}, args: "check f", stdout: nothing, status: 1},
		{why: "only a comment", files: map[string]string{"f": "# nothing set\n---\n"}, args: "check f", stdout: nothing, status: 1},
		{why: "null", files: map[string]string{"f": "~\n"}, args: "check f", stdout: nothing, status: 1},
	})
	for _, empty := range []string{"[]", "[ ]\n", "--- []\n", "registries: {imageOverrides: []}", "registries:\n  imageOverrides:\n", "registries: {imageOverrides: null}", "registries: {imageOverrides: {}}"} {
		src, err := parse("f", []byte(empty))
		if err != nil || !src.Table.Known() || src.Table.Len() != 0 {
			t.Errorf("%q: %v", empty, err)
		}
	}
}

// One slip on the way to a table, of whatever sort, is never the empty table, and it is told.
func TestAbsentLaw(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		way := []string{"registries", "imageOverrides"}
		which := rapid.IntRange(0, 1).Draw(t, "which")
		word := way[which]
		at := rapid.IntRange(0, len(word)-1).Draw(t, "at")
		slip := rapid.SampledFrom([]string{word[:at] + word[at+1:], word[:at] + "x" + word[at:], word[:at] + "_" + word[at+1:], strings.ToUpper(word), word[:at] + " " + word[at:]}).Draw(t, "slip")
		if slip == word {
			t.Skip()
		}
		way[which] = slip
		values := map[string]any{"a": 1, way[0]: map[string]any{way[1]: []any{map[string]any{"name": "a", "newTag": "b"}}}}
		text, err := yamljson.Marshal(values)
		if err != nil {
			t.Fatal(err)
		}
		_, err = parse("f", text)
		if err == nil || !strings.Contains(err.Error(), "there is no registries.imageOverrides here") || !strings.Contains(err.Error(), strconv.Quote(slip)) {
			t.Fatalf("%v\n%s", err, text)
		}
	})
}

// Behind the chart's text it is said what to do where that leads astray.
func TestAdvice(t *testing.T) {
	got := make(map[string]string)
	for _, value := range []string{"null", "~", "", "1.20", "true", "{a: b}", "[a]"} {
		_, err := parse("f", []byte("- name: a\n  newTag: "+value+"\n"))
		_, after, _ := strings.Cut(err.Error(), "got ")
		got[value] = after
	}
	want := map[string]string{"1.20": "float64; quote it", "true": "bool; quote it"}
	for _, value := range []string{"null", "~", ""} {
		want[value] = "invalid; quote it (it is null: leave the field out instead)"
	}
	want["{a: b}"] = "map; quote it (not as it stands: a text is expected here, no map and no list)"
	want["[a]"] = "slice; quote it (not as it stands: a text is expected here, no map and no list)"
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	_, err := parse("f", []byte("- {name: , newTag: b}\n"))
	if want := "f:1:10: overrides[0].name must be a string, got invalid; quote it (it is null: write the image's name)"; err == nil || err.Error() != want {
		t.Errorf("%v\nwant %s", err, want)
	}
}

// Every fault is told, up to a number.
func TestManyFaults(t *testing.T) {
	var b strings.Builder
	var want []string
	for i := range maxFaults + 5 {
		fmt.Fprintf(&b, "- %d\n", i)
		want = append(want, fmt.Sprintf("<stdin>:%d:3: overrides[%d] must be a map\n", i+1, i))
	}
	calls(t, []call{{why: "too many", args: "check -", stdin: b.String(), status: 1, stdout: strings.Join(want[:maxFaults], "") + "and 5 more\n"}})
}
