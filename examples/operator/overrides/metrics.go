// SPDX-License-Identifier: Apache-2.0

package overrides

import (
	"cmp"
	"context"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"time"

	"github.com/cozystack/image-overrides/imageoverrides"
	"github.com/cozystack/image-overrides/postrender"
	helmv2 "github.com/fluxcd/helm-controller/api/v2"
	"github.com/prometheus/client_golang/prometheus"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/log"
	"sigs.k8s.io/controller-runtime/pkg/metrics"
)

var tableFault = prometheus.NewGaugeVec(prometheus.GaugeOpts{
	Name: "image_overrides_table_fault",
	Help: "1 for each of the first faults of the table of image overrides; no series while it is sound or missing.",
}, []string{"entry", "field", "rule"})

var undone = prometheus.NewCounter(prometheus.CounterOpts{
	Name: "image_overrides_undone_total",
	Help: "How often a table that was written to a release was found to be gone again.",
})

var missingImages = prometheus.NewGauge(prometheus.GaugeOpts{
	Name: "image_overrides_missing_images",
	Help: "How many images that are not there hold a table back; 0 while none is held back.",
})

var uncheckedImages = prometheus.NewCounter(prometheus.CounterOpts{
	Name: "image_overrides_unchecked_images_total",
	Help: "How many new images of tables were let through though nothing was learned about them.",
})

func init() { metrics.Registry.MustRegister(tableFault, undone, missingImages, uncheckedImages) }

func setFaults(faults []*imageoverrides.Error) {
	tableFault.Reset()
	for _, f := range faults {
		tableFault.WithLabelValues(strconv.Itoa(f.Entry), fieldLabel(f.Field), string(f.Rule)).Set(1)
	}
}

// What others may write is a label's value only in the form that it should have. All else is one value.
const otherLabel = "other"

var (
	goodField = regexp.MustCompile(`^[A-Za-z]{0,32}$`)
	goodHash  = regexp.MustCompile(`^[0-9a-f]{12}$`)
)

// fieldLabel is the field of a fault, which an entry may name as it likes.
func fieldLabel(field string) string {
	if goodField.MatchString(field) {
		return field
	}
	return otherLabel
}

// hashLabel is the hash of the table that a release carries, "" for none. Whoever may write a
// release may write any text into its marker.
func hashLabel(list []helmv2.PostRenderer) string {
	switch hash, ok := postrender.Hash(list); {
	case !ok:
		return ""
	case goodHash.MatchString(hash):
		return hash
	}
	return otherLabel
}

// maxTables is how many tables are told apart, those that most releases carry.
const maxTables = 10

// carried counts releases by the hash of the table that they carry, "" for none, and the rest as other.
func carried(releases []helmv2.HelmRelease) map[string]int {
	counts := make(map[string]int)
	for i := range releases {
		counts[hashLabel(releases[i].Spec.PostRenderers)]++
	}
	hashes := slices.SortedFunc(maps.Keys(counts), func(a, b string) int {
		return cmp.Or(cmp.Compare(counts[b], counts[a]), cmp.Compare(a, b))
	})
	hashes = slices.DeleteFunc(hashes, func(hash string) bool { return hash == "" || hash == otherLabel })
	for _, hash := range hashes[min(maxTables, len(hashes)):] {
		counts[otherLabel] += counts[hash]
		delete(counts, hash)
	}
	return counts
}

// Carried is a metric, image_overrides_releases: how many releases carry which table. Each
// replica has it, the one that leads and those that wait. It has twelve series at most.
type Carried struct {
	Reader client.Reader // a cached one
}

var carriedDesc = prometheus.NewDesc("image_overrides_releases",
	"How many releases carry the table with that hash, empty for none; other for all but the ten most common.", []string{"hash"}, nil)

// Describe implements [prometheus.Collector].
func (c *Carried) Describe(ch chan<- *prometheus.Desc) { ch <- carriedDesc }

// patience is how long a scrape waits for a cache that is not filled yet.
const patience = 5 * time.Second

// Collect implements [prometheus.Collector]. There are no series while the releases cannot be
// listed: an error would cost the scrape all other metrics.
func (c *Carried) Collect(ch chan<- prometheus.Metric) {
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	var releases helmv2.HelmReleaseList
	if err := c.Reader.List(ctx, &releases, client.UnsafeDisableDeepCopy); err != nil {
		log.Log.Error(err, "image_overrides_releases cannot be counted")
		return
	}
	for hash, n := range carried(releases.Items) {
		ch <- prometheus.MustNewConstMetric(carriedDesc, prometheus.GaugeValue, float64(n), hash)
	}
}
