// SPDX-License-Identifier: Apache-2.0

package registry_test

import (
	"crypto/sha256"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/cozystack/image-overrides/reference"
	"github.com/cozystack/image-overrides/reference/registry"
)

// TestPlatformAfterCopy: a copy has all platforms, and leaves the client with the one that it asks for.
func TestPlatformAfterCopy(t *testing.T) {
	digest := func(text string) string { return fmt.Sprintf("sha256:%x", sha256.Sum256([]byte(text))) }
	child := `{"schemaVersion":2,"mediaType":"application/vnd.oci.image.manifest.v1+json","config":{"mediaType":"application/vnd.oci.image.config.v1+json","digest":"` + digest("{}") + `","size":2},"layers":[]}`
	index := fmt.Sprintf(`{"schemaVersion":2,"mediaType":"application/vnd.oci.image.index.v1+json","manifests":[{"mediaType":"application/vnd.oci.image.manifest.v1+json","digest":"%s","size":%d,"platform":{"os":"linux","architecture":"arm64"}}]}`, digest(child), len(child))
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		text := ""
		switch {
		case r.Method != http.MethodGet && r.Method != http.MethodHead:
			w.WriteHeader(http.StatusForbidden) // nothing can be put there
			return
		case r.URL.Path == "/v2/a/manifests/1", r.URL.Path == "/v2/a/manifests/"+digest(index):
			text = index
			w.Header().Set("Content-Type", "application/vnd.oci.image.index.v1+json")
		case r.URL.Path == "/v2/a/manifests/"+digest(child):
			text = child
			w.Header().Set("Content-Type", "application/vnd.oci.image.manifest.v1+json")
		default:
			w.WriteHeader(http.StatusNotFound)
			return
		}
		w.Header().Set("Docker-Content-Digest", digest(text))
		w.Header().Set("Content-Length", fmt.Sprint(len(text)))
		if r.Method == http.MethodGet {
			io.WriteString(w, text)
		}
	}))
	defer server.Close()
	host := strings.TrimPrefix(server.URL, "http://")
	c, err := registry.New(registry.Settings{Registries: []registry.Registry{{Host: host, PlainHTTP: true}}, Platform: "linux/arm64", Attempts: 1})
	if err != nil {
		t.Fatal(err)
	}
	parse := func(text string) reference.Image {
		image, err := reference.Parse(text)
		if err != nil {
			t.Fatal(err)
		}
		return image
	}
	image := parse(host + "/a:1")
	for _, when := range []string{"before", "behind"} {
		if got, err := c.Resolve(t.Context(), image); got != digest(child) {
			t.Errorf("%s the copy: %s, %v; want %s", when, got, err, digest(child))
		}
		if _, err := c.Copy(t.Context(), image, parse(host+"/b:1")); err == nil {
			t.Error("it is copied")
		}
	}
}
