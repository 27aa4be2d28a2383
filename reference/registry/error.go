// SPDX-License-Identifier: Apache-2.0

package registry

import (
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/cozystack/image-overrides/internal/quote"
)

// The answers that lead to different decisions, for errors.Is. Every error about an image is one of the
// first four. The last two are kinds of the fourth: for both errors.Is(err, ErrUnreachable) holds too.
var (
	// ErrNotFound: the image is not there, and the registry itself said so: with 404 and an
	// error of a registry (a web page is none), or by naming it unknown after a credential was
	// presented. Or the tag is there, and the platform of the settings is not.
	ErrNotFound error = &kind{text: "not found"}
	// ErrRejected: the registry did not take the credentials or wants some, or asked for them in a way
	// that cannot be answered safely.
	ErrRejected error = &kind{text: "rejected"}
	// ErrNotConfigured: nothing was asked. The settings do not have the image's registry, or no
	// registry can have that image.
	ErrNotConfigured error = &kind{text: "not configured"}
	// ErrUnreachable: nothing was learned. The network, the server or an answer was at fault.
	ErrUnreachable error = &kind{text: "unreachable"}
	// ErrRateLimited: the registry wants to be asked later (429).
	ErrRateLimited error = &kind{"rate limited", ErrUnreachable}
	// ErrBadReply: what came back is no answer of a registry.
	ErrBadReply error = &kind{"bad reply", ErrUnreachable}
)

type kind struct {
	text string
	of   error // the wider kind
}

func (k *kind) Error() string { return k.text }
func (k *kind) Unwrap() error { return k.of }

// Error is what was learned, or not, about one image. Every error about an image is of this type. It holds no
// secret: what a server wrote is searched for those that it was shown.
type Error struct {
	// Kind is one of the package's Err variables.
	Kind error
	// Image is the image as it was spelled.
	Image string
	// Host is the server that the error is about: the registry, its token server, or where a
	// redirect led. It is empty where nothing was asked.
	Host string
	// Status is the HTTP status that decided, 0 without an answer.
	Status int
	// Code is the registry's code for the error, such as MANIFEST_UNKNOWN, empty where there was none.
	Code string
	// Wait is how long the registry asked to wait (Retry-After), 0 where it did not say.
	Wait time.Duration
	// Again is whether the same question may have another answer in a while, without anybody's
	// doing. The attempts of the settings are behind it already.
	Again bool
	// Reason says what happened, as it reads behind image and kind.
	Reason string

	cause    error
	hidden   bool // ErrNotFound in an answer of 401 or 403, which another credential may better
	final    bool // ErrRejected whatever the credential
	midway   bool // in the middle of what a copy moves
	attempts int
	tried    int // credentials
}

// Error returns one line of at most 4 KB:
//
//	registry.example.org/team/app:1: not found: registry.example.org says MANIFEST_UNKNOWN
func (e *Error) Error() string {
	var b strings.Builder
	b.WriteString(quote.Plain(e.Image))
	b.WriteString(": ")
	b.WriteString(e.Kind.Error())
	if e.Reason != "" {
		b.WriteString(": ")
		b.WriteString(quote.Shorten(e.Reason, 2048))
	}
	if e.Wait > 0 {
		fmt.Fprintf(&b, "; it asks to wait %s", e.Wait.Round(time.Second))
	}
	if e.tried > 1 {
		fmt.Fprintf(&b, " (%d credentials tried)", e.tried)
	}
	if e.attempts > 1 {
		fmt.Fprintf(&b, " (%d attempts)", e.attempts)
	}
	return b.String()
}

// Unwrap returns the kind, and the cause where there was one besides an answer: an error of
// the network, of TLS, or of the caller's context.
func (e *Error) Unwrap() []error {
	if e.cause == nil {
		return []error{e.Kind}
	}
	return []error{e.Kind, e.cause}
}

// Errors are the errors of several images, in their order.
type Errors []*Error

// shownErrors is how many errors of a list its text has.
const shownErrors = 10

// Error returns the first ten, one a line, and how many more there are.
func (e Errors) Error() string {
	var b strings.Builder
	for i, one := range e {
		if i == shownErrors {
			fmt.Fprintf(&b, "\nand %d more", len(e)-i)
			break
		}
		if i > 0 {
			b.WriteByte('\n')
		}
		b.WriteString(quote.Shorten(one.Error(), 400))
	}
	return b.String()
}

// Unwrap returns the errors.
func (e Errors) Unwrap() []error {
	all := make([]error, len(e))
	for i, one := range e {
		all[i] = one
	}
	return all
}

// as returns the *Error in err, nil where there is none.
func as(err error) *Error {
	var e *Error
	if errors.As(err, &e) {
		return e
	}
	return nil
}
