// SPDX-License-Identifier: Apache-2.0

package overrides

import (
	"context"
	"fmt"

	"github.com/cozystack/image-overrides/postrender"
	helmv2 "github.com/fluxcd/helm-controller/api/v2"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/util/retry"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/log"
	"sigs.k8s.io/controller-runtime/pkg/predicate"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
)

// Releases brings HelmReleases in step with the table.
type Releases struct {
	Client client.Client // reads from a cache
	Live   client.Reader // reads from the API server
	Source *Source

	// Concurrent is how many releases are worked on at a time.
	Concurrent int
}

// SetupWithManager makes a manager run the controller. All releases are looked at when the
// Secret changes, and one when its spec does; Flux's writes of its status are passed over.
func (r *Releases) SetupWithManager(m ctrl.Manager) error {
	return ctrl.NewControllerManagedBy(m).
		For(&helmv2.HelmRelease{}, builder.WithPredicates(predicate.GenerationChangedPredicate{})).
		Watches(&corev1.Secret{}, handler.EnqueueRequestsFromMapFunc(r.all)).
		WithOptions(controller.Options{MaxConcurrentReconciles: r.Concurrent}).
		Complete(r)
}

// all returns the releases to look at when the Secret has changed: none where it does not
// say what they should carry.
func (r *Releases) all(ctx context.Context, _ client.Object) []reconcile.Request {
	table, err := r.Source.Table(ctx)
	if err != nil || !table.Known() {
		return nil // told by the source
	}
	var releases helmv2.HelmReleaseList
	if err := r.Client.List(ctx, &releases, client.UnsafeDisableDeepCopy); err != nil {
		log.FromContext(ctx).Error(err, "the releases cannot be listed")
		return nil
	}
	requests := make([]reconcile.Request, len(releases.Items))
	for i := range releases.Items {
		requests[i].NamespacedName = client.ObjectKeyFromObject(&releases.Items[i])
	}
	log.FromContext(ctx).Info("the releases follow the table", "hash", table.Hash(), "releases", carried(releases.Items))
	return requests
}

// Reconcile brings one release in step. Where somebody else has written it since it was read,
// it is read again, from the API server, and merged anew.
func (r *Releases) Reconcile(ctx context.Context, req ctrl.Request) (ctrl.Result, error) {
	table, err := r.Source.Table(ctx)
	if len(faultsOf(err)) > 0 {
		return ctrl.Result{}, nil // told by the source; the Secret's next change comes here again
	}
	if err != nil {
		return ctrl.Result{}, err
	}
	reader := client.Reader(r.Client)
	err = retry.RetryOnConflict(retry.DefaultBackoff, func() error {
		var release helmv2.HelmRelease
		if err := reader.Get(ctx, req.NamespacedName, &release); err != nil {
			return client.IgnoreNotFound(err)
		}
		reader = r.Live
		before := release.DeepCopy()
		if !release.DeletionTimestamp.IsZero() || !postrender.Ensure(&release, table) {
			return nil
		}
		// The list of post-renderers is atomic: server-side apply would own all of it, the
		// release's own included. The lock makes the API server refuse the patch
		// if the release is not as it was read. The list is written whole, so keep
		// helm-controller/api no older than the cluster's Flux: fields that it
		// does not know would be lost.
		patch := client.MergeFromWithOptions(before, client.MergeFromWithOptimisticLock{})
		if err := r.Client.Patch(ctx, &release, patch, client.FieldOwner("image-overrides")); err != nil {
			return client.IgnoreNotFound(err)
		}
		hash, _ := postrender.Hash(release.Spec.PostRenderers)
		log.FromContext(ctx).V(1).Info("the release follows the table", "hash", hash)
		return nil
	})
	if err != nil {
		return ctrl.Result{}, fmt.Errorf("post-renderers of %s: %w", req, err)
	}
	return ctrl.Result{}, nil
}
