// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"slices"
	"strings"
	"sync"

	"github.com/cozystack/image-overrides/imageoverrides"
	"github.com/cozystack/image-overrides/imageoverrides/mirror"
	"github.com/cozystack/image-overrides/internal/quote"
	"github.com/cozystack/image-overrides/reference"
	"github.com/cozystack/image-overrides/reference/registry"
)

// A step is what becomes of one image of the mirror.
type step struct {
	mirror.Copy
	word   string // what became of it; "" where it is to be copied, or there is an error
	note   string
	digest string // in the mirror
	bytes  int64  // that were sent
	err    error
}

// The words of steps.
const (
	present = "present" // it was there
	kept    = "kept"    // it was there, and is something else at its source by now
	copied  = "copied"
	toCopy  = "to copy"
)

// stepsOf are the steps of copies.
func stepsOf(copies []mirror.Copy) (steps []*step) {
	for _, c := range copies {
		steps = append(steps, &step{Copy: c})
	}
	return steps
}

// A syncing is one run of sync.
type syncing struct {
	streams
	plan        *plan
	client      *registry.Client
	dry, follow bool
	steps       []*step
}

// each asks for images, with a bar on a terminal.
func (y *syncing) each(ctx context.Context, images []reference.Image) []registry.Answer {
	p := progress{streams: y.streams}
	defer p.end()
	answers, _ := y.client.Each(ctx, images, func(one registry.Progress) { // each answer has its error
		if y.terminal {
			p.step(one.Done, one.Total, one.Image.String()+": "+word(one.Err))
		}
	})
	return answers
}

// look asks the mirror for all images.
func (y *syncing) look(ctx context.Context) {
	var images []reference.Image
	for _, st := range y.steps {
		images = append(images, st.To)
	}
	for i, a := range y.each(ctx, images) {
		st := y.steps[i]
		st.digest, st.err = a.Digest, a.Err
		switch {
		case st.err == nil:
			st.word = present
		case !st.From.IsValid():
			st.note = "; nobody has said what it is a copy of: put it there"
		}
	}
}

// wanted reports whether an image is to be copied: it is not in the mirror, or so the mirror says to those who may only pull.
func (st *step) wanted() bool {
	return st.word == "" && st.From.IsValid() && (st.err == nil || errors.Is(st.err, registry.ErrNotFound) || errors.Is(st.err, registry.ErrRejected))
}

// spare asks the mirror for the tags of what is to be copied with a digest. A tag that leads to something else stays, and the copy goes without it.
func (y *syncing) spare(ctx context.Context) {
	var images []reference.Image
	var asked []*step
	for _, st := range y.steps {
		if tag, _, ok := strings.Cut(st.Place.String(), "@"); ok && st.Place.Tag() != "" && st.wanted() && !y.follow {
			image, _ := reference.Parse(tag) // it is Place without its digest
			images, asked = append(images, image), append(asked, st)
		}
	}
	for i, a := range y.each(ctx, images) {
		if st := asked[i]; a.Err == nil && a.Digest != st.Place.Digest() {
			st.Place, _ = reference.Parse(st.Place.Name() + "@" + st.Place.Digest()) // it is Place without its tag
			st.note = ", by its digest alone, for the tag leads to " + a.Digest
		}
	}
}

// compare asks the sources for what is in the mirror under a tag alone, and, if nothing is to be copied, for what is not there.
func (y *syncing) compare(ctx context.Context) {
	var images []reference.Image
	var asked []*step
	for _, st := range y.steps {
		if st.word == present && st.From.IsValid() && st.To.Digest() == "" || y.dry && st.wanted() {
			images, asked = append(images, st.From), append(asked, st)
		}
	}
	for i, a := range y.ask(ctx, images) {
		switch st := asked[i]; {
		case st.word != present && a.Err != nil:
			st.err = a.Err
		case st.word != present:
			st.word, st.digest, st.err = toCopy, a.Digest, nil
			st.note += ", from " + quote.Plain(st.From.String())
		case a.Err != nil:
			st.note = ", not compared: " + a.Err.Error()
		case a.Digest == st.digest:
		case !y.follow:
			st.word = kept
			st.note = ", and its source has " + a.Digest
		case y.dry:
			st.note = ", from " + quote.Plain(st.From.String()) + ", in place of " + st.digest
			st.word, st.digest = toCopy, a.Digest
		default:
			st.word = ""
		}
	}
}

// ask asks for images at their sources. Of a registry that cannot be reached one image is asked for, which speaks for the others.
func (y *syncing) ask(ctx context.Context, images []reference.Image) []registry.Answer {
	first := make(map[string]int) // of a host
	var ahead, rest []int
	for i, image := range images {
		host := image.Canonical().Host()
		if _, known := first[host]; known {
			rest = append(rest, i)
			continue
		}
		first[host] = i
		ahead = append(ahead, i)
	}
	answers := make([]registry.Answer, len(images))
	each := func(list []int) {
		var some []reference.Image
		for _, i := range list {
			some = append(some, images[i])
		}
		for j, a := range y.each(ctx, some) {
			answers[list[j]] = a
		}
	}
	each(ahead)
	each(slices.DeleteFunc(rest, func(i int) bool {
		var e *registry.Error
		if !errors.As(answers[first[images[i].Canonical().Host()]].Err, &e) || e.Kind != registry.ErrUnreachable {
			return false
		}
		other := *e
		other.Image = images[i].String()
		answers[i] = registry.Answer{Image: images[i], Err: &other}
		return true
	}))
	return answers
}

// copyAll copies what is to be copied, some images at a time, and those of one repository, which often are the same, one after the other.
func (y *syncing) copyAll(ctx context.Context, parallel int) {
	var todo [][]*step // by repository
	total, last := 0, ""
	for _, st := range y.steps {
		if !st.wanted() {
			continue
		}
		if name := st.To.Canonical().Name(); total == 0 || name != last {
			todo, last = append(todo, nil), name
		}
		todo[len(todo)-1] = append(todo[len(todo)-1], st)
		total++
	}
	var mu sync.Mutex
	p, done := progress{streams: y.streams}, 0
	next := make(chan []*step)
	var wg sync.WaitGroup
	for range min(parallel, len(todo)) {
		wg.Go(func() {
			for st := range steps(next) {
				var how registry.Copying
				if y.terminal {
					how.Progress = func(c registry.Copied) {
						mu.Lock()
						defer mu.Unlock()
						p.step(done, total, fmt.Sprintf("%s: %s sent", st.To, size(c.Bytes)))
					}
				}
				c, err := y.client.CopyWith(ctx, st.From, st.Place, how)
				st.bytes, st.err = c.Bytes, err
				if err == nil {
					st.word, st.digest = copied, c.Digest
					st.note += ", " + size(c.Bytes) + " sent"
				}
				mu.Lock()
				done++
				p.step(done, total, st.To.String()+": "+word(err))
				mu.Unlock()
			}
		})
	}
	for _, some := range todo {
		next <- some
	}
	close(next)
	wg.Wait()
	p.end()
}

// steps gives the steps that come in lists.
func steps(lists <-chan []*step) iter.Seq[*step] {
	return func(yield func(*step) bool) {
		for list := range lists {
			for _, st := range list {
				if !yield(st) {
					return
				}
			}
		}
	}
}

// tellSteps writes a line for each image, and returns what is wrong with them.
func (y *syncing) tellSteps() error {
	var errs []error
	for _, st := range y.steps {
		if st.err != nil {
			errs = append(errs, st.err)
			write(y.stdout, fmt.Sprintf("%-14s %s%s", word(st.err), st.err, st.note))
			continue
		}
		write(y.stdout, fmt.Sprintf("%-14s %s %s%s", st.word, quote.Plain(st.To.String()), st.digest, st.note))
	}
	return errors.Join(errs...)
}

// toPin returns how many entries a policy has to pin in a table, and that table with some digest for each.
func toPin(t imageoverrides.Table, policy registry.Policy) (n int, trial imageoverrides.Table) {
	var entries []imageoverrides.Override
	for _, o := range t.All() {
		if o.NewTag != "" && (policy == registry.Always || policy == registry.IfNotPresent && o.Digest == "") {
			n++
			o.Digest = "sha256:" + fmt.Sprintf("%064x", n)
		}
		entries = append(entries, o)
	}
	trial, err := imageoverrides.New(entries...)
	if err != nil { // which no digest makes
		return n, t
	}
	return n, trial
}

// pin pins the table.
func (y *syncing) pin(ctx context.Context, policy registry.Policy) (imageoverrides.Table, error) {
	pinned, found, err := registry.Pin(ctx, y.client, y.plan.table, policy)
	for _, p := range found {
		if p.Err != nil || p.Changed() {
			y.say(p.String())
		}
	}
	if err != nil {
		y.say("an entry cannot be pinned; -policy Never leaves the digests of the table as they are")
	}
	return pinned, err
}

// prove asks the mirror for what the steps have not proved for a table.
func (y *syncing) prove(ctx context.Context, t imageoverrides.Table) error {
	copies, err := y.plan.mirror.Copies(t, y.plan.images)
	if err != nil {
		return err
	}
	byTarget := make(map[string]*step)
	for _, st := range y.steps {
		byTarget[st.To.String()] = st
	}
	var images []reference.Image
	for _, c := range copies {
		if st := byTarget[c.To.String()]; st == nil || st.word == copied {
			images = append(images, c.To)
		}
	}
	var errs []error
	for _, a := range y.each(ctx, images) {
		st := byTarget[a.Image.String()]
		switch {
		case a.Err != nil:
			errs = append(errs, a.Err)
		case st != nil && st.digest != a.Digest:
			errs = append(errs, fmt.Errorf("%s: the mirror has %s, where %s was copied", quote.Plain(a.Image.String()), a.Digest, st.digest))
		default:
			continue
		}
		y.say(errs[len(errs)-1].Error())
	}
	return errors.Join(errs...)
}

// end says in a line what was done.
func (y *syncing) end(table string) {
	words, bytes := make(map[string]int), int64(0)
	for _, st := range y.steps {
		words[st.word]++
		bytes += st.bytes
	}
	line := count(len(y.steps), "image") + ":"
	for _, word := range []string{copied, toCopy, present, kept} {
		if words[word] > 0 {
			line += fmt.Sprintf(" %d %s,", words[word], word)
		}
	}
	y.say(line + fmt.Sprintf(" %d failed, %s sent; %s; %s", words[""], size(bytes), y.plan.summary(), table))
}
