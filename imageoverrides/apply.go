// SPDX-License-Identifier: Apache-2.0

package imageoverrides

import "github.com/cozystack/image-overrides/reference"

// Apply returns what becomes of an image of a container, and the indexes of the entries
// that apply to it, in their order. It does what kustomize 5.8.1 does: each entry in turn is
// compared with what the entries before it made of the image, so that a→b and b→c
// give c. An entry is for images whose name is its own, before a tag of kustomize's
// characters ([a-zA-Z0-9_.{}-]) and a sha256 digest, either or both, and to the end. An image
// with another digest is left alone. As in kustomize, where a name is a regular
// expression, a dot in a name stands for any character; other expressions are
// understood too, but [Table.Lint] calls them errors, and where a table's are so large together that trying them would
// cost too much, those from there on match nothing ([Rewrite] refuses such a table). NewName replaces the name and keeps tag and digest; NewTag replaces the tag
// and drops a digest; Digest replaces the digest and drops a tag; both write both.
//
// Entries may apply and give the image as it was. Where none applies, and for an
// unknown or empty table, Apply returns the image and nil, and does not allocate.
// An image may be any text, the empty string included; nothing is an error.
func (t Table) Apply(image string) (result string, entries []int) {
	return t.apply(image, true)
}

// ApplyOnce is [Table.Apply] for an image that only one of kustomize's two filters reaches: of containers that are neither a Pod's
// nor in a Pod template of spec.template, and of image volumes. The results differ only for entries that [Table.Lint] calls errors,
// such as a newName with a tag.
func (t Table) ApplyOnce(image string) (result string, entries []int) {
	return t.apply(image, false)
}

// apply is Apply, for an image that kustomize reaches once or twice with each entry:
// its two filters both find the containers of a Pod and of a Pod template. The
// second time makes a difference only for entries that Lint calls errors.
func (t Table) apply(image string, twice bool) (result string, entries []int) {
	if t.t == nil {
		return image, nil
	}
	x := &t.t.index
	for i := x.next(image, 0); i >= 0; i = x.next(image, i+1) {
		entries = append(entries, i)
		if x.whole[i] != "" {
			image = x.whole[i]
			continue // the second time gives the same
		}
		o := &t.t.overrides[i]
		image = o.replace(image)
		if twice && x.next(image, i) == i {
			image = o.replace(image)
		}
	}
	return image, entries
}

// replace returns an image that the entry matches as the entry makes it.
func (o *Override) replace(image string) string {
	name, tag, digest := reference.Split(image)
	if o.NewName != "" {
		name = o.NewName
	}
	if o.NewTag != "" || o.Digest != "" {
		tag, digest = o.NewTag, o.Digest
	}
	switch {
	case tag != "" && digest != "":
		return name + ":" + tag + "@" + digest
	case tag != "":
		return name + ":" + tag
	case digest != "":
		return name + "@" + digest
	}
	return name
}
