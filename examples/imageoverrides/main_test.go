// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/cozystack/image-overrides/imageoverrides"
)

var update = flag.Bool("update", false, "write the golden files anew")

// TestMain lets the tests start the command in a process of its own.
func TestMain(m *testing.M) {
	if os.Getenv("IMAGEOVERRIDES_MAIN") != "" {
		main()
	}
	os.Exit(m.Run())
}

// A run is one call of the command in a folder of its own.
type call struct {
	why    string
	files  map[string]string // in the folder
	args   string            // split at white space
	stdin  string
	stdout string
	stderr string
	status int
	after  map[string]string // the files that are different afterwards
}

// calls makes the calls, and compares all that they write. A file that is not in after must be
// as it was, and no other file may be there.
func calls(t *testing.T, list []call) {
	t.Helper()
	for _, c := range list {
		t.Run(c.why, func(t *testing.T) {
			dir := t.TempDir()
			t.Chdir(dir)
			for name, text := range c.files {
				write(t, name, text)
			}
			var stdout, stderr bytes.Buffer
			status := run(strings.Fields(c.args), strings.NewReader(c.stdin), &stdout, &stderr)
			same(t, "standard output", stdout.String(), c.stdout)
			same(t, "standard error", stderr.String(), c.stderr)
			if status != c.status {
				t.Errorf("status %d, want %d", status, c.status)
			}
			entries, err := os.ReadDir(".")
			if err != nil {
				t.Fatal(err)
			}
			if len(entries) != len(c.files) {
				t.Errorf("the folder holds %v", entries)
			}
			for name, want := range c.files {
				if text, ok := c.after[name]; ok {
					want = text
				}
				same(t, name, read(t, name), want)
			}
		})
	}
}

// must parses a table.
func must(text string) imageoverrides.Table {
	t, err := imageoverrides.Parse([]byte(text))
	if err != nil {
		panic(err)
	}
	return t
}

func same(t *testing.T, what, got, want string) {
	t.Helper()
	if got != want {
		t.Errorf("%s:\n%s\nwant:\n%s\ngot  %q\nwant %q", what, got, want, got, want)
	}
}

func write(t *testing.T, name, text string) {
	t.Helper()
	if err := os.WriteFile(name, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
}

func read(t *testing.T, name string) string {
	t.Helper()
	text, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

func TestUsage(t *testing.T) {
	calls(t, []call{
		{why: "help", args: "-h", stdout: usage},
		{why: "help, with one dash", args: "-help", stdout: usage},
		{why: "help, long", args: "--help", stdout: usage},
		{why: "help of check", args: "check -h", stdout: checkUsage},
		{why: "help of rewrite", args: "rewrite --help", stdout: rewriteUsage},
		{why: "help of merge, behind other flags", args: "merge -t x -h", stdout: mergeUsage},
		{why: "no command", args: "", status: 2, stderr: "imageoverrides: no command\n\n" + usage},
		{why: "unknown command", args: "lint x", status: 2, stderr: "imageoverrides: unknown command \"lint\"\n\n" + usage},
		{why: "flag before the command", args: "-t x rewrite", status: 2, stderr: "imageoverrides: unknown command \"-t\"\n\n" + usage},
		{why: "check: no file", args: "check", status: 2, stderr: "imageoverrides check: one file expected, got 0\n\n" + checkUsage},
		{why: "check: two files", args: "check a b", status: 2, stderr: "imageoverrides check: one file expected, got 2\n\n" + checkUsage},
		{why: "check: unknown flag", args: "check -x a", status: 2, stderr: "imageoverrides check: flag provided but not defined: -x\n\n" + checkUsage},
		{why: "rewrite: no table", args: "rewrite a.yaml", status: 2, stderr: "imageoverrides rewrite: -t TABLE is missing\n\n" + rewriteUsage},
		{why: "rewrite: no table behind -t", args: "rewrite -t", status: 2, stderr: "imageoverrides rewrite: flag needs an argument: -t\n\n" + rewriteUsage},
		{why: "rewrite: -w without files", args: "rewrite -t x -w", status: 2, stderr: "imageoverrides rewrite: -w needs files to write to\n\n" + rewriteUsage},
		{why: "rewrite: -w to standard input", args: "rewrite -t x -w a -", status: 2, stderr: "imageoverrides rewrite: -w cannot write to standard input\n\n" + rewriteUsage},
		{why: "rewrite: all from standard input", args: "rewrite -t -", status: 2,
			stderr: "imageoverrides rewrite: the table and the manifests cannot both come from standard input\n\n" + rewriteUsage},
		{why: "merge: no table", args: "merge", status: 2, stderr: "imageoverrides merge: -t TABLE is missing\n\n" + mergeUsage},
		{why: "merge: -w is rewrite's", args: "merge -t x -w a", status: 2, stderr: "imageoverrides merge: flag provided but not defined: -w\n\n" + mergeUsage},
		{why: "merge: all from standard input", args: "merge -t - a -", status: 2,
			stderr: "imageoverrides merge: the table and the manifests cannot both come from standard input\n\n" + mergeUsage},
	})
}

// TestGolden calls the command as a reader of the documentation would, from the root of the
// repository, and compares with testdata/NAME.golden. With -update it writes those.
func TestGolden(t *testing.T) {
	golden, err := filepath.Abs("testdata")
	if err != nil {
		t.Fatal(err)
	}
	t.Chdir("../..")
	const data = "examples/testdata/"
	for _, c := range []struct{ name, why, args, stdin string }{
		{"check", "the table in the platform chart's values", "check " + data + "values.yaml", ""},
		{"rewrite", "the command of the README", "rewrite -t " + data + "overrides.yaml " + data + "manifests/*.yaml", ""},
		{"rewrite-json", "JSON, from standard input", "rewrite -t " + data + "values.yaml", data + "manifests/job.json"},
		{"merge", "releases with and without post-renderers, and what is none", "merge -t " + data + "secret.yaml " + data + "releases.yaml", ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			var args []string
			for _, arg := range strings.Fields(c.args) {
				files, err := filepath.Glob(arg)
				if err != nil {
					t.Fatal(err)
				}
				if len(files) == 0 {
					files = []string{arg}
				}
				args = append(args, files...)
			}
			command := "imageoverrides " + c.args
			var stdin io.Reader = strings.NewReader("")
			if c.stdin != "" {
				command += " < " + c.stdin
				stdin = strings.NewReader(read(t, c.stdin))
			}
			var stdout, stderr bytes.Buffer
			status := run(args, stdin, &stdout, &stderr)
			got := fmt.Sprintf("%s.\n\n$ %s\n-- standard output --\n%s\n-- standard error --\n%s\n-- exit status %d --\n",
				c.why, command, &stdout, &stderr, status)
			file := filepath.Join(golden, c.name+".golden")
			if *update {
				write(t, file, got)
			}
			same(t, c.name, got, read(t, file))
		})
	}
}

// The table says the same in each of its shapes.
func TestShapes(t *testing.T) {
	var want string
	for _, name := range []string{"overrides.yaml", "values.yaml", "secret.yaml", "package.yaml"} {
		src, err := streams{}.read("../testdata/" + name)
		if err != nil {
			t.Fatal(err)
		}
		if want == "" {
			want = src.Table.Hash()
		}
		if got := src.Table.Hash(); got != want {
			t.Errorf("%s: hash %s, want %s", name, got, want)
		}
	}
}

// process starts the command in a process of its own, behind a shell command.
func process(t *testing.T, before, args string) (stdout, stderr string, status int) {
	t.Helper()
	shell, err := exec.LookPath("sh")
	if err != nil {
		t.Skip("no shell")
	}
	program, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(shell, "-c", before+"\nexec \"$0\" "+args, program)
	cmd.Env = append(os.Environ(), "IMAGEOVERRIDES_MAIN=1")
	var out, errs bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &errs
	var exit *exec.ExitError
	if err := cmd.Run(); err != nil && !errors.As(err, &exit) {
		t.Fatal(err)
	}
	return out.String(), errs.String(), cmd.ProcessState.ExitCode()
}
