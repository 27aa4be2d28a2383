// SPDX-License-Identifier: Apache-2.0

// Package overrides keeps the post-renderers of Flux HelmReleases in step with a platform's
// table of image overrides, as a controller ([Releases]) and as an admission ([Admission]).
//
// It is an example to copy from. What it holds to:
//
//   - While the Secret with the table is missing, nothing is known and nothing is touched; a
//     release that is written anew keeps the table that it carries.
//   - A broken table changes nothing. Its faults are told in an Event on the Secret, in a metric
//     and in the log. Only the release that writes the Secret is admitted, or the mended table could
//     never arrive.
//   - The table is read once for each change of the Secret.
//   - A release is patched only where its post-renderers change, since every change is an
//     upgrade, and never over an edit that was not seen.
//   - Where another writer has another table, the two do not replace each other's for ever: this
//     one waits twice as long each time, and tells it in an Event on the release and in metrics.
//   - What others may write is a label's value only in the form that it should have.
package overrides
