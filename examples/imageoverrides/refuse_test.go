// SPDX-License-Identifier: Apache-2.0

package main

import (
	"strings"
	"testing"

	"github.com/cozystack/image-overrides/postrender"
)

const (
	mac          = "sops:\n  lastmodified: \"2025-06-01T12:00:00Z\"\n  mac: ENC[AES256_GCM,data:x,type:str]\n"
	signedAt     = ": signed by SOPS, and would change: its MAC would not fit any more; decrypt it, change it, and encrypt it again\n"
	oneAdded     = "table b2ddc34e3209 added\n"
	chartRelease = head + "spec:\n  chart: c\n"
)

// oneRenderer is the post-renderer of the table one, in a list that is indented by two.
const oneRenderer = "  postRenderers:\n  - kustomize:\n      images:\n      - name: image-overrides.invalid/table\n        newTag: b2ddc34e3209\n" +
	"      - name: registry.k8s.io/pause\n        newTag: \"3.10\"\n"

// A document that would change, and that SOPS has signed, is an error.
func TestSigned(t *testing.T) {
	const onlyEncrypted = mac + "  mac_only_encrypted: true\n"
	item := func(text string) string { return "- " + strings.TrimLeft(deeper(text, 2), " ") }
	list := func(text, end string) string { return "kind: List\nitems:\n- kind: Pod\n" + item(text) + end }
	type pair struct{ why, in, at, name string } // at is of the signature, "" for none
	for _, c := range []pair{
		{"a Pod", pod + mac, "7:1", "Pod a"},
		{"another notation", strings.Replace(pod, "kind", "sops: {mac: x}\nkind", 1), "2:1", "Pod a"},
		{"the MAC need not cover it", pod + onlyEncrypted, "", ""},
		{"but that is a boolean", pod + mac + "  mac_only_encrypted: \"true\"\n", "7:1", "Pod a"},
		{"or false", pod + mac + "  mac_only_encrypted: false\n", "7:1", "Pod a"},
		{"a map that is called so", pod + "sops: {a: b}\n", "", ""},
		{"no MAC yet", pod + "sops: {mac: }\n", "", ""},
		{"a text that is called so", pod + "sops: mac\n", "", ""},
		{"an annotation", strings.Replace(pod, "{name: a}", "{name: a, annotations: {sops: {mac: x}}}", 1), "", ""},
		{"an item of a List", list(pod+mac, "- kind: Pod\n"), "10:3", "Pod a"},
		{"a List", list(pod, mac), "10:1", "Pod a"},
		{"another item of the List", list(pod, item(service+mac)), "", ""},
		{"a List in a List", "kind: List\nitems:\n" + item(list(pod+mac, "")), "12:5", "Pod a"},
		{"JSON", `{"kind": "Pod", "spec": {"containers": [{"image": "registry.k8s.io/pause:3.9"}]}, "sops": {"mac": "x"}}`, "1:83", "Pod"},
	} {
		after := strings.ReplaceAll(c.in, "pause:3.9", "pause:3.10")
		var stdout, stderr strings.Builder
		t.Chdir(t.TempDir())
		write(t, "t", one)
		write(t, "f", c.in)
		status := run([]string{"rewrite", "-t", "t", "f"}, nil, &stdout, &stderr)
		if c.at == "" {
			same(t, c.why, stdout.String(), after)
			continue
		}
		same(t, c.why, stdout.String(), "")
		same(t, c.why, stderr.String(), "f:"+c.at+": "+c.name+signedAt)
		if status != 1 {
			t.Errorf("%s: status %d", c.why, status)
		}
		if status := run([]string{"rewrite", "-t", "t", "-w", "f"}, nil, &stdout, &stderr); status != 1 {
			t.Errorf("%s: -w: status %d", c.why, status)
		}
		same(t, c.why, read(t, "f"), c.in)
	}
	files := func(text string) map[string]string { return map[string]string{"t": one, "f": text} }
	calls(t, []call{
		{why: "rewrite: nothing that would change", files: files(service + mac + "---\n" + pod), args: "rewrite -t t f", stdout: service + mac + "---\n" + podAfter,
			stderr: "f:13:12: Pod a spec.containers[0].image: registry.k8s.io/pause:3.9 -> registry.k8s.io/pause:3.10\n2 documents, 1 image changed\n"},
		{why: "rewrite: the document before is written", files: files(pod + "---\n" + pod + mac), args: "rewrite -t t f", status: 1, stdout: podAfter, stderr: "f" + podChange + "f:14:1: Pod a" + signedAt},
		{why: "merge: a release", files: files(chartRelease + mac), args: "merge -t t f", status: 1, stderr: "f:6:1: HelmRelease n/r" + signedAt},
		{why: "merge: only what is encrypted", files: files(chartRelease + onlyEncrypted), args: "merge -t t f", stdout: chartRelease + oneRenderer + onlyEncrypted,
			stderr: "f:1:1: HelmRelease n/r: " + oneAdded + "1 document, 1 release, 1 changed\n"},
		{why: "merge: a release that has the table", files: files(chartRelease + oneRenderer + mac), args: "merge -t t f", stdout: chartRelease + oneRenderer + mac,
			stderr: "1 document, 1 release, 0 changed\n"},
		{why: "merge: a patch", files: files(head + mac), args: "merge -t t f", stdout: head + mac, stderr: "f:1:1: HelmRelease n/r: " + leftAlone + "\n1 document, 1 release, 0 changed, 1 left alone\n"},
		{why: "merge: an item of a List", files: files(list(chartRelease+mac, "")), args: "merge -t t f", status: 1, stderr: "f:9:3: HelmRelease n/r" + signedAt},
		{why: "merge: a List", files: files(list(chartRelease, mac)), args: "merge -t t f", status: 1, stderr: "f:9:1: HelmRelease n/r" + signedAt},
		{why: "merge: another item", files: files(list(chartRelease, item(service+mac))), args: "merge -t t f",
			stdout: list(chartRelease+oneRenderer, item(service+mac)), stderr: "f:4:3: HelmRelease n/r: " + oneAdded + "1 document, 1 release, 1 changed\n"},
	})
}

// What is a patch of a release keeps every byte, and is told.
func TestPatches(t *testing.T) {
	for _, c := range []struct {
		why, spec string
		patch     bool
	}{
		{"values only", "spec: {values: {a: b}}\n", true},
		{"nothing", "", true},
		{"an empty spec", "spec: {}\n", true},
		{"null", "spec:\n", true},
		{"own post-renderers", "spec:\n  postRenderers:\n  - kustomize: {patches: []}\n", true},
		{"an older table", "spec:\n  postRenderers:\n  - kustomize: {images: [{name: image-overrides.invalid/table, newTag: a}]}\n", true},
		{"post-renderers that are none", "spec: {postRenderers: 5}\n", true},
		{"a chart that is taken away", "spec: {chart: null, values: {}}\n", true},
		{"another version of the chart", "spec:\n  chart:\n    spec:\n      version: 1.2.x\n", true},
		{"a chart in the values", "spec:\n  values: {chart: a, chartRef: b}\n", true},
		{"a chart", "spec:\n  chart: {spec: {chart: a, sourceRef: {kind: HelmRepository, name: b}}}\n", false},
		{"a chart somewhere else", "spec:\n  chartRef: {kind: OCIRepository, name: a}\n", false},
		{"both, of which one is null", "spec:\n  chart:\n  chartRef: {kind: OCIRepository, name: a}\n", false},
		{"a chart by way of an alias", "x: &a {spec: {chart: b}}\nspec:\n  chart: *a\n", false},
		{"a chart by way of a merge key", "x: &a {chart: b}\nspec:\n  <<: *a\n  interval: 5m\n", false},
	} {
		in := "# overlay\n" + head + c.spec
		out, says := in, "f:2:1: HelmRelease n/r: "+leftAlone+"\n1 document, 1 release, 0 changed, 1 left alone\n"
		if !c.patch {
			out, says = in+oneRenderer, "f:2:1: HelmRelease n/r: "+oneAdded+"1 document, 1 release, 1 changed\n"
		}
		calls(t, []call{{why: c.why, files: map[string]string{"t": one, "f": in}, args: "merge -t t f", stdout: out, stderr: says}})
	}
	calls(t, []call{
		{why: "beside its base", files: map[string]string{"t": one, "base": chartRelease, "overlay": head + "spec: {values: {}}\n"}, args: "merge -t t base overlay",
			stdout: chartRelease + oneRenderer + "---\n" + head + "spec: {values: {}}\n",
			stderr: "base:1:1: HelmRelease n/r: " + oneAdded + "overlay:1:1: HelmRelease n/r: " + leftAlone + "\n2 documents, 2 releases, 1 changed, 1 left alone\n"},
		{why: "an empty table takes nothing out of a patch", files: map[string]string{"t": "[]", "f": head + "spec:\n" + oneRenderer}, args: "merge -t t f", stdout: head + "spec:\n" + oneRenderer,
			stderr: "t: overrides: the table is empty, hash " + emptyHash + "\nf:1:1: HelmRelease n/r: " + leftAlone + "\n1 document, 1 release, 0 changed, 1 left alone\n"},
	})
}

// HelmReleases that merge does not reach are told, with where they are.
func TestUnreached(t *testing.T) {
	const nested = "{apiVersion: helm.toolkit.fluxcd.io/v2, kind: HelmRelease, metadata: {name: r}, spec: {chart: c}}"
	const asText = "apiVersion: helm.toolkit.fluxcd.io/v2\nkind: HelmRelease\nmetadata: {name: r}\n"
	for _, c := range []struct {
		why, in string
		says    []string
	}{
		{"a ResourceSet", "kind: ResourceSet\nmetadata: {name: x, namespace: y}\nspec:\n  resources:\n  - " + nested + "\n  - kind: Pod\n  - " + nested + "\n",
			[]string{"5:5: a HelmRelease inside ResourceSet y/x at spec.resources[0]", "7:5: a HelmRelease inside ResourceSet y/x at spec.resources[2]"}},
		{"in a List", "kind: List\nitems:\n- kind: Pod\n- {kind: ResourceSet, metadata: {name: x}, spec: {resources: [" + nested + "]}}\n", []string{"4:63: a HelmRelease inside ResourceSet x at spec.resources[0]"}},
		{"a key with dots", "kind: A\nspec: {\"a.b\": " + nested + "}\n", []string{`2:15: a HelmRelease inside A at spec["a.b"]`}},
		{"items of what is no list", "kind: A\nitems: [" + nested + "]\n", []string{"2:9: a HelmRelease inside A at items[0]"}},
		{"the values of a release", head + "spec:\n  values: {extra: [" + nested + "]}\n", []string{"1:1: HelmRelease n/r: " + leftAlone, "5:20: a HelmRelease inside HelmRelease n/r at spec.values.extra[0]"}},
		{"a document that is a list", "- " + nested + "\n", []string{"1:3: a HelmRelease inside object at [0]"}},
		{"a text of a ConfigMap", "kind: ConfigMap\nmetadata: {name: x}\ndata:\n  a.yaml: |\n" + deeper(asText, 4), []string{`4:11: a HelmRelease in a text of ConfigMap x at data["a.yaml"]`}},
		{"a text of JSON", "kind: ConfigMap\ndata: {a: '{\"apiVersion\": \"helm.toolkit.fluxcd.io/v2\", \"kind\": \"HelmRelease\"}'}\n", []string{"2:11: a HelmRelease in a text of ConfigMap at data.a"}},
		{"a template of a ResourceSet", "kind: ResourceSet\nspec:\n  resourcesTemplate: |\n    << range $i >>\n" + deeper(asText, 4), []string{"3:22: a HelmRelease in a text of ResourceSet at spec.resourcesTemplate"}},
		{"a patch of a Kustomization", "kind: Kustomization\nspec:\n  patches:\n  - target: {kind: HelmRelease, name: r}\n    patch: |\n" + deeper(asText, 6), []string{"5:12: a HelmRelease in a text of Kustomization at spec.patches[0].patch"}},
		{"another API's", "apiVersion: helm.fluxcd.io/v1\nkind: HelmRelease\nmetadata: {name: r}\n", []string{"1:1: HelmRelease r of helm.fluxcd.io/v1, and not of helm.toolkit.fluxcd.io/v2"}},
		{"what names a release", "kind: Kustomization\nspec:\n  healthChecks: [{apiVersion: helm.toolkit.fluxcd.io/v2, kind: HelmRelease, name: r, namespace: n}]\n", nil},
		{"an owner", "kind: Pod\nmetadata:\n  ownerReferences: [{apiVersion: helm.toolkit.fluxcd.io/v2, kind: HelmRelease, name: r, uid: x}]\n", nil},
		{"the definition", "kind: CustomResourceDefinition\nspec: {names: {kind: HelmRelease}, group: helm.toolkit.fluxcd.io, x: " + nested + "}\n", nil},
		{"what kubectl applied", "kind: A\nmetadata:\n  annotations:\n    kubectl.kubernetes.io/last-applied-configuration: |\n      {\"apiVersion\":\"helm.toolkit.fluxcd.io/v2\",\"kind\":\"HelmRelease\"}\n", nil},
		{"an alias to a release is that release", "x: &r " + nested + "\nkind: A\ny: *r\n", []string{"1:4: a HelmRelease inside A at x"}},
		{"words", "kind: ConfigMap\ndata: {a: a HelmRelease of helm.toolkit.fluxcd.io/v2}\n", nil},
	} {
		var says string
		n, left := 0, 0
		for _, line := range c.says {
			if strings.HasSuffix(line, leftAlone) {
				left++
				says += "f:" + line + "\n"
				continue
			}
			n++
			says += "f:" + line + ": not reached\n"
		}
		m := postrender.Result{Documents: 1, Unreached: n, Patches: left}
		calls(t, []call{{why: c.why, files: map[string]string{"t": one, "f": c.in}, args: "merge -t t f", stdout: c.in, stderr: says + totals(m) + "\n"}})
	}
}
