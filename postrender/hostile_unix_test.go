// SPDX-License-Identifier: Apache-2.0

//go:build unix

package postrender

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"runtime"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/cozystack/image-overrides/imageoverrides"
)

// many writes a text n times, with the number in place of each #.
func many(n int, text string) string {
	var b strings.Builder
	for i := range n {
		b.WriteString(strings.ReplaceAll(text, "#", fmt.Sprint(i)))
	}
	return b.String()
}

// bigList is a List of n releases in one line of JSON.
func bigList(n int, spec string) string {
	const release = `{"apiVersion":"helm.toolkit.fluxcd.io/v2","kind":"HelmRelease","metadata":{"name":"r#","namespace":"n"},"spec":{"chart":{"spec":{"chart":"c"}},"values":{"a":"b","c":["d"]}`
	return `{"kind":"List","items":[` + many(n, release+spec+`}},`) + `{"kind":"Pod"}]}`
}

// a bomb's aliases stand for a hundred million values.
func bomb(text string) string {
	var b strings.Builder
	b.WriteString("a: &a [x, x, x, x, x, x, x, x, x, x]\n")
	for c := 'b'; c <= 'i'; c++ {
		fmt.Fprintf(&b, "%c: &%[1]c [*%[2]c, *%[2]c, *%[2]c, *%[2]c, *%[2]c, *%[2]c, *%[2]c, *%[2]c, *%[2]c, *%[2]c]\n", c, c-1)
	}
	return b.String() + text
}

// cost is what a call takes: memory, and the processor's time, which does not depend on what else the machine does.
type cost struct {
	bytes int64
	time  time.Duration
}

func costOf(t *testing.T, call func()) cost {
	t.Helper()
	now := func() cost {
		var r syscall.Rusage
		if err := syscall.Getrusage(syscall.RUSAGE_SELF, &r); err != nil {
			t.Fatal(err)
		}
		var m runtime.MemStats
		runtime.ReadMemStats(&m)
		return cost{int64(m.TotalAlloc), time.Duration(r.Utime.Nano())}
	}
	before := now()
	call()
	after := now()
	return cost{after.bytes - before.bytes, after.time - before.time}
}

// Whatever a text is made of, four times as much of it costs about four times as much, and what it costs is a small multiple of
// its bytes. refused says that the text is an error; otherwise it must not be one.
func TestRewriteLinear(t *testing.T) {
	const older = `,"postRenderers":[{"kustomize":{"images":[{"name":"image-overrides.invalid/table","newTag":"a"}]}}`
	const release = "apiVersion: helm.toolkit.fluxcd.io/v2\nkind: HelmRelease\n"
	const patched = `{"kustomize":{"images":[{"name":"image-overrides.invalid/table"}],"patches":[{"patch":"a"}]}},`
	indent := func(text string) string { return strings.TrimRight(strings.ReplaceAll(text, "\n", "\n  "), " ") }
	none, err := imageoverrides.New()
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		why     string
		text    func(n int) string // of about n KB
		refused bool
		empty   bool // the table
	}{
		// One line of JSON, whatever is to be done to its releases.
		{why: "put in", text: func(n int) string { return bigList(5*n, "") }},
		{why: "filled", text: func(n int) string { return bigList(5*n, `,"postRenderers":[]`) }},
		{why: "replaced", text: func(n int) string { return bigList(4*n, older+`]`) }},
		{why: "beside others", text: func(n int) string { return bigList(4*n, older+`,{}]`) }},
		{why: "taken out", text: func(n int) string { return bigList(4*n, older+`]`) }, empty: true},
		{why: "in step", text: func(n int) string { return bigList(5*n, "") }, empty: true},

		{why: "many renderers", text: func(n int) string { return release + "spec:\n  chart: c\n  postRenderers:\n" + many(100*n, "  - {}\n") }},
		{why: "many tables", text: func(n int) string {
			return release + "spec: {chart: c, postRenderers: [" + many(10*n, patched) + "]}\n"
		}},
		{why: "tables in block style", text: func(n int) string {
			return release + "spec:\n  chart: c\n  postRenderers:\n" + many(10*n, "  - kustomize: {images: [{name: image-overrides.invalid/table}], patches: [{patch: a#}]}\n")
		}},
		{why: "releases behind a long first line", text: func(n int) string {
			return "# " + strings.Repeat("x", 500*n) + "\nkind: List\nitems:\n" + many(4*n, "- "+indent(release+"spec:\n  chart: c\n"))
		}},
		{why: "blank lines behind a text", text: func(n int) string {
			return release + "spec:\n  chart: c\n  a: |+\n" + strings.Repeat("    b\n", 100*n) + strings.Repeat("\n", 300*n) + "x: 1\n"
		}},
		{why: "releases in others", text: func(n int) string {
			return "kind: A\nb: [" + many(7*n, "{kind: HelmRelease, apiVersion: helm.toolkit.fluxcd.io/v2, spec: {}},") + "]\n"
		}},
		{why: "releases deep in others", text: func(n int) string {
			depth := min(40*n, 4000)
			return "kind: A\nb: " + strings.Repeat("[", depth) + many(7*n, "{kind: HelmRelease, apiVersion: helm.toolkit.fluxcd.io/v2, spec: {}},") + strings.Repeat("]", depth) + "\n"
		}},
		{why: "Lists in each other", text: func(n int) string {
			depth := min(10*n, 4000)
			return strings.Repeat(`{"kind":"List","items":[`, depth) + many(8*n, `{"kind":"HelmRelease","apiVersion":"helm.toolkit.fluxcd.io/v2","spec":{"chart":"c"}},`) + "{}" + strings.Repeat("]}", depth)
		}},
		{why: "keys of a spec", text: func(n int) string { return release + "spec: {chart: c, " + many(100*n, "k#: ,") + "}\n" }},
		{why: "JSON values in a row", text: func(n int) string {
			return many(10*n, `{"apiVersion":"helm.toolkit.fluxcd.io/v2","kind":"HelmRelease","spec":{"chart":"c"}}`+"\n")
		}},
		{why: "documents", text: func(n int) string { return many(10*n, release+"spec: {chart: c}\n---\n") }},
		{why: "documents of others", text: func(n int) string {
			return many(10*n, "kind: Pod\nmetadata: {name: x#}\nspec:\n  containers:\n  - image: a\n---\n")
		}},
		{why: "one of others", text: func(n int) string {
			return "kind: List\nitems:\n" + many(20*n, "- kind: Pod\n  metadata: {name: x#}\n")
		}},

		// Maps that many merge.
		{why: "a wide map merged by many", text: func(n int) string {
			return "x: &x {" + many(40*n, "k#: ,") + "}\nkind: List\nitems:\n" + many(8*n, "- {kind: HelmRelease, apiVersion: helm.toolkit.fluxcd.io/v2, <<: *x}\n")
		}},
		{why: "a chain of maps merged by many", text: func(n int) string {
			return "x0: &x0 {a: b}\n" + chain(20*n) + "kind: List\nitems:\n" + many(8*n, fmt.Sprintf("- {kind: HelmRelease, apiVersion: helm.toolkit.fluxcd.io/v2, <<: *x%d}\n", 20*n))
		}},
		{why: "one map merged often", text: func(n int) string {
			return "a: &a {x: 1}\n" + release + "spec:\n  <<: [" + strings.Repeat("*a,", 200*n) + "]\n"
		}},
		{why: "lists of items that many merge", text: func(n int) string {
			return "x: &x {items: [" + many(20*n, "{kind: HelmRelease, apiVersion: x.fluxcd.io/v2, spec: {}},") + "]}\nkind: List\nitems: [" + many(20*n, "{kind: AList, <<: *x},") + "]\n"
		}},
		{why: "an alias around itself", text: func(n int) string { return release + many(10*n, "x#: 1\n") + "spec: &s {<<: *s, chart: *s}\n" }, refused: true},
		{why: "an item that aliases write out", text: func(n int) string {
			return "x: &x [" + many(90, "1,") + "]\n" + release + "spec: {chart: c, postRenderers: [" + many(80*n, "{a: *x},") + "]}\n"
		}, refused: true},
		{why: "a bomb", text: func(n int) string {
			return bomb(many(20*n, "k#: *i\n") + release + "spec: {chart: c, postRenderers: *i}\n")
		}, refused: true},

		// What is no document of ours.
		{why: "brackets", text: func(n int) string { return strings.Repeat("[", 1000*n) }, refused: true},
		{why: "braces", text: func(n int) string { return strings.Repeat("{a: ", 250*n) }, refused: true},
		{why: "dashes", text: func(n int) string { return strings.Repeat("- ", 500*n) }, refused: true},
		{why: "JSON", text: func(n int) string { return strings.Repeat(`{"a":`, 200*n) }, refused: true},
		{why: "actions", text: func(n int) string { return strings.Repeat("{{", 500*n) }, refused: true},
		{why: "actions in names", text: func(n int) string {
			return "kind: List\nitems: [" + many(20*n, "{kind: A, metadata: {name: a}},") + "{kind: A, metadata: {name: '{{ x }}'}}]\n"
		}, refused: true},
		{why: "a fault at the end", text: func(n int) string { return release + many(50*n, "a#: [b, c]\n") + "a: [\n" }, refused: true},
	} {
		table := pause(t)
		if c.empty {
			table = none
		}
		costOfRun := func(n int) cost {
			text := []byte(c.text(n))
			return costOf(t, func() {
				_, err := Rewrite(io.Discard, bytes.NewReader(text), table)
				var e *Error
				if errors.As(err, &e) != c.refused || c.refused && e.Line == 0 {
					t.Fatalf("%s: %.300v", c.why, err)
				}
			})
		}
		const n = 60
		small, large := costOfRun(n), costOfRun(4*n)
		size := len(c.text(4 * n))
		t.Logf("%s: %d KB: %d MB and %v, a quarter of it %d MB and %v", c.why, size>>10, large.bytes>>20, large.time, small.bytes>>20, small.time)
		if large.bytes > 6*small.bytes+1<<20 || large.bytes > 2000*int64(size) {
			t.Errorf("%s: %d bytes take %d, and a quarter of it %d", c.why, size, large.bytes, small.bytes)
		}
		if large.time > 8*small.time+time.Second/2 {
			t.Errorf("%s: %d bytes cost %v, and a quarter of it %v", c.why, size, large.time, small.time)
		}
	}
}

// chain is maps each of which merges the one before.
func chain(n int) string {
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, "x%d: &x%[1]d {<<: *x%[2]d}\n", i+1, i)
	}
	return b.String()
}
