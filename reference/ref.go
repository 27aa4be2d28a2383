// SPDX-License-Identifier: Apache-2.0

package reference

// Ref is an image in its parts, as Flux's image reflector has it in the status of
// an ImagePolicy (latestRef): the name without tag and digest, the tag, and the
// digest, with the same fields in JSON. An empty field says that the part is not
// there.
type Ref struct {
	Name   string `json:"name"`
	Tag    string `json:"tag"`
	Digest string `json:"digest,omitempty"`
}

// Ref returns the image in its parts, as they are spelled. They are parts of
// String's text. The zero Image gives the zero Ref.
func (i Image) Ref() Ref { return Ref{Name: i.Name(), Tag: i.Tag(), Digest: i.Digest()} }

// Image returns the image of the parts: what Parse makes of [Ref.String]. It gives
// back the Ref that it is made of, or an [*Error]: about the text where a part is
// not sound, and also where the name itself has a tag or a digest, which would make
// the parts mean something else.
func (r Ref) Image() (Image, error) {
	if err := CheckName(r.Name); err != nil {
		return Image{}, err
	}
	if r.Tag != "" {
		if err := CheckTag(r.Tag); err != nil {
			return Image{}, err
		}
	}
	if r.Digest != "" {
		if err := CheckDigest(r.Digest); err != nil {
			return Image{}, err
		}
	}
	return Parse(r.String())
}

// String returns name[:tag][@digest], sound or not; it is empty for the zero Ref.
func (r Ref) String() string {
	text := r.Name
	if r.Tag != "" {
		text += ":" + r.Tag
	}
	if r.Digest != "" {
		text += "@" + r.Digest
	}
	return text
}
