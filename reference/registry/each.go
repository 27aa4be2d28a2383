// SPDX-License-Identifier: Apache-2.0

package registry

import (
	"context"
	"sync"

	"github.com/cozystack/image-overrides/reference"
)

// An Answer is what Each learned about one image.
type Answer struct {
	Image reference.Image
	// Digest is what the image's tag points at, or its own digest, as for Resolve; it is empty
	// with an error.
	Digest string
	// Err is nil where the image is there, and an [*Error] otherwise.
	Err error
}

// Progress is told when one more image is known.
type Progress struct {
	Answer
	Done, Total int // distinct images
}

// Each asks whether images are there, as Check does, also those with a digest, and returns an answer for each, in their order. Each
// distinct image is asked once, whatever its spelling, and no more than the settings' Parallel at a time. The first image of
// a registry is asked alone, so that a registry that is down, or wants credentials, does not get all of them at once.
//
// Progress may be nil. It is called from one goroutine at a time, once for each distinct image, with the first of its
// spellings, in the order in which they become known; Each does not go on while it runs.
//
// The error is nil if all are there, and otherwise [Errors] with one [*Error] for each of the distinct images that is
// not, in their order. No images give none. When the context ends, the images that are not known yet are ErrUnreachable and Each returns soon.
func (c *Client) Each(ctx context.Context, images []reference.Image, progress func(Progress)) ([]Answer, error) {
	type key struct {
		server                *server
		repository, reference string
	}
	type question struct {
		target
		fault  *Error
		answer Answer
	}
	var questions []*question
	var hosts []*server
	byHost := make(map[*server][]*question)
	known := make(map[key]*question)
	broken := make(map[string]*question) // that are not asked, by their text
	of := make([]*question, len(images))
	for i, image := range images {
		t, fault := c.target(image)
		k := key{t.server, t.repository, t.reference}
		if fault != nil {
			of[i] = broken[image.String()]
		} else {
			of[i] = known[k]
		}
		if of[i] != nil {
			continue
		}
		q := &question{target: t, fault: fault, answer: Answer{Image: image}}
		of[i] = q
		questions = append(questions, q)
		if fault != nil {
			broken[image.String()] = q
			continue
		}
		known[k] = q
		if byHost[t.server] == nil {
			hosts = append(hosts, t.server)
		}
		byHost[t.server] = append(byHost[t.server], q)
	}

	var mu sync.Mutex
	done := 0
	tell := func(q *question) {
		mu.Lock()
		defer mu.Unlock()
		done++
		if progress != nil {
			progress(Progress{q.answer, done, len(questions)})
		}
	}
	var r *run
	for _, q := range questions {
		if q.fault == nil && r == nil {
			var err error
			if r, err = c.run(ctx); err != nil {
				for _, q := range known {
					q.fault = noKeyring(q.image, err)
				}
				hosts = nil
			}
			break
		}
	}
	for _, q := range questions {
		if q.fault != nil {
			q.answer.Err = q.fault
			tell(q)
		}
	}
	slots := make(chan struct{}, c.s.Parallel)
	var wg sync.WaitGroup
	ask := func(q *question) {
		defer func() { <-slots }()
		digest, _, fault := r.ask(ctx, q.target)
		q.answer.Digest = digest
		if fault != nil {
			q.answer.Err = fault
		}
		tell(q)
	}
	for _, s := range hosts {
		wg.Go(func() {
			first, rest := byHost[s][0], byHost[s][1:]
			slots <- struct{}{}
			ask(first)
			for _, q := range rest {
				slots <- struct{}{}
				wg.Go(func() { ask(q) })
			}
		})
	}
	wg.Wait()

	answers := make([]Answer, len(images))
	for i, q := range of {
		answers[i] = q.answer
		answers[i].Image = images[i]
	}
	var faults Errors
	for _, q := range questions {
		if q.answer.Err != nil {
			faults = append(faults, as(q.answer.Err))
		}
	}
	if faults != nil {
		return answers, faults
	}
	return answers, nil
}
