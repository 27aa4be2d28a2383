// SPDX-License-Identifier: Apache-2.0

package registry

import "net/http"

// WithoutGuard makes a client's guard let everything pass: the leak that the law must find.
func WithoutGuard(c *Client) {
	c.allow = func(_ *call, r *http.Request) (*http.Request, *Error) { return r, nil }
}
