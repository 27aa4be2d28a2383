// SPDX-License-Identifier: Apache-2.0

// Package imageoverrides runs images under other names: it reads the table of overrides
// that an operator wrote in a platform chart's values, and does with it to images and
// to manifests what Flux's images post-renderer does.
//
// An operator that writes releases needs [ParseSecret] and the Merge of package
// postrender:
//
//	table, err := imageoverrides.ParseSecret(secret.Data) // while there is no Secret: imageoverrides.Table{}
//	if err != nil {
//		return err // names the entry; write no release but the one that the Secret comes from
//	}
//	release.Spec.PostRenderers = postrender.Merge(release.Spec.PostRenderers, table)
//
// For manifests that no release installs there is [Rewrite].
//
// # Rules
//
//   - A table is valid if the platform chart accepts it. [New], [Validate] and the
//     Parse functions refuse what the chart refuses, with its messages, and tell every
//     fault where the chart stops at the first.
//   - A text is read whole, or not at all. Helm reads the first document of a text, and the last of
//     two keys, and says nothing of the rest; the Parse functions say where it is.
//   - A table is unknown, empty, or has entries; see [Table]. An error comes with the
//     unknown table, which changes nothing.
//   - [ParseSecret] refuses what [Table.Strict] does, too: what Flux breaks on. The other Parse functions
//     have the chart's rules only.
//   - Entries apply in order, each to the outcome of those before it, and match as in
//     kustomize 5.8.1, which Flux pins: see [Table.Apply].
//   - Rewrite reaches the images that kustomize reaches, and changes no byte besides.
//   - What a chart cannot refuse but nobody wants is told by [Table.Lint].
//   - Faults and findings have the path that the table came from, and line and column where there was a
//     text. [Faults] lists them behind any error; the text of an error is short whatever the input.
//   - What a table costs follows its text: a megabyte is read and judged in a second or two.
//
// # Non-goals
//
// Nothing here asks a registry or a cluster. Images that kustomize does not
// reach (in env, args, ConfigMaps, or split into repository and tag) stay as they
// are; package audit finds them. Patterns are not supported: one entry is for one image name.
//
// # The house
//
// An image of a manifest passes each room once. internal/manifest/document cuts the stream into documents; internal/manifest
// tells their scalars, with their ways by internal/manifest/paths and led by the rules of internal/manifest/reach, which knows where kustomize
// looks; [Table.Apply] gives the image its name (index.go, wild.go, pattern.go); internal/manifest makes the edit, in the notation that
// internal/manifest/document writes; and rewrite.go tells the change and writes the bytes. The other rooms:
//
//   - imageoverrides: the table, from its text (parse.go, scan.go, input.go) over its faults (validate.go, lint.go, errors.go) to what it does
//   - imageoverrides/audit: what a table does to the images of a platform, and what it leaves
//   - imageoverrides/chart: the rules and the merge as a Helm library chart, and a check of charts
//   - postrender: the table in the post-renderers of HelmReleases
//   - reference: image references
//   - reference/registry, internal/registrytest, examples/mirror: modules that ask registries, hold that against real ones, and are a command
//   - internal/whole: a table's text, read whole, and where everything stands in it
//   - internal/values: where texts and manifests hold a table
//   - imageoverrides/mirror: the table that runs images out of a mirror, and what has to be in it
//   - imageoverrides/function, examples/postrenderer: the table as a function of kustomize, and the program that Helm and kustomize run
//   - internal/entries: lists of small maps in a text, edited in place
//   - internal/node: YAML nodes of manifests, for those who edit more than scalars
//   - internal/release: HelmReleases in manifests, and their lists of post-renderers as text
//   - internal/refuse: documents that must not be edited: templates, and what SOPS signed
//   - internal/replace: files that are replaced as a whole
//   - internal/quote: texts of others in messages
//   - internal/oracle, internal/platform: kustomize, and manifests, for tests and benchmarks
//   - internal/conformance, internal/e2e: modules that hold all of it against Helm, kustomize, the API server and Flux
//   - internal/mutants, internal/tools: what measures the tests, and the tools of the Makefile
//   - examples/imageoverrides, examples/operator, examples/operator/overrides: the command and the controller, to copy from
//
// # Compatibility
//
// This is v0: a minor version may change anything, and its release notes say so. The
// chart's messages, the rules' names and the hash of a table stay.
package imageoverrides
