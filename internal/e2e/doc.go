// SPDX-License-Identifier: Apache-2.0

// Package e2e holds the library against the real Flux: it builds etcd, kube-apiserver and Flux's
// helm-controller from their Go modules, starts them on loopback, and looks at what the API
// server holds in the end. It is a module of its own, since nobody who uses the library needs any
// of that.
//
//	go test -count=1 -timeout 1h        # in this folder; go test -short skips it
//
// The first run builds for some minutes and says so as it goes (go test ./... keeps that to itself
// until the end, without -v). The programs stay in .bin, where Go sees that they are up to
// date. Everything else lives in a temporary folder and goes with the test, also when it fails
// or is interrupted.
//
// # What is real, and what is not
//
//   - etcd, kube-apiserver and helm-controller are the programs, at the versions of the modules
//     in build. Helm within helm-controller is Helm as it is released, not Flux's fork of it
//     (see build/flux/go.mod).
//   - There is no kubelet, no scheduler and no controller of Kubernetes: no Pod ever
//     runs, so that no Job completes and no Deployment gets ready. Releases are installed without
//     waiting.
//   - Charts come from the test itself, over HTTP on loopback: source-controller is represented by its
//     CRDs and by an OCIRepository with a status that the test writes.
//
// # Versions
//
// Each folder in build is a module that pins what it is named after. To try another Flux, change
// its version in build/flux, take over the replacements that stand in the new version's go.mod, and
// run go mod tidy there; the same for source-controller's CRDs in build/source and for
// Kubernetes and its etcd in build/kubernetes.
package e2e
