// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
)

// A registry answers on loopback whether an image is there, and has nothing of it but its name.
type registry struct {
	host string

	mu    sync.Mutex
	has   map[string]bool // by repository:tag
	asked map[string]int  // the same
}

// startRegistry starts a registry, which is empty.
func startRegistry(t testing.TB) *registry {
	r := &registry{has: make(map[string]bool), asked: make(map[string]int)}
	server := httptest.NewServer(r)
	t.Cleanup(server.Close)
	r.host = strings.TrimPrefix(server.URL, "http://")
	return r
}

func (r *registry) ServeHTTP(w http.ResponseWriter, request *http.Request) {
	repository, tag, _ := strings.Cut(strings.TrimPrefix(request.URL.Path, "/v2/"), "/manifests/")
	image := repository + ":" + tag
	r.mu.Lock()
	defer r.mu.Unlock()
	r.asked[image]++
	if r.has[image] {
		w.Header().Set("Content-Type", "application/vnd.oci.image.manifest.v1+json")
		w.Header().Set("Docker-Content-Digest", digest)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(http.StatusNotFound)
	if request.Method == http.MethodGet {
		fmt.Fprint(w, `{"errors":[{"code":"MANIFEST_UNKNOWN"}]}`)
	}
}

// push makes an image be there.
func (r *registry) push(image string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.has[image] = true
}

// requests returns how often an image was asked for.
func (r *registry) requests(image string) int {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.asked[image]
}
