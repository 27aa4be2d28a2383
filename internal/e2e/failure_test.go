// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"fmt"
	"strings"
	"testing"
	"testing/fstest"

	helmv2 "github.com/fluxcd/helm-controller/api/v2"
	"github.com/fluxcd/pkg/apis/meta"
	apimeta "k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/cozystack/image-overrides/imageoverrides"
	"github.com/cozystack/image-overrides/postrender"
)

// What a table breaks, through no fault of its own: releases that are well without one and
// fail with it. They say so, and recover when the table goes.
func TestFailures(t *testing.T) {
	cases := []struct {
		why      string
		manifest string
		table    []imageoverrides.Override
		message  string
	}{
		{
			"the template of a Job cannot be changed; a chart has to name a Job anew or make it a hook", `
apiVersion: batch/v1
kind: Job
metadata:
  name: {{ .Release.Name }}
spec:
  template:
    spec:
      restartPolicy: Never
      containers:
      - name: main
        image: ` + chartImage,
			overrides,
			"field is immutable",
		}, {
			"kustomize looks for images wherever something is named containers, and takes it ill if that is something else", `
apiVersion: helm.toolkit.fluxcd.io/v2
kind: HelmRelease
metadata:
  name: nested
spec:
  suspend: true
  interval: 1h
  chartRef:
    kind: OCIRepository
    name: app
  values:
    containers: [main]`,
			[]imageoverrides.Override{{Name: "registry.example.org/another", NewTag: "2.0.0"}},
			"wrong node kind: expected MappingNode but got ScalarNode",
		},
	}
	c := useCluster(t)
	for _, tc := range cases {
		t.Run(tc.message, func(t *testing.T) {
			namespace := c.namespace(t)
			c.publish(t, namespace, "app", fstest.MapFS{
				"Chart.yaml":              {Data: []byte("apiVersion: v2\nname: app\nversion: 1.0.0\n")},
				"templates/manifest.yaml": {Data: []byte(tc.manifest)},
			})
			r := c.createReleases(t, namespace, 1, nil)[0]

			c.edit(t, r, func(r *helmv2.HelmRelease) { r.Spec.PostRenderers = postrender.Merge(nil, newTable(t, tc.table...)) })
			c.eventually(t, "the release fails, since "+tc.why, timeout, func() error {
				if err := c.client.Get(t.Context(), client.ObjectKeyFromObject(r), r); err != nil {
					return err
				}
				ready := apimeta.FindStatusCondition(r.Status.Conditions, meta.ReadyCondition)
				if ready.Status != metav1.ConditionFalse || !strings.Contains(ready.Message, tc.message) {
					return fmt.Errorf("Ready is %s: %s", ready.Status, ready.Message)
				}
				return nil
			})

			c.edit(t, r, func(r *helmv2.HelmRelease) {
				r.Spec.PostRenderers = postrender.Merge(r.Spec.PostRenderers, newTable(t))
			})
			c.awaitReady(t, r)
		})
	}
}
