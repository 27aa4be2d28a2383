// SPDX-License-Identifier: Apache-2.0

package release

import (
	"bytes"
	"regexp"

	"github.com/cozystack/image-overrides/internal/manifest"
	"github.com/cozystack/image-overrides/internal/manifest/document"
	"github.com/cozystack/image-overrides/internal/manifest/paths"
)

// spelled matches what may spell the kind of a release in another way than its letters, within double quotes.
var spelled = regexp.MustCompile(`\\[xuU\r\n]`)

// A Skipper knows documents in which there is nothing for us, nearly always without parsing them. The zero Skipper is ready for
// use.
type Skipper struct{ reader manifest.Reader }

// nothing is what a Skipper wants to know of a document.
var nothing = paths.NewRules()

// Skip reports whether a piece of a stream has no HelmRelease and no action of a template and is right, and how many documents it holds.
// Where it is false the piece has to be parsed.
func (s *Skipper) Skip(p document.Piece) (documents int, ok bool) {
	body := p.Bytes[p.Body:]
	if bytes.Contains(body, []byte("HelmRelease")) || bytes.Contains(body, []byte("{{")) || spelled.Match(body) {
		return 0, false
	}
	s.reader.Rules, s.reader.Visitor = nothing, deaf{}
	documents, _, fault := s.reader.Read(p)
	return documents, fault == nil
}

// deaf is a visitor that listens to nobody.
type deaf struct{}

func (deaf) Begin()                  {}
func (deaf) Object()                 {}
func (deaf) Scalar(*manifest.Scalar) {}
func (deaf) End(*manifest.Name)      {}

// Why returns what in a text makes a Skipper decline it, and where.
func Why(text []byte) (offset int, what string) {
	for _, c := range []struct{ mark, what string }{{"HelmRelease", "a HelmRelease"}, {"{{", "what may be a template"}} {
		if at := bytes.Index(text, []byte(c.mark)); at >= 0 {
			return at, c.what
		}
	}
	if at := spelled.FindIndex(text); at != nil {
		return at[0], "an escape"
	}
	return 0, "a notation that manifests seldom have"
}
