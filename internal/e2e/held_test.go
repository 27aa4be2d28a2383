// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"fmt"
	"strings"
	"testing"

	helmv2 "github.com/fluxcd/helm-controller/api/v2"

	"github.com/cozystack/image-overrides/imageoverrides"
)

// A table that leads to an image which is not there is held back, also by an operator that is started anew, and goes out when the image has
// come; one whose registry cannot be asked goes out, and that is told.
func TestOperatorHolds(t *testing.T) {
	t.Parallel()
	c, namespace := useApp(t)
	r := startRegistry(t)
	r.push("os/app:2.0.0")
	entry := func(host, tag string) imageoverrides.Override {
		return imageoverrides.Override{Name: "registry.example.org/team/app", NewName: host + "/os/app", NewTag: tag}
	}
	args := []string{"--check-images", "--plain-http=" + r.host}
	o := c.startOperator(t, namespace, args...)
	releases := c.createReleases(t, namespace, 2, func(_ int, r *helmv2.HelmRelease) { r.Labels = chosen(namespace) })
	runs := func(image string) {
		t.Helper()
		c.awaitReady(t, releases...)
		for _, r := range releases {
			equalImages(t, r.Name, c.images(t, r), chartImages(image, chartInitImage))
		}
	}
	told := func(reason, format string, args ...any) {
		t.Helper()
		text := fmt.Sprintf(format, args...)
		o.eventually(t, "an Event says "+reason, func() error { return c.event(t, namespace, reason, text) })
	}
	missing := func(n float64) {
		t.Helper()
		o.eventually(t, "the metric tells the missing images", func() error { return awaitMetric(o.metrics, "image_overrides_missing_images", "", n) })
	}
	const read = "1 entries, hash %s"

	first := c.writeTable(t, namespace, entry(r.host, "2.0.0"))
	o.awaitTable(t, first)
	told("ImageOverridesRead", read, first.Hash())
	missing(0)
	runs(r.host + "/os/app:2.0.0")

	second := c.writeTable(t, namespace, entry(r.host, "3.0.0"))
	held := fmt.Sprintf("the table with the hash %.12s is held back and releases keep the one that they have: of 1 new images, 1 not there. "+
		"Push them or mend the entries; they are asked for again in 30s.\n"+
		`_cluster.image-overrides[0]: "registry.example.org/team/app": %[2]s/os/app:3.0.0: not found: %[2]s answers 404 Not Found, MANIFEST_UNKNOWN`, second.Hash(), r.host)
	told("ImageOverridesHeld", "%s", held)
	missing(1)

	// Another process knows only what the releases carry.
	o.process.stop()
	o.start(t, args...)
	o.said(t, "an image is not there, and the table is held back", 2)
	missing(1)
	// Something else in the Secret changes, and nobody is asked for it.
	o.idle(t)
	asked, looks := r.requests("os/app:3.0.0"), o.reconciles(t)
	c.writeSecret(t, namespace, "# once more\n_cluster:\n  image-overrides: "+marshal(t, []imageoverrides.Override{entry(r.host, "3.0.0")})+"\n")
	o.looked(t, looks, 1)
	if got := r.requests("os/app:3.0.0"); got != asked {
		t.Errorf("the image was asked for %d times, want %d", got, asked)
	}
	o.awaitTable(t, first)
	for _, r := range c.releases(t, namespace) {
		if r.Generation != 2 {
			t.Errorf("%s has generation %d, want 2", r.Name, r.Generation)
		}
	}
	runs(r.host + "/os/app:2.0.0")

	r.push("os/app:3.0.0")
	o.awaitTable(t, second)
	told("ImageOverridesRead", read, second.Hash())
	missing(0)
	runs(r.host + "/os/app:3.0.0")
	for _, r := range releases {
		if r.Generation != 3 || revision(r) != 3 {
			t.Errorf("%s has generation %d and revision %d, want 3", r.Name, r.Generation, revision(r))
		}
	}

	// A host that no flag names is not asked.
	third := c.writeTable(t, namespace, entry("mirror.example.net", "3.0.0"))
	o.awaitTable(t, third)
	told("ImageOverridesRead", read, third.Hash())
	o.eventually(t, "the metric tells the unchecked images", func() error { return awaitMetric(o.metrics, "image_overrides_unchecked_images_total", "", 1) })
	runs("mirror.example.net/os/app:3.0.0")
	if log := o.tail(1, "nothing was learned of an image, and the table goes out all the same"); !strings.Contains(log, "mirror.example.net/os/app:3.0.0") {
		t.Error(log)
	}
}
