// SPDX-License-Identifier: Apache-2.0

// Package other guards a package of another module.
package other

import (
	"testing"

	"example.org/module/limit"
)

func TestTwice(t *testing.T) {
	if got := limit.Twice(2); got != 4 {
		t.Errorf("%d", got)
	}
}
