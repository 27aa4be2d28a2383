// SPDX-License-Identifier: Apache-2.0

package overrides

import (
	"cmp"
	"context"
	"fmt"
	"time"

	"github.com/cozystack/image-overrides/imageoverrides"
	"github.com/cozystack/image-overrides/postrender"
	helmv2 "github.com/fluxcd/helm-controller/api/v2"
	"github.com/prometheus/client_golang/prometheus"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/client-go/tools/events"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/log"
	"sigs.k8s.io/controller-runtime/pkg/predicate"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
	"sigs.k8s.io/controller-runtime/pkg/source"
)

// Releases brings HelmReleases in step with the table.
type Releases struct {
	Client client.Client // reads from a cache that has the chosen releases only
	Source *Source

	// Owner is the name under which the fields are written; see [Name].
	Owner string

	// Concurrent is how many releases are worked on at a time.
	Concurrent int

	Events events.EventRecorder // nil for none

	now    func() time.Time // nil: time.Now
	memory memory
}

// SetupWithManager makes a manager run the controller. All releases are looked at when the
// Secret changes, and one when its spec does; Flux's writes of its status are passed over. Where the
// Source has a Check, a second controller asks it, and all releases are looked at when it has let a table through.
func (r *Releases) SetupWithManager(m ctrl.Manager) error {
	all := handler.EnqueueRequestsFromMapFunc(r.all)
	b := ctrl.NewControllerManagedBy(m).
		For(&helmv2.HelmRelease{}, builder.WithPredicates(predicate.GenerationChangedPredicate{})).
		Watches(&corev1.Secret{}, all).
		WithOptions(controller.Options{MaxConcurrentReconciles: r.Concurrent})
	if r.Source.Check != nil {
		through := make(chan event.GenericEvent)
		b = b.WatchesRawSource(source.Channel(through, all))
		err := ctrl.NewControllerManagedBy(m).Named("image-overrides-check").For(&corev1.Secret{}).Complete(r.asker(through))
		if err != nil {
			return err
		}
	}
	return b.Complete(r)
}

// asker asks the Source when the Secret changes and when a table that is held back wants it, and says so
// when a table was let through.
func (r *Releases) asker(through chan<- event.GenericEvent) reconcile.Func {
	return func(ctx context.Context, _ ctrl.Request) (ctrl.Result, error) {
		out, again, err := r.Source.Ask(ctx)
		if out {
			select {
			case through <- event.GenericEvent{Object: &corev1.Secret{}}:
			case <-ctx.Done(): // the next process finds a table that no release carries
			}
		}
		return ctrl.Result{RequeueAfter: again}, err
	}
}

// all returns the releases to look at when the Secret has changed: none where it does not
// say what they should carry.
func (r *Releases) all(ctx context.Context, _ client.Object) []reconcile.Request {
	table, err := r.Source.Table(ctx)
	if len(imageoverrides.Faults(err)) > 0 || err == nil && !table.Known() {
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

// Reconcile brings one release in step. Where somebody has written it since the cache heard of it,
// it is read and merged again, a moment later, and later each time. Where somebody writes another
// table over this one again and again, that is told, and this one is written less and less often. A
// release that is no longer chosen keeps the table that it has.
func (r *Releases) Reconcile(ctx context.Context, req ctrl.Request) (ctrl.Result, error) {
	table, err := r.Source.Table(ctx)
	if len(imageoverrides.Faults(err)) > 0 {
		return ctrl.Result{}, nil // told by the source; the Secret's next change comes here again
	}
	if err != nil {
		return ctrl.Result{}, err
	}
	var release helmv2.HelmRelease
	if err := r.Client.Get(ctx, req.NamespacedName, &release); err != nil {
		if apierrors.IsNotFound(err) {
			r.memory.forget(req.NamespacedName)
		}
		return ctrl.Result{}, client.IgnoreNotFound(err)
	}
	if !release.DeletionTimestamp.IsZero() || !table.Known() {
		return ctrl.Result{}, nil
	}
	if postrender.Carries(release.Spec.PostRenderers, table) {
		again, ended := r.memory.inStep(&release, r.clock())
		if ended {
			log.FromContext(ctx).Info("the release has one table again")
			tell(r.Events, &release, corev1.EventTypeNormal, "ImageOverridesSettled", writeAction, "nobody else writes a table of image overrides any more")
		}
		return ctrl.Result{RequeueAfter: again}, nil
	}
	wait, times := r.memory.before(&release, table, r.clock())
	if times > 0 {
		r.contested(ctx, &release, times, wait)
	}
	if wait > 0 {
		return ctrl.Result{RequeueAfter: wait}, nil
	}

	before := release.DeepCopy()
	postrender.Ensure(&release, table)
	// The list of post-renderers is atomic: server-side apply would own all of it, the
	// release's own included. The lock makes the API server refuse the patch if the release is
	// not as it was read. The list is written whole, so keep helm-controller/api no older
	// than the cluster's Flux: fields that it does not know would be lost.
	patch := client.MergeFromWithOptions(before, client.MergeFromWithOptimisticLock{})
	err = r.Client.Patch(ctx, &release, patch, client.FieldOwner(cmp.Or(r.Owner, "image-overrides")))
	switch {
	case err == nil:
		r.memory.wrote(&release, table, r.clock())
	case apierrors.IsConflict(err):
		return ctrl.Result{RequeueAfter: r.memory.conflict(req.NamespacedName)}, nil
	case !apierrors.IsNotFound(err):
		return ctrl.Result{}, fmt.Errorf("post-renderers of %s: %w", req, err)
	}
	return ctrl.Result{}, nil
}

const writeAction = "WriteImageOverrides"

// contested tells that the table which was written is gone from a release, for the so-manieth time
// in a row.
func (r *Releases) contested(ctx context.Context, release *helmv2.HelmRelease, times int, wait time.Duration) {
	undone.Inc()
	now := hashLabel(release.Spec.PostRenderers)
	log.FromContext(ctx).Info("somebody has written over the release's table", "times", times, "now", now, "wait", wait.String())
	if times < 2 {
		return // it may be a slip
	}
	if now == "" {
		now = "none"
	}
	tell(r.Events, release, corev1.EventTypeWarning, "ImageOverridesContested", writeAction, fmt.Sprintf(
		"somebody has written over the table of image overrides %d times in a row, now with %s; each time is an upgrade. "+
			"It is written again in %s. Find the other writer in metadata.managedFields", times, now, wait))
}

func (r *Releases) clock() time.Time {
	if r.now == nil {
		return time.Now()
	}
	return r.now()
}

// Contested is a metric, image_overrides_contested_releases.
func (r *Releases) Contested() prometheus.Collector {
	return prometheus.NewGaugeFunc(prometheus.GaugeOpts{
		Name: "image_overrides_contested_releases",
		Help: "How many releases have another writer with another table, as far as the leading replica knows.",
	}, func() float64 { return float64(r.memory.contested(r.clock())) })
}
