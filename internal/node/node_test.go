// SPDX-License-Identifier: Apache-2.0

package node

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"go.yaml.in/yaml/v3"
	"pgregory.net/rapid"

	"github.com/cozystack/image-overrides/internal/manifest/document"
)

// childPlainly is Child without a memory, but for the maps on its way.
func childPlainly(n *yaml.Node, key string, way map[*yaml.Node]bool) *yaml.Node {
	if n = document.Behind(n); n == nil || n.Kind != yaml.MappingNode || way[n] {
		return nil
	}
	if _, value := Last(n, key); value != nil {
		return value
	}
	way[n] = true
	for i := 0; i+1 < len(n.Content); i += 2 {
		if n.Content[i].Tag != "!!merge" {
			continue
		}
		from := []*yaml.Node{n.Content[i+1]}
		if from[0].Kind == yaml.SequenceNode {
			from = from[0].Content
		}
		for _, m := range from {
			if value := childPlainly(m, key, way); value != nil {
				return value
			}
		}
	}
	return nil
}

// Child remembers what it has found, and finds the same as without.
func TestChild(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		keys := rapid.SampledFrom([]string{"a", "b", "c", "k1", "k17"})
		var b strings.Builder
		for i := range rapid.IntRange(1, 5).Draw(t, "maps") {
			fmt.Fprintf(&b, "- &m%d\n", i)
			for range rapid.IntRange(0, 3).Draw(t, "keys") {
				fmt.Fprintf(&b, "  %s: %d\n", keys.Draw(t, "key"), i)
			}
			for j := range rapid.SampledFrom([]int{1, 20}).Draw(t, "more") {
				fmt.Fprintf(&b, "  k%d: x\n", j)
			}
			alias := func() string { return fmt.Sprintf("*m%d", rapid.IntRange(0, max(i-1, 0)).Draw(t, "of")) }
			if i == 0 {
				continue
			}
			switch rapid.IntRange(0, 2).Draw(t, "merge") {
			case 0:
				fmt.Fprintf(&b, "  <<: %s\n", alias())
			case 1:
				fmt.Fprintf(&b, "  <<: [%s, {c: here}, %s]\n", alias(), alias())
			}
		}
		parsed, err := document.Parse([]byte(b.String()))
		if err != nil {
			t.Fatal(err)
		}
		var f Finder
		for range 10 {
			n := rapid.SampledFrom(parsed.Roots[0].Content).Draw(t, "map")
			key := keys.Draw(t, "asked")
			if got, want := f.Child(n, key), childPlainly(n, key, make(map[*yaml.Node]bool)); got != want {
				t.Fatalf("%s: %v, want %v\n%s", key, got, want, &b)
			}
		}
	})
}

// A map that merges itself, and lists that hold themselves, come to an end.
func TestRings(t *testing.T) {
	parsed, err := document.Parse([]byte("kind: List\nitems: &i [{kind: AList, items: *i}, &m {<<: *m, a: b}, {kind: AList, <<: &n {<<: *n}}]\n"))
	if err != nil {
		t.Fatal(err)
	}
	var f Finder
	var got []string
	for _, o := range f.Objects(parsed.Roots) {
		got = append(got, o.Trail.String())
		if f.Child(o.Node, "x") != nil {
			t.Error("found x")
		}
	}
	if diff := cmp.Diff([]string{"items[1]", "items[2]"}, got); diff != "" {
		t.Error(diff)
	}
}

// A trail reads as people write it, and of a long one both ends stay.
func TestTrail(t *testing.T) {
	var trail *Trail
	if got := trail.String(); got != "" {
		t.Error(got)
	}
	trail = trail.Under("spec").At(3).Under("a.b").Under("").Under("x\ny").Under("é")
	if got, want := trail.String(), `spec[3]["a.b"][""]["x\ny"].é`; got != want || trail.String() != want {
		t.Errorf("%s, want %s", got, want)
	}
	for range 10_000 {
		trail = trail.Under("été").At(7)
	}
	got := trail.String()
	if !strings.HasPrefix(got, `spec[3]["a.b"][""]["x\ny"].é.été[7].été[7]`) || !strings.HasSuffix(got, ".été[7].été[7]") || strings.Count(got, "…") != 1 || len(got) > 8<<10 {
		t.Errorf("%d bytes: %s", len(got), got)
	}
	if got := trail.At(1).String(); !strings.HasSuffix(got, "été[7][1]") {
		t.Error(got)
	}
}
