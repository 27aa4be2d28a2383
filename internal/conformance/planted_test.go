// SPDX-License-Identifier: Apache-2.0

package conformance

import (
	"flag"
	"fmt"
	"io/fs"
	"regexp"
	"runtime"
	"strconv"
	"strings"
	"testing"
	"testing/fstest"

	"pgregory.net/rapid"
)

const (
	tableFile     = "image-overrides/templates/_table.tpl"
	valuesFile    = "image-overrides/templates/_values.tpl"
	strictFile    = "image-overrides/templates/_strict.tpl"
	renderersFile = "image-overrides/templates/_postrenderers.tpl"
)

// A difference is a change of the chart that makes it another than the Go side.
type difference struct {
	file     string
	old, new string // old stands in the file exactly once
	law      law    // finds it
}

// differences are what the laws must find, besides each of the rules left out.
var differences = []difference{
	{tableFile, `"^sha256:[0-9a-f]{64}$"`, `"sha256:[0-9a-f]{64}$"`, tableLaw},
	{tableFile, `"^sha256:[0-9a-f]{64}$"`, `"^sha256:[0-9a-f]{64}"`, tableLaw},
	{tableFile, `"^sha256:[0-9a-f]{64}$"`, `"^sha256:[0-9a-fA-F]{64}$"`, tableLaw},
	{tableFile, `"^sha256:[0-9a-f]{64}$"`, `"^(?m)sha256:[0-9a-f]{64}$"`, tableLaw},
	{tableFile, `"^sha256:[0-9a-f]{64}$"`, `"^sha(256|512):[0-9a-f]+$"`, tableLaw},
	{tableFile, `"@|:[^/]*$"`, `"@|:"`, tableLaw},
	{tableFile, `"@|:[^/]*$"`, `":[^/]*$"`, tableLaw},
	{tableFile, `"@|:[^/]*$"`, `"@|:.*$"`, tableLaw},
	{tableFile, `(printf "%s[%d]" $path $i)`, `(printf "%s[%d]" $path (add1 $i))`, tableLaw},
	{tableFile, `{{- else if $value -}}`, `{{- else -}}`, tableLaw},
	{tableFile, `"newTag" "digest")`, `"newTag" "digest" "newImage")`, tableLaw},
	{tableFile, `{{- $_ := set $seen $name true -}}`, ``, tableLaw},
	{tableFile, `{{- $_ := set $seen $name true -}}`, `{{- $_ := set $seen (lower $name) true -}}`, tableLaw},
	{tableFile, `{{- fail (printf "%s: unknown field %q" $path $field) -}}`, `{{- fail (printf "%s: unknown field '%s'" $path $field) -}}`, tableLaw},
	{tableFile, `(and (eq $parent "registries") (include "image-overrides.empty" $holder))`, `false`, tableLaw},
	{tableFile, `(and (eq $parent "registries") (include "image-overrides.empty" $holder))`, `(include "image-overrides.empty" $holder)`, secretLaw},
	{tableFile, `(kindIs "invalid" $holder)`, `false`, secretLaw},
	{tableFile, `"registries" "imageOverrides")`, `"registries" "imageoverrides")`, tableLaw},
	{tableFile, `{{- if $i }}{{ "\n" }}{{ end -}}`, ``, tableLaw},

	{valuesFile, `{{- $yaml := "" -}}`, `{{- $yaml := toYaml (list .) -}}`, pageLaw},
	{valuesFile, `\\\\u003cno value|`, ``, pageLaw},
	{valuesFile, `|\\\\u202[89]`, ``, pageLaw},
	{valuesFile, `[\\x7f-\\xa0`, `[\\xa0`, pageLaw},
	{valuesFile, `{{- if contains "\\n" $json -}}`, `{{- if false -}}`, tableLaw},
	{valuesFile, ` | replace "\\\\" "\\"`, ``, pageLaw},
	{valuesFile, ` | replace "\\\"" "\""`, ``, pageLaw},

	{renderersFile, `trunc 12`, `trunc 11`, mergeLaw},
	{renderersFile, `sha256sum`, `sha1sum`, mergeLaw},
	{renderersFile, `(toJson $table | sha256sum`, `(toYaml $table | sha256sum`, mergeLaw},
	{renderersFile, `{{- if $rest -}}`, `{{- if false -}}`, mergeLaw},
	{renderersFile, `(ne $key "images")`, `true`, mergeLaw},
	{renderersFile, `(eq (add1 $i) (len $own))`, `true`, mergeLaw},
	{renderersFile, `(eq (add1 $i) (len $own))`, `false`, mergeLaw},
	{renderersFile, `(eq (toJson $images) (toJson $table))`, `true`, mergeLaw},
	{renderersFile, `(not (index $renderer "kustomize" "patches"))`, `true`, mergeLaw},
	{renderersFile, `(prepend $table $marker)`, `(append $table $marker)`, mergeLaw},
	{renderersFile, `(get (first .) "name"`, `(get (last .) "name"`, mergeLaw},
	{renderersFile, `{{- if include "image-overrides.marked" $images -}}`, `{{- if false -}}`, mergeLaw},
	{renderersFile, `{{- $items = append $items (include "image-overrides.item" $renderer) -}}`,
		`{{- $items = prepend $items (include "image-overrides.item" $renderer) -}}`, mergeLaw},
	{renderersFile, `image-overrides.invalid/table` + "\n{{- end", `image-overrides.invalid/tables` + "\n{{- end", mergeLaw},
	{renderersFile, `"_cluster" "image-overrides")`, `"_cluster" "imageOverrides")`, secretLaw},

	{strictFile, `{{- $limit := 1048576 -}}`, `{{- $limit := 1048577 -}}`, strictLaw},
	{strictFile, `(eq $host "localhost")`, `false`, strictLaw},
	{strictFile, `"[.:A-Z]"`, `"[.:]"`, strictLaw},
	{strictFile, `"[.:A-Z]"`, `"[.A-Z]"`, strictLaw},
	{strictFile, `"[.:A-Z]"`, `"[:A-Z]"`, strictLaw},
	{strictFile, `(?:[a-zA-Z0-9-]*[a-zA-Z0-9])?"`, `[a-zA-Z0-9-]*"`, strictLaw},
	{strictFile, `\\[[0-9a-fA-F:]+\\]`, `\\[[0-9a-f:]+\\]`, strictLaw},
	{strictFile, `|\\[[0-9a-fA-F:]+\\]`, ``, strictLaw},
	{strictFile, `(?::[0-9]+)?`, `(?::[0-9]*)?`, strictLaw},
	{strictFile, `(?::[0-9]+)?`, ``, strictLaw},
	{strictFile, `[.]|_|__|-+)`, `[.]|_|-+)`, strictLaw},
	{strictFile, `[.]|_|__|-+)`, `[.]|_+|-+)`, strictLaw},
	{strictFile, `[.]|_|__|-+)`, `[.]|_|__|-)`, strictLaw},
	{strictFile, `{{- $sound = regexMatch (printf "^%s$" $component) $host -}}`, `{{- $sound = false -}}`, strictLaw},
	{strictFile, `{{- $before = printf "%s/" $host -}}`, ``, strictLaw},
	{strictFile, `{{- $before = "library/" -}}`, ``, strictLaw},
	{strictFile, `(list "" "docker.io" "index.docker.io")`, `(list "docker.io" "index.docker.io")`, strictLaw},
	{strictFile, `(list "" "docker.io" "index.docker.io")`, `(list "" "index.docker.io")`, strictLaw},
	{strictFile, `(list "" "docker.io" "index.docker.io")`, `(list "" "docker.io")`, strictLaw},
	{strictFile, `(not (contains "/" $path))`, `true`, strictLaw},
	{strictFile, ` 255)`, ` 256)`, strictLaw},
	{strictFile, ` 255)`, ` 254)`, strictLaw},
	{strictFile, `(not (regexMatch "^[0-9a-f]{64}$" .))`, `true`, strictLaw},
	{strictFile, `(not (regexMatch "^[0-9a-f]{64}$" .))`, `(not (regexMatch "[0-9a-f]{64}$" .))`, strictLaw},
	{strictFile, `{0,127}$"`, `{0,128}$"`, strictLaw},
	{strictFile, `{0,127}$"`, `{0,126}$"`, strictLaw},
	{strictFile, `"^[a-zA-Z0-9_][`, `"^[a-zA-Z0-9_.][`, strictLaw},
}

// fails are the calls of fail, which are the rules.
var fails = regexp.MustCompile(`\{\{- fail \(printf "[^\n]* -\}\}`)

// leftOut gives each rule of the chart once, left out.
func leftOut(t *testing.T) (list []difference) {
	for file, l := range map[string]law{tableFile: tableLaw, strictFile: strictLaw} {
		text, err := fs.ReadFile(library, file)
		if err != nil {
			t.Fatal(err)
		}
		for _, rule := range fails.FindAllString(string(text), -1) {
			list = append(list, difference{file, rule, "", l})
		}
	}
	if len(list) != 10+6 { // an entry's nine rules and the list's, and those of Lint
		t.Errorf("%d rules", len(list))
	}
	return list
}

// TestPlanted plants each difference in a copy of the chart, and sees that its law finds it
// within 20,000 draws.
func TestPlanted(t *testing.T) {
	set(t, "rapid.checks", strconv.Itoa(draws))
	set(t, "rapid.nofailfile", "true")
	set(t, "rapid.shrinktime", "0s")
	for _, d := range append(leftOut(t), differences...) {
		t.Run(fmt.Sprintf("%s to %s", d.old, d.new), func(t *testing.T) {
			s := newSuite(t, plant(t, d))
			n := 0
			if !refuted(t, func(t *rapid.T) { n++; d.law(t, s) }) {
				t.Errorf("not found in %d draws:\n%s\n%s", n, d.old, d.new)
			}
			t.Logf("found after %d draws: %q to %q", n, d.old, d.new)
		})
	}
}

// plant returns the chart with the difference in it.
func plant(t *testing.T, d difference) fs.FS {
	files := fstest.MapFS{}
	err := fs.WalkDir(library, ".", func(name string, e fs.DirEntry, err error) error {
		if err != nil || e.IsDir() {
			return err
		}
		data, err := fs.ReadFile(library, name)
		if name == d.file {
			text := string(data)
			if strings.Count(text, d.old) != 1 {
				t.Fatalf("%s has %q %d times", name, d.old, strings.Count(text, d.old))
			}
			data = []byte(strings.Replace(text, d.old, d.new, 1))
		}
		files[name] = &fstest.MapFile{Data: data}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return files
}

// set sets a flag for the time of a test. Tests that run in parallel begin after it.
func set(t *testing.T, name, value string) {
	before := flag.Lookup(name).Value.String()
	if err := flag.Set(name, value); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { flag.Set(name, before) })
}

// refuted reports whether a property fails.
func refuted(t *testing.T, property func(*rapid.T)) bool {
	probe := &probe{T: t}
	done := make(chan struct{})
	go func() {
		defer close(done)
		rapid.Check(probe, property)
	}()
	<-done
	return probe.failed
}

// A probe takes a property's failure without a failure of the test.
type probe struct {
	*testing.T
	failed bool
}

func (p *probe) Failed() bool          { return p.failed }
func (p *probe) Fail()                 { p.failed = true }
func (p *probe) FailNow()              { p.failed = true; runtime.Goexit() }
func (p *probe) Log(...any)            {}
func (p *probe) Logf(string, ...any)   {}
func (p *probe) Error(...any)          { p.failed = true }
func (p *probe) Errorf(string, ...any) { p.failed = true }
func (p *probe) Fatal(...any)          { p.FailNow() }
func (p *probe) Fatalf(string, ...any) { p.FailNow() }
