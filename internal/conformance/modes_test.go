// SPDX-License-Identifier: Apache-2.0

package conformance

import (
	"bufio"
	"encoding/json"
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	loader3 "helm.sh/helm/v3/pkg/chart/loader"
	util3 "helm.sh/helm/v3/pkg/chartutil"
	engine3 "helm.sh/helm/v3/pkg/engine"
	common4 "helm.sh/helm/v4/pkg/chart/common"
	util4 "helm.sh/helm/v4/pkg/chart/common/util"
	"helm.sh/helm/v4/pkg/chart/loader/archive"
	loader4 "helm.sh/helm/v4/pkg/chart/v2/loader"
	engine4 "helm.sh/helm/v4/pkg/engine"
	"sigs.k8s.io/yaml"

	"github.com/cozystack/image-overrides/imageoverrides"
)

// everything calls all that the library chart has.
var everything = lines(
	`{{ include "image-overrides.strict" . }}`,
	`{{ include "image-overrides.table" . }}`,
	`{{ include "image-overrides.postRenderers" . }}`,
	`{{ include "image-overrides.postRenderers" (list . (list (dict "kustomize" (dict "images" (list (dict "name" "a" "newTag" "x"))))))}}`,
	`{{ include "image-overrides.hash" . }}`,
)

// TestModes renders as "helm lint" does, where fail does not stop the engine, and as "helm lint
// --strict" does, where a key that is not there does. Neither may stop in the middle.
func TestModes(t *testing.T) {
	files := filesOf(t, library, everything)
	var list3 []*loader3.BufferedFile
	var list4 []*archive.BufferedFile
	for name, text := range files {
		list3 = append(list3, &loader3.BufferedFile{Name: name, Data: []byte(text)})
		list4 = append(list4, &archive.BufferedFile{Name: name, Data: []byte(text)})
	}
	chart3, err := loader3.LoadFiles(list3)
	if err != nil {
		t.Fatal(err)
	}
	chart4, err := loader4.LoadFiles(list4)
	if err != nil {
		t.Fatal(err)
	}
	render := func(values map[string]any, lint, strict bool) {
		t.Helper()
		v3, err := util3.ToRenderValues(chart3, values, util3.ReleaseOptions{}, nil)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := (engine3.Engine{LintMode: lint, Strict: strict}).Render(chart3, v3); err != nil {
			t.Errorf("Helm 3: %v\n%v", values, err)
		}
		v4, err := util4.ToRenderValues(chart4, values, common4.ReleaseOptions{}, nil)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := (engine4.Engine{LintMode: lint, Strict: strict}).RenderWithContext(t.Context(), chart4, v4); err != nil {
			t.Errorf("Helm 4: %v\n%v", values, err)
		}
	}
	f, err := os.Open(rules)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	for s := bufio.NewScanner(f); s.Scan(); {
		var fact struct{ Values string }
		if err := json.Unmarshal(s.Bytes(), &fact); err != nil {
			t.Fatal(err)
		}
		var values map[string]any
		if err := yaml.Unmarshal([]byte(fact.Values), &values); err != nil {
			t.Fatal(err)
		}
		render(values, true, false)
		if registries, ok := values["registries"].(map[string]any); ok {
			render(map[string]any{"_cluster": map[string]any{"image-overrides": registries["imageOverrides"]}}, true, false)
		}
	}
	for _, text := range []string{
		"registries: {}\n_cluster: {}\n",
		"registries: {imageOverrides: [{name: a, newTag: x}]}\n_cluster: {image-overrides: [{name: a, newTag: x}, {name: b, newName: c}]}\n",
		"registries: {imageOverrides: [{name: a, newTag: x}]}\n_cluster: {image-overrides: [{name: a, newTag: x}]}\n",
	} {
		var values map[string]any
		if err := yaml.Unmarshal([]byte(text), &values); err != nil {
			t.Fatal(err)
		}
		render(values, false, true)
	}
}

// TestLimit is about the size of a table, to the byte.
func TestLimit(t *testing.T) {
	strict := newSuite(t, library).strict
	const limit = 1 << 20
	for size := limit - 1; size <= limit+1; size++ {
		o := imageoverrides.Override{Name: "a", NewName: "b/"}
		o.NewName += strings.Repeat("c", size-len(encode(t, must(imageoverrides.New(o)))))
		values := values(t, must(imageoverrides.New(o)))
		table := must(imageoverrides.ParseValues(values))
		if len(encode(t, table)) != size {
			t.Fatalf("%d bytes", len(encode(t, table)))
		}
		want := first(table.Strict())
		tells := strings.Contains(want, fmt.Sprintf("takes %d bytes", size))
		if tells != (size > limit) {
			t.Fatalf("Strict of %d bytes: %.100s", size, want)
		}
		for i, got := range strict.run(each(values)) {
			if shortened(got.message) != shortened(want) {
				t.Errorf("%s, %d bytes: %.200s, want %.200s", helms[i].name, size, got.message, want)
			}
		}
	}
}

// TestRenderers has post-renderers that Merge's types do not have, and the ways in which
// image-overrides.postRenderers is called.
func TestRenderers(t *testing.T) {
	const (
		cluster = `_cluster: {image-overrides: [{name: a, newTag: x}]}` + "\n"
		table   = `{"kustomize":{"images":[{"name":"image-overrides.invalid/table","newTag":"498777e6e938"},{"name":"a","newTag":"x"}]}}`
	)
	for _, test := range []struct{ why, call, values, want, message string }{
		{why: "the root", call: `.`, values: cluster, want: table},
		{why: "the root in a list", call: `(list .)`, values: cluster, want: table},
		{why: "no own ones", call: `(list . .Values.own)`, values: cluster, want: table},
		{why: "null", call: `(list . .Values.own)`, values: cluster + "own: null\n", want: table},
		{why: "none", call: `(list . .Values.own)`, values: cluster + "own: []\n", want: table},
		{why: "a context of one's own", call: `(dict "Values" (dict "_cluster" .Values._cluster))`, values: cluster, want: table},
		{why: "no table, none of one's own", call: `.`, values: "_cluster: {}\n"},
		{why: "an empty table", call: `.`, values: "_cluster: {image-overrides: {}}\n"},
		{why: "a text", call: `(list . .Values.own)`, values: cluster + "own: x\n", message: "postRenderers must be a list, got string"},
		{why: "a map", call: `(list . .Values.own)`, values: cluster + "own: {kustomize: {}}\n", message: "postRenderers must be a list, got map"},
		{why: "fields that Flux does not know", call: `(list . .Values.own)`, values: cluster + `own: [{kustomize: {images: [{name: b, tagSuffix: c}], patchesJson6902: [1]}, other: {x: [1.5, ~]}}, {}, x, ~, {kustomize: ~}, {kustomize: {images: {}}}]`,
			want: `{"kustomize":{"images":[{"name":"b","tagSuffix":"c"}],"patchesJson6902":[1]},"other":{"x":[1.5,null]}},{},"x",null,{"kustomize":null},{"kustomize":{"images":{}}},` + table},
		{why: "a name that is no text", call: `(list . .Values.own)`, values: cluster + `own: [{kustomize: {images: [{name: 5}, ~]}}]`, want: `{"kustomize":{"images":[{"name":5},null]}},` + table},
		{why: "a marked one with a field that Flux does not know", call: `(list . .Values.own)`, values: cluster + `own: [{kustomize: {images: [{name: image-overrides.invalid/table}], patches: [], x: 1}}]`, want: `{"kustomize":{"x":1}},` + table},
		{why: "the table without a mark, with empty fields", call: `(list . .Values.own)`, values: cluster + `own: [{kustomize: {images: [{name: a, newName: "", newTag: x}], patches: []}}]`, want: table},
		{why: "the table without a mark, with another field", call: `(list . .Values.own)`, values: cluster + `own: [{kustomize: {images: [{name: a, newTag: x, tagSuffix: z}]}}]`, want: `{"kustomize":{"images":[{"name":"a","newTag":"x","tagSuffix":"z"}]}},` + table},
		{why: "a patch in lines", call: `(list . .Values.own)`, values: "_cluster: {}\nown: [{kustomize: {patches: [{patch: \"a: b\\nc: |\\n  d\\n\"}]}}]", want: `{"kustomize":{"patches":[{"patch":"a: b\nc: |\n  d\n"}]}}`},
	} {
		t.Run(test.why, func(t *testing.T) {
			var values map[string]any
			if err := yaml.Unmarshal([]byte(test.values), &values); err != nil {
				t.Fatal(err)
			}
			p := try(t, library, `{{ include "image-overrides.postRenderers" `+test.call+` }}`)
			for i, got := range p.run(each(values)) {
				if got.err != nil || got.message != test.message {
					t.Errorf("%s: %v%s", helms[i].name, got.err, got.message)
				}
				if diff := cmp.Diff(list(t, "["+test.want+"]"), list(t, got.text)); diff != "" || (got.text == "") != (test.want == "") {
					t.Errorf("%s (-want +got):\n%s\n%s", helms[i].name, diff, got.text)
				}
			}
		})
	}
}
