// SPDX-License-Identifier: Apache-2.0

package imageoverrides

import (
	"bytes"
	"fmt"
	"regexp"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/cozystack/image-overrides/internal/oracle"
	"github.com/cozystack/image-overrides/reference"
)

// TestRewriteAsKustomize: the objects after Rewrite are those after kustomize, whole,
// for every table that Lint finds no error in.
func TestRewriteAsKustomize(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		table := genTable(true).Draw(t, "table")
		in := oracle.Manifests().Draw(t, "manifests")
		want, err := kustomize(overridesOf(table), in)
		if err != nil {
			t.Fatalf("kustomize refuses what the generator gives: %v\n%s", err, in)
		}
		out, _ := rewrite(t, table, in)
		oracle.SameObjects(t, out, want)
	})
}

// FuzzRewriteAsKustomize: the same, for whatever the fuzzer makes of the facts, where both accept
// it. What kustomize makes of the output without a table is what it makes of the input with it, to
// the byte.
func FuzzRewriteAsKustomize(f *testing.F) {
	for _, fact := range facts(f) {
		f.Add(fact.In)
	}
	for _, test := range notations {
		f.Add("apiVersion: v1\nkind: Thing\nmetadata: {name: t}\n" + test.in)
	}
	overrides := []Override{
		{Name: "nginx", NewName: "reg.example.org/web", NewTag: "v2"}, {Name: "a.b", NewTag: "v3"}, {Name: "a", NewName: "x/a", Digest: digestA},
	}
	table := mustTable(f, overrides...)
	f.Fuzz(func(t *testing.T, in string) {
		if len(in) > 1<<12 {
			return
		}
		want, err := kustomize(overrides, in)
		if err != nil {
			return // TestKustomizeFacts has what Rewrite does then
		}
		var out bytes.Buffer
		if _, err := Rewrite(&out, strings.NewReader(in), table); err != nil {
			t.Skip(err) // kustomize ignores what follows a document, whatever it is
		}
		got, err := kustomize(nil, out.String())
		if got, want := noList.ReplaceAllString(got, "$1 []"), noList.ReplaceAllString(want, "$1 []"); err != nil || got != want {
			t.Fatalf("%q becomes %q, %v, to kustomize\n%s\nwhich itself has\n%s", in, out.String(), err, got, want)
		}
	})
}

// noList matches fields that are null, of which kustomize's images make empty lists.
var noList = regexp.MustCompile(`(?m)\b(containers:|initContainers:|volumes:) (?:null|"")$`)

// TestRewriteLaws: what holds for every stream and every table.
func TestRewriteLaws(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		table := genTable(false).Draw(t, "table")
		in := oracle.Manifests().Draw(t, "manifests")
		out, result := rewrite(t, table, in)

		if back := undo(out, result.Edits); back != in {
			t.Fatalf("undone, the text is\n%s\nwas\n%s", back, in)
		}
		if result.Bytes != int64(len(in)) {
			t.Fatalf("%d bytes of %d", result.Bytes, len(in))
		}
		// Apply is for images that both of kustomize's filters reach. One reaches some, and entries that
		// Lint calls errors may make another image of what they see once.
		for _, c := range result.Changes {
			twice, once := outcomeOf(table.apply(c.Old, true)), outcomeOf(table.apply(c.Old, false))
			if got := (outcome{c.New, c.Entries}); !cmp.Equal(got, twice) && !cmp.Equal(got, once) {
				t.Fatalf("%+v, but Apply gives %+v, and once %+v", c, twice, once)
			}
		}

		var slow bytes.Buffer
		again, err := Rewrite(&slow, iotest.OneByteReader(strings.NewReader(in)), table)
		if err != nil || slow.String() != out || !cmp.Equal(again, result) {
			t.Fatalf("byte by byte: %v\n%q\nwant\n%q", err, slow.String(), out)
		}

		if slow, r := rewriteParsed(t, table, in); slow != out || !cmp.Equal(r, result) {
			t.Fatalf("by the YAML parser\n%s\n%+v\nwithout\n%s\n%+v\nwas\n%s", slow, r, out, result, in)
		}

		for _, none := range []Table{{}, unchecked(nil)} {
			if same, r := rewrite(t, none, in); same != in || len(r.Changes)+len(r.Edits) > 0 || r.Documents != result.Documents {
				t.Fatalf("without overrides: %q, %+v", same, r)
			}
		}
	})
}

// An outcome is what Apply returns.
type outcome struct {
	Image   string
	Entries []int
}

func outcomeOf(image string, entries []int) outcome { return outcome{image, entries} }

// rewriteParsed is Rewrite without its quick way: every document is parsed.
func rewriteParsed(t tester, table Table, in string) (string, Result) {
	t.Helper()
	var out bytes.Buffer
	r := rewriter{table: table, dst: writer{dst: &out}}
	r.reader.Parse = true
	err := r.stream(strings.NewReader(in))
	if flushed := r.dst.flush(); err != nil || flushed != nil {
		t.Fatalf("%v, %v in\n%s", err, flushed, in)
	}
	return out.String(), r.result
}

// TestRewriteJoined: the stream of two streams is rewritten to the parts, joined.
func TestRewriteJoined(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		table := genTable(false).Draw(t, "table")
		a := oracle.Manifests().Filter(func(s string) bool { return strings.HasSuffix(s, "\n") }).Draw(t, "a")
		b := oracle.Manifests().Draw(t, "b")
		outA, resultA := rewrite(t, table, a)
		outB, resultB := rewrite(t, table, b)
		out, result := rewrite(t, table, a+"---\n"+b)
		if out != outA+"---\n"+outB {
			t.Fatalf("joined\n%s\nthe parts\n%s---\n%s", out, outA, outB)
		}
		if result.Documents != resultA.Documents+resultB.Documents || len(result.Changes) != len(resultA.Changes)+len(resultB.Changes) {
			t.Fatalf("joined %+v, the parts %+v and %+v", result, resultA, resultB)
		}
	})
}

// TestRewriteTwice: a table without chains finds nothing to change in its own output, as long as no dot of
// a name stood for the @ or : in front of a digest or tag: the outcome has then another name than the
// one that Lint judged.
func TestRewriteTwice(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		table := genTable(true).Filter(func(table Table) bool {
			for _, f := range table.Lint() {
				if f.Rule == RuleChain || f.Rule == RuleRing {
					return false
				}
			}
			return true
		}).Draw(t, "table")
		out, first := rewrite(t, table, oracle.Manifests().Draw(t, "manifests"))
		for _, c := range first.Changes {
			if name, _, _ := reference.Split(c.Old); len(name) < len(table.t.overrides[c.Entries[0]].Name) {
				return
			}
		}
		if again, r := rewrite(t, table, out); again != out || len(r.Changes) > 0 {
			t.Fatalf("%s\nbecomes\n%s\nby %v", out, again, fmt.Sprint(r.Changes))
		}
	})
}
