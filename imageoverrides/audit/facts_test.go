// SPDX-License-Identifier: Apache-2.0

package audit_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/cozystack/image-overrides/imageoverrides/audit"
)

// tsv reads a file of facts, line by line.
func tsv(t testing.TB, name string) [][]string {
	text, err := os.ReadFile(filepath.Join("..", "..", "..", "shared", "facts", name))
	if err != nil {
		t.Skipf("no facts: %v", err)
	}
	var rows [][]string
	for _, line := range strings.Split(strings.TrimSpace(string(text)), "\n") {
		rows = append(rows, strings.Split(line, "\t"))
	}
	return rows
}

// reasons are those of the classes that the facts sort images by.
var reasons = map[string]audit.Reason{
	"env": audit.ReasonEnvironment, "arg": audit.ReasonArgument, "split": audit.ReasonParts, "field": audit.ReasonCustomResource, "configmap": audit.ReasonConfigMap,
}

// TestUnreached: every image of the corpus that was found by hand where Flux does not look is told as unreached, at its place, for the reason
// that it has; at most one in twenty of what is told so is none of them, and at most half of what is suspected.
func TestUnreached(t *testing.T) {
	files, table := corpus(t)
	r := report(t, table, audit.Options{}, files)
	type place struct{ source, kind, name, path, image string }
	wanted := make(map[place]string)
	for _, row := range tsv(t, "unreached.tsv") {
		wanted[place{row[0], row[1], row[2], row[3], row[4]}] = row[5]
	}
	seen := make(map[place]bool)
	told, wrong := map[audit.Status]int{}, map[audit.Status]int{}
	for _, p := range r.Places {
		if p.Status != audit.Unreached && p.Status != audit.Suspected {
			continue
		}
		told[p.Status]++
		at := place{p.Source, p.Kind, p.Name, p.Path, p.Image}
		class, ok := wanted[at]
		if !ok {
			wrong[p.Status]++
			t.Logf("%s, and not known: %+v", p.Status, p)
			continue
		}
		if seen[at] = true; p.Status == audit.Unreached && p.Reason != reasons[class] {
			t.Errorf("%+v has the reason %s, want %s", at, p.Reason, reasons[class])
		}
		if p.Status == audit.Suspected {
			t.Errorf("%+v is only suspected", at)
		}
	}
	for at := range wanted {
		if !seen[at] {
			t.Errorf("not found: %+v", at)
		}
	}
	if 20*wrong[audit.Unreached] > told[audit.Unreached] || 2*wrong[audit.Suspected] > told[audit.Suspected] {
		t.Errorf("of %v told, %v are not known", told, wrong)
	}
}

// TestOffsets: the text that is told stands where it is told to stand, and the line and the column say the same.
func TestOffsets(t *testing.T) {
	files, table := corpus(t)
	for _, p := range report(t, table, audit.Options{}, files).Places {
		text := files[p.Source]
		if !strings.HasPrefix(text[p.Offset:], p.Image) {
			t.Errorf("%q at %d of %s, where %.40q stands", p.Image, p.Offset, p.Source, text[p.Offset:])
		}
		before := text[:p.Offset]
		if line := 1 + strings.Count(before, "\n"); line != p.Line {
			t.Errorf("%s:%d:%d: the line is %d", p.Source, p.Line, p.Column, line)
		}
		if column := 1 + len([]rune(before[strings.LastIndexByte(before, '\n')+1:])); column != p.Column {
			t.Errorf("%s:%d:%d: the column is %d", p.Source, p.Line, p.Column, column)
		}
	}
}
