// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"context"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/cozystack/image-overrides/imageoverrides"
	"github.com/cozystack/image-overrides/imageoverrides/audit"
)

// pods are manifests of Pods, each with an image.
func pods(images ...string) string {
	var text strings.Builder
	for i, image := range images {
		text.WriteString("apiVersion: v1\nkind: Pod\nmetadata: {name: p" + string(rune('0'+i)) + "}\nspec: {containers: [{name: c, image: '" + image + "'}]}\n---\n")
	}
	return text.String()
}

// TestPlan: the table or the list of copies, what is told, and the exit status.
func TestPlan(t *testing.T) {
	const digest = "sha256:0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"
	const own = "# mine\nregistries:\n  imageOverrides:\n  - {name: quay.io/a, newName: reg.example.org/m/rebuilt, newTag: \"2\"} # ours\n  - {name: quay.io/b, newName: else.example.org/b}\n"
	const unreached = "apiVersion: v1\nkind: Pod\nmetadata: {name: q, namespace: s}\nspec:\n  containers:\n  - name: c\n    image: nginx:1\n    args: [--image=quay.io/c:1, --other-image=quay.io/c:1, '--image=${IMAGE}']\n"
	for _, test := range []struct {
		why, table, manifests string
		flags                 []string
		status                int
		stdout, stderr        string // $ is the folder
	}{
		{"nothing", "", "", nil, 2, "", "the manifests have no document; see whether what renders them has failed\n"},
		{"no image", "", "apiVersion: v1\nkind: Namespace\nmetadata: {name: n}\n", nil, 0, "registries:\n  imageOverrides: []\n", "0 images, 0 entries and 0 new; 0 left, 0 where Flux does not look, 0 suspected, 0 faults in manifests\n"},
		{"no table", "", pods("nginx:1", "docker.io/library/nginx:1", "reg.example.org/m/x:1"), nil, 0,
			"registries:\n  imageOverrides:\n  - name: nginx\n    newName: reg.example.org/m/docker.io/library/nginx\n  - name: docker.io/library/nginx\n    newName: reg.example.org/m/docker.io/library/nginx\n",
			"reg.example.org/m/x:1: nobody has said what it is a copy of, so it has to be there already\n3 images, 0 entries and 2 new; 0 left, 0 where Flux does not look, 0 suspected, 0 faults in manifests\n"},
		{"a table", own, pods("quay.io/a:1", "quay.io/d:1"), nil, 0, strings.Replace(own, "b}\n", "b}\n  - name: quay.io/d\n    newName: reg.example.org/m/quay.io/d\n", 1),
			"reg.example.org/m/rebuilt:2: nobody has said what it is a copy of, so it has to be there already\n2 images, 2 entries and 1 new; 0 left, 0 where Flux does not look, 0 suspected, 0 faults in manifests\n"},
		{"what is left", own, pods("quay.io/b:1", "quay.io/b:1", "x@sha512:"+strings.Repeat("a", 128)), nil, 1, own + "  - name: x\n    newName: reg.example.org/m/docker.io/library/x\n",
			"$/p.yaml:4:39: Pod p0: spec.containers[0].image: quay.io/b:1 is left: entry 1 makes it else.example.org/b:1, which is not in the mirror (and 1 place more)\n" +
				"$/p.yaml:14:39: Pod p2: spec.containers[0].image: x@sha512:" + strings.Repeat("a", 128) + " is left: its digest is not of sha256, and Flux matches no other; use that of sha256, or write the image without\n" +
				"2 images, 2 entries and 1 new; 2 left, 0 where Flux does not look, 0 suspected, 0 faults in manifests\n"},
		{"what is skipped", own, pods("quay.io/b:1", "quay.io/d:1", "quay.io/d:2"), []string{"-skip", "quay.io/b", "-skip", "quay.io/d:1", "-skip", "quay.io/z"}, 0, own + "  - name: quay.io/d\n    newName: reg.example.org/m/quay.io/d\n",
			"-skip quay.io/z: no image of the manifests is called so\n1 image, 2 entries and 1 new; 0 left, 0 where Flux does not look, 0 suspected, 0 faults in manifests\n"},
		{"where Flux does not look", "", unreached, nil, 0, "registries:\n  imageOverrides:\n  - name: nginx\n    newName: reg.example.org/m/docker.io/library/nginx\n  - name: quay.io/c\n    newName: reg.example.org/m/quay.io/c\n",
			"$/p.yaml:8:20: Pod s/q: spec.containers[0].args[0]: quay.io/c:1 stands where Flux does not look: set it in the chart's values, or patch it; the mirror's is reg.example.org/m/quay.io/c:1 (and 1 place more)\n" +
				"mirror patches is for what stands where Flux does not look\n2 images, 0 entries and 2 new; 0 left, 1 where Flux does not look, 0 suspected, 0 faults in manifests\n"},
		{"a fault", "", "a: b: c\n---\n" + pods("nginx:1"), nil, 1, "registries:\n  imageOverrides:\n  - name: nginx\n    newName: reg.example.org/m/docker.io/library/nginx\n",
			"$/p.yaml:1:5: mapping values are not allowed in this context\n1 image, 0 entries and 1 new; 0 left, 0 where Flux does not look, 0 suspected, 1 fault in manifests\n"},
		{"pairs", "", pods("nginx:1", "docker.io/library/nginx:1", "nginx:1@"+digest, "nginx@"+digest), []string{"-o", "pairs"}, 0,
			"docker.io/library/nginx:1 reg.example.org/m/docker.io/library/nginx:1\ndocker.io/library/nginx:1@" + digest + " reg.example.org/m/docker.io/library/nginx@" + digest + "\n",
			"4 images, 2 copies, 0 not written; 0 left, 0 where Flux does not look, 0 suspected, 0 faults in manifests\n"},
		{"no words for it", own, pods("nginx@"+digest, "quay.io/a:1"), []string{"-o", "hauler"}, 1, "apiVersion: content.hauler.cattle.io/v1\nkind: Images\nmetadata:\n  name: mirror\nspec:\n  images: []\n",
			"reg.example.org/m/rebuilt:2: nobody has said what it is a copy of, so it has to be there already\n" +
				"docker.io/library/nginx@" + digest + ": hauler has no words for a copy to reg.example.org/m/docker.io/library/nginx@" + digest + "; mirror copy has\n" +
				"2 images, 1 copy, 1 not written; 0 left, 0 where Flux does not look, 0 suspected, 0 faults in manifests\n"},
		{"two images of one name", "", pods("quay.io/a:1", "ghcr.io/a:1"), []string{"-without-host"}, 2, "",
			"ghcr.io/a and quay.io/a: both would be reg.example.org/m/a; keep the source's host in the names, or write an entry for one of them with another repository\n"},
		{"a table that cannot be edited", "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: c}\ndata:\n  values.yaml: |\n    registries: {imageOverrides: []}\n", pods("a:1"), nil, 2, "",
			"$/values.yaml: the table is in the text of the key values.yaml; edit that text alone\n"},
		{"a place that is none", "", "", []string{"-m", "reg.example.org/"}, 2, "", "-m \"reg.example.org/\": a repository belongs behind the slash\n"},
		{"a report of something else", "", `{"summary": {}, "places": []}`, nil, 2, "", "$/p.yaml: is no report of imageoverrides audit -o json: it has not each of summary, places and risks\n"},
		{"a report that is cut off", "", `{"summary": {}, "places": [`, nil, 2, "", "$/p.yaml: is no report of imageoverrides audit -o json: unexpected end of JSON input\n"},
		{"a report of another time", "", `{"places": [{"status": "eaten"}], "summary": {}, "risks": []}`, nil, 2, "", "$/p.yaml: is no report that is understood here: places[0] has the status \"eaten\"\n"},
	} {
		dir := t.TempDir()
		args := []string{"plan", "-m", "reg.example.org/m"}
		if test.table != "" {
			args = append(args, "-t", filepath.Join(dir, "values.yaml"))
			if err := os.WriteFile(filepath.Join(dir, "values.yaml"), []byte(test.table), 0o644); err != nil {
				t.Fatal(err)
			}
		}
		if err := os.WriteFile(filepath.Join(dir, "p.yaml"), []byte(test.manifests), 0o644); err != nil {
			t.Fatal(err)
		}
		status, stdout, stderr := command(t, "", false, append(append(args, test.flags...), filepath.Join(dir, "p.yaml"))...)
		if status != test.status {
			t.Errorf("%s: status %d, want %d", test.why, status, test.status)
		}
		same(t, test.why, test.stdout, stdout)
		same(t, test.why, test.stderr, strings.ReplaceAll(stderr, dir, "$"))
	}
}

// TestPlanOfReport: a report stands for the manifests that it is of, whatever table it was made under, and however its keys are ordered.
func TestPlanOfReport(t *testing.T) {
	manifests := pods("nginx:1", "quay.io/a:1", " x:1", "b:1@sha512:"+strings.Repeat("a", 128)) + "apiVersion: v1\nkind: Pod\nmetadata: {name: q}\nspec: {containers: [{name: c, image: a, args: [--image=quay.io/c:1]}]}\n--- \na: b: c\n"
	other, err := imageoverrides.New(imageoverrides.Override{Name: "nginx", NewName: "reg.example.org/elsewhere"}, imageoverrides.Override{Name: "[", NewName: "x"})
	if err != nil {
		t.Fatal(err)
	}
	a := audit.New(other, audit.Options{Allowed: []string{"quay.io"}})
	if err := a.Add("<stdin>", strings.NewReader(manifests)); err != nil {
		t.Fatal(err)
	}
	var report bytes.Buffer
	if err := a.Report().WriteJSON(&report); err != nil {
		t.Fatal(err)
	}
	status, stdout, stderr := command(t, manifests, false, "plan", "-m", "reg.example.org/m", "-")
	again, out, errs := command(t, report.String(), false, "plan", "-m", "reg.example.org/m", "-")
	if status != statusMissing || again != status || !strings.Contains(stderr, "2 left, 1 where Flux does not look, 0 suspected, 1 fault") {
		t.Errorf("status %d and %d, %s", status, again, stderr)
	}
	same(t, "table", stdout, out)
	same(t, "told", stderr, errs)
}

// TestPlanRefuses: files that cannot be read, and a report that is longer than one may be.
func TestPlanRefuses(t *testing.T) {
	dir := t.TempDir()
	for _, test := range []struct {
		why, file, start string
		length           int
		want             string
	}{
		{"a folder", ".", "", 0, "$/.: is a directory\n"},
		{"nothing there", "none.yaml", "", 0, "open $/none.yaml: no such file or directory\n"},
		{"a long report", "a.json", "{\"places\": [", maxFile + 1, "$/a.json: is longer than 67108864 bytes\n"},
	} {
		path := dir + "/" + test.file
		if test.length > 0 {
			if err := os.WriteFile(path, []byte(test.start+strings.Repeat(" ", test.length-len(test.start))), 0o644); err != nil {
				t.Fatal(err)
			}
		}
		status, stdout, stderr := command(t, "", false, "plan", "-m", "reg.example.org/m", path)
		if status != statusUsage || stdout != "" || !strings.HasPrefix(strings.ReplaceAll(stderr, dir, "$"), test.want) {
			t.Errorf("%s: status %d, %s%s", test.why, status, stdout, stderr)
		}
	}
}

// TestUnwritable: what could not be written in the end is told before it is read, and before anything is asked or sent.
func TestUnwritable(t *testing.T) {
	to := newStore(t, "")
	dir, locked := t.TempDir(), file(t, "values.yaml", "[]\n")
	if err := os.Chmod(locked, 0o444); err != nil {
		t.Fatal(err)
	}
	tests := map[string]string{dir: dir + ": is no file that can be read again and replaced\n", os.DevNull: os.DevNull + ": is no file that can be read again and replaced\n", dir + "/x": "stat " + dir + "/x: no such file or directory\n"}
	if f, err := os.OpenFile(locked, os.O_WRONLY, 0); err != nil {
		tests[locked] = "open " + locked + ": permission denied\n"
	} else if err := f.Close(); err != nil { // who may do all can write it too
		t.Fatal(err)
	}
	for table, want := range tests {
		for _, args := range [][]string{{"plan", "-w"}, {"sync", "-plain-http", to.host, "-attempts", "1"}} {
			status, stdout, stderr := command(t, pods("nginx:1"), false, append(args, "-m", to.host+"/m", "-t", table, "-")...)
			if status != statusUsage || stdout != "" || stderr != want {
				t.Errorf("%s: status %d, %s%s", args[0], status, stdout, stderr)
			}
		}
	}
}

// TestPlanOpens: each file is closed before the next is opened, for a system opens only so many.
func TestPlanOpens(t *testing.T) {
	opened := func() int {
		list, err := os.ReadDir("/proc/self/fd")
		if err != nil {
			t.Skip("this system does not say which files are open: ", err)
		}
		return len(list)
	}
	args := []string{"plan", "-m", "reg.example.org/m"}
	for range 50 {
		args = append(args, file(t, "a.yaml", pods("nginx:1")))
	}
	before, while := opened(), 0
	var stderr bytes.Buffer
	s := streams{stdin: readFunc(func(p []byte) (int, error) { while = opened(); return 0, io.EOF }), stdout: io.Discard, stderr: &stderr}
	if status := s.run(context.Background(), append(args, "-")); status != statusThere || while-before > 10 {
		t.Errorf("status %d, %d files are open and were %d: %s", status, while, before, stderr.String())
	}
}

// A readFunc reads by a function.
type readFunc func(p []byte) (int, error)

func (f readFunc) Read(p []byte) (int, error) { return f(p) }

// TestPlanInPlace: -w writes the file, and only where it changes.
func TestPlanInPlace(t *testing.T) {
	path := file(t, "values.yaml", "registries: {imageOverrides: []} # none\n")
	for _, want := range []string{"1 image, 0 entries and 1 new; ", "1 image, 1 entry and 0 new; "} {
		status, stdout, stderr := command(t, pods("nginx:1"), false, "plan", "-m", "reg.example.org/m", "-t", path, "-w", "-")
		if status != 0 || stdout != "" || !strings.HasPrefix(stderr, want) {
			t.Errorf("status %d, %s%s", status, stdout, stderr)
		}
		text, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		same(t, want, "registries: {imageOverrides: [{\"name\": \"nginx\", \"newName\": \"reg.example.org/m/docker.io/library/nginx\"}]} # none\n", string(text))
	}
}
