// SPDX-License-Identifier: Apache-2.0

package mirror_test

import (
	"fmt"
	"testing"

	"github.com/cozystack/image-overrides/imageoverrides"
)

// BenchmarkTable is a platform of 500 images, of which two thirds have an entry already.
func BenchmarkTable(b *testing.B) {
	var images []string
	for i := range 500 {
		images = append(images, fmt.Sprintf("quay.io/team-%d/image-%d:v%d", i%20, i, i))
	}
	own, _, err := place.Table(imageoverrides.Table{}, images[:333])
	if err != nil {
		b.Fatal(err)
	}
	b.ReportAllocs()
	for b.Loop() {
		table, _, err := place.Table(own, images)
		if err != nil || table.Len() != 500 {
			b.Fatal(err)
		}
		if _, err := place.Copies(table, images); err != nil {
			b.Fatal(err)
		}
	}
}
