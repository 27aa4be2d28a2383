// SPDX-License-Identifier: Apache-2.0

// Package postrender carries a table of image overrides in the post-renderers of Flux HelmReleases.
//
// Most callers need [Merge]:
//
//	release.Spec.PostRenderers = postrender.Merge(release.Spec.PostRenderers, table)
//
// and controllers, which write a release only if it changed, [Ensure]. Who writes the whole spec of
// a release, and knows itself what own post-renderers it should have, needs [Compose], and who
// takes over from code that wrote tables without a marker [Adopt], once. Releases that are files or a
// stream of manifests are merged by [Rewrite], which keeps all other bytes.
//
// The same table serves where there is no HelmRelease: [MergeImages] for the images of a Flux Kustomization, [RewriteKustomizations] for files of
// both kinds. Images where Flux does not look, as in an argument, are given patches by [Patches].
//
// # Rules
//
//   - The release's own post-renderers stay, in order and untouched. The table's comes last, so
//     that it sees the images that the others leave.
//   - The table's renderer is known by its first entry, which is named [Marker] and has the start
//     of the table's hash as its newTag. No image can bear that name, so the entry changes nothing;
//     it says whose renderer this is, to a reader and to the next Merge.
//   - While the table is unknown, a release keeps the table that it carries.
//
// # What Flux makes of it
//
//   - Flux upgrades a release whenever its post-renderers change by a byte: all of its manifests
//     are rendered and applied again, and pods whose images change are replaced. Merge changes
//     nothing that it need not, so that a change of the table costs every release one upgrade,
//     whether it has images of that entry or not, and anything else none. A release that also has
//     the table's Secret in its spec.valuesFrom may take two, one for its values and one for its
//     post-renderers, since these are not written in one step. Where the values come first, a Job named
//     by the chart's image-overrides.hash starts under its new name with the old image, and the second
//     upgrade fails on it: so do not have Flux watch that Secret.
//   - Flux runs the post-renderers of a release in their order, then its own for
//     spec.commonMetadata, then the one for its origin labels. Neither of the last two touches an
//     image.
//   - Flux 2.8 pins kustomize/api v0.20.1 (kustomize 5.7.1), Flux 2.9 v0.21.1 (5.8.1). What they do
//     with images is the same code.
//   - Manifests that are Helm hooks are reached by Flux 2.8.0 to 2.8.5, and from 2.9 on where
//     spec.postRenderStrategy is combined (the default, unless Flux runs with UseHelm3Defaults) or
//     separate. With nohooks, and in all other versions, hooks keep their images.
//   - Two kinds of releases fail to upgrade, whatever Merge does, and recover when the table goes:
//     one whose chart has a plain Job under a lasting name, once the table changes the Job's image
//     (its template is immutable); and one that has anything but maps in a field named containers,
//     as the values of a nested HelmRelease may, with any table at all.
//   - A release may be Ready=True and not upgraded: on a name that is no regular expression, such
//     as "[", helm-controller panics. imageoverrides.ParseSecret refuses such a table.
//
// # Who writes releases
//
//   - While the table is broken, no release is to be written, for on an air-gapped cluster one
//     without its overrides fails later, at image pull. There is one exception: the release whose
//     chart writes the table's Secret. If it waited for a sound table, the mended one could never
//     arrive. It is written all the same and keeps the table that it carries, as [Compose] does
//     with the unknown table, which is what comes with the error.
//   - Write with the resourceVersion that was read, or by a patch that has it. After a conflict
//     read the release again and merge anew: a list that was merged before may drop what the other
//     writer has put in.
//   - Releases are written by several hands, and one of them may have read an older table. A
//     controller that looks at the releases only when the Secret changes leaves such a release
//     behind until the next change; it has to watch the releases too.
//   - Two writers with two tables and one release replace each other's for ever, and each time is
//     an upgrade.
//
// # Non-goals
//
// The package reads no Secret, and neither reads nor writes a cluster.
//
// # Compatibility
//
// This is v0: a minor version may change anything, and its release notes say so. The marker and the
// form of the renderer stay, since releases carry them.
package postrender
