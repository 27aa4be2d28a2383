// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"os"
	"os/exec"
	"os/signal"
	"strings"
	"syscall"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/cozystack/image-overrides/imageoverrides/chart"
)

// TestVendorFull has a disk that takes no file of more than 1,000 bytes: each file is the old one or
// the new one, and nothing else is left.
func TestVendorFull(t *testing.T) {
	if dir := os.Getenv("VENDOR_FULL"); dir != "" {
		signal.Ignore(syscall.SIGXFSZ)
		limit := syscall.Rlimit{Cur: 1000, Max: 1000}
		if err := syscall.Setrlimit(syscall.RLIMIT_FSIZE, &limit); err != nil {
			t.Fatal(err)
		}
		var stdout, stderr bytes.Buffer
		status := run([]string{"vendor", dir}, strings.NewReader(""), &stdout, &stderr)
		if status != 1 || stdout.Len() > 0 || !strings.HasSuffix(stderr.String(), ": file too large\n") {
			t.Errorf("status %d\n%s%s", status, stdout.String(), stderr.String())
		}
		return
	}
	dir := t.TempDir()
	target := dir + "/" + chart.Name
	place(t, target+"/Chart.yaml", "name: image-overrides\n")
	for _, name := range libraryFiles() {
		if name != "Chart.yaml" {
			place(t, target+"/"+name, "old "+name)
		}
	}
	want := filesIn(t, target)
	chartYAML, err := chart.FS.ReadFile(chart.Name + "/Chart.yaml")
	if err != nil || len(chartYAML) > 1000 {
		t.Fatal(err, len(chartYAML))
	}
	want["Chart.yaml"] = string(chartYAML)
	command := exec.Command(os.Args[0], "-test.run=^TestVendorFull$")
	command.Env = append(os.Environ(), "VENDOR_FULL="+dir)
	if out, err := command.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	if diff := cmp.Diff(want, filesIn(t, target)); diff != "" {
		t.Error(diff)
	}
	var stdout, stderr bytes.Buffer
	if status := run([]string{"vendor", dir}, strings.NewReader(""), &stdout, &stderr); status != 0 || stderr.Len() > 0 {
		t.Errorf("once more: %d, %s", status, stderr.String())
	}
}
