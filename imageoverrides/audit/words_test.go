// SPDX-License-Identifier: Apache-2.0

package audit

import (
	"regexp"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// TestWordsOf: words end at what stands between them, and where a capital letter follows on none.
func TestWordsOf(t *testing.T) {
	between, word := regexp.MustCompile(`[-_.= ,]`), regexp.MustCompile(`[A-Z]*[^A-Z]+|[A-Z]+`)
	key := rapid.StringOf(rapid.SampledFrom([]rune("aazAAZ@[5/é-_.= ,")))
	rapid.Check(t, func(t *rapid.T) {
		key := key.Draw(t, "key")
		var want []string
		for _, part := range between.Split(key, -1) {
			for _, w := range word.FindAllString(part, -1) {
				want = append(want, strings.ToLower(w))
			}
		}
		if got := wordsOf(key); !slices.Equal(got, want) {
			t.Fatalf("%q has the words %q, want %q", key, got, want)
		}
	})
}
