// SPDX-License-Identifier: Apache-2.0

package audit_test

import (
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"go.yaml.in/yaml/v3"

	"github.com/cozystack/image-overrides/imageoverrides"
	"github.com/cozystack/image-overrides/imageoverrides/audit"
)

// TestPublic: of the images that were found by hand in manifests of public repositories nine of ten are told, and none of the texts that only look
// like one is told as unreached, and at most a quarter as suspected. The manifests are put together of the facts: each text at its path, and
// texts of one scalar as YAML, images under the key that they have.
func TestPublic(t *testing.T) {
	type file struct{ repo, path, kind, name string }
	objects := make(map[file]map[string]any)
	groups := map[string]string{
		"Plan": "upgrade.cattle.io/v1", "HelmRelease": "helm.toolkit.fluxcd.io/v2", "Application": "argoproj.io/v1alpha1", "ConfigMap": "v1", "Pod": "v1", "Deployment": "apps/v1", "DaemonSet": "apps/v1",
	}
	rows := tsv(t, "unreached-public.tsv")[1:]
	shared := make(map[string]int) // texts of one scalar
	for _, row := range rows {
		shared[row[4]+" "+row[5]]++
	}
	for _, row := range rows {
		f := file{row[0], row[2], row[3], row[4]}
		if objects[f] == nil {
			objects[f] = map[string]any{"apiVersion": groups[f.kind], "kind": f.kind, "metadata": map[string]any{"name": f.name}}
		}
		paths, texts := strings.Split(row[5], " + "), strings.Split(row[6], " + ")
		if n := shared[f.name+" "+row[5]]; n > 1 || len(paths) < len(texts) {
			text := "- key: '" + row[6] + "'"
			if len(texts) > 1 {
				text = `- {"hub": "` + texts[0] + `", "image": "` + texts[len(texts)/2] + `", "tag": "` + texts[len(texts)-1] + `"}`
			} else if row[7] != "trap" {
				text = "- image: '" + row[6] + "'"
			}
			put(objects[f], row[5], text)
			continue
		}
		for i, path := range paths {
			put(objects[f], path, texts[min(i, len(texts)-1)])
		}
	}
	a := audit.New(imageoverrides.Table{}, audit.Options{})
	for f, o := range objects {
		text, err := yaml.Marshal(o)
		if err != nil {
			t.Fatal(err)
		}
		if err := a.Add(f.repo+" "+f.path, strings.NewReader("---\n"+string(text))); err != nil {
			t.Fatal(err)
		}
	}
	told := make(map[string]audit.Status)
	for _, p := range a.Report().Places {
		for _, text := range []string{p.Image, p.Whole} {
			if key := strings.Join([]string{p.Source, p.Kind, p.Name, p.Path, text}, " "); told[key] != audit.Unreached {
				told[key] = p.Status
			}
		}
	}
	var labels, found, traps, suspected int
	for _, row := range rows {
		var status audit.Status
		for _, path := range strings.Split(row[5], " + ") {
			for _, text := range strings.Split(row[6], " + ") {
				if s := told[strings.Join([]string{row[0] + " " + row[2], row[3], row[4], path, text}, " ")]; s != "" && status != audit.Unreached {
					status = s
				}
			}
		}
		if row[7] != "trap" {
			if labels++; status != "" {
				found++
			} else {
				t.Logf("not found: %v", row[2:])
			}
			continue
		}
		switch traps++; status {
		case audit.Unreached:
			t.Errorf("a trap: %v", row[2:])
		case audit.Suspected:
			suspected++
			t.Logf("suspected: %v", row[2:])
		}
	}
	t.Logf("%d of %d images found; %d of %d traps suspected", found, labels, suspected, traps)
	if 10*found < 9*labels || 4*suspected > traps {
		t.Errorf("%d of %d images found; %d of %d traps suspected", found, labels, suspected, traps)
	}
}

var steps = regexp.MustCompile(`\["([^"]+)"\]|\[(\d+)\]|([^.\[\]]+)`)

// put puts a text at a path of an object, or behind the one that stands there.
func put(o map[string]any, path, text string) {
	var at any = o
	set := func(any) {}
	for _, m := range steps.FindAllStringSubmatch(path, -1) {
		if m[2] != "" {
			i, _ := strconv.Atoi(m[2])
			list, _ := at.([]any)
			for len(list) <= i {
				list = append(list, nil)
			}
			set(list)
			at, set = list[i], func(v any) { list[i] = v }
			continue
		}
		key := m[1] + m[3]
		fields, ok := at.(map[string]any)
		if !ok {
			fields = make(map[string]any)
			set(fields)
		}
		at, set = fields[key], func(v any) { fields[key] = v }
	}
	if before, ok := at.(string); ok {
		if lines := strings.Split(before, "\n"); !slices.Contains(lines, text) {
			set(before + "\n" + text)
		}
		return
	}
	set(text)
}
