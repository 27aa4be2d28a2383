// SPDX-License-Identifier: Apache-2.0

package imageoverrides

import (
	"testing"

	yamljson "sigs.k8s.io/yaml"
)

func BenchmarkParse(b *testing.B) {
	text, err := yamljson.Marshal(manyOverrides(1000))
	if err != nil {
		b.Fatal(err)
	}
	b.SetBytes(int64(len(text)))
	b.ReportAllocs()
	for b.Loop() {
		if _, err := Parse(text); err != nil {
			b.Fatal(err)
		}
	}
}
