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
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	helmv2 "github.com/fluxcd/helm-controller/api/v2"
	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
	"sigs.k8s.io/yaml"

	"github.com/cozystack/image-overrides/imageoverrides"
	"github.com/cozystack/image-overrides/postrender"
	"github.com/cozystack/image-overrides/reference"
)

const (
	// draws is how many times a law is tried, unless the flag -rapid.checks says another number.
	draws = 1000
	// plenty is how many draws reach every rule, however rare.
	plenty = 20_000
)

// someDraws sets what rapid calls checks.
func someDraws() {
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
	dir                                           string
	table, strict, renderers, twice, page, faults trial
	hits                                          map[string]int // how often a rule was the first to be broken
}

func newSuite(t testing.TB, library fs.FS) *suite {
	return &suite{
		dir:       t.TempDir(),
		table:     try(t, library, `{{ include "image-overrides.table" . }}`),
		strict:    try(t, library, `{{ include "image-overrides.strict" . }}`),
		renderers: try(t, library, `{{ include "image-overrides.postRenderers" . }}`),
		twice: try(t, library, lines(
			`{{- $once := include "image-overrides.postRenderers" (list . .Values.own) }}`,
			`{{- $root := dict "Values" .Values.next "Release" .Release }}`,
			`{{- $once }}`+"\x00"+`{{ include "image-overrides.postRenderers" (list $root (fromYamlArray $once)) -}}`+"\x00",
			`{{- "x" }}{{ include "image-overrides.hash" . }}{{ "x" -}}`,
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
		faults: try(t, library, lines(
			`{{- $names := list }}{{ $hosts := list }}{{ $tags := list }}`,
			`{{- range .Values.names }}`,
			`{{- $fault := include "image-overrides.nameFault" . }}`,
			`{{- $host := include "image-overrides.host" . }}`,
			`{{- $names = append $names $fault }}`,
			`{{- if or $fault (not $host) }}{{ $hosts = append $hosts "" }}{{ else }}{{ $hosts = append $hosts (include "image-overrides.registryFault" $host) }}{{ end }}`,
			`{{- end }}`,
			`{{- range .Values.tags }}{{ $tags = append $tags (include "image-overrides.tagFault" .) }}{{ end }}`,
			`{{- dict "names" $names "hosts" $hosts "tags" $tags | toJson }}`,
		)),
		hits: make(map[string]int),
	}
}

// A law is tried with one draw.
type law func(t *rapid.T, s *suite)

// hold tries a law, and sees, where there are plenty of draws, that each of the rules was the first to be
// broken in one of every 1000 at least. That the table is too large takes long to find out, and is drawn
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
	if checks() < plenty {
		return
	}
	for _, rule := range rules {
		floor := checks() / 1000
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

// agree fails unless the outcome is that of the library: refused with the first fault, whose values
// the library shortens if they have more than 1,024 bytes, or accepted with the same list.
func agree(t rapid.TB, h helm, got outcome, entries func(t rapid.TB, text string) any, table imageoverrides.Table, err error) {
	t.Helper()
	switch {
	case got.err != nil:
		t.Fatalf("%s stopped: %v\nimageoverrides: %v", h.name, got.err, err)
	case err != nil && shortened(got.message) != shortened(first(err)):
		t.Fatalf("%s:\n  %s%s\nimageoverrides:\n  %s", h.name, got.message, got.text, first(err))
	case err != nil:
	case got.message != "":
		t.Fatalf("%s:\n  %s\nimageoverrides accepts %s", h.name, got.message, encode(t, table))
	default:
		if diff := cmp.Diff(decoded(t, table), entries(t, got.text)); diff != "" {
			t.Fatalf("%s (-imageoverrides +Helm):\n%s\nthe text was:\n%s", h.name, diff, got.text)
		}
	}
}

// list decodes the text of a YAML list, as fromYamlArray does.
func list(t rapid.TB, text string) any {
	v := []any{}
	if err := yaml.Unmarshal([]byte(text), &v); err != nil {
		t.Fatalf("%v in:\n%s", err, text)
	}
	return v
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

// tableLaw: Helm, ParseValues and ParseValuesText agree on what is in registries.imageOverrides; but
// ParseValuesText refuses a text of which Helm reads only a part.
func tableLaw(t *rapid.T, s *suite) {
	g := generator{t}
	text := g.document("registries", "imageOverrides")
	t.Log(text)
	values, unread := s.values(t, g, text)
	table, err := imageoverrides.ParseValuesText([]byte(text))
	if (unread != nil) != isSyntax(err) && !isPart(err) {
		t.Fatalf("Helm: %v\nParseValuesText: %v", unread, err)
	}
	if unread != nil {
		t.Skip(unread)
	}
	if isPart(err) {
		s.hit(table, err)
		s.tableOf(t, values)
		return
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
// _cluster.image-overrides. There are three exceptions: ParseSecret refuses a text of which Helm reads only
// a part, and what Strict refuses; and where there is no _cluster, which is an empty
// table in a Secret, a chart cannot know whether it was given one.
func secretLaw(t *rapid.T, s *suite) {
	g := generator{t}
	text := g.document("_cluster", "image-overrides")
	t.Log(text)
	table, err := imageoverrides.ParseSecret(map[string][]byte{"values.yaml": []byte(text)})
	var values [len(helms)]map[string]any
	for i, h := range helms {
		var unread error
		if values[i], unread = h.read([]byte(text)); (unread != nil) != isSyntax(err) && !isPart(err) {
			t.Fatalf("%s: %v\nParseSecret: %v", h.name, unread, err)
		}
	}
	s.hit(table, err)
	if isSyntax(err) || isPart(err) {
		return
	}
	for i, got := range s.renderers.run(values) {
		if _, found := values[i]["_cluster"]; !found {
			s.hits["no _cluster"]++
			if err != nil || table.Len() > 0 || got.message != "image-overrides.postRenderers"+missing {
				t.Fatalf("%s: %v, %s\nParseSecret: %s, %v", helms[i].name, got.err, got.message, encode(t, table), err)
			}
			continue
		}
		want, cause := table, err
		if isStrict(err) {
			want, cause = imageoverrides.ParseValues(moved(values[i]))
			if cause != nil || movedFault(first(want.Strict())) != first(err) {
				t.Fatalf("ParseSecret: %s\nParseValues: %v\nStrict: %v", first(err), cause, want.Strict())
			}
		}
		agree(t, helms[i], got, rendered, want, cause)
	}
}

// missing is what the templates say, behind their names, in a context without _cluster.
const missing = ": .Values has no _cluster, so that nobody knows of a table; give the chart the values of the Secret cozystack-values (valuesFrom), " +
	"or pass a context that has them, for Helm hands _cluster down to no subchart; a chart that is rendered alone gets _cluster: {}"

// moved is the values of the chart that has written the Secret with these.
func moved(secret map[string]any) map[string]any {
	table := secret["_cluster"].(map[string]any)["image-overrides"]
	return map[string]any{"registries": map[string]any{"imageOverrides": table}}
}

// movedFault is a fault of those values as the Secret's.
func movedFault(text string) string {
	return "_cluster.image-overrides" + strings.TrimPrefix(text, "registries.imageOverrides")
}

// isSyntax reports whether an error is of text that is no YAML.
func isSyntax(err error) bool { return broken(err, imageoverrides.RuleSyntax) }

// isPart reports whether an error is of text that Helm reads, or a part of it.
func isPart(err error) bool {
	return broken(err, imageoverrides.RuleDocument, imageoverrides.RuleTwice, imageoverrides.RuleAliases, imageoverrides.RuleSecret)
}

// isStrict reports whether an error is one of Strict's.
func isStrict(err error) bool {
	return broken(err, imageoverrides.RuleSize, imageoverrides.RuleNoReference, imageoverrides.RuleIPv6, imageoverrides.RuleNewNameCarry,
		imageoverrides.RuleNewName, imageoverrides.RuleNewNameHost, imageoverrides.RuleNewTag)
}

// broken reports whether the first fault is of one of the rules.
func broken(err error, rules ...imageoverrides.Rule) bool {
	var e *imageoverrides.Error
	return errors.As(err, &e) && slices.Contains(rules, e.Rule)
}

// rendered is the table's entries out of the text of post-renderers.
func rendered(t rapid.TB, text string) any {
	var renderers []struct {
		Kustomize struct {
			Images []any `json:"images"`
		} `json:"kustomize"`
	}
	if err := yaml.Unmarshal([]byte(text), &renderers); err != nil {
		t.Fatalf("%v in:\n%s", err, text)
	}
	if len(renderers) == 0 {
		return []any{}
	}
	return renderers[len(renderers)-1].Kustomize.Images[1:]
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
		if bad := table.Strict(); bad != nil {
			s.hits["strict"]++
			want := "_cluster.image-overrides" + strings.TrimPrefix(first(bad), "overrides")
			if err == nil || first(err) != want {
				t.Fatalf("%s: read back with %v, want %s, from:\n%s", helms[i].name, err, want, got.text)
			}
		} else if err != nil || !back.Equal(table) {
			t.Fatalf("%s: read back as %s, %v from:\n%s", helms[i].name, encode(t, back), err, got.text)
		}
		read, err := helms[i].read(text)
		if err != nil {
			t.Fatalf("%s: %v in:\n%s", helms[i].name, err, text)
		}
		if diff := cmp.Diff(decoded(t, table), read["_cluster"].(map[string]any)["image-overrides"]); diff != "" {
			t.Fatalf("%s reads (-want +got):\n%s\nfrom:\n%s", helms[i].name, diff, text)
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
// what was merged before, with the same table or another. Merge's types hold none that are no maps and
// lists where Flux has these; for them there is the model. The hash is that of the merged list.
func mergeLaw(t *rapid.T, s *suite) {
	g := generator{t}
	table := must(imageoverrides.New(g.overrides(2)...))
	next := table
	if g.one(3) {
		next = must(imageoverrides.New(g.overrides(2)...))
	}
	typed := g.renderers(table)
	own := decodedList(t, typed)
	odd := false
	for i := range own {
		if g.one(6) {
			own[i], odd = g.shape(own[i]), true
		}
	}
	t.Logf("own %s\ntable %s\nnext %s", encode(t, own), encode(t, table), encode(t, next))
	s.hit(table, nil)
	once := model(t, own, table)
	want := [][]any{once, model(t, once, next)}
	hash := hashOf(table)
	if !odd {
		for _, hit := range kinds(typed, table) {
			s.hits[hit]++
		}
		merged := postrender.Merge(typed, table)
		got := [][]any{decodedList(t, merged), decodedList(t, postrender.Merge(merged, next))}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Fatalf("the model and Merge (-model +Merge):\n%s", diff)
		}
	} else {
		s.hits["own: odd"]++
	}
	values := map[string]any{
		"_cluster": map[string]any{"image-overrides": decoded(t, table)},
		"next":     map[string]any{"_cluster": map[string]any{"image-overrides": decoded(t, next)}},
		"own":      own,
	}
	for i, got := range s.twice.run(each(values)) {
		if got.err != nil || got.message != "" {
			t.Fatalf("%s: %v%s", helms[i].name, got.err, got.message)
		}
		texts := strings.Split(got.text, "\x00")
		if texts[2] != "x"+hash+"x" {
			t.Fatalf("%s: the hash is %q, want %q", helms[i].name, texts[2], hash)
		}
		for j, text := range texts[:2] {
			rendered := list(t, text)
			if diff := cmp.Diff(want[j], rendered); diff != "" {
				t.Fatalf("%s, time %d (-want +Helm):\n%s", helms[i].name, j+1, diff)
			}
			if (text == "") != (len(want[j]) == 0) {
				t.Fatalf("%s renders %q for %v", helms[i].name, text, want[j])
			}
		}
	}
}

// hashOf is what stands behind the marker in the table's post-renderer, and "" for an empty table.
func hashOf(table imageoverrides.Table) string {
	hash, _ := postrender.Hash(postrender.Merge(nil, table))
	return hash
}

// decodedList is post-renderers as JSON has them.
func decodedList(t rapid.TB, list []helmv2.PostRenderer) []any {
	if list == nil {
		return []any{}
	}
	return decoded(t, list).([]any)
}

// model is Merge for decoded post-renderers of any shape.
func model(t rapid.TB, own []any, table imageoverrides.Table) []any {
	merged := []any{}
	for i, r := range own {
		kustomize := asMap(asMap(r)["kustomize"])
		images, _ := kustomize["images"].([]any)
		switch {
		case len(images) > 0 && asMap(images[0])["name"] == postrender.Marker:
			// Its table is gone, and what else it has stays.
			rest := map[string]any{}
			for key, value := range kustomize {
				if key != "images" && !empty(value) {
					rest[key] = value
				}
			}
			if len(rest) > 0 {
				merged = append(merged, map[string]any{"kustomize": rest})
			}
		case i == len(own)-1 && table.Len() > 0 && empty(kustomize["patches"]) && cmp.Equal(filled(images), decoded(t, table)):
			// The table, as it was written before there was a marker.
		default:
			merged = append(merged, r)
		}
	}
	if table.Len() > 0 {
		merged = append(merged, decoded(t, postrender.Renderer(table)))
	}
	return merged
}

// asMap is a decoded map, and nil for what is none.
func asMap(v any) map[string]any {
	m, _ := v.(map[string]any)
	return m
}

// filled is images without their empty fields.
func filled(images []any) any {
	list := []any{}
	for _, v := range images {
		image := map[string]any{}
		for field, value := range asMap(v) {
			if !empty(value) {
				image[field] = value
			}
		}
		list = append(list, image)
	}
	return list
}

// empty reports whether a template's "if" skips a decoded value.
func empty(v any) bool {
	switch v := v.(type) {
	case []any:
		return len(v) == 0
	case map[string]any:
		return len(v) == 0
	}
	return v == nil || v == "" || v == false || v == 0.0
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

// strictLaw: image-overrides.strict refuses what Strict refuses, in the same words. Strict shortens values
// of more than 1,024 bytes, so of those only the reason is compared.
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
	values := values(t, must(imageoverrides.New(overrides...)))
	table := must(imageoverrides.ParseValues(values))
	t.Logf("%.2000s", encode(t, table))
	err := table.Strict()
	s.hit(table, err)
	for i, got := range s.strict.run(each(values)) {
		if got.err != nil {
			t.Fatalf("%s stopped: %v", helms[i].name, got.err)
		}
		if want := told(err); shortened(got.message) != shortened(want) || got.text != "" {
			t.Fatalf("%s:\n  %.1000s%s\nStrict:\n  %.1000s", helms[i].name, got.message, got.text, want)
		}
	}
}

// told is the first error's text, and "" for none.
func told(err error) string {
	if err == nil {
		return ""
	}
	return first(err)
}

// shortened replaces the quoted values of some hundred characters and more, and how long they are.
func shortened(text string) string {
	if len(text) < 1000 {
		return text
	}
	return long.ReplaceAllString(text, "LONG")
}

var long = regexp.MustCompile(`"(?:[^"\\]|\\.){250}(?:[^"\\]|\\.)*"(?: \([0-9]+ bytes\))?`)

// faultLaw: the templates say of names, of hosts of sound names and of tags what package reference says.
func faultLaw(t *rapid.T, s *suite) {
	g := generator{t}
	type faults struct {
		Names, Hosts, Tags []string
	}
	var want faults
	names, tags := []any{}, []any{}
	for range 8 {
		name := g.nearName()
		if g.one(4) {
			name = g.name()
		}
		if strings.Contains(name, "@") || len(name) > 1000 {
			name = ""
		}
		names = append(names, name)
		var e *reference.Error
		fault, host := "", ""
		if errors.As(reference.CheckName(name), &e) {
			fault = fmt.Sprintf("%s %q %s", e.Part, e.Value, e.Reason)
		} else if image := must(reference.Parse(name)); image.Host() != "" && errors.As(reference.ValidateHost(image.Host()), &e) {
			host = e.Reason
		}
		want.Names, want.Hosts = append(want.Names, fault), append(want.Hosts, host)
		s.hits["name: "+kind(fault)]++
		s.hits["host: "+kind(host)]++
	}
	for range 2 {
		tag := g.tag()
		tags = append(tags, tag)
		var e *reference.Error
		fault := ""
		if errors.As(reference.CheckTag(tag), &e) {
			fault = e.Reason
		}
		want.Tags = append(want.Tags, fault)
		s.hits["tag: "+kind(fault)]++
	}
	t.Logf("%q %q", names, tags)
	for i, got := range s.faults.run(each(map[string]any{"names": names, "tags": tags})) {
		if got.err != nil || got.message != "" {
			t.Fatalf("%s: %v%s", helms[i].name, got.err, got.message)
		}
		var have faults
		if err := json.Unmarshal([]byte(got.text), &have); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(want, have); diff != "" {
			t.Fatalf("%s (-reference +templates):\n%s", helms[i].name, diff)
		}
	}
}

// kind is a fault's text without what it quotes and counts.
func kind(fault string) string {
	fault = quotations.ReplaceAllString(fault, `"…"`)
	fault = runes.ReplaceAllString(fault, "'…'")
	return counts.ReplaceAllString(fault, "N")
}

var (
	quotations = regexp.MustCompile(`"(?:[^"\\]|\\.)*"`)
	runes      = regexp.MustCompile(`'(?:\\.[^']*|[^\\])'`)
	counts     = regexp.MustCompile(`\b[0-9]+\b`)
)

// The laws that take longest come first, since they run side by side.

func TestMerge(t *testing.T) {
	hold(t, mergeLaw, "empty", "accepted", "own: nothing", "own: marked", "own: marked, with patches", "own: images",
		"own: the table without a mark, last", "own: the table without a mark, not last", "own: the table without a mark, with patches", "own: odd")
}

func TestTable(t *testing.T) {
	hold(t, tableLaw, "values", "list", "entry", "unknown-field", "string", "name-required", "bare-name", "nothing-set", "digest", "duplicate",
		"string float64", "string bool", "string invalid", "string slice", "string map", "list string", "list map", "list bool", "list float64", "empty", "accepted",
		"document", "twice")
}

func TestStrict(t *testing.T) {
	hold(t, strictLaw, "size", "no-reference", "ipv6", "new-name-bare", "new-name", "new-name-host", "new-tag", "empty", "accepted")
}

func TestSecret(t *testing.T) {
	hold(t, secretLaw, "values", "list", "entry", "unknown-field", "string", "name-required", "bare-name", "nothing-set", "digest", "duplicate", "empty", "accepted",
		"document", "twice", "secret", "no-reference", "new-name", "new-tag", "no _cluster")
}

func TestPage(t *testing.T) {
	hold(t, pageLaw, "empty", "accepted", "escaped", "strict")
}

func TestFaults(t *testing.T) {
	hold(t, faultLaw,
		`name: `,
		`name: name "…" is empty`,
		`name: name "…" has the scheme "…" in front`,
		`name: name "…" is N hex digits, which is an image ID and no name`,
		`name: name "…" has the tag "…"`,
		`name: host "…" has a space`,
		`name: host "…" has the character '…'`,
		`name: host "…" has more than one '…' (an IPv6 address stands in brackets)`,
		`name: host "…" has nothing in front of its port`,
		`name: host "…" begins with '…'`,
		`name: host "…" ends with '…'`,
		`name: host "…" has "…"`,
		`name: host "…" has "…", which begins with '…'`,
		`name: host "…" has "…", which ends with '…'`,
		`name: host "…" has an empty port`,
		`name: host "…" has the port "…", which is not a number`,
		`name: host "…" has a '…' and no '…' at the end or in front of a port`,
		`name: host "…" has empty brackets`,
		`name: host "…" has a space in its brackets`,
		`name: host "…" has the upper case letter '…' in its brackets`,
		`name: host "…" has the character '…' in its brackets`,
		`name: repository "…" has a space`,
		`name: repository "…" has the upper case letter '…'`,
		`name: repository "…" has the character '…'`,
		`name: repository "…" is empty`,
		`name: repository "…" begins with '…'`,
		`name: repository "…" ends with '…'`,
		`name: repository "…" has "…"`,
		`name: repository "…" has "…", which begins with '…'`,
		`name: repository "…" has "…", which ends with '…'`,
		`name: repository "…" has "…", where one '…', one or two '…' or any number of '…' may stand`,
		`name: repository "…" has N characters, N are allowed`,
		`name: repository "…" has N characters with "…" in front, N are allowed`,
		`name: tag "…" is empty`,
		`name: tag "…" has the character '…'`,
		`host: `,
		`host: has the character '…'`,
		`host: has the port N, which is not N to N`,
		`host: has no IPv6 address in its brackets`,
		`tag: `,
		`tag: has a space`,
		`tag: has the character '…'`,
		`tag: is empty`,
		`tag: begins with '…'`,
		`tag: has N characters, N are allowed`,
	)
}

func TestSet(t *testing.T) {
	hold(t, setLaw, "values", "list", "entry", "unknown-field", "string", "name-required", "bare-name", "nothing-set", "digest", "duplicate",
		"string int64", "string float64", "accepted")
}
