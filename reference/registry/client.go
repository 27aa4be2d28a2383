// SPDX-License-Identifier: Apache-2.0

package registry

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/cozystack/image-overrides/internal/quote"
	"github.com/cozystack/image-overrides/reference"
)

// Settings say which registries are asked, and how. They hold no secret and can be printed; the zero
// Settings are good: every registry, by HTTPS, anonymously.
type Settings struct {
	// Registries are those that may be asked. Nil stands for any, by HTTPS. Otherwise an image of
	// another registry is ErrNotConfigured. Docker Hub is docker.io, by any of its names.
	Registries []Registry
	// Keyring gives the credentials. It is asked once at the beginning of each Resolve, Check, Each, Pin
	// and Copy, so that a Secret that changed takes effect at the next. Nil stands for none. Where it fails
	// nothing is asked, for an anonymous answer would say "rejected", and the error is an ErrUnreachable
	// that wraps its own.
	Keyring func(context.Context) (Keyring, error)
	// Platform, such as linux/arm64 or linux/arm/v7, asks for the manifest of that platform
	// instead of what the tag points at. Amd64 is amd64/v1, arm64 is arm64/v8, and arm is arm/v7, as
	// containerd has it. It costs a GET for each image, and for an image of a single platform a
	// second one, of its config.
	Platform string
	// Parallel is how many images are asked at a time; 0 stands for 8.
	Parallel int
	// Timeout is how long one attempt may take: all requests of it together, but not what is
	// waited between attempts. For Copy it is how long nothing may move. 0 stands for 10 s.
	Timeout time.Duration
	// Attempts is how often an image is asked while the answer may change; 0 stands for 3.
	Attempts int
	// MaxWait is the longest Retry-After that is waited for; a longer one ends the attempts. 0
	// stands for 30 s.
	MaxWait time.Duration
	// Verify has every manifest fetched and hashed. Without it a digest that a registry gives for a
	// tag is taken at its word. Docker Hub counts what is fetched as a pull.
	Verify bool
	// Transport carries the requests. Nil stands for one of the client's own, with the environment's
	// proxy. It sees secrets, and must not hand them on.
	Transport http.RoundTripper
}

// Registry is one registry that may be asked.
type Registry struct {
	// Host, with a port where it is not the scheme's own, as reference.ValidateHost takes it.
	Host string
	// PlainHTTP asks without TLS.
	PlainHTTP bool
	// CAs are the authorities that the registry's certificate, its token server's and those of its redirects are checked
	// with. Nil stands for the system's. They cannot be combined with PlainHTTP or a Transport.
	CAs *x509.CertPool
	// TokenHosts are the hosts, besides the registry's own, that its credentials may be sent to
	// because a challenge names them as token server. Docker Hub's is known. They are asked by HTTPS, for a
	// registry with PlainHTTP also without.
	TokenHosts []string
}

// A Client asks registries. It is safe for use from many goroutines, and keeps no credential from one run to the next.
type Client struct {
	s        Settings
	platform platform
	any      bool // every registry may be asked
	mu       sync.Mutex
	servers  map[string]*server // by the registry's name
	base     http.RoundTripper
	allow    func(*call, *http.Request) (*http.Request, *Error) // what the guard goes by
}

// A server is a registry as it is asked.
type server struct {
	name      string // as images spell it
	scheme    string
	host      string          // as it is asked
	origins   map[string]bool // that may have its secrets
	transport http.RoundTripper
	gate      gate
}

// hubServer is the host that answers for Docker Hub, and hubTokens its token server.
const (
	hubServer = "registry-1.docker.io"
	hubTokens = "auth.docker.io"
)

// New returns a client. It asks nothing. The error names every setting that is wrong: a host that is none, or there twice; a
// platform that is none; a negative number; CAs that could have no effect.
func New(s Settings) (*Client, error) {
	var faults []error
	fault := func(format string, args ...any) { faults = append(faults, fmt.Errorf("settings: "+format, args...)) }
	c := &Client{s: s, any: s.Registries == nil, servers: make(map[string]*server), allow: pass}
	for _, number := range []struct {
		name  string
		value int64
	}{{"Parallel", int64(s.Parallel)}, {"Timeout", int64(s.Timeout)}, {"Attempts", int64(s.Attempts)}, {"MaxWait", int64(s.MaxWait)}} {
		if number.value < 0 {
			fault("%s is negative", number.name)
		}
	}
	setDefault(&c.s.Parallel, 8)
	setDefault(&c.s.Attempts, 3)
	setDefault(&c.s.Timeout, 10*time.Second)
	setDefault(&c.s.MaxWait, 30*time.Second)
	if s.Platform != "" {
		p, err := parsePlatform(s.Platform)
		if err != nil {
			fault("%w", err)
		}
		c.platform = p
	}
	c.base = s.Transport
	if c.base == nil {
		c.base = newTransport(c.s.Parallel, nil)
	}
	for i, r := range s.Registries {
		if err := reference.ValidateHost(r.Host); err != nil {
			fault("Registries[%d]: %w", i, err)
			continue
		}
		name := r.Host
		if slices.Contains(hubHosts[:], name) {
			name = hub
		}
		if c.servers[name] != nil {
			fault("Registries[%d]: host %s is there twice", i, quote.Value(r.Host))
		}
		if r.CAs != nil && (r.PlainHTTP || s.Transport != nil) {
			fault("Registries[%d]: host %s: CAs have no effect with PlainHTTP or a Transport", i, quote.Value(r.Host))
		}
		for j, host := range r.TokenHosts {
			// A word alone is a host here, unlike in front of an image.
			if reference.ValidateHost(host) != nil && (strings.Contains(host, ":") || reference.ValidateHost(host+":1") != nil) {
				fault("Registries[%d].TokenHosts[%d]: %w", i, j, reference.ValidateHost(host))
			}
		}
		c.servers[name] = c.newServer(name, r)
	}
	if len(faults) > 0 {
		return nil, errors.Join(faults...)
	}
	c.s.Registries = slices.Clone(s.Registries)
	return c, nil
}

func setDefault[T int | time.Duration](value *T, to T) {
	if *value == 0 {
		*value = to
	}
}

// newServer makes a registry ready to be asked.
func (c *Client) newServer(name string, r Registry) *server {
	s := &server{name: name, host: name, scheme: "https", transport: c.base, origins: make(map[string]bool)}
	if r.PlainHTTP {
		s.scheme = "http"
	}
	tokens := r.TokenHosts
	if name == hub {
		s.host = hubServer
		tokens = append(slices.Clone(tokens), hubTokens)
	}
	if r.CAs != nil {
		s.transport = newTransport(c.s.Parallel, r.CAs)
	}
	s.origins[origin(&url.URL{Scheme: s.scheme, Host: s.host})] = true
	for _, host := range tokens {
		s.origins[origin(&url.URL{Scheme: "https", Host: host})] = true
		if r.PlainHTTP {
			s.origins[origin(&url.URL{Scheme: "http", Host: host})] = true
		}
	}
	return s
}

// server returns the registry of that name, nil where the settings have none.
func (c *Client) server(name string) *server {
	c.mu.Lock()
	defer c.mu.Unlock()
	s := c.servers[name]
	if s == nil && c.any {
		s = c.newServer(name, Registry{})
		c.servers[name] = s
	}
	return s
}

// origin is scheme, host and port of a URL, with the scheme's own port where it has none.
func origin(u *url.URL) string {
	port := u.Port()
	if port == "" {
		port = map[string]string{"http": "80", "https": "443"}[u.Scheme]
	}
	return u.Scheme + "://" + strings.ToLower(u.Hostname()) + ":" + port
}

// newTransport returns a transport with the environment's proxy.
func newTransport(parallel int, cas *x509.CertPool) *http.Transport {
	t := http.DefaultTransport.(*http.Transport).Clone()
	t.MaxIdleConns = 0
	t.MaxIdleConnsPerHost = parallel
	t.MaxResponseHeaderBytes = 256 << 10
	t.DisableCompression = true // digests are of the bytes as they are sent
	t.ForceAttemptHTTP2 = true
	if cas != nil {
		t.TLSClientConfig = &tls.Config{RootCAs: cas, MinVersion: tls.VersionTLS12}
	}
	t.OnProxyConnectResponse = func(_ context.Context, proxy *url.URL, _ *http.Request, r *http.Response) error {
		if r.StatusCode == http.StatusOK {
			return nil
		}
		return &Error{Kind: ErrUnreachable, Host: proxy.Host, Status: r.StatusCode, Reason: fmt.Sprintf("the proxy %s answers %s", quote.Plain(proxy.Host), status(r.StatusCode))}
	}
	return t
}

// CloseIdleConnections closes the connections that nobody uses, of the client's own transports. They are closed without
// it too, after a minute and a half.
func (c *Client) CloseIdleConnections() {
	c.mu.Lock()
	defer c.mu.Unlock()
	own := []http.RoundTripper{}
	if c.s.Transport == nil {
		own = append(own, c.base)
	}
	for _, s := range c.servers {
		if s.transport != c.base {
			own = append(own, s.transport)
		}
	}
	for _, t := range own {
		t.(*http.Transport).CloseIdleConnections()
	}
}
