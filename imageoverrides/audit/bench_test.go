// SPDX-License-Identifier: Apache-2.0

package audit_test

import (
	"bytes"
	"io"
	"slices"
	"strings"
	"testing"

	"github.com/cozystack/image-overrides/imageoverrides"
	"github.com/cozystack/image-overrides/imageoverrides/audit"
	"github.com/cozystack/image-overrides/internal/platform"
)

// compare runs Rewrite and the audit over the same sources, so that one run gives the ratio of the two.
func compare(b *testing.B, table imageoverrides.Table, sources [][]byte) {
	size := 0
	for _, s := range sources {
		size += len(s)
	}
	b.Run("rewrite", func(b *testing.B) {
		b.SetBytes(int64(size))
		b.ReportAllocs()
		for b.Loop() {
			for _, s := range sources {
				if _, err := imageoverrides.Rewrite(io.Discard, bytes.NewReader(s), table); err != nil {
					b.Fatal(err)
				}
			}
		}
	})
	b.Run("audit", func(b *testing.B) {
		b.SetBytes(int64(size))
		b.ReportAllocs()
		for b.Loop() {
			a := audit.New(table, audit.Options{})
			for i, s := range sources {
				if err := a.Add(string(rune('a'+i)), bytes.NewReader(s)); err != nil {
					b.Fatal(err)
				}
			}
			a.Report()
		}
	})
}

func BenchmarkCorpus(b *testing.B) {
	files, table := corpus(b)
	var sources [][]byte
	for _, text := range files {
		sources = append(sources, []byte(text))
	}
	slices.SortFunc(sources, bytes.Compare)
	compare(b, table, sources)
}

// tableOf has an entry for each of the first n images of a platform.
func tableOf(tb testing.TB, n int) imageoverrides.Table {
	var list []imageoverrides.Override
	for _, name := range platform.Names(n) {
		list = append(list, imageoverrides.Override{Name: name, NewName: "registry.example.org/" + name[strings.IndexByte(name, '/')+1:], NewTag: "v9"})
	}
	table, err := imageoverrides.New(list...)
	if err != nil {
		tb.Fatal(err)
	}
	return table
}

func BenchmarkWorkloads(b *testing.B) {
	var documents [][]byte
	for i := range 2000 {
		documents = append(documents, platform.Workload(i))
	}
	for _, n := range []struct {
		name    string
		entries int
	}{{"entries=10", 10}, {"entries=10000", 10000}} {
		b.Run(n.name, func(b *testing.B) { compare(b, tableOf(b, n.entries), [][]byte{platform.Join(documents...)}) })
	}
}
