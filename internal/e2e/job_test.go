// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"fmt"
	"io/fs"
	"strings"
	"testing"
	"testing/fstest"

	helmv2 "github.com/fluxcd/helm-controller/api/v2"
	"github.com/fluxcd/pkg/apis/meta"
	"github.com/google/go-cmp/cmp"
	batchv1 "k8s.io/api/batch/v1"
	apimeta "k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/cozystack/image-overrides/imageoverrides"
	"github.com/cozystack/image-overrides/imageoverrides/chart"
	"github.com/cozystack/image-overrides/postrender"
)

// jobChart is a chart with a plain Job of that name, and with the library chart.
func jobChart(t testing.TB, name string) fs.FS {
	t.Helper()
	files := fstest.MapFS{
		"Chart.yaml": {Data: []byte("apiVersion: v2\nname: app\nversion: 1.0.0\n")},
		"templates/job.yaml": {Data: []byte(`
{{- $spec := dict "image" "` + chartImage + `" }}
apiVersion: batch/v1
kind: Job
metadata:
  name: ` + name + `
spec:
  template:
    spec:
      restartPolicy: Never
      containers:
      - name: main
        image: {{ $spec.image }}
`)},
	}
	err := fs.WalkDir(chart.FS, ".", func(name string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		data, err := fs.ReadFile(chart.FS, name)
		files["charts/"+name] = &fstest.MapFile{Data: data}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return files
}

// jobs returns the images of the Jobs of a namespace by their names.
func (c *cluster) jobs(t testing.TB, namespace string) map[string]string {
	t.Helper()
	var list batchv1.JobList
	if err := c.client.List(t.Context(), &list, client.InNamespace(namespace)); err != nil {
		t.Fatal(err)
	}
	images := map[string]string{}
	for _, job := range list.Items {
		if job.DeletionTimestamp == nil { // Flux need not wait for the end
			images[job.Name] = job.Spec.Template.Spec.Containers[0].Image
		}
	}
	return images
}

// awaitFailure waits until Flux says of a release that it failed, in words that have the text.
func (c *cluster) awaitFailure(t testing.TB, r *helmv2.HelmRelease, text string) {
	t.Helper()
	c.eventually(t, r.Name+" fails", timeout, func() error {
		if err := c.client.Get(t.Context(), client.ObjectKeyFromObject(r), r); err != nil {
			return err
		}
		ready := apimeta.FindStatusCondition(r.Status.Conditions, meta.ReadyCondition)
		if ready == nil || ready.Status != metav1.ConditionFalse || !strings.Contains(ready.Message, text) {
			return fmt.Errorf("Ready is %+v", ready)
		}
		return nil
	})
}

// A table that changes the image of a plain Job fails the upgrade, also where the chart names the Job by
// a hash of its spec. With image-overrides.hash in its name the release follows every table.
func TestJobs(t *testing.T) {
	c := useCluster(t)
	const immutable = "field is immutable"
	// start publishes the chart, and installs a release of it that takes the values of the Secret.
	start := func(t *testing.T, name string) (string, *helmv2.HelmRelease) {
		namespace := c.namespace(t)
		c.publish(t, namespace, "app", jobChart(t, name))
		c.writeTable(t, namespace)
		return namespace, c.createReleases(t, namespace, 1, func(_ int, r *helmv2.HelmRelease) {
			r.Spec.ValuesFrom = []helmv2.ValuesReference{{Kind: "Secret", Name: "cozystack-values"}}
		})[0]
	}
	merge := func(table imageoverrides.Table) func(*helmv2.HelmRelease) {
		return func(r *helmv2.HelmRelease) { r.Spec.PostRenderers = postrender.Merge(r.Spec.PostRenderers, table) }
	}
	const (
		lasting = `{{ .Release.Name }}-{{ toJson $spec | sha256sum | trunc 8 }}`
		hashed  = `{{ .Release.Name }}{{ with include "image-overrides.hash" . }}-{{ . }}{{ end }}`
	)
	// named is the name of the hashed one under a table.
	named := func(t *testing.T, r *helmv2.HelmRelease, table imageoverrides.Table) string {
		hash, ok := postrender.Hash(postrender.Merge(nil, table))
		if ok != (table.Len() > 0) {
			t.Fatalf("a table of %d entries has the hash %q", table.Len(), hash)
		}
		return strings.TrimSuffix(r.Name+"-"+hash, "-")
	}

	t.Run("a name without the hash", func(t *testing.T) {
		namespace, r := start(t, lasting)
		before := c.jobs(t, namespace)
		c.edit(t, r, merge(c.writeTable(t, namespace, overrides...)))
		c.awaitFailure(t, r, immutable)
		if diff := cmp.Diff(before, c.jobs(t, namespace)); diff != "" {
			t.Errorf("the Jobs (-before +after):\n%s", diff)
		}
	})

	t.Run("a name with the hash", func(t *testing.T) {
		namespace, r := start(t, hashed)
		other := overrides[0]
		other.NewTag, other.Digest = "2.0.1", ""
		for i, step := range []struct {
			why   string
			table []imageoverrides.Override
			image string
		}{
			{"no table", nil, chartImage},
			{"a table", overrides, newImage},
			{"another table", []imageoverrides.Override{other}, "mirror.example.net/os/app:2.0.1"},
			{"an empty table", nil, chartImage},
		} {
			table := c.writeTable(t, namespace, step.table...)
			c.edit(t, r, merge(table))
			c.awaitReady(t, r)
			if diff := cmp.Diff(map[string]string{named(t, r, table): step.image}, c.jobs(t, namespace)); diff != "" {
				t.Errorf("%s: the Jobs (-want +got):\n%s", step.why, diff)
			}
			if revision(r) != i+1 {
				t.Errorf("%s: the release has revision %d, want %d", step.why, revision(r), i+1)
			}
		}
	})

	// Why the doc of the template says that both must come in one step: Flux is told of the values first.
	t.Run("values before post-renderers", func(t *testing.T) {
		namespace, r := start(t, hashed)
		table := c.writeTable(t, namespace, overrides...)
		c.edit(t, r, func(r *helmv2.HelmRelease) {
			metav1.SetMetaDataAnnotation(&r.ObjectMeta, meta.ReconcileRequestAnnotation, "now")
		})
		c.eventually(t, "the release has the new values", timeout, func() error {
			if err := c.client.Get(t.Context(), client.ObjectKeyFromObject(r), r); err != nil {
				return err
			}
			if revision(r) != 2 {
				return fmt.Errorf("revision %d", revision(r))
			}
			return ready(r)
		})
		if diff := cmp.Diff(map[string]string{named(t, r, table): chartImage}, c.jobs(t, namespace)); diff != "" {
			t.Errorf("the Jobs (-want +got):\n%s", diff)
		}
		c.edit(t, r, merge(table))
		c.awaitFailure(t, r, immutable)
	})
}
