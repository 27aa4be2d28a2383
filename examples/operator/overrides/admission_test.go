// SPDX-License-Identifier: Apache-2.0

package overrides

import (
	"errors"
	"testing"

	"github.com/cozystack/image-overrides/imageoverrides"
	"github.com/cozystack/image-overrides/postrender"
	helmv2 "github.com/fluxcd/helm-controller/api/v2"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// TestAdmission: a release that is created, or written anew without its table, and the one that writes
// the Secret, in each state of the Secret.
func TestAdmission(t *testing.T) {
	table, older := newTable(t, "v2"), newTable(t, "v1")
	own := releaseOf("b").Spec.PostRenderers
	carrying := func(table imageoverrides.Table) []helmv2.PostRenderer { return postrender.Merge(own, table) }
	boom := apierrors.NewInternalError(errors.New("boom"))
	faulty := secretOf(`[{name: nginx, newTag: v2}, {name: redis}]`)
	for _, test := range []struct {
		why     string
		secret  *corev1.Secret
		failure error // of reading it
		created []helmv2.PostRenderer
		updated []helmv2.PostRenderer
		refusal string // what the API server says to all but the carrier
	}{
		{"no Secret", nil, nil, own, carrying(older), ""},
		{"a table", secretOf(good), nil, carrying(table), carrying(table), ""},
		{"an empty table", secretOf("[]"), nil, own, own, ""},
		{"a faulty entry", faulty, nil, own, carrying(older),
			`helmreleases.helm.toolkit.fluxcd.io "b" is forbidden: _cluster.image-overrides[1]: "redis" sets none of newName, newTag, digest`},
		{"no values.yaml", &corev1.Secret{ObjectMeta: faulty.ObjectMeta}, nil, own, carrying(older),
			`helmreleases.helm.toolkit.fluxcd.io "b" is forbidden: the Secret has no key "values.yaml"`},
		{"an API server that does not answer", secretOf(good), boom, own, carrying(older), boom.Error()},
	} {
		for _, carrier := range []bool{false, true} {
			for _, live := range []*helmv2.HelmRelease{nil, releaseOf("b")} {
				release, want := releaseOf("b"), test.created
				if live != nil {
					want = test.updated
					// What only the live one has is not looked at.
					live.Spec.PostRenderers = carrying(older)
					live.Spec.PostRenderers[0] = *live.Spec.PostRenderers[0].DeepCopy()
					live.Spec.PostRenderers[0].Kustomize.Patches[0].Patch = "of before"
				}
				why := test.why
				if carrier {
					why += ", the release that writes it"
				}
				if live != nil {
					why += ", an update"
				}
				t.Run(why, func(t *testing.T) {
					objects := []client.Object{}
					if test.secret != nil {
						objects = append(objects, test.secret.DeepCopy())
					}
					cluster := clusterOf(t, objects...)
					source := &Source{Reader: cluster, Secret: secretKey}
					if test.failure != nil {
						source.Reader = failing(cluster, test.failure)
					}
					a := &Admission{Source: source, Carriers: []types.NamespacedName{{Namespace: "cozy-system", Name: "b"}, {Namespace: "default", Name: "a"}}}
					if carrier {
						a.Carriers = append(a.Carriers, client.ObjectKeyFromObject(release))
					}
					liveBefore := live.DeepCopy()
					err := a.Default(t.Context(), release, live)
					equal(t, "the live release", live, liveBefore)
					if test.refusal != "" && !carrier {
						if err == nil || err.Error() != test.refusal || apierrors.IsForbidden(err) != (test.failure == nil) {
							t.Errorf("says %v, want %s", err, test.refusal)
						}
						equal(t, "a release that is refused", release, releaseOf("b"))
						return
					}
					if err != nil {
						t.Fatal(err)
					}
					equal(t, "the release", release.Spec.PostRenderers, want)
				})
			}
		}
	}
}
