// SPDX-License-Identifier: Apache-2.0

package entries

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"go.yaml.in/yaml/v3"
	"pgregory.net/rapid"

	"github.com/cozystack/image-overrides/internal/manifest/document"
)

// order is how fields are written.
var order = []string{"name", "newName", "newTag"}

// A notation writes a list of entries under a key, further in by some spaces.
type notation func(list [][]Field) string

// notations are those in which every edit can be made.
var notations = map[string]notation{
	"block": func(list [][]Field) string { return "key:\n" + block(list, "- ", "") },
	"further in": func(list [][]Field) string {
		return "key: # c\n" + block(list, "  -   ", "# d\n\n")
	},
	"flow": func(list [][]Field) string { return "key: [" + flow(list, ", ", document.Plain) + "] # c\n" },
	"flow over lines": func(list [][]Field) string {
		return "key: [\n  " + flow(list, ",\n  ", document.Plain) + "\n  ]\n"
	},
	"JSON": func(list [][]Field) string { return "key: [" + flow(list, ",", document.Quote) + "]\n" },
}

func block(list [][]Field, dash, between string) string {
	var b strings.Builder
	for i, fields := range list {
		for j, f := range fields {
			margin := dash
			if j > 0 {
				margin = strings.Repeat(" ", len(dash))
			}
			fmt.Fprintf(&b, "%s%s: %s\n", margin, f.Name, document.Plain(f.Value))
		}
		if i < len(list)-1 {
			b.WriteString(between)
		}
	}
	return b.String()
}

func flow(list [][]Field, between string, write func(string) string) string {
	var items []string
	for _, fields := range list {
		var parts []string
		for _, f := range fields {
			parts = append(parts, write(f.Name)+": "+write(f.Value))
		}
		items = append(items, "{"+strings.Join(parts, ", ")+"}")
	}
	return strings.Join(items, between)
}

// TestEdits: whatever is done to a list in one of the notations, the text reads as before but for that, and every line that
// has nothing to do with the list is there.
func TestEdits(t *testing.T) {
	value := rapid.SampledFrom([]string{"a", "b/c", "é", "1.20", "true", "x: y"})
	entry := rapid.Custom(func(t *rapid.T) []Field {
		fields := []Field{{"name", value.Draw(t, "name")}}
		for _, name := range order[1:] {
			if rapid.Bool().Draw(t, name) {
				fields = append(fields, Field{name, value.Draw(t, "value")})
			}
		}
		return fields
	})
	rapid.Check(t, func(t *rapid.T) {
		name := rapid.SampledFrom([]string{"block", "further in", "flow", "flow over lines", "JSON"}).Draw(t, "notation")
		list := rapid.SliceOfN(entry, 1, 4).Draw(t, "entries")
		before := rapid.SampledFrom([]string{"", "# é\n", "a: é # b\n"}).Draw(t, "before")
		after := rapid.SampledFrom([]string{"", "z: y\n", "# c\nz: [x]\n"}).Draw(t, "after")
		text := before + notations[name](list) + after
		if rapid.IntRange(0, 3).Draw(t, "line breaks") == 0 {
			text = strings.ReplaceAll(text, "\n", "\r\n")
		}
		if rapid.IntRange(0, 3).Draw(t, "cut") == 0 {
			text = strings.TrimRight(text, "\r\n")
		}
		parsed, err := document.Parse([]byte(text))
		if err != nil {
			t.Fatalf("%q: %v", text, err)
		}
		l := Under(parsed, parsed.Roots[0], "key")
		if len(l.Nodes()) != len(list) {
			t.Fatalf("%q has %d entries", text, len(l.Nodes()))
		}

		set := rapid.Bool().Draw(t, "set")
		var want [][]Field
		for i, fields := range list {
			fields = append([]Field(nil), fields...)
			switch {
			case set && rapid.IntRange(0, 1).Draw(t, "here") == 0:
				j := rapid.IntRange(0, len(order)-1).Draw(t, "field")
				f := Field{order[j], value.Draw(t, "new")}
				if err := l.Set(i, f, order[:j]...); err != nil {
					t.Fatalf("%q: %v", text, err)
				}
				there := false
				for k := range fields {
					if there = there || fields[k].Name == f.Name; fields[k].Name == f.Name {
						fields[k] = f
					}
				}
				if !there {
					fields = append(fields, f)
				}
			case !set && rapid.IntRange(0, 2).Draw(t, "drop") == 0:
				l.Drop(i)
				continue
			}
			want = append(want, fields)
		}
		for range rapid.IntRange(0, 2).Draw(t, "more") {
			fields := entry.Draw(t, "new entry")
			l.Append(fields...)
			want = append(want, fields)
		}
		out, err := Bytes(parsed, l)
		if err != nil {
			t.Fatalf("%q: %v", text, err)
		}
		type doc struct {
			A, Z any
			Key  []map[string]string
		}
		var got, was doc
		if err := yaml.Unmarshal([]byte(text), &was); err != nil {
			t.Fatal(err)
		}
		if err := yaml.Unmarshal(out, &got); err != nil {
			t.Fatalf("%q becomes %q: %v", text, out, err)
		}
		was.Key = nil
		for _, fields := range want {
			m := make(map[string]string)
			for _, f := range fields {
				m[f.Name] = f.Value
			}
			was.Key = append(was.Key, m)
		}
		if diff := cmp.Diff(was, got, cmpopts.EquateEmpty()); diff != "" {
			t.Fatalf("%q becomes %q (- wanted, + got):\n%s", text, out, diff)
		}
		if strings.Contains(text, "\r\n") && strings.Count(string(out), "\n") != strings.Count(string(out), "\r\n") {
			t.Fatalf("%q becomes %q, with line breaks of two kinds", text, out)
		}
		// Where the last line is gone the one before ends as it did.
		if end := strings.HasSuffix(string(out), "\n"); end != strings.HasSuffix(text, "\n") && (!end || len(l.gone) == 0) {
			t.Fatalf("%q becomes %q, with another end", text, out)
		}
	})
}

// TestEditBytes: the edits of a person's notation, to the byte.
func TestEditBytes(t *testing.T) {
	more := [][]Field{{{"name", "a"}, {"newTag", "1"}}, {{"name", "b"}, {"newName", "x/y"}}}
	for _, test := range []struct {
		text string
		do   func(l *List)
		want string
	}{
		{"key: []\nz: y\n", nil, "key:\n- name: a\n  newTag: \"1\"\n- name: b\n  newName: x/y\nz: y\n"},
		{"key:\nz: y\n", nil, "key:\n- name: a\n  newTag: \"1\"\n- name: b\n  newName: x/y\nz: y\n"},
		{"key: null # c\n", nil, "key: # c\n- name: a\n  newTag: \"1\"\n- name: b\n  newName: x/y\n"},
		{"key: \t[]\n", nil, "key:\n- name: a\n  newTag: \"1\"\n- name: b\n  newName: x/y\n"},
		{"key: ~", nil, "key:\n- name: a\n  newTag: \"1\"\n- name: b\n  newName: x/y"},
		{"a: b\n", nil, "a: b\nkey:\n- name: a\n  newTag: \"1\"\n- name: b\n  newName: x/y\n"},
		{"a:\n  b: |\n    c\n\n# d\n", nil, "a:\n  b: |\n    c\nkey:\n- name: a\n  newTag: \"1\"\n- name: b\n  newName: x/y\n\n# d\n"},
		{"{a: b}\n", nil, "{a: b, key: [{name: a, newTag: \"1\"}, {name: b, newName: x/y}]}\n"},
		{"{a: [b]}\n", nil, "{a: [b], key: [{name: a, newTag: \"1\"}, {name: b, newName: x/y}]}\n"},
		{"a: {b: c}", nil, "a: {b: c}\nkey:\n- name: a\n  newTag: \"1\"\n- name: b\n  newName: x/y"},
		{"a:\n- b\n- {c: d} # e\n", nil, "a:\n- b\n- {c: d} # e\nkey:\n- name: a\n  newTag: \"1\"\n- name: b\n  newName: x/y\n"},
		{"a: ''", nil, "a: ''\nkey:\n- name: a\n  newTag: \"1\"\n- name: b\n  newName: x/y"},
		{"a:\n", nil, "a:\nkey:\n- name: a\n  newTag: \"1\"\n- name: b\n  newName: x/y\n"},
		{"{\"a\": 1}", nil, "{\"a\": 1, \"key\": [{\"name\": \"a\", \"newTag\": \"1\"}, {\"name\": \"b\", \"newName\": \"x/y\"}]}"},
		{"{key: [], a: b}\n", nil, "{key: [{\"name\": \"a\", \"newTag\": \"1\"}, {\"name\": \"b\", \"newName\": \"x/y\"}], a: b}\n"},
		{"{\"key\":null}\n", nil, "{\"key\": [{\"name\": \"a\", \"newTag\": \"1\"}, {\"name\": \"b\", \"newName\": \"x/y\"}]}\n"},
		{"key:\n  - name: c # d\n    # e\n\n  # f\nz: y\n", nil, "key:\n  - name: c # d\n  - name: a\n    newTag: \"1\"\n  - name: b\n    newName: x/y\n    # e\n\n  # f\nz: y\n"},
		{"key: [{name: c},{name: d}]\n", nil, "key: [{name: c},{name: d}, {name: a, newTag: \"1\"}, {name: b, newName: x/y}]\n"},
		{"key: [ {name: c}, {name: d} ]\n", func(l *List) { l.Drop(0) }, "key: [ {name: d} ]\n"},
		{"key: [ {name: c}, {name: d} ]\n", func(l *List) { l.Drop(0); l.Drop(1) }, "key: []\n"},
		{"key: # c\n- name: c\n- name: d\nz: y\n", func(l *List) { l.Drop(0); l.Drop(1) }, "key: [] # c\nz: y\n"},
		{"key:\n- name: c\n# d\n- name: e\n", func(l *List) { l.Drop(1) }, "key:\n- name: c\n# d\n"},
		{"key:\n- name: c\n  newTag: \"1\"\n", func(l *List) { l.Set(0, Field{"newName", "x"}, "name") }, "key:\n- name: c\n  newName: x\n  newTag: \"1\"\n"},
		{"key:\n- {newTag: '1', name: c}\n", func(l *List) { l.Set(0, Field{"newTag", "2"}, "name", "newName") }, "key:\n- {newTag: '2', name: c}\n"},
		{"key: [{\"name\": \"c\"}]\n", func(l *List) { l.Set(0, Field{"newTag", "2"}, "name", "newName") }, "key: [{\"name\": \"c\", \"newTag\": \"2\"}]\n"},
		{"key:\n- name: c\n", func(l *List) {}, "key:\n- name: c\n"},
	} {
		parsed, err := document.Parse([]byte(test.text))
		if err != nil {
			t.Fatalf("%q: %v", test.text, err)
		}
		l := Under(parsed, parsed.Roots[0], "key")
		if test.do != nil {
			test.do(l)
		} else {
			for _, fields := range more {
				l.Append(fields...)
			}
		}
		got, err := Bytes(parsed, l)
		if err != nil || string(got) != test.want {
			t.Errorf("%q becomes %q, %v, want\n%q", test.text, got, err, test.want)
		}
	}
}

// TestNoPlace: what cannot be edited without doubt is an error.
func TestNoPlace(t *testing.T) {
	drop := func(l *List) error { l.Drop(0); return nil }
	add := func(l *List) error { l.Append(Field{"name", "a"}); return nil }
	set := func(l *List) error { return l.Set(0, Field{"newTag", "1"}, "name") }
	setAndDrop := func(l *List) error { l.Drop(1); return set(l) }
	for _, test := range []struct {
		text string
		do   func(l *List) error
	}{
		{"x: &x [{name: c}]\nkey: *x\n", add}, {"key: &x\n- name: c\nx: *x\n", drop}, {"key: &x []\n", add},
		{"key:\n- &x {name: c}\nx: *x\n", set}, {"key:\n- name: [c]\n  newTag: [d]\n", set}, {"key:\n- a: b\n", set}, {"key:\n- name: |-\n", set}, {"key:\n- ? name\n  : c\n", set}, {"key:\n- name: c\n  newTag: !!seq [d]\n", set}, {"key:\n- name: c\n  newTag:\n", set}, {"x: &x a\nkey:\n- name: c\n  newTag: *x\n", set}, {"key:\n- c\n", set},
		{"key: [{name: c}, # d\n  {name: e}]\n", drop}, {"key: [ # d\n {name: c}]\n", drop}, {"key: [c]\n", drop},
		{"? key\n: - name: c\n", drop}, {"key :\n- name: c\n", drop}, {"{}\n", add}, {"a: |-\n", add}, {"key: [{name: c, newTag: d}, {name: e}]\n", setAndDrop}, {"&x {a: b}\n", add},
	} {
		parsed, err := document.Parse([]byte(test.text))
		if err != nil {
			t.Fatalf("%q: %v", test.text, err)
		}
		l := Under(parsed, parsed.Roots[0], "key")
		err = test.do(l)
		var out []byte
		if err == nil {
			out, err = Bytes(parsed, l)
		}
		if !errors.Is(err, ErrPlace) || out != nil {
			t.Errorf("%q: %q, %v", test.text, out, err)
		}
	}
}
