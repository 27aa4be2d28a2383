// SPDX-License-Identifier: Apache-2.0

package postrender

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/cozystack/image-overrides/imageoverrides"
)

const (
	service = "apiVersion: v1\nkind: Service\nmetadata: {name: s}\n"
	nobody  = "apiVersion: helm.toolkit.fluxcd.io/v2\nkind: HelmRelease\nmetadata: {name: r, namespace: n}\n" // up to its spec
	plain   = nobody + "spec:\n  chart: {spec: {chart: c}}\n"
	listed  = "  postRenderers:\n  - kustomize:\n      images:\n      - name: image-overrides.invalid/table\n        newTag: b2ddc34e3209\n      - name: registry.k8s.io/pause\n        newTag: \"3.10\"\n"
)

func pause(t testing.TB) imageoverrides.Table {
	t.Helper()
	table, err := imageoverrides.New(imageoverrides.Override{Name: "registry.k8s.io/pause", NewTag: "3.10"})
	if err != nil {
		t.Fatal(err)
	}
	return table
}

// What is told of the releases of a stream, in whole.
func TestRewriteResult(t *testing.T) {
	const marked = "  postRenderers: [{kustomize: {images: [{name: image-overrides.invalid/table, newTag: aaaaaaaaaaaa}]}}]\n"
	const outside = "{apiVersion: helm.toolkit.fluxcd.io/v2, kind: HelmRelease, metadata: {name: r}, spec: {chart: c}}"
	docs := []string{
		"# only a comment\n",
		plain,
		service,
		plain + listed,
		plain + marked,
		plain + strings.Replace(listed, "3.10", "3.9", 1),
		nobody + "spec: {values: {a: b}}\n",
		"kind: List\nitems:\n- &r " + strings.TrimLeft(strings.ReplaceAll(plain, "\n", "\n  "), " ") + "\n- *r\n- {kind: List, items: [" + outside + "]}\n",
		"kind: ResourceSet\nmetadata: {name: x}\nspec:\n  \"a.b\":\n  - " + outside + "\n",
		"kind: ConfigMap\nmetadata: {name: x}\ndata:\n  é: '" + outside + "'\n",
		strings.Replace(plain, "helm.toolkit.fluxcd.io/v2", "helm.fluxcd.io/v1", 1),
		"x: &x {items: [" + outside + "]}\nkind: AList\n<<: *x\n",
	}
	text := strings.Join(docs, "---\n")
	var out strings.Builder
	got, err := Rewrite(&out, strings.NewReader(text), pause(t))
	if err != nil {
		t.Fatal(err)
	}
	const table, older = "b2ddc34e3209", "aaaaaaaaaaaa"
	object := Object{APIVersion: "helm.toolkit.fluxcd.io/v2", Kind: "HelmRelease", Namespace: "n", Name: "r"}
	inner := object
	inner.Namespace = ""
	other := object
	other.APIVersion = "helm.fluxcd.io/v1"
	want := Result{
		Documents: 11, Bytes: int64(len(text)), Changed: 5, Kept: 1, Patches: 1, Unreached: 4,
		Releases: []Release{
			{Document: 0, Object: object, Outcome: Added, After: table},
			{Document: 2, Object: object, Outcome: Kept, Before: table, After: table},
			{Document: 3, Object: object, Outcome: Replaced, Before: older, After: table},
			{Document: 4, Object: object, Outcome: Repaired, Before: table, After: table},
			{Document: 5, Object: object, Outcome: Patch},
			{Document: 6, Object: object, Outcome: Added, After: table, Path: "items[0]"},
			{Document: 6, Object: inner, Outcome: Added, After: table, Path: "items[2].items[0]"},
			{Document: 7, Object: Object{Kind: "ResourceSet", Name: "x"}, Outcome: Inside, Path: `spec["a.b"][0]`},
			{Document: 8, Object: Object{Kind: "ConfigMap", Name: "x"}, Outcome: InText, Path: "data.é"},
			{Document: 9, Object: other, Outcome: OtherVersion},
			{Document: 10, Object: inner, Outcome: Aliased},
		},
	}
	if diff := cmp.Diff(want, got, cmpopts.IgnoreFields(Release{}, "Offset", "Line", "Column")); diff != "" {
		t.Error(diff)
	}
	var says []string
	for _, r := range got.Releases {
		says = append(says, r.String())
		rest := text[r.Offset:]
		if !strings.HasPrefix(rest, "apiVersion") && !strings.HasPrefix(rest, "{apiVersion") && !strings.HasPrefix(rest, "&r") && !strings.HasPrefix(rest, "'{") {
			t.Errorf("%s is at %.20q", r, rest)
		}
		lines := strings.Split(text[:r.Offset], "\n")
		if r.Line != len(lines) || r.Column != len([]rune(lines[len(lines)-1]))+1 {
			t.Errorf("%s: %d:%d", r, r.Line, r.Column)
		}
	}
	const name = "HelmRelease n/r"
	if diff := cmp.Diff([]string{
		name + ": table " + table + " added",
		name + ": in step",
		name + ": table " + table + " in place of " + older,
		name + ": table " + table + " put right",
		name + ": left alone: a patch of another release, for it names no chart (spec.chart or spec.chartRef)",
		name + ": table " + table + " added",
		"HelmRelease r: table " + table + " added",
		`a HelmRelease inside ResourceSet x at spec["a.b"][0]: not reached`,
		"a HelmRelease in a text of ConfigMap x at data.é: not reached",
		name + " of helm.fluxcd.io/v1, and not of helm.toolkit.fluxcd.io/v2: not reached",
		"HelmRelease r by way of an alias or a merge key: not reached",
	}, says); diff != "" {
		t.Error(diff)
	}

	none, err := imageoverrides.New()
	if err != nil {
		t.Fatal(err)
	}
	got, err = Rewrite(io.Discard, strings.NewReader(plain+marked), none)
	want = Result{Documents: 1, Bytes: int64(len(plain + marked)), Changed: 1, Releases: []Release{{Object: object, Outcome: Removed, Before: older, Line: 1, Column: 1}}}
	if diff := cmp.Diff(want, got); err != nil || diff != "" || got.Releases[0].String() != name+": table "+older+" removed" {
		t.Error(err, diff, got.Releases)
	}
	if got := (Release{Object: object}).String(); got != name {
		t.Error(got)
	}
	if diff := cmp.Diff([]Outcome{Added, Replaced, Repaired, Removed}, slices.DeleteFunc([]Outcome{Added, Replaced, Repaired, Removed, Kept, Patch, OtherVersion, Inside, InText, Aliased, ""},
		func(o Outcome) bool { return !o.Changed() })); diff != "" {
		t.Error(diff)
	}
}

// Nothing in is nothing out.
func TestRewriteEmpty(t *testing.T) {
	for _, text := range []string{"", "\n", "# c\n---\n", "\uFEFF"} {
		var out strings.Builder
		got, err := Rewrite(&out, strings.NewReader(text), pause(t))
		if diff := cmp.Diff(Result{Bytes: int64(len(text))}, got); err != nil || diff != "" || out.String() != text {
			t.Errorf("%q: %v, %q, %s", text, err, &out, diff)
		}
	}
}

// An error has its place in the stream, and the documents before it are written.
func TestRewriteErrors(t *testing.T) {
	object := Object{APIVersion: "helm.toolkit.fluxcd.io/v2", Kind: "HelmRelease", Namespace: "n", Name: "r"}
	const edited = ": spec.postRenderers cannot be edited in this place; write spec and spec.postRenderers out, as block style maps and lists without anchors"
	for _, c := range []struct {
		why, text string
		want      Error // its place in the document
		text2     string
	}{
		{"no YAML", "a: [\n", Error{Rule: imageoverrides.RuleSyntax, Line: 1, Column: 4}, "did not find expected node content"},
		{"a template", "a: {{ .x }}\n", Error{Rule: imageoverrides.RuleTemplate, Line: 1, Column: 4}, "a template; render it first (helm template)"},
		{"a template that does not parse", "a: b\n{{- if .x }}\n", Error{Rule: imageoverrides.RuleTemplate, Line: 2, Column: 1}, "a template; render it first (helm template)"},
		{"a name", "kind: A\nmetadata: {name: '{{ x }}'}\n", Error{Rule: imageoverrides.RuleTemplate, Line: 2, Column: 18}, "a template; render it first (helm template)"},
		{"too long", service + strings.Repeat("#", 1000), Error{Rule: imageoverrides.RuleTooLong, Line: 0, Column: 1}, "a document of more than 500 bytes"},
		{"signed", plain + "sops: {mac: x}\n", Error{Rule: imageoverrides.RuleSigned, Object: object, Line: 6, Column: 1},
			"HelmRelease n/r: signed by SOPS, and would change: its MAC would not fit any more; decrypt it, change it, and encrypt it again"},
		{"no list", plain + "  postRenderers: a\n", Error{Rule: RuleRenderers, Object: object, Line: 1, Column: 1}, "HelmRelease n/r: spec.postRenderers must be a list"},
		{"no spec", nobody[:len(nobody)-1] + "\nx: &x {chart: c}\n<<: {spec: *x}\n", Error{Rule: RulePlace, Object: object, Line: 1, Column: 1}, "HelmRelease n/r: the release has no spec"},
		{"an anchor", nobody + "spec: &a {chart: c}\n", Error{Rule: RulePlace, Object: object, Line: 1, Column: 1}, "HelmRelease n/r" + edited},
		{"a block at the end of the text, which a line behind it would give a line break", nobody + "spec:\n  chart: c\n  postRenderers:\n  - kustomize:\n      images:\n      - newTag: |\n          y", Error{Rule: RulePlace, Object: object, Line: 1, Column: 1}, "HelmRelease n/r" + edited},
		{"what cannot be read again", plain + "  a: \"b\n# c\"\nstatus: {}\n", Error{Rule: RulePlace, Object: object, Line: 1, Column: 1}, "HelmRelease n/r" + edited},
		{"in a list", "kind: List\nitems:\n- " + strings.ReplaceAll(nobody, "\n", "\n  ") + "spec: &a {chart: c}\n", Error{Rule: RulePlace, Object: object, Line: 3, Column: 3}, "HelmRelease n/r" + edited},
	} {
		var out strings.Builder
		before := service + "---\n" + plain
		result, err := Rewriter{Limit: 500}.Rewrite(&out, strings.NewReader(before+"--- # next\n"+c.text), pause(t))
		if out.String() != before+listed {
			t.Errorf("%s: %q is written", c.why, &out)
		}
		if result.Documents != 2 || result.Changed != 1 || len(result.Releases) != 1 || result.Bytes != int64(len(before)) {
			t.Errorf("%s: %+v", c.why, result)
		}
		c.want.Line += strings.Count(before, "\n") + 1
		c.want.text = c.text2
		var got *Error
		if !errors.As(err, &got) {
			t.Errorf("%s: %v", c.why, err)
			continue
		}
		if diff := cmp.Diff(c.want, *got, cmp.AllowUnexported(Error{})); diff != "" {
			t.Errorf("%s: %s", c.why, diff)
		}
		if want := fmt.Sprintf("line %d, column %d: %s", c.want.Line, c.want.Column, c.text2); err.Error() != want || got.Reason() != c.text2 {
			t.Errorf("%s: %s, %s", c.why, err, got.Reason())
		}
	}
}

// Of many releases the first ones are named, and a long reason is shortened.
func TestRewriteErrorBounds(t *testing.T) {
	item := "- " + strings.ReplaceAll(plain, "\n", "\n  ")
	item = strings.TrimRight(item, " ")
	_, err := Rewrite(io.Discard, strings.NewReader("kind: List\nitems:\n"+strings.Repeat(item, 12)+"- a: \"b\n# c\"\n"+item+"    a: \"b\n# c\"\n"), pause(t))
	if err == nil || strings.Count(err.Error(), "HelmRelease n/r") != 10 || !strings.Contains(err.Error(), "HelmRelease n/r and 3 more: spec.") {
		t.Error(err)
	}
	long := strings.Repeat("x", 300_000)
	for _, text := range []string{
		plain + "  postRenderers: [{kustomize: {}, " + long + ": a, " + long + ": b}]\n",
		plain + "  postRenderers: [{kustomize: {images: [{name: image-overrides.invalid/table}], " + long + ": a}}]\n",
		"apiVersion: helm.toolkit.fluxcd.io/v2\nkind: HelmRelease\nmetadata: {name: " + long + "}\nspec: &a {chart: c}\n",
	} {
		if _, err := Rewrite(io.Discard, strings.NewReader(text), pause(t)); err == nil || len(err.Error()) > 4000 {
			t.Errorf("%.300v", err)
		}
	}
}

// Errors of the reader, of the writer and of the caller come back as they are, and the result says how far it came.
func TestRewriteStreamErrors(t *testing.T) {
	failed := errors.New("failed")
	text := plain + "---\n" + plain
	var out strings.Builder
	result, err := Rewrite(&out, io.MultiReader(strings.NewReader(text+"---\n"), iotest.ErrReader(failed)), pause(t))
	if err != failed || out.String() != plain+listed+"---\n"+plain+listed || result.Changed != 2 {
		t.Errorf("reader: %v, %+v, %q", err, result, &out)
	}
	if result, err := Rewrite(writer(func([]byte) (int, error) { return 0, failed }), strings.NewReader(text), pause(t)); err != failed || result.Changed > 2 {
		t.Errorf("writer: %v, %+v", err, result)
	}
	if _, err := Rewrite(writer(func(b []byte) (int, error) { return len(b) - 1, nil }), strings.NewReader(text), pause(t)); err != io.ErrShortWrite {
		t.Errorf("short writer: %v", err)
	}
	out.Reset()
	n := 0
	result, err = Rewriter{Found: func(r []Release) error {
		if n += len(r); r[0].Line > 1 {
			return failed
		}
		return nil
	}}.Rewrite(&out, strings.NewReader(text), pause(t))
	if err != failed || n != 2 || out.String() != plain+listed || result.Documents != 1 || result.Changed != 1 || result.Releases != nil {
		t.Errorf("caller: %v after %d, %+v, %q", err, n, result, &out)
	}
}

type writer func([]byte) (int, error)

func (w writer) Write(b []byte) (int, error) { return w(b) }

// What is done is written before a read may block.
func TestRewriteWritesBeforeReading(t *testing.T) {
	var out bytes.Buffer
	reads := 0
	src := readerFunc(func(b []byte) (int, error) {
		reads++
		switch reads {
		case 1:
			return copy(b, plain+"---\n"+service), nil
		case 2:
			if out.String() != plain+listed {
				t.Errorf("before the second read %q is written", &out)
			}
		}
		return 0, io.EOF
	})
	if _, err := Rewrite(&out, src, pause(t)); err != nil {
		t.Fatal(err)
	}
}

type readerFunc func([]byte) (int, error)

func (r readerFunc) Read(b []byte) (int, error) { return r(b) }

// The limit counts a document's separator line, and 0 is the default.
func TestRewriterLimit(t *testing.T) {
	text := service + "---\n" + service
	long := len("---\n" + service)
	for limit, want := range map[int]int{long - 1: 1, long: 2, 0: 2, -1: 0} {
		result, err := Rewriter{Limit: limit}.Rewrite(io.Discard, strings.NewReader(text), pause(t))
		if result.Documents != want || (err == nil) != (want == 2) {
			t.Errorf("%d: %+v, %v", limit, result, err)
		}
	}
}

// A document of too many values is refused at what makes it necessary to parse it, and passed on where nothing does.
func TestRewriteLarge(t *testing.T) {
	const n = 1_500_000
	many := "x: [" + strings.Repeat("a,", n/2) + "a]\n"
	const reason = "a document of more than 1500000 values, which a YAML parser has to read, because of "
	for _, c := range []struct {
		text, why    string
		line, column int
	}{
		{many, "", 0, 0},
		{many + "kind: HelmRelease\n", "a HelmRelease", 6, 7},
		{"a: '{{ x }}'\n" + many, "what may be a template", 5, 5},
		{"a: \"\\u0041\"\n" + many, "an escape", 5, 5},
		{"? a\n: b\n" + strings.Repeat("y: &x b\n", 600_000) + many, "a notation that manifests seldom have", 5, 1},
	} {
		var out bytes.Buffer
		result, err := Rewrite(&out, strings.NewReader(service+"---\n"+c.text), pause(t))
		if c.why == "" {
			if err != nil || result.Documents != 2 || out.String() != service+"---\n"+c.text {
				t.Errorf("%v, %+v", err, result)
			}
			continue
		}
		var e *Error
		if !errors.As(err, &e) || e.Rule != imageoverrides.RuleTooLong || e.Line != c.line || e.Column != c.column || e.Reason() != reason+c.why || out.String() != service {
			t.Errorf("%.20q: %v", c.text, err)
		}
	}
}

// Items that aliases write out cost a bounded time.
func TestRewriteAliases(t *testing.T) {
	const n = 1000
	item := "x: &a [" + strings.Repeat("1,", 150) + "]\n" + plain + "  postRenderers: [" + strings.Repeat("{a: *a},", n) + "]\n"
	const want = "HelmRelease n/r: spec.postRenderers[868]: document contains excessive aliasing"
	var e *Error
	if _, err := Rewrite(io.Discard, strings.NewReader(item), pause(t)); !errors.As(err, &e) || e.Reason() != want {
		t.Errorf("%v, want %s", err, want)
	}
	wide := "x: &a {" + strings.Repeat("k: ,", 5001) + "}\n" + plain + "  postRenderers: [*a]\n"
	if _, err := Rewrite(io.Discard, strings.NewReader(wide), pause(t)); !errors.As(err, &e) || e.Reason() != "HelmRelease n/r: spec.postRenderers has a map with more than 5000 keys" {
		t.Error(err)
	}
}

// No text makes Rewrite panic, or change what is no post-renderer, or not come to rest.
func FuzzRewrite(f *testing.F) {
	head := "apiVersion: helm.toolkit.fluxcd.io/v2\nkind: HelmRelease\nmetadata: {name: r, namespace: n}\n"
	for _, seed := range []string{
		"spec:\n  chart: c\n", "spec: {chart: b}", "spec:\n  chart: c\n  postRenderers:\n  - {}\n  # x\n  - kustomize:\n      images: []\n",
		"spec:\n  chart: c\n  postRenderers: [{}, {kustomize: {images: [{name: image-overrides.invalid/table}]}}]\nstatus: {}\n",
		"spec:\n  chart: c\n  postRenderers:\n    - kustomize:\n        images:\n        - name: image-overrides.invalid/table\n        patches: [{patch: x}]\n",
		"spec:\n  chart: c\n  postRenderers: ~ # none\n  a: |+\n    x\n\n", "spec: &a\n  chart: c\n  ? b\n  : !!str c\n  postRenderers: []\n...\n",
		"a: &a [x, x]\nb: &b [*a, *a]\nspec: {chart: c, a: *b}\n", "kind: List\nitems: &i [{kind: List, items: *i}, HelmRelease]\n", "items: []\n<<: &x {<<: *x}\nspec: *x\n",
	} {
		f.Add([]byte(seed))
	}
	if releases, err := os.ReadFile("../examples/testdata/releases.yaml"); err == nil {
		f.Add(releases)
	}
	table := pause(f)
	f.Fuzz(func(t *testing.T, text []byte) {
		for _, before := range [][]byte{text, append([]byte(head), text...)} {
			given := bytes.Clone(before)
			var out, again bytes.Buffer
			result, err := Rewrite(&out, bytes.NewReader(before), table)
			if !bytes.Equal(before, given) {
				t.Errorf("the text that was given is another")
			}
			if err != nil {
				continue
			}
			if result.Changed == 0 && !bytes.Equal(out.Bytes(), before) {
				t.Errorf("%q became %q without a change", before, &out)
			}
			if second, err := Rewrite(&again, bytes.NewReader(out.Bytes()), table); err != nil || !bytes.Equal(out.Bytes(), again.Bytes()) || second.Changed != 0 {
				t.Errorf("%q became %q, then %q, %v", before, &out, &again, err)
			}
		}
	})
}

// Three streams: documents of releases, others, and a List of releases in one document.
func BenchmarkRewrite(b *testing.B) {
	item := "- " + strings.TrimRight(strings.ReplaceAll(plain+"  values:\n"+strings.Repeat("    key: value\n    list: [a, b]\n    c:\n", 10), "\n", "\n  "), " ")
	for name, text := range map[string]string{
		"releases": strings.Repeat(plain+"---\n", 1000),
		"others":   strings.Repeat("kind: Pod\nmetadata: {name: a}\nspec:\n  containers:\n  - image: a\n---\n", 1000),
		"List":     "kind: List\nitems:\n" + strings.Repeat(item, 500),
	} {
		b.Run(name, func(b *testing.B) {
			table := pause(b)
			b.SetBytes(int64(len(text)))
			b.ReportAllocs()
			for b.Loop() {
				if _, err := Rewrite(io.Discard, strings.NewReader(text), table); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
