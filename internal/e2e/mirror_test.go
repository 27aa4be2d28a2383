// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"bytes"
	"fmt"
	"os"
	"strings"
	"testing"

	helmv2 "github.com/fluxcd/helm-controller/api/v2"
	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/envtest"

	"github.com/cozystack/image-overrides/imageoverrides"
	"github.com/cozystack/image-overrides/imageoverrides/audit"
	"github.com/cozystack/image-overrides/imageoverrides/mirror"
	"github.com/cozystack/image-overrides/postrender"
)

var mirrored = mirror.Mirror{Host: "mirror.example.net", Repository: "os"}

// audited is the report of a manifest, with all that patches are made of.
func audited(t testing.TB, table imageoverrides.Table, manifest string) *audit.Report {
	t.Helper()
	a := audit.New(table, audit.Options{Allowed: []string{mirrored.String()}, Parts: true})
	if err := a.Add("app", strings.NewReader(manifest)); err != nil {
		t.Fatal(err)
	}
	report := a.Report()
	if len(report.Risks) > 0 {
		t.Errorf("risks: %+v", report.Risks)
	}
	return report
}

// behind returns the post-renderers that run a manifest's images out of the mirror: patches and the table.
func behind(t testing.TB, manifest string) []helmv2.PostRenderer {
	t.Helper()
	table, left, err := mirrored.Table(newTable(t), audited(t, newTable(t), manifest).Images())
	if err != nil || len(left) > 0 {
		t.Fatalf("left out: %v, %v", left, err)
	}
	patches, unpatched := postrender.Patches(table, audited(t, table, manifest).Places)
	if len(unpatched) > 0 {
		t.Fatalf("not patched: %+v", unpatched)
	}
	return postrender.Merge([]helmv2.PostRenderer{patches}, table)
}

// live returns the objects that the API server has of a release of testdata/mirror.
func (c *cluster) live(t testing.TB, r *helmv2.HelmRelease) map[string]*unstructured.Unstructured {
	t.Helper()
	objects := make(map[string]*unstructured.Unstructured)
	for _, kind := range []schema.GroupVersionKind{
		{Group: "apps", Version: "v1", Kind: "Deployment"}, {Group: "batch", Version: "v1", Kind: "CronJob"}, {Version: "v1", Kind: "ConfigMap"},
		{Group: "databases.spotahome.com", Version: "v1", Kind: "RedisFailover"}, {Group: "operator.victoriametrics.com", Version: "v1beta1", Kind: "VMSingle"},
		{Group: "nvidia.com", Version: "v1", Kind: "ClusterPolicy"},
	} {
		o := new(unstructured.Unstructured)
		o.SetGroupVersionKind(kind)
		key := client.ObjectKey{Namespace: r.Namespace, Name: r.Name}
		if kind.Kind == "ClusterPolicy" {
			key.Namespace = ""
		}
		if err := c.client.Get(t.Context(), key, o); err != nil {
			t.Fatal(err)
		}
		o.SetManagedFields(nil)
		objects[kind.Kind] = o
	}
	return objects
}

// With the table of a mirror and the patches for what Flux does not reach, a release runs images of the mirror only. When its chart has
// another image under a patch, the release fails, says where, and stays as it was; others go on, and so does it with new patches.
func TestMirror(t *testing.T) {
	c := useCluster(t)
	if _, err := envtest.InstallCRDs(c.config, envtest.CRDInstallOptions{Paths: []string{"testdata/mirror/crds.yaml"}, ErrorIfPathMissing: true, MaxTime: timeout}); err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile("testdata/mirror/manifest.yaml")
	if err != nil {
		t.Fatal(err)
	}
	reasons := make(map[audit.Reason]int)
	for _, p := range audited(t, newTable(t), string(text)).Places {
		if p.Status == audit.Unreached {
			reasons[p.Reason]++
		}
	}
	if diff := cmp.Diff(map[audit.Reason]int{
		audit.ReasonArgument: 2, audit.ReasonEnvironment: 1, audit.ReasonConfigMap: 1, audit.ReasonText: 1,
		audit.ReasonCustomResource: 1, audit.ReasonParts: 2, audit.ReasonAnnotation: 1, audit.ReasonVolume: 1,
	}, reasons); diff != "" {
		t.Errorf("images that Flux does not reach (-want +got):\n%s", diff)
	}
	namespace := c.namespace(t)
	// Each has a chart of its own, named as the release, as ClusterPolicies have no namespace.
	names := []string{namespace + "-0", namespace + "-1"}
	manifests := make([]string, len(names))
	for i, name := range names {
		manifests[i] = string(bytes.ReplaceAll(text, []byte("RELEASE"), []byte(name)))
		c.publish(t, namespace, name, manifestChart(name, manifests[i]))
	}
	releases := make([]*helmv2.HelmRelease, len(names))
	for i, name := range names {
		releases[i] = newRelease(namespace, name)
		releases[i].Spec.ChartRef.Name = name
		releases[i].Spec.PostRenderers = behind(t, manifests[i])
		if err := c.client.Create(t.Context(), releases[i]); err != nil {
			t.Fatal(err)
		}
	}
	c.awaitReady(t, releases...)

	// images returns what the audit finds in the objects of a release, by place.
	images := func(r *helmv2.HelmRelease) map[string]string {
		t.Helper()
		found := make(map[string]string)
		for kind, o := range c.live(t, r) {
			object, err := o.MarshalJSON()
			if err != nil {
				t.Fatal(err)
			}
			if all, moved := bytes.Count(object, []byte("quay.io/")), bytes.Count(object, []byte("mirror.example.net/os/quay.io/")); all != moved {
				t.Errorf("%s: %d of %d images are the mirror's: %s", kind, moved, all, object)
			}
			for _, p := range audited(t, newTable(t), string(object)).Places {
				if p.Outside {
					t.Errorf("%s %s: %s is not the mirror's", kind, p.Path, p.Image)
				}
				image := p.Image
				if p.Whole != "" {
					image = p.Whole
				}
				found[kind+" "+p.Path] = image
			}
		}
		return found
	}
	want := func(agent string) map[string]string {
		const team = "mirror.example.net/os/quay.io/team/"
		return map[string]string{
			"Deployment spec.template.spec.initContainers[0].image":                      team + "init:1.0.0",
			"Deployment spec.template.spec.containers[0].image":                          team + "app:1.0.0",
			"Deployment spec.template.spec.containers[0].args[0]":                        team + "proxy:1.2.0",
			"Deployment spec.template.spec.containers[0].args[2]":                        team + "reloader:0.1.0",
			"Deployment spec.template.spec.containers[0].env[1].value":                   team + agent,
			`Deployment spec.template.metadata.annotations["example.org/sidecar-image"]`: team + "proxy:1.2.0",
			"CronJob spec.jobTemplate.spec.template.spec.containers[0].image":            team + "app:1.0.0",
			"CronJob spec.jobTemplate.spec.template.spec.volumes[0].image.reference":     team + "files:1.0.0",
			"ConfigMap data.agent-image":                                                 team + agent,
			`ConfigMap data["config.yaml"]`:                                              team + "proxy:1.2.0",
			"RedisFailover spec.redis.image":                                             team + "redis:6.2.6",
			"VMSingle spec.image.repository":                                             team + "metrics:v1.100.0",
			"ClusterPolicy spec.driver.image":                                            team + "driver:1.20",
		}
	}
	same := func(what string, r *helmv2.HelmRelease, want map[string]string) {
		t.Helper()
		if diff := cmp.Diff(want, images(r)); diff != "" {
			t.Errorf("%s: the images of %s (-want +got):\n%s", what, r.Name, diff)
		}
	}
	for _, r := range releases {
		same("installed", r, want("agent:1.2.0"))
		// Nothing but the image changes in a text.
		config, _, err := unstructured.NestedString(c.live(t, r)["ConfigMap"].Object, "data", "config.yaml")
		if text := "sidecar:\n  image: mirror.example.net/os/quay.io/team/proxy:1.2.0 # beside each Pod\n  port: 8080\n"; err != nil || config != text {
			t.Errorf("%s has config.yaml %q, %v", r.Name, config, err)
		}
	}
	// The charts change: under a patch, and where the table reaches.
	manifests[0] = strings.ReplaceAll(manifests[0], "quay.io/team/agent:1.2.0", "quay.io/team/agent:1.3.0")
	manifests[1] = strings.ReplaceAll(manifests[1], "quay.io/team/app:1.0.0", "quay.io/team/app:1.1.0")
	for i, name := range names {
		c.republish(t, namespace, name, manifestChart(name, manifests[i]))
	}
	failed, other := releases[0], releases[1]
	c.awaitFailure(t, failed, "testing value /spec/template/spec/containers/0/env/1/value failed")
	c.eventually(t, "the other release is upgraded", timeout, func() error {
		if err := c.client.Get(t.Context(), client.ObjectKeyFromObject(other), other); err != nil {
			return err
		}
		if revision(other) != 2 {
			return fmt.Errorf("revision %d", revision(other))
		}
		return ready(other)
	})
	same("with the patches of another chart", failed, want("agent:1.2.0"))
	upgraded := want("agent:1.2.0")
	for place, image := range upgraded {
		upgraded[place] = strings.ReplaceAll(image, "app:1.0.0", "app:1.1.0")
	}
	same("upgraded", other, upgraded)

	c.edit(t, failed, func(r *helmv2.HelmRelease) { r.Spec.PostRenderers = behind(t, manifests[0]) })
	c.awaitReady(t, failed)
	same("with patches made anew", failed, want("agent:1.3.0"))
}
