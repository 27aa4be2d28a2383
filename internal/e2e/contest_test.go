// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"fmt"
	"slices"
	"testing"

	helmv2 "github.com/fluxcd/helm-controller/api/v2"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/cozystack/image-overrides/imageoverrides"
)

// Two operators with two tables and the same releases replace each other's table a few times, tell it, and then less and less often. When
// one of them goes, the other's table stays, at the cost of one more upgrade.
func TestTwoOperators(t *testing.T) {
	t.Parallel()
	c, namespace := useApp(t)
	one := c.startOperator(t, namespace)
	another := c.startOperatorOf(t, c.namespace(t), namespace)
	if one.owner() == another.owner() {
		t.Fatalf("both are named %s, and one would wait for the other's Lease", one.owner())
	}
	releases := c.createReleases(t, namespace, 2, func(_ int, r *helmv2.HelmRelease) { r.Labels = chosen(namespace) })
	first := c.writeTable(t, namespace, overrides...)
	one.awaitTable(t, first)
	second := c.writeTable(t, another.namespace, overrides[1])

	for _, side := range []struct {
		*operator
		others imageoverrides.Table
	}{{one, second}, {another, first}} {
		side.eventually(t, "the metric tells the contested releases", func() error {
			return awaitMetric(side.metrics, "image_overrides_contested_releases", "", float64(len(releases)))
		})
		text := fmt.Sprintf("somebody has written over the table of image overrides 2 times in a row, now with %.12s; each time is an upgrade. "+
			"It is written again in 5s. Find the other writer in metadata.managedFields", side.others.Hash())
		for _, r := range releases {
			side.eventually(t, "an Event tells the contest", func() error {
				return c.eventOn(t, namespace, "HelmRelease", r.Name, "ImageOverridesContested", text)
			})
		}
	}
	one.said(t, `"times":3,"now":"`+second.Hash()[:12]+`","wait":"10s"`, len(releases))
	// One to be created, two writes of each at once, and one or two of each after a wait.
	before := c.generations(t, namespace)
	for name, g := range before {
		if g[0] > 9 {
			t.Errorf("%s has generation %d already", name, g[0])
		}
	}

	one.process.stop()
	if one.err != nil {
		t.Errorf("the operator ends with %v when it is asked to", one.err)
	}
	another.awaitTable(t, second)
	another.idle(t)
	c.awaitReady(t, releases...)
	for _, r := range releases {
		equalImages(t, r.Name, c.images(t, r), chartImages(chartImage, newInitImage))
		if g := before[r.Name][0]; r.Generation > g+2 {
			t.Errorf("%s has generation %d, want %d at most", r.Name, r.Generation, g+2)
		}
		if !slices.ContainsFunc(r.ManagedFields, func(f metav1.ManagedFieldsEntry) bool { return f.Manager == another.owner() }) {
			t.Errorf("%s: nobody is named %s in the fields' managers", r.Name, another.owner())
		}
	}
}
