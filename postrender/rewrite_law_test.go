// SPDX-License-Identifier: Apache-2.0

package postrender

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"reflect"
	"strings"
	"testing"
	"testing/iotest"
	"unicode/utf8"

	helmv2 "github.com/fluxcd/helm-controller/api/v2"
	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
	"sigs.k8s.io/yaml"

	"github.com/cozystack/image-overrides/imageoverrides"
)

// A stream of manifests in some notations: texts that must stay, and between each two of them the place of a release's
// spec.postRenderers, with the field or without it.
type stream struct {
	fixed    []string // one more than lists
	lists    []string
	releases []string // their names
}

// add puts text behind what is there.
func (s *stream) add(text string) {
	if len(s.fixed) == len(s.lists) {
		s.fixed = append(s.fixed, "")
	}
	s.fixed[len(s.fixed)-1] += text
}

// list puts a release's list there.
func (s *stream) list(text string) {
	s.add("")
	s.lists = append(s.lists, text)
}

func (s *stream) text() string {
	var b strings.Builder
	for i, f := range s.fixed {
		b.WriteString(f)
		if i < len(s.lists) {
			b.WriteString(s.lists[i])
		}
	}
	return b.String()
}

// genRenderers gives a list that a release may have, of real types with every field, tables among them.
func genRenderers(t *rapid.T) (list []helmv2.PostRenderer) {
	for range rapid.IntRange(0, 4).Draw(t, "renderers") {
		text := rapid.SampledFrom([]string{
			``, `table`, `table`,
			`{}`, `{"kustomize":{}}`,
			`{"kustomize":{"images":[{"name":"it's","newTag":"#"},{"name":"a","newTag":"v1"}]}}`,
			`{"kustomize":{"images":[{"name":"a","newTag":"v1"}]}}`,
			`{"kustomize":{"patches":[{"patch":"- op: remove\n  path: /a\n\n","target":{"kind":"yes"}}]}}`,
			`{"kustomize":{"images":[{"name":"image-overrides.invalid/table","newTag":"a"},{"name":"a","newTag":"b"}]}}`,
			`{"kustomize":{"images":[{"name":"image-overrides.invalid/table"}],"patches":[{"patch":"# [ \" ' ]\n  a: \u0001\n \n"}]}}`,
		}).Draw(t, "renderer")
		var r helmv2.PostRenderer
		switch text {
		case "":
			r = rapid.Custom(func(t *rapid.T) (r helmv2.PostRenderer) {
				filled(t, reflect.ValueOf(&r).Elem())
				return r
			}).Draw(t, "filled")
		case "table":
			r = Renderer(genTable().Draw(t, "older table"))
		default:
			if err := json.Unmarshal([]byte(text), &r); err != nil {
				t.Fatal(err)
			}
		}
		list = append(list, r)
	}
	return list
}

func indented(text, margin string) string {
	lines := strings.SplitAfter(text, "\n")
	for i, line := range lines {
		if strings.TrimSpace(line) != "" {
			lines[i] = margin + line
		}
	}
	return strings.Join(lines, "")
}

func jsonOf(t *rapid.T, v any) string {
	text, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// genStream gives a stream of documents, with the table or another one in some of the releases.
func genStream(t *rapid.T, prefix string, table imageoverrides.Table) *stream {
	s := new(stream)
	pick := func(label string, of ...string) string { return rapid.SampledFrom(of).Draw(t, label) }
	list := func() ([]helmv2.PostRenderer, bool) {
		list := genRenderers(t)
		if rapid.IntRange(0, 3).Draw(t, "in step") == 0 {
			list = Merge(list, table)
		}
		return list, list != nil || rapid.Bool().Draw(t, "field")
	}
	block := func(margin string) {
		name := fmt.Sprintf("%s%d", prefix, len(s.releases))
		s.releases = append(s.releases, name)
		b := "apiVersion: helm.toolkit.fluxcd.io/" + pick("version", "v2", "v2beta1", "v2beta2") + "\nkind: HelmRelease   # é\n" +
			margin + "metadata: {name: " + name + "}\n" + margin + "spec:\n"
		b = strings.Replace(b, "kind", margin+"kind", 1)
		in := margin + "  "
		b += in + "chart: {spec: {chart: c}}\n" + pick("before", "", in+"# why\n", "\n", in+"values:\n"+in+"  a: |\n"+in+"    postRenderers:\n"+in+"    # x\n\n")
		renderers, field := list()
		after := pick("after", "", in+"values: {a: ']'}\n", in+"# of it\n"+in+"values:\n"+in+"- a\n", in+"text: |+\n"+in+"  b\n\n")
		end := pick("end", "", "\n", margin+"# end\n", margin+"status: {}\n", "\n"+margin+"# of the status\n"+margin+"status:\n"+in+"postRenderers: x\n")
		var text string
		switch notation := pick("list", "block", "block", "deeper", "flow", "empty"); {
		case !field:
		case len(renderers) == 0:
			text = in + "postRenderers:" + pick("none", "", " []", " null   # none", " ~", " [ ]") + "\n"
		case notation == "flow":
			text = in + "postRenderers: " + strings.ReplaceAll(jsonOf(t, renderers), "},{", pick("between", "},{", "}, {", "},\n"+in+"  {")) + "   # own\n"
		default:
			b, err := yaml.Marshal(renderers)
			if err != nil {
				t.Fatal(err)
			}
			text = in + "postRenderers:\n" + indented(string(b), in+strings.Repeat(" ", 2*len(pick("dash", "", "x"))))
		}
		if field {
			s.add(b)
			s.list(text)
			s.add(after + end)
		} else {
			// Behind the other fields, and before the blank lines that are no text of theirs.
			b += after
			gap := ""
			if strings.HasSuffix(b, "\n\n") && !strings.Contains(after, "|+") {
				b, gap = strings.TrimSuffix(b, "\n"), "\n"
			}
			s.add(b)
			s.list("")
			s.add(gap + end)
		}
	}
	flow := func() {
		name := fmt.Sprintf("%s%d", prefix, len(s.releases))
		s.releases = append(s.releases, name)
		space := pick("space", "", " ", "\n    ")
		comma := "," + space
		s.add(`{"apiVersion": "helm.toolkit.fluxcd.io/v2"` + comma + `"kind": "HelmRelease"` + comma + `"metadata": {"name": "` + name + `"}` + comma + `"spec": {` + strings.TrimSuffix(space, "    "))
		renderers, field := list()
		text := jsonOf(t, renderers)
		if renderers == nil {
			text = pick("none", "[]", "null")
		}
		text = `"postRenderers":` + pick("colon", "", " ") + strings.ReplaceAll(text, "},{", "}"+comma+"{")
		const chart = `"chart": {"spec": {"chart": "c\""}}`
		switch first := rapid.Bool().Draw(t, "first"); {
		case !field:
			// In front, behind the space.
			before := &s.fixed[len(s.fixed)-1]
			*before = strings.TrimRight(*before, " \n")
			s.list("")
			s.add(strings.TrimSuffix(space, "    ") + chart)
		case first:
			s.list(text + comma)
			s.add(chart)
		default:
			s.add(chart)
			s.list(comma + text)
		}
		s.add(pick("values", "", comma+`"values": {"a": ["]}"]}`) + "}}")
	}
	other := func() string {
		return pick("other", "kind: Service\nmetadata: {name: s}\n", "kind: ConfigMap\ndata:\n  a: \"\\u0041\"\n  b: |\n    # c\n", `{"kind": "Pod"}`+"\n", "- a\n", "# nothing\n", "a\n",
			"kind: Secret\ndata: &x {a: b}\ny: *x\n")
	}
	for i := range rapid.IntRange(0, 4).Draw(t, "documents") {
		if i > 0 {
			s.add(pick("separator", "---\n", "--- # next\n", "...\n---\n"))
		}
		switch pick("document", "block", "block", "flow", "List", "flow List", "other") {
		case "block":
			block("")
		case "flow":
			flow()
			s.add("\n")
		case "List":
			s.add("apiVersion: v1\nkind: " + pick("kind", "List", "HelmReleaseList") + "\nitems:\n")
			for range rapid.IntRange(1, 3).Draw(t, "items") {
				if s.add("- "); rapid.IntRange(0, 3).Draw(t, "pod") == 0 {
					s.add("kind: Pod\n")
				} else {
					block("  ")
				}
			}
		case "flow List":
			s.add(`{"kind": "List", "items": [`)
			for range rapid.IntRange(1, 3).Draw(t, "items") {
				flow()
				s.add(", ")
			}
			s.add("{\"kind\": \"Pod\"}]}\n")
		default:
			s.add(other())
		}
	}
	s.add("")
	if rapid.Bool().Draw(t, "CRLF") {
		for _, texts := range [][]string{s.fixed, s.lists} {
			for i := range texts {
				texts[i] = strings.ReplaceAll(texts[i], "\n", "\r\n")
			}
		}
	}
	return s
}

// cutLists returns the lists of a text that has the fixed texts of the stream.
func (s *stream) cutLists(t *rapid.T, text string) (lists []string) {
	rest, ok := strings.CutPrefix(text, s.fixed[0])
	for _, f := range s.fixed[1:] {
		i := strings.Index(rest, f) // which has a name of its own, but for the last
		if f == s.fixed[len(s.fixed)-1] {
			i = len(rest) - len(f)
		}
		if !ok || i < 0 || rest[i:i+len(f)] != f {
			t.Fatalf("bytes outside of the lists changed\n%q\nwas\n%q", text, s.text())
		}
		lists = append(lists, rest[:i])
		rest = rest[i+len(f):]
	}
	if !ok || rest != "" {
		t.Fatalf("bytes outside of the lists changed\n%q\nwas\n%q", text, s.text())
	}
	return lists
}

// decodeList reads what stands in the place of a list.
func decodeList(t *rapid.T, text string) []helmv2.PostRenderer {
	var spec struct{ PostRenderers []helmv2.PostRenderer }
	decode := func(b []byte, v any) error { return yaml.Unmarshal(b, v) }
	if flow := strings.Trim(text, ", \r\n\t"); strings.HasPrefix(flow, `"`) {
		text, decode = "{"+flow+"}", json.Unmarshal
	}
	if err := decode([]byte(text), &spec); err != nil {
		t.Fatalf("%v\n%s", err, text)
	}
	return spec.PostRenderers
}

// decodeReleases reads the releases of a stream, by another decoder than Rewrite's.
func decodeReleases(t *rapid.T, text string) (list []helmv2.HelmRelease) {
	for _, doc := range strings.Split(strings.ReplaceAll("\n"+strings.ReplaceAll(text, "\r\n", "\n"), "\n...", "\n"), "\n---") {
		doc = strings.TrimPrefix(doc, " # next")
		object := []byte(doc)
		if !strings.HasPrefix(strings.TrimSpace(doc), "{") {
			var err error
			if object, err = yaml.YAMLToJSON([]byte(doc + "\n")); err != nil {
				t.Fatalf("%v\n%s", err, doc)
			}
		}
		var typed struct {
			Kind  string
			Items []json.RawMessage
		}
		if json.Unmarshal(object, &typed) != nil {
			continue
		}
		objects := typed.Items
		if typed.Kind == "HelmRelease" {
			objects = append(objects, object)
		}
		for _, o := range objects {
			var r helmv2.HelmRelease
			if err := json.Unmarshal(o, &r); err == nil && r.Kind == "HelmRelease" {
				list = append(list, r)
			}
		}
	}
	return list
}

// rewritten is Rewrite of a text.
func rewritten(t *rapid.T, text string, table imageoverrides.Table) (string, Result) {
	var out bytes.Buffer
	result, err := Rewrite(&out, strings.NewReader(text), table)
	if err != nil {
		t.Fatalf("%v\n%s", err, text)
	}
	return out.String(), result
}

// startOf returns where a release starts that has that name.
func startOf(text, name string) (offset int64, line, column int) {
	at := strings.Index(text, name)
	at = strings.LastIndex(text[:at], "apiVersion")
	if text[at-min(at, 1)] == '"' {
		at = strings.LastIndexByte(text[:at], '{')
	}
	start := strings.LastIndexByte(text[:at], '\n') + 1
	return int64(at), 1 + strings.Count(text[:at], "\n"), 1 + utf8.RuneCountInString(strings.TrimPrefix(text[start:at], "\uFEFF"))
}

// Rewrite is Ensure in every notation: the releases are afterwards what Ensure makes of those before, every byte that is not of
// their lists stays, what is told is what happened, and a second time nothing does.
func TestRewriteLaws(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		table := genTable().Draw(t, "table")
		s := genStream(t, "name-", table)
		text := s.text()
		given := strings.Clone(text)
		after, result := rewritten(t, text, table)

		lists := s.cutLists(t, after)
		var want []Release
		before := decodeReleases(t, text)
		for i, name := range s.releases {
			var hr helmv2.HelmRelease
			hr.Spec.PostRenderers = decodeList(t, s.lists[i])
			r := Release{Object: result.Releases[i].Object, Document: result.Releases[i].Document, Path: result.Releases[i].Path, Outcome: Kept}
			if r.Object.Name != name || r.Object.Kind != "HelmRelease" {
				t.Fatalf("release %d is %s, want %s", i, r.Object, name)
			}
			r.Before, _ = Hash(hr.Spec.PostRenderers)
			older, had := Hash(hr.Spec.PostRenderers)
			if !Ensure(&hr, table) && lists[i] != s.lists[i] {
				t.Fatalf("a list in step became %q", lists[i])
			}
			if newer, has := Hash(hr.Spec.PostRenderers); lists[i] != s.lists[i] {
				switch {
				case !has:
					r.Outcome = Removed
				case !had:
					r.Outcome = Added
				case older == newer:
					r.Outcome = Repaired
				default:
					r.Outcome = Replaced
				}
			}
			r.After, _ = Hash(hr.Spec.PostRenderers)
			same(t, "the list of "+name, decodeList(t, lists[i]), hr.Spec.PostRenderers)
			r.Offset, r.Line, r.Column = startOf(text, name)
			want = append(want, r)
			Ensure(&before[i], table)
		}
		if diff := cmp.Diff(want, result.Releases); diff != "" {
			t.Fatalf("told: %s\n%s", diff, text)
		}
		if diff := cmp.Diff(before, decodeReleases(t, after)); diff != "" {
			t.Fatalf("releases: %s\n%s", diff, after)
		}

		if strings.Contains(text, "\r\n") && strings.Count(after, "\n") != strings.Count(after, "\r\n") {
			t.Fatalf("line breaks of another sort\n%q", after)
		}

		again, second := rewritten(t, after, table)
		if again != after || second.Changed != 0 || second.Kept != len(s.releases) {
			t.Fatalf("the second time: %+v\n%s\nwas\n%s", second, again, after)
		}
		if text != given {
			t.Fatal("the text that was given is another")
		}
	})
}

// A list that a table made, where there was none, goes with it to the byte.
func TestRewriteUndo(t *testing.T) {
	none, err := imageoverrides.New()
	if err != nil {
		t.Fatal(err)
	}
	rapid.Check(t, func(t *rapid.T) {
		table := genTable().Draw(t, "table")
		s := genStream(t, "name-", none)
		for _, list := range s.lists {
			if list != "" {
				t.Skip("a list")
			}
		}
		after, _ := rewritten(t, s.text(), table)
		if back, _ := rewritten(t, after, none); back != s.text() {
			t.Fatalf("put in and taken out: %q\nwant %q", back, s.text())
		}
	})
}

// The unknown table copies the bytes, whatever they are, and nothing is told.
func TestRewriteUnknown(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		text := genStream(t, "name-", imageoverrides.Table{}).text() + rapid.SampledFrom([]string{"", "]", "\xff", "\n---\na: [", "{{ x }}"}).Draw(t, "behind")
		after, result := rewritten(t, text, imageoverrides.Table{})
		if after != text {
			t.Fatalf("%q\nwant %q", after, text)
		}
		if diff := cmp.Diff(Result{Documents: result.Documents, Bytes: int64(len(text))}, result); diff != "" {
			t.Fatal(diff)
		}
	})
}

// However the bytes come and go, and one release told after the other, it is the same.
func TestRewriteStreams(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		table := genTable().Draw(t, "table")
		text := genStream(t, "name-", table).text()
		want, all := rewritten(t, text, table)
		for name, src := range map[string]io.Reader{
			"byte by byte": iotest.OneByteReader(strings.NewReader(text)), "halves": iotest.HalfReader(strings.NewReader(text)), "with the end": iotest.DataErrReader(strings.NewReader(text)),
		} {
			var told []Release
			var out bytes.Buffer
			result, err := Rewriter{Found: func(r []Release) error { told = append(told, r...); return nil }}.Rewrite(&out, src, table)
			if err != nil || out.String() != want {
				t.Fatalf("%s: %v\n%q\nwant\n%q", name, err, &out, want)
			}
			result.Releases = told
			if diff := cmp.Diff(all, result); diff != "" {
				t.Fatalf("%s: %s", name, diff)
			}
		}
	})
}

// Streams that are joined give what their parts give, joined.
func TestRewriteJoined(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		table := genTable().Draw(t, "table")
		a, b := genStream(t, "a-", table).text(), genStream(t, "b-", table).text()
		afterA, resultA := rewritten(t, a, table)
		afterB, resultB := rewritten(t, b, table)
		const between = "---\n"
		after, result := rewritten(t, a+between+b, table)
		if want := afterA + between + afterB; after != want {
			t.Fatalf("%q\nwant\n%q", after, want)
		}
		lines := strings.Count(a+between, "\n")
		for _, r := range resultB.Releases {
			r.Document += resultA.Documents
			r.Offset += int64(len(a + between))
			r.Line += lines
			resultA.Releases = append(resultA.Releases, r)
		}
		if diff := cmp.Diff(resultA.Releases, result.Releases); diff != "" {
			t.Fatal(diff)
		}
	})
}
