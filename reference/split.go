// SPDX-License-Identifier: Apache-2.0

package reference

import "strings"

// Split takes the text of an image apart as kustomize 5.8.1 does (image.Split of
// kustomize/api v0.21.1), for every string, sound or not. Nothing is checked: use
// Parse to learn whether the text is an image reference.
//
// The name ends at the first ':' or '@' behind the first /, or of the whole text
// if it has no / or begins with one. Behind a ':' the tag goes up to the next '@',
// and the digest is all that follows. Behind an '@' there is no tag, and all is the
// digest. So nginx:1:2 has the tag 1:2, and nginx@sha256:ab:1 the digest
// sha256:ab:1.
//
// The results are parts of s, none is copied, and the separators are in none of
// them. What is absent is empty, and so is what is there but empty: nginx: and
// nginx@ both give the name alone. The empty text gives three empty strings. For
// text that Parse accepts, Split returns the Image's Name, Tag and Digest.
func Split(s string) (name, tag, digest string) {
	from := max(strings.IndexByte(s, '/'), 0)
	i := strings.IndexAny(s[from:], ":@")
	if i < 0 {
		return s, "", ""
	}
	name, rest := s[:from+i], s[from+i+1:]
	if s[from+i] == '@' {
		return name, "", rest
	}
	tag, digest, _ = strings.Cut(rest, "@")
	return name, tag, digest
}
