// SPDX-License-Identifier: Apache-2.0

// Package postrender carries a table of image overrides in the post-renderers of
// Flux HelmReleases.
//
// Most callers need [Merge]:
//
//	release.Spec.PostRenderers = postrender.Merge(release.Spec.PostRenderers, table)
//
// and controllers, which write a release only if it changed, [Ensure].
//
// # Rules
//
//   - The release's own post-renderers stay, in order and untouched. The table's
//     comes last, so that it sees the images that the others leave.
//   - The table's renderer is known by its first entry, which is named [Marker] and
//     has the start of the table's hash as its newTag. No image can bear that
//     name, so the entry changes nothing; it says whose renderer this is, to a reader
//     and to the next Merge.
//   - Flux upgrades a release whenever its post-renderers change by a byte: all of its
//     manifests are rendered and applied again, and pods whose images change are replaced. Merge
//     changes nothing that it need not, so that a change of the table costs every release
//     one upgrade, whether it has images of that entry or not, and anything else none.
//   - Flux runs the post-renderers of a release in their order, then its own for
//     spec.commonMetadata, then the one for its origin labels. Neither of the last two
//     touches an image.
//   - Manifests that are Helm hooks are reached by Flux 2.8.0 to 2.8.5, and from 2.9 on where
//     spec.postRenderStrategy is combined (the default, unless Flux runs with UseHelm3Defaults) or
//     separate. With nohooks, and in all other versions, hooks keep their images.
//   - Two kinds of releases fail to upgrade, whatever Merge does, and recover when the table goes: one
//     whose chart has a plain Job under a lasting name, once the table changes the Job's image
//     (its template is immutable); and one that has anything but maps in a field named
//     containers, as the values of a nested HelmRelease may, with any table at all.
//   - A release may be Ready=True and not upgraded: on a name that is no regular expression, such
//     as "[", helm-controller panics. Table.Strict refuses such a table; call it before Merge.
//
// # Non-goals
//
// The package reads no Secret and writes no release.
//
// # Compatibility
//
// This is v0: a minor version may change anything, and its release notes say so. The
// marker and the form of the renderer stay, since releases carry them.
package postrender

import (
	"slices"

	helmv2 "github.com/fluxcd/helm-controller/api/v2"
	"github.com/fluxcd/pkg/apis/kustomize"

	"github.com/cozystack/image-overrides/imageoverrides"
)

// Marker is the name of the first entry of the table's renderer. The domain .invalid
// is reserved for names that never resolve.
const Marker = "image-overrides.invalid/table"

// hashDigits is how much of the table's hash the marker carries.
const hashDigits = 12

// Renderer returns the table's post-renderer: the marker, then the table's entries. For
// an unknown and for an empty table it is the zero PostRenderer, which has no effect and
// which [Merge] never writes.
func Renderer(t imageoverrides.Table) helmv2.PostRenderer {
	if t.Len() == 0 {
		return helmv2.PostRenderer{}
	}
	images := make([]kustomize.Image, 0, t.Len()+1)
	images = append(images, marker(t))
	for _, o := range t.All() {
		images = append(images, image(o))
	}
	return helmv2.PostRenderer{Kustomize: &helmv2.Kustomize{Images: images}}
}

func marker(t imageoverrides.Table) kustomize.Image {
	return kustomize.Image{Name: Marker, NewTag: t.Hash()[:hashDigits]}
}

func image(o imageoverrides.Override) kustomize.Image {
	return kustomize.Image{Name: o.Name, NewName: o.NewName, NewTag: o.NewTag, Digest: o.Digest}
}

// Hash returns the first 12 hex digits of the hash of the table that a release carries,
// as its last marked renderer has them. ok is false where there is none, as in nil and
// in a list that was merged with an empty table only.
func Hash(existing []helmv2.PostRenderer) (hash string, ok bool) {
	for i := len(existing) - 1; i >= 0; i-- {
		if marked(existing[i]) {
			return existing[i].Kustomize.Images[0].NewTag, true
		}
	}
	return "", false
}

// marked reports whether a renderer starts with the marker.
func marked(r helmv2.PostRenderer) bool {
	return r.Kustomize != nil && len(r.Kustomize.Images) > 0 && r.Kustomize.Images[0].Name == Marker
}

// Merge returns the post-renderers of a release with the table's in place:
//
//	unknown table     existing as it is, an older table's renderer included
//	empty table       the release's own renderers only
//	table of entries  the release's own renderers, then the table's
//
// A renderer is the table's if it is marked, or if it is the last one and its images are
// exactly the table's, as releases written before there was a marker have it. Patches that
// somebody wrote into a marked renderer stay, in a renderer of their own in its place.
//
// The result never shares the array of existing, which is not changed; the renderers in it
// point to the same Kustomize as before. A known table without any renderer left
// gives nil, so that nil stays nil. Where existing carries the table already, only the list is
// copied, no entry of the table, and nothing is allocated where the list is short and stays
// with the caller.
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
	if inStep(hr.Spec.PostRenderers, t) {
		return false
	}
	hr.Spec.PostRenderers = merge(hr.Spec.PostRenderers, t)
	return true
}

// merge is [Merge], but gives existing itself where that is in step.
func merge(existing []helmv2.PostRenderer, t imageoverrides.Table) []helmv2.PostRenderer {
	if inStep(existing, t) {
		switch last := len(existing) - 1; {
		case !t.Known():
			return existing
		case last < 0:
			return nil
		case t.Len() == 0 || existing[last].Kustomize.Patches == nil: // otherwise as Renderer has it
			return existing
		}
	}
	merged := make([]helmv2.PostRenderer, 0, len(existing)+1)
	var table helmv2.PostRenderer // what existing has of this table already
	for i, r := range existing {
		switch {
		case isTable(r, t) && r.Kustomize.Patches == nil:
			table = r
		case marked(r):
			if len(r.Kustomize.Patches) > 0 {
				merged = append(merged, helmv2.PostRenderer{Kustomize: &helmv2.Kustomize{Patches: r.Kustomize.Patches}})
			}
		case i == len(existing)-1 && unmarked(r, t):
		default:
			merged = append(merged, r)
		}
	}
	if t.Len() > 0 {
		if table.Kustomize == nil {
			table = Renderer(t)
		}
		merged = append(merged, table)
	}
	if len(merged) == 0 {
		return nil
	}
	return merged
}

// inStep reports whether a table changes nothing in a list.
func inStep(existing []helmv2.PostRenderer, t imageoverrides.Table) bool {
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

// isTable reports whether a renderer is the table's, with the JSON that Renderer's has.
func isTable(r helmv2.PostRenderer, t imageoverrides.Table) bool {
	return t.Len() > 0 && marked(r) && len(r.Kustomize.Patches) == 0 && r.Kustomize.Images[0] == marker(t) && carries(r.Kustomize.Images[1:], t)
}

// unmarked reports whether a renderer without a marker is nothing but the table.
func unmarked(r helmv2.PostRenderer, t imageoverrides.Table) bool {
	return r.Kustomize != nil && len(r.Kustomize.Patches) == 0 && t.Len() > 0 && carries(r.Kustomize.Images, t)
}

// carries reports whether images are exactly the table's entries.
func carries(images []kustomize.Image, t imageoverrides.Table) bool {
	if len(images) != t.Len() {
		return false
	}
	for i, o := range t.All() {
		if images[i] != image(o) {
			return false
		}
	}
	return true
}
