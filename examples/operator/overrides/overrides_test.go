// SPDX-License-Identifier: Apache-2.0

package overrides

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/cozystack/image-overrides/imageoverrides"
	"github.com/cozystack/image-overrides/postrender"
	helmv2 "github.com/fluxcd/helm-controller/api/v2"
	"github.com/fluxcd/pkg/apis/kustomize"
	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/client_golang/prometheus/testutil"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/events"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"
)

// What needs no server. The rest is held against a real one, with the real Flux, in internal/e2e.

var secretKey = types.NamespacedName{Namespace: "cozy-system", Name: "cozystack-values"}

func secretOf(table string) *corev1.Secret {
	return &corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{Namespace: secretKey.Namespace, Name: secretKey.Name},
		Data:       map[string][]byte{"values.yaml": []byte("_cluster:\n  image-overrides: " + table + "\n")},
	}
}

func releaseOf(name string) *helmv2.HelmRelease {
	own := helmv2.PostRenderer{Kustomize: &helmv2.Kustomize{Patches: []kustomize.Patch{{Patch: "own"}}}}
	return &helmv2.HelmRelease{
		ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: name},
		Spec:       helmv2.HelmReleaseSpec{PostRenderers: []helmv2.PostRenderer{own}},
	}
}

func schemeOf(t *testing.T) *runtime.Scheme {
	scheme := runtime.NewScheme()
	if err := errors.Join(corev1.AddToScheme(scheme), helmv2.AddToScheme(scheme)); err != nil {
		t.Fatal(err)
	}
	return scheme
}

// clusterOf is an API server with these objects, which counts the generations of releases.
func clusterOf(t *testing.T, objects ...client.Object) client.WithWatch {
	written := func(ctx context.Context, c client.Client, obj client.Object) error {
		release, ok := obj.(*helmv2.HelmRelease)
		if !ok {
			return nil
		}
		release.Generation++
		return c.Update(ctx, release)
	}
	return fake.NewClientBuilder().WithScheme(schemeOf(t)).WithObjects(objects...).WithInterceptorFuncs(interceptor.Funcs{
		Update: func(ctx context.Context, c client.WithWatch, obj client.Object, opts ...client.UpdateOption) error {
			if err := c.Update(ctx, obj, opts...); err != nil {
				return err
			}
			return written(ctx, c, obj)
		},
		Patch: func(ctx context.Context, c client.WithWatch, obj client.Object, patch client.Patch, opts ...client.PatchOption) error {
			if err := c.Patch(ctx, obj, patch, opts...); err != nil {
				return err
			}
			return written(ctx, c, obj)
		},
	}).Build()
}

// failing is an API server that has an answer of its own to every read.
func failing(c client.WithWatch, err error) client.Client {
	return interceptor.NewClient(c, interceptor.Funcs{
		Get: func(context.Context, client.WithWatch, client.ObjectKey, client.Object, ...client.GetOption) error {
			return err
		},
	})
}

// newTable is the table of one tag for nginx.
func newTable(t *testing.T, tag string) imageoverrides.Table {
	t.Helper()
	table, err := imageoverrides.New(imageoverrides.Override{Name: "nginx", NewTag: tag})
	if err != nil {
		t.Fatal(err)
	}
	return table
}

// get reads a release.
func get(t *testing.T, c client.Client, name string) *helmv2.HelmRelease {
	t.Helper()
	release := &helmv2.HelmRelease{}
	if err := c.Get(t.Context(), types.NamespacedName{Namespace: "default", Name: name}, release); err != nil {
		t.Fatal(err)
	}
	return release
}

// equal fails where two structures differ.
func equal(t *testing.T, what string, got, want any) {
	t.Helper()
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("%s: -want +got\n%s", what, diff)
	}
}

const good = `[{name: nginx, newTag: v2}]`

// TestStates: what becomes of a release, and who is told what, in each state of the Secret.
func TestStates(t *testing.T) {
	const fault = `_cluster.image-overrides[1]: "redis" sets none of newName, newTag, digest`
	for _, test := range []struct {
		why    string
		secret *corev1.Secret
		hash   bool   // whether the release gets the table
		event  string // the Event; how its note starts where there are faults
		faults int
	}{
		{"no Secret", nil, false, "", 0},
		{"a table", secretOf(good), true, "Normal ImageOverridesRead 1 entries, hash " + newTable(t, "v2").Hash(), 0},
		{"an empty table", secretOf("[]"), false, "Normal ImageOverridesRead 0 entries, hash 4f53cda18c2baa0c0354bb5f9a3ecbe5ed12ab4d8e11ba873c2f11161202b945", 0},
		{"a faulty entry", secretOf(`[{name: nginx, newTag: v2}, {name: redis}]`), false, fault, 1},
		{"an entry that Flux panics on", secretOf(`[{name: "[", newTag: v2}]`), false, `_cluster.image-overrides[0]`, 1},
		{"no YAML", secretOf("["), false, "line ", 1},
		{"no values.yaml", &corev1.Secret{ObjectMeta: secretOf("").ObjectMeta}, false, `the Secret has no key "values.yaml"`, 1},
		{"many faulty entries", secretOf("[" + strings.Repeat("{name: nginx}, ", 100) + "]"), false, "_cluster.image-overrides[0]: ", 10},
		{"long faults", secretOf("[" + strings.Repeat("{name: "+strings.Repeat("x", 500)+"}, ", 20) + "]"), false, `_cluster.image-overrides[0]: "xxx`, 10},
	} {
		t.Run(test.why, func(t *testing.T) {
			objects := []client.Object{releaseOf("a")}
			if test.secret != nil {
				objects = append(objects, test.secret)
			}
			c := clusterOf(t, objects...)
			recorder := events.NewFakeRecorder(10)
			source := &Source{Reader: c, Secret: secretKey, Events: recorder}
			r := &Releases{Client: c, Source: source}
			key := types.NamespacedName{Namespace: "default", Name: "a"}
			for range 2 { // the second changes nothing and tells nothing
				if _, err := r.Reconcile(t.Context(), ctrl.Request{NamespacedName: key}); err != nil {
					t.Fatal(err)
				}
			}
			want := releaseOf("a").Spec.PostRenderers
			if test.hash {
				want = append(want, postrender.Renderer(newTable(t, "v2")))
			}
			equal(t, "the release", get(t, c, "a").Spec.PostRenderers, want)
			if test.faults > 0 {
				_, err := imageoverrides.ParseSecret(test.secret.Data)
				note := err.Error()
				if len(note) > maxNote {
					note = note[:maxNote-len("…")] + "…"
				}
				if !strings.HasPrefix(note, test.event) {
					t.Errorf("the library says %q, want %q", note, test.event)
				}
				test.event = "Warning ImageOverridesBroken " + note
			}
			close(recorder.Events)
			equal(t, "the Event", <-recorder.Events, test.event)
			if more := <-recorder.Events; more != "" {
				t.Errorf("a second event: %q", more)
			}
			if n := testutil.CollectAndCount(tableFault); n != test.faults {
				t.Errorf("%d faults in the metric, want %d", n, test.faults)
			}
		})
	}
}
