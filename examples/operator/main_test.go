// SPDX-License-Identifier: Apache-2.0

package main

import "testing"

func TestKeyOf(t *testing.T) {
	if key, err := keyOf("a/b"); err != nil || key.Namespace != "a" || key.Name != "b" {
		t.Errorf("a/b: %v, %v", key, err)
	}
	for _, s := range []string{"", "a", "/", "a/", "/b", "a/b/c"} {
		if key, err := keyOf(s); err == nil {
			t.Errorf("%q: %v", s, key)
		}
	}
}
