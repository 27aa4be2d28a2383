// SPDX-License-Identifier: Apache-2.0

package main

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/cozystack/image-overrides/imageoverrides"
	"github.com/cozystack/image-overrides/imageoverrides/audit"
)

// TestStory: the four commands of the README, to the letter but for the names of files and the registry, bring a platform behind a mirror. A second time
// they send nothing and change no byte.
func TestStory(t *testing.T) {
	readme, err := os.ReadFile("../../README.md")
	if err != nil {
		t.Fatal(err)
	}
	_, section, _ := strings.Cut(string(readme), "## A platform behind a mirror\n")
	section, _, _ = strings.Cut(section, "\n## ")
	var commands [][]string
	for _, m := range regexp.MustCompile(`(?m)^    go run \. (.*)$`).FindAllStringSubmatch(section, -1) {
		commands = append(commands, strings.Fields(m[1]))
	}
	if len(commands) != 4 {
		t.Fatalf("%d commands in the README", len(commands))
	}
	s := newStore(t, "", "team/app:v1", "team/sidecar:v1")
	dir := t.TempDir()
	files := map[string]string{
		"values.yaml":        "registries:\n  # what the platform runs under other names\n  imageOverrides: []\n",
		"config.json":        `{"auths": {}}`,
		"manifests/app.yaml": "apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: app}\nspec: {template: {spec: {containers: [{name: app, image: HOST/team/app:v1, args: [--sidecar-image=HOST/team/sidecar:v1]}]}}}\n",
	}
	if err := os.Mkdir(filepath.Join(dir, "manifests"), 0o777); err != nil {
		t.Fatal(err)
	}
	for name, text := range files {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(strings.ReplaceAll(text, "HOST", s.host)), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	values := filepath.Join(dir, "values.yaml")
	read := func() string {
		text, err := os.ReadFile(values)
		if err != nil {
			t.Fatal(err)
		}
		return string(text)
	}
	run := func(words []string) (stdout, stderr string) {
		args := []string{words[0], "-plain-http", s.host}
		if words[0] == "plan" || words[0] == "patches" { // which ask nobody
			args = args[:1]
		}
		for _, arg := range words[1:] {
			switch {
			case arg == "manifests/*.yaml":
				arg = filepath.Join(dir, "manifests", "app.yaml")
			case files[arg] != "":
				arg = filepath.Join(dir, arg)
			}
			args = append(args, strings.Replace(arg, "registry.example.org", s.host, 1))
		}
		status, stdout, stderr := command(t, "", false, args...)
		if status != statusThere {
			t.Fatalf("%v: status %d\n%s%s", args, status, stdout, stderr)
		}
		return stdout, stderr
	}
	before := read()
	planned, _ := run(commands[0])
	if read() != before {
		t.Fatal("the plan was written")
	}
	run(commands[1])
	if read() != planned {
		t.Errorf("synced\n%s, planned\n%s", read(), planned)
	}
	patches, _ := run(commands[2])
	run(commands[3])
	mirrored := s.host + "/mirror/" + strings.ReplaceAll(s.host, ":", "_")
	if !strings.Contains(patches, `"--sidecar-image=`+mirrored+`/team/sidecar:v1"`) {
		t.Errorf("patches\n%s", patches)
	}
	found, err := imageoverrides.Find([]byte(read()))
	if err != nil {
		t.Fatal(err)
	}
	report, err := streams{}.audit(audit.New(found.Table, audit.Options{Allowed: []string{s.host + "/mirror"}}), []string{filepath.Join(dir, "manifests", "app.yaml")})
	if err != nil {
		t.Fatal(err)
	}
	if r := report.Summary; r.Rewritten != 1 || r.Unreached != 1 || r.Outside != 1 {
		t.Errorf("%+v", r)
	}
	sent := s.sent
	for _, words := range commands {
		run(words)
	}
	if s.sent != sent || read() != planned {
		t.Errorf("a second time %d requests send something, and the values are\n%s", s.sent-sent, read())
	}
}
