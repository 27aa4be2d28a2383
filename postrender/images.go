// SPDX-License-Identifier: Apache-2.0

package postrender

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/fluxcd/pkg/apis/kustomize"

	"github.com/cozystack/image-overrides/imageoverrides"
)

// MergeImages is [Merge] for a list of images as the spec.images of a Flux Kustomization is one: own entries as they are, in
// order, and behind them the table's, led by one called [Marker]. kustomize applies the entries in their order, each to what those
// before it have made of an image, so that the table is applied last, as it is in a release.
//
// The marker says of which table the entries behind it are, and how many, so that they are known: they are replaced, and whatever else somebody wrote into the
// list stays, behind them too. Where the entries behind a marker are not those that it tells, because somebody edited or sorted the list, nobody can say whose they are, and that is an error; the
// list comes back as it is then.
//
// With an unknown table the list comes back as it is. With an empty one it has own entries only, and is nil where there are none.
// A list that carries the table at its end comes back as it is; otherwise the result shares nothing with it. The zero list is fine.
//
// Flux's kustomize-controller writes these over the images of the kustomization file: of two entries with one name, in the file or in the list,
// the later one counts alone, in the place of the first (fluxcd/pkg/kustomize). In a kustomization file kustomize applies both.
func MergeImages(existing []kustomize.Image, t imageoverrides.Table) ([]kustomize.Image, error) {
	if !t.Known() {
		return existing, nil
	}
	gone, err := blocks(existing)
	if err != nil {
		return existing, err
	}
	var merged []kustomize.Image
	for i, image := range existing {
		if !gone[i] {
			merged = append(merged, image)
		}
	}
	merged = append(merged, tableImages(t)...)
	if slices.Equal(merged, existing) {
		return existing, nil
	}
	return merged, nil
}

// tableImages are the marker of a list and the entries of the table, none for an empty one.
func tableImages(t imageoverrides.Table) []kustomize.Image {
	if t.Len() == 0 {
		return nil
	}
	images := []kustomize.Image{{Name: Marker, NewTag: t.Hash()[:hashDigits] + "." + strconv.Itoa(t.Len())}}
	for _, o := range t.All() {
		images = append(images, image(o))
	}
	return images
}

// blocks returns which images of a list are a table's, the markers included.
func blocks(images []kustomize.Image) (map[int]bool, error) {
	gone := make(map[int]bool)
	for i := 0; i < len(images); i++ {
		if images[i].Name != Marker {
			continue
		}
		_, count, _ := strings.Cut(images[i].NewTag, ".")
		n, err := strconv.Atoi(count)
		if err != nil || n < 1 || n > len(images)-i-1 || !isBlock(images[i], images[i+1:i+1+n]) {
			return nil, fmt.Errorf("images[%d]: the entries behind the marker %s are not those of the table that it tells of; take the marker and the table's entries out, so that they can be written anew", i, Marker)
		}
		for j := i; j <= i+n; j++ {
			gone[j] = true
		}
		i += n
	}
	return gone, nil
}

// isBlock reports whether images are those that a marker leads.
func isBlock(marker kustomize.Image, images []kustomize.Image) bool {
	var list []imageoverrides.Override
	for _, i := range images {
		list = append(list, imageoverrides.Override{Name: i.Name, NewName: i.NewName, NewTag: i.NewTag, Digest: i.Digest})
	}
	t, err := imageoverrides.New(list...)
	return err == nil && tableImages(t)[0] == marker
}
