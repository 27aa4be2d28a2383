// SPDX-License-Identifier: Apache-2.0

package imageoverrides

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"slices"
	"testing"

	yamljson "sigs.k8s.io/yaml"
)

// chartRule is one line of testdata/chart-rules.jsonl: what the platform chart said
// of these values.
type chartRule struct {
	Why    string  `json:"why"`
	Values string  `json:"values"`
	Error  string  `json:"error"`
	Out    *string `json:"out"`
	Fails  any     `json:"fails"`
}

func chartRules(t testing.TB) []chartRule {
	return lines[chartRule](t, "testdata/chart-rules.jsonl")
}

func lines[T any](t testing.TB, name string) []T {
	f, err := os.Open(name)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	var list []T
	s := bufio.NewScanner(f)
	s.Buffer(nil, 1<<20)
	for s.Scan() {
		var v T
		if err := json.Unmarshal(s.Bytes(), &v); err != nil {
			t.Fatalf("%s:%d: %v", name, len(list)+1, err)
		}
		list = append(list, v)
	}
	if err := s.Err(); err != nil {
		t.Fatal(err)
	}
	return list
}

// TestChartRules holds ParseValues and ParseValuesText against what the chart was measured to say.
func TestChartRules(t *testing.T) {
	for _, rule := range chartRules(t) {
		t.Run(rule.Why, func(t *testing.T) {
			var values map[string]any
			if err := yamljson.Unmarshal([]byte(rule.Values), &values); err != nil {
				t.Fatal(err)
			}
			table, err := ParseValues(values)
			fromText, textErr := ParseValuesText([]byte(rule.Values))
			if twice := Faults(textErr); len(twice) > 0 && twice[0].Rule == RuleTwice {
				// Helm took the last one, and said what it thinks of that.
			} else if fmt.Sprint(textErr) != fmt.Sprint(err) || !fromText.Equal(table) {
				t.Errorf("from text: %v, decoded: %v", textErr, err)
			}
			for _, e := range Faults(textErr) {
				if e.Line == 0 || e.Column == 0 {
					t.Errorf("no position: %s", told(e))
				}
			}
			if rule.Out == nil {
				if err == nil {
					t.Fatalf("accepted, the chart says: %s", rule.Error)
				}
				if table.Known() {
					t.Error("an error with a known table")
				}
				if rule.Error == "" {
					return // the template engine stopped, in words of its own
				}
				var e *Error
				if !errors.As(err, &e) || e.Error() != rule.Error {
					t.Errorf("error\n  %v\nthe chart says\n  %s", err, rule.Error)
				}
				return
			}
			if err != nil {
				t.Fatalf("refused, the chart accepts: %v", err)
			}
			var want []Override
			if err := yamljson.UnmarshalStrict([]byte(*rule.Out), &want); err != nil {
				t.Fatal(err)
			}
			if got := overridesOf(table); !slices.Equal(got, want) || !table.Known() {
				t.Errorf("got %v, the chart gives %v", got, want)
			}
		})
	}
}

func overridesOf(t Table) []Override {
	var list []Override
	for _, o := range t.All() {
		list = append(list, o)
	}
	return list
}
