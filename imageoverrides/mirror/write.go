// SPDX-License-Identifier: Apache-2.0

package mirror

import (
	"bufio"
	"fmt"
	"io"
	"strings"

	"github.com/cozystack/image-overrides/internal/manifest/document"
	"github.com/cozystack/image-overrides/internal/quote"
	"github.com/cozystack/image-overrides/reference"
)

// A Format is how a list of copies is written for those who copy with a tool of their own.
type Format string

const (
	// Pairs has a line for each copy: where from, a space, where to.
	Pairs Format = "pairs"
	// Skopeo has a line for each copy that a shell runs: skopeo copy with all platforms, and digests as they are. Of an image with
	// a tag and a digest, which skopeo does not take, the source is told by its digest and the target by its tag.
	Skopeo Format = "skopeo"
	// Hauler is a manifest of hauler (content.hauler.cattle.io/v1), for hauler store sync; hauler store copy then brings the images to the mirror's
	// host. A target without a tag cannot be written.
	Hauler Format = "hauler"
	// Zarf is a package of zarf (zarf.yaml) that has the images. What they are called in a registry is zarf's own business, so that the
	// targets are not in it.
	Zarf Format = "zarf"
)

// Formats are all formats.
func Formats() []Format { return []Format{Pairs, Skopeo, Hauler, Zarf} }

// Write writes a list of copies in a format, one for each place. left has the copies that are not in it, because nobody has said where they come from, or
// because the format cannot tell them. The error is for a format that there is not, with nothing written, or the first of w. Without copies
// it writes what the format has for an empty list. A zero To is left too.
func Write(w io.Writer, f Format, copies []Copy) (left []Copy, err error) {
	head, line := "", (func(Copy) string)(nil)
	switch f {
	case Pairs:
		line = func(c Copy) string { return c.From.String() + " " + c.place().String() + "\n" }
	case Skopeo:
		line = func(c Copy) string {
			return "skopeo copy --all --preserve-digests " + skopeoName(c.From, true) + " " + skopeoName(c.place(), false) + "\n"
		}
	case Hauler:
		head = "apiVersion: content.hauler.cattle.io/v1\nkind: Images\nmetadata:\n  name: mirror\nspec:\n  images:"
		line = func(c Copy) string {
			to := c.place()
			if to.Tag() == "" && to.Digest() != "" {
				return ""
			}
			tag := to.Tag()
			if tag == "" {
				tag = "latest"
			}
			return "  - name: " + document.Plain(tagOrDigest(c.From, true)) + "\n    rewrite: " + document.Plain(to.Canonical().Path()+":"+tag) + "\n"
		}
	case Zarf:
		head = "kind: ZarfPackageConfig\nmetadata:\n  name: mirror\ncomponents:\n- name: images\n  required: true\n  images:"
		line = func(c Copy) string { return "  - " + document.Plain(c.From.String()) + "\n" }
	default:
		return nil, fmt.Errorf("there is no format %s; there are pairs, skopeo, hauler and zarf", quote.Value(string(f)))
	}
	out := bufio.NewWriter(w)
	var lines []string
	seen := make(map[string]bool)
	for _, c := range copies {
		text := ""
		if c.From.IsValid() && c.To.IsValid() {
			text = line(c)
		}
		if text == "" {
			left = append(left, c)
			continue
		}
		key := c.place().String()
		if f == Zarf {
			key = text
		}
		if !seen[key] {
			seen[key] = true
			lines = append(lines, text)
		}
	}
	switch {
	case head != "" && lines == nil:
		head += " []\n"
	case head != "":
		head += "\n"
	}
	out.WriteString(head) // bufio keeps the error
	for _, text := range lines {
		out.WriteString(text)
	}
	return left, out.Flush()
}

// tagOrDigest writes an image with a tag or a digest, not both: the digest or the tag, as is asked, where it has both.
func tagOrDigest(i reference.Image, digest bool) string {
	switch {
	case i.Tag() == "" || i.Digest() == "":
		return i.String()
	case digest:
		return i.Name() + "@" + i.Digest()
	}
	return i.Name() + ":" + i.Tag()
}

// skopeoName writes an image as a word of a shell. The brackets of an address are all that a shell may take for more.
func skopeoName(i reference.Image, digest bool) string {
	name := "docker://" + tagOrDigest(i, digest)
	if strings.ContainsAny(name, "[]") {
		return "'" + name + "'"
	}
	return name
}
