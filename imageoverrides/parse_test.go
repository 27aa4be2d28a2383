// SPDX-License-Identifier: Apache-2.0

package imageoverrides

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"
	yamljson "sigs.k8s.io/yaml"

	"github.com/cozystack/image-overrides/internal/manifest/document"
)

// told writes a fault with all that it has.
func told(e *Error) string {
	return fmt.Sprintf("%d:%d %s %s %d %q: %s", e.Line, e.Column, e.Rule, e.Path, e.Entry, e.Field, e)
}

// badTables are texts that Parse refuses, with every fault that it tells.
var badTables = []struct {
	why, text string
	want      []string
}{
	{"a string", "x", []string{`1:1 list overrides -1 "": overrides must be a list, got string`}},
	{"a map", "\n\na: b\n", []string{`3:1 list overrides -1 "": overrides must be a list, got map`}},
	{"a number", "5", []string{`1:1 list overrides -1 "": overrides must be a list, got float64`}},
	{"an entry that is none", "- name: a\n  newTag: b\n- x\n", []string{`3:3 entry overrides 1 "": overrides[1] must be a map`}},
	{"a tag that YAML reads as a number", "- name: a\n  newTag: 1.20\n", []string{
		`2:11 string overrides 0 "newTag": overrides[0].newTag must be a string, got float64; quote it`}},
	{"a tag that YAML reads as a boolean", "- {name: a, newTag: yes}", []string{
		`1:21 string overrides 0 "newTag": overrides[0].newTag must be a string, got bool; quote it`}},
	{"an unknown field, at its key", "- name: a\n  newImage: b\n", []string{
		`2:3 unknown-field overrides 0 "newImage": overrides[0]: unknown field "newImage"`}},
	{"a duplicate", "- name: a\n  newTag: b\n- name: a\n  newTag: c\n", []string{
		`3:9 duplicate overrides 1 "name": overrides[1]: "a" is listed twice`}},
	{"a digest that is none", "- name: a\n  digest: sha256:abc\n", []string{
		`2:11 digest overrides 0 "digest": overrides[0]: digest "sha256:abc" is not sha256:<64 hex>`}},
	{"every fault, in order", "- newTag: b\n- {name: 'a:b', newTag: 5, zzz: 1, digest: x}\n- {}\n- name: c\n", []string{
		`1:3 name-required overrides 0 "name": overrides[0]: name is required`,
		`2:25 string overrides 1 "newTag": overrides[1].newTag must be a string, got float64; quote it`,
		`2:28 unknown-field overrides 1 "zzz": overrides[1]: unknown field "zzz"`,
		`2:10 bare-name overrides 1 "name": overrides[1]: name "a:b" must not carry a tag or digest`,
		`2:44 digest overrides 1 "digest": overrides[1]: digest "x" is not sha256:<64 hex>`,
		`3:3 name-required overrides 2 "name": overrides[2]: name is required`,
		`4:3 nothing-set overrides 3 "": overrides[3]: "c" sets none of newName, newTag, digest`}},
	{"JSON, an escape that YAML 1.1 lacks before it", "[{\"name\": \"a\\/b\", \"newTag\": 5}]", []string{
		`1:29 string overrides 0 "newTag": overrides[0].newTag must be a string, got float64; quote it`}},
	{"a character of several bytes before it", "- {name: é, newTag: 5}", []string{
		`1:21 string overrides 0 "newTag": overrides[0].newTag must be a string, got float64; quote it`}},
	{"an entry behind an alias", "- &a {name: a, newTag: 5}\n- *a\n", []string{
		`1:24 string overrides 0 "newTag": overrides[0].newTag must be a string, got float64; quote it`,
		`1:24 string overrides 1 "newTag": overrides[1].newTag must be a string, got float64; quote it`,
		`2:3 duplicate overrides 1 "name": overrides[1]: "a" is listed twice`}},
	{"no YAML", "- name: a\n  newTag: b: c\n", []string{
		`2:12 syntax  -1 "": line 2, column 12: mapping values are not allowed in this context`}},
	{"no YAML, a bracket left open", "- name: [a\n", []string{
		`1:10 syntax  -1 "": line 1, column 10: did not find expected ',' or ']'`}},
	{"no text", "- name: \"\xff\"\n", []string{`1:10 syntax  -1 "": line 1, column 10: byte 0xff is not UTF-8`}},
	{"a second document that is broken", "- name: a\n  newTag: b\n---\n[c\n", []string{
		`4:2 syntax  -1 "": line 4, column 2: did not find expected ',' or ']'`}},
	{"two documents, for old computers", "- name: a\r  newTag: b\r---\r- name: c\r  newTag: d\r", []string{
		`1:27 document  -1 "": line 1, column 27: a second document; the table must be in the only one`}},
	{"JSON with half a character", `[{"name":"a\ud800","newTag":"b"}]`, []string{
		`1:1 syntax  -1 "": line 1, column 1: found invalid Unicode character escape code`}},
	{"JSON that is no UTF-8", "[{\"name\":\"a\xff\",\"newTag\":\"b\"}]", []string{
		`1:12 syntax  -1 "": line 1, column 12: byte 0xff is not UTF-8`}},
	{"two documents", "- name: a\n  newTag: b\n---\n- name: c\n  newTag: d\n", []string{
		`4:1 document  -1 "": line 4, column 1: a second document; the table must be in the only one`}},
}

func TestParseFaults(t *testing.T) {
	for _, test := range badTables {
		t.Run(test.why, func(t *testing.T) {
			table, err := Parse([]byte(test.text))
			if table.Known() {
				t.Error("a known table")
			}
			var got []string
			for _, e := range Faults(err) {
				got = append(got, told(e))
			}
			if !slices.Equal(got, test.want) {
				t.Errorf("got\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(test.want, "\n"))
			}
		})
	}
}

// TestParseSecretFaults tells the same faults behind the Secret's path, and those of the Secret.
func TestParseSecretFaults(t *testing.T) {
	const head = "_cluster:\n  root-host: example.org\n  image-overrides:\n"
	for _, test := range []struct {
		why  string
		data map[string][]byte
		want string
	}{
		{"nil", nil, `0:0 secret  -1 "": the Secret has no key "values.yaml"`},
		{"another key", map[string][]byte{"values.yml": []byte("{}")}, `0:0 secret  -1 "": the Secret has no key "values.yaml"`},
		{"nothing", secret(""), `1:1 secret  -1 "": key "values.yaml" of the Secret holds no document; an empty table is written {}`},
		{"comments", secret("# values\n\n"), `1:1 secret  -1 "": key "values.yaml" of the Secret holds no document; an empty table is written {}`},
		{"values that are no map", secret("[a]"), `1:1 values values.yaml -1 "": values.yaml must be a map, got slice`},
		{"values that are text", secret("# values\nx"), `2:1 values values.yaml -1 "": values.yaml must be a map, got string`},
		{"values that are an empty list", secret("[]"), `1:1 values values.yaml -1 "": values.yaml must be a map, got slice`},
		{"values that are false", secret("false"), `1:1 values values.yaml -1 "": values.yaml must be a map, got bool`},
		{"_cluster is an empty list", secret("_cluster: []"), `1:11 values _cluster -1 "": _cluster must be a map, got slice`},
		{"_cluster is no map", secret("a: b\n_cluster: x\n"), `2:11 values _cluster -1 "": _cluster must be a map, got string`},
		{"no list", secret(head + "    a: b\n"), `4:5 list _cluster.image-overrides -1 "": _cluster.image-overrides must be a list, got map`},
		{"no name", secret(head + "  - newTag: b\n"), `4:5 name-required _cluster.image-overrides 0 "name": _cluster.image-overrides[0]: name is required`},
		{"a number", secret(head + "  - name: a\n    newTag: 0123\n"),
			`5:13 string _cluster.image-overrides 0 "newTag": _cluster.image-overrides[0].newTag must be a string, got float64; quote it`},
		{"no YAML", secret(head + "\t- a\n"), `4:1 syntax  -1 "": line 4, column 1: found character that cannot start any token`},
	} {
		table, err := ParseSecret(test.data)
		if table.Known() {
			t.Errorf("%s: a known table", test.why)
		}
		list := Faults(err)
		if len(list) != 1 || told(list[0]) != test.want {
			t.Errorf("%s: got %v\nwant %s", test.why, err, test.want)
			for _, e := range list {
				t.Log(told(e))
			}
		}
	}
}

func secret(values string) map[string][]byte { return map[string][]byte{"values.yaml": []byte(values)} }

func TestParseValuesTextFaults(t *testing.T) {
	for _, test := range []struct{ why, text, want string }{
		{"an empty list", "[]", `1:1 values values -1 "": values must be a map, got slice`},
		{"no map", "\n- a\n", `2:1 values values -1 "": values must be a map, got slice`},
		{"registries are no map", "registries: x\n", `1:13 values registries -1 "": registries must be a map, got string`},
		{"no list", "registries:\n  imageOverrides: 5\n", `2:19 list registries.imageOverrides -1 "": registries.imageOverrides must be a list, got float64`},
		{"no YAML", "a: b: c\n", `1:5 syntax  -1 "": line 1, column 5: mapping values are not allowed in this context`},
	} {
		table, err := ParseValuesText([]byte(test.text))
		if list := Faults(err); table.Known() || len(list) != 1 || told(list[0]) != test.want {
			t.Errorf("%s: %v, want %s", test.why, err, test.want)
		}
	}
	for _, text := range []string{"", "{}", "a: b", "registries:", "registries: {imageOverrides: []}"} {
		if table, err := ParseValuesText([]byte(text)); err != nil || !table.Known() || table.Len() != 0 {
			t.Errorf("%q: %v, known %v", text, err, table.Known())
		}
	}
}

// TestStates: what makes a table known and empty, and what keeps it unknown.
func TestStates(t *testing.T) {
	for _, text := range []string{"", " ", "\n", "# nothing\n", "[]", "{}", "null", "~", `""`, "0", "false", "---\n[]\n"} {
		if table, err := Parse([]byte(text)); err != nil || !table.Known() || table.Len() != 0 {
			t.Errorf("Parse(%q): %v, known %v", text, err, table.Known())
		}
		if table, err := ParseSecret(secret("_cluster:\n  image-overrides: " + strings.NewReplacer("\n", "", "#", "{} #", "---", "").Replace(text) + "\n")); err != nil || !table.Known() || table.Len() != 0 {
			t.Errorf("ParseSecret with %q: %v, known %v", text, err, table.Known())
		}
	}
	for _, values := range []string{"{}", "a: b", "_cluster:", "_cluster: {}", "_cluster: {a: b}", "null", "---\n"} {
		if table, err := ParseSecret(secret(values)); err != nil || !table.Known() || table.Len() != 0 {
			t.Errorf("ParseSecret with %q: %v, known %v", values, err, table.Known())
		}
	}
	for why, values := range map[string]map[string]any{
		"nil": nil, "other values": {"a": "b"}, "no registries": {"registries": nil}, "no table": {"registries": map[string]any{"mirrors": map[string]any{}}},
	} {
		if table, err := ParseValues(values); err != nil || !table.Known() || table.Len() != 0 {
			t.Errorf("ParseValues with %s: %v, known %v", why, err, table.Known())
		}
	}
	if table, err := ParseValues(map[string]any{"registries": "x"}); err == nil || err.Error() != "registries must be a map, got string" || table.Known() {
		t.Errorf("ParseValues with text for registries: %v", err)
	}
}

// TestValueTypes: values that other decoders than Helm's give.
func TestValueTypes(t *testing.T) {
	type text string
	type object map[string]any
	table := func(v any) map[string]any { return map[string]any{"registries": map[any]any{"imageOverrides": v}} }
	for _, test := range []struct {
		why   string
		table any
		want  string // the first fault, or "" for the one entry {a, newTag b}
	}{
		{"map[any]any", []any{map[any]any{"name": "a", "newTag": "b"}}, ""},
		{"a named map", []any{object{"name": "a", "newTag": "b"}}, ""},
		{"a list of maps", []map[string]any{{"name": "a", "newTag": "b"}}, ""},
		{"named text", []any{map[string]any{"name": text("a"), "newTag": text("b")}}, ""},
		{"an integer", []any{map[string]any{"name": "a", "newTag": int64(5)}}, "registries.imageOverrides[0].newTag must be a string, got int64; quote it"},
		{"a json.Number", []any{map[string]any{"name": "a", "newTag": json.Number("1.20")}}, "registries.imageOverrides[0].newTag must be a string, got float64; quote it"},
		{"a key that is a number", []any{map[any]any{1: "a"}}, `registries.imageOverrides[0]: unknown field "1"`},
		{"a number for the list", 5, "registries.imageOverrides must be a list, got int"},
		{"a json.Number for the list", json.Number("5"), "registries.imageOverrides must be a list, got float64"},
		{"an array", [1]any{"a"}, "registries.imageOverrides must be a list, got array"},
		{"a pointer", &struct{}{}, "registries.imageOverrides must be a list, got ptr"},
		{"a nil map for an entry", []any{map[string]any(nil)}, "registries.imageOverrides[0]: name is required"},
	} {
		got, err := ParseValues(table(test.table))
		if test.want != "" {
			if list := Faults(err); len(list) == 0 || list[0].Error() != test.want {
				t.Errorf("%s: %v, want %s", test.why, err, test.want)
			}
			continue
		}
		if want := []Override{{Name: "a", NewTag: "b"}}; err != nil || !slices.Equal(overridesOf(got), want) {
			t.Errorf("%s: %v, %v", test.why, overridesOf(got), err)
		}
	}
	for _, nothing := range []any{json.Number("0"), 0, int64(0), uint8(0), []string{}, object{}, text("")} {
		if got, err := ParseValues(table(nothing)); err != nil || !got.Known() || got.Len() != 0 {
			t.Errorf("%T %v: %v", nothing, nothing, err)
		}
	}
}

// genText gives odd text: what YAML and JSON must escape, and what looks like something else.
func genText() *rapid.Generator[string] {
	return rapid.OneOf(
		rapid.SampledFrom([]string{"1.20", "1e3", "010", "0x1F", "yes", "~", "null", "2026-01-01", "12:30:45", "a\nb", "\n", " a ", "a: b", "- a", "#a",
			"'", "\"", "\\", "{{ .x }}", "é", "\u2028", "\u200b", "\x00", "\x7f", "<&>", "=", "<<", "*a", "&a", "!a", "%a", "|", ">", "@a", "`a", "a\tb", "a\r\nb", "\uFEFF"}),
		rapid.String(),
		rapid.StringMatching(`[a-z0-9]+([./_-][a-z0-9]+)*`),
	)
}

// TestParseLaws: a table comes back equal from YAML, from JSON and from the Secret.
func TestParseLaws(t *testing.T) {
	name := genText().Filter(func(s string) bool { return s != "" && !carriesTagOrDigest(s) })
	entry := rapid.Custom(func(t *rapid.T) Override {
		return Override{name.Draw(t, "name"), genText().Draw(t, "newName"), "t" + genText().Draw(t, "newTag"), rapid.SampledFrom([]string{"", digestA}).Draw(t, "digest")}
	})
	rapid.Check(t, func(t *rapid.T) {
		list := rapid.SliceOfNDistinct(entry, 0, 5, func(o Override) string { return o.Name }).Draw(t, "overrides")
		table, err := New(list...)
		if err != nil {
			t.Fatal(err)
		}
		check := func(what string, got Table, err error) {
			t.Helper()
			if err != nil || !got.Known() || !slices.Equal(overridesOf(got), list) || got.Hash() != table.Hash() {
				t.Fatalf("%s: %v, %q, want %q", what, err, overridesOf(got), list)
			}
		}
		plain, err := json.Marshal(list)
		if err != nil {
			t.Fatal(err)
		}
		text, marshalErr := yamljson.Marshal(list)
		own, err := json.Marshal(table)
		if err != nil {
			t.Fatal(err)
		}
		texts := map[string][]byte{"JSON": plain, "MarshalJSON": own}
		// The emitter itself loses some control characters.
		var back []Override
		emitted := marshalErr == nil && yamljson.Unmarshal(text, &back) == nil && slices.Equal(back, list)
		if emitted {
			texts["YAML"] = text
		}
		for what, text := range texts {
			got, err := Parse(text)
			check(what, got, err)
		}
		var decoded any
		if err := json.Unmarshal(plain, &decoded); err != nil {
			t.Fatal(err)
		}
		got, err := ParseValues(map[string]any{"registries": map[string]any{"imageOverrides": decoded}})
		check("values", got, err)
		values, err := yamljson.Marshal(map[string]any{"_cluster": map[string]any{"a": "b", "image-overrides": list}, "z": 1})
		if emitted && err != nil {
			t.Fatal(err)
		}
		data := secret(string(values))
		if got, err = ParseSecret(data); emitted && table.Strict() == nil {
			check("the Secret", got, err)
		} else if emitted && got.Known() {
			t.Fatal("ParseSecret accepts what Strict refuses")
		}
		if string(data["values.yaml"]) != string(values) {
			t.Fatal("the argument was changed")
		}
	})
}

// genLines gives a list of entries, line by line, most of them in the common form.
func genLines() *rapid.Generator[string] {
	line := rapid.Custom(func(t *rapid.T) string {
		seldom := func(what, usual string, others ...string) string {
			if rapid.IntRange(0, 39).Draw(t, what) > 0 {
				return usual
			}
			return rapid.SampledFrom(others).Draw(t, what)
		}
		value := rapid.OneOf(rapid.SampledFrom([]string{"a", "b", `a"ba`, "a'ba", `"a"`, `a'a"a`, "v1.2.3", "1.2.3", `"1.20"`, `'a'`, `"a'b"`, "registry.example.org:5000/a/b", digestA}), rapid.SampledFrom([]string{
			`'a"b'`, `'a''b'`, `"\n"`, "a # b", "a#b", "[a]", "", "1.20", "1_0.0.1", "0b1", "0o7", ".5", "5.", "1.e3", "1.2e3", "-1", "+1", "y", "Off", "NaN", ".inf",
			"190:20:30.15", "2026-01-01T00:00:00Z", `"a"b"`, `"a`}), genText()).Draw(t, "value")
		return seldom("before", "", "# c\n", "\n", "  # c\n", "---\n", "...\n", "#\u2028- {name: c}\n", "# \x01\n", "# é\n", "      # c\n") +
			seldom("indent", "", " ", "  ") + rapid.SampledFrom([]string{"- ", "- ", "- ", "  "}).Draw(t, "dash") + seldom("more", "", " ", "\t", "- ") +
			rapid.SampledFrom([]string{"name", "newName", "newTag", "digest"}).Draw(t, "key") + seldom("key", "", "x", "'") +
			seldom("colon", ": ", ":", ":  ", " : ", ":\t") + value + seldom("end", "\n", "\r\n", " \n", "\r", "\n    b\n")
	})
	return rapid.Map(rapid.SliceOfN(line, 1, 5), func(lines []string) string { return strings.Join(lines, "") })
}

// TestScan: what scanList reads, the YAML parser reads too, and as the same.
func TestScan(t *testing.T) {
	scanned := 0
	rapid.Check(t, func(t *rapid.T) {
		text := genLines().Draw(t, "lines")
		l := scanList([]byte(text), 1)
		if len(l.rest) > 0 || l.indent < 0 {
			return
		}
		got := l.overrides
		scanned++
		v, err := decode([]byte(text))
		if err != nil {
			t.Fatalf("scanned, but: %v", err)
		}
		c := checker{path: listPath}
		want := c.table(v)
		if !slices.Equal(got, want) {
			t.Fatalf("scanned %q, parsed %q", got, want)
		}
		for _, e := range c.faults {
			if e.Rule == RuleString || e.Rule == RuleField || e.Rule == RuleEntry || e.Rule == RuleList {
				t.Fatalf("scanned %q, but: %v", got, e)
			}
		}
	})
	t.Logf("%d texts were scanned", scanned)
	if text, err := yamljson.Marshal(manyOverrides(1000)); err != nil {
		t.Fatal(err)
	} else if l := scanList(text, 1); len(l.rest) > 0 {
		t.Error("the common form is not scanned")
	}
}

// TestScanTable: what ParseSecret says without parsing the list is what it says by parsing, whatever
// is around the list.
func TestScanTable(t *testing.T) {
	odd := rapid.SampledFrom([]string{
		"x", "a: b\n", "\t\n", "   \t\n", "    \t# c\n", "# c\n", "\n", "  b: c\n", "  image-overrides:\n", "  image-overrides: []\n", "_cluster:\n", "_cluster: {}\n", "_cluster: |\n", "_cluster: &a\n",
		"  x: \"\n", "  x: '\n", "  \"\n", "  x: [\n", "  x: {\n", "]\n", "}\n", "---\n", "...\n", "  - name: b\n", "  - item\n", "    - item\n", "  &a\n", "  *a\n", "z: *a\n",
		"  image-overrides: |\n", "      more\n", "   more\n", "  newTag: c\n", "    newTag: c\n", "? x\n", ": y\n", "\u2028", "\x01\n", "\r\n", "&a\n", "x: y\r", "  << : {image-overrides: [item]}\n",
	})
	around := rapid.OneOf(rapid.Just(""), rapid.Just(""), rapid.Just(""), odd)
	scanned := 0
	rapid.Check(t, func(t *rapid.T) {
		text := ""
		for _, part := range []string{"_cluster:\n", "  image-overrides:\n"} {
			text += around.Draw(t, "before") + part
		}
		list := rapid.OneOf(rapid.SampledFrom([]string{
			"- name: a\n  newTag: b\n", "# c\n\n- newTag: 'b'\n  name: a\n- name: b\n  newName: c\n  digest: " + digestA + "\n"}), genLines()).Draw(t, "lines")
		indent := rapid.SampledFrom([]string{"  ", "  ", "    ", " "}).Draw(t, "indent")
		text += around.Draw(t, "before") + indent + strings.ReplaceAll(list, "\n", "\n"+indent)
		text = strings.TrimSuffix(text, indent) + around.Draw(t, "behind") + around.Draw(t, "behind")
		if _, ok := scanTable([]byte(text), inSecret); ok {
			scanned++
		}
		asParsed(t, text)
	})
	t.Logf("%d texts were scanned", scanned)
	values, err := yamljson.Marshal(map[string]any{"_cluster": map[string]any{"a": "b", "image-overrides": manyOverrides(1000), "z": "z"}, "z": 1})
	if err != nil {
		t.Fatal(err)
	}
	if _, ok := scanTable(values, inSecret); !ok {
		t.Error("the common form is not scanned")
	}
}

// parsedSecret is ParseSecret without its quick way.
func parsedSecret(values string) (Table, error) {
	if document.Blank([]byte(values)) {
		return ParseSecret(secret(values))
	}
	t, err := readParsed([]byte(values), inSecret)
	if err == nil {
		err = t.Strict()
	}
	if err != nil {
		return Table{}, err
	}
	return t, nil
}

// asParsed compares ParseSecret with the same without its quick way.
func asParsed(t tester, values string) {
	t.Helper()
	got, err := ParseSecret(secret(values))
	want, parsedErr := parsedSecret(values)
	if fmt.Sprint(err) != fmt.Sprint(parsedErr) || got.Known() != want.Known() || !slices.Equal(overridesOf(got), overridesOf(want)) {
		t.Fatalf("%q\nscanned: %v, %v\nparsed: %v, %v", values, overridesOf(got), err, overridesOf(want), parsedErr)
	}
}

// TestIsPlain: what is written without quotes is the same string to YAML 1.1 and 1.2.
func TestIsPlain(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := rapid.OneOf(rapid.StringMatching(`[a-zA-Z0-9._/:@-]{0,8}`), rapid.StringMatching(`[0-9._:eExob+-]{1,8}`), genText()).Draw(t, "text")
		if !document.IsPlain(s) {
			return
		}
		for _, text := range []string{s, "[" + s + "]", "{a: " + s + "}", "a: " + s + " # c"} {
			var v any
			if err := yamljson.Unmarshal([]byte(text), &v); err != nil {
				t.Fatalf("%q: %v", text, err)
			}
			switch w := v.(type) {
			case []any:
				v = w[0]
			case map[string]any:
				v = w["a"]
			}
			if v != s {
				t.Fatalf("%q is %#v in %q", s, v, text)
			}
		}
	})
}

// TestLargeTable: a table of 100,000 entries is read and checked in time that follows its
// length, and Strict says that no Secret can hold it.
func TestLargeTable(t *testing.T) {
	var b bytes.Buffer
	for i := range 100_000 {
		fmt.Fprintf(&b, "- name: a/%d\n  newTag: v1\n", i)
	}
	text := b.Bytes()
	table, err := Parse(text)
	if err != nil || table.Len() != 100_000 {
		t.Fatalf("%d entries, %v", table.Len(), err)
	}
	err = table.Strict()
	if want := fmt.Sprintf("overrides: the table takes %d bytes as JSON, more than the 1048576 that a Secret can hold; split the platform or drop entries", table.t.size); err == nil || err.Error() != want {
		t.Errorf("Strict says %v, want %s", err, want)
	}
	text = append(text, "- name: a/0\n  newTag: v1\n"...)
	_, err = Parse(text)
	got := Faults(err)
	if want := `overrides[100000]: "a/0" is listed twice`; len(got) != 1 || got[0].Error() != want || got[0].Line != 200001 {
		t.Errorf("%v, want %s in line 200001", err, want)
	}
}

// TestAliasBomb: aliases of aliases are refused before they take memory.
func TestAliasBomb(t *testing.T) {
	var b strings.Builder
	b.WriteString("a: &a0 [x,x,x,x,x,x,x,x,x,x]\n")
	for i := range 12 {
		fmt.Fprintf(&b, "a%d: &a%d [%s]\n", i+1, i+1, strings.TrimSuffix(strings.Repeat(fmt.Sprintf("*a%d,", i), 10), ","))
	}
	want := `6:34 aliases  -1 "": line 6, column 34: aliases stand for more than 4194304 bytes; write what they stand for, or less of it`
	for _, parse := range []func() error{
		func() error { _, err := Parse([]byte(b.String())); return err },
		func() error { _, err := ParseSecret(secret(b.String())); return err },
	} {
		if list := Faults(parse()); len(list) != 1 || told(list[0]) != want {
			t.Errorf("%v, want %s", list, want)
		}
	}
}

// goodTables are the tables that the fuzzers start with, beside the bad ones.
var goodTables = []string{
	"", "[]", "- name: a\n  newTag: v1\n", "- {name: a, newName: b, digest: " + digestA + "}\n",
	`[{"name":"a","newTag":"b"}]`, `[{"name":"a\ud83d\ude00","newTag":"b\\ud800"}]`, "- &x {name: a, newTag: b}\n- {<<: *x, name: c}\n",
}

// wellFormed checks what holds for every outcome of parsing text.
func wellFormed(t *testing.T, text []byte, table Table, err error) {
	if (err == nil) != table.Known() {
		t.Fatalf("%v with a table that is known: %v", err, table.Known())
	}
	faults := Faults(err)
	if err != nil && len(faults) == 0 {
		t.Fatalf("no *Error behind %v", err)
	}
	lines := strings.Split(string(text), "\n")
	for _, e := range faults {
		if e.Rule == RuleSecret {
			continue
		}
		if e.Line < 1 || e.Line > len(lines) || e.Column < 1 || e.Column > len([]rune(lines[e.Line-1]))+1 {
			t.Fatalf("not in the text: %s", told(e))
		}
	}
	if err == nil {
		own, err := json.Marshal(table)
		if err != nil {
			t.Fatal(err)
		}
		again, err := Parse(own)
		if err != nil || again.Hash() != table.Hash() {
			t.Fatalf("%s does not come back: %v", own, err)
		}
		table.Lint()
	}
}

func FuzzParse(f *testing.F) {
	for _, test := range badTables {
		f.Add([]byte(test.text))
	}
	for _, text := range goodTables {
		f.Add([]byte(text))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		table, err := Parse(text)
		wellFormed(t, text, table, err)
	})
}

func FuzzParseSecret(f *testing.F) {
	indent := func(s string) string { return "    " + strings.ReplaceAll(s, "\n", "\n    ") }
	for _, test := range badTables {
		f.Add([]byte("_cluster:\n  image-overrides:\n" + indent(test.text)))
		f.Add([]byte(test.text))
	}
	for _, text := range goodTables {
		f.Add([]byte("_cluster:\n  image-overrides:\n" + indent(text)))
	}
	f.Fuzz(func(t *testing.T, values []byte) {
		data := map[string][]byte{"values.yaml": values, "other": nil}
		before := maps.Clone(data)
		table, err := ParseSecret(data)
		if len(data) != len(before) {
			t.Fatal("the argument was changed")
		}
		wellFormed(t, values, table, err)
		asParsed(t, string(values))
	})
}

func BenchmarkParse(b *testing.B) {
	list := manyOverrides(1000)
	text, err := yamljson.Marshal(list)
	if err != nil {
		b.Fatal(err)
	}
	plain, err := json.Marshal(list)
	if err != nil {
		b.Fatal(err)
	}
	for _, form := range []struct {
		name string
		text []byte
	}{{"block", text}, {"json", plain}, {"commented", []byte(strings.ReplaceAll(string(text), "\n  newTag", " # c\n  newTag"))}} {
		b.Run(form.name, func(b *testing.B) {
			b.SetBytes(int64(len(form.text)))
			b.ReportAllocs()
			for b.Loop() {
				if _, err := Parse(form.text); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
	data := secret("_cluster:\n  root-host: example.org\n  image-overrides:\n  " + strings.ReplaceAll(strings.TrimSpace(string(text)), "\n", "\n  ") + "\n")
	b.Run("secret", func(b *testing.B) {
		b.SetBytes(int64(len(data["values.yaml"])))
		b.ReportAllocs()
		for b.Loop() {
			if _, err := ParseSecret(data); err != nil {
				b.Fatal(err)
			}
		}
	})
	// The peer in the same run: the library that Helm decodes values with, without any check.
	b.Run("peer", func(b *testing.B) {
		b.SetBytes(int64(len(text)))
		b.ReportAllocs()
		for b.Loop() {
			var v []Override
			if err := yamljson.Unmarshal(text, &v); err != nil {
				b.Fatal(err)
			}
		}
	})
}
