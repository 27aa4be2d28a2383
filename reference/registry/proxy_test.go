// SPDX-License-Identifier: Apache-2.0

package registry

import (
	"errors"
	"net/http"
	"net/http/httptest"
	"net/url"
	"testing"

	"github.com/cozystack/image-overrides/reference"
)

// TestProxyRefuses: a proxy that does not let the client through is named, with what it answers.
func TestProxyRefuses(t *testing.T) {
	for _, code := range []int{403, 407, 502} {
		proxy := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { w.WriteHeader(code) }))
		defer proxy.Close()
		at, err := url.Parse(proxy.URL)
		if err != nil {
			t.Fatal(err)
		}
		transport := newTransport(1, nil)
		at.User = url.UserPassword("user", "hunter22")
		transport.Proxy = http.ProxyURL(at)
		c, err := New(Settings{Transport: transport})
		if err != nil {
			t.Fatal(err)
		}
		image, err := reference.Parse("r.example.org/a:1")
		if err != nil {
			t.Fatal(err)
		}
		err = c.Check(t.Context(), image)
		want := "r.example.org/a:1: unreachable: the proxy " + at.Host + " answers " + status(code)
		if !errors.Is(err, ErrUnreachable) || err.Error() != want {
			t.Errorf("%v, want %s", err, want)
		}
	}
}
