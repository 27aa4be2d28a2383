// SPDX-License-Identifier: Apache-2.0

package release

import (
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/cozystack/image-overrides/internal/manifest/document"
)

// What is passed over is documents in which the parser finds nothing for us either.
func TestSkipLaw(t *testing.T) {
	part := rapid.SampledFrom([]string{
		"kind: ", "HelmRelease", "\"Helm\\u0052elease\"", "\"Helm\\x52elease\"", "Helm", "Release", "\"Helm\\\n", "'Helm", "\"", "'", "\n", "\n  ", " ", "- ", "a: ", "b", "apiVersion: helm.toolkit.fluxcd.io/v2\n",
		"{", "}", "[", "]", ", ", ": ", "{{", "}}", "|\n", ">-\n", "\\", "#", "---\n", "...\n", "&x ", "*x", "spec:\n", "\r\n", "metadata: {name: a}\n", "!!str ", "<<: ",
	})
	taken := 0
	rapid.Check(t, func(t *rapid.T) {
		text := []byte(strings.Join(rapid.SliceOfN(part, 0, 16).Draw(t, "parts"), ""))
		if document.Blank(text) {
			return
		}
		documents, ok := new(Skipper).Skip(document.Piece{Bytes: text, Line: 1, Column: 1})
		if !ok {
			return
		}
		taken++
		parsed, err := document.Parse(text)
		if err != nil || len(parsed.Roots) != documents {
			t.Fatalf("%q: %v, %d documents", text, err, documents)
		}
		in := Find(parsed)
		if _, found := in.Template(); found || in.Releases != nil || in.Outsiders() != nil {
			t.Fatalf("%q holds something", text)
		}
	})
	if taken == 0 {
		t.Error("nothing was passed over")
	}
}
