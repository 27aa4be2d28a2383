package audit_test

import (
	"fmt"
	"github.com/cozystack/image-overrides/imageoverrides/audit"
	"testing"
)

func TestZZ(t *testing.T) {
	files, table := corpus(t)
	r := report(t, table, audit.Options{}, files)
	fmt.Printf("%+v\n", r.Summary)
	for _, p := range r.Places {
		if p.Status != audit.Rewritten {
			fmt.Println(p.Status, p.Reason, p.Source, p.Kind, p.Name, p.Path, p.Image, p.Whole, p.Entry)
		}
	}
	n := map[string]int{}
	for _, k := range r.Risks {
		n[string(k.Rule)]++
		if n[string(k.Rule)] < 6 {
			fmt.Println("RISK", k.Rule, k.Severity, k.Source, k.Line, k.Kind, k.Name, k.Path, k.Message)
		}
	}
	fmt.Println(n)
	for _, e := range r.Entries {
		if e.Unused() {
			fmt.Println("UNUSED", e.Name, e.Near)
		}
	}
}
