// SPDX-License-Identifier: Apache-2.0

package registry

import (
	"context"

	"github.com/cozystack/image-overrides/reference"
)

// Resolve returns the digest that an image's tag points at: the index's for an image of several
// platforms, or that of the settings' platform. An image without a tag is asked for as latest, which is
// what a node pulls. An image with a digest asks nothing, and its digest comes back.
//
// It costs one HEAD, and a GET where that settles nothing; with token servers a HEAD and a request for the
// token before it. What comes back is a digest of sha256, or where the registry says so of sha384 or sha512. The error is an
// [*Error], and the digest then empty.
// The zero Image is none, and ErrNotConfigured.
func (c *Client) Resolve(ctx context.Context, image reference.Image) (digest string, err error) {
	if digest := image.Digest(); digest != "" {
		return digest, nil
	}
	return c.one(ctx, image)
}

// Check asks whether an image is there: nil says so. An image with a digest is asked for by that, whatever its
// tag, as a node pulls it. With a platform in the settings the image must be there for that; whether
// the registry has the manifest that its index names for it is not asked. The error is an [*Error].
//
// The zero Image is none, and ErrNotConfigured.
func (c *Client) Check(ctx context.Context, image reference.Image) error {
	_, err := c.one(ctx, image)
	return err
}

func (c *Client) one(ctx context.Context, image reference.Image) (string, error) {
	t, fault := c.target(image)
	if fault != nil {
		return "", fault
	}
	r, err := c.run(ctx)
	if err != nil {
		return "", noKeyring(image, err)
	}
	digest, _, fault := r.ask(ctx, t)
	if fault != nil {
		return "", fault
	}
	return digest, nil
}
