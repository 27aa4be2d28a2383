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
// Nothing here asks a registry, a cluster or a file system. Images that kustomize does not
// reach (in env, args, ConfigMaps, or split into repository and tag) stay as they
// are, and are not reported. Patterns are not supported: one entry is for one image name.
//
// # Compatibility
//
// This is v0: a minor version may change anything, and its release notes say so. The
// chart's messages, the rules' names and the hash of a table stay.
package imageoverrides
