// SPDX-License-Identifier: Apache-2.0

package registry

import (
	"context"
	"fmt"
	"math/rand/v2"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/cozystack/image-overrides/internal/quote"
)

// A gate holds the callers of a registry that asked to wait. The zero gate is open.
type gate struct {
	mu    sync.Mutex
	until time.Time
	asked time.Duration // the wait that closed it
}

// hold closes the gate for a time. A shorter time than what is left changes nothing.
func (g *gate) hold(wait time.Duration) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if until := time.Now().Add(wait); until.After(g.until) {
		g.until, g.asked = until, wait
	}
}

func (g *gate) left() time.Duration {
	g.mu.Lock()
	defer g.mu.Unlock()
	return time.Until(g.until)
}

// pass waits until the gate is open. It does not wait where that would take longer than longest, or past
// the end of the context: the fault then has the wait.
func (g *gate) pass(ctx context.Context, s *server, longest time.Duration) *Error {
	for {
		left := g.left()
		if left <= 0 {
			return nil
		}
		end, limited := ctx.Deadline()
		if left > longest || limited && time.Until(end) < left {
			return &Error{Kind: ErrRateLimited, Host: s.host, Wait: left, Again: true,
				Reason: fmt.Sprintf("%s was not asked, for it wants to be left alone", quote.Plain(s.host))}
		}
		if !sleep(ctx, left+jitter(left)) {
			return nil // the caller sees that its context is done
		}
	}
}

// jitter is what is waited beyond a time, so that those who wait do not come back together.
func jitter(wait time.Duration) time.Duration {
	return time.Duration(rand.Int64N(int64(min(wait/8, time.Second)) + 1))
}

// sleep waits. It reports whether the context is still alive.
func sleep(ctx context.Context, wait time.Duration) bool {
	timer := time.NewTimer(wait)
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-ctx.Done():
		return false
	}
}

// backoff is what is waited before the attempt after attempt n, from 1, where the server does not say: 1 s, 2 s, 4 s, and never more than
// the longest wait.
func backoff(n int, longest time.Duration) time.Duration {
	return min(time.Second<<min(n-1, 5), longest)
}

// retryAfter is the wait that an answer asks for, 0 where it asks for none or cannot be understood. A
// date counts from the answer's own Date, so that the clocks need not agree.
func retryAfter(h http.Header, now time.Time) time.Duration {
	const longest = 365 * 24 * time.Hour
	text := strings.TrimSpace(h.Get("Retry-After"))
	if text == "" {
		return 0
	}
	if strings.Trim(text, "0123456789") == "" {
		n, err := strconv.ParseInt(text, 10, 64)
		if err != nil || n > int64(longest/time.Second) {
			return longest
		}
		return time.Duration(n) * time.Second
	}
	at, err := http.ParseTime(text)
	if err != nil {
		return 0
	}
	if date, err := http.ParseTime(h.Get("Date")); err == nil {
		now = date
	}
	return min(max(at.Sub(now), 0), longest)
}
