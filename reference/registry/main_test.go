// SPDX-License-Identifier: Apache-2.0

package registry_test

import (
	"io"
	"log"
)

// discard keeps the complaints of test servers about odd clients out of the output.
var discard = log.New(io.Discard, "", 0)
