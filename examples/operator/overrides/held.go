// SPDX-License-Identifier: Apache-2.0

package overrides

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/cozystack/image-overrides/imageoverrides"
	"github.com/cozystack/image-overrides/postrender"
	"github.com/cozystack/image-overrides/reference"
	helmv2 "github.com/fluxcd/helm-controller/api/v2"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/log"
)

const (
	// asking is how long one round of questions may take. What is not known then was not learned.
	asking = time.Minute
	// A table that is held back is asked for again after firstAsk, and then after twice as long each
	// time, up to lastAsk: the image may come later.
	firstAsk = 30 * time.Second
	lastAsk  = 10 * time.Minute
)

// A held is a sound table that waits for the answers about its images.
type held struct {
	table imageoverrides.Table
	about *corev1.Secret // without its data
	open  []target       // what is not known to be there
	count int            // of the images that were to be asked for
	times int            // how often they were, in vain
	until time.Time      // when to ask again
}

// applied reports whether a release carries the table: then it was let through before this
// process began, and what runs is not asked about.
func (s *Source) applied(ctx context.Context, table imageoverrides.Table) (bool, error) {
	var releases helmv2.HelmReleaseList
	if err := s.Reader.List(ctx, &releases, client.UnsafeDisableDeepCopy); err != nil {
		return false, err
	}
	return slices.ContainsFunc(releases.Items, func(r helmv2.HelmRelease) bool {
		return postrender.Carries(r.Spec.PostRenderers, table)
	}), nil
}

// weigh returns what a sound table has to wait for: nil where nothing is to be asked.
func (s *Source) weigh(ctx context.Context, secret *corev1.Secret, table imageoverrides.Table) (*held, error) {
	if s.Check == nil || table.Equal(s.through) {
		return nil, nil
	}
	if s.held != nil && s.held.table.Equal(table) {
		return s.held, nil // something else in the Secret has changed
	}
	open, untold := fresh(s.through, table)
	if len(open) > 0 && !s.through.Known() {
		if applied, err := s.applied(ctx, table); applied || err != nil {
			return nil, err
		}
	}
	logger := log.FromContext(ctx).WithValues("secret", s.Secret, "hash", table.Hash())
	if len(untold) > 0 {
		logger.Info("these entries name no image that could be asked for: the tag is the manifest's, an entry before takes the image, or the chains are too long", "entries", untold[:min(len(untold), maxFaults)], "count", len(untold))
	}
	if len(open) == 0 {
		return nil, nil
	}
	logger.Info("the table waits until its new images were asked for", "images", len(open))
	about := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: secret.Namespace, Name: secret.Name, UID: secret.UID, ResourceVersion: secret.ResourceVersion}}
	return &held{table: table, about: about, open: open, count: len(open)}, nil
}

// Ask asks Check about the images of a table that waits, and lets it through or holds it back: it says whether a table
// was let through, which the releases do not have yet, and when to ask again, 0 for no need to before the Secret
// changes. Without Check, while nothing waits, and while the table is broken or there is no Secret, it asks nothing.
//
// Whoever sets Check has to call it when the Secret changes and when it said; [Releases] does. It may take a minute. Calls
// wait for each other, and [Source.Table] does not wait for them. The error is one of reading the Secret or the
// releases, or that of the context, after which nothing has changed.
func (s *Source) Ask(ctx context.Context) (through bool, again time.Duration, err error) {
	s.asks.Lock()
	defer s.asks.Unlock()
	for {
		if _, err := s.Table(ctx); err != nil && len(imageoverrides.Faults(err)) == 0 {
			return false, 0, err
		}
		s.mu.Lock()
		h := s.held
		s.mu.Unlock()
		if h == nil {
			return false, 0, nil
		}
		if wait := h.until.Sub(s.clock()); wait > 0 {
			return false, wait, nil
		}
		images := make([]reference.Image, len(h.open))
		for i, t := range h.open {
			images[i] = t.image
		}
		limited, cancel := context.WithTimeout(ctx, asking)
		answers := s.Check(limited, images)
		cancel()
		if err := ctx.Err(); err != nil {
			return false, 0, err // whoever ends this learned nothing, and a table must not go out by it
		}
		if _, err := s.Table(ctx); err != nil && len(imageoverrides.Faults(err)) == 0 { // is it the one still?
			return false, 0, err
		}
		if through, again, ok := s.learned(ctx, h, answers); ok {
			return through, again, nil
		}
	}
}

// learned takes the answers about a table that waits. They are not ok where another one waits by now, or none.
func (s *Source) learned(ctx context.Context, h *held, answers []error) (through bool, again time.Duration, ok bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.held != h {
		return false, 0, false
	}
	var open, missing, unknown []target
	for i, t := range h.open {
		err := errSilent
		if i < len(answers) {
			err = answers[i]
		}
		if err == nil {
			continue
		}
		if last := t; !last.missing() {
			t.err = err
		} else if t.err = err; !t.missing() {
			t = last // nothing was learned that takes the last answer back
		}
		open = append(open, t)
		if t.missing() {
			missing = append(missing, t)
		} else {
			unknown = append(unknown, t)
		}
	}
	h.open = open
	missingImages.Set(float64(len(missing)))
	logger := log.FromContext(ctx).WithValues("secret", s.Secret, "hash", h.table.Hash())
	if len(missing) > 0 {
		h.times++
		again = backoff(h.times, firstAsk, lastAsk)
		h.until = s.clock().Add(again)
		for _, t := range missing[:min(len(missing), maxFaults)] {
			logger.Error(t.err, "an image is not there, and the table is held back", "entry", t.entry, "again", again.String())
		}
		tell(s.Events, h.about, corev1.EventTypeWarning, "ImageOverridesHeld", checkAction, fmt.Sprintf(
			"the table with the hash %.12s is held back and releases keep the one that they have: of %d new images, %d not there. "+
				"Push them or mend the entries; they are asked for again in %s.%s", h.table.Hash(), h.count, len(missing), again, lines(missing)))
		return false, again, true
	}
	if len(unknown) > 0 {
		uncheckedImages.Add(float64(len(unknown)))
		for _, t := range unknown[:min(len(unknown), maxFaults)] {
			logger.Error(t.err, "nothing was learned of an image, and the table goes out all the same", "entry", t.entry)
		}
		tell(s.Events, h.about, corev1.EventTypeWarning, "ImageOverridesUnchecked", checkAction, fmt.Sprintf(
			"the table with the hash %.12s goes out unchecked: of %d new images, nothing was learned about %d. "+
				"If pods cannot pull them, mend the entries; see to the operator's credentials and network.%s", h.table.Hash(), h.count, len(unknown), lines(unknown)))
	}
	last := s.table
	s.held, s.table, s.through = nil, h.table, h.table
	s.read(ctx, h.about, last)
	return true, 0, true
}

const checkAction = "CheckImageOverrides"

// lines says what is known of images, a line each, as the faults of a table read.
func lines(list []target) string {
	var b strings.Builder
	for i, t := range list {
		if i == maxFaults {
			fmt.Fprintf(&b, "\nand %d more", len(list)-i)
			break
		}
		fmt.Fprintf(&b, "\n_cluster.image-overrides[%d]: %q: %v", t.entry, t.name, t.err)
	}
	return b.String()
}
