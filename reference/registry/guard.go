// SPDX-License-Identifier: Apache-2.0

package registry

import (
	"context"
	"fmt"
	"net/http"
	"net/netip"
	"net/url"
	"strings"
	"time"

	"github.com/cozystack/image-overrides/internal/quote"
)

// A call is a request as this package sends it, with all that becomes of it: its answer to a
// challenge, its redirects. It goes down to the guard by the request's context. A request to
// a token server is a call of its own. One goroutine uses it at a time.
type call struct {
	server  *server
	token   bool // to a token server
	secrets *secrets

	// What the last request of it gave: an answer, or an error of the network.
	host          string
	status        int
	wait          time.Duration
	authorization string // it had
	err           error

	realm *url.URL // that a GET to a token server asked, before any redirect
	ended *Error   // why nothing more may be asked
}

type callKey struct{}

func (c *call) context(ctx context.Context) context.Context {
	return context.WithValue(ctx, callKey{}, c)
}

// guard lets a secret pass to the origins of its registry and to no others, whatever a
// challenge or a redirect says. It sees every request, as the last before the transport.
//
// What it must not do is to take the secret off a request to a token server that may not have it: that
// would ask for an anonymous token, and the end would be a 401 that names the wrong cause. Such a request
// is refused.
type guard struct {
	next  http.RoundTripper
	allow func(*call, *http.Request) (*http.Request, *Error) // pass; the tests plant a leak here
}

func (g guard) RoundTrip(r *http.Request) (*http.Response, error) {
	c, _ := r.Context().Value(callKey{}).(*call)
	if c == nil {
		return nil, refuse(r, &Error{Kind: ErrNotConfigured, Reason: "a request of nobody's"})
	}
	if c.ended != nil {
		return nil, refuse(r, c.ended)
	}
	r, fault := g.allow(c, r)
	if fault != nil {
		return nil, refuse(r, fault)
	}
	c.host, c.status, c.wait, c.err = r.URL.Host, 0, 0, nil
	c.authorization = r.Header.Get("Authorization")
	if c.token && r.Response == nil && r.Method == http.MethodGet {
		c.realm = r.URL
	}
	response, err := g.next.RoundTrip(r)
	if err != nil {
		c.err = err
		return nil, err
	}
	c.status, c.wait = response.StatusCode, retryAfter(response.Header, time.Now())
	return response, nil
}

// refuse ends a request that may not be sent.
func refuse(r *http.Request, fault *Error) error {
	if r.Body != nil {
		r.Body.Close()
	}
	return fault
}

// pass returns the request as it may be sent.
func pass(c *call, r *http.Request) (*http.Request, *Error) {
	u := r.URL
	redirect := r.Response != nil
	refused := func(kind error, format string, args ...any) (*http.Request, *Error) {
		return r, &Error{Kind: kind, Host: u.Host, final: true, Reason: fmt.Sprintf(format, args...)}
	}
	switch {
	case u.Scheme != "https" && u.Scheme != "http" || u.Host == "":
		if redirect {
			return refused(ErrBadReply, "%s redirects to %s, which is no address of the web", quote.Plain(c.server.name), quote.Value(shownURL(u)))
		}
		return refused(ErrRejected, "the challenge of %s names %s as token server, which is no address of the web", quote.Plain(c.server.name), quote.Value(shownURL(u)))
	case u.Scheme == "http" && redirect && (c.server.scheme == "https" || r.Response.Request.URL.Scheme == "https"):
		return refused(ErrBadReply, "%s redirects from https to http, at %s", quote.Plain(c.server.name), quote.Plain(u.Host))
	case u.User != nil && !redirect:
		return refused(ErrRejected, "the challenge of %s names a token server with a user name in its address, at %s", quote.Plain(c.server.name), quote.Plain(u.Host))
	case c.token && !redirect && inward(u) && !inwardHost(c.server.host) && !c.server.origins[origin(u)]:
		return refused(ErrRejected, "the challenge of %s names %s as token server, an address of this machine; name it in TokenHosts if it is meant", quote.Plain(c.server.name), quote.Plain(u.Host))
	}
	authorized, body := r.Header.Get("Authorization") != "", r.Body != nil && r.Body != http.NoBody
	if redirect && (u.User != nil || r.Header.Get("Referer") != "") || authorized && redirect && !c.server.origins[origin(u)] {
		r = r.Clone(r.Context())
		r.Header.Del("Referer")
		if u.User != nil || !c.server.origins[origin(u)] {
			r.Header.Del("Authorization")
		}
		r.URL.User = nil
		authorized = r.Header.Get("Authorization") != ""
	}
	switch {
	case c.server.origins[origin(u)] || !authorized && !body:
		return r, nil
	case redirect:
		return refused(ErrBadReply, "%s redirects what it was sent to %s, which is another server", quote.Plain(c.server.name), quote.Plain(u.Host))
	case c.token:
		return refused(ErrRejected, "the challenge of %s names %s as token server, which may not have its credentials; name it in TokenHosts if it may", quote.Plain(c.server.name), quote.Plain(u.Host))
	}
	return refused(ErrBadReply, "%s names %s for an upload, which is another server", quote.Plain(c.server.name), quote.Plain(u.Host))
}

// shownURL is an address without what may be secret in it.
func shownURL(u *url.URL) string {
	shown := url.URL{Scheme: u.Scheme, Opaque: u.Opaque, Host: u.Host, Path: u.Path}
	return shown.String()
}

// inward reports whether an address is one of this machine or of its link.
func inward(u *url.URL) bool { return inwardHost(u.Host) }

func inwardHost(host string) bool {
	name := (&url.URL{Host: host}).Hostname()
	if strings.EqualFold(name, "localhost") {
		return true
	}
	a, err := netip.ParseAddr(name)
	a = a.Unmap()
	return err == nil && (a.IsLoopback() || a.IsUnspecified() || a.IsLinkLocalUnicast() || a.IsLinkLocalMulticast())
}
