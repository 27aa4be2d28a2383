// SPDX-License-Identifier: Apache-2.0

// Package registrytest tries reference/registry on real registries: distribution, and the one of
// go-containerregistry, which has the referrers API. Both run in the tests' own process, on loopback. It is a module of its
// own so that neither registry is among the requirements of the module that importers have. The command examples/mirror is built and
// run there too, with a proxy that stands for all registries of the world; what it writes for skopeo is run by the one in the path, if any.
//
// TestCompare sets it beside go-containerregistry's client:
//
//	COMPARE=1 go test -run TestCompare -v .
package registrytest
