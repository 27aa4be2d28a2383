// SPDX-License-Identifier: Apache-2.0

package chart

import "embed"

// FS holds the library chart, in a directory of its name:
//
//	image-overrides/Chart.yaml
//	image-overrides/templates/_table.tpl
//	…
//
// A platform vendors it into the charts that use it,
//
//	err := os.CopyFS("packages/core/platform/charts", chart.FS)
//
// and fs.Sub(chart.FS, chart.Name) is the chart's own directory.
//
//go:embed all:image-overrides
var FS embed.FS

// Name is the library chart's name, which is its directory in [FS] too.
const Name = "image-overrides"
