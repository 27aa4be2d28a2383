// SPDX-License-Identifier: Apache-2.0

package registrytest

import (
	"fmt"
	"net/http"
	"os"
	"sync"
	"testing"
	"time"

	"github.com/google/go-containerregistry/pkg/crane"
	"github.com/google/go-containerregistry/pkg/v1/remote"

	"github.com/cozystack/image-overrides/reference"
	"github.com/cozystack/image-overrides/reference/registry"
)

// craneOptions are those with which crane asks a registry, over connections that are kept as ours are.
func craneOptions(r *real) []crane.Option {
	transport := remote.DefaultTransport.(*http.Transport).Clone()
	transport.MaxIdleConnsPerHost = 8
	if r.cas != nil {
		transport.TLSClientConfig = clientTLS(r.cas)
	}
	return []crane.Option{crane.WithTransport(transport), crane.WithAuth(r.auth())}
}

// A figure is what one of the two needed for something.
type figure struct {
	took     time.Duration
	requests int
	bytes    int64
}

func measure(t testing.TB, servers []*real, do func() error) (f figure) {
	t.Helper()
	for _, r := range servers {
		r.asked()
	}
	begin := time.Now()
	if err := do(); err != nil {
		t.Fatal(err)
	}
	f.took = time.Since(begin)
	for _, r := range servers {
		requests, received := r.asked()
		f.requests += len(requests)
		f.bytes += received
	}
	return f
}

// TestCompare: never more requests and never more bytes than crane, and with COMPARE=1 never slower, with figures for
// both: 120 images with 8 at a time, and a multi-platform image copied, twice.
func TestCompare(t *testing.T) {
	long := os.Getenv("COMPARE") != ""
	n := 12
	latencies := []time.Duration{0}
	if long {
		n, latencies = 120, append(latencies, 50*time.Millisecond)
	}
	tell := func(what string, latency time.Duration, ours, cranes figure) {
		t.Helper()
		what = fmt.Sprintf("%s, +%s", what, latency)
		t.Logf("%-44s %8s %5d requests %9d bytes | crane %8s %5d requests %9d bytes", what,
			ours.took.Round(time.Millisecond), ours.requests, ours.bytes, cranes.took.Round(time.Millisecond), cranes.requests, cranes.bytes)
		if ours.requests > cranes.requests || ours.bytes > cranes.bytes {
			t.Errorf("%s: more than crane", what)
		}
		// Without latency all that is measured is the registry, in this process and on its processors.
		slack := cranes.took / 10
		if latency == 0 {
			slack = cranes.took + 50*time.Millisecond
		}
		if long && ours.took > cranes.took+slack {
			t.Errorf("%s: slower than crane", what)
		}
	}
	for _, access := range []access{anonymous, htpasswd, tokens} {
		r := start(t, access)
		images, digests := r.fill(t, n)
		for _, latency := range latencies {
			r.mu.Lock()
			r.latency = latency
			r.mu.Unlock()
			ours := func() error {
				answers, err := client(t, registry.Settings{}, r).Each(t.Context(), images, nil)
				for i, a := range answers {
					if err == nil && a.Digest != digests[i] {
						t.Errorf("%s is %s", a.Image, a.Digest)
					}
				}
				return err
			}
			cranes := func() error {
				options := craneOptions(r)
				return each(images, func(i int) error {
					got, err := crane.Digest(images[i].String(), options...)
					if err == nil && got != digests[i] {
						err = fmt.Errorf("%s is %s", images[i], got)
					}
					return err
				})
			}
			tell(fmt.Sprintf("%d images, %s", n, access), latency, best(t, long, r, ours), best(t, long, r, cranes))
		}
	}
	from, to := start(t, anonymous), start(t, htpasswd)
	both := []*real{from, to}
	options := append(craneOptions(to), crane.WithJobs(8))
	for i, size := range []int64{1 << 10, 1 << 20} {
		latency := time.Duration(0)
		if i == 0 {
			latency = latencies[len(latencies)-1]
		}
		for _, r := range both {
			r.mu.Lock()
			r.latency = 0
			r.mu.Unlock()
		}
		put(t, from, "team/multi:1", size)
		for _, r := range both {
			r.mu.Lock()
			r.latency = latency
			r.mu.Unlock()
		}
		image := from.image(t, "team/multi:1")
		c := client(t, registry.Settings{}, from, to)
		var ours, cranes [2]figure
		for i := range map[bool]int{true: 4, false: 1}[long] {
			for again := range 2 { // each in turn, to a new place and then to the same
				a := measure(t, both, func() error {
					_, err := c.Copy(t.Context(), image, to.image(t, fmt.Sprintf("ours/%d-%d:1", size, i)))
					return err
				})
				b := measure(t, both, func() error {
					return crane.Copy(image.String(), fmt.Sprintf("%s/cranes/%d-%d:1", to.host, size, i), options...)
				})
				if i == 0 || a.took < ours[again].took {
					ours[again] = a
				}
				if i == 0 || b.took < cranes[again].took {
					cranes[again] = b
				}
			}
		}
		tell(fmt.Sprintf("copy of 3 platforms, 10 layers of %d KiB", size>>10), latency, ours[0], cranes[0])
		tell("the same again", latency, ours[1], cranes[1])
	}
}

// best is the quickest of some runs.
func best(t testing.TB, long bool, r *real, do func() error) figure {
	t.Helper()
	quickest := measure(t, []*real{r}, do)
	for range map[bool]int{true: 6}[long] {
		if f := measure(t, []*real{r}, do); f.took < quickest.took {
			quickest = f
		}
	}
	return quickest
}

// each does something for each image, 8 at a time.
func each(images []reference.Image, do func(int) error) error {
	slots := make(chan struct{}, 8)
	var wg sync.WaitGroup
	var mu sync.Mutex
	var failed error
	for i := range images {
		slots <- struct{}{}
		wg.Go(func() {
			defer func() { <-slots }()
			if err := do(i); err != nil {
				mu.Lock()
				failed = err
				mu.Unlock()
			}
		})
	}
	wg.Wait()
	return failed
}
