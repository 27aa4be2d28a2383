// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"go/ast"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// ownPlaces are what the program finds to change in testdata/module/limit/limit.go, in order, as what stands there and what may
// stand there instead.
const ownPlaces = `
used >= most: !(used >= most) | (used >= most) || true | (used >= most) && false
if used >= most {…: nothing
>=: > | <
used: (used+1) | (used-1)
most: (most+1) | (most-1)
0: (0+1) | (0-1)
0: (0+1) | (0-1)
most - used: 0 | (most - used+1) | (most - used-1)
-: +
most: (most+1) | (most-1)
used: (used+1) | (used-1)
n * 2: 0 | (n * 2+1) | (n * 2-1)
*: /
n: (n+1) | (n-1)
2: (2+1) | (2-1)
n > 0: !(n > 0) | (n > 0) && false
>: >= | <=
n: (n+1) | (n-1)
0: (0+1) | (0-1)
n--: nothing | n++
steps++: nothing | steps--
steps: 0 | (steps+1) | (steps-1)
`

func example(t *testing.T) *loaded {
	t.Helper()
	dir, err := filepath.Abs("testdata/module/limit")
	if err != nil {
		t.Fatal(err)
	}
	p, err := load(dir)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func TestPlaces(t *testing.T) {
	p := example(t)
	pkg, info, err := p.check(nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	var b strings.Builder
	b.WriteString("\n")
	for _, edits := range places(p.files[0], p.fset, pkg, info) {
		old, rest, long := strings.Cut(p.files[0].text[edits[0].start:edits[0].end], "\n")
		if long && rest != "" {
			old += "…"
		}
		var texts []string
		for _, e := range edits {
			text := e.text
			if text == "" {
				text = "nothing"
			}
			texts = append(texts, text)
		}
		b.WriteString(old + ": " + strings.Join(texts, " | ") + "\n")
	}
	if diff := cmp.Diff(strings.Split(ownPlaces, "\n"), strings.Split(b.String(), "\n")); diff != "" {
		t.Errorf("- wanted, + got:\n%s", diff)
	}
}

// TestMutants: a seed draws the same mutants again and another seed others; each differs from the code, compiles, and says
// itself where.
func TestMutants(t *testing.T) {
	draw := func(seed uint64) (list []string) {
		p := example(t)
		if err := p.mutants(seed, func(m mutant) bool {
			if !p.compiles(m) || m.mutated() == m.source.text {
				t.Errorf("drawn: %+v", m.edit)
			}
			line, before, after := m.change()
			if was := strings.Split(m.source.text, "\n")[line-1]; !strings.HasPrefix(strings.TrimSpace(was)+"\n", strings.SplitN(before, "\n", 2)[0]) {
				t.Errorf("line %d is %q, told as %q", line, was, before)
			}
			list = append(list, before+" -> "+after)
			return true
		}); err != nil {
			t.Fatal(err)
		}
		return list
	}
	first := draw(1)
	if len(first) < 15 {
		t.Errorf("only %d mutants: %q", len(first), first)
	}
	if diff := cmp.Diff(first, draw(1)); diff != "" {
		t.Errorf("the same seed draws others:\n%s", diff)
	}
	if cmp.Equal(first, draw(2)) {
		t.Errorf("another seed draws the same: %q", first)
	}
}

// TestMeasure: the real go test notices what the tests of a package see and nothing else, and the tree stays as it is.
func TestMeasure(t *testing.T) {
	root, err := filepath.Abs("testdata/module")
	if err != nil {
		t.Fatal(err)
	}
	before, err := os.ReadFile("testdata/module/limit/limit.go")
	if err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	r := run{n: 8, seed: 1, few: 10, many: 20, parallel: 2, least: 95, timeout: 10 * time.Second, out: &out, log: io.Discard}
	c, err := r.measure(root, "testdata/module/limit")
	if err != nil {
		t.Fatal(err)
	}
	const want = `limit/limit.go:8: survived
- if used >= most {
+ if used > most {
limit/limit.go:8: survived
- if used >= most {
+ if (used-1) >= most {
limit/limit.go:16: survived
- return n * 2
+ return (n * 2+1)
`
	if diff := cmp.Diff(want, out.String()); diff != "" {
		t.Errorf("- wanted, + got:\n%s", diff)
	}
	if want := (count{dir: "testdata/module/limit", noticed: 5, survived: 3}); c != want {
		t.Errorf("%+v, want %+v", c, want)
	}
	after, err := os.ReadFile("testdata/module/limit/limit.go")
	if err != nil || !bytes.Equal(before, after) {
		t.Errorf("the tree was touched: %v", err)
	}
}

// TestOtherModule: a guard in another module, which has this one by a replace directive, sees the mutant. What it skips it does
// not see.
func TestOtherModule(t *testing.T) {
	root, err := filepath.Abs("testdata/module")
	if err != nil {
		t.Fatal(err)
	}
	var twice mutant
	if err := example(t).mutants(1, func(m mutant) bool {
		if _, before, _ := m.change(); before == "return n * 2" {
			twice = m
		}
		return true
	}); err != nil || twice.source == nil {
		t.Fatal("no mutant of Twice", err)
	}
	for _, test := range []struct {
		guards []guard
		want   outcome
	}{
		{nil, passed},
		{[]guard{{dir: "../other"}}, failed},
		{[]guard{{dir: "limit"}, {dir: "../other", run: "Tw"}}, failed},
		{[]guard{{dir: "limit"}, {dir: "../other", run: "Other"}}, passed},
		{[]guard{{dir: "../other", skip: "Twice"}}, passed},
	} {
		r := run{seed: 1, few: 10, many: 20, timeout: time.Minute, guards: map[string][]guard{"limit": test.guards}}
		guards, err := r.guardsOf(root, filepath.Join(root, "limit"))
		if err != nil {
			t.Fatal(err)
		}
		if got, err := r.try(guards, twice); err != nil || got != test.want {
			t.Errorf("%+v: %v, %v, want %v", test.guards, got, err, test.want)
		}
	}
}

// TestFiles: mutants are of the files that were named, which the package has.
func TestFiles(t *testing.T) {
	for _, test := range []struct {
		names []string
		draws bool
		err   string
	}{
		{nil, true, ""},
		{[]string{"limit.go"}, true, ""},
		{[]string{"other.go", "limit.go"}, true, ""},
		{[]string{"other.go"}, false, ""},
		{[]string{"limit.go", "limit_test.go"}, false, `has no file "limit_test.go" that is compiled`},
		{[]string{""}, false, `has no file "" that is compiled`},
	} {
		p := example(t)
		p.files = append(p.files, &source{name: filepath.Join(p.dir, "other.go"), text: "package limit\n", file: &ast.File{Name: ast.NewIdent("limit")}})
		err := p.only(test.names)
		if err == nil && test.err != "" || err != nil && err.Error() != p.dir+" "+test.err {
			t.Errorf("%q: %v, want %q", test.names, err, test.err)
			continue
		}
		if err != nil {
			continue
		}
		drawn := 0
		if err := p.mutants(1, func(m mutant) bool { drawn++; return filepath.Base(m.name) == "limit.go" }); err != nil || drawn > 0 != test.draws {
			t.Errorf("%q: %d mutants, %v", test.names, drawn, err)
		}
	}
}

func TestEquivalents(t *testing.T) {
	known, err := equivalentsIn(strings.NewReader(`# c
a/b.go: as fast
- x := 1
+ x := 2

c.go: nothing: really
- one
- two
+
`))
	if err != nil {
		t.Fatal(err)
	}
	want := map[equivalent]string{
		{"a/b.go", "x := 1", "x := 2"}: "as fast",
		{"c.go", "one\ntwo", ""}:       "nothing: really",
	}
	if diff := cmp.Diff(want, known); diff != "" {
		t.Errorf("- wanted, + got:\n%s", diff)
	}
	for text, want := range map[string]string{
		"- x\n":  `equivalent.txt:1: "- x" is no file with a reason, no line before and no line after`,
		"a.go\n": `equivalent.txt:1: "a.go" is no file with a reason, no line before and no line after`,
	} {
		if _, err := equivalentsIn(strings.NewReader(text)); err == nil || err.Error() != want {
			t.Errorf("%q: %v, want %s", text, err, want)
		}
	}
}

// TestEquivalentsStand: a mutant that was judged equivalent is of a line that the code has; when the line changes, the
// judgement is to be made again.
func TestEquivalentsStand(t *testing.T) {
	known, err := equivalents()
	if err != nil {
		t.Fatal(err)
	}
	for e := range known {
		text, err := os.ReadFile(filepath.Join("../..", e.file))
		if err != nil {
			t.Error(err)
			continue
		}
		if !strings.Contains("\n"+lines(strings.Split(string(text), "\n"))+"\n", "\n"+e.before+"\n") {
			t.Errorf("%s has no such line any more:\n%s", e.file, e.before)
		}
	}
}
