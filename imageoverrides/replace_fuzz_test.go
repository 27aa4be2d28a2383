// SPDX-License-Identifier: Apache-2.0

package imageoverrides_test

import (
	"bytes"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/cozystack/image-overrides/imageoverrides"
)

// On any text Replace gives one with the new table, or an error, and changes nothing of its own.
func FuzzReplace(f *testing.F) {
	for _, seed := range []string{
		"- name: a\n  newTag: v1\n", "[{name: a, newTag: v1}]", "[]", "registries:\n  imageOverrides: # c\n  - name: a\n    newName: |-\n      b\n  x: &a 1\n", `{"registries":{"imageOverrides":[]}}`,
		"registries: {imageOverrides: [{name: a, newTag: v1,}, ]}", "- ? name\n  : a\n  newTag: >-\n    v1\n\n", "- {name: a, newTag: 'v''1'} # }\n- name: \"a\\x62\"\n  digest:\n  newTag: v\n", "\uFEFF- name: a\r\n  newTag: v1\r\n",
		"registries:\n  imageOverrides:\n\nz: 1\n", "kind: HelmRelease\nspec: {values: {registries: {imageOverrides: [{name: a, newTag: v}]}}}", "- name: a\n  newTag: v1\n...\n", "registries:\n  imageOverrides: &x\n  - &y {name: a, newTag: v}\nz: *x\n", "- name: a\r  newTag: v1\r",
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		found, err := imageoverrides.Find(text)
		if err != nil {
			return
		}
		var list []imageoverrides.Override
		for _, o := range found.Table.All() {
			o.NewName, o.NewTag = "reg.example.org/x", "1.20"
			list = append(list, o)
		}
		list = append(list, imageoverrides.Override{Name: "new/entry", NewName: "reg.example.org/entry"})
		table, err := imageoverrides.New(list...)
		if err != nil {
			return
		}
		before := slices.Clone(text)
		got, err := imageoverrides.Replace(text, table)
		if !bytes.Equal(text, before) {
			t.Fatal("the text was changed")
		}
		if err != nil {
			return
		}
		if again, err := imageoverrides.Find(got); err != nil || !again.Table.Equal(table) {
			t.Fatalf("%v in %q", err, got)
		}
	})
}

// Large texts of every notation are edited in a time that is about linear.
func TestReplaceLarge(t *testing.T) {
	const n = 8_000
	entries := func(before, after, between string) string {
		var list []string
		for i := range n {
			list = append(list, before+"a"+strconv.Itoa(i)+after)
		}
		return strings.Join(list, between)
	}
	for notation, text := range map[string]string{
		"lines":    entries("- name: ", "\n  newTag: v1\n", ""),
		"braces":   entries("- {name: ", ", newTag: v1}\n", ""),
		"one line": "[" + entries(`{"name": "`, `", "newTag": "v1"}`, ", ") + "]",
		"deep":     "z: " + strings.Repeat("[", 5000) + strings.Repeat("]", 5000) + "\nregistries:\n  imageOverrides:\n  - name: a\n    newTag: v1\n",
	} {
		found, err := imageoverrides.Find([]byte(text))
		if err != nil {
			t.Errorf("%s: %v", notation, err)
			continue
		}
		var list []imageoverrides.Override
		for _, o := range found.Table.All() {
			o.NewName = "reg.example.org/" + o.Name
			list = append(list, o)
		}
		list = append(list, imageoverrides.Override{Name: "z", NewTag: "v1"})
		table, err := imageoverrides.New(list...)
		if err != nil {
			t.Fatal(err)
		}
		start := time.Now()
		if _, err := imageoverrides.Replace([]byte(text), table); err != nil {
			t.Errorf("%s: %v", notation, err)
		}
		if took := time.Since(start); took > 20*time.Second {
			t.Errorf("%s: %v", notation, took)
		} else {
			t.Logf("%s: %v", notation, took)
		}
	}
}
