// SPDX-License-Identifier: Apache-2.0

package overrides

import (
	"slices"
	"sync"
	"time"

	"github.com/cozystack/image-overrides/imageoverrides"
	"github.com/cozystack/image-overrides/postrender"
	helmv2 "github.com/fluxcd/helm-controller/api/v2"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// How long the cache is given to hear of somebody else's write, at first and at most.
const (
	hears     = 200 * time.Millisecond
	hearsLast = time.Minute
)

// Two writers with two tables and one release would replace each other's for ever, at an upgrade
// each time. So what was written over is written again at once, as it may be a slip, the next time
// after firstWait, and then after twice as long each time, up to longest.
const (
	firstWait = 5 * time.Second
	longest   = time.Hour
	// calm is how long a table has to stand until nobody contests it: the other writer may wait for as
	// long as this one does.
	calm = 2 * longest
)

// backoff is first, doubled for each time after the first, and last at most; nothing for no time.
func backoff(n int, first, last time.Duration) time.Duration {
	if n <= 0 {
		return 0
	}
	wait := first
	for ; n > 1 && wait < last; n-- {
		wait *= 2
	}
	return min(wait, last)
}

// A memory is what the controller knows of its own writes since it began to lead.
type memory struct {
	mu       sync.Mutex
	releases map[types.NamespacedName]*written
	refused  map[types.NamespacedName]int // writes in a row that met another's
}

// A written is the last write of a release.
type written struct {
	uid        types.UID
	generation int64                // that it made
	table      imageoverrides.Table // that it gave the release
	at         time.Time            // of the write, or of when it was found to be gone
	gone       bool                 // the release does not have that table any more
	times      int                  // how often in a row, without a calm between
	until      time.Time            // when to write again
}

// contested reports whether a release has another writer with another table.
func (w *written) contested(now time.Time) bool { return w.times > 1 && now.Sub(w.at) < calm }

// wrote remembers a release as it was written.
func (m *memory) wrote(release *helmv2.HelmRelease, table imageoverrides.Table, now time.Time) {
	m.mu.Lock()
	defer m.mu.Unlock()
	key := client.ObjectKeyFromObject(release)
	delete(m.refused, key)
	w := m.releases[key]
	if w == nil || w.uid != release.UID {
		w = &written{uid: release.UID}
		if m.releases == nil {
			m.releases = make(map[types.NamespacedName]*written)
		}
		m.releases[key] = w
	}
	w.generation, w.table, w.at, w.gone, w.until = release.Generation, table, now, false, time.Time{}
}

// conflict returns how long to wait after a write that met another's.
func (m *memory) conflict(key types.NamespacedName) time.Duration {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.refused == nil {
		m.refused = make(map[types.NamespacedName]int)
	}
	m.refused[key]++
	return backoff(m.refused[key], hears, hearsLast)
}

// forget is for a release that is gone.
func (m *memory) forget(key types.NamespacedName) {
	m.mu.Lock()
	defer m.mu.Unlock()
	delete(m.releases, key)
	delete(m.refused, key)
}

// before is asked before a release is written that does not carry the table. It returns how long to
// wait, and, where the table that was written last is found to be gone for the first time since,
// how often that was so; otherwise 0.
func (m *memory) before(release *helmv2.HelmRelease, table imageoverrides.Table, now time.Time) (wait time.Duration, times int) {
	m.mu.Lock()
	defer m.mu.Unlock()
	w := m.releases[client.ObjectKeyFromObject(release)]
	if w == nil || w.uid != release.UID {
		return 0, 0
	}
	// A generation of before the write is the cache's, which has not heard of it yet.
	if !w.gone && release.Generation > w.generation && !has(release.Spec.PostRenderers, w.table) {
		if now.Sub(w.at) >= calm {
			w.times = 0
		}
		w.times++
		w.gone, w.at, times = true, now, w.times
		w.until = now.Add(backoff(w.times-1, firstWait, longest))
	}
	if !table.Equal(w.table) {
		return 0, times // what is new goes out, whoever may replace it
	}
	return max(0, w.until.Sub(now)), times
}

// inStep is told of a release that carries the table. It returns when to look again, 0 for no need to,
// and whether the release was contested and is not any more.
func (m *memory) inStep(release *helmv2.HelmRelease, now time.Time) (again time.Duration, ended bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	key := client.ObjectKeyFromObject(release)
	delete(m.refused, key)
	w := m.releases[key]
	if w == nil || w.times < 2 {
		return 0, false
	}
	if w.contested(now) {
		return w.at.Add(calm).Sub(now), false
	}
	w.times = 0
	return 0, true
}

// contested counts the releases with another writer.
func (m *memory) contested(now time.Time) (n int) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, w := range m.releases {
		if w.contested(now) {
			n++
		}
	}
	return n
}

// has reports whether a release still has a table that was written, in whatever place.
func has(list []helmv2.PostRenderer, table imageoverrides.Table) bool {
	return postrender.Carries(list, table) || table.Len() > 0 && slices.ContainsFunc(list, func(r helmv2.PostRenderer) bool {
		return postrender.Carries([]helmv2.PostRenderer{r}, table)
	})
}
