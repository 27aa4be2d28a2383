// SPDX-License-Identifier: Apache-2.0

// Package chart is the table of image overrides for Helm: a library chart, and a check that
// other charts use it.
//
// Releases that a chart renders get their table inside Helm, where no Go code of ours runs.
// The library chart has the rules of package imageoverrides and the merge of package
// postrender as named templates. [FS] holds it, to be vendored into other charts, and most
// callers need [Check] besides:
//
//	misses, err := chart.Check(os.DirFS("packages"))
//
// # Named templates
//
//   - image-overrides.table checks .Values.registries.imageOverrides and returns it as YAML.
//   - image-overrides.strict refuses what imageoverrides.Table.Strict refuses.
//   - image-overrides.postRenderers returns the post-renderers of a release, with that
//     of the table at .Values._cluster.image-overrides behind its own.
//
// How each is called stands in front of it, in the chart's files. They work with Helm 3
// and Helm 4. The module's conformance tests hold them against the Go packages, with
// both.
//
// # Non-goals
//
// Check reads templates and does not render them. It does not see a HelmRelease whose kind comes
// out of values or is put together out of pieces, nor one in a file outside of templates/ that
// .Files reads. It does not open packaged charts (.tgz), and does not look at .helmignore.
//
// # Compatibility
//
// This is v0: a minor version may change anything, and its release notes say so. The names of
// the three templates stay, since charts call them.
package chart

import "embed"

// Name is the name of the library chart, and of its directory in [FS].
const Name = "image-overrides"

// FS holds the library chart in a directory of its name, so that it can be copied among
// the dependencies of another chart as it is:
//
//	image-overrides/Chart.yaml
//	image-overrides/templates/_postrenderers.tpl
//	image-overrides/templates/_strict.tpl
//	image-overrides/templates/_table.tpl
//	image-overrides/templates/_values.tpl
//
// os.CopyFS("platform/charts", chart.FS) does that, and fs.Sub(chart.FS, chart.Name) is
// the chart itself.
//
//go:embed all:image-overrides
var FS embed.FS
