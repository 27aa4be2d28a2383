// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"fmt"
	"maps"
	"os"
	"testing"

	helmv2 "github.com/fluxcd/helm-controller/api/v2"
	"github.com/fluxcd/pkg/apis/kustomize"
	"github.com/fluxcd/pkg/apis/meta"
	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	apimeta "k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/cozystack/image-overrides/imageoverrides"
	"github.com/cozystack/image-overrides/postrender"
)

// What the chart app has, and what becomes of it.
const (
	digest = "sha256:f80b60d4523dcdecb225c3113bcbd0eedc45b4d2b46f87c0ccf4f14d09a4a35f"

	chartImage = "registry.example.org/team/app:1.0.0"
	newImage   = "mirror.example.net/os/app:2.0.0@" + digest

	chartInitImage = "registry.example.org/team/init:1.0.0"
	newInitImage   = "mirror.example.net/os/init:1.0.0"
)

var overrides = []imageoverrides.Override{
	{Name: "registry.example.org/team/app", NewName: "mirror.example.net/os/app", NewTag: "2.0.0", Digest: digest},
	{Name: "registry.example.org/team/init", NewName: "mirror.example.net/os/init"},
}

func newTable(t testing.TB, overrides ...imageoverrides.Override) imageoverrides.Table {
	t.Helper()
	table, err := imageoverrides.New(overrides...)
	if err != nil {
		t.Fatal(err)
	}
	return table
}

// chartImages returns what images returns for the chart app with these images.
func chartImages(image, initImage string) map[string]string {
	images := map[string]string{}
	for _, workload := range []string{"deployment", "statefulset", "daemonset", "job", "cronjob", "hook"} {
		images[workload+"/init"] = initImage
		images[workload+"/main"] = image
	}
	images["deployment/files"] = image
	images["deployment/main/args"] = "--image=" + chartImage
	images["deployment/main/IMAGE"] = chartImage
	return images
}

func equalImages(t testing.TB, what string, got, want map[string]string) {
	t.Helper()
	if diff := cmp.Diff(want, got, cmpopts.EquateEmpty()); diff != "" {
		t.Errorf("%s: the images (-want +got):\n%s", what, diff)
	}
}

// useApp returns a namespace where the chart app is published.
func useApp(t *testing.T) (*cluster, string) {
	t.Helper()
	c := useCluster(t)
	namespace := c.namespace(t)
	c.publish(t, namespace, "app", os.DirFS("testdata/app"))
	return c, namespace
}

// A table reaches the releases that are installed with it, and those that get it later; each is
// upgraded once.
func TestTable(t *testing.T) {
	c, namespace := useApp(t)
	table := newTable(t, overrides...)
	releases := c.createReleases(t, namespace, 2, func(i int, r *helmv2.HelmRelease) {
		if i == 1 {
			r.Spec.PostRenderers = postrender.Merge(nil, table)
		}
	})
	late, early := releases[0], releases[1]
	equalImages(t, "without a table", c.images(t, late), chartImages(chartImage, chartInitImage))
	equalImages(t, "installed with the table", c.images(t, early), chartImages(newImage, newInitImage))

	merge := func(r *helmv2.HelmRelease) { r.Spec.PostRenderers = postrender.Merge(r.Spec.PostRenderers, table) }
	c.edit(t, late, merge)
	c.awaitReady(t, late)
	equalImages(t, "upgraded to the table", c.images(t, late), chartImages(newImage, newInitImage))
	if revision(late) != 2 {
		t.Errorf("the table has upgraded the release %d times, want once", revision(late)-1)
	}

	generation := late.Generation
	c.edit(t, late, merge)
	if late.Generation != generation {
		t.Error("a second Merge has changed the release")
	}

	c.edit(t, late, func(r *helmv2.HelmRelease) {
		r.Spec.PostRenderers = postrender.Merge(r.Spec.PostRenderers, newTable(t))
	})
	c.awaitReady(t, late)
	equalImages(t, "the table is empty", c.images(t, late), chartImages(chartImage, chartInitImage))
}

// From Flux 2.8 on, hooks are rewritten too, unless the release says otherwise.
func TestHooks(t *testing.T) {
	c, namespace := useApp(t)
	strategies := []struct {
		strategy  helmv2.PostRenderStrategy
		rewritten bool
	}{
		{"", true},
		{helmv2.PostRenderStrategyCombined, true},
		{helmv2.PostRenderStrategySeparate, true},
		{helmv2.PostRenderStrategyNoHooks, false},
	}
	releases := c.createReleases(t, namespace, len(strategies), func(i int, r *helmv2.HelmRelease) {
		r.Spec.PostRenderStrategy = strategies[i].strategy
		r.Spec.PostRenderers = postrender.Merge(nil, newTable(t, overrides...))
	})
	for i, s := range strategies {
		want := chartImages(newImage, newInitImage)
		if !s.rewritten {
			want["hook/main"], want["hook/init"] = chartImage, chartInitImage
		}
		equalImages(t, fmt.Sprintf("strategy %q", s.strategy), c.images(t, releases[i]), want)
	}
}

// The marker is an entry without an effect, with and without the table behind it.
func TestMarker(t *testing.T) {
	c, namespace := useApp(t)
	releases := c.createReleases(t, namespace, 1, func(_ int, r *helmv2.HelmRelease) {
		r.Spec.PostRenderers = postrender.Merge(nil, newTable(t, overrides...))
		r.Spec.PostRenderers[0].Kustomize.Images = r.Spec.PostRenderers[0].Kustomize.Images[:1]
		if name := r.Spec.PostRenderers[0].Kustomize.Images[0].Name; name != postrender.Marker {
			t.Fatalf("the first entry is named %s", name)
		}
	})
	equalImages(t, "marker", c.images(t, releases[0]), chartImages(chartImage, chartInitImage))
}

// sidecarPatch is a patch that gives the chart's DaemonSet one more container.
var sidecarPatch = kustomize.Patch{Patch: `
apiVersion: apps/v1
kind: DaemonSet
metadata:
  name: any
spec:
  template:
    spec:
      containers:
      - name: sidecar
        image: registry.example.org/team/init:3.0.0
`, Target: &kustomize.Selector{Kind: "DaemonSet"}}

// A release's own post-renderers work before the table's, which sees the images that they leave.
func TestOwnPostRenderers(t *testing.T) {
	c, namespace := useApp(t)
	// This one makes the release use an image that the table has an entry for.
	own := kustomize.Image{Name: "registry.example.org/team/init", NewName: "registry.example.org/team/app"}

	patched := chartImages(newImage, newInitImage)
	patched["daemonset/sidecar"] = "mirror.example.net/os/init:3.0.0"
	renamed := chartImages(newImage, newImage)
	both := maps.Clone(renamed)
	both["daemonset/sidecar"] = newImage // its images come after its patches

	cases := []struct {
		name string
		own  []helmv2.PostRenderer
		want map[string]string
	}{
		{"patches", []helmv2.PostRenderer{
			{Kustomize: &helmv2.Kustomize{Patches: []kustomize.Patch{sidecarPatch}}},
		}, patched},
		{"images", []helmv2.PostRenderer{
			{Kustomize: &helmv2.Kustomize{Images: []kustomize.Image{own}}},
		}, renamed},
		{"both in one", []helmv2.PostRenderer{
			{Kustomize: &helmv2.Kustomize{Patches: []kustomize.Patch{sidecarPatch}, Images: []kustomize.Image{own}}},
		}, both},
		{"patches, then images", []helmv2.PostRenderer{
			{Kustomize: &helmv2.Kustomize{Patches: []kustomize.Patch{sidecarPatch}}},
			{Kustomize: &helmv2.Kustomize{Images: []kustomize.Image{own}}},
		}, both},
	}
	table := newTable(t, overrides...)
	releases := c.createReleases(t, namespace, len(cases), func(i int, r *helmv2.HelmRelease) {
		r.Spec.PostRenderers = postrender.Merge(cases[i].own, table)
	})
	for i, tc := range cases {
		equalImages(t, tc.name, c.images(t, releases[i]), tc.want)
	}
}

// The evidence for the rule of Strict that a name must be a reference: Flux takes a name for a
// regular expression and panics when it is none. The panic is recovered, and the release
// looks as if all were well, for ever.
func TestPanic(t *testing.T) {
	bad := newTable(t, imageoverrides.Override{Name: "[", NewTag: "2.0.0"})
	if bad.Strict() == nil {
		t.Error("Strict accepts the name [")
	}

	c, namespace := useApp(t)
	// Merge does not refuse it: who writes the table is to be strict.
	merge := func(table imageoverrides.Table) func(*helmv2.HelmRelease) {
		return func(r *helmv2.HelmRelease) { r.Spec.PostRenderers = postrender.Merge(r.Spec.PostRenderers, table) }
	}
	panics := func() float64 {
		n, err := metric(c.flux.metrics, "controller_runtime_reconcile_panics_total", `controller="helmrelease"`)
		if err != nil {
			t.Fatal(err)
		}
		return n
	}
	// awaitPanics waits for n panics in all, and skips the test if Flux does anything else with the
	// release.
	awaitPanics := func(t *testing.T, r *helmv2.HelmRelease, n float64) {
		had := revision(r)
		c.eventually(t, "helm-controller panics", timeout, func() error {
			if err := c.client.Get(t.Context(), client.ObjectKeyFromObject(r), r); err != nil {
				return err
			}
			ready := apimeta.FindStatusCondition(r.Status.Conditions, meta.ReadyCondition)
			if revision(r) != had || ready != nil && ready.Status == metav1.ConditionFalse {
				t.Skipf("this version of Flux does not panic; the release has revision %d and says %+v", revision(r), ready)
			}
			if got := panics(); got < n {
				return fmt.Errorf("%v panics, want %v", got, n)
			}
			return nil
		})
	}
	mended := func(t *testing.T, r *helmv2.HelmRelease) {
		c.edit(t, r, merge(newTable(t, overrides...)))
		c.awaitReady(t, r)
		equalImages(t, "mended", c.images(t, r), chartImages(newImage, newInitImage))
	}

	// One panic, after which Flux takes what it has not done for done.
	t.Run("upgrade", func(t *testing.T) {
		r := c.createReleases(t, namespace, 1, nil)[0]
		before := panics()
		c.edit(t, r, merge(bad))
		awaitPanics(t, r, before+1)
		c.awaitReady(t, r)
		if revision(r) != 1 || panics() != before+1 {
			t.Errorf("the release has revision %d after %v panics, want 1 after 1", revision(r), panics()-before)
		}
		equalImages(t, "ready, it says", c.images(t, r), chartImages(chartImage, chartInitImage))
		mended(t, r)
	})

	// A panic in every reconciliation, and nothing is ever installed.
	t.Run("install", func(t *testing.T) {
		r := newRelease(namespace, "new")
		merge(bad)(r)
		before := panics()
		if err := c.client.Create(t.Context(), r); err != nil {
			t.Fatal(err)
		}
		awaitPanics(t, r, before+3)
		if revision(r) != 0 {
			t.Errorf("the release has revision %d, want none", revision(r))
		}
		equalImages(t, "not installed", c.images(t, r), nil)
		mended(t, r)
	})
}

// While helm-controller is stopped, nothing happens; afterwards it catches up.
func TestStoppedFlux(t *testing.T) {
	c, namespace := useApp(t)
	r := c.createReleases(t, namespace, 1, nil)[0]
	c.flux.Stop(t)
	c.edit(t, r, func(r *helmv2.HelmRelease) {
		r.Spec.PostRenderers = postrender.Merge(nil, newTable(t, overrides...))
	})
	equalImages(t, "stopped", c.images(t, r), chartImages(chartImage, chartInitImage))
	c.flux.Start(t)
	c.awaitReady(t, r)
	equalImages(t, "started again", c.images(t, r), chartImages(newImage, newInitImage))
}
