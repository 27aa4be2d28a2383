// SPDX-License-Identifier: Apache-2.0

// Package source pins source-controller, of which the tests need the CRDs only. It imports the
// smallest of its packages, so that go.mod keeps the requirement.
package source

import _ "github.com/fluxcd/source-controller/tests/listener"
