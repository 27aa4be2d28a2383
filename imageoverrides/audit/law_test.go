// SPDX-License-Identifier: Apache-2.0

package audit_test

import (
	"bytes"
	stdcmp "cmp"
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/cozystack/image-overrides/imageoverrides"
	"github.com/cozystack/image-overrides/imageoverrides/audit"
	"github.com/cozystack/image-overrides/internal/oracle"
)

// genTable gives tables that the chart accepts, of names that the oracle's images match, nearly match and do not match.
func genTable() *rapid.Generator[imageoverrides.Table] {
	return rapid.Custom(func(t *rapid.T) imageoverrides.Table {
		var list []imageoverrides.Override
		names := make(map[string]bool)
		for range rapid.IntRange(0, 5).Draw(t, "entries") {
			o := imageoverrides.Override{Name: oracle.Name().Draw(t, "name")}
			if names[o.Name] {
				continue
			}
			names[o.Name] = true
			o.NewName = rapid.SampledFrom([]string{"", "reg.example.org/web", "a", "b", "x/y"}).Draw(t, "newName")
			o.NewTag = rapid.SampledFrom([]string{"", "v2"}).Draw(t, "newTag")
			if o.NewName+o.NewTag == "" || rapid.IntRange(0, 4).Draw(t, "pinned") == 0 {
				o.Digest = "sha256:" + strings.Repeat("cd", 32)
			}
			list = append(list, o)
		}
		table, err := imageoverrides.New(list...)
		if err != nil {
			t.Fatal(err)
		}
		return table
	})
}

// changed are the changes that a report has for its only source, as Rewrite tells them.
func changed(r *audit.Report) []imageoverrides.Change {
	var list []imageoverrides.Change
	for _, p := range r.Places {
		if p.Status != audit.Rewritten {
			continue
		}
		c := imageoverrides.Change{Object: p.Object(), Path: p.Path, Old: p.Image, New: p.New, Entries: p.Entries, Offset: p.Offset, Line: p.Line, Column: p.Column}
		if c.Entries == nil {
			c.Entries = []int{p.Entry}
		}
		list = append(list, c)
	}
	return list
}

// sameAsRewrite fails where the images that are told as rewritten are not those that Rewrite changes.
func sameAsRewrite(t oracle.T, table imageoverrides.Table, in string) {
	t.Helper()
	a := audit.New(table, audit.Options{})
	if err := a.Add("s", strings.NewReader(in)); err != nil {
		t.Fatalf("%v", err)
	}
	r := a.Report()
	result, err := imageoverrides.Rewrite(io.Discard, strings.NewReader(in), table)
	if err != nil {
		t.Fatalf("%v", err)
	}
	for i := range result.Changes {
		result.Changes[i].Document = 0
	}
	byPlace := func(a, b imageoverrides.Change) int {
		return slices.Compare([]string{fmt.Sprintf("%9d", a.Offset), a.Path}, []string{fmt.Sprintf("%9d", b.Offset), b.Path})
	}
	slices.SortFunc(result.Changes, byPlace)
	got := changed(r)
	slices.SortFunc(got, byPlace)
	if diff := cmp.Diff(result.Changes, got); diff != "" {
		t.Fatalf("Rewrite changes (-), and the audit tells (+)\n%s\nof\n%s", diff, in)
	}
	if table.Len() > 0 && r.Summary.Documents != result.Documents {
		t.Fatalf("%d documents, Rewrite has %d in\n%s", r.Summary.Documents, result.Documents, in)
	}
}

// TestAsRewrite: what Rewrite changes is rewritten, with the same outcome, entries and place, and nothing else is.
func TestAsRewrite(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		sameAsRewrite(t, genTable().Draw(t, "table"), oracle.Manifests().Draw(t, "manifests"))
	})
}

func TestAsRewriteCorpus(t *testing.T) {
	files, table := corpus(t)
	for _, text := range files {
		sameAsRewrite(t, table, text)
	}
}

// TestCounts: the counts of entries and of the summary are those of the places.
func TestCounts(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		a := audit.New(genTable().Draw(t, "table"), audit.Options{Hooks: rapid.SampledFrom([]audit.Hooks{"", audit.HooksKept}).Draw(t, "hooks"), Allowed: []string{"reg.example.org", "docker.io/library"}})
		for i := range rapid.IntRange(1, 3).Draw(t, "sources") {
			if err := a.Add(fmt.Sprint(i), strings.NewReader(oracle.Manifests().Draw(t, "manifests"))); err != nil {
				t.Fatal(err)
			}
		}
		checkCounts(t, a.Report())
	})
}

func checkCounts(t oracle.T, r *audit.Report) {
	var s audit.Summary
	entries := make([]audit.Entry, len(r.Entries))
	for _, p := range r.Places {
		var e audit.Entry
		if p.Reason == audit.ReasonValues && p.Status != audit.Rewritten {
			s.Values++
			continue
		}
		if p.Outside && p.Status != audit.Suspected {
			s.Outside++
		}
		at := &e
		if p.Entry >= 0 {
			at = &entries[p.Entry]
		}
		switch p.Status {
		case audit.Rewritten:
			s.Rewritten++
			at.Rewritten++
		case audit.Kept:
			s.Kept++
			at.Kept++
		case audit.Missed:
			s.Missed++
			at.Missed++
		case audit.Unreached:
			s.Unreached++
			at.Unreached++
		case audit.Suspected:
			s.Suspected++
			at.Suspected++
		default:
			t.Fatalf("%+v", p)
		}
		for _, i := range p.Entries {
			if i != p.Entry {
				entries[i].Chained++
			}
		}
	}
	for i := range entries {
		entries[i].Entry, entries[i].Name, entries[i].Near = i, r.Entries[i].Name, r.Entries[i].Near
		if entries[i].Unused() {
			s.Unused++
		}
	}
	for _, k := range r.Risks {
		if k.Severity == audit.SeverityError {
			s.Errors++
		} else {
			s.Warnings++
		}
	}
	s.Sources, s.Documents, s.Images = r.Summary.Sources, r.Summary.Documents, r.Summary.Images
	if diff := cmp.Diff(s, r.Summary); diff != "" {
		t.Fatalf("counted (-), and told (+)\n%s", diff)
	}
	if diff := cmp.Diff(entries, r.Entries); len(entries) > 0 && diff != "" {
		t.Fatalf("entries counted (-), and told (+)\n%s", diff)
	}
}

// TestOrder: sources in any order, and cut into documents, give the same report, to the byte.
func TestOrder(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		table := genTable().Draw(t, "table")
		var texts []string
		for range rapid.IntRange(1, 4).Draw(t, "sources") {
			texts = append(texts, oracle.Manifests().Draw(t, "manifests"))
		}
		whole, parts := audit.New(table, audit.Options{}), audit.New(table, audit.Options{})
		add := func(a *audit.Audit, name, text string) {
			if err := a.Add(name, strings.NewReader(text)); err != nil {
				t.Fatal(err)
			}
		}
		for i, text := range texts {
			add(whole, fmt.Sprint(i), text)
		}
		for _, i := range rapid.Permutation(numbers(len(texts))).Draw(t, "order") {
			text := texts[i]
			for {
				cut := strings.Index(text[min(1, len(text)):], "\n---")
				if cut < 0 || strings.HasPrefix(texts[i], "\uFEFF") {
					break
				}
				add(parts, fmt.Sprint(i), text[:cut+2])
				text = text[cut+2:]
			}
			add(parts, fmt.Sprint(i), text)
		}
		a, b := asJSON(t, whole.Report()), asJSON(t, parts.Report())
		if diff := cmp.Diff(a, b); diff != "" {
			t.Fatalf("in order and whole (-), otherwise (+)\n%s", diff)
		}
		if again := asJSON(t, whole.Report()); again != a {
			t.Fatalf("a second report is another:\n%s", cmp.Diff(a, again))
		}
	})
}

func numbers(n int) []int {
	var list []int
	for i := range n {
		list = append(list, i)
	}
	return list
}

func asJSON(t oracle.T, r *audit.Report) string {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetIndent("", " ")
	if err := e.Encode(r); err != nil {
		t.Fatalf("%v", err)
	}
	return b.String()
}

// checkParts fails where an audit with Options.Parts tells something else than one without, or where parts are not those of the image.
func checkParts(t oracle.T, table imageoverrides.Table, in string, without *audit.Report) {
	t.Helper()
	a := audit.New(table, audit.Options{Parts: true})
	if err := a.Add("s", strings.NewReader(in)); err != nil {
		t.Fatalf("%v", err)
	}
	with := a.Report()
	for i := range with.Places {
		p := &with.Places[i]
		at := fmt.Sprintf("%s of\n%s", p.Path, in)
		whole := ""
		for j := range p.Parts {
			part := &p.Parts[j]
			if !strings.HasPrefix(part.Pointer, "/") || part.Start < 0 || part.Start > part.End || part.End > len(part.Text) {
				t.Fatalf("part %+v of %s", part, at)
			}
			switch text := part.Text[part.Start:part.End]; {
			case text == "":
			case part.Role == audit.RoleTag:
				whole += ":" + text
			case part.Role == audit.RoleDigest:
				whole += "@sha256:" + strings.TrimPrefix(text, "sha256:")
			default:
				whole = strings.TrimPrefix(whole+"/"+text, "/")
			}
		}
		if image := stdcmp.Or(p.Whole, p.Image); p.Parts != nil && (whole != image && !strings.Contains(image, "@") || without.Places[i].Parts != nil) {
			t.Fatalf("parts %+v of %s, want %s", p.Parts, at, image)
		}
		p.Parts = nil
	}
	if diff := cmp.Diff(without, with); diff != "" {
		t.Fatalf("with parts (+)\n%s\nof\n%s", diff, in)
	}
}

// TestParts: parts change nothing else in a report, and are those of their images.
func TestParts(t *testing.T) {
	image := rapid.SampledFrom([]string{"quay.io/a/b:v1.0", "nginx:1.25", `"nginx:1.25"`, "'quay.io/a/b'", "docker.io/library/nginx@sha256:" + strings.Repeat("ab", 32)})
	rapid.Check(t, func(t *rapid.T) {
		in := oracle.Manifests().Draw(t, "manifests")
		if rapid.Bool().Draw(t, "unreached") {
			in = fmt.Sprintf("kind: ConfigMap\nmetadata: {name: n}\ndata:\n  a: |\n    image: %s\n    x: {image: {registry: r.io/, repository: a, tag: b}}\n    run: docker run %s\n  b: '{\"image\": \"a\\/b:v1.0\", \"x\": {\"repository\": \"quay.io/x\", \"digest\": \"%s\"}}'\n  image: %s\n  c: |\n    d: |\n      image: %[1]s\n",
				image.Draw(t, "image"), image.Draw(t, "image"), strings.Repeat("cd", 32), image.Draw(t, "image"))
		}
		table := genTable().Draw(t, "table")
		a := audit.New(table, audit.Options{})
		if err := a.Add("s", strings.NewReader(in)); err != nil {
			t.Fatal(err)
		}
		checkParts(t, table, in, a.Report())
	})
}

// FuzzAudit: nothing panics on any bytes, each offset is inside of the source, and where Rewrite reads it, the two say the same.
func FuzzAudit(f *testing.F) {
	for _, text := range []string{
		"kind: Pod\nspec: {containers: [{image: nginx:1}]}\n", "kind: ConfigMap\ndata:\n  a: |\n    image: quay.io/a/b:v1\n    x: {repository: a, tag: b}\n", "x: &a [*a]\n", "{{ if }}\n", "a: b\n---c\n", "%YAML 1.1\n---\na: b\n...\nb: c\n", "{\"a\": 1}{\"a\": 2}",
	} {
		f.Add([]byte(text))
	}
	table, err := imageoverrides.New(imageoverrides.Override{Name: "nginx", NewName: "reg.example.org/web"}, imageoverrides.Override{Name: "a.b/c", NewTag: "v2"}, imageoverrides.Override{Name: "reg.example.org/web", NewTag: "3"})
	if err != nil {
		f.Fatal(err)
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		if len(text) > 1<<12 {
			return
		}
		a := audit.New(table, audit.Options{})
		if err := a.Add("s", bytes.NewReader(text)); err != nil {
			t.Fatal(err)
		}
		r := a.Report()
		checkParts(t, table, string(text), r)
		for _, p := range r.Places {
			if p.Offset < 0 || p.Offset > int64(len(text)) || p.Line < 1 || p.Column < 1 {
				t.Fatalf("%+v", p)
			}
		}
		for _, k := range r.Risks {
			if k.Offset < 0 || k.Offset > int64(len(text)) || k.Line < 1 || k.Column < 1 {
				t.Fatalf("%+v", k)
			}
		}
		checkCounts(t, r)
		if _, err := imageoverrides.Rewrite(io.Discard, bytes.NewReader(text), table); err == nil {
			sameAsRewrite(t, table, string(text))
		}
	})
}
