// SPDX-License-Identifier: Apache-2.0

package imageoverrides

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

// partial are texts of which Helm reads a part and says nothing: with what we say.
var partial = []struct {
	why, list, values string // one of both
	want              []string
}{
	{why: "an item that is indented by less than the first", list: "  - name: a\n    newTag: b\n- name: c\n  newTag: d\n", want: []string{
		`3:1 document  -1 "": line 3, column 1: ` + behind}},
	{why: "keys that are indented by less than the first", values: "  a: b\n\nregistries:\n  imageOverrides:\n  - {name: a, newTag: b}\n", want: []string{
		`3:1 document  -1 "": line 3, column 1: ` + behind}},
	{why: "the table in what is read, and more behind it", values: "  registries:\n    imageOverrides:\n    - name: a\n      newTag: b\n # c\nother: x\n", want: []string{
		`6:1 document  -1 "": line 6, column 1: ` + behind}},
	{why: "an empty map in front", values: "{}\nregistries:\n  imageOverrides:\n  - name: a\n    newTag: b\n", want: []string{
		`2:1 document  -1 "": line 2, column 1: ` + behind}},
	{why: "an empty list in front", list: "[]\n- name: a\n  newTag: b\n", want: []string{
		`2:1 document  -1 "": line 2, column 1: ` + behind}},
	{why: "a list in brackets, and one without", list: "[{name: a, newTag: b}]\n- name: c\n", want: []string{
		`2:1 document  -1 "": line 2, column 1: ` + behind}},
	{why: "text behind the end of a document", list: "- name: a\n  newTag: b\n...\n- name: c\n  newTag: d\n", want: []string{
		`4:1 document  -1 "": line 4, column 1: ` + behind}},
	{why: "a second document", values: "a: b\n---\nregistries:\n  imageOverrides: []\n", want: []string{
		`3:1 document  -1 "": line 3, column 1: a second document; the table must be in the only one`}},
	{why: "the outer key twice", values: "registries:\n  imageOverrides:\n  - name: a\n    newTag: b\nother: x\nregistries: {}\n", want: []string{
		`6:1 twice registries -1 "": registries is set twice, first in line 1, column 1; Helm reads the last one only`}},
	{why: "the outer key twice, the table in the second", values: "registries:\nother: x\nregistries:\n  imageOverrides:\n  - name: a\n    newTag: b\n", want: []string{
		`3:1 twice registries -1 "": registries is set twice, first in line 1, column 1; Helm reads the last one only`}},
	{why: "the outer key in three ways", values: "registries: {}\n'registries': {}\n? \"\\x72egistries\"\n: {}\n", want: []string{
		`2:1 twice registries -1 "": registries is set twice, first in line 1, column 1; Helm reads the last one only`,
		`3:3 twice registries -1 "": registries is set twice, first in line 1, column 1; Helm reads the last one only`}},
	{why: "the outer key as base64", values: "registries: {}\n!!binary cmVnaXN0cmllcw==: {}\n", want: []string{
		`2:1 twice registries -1 "": registries is set twice, first in line 1, column 1; Helm reads the last one only`}},
	{why: "the inner key twice", values: "registries:\n  imageOverrides:\n  - name: a\n    newTag: b\n  mirrors: {}\n  imageOverrides: []\n", want: []string{
		`6:3 twice registries.imageOverrides -1 "": registries.imageOverrides is set twice, first in line 2, column 3; Helm reads the last one only`}},
	{why: "a field twice", list: "- name: a\n  newTag: b\n  digest: " + digestA + "\n  newTag: c\n- {name: d, name: e, newTag: f}\n", want: []string{
		`4:3 twice overrides 0 "newTag": overrides[0]: newTag is set twice, first in line 2, column 3; Helm reads the last one only`,
		`5:13 twice overrides 1 "name": overrides[1]: name is set twice, first in line 5, column 4; Helm reads the last one only`}},
	{why: "a field twice, in JSON", list: `[{"name":"a","newTag":"b","newTag":"c"}]`, want: []string{
		`1:27 twice overrides 0 "newTag": overrides[0]: newTag is set twice, first in line 1, column 14; Helm reads the last one only`}},
	{why: "an unknown field twice", list: "- {name: a, newTag: b, x: 1, x: 2}\n", want: []string{
		`1:30 twice overrides 0 "x": overrides[0]: x is set twice, first in line 1, column 24; Helm reads the last one only`}},
	{why: "a merge key behind what it sets too", list: "- &a {name: a, newTag: b}\n- {name: c, newTag: d, <<: *a}\n", want: []string{
		`2:24 twice overrides 1 "name": overrides[1]: name is set twice, in line 2, column 4 and by this merge key, which counts more to Helm than what stands before it; put the merge key first`,
		`2:24 twice overrides 1 "newTag": overrides[1]: newTag is set twice, in line 2, column 13 and by this merge key, which counts more to Helm than what stands before it; put the merge key first`}},
	{why: "a merge key behind the table", values: "x: &x {registries: {}}\nregistries: {imageOverrides: [{name: a, newTag: b}]}\n<<: *x\n", want: []string{
		`3:1 twice registries -1 "": registries is set twice, in line 2, column 1 and by this merge key, which counts more to Helm than what stands before it; put the merge key first`}},
	{why: "two merge keys with one field", list: "- {<<: {newTag: a}, <<: {newTag: b}, name: c}\n", want: []string{
		`1:21 twice overrides 0 "newTag": overrides[0]: newTag is set twice, in line 1, column 4 and by this merge key, which counts more to Helm than what stands before it; put the merge key first`}},
}

const behind = "text behind the first document, which is all that Helm reads; is a line above indented by more than this one, or a value complete?"

func faultsOf(err error) (list []string) {
	for _, e := range Faults(err) {
		list = append(list, told(e))
	}
	return list
}

func TestPartial(t *testing.T) {
	for _, test := range partial {
		read := func(text string) (Table, error) { return ParseValuesText([]byte(text)) }
		text := test.values
		if text == "" {
			read, text = func(text string) (Table, error) { return Parse([]byte(text)) }, test.list
		}
		table, err := read(text)
		if diff := cmp.Diff(test.want, faultsOf(err)); diff != "" || table.Known() {
			t.Errorf("%s: known %v\n%s", test.why, table.Known(), diff)
		}
		// The same in the Secret, where the paths are others.
		if test.values != "" {
			inSecret := strings.NewReplacer("registries", "_cluster", "imageOverrides", "image-overrides", "cmVnaXN0cmllcw==", "X2NsdXN0ZXI=", `\x72egistries`, `\x5fcluster`)
			table, err := ParseSecret(secret(inSecret.Replace(text)))
			if list := Faults(err); table.Known() || len(list) != len(test.want) || list[0].Line == 0 {
				t.Errorf("%s: the Secret gives %v", test.why, err)
			}
		}
	}
	for why, text := range map[string]string{
		"a separator in front":              "---\nregistries: {imageOverrides: [{name: a, newTag: b}]}\n",
		"the end of the document behind":    "registries: {imageOverrides: [{name: a, newTag: b}]}\n...\n",
		"an empty document behind":          "registries: {imageOverrides: [{name: a, newTag: b}]}\n---\n",
		"comments behind":                   "  registries: {imageOverrides: [{name: a, newTag: b}]}\n# c\n",
		"other keys twice":                  "x: 1\nregistries:\n  mirrors: 1\n  mirrors: 2\n  imageOverrides:\n  - name: a\n    newTag: b\nx: 2\n",
		"the keys elsewhere too":            "x: {registries: {imageOverrides: 5}}\nregistries: {imageOverrides: [{name: a, newTag: b}]}\n",
		"a merge key in front of its field": "x: &x {name: c, newTag: b}\nregistries: {imageOverrides: [{<<: *x, name: a}]}\n",
		"a merge key of several maps":       "registries: {imageOverrides: [{<<: [{newTag: b}, {newTag: c}], name: a}]}\n",
	} {
		table, err := ParseValuesText([]byte(text))
		if diff := cmp.Diff([]Override{{Name: "a", NewTag: "b"}}, overridesOf(table)); err != nil || diff != "" {
			t.Errorf("%s: %v\n%s", why, err, diff)
		}
	}
}

// TestWholeLaw: a text is accepted if and only if it is one document that sets no key of the table's twice,
// whatever is around the table and however the keys are written.
func TestWholeLaw(t *testing.T) {
	refused, accepted := 0, 0
	rapid.Check(t, func(t *rapid.T) {
		seldom := func(what string) bool { return rapid.IntRange(0, 9).Draw(t, what) == 0 }
		spelled := func(key string) string {
			return rapid.SampledFrom([]string{key, key, key, `"` + key + `"`, "'" + key + "'", key + " ", fmt.Sprintf(`"\x%02x%s"`, key[0], key[1:])}).Draw(t, "key")
		}
		whole := true
		margin := ""
		if seldom("margin") {
			margin = "  "
		}
		var b strings.Builder
		line := func(indent int, text string) { b.WriteString(margin + strings.Repeat(" ", indent) + text + "\n") }
		other := func(indent int) {
			for seldom("other") {
				line(indent, rapid.SampledFrom([]string{"x: y", "x: {registries: 1, imageOverrides: 2}", "# registries:", "'y': \"\\\\\"", "z: !!str 5", "x: |\n" + margin + "      text: registries"}).Draw(t, "other"))
			}
		}
		outers := 1
		if seldom("outer twice") {
			outers, whole = 2, false
		}
		other(0)
		for range outers {
			line(0, spelled("registries")+":")
			inners := 1
			if seldom("inner twice") {
				inners, whole = 2, false
			}
			other(2)
			for range inners {
				line(2, spelled("imageOverrides")+":")
				for i := range rapid.IntRange(1, 3).Draw(t, "entries") {
					line(2, fmt.Sprintf("- name: a%d", i))
					line(4, spelled("newTag")+": b")
					if seldom("field twice") {
						line(4, spelled("newTag")+": b")
						whole = false
					}
				}
			}
			other(2)
		}
		other(0)
		if seldom("behind") {
			whole = false
			b.WriteString(rapid.SampledFrom([]string{"---\na: b\n", "...\na: b\n", "--- {}\n"}).Draw(t, "behind"))
		}
		if margin != "" && seldom("unindented") {
			whole = false
			b.WriteString("a: b\n")
		}
		text := b.String()
		if seldom("old computers") {
			text = strings.ReplaceAll(text, "\n", "\r\n")
		}
		table, err := ParseValuesText([]byte(text))
		if (err == nil) != whole {
			t.Fatalf("%q\nwhole %v, but %v", text, whole, err)
		}
		if whole {
			accepted++
			return
		}
		refused++
		for _, e := range Faults(err) {
			if e.Rule != RuleTwice && e.Rule != RuleDocument || table.Known() {
				t.Fatalf("%q\n%s, known %v", text, told(e), table.Known())
			}
		}
	})
	if refused == 0 || accepted == 0 {
		t.Errorf("%d refused, %d accepted", refused, accepted)
	}
}

// TestAbsent: a table that is not there is empty, and can be told from one that is.
func TestAbsent(t *testing.T) {
	for text, want := range map[string]bool{
		"": true, "a: b": true, "registries:": true, "registries: {}": true, "registries: {mirrors: 1}": true, "registries.imageOverrides: []": true,
		"registries: {imageOverrides: }": false, "registries: {imageOverrides: []}": false, "registries: {imageOverrides: {}}": false,
		"registries: {imageOverrides: [{name: a, newTag: b}]}": false, "x: &x {imageOverrides: []}\nregistries: *x": false, "x: &x {imageOverrides: []}\nregistries: {<<: *x}": false,
	} {
		table, err := ParseValuesText([]byte(text))
		if err != nil || table.Absent() != want {
			t.Errorf("%q: absent %v, %v", text, table.Absent(), err)
		}
	}
	table, err := ParseSecret(secret("_cluster: {a: b}"))
	if err != nil || !table.Absent() || table.Len() != 0 || !table.Known() {
		t.Errorf("without a table in the Secret: %v, absent %v", err, table.Absent())
	}
	for _, table := range []Table{{}, mustTable(t), mustTable(t, Override{Name: "a", NewTag: "b"})} {
		if table.Absent() {
			t.Errorf("%v is absent", table)
		}
	}
}

// TestPlaces: faults and findings say where the table came from, and where in it, however it was read.
func TestPlaces(t *testing.T) {
	const list = "- name: quay.io/a\n  newName: quay.io/b\n- newTag: v1\n  name: Nginx\n- name: quay.io/c\n  newTag: '-1'\n"
	commented := strings.ReplaceAll(list, "newTag", "# c\n  newTag") // which takes the slow way
	flow := "[{name: quay.io/a, newName: quay.io/b},\n {newTag: v1, name: Nginx}, {name: quay.io/c, newTag: '-1'}]"
	inValues := func(list string) string {
		return "a: b\nregistries:\n  imageOverrides:\n  " + strings.ReplaceAll(strings.TrimSpace(list), "\n", "\n  ") + "\n"
	}
	for _, test := range []struct {
		why, text string
		read      func(string) (Table, error)
		want      []string // path, entry, field, line and column of each finding
	}{
		{"a list", list, func(s string) (Table, error) { return Parse([]byte(s)) }, []string{"overrides 1 name 4:9", "overrides 2 newTag 6:11"}},
		{"a list with comments", commented, func(s string) (Table, error) { return Parse([]byte(s)) }, []string{"overrides 1 name 5:9", "overrides 2 newTag 8:11"}},
		{"a list in brackets", flow, func(s string) (Table, error) { return Parse([]byte(s)) }, []string{"overrides 1 name 2:21", "overrides 2 newTag 2:55"}},
		{"values", inValues(list), func(s string) (Table, error) { return ParseValuesText([]byte(s)) }, []string{"registries.imageOverrides 1 name 7:11", "registries.imageOverrides 2 newTag 9:13"}},
		{"values with comments", inValues(commented), func(s string) (Table, error) { return ParseValuesText([]byte(s)) }, []string{"registries.imageOverrides 1 name 8:11", "registries.imageOverrides 2 newTag 11:13"}},
		{"decoded values", "", func(string) (Table, error) {
			return ParseValues(map[string]any{"registries": map[string]any{"imageOverrides": []any{
				map[string]any{"name": "Nginx", "newTag": "v1"}, map[string]any{"name": "quay.io/c", "newTag": "-1"}}}})
		}, []string{"registries.imageOverrides 0 name 0:0", "registries.imageOverrides 1 newTag 0:0"}},
		{"entries", "", func(string) (Table, error) {
			return New(Override{Name: "Nginx", NewTag: "v1"}, Override{Name: "quay.io/c", NewTag: "-1"})
		}, []string{"overrides 0 name 0:0", "overrides 1 newTag 0:0"}},
	} {
		table, err := test.read(test.text)
		if err != nil {
			t.Errorf("%s: %v", test.why, err)
			continue
		}
		var got []string
		for _, f := range table.Lint() {
			got = append(got, fmt.Sprintf("%s %d %s %d:%d", f.Path, f.Entry, f.Field, f.Line, f.Column))
		}
		if diff := cmp.Diff(test.want, got); diff != "" {
			t.Errorf("%s:\n%s", test.why, diff)
		}
		last := test.want[len(test.want)-1]
		for _, e := range Faults(table.Strict()) {
			if got := fmt.Sprintf("%s %d %s %d:%d", e.Path, e.Entry, e.Field, e.Line, e.Column); got != last || !strings.HasPrefix(e.Error(), fmt.Sprintf("%s[%d]: newTag ", e.Path, e.Entry)) {
				t.Errorf("%s: Strict says %s at %s, want %s", test.why, e, got, last)
			}
		}
	}
	for _, list := range []string{list, commented} {
		values := strings.NewReplacer("registries", "_cluster", "imageOverrides", "image-overrides").Replace(inValues(list))
		_, err := ParseSecret(secret(values))
		line := 1 + strings.Count(values[:strings.Index(values, "'-1'")], "\n")
		want := []string{fmt.Sprintf(`%d:13 new-tag _cluster.image-overrides 2 "newTag": _cluster.image-overrides[2]: newTag "-1" is no tag: it begins with '-'`, line)}
		if diff := cmp.Diff(want, faultsOf(err)); diff != "" {
			t.Error(diff)
		}
	}
}

// TestFaults: the faults of an error are found behind whatever is around it, and its text is bounded.
func TestFaults(t *testing.T) {
	many := make([]Override, 2000)
	_, err := New(many...)
	lines := strings.Split(err.Error(), "\n")
	if len(lines) != 11 || lines[0] != "overrides[0]: name is required" || lines[10] != "and 1990 more" {
		t.Errorf("the text is %q", err.Error())
	}
	if got := Faults(err); len(got) != 2000 || got[1999].Error() != "overrides[1999]: name is required" {
		t.Errorf("%d faults", len(got))
	}
	other := errors.New("other")
	for why, wrapped := range map[string]error{
		"itself": err, "wrapped": fmt.Errorf("a: %w", err), "twice": fmt.Errorf("b: %w", fmt.Errorf("a: %w", err)), "joined": errors.Join(other, err), "two %w": fmt.Errorf("%w %w", other, err),
	} {
		if got := Faults(wrapped); len(got) != 2000 {
			t.Errorf("%s: %d faults", why, len(got))
		}
		var e *Error
		if !errors.As(wrapped, &e) || e.Entry != 0 || !errors.Is(wrapped, err) || !errors.Is(wrapped, Faults(err)[1999]) {
			t.Errorf("%s: the first fault is %v", why, e)
		}
	}
	if Faults(nil) != nil || Faults(other) != nil || len(Faults(Faults(err)[3])) != 1 {
		t.Error("faults where there are none")
	}
	if again := err; again != err {
		t.Error("an error is not itself")
	}
	Faults(err)[0] = nil
	if Faults(err)[0] == nil {
		t.Error("the list is the error's own")
	}
	for _, n := range []int{1, 9, 10, 11} { // each long, in one to eleven lines
		var long []Override
		for i := range n {
			long = append(long, Override{Name: fmt.Sprintf("%d:%s", i, strings.Repeat("\x01", 100_000)), NewTag: "v1"})
		}
		_, err := New(long...)
		lines := strings.Split(err.Error(), "\n")
		if len(err.Error()) >= 4096 || len(lines) != min(n, 11) || !strings.HasSuffix(lines[0], `(100002 bytes) must not carry a tag or digest`) {
			t.Errorf("%d long faults: %d bytes, %q", n, len(err.Error()), lines[0])
		}
	}
}

// TestEqual: tables are compared by their entries, wherever they came from.
func TestEqual(t *testing.T) {
	entry := Override{Name: "a", NewTag: "b"}
	read, err := Parse([]byte("# c\n- {name: a, newTag: b}\n"))
	if err != nil {
		t.Fatal(err)
	}
	for _, test := range []struct {
		why  string
		t, u Table
		want bool
	}{
		{"unknown", Table{}, Table{}, true},
		{"unknown and empty", Table{}, mustTable(t), false},
		{"empty", mustTable(t), mustTable(t), true},
		{"empty and not", mustTable(t), mustTable(t, entry), false},
		{"one made and one read", mustTable(t, entry), read, true},
		{"another tag", mustTable(t, entry), mustTable(t, Override{Name: "a", NewTag: "c"}), false},
		{"another order", mustTable(t, entry, Override{Name: "b", NewTag: "c"}), mustTable(t, Override{Name: "b", NewTag: "c"}, entry), false},
	} {
		if test.t.Equal(test.u) != test.want || test.u.Equal(test.t) != test.want || cmp.Equal(test.t, test.u) != test.want || (test.t.Hash() == test.u.Hash()) != test.want {
			t.Errorf("%s: not %v", test.why, test.want)
		}
	}
}

// TestUTF8: text that is no UTF-8 is refused, for two such texts would have one JSON, and one hash.
func TestUTF8(t *testing.T) {
	for field, o := range map[string]Override{
		"name": {Name: "a\xff", NewTag: "b"}, "newName": {Name: "a", NewName: "b\xff"}, "newTag": {Name: "a", NewTag: "b\xff"}, "digest": {Name: "a", Digest: "b\xff"},
	} {
		_, err := New(o)
		value := *o.field(field)
		want := []string{fmt.Sprintf("0:0 utf-8 overrides 0 %q: overrides[0]: %s %q is no UTF-8", field, field, value)}
		if diff := cmp.Diff(want, faultsOf(err)); diff != "" {
			t.Error(diff)
		}
		entry := map[string]any{"name": "a", field: value}
		table, err := ParseValues(map[string]any{"registries": map[string]any{"imageOverrides": []any{entry}}})
		if list := Faults(err); table.Known() || len(list) != 1 || list[0].Rule != RuleUTF8 {
			t.Errorf("ParseValues: %v", err)
		}
	}
}

// TestChanged: whether a change of the Secret may change the table.
func TestChanged(t *testing.T) {
	values := func(table string) map[string][]byte { return secret("_cluster:\n  image-overrides: " + table + "\n") }
	one := values("[{name: a, newTag: b}]")
	for _, test := range []struct {
		why           string
		before, after map[string][]byte
		want          bool
	}{
		{"no Secret", nil, nil, false},
		{"a Secret comes", nil, one, true},
		{"a Secret goes that is empty", map[string][]byte{}, nil, true},
		{"the same", one, values("[{name: a, newTag: b}]"), false},
		{"another notation, and other values", one, secret("x: y\n_cluster: {image-overrides: [{newTag: b, name: a}]}"), false},
		{"another key", one, map[string][]byte{"values.yaml": one["values.yaml"], "x": nil}, false},
		{"another tag", one, values("[{name: a, newTag: c}]"), true},
		{"empty in two ways", values("[]"), secret("_cluster: {}"), false},
		{"broken", one, values("[{name: a}]"), true},
		{"broken in another way", values("[{name: a}]"), values("[{name: b}]"), true},
		{"broken in the same way", values("[{name: a}]"), secret("_cluster:\n  image-overrides: [{name: a}]\nx: y\n"), false},
		{"broken in another place", values("[{name: a}]"), secret("x: y\n_cluster:\n  image-overrides: [{name: a}]\n"), true},
		{"broken more", values("[{name: a}]"), values("[{name: a}, {}]"), true},
		{"no values", map[string][]byte{}, map[string][]byte{"x": nil}, false},
		{"values that are blank", map[string][]byte{}, secret(""), true},
	} {
		if Changed(test.before, test.after) != test.want || Changed(test.after, test.before) != test.want {
			t.Errorf("%s: not %v", test.why, test.want)
		}
	}
}

// TestObjectString: what a manifest calls its objects stays on one line.
func TestObjectString(t *testing.T) {
	for _, test := range []struct {
		object Object
		want   string
	}{
		{Object{}, "object"},
		{Object{Kind: "Pod"}, "Pod"},
		{Object{Kind: "Pod", Name: "a", Namespace: "b"}, "Pod b/a"},
		{Object{Name: "a"}, "object a"},
		{Object{Kind: "Pod\nPod", Name: "a\x1b[2J", Namespace: "\u202e"}, `"Pod\nPod" "\u202e"/"a\x1b[2J"`},
		{Object{Kind: "Pod", Name: strings.Repeat("A", 300_000)}, "Pod " + long},
	} {
		if got := test.object.String(); got != test.want {
			t.Errorf("%q is %s, want %s", test.object, got, test.want)
		}
	}
	in := "{kind: Pod, \"a\\nb\": {\"\\e[2J\": {containers: [{image: nginx}]}, é: {containers: [{image: nginx}]}}}\n"
	_, result := rewrite(t, webTable(t), in)
	var paths []string
	for _, c := range result.Changes {
		paths = append(paths, c.Path)
	}
	if diff := cmp.Diff([]string{`["a\nb"]["\x1b[2J"].containers[0].image`, `["a\nb"]["é"].containers[0].image`}, paths); diff != "" {
		t.Error(diff)
	}
}

// TestMergedLists: what a merge key brings in by a list of maps counts as what it brings in by one of them.
func TestMergedLists(t *testing.T) {
	for _, text := range []string{
		"x: &m {registries: {imageOverrides: []}}\nregistries: {imageOverrides: [{name: a, newTag: v1}]}\n<<: *m\n",
		"x: &m {imageOverrides: []}\nregistries:\n  imageOverrides: [{name: a, newTag: v1}]\n  <<: *m\n",
		"x: &m {newTag: v2}\nregistries:\n  imageOverrides:\n  - name: a\n    newTag: v1\n    <<: *m\n",
		"x: &m {imageOverrides: [{name: a, newTag: v1}]}\nregistries:\n  <<: *m\n",
	} {
		one, errOne := ParseValuesText([]byte(text))
		list, errList := ParseValuesText([]byte(strings.Replace(text, "<<: *m", "<<: [*m]", 1)))
		if diff := cmp.Diff(faultsOf(errOne), faultsOf(errList)); diff != "" || !one.Equal(list) {
			t.Errorf("%s%s", text, diff)
		}
		if strings.HasPrefix(text, "x: &m {imageOverrides: [{") != (errOne == nil) {
			t.Errorf("%s%v", text, errOne)
		}
	}
}
