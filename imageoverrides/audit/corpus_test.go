// SPDX-License-Identifier: Apache-2.0

package audit_test

import (
	"cmp"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/cozystack/image-overrides/imageoverrides"
	"github.com/cozystack/image-overrides/imageoverrides/audit"
)

// corpus returns the files of the corpus and its table.
func corpus(t testing.TB) (files map[string]string, table imageoverrides.Table) {
	dir := cmp.Or(os.Getenv("CORPUS"), filepath.Join("..", "..", "..", "shared", "corpus"))
	list, _ := filepath.Glob(filepath.Join(dir, "*.yaml"))
	if len(list) == 0 {
		t.Skipf("no corpus in %s", dir)
	}
	files = make(map[string]string)
	for _, file := range list {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		if filepath.Base(file) != "overrides.yaml" {
			files[filepath.Base(file)] = string(text)
			continue
		}
		if table, err = imageoverrides.Parse(text); err != nil {
			if table, err = imageoverrides.ParseValuesText(text); err != nil {
				t.Fatal(err)
			}
		}
	}
	return files, table
}

// report audits files.
func report(t testing.TB, table imageoverrides.Table, o audit.Options, files map[string]string) *audit.Report {
	t.Helper()
	a := audit.New(table, o)
	for name, text := range files {
		if err := a.Add(name, strings.NewReader(text)); err != nil {
			t.Fatal(err)
		}
	}
	return a.Report()
}
