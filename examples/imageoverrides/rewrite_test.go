// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"testing/iotest"
	"time"
)

// pod is a Pod with one image of the table one, and what it becomes.
const (
	pod        = "apiVersion: v1\nkind: Pod\nmetadata: {name: a}\nspec:\n  containers:\n  - image: registry.k8s.io/pause:3.9   # any\n"
	podAfter   = "apiVersion: v1\nkind: Pod\nmetadata: {name: a}\nspec:\n  containers:\n  - image: registry.k8s.io/pause:3.10   # any\n"
	podChange  = ":6:12: Pod a spec.containers[0].image: registry.k8s.io/pause:3.9 -> registry.k8s.io/pause:3.10\n"
	service    = "apiVersion: v1\nkind: Service\nmetadata: {name: a}\n"
	noManifest = "apiVersion: v1\nkind: [Pod\n---\n"
)

func TestRewrite(t *testing.T) {
	files := func(pairs ...string) map[string]string {
		m := map[string]string{"t": one}
		for i := 0; i < len(pairs); i += 2 {
			m[pairs[i]] = pairs[i+1]
		}
		return m
	}
	const oneChanged = "1 document, 1 image changed\n"
	calls(t, []call{
		{why: "standard input", files: files(), stdin: pod, args: "rewrite -t t", stdout: podAfter, stderr: "<stdin>" + podChange + oneChanged},
		{why: "standard input among files", files: files("a", service), stdin: pod, args: "rewrite -t t a -", stdout: service + "---\n" + podAfter,
			stderr: "<stdin>" + podChange + "2 documents, 1 image changed\n"},
		{why: "the table from standard input", files: map[string]string{"a": pod}, stdin: one, args: "rewrite -t - a", stdout: podAfter, stderr: "a" + podChange + oneChanged},
		{why: "a table in values", files: map[string]string{"v": oneValues}, stdin: pod, args: "rewrite -t v", stdout: podAfter, stderr: "<stdin>" + podChange + oneChanged},
		{why: "a table in a Secret", files: map[string]string{"s": secretText("data", base64Text(oneSecret))}, stdin: pod, args: "rewrite -t s", stdout: podAfter,
			stderr: "<stdin>" + podChange + oneChanged},
		{why: "no input", files: files(), args: "rewrite -t t", stderr: "0 documents, 0 images changed\n"},
		{why: "nothing to change", files: files(), stdin: service, args: "rewrite -t t", stdout: service, stderr: "1 document, 0 images changed\n"},
		{why: "an empty table says so", files: map[string]string{"t": "registries: {imageOverrides: []}"}, stdin: pod, args: "rewrite -t t", stdout: pod,
			stderr: "t: registries.imageOverrides: the table is empty, hash " + emptyHash + "\n1 document, 0 images changed\n"},

		{why: "files joined: no separator, no line break at the end", args: "rewrite -t t a b",
			files:  files("a", strings.TrimSuffix(pod, "\n"), "b", service),
			stdout: podAfter + "---\n" + service, stderr: "a" + podChange + "2 documents, 1 image changed\n"},
		{why: "files joined: a separator is there", args: "rewrite -t t a b",
			files:  files("a", service, "b", "---\n"+pod),
			stdout: service + "---\n" + podAfter, stderr: "b:7:12: Pod a" + strings.TrimPrefix(podChange, ":6:12: Pod a") + "2 documents, 1 image changed\n"},
		{why: "files joined: a byte order mark belongs to the start of a stream", args: "rewrite -t t a b",
			files:  files("a", "\uFEFF"+service, "b", "\uFEFF"+pod),
			stdout: "\uFEFF" + service + "---\n" + podAfter, stderr: "b" + podChange + "2 documents, 1 image changed\n"},
		{why: "files joined: a directive ends the document before", args: "rewrite -t t a b",
			files:  files("a", service, "b", "%YAML 1.2\n---\n"+service),
			stdout: service + "...\n%YAML 1.2\n---\n" + service, stderr: "2 documents, 0 images changed\n"},
		{why: "files joined: three dashes that are no separator", args: "rewrite -t t a b", files: files("a", service, "b", "---x: y\n"),
			stdout: service + "---\n---x: y\n", stderr: "2 documents, 0 images changed\n"},
		{why: "files joined: four dashes", args: "rewrite -t t a b", files: files("a", service, "b", "----\n"), stdout: service + "---\n----\n", stderr: "2 documents, 0 images changed\n"},
		{why: "files joined: a separator with something behind it", args: "rewrite -t t a b", files: files("a", service, "b", "--- {a: b}\n"), stdout: service + "--- {a: b}\n",
			stderr: "2 documents, 0 images changed\n"},
		{why: "files joined: an empty one behind one without a line break", args: "rewrite -t t a b", files: files("a", strings.TrimSuffix(service, "\n"), "b", ""),
			stdout: strings.TrimSuffix(service, "\n"), stderr: "1 document, 0 images changed\n"},
		{why: "files joined: the same before another", args: "rewrite -t t a b c", files: files("a", strings.TrimSuffix(service, "\n"), "b", "", "c", "a: b"),
			stdout: service + "---\na: b", stderr: "2 documents, 0 images changed\n"},
		{why: "files joined: empty ones", args: "rewrite -t t a b c d",
			files:  files("a", "", "b", service, "c", "", "d", service),
			stdout: service + "---\n" + service, stderr: "2 documents, 0 images changed\n"},

		{why: "a broken table", files: map[string]string{"t": "- {name: a, newTag: 1.20}\n- {name: a}\n"}, stdin: pod, args: "rewrite -t t", status: 1,
			stderr: "t:1:21: overrides[0].newTag must be a string, got float64; quote it\n" +
				"t:2:3: overrides[1]: \"a\" sets none of newName, newTag, digest\n" +
				"t:2:10: overrides[1]: \"a\" is listed twice\n"},
		{why: "a table that breaks Flux", files: map[string]string{"t": "- {name: '[', newTag: a}\n"}, stdin: pod, args: "rewrite -t t", status: 1,
			stderr: "t:1:10: error: overrides[0]: name \"[\" has the character '[', so that Flux reads it as a regular expression; write the image as manifests spell it, without tag and digest (no-reference)\n"},
		{why: "no such table", args: "rewrite -t t", stdin: pod, status: 1, stderr: "t: no such file or directory\n"},

		{why: "no such manifest", files: files("a", pod), args: "rewrite -t t a b c", status: 1, stdout: podAfter, stderr: "a" + podChange + "b: no such file or directory\n"},
		{why: "a folder", files: files(), args: "rewrite -t t .", status: 1, stderr: ".: is a directory; name the files in it\n"},
		{why: "no YAML: what came before is written", files: files("a", pod+"---\n"+noManifest+pod, "b", pod), args: "rewrite -t t a b", status: 1,
			stdout: podAfter, stderr: "a" + podChange + "a:9:10: did not find expected ',' or ']'\n"},
		{why: "an alias bomb", files: files("a", bomb("kind: Pod\n")), args: "rewrite -t t a", status: 1,
			stderr: "a:1:29: aliases stand for more than 131072 values\n"},

		{why: "-w: what changes is written, and nothing else", files: files("a", pod, "b", service), args: "rewrite -t t -w a b",
			after: map[string]string{"a": podAfter}, stderr: "a" + podChange + "2 documents, 1 image changed, 1 file written\n"},
		{why: "-w: CRLF, byte order mark, no line break at the end", files: files("a", "\uFEFF"+strings.ReplaceAll(strings.TrimSpace(pod), "\n", "\r\n")), args: "rewrite -w -t t a",
			after:  map[string]string{"a": "\uFEFF" + strings.ReplaceAll(strings.TrimSpace(podAfter), "\n", "\r\n")},
			stderr: "a" + podChange + "1 document, 1 image changed, 1 file written\n"},
		{why: "-w: the first error ends the work", files: files("a", pod, "b", pod+"---\n"+noManifest, "c", pod), args: "rewrite -t t -w a b c", status: 1,
			after: map[string]string{"a": podAfter}, stderr: "a" + podChange + "b:9:10: did not find expected ',' or ']'\n"},
		{why: "-w: no such file", files: files("b", pod), args: "rewrite -t t -w a b", status: 1, stderr: "a: no such file or directory\n"},
		{why: "-w: a folder", files: files("b", pod), args: "rewrite -t t -w . b", status: 1, stderr: ".: is a directory; name the files in it\n"},
		{why: "-w: a device", files: files("b", pod), args: "rewrite -t t -w " + os.DevNull + " b", status: 1, stderr: os.DevNull + ": is no regular file, so -w cannot replace it\n"},
		{why: "-w: a broken table", files: map[string]string{"t": "x", "a": pod}, args: "rewrite -t t -w a", status: 1,
			stderr: "t: a string holds no table; expected the platform chart's values, a list of entries, or a manifest of kind Secret, ConfigMap, HelmRelease or Package that has them\n"},
	})
}

// A file keeps its mode, and its name where it is a symbolic link; an unchanged one is not
// touched at all.
func TestRewriteInPlace(t *testing.T) {
	t.Chdir(t.TempDir())
	old := time.Date(2025, 6, 1, 12, 0, 0, 0, time.UTC)
	for name, text := range map[string]string{"t": one, "changed": pod, "unchanged": service, "target": pod} {
		write(t, name, text)
		if err := os.Chtimes(name, old, old); err != nil {
			t.Fatal(err)
		}
	}
	before := make(map[string]os.FileInfo)
	for name, mode := range map[string]os.FileMode{"changed": 0o751, "unchanged": 0o604, "target": 0o600} {
		if err := os.Chmod(name, mode); err != nil {
			t.Fatal(err)
		}
		before[name] = stat(t, name)
	}
	if err := os.Mkdir("links", 0o755); err != nil {
		t.Fatal(err)
	}
	link := filepath.Join("links", "link")
	if err := os.Symlink(filepath.Join("..", "target"), link); err != nil {
		t.Skip(err)
	}
	var stdout, stderr bytes.Buffer
	if status := run([]string{"rewrite", "-t", "t", "-w", "changed", "unchanged", link}, nil, &stdout, &stderr); status != 0 {
		t.Errorf("status %d", status)
	}
	same(t, "standard output", stdout.String(), "")
	same(t, "standard error", stderr.String(), "changed"+podChange+link+podChange+"3 documents, 2 images changed, 2 files written\n")
	for name, info := range before {
		after := stat(t, name)
		if after.Mode() != info.Mode() {
			t.Errorf("%s: mode %v, want %v", name, after.Mode(), info.Mode())
		}
		if touched := !after.ModTime().Equal(old) || !os.SameFile(after, info); touched != (name != "unchanged") {
			t.Errorf("%s: touched is %t", name, touched)
		}
	}
	same(t, "changed", read(t, "changed"), podAfter)
	same(t, "target", read(t, "target"), podAfter)
	if to, err := os.Readlink(link); err != nil || to != filepath.Join("..", "target") {
		t.Errorf("the link leads to %q, %v", to, err)
	}
	for dir, want := range map[string]int{".": 5, "links": 1} {
		if entries, err := os.ReadDir(dir); err != nil || len(entries) != want {
			t.Errorf("%s holds %v, %v", dir, entries, err)
		}
	}
}

func stat(t *testing.T, name string) os.FileInfo {
	t.Helper()
	info, err := os.Stat(name)
	if err != nil {
		t.Fatal(err)
	}
	return info
}

// Where the temporary file cannot be written, the file is as it was, and the temporary
// file is gone.
func TestRewriteFullDisk(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("the limit of file sizes is tried on Linux")
	}
	if testing.CoverMode() != "" {
		t.Skip("the limit hits the coverage data too")
	}
	t.Chdir(t.TempDir())
	write(t, "t", one)
	write(t, "a", pod)
	stdout, stderr, status := process(t, "ulimit -f 0", "rewrite -t t -w a")
	same(t, "standard output", stdout, "")
	same(t, "standard error", stderr, "a: file too large\n")
	if status != 1 {
		t.Errorf("status %d", status)
	}
	same(t, "a", read(t, "a"), pod)
	if entries, err := os.ReadDir("."); err != nil || len(entries) != 2 {
		t.Errorf("the folder holds %v, %v", entries, err)
	}
}

// A file that may not be written to is not replaced, though its folder would allow it.
func TestRewriteReadOnly(t *testing.T) {
	if os.Geteuid() == 0 {
		t.Skip("root may write to every file")
	}
	t.Chdir(t.TempDir())
	write(t, "t", one)
	write(t, "a", pod)
	if err := os.Chmod("a", 0o444); err != nil {
		t.Fatal(err)
	}
	var stdout, stderr bytes.Buffer
	if status := run([]string{"rewrite", "-t", "t", "-w", "a"}, nil, &stdout, &stderr); status != 1 {
		t.Errorf("status %d", status)
	}
	same(t, "standard error", stderr.String(), "a: permission denied\n")
	same(t, "a", read(t, "a"), pod)
}

// Errors of the streams name the stream.
func TestStreamErrors(t *testing.T) {
	t.Chdir(t.TempDir())
	write(t, "t", one)
	for _, command := range []string{"rewrite", "merge"} {
		var stdout, stderr bytes.Buffer
		broken := iotest.TimeoutReader(iotest.OneByteReader(strings.NewReader(pod)))
		if status := run([]string{command, "-t", "t"}, broken, &stdout, &stderr); status != 1 {
			t.Errorf("%s: status %d", command, status)
		}
		same(t, command+": standard output", stdout.String(), "")
		same(t, command+": standard error", stderr.String(), "<stdin>: timeout\n")

		stderr.Reset()
		if status := run([]string{command, "-t", "t"}, strings.NewReader(service), closed{}, &stderr); status != 1 {
			t.Errorf("%s: status %d", command, status)
		}
		same(t, command+": standard error", stderr.String(), "<stdout>: nobody reads\n")
	}
	var stdout, stderr bytes.Buffer
	if status := run([]string{"check", "-"}, iotest.ErrReader(errors.New("cut off")), &stdout, &stderr); status != 1 {
		t.Errorf("check: status %d", status)
	}
	same(t, "check: standard error", stderr.String(), "<stdin>: cut off\n")
}

type closed struct{}

func (closed) Write([]byte) (int, error) { return 0, errors.New("nobody reads") }
