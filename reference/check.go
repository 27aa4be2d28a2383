// SPDX-License-Identifier: Apache-2.0

package reference

import (
	"fmt"
	"net/netip"
	"strconv"
	"strings"
)

// CheckName returns nil if s is the name of an image, in any spelling, and an
// [*Error] otherwise. What Parse accepts is a name if it has neither tag nor
// digest. A scheme in front is refused, and so is the empty text.
//
// A host and port without a repository is no name, but reads like one with a tag:
// localhost:5000 is the image localhost with the tag 5000, and refused for that.
func CheckName(s string) error {
	img, err := Parse(s)
	if err != nil {
		return err
	}
	if img.Tag() != "" {
		return &Error{Text: s, Part: "name", Value: s, Reason: fmt.Sprintf("has the tag %s", quote(img.Tag()))}
	}
	if img.Digest() != "" {
		return &Error{Text: s, Part: "name", Value: s, Reason: fmt.Sprintf("has the digest %s", quote(img.Digest()))}
	}
	return nil
}

// CheckTag returns nil if s is a tag, without the ':' in front, and an [*Error]
// whose Part is "tag" otherwise. The empty text is none. The rule is that of the
// OCI distribution specification, [a-zA-Z0-9_][a-zA-Z0-9._-]{0,127}.
func CheckTag(s string) error {
	if reason := tagFault(s); reason != "" {
		return &Error{Text: s, Part: "tag", Value: s, Reason: reason}
	}
	return nil
}

// CheckDigest returns nil if s is a digest, without the '@' in front, and an
// [*Error] whose Part is "digest" otherwise. The empty text is none. The rule is
// that of the OCI image specification for registered algorithms: sha256:, sha384:
// or sha512:, and all of the algorithm's hex digits in lower case.
func CheckDigest(s string) error {
	if reason := digestFault(s); reason != "" {
		return &Error{Text: s, Part: "digest", Value: s, Reason: reason}
	}
	return nil
}

// ValidateHost returns nil if s is the host of a registry, with or without a port,
// that can stand in front of a name: registry.example.org, 10.0.0.1,
// registry:5000, [::1]:5000, localhost. Otherwise it returns an [*Error] whose Part
// is "host". The empty text is no host.
//
// Parse reads s+"/a" as an image of that host whenever ValidateHost accepts s. So a
// word alone, like registry, is refused: in front of a name it would be read as a
// path on Docker Hub. ValidateHost asks for more than Parse does: a port is 1 to
// 65535, brackets hold an IPv6 address without a zone, and there is no '_'. Upper
// case letters are kept by Parse as they are and thus accepted.
func ValidateHost(s string) error {
	if reason := registryFault(s); reason != "" {
		return &Error{Text: s, Part: "host", Value: s, Reason: reason}
	}
	return nil
}

// registryFault finds what ValidateHost refuses: the faults of a host, and what
// may be written in front of a name and yet leads to no registry.
func registryFault(s string) string {
	if scheme := schemeOf(s); scheme != "" {
		return fmt.Sprintf("has the scheme %s in front", quote(scheme))
	}
	if strings.Contains(s, "@") {
		return "has '@', where a host has neither user nor digest"
	}
	if _, path, found := strings.Cut(s, "/"); found {
		return fmt.Sprintf("has the path %s", quote("/"+path))
	}
	if reason := hostFault(s); reason != "" {
		return reason
	}
	name, port, found := cutPort(s)
	if found {
		if n, err := strconv.ParseUint(port, 10, 16); err != nil || n == 0 {
			return fmt.Sprintf("has the port %s, which is not 1 to 65535", strings.ReplaceAll(quote(port), `"`, ""))
		}
	}
	if strings.HasPrefix(name, "[") {
		if _, err := netip.ParseAddr(strings.Trim(name, "[]")); err != nil {
			return "has no IPv6 address in its brackets"
		}
	}
	if !isHost(s) {
		return "would be read as a path on Docker Hub, for want of a '.' or a port"
	}
	return ""
}

// ValidateRepository returns nil if s is a path inside a registry that images can
// be kept under: components of a repository joined by /, without a / at either
// end. The empty text is valid and means the top of the registry. Otherwise it
// returns an [*Error] whose Part is "repository".
//
// A path of more than 255 characters is refused. A shorter one can still be too
// long with an image's own name behind it, which is Parse's to say.
func ValidateRepository(s string) error {
	if s == "" {
		return nil
	}
	reason := repositoryFault(s)
	if reason == "" {
		reason = lengthFault("", s)
	}
	if reason != "" {
		return &Error{Text: s, Part: "repository", Value: s, Reason: reason}
	}
	return nil
}
