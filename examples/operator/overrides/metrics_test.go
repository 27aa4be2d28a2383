// SPDX-License-Identifier: Apache-2.0

package overrides

import (
	"fmt"
	"strings"
	"testing"

	"github.com/cozystack/image-overrides/imageoverrides"
	"github.com/cozystack/image-overrides/postrender"
	helmv2 "github.com/fluxcd/helm-controller/api/v2"
	"github.com/fluxcd/pkg/apis/kustomize"
	"github.com/prometheus/client_golang/prometheus/testutil"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// carriedText is the metric as it is served, for series in the order of their labels.
func carriedText(series ...string) string {
	return "# HELP image_overrides_releases How many releases carry the table with that hash, empty for none; other for all but the ten most common.\n" +
		"# TYPE image_overrides_releases gauge\n" + strings.Join(series, "\n") + "\n"
}

// TestCarried: the metric of which releases carry which table.
func TestCarried(t *testing.T) {
	table := newTable(t, "v2")
	a, b, other := releaseOf("a"), releaseOf("b"), releaseOf("c")
	postrender.Ensure(a, table)
	postrender.Ensure(b, table)
	c := clusterOf(t, a, b, other)
	want := carriedText(`image_overrides_releases{hash=""} 1`, `image_overrides_releases{hash="`+table.Hash()[:12]+`"} 2`)
	if err := testutil.CollectAndCompare(&Carried{Reader: c}, strings.NewReader(want)); err != nil {
		t.Error(err)
	}
}

// TestCarriedBounded: whatever the writers of releases put into their markers, the series stay few,
// and their labels are hashes.
func TestCarriedBounded(t *testing.T) {
	marked := func(tag string) helmv2.PostRenderer {
		return helmv2.PostRenderer{Kustomize: &helmv2.Kustomize{Images: []kustomize.Image{{Name: postrender.Marker, NewTag: tag}}}}
	}
	var objects []client.Object
	add := func(tag string, n int) {
		for range n {
			release := releaseOf(fmt.Sprintf("r%d", len(objects)))
			release.Spec.PostRenderers = append(release.Spec.PostRenderers, marked(tag))
			objects = append(objects, release)
		}
	}
	for i, tag := range []string{"", "ABCDEF012345", "0123456789a", "0123456789abc", "0123456789ag", "0123456789ab\n", "a\"b", strings.Repeat("x", 100_000), "é", "v1.2.3"} {
		add(tag, 1+i%2)
	}
	var series []string
	for i := range 30 { // the first twenty once, the last ten twice and more
		hash := fmt.Sprintf("%012x", i)
		n := 1
		if i >= 20 {
			n = i - 18
			series = append(series, fmt.Sprintf("image_overrides_releases{hash=%q} %d", hash, n))
		}
		add(hash, n)
	}
	objects = append(objects, releaseOf("none"))
	want := carriedText(append(append([]string{`image_overrides_releases{hash=""} 1`}, series...), `image_overrides_releases{hash="other"} 35`)...)
	if err := testutil.CollectAndCompare(&Carried{Reader: clusterOf(t, objects...)}, strings.NewReader(want)); err != nil {
		t.Error(err)
	}
}

func TestHashLabel(t *testing.T) {
	for tag, want := range map[string]string{"0123456789ab": "0123456789ab", "": otherLabel, "0123456789a": otherLabel, "0123456789abc": otherLabel,
		"x0123456789ab": otherLabel, "0123456789ab\n": otherLabel, "0123456789aB": otherLabel, "0123456789ag": otherLabel} {
		list := []helmv2.PostRenderer{{Kustomize: &helmv2.Kustomize{Images: []kustomize.Image{{Name: postrender.Marker, NewTag: tag}}}}}
		if got := hashLabel(list); got != want {
			t.Errorf("%q: %q, want %q", tag, got, want)
		}
	}
	if got := hashLabel(nil); got != "" {
		t.Errorf("none: %q", got)
	}
}

// TestFaults: the metric of a broken table, whatever an entry's fields are called.
func TestFaults(t *testing.T) {
	const help = "# HELP image_overrides_table_fault 1 for each of the first faults of the table of image overrides; no series while it is sound or missing.\n" +
		"# TYPE image_overrides_table_fault gauge\n"
	long := strings.Repeat("x", 1000) // as long as YAML lets a plain key be
	for why, test := range map[string]struct{ table, series string }{
		"sound":               {good, ""},
		"one":                 {`[{name: nginx, newTag: v2}, {name: redis}]`, `{entry="1",field="",rule="nothing-set"} 1`},
		"a misspelled field":  {`[{name: nginx, newtag: v2}]`, `{entry="0",field="newtag",rule="unknown-field"} 1`},
		"a field of any text": {`[{name: nginx, newTag: v2, "a b\n{}\"": v2}]`, `{entry="0",field="other",rule="unknown-field"} 1`},
		"a long field":        {`[{name: nginx, newTag: v2, ` + long + `: v2}]`, `{entry="0",field="other",rule="unknown-field"} 1`},
		"no list":             {`a`, `{entry="-1",field="",rule="list"} 1`},
	} {
		t.Run(why, func(t *testing.T) {
			_, err := imageoverrides.ParseSecret(secretOf(test.table).Data)
			source := &Source{Reader: clusterOf(t, secretOf(test.table)), Secret: secretKey}
			if _, got := source.Table(t.Context()); fmt.Sprint(got) != fmt.Sprint(err) {
				t.Errorf("says %v, want %v", got, err)
			}
			want := ""
			if test.series != "" {
				want = help + "image_overrides_table_fault" + test.series + "\n"
			}
			if err := testutil.CollectAndCompare(tableFault, strings.NewReader(want)); err != nil {
				t.Error(err)
			}
		})
	}
}
