// SPDX-License-Identifier: Apache-2.0

package manifest

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"go.yaml.in/yaml/v3"
	"pgregory.net/rapid"

	"github.com/cozystack/image-overrides/internal/manifest/document"
)

// read is what a reader tells of a text, whichever way it takes.
func read(text string, m mode, parse bool) (list []string, err error) {
	v := teller{replace: m.rules != nil && !m.all}
	r := Reader{Rules: m.rules, All: m.all, Skip: isB, Visitor: &v, Parse: parse}
	documents, edits, fault := r.Read(document.Piece{Bytes: []byte(text)})
	if fault != nil {
		return nil, fault
	}
	list = append(v.told[:v.whole:v.whole], fmt.Sprint(documents))
	for _, e := range edits {
		list = append(list, fmt.Sprintf("%q becomes %q", text[e.Start:e.End], e.New))
	}
	return list, nil
}

// TestItemsByThemselves: of a list object of which the scanner knows all but some items, these are parsed by themselves, and it is told what
// is told where all of it is parsed.
func TestItemsByThemselves(t *testing.T) {
	scalar := rapid.SampledFrom([]string{"a", "010", "1e3", "1_0", "0x1F", "0.10", "true", "yes", "~", "2026-01-01", "!!int 010", "!!str 5", "! 5", "!!float 1", ".5", "-0", "'010'", "\"a\\\n      b\"", "&x 010", "&x a", "|\n      a", "é:1"})
	item := rapid.Custom(func(t *rapid.T) string {
		one := func() string { return scalar.Draw(t, "scalar") }
		switch rapid.IntRange(0, 6).Draw(t, "item") {
		case 0:
			return "image: " + one() + "\n"
		case 1:
			return "kind: " + rapid.SampledFrom([]string{"b", "c", "List"}).Draw(t, "kind") + "\n  image: " + one() + "\n"
		case 2:
			return "a: &y {image: " + rapid.SampledFrom([]string{"a", "010", "'b'"}).Draw(t, "scalar") + "}\n  b: *y\n"
		case 3:
			return "a: &y\n    image: " + rapid.SampledFrom([]string{"a", "010", "'b'"}).Draw(t, "scalar") + "\n  b:\n    <<: *y\n    c: d\n"
		case 4:
			return "? a\n  : image: " + one() + "\n"
		case 5:
			return "metadata: {name: &n m}\n  image: *n\n"
		}
		return "- image: a\n  - {image: b}\n"
	})
	rapid.Check(t, func(t *rapid.T) {
		head := rapid.SampledFrom([]string{"kind: List\nitems:\n", "apiVersion: v1\nkind: PodList\nmetadata: {}\nitems:\n", "items:\n"}).Draw(t, "head")
		var b strings.Builder
		b.WriteString(head)
		for range rapid.IntRange(1, 4).Draw(t, "items") {
			between := rapid.SampledFrom([]string{"", "", "\n", "# c\n", "      # c\n", "   \n\n"}).Draw(t, "between")
			b.WriteString("- " + strings.ReplaceAll(item.Draw(t, "item"), "\n  ", "\n"+between+"  ") + between)
		}
		if head == "items:\n" {
			b.WriteString("kind: List\n")
		}
		text := b.String()
		for _, m := range imagesAndAll {
			want, wrong := read(text, m, true)
			got, err := read(text, m, false)
			if wrong != nil && err != nil {
				continue
			}
			if diff := cmp.Diff(want, got, cmpopts.EquateEmpty()); diff != "" || wrong != nil || err != nil {
				t.Fatalf("the parser (-), %v, and the reader (+), %v, tell\n%s\nof\n%s", wrong, err, diff, text)
			}
		}
	})
}

// TestWays: the ways of replaced scalars are told apart in so many steps and no more.
func TestWays(t *testing.T) {
	at := &yaml.Node{}
	for _, test := range []struct {
		taken, steps int
		ok           bool
	}{{0, 3, true}, {maxWays - 2, 2, true}, {maxWays - 1, 2, false}, {maxWays, 0, true}} {
		tr := &tree{ways: ways{taken: test.taken}, steps: []step{{at: at}}}
		for i := range test.steps {
			tr.steps = append(tr.steps, step{at, i})
		}
		if tr.wayFrom(0); (tr.fault == nil) != test.ok || tr.stopped == test.ok {
			t.Errorf("%d steps after %d: %+v", test.steps, test.taken, tr.fault)
		}
	}
	w := new(ways)
	a, b := w.next(w.next(0, 1), 2), w.next(w.next(0, 2), 1)
	if a == b || a != w.next(w.next(0, 1), 2) || w.taken != 6 {
		t.Errorf("the ways %d and %d, %d steps", a, b, w.taken)
	}
}

// TestThroughJSON: what is no string becomes what JSON makes of it, and is as it is written where JSON has nothing for it.
func TestThroughJSON(t *testing.T) {
	for text, want := range map[string]string{
		"010": "8", "0o10": "8", "0x1F": "31", "1_0": "10", "-0": "0", "1e3": "1000", "0.10": "0.1", "1.0": "1", "1e21": "1e+21", "1e-7": "1e-07", "123456789012345678901": "1.2345678901234568e+20",
		"true": "true", "True": "true", "yes": "yes", "2026-01-01": "2026-01-01T00:00:00Z", ".inf": ".inf", "-.INF": "-.INF", ".nan": ".nan", "a": "a", "'010'": "010", "!!str 010": "010",
		"!!float 1": "1", "!!int 010": "8", "!!bool 'true'": "true", "!!int a": "a", "!mine 010": "010",
	} {
		var doc yaml.Node
		if err := yaml.Unmarshal([]byte(text), &doc); err != nil {
			t.Fatal(err)
		}
		if got := throughJSON(doc.Content[0]); got != want {
			t.Errorf("%s: %q, want %q", text, got, want)
		}
	}
}
