// SPDX-License-Identifier: Apache-2.0

package overrides

import (
	"context"
	"errors"
	"reflect"
	"strings"
	"testing"

	"github.com/cozystack/image-overrides/imageoverrides"
	"github.com/cozystack/image-overrides/postrender"
	helmv2 "github.com/fluxcd/helm-controller/api/v2"
	"github.com/fluxcd/pkg/apis/kustomize"
	"github.com/prometheus/client_golang/prometheus/testutil"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/events"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
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

const good = `[{name: nginx, newTag: v2}]`

// TestStates: what becomes of a release, and who is told what, in each state of the Secret.
func TestStates(t *testing.T) {
	const fault = `_cluster.image-overrides[1]: "redis" sets none of newName, newTag, digest`
	for _, test := range []struct {
		why    string
		secret *corev1.Secret
		hash   bool   // whether the release gets the table
		event  string // how the Event starts
		faults int
	}{
		{"no Secret", nil, false, "", 0},
		{"a table", secretOf(good), true, "Normal ImageOverridesRead 1 entries, hash ", 0},
		{"an empty table", secretOf("[]"), false, "Normal ImageOverridesRead 0 entries, hash ", 0},
		{"a faulty entry", secretOf(`[{name: nginx, newTag: v2}, {name: redis}]`), false, "Warning ImageOverridesBroken " + fault, 1},
		{"an entry that Flux panics on", secretOf(`[{name: "[", newTag: v2}]`), false, `Warning ImageOverridesBroken overrides[0]: `, 1},
		{"no YAML", secretOf("["), false, "Warning ImageOverridesBroken line ", 1},
		{"no values.yaml", &corev1.Secret{ObjectMeta: secretOf("").ObjectMeta}, false, `Warning ImageOverridesBroken the Secret has no key "values.yaml"`, 1},
		{"many faulty entries", secretOf("[" + strings.Repeat("{name: nginx}, ", 100) + "]"), false, "Warning ImageOverridesBroken _cluster.image-overrides[0]: ", 10},
	} {
		t.Run(test.why, func(t *testing.T) {
			objects := []client.Object{releaseOf("a")}
			if test.secret != nil {
				objects = append(objects, test.secret)
			}
			c := fake.NewClientBuilder().WithScheme(schemeOf(t)).WithObjects(objects...).Build()
			recorder := events.NewFakeRecorder(10)
			source := &Source{Reader: c, Secret: secretKey, Events: recorder}
			r := &Releases{Client: c, Source: source}
			key := types.NamespacedName{Namespace: "default", Name: "a"}
			for range 2 { // the second changes nothing and tells nothing
				if _, err := r.Reconcile(t.Context(), ctrl.Request{NamespacedName: key}); err != nil {
					t.Fatal(err)
				}
			}
			var got helmv2.HelmRelease
			if err := c.Get(t.Context(), key, &got); err != nil {
				t.Fatal(err)
			}
			if _, ok := postrender.Hash(got.Spec.PostRenderers); ok != test.hash {
				t.Errorf("the release carries a table: %v, want %v", ok, test.hash)
			}
			if !reflect.DeepEqual(got.Spec.PostRenderers[:1], releaseOf("a").Spec.PostRenderers) {
				t.Errorf("the release's own post-renderers are %+v", got.Spec.PostRenderers)
			}
			close(recorder.Events)
			if event := <-recorder.Events; event == "" != (test.event == "") || !strings.HasPrefix(event, test.event) || len(event) > maxNote+100 {
				t.Errorf("event %q, want %q", event, test.event)
			}
			if more := <-recorder.Events; more != "" {
				t.Errorf("a second event: %q", more)
			}
			if n := testutil.CollectAndCount(tableFault); n != test.faults {
				t.Errorf("%d faults in the metric, want %d", n, test.faults)
			}

			release := releaseOf("b")
			err := (&Admission{source}).Default(t.Context(), release)
			if test.faults == 0 {
				if _, ok := postrender.Hash(release.Spec.PostRenderers); err != nil || ok != test.hash {
					t.Errorf("the API server says %v, and the release carries a table: %v", err, ok)
				}
				return
			}
			_, message, _ := strings.Cut(test.event, "Broken ")
			if !apierrors.IsForbidden(err) || !strings.Contains(err.Error(), message) || len(release.Spec.PostRenderers) > 1 {
				t.Errorf("the API server says %v, want %q", err, message)
			}
		})
	}
}

// TestConflict: an edit between reading and writing a release is kept, and the table comes in once the
// cache has heard of it.
func TestConflict(t *testing.T) {
	c := fake.NewClientBuilder().WithScheme(schemeOf(t)).WithObjects(releaseOf("a"), secretOf(good)).Build()
	stale := releaseOf("a")
	key := client.ObjectKeyFromObject(stale)
	if err := c.Get(t.Context(), key, stale); err != nil {
		t.Fatal(err)
	}
	edited := stale.DeepCopy()
	edited.Spec.PostRenderers = append(edited.Spec.PostRenderers, releaseOf("a").Spec.PostRenderers...)
	if err := c.Update(t.Context(), edited); err != nil {
		t.Fatal(err)
	}

	cache := &staleReader{c, stale}
	r := &Releases{Client: cache, Source: &Source{Reader: c, Secret: secretKey}}
	again, err := r.Reconcile(t.Context(), ctrl.Request{NamespacedName: key})
	if err != nil || again.RequeueAfter == 0 {
		t.Fatalf("%+v, %v: want to be asked again", again, err)
	}
	cache.release = edited
	if again, err := r.Reconcile(t.Context(), ctrl.Request{NamespacedName: key}); err != nil || again.RequeueAfter != 0 {
		t.Fatalf("%+v, %v", again, err)
	}
	var got helmv2.HelmRelease
	if err := c.Get(t.Context(), key, &got); err != nil {
		t.Fatal(err)
	}
	if _, ok := postrender.Hash(got.Spec.PostRenderers); !ok || len(got.Spec.PostRenderers) != 3 {
		t.Errorf("the release has %+v", got.Spec.PostRenderers)
	}
}

// staleReader is a client whose cache knows one state of a release.
type staleReader struct {
	client.Client
	release *helmv2.HelmRelease
}

func (s *staleReader) Get(_ context.Context, _ client.ObjectKey, obj client.Object, _ ...client.GetOption) error {
	s.release.DeepCopyInto(obj.(*helmv2.HelmRelease))
	return nil
}

// TestDeleted: a release that is being deleted is nobody's business.
func TestDeleted(t *testing.T) {
	release := releaseOf("a")
	now := metav1.Now()
	release.DeletionTimestamp, release.Finalizers = &now, []string{"finalizers.example.org/a"}
	for _, table := range []string{good, "["} {
		c := fake.NewClientBuilder().WithScheme(schemeOf(t)).WithObjects(release.DeepCopy(), secretOf(table)).Build()
		source := &Source{Reader: c, Secret: secretKey}
		if _, err := (&Releases{Client: c, Source: source}).Reconcile(t.Context(), ctrl.Request{NamespacedName: client.ObjectKeyFromObject(release)}); err != nil {
			t.Fatal(err)
		}
		var got helmv2.HelmRelease
		if err := c.Get(t.Context(), client.ObjectKeyFromObject(release), &got); err != nil {
			t.Fatal(err)
		}
		if err := (&Admission{source}).Default(t.Context(), &got); err != nil || !reflect.DeepEqual(got.Spec, release.Spec) {
			t.Errorf("%s: %v, %+v", table, err, got.Spec)
		}
	}
}

// TestCarried: the metric of which releases carry which table.
func TestCarried(t *testing.T) {
	table, err := imageoverrides.New(imageoverrides.Override{Name: "nginx", NewTag: "v2"})
	if err != nil {
		t.Fatal(err)
	}
	a, b, other := releaseOf("a"), releaseOf("b"), releaseOf("c")
	postrender.Ensure(a, table)
	postrender.Ensure(b, table)
	c := fake.NewClientBuilder().WithScheme(schemeOf(t)).WithObjects(a, b, other).Build()
	want := "# HELP image_overrides_releases How many releases carry the table with that hash, empty for none.\n" +
		"# TYPE image_overrides_releases gauge\n" +
		"image_overrides_releases{hash=\"\"} 1\nimage_overrides_releases{hash=\"" + table.Hash()[:12] + "\"} 2\n"
	if err := testutil.CollectAndCompare(&Carried{Reader: c}, strings.NewReader(want)); err != nil {
		t.Error(err)
	}
}
