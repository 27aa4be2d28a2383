// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"
	"time"

	helmv2 "github.com/fluxcd/helm-controller/api/v2"
	"github.com/fluxcd/pkg/apis/kustomize"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/util/retry"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/cozystack/image-overrides/imageoverrides"
	"github.com/cozystack/image-overrides/postrender"
)

// Fifty releases, and an owner who edits them while the table changes every second for half a minute: no
// edit is lost, and in the end all carry the last table.
func TestOperatorAndOwner(t *testing.T) {
	c, namespace := useApp(t)
	o := c.startOperator(t, namespace)
	c.writeTable(t, namespace, overrides...)
	const n = 50
	for i := range n {
		r := newRelease(namespace, fmt.Sprintf("app-%d", i))
		r.Labels = chosen(namespace)
		if err := c.client.Create(t.Context(), r); err != nil {
			t.Fatal(err)
		}
	}

	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
	defer cancel()
	edits := make([][]string, n) // the names in the owner's post-renderers, by release
	var owner sync.WaitGroup
	owner.Go(func() {
		for edit := 0; ctx.Err() == nil; edit++ {
			i := rand.IntN(n)
			name := fmt.Sprintf("owner/edit-%d", edit)
			err := retry.RetryOnConflict(wait.Backoff{Steps: 100, Duration: 10 * time.Millisecond}, func() error {
				var r helmv2.HelmRelease
				if err := c.client.Get(t.Context(), client.ObjectKey{Namespace: namespace, Name: fmt.Sprintf("app-%d", i)}, &r); err != nil {
					return err
				}
				// In front of the table's, behind the owner's other ones.
				at := min(len(edits[i]), len(r.Spec.PostRenderers)) // all of them, if none was lost
				r.Spec.PostRenderers = slices.Insert(r.Spec.PostRenderers, at, helmv2.PostRenderer{
					Kustomize: &helmv2.Kustomize{Images: []kustomize.Image{{Name: name, NewTag: "v1"}}},
				})
				return c.client.Update(t.Context(), &r)
			})
			if err != nil {
				t.Errorf("the owner's edit: %v", err)
				return
			}
			edits[i] = append(edits[i], name)
		}
	})
	tables := 1
	last := newTable(t)
	for ticker := time.NewTicker(time.Second); ctx.Err() == nil; tables++ {
		changed := slices.Clone(overrides)
		changed[0].NewTag = fmt.Sprintf("2.0.%d", tables)
		last = c.writeTable(t, namespace, changed...)
		select {
		case <-ticker.C:
		case <-ctx.Done():
		}
	}
	owner.Wait()

	o.awaitTable(t, last)
	all := 0
	for _, r := range c.releases(t, namespace) {
		var i int
		if _, err := fmt.Sscanf(r.Name, "app-%d", &i); err != nil {
			t.Fatal(err)
		}
		var kept []string
		for _, p := range r.Spec.PostRenderers[:len(r.Spec.PostRenderers)-1] {
			kept = append(kept, p.Kustomize.Images[0].Name)
		}
		if !slices.Equal(kept, edits[i]) {
			t.Errorf("%s has %v, want %v", r.Name, kept, edits[i])
		}
		all += len(edits[i])
	}
	conflicts, err := metric(o.metrics, "rest_client_requests_total", `code="409"`)
	if err != nil && !errors.Is(err, errNoSeries) {
		t.Error(err)
	}
	t.Logf("%d tables, %d edits of the owner, %v conflicts of the operator", tables, all, conflicts)
	if all == 0 {
		t.Error("the owner has edited nothing")
	}
}

// stopFlux stops helm-controller for a test, whose releases are gone before it starts again.
func (c *cluster) stopFlux(t testing.TB, namespace string) {
	t.Helper()
	c.flux.Stop(t)
	t.Cleanup(func() {
		if err := c.client.DeleteAllOf(running, &helmv2.HelmRelease{}, client.InNamespace(namespace)); err != nil {
			t.Error(err)
		}
	})
}

// The operator is killed in the middle of a change, and started again: all releases end in step.
func TestOperatorKilled(t *testing.T) {
	c, namespace := useApp(t)
	c.stopFlux(t, namespace)
	const n = 60
	for i := range n {
		r := newRelease(namespace, fmt.Sprintf("app-%d", i))
		r.Labels = chosen(namespace)
		if err := c.client.Create(t.Context(), r); err != nil {
			t.Fatal(err)
		}
	}
	o := c.startOperator(t, namespace, "--qps=5")
	table := c.writeTable(t, namespace, overrides...)
	carrying := func() (n int) {
		for _, r := range c.releases(t, namespace) {
			if _, ok := postrender.Hash(r.Spec.PostRenderers); ok {
				n++
			}
		}
		return n
	}
	o.eventually(t, "the operator is in the middle", func() error {
		if n := carrying(); n < 5 {
			return fmt.Errorf("%d releases", n)
		}
		return nil
	})
	o.kill()
	if n := carrying(); n == 60 {
		t.Error("it was killed too late to show anything")
	} else {
		t.Logf("killed after %d releases of 60", n)
	}
	o.start(t)
	o.awaitTable(t, table)
	o.idle(t)
	for _, r := range c.releases(t, namespace) {
		if r.Generation != 2 {
			t.Errorf("%s has generation %d, want 2", r.Name, r.Generation)
		}
	}
}

// A thousand releases follow a change of the table. How long they take, and what that costs, is in the
// log; it took some 25 seconds on two cores that had little else to do.
func TestOperatorThousand(t *testing.T) {
	c, namespace := useApp(t)
	c.stopFlux(t, namespace)
	const n = 1000
	var creators sync.WaitGroup
	for first := range 8 {
		creators.Go(func() {
			for i := first; i < n; i += 8 {
				r := newRelease(namespace, fmt.Sprintf("app-%d", i))
				r.Labels = chosen(namespace)
				if err := c.client.Create(t.Context(), r); err != nil {
					t.Error(err)
					return
				}
			}
		})
	}
	creators.Wait()
	o := c.startOperator(t, namespace)
	o.said(t, "there is no Secret", 1)
	o.idle(t)
	requests := func() float64 {
		sum, err := metric(o.metrics, "rest_client_requests_total", "")
		if err != nil {
			t.Fatal(err)
		}
		return sum
	}
	many := slices.Clone(overrides)
	for i := range 114 { // as many as the table of a real platform has
		many = append(many, imageoverrides.Override{Name: fmt.Sprintf("registry.example.org/team/app-%d", i), NewName: fmt.Sprintf("mirror.example.net/os/app-%d", i), NewTag: "v1", Digest: digest})
	}
	for _, step := range []struct {
		what  string
		table []imageoverrides.Override
	}{{"a table", many}, {"another table", many[1:]}, {"an empty table", nil}} {
		before := requests()
		began := time.Now()
		table := c.writeTable(t, namespace, step.table...)
		o.eventually(t, "a thousand releases are in step", func() error {
			return awaitMetric(o.metrics, "image_overrides_releases", carriedLabel(table), n)
		})
		took := time.Since(began).Round(100 * time.Millisecond)
		if err := carry(c.releases(t, namespace), table); err != nil {
			t.Error(err)
		}
		memory, err := metric(o.metrics, "process_resident_memory_bytes", "")
		if err != nil {
			t.Fatal(err)
		}
		t.Logf("%s: %d releases in step after %s, %v requests, %.0f MB resident", step.what, n, took, requests()-before, memory/1e6)
	}
}
