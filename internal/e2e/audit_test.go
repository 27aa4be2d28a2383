// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"
	"testing/fstest"
	"time"

	helmv2 "github.com/fluxcd/helm-controller/api/v2"
	"github.com/fluxcd/pkg/apis/meta"
	apimeta "k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/cozystack/image-overrides/imageoverrides"
	"github.com/cozystack/image-overrides/imageoverrides/audit"
	"github.com/cozystack/image-overrides/postrender"
)

const (
	settings = "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: settings\n"
	others   = "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: others\n"
)

// manifestChart is a chart that renders to a manifest as it is.
func manifestChart(name, manifest string) fstest.MapFS {
	return fstest.MapFS{
		"Chart.yaml":              {Data: []byte("apiVersion: v2\nname: " + name + "\nversion: 1.0.0\n")},
		"manifest.yaml":           {Data: []byte(manifest)},
		"templates/manifest.yaml": {Data: []byte(`{{ .Files.Get "manifest.yaml" }}`)},
	}
}

// errorRules are the rules of severity error that the audit tells of a manifest.
func errorRules(t testing.TB, table imageoverrides.Table, manifest string) (rules []audit.RiskRule) {
	t.Helper()
	a := audit.New(table, audit.Options{})
	if err := a.Add("app", strings.NewReader(manifest)); err != nil {
		t.Fatal(err)
	}
	for _, r := range a.Report().Risks {
		if r.Severity == audit.SeverityError {
			rules = append(rules, r.Rule)
		}
	}
	return rules
}

// What the audit says that Flux refuses, Flux refuses: one of each rule, but for an alias (see TestAlias) and a table (see TestLintErrors).
// Helm refuses some before kustomize sees them, and some are accepted without a table.
func TestRefusals(t *testing.T) {
	const (
		helm      = "error merging manifests: "
		kustomize = "error while running post render on files: "
	)
	cases := []struct {
		rule        audit.RiskRule
		manifest    string
		by, message string
		free        bool // accepted without a table
	}{
		{audit.RiskSyntax, settings + "x: [\n", helm, "did not find expected node content", false},
		{audit.RiskTemplate, settings + "x: {{ .Values.x }}\n", kustomize, `invalid map key: map[string]interface {}{".Values.x":""}`, false},
		{audit.RiskTemplate, "{{ if .Values.x }}\n" + settings + "{{ end }}\n", kustomize, "missing kind in object", false},
		{audit.RiskMerge, settings + "x: {<<: text}\n", kustomize, "map merge requires", false},
		{audit.RiskDirective, "%YAML 1.1\n---\n" + settings, helm, "did not find expected <document start>", false},
		{audit.RiskDirective, others + "---\n%YAML 1.1\n---\n" + settings, helm, "did not find expected <document start>", false},
		{audit.RiskSeparator, settings + "--- text\n", helm, "expected MappingNode but got ScalarNode", false},
		{audit.RiskNoObject, settings + "---\ntext\n", helm, "expected MappingNode but got ScalarNode", false},
		{audit.RiskNoObject, settings + "---\n[a]\n", helm, "expected MappingNode but got SequenceNode", false},
		{audit.RiskNoObject, settings + "---\na: b\n", kustomize, "missing kind in object", false},
		{audit.RiskNoKind, settings + "---\napiVersion: v1\nmetadata: {name: a}\n", kustomize, "missing kind in object", false},
		{audit.RiskNoName, "apiVersion: v1\nkind: ConfigMap\nmetadata: {}\n", kustomize, "missing metadata.name", false},
		{audit.RiskTwice, settings + "---\n" + settings, kustomize, "already registered id", false},
		{audit.RiskKeyTwice, settings + "data: {a: b, a: c}\n", kustomize, "already defined", false},
		{audit.RiskKey, settings + "data: {9000: x}\n", kustomize, "unsupported type: map[interface {}]interface {}", false},
		{audit.RiskKey, "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: settings, annotations: {'1': b}}\n", kustomize, "unsupported type: map[interface {}]interface {}", true},
		{audit.RiskNumber, settings + "x: .inf\n", kustomize, "unsupported value", false},
		{audit.RiskContainers, settings + "x:\n  containers: [a]\n", kustomize, "expected MappingNode but got ScalarNode", true},
		{audit.RiskImage, settings + "x:\n  containers: [{image: {repository: a}}]\n", kustomize, "expected ScalarNode but got MappingNode", true},
		{audit.RiskTemplated, settings + "spec: text\n", kustomize, "expected sequence or mapping node", true},
		{audit.RiskMetadata, "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: settings, annotations: [a]}\n", helm, "expected MappingNode but got SequenceNode", false},
		{audit.RiskMetadata, "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: settings, annotations: [{a: b}]}\n", helm, "expected MappingNode but got SequenceNode", false},
		{audit.RiskItems, "apiVersion: example.org/v1\nkind: ThingList\nmetadata: {name: l}\nitems: text\n", kustomize, "expected array", false},
	}
	c := useCluster(t)
	namespace := c.namespace(t)
	table := newTable(t, imageoverrides.Override{Name: "registry.example.org/another", NewTag: "2.0.0"})
	with, without := make([]*helmv2.HelmRelease, len(cases)), make([]*helmv2.HelmRelease, len(cases))
	for i, tc := range cases {
		chart := fmt.Sprintf("refused-%d", i)
		manifest := strings.ReplaceAll(tc.manifest, "settings", chart) // two releases cannot have one object
		if rules := errorRules(t, table, manifest); !slices.Contains(rules, tc.rule) {
			t.Errorf("the audit tells %v, not %s, of\n%s", rules, tc.rule, manifest)
		}
		c.publish(t, namespace, chart, manifestChart(chart, manifest))
		create := func(name string, table imageoverrides.Table) *helmv2.HelmRelease {
			r := newRelease(namespace, name)
			r.Spec.ChartRef.Name = chart
			r.Spec.PostRenderers = postrender.Merge(nil, table)
			r.Spec.Install.ServerSideApply = new(bool) // the API server drops fields that it does not know
			if err := c.client.Create(t.Context(), r); err != nil {
				t.Fatal(err)
			}
			return r
		}
		with[i], without[i] = create(chart+"-with", table), create(chart+"-without", imageoverrides.Table{})
	}
	for i, tc := range cases {
		says := func(r *helmv2.HelmRelease, text string) {
			t.Helper()
			c.eventually(t, fmt.Sprintf("%s, %s, says %q", r.Name, tc.rule, text), timeout, func() error {
				if err := c.client.Get(t.Context(), client.ObjectKeyFromObject(r), r); err != nil {
					return err
				}
				ready := apimeta.FindStatusCondition(r.Status.Conditions, meta.ReadyCondition)
				if ready == nil || ready.Status != metav1.ConditionFalse || !strings.Contains(ready.Message, text) {
					return fmt.Errorf("%+v", ready)
				}
				return nil
			})
		}
		says(with[i], tc.by)
		if message := apimeta.FindStatusCondition(with[i].Status.Conditions, meta.ReadyCondition).Message; !strings.Contains(message, tc.message) {
			t.Errorf("%s: %s", tc.rule, message)
		}
		if tc.free {
			c.awaitReady(t, without[i])
		} else {
			says(without[i], tc.by)
		}
	}
}

// The errors that Lint finds in a table are no refusals of Flux: it makes the release ready, with an image that no node can pull, or
// with the chart's where the name is never found. What is worse than that is in TestPanic.
func TestLintErrors(t *testing.T) {
	const name = "registry.example.org/team/app"
	cases := []struct {
		rule     imageoverrides.Rule
		override imageoverrides.Override
		image    string
	}{
		{imageoverrides.RuleNewTag, imageoverrides.Override{Name: name, NewTag: "v/2"}, name + ":v/2"},
		{imageoverrides.RuleNewName, imageoverrides.Override{Name: name, NewName: "https://mirror.example.net/os/app"}, "https://mirror.example.net/os/app:1.0.0"},
		{imageoverrides.RuleNewNameHost, imageoverrides.Override{Name: name, NewName: "mirror.example.net:99999/os/app"}, "mirror.example.net:99999/os/app:1.0.0"},
		{imageoverrides.RuleNewNameCarry, imageoverrides.Override{Name: name, NewName: "mirror.example.net/os/app:v2"}, "mirror.example.net/os/app:v2:1.0.0"},
		{imageoverrides.RuleIPv6, imageoverrides.Override{Name: "[::1]:5000/team/app", NewTag: "2.0.0"}, chartImage},
		{imageoverrides.RuleNoReference, imageoverrides.Override{Name: "registry.example.org/(.*)/app", NewTag: "2.0.0"}, name + ":2.0.0"},
	}
	c, namespace := useApp(t)
	releases := c.createReleases(t, namespace, len(cases), func(i int, r *helmv2.HelmRelease) {
		table := newTable(t, cases[i].override)
		if findings := table.Lint(); len(findings) == 0 || findings[0].Rule != cases[i].rule || findings[0].Severity != imageoverrides.SeverityError {
			t.Errorf("%s: Lint finds %v", cases[i].rule, findings)
		}
		if rules := errorRules(t, table, settings); !slices.Equal(rules, []audit.RiskRule{audit.RiskTable}) {
			t.Errorf("%s: the audit tells %v", cases[i].rule, rules)
		}
		r.Spec.PostRenderers = postrender.Merge(nil, table)
	})
	for i, tc := range cases {
		equalImages(t, string(tc.rule), c.images(t, releases[i]), chartImages(tc.image, chartInitImage))
	}
}

// Flux runs kustomize on every release, and dies of an alias that stands for a value around itself. This is a helm-controller of its own;
// another would die of the release each time that it is started.
func TestAlias(t *testing.T) {
	t.Parallel()
	c := useCluster(t)
	const manifest = settings + "x: &a [*a]\n"
	if rules := errorRules(t, newTable(t), manifest); !slices.Equal(rules, []audit.RiskRule{audit.RiskAlias}) {
		t.Errorf("the audit tells %v", rules)
	}
	namespace := c.namespace(t)
	c.publish(t, namespace, "app", manifestChart("app", manifest))
	f := c.startShard(t, namespace)
	r := newRelease(namespace, "app")
	r.Labels = map[string]string{shard: namespace}
	if err := c.client.Create(t.Context(), r); err != nil {
		t.Fatal(err)
	}
	select {
	case <-f.done:
	case <-time.After(timeout):
		t.Fatal("helm-controller lives")
	}
	log, err := os.ReadFile(f.log)
	if err != nil {
		t.Fatal(err)
	}
	for _, text := range []string{"fatal error: stack overflow", "sigs.k8s.io/kustomize/kyaml/yaml"} {
		if !strings.Contains(string(log), text) {
			t.Errorf("helm-controller ended with %v and without %q:\n%s", f.err, text, f.tail(20, ""))
		}
	}
}
