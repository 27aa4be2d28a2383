// SPDX-License-Identifier: Apache-2.0

package overrides

import (
	"context"
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

func init() { metrics.Registry.MustRegister(tableFault) }

func setFaults(faults []*imageoverrides.Error) {
	tableFault.Reset()
	for _, f := range faults {
		tableFault.WithLabelValues(strconv.Itoa(f.Entry), f.Field, string(f.Rule)).Set(1)
	}
}

// carried counts releases by the hash of the table that they carry, "" for none.
func carried(releases []helmv2.HelmRelease) map[string]int {
	counts := make(map[string]int)
	for i := range releases {
		hash, _ := postrender.Hash(releases[i].Spec.PostRenderers)
		counts[hash]++
	}
	return counts
}

// Carried is a metric, image_overrides_releases: how many releases carry which table. Each
// replica has it, the one that leads and those that wait.
type Carried struct {
	Reader client.Reader // a cached one
}

var carriedDesc = prometheus.NewDesc("image_overrides_releases",
	"How many releases carry the table with that hash, empty for none.", []string{"hash"}, nil)

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
