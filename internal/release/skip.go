// SPDX-License-Identifier: Apache-2.0

package release

import (
	"bytes"
	"regexp"

	"github.com/cozystack/image-overrides/internal/scan"
)

// spelled matches what may spell the kind of a release in another way than its letters, within double quotes.
var spelled = regexp.MustCompile(`\\[xuU\r\n]`)

// A Skipper knows documents in which there is nothing for us, without parsing them. The zero Skipper is ready for use.
type Skipper struct{ scanner scan.Scanner }

// Skip reports whether a text is one document that the YAML parser takes, without a HelmRelease and without an action of a
// template. Where it is false the text has to be parsed.
func (s *Skipper) Skip(text []byte) bool {
	if bytes.Contains(text, []byte("HelmRelease")) || bytes.Contains(text, []byte("{{")) || spelled.Match(text) {
		return false
	}
	defer s.scanner.Forget()
	return s.scanner.Scan(text, func([]scan.Step) bool { return false }, nil)
}
