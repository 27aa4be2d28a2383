// SPDX-License-Identifier: Apache-2.0

package overrides

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/cozystack/image-overrides/imageoverrides"
	"github.com/cozystack/image-overrides/postrender"
	"github.com/cozystack/image-overrides/reference"
	helmv2 "github.com/fluxcd/helm-controller/api/v2"
	"github.com/prometheus/client_golang/prometheus/testutil"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/client-go/tools/events"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"
	"sigs.k8s.io/controller-runtime/pkg/event"
)

// What registries say in these tests. The real client, on a registry, is in the operator's own.
var (
	errGone = fmt.Errorf("not there at all: %w", ErrMissing)
	errDown = errors.New("unreachable")
)

// A scene is a Source with a Check and a release, and what is known of both.
type scene struct {
	*testing.T
	cluster  client.WithWatch
	source   *Source
	releases *Releases
	recorder *events.FakeRecorder
	now      time.Time

	mu    sync.Mutex
	says  map[string]error // by image, what its registry says; nil: it is there
	asked []string         // since it was looked at
}

func newScene(t *testing.T, objects ...client.Object) *scene {
	s := &scene{T: t, cluster: clusterOf(t, objects...), says: make(map[string]error)}
	s.restart()
	return s
}

// restart begins a new process on the same cluster.
func (s *scene) restart() {
	s.recorder = events.NewFakeRecorder(100)
	s.now = time.Unix(0, 0)
	s.source = &Source{Reader: s.cluster, Secret: secretKey, Events: s.recorder, now: func() time.Time { return s.now }, Check: s.check}
	s.releases = &Releases{Client: s.cluster, Source: s.source}
}

func (s *scene) check(_ context.Context, images []reference.Image) []error {
	s.mu.Lock()
	defer s.mu.Unlock()
	errs := make([]error, len(images))
	for i, image := range images {
		s.asked = append(s.asked, image.String())
		if err := s.says[image.String()]; err != nil {
			errs[i] = fmt.Errorf("%s: %w", image, err)
		}
	}
	return errs
}

// write writes the table into the Secret, and deletes that for "".
func (s *scene) write(table string) {
	s.Helper()
	var err error
	secret := secretOf(table)
	if table == "" {
		err = s.cluster.Delete(s.Context(), secret)
	} else if err = s.cluster.Update(s.Context(), secret); apierrors.IsNotFound(err) {
		err = s.cluster.Create(s.Context(), secret)
	}
	if err != nil {
		s.Fatal(err)
	}
}

// ask asks, and says what came of it and which images it was about.
func (s *scene) ask(through bool, again time.Duration, asked ...string) {
	s.Helper()
	gotThrough, gotAgain, err := s.source.Ask(s.Context())
	if err != nil || gotThrough != through || gotAgain != again {
		s.Errorf("through %t, again in %s, %v; want %t, %s", gotThrough, gotAgain, err, through, again)
	}
	equal(s.T, "asked", s.asked, asked)
	s.asked = nil
}

// stands tells which table is read, and that a release gets it.
func (s *scene) stands(want string) {
	s.Helper()
	table, err := s.source.Table(s.Context())
	if err != nil {
		s.Fatal(err)
	}
	equal(s.T, "the table", table, parsed(s.T, want))
	look(s.T, s.releases, "a")
	equal(s.T, "the release", get(s.T, s.cluster, "a").Spec.PostRenderers, postrender.Merge(releaseOf("a").Spec.PostRenderers, table))
}

// told tells which Events there were since the last time.
func (s *scene) told(want ...string) {
	s.Helper()
	equal(s.T, "Events", noted(s.recorder), want)
}

func (s *scene) missing(want float64) {
	s.Helper()
	equal(s.T, "image_overrides_missing_images", testutil.ToFloat64(missingImages), want)
}

// parsed is a table as it stands in the Secret; the unknown one of "".
func parsed(t *testing.T, text string) imageoverrides.Table {
	t.Helper()
	if text == "" {
		return imageoverrides.Table{}
	}
	table, err := imageoverrides.ParseSecret(secretOf(text).Data)
	if err != nil {
		t.Fatal(err)
	}
	return table
}

func readEvent(t *testing.T, text string) string {
	table := parsed(t, text)
	return fmt.Sprintf("Normal ImageOverridesRead %d entries, hash %s", table.Len(), table.Hash())
}

const (
	older = `[{name: nginx, newTag: v1}, {name: redis, newName: r.example.org/redis, newTag: "7"}]`
	newer = `[{name: redis, newName: r.example.org/redis, newTag: "7"}, {name: nginx, newTag: v2}, {name: a, newName: r.example.org/a, newTag: "1"}]`
)

// begun is a scene in which the older table was let through.
func begun(t *testing.T) *scene {
	s := newScene(t, releaseOf("a"), secretOf(older))
	s.ask(true, 0, "nginx:v1", "r.example.org/redis:7")
	s.told(readEvent(t, older))
	s.stands(older)
	return s
}

// TestHeld: a table with an image that is not there is held back, asked for again less and less
// often, and only what is not known to be there; it goes out when the image comes.
func TestHeld(t *testing.T) {
	s := begun(t)
	s.write(newer)
	s.says["nginx:v2"] = errGone
	s.stands(older) // while nobody asked
	s.told()
	s.ask(false, 30*time.Second, "nginx:v2", "r.example.org/a:1")
	text := func(again string) string {
		return fmt.Sprintf("Warning ImageOverridesHeld the table with the hash %.12s is held back and releases keep the one that they have: of 2 new images, 1 not there. "+
			"Push them or mend the entries; they are asked for again in %s.\n"+
			`_cluster.image-overrides[1]: "nginx": nginx:v2: not there at all: the image is not there`, parsed(t, newer).Hash(), again)
	}
	s.told(text("30s"))
	s.stands(older)
	s.missing(1)
	for _, wait := range []string{"1m0s", "2m0s", "4m0s", "8m0s", "10m0s", "10m0s"} {
		s.now = s.source.held.until.Add(-1)
		s.ask(false, 1) // it is too early, and nobody is asked
		s.told()
		s.now = s.now.Add(1)
		again, err := time.ParseDuration(wait)
		if err != nil {
			t.Fatal(err)
		}
		s.ask(false, again, "nginx:v2")
		s.told(text(wait))
		s.stands(older)
	}
	delete(s.says, "nginx:v2")
	s.now = s.now.Add(lastAsk)
	s.ask(true, 0, "nginx:v2")
	s.told(readEvent(t, newer))
	s.missing(0)
	s.stands(newer)

	// What was let through is not asked for again, whatever becomes of it or of the rest of the Secret.
	s.says["nginx:v2"] = errGone
	s.write(newer)
	s.ask(false, 0)
	s.stands(newer)
	s.told()
}

// TestUnlearned: where nothing is learned the table goes out, and it is told.
func TestUnlearned(t *testing.T) {
	s := begun(t)
	before := testutil.ToFloat64(uncheckedImages)
	s.write(newer)
	s.says["nginx:v2"] = errDown
	s.ask(true, 0, "nginx:v2", "r.example.org/a:1")
	s.told(fmt.Sprintf("Warning ImageOverridesUnchecked the table with the hash %.12s goes out unchecked: of 2 new images, nothing was learned about 1. "+
		"If pods cannot pull them, mend the entries; see to the operator's credentials and network.\n"+
		`_cluster.image-overrides[1]: "nginx": nginx:v2: unreachable`, parsed(t, newer).Hash()), readEvent(t, newer))
	s.stands(newer)
	s.missing(0)
	equal(t, "image_overrides_unchecked_images_total", testutil.ToFloat64(uncheckedImages)-before, 1.0)
	s.ask(false, 0)
}

// TestAnswersStand: an answer that teaches nothing does not take back that an image is not there; one
// that teaches something does.
func TestAnswersStand(t *testing.T) {
	s := begun(t)
	s.write(newer)
	s.says["nginx:v2"], s.says["r.example.org/a:1"] = errGone, errDown
	s.ask(false, firstAsk, "nginx:v2", "r.example.org/a:1")
	s.missing(1)
	s.now = s.now.Add(firstAsk)
	s.says["nginx:v2"], s.says["r.example.org/a:1"] = errDown, errGone
	s.ask(false, 2*firstAsk, "nginx:v2", "r.example.org/a:1")
	s.missing(2)
	list := noted(s.recorder)
	if got := list[len(list)-1]; !strings.Contains(got, "of 2 new images, 2 not there.") || !strings.HasSuffix(got, ".\n"+
		`_cluster.image-overrides[1]: "nginx": nginx:v2: not there at all: the image is not there`+"\n"+
		`_cluster.image-overrides[2]: "a": r.example.org/a:1: not there at all: the image is not there`) {
		t.Errorf("told %q", got)
	}
	s.now = s.now.Add(2 * firstAsk)
	clear(s.says)
	s.ask(true, 0, "nginx:v2", "r.example.org/a:1")
	s.stands(newer)
}

// TestHeldStates: what becomes of a table that is held back when the Secret changes.
func TestHeldStates(t *testing.T) {
	held := func(t *testing.T) *scene {
		s := begun(t)
		s.write(newer)
		s.says["nginx:v2"] = errGone
		s.ask(false, firstAsk, "nginx:v2", "r.example.org/a:1")
		noted(s.recorder)
		return s
	}
	t.Run("something else in it", func(t *testing.T) {
		s := held(t)
		s.write(newer)
		s.ask(false, firstAsk)
		s.stands(older)
		s.missing(1)
	})
	t.Run("the table of before", func(t *testing.T) {
		s := held(t)
		s.write(older)
		s.ask(false, 0)
		s.stands(older)
		s.missing(0)
		s.told()
	})
	t.Run("another one", func(t *testing.T) {
		s := held(t)
		const other = `[{name: nginx, newTag: v3}]`
		s.write(other)
		s.ask(true, 0, "nginx:v3") // at once
		s.stands(other)
		s.missing(0)
		s.told(readEvent(t, other))
	})
	t.Run("one without new images", func(t *testing.T) {
		s := held(t)
		const other = `[{name: nginx, newTag: v1}, {name: busybox, newName: r.example.org/busybox}]`
		s.write(other)
		s.stands(other)
		s.ask(false, 0)
		s.missing(0)
	})
	t.Run("a broken one, and again", func(t *testing.T) {
		s := held(t)
		s.write("[")
		if table, err := s.source.Table(t.Context()); err == nil || table.Known() {
			t.Errorf("a broken table: %v, %v", table, err)
		}
		s.ask(false, 0)
		s.missing(0)
		s.write(newer)
		s.ask(false, firstAsk, "nginx:v2", "r.example.org/a:1")
		s.stands(older)
		s.missing(1)
	})
	t.Run("none, and again", func(t *testing.T) {
		s := held(t)
		s.write("")
		s.ask(false, 0)
		if table, err := s.source.Table(t.Context()); err != nil || table.Known() {
			t.Errorf("no Secret: %v, %v", table, err)
		}
		s.missing(0)
		s.write(newer)
		s.ask(false, firstAsk, "nginx:v2", "r.example.org/a:1")
		s.stands(older)
	})
}

// TestHeldStart: a process that begins asks for what no release carries, and for nothing else; until it
// knows, releases keep what they have.
func TestHeldStart(t *testing.T) {
	carrying := func(table string) *helmv2.HelmRelease {
		r := releaseOf("a")
		postrender.Ensure(r, parsed(t, table))
		return r
	}
	t.Run("a table that a release carries", func(t *testing.T) {
		s := newScene(t, carrying(newer), secretOf(newer))
		s.says["nginx:v2"] = errGone
		s.ask(false, 0)
		s.stands(newer)
		s.told(readEvent(t, newer))
	})
	t.Run("one that was held back before", func(t *testing.T) {
		s := newScene(t, carrying(older), secretOf(newer))
		for range 2 { // the second process is as the first
			s.restart()
			s.says["nginx:v2"] = errGone
			s.ask(false, firstAsk, "r.example.org/redis:7", "nginx:v2", "r.example.org/a:1")
			table, err := s.source.Table(t.Context())
			if err != nil || table.Known() {
				t.Fatalf("%v, %v", table, err)
			}
			look(t, s.releases, "a")
			written := releaseOf("a") // by somebody, without its table
			if err := (&Admission{Source: s.source}).Default(t.Context(), written, carrying(older)); err != nil {
				t.Fatal(err)
			}
			for _, r := range []*helmv2.HelmRelease{get(t, s.cluster, "a"), written} {
				equal(t, "the release", r.Spec.PostRenderers, carrying(older).Spec.PostRenderers)
			}
		}
		clear(s.says)
		s.now = s.now.Add(firstAsk)
		s.ask(true, 0, "nginx:v2")
		s.stands(newer)
	})
	t.Run("an empty one", func(t *testing.T) {
		s := newScene(t, carrying(older), secretOf("[]"))
		s.stands("[]")
		s.ask(false, 0)
	})
	t.Run("releases that cannot be listed", func(t *testing.T) {
		s := newScene(t, carrying(newer), secretOf(newer))
		boom := apierrors.NewInternalError(errors.New("boom"))
		s.source.Reader = interceptor.NewClient(s.cluster, interceptor.Funcs{
			List: func(context.Context, client.WithWatch, client.ObjectList, ...client.ListOption) error { return boom },
		})
		if _, _, err := s.source.Ask(t.Context()); !errors.Is(err, boom) {
			t.Errorf("says %v", err)
		}
		s.told()
		s.source.Reader = s.cluster
		s.ask(false, 0)
		s.stands(newer)
	})
}

// TestAskEnds: whoever ends the questions learned nothing, and lets no table out. A registry that says nothing
// does, after a minute.
func TestAskEnds(t *testing.T) {
	silent := func(ctx context.Context, images []reference.Image) []error {
		<-ctx.Done()
		return slices.Repeat([]error{fmt.Errorf("unreachable: %w", ctx.Err())}, len(images))
	}
	t.Run("cancelled", func(t *testing.T) {
		s := begun(t)
		s.write(newer)
		ctx, cancel := context.WithCancel(t.Context())
		s.source.Check = func(ctx context.Context, images []reference.Image) []error {
			cancel()
			return silent(ctx, images)
		}
		if through, again, err := s.source.Ask(ctx); through || again != 0 || err != context.Canceled {
			t.Errorf("%t, %s, %v", through, again, err)
		}
		s.stands(older)
		s.told()
		s.source.Check = s.check
		s.ask(true, 0, "nginx:v2", "r.example.org/a:1")
	})
	t.Run("silent", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			s := begun(t)
			s.write(newer)
			s.source.Check = silent
			begin := time.Now()
			s.ask(true, 0)
			equal(t, "the time it took", time.Since(begin), asking)
			s.stands(newer)
		})
	})
	t.Run("too few answers", func(t *testing.T) {
		s := begun(t)
		s.write(newer)
		s.source.Check = func(context.Context, []reference.Image) []error { return []error{nil} }
		s.ask(true, 0)
		if list := noted(s.recorder); !strings.HasSuffix(list[0], `[2]: "a": the check has no answer`) {
			t.Errorf("told %q", list)
		}
	})
}

// TestAskAside: while registries are asked, the table before is read and releases are admitted, and where the
// Secret changes meanwhile the answers are nobody's.
func TestAskAside(t *testing.T) {
	const other = `[{name: nginx, newTag: v3}]`
	for _, then := range []string{newer, other, older, "[", ""} {
		t.Run(then, func(t *testing.T) {
			s := begun(t)
			s.write(newer)
			began, answer, ended := make(chan bool), make(chan bool), make(chan bool)
			s.source.Check = func(ctx context.Context, images []reference.Image) []error {
				s.source.Check = s.check // for what comes later
				close(began)
				<-answer
				return s.check(ctx, images)
			}
			through := false
			go func() {
				defer close(ended)
				var err error
				if through, _, err = s.source.Ask(t.Context()); err != nil {
					t.Error(err)
				}
			}()
			<-began
			s.stands(older)
			release := releaseOf("b")
			if err := (&Admission{Source: s.source}).Default(t.Context(), release, nil); err != nil {
				t.Error(err)
			}
			equal(t, "a release that is admitted", release.Spec.PostRenderers, postrender.Merge(releaseOf("b").Spec.PostRenderers, parsed(t, older)))
			if then != newer {
				s.write(then)
			}
			close(answer)
			<-ended
			equal(t, "let through", through, then == newer || then == other)
			table, _ := s.source.Table(t.Context())
			want := then
			if then == "[" {
				want = ""
			}
			equal(t, "the table", table, parsed(t, want))
		})
	}
}

// TestAsker: the controller says when a table was let through, and looks again when it is told to.
func TestAsker(t *testing.T) {
	s := begun(t)
	s.write(newer)
	s.says["nginx:v2"] = errGone
	through := make(chan event.GenericEvent, 1)
	reconcile := s.releases.asker(through)
	for _, step := range []struct {
		after time.Duration
		says  error
		want  ctrl.Result
		sent  int
	}{
		{0, errGone, ctrl.Result{RequeueAfter: firstAsk}, 0},
		{0, nil, ctrl.Result{RequeueAfter: firstAsk}, 0},
		{firstAsk, nil, ctrl.Result{}, 1},
		{firstAsk, nil, ctrl.Result{}, 0},
	} {
		s.now = s.now.Add(step.after)
		s.says["nginx:v2"] = step.says
		got, err := reconcile(t.Context(), ctrl.Request{})
		if err != nil || got != step.want || len(through) != step.sent {
			t.Errorf("%v, %v, said %d times; want %v and %d", got, err, len(through), step.want, step.sent)
		}
		if len(through) > 0 {
			<-through
			var names []string
			for _, r := range s.releases.all(t.Context(), nil) {
				names = append(names, r.String())
			}
			equal(t, "who is looked at", names, []string{"default/a"})
		}
	}

	// A process that ends does not wait for who is gone already.
	synctest.Test(t, func(t *testing.T) {
		s := begun(t)
		s.write(newer)
		ctx, cancel := context.WithCancel(t.Context())
		ended := make(chan error)
		go func() {
			_, err := s.releases.asker(make(chan event.GenericEvent))(ctx, ctrl.Request{})
			ended <- err
		}()
		synctest.Wait()
		cancel()
		if err := <-ended; err != nil {
			t.Error(err)
		}
		s.stands(newer)
	})
}

// TestTargets: which images a table points at.
func TestTargets(t *testing.T) {
	const digest = "sha256:4f53cda18c2baa0c0354bb5f9a3ecbe5ed12ab4d8e11ba873c2f11161202b945"
	chain := func(n int) string {
		var b strings.Builder
		for i := range n {
			fmt.Fprintf(&b, "{name: a%d, newName: a%d, newTag: v%d}, ", i, i+1, i)
		}
		return "[" + b.String() + "]"
	}
	for _, test := range []struct {
		why, before, table string
		want               []string // [entry] image
		untold             []int
	}{
		{"an empty table", "[]", "[]", nil, nil},
		{"an unknown one before", "", `[{name: nginx, newTag: v2}]`, []string{"[0] nginx:v2"}, nil},
		{"a tag", "[]", `[{name: nginx, newTag: v2}]`, []string{"[0] nginx:v2"}, nil},
		{"a digest", "[]", `[{name: nginx, digest: "` + digest + `"}]`, []string{"[0] nginx@" + digest}, nil},
		{"both", "[]", `[{name: nginx, newName: r.example.org/x, newTag: v2, digest: "` + digest + `"}]`, []string{"[0] r.example.org/x:v2@" + digest}, nil},
		{"neither", "[]", `[{name: nginx, newName: r.example.org/x}]`, nil, []int{0}},
		{"the same image", `[{name: nginx, newTag: v2}]`, `[{name: nginx, newTag: v2}]`, nil, nil},
		{"in another spelling", `[{name: nginx, newTag: v2}]`, `[{name: docker.io/library/nginx, newTag: v2}]`, nil, nil},
		{"twice", "[]", `[{name: nginx, newTag: v2}, {name: a, newName: docker.io/library/nginx, newTag: v2}]`, []string{"[0] nginx:v2"}, nil},
		{"another tag", `[{name: nginx, newTag: v1}]`, `[{name: nginx, newTag: v2}]`, []string{"[0] nginx:v2"}, nil},
		{"a name with dots", "[]", `[{name: registry.k8s.io/pause, newName: r.example.org/pause, newTag: "3"}]`, []string{"[0] r.example.org/pause:3"}, nil},
		{"the end of a chain", "[]", `[{name: a, newName: b, newTag: v1}, {name: b, newName: c}]`, []string{"[0] c:v1"}, []int{1}},
		{"another end of it", `[{name: a, newName: b, newTag: v1}, {name: b, newName: c}]`, `[{name: a, newName: b, newTag: v1}, {name: b, newName: d}]`, []string{"[0] d:v1"}, []int{1}},
		{"an entry that nobody reaches", "[]", `[{name: a.b, newName: c, newTag: v1}, {name: a-b, newTag: v2}]`, []string{"[0] c:v1"}, []int{1}},
	} {
		t.Run(test.why, func(t *testing.T) {
			list, untold := fresh(parsed(t, test.before), parsed(t, test.table))
			var got []string
			for _, target := range list {
				got = append(got, fmt.Sprintf("[%d] %s", target.entry, target.image))
			}
			equal(t, "images", got, test.want)
			equal(t, "untold", untold, test.untold)
		})
	}
	// A table of nothing but one chain leads all of it to one end; past the bound nobody looks.
	list, untold := targets(parsed(t, chain(3000)))
	if steps := 3000 * 3001 / 2; steps <= maxSteps || len(list) != 1 || len(untold) != 3000-373 { // 373 chains have just more than maxSteps
		t.Errorf("%d images, %d untold, %d steps", len(list), len(untold), steps)
	}
}
