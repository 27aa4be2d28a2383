// SPDX-License-Identifier: Apache-2.0

package overrides

import (
	"context"
	"fmt"
	"time"

	"github.com/cozystack/image-overrides/postrender"
	helmv2 "github.com/fluxcd/helm-controller/api/v2"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
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
	Client client.Client // reads from a cache that has the chosen releases only
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
	if len(faultsOf(err)) > 0 || err == nil && !table.Known() {
		return nil // told by the source
	}
	var releases helmv2.HelmReleaseList
	if err == nil {
		err = r.Client.List(ctx, &releases, client.UnsafeDisableDeepCopy)
	}
	if err != nil {
		log.FromContext(ctx).Error(err, "the Secret has changed, and the releases cannot follow")
		return nil
	}
	requests := make([]reconcile.Request, len(releases.Items))
	for i := range releases.Items {
		requests[i].NamespacedName = client.ObjectKeyFromObject(&releases.Items[i])
	}
	log.FromContext(ctx).Info("the releases follow the table", "hash", table.Hash(), "releases", carried(releases.Items))
	return requests
}

// hears is how long the cache is given to hear of somebody else's write.
const hears = 200 * time.Millisecond

// Reconcile brings one release in step. Where somebody has written it since the cache heard of
// it, it is read and merged again, a moment later. A release that is no longer chosen keeps
// the table that it has.
func (r *Releases) Reconcile(ctx context.Context, req ctrl.Request) (ctrl.Result, error) {
	table, err := r.Source.Table(ctx)
	if len(faultsOf(err)) > 0 {
		return ctrl.Result{}, nil // told by the source; the Secret's next change comes here again
	}
	if err != nil {
		return ctrl.Result{}, err
	}
	var release helmv2.HelmRelease
	if err := r.Client.Get(ctx, req.NamespacedName, &release); err != nil {
		return ctrl.Result{}, client.IgnoreNotFound(err)
	}
	before := release.DeepCopy()
	if !release.DeletionTimestamp.IsZero() || !postrender.Ensure(&release, table) {
		return ctrl.Result{}, nil
	}
	// The list of post-renderers is atomic: server-side apply would own all of it, the
	// release's own included. The lock makes the API server refuse the patch if the release is
	// not as it was read. The list is written whole, so keep helm-controller/api no older
	// than the cluster's Flux: fields that it does not know would be lost.
	patch := client.MergeFromWithOptions(before, client.MergeFromWithOptimisticLock{})
	err = r.Client.Patch(ctx, &release, patch, client.FieldOwner("image-overrides"))
	if apierrors.IsConflict(err) {
		return ctrl.Result{RequeueAfter: hears}, nil
	}
	if client.IgnoreNotFound(err) != nil {
		return ctrl.Result{}, fmt.Errorf("post-renderers of %s: %w", req, err)
	}
	return ctrl.Result{}, nil
}
