// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	helmv2 "github.com/fluxcd/helm-controller/api/v2"
	"github.com/fluxcd/pkg/apis/kustomize"
	eventsv1 "k8s.io/api/events/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	operatoroverrides "github.com/cozystack/image-overrides/examples/operator/overrides"
	"github.com/cozystack/image-overrides/imageoverrides"
	"github.com/cozystack/image-overrides/postrender"
)

// writeTable writes the Secret as the platform's chart does, and returns the table.
func (c *cluster) writeTable(t testing.TB, namespace string, overrides ...imageoverrides.Override) imageoverrides.Table {
	t.Helper()
	values := map[string]any{"_cluster": map[string]any{"root-host": "example.org"}}
	if len(overrides) > 0 {
		values["_cluster"].(map[string]any)["image-overrides"] = overrides
	}
	text, err := yaml.Marshal(values)
	if err != nil {
		t.Fatal(err)
	}
	c.writeSecret(t, namespace, string(text))
	return newTable(t, overrides...)
}

// releases returns the releases of a namespace as the API server has them.
func (c *cluster) releases(t testing.TB, namespace string) []helmv2.HelmRelease {
	t.Helper()
	var list helmv2.HelmReleaseList
	if err := c.client.List(t.Context(), &list, client.InNamespace(namespace)); err != nil {
		t.Fatal(err)
	}
	return list.Items
}

// carry returns nil if every release carries the table, last and once, and none where it is empty.
func carry(releases []helmv2.HelmRelease, table imageoverrides.Table) error {
	for i := range releases {
		list := releases[i].Spec.PostRenderers
		if !same(list, postrender.Merge(list, table)) {
			return fmt.Errorf("%s is not in step with the table of %d entries", releases[i].Name, table.Len())
		}
	}
	return nil
}

// same compares what Flux makes its digest of.
func same(a, b []helmv2.PostRenderer) bool {
	x, errX := json.Marshal(a)
	y, errY := json.Marshal(b)
	return errX == nil && errY == nil && string(x) == string(y)
}

// awaitTable waits until the operator has brought all releases of its namespace in step.
func (o *operator) awaitTable(t testing.TB, table imageoverrides.Table) {
	t.Helper()
	o.eventually(t, "all releases are in step", func() error {
		releases := slices.DeleteFunc(o.cluster.releases(t, o.releases), func(r helmv2.HelmRelease) bool { return r.Labels["operator"] != o.releases })
		return carry(releases, table)
	})
}

// carriedLabel is how the operator's metric names a table.
func carriedLabel(table imageoverrides.Table) string {
	if table.Len() == 0 {
		return `hash=""`
	}
	return `hash="` + table.Hash()[:12] + `"`
}

// generations returns the generation and the Helm revision of each release.
func (c *cluster) generations(t testing.TB, namespace string) map[string][2]int64 {
	t.Helper()
	all := map[string][2]int64{}
	for _, r := range c.releases(t, namespace) {
		all[r.Name] = [2]int64{r.Generation, int64(revision(&r))}
	}
	return all
}

// A table is written, written again, changes, shrinks, is lost, comes back, and becomes empty. The
// releases follow, each step is one upgrade, and their own post-renderers stay and work.
func TestOperator(t *testing.T) {
	c, namespace := useApp(t)
	rename := kustomize.Image{Name: "registry.example.org/team/init", NewName: "registry.example.org/team/app"}
	patches := helmv2.PostRenderer{Kustomize: &helmv2.Kustomize{Patches: []kustomize.Patch{sidecarPatch}}}
	images := helmv2.PostRenderer{Kustomize: &helmv2.Kustomize{Images: []kustomize.Image{rename}}}
	both := helmv2.PostRenderer{Kustomize: &helmv2.Kustomize{Patches: []kustomize.Patch{sidecarPatch}, Images: []kustomize.Image{rename}}}
	own := [][]helmv2.PostRenderer{nil, {patches}, {both}, {patches, images}}

	// want returns the images of a release with some of the post-renderers above, under a table.
	want := func(i int, table imageoverrides.Table) map[string]string {
		app, init, sidecar := chartImage, chartInitImage, "registry.example.org/team/init:3.0.0"
		if i >= 2 {
			init, sidecar = "registry.example.org/team/app:1.0.0", "registry.example.org/team/app:3.0.0"
		}
		for _, image := range []*string{&app, &init, &sidecar} {
			*image, _ = table.Apply(*image)
		}
		found := chartImages(app, init)
		if i >= 1 {
			found["daemonset/sidecar"] = sidecar
		}
		return found
	}

	o := c.startOperator(t, namespace)
	releases := c.createReleases(t, namespace, len(own), func(i int, r *helmv2.HelmRelease) {
		r.Labels = chosen(namespace)
		r.Spec.PostRenderers = own[i]
	})
	other := newRelease(namespace, "not-chosen")
	if err := c.client.Create(t.Context(), other); err != nil {
		t.Fatal(err)
	}
	c.awaitReady(t, other)

	o.said(t, "there is no Secret", 1)
	o.looked(t, 0, len(releases))
	looks := o.reconciles(t) // before the Secret was written
	if got, want := c.generations(t, namespace), map[string][2]int64{"app-0": {1, 1}, "app-1": {1, 1}, "app-2": {1, 1}, "app-3": {1, 1}, "not-chosen": {1, 1}}; !maps.Equal(got, want) {
		t.Errorf("before there is a Secret: %v", got)
	}

	reads, upgrades := 0, int64(0)
	// step looks at everything after the Secret was written.
	step := func(what string, table imageoverrides.Table, upgrade bool) {
		t.Helper()
		reads++
		if upgrade {
			upgrades++
		}
		o.said(t, "the table of image overrides was read", reads)
		o.looked(t, looks, len(releases))
		o.awaitTable(t, table)
		c.awaitReady(t, releases...)
		o.idle(t)
		looks = o.reconciles(t) // its own patches, which it has looked at while Flux worked, among them
		for i, r := range releases {
			if list := r.Spec.PostRenderers; !same(list, postrender.Merge(own[i], table)) {
				t.Errorf("%s: %s has %d post-renderers, want its %d and the table's", what, r.Name, len(list), len(own[i]))
			}
			if r.Generation != 1+upgrades || int64(revision(r)) != 1+upgrades {
				t.Errorf("%s: %s has generation %d and revision %d, want %d", what, r.Name, r.Generation, revision(r), 1+upgrades)
			}
			equalImages(t, what+": "+r.Name, c.images(t, r), want(i, table))
		}
		if err := c.client.Get(t.Context(), client.ObjectKeyFromObject(other), other); err != nil {
			t.Fatal(err)
		}
		if other.Generation != 1 {
			t.Errorf("%s: a release without the label was changed", what)
		}
		if err := awaitMetric(o.metrics, "image_overrides_releases", carriedLabel(table), float64(len(releases))); err != nil {
			t.Errorf("%s: %v", what, err)
		}
	}

	step("a table", c.writeTable(t, namespace, overrides...), true)
	// The text of the Secret changes, the table does not.
	c.writeSecret(t, namespace, "# once more\n_cluster:\n  image-overrides: "+marshal(t, overrides)+"\n")
	step("the same table", newTable(t, overrides...), false)

	changed := slices.Clone(overrides)
	changed[0].NewTag, changed[0].Digest = "3.0.0", ""
	step("another table", c.writeTable(t, namespace, changed...), true)
	step("a shorter table", c.writeTable(t, namespace, changed[:1]...), true)

	c.deleteSecret(t, namespace)
	o.said(t, "there is no Secret", 2)
	// An owner's edit is the owner's, the table stays.
	c.edit(t, releases[0], func(r *helmv2.HelmRelease) {
		r.Spec.PostRenderers = slices.Insert(r.Spec.PostRenderers, 0, patches)
	})
	own[0] = []helmv2.PostRenderer{patches}
	o.idle(t)
	c.awaitReady(t, releases...)
	for i, r := range releases {
		if !same(r.Spec.PostRenderers, postrender.Merge(own[i], newTable(t, changed[0]))) {
			t.Errorf("without a Secret: %s has lost its table", r.Name)
		}
	}
	c.edit(t, releases[0], func(r *helmv2.HelmRelease) { r.Spec.PostRenderers = r.Spec.PostRenderers[1:] })
	own[0] = nil
	c.awaitReady(t, releases...)
	for _, r := range releases[1:] {
		if r.Generation != 1+upgrades {
			t.Errorf("without a Secret: %s was changed", r.Name)
		}
	}

	// It comes back as it was: nothing to do but for the release that its owner edited twice.
	o.idle(t)
	before := c.generations(t, namespace)
	looks = o.reconciles(t)
	c.writeTable(t, namespace, changed[0])
	o.looked(t, looks, len(releases))
	if after := c.generations(t, namespace); !maps.Equal(before, after) {
		t.Errorf("the Secret has come back: %v, was %v", after, before)
	}

	table := c.writeTable(t, namespace)
	o.awaitTable(t, table)
	c.awaitReady(t, releases...)
	for i, r := range releases {
		if !same(r.Spec.PostRenderers, own[i]) {
			t.Errorf("an empty table: %s has %d post-renderers", r.Name, len(r.Spec.PostRenderers))
		}
		equalImages(t, "an empty table: "+r.Name, c.images(t, r), want(i, table))
	}

	o.process.stop()
	if o.err != nil {
		t.Errorf("the operator ends with %v when it is asked to", o.err)
	}
}

func marshal(t testing.TB, v any) string {
	t.Helper()
	text, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// Whatever breaks the table, releases stay as they are, the Event and the metric name the entry,
// and the API server refuses a release with the same words. When it is mended, they follow.
func TestOperatorBroken(t *testing.T) {
	c, namespace := useApp(t)
	o := c.startOperator(t, namespace)
	releases := c.createReleases(t, namespace, 2, func(_ int, r *helmv2.HelmRelease) { r.Labels = chosen(namespace) })
	o.awaitTable(t, c.writeTable(t, namespace, overrides...))
	c.awaitReady(t, releases...)
	before := c.generations(t, namespace)

	list := func(entries string) string { return "_cluster:\n  image-overrides: " + entries + "\n" }
	long := `{name: x, newTag: "` + strings.Repeat("y", 200) + `"}`
	for _, test := range []struct{ why, values, message, labels string }{
		{"not a list", list("{name: nginx}"), "_cluster.image-overrides must be a list, got map", `entry="-1"`},
		{"not a map", list("[nginx]"), "_cluster.image-overrides[0] must be a map", `entry="0"`},
		{"no name", list("[{newTag: v2}]"), "_cluster.image-overrides[0]", `entry="0",field="name"`},
		{"nothing set", list("[{name: redis, newTag: v1}, {name: nginx}]"), `_cluster.image-overrides[1]: "nginx" sets none of newName, newTag, digest`, `entry="1"`},
		{"a number", list("[{name: nginx, newTag: 1.20}]"), "_cluster.image-overrides[0].newTag must be a string", `entry="0",field="newTag"`},
		{"an unknown field", list("[{name: nginx, newtag: v2}]"), `_cluster.image-overrides[0]: unknown field "newtag"`, `entry="0",field="newtag"`},
		{"a tag in the name", list("[{name: 'nginx:v1', newTag: v2}]"), "_cluster.image-overrides[0]", `entry="0",field="name"`},
		{"a bad digest", list("[{name: nginx, digest: abc}]"), "_cluster.image-overrides[0]", `entry="0",field="digest"`},
		{"a name twice", list("[{name: nginx, newTag: v2}, {name: nginx, newTag: v3}]"), "_cluster.image-overrides[1]", `entry="1",field="name"`},
		{"a name that Flux panics on", list("[{name: '[', newTag: v2}]"), "overrides[0]", `entry="0",field="name"`},
		{"a newTag that is none", list("[{name: nginx, newTag: v/2}]"), "overrides[0]", `entry="0",field="newTag"`},
		{"an IPv6 host in the name", list("[{name: '[::1]:5000/nginx', newTag: v2}]"), "overrides[0]", `entry="0",field="name"`},
		{"a tag in the newName", list("[{name: nginx, newName: 'web:v2'}]"), "overrides[0]", `entry="0",field="newName"`},
		{"a newName that is none", list("[{name: nginx, newName: 'https://example.org/web'}]"), "overrides[0]", `entry="0",field="newName"`},
		{"no values.yaml", "", `the Secret has no key "values.yaml"`, `entry="-1"`},
		{"two documents", list("[]") + "---\na: b\n", "a second document", `entry="-1"`},
		{"a _cluster that is no map", "_cluster: [a]\n", "_cluster must be a map, got slice", `entry="-1"`},
		{"no map", "[]", "values.yaml must be a map", `entry="-1"`},
		{"no YAML", list("["), "line ", `entry="-1"`},
		{"fifty faults", list("[" + strings.Repeat(long+", ", 50) + long + "]"), "_cluster.image-overrides[1]", `entry="1"`},
	} {
		t.Run(test.why, func(t *testing.T) {
			secret := c.writeSecret(t, namespace, test.values)
			_, parseErr := imageoverrides.ParseSecret(secret.Data)
			if parseErr == nil || !strings.Contains(parseErr.Error(), test.message) {
				t.Fatalf("the library says %v, want %q", parseErr, test.message)
			}
			o.eventually(t, "an Event tells the fault", func() error { return c.event(t, namespace, "ImageOverridesBroken", parseErr.Error()) })
			o.eventually(t, "the metric names the entry", func() error { return awaitMetric(o.metrics, "image_overrides_table_fault", test.labels, 1) })
			o.idle(t)
			if after := c.generations(t, namespace); !maps.Equal(before, after) {
				t.Errorf("releases have changed: %v, were %v", after, before)
			}

			release := newRelease(namespace, "new")
			admission := operatoroverrides.Admission{Source: &operatoroverrides.Source{Reader: c.client, Secret: client.ObjectKeyFromObject(secret)}}
			if err := admission.Default(t.Context(), release, nil); !apierrors.IsForbidden(err) || !strings.Contains(err.Error(), parseErr.Error()) || release.Spec.PostRenderers != nil {
				t.Errorf("the API server says %v", err)
			}
		})
	}

	changed := slices.Clone(overrides)
	changed[0].NewTag = "4.0.0"
	mended := c.writeTable(t, namespace, changed...)
	o.awaitTable(t, mended)
	if n, err := metric(o.metrics, "image_overrides_table_fault", ""); !errors.Is(err, errNoSeries) {
		t.Errorf("the metric still has %v faults, %v", n, err)
	}
	for _, r := range c.releases(t, namespace) {
		if before := before[r.Name]; r.Generation != before[0]+1 {
			t.Errorf("%s has generation %d, want %d", r.Name, r.Generation, before[0]+1)
		}
	}
}

// event returns nil if there is an Event on the Secret of a namespace with that reason, whose note is
// the text, or its start.
func (c *cluster) event(t testing.TB, namespace, reason, text string) error {
	return c.eventOn(t, namespace, "Secret", "cozystack-values", reason, text)
}

// eventOn is event for another object.
func (c *cluster) eventOn(t testing.TB, namespace, kind, name, reason, text string) error {
	t.Helper()
	var list eventsv1.EventList
	if err := c.client.List(t.Context(), &list, client.InNamespace(namespace)); err != nil {
		return err
	}
	var others []string
	for _, e := range list.Items {
		if e.Reason != reason || e.Regarding.Kind != kind || e.Regarding.Name != name {
			continue
		}
		note, cut := strings.CutSuffix(e.Note, "…")
		if note == text || cut && strings.HasPrefix(text, note) {
			return nil
		}
		others = append(others, e.Note)
	}
	return fmt.Errorf("none of %d Events is %s: %s\nbut %q", len(list.Items), reason, text, others)
}

// A release that was written by hand with the table's images, without the marker, is taken over and has
// them once.
func TestOperatorTakesOver(t *testing.T) {
	c, namespace := useApp(t)
	table := newTable(t, overrides...)
	byHand := postrender.Renderer(table)
	byHand.Kustomize.Images = byHand.Kustomize.Images[1:]
	patches := helmv2.PostRenderer{Kustomize: &helmv2.Kustomize{Images: []kustomize.Image{{Name: "some/other", NewTag: "v2"}}}}
	releases := c.createReleases(t, namespace, 1, func(_ int, r *helmv2.HelmRelease) {
		r.Labels = chosen(namespace)
		r.Spec.PostRenderers = []helmv2.PostRenderer{patches, byHand}
	})
	equalImages(t, "by hand", c.images(t, releases[0]), chartImages(newImage, newInitImage))
	o := c.startOperator(t, namespace)
	c.writeTable(t, namespace, overrides...)
	o.awaitTable(t, table)
	c.awaitReady(t, releases...)
	if list := releases[0].Spec.PostRenderers; !same(list, []helmv2.PostRenderer{patches, postrender.Renderer(table)}) {
		t.Errorf("the release has %d post-renderers", len(list))
	}
	equalImages(t, "taken over", c.images(t, releases[0]), chartImages(newImage, newInitImage))
}
