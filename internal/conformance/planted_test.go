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
	hashFile      = "image-overrides/templates/_hash.tpl"
	contextFile   = "image-overrides/templates/_context.tpl"
	referenceFile = "image-overrides/templates/_reference.tpl"
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
	{tableFile, `kindIs "invalid" $holder`, `false`, secretLaw},
	{tableFile, `(not (hasKey $values $parent))`, `true`, secretLaw},
	{tableFile, `"registries" "imageOverrides" $out)`, `"registries" "imageoverrides" $out)`, tableLaw},
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
	{renderersFile, `{{- $images := toJson $table -}}`, `{{- $images := toYaml $table -}}`, mergeLaw},
	{renderersFile, `{{- if $rest -}}`, `{{- if false -}}`, mergeLaw},
	{renderersFile, `if and $value (ne $key "images")`, `if (ne $key "images")`, mergeLaw},
	{renderersFile, `(ne $key "images")`, `true`, mergeLaw},
	{renderersFile, `(eq (add1 $i) (len $own))`, `true`, mergeLaw},
	{renderersFile, `(eq (add1 $i) (len $own))`, `false`, mergeLaw},
	{renderersFile, `(eq $images $table.images)`, `true`, mergeLaw},
	{renderersFile, `(not (index $renderer "kustomize" "patches"))`, `true`, mergeLaw},
	{renderersFile, `if and $table.item (eq`, `if and (eq`, mergeLaw},
	{renderersFile, `(prepend $table $marker)`, `(append $table $marker)`, mergeLaw},
	{renderersFile, `(get (first .) "name"`, `(get (last .) "name"`, mergeLaw},
	{renderersFile, `{{- if include "image-overrides.marked" ($images | fromJsonArray) -}}`, `{{- if false -}}`, mergeLaw},
	{renderersFile, `{{- $items = append $items (include "image-overrides.item" $renderer) -}}`,
		`{{- $items = prepend $items (include "image-overrides.item" $renderer) -}}`, mergeLaw},
	{renderersFile, `image-overrides.invalid/table` + "\n{{- end", `image-overrides.invalid/tables` + "\n{{- end", mergeLaw},
	{renderersFile, `"_cluster" "image-overrides" $out)`, `"_cluster" "imageOverrides" $out)`, secretLaw},
	{renderersFile, `{{- if kindIs "slice" $list -}}`, `{{- if $list -}}`, mergeLaw},
	{renderersFile, `{{- $image := dict -}}` + "\n" + `{{- if kindIs "map" . -}}`, `{{- $image := dict -}}` + "\n" + `{{- if . -}}`, mergeLaw},
	{renderersFile, `{{- if kindIs "map" $kustomize -}}`, `{{- if $kustomize -}}`, mergeLaw},
	{renderersFile, `{{- if kindIs "map" . -}}` + "\n" + `{{- $kustomize`, `{{- if . -}}` + "\n" + `{{- $kustomize`, mergeLaw},
	{renderersFile, `{{- if $value }}{{ $_ := set $image`, `{{- if true }}{{ $_ := set $image`, mergeLaw},
	{hashFile, `{{- get (get $out "table") "hash" -}}`, `{{- get (get $out "table") "hash" }}{{ "\n" -}}`, mergeLaw},
	{hashFile, `{{- get (get $out "table") "hash" -}}`, `{{- get (get $out "table") "hash" | default "none" -}}`, mergeLaw},
	{contextFile, `{{- if not (hasKey $all $json) -}}`, `{{- if not $all -}}`, mergeLaw},

	{strictFile, `{{- $limit := 1048576 -}}`, `{{- $limit := 1048577 -}}`, strictLaw},
	{strictFile, `[\\\\\\[\\](){}*+?|^$]`, `[\\[\\](){}*+?|^$]`, strictLaw},
	{strictFile, `[\\\\\\[\\](){}*+?|^$]`, `[\\\\(){}*+?|^$]`, strictLaw},
	{strictFile, `[\\\\\\[\\](){}*+?|^$]`, `[\\\\\\[\\]{}*+?|^$]`, strictLaw},
	{strictFile, `[\\\\\\[\\](){}*+?|^$]`, `[\\\\\\[\\]()*+?|^$]`, strictLaw},
	{strictFile, `[\\\\\\[\\](){}*+?|^$]`, `[\\\\\\[\\](){}+?|^$]`, strictLaw},
	{strictFile, `[\\\\\\[\\](){}*+?|^$]`, `[\\\\\\[\\](){}*?|^$]`, strictLaw},
	{strictFile, `[\\\\\\[\\](){}*+?|^$]`, `[\\\\\\[\\](){}*+|^$]`, strictLaw},
	{strictFile, `[\\\\\\[\\](){}*+?|^$]`, `[\\\\\\[\\](){}*+?^$]`, strictLaw},
	{strictFile, `[\\\\\\[\\](){}*+?|^$]`, `[\\\\\\[\\](){}*+?|$]`, strictLaw},
	{strictFile, `[\\\\\\[\\](){}*+?|^$]`, `[\\\\\\[\\](){}*+?|^]`, strictLaw},
	{strictFile, `[\\\\\\[\\](){}*+?|^$]`, `[\\\\\\[\\](){}*+?|^$.]`, strictLaw},
	{strictFile, `{{- if include "image-overrides.nameFault" $name -}}`, `{{- if not (contains "[" $name) -}}`, strictLaw},
	{strictFile, `{{- else if $host -}}`, `{{- else if false -}}`, strictLaw},

	{referenceFile, `"^[a-zA-Z0-9+.-]+://"`, `"^[a-zA-Z0-9.-]+://"`, faultLaw},
	{referenceFile, `"^[a-zA-Z0-9+.-]+://"`, `"^[a-z0-9+.-]+://"`, faultLaw},
	{referenceFile, `"^[a-zA-Z0-9+.-]+://"`, `"^[a-zA-Z0-9+.-]*://"`, faultLaw},
	{referenceFile, `"^[a-zA-Z0-9+.-]+://"`, `"^[^:]+://"`, faultLaw},
	{referenceFile, `(eq $first "localhost")`, `false`, faultLaw},
	{referenceFile, `"[.:A-Z]"`, `"[.:]"`, faultLaw},
	{referenceFile, `"[.:A-Z]"`, `"[.A-Z]"`, faultLaw},
	{referenceFile, `"[.:A-Z]"`, `"[:A-Z]"`, faultLaw},
	{referenceFile, `"^[0-9a-f]{64}$"`, `"[0-9a-f]{64}$"`, faultLaw},
	{referenceFile, `"^[0-9a-f]{64}$"`, `"^[0-9a-f]{63,64}$"`, faultLaw},
	{referenceFile, `(list "" "docker.io" "index.docker.io")`, `(list "docker.io" "index.docker.io")`, faultLaw},
	{referenceFile, `(list "" "docker.io" "index.docker.io")`, `(list "" "index.docker.io")`, faultLaw},
	{referenceFile, `(list "" "docker.io" "index.docker.io")`, `(list "" "docker.io")`, faultLaw},
	{referenceFile, `(not (contains "/" $repository))`, `true`, faultLaw},
	{referenceFile, `{{- $before = "library/" -}}`, ``, faultLaw},
	{referenceFile, `{{- $before = printf "%s/" $host -}}`, ``, faultLaw},
	{referenceFile, `not (include "image-overrides.repositoryFault" $host)`, `false`, faultLaw},
	{referenceFile, `(gt $length 255)`, `(gt $length 256)`, faultLaw},
	{referenceFile, `(gt $length 255)`, `(gt $length 254)`, faultLaw},
	{referenceFile, `(?:[a-zA-Z0-9-]*[a-zA-Z0-9])?"`, `[a-zA-Z0-9-]*"`, faultLaw},
	{referenceFile, `"^%s(?:[.]%s)*$"`, `"^%s(?:[.]%s)?$"`, faultLaw},
	{referenceFile, `(printf "^(?:%s[.])*" $label)`, `(printf "^(?:%s[.])?" $label)`, faultLaw},
	{referenceFile, `"^[^\\]]*\\]"`, `"^.*\\]"`, faultLaw},
	{referenceFile, `{{- else if contains ":" $port -}}`, `{{- else if false -}}`, faultLaw},
	{referenceFile, `{{- $odd := regexFind "[^0-9a-fA-F:]" $address -}}`, `{{- $odd := regexFind "[^0-9a-f:]" $address -}}`, faultLaw},
	{referenceFile, `trimPrefix "[" . | trimSuffix "]"`, `trimAll "[]" .`, faultLaw},
	{referenceFile, `[.]|__?|-+)`, `[.]|_|-+)`, faultLaw},
	{referenceFile, `[.]|__?|-+)`, `[.]|_+|-+)`, faultLaw},
	{referenceFile, `[.]|__?|-+)`, `[.]|__?|-)`, faultLaw},
	{referenceFile, `(printf "^(?:%s/)*" $component)`, `(printf "^(?:%s/)?" $component)`, faultLaw},
	{referenceFile, `regexFind "^[._-]+"`, `regexFind "^[._-]"`, faultLaw},
	{referenceFile, `"[^a-z0-9._/-]"`, `"[^a-z0-9._/+-]"`, faultLaw},
	{referenceFile, `"[^a-zA-Z0-9._-]"`, `"[^a-zA-Z0-9._+-]"`, faultLaw},
	{referenceFile, `gt (len .) 128`, `gt (len .) 129`, faultLaw},
	{referenceFile, `gt (len .) 128`, `gt (len .) 127`, faultLaw},
	{referenceFile, `"^[.-]"`, `"^[._-]"`, faultLaw},
	{referenceFile, `"^0*(?:[1-9]`, `"^(?:[1-9]`, faultLaw},
	{referenceFile, `"^0*(?:[1-9]`, `"^0*(?:[0-9]`, faultLaw},
	{referenceFile, `6553[0-5]`, `6553[0-6]`, faultLaw},
	{referenceFile, `6553[0-5]`, `6553[0-4]`, faultLaw},
	{referenceFile, `[1-5][0-9]{4}`, `[1-6][0-9]{4}`, faultLaw},
	{referenceFile, `[1-5][0-9]{4}`, `[1-4][0-9]{4}`, faultLaw},
	{referenceFile, `(eq $groups 8)`, `(ge $groups 8)`, faultLaw},
	{referenceFile, `(eq $groups 8)`, `true`, faultLaw},
	{referenceFile, `(lt $groups 8)`, `(le $groups 8)`, faultLaw},
	{referenceFile, `(lt $groups 8)`, `(lt $groups 7)`, faultLaw},
	{referenceFile, `"[0-9a-fA-F]{1,4}"`, `"[0-9a-f]{1,4}"`, faultLaw},
	{referenceFile, `"[0-9a-fA-F]{1,4}"`, `"[0-9a-fA-F]+"`, faultLaw},
	{referenceFile, `{{- if eq . "'" -}}`, `{{- if false -}}`, faultLaw},
	{referenceFile, `{{- else if eq . "\"" -}}`, `{{- else if false -}}`, faultLaw},
	{referenceFile, `{{- if eq . " " -}}`, `{{- if false -}}`, faultLaw},
	{referenceFile, `regexMatch "[A-Z]" .`, `regexMatch "[A-Y]" .`, faultLaw},
}

// fails are the calls of fail, which are the rules.
var fails = regexp.MustCompile(`\{\{- fail \(printf "[^\n]* -\}\}`)

// leftOut gives each rule of the chart once, left out.
func leftOut(t *testing.T) (list []difference) {
	for file, rules := range map[string]law{tableFile: tableLaw, strictFile: strictLaw} {
		text, err := fs.ReadFile(library, file)
		if err != nil {
			t.Fatal(err)
		}
		for _, rule := range fails.FindAllString(string(text), -1) {
			l := rules
			if strings.Contains(rule, "_cluster") {
				l = secretLaw
			}
			list = append(list, difference{file, rule, "", l})
		}
	}
	if len(list) != 11+7 { // those of the table, and Lint's
		t.Errorf("%d rules", len(list))
	}
	return list
}

// TestPlanted plants each difference in a copy of the chart, and sees that its law finds it
// within 20,000 draws.
func TestPlanted(t *testing.T) {
	set(t, "rapid.checks", strconv.Itoa(plenty))
	set(t, "rapid.nofailfile", "true")
	set(t, "rapid.shrinktime", "0s")
	for _, d := range append(leftOut(t), differences...) {
		t.Run(fmt.Sprintf("%s to %s", d.old, d.new), func(t *testing.T) {
			t.Parallel()
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
func plant(t testing.TB, d difference) fs.FS {
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
