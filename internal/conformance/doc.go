// SPDX-License-Identifier: Apache-2.0

// Package conformance holds the library chart and the Go packages against each other, with
// Helm 3 and Helm 4 as they are. It is a module of its own, since nobody who uses the library
// needs Helm, and has nothing but tests.
//
// # Laws
//
// Each is tried with 1,000 random draws, or as many as the flag -rapid.checks says; from 20,000 on
// the generator is held to reach each rule:
//
//		go test                                        # a minute or two
//		go test -rapid.checks=20000 -timeout 1h        # about ten minutes
//		go test -rapid.checks=200000 -timeout 24h      # about two hours
//
//	  - Helm 3, Helm 4, ParseValues and ParseValuesText accept the same values, with the same list,
//	    and refuse the others with the same message: values out of files (-f), of the JSON that
//	    Flux has, of --set, --set-string and --set-json. A text of which Helm reads only a part is
//	    refused by ParseValuesText alone.
//	  - The same of a chart that gets the Secret's values, and ParseSecret, which refuses what Strict refuses besides. Values
//	    without _cluster are an empty table to ParseSecret, and an error in a chart.
//	  - What a chart writes into the Secret is read back as the same table.
//	  - image-overrides.postRenderers renders what Merge gives, once and again, and image-overrides.hash the hash
//	    in it; post-renderers of shapes that Flux does not have stay as they are.
//	  - image-overrides.strict refuses what Strict refuses, in the same words, and has package reference's reasons, each of them.
//	  - Rewrite changes objects as the kustomize of Flux 2.9 does; the root's tests have that of Flux 2.8.
//	  - chart.Check tells just the releases of random templates that are rendered without the table
//	    with some values (a twentieth of the draws, each with sixteen values).
//
// Values of more than 1,024 bytes are shortened in the Go packages' messages and not in the chart's.
//
// TestPlanted holds the laws to find each rule that is left out of a copy of the chart, and many a difference
// more. TestOnce holds that a table is checked and printed once for each rendering; BenchmarkReleases shows what that saves.
//
// # Facts
//
// imageoverrides/testdata/chart-rules.jsonl, measured on a platform's own chart, is tried on the
// library chart too. TestNumbers shows of which type numbers are in templates.
package conformance
