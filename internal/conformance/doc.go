// SPDX-License-Identifier: Apache-2.0

// Package conformance holds the library chart and the Go packages against each other, with
// Helm 3 and Helm 4 as they are. It is a module of its own, since nobody who uses the library
// needs Helm, and has nothing but tests.
//
// # Laws
//
// Each is tried with 20,000 random draws, or as many as the flag -rapid.checks says:
//
//		go test                                        # some minutes
//		go test -rapid.checks=200000 -timeout 24h      # about an hour
//
//	  - Helm 3, Helm 4, ParseValues and ParseValuesText accept the same values, with the same list,
//	    and refuse the others with the same message: values out of files (-f), of the JSON that
//	    Flux has, of --set, --set-string and --set-json.
//	  - The same of a chart that gets the Secret's values, and ParseSecret.
//	  - What a chart writes into the Secret is read back as the same table.
//	  - image-overrides.postRenderers renders what Merge gives, once and again.
//	  - image-overrides.strict refuses what Strict refuses.
//	  - Rewrite changes objects as the kustomize of Flux 2.9 does; the root's tests have that of Flux 2.8.
//	  - chart.Check tells just the releases of random templates that are rendered without the table
//	    with some values (a twentieth of the draws, each with sixteen values).
//
// The generator is held to reach each rule, and TestPlanted to find each rule that is left out of
// a copy of the chart, and many a difference more.
//
// # Facts
//
// imageoverrides/testdata/chart-rules.jsonl, measured on a platform's own chart, is tried on the
// library chart too. TestNumbers shows of which type numbers are in templates.
package conformance
