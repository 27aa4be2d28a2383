// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"errors"
	"os"
	"regexp"
	"runtime"
	"strconv"
	"strings"
	"testing"
	"unicode/utf8"

	"pgregory.net/rapid"

	"github.com/cozystack/image-overrides/internal/quote"
)

// Images are written with quotes where they could be read as something else.
func TestShownImage(t *testing.T) {
	for image, want := range map[string]string{
		"nginx:1":         "nginx:1",
		"":                `""`,
		"a -> b":          `"a -> b"`,
		"a\nb":            `"a\nb"`,
		"\x1b[2Ja":        `"\x1b[2Ja"`,
		"a\xff":           `"a\xff"`,
		"a\u202eb":        `"a\u202eb"`,
		"é/ü":             "é/ü",
		" a":              `" a"`,
		`a"b`:             `a"b`,
		"${PREFIX}/app:1": "${PREFIX}/app:1",
	} {
		if got := shownImage(image); got != want {
			t.Errorf("%q: %s, want %s", image, got, want)
		}
	}
}

// Whatever names, keys and images are, what a command says is printable lines of bounded length, one for each
// message, and none of them is the input's.
func TestPrintable(t *testing.T) {
	evil := rapid.SampledFrom([]string{"a\nf:1:1: forged", "\x1b[2J", "b\r\x00", "\u202e\u200b", "\u0085x", "it's \"q\"", "e\tf", strings.Repeat("x", 20_000), "[", "é"})
	forged := regexp.MustCompile(`(?m)^(f:1:1: forged|forged)`)
	rapid.Check(t, func(t *rapid.T) {
		q := func(label string) string { return jsonText(evil.Draw(t, label)) }
		text := rapid.SampledFrom([]func() string{
			func() string { // images
				return "{apiVersion: v1, kind: " + q("kind") + ", metadata: {name: " + q("name") + ", namespace: " + q("namespace") + "}, spec: {" + q("key") + ": {containers: [{image: \"registry.k8s.io/pause:1\"}]}}}"
			},
			func() string { // releases
				return "{apiVersion: helm.toolkit.fluxcd.io/v2, kind: HelmRelease, metadata: {name: " + q("name") + "}, spec: {" + q("chart") + ": a, chart: b, postRenderers: [{" + q("key") + ": " + q("value") + "}]}}"
			},
			func() string { // releases in others
				return "{kind: " + q("kind") + ", metadata: {name: " + q("name") + "}, " + q("key") + ": {kind: HelmRelease, apiVersion: helm.toolkit.fluxcd.io/v2, spec: {}}}"
			},
			func() string { // tables
				return "[{name: " + q("name") + ", " + q("field") + ": 5, newTag: " + q("tag") + ", newName: " + q("newName") + "}]"
			},
			func() string { // no tables
				return "{" + q("key") + ": {imageoverrides: a}, " + q("other") + ": [{name: a, newTag: b}]}"
			},
			func() string { // other manifests
				return "{apiVersion: v1, kind: " + q("kind") + ", " + q("key") + ": {imageOverrides: a}}"
			},
			func() string { // texts
				return "{apiVersion: v1, kind: Secret, data: {" + q("key") + ": 5, values.yaml: " + q("text") + "}}"
			},
			func() string {
				return "{kind: Package, spec: {components: {" + q("component") + ": {values: {registries: {imageOverrides: [{name: " + q("name") + "}]}}}}}}"
			},
			func() string { return "a: *" + evil.Draw(t, "alias") },
		}).Draw(t, "text")()
		name := "t"
		if rapid.Bool().Draw(t, "no file") {
			name = evil.Filter(func(s string) bool { return len(s) < 100 }).Draw(t, "file")
		}
		for _, args := range [][]string{{"check", "-"}, {"rewrite", "-t", "t", "-"}, {"merge", "-t", "t", "-"}, {"check", name}, {"rewrite", "-t", name}, {"merge", "-t", "t", name}, {name}, {"check", "-" + name}} {
			var stdout, stderr bytes.Buffer
			run(args, strings.NewReader(text), &stdout, &stderr)
			says := stderr.String()
			if args[0] == "check" {
				says += stdout.String()
			}
			says = strings.ReplaceAll(says, usage, "")
			says = strings.ReplaceAll(says, checkUsage, "")
			for _, line := range strings.SplitAfter(says, "\n") {
				line = strings.TrimSuffix(line, "\n")
				for _, r := range line {
					if !strconv.IsPrint(r) || !utf8.ValidString(line) {
						t.Fatalf("%q says %q", args, line)
					}
				}
				if len(line) > 4*quote.MaxLine {
					t.Fatalf("%q says %d bytes", args, len(line))
				}
			}
			if forged.MatchString(says) {
				t.Fatalf("%q says %s", args, says)
			}
		}
	})
}

// jsonText is a text as YAML and JSON write it.
func jsonText(text string) string { return strings.TrimSpace(flowText(text)) }

// A long image is shortened in messages, and whole in the output.
func TestLongImage(t *testing.T) {
	long := strings.Repeat("a", 300_000)
	in := "kind: Pod\nspec: {containers: [{image: \"registry.k8s.io/pause:" + long + "\"}]}\n"
	var stdout, stderr bytes.Buffer
	t.Chdir(t.TempDir())
	write(t, "t", "[{name: registry.k8s.io/pause, newName: b}]")
	if status := run([]string{"rewrite", "-t", "t"}, strings.NewReader(in), &stdout, &stderr); status != 0 {
		t.Errorf("status %d", status)
	}
	same(t, "standard output", stdout.String(), strings.Replace(in, "registry.k8s.io/pause", "b", 1))
	want := regexp.MustCompile(`^<stdin>:2:30: Pod spec\.containers\[0\]\.image: "registry\.k8s\.io/pause:a+…" \(300022 bytes\) -> "b:a+…" \(300002 bytes\)\n1 document, 1 image changed\n$`)
	if !want.MatchString(stderr.String()) || stderr.Len() > 3000 {
		t.Errorf("standard error has %d bytes: %.300s", stderr.Len(), &stderr)
	}
}

// Where standard output or standard error cannot be written to, no command succeeds, and it is told where somebody may
// still read it.
func TestFullStreams(t *testing.T) {
	t.Chdir(t.TempDir())
	write(t, "t", one)
	write(t, "bad", "- 5\n")
	write(t, "a", pod)
	write(t, "r", chartRelease)
	for _, args := range []string{"check t", "check bad", "rewrite -t t a", "merge -t t r", "-h", "check -h", "rewrite -h", "merge -h", "charts -h"} {
		var stderr bytes.Buffer
		if status := run(strings.Fields(args), nil, closed{}, &stderr); status != 1 {
			t.Errorf("%s, standard output: status %d", args, status)
		}
		if told := strings.Count(stderr.String(), "<stdout>: nobody reads\n"); told != 1 {
			t.Errorf("%s, standard output: told %d times: %s", args, told, &stderr)
		}
	}
	for _, args := range []string{"rewrite -t t a", "rewrite -t t -w a", "merge -t t r", "check none", "rewrite -t bad a"} {
		var stdout bytes.Buffer
		if status := run(strings.Fields(args), nil, &stdout, closed{}); status != 1 {
			t.Errorf("%s, standard error: status %d", args, status)
		}
	}
	if status := run(nil, nil, closed{}, closed{}); status != 2 {
		t.Errorf("misuse: status %d", status)
	}
	// A short write is one that failed.
	if status := run([]string{"check", "t"}, nil, short{}, closed{}); status != 1 {
		t.Errorf("short write: status %d", status)
	}
}

type short struct{}

func (short) Write(b []byte) (int, error) { return len(b) - 1, nil }

// The same with a disk that is full.
func TestFullDevice(t *testing.T) {
	if _, err := os.Stat("/dev/full"); runtime.GOOS != "linux" || errors.Is(err, os.ErrNotExist) {
		t.Skip("no /dev/full")
	}
	t.Chdir(t.TempDir())
	write(t, "t", one)
	write(t, "a", pod)
	write(t, "r", chartRelease)
	for _, args := range []string{"check t", "rewrite -t t a", "merge -t t r", "-h", "charts -h"} {
		if _, stderr, status := process(t, "", args+" >/dev/full"); status != 1 || !strings.HasSuffix(stderr, "<stdout>: no space left on device\n") {
			t.Errorf("%s: status %d, %s", args, status, stderr)
		}
	}
	for _, args := range []string{"rewrite -t t a", "merge -t t r"} {
		if _, _, status := process(t, "", args+" 2>/dev/full"); status != 1 {
			t.Errorf("%s: status %d", args, status)
		}
	}
}
