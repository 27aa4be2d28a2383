// SPDX-License-Identifier: Apache-2.0

package mirror

import (
	"cmp"
	"slices"
	"strings"

	"github.com/cozystack/image-overrides/imageoverrides"
	"github.com/cozystack/image-overrides/reference"
)

// A Copy is an image that has to be in the mirror.
type Copy struct {
	// From is the image that To is a copy of, spelled out, with the tag and the digest of To. It is the zero Image where nobody
	// has said it: an entry that a person wrote leads to To, or manifests have it themselves.
	From reference.Image
	To   reference.Image // as pods run it

	// Place is where the image is to be sent: To, or To without its tag where the tag is another image's. For a tag leads to one image only: to what is asked
	// for by the tag alone, or else to the first of several digests. In a Copy made by hand the zero Image stands for To.
	Place reference.Image
}

// place is where the image is to be sent.
func (c *Copy) place() reference.Image {
	if c.Place.IsValid() {
		return c.Place
	}
	return c.To
}

// Copies returns what has to be in the mirror for images to run under a table: each image that the table makes one of the mirror's
// place, and each that is one already, once and in the order of To. The images are texts as [Mirror.Table] takes them. Tags and digests are those
// that pods will ask for: the manifests', or the table's where it says some. With a digest the copy must have that very content; without any,
// it is what the tag points at, which is latest where there is none.
//
// What the table does not bring into the mirror is not in the list; [Mirror.Table] tells it. An unknown table changes no image.
// For a mirror that is not valid, and for images that cannot have names of their own there, the error is that of [Mirror.Table].
func (m Mirror) Copies(t imageoverrides.Table, images []string) ([]Copy, error) {
	in, err := m.read(t, images)
	if err != nil {
		return nil, err
	}
	sources := make(map[string]string) // by canonical name in the mirror
	for _, o := range t.All() {
		if name, ok := m.derives(o); ok {
			mirrored, _ := m.image(name) // which derives has made
			sources[mirrored.Canonical().Name()] = name.Canonical().Name()
		}
	}
	for name, mirrored := range in.spelt {
		image, _ := reference.Parse(name) // which is one
		if source := image.Canonical().Name(); !in.others[source] {
			sources[mirrored.Canonical().Name()] = source
		}
	}
	seen := make(map[string]bool)
	var copies []Copy
	for _, text := range in.texts {
		outcome, _ := t.Apply(text)
		to, err := reference.Parse(outcome)
		if err != nil || !m.holds(to) || seen[outcome] {
			continue
		}
		seen[outcome] = true
		c := Copy{To: to}
		if source, ok := sources[to.Canonical().Name()]; ok {
			if c.From, err = reference.Parse(source + outcome[len(to.Name()):]); err != nil {
				c.From = reference.Image{}
			}
		}
		copies = append(copies, c)
	}
	slices.SortFunc(copies, func(a, b Copy) int { return strings.Compare(a.To.String(), b.To.String()) })
	content := make(map[string]string) // by tag: the digest that it leads to, or "" for what is asked for by the tag alone
	for _, c := range copies {
		if c.To.Digest() == "" {
			content[tagOf(c.To)] = ""
		}
	}
	for i := range copies {
		c := &copies[i]
		if c.Place = c.To; c.To.Digest() == "" || c.To.Tag() == "" {
			continue
		}
		switch digest, taken := content[tagOf(c.To)]; {
		case !taken:
			content[tagOf(c.To)] = c.To.Digest()
		case digest != c.To.Digest():
			c.Place, _ = reference.Parse(c.To.Name() + "@" + c.To.Digest()) // it is To without its tag
		}
	}
	return copies, nil
}

// tagOf is the tag that an image is asked for by, with its name.
func tagOf(i reference.Image) string {
	return i.Canonical().Name() + ":" + cmp.Or(i.Tag(), "latest")
}
