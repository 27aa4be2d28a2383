// SPDX-License-Identifier: Apache-2.0

package registry_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/cozystack/image-overrides/reference"
	"github.com/cozystack/image-overrides/reference/registry"
)

// A network hands each request to a handler, in the test's own process and time, and remembers when.
type network struct {
	http.HandlerFunc
	start    time.Time
	mu       sync.Mutex
	requests []string // "7s registry.example.org HEAD /v2/…"
	flying   int
	most     int // at a time
}

func newNetwork(h http.HandlerFunc) *network { return &network{HandlerFunc: h, start: time.Now()} }

func (n *network) RoundTrip(r *http.Request) (*http.Response, error) {
	n.mu.Lock()
	n.requests = append(n.requests, fmt.Sprintf("%s %s %s %s", time.Since(n.start).Truncate(time.Second), r.URL.Host, r.Method, r.URL.Path))
	n.flying++
	n.most = max(n.most, n.flying)
	n.mu.Unlock()
	w := httptest.NewRecorder()
	done := make(chan struct{})
	go func() {
		defer close(done)
		if r.Body == nil {
			r.Body = http.NoBody
		}
		n.HandlerFunc(w, r)
	}()
	defer func() {
		n.mu.Lock()
		n.flying--
		n.mu.Unlock()
	}()
	select {
	case <-done:
	case <-r.Context().Done():
		<-done
		return nil, r.Context().Err()
	}
	response := w.Result()
	response.Request = r
	if response.Header.Get("Date") == "" {
		response.Header.Set("Date", time.Now().UTC().Format(http.TimeFormat))
	}
	return response, nil
}

func (n *network) client(t *testing.T, s registry.Settings) *registry.Client {
	t.Helper()
	s.Transport = n
	c, err := registry.New(s)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// first answers the first n requests in one way and the others in another.
func first(n int, a, b http.HandlerFunc) http.HandlerFunc {
	var mu sync.Mutex
	return func(w http.ResponseWriter, r *http.Request) {
		mu.Lock()
		n--
		early := n >= 0
		mu.Unlock()
		if early {
			a(w, r)
		} else {
			b(w, r)
		}
	}
}

// within checks a time that has up to an eighth, at most a second, of jitter for each wait.
func within(t *testing.T, why string, got, want time.Duration, waits int) {
	t.Helper()
	if got < want || got > want+time.Duration(waits)*min(want/8+time.Millisecond, time.Second) {
		t.Errorf("%s: took %s, want %s and a little more", why, got, want)
	}
}

// TestRetryAfter: the wait that an answer asks for is waited for, whole, if it is not too long.
func TestRetryAfter(t *testing.T) {
	date := func(ahead time.Duration, clock time.Duration) http.HandlerFunc {
		return func(w http.ResponseWriter, r *http.Request) {
			theirs := time.Now().Add(clock).UTC()
			send(w, r, 429, nil, "Date", theirs.Format(http.TimeFormat), "Retry-After", theirs.Add(ahead).Format(http.TimeFormat))
		}
	}
	after := func(status int, value string) http.HandlerFunc { return answer(status, "", "Retry-After", value) }
	for _, test := range []struct {
		why      string
		answer   http.HandlerFunc
		took     time.Duration
		requests int
		kind     string
		wait     time.Duration
	}{
		{"seconds", after(429, "7"), 7 * time.Second, 2, "ok", 0},
		{"blanks around", after(429, " 7 "), 7 * time.Second, 2, "ok", 0},
		{"as long as may be", after(429, "30"), 30 * time.Second, 2, "ok", 0},
		{"a second too long", after(429, "31"), 0, 1, "rate limited", 31 * time.Second},
		{"too long for a number", after(429, strings.Repeat("9", 400)), 0, 1, "rate limited", 365 * 24 * time.Hour},
		{"a date", date(20*time.Second, 0), 20 * time.Second, 2, "ok", 0},
		{"a date of a clock that is behind", date(20*time.Second, -300*time.Hour), 20 * time.Second, 2, "ok", 0},
		{"a date of a clock that is ahead", date(20*time.Second, 300*time.Hour), 20 * time.Second, 2, "ok", 0},
		{"a date that is over", date(-time.Hour, 0), time.Second, 2, "ok", 0},
		{"a date too far", date(time.Hour, 0), 0, 1, "rate limited", time.Hour},
		{"zero", after(429, "0"), time.Second, 2, "ok", 0},
		{"negative", after(429, "-5"), time.Second, 2, "ok", 0},
		{"a fraction", after(429, "1.5"), time.Second, 2, "ok", 0},
		{"nonsense", after(429, "soon"), time.Second, 2, "ok", 0},
		{"none", answer(429, ""), time.Second, 2, "ok", 0},
		{"of 503", after(503, "9"), 9 * time.Second, 2, "ok", 0},
		{"of 503, too long", after(503, "900"), 0, 1, "unreachable", 900 * time.Second},
	} {
		t.Run(test.why, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				n := newNetwork(first(1, test.answer, found))
				err := n.client(t, registry.Settings{}).Check(t.Context(), parseImage(t, "r.example.org/team/app:1"))
				if kindOf(err) != test.kind || len(n.requests) != test.requests {
					t.Errorf("%v after %q", err, n.requests)
				}
				within(t, test.why, time.Since(n.start), test.took, 1)
				if e := new(registry.Error); errors.As(err, &e) && e.Wait != test.wait {
					t.Errorf("Wait is %s, want %s", e.Wait, test.wait)
				}
			})
		})
	}
}

// TestTokenServerRetryAfter: a token server's 429 is waited for as the registry's own.
func TestTokenServerRetryAfter(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		tokens := first(1, answer(429, "", "Retry-After", "12"), token)
		n := newNetwork(func(w http.ResponseWriter, r *http.Request) {
			if r.URL.Host == authHost {
				tokens(w, r)
				return
			}
			bearer("https://"+authHost+"/token", found)(w, r)
		})
		images := []reference.Image{}
		for i := range 8 {
			images = append(images, parseImage(t, fmt.Sprintf("%s/team/app:%d", regHost, i)))
		}
		if _, err := n.client(t, registry.Settings{}).Each(t.Context(), images, nil); err != nil {
			t.Error(err)
		}
		within(t, "one wait for all", time.Since(n.start), 12*time.Second, 1)
	})
}

// TestHold: a 429 holds all callers of its registry, those of other runs too, and nobody else. Nobody asks before the time, whether they were on the
// way already or come later.
func TestHold(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		limited := first(1, answer(429, "", "Retry-After", "20"), found)
		n := newNetwork(func(w http.ResponseWriter, r *http.Request) {
			if r.URL.Host == "r.example.org" {
				limited(w, r)
				return
			}
			found(w, r)
		})
		c := n.client(t, registry.Settings{})
		var wg sync.WaitGroup
		check := func(image string, at time.Duration) {
			wg.Go(func() {
				time.Sleep(at)
				if err := c.Check(t.Context(), parseImage(t, image)); err != nil {
					t.Error(err)
				}
			})
		}
		check("r.example.org/team/app:0", 0)
		for i := range 10 {
			check(fmt.Sprintf("r.example.org/team/app:%d", i), time.Duration(1+i)*time.Second)
		}
		check("other.example.org/team/app:1", 5*time.Second)
		wg.Wait()
		for _, request := range n.requests[1:] {
			at, _, _ := strings.Cut(request, " ")
			if d, err := time.ParseDuration(at); strings.Contains(request, " r.example.org ") && (err != nil || d < 20*time.Second || d > 22*time.Second) {
				t.Errorf("asked at %s", request)
			} else if strings.Contains(request, " other.example.org ") && d != 5*time.Second {
				t.Errorf("held: %s", request)
			}
		}
		if len(n.requests) != 13 {
			t.Errorf("%d requests: %q", len(n.requests), n.requests)
		}
	})
}

// TestHoldTooLong: where the wait is too long, or longer than the caller has time, nobody waits and nobody
// asks: the error has the wait that is left.
func TestHoldTooLong(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n := newNetwork(first(1, answer(429, "", "Retry-After", "100"), found))
		c := n.client(t, registry.Settings{MaxWait: 60 * time.Second})
		image := parseImage(t, "r.example.org/team/app:1")
		c.Check(t.Context(), image)
		time.Sleep(10 * time.Second)
		err := c.Check(t.Context(), image)
		want := `r.example.org/team/app:1: rate limited: r.example.org was not asked, for it wants to be left alone; it asks to wait 1m30s`
		if err == nil || err.Error() != want {
			t.Errorf("%v, want %s", err, want)
		}
		time.Sleep(40 * time.Second)
		soon, cancel := context.WithTimeout(t.Context(), 20*time.Second)
		defer cancel()
		if err := c.Check(soon, image); !errors.Is(err, registry.ErrRateLimited) || soon.Err() != nil {
			t.Errorf("%v, %v", err, soon.Err())
		}
		if len(n.requests) != 1 {
			t.Errorf("%q", n.requests)
		}
		if err := c.Check(t.Context(), image); err != nil { // waits for the rest
			t.Error(err)
		}
		within(t, "the rest", time.Since(n.start), 100*time.Second, 1)
	})
}

// TestAttempts: what may change is tried again, each attempt within its timeout; what may not is not.
func TestAttempts(t *testing.T) {
	silent := func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() }
	for _, test := range []struct {
		why      string
		answer   http.HandlerFunc
		took     time.Duration
		requests int
		want     string
	}{
		{"says nothing", silent, 33 * time.Second, 3, "r.example.org/team/app:1: unreachable: r.example.org gives no answer in time (3 attempts)"},
		{"says nothing, once", first(1, silent, found), 11 * time.Second, 2, "<nil>"},
		{"500", answer(500, ""), 3 * time.Second, 3, "r.example.org/team/app:1: unreachable: r.example.org answers 500 Internal Server Error (3 attempts)"},
		{"502 twice", first(2, answer(502, ""), found), 3 * time.Second, 3, "<nil>"},
		{"403", answer(403, ""), 0, 1, "r.example.org/team/app:1: rejected: r.example.org answers 403 Forbidden; there is no credential for it, or it is not there"},
		{"404", fault(404, "MANIFEST_UNKNOWN"), 0, 2, `r.example.org/team/app:1: not found: r.example.org answers 404 Not Found, MANIFEST_UNKNOWN, "m"`},
	} {
		t.Run(test.why, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				n := newNetwork(test.answer)
				err := n.client(t, registry.Settings{}).Check(t.Context(), parseImage(t, "r.example.org/team/app:1"))
				if diff := cmp.Diff(test.want, fmt.Sprint(err)); diff != "" {
					t.Error(diff)
				}
				if len(n.requests) != test.requests {
					t.Errorf("%q", n.requests)
				}
				within(t, test.why, time.Since(n.start), test.took, 2)
				if errors.Is(err, context.DeadlineExceeded) {
					t.Error("the error has a context's, and the caller's context lives")
				}
			})
		})
	}
}

// TestCancelled: who gives up fails nobody else, and is told its own context's error.
func TestCancelled(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		slow := func(w http.ResponseWriter, r *http.Request) {
			select {
			case <-time.After(5 * time.Second):
				token(w, r)
			case <-r.Context().Done():
			}
		}
		n := newNetwork(func(w http.ResponseWriter, r *http.Request) {
			if r.URL.Host == authHost {
				slow(w, r)
				return
			}
			bearer("https://"+authHost+"/token", found)(w, r)
		})
		c := n.client(t, registry.Settings{})
		image := parseImage(t, regHost+"/team/app:1")
		ctx, cancel := context.WithCancel(t.Context())
		var wg sync.WaitGroup
		wg.Go(func() {
			if err := c.Check(ctx, image); !errors.Is(err, registry.ErrUnreachable) || !errors.Is(err, context.Canceled) {
				t.Errorf("cancelled: %v", err)
			}
		})
		wg.Go(func() {
			if err := c.Check(t.Context(), image); err != nil {
				t.Errorf("the other: %v", err)
			}
		})
		time.Sleep(time.Second)
		cancel()
		wg.Wait()
		within(t, "the other", time.Since(n.start), 5*time.Second, 0)
	})
}

// TestEach: each distinct image is asked once, a registry's first alone, no more at a time than
// the settings say, with answers in order and progress in turn.
func TestEach(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n := newNetwork(func(w http.ResponseWriter, r *http.Request) {
			time.Sleep(time.Second)
			switch {
			case strings.HasSuffix(r.URL.Path, "/7"):
				fault(404, "MANIFEST_UNKNOWN")(w, r)
			default:
				found(w, r)
			}
		})
		keyrings := 0
		c := n.client(t, registry.Settings{Parallel: 4, Keyring: func(context.Context) (registry.Keyring, error) {
			keyrings++
			return registry.Keyring{}, nil
		}})
		var images []reference.Image
		add := func(spellings ...string) {
			for _, s := range spellings {
				images = append(images, parseImage(t, s))
			}
		}
		add("nginx:1", "docker.io/nginx:1", "library/nginx:1", "index.docker.io/library/nginx:1", "registry-1.docker.io/library/nginx:1")
		add("nginx", "nginx:latest", "nginx:2@"+digest, "nginx@"+digest)
		for i := range 20 {
			add(fmt.Sprintf("r.example.org/team/app:%d", i))
		}
		var seen []registry.Progress
		answers, err := c.Each(t.Context(), images, func(p registry.Progress) { seen = append(seen, p) })
		if e := registry.Errors(nil); !errors.As(err, &e) || len(e) != 1 || !errors.Is(err, registry.ErrNotFound) || errors.Is(err, registry.ErrRejected) {
			t.Errorf("%v", err)
		}
		for i, a := range answers {
			if a.Image != images[i] || (a.Err != nil) != strings.HasSuffix(images[i].String(), "app:7") || (a.Digest == digest) != (a.Err == nil) {
				t.Errorf("answer %d is %+v", i, a)
			}
		}
		if len(n.requests) != 3+20+1 || n.most != 4 || keyrings != 1 {
			t.Errorf("%d requests, %d at a time, %d keyrings: %q", len(n.requests), n.most, keyrings, n.requests)
		}
		alone := 0
		for _, request := range n.requests {
			if strings.HasPrefix(request, "0s ") {
				alone++
			}
		}
		if alone != 2 {
			t.Errorf("%d requests at once: %q", alone, n.requests)
		}
		for i, p := range seen {
			if p.Done != i+1 || p.Total != 23 {
				t.Errorf("progress %d is %d of %d", i, p.Done, p.Total)
			}
		}
		if len(seen) != 23 {
			t.Errorf("progress %d times", len(seen))
		}
		if answers, err := c.Each(t.Context(), nil, nil); len(answers) != 0 || err != nil {
			t.Error(answers, err)
		}
	})
}

// TestEachEnds: when the context ends, what is not known yet is unreachable, and nothing more is asked.
func TestEachEnds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n := newNetwork(func(w http.ResponseWriter, r *http.Request) {
			time.Sleep(time.Second)
			found(w, r)
		})
		ctx, cancel := context.WithTimeout(t.Context(), 2500*time.Millisecond)
		defer cancel()
		var images []reference.Image
		for i := range 50 {
			images = append(images, parseImage(t, fmt.Sprintf("r.example.org/team/app:%d", i)))
		}
		answers, err := n.client(t, registry.Settings{Parallel: 2}).Each(ctx, images, nil)
		there := 0
		for _, a := range answers {
			if a.Err == nil {
				there++
			} else if !errors.Is(a.Err, registry.ErrUnreachable) || !errors.Is(a.Err, context.DeadlineExceeded) {
				t.Error(a.Err)
			}
		}
		if there != 3 || len(n.requests) != 5 {
			t.Errorf("%d there, %d requests: %v", there, len(n.requests), err)
		}
		if text := err.Error(); strings.Count(text, "\n") != 10 || !strings.HasSuffix(text, "\nand 37 more") {
			t.Errorf("%s", text)
		}
	})
}

// TestNothingIsAsked: what the settings do not have, and where credentials cannot be read.
func TestNothingIsAsked(t *testing.T) {
	n := newNetwork(found)
	broken := errors.New("the API server is away")
	for _, test := range []struct{ why, image, want string }{
		{"another registry", "other.example.org/a:1", "other.example.org/a:1: not configured: the settings have no registry other.example.org"},
		{"Docker Hub", "nginx", "nginx: not configured: the settings have no registry docker.io"},
		{"a host that nothing answers to", "r.example.org:99999/a:1", `r.example.org:99999/a:1: not configured: host "r.example.org:99999": port "99999" is not from 1 to 65535`},
	} {
		c := n.client(t, registry.Settings{Registries: []registry.Registry{{Host: "r.example.org"}}})
		err := c.Check(t.Context(), parseImage(t, test.image))
		if !errors.Is(err, registry.ErrNotConfigured) || errors.Is(err, registry.ErrUnreachable) {
			t.Errorf("%s: %v", test.why, err)
		} else if test.why != "a host that nothing answers to" && err.Error() != test.want {
			t.Errorf("%s: %s", test.why, cmp.Diff(test.want, err.Error()))
		}
	}
	c := n.client(t, registry.Settings{Keyring: func(context.Context) (registry.Keyring, error) { return registry.Keyring{}, broken }})
	if err := c.Check(t.Context(), reference.Image{}); !errors.Is(err, registry.ErrNotConfigured) {
		t.Error(err)
	}
	image := parseImage(t, "r.example.org/a:1")
	want := "r.example.org/a:1: unreachable: nothing was asked, for the credentials could not be read: the API server is away"
	if err := c.Check(t.Context(), image); !errors.Is(err, broken) || !errors.Is(err, registry.ErrUnreachable) || err.Error() != want {
		t.Error(err)
	}
	if answers, err := c.Each(t.Context(), []reference.Image{image, image}, nil); !errors.Is(err, broken) || answers[1].Err.Error() != want {
		t.Error(answers, err)
	}
	if digest, err := c.Resolve(t.Context(), parseImage(t, "r.example.org/a:1@"+nowhere)); digest != nowhere || err != nil {
		t.Error(digest, err)
	}
	if len(n.requests) > 0 {
		t.Errorf("asked: %q", n.requests)
	}
}

// TestSecretChanged: a Secret that changed takes effect at the next run, and nothing of the old one is left.
func TestSecretChanged(t *testing.T) {
	var shown bytes.Buffer
	n := newNetwork(func(w http.ResponseWriter, r *http.Request) {
		user, _, _ := r.BasicAuth()
		io.WriteString(&shown, user+" ")
		basic(found)(w, r)
	})
	user := "old"
	c := n.client(t, registry.Settings{Keyring: func(ctx context.Context) (registry.Keyring, error) {
		return registry.ParseDockerConfig([]byte(`{"auths":{"r.example.org":{"username":"` + user + `","password":"secret"}}}`))
	}})
	for _, user = range []string{"old", "old", "new"} {
		if err := c.Check(t.Context(), parseImage(t, "r.example.org/a:1")); err != nil {
			t.Error(err)
		}
	}
	if got := shown.String(); got != " old  old  new " {
		t.Errorf("%q", got)
	}
}

// TestCredentialsInTurn: the next credential is tried after a rejection and after nothing else.
func TestCredentialsInTurn(t *testing.T) {
	keyring, err := registry.ParseDockerConfig([]byte(`{"auths":{
		"r.example.org/team/app":{"username":"app","password":"p"},"r.example.org/team":{"username":"team","password":"p"},"r.example.org":{"username":"host","password":"p"}}}`))
	if err != nil {
		t.Fatal(err)
	}
	for _, test := range []struct {
		why    string
		answer map[string]http.HandlerFunc
		users  string
		want   string
	}{
		{"the last", map[string]http.HandlerFunc{"host": found}, "app team host", "<nil>"},
		{"none", nil, "app team host", `r.example.org/team/app:1: rejected: r.example.org answers 403 Forbidden, DENIED, "m" (3 credentials tried)`},
		{"not found ends it", map[string]http.HandlerFunc{"team": fault(404, "NAME_UNKNOWN")}, "app team", `r.example.org/team/app:1: not found: r.example.org answers 404 Not Found, NAME_UNKNOWN, "m" (2 credentials tried)`},
		{"unknown to one who may see little", map[string]http.HandlerFunc{"app": fault(403, "NAME_UNKNOWN"), "team": found}, "app team", "<nil>"},
		{"a challenge that no credential can answer safely", map[string]http.HandlerFunc{"": bearer("https://"+authHost+"/token", found)}, "",
			`r.example.org/team/app:1: rejected: the challenge of r.example.org names auth.example.org as token server, which may not have its credentials; name it in TokenHosts if it may`},
		{"unknown to all", map[string]http.HandlerFunc{"host": fault(401, "NAME_UNKNOWN")}, "app team host", `r.example.org/team/app:1: not found: r.example.org answers 401 Unauthorized, NAME_UNKNOWN, "m" (3 credentials tried)`},
	} {
		var users []string
		asked := 0
		n := newNetwork(func(w http.ResponseWriter, r *http.Request) {
			if h := test.answer[""]; h != nil {
				asked++
				h(w, r)
				return
			}
			basic(func(w http.ResponseWriter, r *http.Request) {
				user, _, _ := r.BasicAuth()
				if r.Method == http.MethodHead {
					users = append(users, user)
				}
				if h := test.answer[user]; h != nil {
					h(w, r)
					return
				}
				fault(403, "DENIED")(w, r)
			})(w, r)
		})
		err := n.client(t, registry.Settings{Keyring: func(context.Context) (registry.Keyring, error) { return keyring, nil }}).Check(t.Context(), parseImage(t, "r.example.org/team/app:1"))
		if got := strings.Join(users, " "); got != test.users || fmt.Sprint(err) != test.want || asked > 1 {
			t.Errorf("%s: %s: %v", test.why, got, err)
		}
	}
}
