// SPDX-License-Identifier: Apache-2.0

package imageoverrides_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/cozystack/image-overrides/imageoverrides"
	"github.com/cozystack/image-overrides/internal/manifest/document"
)

const someDigest = "sha256:0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"

func TestReplace(t *testing.T) {
	a := imageoverrides.Override{Name: "a", NewName: "reg.example.org/a"}
	b := imageoverrides.Override{Name: "b", NewName: "reg.example.org/b", NewTag: "1.20"}
	pinned := a
	pinned.NewTag, pinned.Digest = "v1", someDigest
	for _, test := range []struct {
		why, text string
		entries   []imageoverrides.Override
		want      string
	}{
		{"behind the last entry, and its comment",
			"registries:\n  imageOverrides:\n  # ours\n  - name: a # c\n    newName: reg.example.org/a # d\n  # e\n\n  x: 1\n", []imageoverrides.Override{a, b},
			"registries:\n  imageOverrides:\n  # ours\n  - name: a # c\n    newName: reg.example.org/a # d\n  - name: b\n    newName: reg.example.org/b\n    newTag: \"1.20\"\n  # e\n\n  x: 1\n"},
		{"fields in their order, in the entry's own column",
			"-   newName: 'x.org/a'\n    name: a", []imageoverrides.Override{pinned, b},
			"-   newName: 'reg.example.org/a'\n    newTag: v1\n    digest: " + someDigest + "\n    name: a\n-   name: b\n    newName: reg.example.org/b\n    newTag: \"1.20\""},
		{"line breaks of Windows", "- name: a\r\n  newName: x.org/a\r\n", []imageoverrides.Override{pinned},
			"- name: a\r\n  newName: reg.example.org/a\r\n  newTag: v1\r\n  digest: " + someDigest + "\r\n"},
		{"JSON", `{"registries": {"imageOverrides": [{"name": "a", "newTag": "0"}]}}`, []imageoverrides.Override{pinned, b},
			`{"registries": {"imageOverrides": [{"name": "a", "newName": "reg.example.org/a", "newTag": "v1", "digest": "` + someDigest + `"}, {"name": "b", "newName": "reg.example.org/b", "newTag": "1.20"}]}}`},
		{"JSON that has it all", `{"registries": {"imageOverrides": [{"name": "a", "newName": "x.org/a"}]}}`, []imageoverrides.Override{pinned, b},
			`{"registries": {"imageOverrides": [{"name": "a", "newName": "reg.example.org/a", "newTag": "v1", "digest": "` + someDigest + `"}, {"name": "b", "newName": "reg.example.org/b", "newTag": "1.20"}]}}`},
		{"JSON over lines", "[\n  {\n    \"name\": \"a\",\n    \"newName\": \"reg.example.org/a\"\n  }\n]\n", []imageoverrides.Override{a, b},
			"[\n  {\n    \"name\": \"a\",\n    \"newName\": \"reg.example.org/a\"\n  },\n  {\"name\": \"b\", \"newName\": \"reg.example.org/b\", \"newTag\": \"1.20\"}\n]\n"},
		{"braces", "- {name: a, newTag: v0} # c\n", []imageoverrides.Override{{Name: "a", NewTag: "v1"}, {Name: "c", NewTag: "v2"}}, "- {name: a, newTag: v1} # c\n- name: c\n  newTag: v2\n"},
		{"an empty list", "registries:\n  imageOverrides: [] # none\n  more: 1\n", []imageoverrides.Override{a}, "registries:\n  imageOverrides: # none\n  - name: a\n    newName: reg.example.org/a\n  more: 1\n"},
		{"an empty list in JSON", `{"registries":{"imageOverrides":[]}}`, []imageoverrides.Override{a}, `{"registries":{"imageOverrides": [{"name": "a", "newName": "reg.example.org/a"}]}}`},
		{"only that", "[]", []imageoverrides.Override{a}, "\n- name: a\n  newName: reg.example.org/a"},
		{"a manifest", "kind: HelmRelease\nspec:\n  values:\n    é: 1\n    registries: {imageOverrides: [{name: a, newTag: x}]}\n", []imageoverrides.Override{{Name: "a", NewTag: "v"}, b},
			"kind: HelmRelease\nspec:\n  values:\n    é: 1\n    registries: {imageOverrides: [{name: a, newTag: v}, {name: b, newName: reg.example.org/b, newTag: \"1.20\"}]}\n"},
		{"an entry would go", "- name: a\n  newTag: v1\n- name: b\n  newTag: v1\n", []imageoverrides.Override{{Name: "a", NewTag: "v1"}}, "overrides[1] would go; take it out by hand"},
		{"an entry would be another", "- name: a\n  newTag: v1\n", []imageoverrides.Override{{Name: "b", NewTag: "v1"}}, `overrides[0] would be for "b", and is for "a"; entries keep their places`},
		{"a field would go", "- name: a\n  newTag: v1\n  newName: b\n", []imageoverrides.Override{{Name: "a", NewTag: "v1"}}, "overrides[0] would lose its newName; take the line out"},
		{"anchors", "- &a\n  name: a\n  newTag: v1\n", []imageoverrides.Override{{Name: "a", NewTag: "v2"}}, "overrides[0] cannot be edited in its notation; write it out, a field a line, without anchors and aliases"},
		{"a Secret", "kind: Secret\nstringData:\n  values.yaml: |\n    _cluster:\n      image-overrides: [{name: a, newTag: v}]\n", []imageoverrides.Override{a}, "the table is in the text of the key values.yaml; edit that text alone"},
		{"no table", "a: b\n", []imageoverrides.Override{a}, "there is no registries.imageOverrides here; [] is how an empty table is written"},
	} {
		table, err := imageoverrides.New(test.entries...)
		if err != nil {
			t.Fatal(err)
		}
		got, err := imageoverrides.Replace([]byte(test.text), table)
		if err != nil {
			got = []byte(err.Error())
		}
		if diff := cmp.Diff(test.want, string(got)); diff != "" {
			t.Errorf("%s\n%s", test.why, diff)
		}
	}
	if _, err := imageoverrides.Replace([]byte("[]"), imageoverrides.Table{}); fmt.Sprint(err) != "the table to write is unknown" {
		t.Error(err)
	}
}

// Whatever a table's text looks like: Replace gives a text with the new table and no byte less outside of the fields that change, or an error.
// In the notations that people write it is no error.
func TestReplaceLaw(t *testing.T) {
	fields := []string{"name", "newName", "newTag", "digest"}
	values := map[string]*rapid.Generator[string]{
		"newName": rapid.SampledFrom([]string{"", "reg.example.org/a", "host:5000/b", "1e3/x"}),
		"newTag":  rapid.SampledFrom([]string{"", "v1", "1.20", "true", "4.10.0"}),
		"digest":  rapid.SampledFrom([]string{"", "", someDigest}),
	}
	draw := func(t *rapid.T, name string) map[string]string {
		m := map[string]string{"name": name}
		for _, f := range fields[1:] {
			if v := values[f].Draw(t, f); v != "" {
				m[f] = v
			}
		}
		if len(m) == 1 {
			m["newTag"] = "v0"
		}
		return m
	}
	override := func(m map[string]string) imageoverrides.Override {
		return imageoverrides.Override{Name: m["name"], NewName: m["newName"], NewTag: m["newTag"], Digest: m["digest"]}
	}
	rapid.Check(t, func(t *rapid.T) {
		pick := func(list ...string) string { return rapid.SampledFrom(list).Draw(t, "pick") }
		names := []string{"nginx", "quay.io/a", "a/b", "host:5000/a", "z"}
		have := rapid.IntRange(0, 3).Draw(t, "have")
		var old, want []imageoverrides.Override
		var maps []map[string]string
		for i := range names[:rapid.IntRange(have, len(names)).Draw(t, "want")] {
			m := draw(t, names[i])
			if i < have {
				maps = append(maps, m)
				old = append(old, override(m))
				next := make(map[string]string)
				for k, v := range m {
					next[k] = v
				}
				for _, f := range fields[1:] {
					if v := values[f].Draw(t, "new "+f); v != "" {
						next[f] = v
					}
				}
				m = next
			}
			want = append(want, override(m))
		}
		var text string
		notation := pick("block", "block", "braces", "flow", "json", "indented json")
		switch notation {
		case "json", "indented json":
			v := any(map[string]any{"registries": map[string]any{"imageOverrides": maps}, "z": 1})
			if maps == nil {
				v = any(map[string]any{"registries": map[string]any{"imageOverrides": []string{}}})
			}
			b, _ := json.Marshal(v)
			if notation == "indented json" {
				b, _ = json.MarshalIndent(v, "", pick("  ", "\t"))
			}
			text = string(b)
		default:
			comment := func() string { return pick("", "", " # name: x", "   ") }
			margin := pick("", "  ", "    ")
			dash := pick("- ", "-   ")
			var b strings.Builder
			b.WriteString(pick("", "# é\n", "é: |\n  - name: x\n", "\uFEFF"))
			b.WriteString("registries:" + comment() + "\n  imageOverrides:")
			switch {
			case len(maps) == 0:
				b.WriteString(pick(" []", " []", " [ ]", "", " null") + comment() + "\n")
			case notation == "flow":
				var parts []string
				for _, m := range maps {
					parts = append(parts, flowMap(t, m, fields))
				}
				b.WriteString(" [" + strings.Join(parts, pick(", ", ",", ",\n    ")) + pick("]", " ]", ",]") + comment() + "\n")
			default:
				b.WriteString(comment() + "\n")
				for _, m := range maps {
					b.WriteString(pick("", "", "  # c\n", "\n"))
					if notation == "braces" {
						b.WriteString("  " + margin + dash + flowMap(t, m, fields) + comment() + "\n")
						continue
					}
					lead := "  " + margin + dash
					for _, f := range rapid.Permutation(fields).Draw(t, "order") {
						if m[f] != "" {
							b.WriteString(lead + f + ": " + scalar(t, m[f]) + comment() + "\n")
							lead = strings.Repeat(" ", len(lead))
						}
					}
				}
			}
			b.WriteString(pick("", "\n# end\n", "  other:\n  - name: x\n", "z: 1\n"))
			text = b.String()
			switch pick("", "", "", "crlf", "cut") {
			case "crlf":
				text = strings.ReplaceAll(text, "\n", "\r\n")
			case "cut":
				text = strings.TrimSuffix(text, "\n")
			}
		}
		before, err := imageoverrides.New(old...)
		if err != nil {
			t.Fatal(err)
		}
		if found, err := imageoverrides.Find([]byte(text)); err != nil || !found.Table.Equal(before) {
			t.Skip("another text", err)
		}
		table, err := imageoverrides.New(want...)
		if err != nil {
			t.Fatal(err)
		}
		src := []byte(text)
		got, err := imageoverrides.Replace(src, table)
		if string(src) != text {
			t.Fatal("the text was changed")
		}
		if err != nil {
			t.Fatalf("%v in\n%s", err, text)
		}
		if found, err := imageoverrides.Find(got); err != nil || !found.Table.Equal(table) {
			t.Fatalf("%v in\n%s", err, got)
		}
		if again, err := imageoverrides.Replace(got, table); err != nil || string(again) != string(got) {
			t.Fatalf("again: %v\n%s", err, again)
		}
		if table.Equal(before) && string(got) != text {
			t.Fatalf("changed\n%s", got)
		}
		// Comments, and all that is around the table, are still there.
		for _, line := range strings.Split(text, "\n") {
			if at := strings.Index(line, "#"); at >= 0 && !strings.Contains(string(got), strings.TrimSuffix(line[at:], "\r")) {
				t.Fatalf("%q is gone from\n%s", line, got)
			}
		}
		head, _, _ := strings.Cut(text, "imageOverrides")
		if !strings.HasPrefix(string(got), head) {
			t.Fatalf("not behind %q:\n%s", head, got)
		}
		if cut, ok := strings.CutSuffix(text, "z: 1\n"); ok && cut != "" && !strings.HasSuffix(string(got), "z: 1\n") {
			t.Fatalf("the end is gone:\n%s", got)
		}
	})
}

func flowMap(t *rapid.T, m map[string]string, fields []string) string {
	var parts []string
	for _, f := range rapid.Permutation(fields).Draw(t, "order") {
		if m[f] != "" {
			parts = append(parts, f+": "+scalar(t, m[f]))
		}
	}
	return "{" + strings.Join(parts, rapid.SampledFrom([]string{", ", ","}).Draw(t, "comma")) + "}"
}

func scalar(t *rapid.T, s string) string {
	switch rapid.IntRange(0, 3).Draw(t, "style") {
	case 0:
		return document.Quote(s)
	case 1:
		return "'" + s + "'"
	}
	return document.Plain(s)
}
