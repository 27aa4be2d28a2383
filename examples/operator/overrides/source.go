// SPDX-License-Identifier: Apache-2.0

package overrides

import (
	"context"
	"strconv"
	"sync"

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

	mu      sync.Mutex
	version string // the resource version of the Secret that was read last, or missing
	table   imageoverrides.Table
	err     error
}

// Table returns the table as the Secret has it now, or as it was read when the Secret changed
// last. It is the unknown one while there is no Secret, and with every error: one of
// the API, or the faults of a broken table, which [imageoverrides.Faults] lists.
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
	last := s.table
	s.version, s.table, s.err = version, imageoverrides.Table{}, nil
	if version == missing {
		log.FromContext(ctx).Info("there is no Secret with image overrides, no release is changed", "secret", s.Secret)
		setFaults(nil)
	} else {
		s.table, s.err = imageoverrides.ParseSecret(secret.Data)
		s.report(ctx, &secret, last)
	}
	return s.table, s.err
}

// missing is no resource version.
const missing = "missing"

// report tells the state of the table to those who can mend it. The Secret holds other things
// too, whose changes are no event.
func (s *Source) report(ctx context.Context, secret *corev1.Secret, last imageoverrides.Table) {
	logger := log.FromContext(ctx).WithValues("secret", s.Secret)
	faults := imageoverrides.Faults(s.err)
	faults = faults[:min(len(faults), maxFaults)]
	setFaults(faults)
	if s.err == nil {
		logger.Info("the table of image overrides was read", "hash", s.table.Hash(), "entries", s.table.Len())
		if s.table.Hash() != last.Hash() {
			tell(s.Events, secret, corev1.EventTypeNormal, "ImageOverridesRead", readAction, strconv.Itoa(s.table.Len())+" entries, hash "+s.table.Hash())
		}
		return
	}
	for _, f := range faults {
		logger.Error(f, "the table of image overrides is broken, no release is changed", "entry", f.Entry, "field", fieldLabel(f.Field), "rule", f.Rule)
	}
	tell(s.Events, secret, corev1.EventTypeWarning, "ImageOverridesBroken", readAction, s.err.Error())
}

// maxFaults keeps a table that is broken all over from a line and a series for each entry.
const maxFaults = 10

const readAction = "ReadImageOverrides"
