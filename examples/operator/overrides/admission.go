// SPDX-License-Identifier: Apache-2.0

package overrides

import (
	"context"
	"slices"

	"github.com/cozystack/image-overrides/imageoverrides"
	"github.com/cozystack/image-overrides/postrender"
	helmv2 "github.com/fluxcd/helm-controller/api/v2"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/log"
)

// Admission is what an API server does with a release that it is asked to write.
type Admission struct {
	Source *Source

	// Carriers are the releases whose charts write the Secret with the table. They are admitted
	// whatever is wrong with the Secret: what mends it comes by them.
	Carriers []types.NamespacedName
}

// Default gives the release the table's post-renderer, or refuses it while the table is broken,
// with the messages of the faulty entries. While there is no Secret, the release gets the table
// that the live one carries, so that who writes it anew does not take the table out, and so does a
// carrier while the table is broken or cannot be read. To take the table out for good, write an
// empty one.
//
// The live release is the one that is to be replaced, as an update has it (the OldObject of an
// AdmissionRequest); nil for one that is created. It is not changed, and may be one of a cache. A
// release that is being deleted stays as it is.
//
// Default is for whoever writes the spec of releases; as a webhook for all writes it would keep
// Flux from its own, of metadata, while the table is broken.
func (a *Admission) Default(ctx context.Context, release, live *helmv2.HelmRelease) error {
	if !release.DeletionTimestamp.IsZero() {
		return nil
	}
	table, err := a.Source.Table(ctx)
	switch {
	case err == nil:
	case slices.Contains(a.Carriers, client.ObjectKeyFromObject(release)):
		log.FromContext(ctx).Info("the release that writes the Secret keeps its table", "release", client.ObjectKeyFromObject(release), "reason", err.Error())
	case len(imageoverrides.Faults(err)) > 0:
		return apierrors.NewForbidden(schema.GroupResource{Group: helmv2.GroupVersion.Group, Resource: "helmreleases"}, release.Name, err)
	default:
		return err // of reading the Secret
	}
	var carried []helmv2.PostRenderer
	if live != nil {
		carried = live.Spec.PostRenderers
	}
	release.Spec.PostRenderers = postrender.Compose(release.Spec.PostRenderers, carried, table)
	return nil
}
