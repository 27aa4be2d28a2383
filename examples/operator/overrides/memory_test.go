// SPDX-License-Identifier: Apache-2.0

package overrides

import (
	"context"
	"testing"
	"time"

	"github.com/cozystack/image-overrides/imageoverrides"
	"github.com/cozystack/image-overrides/postrender"
	helmv2 "github.com/fluxcd/helm-controller/api/v2"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// TestBeginsAgain: behind a calm the first slips count as the first ones did, whether or not somebody looked when it was over
// and has written since.
func TestBeginsAgain(t *testing.T) {
	for _, looked := range []bool{true, false} {
		var m memory
		now := time.Unix(0, 0)
		ours := newTable(t, "v2")
		release := releaseOf("a")
		write := func() {
			postrender.Ensure(release, ours)
			release.Generation++
			m.wrote(release, ours, now)
		}
		write()
		for range 3 {
			var waits []time.Duration
			var times []int
			for range 4 {
				postrender.Ensure(release, newTable(t, "v3"))
				release.Generation++
				wait, n := m.before(release, ours, now)
				waits, times = append(waits, wait), append(times, n)
				if _, again := m.before(release, ours, now); again != 0 {
					t.Errorf("one slip is counted twice: %d", again)
				}
				write()
			}
			equal(t, "how often", times, []int{1, 2, 3, 4})
			equal(t, "waits", waits, []time.Duration{0, firstWait, 2 * firstWait, 4 * firstWait})
			if now = now.Add(calm); looked {
				if again, ended := m.inStep(release, now); again != 0 || !ended {
					t.Errorf("behind a calm: again %s, ended %v", again, ended)
				}
				write() // as for a change of the table
			}
		}
	}
}

// TestHas: a table is there wherever in the list it stands, and the empty one where there is no other.
func TestHas(t *testing.T) {
	empty, err := imageoverrides.New()
	if err != nil {
		t.Fatal(err)
	}
	own := releaseOf("a").Spec.PostRenderers
	with := func(table imageoverrides.Table) []helmv2.PostRenderer { return postrender.Merge(nil, table) }
	ours, theirs := newTable(t, "v2"), newTable(t, "v3")
	for _, test := range []struct {
		why   string
		list  []helmv2.PostRenderer
		table imageoverrides.Table
		want  bool
	}{
		{"nothing", nil, ours, false},
		{"others' renderers", own, ours, false},
		{"alone", with(ours), ours, true},
		{"behind others", append(append([]helmv2.PostRenderer{}, own...), with(ours)...), ours, true},
		{"in front of others", append(with(ours), own...), ours, true},
		{"in front of another table", append(with(ours), with(theirs)...), ours, true},
		{"behind another table", append(with(theirs), with(ours)...), ours, true},
		{"another table", with(theirs), ours, false},
		{"no table, and nothing", nil, empty, true},
		{"no table, among others", own, empty, true},
		{"no table, and there is one", append(append([]helmv2.PostRenderer{}, own...), with(ours)...), empty, false},
	} {
		if got := has(test.list, test.table); got != test.want {
			t.Errorf("%s: %v, want %v", test.why, got, test.want)
		}
	}
}

// deadlineReader notes until when it may take to list.
type deadlineReader struct {
	client.Reader
	until time.Time
}

func (r *deadlineReader) List(ctx context.Context, list client.ObjectList, opts ...client.ListOption) error {
	r.until, _ = ctx.Deadline()
	return r.Reader.List(ctx, list, opts...)
}

// TestCarriedPatience: a scrape waits five seconds for the releases, and no longer.
func TestCarriedPatience(t *testing.T) {
	r := &deadlineReader{Reader: clusterOf(t)}
	before := time.Now()
	(&Carried{Reader: r}).Collect(nil)
	after := time.Now()
	if from, to := before.Add(5*time.Second), after.Add(5*time.Second); r.until.Before(from) || r.until.After(to) {
		t.Errorf("until %s, want between %s and %s", r.until, from, to)
	}
}
