// SPDX-License-Identifier: Apache-2.0

package postrender

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/fluxcd/pkg/apis/kustomize"
	"go.yaml.in/yaml/v3"

	"github.com/cozystack/image-overrides/imageoverrides"
	"github.com/cozystack/image-overrides/internal/entries"
	"github.com/cozystack/image-overrides/internal/manifest/document"
	"github.com/cozystack/image-overrides/internal/node"
	"github.com/cozystack/image-overrides/internal/quote"
)

// ErrNoKustomization is of a text in which there is no Kustomization, of kustomize or of Flux.
var ErrNoKustomization = errors.New("there is no Kustomization here, of kustomize or of Flux")

// RewriteKustomizations gives the Kustomizations of a text the images that [MergeImages] gives them: those of Flux in spec.images, and a
// kustomization file in images. Every byte that is not of a table's entries stays, comments and order among them; entries are written as those
// that are there, in lines or in braces. A kustomization file may lack apiVersion and kind, as kustomize allows it, where it is the only document. found is
// how many Kustomizations there are; what else is in the text stays.
//
// An unknown table leaves every byte. The error is [ErrNoKustomization], that of text that is no YAML, that of MergeImages with
// the Kustomization's name in front, or says that a list cannot be edited in its notation; the text is nil then. What comes back has been read again.
func RewriteKustomizations(text []byte, t imageoverrides.Table) (out []byte, found int, err error) {
	parsed, err := document.Parse(text)
	if err != nil {
		return nil, 0, err
	}
	all := kustomizations(parsed)
	if len(all) == 0 {
		return nil, 0, ErrNoKustomization
	}
	if !t.Known() {
		return text, len(all), nil
	}
	var lists []*entries.List
	var want [][]kustomize.Image
	changed := false
	for _, k := range all {
		list, images, err := k.edit(parsed, t)
		if err != nil {
			return nil, 0, fmt.Errorf("%s: %w", k.name, err)
		}
		if list != nil {
			lists, changed = append(lists, list), true
		}
		want = append(want, images)
	}
	if !changed {
		return text, len(all), nil
	}
	out, err = entries.Bytes(parsed, lists...)
	if err != nil {
		return nil, 0, fmt.Errorf("the images of %s: %w", all[0].name, err)
	}
	after, err := document.Parse(out)
	if err == nil {
		if again := kustomizations(after); len(again) == len(all) {
			for i, k := range again {
				if !slices.Equal(imagesOf(k.list(after).Nodes()), want[i]) {
					return nil, 0, fmt.Errorf("the images of %s: %w", k.name, entries.ErrPlace)
				}
			}
			return out, len(all), nil
		}
	}
	return nil, 0, fmt.Errorf("the images of %s: %w", all[0].name, entries.ErrPlace)
}

// A kustomization is one in a text.
type kustomization struct {
	name   string
	around *yaml.Node // what has the images: the document, or its spec
}

// kustomizations finds those of a text.
func kustomizations(text *document.Text) (found []kustomization) {
	for _, root := range text.Roots {
		if root.Kind != yaml.MappingNode {
			continue
		}
		kind, version := node.Scalar(root, "kind"), node.Scalar(root, "apiVersion")
		_, metadata := node.Last(root, "metadata")
		k := kustomization{name: "Kustomization " + quote.Plain(node.Scalar(metadata, "name")), around: root}
		k.name = strings.TrimSuffix(k.name, " ")
		switch {
		case kind == "Kustomization" && strings.HasPrefix(version, "kustomize.toolkit.fluxcd.io/"):
			if _, k.around = node.Last(root, "spec"); k.around == nil || k.around.Kind != yaml.MappingNode {
				k.around = nil
			}
		case (kind == "Kustomization" || kind == "Component") && (version == "" || strings.HasPrefix(version, "kustomize.config.k8s.io/")):
		case kind == "" && version == "" && len(text.Roots) == 1:
		default:
			continue
		}
		found = append(found, k)
	}
	return found
}

// list returns the images of a kustomization.
func (k kustomization) list(text *document.Text) *entries.List {
	return entries.Under(text, k.around, "images")
}

// edit plans what gives a kustomization its images, which are returned; the list is nil where nothing changes.
func (k kustomization) edit(text *document.Text, t imageoverrides.Table) (*entries.List, []kustomize.Image, error) {
	if k.around == nil {
		return nil, nil, errors.New("has no spec")
	}
	list := k.list(text)
	existing := imagesOf(list.Nodes())
	merged, err := MergeImages(existing, t)
	if err != nil || slices.Equal(merged, existing) {
		return nil, merged, err
	}
	gone, err := blocks(existing)
	if err != nil {
		return nil, nil, err
	}
	for i := range gone {
		list.Drop(i)
	}
	for _, image := range tableImages(t) {
		var fields []entries.Field
		for _, f := range []entries.Field{{Name: "name", Value: image.Name}, {Name: "newName", Value: image.NewName}, {Name: "newTag", Value: image.NewTag}, {Name: "digest", Value: image.Digest}} {
			if f.Value != "" {
				fields = append(fields, f)
			}
		}
		list.Append(fields...)
	}
	return list, merged, nil
}

// imagesOf reads images as far as they are of a table; of own ones only the name counts, and that of what is no image is "".
func imagesOf(list []*yaml.Node) (images []kustomize.Image) {
	for _, n := range list {
		images = append(images, kustomize.Image{
			Name: node.Scalar(n, "name"), NewName: node.Scalar(n, "newName"), NewTag: node.Scalar(n, "newTag"), Digest: node.Scalar(n, "digest"),
		})
	}
	return images
}
