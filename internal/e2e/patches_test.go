// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"testing/fstest"

	helmv2 "github.com/fluxcd/helm-controller/api/v2"
	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/cozystack/image-overrides/imageoverrides"
	"github.com/cozystack/image-overrides/imageoverrides/audit"
	"github.com/cozystack/image-overrides/imageoverrides/mirror"
	"github.com/cozystack/image-overrides/postrender"
)

// What the CRD of the custom resource looks like.
const thingCRD = `apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata:
  name: things.patches.example.org
spec:
  group: patches.example.org
  names: {kind: Thing, listKind: ThingList, plural: things, singular: thing}
  scope: Namespaced
  versions:
  - name: v1
    served: true
    storage: true
    schema: {openAPIV3Schema: {type: object, x-kubernetes-preserve-unknown-fields: true}}
`

// unreached has an image in each kind of place where Flux does not look, and one where it does.
const unreached = `apiVersion: apps/v1
kind: Deployment
metadata:
  name: NAME
spec:
  selector: {matchLabels: {app: NAME}}
  template:
    metadata:
      labels: {app: NAME}
      annotations: {example.org/sidecar-image: "quay.io/team/annotated:v1"}
    spec:
      containers:
      - name: main
        image: quay.io/team/app:v1
        args: [--web, --sidecar-image=quay.io/team/sidecar:v1]
        env:
        - {name: RELATED_IMAGE_JOB, value: "quay.io/team/job:v1"}
---
apiVersion: v1
kind: ConfigMap
metadata:
  name: NAME
data:
  pod.yaml: |
    # what the builder runs
    kind: Pod
    spec: {containers: [{name: build, image: "docker.io/library/busybox:1.36"}]}
  run.sh: |
    # a tool of its own
    IMAGE=quay.io/team/tool:v1
    docker run $IMAGE --all
---
apiVersion: patches.example.org/v1
kind: Thing
metadata:
  name: NAME
spec:
  image: {repository: quay.io/team/thing, tag: 1.20}
  sidecarImage: quay.io/team/sidecar:v2
  agent: {image: {registry: quay.io, repository: team/agent, tag: v3, pullPolicy: Always}}
`

// TestPatched: releases with the table and the patches run images of the mirror and no others, wherever these stand. A chart whose image changes
// under its patch fails, with a message that names the place, and the other releases go on.
func TestPatched(t *testing.T) {
	c := useCluster(t)
	namespace := c.namespace(t)
	place := mirror.Mirror{Host: "mirror.example.net", Repository: "os"}
	audited := func(table imageoverrides.Table, manifests string) *audit.Report {
		a := audit.New(table, audit.Options{Allowed: []string{place.String()}, Parts: true})
		if err := a.Add("app", strings.NewReader(manifests)); err != nil {
			t.Fatal(err)
		}
		return a.Report()
	}
	manifests := func(name string) string { return strings.ReplaceAll(unreached, "NAME", name) }
	table, left, err := place.Table(imageoverrides.Table{}, audited(imageoverrides.Table{}, manifests("x")).Images())
	if err != nil || left != nil {
		t.Fatal(err, left)
	}
	version := 0
	publish := func(name, manifests string) {
		version++
		c.publish(t, namespace, name, fstest.MapFS{
			"Chart.yaml":              {Data: fmt.Appendf(nil, "apiVersion: v2\nname: app\nversion: %d.0.0\n", version)},
			"crds/thing.yaml":         {Data: []byte(thingCRD)},
			"templates/manifest.yaml": {Data: []byte(manifests)},
		})
	}
	renderers := func(name string) []helmv2.PostRenderer {
		patches, unpatched := postrender.Patches(table, audited(table, manifests(name)).Places)
		if unpatched != nil || patches.Kustomize == nil {
			t.Fatalf("%+v", unpatched)
		}
		return postrender.Merge([]helmv2.PostRenderer{patches}, table)
	}
	// live are the images of a release's objects as the API server has them.
	live := func(name string) *audit.Report {
		var b bytes.Buffer
		for _, kind := range []schema.GroupVersionKind{{Group: "apps", Version: "v1", Kind: "Deployment"}, {Version: "v1", Kind: "ConfigMap"}, {Group: "patches.example.org", Version: "v1", Kind: "Thing"}} {
			o := new(unstructured.Unstructured)
			o.SetGroupVersionKind(kind)
			if err := c.client.Get(t.Context(), client.ObjectKey{Namespace: namespace, Name: name}, o); err != nil {
				t.Fatal(err)
			}
			o.SetManagedFields(nil)
			if err := json.NewEncoder(&b).Encode(o); err != nil {
				t.Fatal(err)
			}
		}
		return audited(table, b.String())
	}
	var releases []*helmv2.HelmRelease
	for i, name := range []string{"first", "second"} {
		publish(name, manifests(name))
		r := newRelease(namespace, name)
		r.Spec.ChartRef.Name = name
		if i == 0 {
			r.Spec.PostRenderers = renderers(name)
		}
		if err := c.client.Create(t.Context(), r); err != nil {
			t.Fatal(err)
		}
		c.awaitReady(t, r) // with the CRD, which the next does not need
		releases = append(releases, r)
	}
	images := []string{
		"mirror.example.net/os/docker.io/library/busybox:1.36", "mirror.example.net/os/quay.io/team/agent:v3", "mirror.example.net/os/quay.io/team/annotated:v1", "mirror.example.net/os/quay.io/team/app:v1",
		"mirror.example.net/os/quay.io/team/job:v1", "mirror.example.net/os/quay.io/team/sidecar:v1", "mirror.example.net/os/quay.io/team/sidecar:v2", "mirror.example.net/os/quay.io/team/thing:1.2", "mirror.example.net/os/quay.io/team/tool:v1",
	}
	if diff := cmp.Diff(images, live("first").Images()); diff != "" {
		t.Errorf("a release with patches (-want +got):\n%s", diff)
	}
	if outside := live("first").Summary.Outside; outside != 0 {
		t.Errorf("%d images from outside", outside)
	}
	// An upgrade with patches, of a release that has none.
	second := releases[1]
	c.edit(t, second, func(r *helmv2.HelmRelease) { r.Spec.PostRenderers = renderers("second") })
	c.awaitReady(t, second)
	if diff := cmp.Diff(images, live("second").Images()); diff != "" {
		t.Errorf("a release that gets patches (-want +got):\n%s", diff)
	}
	// The chart's next version has another image in an argument.
	publish("first-2", strings.Replace(manifests("first"), "team/sidecar:v1", "team/sidecar:v9", 1))
	first := releases[0]
	c.edit(t, first, func(r *helmv2.HelmRelease) { r.Spec.ChartRef.Name = "first-2" })
	c.awaitFailure(t, first, "testing value /spec/template/spec/containers/0/args/1 failed")
	if diff := cmp.Diff(images, live("first").Images()); diff != "" {
		t.Errorf("after the failure (-want +got):\n%s", diff)
	}
	c.edit(t, second, func(r *helmv2.HelmRelease) {
		r.Spec.CommonMetadata = &helmv2.CommonMetadata{Labels: map[string]string{"next": "true"}}
	})
	c.awaitReady(t, second)
	if n := revision(second); n != 3 {
		t.Errorf("the other release has revision %d, want 3", n)
	}
	// With patches of what the new version renders it goes on.
	c.edit(t, first, func(r *helmv2.HelmRelease) {
		next := audited(table, strings.Replace(manifests("first"), "team/sidecar:v1", "team/sidecar:v9", 1))
		patches, _ := postrender.Patches(table, next.Places)
		r.Spec.PostRenderers = postrender.Merge([]helmv2.PostRenderer{patches}, table)
		metav1.SetMetaDataAnnotation(&r.ObjectMeta, "reconcile.fluxcd.io/resetAt", "now")
	})
	c.awaitReady(t, first)
	if got := fmt.Sprint(live("first").Images()); !strings.Contains(got, "mirror.example.net/os/quay.io/team/sidecar:v9") || live("first").Summary.Outside != 0 {
		t.Errorf("with new patches: %s", got)
	}
}
