// SPDX-License-Identifier: Apache-2.0

// Package registrytest tries reference/registry on real registries: distribution, and the one of
// go-containerregistry, which has the referrers API. Both run in the tests' own process, on loopback. It is a module of its
// own so that neither registry is among the requirements of the module that importers have.
//
// TestCompare sets it beside go-containerregistry's client:
//
//	COMPARE=1 go test -run TestCompare -v .
package registrytest
