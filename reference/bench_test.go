// SPDX-License-Identifier: Apache-2.0

package reference_test

import (
	"testing"

	"github.com/cozystack/image-overrides/reference"
)

var benchmarks = []struct{ name, in string }{
	{"name", "nginx"},
	{"tag", "registry.k8s.io/sig-storage/csi-attacher:v4.6.1"},
	{"digest", "registry.example.org:5000/os/external-attacher:4.10.0@" + sha256},
}

func BenchmarkParse(b *testing.B) {
	for _, bench := range benchmarks {
		b.Run(bench.name, func(b *testing.B) {
			b.SetBytes(int64(len(bench.in)))
			b.ReportAllocs()
			for b.Loop() {
				if _, err := reference.Parse(bench.in); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

func BenchmarkSplit(b *testing.B) {
	for _, bench := range benchmarks {
		b.Run(bench.name, func(b *testing.B) {
			b.SetBytes(int64(len(bench.in)))
			b.ReportAllocs()
			for b.Loop() {
				reference.Split(bench.in)
			}
		})
	}
}

func BenchmarkCanonical(b *testing.B) {
	for _, bench := range benchmarks {
		b.Run(bench.name, func(b *testing.B) {
			img, err := reference.Parse(bench.in)
			if err != nil {
				b.Fatal(err)
			}
			b.ReportAllocs()
			for b.Loop() {
				img.Canonical()
			}
		})
	}
}
