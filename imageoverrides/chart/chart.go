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
//   - image-overrides.hash returns the 12 digits that a change of that table changes, for the name of a plain
//     Job, whose template is immutable; nothing without a table.
//
// How each is called stands in front of it, in the chart's files. They work with Helm 3
// and Helm 4. The module's conformance tests hold them against the Go packages, with
// both.
//
// # Check
//
// [Check] goes through the templates of every chart as Helm's engine would, with values that it does
// not know, and looks at what they write as YAML. A HelmRelease is fine where the items that
// image-overrides.postRenderers returns are items of its spec.postRenderers, however they come there:
// by a variable, a named template of any chart that Helm parses together with this one, a dict
// that toYaml prints, flow style. It must be so with all values. Where a condition decides, both
// ways are tried, in every combination of the conditions that stand around the release, the call, or a
// key on the way to it, up to 8 of them; of more, each in turn. The
// table itself is taken to be there: a condition on what the call returns, or on
// .Values._cluster, holds.
//
// A HelmRelease is a map with that kind which has metadata or spec; other maps with that
// kind refer to one, as a health check does. It may be the item of a list, or inside of another object.
// A manifest in a text, as in the data of a ConfigMap, is none of the chart's own. A named template
// with a HelmRelease that nobody includes is judged by itself, and what it is given is trusted.
//
// What cannot be judged without rendering:
//
//   - A condition that nobody can tell apart from others is taken to go both ways. So a call under a
//     condition that always holds in practice is told, since a release that loses its overrides is
//     worse than a line in a log: move the call out of it, or the condition around the release.
//   - A function that is not known to pass its text on (quote, sha256sum, trunc, first) is
//     taken to lose it.
//   - A kind, a template's name or a whole object that comes out of values, tpl, .Files or lookup is
//     not seen. Neither is one that several loop turns put together.
//   - Of several named templates with one name Helm takes one, by the order of their files. Each must
//     call the helper.
//   - What no YAML parser takes is read as it was meant: it stops Helm, and nothing is lost
//     without a word.
//
// A template that takes too much to judge (more than 500 blocks in each other, a file of more than
// 5 MiB, includes that multiply) is refused with an [Error].
//
// The library chart counts as a dependency at any depth: in the Chart.yaml of a chart or of one that
// is found below it, in folders charts/, beside it by file://, and as an archive there, by
// its name. Templates are the files below templates, but for NOTES.txt and names that begin
// with a dot; of those that begin with an underscore, and of library charts, only the named
// templates count. Links are followed there and in the folder charts, each folder once. Other folders whose
// names begin with a dot are passed over.
//
// # Vendoring
//
// [Vendored] tells copies of the library chart that are not the one of this version. The command
// imageoverrides vendor, in examples, writes them.
//
// # Non-goals
//
// Check and Vendored do not open packaged charts (.tgz), and do not look at .helmignore.
//
// # Compatibility
//
// This is v0: a minor version may change anything, and its release notes say so. The names of
// the four templates stay, since charts call them.
package chart

import "embed"

// Name is the name of the library chart, and of its directory in [FS].
const Name = "image-overrides"

// FS holds the library chart in a directory of its name, so that it can be copied among
// the dependencies of another chart as it is:
//
//	image-overrides/Chart.yaml
//	image-overrides/templates/_context.tpl
//	image-overrides/templates/_hash.tpl
//	image-overrides/templates/_postrenderers.tpl
//	image-overrides/templates/_reference.tpl
//	image-overrides/templates/_strict.tpl
//	image-overrides/templates/_table.tpl
//	image-overrides/templates/_values.tpl
//
// os.CopyFS("platform/charts", chart.FS) does that where there is none yet, and
// fs.Sub(chart.FS, chart.Name) is the chart itself.
//
//go:embed all:image-overrides
var FS embed.FS
