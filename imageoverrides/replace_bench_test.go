// SPDX-License-Identifier: Apache-2.0

package imageoverrides_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/cozystack/image-overrides/imageoverrides"
)

// BenchmarkReplace writes a hundred entries behind four hundred.
func BenchmarkReplace(b *testing.B) {
	var text strings.Builder
	text.WriteString("registries:\n  imageOverrides:\n")
	var list []imageoverrides.Override
	for i := range 500 {
		o := imageoverrides.Override{Name: fmt.Sprintf("quay.io/team/image-%d", i), NewName: fmt.Sprintf("registry.example.org/mirror/image-%d", i)}
		if list = append(list, o); i < 400 {
			fmt.Fprintf(&text, "  - name: %s\n    newName: %s\n", o.Name, o.NewName)
		}
	}
	table, err := imageoverrides.New(list...)
	if err != nil {
		b.Fatal(err)
	}
	src := []byte(text.String())
	b.SetBytes(int64(len(src)))
	b.ReportAllocs()
	for b.Loop() {
		if _, err := imageoverrides.Replace(src, table); err != nil {
			b.Fatal(err)
		}
	}
}
