// SPDX-License-Identifier: Apache-2.0

package postrender

import (
	"slices"

	helmv2 "github.com/fluxcd/helm-controller/api/v2"

	"github.com/cozystack/image-overrides/imageoverrides"
)

// Merge returns the post-renderers of a release with the table's in place:
//
//	unknown table     existing as it is, an older table's renderer included
//	empty table       the release's own renderers only
//	table of entries  the release's own renderers, then the table's
//
// A renderer is the table's if it is marked, or if it is the last one and its images are exactly
// the table's, as releases written before there was a marker have it ([Adopt] is for those that
// have an older table's). Patches that somebody wrote into a marked renderer stay, in a renderer of
// their own in its place.
//
// The result never shares the array of existing, which is not changed; the renderers in it point to
// the same Kustomize as before. A known table without any renderer left gives nil, so that nil
// stays nil. Where existing carries the table already, only the list is copied, no entry of the
// table, and nothing is allocated where the list is short and stays with the caller.
func Merge(existing []helmv2.PostRenderer, t imageoverrides.Table) (list []helmv2.PostRenderer) {
	// Small enough for the compiler to inline, so that the copy may stay on the caller's stack.
	if merged := merge(existing, t); merged != nil {
		list = make([]helmv2.PostRenderer, len(merged))
		copy(list, merged)
	}
	return
}

// Ensure merges the table into a release as [Merge] does, in place, and reports whether that
// changed the JSON of its post-renderers. It is false for an unknown table, and where the release
// carries the table already; nothing is written or allocated then, and an empty list stays one. The
// release must not be nil, nor one that others read at the same time, as those in a cache are.
func Ensure(hr *helmv2.HelmRelease, t imageoverrides.Table) bool {
	if Carries(hr.Spec.PostRenderers, t) {
		return false
	}
	hr.Spec.PostRenderers = merge(hr.Spec.PostRenderers, t)
	return true
}

// Carries reports whether a release is in step with the table, so that [Merge] and [Ensure] have
// nothing to do but for what has no JSON. It is true for an unknown table, which asks for nothing,
// and for an empty one where no renderer is marked, as in nil. It allocates nothing.
func Carries(existing []helmv2.PostRenderer, t imageoverrides.Table) bool {
	if !t.Known() {
		return true
	}
	own := existing
	if t.Len() > 0 {
		last := len(existing) - 1
		if last < 0 || !isTable(existing[last], t) {
			return false
		}
		own = existing[:last]
	}
	return !slices.ContainsFunc(own, marked)
}

// Adopt is [Merge] for releases that were written by code from before there was a marker, for the
// one time that they are taken over. Where no renderer is marked, and the last one has images and
// nothing else, that one is taken for a table's, whatever its entries, and the table's stands in
// its stead: for an empty table none. With an unknown table existing stays as it is.
//
// Where a renderer is marked, wherever it stands, the release has been taken over, and Adopt is
// Merge: a last renderer of images alone is then the release's own. So to adopt again changes
// nothing, but with an empty table, which leaves no marker: each call takes one more renderer away.
// The same goes for a release that never carried a table, and has images of its own in last place;
// Adopt cannot tell them from a table.
//
// What is shared with existing is as in Merge.
func Adopt(existing []helmv2.PostRenderer, t imageoverrides.Table) []helmv2.PostRenderer {
	last := len(existing) - 1
	if !t.Known() || last < 0 || slices.ContainsFunc(existing, marked) || !onlyImages(existing[last]) {
		return Merge(existing, t)
	}
	return place(existing[:last], Renderer(t), false)
}

// Compose returns the post-renderers of a release for who generates it: own is what the release
// should have besides a table, live what the cluster's release has now, nil for none.
//
//	unknown table    own, then the table's renderer that live carries
//	known table      Merge(own, t)
//
// So own renderers come and go as the generator wants them in each state of the table, and the
// table stays while nothing is known of it. Own renderers of live are not looked at, nor are
// patches that somebody wrote into its table's renderer: who wants them has them in own. What live
// carries of a table is its last marked renderer, with the images that this has, and it is placed
// as Merge places a table, so that own may be a list that carries one too. Where live carries none,
// that of own stays. A table without a marker, of code from before there was one, is not seen in
// live.
//
// The result shares nothing with live, which may be one of a cache, and with own what Merge's
// shares. No renderer at all gives nil.
func Compose(own, live []helmv2.PostRenderer, t imageoverrides.Table) []helmv2.PostRenderer {
	if t.Known() {
		return Merge(own, t)
	}
	table, ok := last(live)
	if ok {
		table = *table.DeepCopy()
	} else {
		table, _ = last(own)
	}
	return place(own, table, true)
}

// merge is [Merge], but gives existing itself where that is in step.
func merge(existing []helmv2.PostRenderer, t imageoverrides.Table) []helmv2.PostRenderer {
	if Carries(existing, t) {
		switch last := len(existing) - 1; {
		case !t.Known():
			return existing
		case last < 0:
			return nil
		case t.Len() == 0 || existing[last].Kustomize.Patches == nil: // otherwise as Renderer has it
			return existing
		}
	}
	for _, r := range existing {
		if isTable(r, t) && r.Kustomize.Patches == nil {
			return place(existing, r, true)
		}
	}
	return place(existing, Renderer(t), true)
}

// place returns the own renderers of a list, and then a table's, if that is not zero. With takeOver
// the last of the list is not an own one if its images are the table's.
func place(existing []helmv2.PostRenderer, table helmv2.PostRenderer, takeOver bool) []helmv2.PostRenderer {
	placed := make([]helmv2.PostRenderer, 0, len(existing)+1)
	for i, r := range existing {
		switch {
		case marked(r):
			if len(r.Kustomize.Patches) > 0 {
				placed = append(placed, helmv2.PostRenderer{Kustomize: &helmv2.Kustomize{Patches: r.Kustomize.Patches}})
			}
		case takeOver && i == len(existing)-1 && table.Kustomize != nil && onlyImages(r) && slices.Equal(r.Kustomize.Images, table.Kustomize.Images[1:]):
		default:
			placed = append(placed, r)
		}
	}
	if table.Kustomize != nil {
		placed = append(placed, table)
	}
	if len(placed) == 0 {
		return nil
	}
	return placed
}
