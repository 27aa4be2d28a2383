// SPDX-License-Identifier: Apache-2.0

// Package limit is mutated by the tests of mutants.
package limit

// Room says how much is left of most.
func Room(used, most int) int {
	if used >= most {
		return 0
	}
	return most - used
}

// Twice is not tested.
func Twice(n int) int {
	return n * 2
}

// Count ends only because n goes down.
func Count(n int) (steps int) {
	for n > 0 {
		n--
		steps++
	}
	return steps
}
