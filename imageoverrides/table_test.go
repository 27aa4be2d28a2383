// SPDX-License-Identifier: Apache-2.0

package imageoverrides

import (
	"bytes"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"
)

func mustTable(t tester, overrides ...Override) Table {
	t.Helper()
	table, err := New(overrides...)
	if err != nil {
		t.Fatalf("%v", err)
	}
	return table
}

func TestZeroTable(t *testing.T) {
	var unknown Table
	empty := mustTable(t)
	for _, test := range []struct {
		why        string
		table      Table
		known      bool
		json, hash string
	}{
		{"unknown", unknown, false, "null", ""},
		{"empty", empty, true, "[]", "4f53cda18c2baa0c0354bb5f9a3ecbe5ed12ab4d8e11ba873c2f11161202b945"},
	} {
		text, err := json.Marshal(test.table)
		if err != nil || string(text) != test.json {
			t.Errorf("%s: JSON %s, %v, want %s", test.why, text, err, test.json)
		}
		if test.table.Known() != test.known || test.table.Len() != 0 || test.table.Hash() != test.hash {
			t.Errorf("%s: known %v, length %d, hash %s", test.why, test.table.Known(), test.table.Len(), test.table.Hash())
		}
		for i, o := range test.table.All() {
			t.Errorf("%s: entry %d is %v", test.why, i, o)
		}
		if test.table.Lint() != nil || test.table.Strict() != nil {
			t.Errorf("%s: findings %v, %v", test.why, test.table.Lint(), test.table.Strict())
		}
	}
}

// TestHash: the hash is that of what Helm's toJson makes of the entries as maps.
func TestHash(t *testing.T) {
	overrides := []Override{
		{Name: "b", NewName: "x/y", NewTag: "v<1>&\u2028", Digest: digestA},
		{Name: "a", NewTag: "1"},
	}
	maps := []map[string]any{
		{"name": "b", "newName": "x/y", "newTag": "v<1>&\u2028", "digest": digestA},
		{"name": "a", "newTag": "1"},
	}
	helm, err := json.Marshal(maps)
	if err != nil {
		t.Fatal(err)
	}
	table := mustTable(t, overrides...)
	own, err := table.MarshalJSON()
	if err != nil || !bytes.Equal(own, helm) {
		t.Errorf("JSON %s, %v\nHelm %s", own, err, helm)
	}
	if want := fmt.Sprintf("%x", sha256.Sum256(helm)); table.Hash() != want {
		t.Errorf("hash %s, want %s", table.Hash(), want)
	}
	if slices.Reverse(overrides); mustTable(t, overrides...).Hash() == table.Hash() {
		t.Error("another order has the same hash")
	}
}

func TestTableIsImmutable(t *testing.T) {
	overrides := []Override{{Name: "a", NewTag: "1"}, {Name: "b", NewTag: "2"}}
	table := mustTable(t, overrides...)
	want := slices.Clone(overrides)
	overrides[0] = Override{}
	text, err := table.MarshalJSON()
	if err != nil {
		t.Fatal(err)
	}
	clear(text)
	if got := overridesOf(table); !slices.Equal(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
	if again, err := table.MarshalJSON(); err != nil || again[0] != '[' {
		t.Errorf("JSON %s, %v", again, err)
	}
	for range table.All() {
		break // stops without a panic
	}
}

func TestNewRefuses(t *testing.T) {
	table, err := New(Override{Name: "a:b", NewTag: "v"}, Override{}, Override{Name: "a:b"})
	if table.Known() {
		t.Error("a known table")
	}
	const want = `overrides[0]: name "a:b" must not carry a tag or digest
overrides[1]: name is required
overrides[2]: name "a:b" must not carry a tag or digest
overrides[2]: "a:b" sets none of newName, newTag, digest
overrides[2]: "a:b" is listed twice`
	if err == nil || err.Error() != want {
		t.Errorf("got\n%v\nwant\n%s", err, want)
	}
	if err := Validate(nil); err != nil {
		t.Errorf("Validate(nil): %v", err)
	}
}

// TestOddNames: names that are large or many as expressions cost nothing until they are
// needed, and are tried only as far as an image name may reach.
func TestOddNames(t *testing.T) {
	var overrides []Override
	for i := range 100 {
		overrides = append(overrides, Override{Name: strings.Repeat(fmt.Sprintf(".{%d}", 1000-i), 1000), NewTag: "v1"})
	}
	start := time.Now()
	table := mustTable(t, append(overrides, Override{Name: "a+", NewTag: "v1"})...)
	if image, entries := table.Apply("aaa"); image != "aaa:v1" || !slices.Equal(entries, []int{100}) {
		t.Errorf("%q by %v", image, entries)
	}
	if n := len(table.Lint()); n != 101 {
		t.Errorf("%d findings", n)
	}
	t.Log(time.Since(start))
}

// TestPatternRoom: the expressions of a table are tried as long as they fit, to the last step, and an expression is as long as an image
// name may be.
func TestPatternRoom(t *testing.T) {
	full := []string{"a{1000}", "b{1000}", "c{48}"} // two steps for each time
	for _, test := range []struct {
		names  []string
		excess int
	}{
		{full, -1},
		{append(slices.Clone(full), `\.`), 3},
		{append(slices.Clone(full[:2]), "c{47}", `\.`, `\-`), -1},
		{append(slices.Clone(full[:2]), "c{47}", `\.`, `\-`, `\+`), 5},
		{[]string{strings.Repeat("x", maxPattern-1) + "+", "y+"}, -1},
	} {
		var overrides []Override
		for _, name := range test.names {
			overrides = append(overrides, Override{Name: name, NewTag: "v1"})
		}
		table := mustTable(t, overrides...)
		if table.t.index.excess != test.excess {
			t.Errorf("%.60q: excess %d, want %d", test.names, table.t.index.excess, test.excess)
		}
	}
	for _, length := range []int{maxPattern, maxPattern + 1} {
		table := mustTable(t, Override{Name: strings.Repeat("x", length-1) + "+", NewTag: "v1"})
		if _, entries := table.Apply(strings.Repeat("x", length)); (entries != nil) != (length == maxPattern) {
			t.Errorf("a name of %d bytes: %v", length, entries)
		}
	}
}
