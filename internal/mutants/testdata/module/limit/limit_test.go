// SPDX-License-Identifier: Apache-2.0

package limit

import "testing"

func TestRoom(t *testing.T) {
	for _, test := range []struct{ used, most, want int }{{0, 0, 0}, {0, 5, 5}, {4, 5, 1}, {5, 5, 0}, {6, 5, 0}} {
		if got := Room(test.used, test.most); got != test.want {
			t.Errorf("%d of %d leaves %d, want %d", test.used, test.most, got, test.want)
		}
	}
}

func TestCount(t *testing.T) {
	for n := range 4 {
		if got := Count(n); got != n {
			t.Errorf("%d steps of %d", got, n)
		}
	}
}
