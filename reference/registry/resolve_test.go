// SPDX-License-Identifier: Apache-2.0

package registry_test

import (
	"errors"
	"testing"

	"github.com/cozystack/image-overrides/reference"
	"github.com/cozystack/image-overrides/reference/registry"
)

// TestNoImage: the zero Image is asked for nowhere, in none of the ways to ask.
func TestNoImage(t *testing.T) {
	c, err := registry.New(registry.Settings{})
	if err != nil {
		t.Fatal(err)
	}
	var none reference.Image
	_, resolved := c.Resolve(t.Context(), none)
	_, copied := c.Copy(t.Context(), none, none)
	for what, err := range map[string]error{"Resolve": resolved, "Check": c.Check(t.Context(), none), "Copy": copied} {
		if !errors.Is(err, registry.ErrNotConfigured) {
			t.Errorf("%s: %v", what, err)
		}
	}
}
