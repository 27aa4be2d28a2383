// SPDX-License-Identifier: Apache-2.0

package registry

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/opencontainers/go-digest"
	ocispec "github.com/opencontainers/image-spec/specs-go/v1"
	"oras.land/oras-go/v2"
	"oras.land/oras-go/v2/content"
	"oras.land/oras-go/v2/registry"
	"oras.land/oras-go/v2/registry/remote"
	"oras.land/oras-go/v2/registry/remote/auth"
	"oras.land/oras-go/v2/registry/remote/errcode"

	"github.com/cozystack/image-overrides/internal/quote"
	"github.com/cozystack/image-overrides/reference"
)

// Copying says how CopyWith copies. The zero Copying copies as Copy does.
type Copying struct {
	// Referrers copies what refers to the image and to each of its platforms too: signatures,
	// SBOMs and whatever else has it as subject, with all that refers to those; and what cosign puts
	// beside an image under tags made of its digest (.sig, .att, .sbom).
	Referrers bool
	// Progress is told when a manifest or a blob is at its place, from one goroutine at a time. It may be nil.
	Progress func(Copied)
}

// Copied says what a copy has done.
type Copied struct {
	Digest    string // of the image
	Manifests int    // that were sent
	Blobs     int    // that were sent
	Present   int    // manifests and blobs that were there; with an index or manifest all that is in it is
	Mounted   int    // blobs that the registry took from another repository of its own
	Referrers int    // that are at their place, new or not
	Bytes     int64  // of all that was sent
}

// Copy copies an image to another place, in the same registry or in another, and returns its
// digest, which is the same there: the registry that got it has confirmed it, or there is an error. An
// index comes with the images of all its platforms, whatever platform the settings name. Blobs and manifests
// that are there are not sent again, so a copy that was cut off goes on where it was by the blob, and one of what is
// there already sends nothing: the registries are asked for one digest each. Layers that may not be distributed
// (Windows') stay where they are.
//
// The source is what Resolve and Check ask for. The place is to's repository, under its tag; without a
// tag under its digest alone, and without both under latest. A digest in to that is not the image's is an error
// before anything is sent. Credentials are asked for both, those for to with the right to push.
//
// The error is an [*Error] about the one of both images that it names. What was sent before it stays, and is no
// image yet: a manifest is sent after all that is in it.
//
// The zero Image is none, and ErrNotConfigured.
func (c *Client) Copy(ctx context.Context, from, to reference.Image) (digest string, err error) {
	copied, err := c.CopyWith(ctx, from, to, Copying{})
	if err != nil {
		return "", err
	}
	return copied.Digest, nil
}

// CopyWith is Copy with choices. With an error it returns what was done until then.
func (c *Client) CopyWith(ctx context.Context, from, to reference.Image, how Copying) (Copied, error) {
	source, fault := c.target(from)
	if fault != nil {
		return Copied{}, fault
	}
	place, fault := c.target(to)
	if fault != nil {
		return Copied{}, fault
	}
	place.reference, place.digest = to.Tag(), false
	if place.reference == "" && to.Digest() == "" {
		place.reference = "latest"
	}
	r, err := c.run(ctx)
	if err != nil {
		return Copied{}, noKeyring(from, err)
	}
	r.platform = platform{}
	j := &job{run: r, how: how, source: source, place: place}
	credentials := r.keyring.Find(to)
	if len(credentials) == 0 {
		credentials = []Credential{{}}
	}
	if place.reference != "" { // both registries are asked at the same time
		ahead, stop := context.WithCancel(ctx)
		first := make(chan headed, 1)
		j.ahead = first
		d := &store{job: j, target: place, asker: r.asker(place.server, credentials[0])}
		var wg sync.WaitGroup
		wg.Go(func() {
			there, err := d.head(j.scopes(ahead), "/manifests/"+place.reference)
			first <- headed{there, err}
		})
		defer wg.Wait()
		defer stop()
	}
	digest, asker, fault := r.ask(ctx, source)
	if fault != nil {
		return Copied{}, fault
	}
	if want := to.Digest(); want != "" && want != digest {
		return Copied{}, &Error{Kind: ErrBadReply, Image: from.String(), Host: source.server.host,
			Reason: fmt.Sprintf("has the digest %s, and not that of %s; nothing was sent", digest, quote.Plain(to.String()))}
	}
	j.digest, j.from, j.done.Digest = digest, asker, digest
	for i, credential := range credentials {
		j.to = r.asker(place.server, credential)
		if fault = j.copy(ctx); fault == nil {
			return j.done, nil
		}
		fault.tried = i + 1
		if fault.final || fault.Kind != ErrRejected || fault.Image != to.String() {
			break
		}
	}
	return j.done, fault
}

// A job is one copy.
type job struct {
	*run
	how           Copying
	digest        string
	source, place target
	from, to      *asker

	ahead chan headed // of the place, asked for with its first credential while the source was asked; nil once it is used

	mu        sync.Mutex
	done      Copied
	confirmed atomic.Bool // by the registry, under the place's reference
}

// headed is what came of a HEAD.
type headed struct {
	there *http.Response
	err   error
}

// scopes are what tokens are asked for: to pull from the source and to push to the place.
func (j *job) scopes(ctx context.Context) context.Context {
	ctx = auth.WithScopesForHost(ctx, j.source.server.host, auth.ScopeRepository(j.source.repository, auth.ActionPull))
	return auth.AppendScopesForHost(ctx, j.place.server.host, auth.ScopeRepository(j.place.repository, auth.ActionPull, auth.ActionPush))
}

// tell counts, and tells it.
func (j *job) tell(count func(*Copied)) {
	j.mu.Lock()
	defer j.mu.Unlock()
	count(&j.done)
	if j.how.Progress != nil {
		j.how.Progress(j.done)
	}
}

// copy copies with one credential for the place. What ended in the middle of a blob is tried again: it goes on
// behind the blobs that are there.
func (j *job) copy(ctx context.Context) *Error {
	for n := 1; ; n++ {
		err := j.once(ctx)
		if err == nil {
			return nil
		}
		fault := j.fault(ctx, err)
		j.from.hide(fault)
		j.to.hide(fault)
		if !fault.midway || !fault.Again || n >= j.s.Attempts || ctx.Err() != nil {
			return fault
		}
		fault.attempts = n
		wait := backoff(n, j.s.MaxWait)
		if !sleep(ctx, wait+jitter(wait)) {
			return fault
		}
	}
}

// fault makes an *Error of what ended a copy.
func (j *job) fault(ctx context.Context, err error) *Error {
	if e := as(err); e != nil {
		return e
	}
	t := j.place
	var copying *oras.CopyError
	if errors.As(err, &copying) && copying.Origin == oras.CopyErrorOriginSource {
		t = j.source
	}
	e := &Error{Kind: ErrBadReply, Image: t.image.String(), Host: t.server.host}
	var answer *errcode.ErrorResponse
	switch {
	case ctx.Err() != nil:
		e.Kind, e.cause, e.Reason = ErrUnreachable, ctx.Err(), "the copy was ended: "+ctx.Err().Error()
	case errors.As(err, &answer):
		e.Status = answer.StatusCode
		message := ""
		if len(answer.Errors) > 0 {
			e.Code, message = answer.Errors[0].Code, answer.Errors[0].Message
		}
		e.Reason = fmt.Sprintf("%s answers %s%s", quote.Plain(e.Host), status(answer.StatusCode), j.to.secrets.said(e.Code, message))
	default:
		for inner := errors.Unwrap(err); inner != nil; inner = errors.Unwrap(inner) {
			if _, found := err.(*oras.CopyError); !found {
				break
			}
			err = inner
		}
		e.Reason = quote.Plain(e.Host) + ": " + j.to.secrets.plain(err)
	}
	return e
}

// once does what is left of a copy.
func (j *job) once(ctx context.Context) error {
	ctx = j.scopes(ctx)
	s := &store{job: j, target: j.source, asker: j.from}
	s.Repository = s.repository()
	d := &store{job: j, target: j.place, asker: j.to}
	d.Repository = d.repository()

	wanted := j.place.reference
	if wanted == "" {
		wanted = j.digest
	}
	var there *http.Response
	var err error
	if j.ahead != nil {
		first := <-j.ahead
		j.ahead, there, err = nil, first.there, first.err
	} else {
		there, err = d.head(ctx, "/manifests/"+wanted)
	}
	if err != nil {
		return err
	}
	same := false
	if there != nil {
		given, ok := (&answer{header: there.Header}).digest()
		same = ok && given == j.digest
	}
	var root ocispec.Descriptor
	if !same || j.how.Referrers {
		if root, err = s.fetchRoot(ctx, j.digest); err != nil {
			return err
		}
		d.root = root
	}
	if same {
		j.tell(func(c *Copied) { c.Present++ })
	} else if err := j.image(ctx, s, d, root); err != nil {
		return err
	}
	if j.how.Referrers {
		return j.referrers(ctx, s, d, root)
	}
	return nil
}

// image copies the image itself.
func (j *job) image(ctx context.Context, s, d *store, root ocispec.Descriptor) error {
	j.confirmed.Store(false)
	if err := j.graph(ctx, s, d, root); err != nil {
		return err
	}
	if j.place.reference != "" && !d.has(root.Digest) { // it was there, under another name
		if err := d.PushReference(ctx, root, bytes.NewReader(s.content), j.place.reference); err != nil {
			return err
		}
	}
	if j.confirmed.Load() || j.place.reference == "" && !d.has(root.Digest) { // asked for by its digest, it was there
		return nil
	}
	wanted := j.place.reference
	if wanted == "" {
		wanted = j.digest
	}
	there, err := d.head(ctx, "/manifests/"+wanted)
	if err != nil {
		return err
	}
	if there != nil {
		if given, ok := (&answer{header: there.Header}).digest(); ok && given == j.digest {
			return nil
		}
	}
	return &Error{Kind: ErrBadReply, Image: j.place.image.String(), Host: j.place.server.host,
		Reason: fmt.Sprintf("%s took the image and does not give it back with the digest %s", quote.Plain(j.place.server.host), j.digest)}
}

// graph copies a manifest and all that is in it.
func (j *job) graph(ctx context.Context, s, d *store, root ocispec.Descriptor) error {
	options := oras.CopyGraphOptions{
		Concurrency:      j.s.Parallel,
		MaxMetadataBytes: maxManifest,
		OnCopySkipped: func(context.Context, ocispec.Descriptor) error {
			j.tell(func(c *Copied) { c.Present++ })
			return nil
		},
		PostCopy: func(_ context.Context, desc ocispec.Descriptor) error {
			j.tell(func(c *Copied) {
				if isManifest(desc) {
					c.Manifests++
				} else {
					c.Blobs++
				}
				c.Bytes += desc.Size
			})
			return nil
		},
		OnMounted: func(context.Context, ocispec.Descriptor) error {
			j.tell(func(c *Copied) { c.Mounted++ })
			return nil
		},
	}
	if j.source.server == j.place.server && j.source.repository != j.place.repository {
		options.MountFrom = func(context.Context, ocispec.Descriptor) ([]string, error) { return []string{j.source.repository}, nil }
	}
	return oras.CopyGraph(ctx, s, d, root, options)
}

func isManifest(d ocispec.Descriptor) bool {
	for _, mediaType := range accepted {
		if d.MediaType == mediaType {
			return true
		}
	}
	return d.MediaType == "application/vnd.oci.artifact.manifest.v1+json"
}

// maxReferrers is how many manifests may refer to an image, all taken together.
const maxReferrers = 10_000

// cosignTags are what cosign appends to a digest to name what it puts beside an image.
var cosignTags = []string{".sig", ".att", ".sbom"}

// referrers copies what refers to an image, to its platforms, and to those again.
func (j *job) referrers(ctx context.Context, s, d *store, root ocispec.Descriptor) error {
	subjects := []ocispec.Descriptor{root}
	if strings.Contains(root.MediaType, "index") || strings.Contains(root.MediaType, "list") {
		children, err := content.Successors(ctx, s, root)
		if err != nil {
			return err
		}
		for _, child := range children {
			if isManifest(child) {
				subjects = append(subjects, child)
			}
		}
	}
	images := len(subjects)
	seen := make(map[digest.Digest]bool)
	for i := 0; i < len(subjects); i++ {
		subject := subjects[i]
		there := make(map[digest.Digest]bool)
		var list []ocispec.Descriptor
		collect := func(into func(ocispec.Descriptor)) func([]ocispec.Descriptor) error {
			return func(page []ocispec.Descriptor) error {
				for _, one := range page {
					into(one)
				}
				if len(seen) > maxReferrers {
					return fmt.Errorf("more than %d manifests refer to the image", maxReferrers)
				}
				return nil
			}
		}
		if err := s.Referrers(ctx, subject, "", collect(func(one ocispec.Descriptor) {
			if !seen[one.Digest] {
				seen[one.Digest] = true
				list = append(list, one)
			}
		})); err != nil {
			return &oras.CopyError{Op: "Referrers", Origin: oras.CopyErrorOriginSource, Err: err}
		}
		if len(list) > 0 {
			if err := d.Referrers(ctx, subject, "", collect(func(one ocispec.Descriptor) { there[one.Digest] = true })); err != nil {
				return err
			}
		}
		for _, one := range list {
			if !there[one.Digest] {
				if err := j.referrer(ctx, s, d, one); err != nil {
					return err
				}
			} else {
				j.tell(func(c *Copied) { c.Present++ })
			}
			j.tell(func(c *Copied) { c.Referrers++ })
			subjects = append(subjects, one)
		}
		if i < images {
			if err := j.beside(ctx, s, d, subject); err != nil {
				return err
			}
		}
	}
	return nil
}

// referrer copies one manifest that refers to another. Where it is there, and yet the registry does not
// list it, it is sent again: a registry without the referrers API lists what whoever sends it
// adds to a list, and a copy may have been cut off between the two.
func (j *job) referrer(ctx context.Context, s, d *store, one ocispec.Descriptor) error {
	if err := j.graph(ctx, s, d, one); err != nil || d.has(one.Digest) {
		return err
	}
	text, err := content.FetchAll(ctx, s, one)
	if err != nil {
		return err
	}
	return d.Push(ctx, one, bytes.NewReader(text))
}

// beside copies what cosign put beside a manifest.
func (j *job) beside(ctx context.Context, s, d *store, subject ocispec.Descriptor) error {
	for _, suffix := range cosignTags {
		tag := strings.Replace(subject.Digest.String(), ":", "-", 1) + suffix
		got, err := s.head(ctx, "/manifests/"+tag)
		if err != nil || got == nil {
			if err != nil {
				return err
			}
			continue
		}
		given, ok := (&answer{header: got.Header}).digest()
		if !ok {
			return &Error{Kind: ErrBadReply, Image: j.source.image.String(), Host: j.source.server.host, Reason: fmt.Sprintf("%s gives no digest of tag %s", quote.Plain(j.source.server.host), tag)}
		}
		there, err := d.head(ctx, "/manifests/"+tag)
		if err != nil {
			return err
		}
		j.tell(func(c *Copied) { c.Referrers++ })
		if there != nil {
			if has, ok := (&answer{header: there.Header}).digest(); ok && has == given {
				j.tell(func(c *Copied) { c.Present++ })
				continue
			}
		}
		one, text, err := s.manifest(ctx, given)
		if err != nil {
			return err
		}
		if err := j.graph(ctx, s, d, one); err != nil {
			return err
		}
		if err := d.PushReference(ctx, one, bytes.NewReader(text), tag); err != nil {
			return err
		}
	}
	return nil
}

// A store is one side of a copy, as oras-go sees it.
type store struct {
	*remote.Repository
	*job
	target target
	asker  *asker

	root    ocispec.Descriptor
	content []byte   // of the root, at the source
	sent    sync.Map // digests, at the place
}

// has reports whether something was sent to the place.
func (s *store) has(d digest.Digest) bool {
	_, sent := s.sent.Load(d)
	return sent
}

func (s *store) repository() *remote.Repository {
	return &remote.Repository{
		Client:               s,
		Reference:            registry.Reference{Registry: s.target.server.host, Repository: s.target.repository},
		PlainHTTP:            s.target.server.scheme == "http",
		MaxMetadataBytes:     maxManifest,
		ReferrerListMaxPages: 100,
		SkipReferrersGC:      true,
	}
}

// path is where something of the repository is.
func (s *store) path(rest string) string { return "/v2/" + s.target.repository + rest }

// head asks whether something is there: the answer is nil where it is not.
func (s *store) head(ctx context.Context, rest string) (*http.Response, error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodHead, s.target.server.scheme+"://"+s.target.server.host+s.path(rest), nil)
	if err != nil {
		return nil, err
	}
	request.Header.Set("Accept", strings.Join(accepted, ", "))
	response, err := s.Do(request)
	if err != nil {
		return nil, err
	}
	response.Body.Close()
	switch response.StatusCode {
	case http.StatusOK:
		return response, nil
	case http.StatusNotFound:
		return nil, nil
	}
	return nil, s.named(s.asker.refusal(&answer{status: response.StatusCode, header: response.Header, host: response.Request.URL.Host}))
}

// manifest fetches a manifest and verifies it.
func (s *store) manifest(ctx context.Context, digestText string) (ocispec.Descriptor, []byte, error) {
	t := s.target
	t.reference, t.digest = digestText, true
	var text []byte
	var mediaType string
	_, fault := s.attempts(ctx, t.server, func(ctx context.Context) (string, *Error) {
		own, cancel := context.WithTimeoutCause(ctx, s.s.Timeout, errSilent)
		defer cancel()
		got, fault := s.asker.send(ctx, own, http.MethodGet, s.path("/manifests/"+digestText), "Accept", strings.Join(accepted, ", "))
		if fault != nil {
			return "", fault
		}
		if got.status != http.StatusOK {
			return "", s.asker.refusal(got)
		}
		found, _, reason := got.manifest(t)
		if reason != "" {
			return "", got.bad("%s %s", quote.Plain(got.host), reason)
		}
		mediaType, text = found, got.body
		return digestText, nil
	})
	if fault != nil {
		return ocispec.Descriptor{}, nil, s.named(fault)
	}
	return ocispec.Descriptor{MediaType: mediaType, Digest: digest.Digest(digestText), Size: int64(len(text))}, text, nil
}

// fetchRoot fetches the image's manifest, which Fetch then has.
func (s *store) fetchRoot(ctx context.Context, digestText string) (ocispec.Descriptor, error) {
	desc, text, err := s.manifest(ctx, digestText)
	s.root, s.content = desc, text
	return desc, err
}

// named puts the image's name into a fault.
func (s *store) named(fault *Error) *Error {
	if fault.Image == "" { // what a source could not give comes back from the place's request
		fault.Image = s.target.image.String()
	}
	return fault
}

// Fetch fetches what oras-go copies.
func (s *store) Fetch(ctx context.Context, desc ocispec.Descriptor) (io.ReadCloser, error) {
	if s.content != nil && desc.Digest == s.root.Digest {
		return io.NopCloser(bytes.NewReader(s.content)), nil
	}
	return s.Repository.Fetch(ctx, desc)
}

// Exists asks whether something is there.
func (s *store) Exists(ctx context.Context, desc ocispec.Descriptor) (bool, error) {
	where := "/blobs/"
	if isManifest(desc) {
		where = "/manifests/"
	}
	response, err := s.head(ctx, where+desc.Digest.String())
	return response != nil, err
}

// Push sends something; the image's manifest gets its tag with it.
func (s *store) Push(ctx context.Context, desc ocispec.Descriptor, from io.Reader) error {
	s.sent.Store(desc.Digest, nil)
	if desc.Digest != s.root.Digest || s.target.reference == "" {
		return s.Repository.Push(ctx, desc, from)
	}
	return s.Repository.PushReference(ctx, desc, from, s.target.reference)
}

// Do sends a request of oras-go's as all others are sent: through the gate, the guard and the attempts, where the
// request can be sent again. It may take as long as something moves.
func (s *store) Do(request *http.Request) (*http.Response, error) {
	if request.Body == nil || request.Body == http.NoBody || request.GetBody != nil {
		var response *http.Response
		first := true
		_, fault := s.attempts(request.Context(), s.target.server, func(ctx context.Context) (string, *Error) {
			again := request
			if !first && request.GetBody != nil {
				body, err := request.GetBody()
				if err != nil {
					return "", &Error{Kind: ErrUnreachable, cause: err, Reason: "the request cannot be sent again"}
				}
				again = request.Clone(ctx)
				again.Body = body
			}
			first = false
			var fault *Error
			response, fault = s.send(ctx, again)
			return "", fault
		})
		if fault != nil {
			return nil, s.named(fault)
		}
		return response, nil
	}
	if fault := s.target.server.gate.pass(request.Context(), s.target.server, s.s.MaxWait); fault != nil {
		request.Body.Close()
		return nil, s.named(fault)
	}
	response, fault := s.send(request.Context(), request)
	if fault != nil {
		fault.midway = true
		if fault.Kind == ErrRateLimited {
			s.target.server.gate.hold(max(fault.Wait, time.Second))
		}
		return nil, s.named(fault)
	}
	return response, nil
}

// commitRate is how many bytes of an upload a registry may take a second to put away, once it has them.
const commitRate = 10 << 20

// send sends one request, and ends it when nothing has moved for the settings' timeout.
func (s *store) send(ctx context.Context, request *http.Request) (*http.Response, *Error) {
	own, cancel := context.WithCancelCause(ctx)
	silence := s.s.Timeout
	if request.ContentLength > 0 {
		silence += time.Duration(request.ContentLength/commitRate) * time.Second
	}
	timer := time.AfterFunc(silence, func() { cancel(errSilent) })
	c := &call{server: s.target.server, secrets: s.asker.secrets}
	request = request.WithContext(c.context(own))
	if request.Body != nil && request.Body != http.NoBody {
		// The time in which the source gives nothing is not the place's.
		request.Body = &moving{ReadCloser: request.Body, before: func() { timer.Stop() }, after: func() { timer.Reset(silence) }}
	}
	stop := func() {
		timer.Stop()
		cancel(nil)
	}
	response, err := s.asker.client.Do(request)
	if err != nil {
		fault := c.fault(ctx, own, err)
		stop()
		return nil, fault
	}
	if kind, _ := kindOf(response.StatusCode); kind != ErrBadReply {
		got := &answer{status: response.StatusCode, header: response.Header, host: c.host, wait: c.wait}
		if s.asker.credential != (Credential{}) {
			got.shown = c.authorization
		}
		got.body, _ = io.ReadAll(io.LimitReader(response.Body, maxFault))
		response.Body.Close()
		stop()
		fault := s.asker.refusal(got)
		if fault.hidden { // about a repository that may be made by what is sent to it
			fault.Kind, fault.hidden = ErrRejected, false
		}
		return nil, fault
	}
	if request.Method == http.MethodPut && response.StatusCode == http.StatusCreated && strings.Contains(request.URL.Path, "/manifests/") {
		wanted := s.target.reference
		if wanted == "" {
			wanted = s.digest
		}
		if given, ok := (&answer{header: response.Header}).digest(); ok && given == s.digest && strings.HasSuffix(request.URL.Path, "/"+wanted) {
			s.confirmed.Store(true)
		}
	}
	timer.Stop()
	response.Body = &moving{
		ReadCloser: response.Body,
		before:     func() { timer.Reset(silence) },
		after:      func() { timer.Stop() },
		broken: func(err error) error {
			fault := c.broken(ctx, own, err)
			fault.midway = true
			return s.named(fault)
		},
		closed: stop,
	}
	return response, nil
}

// A moving body tells when it is read.
type moving struct {
	io.ReadCloser
	before, after func()
	broken        func(error) error
	closed        func()
}

func (m *moving) Read(p []byte) (int, error) {
	m.before()
	n, err := m.ReadCloser.Read(p)
	m.after()
	if err != nil && err != io.EOF && m.broken != nil {
		err = m.broken(err)
	}
	return n, err
}

func (m *moving) Close() error {
	if m.closed != nil {
		m.closed()
	}
	return m.ReadCloser.Close()
}
