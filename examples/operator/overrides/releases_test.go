// SPDX-License-Identifier: Apache-2.0

package overrides

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/cozystack/image-overrides/imageoverrides"
	"github.com/cozystack/image-overrides/postrender"
	helmv2 "github.com/fluxcd/helm-controller/api/v2"
	"github.com/fluxcd/pkg/apis/kustomize"
	"github.com/prometheus/client_golang/prometheus/testutil"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/events"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"
)

// look has a release looked at, and returns when it will be again.
func look(t *testing.T, r *Releases, name string) time.Duration {
	t.Helper()
	result, err := r.Reconcile(t.Context(), ctrl.Request{NamespacedName: types.NamespacedName{Namespace: "default", Name: name}})
	if err != nil {
		t.Fatal(err)
	}
	return result.RequeueAfter
}

// TestConflict: an edit between reading and writing a release is kept, and the table comes in once the
// cache has heard of it. Until then it is asked less and less often.
func TestConflict(t *testing.T) {
	c := clusterOf(t, releaseOf("a"), secretOf(good))
	stale := get(t, c, "a")
	edited := stale.DeepCopy()
	edited.Spec.PostRenderers = append(edited.Spec.PostRenderers, releaseOf("a").Spec.PostRenderers...)
	if err := c.Update(t.Context(), edited); err != nil {
		t.Fatal(err)
	}

	cache := &staleReader{c, stale}
	r := &Releases{Client: cache, Source: &Source{Reader: c, Secret: secretKey}}
	var waits []time.Duration
	for range 12 {
		waits = append(waits, look(t, r, "a"))
	}
	const ms = time.Millisecond
	equal(t, "waits", waits, []time.Duration{200 * ms, 400 * ms, 800 * ms, 1600 * ms, 3200 * ms, 6400 * ms, 12800 * ms, 25600 * ms, 51200 * ms, time.Minute, time.Minute, time.Minute})

	cache.release = edited
	if again := look(t, r, "a"); again != 0 {
		t.Errorf("asked again after %s", again)
	}
	equal(t, "the release", get(t, c, "a").Spec.PostRenderers, postrender.Merge(edited.Spec.PostRenderers, newTable(t, "v2")))
	// The next conflict begins anew, and so does one after which somebody else wrote the table.
	for _, then := range []*helmv2.HelmRelease{get(t, c, "a"), nil} {
		cache.release = stale
		if again := look(t, r, "a"); again != hears {
			t.Errorf("the next conflict waits %s", again)
		}
		if then != nil {
			cache.release = then
			look(t, r, "a")
		}
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

// TestDeleted: a release that is being deleted is nobody's business, and one that is gone neither.
func TestDeleted(t *testing.T) {
	release := releaseOf("a")
	now := metav1.Now()
	release.DeletionTimestamp, release.Finalizers = &now, []string{"finalizers.example.org/a"}
	for _, table := range []string{good, "["} {
		c := clusterOf(t, release.DeepCopy(), secretOf(table))
		source := &Source{Reader: c, Secret: secretKey}
		r := &Releases{Client: c, Source: source}
		look(t, r, "a")
		look(t, r, "b")
		got := get(t, c, "a")
		if err := (&Admission{Source: source}).Default(t.Context(), got, nil); err != nil {
			t.Errorf("%s: %v", table, err)
		}
		equal(t, table, got.Spec, release.Spec)
	}
}

// TestAll: who is looked at when the Secret has changed.
func TestAll(t *testing.T) {
	boom := apierrors.NewInternalError(errors.New("boom"))
	for why, test := range map[string]struct {
		table string
		want  []string
	}{
		"a table":        {good, []string{"default/a", "default/b"}},
		"an empty table": {"[]", []string{"default/a", "default/b"}},
		"a broken table": {"[", nil},
	} {
		secret := secretOf(test.table)
		c := clusterOf(t, releaseOf("a"), releaseOf("b"), secret)
		all := func(c client.Client, source client.Reader) (names []string) {
			r := &Releases{Client: c, Source: &Source{Reader: source, Secret: secretKey}}
			for _, req := range r.all(t.Context(), secret) {
				names = append(names, req.String())
			}
			return names
		}
		equal(t, why, all(c, c), test.want)
		equal(t, why+", and the Secret cannot be read", all(c, failing(c, boom)), []string(nil))
		unlisted := interceptor.NewClient(c, interceptor.Funcs{
			List: func(context.Context, client.WithWatch, client.ObjectList, ...client.ListOption) error { return boom },
		})
		equal(t, why+", and the releases cannot be listed", all(unlisted, c), []string(nil))
		if err := c.Delete(t.Context(), secret); err != nil {
			t.Fatal(err)
		}
		equal(t, why+", and the Secret is gone", all(c, c), []string(nil))
	}
}

// TestUnreadable: while the API server does not answer, a release is asked for again, and is not written.
func TestUnreadable(t *testing.T) {
	boom := apierrors.NewInternalError(errors.New("boom"))
	c := clusterOf(t, releaseOf("a"), secretOf(good))
	req := ctrl.Request{NamespacedName: types.NamespacedName{Namespace: "default", Name: "a"}}
	refusing := interceptor.NewClient(c, interceptor.Funcs{
		Patch: func(context.Context, client.WithWatch, client.Object, client.Patch, ...client.PatchOption) error {
			return boom
		},
	})
	for why, r := range map[string]*Releases{
		"the Secret":  {Client: c, Source: &Source{Reader: failing(c, boom), Secret: secretKey}},
		"the release": {Client: failing(c, boom), Source: &Source{Reader: c, Secret: secretKey}},
		"writing":     {Client: refusing, Source: &Source{Reader: c, Secret: secretKey}},
	} {
		if result, err := r.Reconcile(t.Context(), req); !errors.Is(err, boom) || result != (ctrl.Result{}) {
			t.Errorf("%s: %+v, %v", why, result, err)
		}
		equal(t, why, get(t, c, "a").Spec, releaseOf("a").Spec)
	}
}

// TestGone: a release that is deleted between reading and writing is no error.
func TestGone(t *testing.T) {
	c := clusterOf(t, releaseOf("a"), secretOf(good))
	gone := interceptor.NewClient(c, interceptor.Funcs{
		Patch: func(context.Context, client.WithWatch, client.Object, client.Patch, ...client.PatchOption) error {
			return apierrors.NewNotFound(helmv2.GroupVersion.WithResource("helmreleases").GroupResource(), "a")
		},
	})
	if again := look(t, &Releases{Client: gone, Source: &Source{Reader: c, Secret: secretKey}}, "a"); again != 0 {
		t.Errorf("looks again after %s", again)
	}
}

// TestOwner: the fields are written under the operator's name.
func TestOwner(t *testing.T) {
	c := clusterOf(t, releaseOf("a"), secretOf(good))
	var owners []string
	recorded := interceptor.NewClient(c, interceptor.Funcs{
		Patch: func(ctx context.Context, c client.WithWatch, obj client.Object, patch client.Patch, opts ...client.PatchOption) error {
			var o client.PatchOptions
			owners = append(owners, o.ApplyOptions(opts).FieldManager)
			return c.Patch(ctx, obj, patch, opts...)
		},
	})
	look(t, &Releases{Client: recorded, Source: &Source{Reader: c, Secret: secretKey}, Owner: "image-overrides-1a2b3c4d"}, "a")
	equal(t, "the owners", owners, []string{"image-overrides-1a2b3c4d"})
}

// A rival is another writer of a release, with a table of its own.
func rival(t *testing.T, c client.Client, table imageoverrides.Table) {
	t.Helper()
	release := get(t, c, "a")
	if !postrender.Ensure(release, table) {
		t.Fatal("nothing to contest")
	}
	if err := c.Update(t.Context(), release); err != nil {
		t.Fatal(err)
	}
}

// noted takes the Events so far.
func noted(r *events.FakeRecorder) (list []string) {
	for {
		select {
		case e := <-r.Events:
			list = append(list, e)
		default:
			return list
		}
	}
}

// contestedMetric reads image_overrides_contested_releases.
func contestedMetric(r *Releases) float64 { return testutil.ToFloat64(r.Contested()) }

// TestContested: where somebody writes another table over this one, again and again, this one comes back
// at once, then later and later. It is told, and it ends when the other stops.
func TestContested(t *testing.T) {
	for _, other := range []struct {
		why   string
		table imageoverrides.Table
		now   string // how the Event names it
	}{
		{"another table", newTable(t, "v3"), newTable(t, "v3").Hash()[:12]},
		{"none", func() imageoverrides.Table { empty, _ := imageoverrides.New(); return empty }(), "none"},
	} {
		t.Run(other.why, func(t *testing.T) {
			c := clusterOf(t, releaseOf("a"), secretOf(good))
			recorder := events.NewFakeRecorder(100)
			now := time.Unix(0, 0)
			r := &Releases{Client: c, Source: &Source{Reader: c, Secret: secretKey}, Events: recorder, now: func() time.Time { return now }}
			ours := newTable(t, "v2")
			carries := func(table imageoverrides.Table) {
				t.Helper()
				equal(t, "the release", get(t, c, "a").Spec.PostRenderers, postrender.Merge(releaseOf("a").Spec.PostRenderers, table))
			}
			before := testutil.ToFloat64(undone)
			if again := look(t, r, "a"); again != 0 {
				t.Errorf("asked again after %s", again)
			}
			carries(ours)

			rival(t, c, other.table)
			if again := look(t, r, "a"); again != 0 {
				t.Errorf("after one slip of the other it waits %s", again)
			}
			carries(ours)
			equal(t, "Events after one", noted(recorder), []string(nil))
			equal(t, "contested after one", contestedMetric(r), 0.0)

			want := firstWait
			for times := 2; times < 15; times++ {
				rival(t, c, other.table)
				if again := look(t, r, "a"); again != want {
					t.Fatalf("time %d: waits %s, want %s", times, again, want)
				}
				equal(t, "Events", noted(recorder), []string{fmt.Sprintf("Warning ImageOverridesContested somebody has written over the table of image overrides "+
					"%d times in a row, now with %s; each time is an upgrade. It is written again in %s. Find the other writer in metadata.managedFields", times, other.now, want)})
				equal(t, "contested", contestedMetric(r), 1.0)
				now = now.Add(want - 1)
				if again := look(t, r, "a"); again != 1 {
					t.Errorf("time %d: asked too early, it waits %s", times, again)
				}
				carries(other.table)
				now = now.Add(1)
				if again := look(t, r, "a"); again != 0 {
					t.Errorf("time %d: waits %s more", times, again)
				}
				carries(ours)
				if want *= 2; want > longest {
					want = longest
				}
			}
			if want != longest {
				t.Errorf("the last wait was %s", want)
			}
			equal(t, "how often it was undone", testutil.ToFloat64(undone)-before, 14.0)

			// The other stops.
			if again := look(t, r, "a"); again != calm {
				t.Errorf("looks again after %s, want %s", again, calm)
			}
			now = now.Add(calm - 1)
			if again := look(t, r, "a"); again != 1 || contestedMetric(r) != 1 {
				t.Errorf("looks again after %s", again)
			}
			equal(t, "Events", noted(recorder), []string(nil))
			now = now.Add(1)
			equal(t, "contested, and not looked at", contestedMetric(r), 0.0)
			if again := look(t, r, "a"); again != 0 {
				t.Errorf("looks again after %s", again)
			}
			equal(t, "Events at the end", noted(recorder), []string{"Normal ImageOverridesSettled nobody else writes a table of image overrides any more"})
			look(t, r, "a")
			equal(t, "Events after the end", noted(recorder), []string(nil))
			// And begins again, as at first.
			rival(t, c, other.table)
			if again := look(t, r, "a"); again != 0 {
				t.Errorf("waits %s", again)
			}
			carries(ours)
			equal(t, "Events", noted(recorder), []string(nil))
		})
	}
}

// TestRare: what is written over once in a long while is written again at once, each time.
func TestRare(t *testing.T) {
	c := clusterOf(t, releaseOf("a"), secretOf(good))
	now := time.Unix(0, 0)
	r := &Releases{Client: c, Source: &Source{Reader: c, Secret: secretKey}, now: func() time.Time { return now }}
	look(t, r, "a")
	for range 5 {
		now = now.Add(calm)
		rival(t, c, newTable(t, "v3"))
		if again := look(t, r, "a"); again != 0 || !postrender.Carries(get(t, c, "a").Spec.PostRenderers, newTable(t, "v2")) {
			t.Errorf("waits %s", again)
		}
	}
}

// TestContestedEmpty: an empty table, which takes tables out, is contested by one that comes back.
func TestContestedEmpty(t *testing.T) {
	c := clusterOf(t, releaseOf("a"), secretOf("[]"))
	now := time.Unix(0, 0)
	r := &Releases{Client: c, Source: &Source{Reader: c, Secret: secretKey}, now: func() time.Time { return now }}
	var waits []time.Duration
	for range 4 {
		rival(t, c, newTable(t, "v3"))
		wait := look(t, r, "a")
		waits = append(waits, wait)
		now = now.Add(wait)
		look(t, r, "a")
		equal(t, "the release", get(t, c, "a").Spec.PostRenderers, releaseOf("a").Spec.PostRenderers)
	}
	equal(t, "waits", waits, []time.Duration{0, 0, firstWait, 2 * firstWait}) // there was one before
}

// TestForgotten: of a release that is gone, or not chosen any more, nothing is kept.
func TestForgotten(t *testing.T) {
	c := clusterOf(t, releaseOf("a"), secretOf(good))
	stale := get(t, c, "a")
	cache := &staleReader{c, stale}
	r := &Releases{Client: c, Source: &Source{Reader: c, Secret: secretKey}}
	look(t, r, "a")
	r.Client = cache
	look(t, r, "a") // a conflict
	equal(t, "what is kept", []int{len(r.memory.releases), len(r.memory.refused)}, []int{1, 1})
	r.Client = c
	if err := c.Delete(t.Context(), get(t, c, "a")); err != nil {
		t.Fatal(err)
	}
	look(t, r, "a")
	equal(t, "what is kept", []int{len(r.memory.releases), len(r.memory.refused)}, []int{0, 0})
}

func TestBackoff(t *testing.T) {
	for n, want := range map[int]time.Duration{-1: 0, 0: 0, 1: 3, 2: 6, 3: 12, 4: 20, 5: 20, 64: 20, 1_000_000_000: 20} {
		if got := backoff(n, 3, 20); got != want {
			t.Errorf("%d times: %d, want %d", n, got, want)
		}
	}
}

// TestContestedNewTable: a change of the table goes out at once, and the contest goes on.
func TestContestedNewTable(t *testing.T) {
	secret := secretOf(good)
	c := clusterOf(t, releaseOf("a"), secret)
	now := time.Unix(0, 0)
	r := &Releases{Client: c, Source: &Source{Reader: c, Secret: secretKey}, now: func() time.Time { return now }}
	look(t, r, "a")
	for range 3 {
		rival(t, c, newTable(t, "v3"))
		now = now.Add(look(t, r, "a"))
		look(t, r, "a")
	}
	rival(t, c, newTable(t, "v3"))
	if again := look(t, r, "a"); again != 4*firstWait {
		t.Errorf("waits %s", again)
	}
	secret.Data = secretOf(`[{name: nginx, newTag: v4}]`).Data
	if err := c.Update(t.Context(), secret); err != nil {
		t.Fatal(err)
	}
	if again := look(t, r, "a"); again != 0 || !postrender.Carries(get(t, c, "a").Spec.PostRenderers, newTable(t, "v4")) {
		t.Errorf("a new table waits %s", again)
	}
	rival(t, c, newTable(t, "v3"))
	if again := look(t, r, "a"); again != 8*firstWait {
		t.Errorf("waits %s", again)
	}
	// The other one takes over this table: in step.
	rival(t, c, newTable(t, "v4"))
	if again := look(t, r, "a"); again != calm {
		t.Errorf("looks again after %s", again)
	}
	// While there is no Secret, nothing is in step and nothing is not.
	if err := c.Delete(t.Context(), secret); err != nil {
		t.Fatal(err)
	}
	if again := look(t, r, "a"); again != 0 {
		t.Errorf("without a Secret looks again after %s", again)
	}
}

// TestTwoOperators: two of these with two tables and one release cost it some fifty upgrades in a
// day, not one for each write of the other.
func TestTwoOperators(t *testing.T) {
	secret := secretOf(`[{name: nginx, newTag: v3}]`)
	secret.Name = "other"
	c := clusterOf(t, releaseOf("a"), secretOf(good), secret)
	now := time.Unix(0, 0)
	clock := func() time.Time { return now }
	operators := [2]*Releases{
		{Client: c, Source: &Source{Reader: c, Secret: secretKey}, now: clock},
		{Client: c, Source: &Source{Reader: c, Secret: client.ObjectKeyFromObject(secret)}, now: clock},
	}
	var next [2]time.Time
	for now.Before(time.Unix(0, 0).Add(24 * time.Hour)) {
		for i, r := range operators {
			if next[i].After(now) {
				continue
			}
			before := get(t, c, "a").Generation
			if before > 200 {
				t.Fatalf("%d upgrades in %s", before, now.Sub(time.Unix(0, 0)))
			}
			again := look(t, r, "a")
			next[i] = now.Add(again)
			if again == 0 {
				next[i] = now.Add(1000 * time.Hour)
			}
			if get(t, c, "a").Generation > before {
				next[1-i] = now // hears of it
			}
		}
		if now = next[0]; next[1].Before(now) {
			now = next[1]
		}
	}
	writes := get(t, c, "a").Generation
	t.Logf("%d writes in a day", writes)
	if writes > 80 {
		t.Errorf("%d writes in a day", writes)
	}
	for _, r := range operators {
		equal(t, "contested", contestedMetric(r), 1.0)
	}
}

// TestOwnersEdits: an owner's edits, however many, are no contest as long as the table stays in the
// release, in whatever place, and neither is a release that was written anew, nor what the cache
// has not heard of.
func TestOwnersEdits(t *testing.T) {
	c := clusterOf(t, releaseOf("a"), secretOf(good))
	recorder := events.NewFakeRecorder(100)
	cache := &staleReader{c, get(t, c, "a")}
	r := &Releases{Client: c, Source: &Source{Reader: c, Secret: secretKey}, Events: recorder, now: func() time.Time { return time.Unix(0, 0) }}
	before := testutil.ToFloat64(undone)
	look(t, r, "a")
	images := helmv2.PostRenderer{Kustomize: &helmv2.Kustomize{Images: []kustomize.Image{{Name: "own", NewTag: "v1"}}}}
	for edit := range 10 {
		release := get(t, c, "a")
		release.Spec.PostRenderers = slices.Insert(release.Spec.PostRenderers, edit%len(release.Spec.PostRenderers)+edit%2, images)
		if err := c.Update(t.Context(), release); err != nil {
			t.Fatal(err)
		}
		want := postrender.Merge(release.Spec.PostRenderers, newTable(t, "v2"))
		if again := look(t, r, "a"); again != 0 {
			t.Errorf("edit %d: waits %s", edit, again)
		}
		equal(t, "the release", get(t, c, "a").Spec.PostRenderers, want)
	}

	// The cache shows the release as it was before the first write.
	r.Client = cache
	if again := look(t, r, "a"); again != hears {
		t.Errorf("a stale cache waits %s", again)
	}
	// Another release under the same name.
	r.Client = c
	for _, uid := range []types.UID{"1", "2", "3"} {
		release := get(t, c, "a")
		if err := c.Delete(t.Context(), release); err != nil {
			t.Fatal(err)
		}
		release = releaseOf("a")
		release.UID, release.Generation = uid, 1000
		if err := c.Create(t.Context(), release); err != nil {
			t.Fatal(err)
		}
		if again := look(t, r, "a"); again != 0 {
			t.Errorf("a new release waits %s", again)
		}
	}
	equal(t, "Events", noted(recorder), []string(nil))
	equal(t, "how often it was undone", testutil.ToFloat64(undone)-before, 0.0)
	// A table of the same hash with other entries is another one.
	release := get(t, c, "a")
	release.Spec.PostRenderers[len(release.Spec.PostRenderers)-1].Kustomize.Images[1].NewTag = "v9"
	if err := c.Update(t.Context(), release); err != nil {
		t.Fatal(err)
	}
	look(t, r, "a")
	equal(t, "how often it was undone", testutil.ToFloat64(undone)-before, 1.0)
}
