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
//
// # What no controller sees
//
// A table reaches the images that Flux's post-renderer looks for. Those in arguments, variables, ConfigMaps and custom resources stay, and
// a release that kustomize refuses fails as soon as it has a table. Package audit finds both in the charts, before a cluster
// does:
//
//   - Where a change of the table or of a chart is tested: render each chart, and fail on what the table misses, on entries that meet nothing
//     and on what Flux will refuse (imageoverrides audit -t values.yaml -baseline accepted.txt rendered/*.yaml).
//   - Before a cluster loses its way to the internet: the same with -allow for its own registry and -fail outside, and -o images for the list
//     that the registry has to hold.
//   - In a cluster that runs: kubectl get deploy,ds,sts,cronjob,cm -A -o yaml | imageoverrides audit -t values.yaml -fail none -
//
// # Images that are not there
//
// With [Source.Check] the images of a changed table are asked for before the table goes out: those that the table let
// through last did not lead to.
//
//   - An image that its registry says is not there holds the whole table back: releases keep the one before, and a release
//     that is created gets that. It is told in an Event on the Secret (ImageOverridesHeld), in a metric and in the log, and asked for again
//     after 30 seconds, then after twice as long each time, up to ten minutes. What was said stands until the registry says
//     otherwise, also while that cannot be reached.
//   - Any other answer (rejected, not configured, unreachable) holds nothing back: the table goes out, with another
//     Event (ImageOverridesUnchecked). What is not known after a minute is unreachable.
//   - Nobody waits for a registry but [Source.Ask]: meanwhile the table before is read and admitted.
//   - A table that was let through is not asked about again. So is none that a release carries when a process begins. Another one
//     is asked about whole then, as nothing is known of the one before, and until that is done releases keep what they carry, and
//     one that is created gets none.
//   - Entries with neither newTag nor digest name no image, as the tag is the manifest's. The log tells them.
package overrides
