// SPDX-License-Identifier: Apache-2.0

package conformance

import (
	"bytes"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	helmv2 "github.com/fluxcd/helm-controller/api/v2"
	"pgregory.net/rapid"
	"sigs.k8s.io/yaml"

	"github.com/cozystack/image-overrides/imageoverrides"
	"github.com/cozystack/image-overrides/postrender"
)

// draws is how many times a law is tried, unless the flag -rapid.checks says more.
const draws = 20_000

// manyDraws sets what rapid calls checks.
func manyDraws() {
	flag.Parse()
	given := false
	flag.Visit(func(f *flag.Flag) { given = given || f.Name == "rapid.checks" })
	if !given {
		must(0, flag.Set("rapid.checks", strconv.Itoa(draws)))
	}
}

func checks() int {
	n := must(strconv.Atoi(flag.Lookup("rapid.checks").Value.String()))
	if testing.Short() {
		n /= 5 // as rapid does
	}
	return n
}

// A suite is the library chart in the templates that the laws look at.
type suite struct {
	dir                                   string
	table, strict, renderers, twice, page trial
	hits                                  map[string]int // how often a rule was the first to be broken
}

func newSuite(t testing.TB, library fs.FS) *suite {
	return &suite{
		dir:       t.TempDir(),
		table:     try(t, library, `{{ include "image-overrides.table" . }}`),
		strict:    try(t, library, `{{ include "image-overrides.strict" . }}`),
		renderers: try(t, library, `{{ include "image-overrides.postRenderers" . }}`),
		twice: try(t, library, lines(
			`{{- $once := include "image-overrides.postRenderers" (list . .Values.own) }}`,
			`{{- $root := dict "Values" .Values.next }}`,
			`{{- $once }}`+"\x00"+`{{ include "image-overrides.postRenderers" (list $root (fromYamlArray $once)) -}}`,
		)),
		page: try(t, library, lines(
			`apiVersion: v1`,
			`kind: Secret`,
			`metadata:`,
			`  name: cozystack-values`,
			`stringData:`,
			`  values.yaml: |`,
			`    _cluster:`,
			`      image-overrides:`,
			`        {{- include "image-overrides.table" . | nindent 8 }}`,
			`      other: 1`,
		)),
		hits: make(map[string]int),
	}
}

// A law is tried with one draw.
type law func(t *rapid.T, s *suite)

// hold tries a law, and sees that each of the rules was the first to be broken in one of
// every 1000 draws at least. That the table is too large takes long to find out, and is drawn
// less often.
func hold(t *testing.T, l law, rules ...string) {
	t.Parallel()
	s := newSuite(t, library)
	n := 0
	rapid.Check(t, func(t *rapid.T) {
		l(t, s)
		n++
	})
	t.Logf("%d draws", n)
	for _, rule := range slices.Sorted(maps.Keys(s.hits)) {
		t.Logf("%8d %s", s.hits[rule], rule)
	}
	if n < checks() {
		t.Errorf("%d draws of %d; give more time with -timeout", n, checks())
	}
	for _, rule := range rules {
		floor := checks() / 1000
		if checks() < draws {
			floor = 0 // chance has too much say
		}
		if rule == "size" {
			floor /= 10
		}
		if got := s.hits[rule]; got < floor {
			t.Errorf("%q was reached %d times in %d draws", rule, got, n)
		}
	}
}

// hit counts what became of a table: the rule of the first error, or that it was accepted.
func (s *suite) hit(table imageoverrides.Table, err error) {
	var e *imageoverrides.Error
	switch {
	case errors.As(err, &e):
		s.hits[string(e.Rule)]++
		if _, kind, found := strings.Cut(e.Error(), ", got "); found {
			kind, _, _ = strings.Cut(kind, ";")
			s.hits[string(e.Rule)+" "+kind]++
		}
	case table.Len() == 0:
		s.hits["empty"]++
	default:
		s.hits["accepted"]++
	}
}

// agree fails unless the outcome is that of the library: refused with the first fault, or
// accepted with the same list.
func agree(t rapid.TB, h helm, got outcome, entries func(t rapid.TB, text string) string, table imageoverrides.Table, err error) {
	t.Helper()
	switch {
	case got.err != nil:
		t.Fatalf("%s stopped: %v\nimageoverrides: %v", h.name, got.err, err)
	case err != nil && got.message != first(err):
		t.Fatalf("%s:\n  %s%s\nimageoverrides:\n  %s", h.name, got.message, got.text, first(err))
	case err != nil:
	case got.message != "":
		t.Fatalf("%s:\n  %s\nimageoverrides accepts %s", h.name, got.message, encode(t, table))
	case entries(t, got.text) != encode(t, table):
		t.Fatalf("%s:\n  %s\nimageoverrides:\n  %s\nthe text was:\n%s", h.name, entries(t, got.text), encode(t, table), got.text)
	}
}

// list is the text of a YAML list as fromYamlArray and toJson make it.
func list(t rapid.TB, text string) string {
	v := []any{}
	if err := yaml.Unmarshal([]byte(text), &v); err != nil {
		t.Fatalf("%v in:\n%s", err, text)
	}
	return encode(t, v)
}

func encode(t rapid.TB, v any) string {
	text, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// values decodes the text of values as each Helm would get them: out of a file that is
// given with -f, or out of the JSON in which the API server keeps a HelmRelease's values. The
// error is of a text that cannot be read.
func (s *suite) values(t *rapid.T, g generator, text string) (list [len(helms)]map[string]any, err error) {
	if g.one(2) {
		raw, err := yaml.YAMLToJSON([]byte(text))
		if err != nil {
			return list, err
		}
		for i := range helms {
			if err := json.Unmarshal(raw, &list[i]); err != nil {
				return list, err
			}
		}
		return list, nil
	}
	name := filepath.Join(s.dir, "values.yaml")
	if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	var errs [len(helms)]error
	for i, h := range helms {
		list[i], errs[i] = h.values(options{files: []string{name}})
	}
	if (errs[0] == nil) != (errs[1] == nil) {
		t.Fatalf("%s: %v\n%s: %v", helms[0].name, errs[0], helms[1].name, errs[1])
	}
	return list, errs[0]
}

// tableLaw: Helm, ParseValues and ParseValuesText agree on what is in registries.imageOverrides.
func tableLaw(t *rapid.T, s *suite) {
	g := generator{t}
	text := g.document("registries", "imageOverrides")
	t.Log(text)
	values, unread := s.values(t, g, text)
	table, err := imageoverrides.ParseValuesText([]byte(text))
	if (unread != nil) != isSyntax(err) {
		t.Fatalf("Helm: %v\nParseValuesText: %v", unread, err)
	}
	if unread != nil {
		t.Skip(unread)
	}
	parsed, cause := imageoverrides.ParseValues(values[0])
	if encode(t, table) != encode(t, parsed) || fmt.Sprint(err) != fmt.Sprint(cause) {
		t.Fatalf("ParseValuesText: %s, %v\nParseValues: %s, %v", encode(t, table), err, encode(t, parsed), cause)
	}
	s.tableOf(t, values)
}

func (s *suite) tableOf(t *rapid.T, values [len(helms)]map[string]any) {
	for i, got := range s.table.run(values) {
		table, err := imageoverrides.ParseValues(values[i])
		agree(t, helms[i], got, list, table, err)
		if i == 0 {
			s.hit(table, err)
		}
	}
}

// setLaw: they agree on values that come by --set, --set-string and --set-json as well.
func setLaw(t *rapid.T, s *suite) {
	g := generator{t}
	var o options
	for range g.number(1, 5) {
		at := fmt.Sprintf("registries.imageOverrides[%d]", g.number(0, 2))
		field := at + "." + g.pick("name", "name", "newName", "newTag", "digest", "x")
		value := strings.NewReplacer(`\`, `\\`, `,`, `\,`, `{`, `\{`, `}`, `\}`).Replace(g.pick(g.name(), g.tag(), digest))
		switch g.number(0, 9) {
		case 0:
			o.set = append(o.set, g.pick("registries=", "registries.imageOverrides=", at+"=")+g.pick("null", "0", "5", "true", "x", "", "{}", "{a,b}", "{}"))
		case 1:
			o.setJSON = append(o.setJSON, field+"="+g.pick("5", "1e3", "0", "true", "null", `"x"`, "[1]", `{"a": 1}`))
		case 2, 3:
			o.set = append(o.set, field+"="+g.pick("5", "0", "010", "1.5", "1e3", "true", "null", "-7", "{}", "{a}", "9223372036854775808", "no", ""))
		case 4, 5:
			o.setString = append(o.setString, field+"="+g.pick("5", "true", "null", value))
		default:
			o.set = append(o.set, at+".name="+g.pick("a", "b", "c/d", value), at+".newTag="+g.pick("v1", "x", value))
		}
	}
	t.Logf("%q", o)
	var values [len(helms)]map[string]any
	for i, h := range helms {
		var err error
		if values[i], err = h.values(o); err != nil {
			t.Skip(err)
		}
	}
	s.tableOf(t, values)
}

// secretLaw: a chart that gets the Secret's values and ParseSecret agree on what is in
// _cluster.image-overrides.
func secretLaw(t *rapid.T, s *suite) {
	g := generator{t}
	text := g.document("_cluster", "image-overrides")
	t.Log(text)
	table, err := imageoverrides.ParseSecret(map[string][]byte{"values.yaml": []byte(text)})
	var values [len(helms)]map[string]any
	for i, h := range helms {
		var unread error
		if values[i], unread = h.read([]byte(text)); (unread != nil) != isSyntax(err) {
			t.Fatalf("%s: %v\nParseSecret: %v", h.name, unread, err)
		}
	}
	if isSyntax(err) {
		t.Skip(err)
	}
	s.hit(table, err)
	for i, got := range s.renderers.run(values) {
		agree(t, helms[i], got, rendered, table, err)
	}
}

// isSyntax reports whether an error is of text that is no YAML.
func isSyntax(err error) bool {
	var e *imageoverrides.Error
	return errors.As(err, &e) && e.Rule == imageoverrides.RuleSyntax
}

// rendered is the table's entries out of the text of post-renderers.
func rendered(t rapid.TB, text string) string {
	var renderers []struct {
		Kustomize struct {
			Images []map[string]any `json:"images"`
		} `json:"kustomize"`
	}
	if err := yaml.Unmarshal([]byte(text), &renderers); err != nil {
		t.Fatalf("%v in:\n%s", err, text)
	}
	if len(renderers) == 0 {
		return "[]"
	}
	return encode(t, renderers[len(renderers)-1].Kustomize.Images[1:])
}

// pageLaw: what the chart writes into the Secret is read back as the same table, by
// ParseSecret and by Flux with its Helm.
func pageLaw(t *rapid.T, s *suite) {
	g := generator{t}
	table := must(imageoverrides.New(g.overrides(4)...))
	t.Log(encode(t, table))
	for i, got := range s.page.run(each(values(t, table))) {
		if got.err != nil || got.message != "" {
			t.Fatalf("%s: %v%s", helms[i].name, got.err, got.message)
		}
		var secret struct {
			StringData map[string]string `json:"stringData"`
		}
		if err := yaml.Unmarshal([]byte(got.text), &secret); err != nil {
			t.Fatalf("%s: %v in:\n%s", helms[i].name, err, got.text)
		}
		text := []byte(secret.StringData["values.yaml"])
		back, err := imageoverrides.ParseSecret(map[string][]byte{"values.yaml": text})
		if err != nil {
			t.Fatalf("%s: %v in:\n%s", helms[i].name, err, got.text)
		}
		if encode(t, back) != encode(t, table) {
			t.Fatalf("%s: read back as %s from:\n%s", helms[i].name, encode(t, back), got.text)
		}
		read, err := helms[i].read(text)
		if err != nil {
			t.Fatalf("%s: %v in:\n%s", helms[i].name, err, text)
		}
		if flux := encode(t, read["_cluster"].(map[string]any)["image-overrides"]); flux != encode(t, table) {
			t.Fatalf("%s reads %s from:\n%s", helms[i].name, flux, text)
		}
	}
	s.hit(table, nil)
	if bytes.ContainsAny([]byte(encode(t, table)), `\`) {
		s.hits["escaped"]++
	}
}

// values are chart values with the table in them.
func values(t rapid.TB, table imageoverrides.Table) map[string]any {
	return map[string]any{"registries": map[string]any{"imageOverrides": decoded(t, table)}}
}

// decoded is a value as JSON has it.
func decoded(t rapid.TB, v any) (d any) {
	if err := json.Unmarshal([]byte(encode(t, v)), &d); err != nil {
		t.Fatal(err)
	}
	return d
}

// mergeLaw: the post-renderers that Helm renders are Merge's: over any own list, and over
// what was merged before, with the same table or another.
func mergeLaw(t *rapid.T, s *suite) {
	g := generator{t}
	table := must(imageoverrides.New(g.overrides(2)...))
	next := table
	if g.one(3) {
		next = must(imageoverrides.New(g.overrides(2)...))
	}
	own := g.renderers(table)
	t.Logf("own %s\ntable %s\nnext %s", encode(t, own), encode(t, table), encode(t, next))
	for _, hit := range kinds(own, table) {
		s.hits[hit]++
	}
	s.hit(table, nil)
	values := map[string]any{
		"_cluster": map[string]any{"image-overrides": decoded(t, table)},
		"next":     map[string]any{"_cluster": map[string]any{"image-overrides": decoded(t, next)}},
		"own":      decoded(t, own),
	}
	once := postrender.Merge(own, table)
	want := []any{once, postrender.Merge(once, next)}
	for i, got := range s.twice.run(each(values)) {
		if got.err != nil || got.message != "" {
			t.Fatalf("%s: %v%s", helms[i].name, got.err, got.message)
		}
		for j, text := range strings.Split(got.text, "\x00") {
			var rendered any
			if err := yaml.Unmarshal([]byte(text), &rendered); err != nil {
				t.Fatalf("%s: %v in:\n%s", helms[i].name, err, text)
			}
			// Through any and back, Merge's fields are in the order of Helm's.
			if got, want := encode(t, rendered), encode(t, decoded(t, want[j])); got != want {
				t.Fatalf("%s, time %d:\n  %s\nMerge:\n  %s", helms[i].name, j+1, got, want)
			}
			if (text == "") != (rendered == nil) {
				t.Fatalf("%s renders %q for nothing", helms[i].name, text)
			}
		}
	}
}

// kinds names what there is among own post-renderers, for the count of hits.
func kinds(own []helmv2.PostRenderer, table imageoverrides.Table) (list []string) {
	for i, r := range own {
		switch {
		case r.Kustomize == nil:
			list = append(list, "own: nothing")
		case len(r.Kustomize.Images) > 0 && r.Kustomize.Images[0].Name == postrender.Marker && len(r.Kustomize.Patches) > 0:
			list = append(list, "own: marked, with patches")
		case len(r.Kustomize.Images) > 0 && r.Kustomize.Images[0].Name == postrender.Marker:
			list = append(list, "own: marked")
		case table.Len() > 0 && slices.Equal(r.Kustomize.Images, images(table)) && len(r.Kustomize.Patches) > 0:
			list = append(list, "own: the table without a mark, with patches")
		case table.Len() > 0 && slices.Equal(r.Kustomize.Images, images(table)) && i == len(own)-1:
			list = append(list, "own: the table without a mark, last")
		case table.Len() > 0 && slices.Equal(r.Kustomize.Images, images(table)):
			list = append(list, "own: the table without a mark, not last")
		case len(r.Kustomize.Images) > 0:
			list = append(list, "own: images")
		}
	}
	return list
}

// strictLaw: image-overrides.strict refuses what Strict refuses, with the same words behind
// the path.
func strictLaw(t *rapid.T, s *suite) {
	g := generator{t}
	overrides := g.overrides(2)
	if !g.one(3) {
		overrides = []imageoverrides.Override{g.suspect()}
	}
	if len(overrides) > 0 && g.one(500) { // about as much as a Secret can hold
		size := 1<<20 + g.number(-10, 30)
		overrides[0].NewTag = "b"
		overrides[0].NewTag += strings.Repeat("b", size-len(encode(t, must(imageoverrides.New(overrides...)))))
	}
	table, err := imageoverrides.New(overrides...)
	if err != nil {
		t.Fatal(err)
	}
	t.Logf("%.2000s", encode(t, table))
	err = table.Strict()
	want := ""
	if err != nil {
		want = "registries.imageOverrides" + strings.TrimPrefix(first(err), "overrides")
	}
	s.hit(table, err)
	for i, got := range s.strict.run(each(values(t, table))) {
		if got.err != nil {
			t.Fatalf("%s stopped: %v", helms[i].name, got.err)
		}
		if got.message != want || got.text != "" {
			t.Fatalf("%s:\n  %.1000s%s\nStrict:\n  %.1000s", helms[i].name, got.message, got.text, want)
		}
	}
}

// The laws that take longest come first, since they run side by side.

func TestMerge(t *testing.T) {
	hold(t, mergeLaw, "empty", "accepted", "own: nothing", "own: marked", "own: marked, with patches", "own: images",
		"own: the table without a mark, last", "own: the table without a mark, not last", "own: the table without a mark, with patches")
}

func TestTable(t *testing.T) {
	hold(t, tableLaw, "values", "list", "entry", "unknown-field", "string", "name-required", "bare-name", "nothing-set", "digest", "duplicate",
		"string float64", "string bool", "string invalid", "string slice", "string map", "list string", "list map", "list bool", "list float64", "empty", "accepted")
}

func TestStrict(t *testing.T) {
	hold(t, strictLaw, "size", "no-reference", "ipv6", "new-name-bare", "new-name", "new-tag", "empty", "accepted")
}

func TestSecret(t *testing.T) {
	hold(t, secretLaw, "values", "list", "entry", "unknown-field", "string", "name-required", "bare-name", "nothing-set", "digest", "duplicate", "empty", "accepted")
}

func TestPage(t *testing.T) {
	hold(t, pageLaw, "empty", "accepted", "escaped")
}

func TestSet(t *testing.T) {
	hold(t, setLaw, "values", "list", "entry", "unknown-field", "string", "name-required", "bare-name", "nothing-set", "digest", "duplicate",
		"string int64", "string float64", "accepted")
}
