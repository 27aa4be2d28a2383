// SPDX-License-Identifier: Apache-2.0

package registry

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"net/netip"
	"net/url"
	"strings"
	"sync"
	"time"

	"oras.land/oras-go/v2/registry/remote/auth"

	"github.com/cozystack/image-overrides/internal/quote"
	"github.com/cozystack/image-overrides/reference"
)

// accepted are the media types of manifests. All are asked for always, for a registry may answer with
// another digest, or none, where one is missing.
var accepted = []string{
	"application/vnd.oci.image.index.v1+json",
	"application/vnd.oci.image.manifest.v1+json",
	"application/vnd.docker.distribution.manifest.list.v2+json",
	"application/vnd.docker.distribution.manifest.v2+json",
}

const (
	maxManifest = 4 << 20  // bytes of a manifest
	maxFault    = 64 << 10 // bytes of an answer that is an error
)

// A target is an image as a registry is asked for it.
type target struct {
	image      reference.Image
	server     *server
	repository string
	reference  string // a tag or a digest
	digest     bool   // it is a digest
}

// target says how an image is asked for. Without tag and digest it is asked for as latest, which
// is what a node pulls.
func (c *Client) target(image reference.Image) (target, *Error) {
	if !image.IsValid() {
		return target{}, &Error{Kind: ErrNotConfigured, Image: image.String(), Reason: "is no image"}
	}
	host, repository := place(image)
	t := target{image: image, repository: repository, reference: image.Tag()}
	if digest := image.Digest(); digest != "" {
		t.reference, t.digest = digest, true
	} else if t.reference == "" {
		t.reference = "latest"
	}
	if err := reference.ValidateHost(host); err != nil {
		return target{}, &Error{Kind: ErrNotConfigured, Image: image.String(), Reason: err.Error()}
	}
	if t.server = c.server(host); t.server == nil {
		return target{}, &Error{Kind: ErrNotConfigured, Image: image.String(), Reason: fmt.Sprintf("the settings have no registry %s", quote.Plain(host))}
	}
	return t, nil
}

// A run is one call of the client's methods: credentials are read once for it, and tokens live as
// long.
type run struct {
	*Client
	platform platform // the client's, but for a copy, which has all
	keyring  Keyring
	mu       sync.Mutex
	askers   map[askerKey]*asker
}

type askerKey struct {
	server     *server
	credential Credential
}

// userAgent is how registries see this package.
const userAgent = "image-overrides"

// An asker asks one registry with one credential. For each pair there is one in a run, since what oras-go
// remembers knows no credentials.
type asker struct {
	server     *server
	credential Credential
	secrets    *secrets
	client     *auth.Client
}

// run begins a run. The error is the Keyring's.
func (c *Client) run(ctx context.Context) (*run, error) {
	r := &run{Client: c, platform: c.platform, askers: make(map[askerKey]*asker)}
	if c.s.Keyring == nil {
		return r, nil
	}
	keyring, err := c.s.Keyring(ctx)
	if err != nil {
		return nil, err
	}
	r.keyring = keyring
	return r, nil
}

// noKeyring is what is said of an image where the credentials could not be read.
func noKeyring(image reference.Image, err error) *Error {
	return &Error{Kind: ErrUnreachable, Image: image.String(), Again: true, cause: err,
		Reason: "nothing was asked, for the credentials could not be read: " + quote.Shorten(err.Error(), 1024)}
}

// asker returns the run's asker of a registry with a credential.
func (r *run) asker(s *server, c Credential) *asker {
	r.mu.Lock()
	defer r.mu.Unlock()
	key := askerKey{s, c}
	a := r.askers[key]
	if a == nil {
		hidden := newSecrets(c)
		guarded := &http.Client{Transport: guard{s.transport, r.allow}}
		a = &asker{server: s, credential: c, secrets: hidden, client: &auth.Client{
			Client:   guarded,
			Header:   http.Header{"User-Agent": {userAgent}},
			ClientID: userAgent,
			Credential: func(_ context.Context, host string) (auth.Credential, error) {
				if host != s.host {
					return auth.EmptyCredential, nil
				}
				return auth.Credential{Username: c.Username, Password: c.Password, RefreshToken: c.IdentityToken, AccessToken: c.RegistryToken}, nil
			},
			Cache: &tokens{server: s, secrets: hidden, timeout: r.s.Timeout, credential: c, client: guarded, known: make(map[string]string), exchanges: make(map[string]*exchange)},
			// Not nil, which would have each token server looked up. The guard says where requests may go.
			BlockedRealmPrefixes: []netip.Prefix{},
		}}
		r.askers[key] = a
	}
	return a
}

// ask asks for an image, with each of its credentials until one is not rejected, and returns the digest.
func (r *run) ask(ctx context.Context, t target) (digest string, with *asker, fault *Error) {
	credentials := r.keyring.Find(t.image)
	if len(credentials) == 0 {
		credentials = []Credential{{}}
	}
	for i, c := range credentials {
		a := r.asker(t.server, c)
		digest, fault = r.attempts(ctx, t.server, func(ctx context.Context) (string, *Error) { return r.once(ctx, t, a) })
		if fault == nil {
			return digest, a, nil
		}
		fault.Image, fault.tried = t.image.String(), i+1
		a.hide(fault)
		if fault.final || fault.Kind != ErrRejected && !fault.hidden {
			break
		}
	}
	return "", nil, fault
}

// hide takes the secrets out of a fault.
func (a *asker) hide(e *Error) {
	e.Reason, e.Code, e.Host = a.secrets.hide(e.Reason), a.secrets.hide(e.Code), a.secrets.hide(e.Host)
	e.cause = a.secrets.clean(e.cause)
}

// attempts tries something until it works, or until trying again makes no sense.
func (r *run) attempts(ctx context.Context, s *server, try func(context.Context) (string, *Error)) (string, *Error) {
	for n := 1; ; n++ {
		if fault := s.gate.pass(ctx, s, r.s.MaxWait); fault != nil {
			return "", fault
		}
		if err := ctx.Err(); err != nil {
			return "", &Error{Kind: ErrUnreachable, Host: s.host, Reason: "nothing was asked: " + err.Error(), cause: err}
		}
		digest, fault := try(ctx)
		if fault == nil {
			return digest, nil
		}
		fault.attempts = n
		wait := fault.Wait
		if wait == 0 {
			wait = backoff(n, r.s.MaxWait)
		}
		if fault.Kind == ErrRateLimited || fault.Wait > 0 {
			s.gate.hold(wait)
		}
		if !fault.Again || n >= r.s.Attempts || wait > r.s.MaxWait || ctx.Err() != nil {
			return "", fault
		}
		if end, limited := ctx.Deadline(); limited && time.Until(end) < wait {
			return "", fault // the answer that there is says more than the end of the context will
		}
		if !sleep(ctx, wait+jitter(wait)) {
			return "", fault
		}
	}
}

// An answer is what a registry said to one request.
type answer struct {
	status int
	header http.Header
	body   []byte
	host   string
	wait   time.Duration
	shown  string // the Authorization that it answers, where it holds a credential or is got with one
}

// send sends one request with headers, each a name and a value, and reads what comes back, up to a limit and one byte. The caller's context is ctx,
// the attempt's own is the other. With an Authorization among the headers no challenge is answered.
func (a *asker) send(ctx, own context.Context, method, path string, headers ...string) (*answer, *Error) {
	c := &call{server: a.server, secrets: a.secrets}
	u := url.URL{Scheme: a.server.scheme, Host: a.server.host, Path: path}
	request, err := http.NewRequestWithContext(c.context(own), method, u.String(), nil)
	if err != nil {
		return nil, &Error{Kind: ErrNotConfigured, Reason: "is nothing that can be asked for"}
	}
	for i := 0; i < len(headers); i += 2 {
		request.Header.Set(headers[i], headers[i+1])
	}
	response, err := a.client.Do(request)
	if err != nil {
		return nil, c.fault(ctx, own, err)
	}
	defer response.Body.Close()
	got := &answer{status: response.StatusCode, header: response.Header, host: c.host, wait: c.wait}
	if a.credential != (Credential{}) {
		got.shown = c.authorization
	}
	if method == http.MethodHead {
		return got, nil
	}
	limit := int64(maxManifest + 1)
	if response.StatusCode != http.StatusOK {
		limit = maxFault
	}
	if got.body, err = io.ReadAll(io.LimitReader(response.Body, limit)); err != nil {
		e := c.broken(ctx, own, err)
		if got.status != http.StatusOK { // the status says enough
			got.body = nil
			return got, nil
		}
		return nil, e
	}
	return got, nil
}

// once asks for an image with one credential, one time: HEAD, and GET where that settles nothing.
func (r *run) once(ctx context.Context, t target, a *asker) (digest string, fault *Error) {
	own, cancel := context.WithTimeoutCause(ctx, r.s.Timeout, errSilent)
	defer cancel()
	own = auth.WithScopesForHost(own, t.server.host, auth.ScopeRepository(t.repository, auth.ActionPull))
	path := "/v2/" + t.repository + "/manifests/" + t.reference
	accept := []string{"Accept", strings.Join(accepted, ", ")}
	if r.s.Verify || r.platform != (platform{}) {
		got, fault := a.send(ctx, own, http.MethodGet, path, accept...)
		if fault != nil {
			return "", fault
		}
		return r.manifest(ctx, own, t, a, got)
	}
	head, fault := a.send(ctx, own, http.MethodHead, path, accept...)
	if fault != nil {
		return "", fault
	}
	if head.status == http.StatusOK {
		if digest := head.settled(t); digest != "" {
			return digest, nil
		}
	}
	switch head.status {
	case http.StatusOK, http.StatusBadRequest, http.StatusNotFound, http.StatusMethodNotAllowed, http.StatusNotImplemented:
		got, fault := a.send(ctx, own, http.MethodGet, path, accept...)
		if fault != nil {
			return "", fault
		}
		return r.manifest(ctx, own, t, a, got)
	case http.StatusUnauthorized, http.StatusForbidden:
		if head.shown == "" {
			break
		}
		// The body may say that there is no such image. Nothing else of a fault is news.
		got, fault := a.send(ctx, own, http.MethodGet, path, append(accept, "Authorization", head.shown)...)
		if fault != nil || got.status >= 500 || got.status == http.StatusRequestTimeout {
			break
		}
		return r.manifest(ctx, own, t, a, got)
	}
	return "", a.refusal(head)
}

// manifest reads the answer to a GET.
func (r *run) manifest(ctx, own context.Context, t target, a *asker, got *answer) (string, *Error) {
	if got.status != http.StatusOK {
		return "", a.refusal(got)
	}
	mediaType, digest, reason := got.manifest(t)
	if reason != "" {
		return "", got.bad("%s %s", quote.Plain(got.host), reason)
	}
	if r.platform == (platform{}) {
		return digest, nil
	}
	return r.forPlatform(ctx, own, t, a, got, mediaType, digest)
}
