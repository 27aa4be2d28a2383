// SPDX-License-Identifier: Apache-2.0

package overrides

import (
	"context"
	"errors"
	"slices"

	"github.com/cozystack/image-overrides/imageoverrides"
	"github.com/cozystack/image-overrides/reference"
)

// A Check asks registries whether images are there. It returns one error for each, in their order:
// nil where the image is there, one that is [ErrMissing] where its registry said that it is not, and any other
// where nothing was learned. Each text begins with the image. An answer that it does not give is one that was
// not learned.
//
// It is called from one goroutine at a time, with at least one image and no lock that a reader of the table
// waits for, and has to return soon when the context ends.
type Check func(ctx context.Context, images []reference.Image) []error

// ErrMissing is what a [Check] says of an image that is not there, for errors.Is.
var ErrMissing = errors.New("the image is not there")

// errSilent is for a Check that gives less than one answer for each image.
var errSilent = errors.New("the check has no answer")

// A target is an image that a table points at.
type target struct {
	image reference.Image
	entry int    // the first that does, from 0
	name  string // of that entry
	err   error  // what is known of it: nil before it was asked for
}

// missing reports whether the registry said that the image is not there.
func (t *target) missing() bool { return errors.Is(t.err, ErrMissing) }

// maxSteps is how many entries are applied to find what a table points at. Each entry of a chain leads
// through the rest of it, which a table of nothing but a chain would make too much of.
const maxSteps = 1 << 20

// targets returns the images that a table points at, each once whatever its spelling, and the entries that name
// none: those with neither newTag nor digest, as the tag is the manifest's; those that no image of their
// name reaches, because an entry before them takes it; and what is left after maxSteps.
//
// As for registry.Pin it is what pods run: what becomes of the entry's name with its newTag, to the end of a chain.
func targets(table imageoverrides.Table) (list []target, untold []int) {
	seen := make(map[string]bool)
	steps := 0
	for i, o := range table.All() {
		text := o.Name
		if o.NewTag != "" {
			text += ":" + o.NewTag
		}
		if o.NewTag == "" && o.Digest == "" || steps > maxSteps {
			untold = append(untold, i)
			continue
		}
		text, entries := table.Apply(text)
		steps += len(entries)
		image, err := reference.Parse(text)
		if err != nil || !slices.Contains(entries, i) {
			untold = append(untold, i)
			continue
		}
		if key := image.Canonical().String(); !seen[key] {
			seen[key] = true
			list = append(list, target{image: image, entry: i, name: o.Name})
		}
	}
	return list, untold
}

// fresh returns the images that a table points at and the one before it did not, and the entries that name none.
//
// It compares what the tables lead to and not their entries ([imageoverrides.Diff]): where the end of a chain
// changes, so does what an entry before it leads to that is as it was.
func fresh(before, table imageoverrides.Table) (list []target, untold []int) {
	list, untold = targets(table)
	known := make(map[string]bool)
	old, _ := targets(before)
	for _, t := range old {
		known[t.image.Canonical().String()] = true
	}
	return slices.DeleteFunc(list, func(t target) bool { return known[t.image.Canonical().String()] }), untold
}
