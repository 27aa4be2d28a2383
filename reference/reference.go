// SPDX-License-Identifier: Apache-2.0

// Package reference reads the names of container images as manifests spell
// them.
//
// Most callers need [Parse]. It accepts what kubelet and containerd read as an
// image, says what is wrong with anything else, and keeps the spelling:
//
//	img, err := reference.Parse("docker.io/nginx:1.27")
//	img.String()             // docker.io/nginx:1.27
//	img.Canonical().String() // docker.io/library/nginx:1.27
//	img.Familiar().String()  // nginx:1.27
//
// [Split] is for text that is in a manifest already: it takes any string apart,
// sound or not, where kustomize does. CheckName, CheckTag and CheckDigest judge
// one part; ValidateHost and ValidateRepository judge the two halves of the
// place that images are mirrored to.
//
// # Rules
//
//   - An image is written name[:tag][@digest], a name [host/]repository.
//   - The text in front of the first / is a host if it has a '.', a ':' or an
//     upper case letter, or is localhost. Any other name is one of Docker Hub.
//   - A host is labels of letters, digits and inner '-', joined by '.', or an
//     IPv6 address in brackets; a port may follow it.
//   - A repository is components of lower case letters and digits, joined by /.
//     Inside a component one '.', one or two '_', or any number of '-' may stand
//     between letters and digits. The whole has 255 characters at most, the
//     library/ included that Docker Hub puts in front of a single component.
//   - A tag has 1 to 128 letters, digits, '_', '.' and '-', and begins with
//     neither '.' nor '-'.
//   - A digest is sha256:, sha384: or sha512: and exactly as many lower case hex
//     digits as the algorithm gives.
//   - 64 lower case hex digits alone are an image ID and no name.
//
// These are the rules of github.com/distribution/reference v0.6.0, the library that
// kubelet and containerd read an image with. Parse accepts and refuses exactly what
// its ParseNormalizedNamed does, and three of its habits are kept for that: a
// port may be any number, any hex digits and colons in brackets pass for an IPv6
// address, and a host without a port may have a '_'. ValidateHost, which judges a
// host that is yet to be written into manifests, refuses all three.
//
// In two places this package answers better. Distribution calls a host with a
// '_' a part of the repository; here it is the host, as it is for containerd,
// which pulls from it. And distribution's short form of docker.io/localhost/a is
// localhost/a, another image; [Image.Familiar] never changes the image.
//
// # Errors
//
// Every error is an [*Error]. None wraps an error of another package.
//
// # Non-goals
//
// Nothing here asks a registry or resolves a name. No :latest is ever added, and
// no text is trimmed or put into lower case.
//
// # Compatibility
//
// This is v0: a minor version may change anything, and its release notes say so.
// What Split returns, and what Parse accepts, changes only when kustomize's or
// distribution's own behaviour does. Messages are for people and may change.
package reference

import "strings"

// Image is an image reference together with its spelling. The zero Image is
// invalid; Parse makes the others.
//
// Images are comparable with == and may be keys of a map: two are equal if and
// only if they are spelled alike. To ask whether two spellings are one image,
// compare what Canonical returns.
type Image struct {
	text string
	host int // end of the host, 0 if the spelling has none
	name int // end of the name
	tag  int // end of the tag, the same as name if there is none
}

// Parse reads an image reference. It accepts exactly what ParseNormalizedNamed of
// github.com/distribution/reference v0.6.0 accepts; see the package's rules. The
// hash packages that distribution needs for a digest are linked in with this one.
//
// The Image keeps s itself, without a copy. On an error the Image is the zero
// Image and the error an [*Error] about the leftmost part at fault. The empty text
// is refused.
func Parse(s string) (Image, error) {
	if reason := textFault(s); reason != "" {
		return Image{}, &Error{Text: s, Part: "name", Value: s, Reason: reason}
	}
	name, digest, digested := strings.Cut(s, "@")
	tagEnd := len(name)
	host, repository := cutHost(name)
	repository, tag, tagged := strings.Cut(repository, ":")
	nameEnd := tagEnd
	if tagged {
		nameEnd -= len(":") + len(tag)
	}
	img := Image{text: s, host: len(host), name: nameEnd, tag: tagEnd}

	prefix := "" // what counts into the length of the repository besides itself
	if img.official() {
		prefix = officialPrefix
	}
	if reason := hostFault(host); host != "" && reason != "" {
		// Distribution reads what is no host, but would do as a component of a
		// repository (it has a '_'), as one.
		if repositoryFault(host) != "" {
			return Image{}, &Error{Text: s, Part: "host", Value: host, Reason: reason}
		}
		prefix = host + "/"
	}
	reason := repositoryFault(repository)
	if reason == "" {
		reason = lengthFault(prefix, repository)
	}
	if reason != "" {
		return Image{}, &Error{Text: s, Part: "repository", Value: repository, Reason: reason}
	}
	if tagged {
		if reason := tagFault(tag); reason != "" {
			return Image{}, &Error{Text: s, Part: "tag", Value: tag, Reason: reason}
		}
	}
	if digested {
		if reason := digestFault(digest); reason != "" {
			return Image{}, &Error{Text: s, Part: "digest", Value: digest, Reason: reason}
		}
	}
	return img, nil
}

// cutHost cuts a name, with or without a tag, behind its host. Without a host the
// first result is empty and the second the whole.
func cutHost(name string) (host, rest string) {
	first, rest, found := strings.Cut(name, "/")
	if !found || !isHost(first) {
		return "", name
	}
	return first, rest
}

// isHost reports whether the text in front of a name's first / is a host. The
// rule is distribution's.
func isHost(first string) bool {
	for i := range len(first) {
		if c := first[i]; c == '.' || c == ':' || isUpper(c) {
			return true
		}
	}
	return first == "localhost"
}

// IsValid reports whether the Image comes from Parse. It is false for the zero
// Image only.
func (i Image) IsValid() bool { return i.text != "" }

// String returns the text that Parse was given, to the byte; it is empty for the
// zero Image.
func (i Image) String() string { return i.text }

// Name returns the text in front of the tag and the digest, as it is spelled, and
// the empty string for the zero Image. It is a part of String's text.
func (i Image) Name() string { return i.text[:i.name] }

// Host returns the registry, with its port, as it is spelled. It is empty if the
// spelling has none, which means Docker Hub, and for the zero Image. The Host of
// what Canonical returns is empty for the zero Image only.
func (i Image) Host() string { return i.text[:i.host] }

// Path returns the repository inside its registry, as it is spelled: the name
// without the host. It is empty for the zero Image. The library/ that Docker Hub
// puts in front of a single component is there if it is spelled, and in what
// Canonical returns.
func (i Image) Path() string { return strings.TrimPrefix(i.text[i.host:i.name], "/") }

// Tag returns the tag without its ':'. It is empty if there is none, and for the
// zero Image.
func (i Image) Tag() string { return strings.TrimPrefix(i.text[i.name:i.tag], ":") }

// Digest returns the digest, algorithm:hex, without its '@'. It is empty if there
// is none, and for the zero Image.
func (i Image) Digest() string { return strings.TrimPrefix(i.text[i.tag:], "@") }
