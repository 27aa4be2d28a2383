// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	helmv2 "github.com/fluxcd/helm-controller/api/v2"
	"github.com/fluxcd/pkg/apis/meta"
	apimeta "k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/cozystack/image-overrides/imageoverrides"
	"github.com/cozystack/image-overrides/imageoverrides/audit"
	"github.com/cozystack/image-overrides/postrender"
)

// What the audit says that Flux refuses, Flux refuses: one of each rule that gets through Helm, which reads manifests before kustomize does.
func TestRefusals(t *testing.T) {
	const settings = "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: settings\n"
	cases := []struct {
		rule     audit.RiskRule
		manifest string
		message  string
	}{
		{audit.RiskContainers, settings + "x:\n  containers: [a]\n", "expected MappingNode but got ScalarNode"},
		{audit.RiskImage, settings + "x:\n  containers: [{image: {repository: a}}]\n", "expected ScalarNode but got MappingNode"},
		{audit.RiskTemplated, settings + "spec: text\n", "expected sequence or mapping node"},
		{audit.RiskKey, settings + "data: {9000: x}\n", "unsupported type: map[interface {}]interface {}"},
		{audit.RiskKeyTwice, settings + "data: {a: b, a: c}\n", "already"},
		{audit.RiskNumber, settings + "x: .inf\n", "unsupported value"},
		{audit.RiskNoName, "apiVersion: v1\nkind: ConfigMap\nmetadata: {}\n", "missing metadata.name"},
		{audit.RiskTwice, settings + "---\n" + settings, "already registered id"},
		{audit.RiskItems, "apiVersion: example.org/v1\nkind: ThingList\nmetadata: {name: l}\nitems: text\n", "expected array"},
		{audit.RiskMerge, settings + "x: {<<: text}\n", "map merge requires"},
	}
	c := useCluster(t)
	namespace := c.namespace(t)
	table := newTable(t, imageoverrides.Override{Name: "registry.example.org/another", NewTag: "2.0.0"})
	releases := make([]*helmv2.HelmRelease, len(cases))
	for i, tc := range cases {
		a := audit.New(table, audit.Options{})
		if err := a.Add("app", strings.NewReader(tc.manifest)); err != nil {
			t.Fatal(err)
		}
		if !slices.ContainsFunc(a.Report().Risks, func(r audit.Risk) bool { return r.Rule == tc.rule && r.Severity == audit.SeverityError }) {
			t.Errorf("the audit does not tell %s: %+v", tc.rule, a.Report().Risks)
		}
		name := "refused-" + string(tc.rule)
		c.publish(t, namespace, name, fstest.MapFS{
			"Chart.yaml":              {Data: []byte("apiVersion: v2\nname: " + name + "\nversion: 1.0.0\n")},
			"templates/manifest.yaml": {Data: []byte(tc.manifest)},
		})
		r := newRelease(namespace, name)
		r.Spec.ChartRef.Name = name
		r.Spec.PostRenderers = postrender.Merge(nil, table)
		if err := c.client.Create(t.Context(), r); err != nil {
			t.Fatal(err)
		}
		releases[i] = r
	}
	for i, tc := range cases {
		r := releases[i]
		c.eventually(t, r.Name+" fails", timeout, func() error {
			if err := c.client.Get(t.Context(), client.ObjectKeyFromObject(r), r); err != nil {
				return err
			}
			ready := apimeta.FindStatusCondition(r.Status.Conditions, meta.ReadyCondition)
			if ready == nil || ready.Status != metav1.ConditionFalse || !strings.Contains(ready.Message, tc.message) {
				return fmt.Errorf("%+v", ready)
			}
			t.Logf("%s: %s", tc.rule, ready.Message)
			return nil
		})
	}
}
