// SPDX-License-Identifier: Apache-2.0

package registrytest

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"encoding/json"
	"encoding/pem"
	"fmt"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/distribution/distribution/v3/configuration"
	_ "github.com/distribution/distribution/v3/registry/auth/htpasswd"
	_ "github.com/distribution/distribution/v3/registry/auth/token"
	"github.com/distribution/distribution/v3/registry/handlers"
	_ "github.com/distribution/distribution/v3/registry/storage/driver/inmemory"
	"github.com/go-jose/go-jose/v4"
	"github.com/go-jose/go-jose/v4/jwt"
	"github.com/google/go-containerregistry/pkg/authn"
	"github.com/google/go-containerregistry/pkg/name"
	ggcr "github.com/google/go-containerregistry/pkg/registry"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/random"
	"github.com/google/go-containerregistry/pkg/v1/remote"
	"github.com/sirupsen/logrus"
	"golang.org/x/crypto/bcrypt"

	"github.com/cozystack/image-overrides/reference"
	"github.com/cozystack/image-overrides/reference/registry"
)

// How a registry wants to be asked.
type access string

const (
	anonymous access = "anonymous" // plain HTTP
	htpasswd  access = "htpasswd"  // TLS, user and password
	tokens    access = "tokens"    // TLS, a token server
)

const (
	user     = "robot"
	password = "pass-word"
)

// A real is a registry that runs, and what it was asked.
type real struct {
	host   string
	access access
	cas    *x509.CertPool
	pem    []byte // of the same

	mu       sync.Mutex
	requests []string // "HEAD /v2/…"
	received int64    // bytes of bodies
	latency  time.Duration
	cut      int64 // the next upload of more bytes than this is cut off behind so many; 0 for none

	app    http.Handler                     // what answers
	before func(asked int, q *http.Request) // called before a request is answered, with how many there have been; nil for nothing
}

// start runs distribution.
func start(t testing.TB, access access) *real {
	t.Helper()
	logrus.SetOutput(io.Discard)
	r := &real{access: access}
	server := httptest.NewUnstartedServer(nil)
	server.Config.ErrorLog = log.New(io.Discard, "", 0)
	r.host = server.Listener.Addr().String()
	config := &configuration.Configuration{Storage: configuration.Storage{"inmemory": configuration.Parameters{}}}
	config.Catalog.MaxEntries = 1000
	var token http.Handler
	switch access {
	case htpasswd:
		hash, err := bcrypt.GenerateFromPassword([]byte(password), bcrypt.MinCost)
		if err != nil {
			t.Fatal(err)
		}
		file := filepath.Join(t.TempDir(), "htpasswd")
		if err := os.WriteFile(file, fmt.Appendf(nil, "%s:%s\n", user, hash), 0o600); err != nil {
			t.Fatal(err)
		}
		config.Auth = configuration.Auth{"htpasswd": configuration.Parameters{"realm": "r", "path": file}}
	case tokens:
		var jwks string
		token, jwks = tokenServer(t)
		config.Auth = configuration.Auth{"token": configuration.Parameters{
			"realm": "https://" + r.host + "/token", "service": "registry", "issuer": "issuer", "jwks": jwks, "signingalgorithms": []any{"ES256"},
		}}
	}
	app := handlers.NewApp(context.Background(), config)
	t.Cleanup(func() { app.Shutdown() })
	r.app = app
	server.Config.Handler = r.watch(app, token)
	if access == anonymous {
		server.Start()
	} else {
		server.StartTLS()
		r.cas = x509.NewCertPool()
		r.cas.AddCert(server.Certificate())
		r.pem = pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: server.Certificate().Raw})
	}
	t.Cleanup(server.Close)
	return r
}

// startReferrers runs go-containerregistry's registry, which has the referrers API.
func startReferrers(t testing.TB) *real {
	t.Helper()
	r := &real{access: anonymous}
	r.app = ggcr.New(ggcr.WithReferrersSupport(true), ggcr.Logger(log.New(io.Discard, "", 0)))
	server := httptest.NewServer(r.watch(r.app, nil))
	t.Cleanup(server.Close)
	r.host = server.Listener.Addr().String()
	return r
}

// watch remembers requests, and makes the network worse on demand.
func (r *real) watch(next, token http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, q *http.Request) {
		r.mu.Lock()
		r.requests = append(r.requests, q.Method+" "+q.URL.Path)
		latency, cut, before, asked := r.latency, r.cut, r.before, len(r.requests)
		if q.Method == http.MethodPut && cut > 0 && q.ContentLength > cut {
			r.cut = 0
		} else {
			cut = 0
		}
		r.mu.Unlock()
		time.Sleep(latency)
		if before != nil {
			before(asked, q)
		}
		if cut > 0 {
			io.CopyN(io.Discard, q.Body, cut)
			panic(http.ErrAbortHandler)
		}
		q.Body = &counted{q.Body, r}
		if token != nil && q.URL.Path == "/token" {
			token.ServeHTTP(w, q)
			return
		}
		next.ServeHTTP(w, q)
	})
}

type counted struct {
	io.ReadCloser
	r *real
}

func (c *counted) Read(p []byte) (int, error) {
	n, err := c.ReadCloser.Read(p)
	c.r.mu.Lock()
	c.r.received += int64(n)
	c.r.mu.Unlock()
	return n, err
}

// asked returns the requests since the last call, and the bytes that came with them.
func (r *real) asked() (requests []string, received int64) {
	r.mu.Lock()
	defer r.mu.Unlock()
	requests, received = r.requests, r.received
	r.requests, r.received = nil, 0
	return requests, received
}

// counts are requests by method, tokens apart.
func counts(requests []string) map[string]int {
	n := make(map[string]int)
	for _, q := range requests {
		method, path, _ := strings.Cut(q, " ")
		if path == "/token" {
			method = "token"
		}
		n[method]++
	}
	return n
}

// tokenServer gives tokens to the user, and the file of the key that they are signed with.
func tokenServer(t testing.TB) (http.Handler, string) {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	public, err := json.Marshal(jose.JSONWebKeySet{Keys: []jose.JSONWebKey{{Key: key.Public(), KeyID: "k", Algorithm: "ES256", Use: "sig"}}})
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(t.TempDir(), "jwks.json")
	if err := os.WriteFile(file, public, 0o600); err != nil {
		t.Fatal(err)
	}
	signer, err := jose.NewSigner(jose.SigningKey{Algorithm: jose.ES256, Key: jose.JSONWebKey{Key: key, KeyID: "k"}}, nil)
	if err != nil {
		t.Fatal(err)
	}
	return http.HandlerFunc(func(w http.ResponseWriter, q *http.Request) {
		if name, pass, ok := q.BasicAuth(); !ok || name != user || pass != password {
			http.Error(w, `{"errors":[{"code":"UNAUTHORIZED","message":"who are you"}]}`, http.StatusUnauthorized)
			return
		}
		type access struct {
			Type    string   `json:"type"`
			Name    string   `json:"name"`
			Actions []string `json:"actions"`
		}
		granted := []access{}
		for _, scope := range q.URL.Query()["scope"] {
			for _, one := range strings.Fields(scope) {
				if parts := strings.Split(one, ":"); len(parts) == 3 {
					granted = append(granted, access{parts[0], parts[1], strings.Split(parts[2], ",")})
				}
			}
		}
		now := time.Now().Unix()
		text, err := jwt.Signed(signer).Claims(map[string]any{
			"iss": "issuer", "sub": user, "aud": "registry", "exp": now + 300, "nbf": now - 10, "iat": now, "jti": "1", "access": granted,
		}).Serialize()
		if err != nil {
			http.Error(w, err.Error(), http.StatusInternalServerError)
			return
		}
		json.NewEncoder(w).Encode(map[string]string{"token": text})
	}), file
}

// client returns a client for registries, with the right credentials.
func client(t testing.TB, s registry.Settings, servers ...*real) *registry.Client {
	t.Helper()
	return clientAs(t, password, s, servers...)
}

func clientAs(t testing.TB, password string, s registry.Settings, servers ...*real) *registry.Client {
	t.Helper()
	auths := make(map[string]any)
	for _, r := range servers {
		s.Registries = append(s.Registries, registry.Registry{Host: r.host, PlainHTTP: r.cas == nil, CAs: r.cas})
		if r.access != anonymous {
			auths[r.host] = map[string]string{"username": user, "password": password}
		}
	}
	config, err := json.Marshal(map[string]any{"auths": auths})
	if err != nil {
		t.Fatal(err)
	}
	keyring, err := registry.ParseDockerConfig(config)
	if err != nil {
		t.Fatal(err)
	}
	s.Keyring = func(context.Context) (registry.Keyring, error) { return keyring, nil }
	c, err := registry.New(s)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.CloseIdleConnections)
	return c
}

// options are those of go-containerregistry's client.
func (r *real) options() []remote.Option {
	transport := remote.DefaultTransport.(*http.Transport).Clone()
	if r.cas != nil {
		transport.TLSClientConfig = clientTLS(r.cas)
	}
	return []remote.Option{remote.WithTransport(transport), remote.WithAuth(r.auth())}
}

func (r *real) auth() authn.Authenticator {
	if r.access == anonymous {
		return authn.Anonymous
	}
	return &authn.Basic{Username: user, Password: password}
}

// name is an image of the registry, for go-containerregistry.
func (r *real) name(t testing.TB, image string) name.Reference {
	t.Helper()
	ref, err := name.ParseReference(r.host + "/" + image)
	if err != nil {
		t.Fatal(err)
	}
	return ref
}

// image is an image of the registry.
func (r *real) image(t testing.TB, image string) reference.Image {
	t.Helper()
	img, err := reference.Parse(r.host + "/" + image)
	if err != nil {
		t.Fatal(err)
	}
	return img
}

// fill puts n images into as many repositories, and returns them with their digests.
func (r *real) fill(t testing.TB, n int) (images []reference.Image, digests []string) {
	t.Helper()
	for i := range n {
		img, err := random.Image(256, 1)
		if err != nil {
			t.Fatal(err)
		}
		image := fmt.Sprintf("team/app-%d:1", i)
		if err := remote.Write(r.name(t, image), img, r.options()...); err != nil {
			t.Fatal(err)
		}
		digest, err := img.Digest()
		if err != nil {
			t.Fatal(err)
		}
		images, digests = append(images, r.image(t, image)), append(digests, digest.String())
	}
	r.asked()
	return images, digests
}

// multi returns an index of three platforms, each with layers of a size, and one layer that all share.
func multi(t testing.TB, size int64) v1.ImageIndex {
	t.Helper()
	shared, err := random.Layer(size, "application/vnd.docker.image.rootfs.diff.tar.gzip")
	if err != nil {
		t.Fatal(err)
	}
	index := v1.ImageIndex(empty.Index)
	for _, p := range []v1.Platform{{OS: "linux", Architecture: "amd64"}, {OS: "linux", Architecture: "arm64", Variant: "v8"}, {OS: "linux", Architecture: "arm", Variant: "v7"}} {
		img, err := random.Image(size, 2)
		if err != nil {
			t.Fatal(err)
		}
		if img, err = mutate.AppendLayers(img, shared); err != nil {
			t.Fatal(err)
		}
		index = with(t, index, img, p)
	}
	return index
}

// with returns an index with one more image, for a platform.
func with(t testing.TB, index v1.ImageIndex, img v1.Image, p v1.Platform) v1.ImageIndex {
	t.Helper()
	config, err := img.ConfigFile()
	if err != nil {
		t.Fatal(err)
	}
	config = config.DeepCopy()
	config.OS, config.Architecture, config.Variant = p.OS, p.Architecture, p.Variant
	if img, err = mutate.ConfigFile(img, config); err != nil {
		t.Fatal(err)
	}
	return mutate.AppendManifests(index, mutate.IndexAddendum{Add: img, Descriptor: v1.Descriptor{Platform: &p}})
}
