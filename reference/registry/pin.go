// SPDX-License-Identifier: Apache-2.0

package registry

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/cozystack/image-overrides/imageoverrides"
	"github.com/cozystack/image-overrides/internal/quote"
	"github.com/cozystack/image-overrides/reference"
)

// A Policy says for which entries of a table Pin asks. The words are those of
// Flux's ImagePolicy.
type Policy string

const (
	// Never leaves the table as it is, digests that an operator wrote included (where Flux's clears the
	// digest).
	Never Policy = "Never"
	// IfNotPresent asks for entries with a tag and no digest. A digest that is there stays, whatever tag it
	// came from: who edits a newTag must drop the digest, or use Always.
	IfNotPresent Policy = "IfNotPresent"
	// Always asks for every entry with a tag.
	Always Policy = "Always"
)

// Pinned is what Pin found of one entry.
type Pinned struct {
	// Entry is the entry's index, from 0, and Override the entry as it was.
	Entry    int
	Override imageoverrides.Override
	// Image is what was asked for: the image that pods will run, without its digest. It is the zero Image where nothing was
	// asked.
	Image reference.Image
	// Digest is what the registry says, or the entry's own where nothing was asked.
	Digest string
	// Reason says why nothing was asked; it is empty where something was.
	Reason string
	// Err is the error of the question, an [*Error], or nil.
	Err error
}

// Changed reports whether the entry gets another digest.
func (p Pinned) Changed() bool { return p.Err == nil && p.Digest != p.Override.Digest }

// String says in one line of bounded length what became of the entry.
func (p Pinned) String() string {
	text := fmt.Sprintf("%s: ", quote.Plain(p.Override.Name))
	switch {
	case p.Err != nil:
		return text + p.Err.Error()
	case p.Reason != "":
		return text + "not asked: " + p.Reason
	case !p.Changed():
		return text + p.Image.String() + " has the digest still"
	case p.Override.Digest == "":
		return text + p.Image.String() + " has the digest " + p.Digest
	}
	return text + p.Image.String() + " has the digest " + p.Digest + " now, and not " + quote.Plain(p.Override.Digest)
}

// Pin returns the table with digests for its tags, under a policy, and what was found of each entry, in order. It
// changes digests and nothing else.
//
// The image asked for is the one that pods will run: what [imageoverrides.Table.Apply] makes of the entry's name and
// newTag, to the end of a chain. Entries without newTag are not asked for: there is no tag to follow. Each
// image is asked once; the settings' platform counts. With Never, for an unknown or empty table, and where no entry is asked for, nothing is
// asked, not even for credentials.
//
// It is all or nothing: on an error the table comes back as it was, with all that was found. The error is [Errors],
// one for each image that could not be had; a digest that is not of sha256, which no table may hold, is an
// ErrBadReply. For another policy than the three it is an error about that.
func Pin(ctx context.Context, c *Client, t imageoverrides.Table, policy Policy) (imageoverrides.Table, []Pinned, error) {
	if policy != Never && policy != IfNotPresent && policy != Always {
		return t, nil, fmt.Errorf("policy %s is none of Never, IfNotPresent and Always", quote.Value(string(policy)))
	}
	found := make([]Pinned, 0, t.Len())
	var images []reference.Image
	var asked []int // entries, by image
	var faults Errors
	for i, o := range t.All() {
		p := Pinned{Entry: i, Override: o, Digest: o.Digest}
		switch {
		case policy == Never:
			p.Reason = "the policy is Never"
		case o.NewTag == "" && o.Digest != "":
			p.Reason = "it has a digest and no tag to follow"
		case o.NewTag == "":
			p.Reason = "the tag is the manifest's"
		case o.Digest != "" && policy == IfNotPresent:
			p.Reason = "it has a digest"
		default:
			image, fault := runs(t, o)
			if fault != nil {
				p.Err = fault
				faults = append(faults, fault)
				break
			}
			p.Image = image
			images, asked = append(images, image), append(asked, i)
		}
		found = append(found, p)
	}
	if len(images) > 0 {
		answers, err := c.Each(ctx, images, nil)
		if err != nil {
			faults = append(faults, err.(Errors)...)
		}
		for i, a := range answers {
			p := &found[asked[i]]
			p.Err = a.Err
			if a.Err == nil && !strings.HasPrefix(a.Digest, "sha256:") {
				fault := &Error{Kind: ErrBadReply, Image: a.Image.String(), Reason: fmt.Sprintf("the digest %s is not of sha256, which alone a table may hold", a.Digest)}
				p.Err = fault
				faults = append(faults, fault)
			}
			if p.Err == nil {
				p.Digest = a.Digest
			}
		}
	}
	if faults != nil {
		return t, found, faults
	}
	var overrides []imageoverrides.Override
	for _, o := range t.All() {
		overrides = append(overrides, o)
	}
	if !slices.ContainsFunc(found, Pinned.Changed) {
		return t, found, nil
	}
	for i, p := range found {
		overrides[i].Digest = p.Digest
	}
	pinned, err := imageoverrides.New(overrides...)
	if err != nil {
		return t, found, err
	}
	return pinned, found, nil
}

// runs returns the image that pods run of what an entry is for, by its tag alone.
func runs(t imageoverrides.Table, o imageoverrides.Override) (reference.Image, *Error) {
	text, _ := t.Apply(o.Name + ":" + o.NewTag)
	image, err := reference.Parse(text)
	if err != nil {
		return reference.Image{}, &Error{Kind: ErrNotConfigured, Image: text, Reason: err.Error()}
	}
	if image.Tag() == "" {
		return reference.Image{}, &Error{Kind: ErrNotConfigured, Image: text, Reason: "pods run it by its digest: an entry behind this one takes the tag off"}
	}
	image, err = reference.Parse(image.Name() + ":" + image.Tag())
	if err != nil {
		return reference.Image{}, &Error{Kind: ErrNotConfigured, Image: text, Reason: err.Error()}
	}
	return image, nil
}
