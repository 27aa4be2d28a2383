// SPDX-License-Identifier: Apache-2.0

// Package conformance holds the module against the real Helm 3 and Helm 4 engines, which are
// too heavy for a requirement of the module itself. It has tests only.
package conformance
