// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	helmv2 "github.com/fluxcd/helm-controller/api/v2"
	"github.com/fluxcd/pkg/apis/meta"
	appsv1 "k8s.io/api/apps/v1"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	apimeta "k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/util/retry"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// newRelease returns a release of the chart app, which must have been published in its
// namespace. It is not written yet.
func newRelease(namespace, name string) *helmv2.HelmRelease {
	return &helmv2.HelmRelease{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name},
		Spec: helmv2.HelmReleaseSpec{
			ChartRef: &helmv2.CrossNamespaceSourceReference{Kind: "OCIRepository", Name: "app"},
			// Flux does only what the test gives it to do.
			Interval: metav1.Duration{Duration: time.Hour},
			Install:  &helmv2.Install{DisableWait: true},
			Upgrade:  &helmv2.Upgrade{DisableWait: true},
		},
	}
}

// createReleases creates n releases, named app-0 and so on, each as edit leaves it, and waits until
// all are ready.
func (c *cluster) createReleases(t testing.TB, namespace string, n int, edit func(i int, r *helmv2.HelmRelease)) []*helmv2.HelmRelease {
	t.Helper()
	releases := make([]*helmv2.HelmRelease, n)
	for i := range releases {
		releases[i] = newRelease(namespace, fmt.Sprintf("app-%d", i))
		if edit != nil {
			edit(i, releases[i])
		}
		if err := c.client.Create(t.Context(), releases[i]); err != nil {
			t.Fatal(err)
		}
	}
	c.awaitReady(t, releases...)
	return releases
}

// edit changes a release in the API server, however often somebody else is faster. Afterwards r is
// what the API server has.
func (c *cluster) edit(t testing.TB, r *helmv2.HelmRelease, change func(*helmv2.HelmRelease)) {
	t.Helper()
	err := retry.RetryOnConflict(retry.DefaultBackoff, func() error {
		if err := c.client.Get(t.Context(), client.ObjectKeyFromObject(r), r); err != nil {
			return err
		}
		change(r)
		return c.client.Update(t.Context(), r)
	})
	if err != nil {
		t.Fatal(err)
	}
}

// awaitReady waits until Flux has done all that the releases ask for. Afterwards they are
// what the API server has.
func (c *cluster) awaitReady(t testing.TB, releases ...*helmv2.HelmRelease) {
	t.Helper()
	for _, r := range releases {
		c.eventually(t, r.Name+" is ready", timeout, func() error {
			if err := c.client.Get(t.Context(), client.ObjectKeyFromObject(r), r); err != nil {
				return err
			}
			return ready(r)
		})
	}
}

// ready returns nil if Flux has done all that a release asks for.
func ready(r *helmv2.HelmRelease) error {
	condition := apimeta.FindStatusCondition(r.Status.Conditions, meta.ReadyCondition)
	switch {
	case condition == nil:
		return errors.New("no Ready condition")
	case r.Status.ObservedGeneration != r.Generation || condition.ObservedGeneration != r.Generation:
		return fmt.Errorf("observed generation %d of %d, %s: %s", r.Status.ObservedGeneration, r.Generation, condition.Reason, condition.Message)
	case apimeta.IsStatusConditionTrue(r.Status.Conditions, meta.ReconcilingCondition):
		// After a panic this is all that tells it from success, if it still does (see TestPanic).
		return errors.New("still reconciling")
	case condition.Status != metav1.ConditionTrue:
		return fmt.Errorf("%s: %s", condition.Reason, condition.Message)
	}
	return nil
}

// revision is how often Helm has installed and upgraded a release, 0 before the first time.
func revision(r *helmv2.HelmRelease) int {
	if len(r.Status.History) == 0 {
		return 0
	}
	return r.Status.History[0].Version
}

// images returns the images of all workloads that the chart app has made for a release, and what
// it has in other places, by place:
//
//	deployment/main, deployment/init     containers and initContainers
//	deployment/files                     an image volume
//	deployment/main/args                 arguments
//	deployment/main/IMAGE                an environment variable
//
// and so on for statefulset, daemonset, job, cronjob and hook, the CronJob that is a hook.
func (c *cluster) images(t testing.TB, r *helmv2.HelmRelease) map[string]string {
	t.Helper()
	found := map[string]string{}
	for _, list := range []client.ObjectList{
		&appsv1.DeploymentList{}, &appsv1.StatefulSetList{}, &appsv1.DaemonSetList{}, &batchv1.JobList{}, &batchv1.CronJobList{},
	} {
		if err := c.client.List(t.Context(), list, client.InNamespace(r.Namespace), client.MatchingLabels{"release": r.Name}); err != nil {
			t.Fatal(err)
		}
		err := apimeta.EachListItem(list, func(o runtime.Object) error {
			template := podTemplate(o)
			workload := strings.TrimPrefix(template.Labels["pods"], r.Name+"-")
			for _, container := range append(template.Spec.InitContainers, template.Spec.Containers...) {
				at := workload + "/" + container.Name
				found[at] = container.Image
				if len(container.Args) > 0 {
					found[at+"/args"] = strings.Join(container.Args, " ")
				}
				for _, variable := range container.Env {
					found[at+"/"+variable.Name] = variable.Value
				}
			}
			for _, volume := range template.Spec.Volumes {
				if volume.Image != nil {
					found[workload+"/"+volume.Name] = volume.Image.Reference
				}
			}
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	return found
}

func podTemplate(o runtime.Object) corev1.PodTemplateSpec {
	switch o := o.(type) {
	case *appsv1.Deployment:
		return o.Spec.Template
	case *appsv1.StatefulSet:
		return o.Spec.Template
	case *appsv1.DaemonSet:
		return o.Spec.Template
	case *batchv1.Job:
		return o.Spec.Template
	case *batchv1.CronJob:
		return o.Spec.JobTemplate.Spec.Template
	}
	panic(fmt.Sprintf("%T is no workload", o))
}
