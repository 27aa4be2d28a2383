// SPDX-License-Identifier: Apache-2.0

package main

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

// guards are what runs for a mutant of a package, by its folder: quick tests first, and those of other packages and of other
// modules last. A package that is not here has its own tests, which alone are run where the guards are listed too.
var guards = map[string][]guard{
	"examples/imageoverrides":    {{dir: "examples/imageoverrides", skip: slow}},
	"imageoverrides/audit":       {{dir: "imageoverrides/audit", skip: slow}},
	"internal/entries":           {{dir: "internal/entries"}, {dir: "imageoverrides", run: "Replace"}, {dir: "postrender", run: "Images|Kustomization"}},
	"internal/manifest":          {{dir: "internal/manifest"}, {dir: "imageoverrides", run: rewriting}},
	"internal/manifest/document": {{dir: "internal/manifest/document"}, {dir: "internal/manifest"}},
	"internal/node":              {{dir: "internal/node"}, {dir: "internal/release"}, {dir: "imageoverrides", skip: "Rewrite|" + slow}},
	"internal/refuse":            {{dir: "internal/refuse"}, {dir: "imageoverrides", skip: "Rewrite|" + slow}, {dir: "postrender", run: "Refuse|Hostile|Rewrite(Faults|Errors)"}},
	"internal/release":           {{dir: "internal/release"}, {dir: "postrender", skip: "Patches|Images|Kustomization|" + slow}},
	"internal/replace":           {{dir: "internal/replace"}, {dir: "examples/imageoverrides", run: "Replace|FullDevice"}},
	"internal/values":            {{dir: "internal/values"}, {dir: "imageoverrides", run: "Find|Places|Absent"}},
	"postrender":                 {{dir: "postrender", skip: slow}, {dir: "postrender", run: slow}},
	"imageoverrides": {
		{dir: "imageoverrides", skip: "Rewrite|Hostile"},
		{dir: "imageoverrides", run: "Rewrite|Hostile"},
	},
	"imageoverrides/chart": {
		{dir: "imageoverrides/chart", skip: slow},
		{dir: "internal/conformance", run: "^TestCheck"}, // with Helm, which takes ten seconds to link
	},
}

// slow are the tests of large and hostile input, of what it costs above all.
const slow = "Hostile|Linear|Large|Memory|Bounds"

// rewriting are the quick tests of what Rewrite makes of texts.
const rewriting = "^TestRewrite(AsKustomize|Laws|Notations|Tags|Merges|Empty|StaysJSON|Documents|Limits|Faults|LineBreaks|Object|Safety)$|Facts"

// A guard is a folder whose tests run for a mutant. It may be of another module that has this one by a replace directive.
type guard struct {
	dir  string
	run  string // the names of the tests, as go test -run has them; "" for all
	skip string // those of them that do not run, in the same way
	laws bool   // takes a number of draws
}

func (r *run) guardsOf(root, dir string) ([]guard, error) {
	own, err := filepath.Rel(root, dir)
	if err != nil {
		return nil, err
	}
	own = filepath.ToSlash(own)
	list := slices.Clone(r.guards[own])
	if list == nil {
		list = []guard{{dir: own}}
	}
	for i := range list {
		g := &list[i]
		g.dir = filepath.Join(root, filepath.FromSlash(g.dir))
		imports, err := output(g.dir, "go", "list", "-f", "{{.TestImports}} {{.XTestImports}}", ".")
		if err != nil {
			return nil, err
		}
		g.laws = strings.Contains(string(imports), "pgregory.net/rapid")
	}
	return list, nil
}

// outcome is what the tests said.
type outcome int

const (
	passed outcome = iota
	failed
	unbuilt // what the compiler refuses, though go/types did not
)

// limited runs a test with 8 GB of address space: a mutant may take all there is. Where the shell cannot limit it, it runs without.
const limited = `-exec=sh -c 'ulimit -v 8388608 2>/dev/null; exec "$@"' sh`

// test runs the tests of a folder with files of an overlay in place of the tree's, which is not touched.
func test(g guard, overlay string, draws int, seed uint64, timeout time.Duration) (outcome, string) {
	args := []string{"test", "-vet=off", "-count=1", "-failfast", "-timeout", timeout.String(), "-run", g.run, "-skip", g.skip, limited, "."}
	if g.laws {
		args = append(args, "-rapid.nofailfile", "-rapid.shrinktime=0s", fmt.Sprint("-rapid.checks=", draws), fmt.Sprint("-rapid.seed=", seed))
	}
	cmd := exec.Command("go", args...)
	cmd.Dir = g.dir
	// In the environment, so that a test which runs go sees the mutant too.
	cmd.Env = append(os.Environ(), "GOFLAGS="+strings.TrimSpace(os.Getenv("GOFLAGS")+" -overlay="+overlay))
	text, err := cmd.CombinedOutput()
	switch {
	case err == nil:
		return passed, ""
	case strings.Contains(string(text), "[build failed]") || strings.Contains(string(text), "[setup failed]"):
		return unbuilt, string(text)
	}
	return failed, string(text)
}

// overlay writes a mutant and the file that tells go of it, into a folder of their own.
func overlay(dir string, m mutant) (string, error) {
	text := filepath.Join(dir, "mutant.go")
	if err := os.WriteFile(text, []byte(m.mutated()), 0o644); err != nil {
		return "", err
	}
	config, err := json.Marshal(map[string]any{"Replace": map[string]string{m.name: text}})
	if err != nil {
		return "", err
	}
	name := filepath.Join(dir, "overlay.json")
	return name, os.WriteFile(name, config, 0o644)
}

// try runs the guards of a mutant, with few draws and then, where all passed, with many.
func (r *run) try(guards []guard, m mutant) (outcome, error) {
	dir, err := os.MkdirTemp("", "mutant")
	if err != nil {
		return passed, err
	}
	defer os.RemoveAll(dir)
	config, err := overlay(dir, m)
	if err != nil {
		return passed, err
	}
	for i, draws := range []int{r.few, r.many} {
		for _, g := range guards {
			if i > 0 && (!g.laws || r.many <= r.few) {
				continue
			}
			if result, _ := test(g, config, draws, r.seed, r.timeout); result != passed {
				return result, nil
			}
		}
	}
	return passed, nil
}
