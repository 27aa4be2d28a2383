// SPDX-License-Identifier: Apache-2.0

package imageoverrides

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"runtime/debug"
	"strings"
	"testing"
	"time"

	"github.com/cozystack/image-overrides/internal/manifest/document"
	"github.com/cozystack/image-overrides/internal/platform"
)

// TestCompare prints how fast Rewrite is, each figure beside a peer's in the same run. It
// runs by make bench only, and judges nothing.
func TestCompare(t *testing.T) {
	if os.Getenv("COMPARE") == "" {
		t.Skip("set COMPARE=1, or run make bench")
	}
	files, table, from := platformFiles(t)
	size := 0
	for _, file := range files {
		size += len(file)
	}
	all := func(table Table) func() {
		return func() {
			for _, file := range files {
				if _, err := Rewrite(io.Discard, bytes.NewReader(file), table); err != nil {
					t.Fatal(err)
				}
			}
		}
	}
	row := func(work, figure, must string) { fmt.Printf("%-66s %-34s %s\n", work, figure, must) }
	fmt.Printf("%s, %d files, %.1f MB, %d entries; %s\n", from, len(files), float64(size)/1e6, table.Len(), runtime.Version())

	ours := fastest(30, all(table))
	theirs := fastest(1, func() {
		for _, file := range files {
			kustomize(overridesOf(table), string(file)) // an error is work too
		}
	})
	row("a platform, against kustomize, one call for each file", fmt.Sprintf("%.0fx (%v, %v)", ratio(theirs, ours), round(ours), round(theirs)), "300x")

	scan := fastest(30, func() {
		for _, file := range files {
			for rest := file; len(rest) > 0; {
				i := bytes.IndexByte(rest, '\n')
				if i < 0 {
					break
				}
				rest = rest[i+1:]
			}
		}
	})
	row("the same, against a plain scan for line breaks", fmt.Sprintf("%.1fx its time (%v)", ratio(ours, scan), round(scan)), "8x")

	workloads := workloadsOf(t, files, table)
	stream := bytes.Repeat(workloads, 1+(4<<20)/len(workloads))
	spent := fastest(20, func() {
		if _, err := Rewrite(io.Discard, bytes.NewReader(stream), table); err != nil {
			t.Fatal(err)
		}
	})
	row("workloads only", fmt.Sprintf("%.0f MB/s", float64(len(stream))/1e6/spent.Seconds()), "150 MB/s")

	one, many := mustTable(t, firstOf(table)), mustTable(t, append(manyOverrides(1100-table.Len()), overridesOf(table)...)...)
	few := fastest(30, all(one))
	row("a table of 1,100 entries, against 1", fmt.Sprintf("%.2fx its time", ratio(fastest(30, all(many)), few)), "1.5x")

	settings := platform.ConfigMap(4000)
	ours = fastest(20, func() {
		if _, err := Rewrite(io.Discard, bytes.NewReader(settings), table); err != nil {
			t.Fatal(err)
		}
	})
	theirs = fastest(1, func() {
		if _, err := kustomize(overridesOf(table), string(settings)); err != nil {
			t.Fatal(err)
		}
	})
	row("a ConfigMap of 4,000 keys, against kustomize", fmt.Sprintf("%.0fx (%v, %v)", ratio(theirs, ours), round(ours), round(theirs)), "1000x")

	quiet := platform.Join(bytes.Split(bytes.Repeat([]byte("kind: Service\nmetadata: {name: a}\n|"), 100), []byte("|"))...)
	var counts []string
	for _, times := range []int{10, 1000} {
		stream := bytes.Repeat(quiet, times)
		counts = append(counts, fmt.Sprintf("%.0f for %.1f MB", testing.AllocsPerRun(5, func() {
			if _, err := Rewrite(io.Discard, bytes.NewReader(stream), table); err != nil {
				t.Fatal(err)
			}
		}), float64(len(stream))/1e6))
	}
	row("allocations for a stream without matches", strings.Join(counts, ", "), "a constant")

	var peak uint64
	var memory runtime.MemStats
	documents := append(platform.Workload(1_000_000), "---\n"...)
	src := &repeated{text: documents, left: 1 << 30, every: 16 << 20, watch: func() {
		runtime.ReadMemStats(&memory)
		peak = max(peak, memory.HeapInuse+memory.StackInuse)
	}}
	files, stream = nil, nil
	debug.FreeOSMemory()
	result, err := Rewrite(io.Discard, src, table)
	if err != nil || len(result.Changes) > 0 {
		t.Fatal(err, len(result.Changes))
	}
	row(fmt.Sprintf("peak memory for a stream of 1 GB, %d documents", result.Documents), fmt.Sprintf("%.1f MB, all of the test", float64(peak)/1e6), "32 MB")
}

// platformFiles returns the corpus and its table where it is there, and manifests of the same
// shapes elsewhere.
func platformFiles(t testing.TB) (files [][]byte, table Table, from string) {
	dir := corpusDir()
	if _, err := os.Stat(dir); err != nil {
		var overrides []Override
		for i, name := range platform.Names(116) {
			overrides = append(overrides, Override{Name: name, NewName: fmt.Sprintf("mirror.example.net/%d", i), NewTag: "v1"})
		}
		return platform.Charts(80), mustTable(t, overrides...), "made manifests"
	}
	names, table := corpus(t)
	for _, name := range names {
		text, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		files = append(files, text)
	}
	return files, table, filepath.Base(dir)
}

// workloadsOf returns the documents whose images the table changes, as a stream.
func workloadsOf(t testing.TB, files [][]byte, table Table) []byte {
	var documents bytes.Buffer
	for _, file := range files {
		for pieces := document.NewSplitter(bytes.NewReader(file), MaxDocument, nil); ; {
			p, err := pieces.Next()
			if err == io.EOF {
				break
			}
			if err != nil {
				t.Fatal(err)
			}
			result, err := Rewrite(io.Discard, bytes.NewReader(p.Bytes), table)
			if err != nil {
				t.Fatal(err)
			}
			if len(result.Changes) > 0 {
				documents.WriteString("---\n")
				documents.Write(p.Bytes[p.Body:])
			}
		}
	}
	return documents.Bytes()
}

func firstOf(table Table) Override { return overridesOf(table)[0] }

// fastest returns the shortest of some runs.
func fastest(runs int, f func()) time.Duration {
	best := time.Duration(1<<63 - 1)
	for range runs {
		start := time.Now()
		f()
		best = min(best, time.Since(start))
	}
	return best
}

func ratio(a, b time.Duration) float64 { return float64(a) / float64(b) }

func round(d time.Duration) time.Duration { return d.Round(d / 100) }

// repeated is a reader of one text over and over.
type repeated struct {
	text        []byte
	at          int
	left, every int
	watch       func()
	watched     int
}

func (r *repeated) Read(p []byte) (int, error) {
	if r.left <= 0 && r.at == 0 {
		return 0, io.EOF
	}
	n := copy(p, r.text[r.at:])
	r.at = (r.at + n) % len(r.text)
	r.left -= n
	if r.watched -= n; r.watched <= 0 {
		r.watch()
		r.watched = r.every
	}
	return n, nil
}

// TestAllocationsStay: a stream without matches takes as many allocations as one of a tenth.
func TestAllocationsStay(t *testing.T) {
	table := manyTable(t, 100)
	count := func(documents int) float64 {
		stream := bytes.Repeat(append(platform.Workload(1_000_000), "---\n"...), documents)
		return testing.AllocsPerRun(5, func() {
			if _, err := Rewrite(io.Discard, bytes.NewReader(stream), table); err != nil {
				t.Fatal(err)
			}
		})
	}
	if few, many := count(100), count(1000); many > few {
		t.Errorf("%v allocations for 1,000 documents, %v for 100", many, few)
	}
}
