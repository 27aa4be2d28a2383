// SPDX-License-Identifier: Apache-2.0

package registry

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"strings"

	"oras.land/oras-go/v2/registry/remote/auth"

	"github.com/cozystack/image-overrides/internal/quote"
)

// errSilent is the cause of a context that an attempt's timeout ended. It is no error of package context, so that
// those in an *Error's chain are always the caller's.
var errSilent = errors.New("no answer in time")

// fault says why a request has no answer. The caller's context is ctx, the attempt's own is the other.
func (c *call) fault(ctx, own context.Context, err error) *Error {
	if e := as(err); e != nil {
		return e
	}
	host := quote.Plain(c.host)
	switch {
	case ctx.Err() != nil || own.Err() != nil || c.err != nil || c.host == "":
		return c.broken(ctx, own, err)
	case c.status >= 300 && c.status < 400:
		return &Error{Kind: ErrBadReply, Host: c.host, Status: c.status, Reason: c.redirectFault(host, err)}
	case c.status == http.StatusUnauthorized:
		e := &Error{Kind: ErrRejected, Host: c.host, Status: c.status}
		switch {
		case errors.Is(err, auth.ErrBasicCredentialNotFound):
			e.Reason = fmt.Sprintf("%s asks for a user name and a password, and there is no credential for it", host)
		case strings.Contains(err.Error(), "missing username or password"):
			e.Reason = fmt.Sprintf("%s asks for a user name and a password, and the credential does not have both", host)
		default:
			e.final = true
			e.Reason = fmt.Sprintf("the challenge of %s cannot be answered safely: %s", host, c.challengeFault(err))
		}
		return e
	}
	return &Error{Kind: ErrBadReply, Host: c.host, Status: c.status, Reason: fmt.Sprintf("%s answers %s: %s", host, status(c.status), c.secrets.plain(err))}
}

// challengeFault is what oras-go says of a challenge, without the requests' own addresses.
func (c *call) challengeFault(err error) string {
	for inner := err; inner != nil; inner = errors.Unwrap(inner) {
		err = inner
	}
	return c.secrets.plain(err)
}

// plain is the text of an error without secrets, in bounds.
func (s *secrets) plain(err error) string { return quote.Shorten(s.hide(err.Error()), 600) }

// redirectFault says what is wrong with a redirect that ended a request.
func (c *call) redirectFault(host string, err error) string {
	switch text := err.Error(); {
	case strings.Contains(text, "stopped after"):
		return host + " redirects in a ring: more than 10 redirects"
	case strings.Contains(text, "refusing to resend"):
		return host + " redirects what it was sent to another server"
	case strings.Contains(text, "redirect of token request rejected"):
		return host + " redirects to where no token server may be"
	}
	return host + " redirects to no address of the web"
}

// broken is the fault of a request whose answer did not come, or not whole.
func (c *call) broken(ctx, own context.Context, err error) *Error {
	host := quote.Plain(c.host)
	if c.host == "" {
		host = quote.Plain(c.server.host)
	}
	switch {
	case ctx.Err() != nil:
		return &Error{Kind: ErrUnreachable, Host: c.host, cause: ctx.Err(), Reason: fmt.Sprintf("%s has not answered: %v", host, ctx.Err())}
	case own.Err() != nil:
		return &Error{Kind: ErrUnreachable, Host: c.host, Again: true, cause: errSilent, Reason: fmt.Sprintf("%s gives %v", host, errSilent)}
	}
	return c.network(own, err)
}

// network is the fault of an error of the network.
func (c *call) network(ctx context.Context, err error) *Error {
	if e := as(err); e != nil { // of the proxy
		return e
	}
	var in *url.Error
	for errors.As(err, &in) { // whose address may hold signatures
		err = in.Err
	}
	e := &Error{Kind: ErrUnreachable, Host: c.host, Again: true, cause: err, Reason: fmt.Sprintf("%s: %s", quote.Plain(c.host), c.secrets.plain(err))}
	if e.Host == "" {
		e.Host, e.Reason = c.server.host, fmt.Sprintf("%s: %s", quote.Plain(c.server.host), c.secrets.plain(err))
	}
	if ctx.Err() != nil && errors.Is(context.Cause(ctx), errSilent) {
		e.cause, e.Reason = errSilent, fmt.Sprintf("%s gives %v", quote.Plain(e.Host), errSilent)
		return e
	}
	var (
		lookup      *net.DNSError
		certificate *tls.CertificateVerificationError
		record      tls.RecordHeaderError
	)
	switch text := err.Error(); {
	case errors.As(err, &lookup):
		e.Again = !lookup.IsNotFound
	case errors.As(err, &certificate):
		e.Again = false
	case errors.Is(err, http.ErrSchemeMismatch), errors.As(err, &record):
		e.Again = false
		e.Reason += "; does it want PlainHTTP?"
	case strings.Contains(text, "malformed HTTP"), strings.Contains(text, "malformed MIME"), strings.Contains(text, "server response headers exceeded"):
		e.Kind, e.Again = ErrBadReply, false
	}
	return e
}
