// SPDX-License-Identifier: Apache-2.0

package registry

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"time"

	"oras.land/oras-go/v2/errdef"
	"oras.land/oras-go/v2/registry/remote/auth"
	"oras.land/oras-go/v2/registry/remote/errcode"

	"github.com/cozystack/image-overrides/internal/quote"
)

// tokens is the memory of one registry's answers to challenges for one credential. Of callers that want one
// token at the same time, one exchange serves all, and it belongs to none of them: it ends when it is
// done, at its own timeout, or when nobody waits any more. (With auth.NewCache the first
// caller's end is everybody's.)
//
// And it remembers where tokens come from: for another repository the token is got before the registry is asked, which
// saves the question that would only be answered with the same challenge.
type tokens struct {
	server     *server
	secrets    *secrets
	timeout    time.Duration
	credential Credential
	client     *http.Client

	mu        sync.Mutex
	scheme    auth.Scheme
	known     map[string]string
	realm     *url.URL // with all of the query that is not of a repository; nil until it is known
	exchanges map[string]*exchange
}

type exchange struct {
	done    chan struct{}
	token   string
	err     error
	waiting int
	cancel  context.CancelFunc
}

// GetScheme returns the scheme of the last challenge.
func (t *tokens) GetScheme(_ context.Context, host string) (auth.Scheme, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.scheme == auth.SchemeUnknown || host != t.server.host {
		return auth.SchemeUnknown, errdef.ErrNotFound
	}
	return t.scheme, nil
}

// GetToken returns a token that is known, or got from where others came from. If the token server
// cannot be had, or wants to be left alone, the call ends with that; any other trouble leaves it to the registry to say
// what it wants.
func (t *tokens) GetToken(ctx context.Context, host string, scheme auth.Scheme, key string) (string, error) {
	t.mu.Lock()
	token, found := t.known[key]
	same, realm := scheme == t.scheme && host == t.server.host, t.realm
	t.mu.Unlock()
	if same && found {
		return token, nil
	}
	if !same || scheme != auth.SchemeBearer || realm == nil || key == "" {
		return "", errdef.ErrNotFound
	}
	token, err := t.Set(ctx, host, scheme, key, func(ctx context.Context) (string, error) { return t.fetch(ctx, realm, key) })
	if e := as(err); e != nil && (e.Kind == ErrUnreachable || e.Kind == ErrRateLimited) {
		if c, ok := ctx.Value(callKey{}).(*call); ok {
			c.ended = e
		}
	}
	return token, err
}

// maxToken is how many bytes a token server's answer may have.
const maxToken = 128 << 10

// fetch gets a token for scopes, as the distribution specification has it.
func (t *tokens) fetch(ctx context.Context, realm *url.URL, scopes string) (string, error) {
	u := *realm
	query := u.Query()
	for _, scope := range strings.Split(scopes, " ") {
		query.Add("scope", scope)
	}
	u.RawQuery = query.Encode()
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, u.String(), nil)
	if err != nil {
		return "", err
	}
	request.Header.Set("User-Agent", userAgent)
	if t.credential.Username != "" || t.credential.Password != "" {
		request.SetBasicAuth(t.credential.Username, t.credential.Password)
	}
	response, err := t.client.Do(request)
	if err != nil {
		return "", err
	}
	defer response.Body.Close()
	var answer struct {
		Token       string `json:"token"`
		AccessToken string `json:"access_token"`
	}
	if response.StatusCode != http.StatusOK {
		return "", fmt.Errorf("status %d", response.StatusCode)
	}
	if err := json.NewDecoder(io.LimitReader(response.Body, maxToken)).Decode(&answer); err != nil {
		return "", err
	}
	if token := cmp.Or(answer.AccessToken, answer.Token); token != "" {
		return token, nil
	}
	return "", errors.New("no token")
}

// Set gets a token by fetch.
func (t *tokens) Set(ctx context.Context, host string, scheme auth.Scheme, key string, fetch func(context.Context) (string, error)) (string, error) {
	if host != t.server.host {
		return "", fmt.Errorf("%s is another server", quote.Plain(host))
	}
	name := scheme.String() + " " + key
	t.mu.Lock()
	x := t.exchanges[name]
	if x == nil {
		own, cancel := context.WithTimeoutCause(context.WithoutCancel(ctx), t.timeout, errSilent)
		x = &exchange{done: make(chan struct{}), cancel: cancel}
		t.exchanges[name] = x
		go t.run(own, x, name, scheme, key, fetch)
	}
	x.waiting++
	t.mu.Unlock()
	select {
	case <-x.done:
		return x.token, x.err
	case <-ctx.Done():
	}
	t.mu.Lock()
	if x.waiting--; x.waiting == 0 {
		x.cancel()
		if t.exchanges[name] == x {
			delete(t.exchanges, name)
		}
	}
	t.mu.Unlock()
	return "", context.Cause(ctx)
}

func (t *tokens) run(ctx context.Context, x *exchange, name string, scheme auth.Scheme, key string, fetch func(context.Context) (string, error)) {
	defer x.cancel()
	c := &call{server: t.server, secrets: t.secrets, token: true}
	token, err := fetch(c.context(ctx))
	if err != nil && c.host != "" || as(err) != nil {
		err = c.tokenFault(ctx, err)
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	if err == nil {
		if scheme != t.scheme {
			t.scheme, t.known, t.realm = scheme, make(map[string]string), nil
		}
		t.known[key] = token
		t.secrets.add(token)
		if c.realm != nil {
			realm := *c.realm
			query := realm.Query()
			query.Del("scope")
			realm.RawQuery = query.Encode()
			t.realm = &realm
		}
	}
	if t.exchanges[name] == x {
		delete(t.exchanges, name)
	}
	x.token, x.err = token, err
	close(x.done)
}

// tokenFault says why there is no token.
func (c *call) tokenFault(ctx context.Context, err error) *Error {
	if e := as(err); e != nil {
		return e
	}
	host := quote.Plain(c.host)
	e := &Error{Host: c.host, Status: c.status, cause: nil}
	switch {
	case c.err != nil || ctx.Err() != nil:
		e = c.network(ctx, err)
		e.Reason = "token server: " + e.Reason
		return e
	case c.status == http.StatusOK:
		e.Kind, e.Reason = ErrBadReply, fmt.Sprintf("the token server %s gives no token, but something else", host)
		return e
	case c.status >= 300 && c.status < 400:
		e.Kind, e.Reason = ErrBadReply, c.redirectFault("the token server "+host, err)
		return e
	}
	e.Kind, e.Again = kindOf(c.status)
	if c.status == http.StatusBadRequest {
		e.Kind = ErrRejected
	}
	e.Wait = c.wait
	var answer *errcode.ErrorResponse
	message := ""
	if errors.As(err, &answer) && len(answer.Errors) > 0 {
		e.Code, message = answer.Errors[0].Code, answer.Errors[0].Message
	}
	e.Reason = fmt.Sprintf("the token server %s answers %s%s", host, status(c.status), c.secrets.said(e.Code, message))
	return e
}
