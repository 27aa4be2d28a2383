// SPDX-License-Identifier: Apache-2.0

//go:build unix

package main

import (
	"bytes"
	"fmt"
	"io"
	"strings"
	"syscall"
	"testing"
	"time"
)

// bigList is a List of n releases in one line of JSON.
func bigList(n int, spec string) string {
	const release = `{"apiVersion":"helm.toolkit.fluxcd.io/v2","kind":"HelmRelease","metadata":{"name":"r#","namespace":"n"},"spec":{"chart":{"spec":{"chart":"c"}},"values":{"a":"b","c":["d"]}`
	return `{"kind":"List","items":[` + many(n, release+spec+`}},`) + `{"kind":"Pod"}]}`
}

// Merging a List in one line takes time in proportion to its length, whatever is to be done to its releases. The processor's time
// counts, which does not depend on what else the machine does.
func TestMergeLinear(t *testing.T) {
	t.Chdir(t.TempDir())
	write(t, "t", one)
	write(t, "none", "[]")
	const older = `,"postRenderers":[{"kustomize":{"images":[{"name":"image-overrides.invalid/table","newTag":"a"}]}}`
	for _, c := range []struct{ why, table, spec string }{
		{"put in", "t", ""}, {"filled", "t", `,"postRenderers":[]`}, {"replaced", "t", older + `]`}, {"beside others", "t", older + `,{}]`}, {"taken out", "none", older + `]`},
	} {
		cost := func(n int) time.Duration {
			in := bigList(n, c.spec)
			return cpu(t, func() {
				var stderr bytes.Buffer
				if status := run([]string{"merge", "-t", c.table}, strings.NewReader(in), io.Discard, &stderr); status != 0 || !strings.Contains(stderr.String(), fmt.Sprintf("%d changed\n", n)) {
					t.Fatalf("%s: status %d, %.200s", c.why, status, &stderr)
				}
			})
		}
		small, large := cost(500), cost(4000)
		t.Logf("%s: 500 releases %v, 4000 releases %v", c.why, small, large)
		if large > 16*small+time.Second/2 {
			t.Errorf("%s: 4000 releases cost %v, and 500 only %v", c.why, large, small)
		}
	}
}

// cpu returns what the process spends on a call.
func cpu(t *testing.T, call func()) time.Duration {
	t.Helper()
	spent := func() time.Duration {
		var r syscall.Rusage
		if err := syscall.Getrusage(syscall.RUSAGE_SELF, &r); err != nil {
			t.Fatal(err)
		}
		return time.Duration(r.Utime.Nano())
	}
	before := spent()
	call()
	return spent() - before
}
