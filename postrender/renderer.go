// SPDX-License-Identifier: Apache-2.0

package postrender

import (
	helmv2 "github.com/fluxcd/helm-controller/api/v2"
	"github.com/fluxcd/pkg/apis/kustomize"

	"github.com/cozystack/image-overrides/imageoverrides"
)

// Marker is the name of the first entry of the table's renderer. The domain .invalid is reserved
// for names that never resolve.
const Marker = "image-overrides.invalid/table"

// hashDigits is how much of the table's hash the marker carries.
const hashDigits = 12

// Renderer returns the table's post-renderer: the marker, then the table's entries. For an unknown
// and for an empty table it is the zero PostRenderer, which has no effect and which [Merge] never
// writes.
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

// Hash returns the first 12 hex digits of the hash of the table that a release carries, as its last
// marked renderer has them. ok is false where there is none, as in nil and in a list that was
// merged with an empty table only. Whoever may write the release may put any text there: bound it
// before it becomes a label of a metric.
func Hash(existing []helmv2.PostRenderer) (hash string, ok bool) {
	r, ok := last(existing)
	if !ok {
		return "", false
	}
	return r.Kustomize.Images[0].NewTag, true
}

// marked reports whether a renderer starts with the marker.
func marked(r helmv2.PostRenderer) bool {
	return r.Kustomize != nil && len(r.Kustomize.Images) > 0 && r.Kustomize.Images[0].Name == Marker
}

// isTable reports whether a renderer is the table's, with the JSON that Renderer's has.
func isTable(r helmv2.PostRenderer, t imageoverrides.Table) bool {
	return t.Len() > 0 && marked(r) && len(r.Kustomize.Patches) == 0 && r.Kustomize.Images[0] == marker(t) && carries(r.Kustomize.Images[1:], t)
}

// onlyImages reports whether a renderer has images and nothing else.
func onlyImages(r helmv2.PostRenderer) bool {
	return r.Kustomize != nil && len(r.Kustomize.Patches) == 0 && len(r.Kustomize.Images) > 0
}

// last returns the last marked renderer of a list, without patches that somebody wrote into it.
func last(existing []helmv2.PostRenderer) (r helmv2.PostRenderer, ok bool) {
	for i := len(existing) - 1; i >= 0; i-- {
		if marked(existing[i]) {
			return bare(existing[i]), true
		}
	}
	return helmv2.PostRenderer{}, false
}

// bare returns a marked renderer without patches, itself where it has none.
func bare(r helmv2.PostRenderer) helmv2.PostRenderer {
	if r.Kustomize.Patches == nil {
		return r
	}
	return helmv2.PostRenderer{Kustomize: &helmv2.Kustomize{Images: r.Kustomize.Images}}
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
