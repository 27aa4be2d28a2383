// SPDX-License-Identifier: Apache-2.0

package overrides

import (
	"context"

	"github.com/cozystack/image-overrides/postrender"
	helmv2 "github.com/fluxcd/helm-controller/api/v2"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// Admission is what an API server does with a release that it is asked to write.
type Admission struct {
	Source *Source
}

// Default gives the release the table's post-renderer, or refuses it while the table is broken, with
// the message of the faulty entry. While there is no Secret, the release stays as it is, and one that
// is being deleted always does. It is for whoever writes the spec of releases; as a webhook for
// all writes it would keep Flux from its own, of metadata, while the table is broken.
func (a *Admission) Default(ctx context.Context, release *helmv2.HelmRelease) error {
	if !release.DeletionTimestamp.IsZero() {
		return nil
	}
	table, err := a.Source.Table(ctx)
	switch {
	case len(faultsOf(err)) > 0:
		return apierrors.NewForbidden(schema.GroupResource{Group: helmv2.GroupVersion.Group, Resource: "helmreleases"}, release.Name, err)
	case err != nil:
		return err // of reading the Secret
	}
	postrender.Ensure(release, table)
	return nil
}
