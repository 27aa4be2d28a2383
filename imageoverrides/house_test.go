// SPDX-License-Identifier: Apache-2.0

package imageoverrides

import (
	"io/fs"
	"os"
	"path"
	"regexp"
	"strings"
	"testing"
)

// TestHouse: the map of the house in doc.go names every package of the repository, and no other.
func TestHouse(t *testing.T) {
	doc, err := os.ReadFile("doc.go")
	if err != nil {
		t.Fatal(err)
	}
	_, house, _ := strings.Cut(string(doc), "# The house")
	house, _, found := strings.Cut(house, "\n// # ")
	if !found {
		t.Fatal("doc.go has no map of the house")
	}
	named := make(map[string]bool)
	for _, word := range regexp.MustCompile(`\b(?:imageoverrides|postrender|reference|internal|examples)\b[/a-z0-9]*`).FindAllString(house, -1) {
		named[strings.TrimSuffix(word, "/")] = true
	}
	root := os.DirFS("..")
	there := make(map[string]bool)
	err = fs.WalkDir(root, ".", func(name string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() && (d.Name() == "testdata" || strings.HasPrefix(name, ".") && name != "." || name == "internal/e2e/build") {
			return fs.SkipDir
		}
		if strings.HasSuffix(name, ".go") {
			there[path.Dir(name)] = true
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	for dir := range there {
		if !named[dir] {
			t.Errorf("doc.go does not say what %s is", dir)
		}
	}
	for dir := range named {
		if _, err := fs.Stat(root, dir); err != nil {
			t.Errorf("doc.go names %s, which is not there", dir)
		}
	}
}
