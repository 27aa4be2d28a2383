// SPDX-License-Identifier: Apache-2.0

package audit_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/cozystack/image-overrides/imageoverrides"
	"github.com/cozystack/image-overrides/imageoverrides/audit"
)

// TestTableRisks: each error of the table is a risk with the way to its entry, the first one too, and a message that does not say the way again.
func TestTableRisks(t *testing.T) {
	table, err := imageoverrides.ParseValuesText([]byte("registries:\n  imageOverrides:\n  - {name: c++, newTag: a}\n  - {name: nginx, newTag: a}\n  - {name: x**, newTag: a}\n"))
	if err != nil {
		t.Fatal(err)
	}
	var got []audit.Risk
	for _, r := range report(t, table, audit.Options{}, map[string]string{"s": "kind: A\n"}).Risks {
		if r.Rule == audit.RiskTable {
			got = append(got, r)
		}
	}
	want := []audit.Risk{
		{Rule: audit.RiskTable, Severity: audit.SeverityError, Path: "registries.imageOverrides[0]", Line: 3, Column: 12},
		{Rule: audit.RiskTable, Severity: audit.SeverityError, Path: "registries.imageOverrides[2]", Line: 5, Column: 12},
	}
	faults := imageoverrides.Faults(table.Strict())
	for i := range want {
		want[i].Message = strings.TrimPrefix(faults[i].Reason(), want[i].Path+": ")
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}
