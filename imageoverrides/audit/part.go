// SPDX-License-Identifier: Apache-2.0

package audit

import (
	"encoding/json"
	"slices"
	"strings"

	"github.com/cozystack/image-overrides/internal/manifest"
	"github.com/cozystack/image-overrides/internal/manifest/paths"
)

// A Part is a text of an object, with an image or a part of one in it.
type Part struct {
	Role    Role
	Pointer string // the way to the text from the object, by RFC 6901
	Text    string // all of it; of a value that is no string what JSON has, as 1.2 of the tag 1.20

	// Start and End are where the image, or the part of it, stands in Text, in bytes from 0, as in --image=nginx:1. Both are 0 for all of the text.
	Start, End int

	// JSON is the value as JSON has it where it is no string: as kustomize makes it, numbers
	// as Go's encoding/json writes them. It is nil for a string.
	JSON json.RawMessage
}

// A Role says what a part is of an image.
type Role string

// The roles of parts. An image of several is [registry/][repository/]name[:tag][@digest], where a repository without a name has the name
// in it. A digest may stand there without sha256: in front.
const (
	RoleWhole      Role = ""
	RoleRegistry   Role = "registry"
	RoleRepository Role = "repository"
	RoleName       Role = "name"
	RoleTag        Role = "tag"
	RoleDigest     Role = "digest"
)

// partOf is the part of a scalar's text that begins at a byte. In a text inside of a text it has itself as Text and its place in the text around it as Start,
// until that is known, too.
func (f *finder) partOf(s *manifest.Scalar, r Role, part string, from int) Part {
	if f.deep > 0 {
		return Part{Role: r, Text: strings.Clone(part), Start: s.Place(from)}
	}
	return Part{Role: r, Pointer: paths.Pointer(s.InObject()), Text: strings.Clone(s.Text()), Start: from, End: from + len(part), JSON: s.JSON()}
}

// partsIn gives the parts of what was found in a scalar's text their places in it, and that text. A find with a part that is written otherwise than it
// reads, with escapes, loses them. In a text inside of a text they get their places in the text around that.
func (f *finder) partsIn(s *manifest.Scalar, text string, found []find) {
	if f.deep == 0 {
		pointer, all := paths.Pointer(s.InObject()), strings.Clone(text)
		for i := range found {
			for j := range found[i].parts {
				p := &found[i].parts[j]
				p.Pointer, p.End = pointer, p.Start+len(p.Text)
				if p.End > len(all) || all[p.Start:p.End] != p.Text {
					found[i].parts = nil
					break
				}
				p.Text = all
			}
		}
		return
	}
	var at []*int
	for i := range found {
		for j := range found[i].parts {
			at = append(at, &found[i].parts[j].Start)
		}
	}
	slices.SortFunc(at, func(a, b *int) int { return *a - *b })
	starts := make([]int, len(at))
	for i := range at {
		starts[i] = *at[i]
	}
	s.Places(starts)
	for i := range at {
		*at[i] = starts[i]
	}
}

// partsOf are the parts of an image in several fields.
func partsOf(by *[digest + 1]*part, main *part) []Part {
	var parts []Part
	add := func(p *part, r Role) {
		if p == nil || len(p.parts) == 0 {
			return
		}
		one := p.parts[0]
		one.Role = r
		parts = append(parts, one)
	}
	add(by[registry], RoleRegistry)
	if main != by[repository] && by[repository] != nil {
		add(by[repository], RoleRepository)
		add(main, RoleName)
	} else {
		add(main, RoleRepository)
	}
	add(by[tag], RoleTag)
	add(by[digest], RoleDigest)
	return parts
}
