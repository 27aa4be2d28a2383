// SPDX-License-Identifier: Apache-2.0

package mirror

import (
	"fmt"
	"strings"

	"github.com/cozystack/image-overrides/internal/quote"
)

// An Error is an image that cannot be called anything in the mirror, or two images that would be called the same.
type Error struct {
	Images []string // as they were given: one, or the two of a collision; nil for the zero Image
	Reason string   // what is wrong, and what to do
}

// Error returns the images and the reason on one line of bounded length.
func (e *Error) Error() string {
	var named []string
	for _, image := range e.Images {
		named = append(named, quote.Plain(image))
	}
	if named == nil {
		return e.Reason
	}
	return strings.Join(named, " and ") + ": " + e.Reason
}

// faults are the errors of an inventory.
type faults []*Error

// err returns the list as an error, nil for none.
func (f faults) err() error {
	if len(f) == 0 {
		return nil
	}
	return faultList(f)
}

type faultList []*Error

// maxTold is how many errors the text of a list tells.
const maxTold = 10

func (f faultList) Error() string {
	var b strings.Builder
	for i, e := range f[:min(len(f), maxTold)] {
		if i > 0 {
			b.WriteString("; ")
		}
		b.WriteString(quote.Shorten(e.Error(), 1024))
	}
	if more := len(f) - maxTold; more > 0 {
		fmt.Fprintf(&b, "; and %d more", more)
	}
	return b.String()
}

func (f faultList) Unwrap() []error {
	list := make([]error, len(f))
	for i, e := range f {
		list[i] = e
	}
	return list
}
