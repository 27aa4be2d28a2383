// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"go/ast"
	"go/importer"
	"go/parser"
	"go/token"
	"go/types"
	"io"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
)

// A mutant is the code with one place changed.
type mutant struct {
	*source
	edit
}

// mutated is the text of the file, changed.
func (m mutant) mutated() string {
	return m.source.text[:m.start] + m.edit.text + m.source.text[m.end:]
}

// loaded is a package whose files parse and compile.
type loaded struct {
	dir, path string
	fset      *token.FileSet
	files     []*source
	importer  types.Importer
}

// load reads the package in a folder, without its tests. What it imports is compiled once, and read from there.
func load(dir string) (*loaded, error) {
	text, err := output(dir, "go", "list", "-export", "-deps", "-json=ImportPath,Export,GoFiles,Dir,DepOnly", ".")
	if err != nil {
		return nil, err
	}
	p := &loaded{dir: dir, fset: token.NewFileSet()}
	exports := make(map[string]string)
	var names []string
	for d := json.NewDecoder(bytes.NewReader(text)); ; {
		var listed struct {
			ImportPath, Export, Dir string
			GoFiles                 []string
			DepOnly                 bool
		}
		if err := d.Decode(&listed); err == io.EOF {
			break
		} else if err != nil {
			return nil, err
		}
		exports[listed.ImportPath] = listed.Export
		if !listed.DepOnly {
			p.path = listed.ImportPath
			for _, name := range listed.GoFiles {
				names = append(names, filepath.Join(listed.Dir, name))
			}
		}
	}
	p.importer = importer.ForCompiler(p.fset, "gc", func(path string) (io.ReadCloser, error) { return os.Open(exports[path]) })
	for _, name := range names {
		text, err := os.ReadFile(name)
		if err != nil {
			return nil, err
		}
		file, err := parser.ParseFile(p.fset, name, text, parser.SkipObjectResolution)
		if err != nil {
			return nil, err
		}
		p.files = append(p.files, &source{name: name, text: string(text), file: file})
	}
	return p, nil
}

// only leaves mutants to the files of these names alone, or to all where there are none. A name that no file has is an error.
func (p *loaded) only(names []string) error {
	if names == nil {
		return nil
	}
	for _, name := range names {
		if !slices.ContainsFunc(p.files, func(s *source) bool { return filepath.Base(s.name) == name }) {
			return fmt.Errorf("%s has no file %q that is compiled", p.dir, name)
		}
	}
	for _, s := range p.files {
		s.kept = !slices.Contains(names, filepath.Base(s.name))
	}
	return nil
}

// check types the package, with another file in place of one of its own.
func (p *loaded) check(instead *source, file *ast.File) (*types.Package, *types.Info, error) {
	var files []*ast.File
	for _, s := range p.files {
		if s == instead {
			files = append(files, file)
		} else {
			files = append(files, s.file)
		}
	}
	info := &types.Info{Types: make(map[ast.Expr]types.TypeAndValue), Uses: make(map[*ast.Ident]types.Object), Defs: make(map[*ast.Ident]types.Object)}
	pkg, err := (&types.Config{Importer: p.importer}).Check(p.path, p.fset, files, info)
	return pkg, info, err
}

// compiles says whether a mutant does.
func (p *loaded) compiles(m mutant) bool {
	file, err := parser.ParseFile(p.fset, m.name, m.mutated(), parser.SkipObjectResolution)
	if err != nil {
		return false
	}
	_, _, err = p.check(m.source, file)
	return err == nil
}

// mutants yields the package's mutants that compile, in an order drawn by the seed: each place once, with a change drawn of
// those that can be made there.
func (p *loaded) mutants(seed uint64, yield func(mutant) bool) error {
	pkg, info, err := p.check(nil, nil)
	if err != nil {
		return err
	}
	var all [][]mutant
	for _, s := range p.files {
		if s.kept {
			continue
		}
		for _, edits := range places(s, p.fset, pkg, info) {
			var ways []mutant
			for _, e := range edits {
				ways = append(ways, mutant{s, e})
			}
			all = append(all, ways)
		}
	}
	random := rand.New(rand.NewPCG(seed, 0))
	random.Shuffle(len(all), func(i, j int) { all[i], all[j] = all[j], all[i] })
	seen := make(map[mutant]bool)
	for _, ways := range all {
		random.Shuffle(len(ways), func(i, j int) { ways[i], ways[j] = ways[j], ways[i] })
		for _, m := range ways {
			if seen[m] || !p.compiles(m) {
				continue
			}
			seen[m] = true
			if !yield(m) {
				return nil
			}
			break
		}
	}
	return nil
}

// change is what a mutant changes, as lines: the number of the first one, what it was, and what it is.
func (m mutant) change() (line int, before, after string) {
	was, is := strings.SplitAfter(m.source.text, "\n"), strings.SplitAfter(m.mutated(), "\n")
	start := 0
	for start < len(was) && start < len(is) && was[start] == is[start] {
		start++
	}
	end := 0
	for end < len(was)-start && end < len(is)-start && was[len(was)-1-end] == is[len(is)-1-end] {
		end++
	}
	return start + 1, lines(was[start : len(was)-end]), lines(is[start : len(is)-end])
}

// lines joins lines, without the white space around them: they are found again in another place.
func lines(list []string) string {
	var trimmed []string
	for _, line := range list {
		if line = strings.TrimSpace(line); line != "" {
			trimmed = append(trimmed, line)
		}
	}
	return strings.Join(trimmed, "\n")
}

// output runs a command and returns what it writes; an error tells what it complained about.
func output(dir, name string, args ...string) ([]byte, error) {
	cmd := exec.Command(name, args...)
	cmd.Dir = dir
	text, err := cmd.Output()
	if exit := (*exec.ExitError)(nil); errors.As(err, &exit) {
		return nil, fmt.Errorf("%s %s in %s: %v\n%s", name, strings.Join(args, " "), dir, err, exit.Stderr)
	}
	return text, err
}
