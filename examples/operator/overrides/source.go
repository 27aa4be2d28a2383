// SPDX-License-Identifier: Apache-2.0

package overrides

import (
	"context"
	"strconv"
	"sync"
	"time"

	"github.com/cozystack/image-overrides/imageoverrides"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/events"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/log"
)

// A Source reads the table from the platform's Secret, once for each change.
type Source struct {
	Reader client.Reader // a cached one: it is asked for every release
	Secret types.NamespacedName
	Events events.EventRecorder // nil for none

	// Check, if it is not nil, is asked about the images that a changed table points at and the one
	// before did not. While one of them is not there, the table is held back. See [Source.Ask], which
	// somebody has to call then. The Reader has to have the releases too.
	Check Check

	asks sync.Mutex       // taken before mu
	now  func() time.Time // nil: time.Now

	mu      sync.Mutex
	version string // the resource version of the Secret that was read last, or missing
	table   imageoverrides.Table
	err     error
	through imageoverrides.Table // the last sound table that was not held back, also while another state is told
	held    *held                // a table that waits for Check, nil for none
}

// Table returns the table as the Secret has it now, or as it was read when the Secret changed
// last. It is the unknown one while there is no Secret, and with every error: one of
// the API, or the faults of a broken table, which [imageoverrides.Faults] lists.
//
// With Check, a table with new images is held back until [Source.Ask] lets it through: until then Table
// returns the one before, which is the unknown one in a process that has let none through yet. A table that a
// release carries when it is read first is not held back.
func (s *Source) Table(ctx context.Context) (imageoverrides.Table, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	var secret corev1.Secret // only read
	err := s.Reader.Get(ctx, s.Secret, &secret, client.UnsafeDisableDeepCopy)
	if client.IgnoreNotFound(err) != nil {
		return imageoverrides.Table{}, err
	}
	version := secret.ResourceVersion
	if apierrors.IsNotFound(err) {
		version = missing
	}
	if version == s.version {
		return s.table, s.err
	}
	var table imageoverrides.Table
	var fault error
	var waits *held
	if version != missing {
		table, fault = imageoverrides.ParseSecret(secret.Data)
	}
	if table.Known() {
		if waits, err = s.weigh(ctx, &secret, table); err != nil {
			return imageoverrides.Table{}, err
		}
	}
	if waits == nil {
		missingImages.Set(0)
	}
	last := s.table
	s.version, s.table, s.err, s.held = version, table, fault, waits
	switch {
	case version == missing:
		log.FromContext(ctx).Info("there is no Secret with image overrides, no release is changed", "secret", s.Secret)
		setFaults(nil)
	case fault != nil:
		s.broken(ctx, &secret)
	case waits != nil:
		s.table = s.through
		setFaults(nil)
	default:
		s.through = table
		s.read(ctx, &secret, last)
	}
	return s.table, s.err
}

// missing is no resource version.
const missing = "missing"

// broken tells the faults of the table to those who can mend them.
func (s *Source) broken(ctx context.Context, secret *corev1.Secret) {
	logger := log.FromContext(ctx).WithValues("secret", s.Secret)
	faults := imageoverrides.Faults(s.err)
	faults = faults[:min(len(faults), maxFaults)]
	setFaults(faults)
	for _, f := range faults {
		logger.Error(f, "the table of image overrides is broken, no release is changed", "entry", f.Entry, "field", fieldLabel(f.Field), "rule", f.Rule)
	}
	tell(s.Events, secret, corev1.EventTypeWarning, "ImageOverridesBroken", readAction, s.err.Error())
}

// read tells that the releases follow the table from now on. The Secret holds other things too, whose
// changes are no event.
func (s *Source) read(ctx context.Context, secret *corev1.Secret, last imageoverrides.Table) {
	setFaults(nil)
	log.FromContext(ctx).Info("the table of image overrides was read", "secret", s.Secret, "hash", s.table.Hash(), "entries", s.table.Len())
	if s.table.Hash() != last.Hash() {
		tell(s.Events, secret, corev1.EventTypeNormal, "ImageOverridesRead", readAction, strconv.Itoa(s.table.Len())+" entries, hash "+s.table.Hash())
	}
}

func (s *Source) clock() time.Time {
	if s.now == nil {
		return time.Now()
	}
	return s.now()
}

// maxFaults keeps a table that is broken all over from a line and a series for each entry.
const maxFaults = 10

const readAction = "ReadImageOverrides"
