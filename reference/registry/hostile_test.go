// SPDX-License-Identifier: Apache-2.0

package registry_test

import (
	"bytes"
	"context"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os/exec"
	"runtime"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/cozystack/image-overrides/reference/registry"
)

// TestSettings: what is wrong is refused before anything is asked, all of it at once.
func TestSettings(t *testing.T) {
	type r = registry.Registry
	for _, test := range []struct {
		why  string
		s    registry.Settings
		want string
	}{
		{"nothing", registry.Settings{}, ""},
		{"no registry at all", registry.Settings{Registries: []r{}}, ""},
		{"all is well", registry.Settings{Registries: []r{{Host: "r.example.org:5000", PlainHTTP: true, TokenHosts: []string{"auth", "auth.example.org:8443", "[::1]:1"}}, {Host: "docker.io", CAs: x509.NewCertPool()}}, Platform: "linux/arm/v7"}, ""},
		{"a host with a scheme", registry.Settings{Registries: []r{{Host: "https://r.example.org"}}}, `settings: Registries[0]: host "https://r.example.org" has the scheme "https://" in front`},
		{"a host with a path", registry.Settings{Registries: []r{{Host: "r.example.org/a"}}}, `settings: Registries[0]: host "r.example.org/a" has the path "/a"`},
		{"no host", registry.Settings{Registries: []r{{}}}, `settings: Registries[0]: host "" is empty`},
		{"Docker Hub twice", registry.Settings{Registries: []r{{Host: "docker.io"}, {Host: "registry-1.docker.io"}}}, `settings: Registries[1]: host "registry-1.docker.io" is there twice`},
		{"CAs without TLS", registry.Settings{Registries: []r{{Host: "r.example.org", PlainHTTP: true, CAs: x509.NewCertPool()}}}, `settings: Registries[0]: host "r.example.org": CAs have no effect with PlainHTTP or a Transport`},
		{"CAs and a transport", registry.Settings{Transport: http.DefaultTransport, Registries: []r{{Host: "r.example.org", CAs: x509.NewCertPool()}}}, `settings: Registries[0]: host "r.example.org": CAs have no effect with PlainHTTP or a Transport`},
		{"a token host with a path", registry.Settings{Registries: []r{{Host: "r.example.org", TokenHosts: []string{"auth.example.org/token"}}}}, `settings: Registries[0].TokenHosts[0]: host "auth.example.org/token" has the path "/token"`},
		{"numbers and a platform", registry.Settings{Parallel: -1, Timeout: -1, Attempts: -1, MaxWait: -1, Platform: "linux"}, "settings: Parallel is negative\nsettings: Timeout is negative\nsettings: Attempts is negative\nsettings: MaxWait is negative\n" + `settings: platform "linux" is not os/architecture or os/architecture/variant`},
		{"a platform in upper case", registry.Settings{Platform: "linux/ARM64"}, `settings: platform "linux/ARM64": "ARM64" is no name of lower case letters and digits`},
	} {
		_, err := registry.New(test.s)
		got := ""
		if err != nil {
			got = err.Error()
		}
		if diff := cmp.Diff(test.want, got); diff != "" {
			t.Errorf("%s: %s", test.why, diff)
		}
	}
}

// endless writes until nobody reads any more, and counts.
func endless(written *atomic.Int64, status int, headers ...string) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		for i := 0; i < len(headers); i += 2 {
			w.Header().Set(headers[i], headers[i+1])
		}
		w.WriteHeader(status)
		if r.Method == http.MethodHead {
			return
		}
		chunk := bytes.Repeat([]byte(`{"errors":[`), 1<<12)
		for written.Load() < 4<<30 {
			n, err := w.Write(chunk)
			if written.Add(int64(n)); err != nil {
				return
			}
		}
	}
}

// TestEndless: an answer without an end is read up to a limit, and costs no more memory than that; each within its time.
func TestEndless(t *testing.T) {
	const limit = 16 << 20 // what was sent, the buffers of both sides included
	for _, test := range []struct {
		why    string
		status int
		header string
		token  bool
		want   error
	}{
		{"a manifest", 200, ociType, false, registry.ErrBadReply},
		{"a page", 200, "text/html", false, registry.ErrBadReply},
		{"not found", 404, "application/json", false, registry.ErrBadReply},
		{"bad request", 400, "application/json", false, registry.ErrBadReply},
		{"a token", 200, "application/json", true, registry.ErrBadReply},
		{"no token", 401, "application/json", true, registry.ErrRejected},
	} {
		t.Run(test.why, func(t *testing.T) {
			var written atomic.Int64
			var h http.Handler = endless(&written, test.status, "Content-Type", test.header)
			if test.token {
				tokens := h
				h = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
					if r.URL.Path == "/token" {
						tokens.ServeHTTP(w, r)
						return
					}
					bearer("http://"+r.Host+"/token", found)(w, r)
				})
			}
			server := httptest.NewServer(h)
			defer server.Close()
			host := server.Listener.Addr().String()
			c, err := registry.New(registry.Settings{Registries: []registry.Registry{{Host: host, PlainHTTP: true}}, Attempts: 1})
			if err != nil {
				t.Fatal(err)
			}
			var before, after runtime.MemStats
			runtime.ReadMemStats(&before)
			err = c.Check(t.Context(), parseImage(t, host+"/team/app:1"))
			runtime.ReadMemStats(&after)
			if !errors.Is(err, test.want) {
				t.Error(err)
			}
			if n := written.Load(); n > limit {
				t.Errorf("%d bytes were sent", n)
			}
			if n := after.TotalAlloc - before.TotalAlloc; n > 4*limit {
				t.Errorf("%d bytes were allocated", n)
			}
			if len(err.Error()) > 1024 {
				t.Errorf("%d bytes of error", len(err.Error()))
			}
		})
	}
}

// raw serves connections by hand.
func raw(t *testing.T, serve func(net.Conn)) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			go func() {
				defer c.Close()
				serve(c)
			}()
		}
	}()
	return l.Addr().String()
}

// TestOddServers: what speaks no HTTP, or HTTP without an end, ends within the timeout and is told.
func TestOddServers(t *testing.T) {
	read := func(c net.Conn) { io.ReadFull(c, make([]byte, 16)) }
	for _, test := range []struct {
		why   string
		serve func(net.Conn)
		want  error
		text  string
	}{
		{"says nothing", func(c net.Conn) { io.Copy(io.Discard, c) }, registry.ErrUnreachable, "no answer in time"},
		{"drips its headers", func(c net.Conn) {
			read(c)
			io.WriteString(c, "HTTP/1.1 200 OK\r\n")
			for i := 0; ; i++ {
				if _, err := fmt.Fprintf(c, "A%d: b\r\n", i); err != nil {
					return
				}
				time.Sleep(20 * time.Millisecond)
			}
		}, registry.ErrUnreachable, "no answer in time"},
		{"headers without an end", func(c net.Conn) {
			read(c)
			io.WriteString(c, "HTTP/1.1 200 OK\r\n")
			for {
				if _, err := io.WriteString(c, "A: "+strings.Repeat("b", 4096)+"\r\n"); err != nil {
					return
				}
			}
		}, registry.ErrUnreachable, ""},
		{"1xx without an end", func(c net.Conn) {
			read(c)
			for {
				if _, err := io.WriteString(c, "HTTP/1.1 103 Early Hints\r\nA: b\r\n\r\n"); err != nil {
					return
				}
			}
		}, registry.ErrUnreachable, ""},
		{"another protocol", func(c net.Conn) { read(c); io.WriteString(c, "220 mail.example.org ESMTP\r\n") }, registry.ErrBadReply, "malformed HTTP"},
		// What comes before the request is a malformed answer, or that of an idle connection: whichever net/http sees first.
		{"another protocol, whose server speaks first", func(c net.Conn) { io.WriteString(c, "220 mail.example.org ESMTP\r\n"); read(c) }, registry.ErrUnreachable, ""},
		{"a manifest that drips", func(c net.Conn) {
			read(c)
			io.WriteString(c, "HTTP/1.1 200 OK\r\nContent-Type: "+ociType+"\r\nContent-Length: 400000\r\n\r\n")
			for {
				if _, err := io.WriteString(c, "{"); err != nil {
					return
				}
				time.Sleep(20 * time.Millisecond)
			}
		}, registry.ErrUnreachable, "no answer in time"},
	} {
		t.Run(test.why, func(t *testing.T) {
			host := raw(t, test.serve)
			c, err := registry.New(registry.Settings{Registries: []registry.Registry{{Host: host, PlainHTTP: true}}, Attempts: 1, Timeout: 300 * time.Millisecond, Verify: true})
			if err != nil {
				t.Fatal(err)
			}
			begin := time.Now()
			err = c.Check(t.Context(), parseImage(t, host+"/team/app:1"))
			if !errors.Is(err, test.want) || !strings.Contains(fmt.Sprint(err), test.text) || errors.Is(err, context.DeadlineExceeded) {
				t.Error(err)
			}
			if took := time.Since(begin); took > 5*time.Second {
				t.Errorf("took %s", took)
			}
		})
	}
}

// TestEndlessReferrers: a list of referrers whose pages never end is given up.
func TestEndlessReferrers(t *testing.T) {
	n := newNetwork(func(w http.ResponseWriter, r *http.Request) {
		switch {
		case strings.Contains(r.URL.Path, "/referrers/"):
			send(w, r, 200, []byte(`{"schemaVersion":2,"mediaType":"application/vnd.oci.image.index.v1+json","manifests":[]}`), "Content-Type", "application/vnd.oci.image.index.v1+json", "Link", `<`+r.URL.Path+`>; rel="next"`)
		default:
			found(w, r)
		}
	})
	c := n.client(t, registry.Settings{})
	_, err := c.CopyWith(t.Context(), parseImage(t, "r.example.org/a:1"), parseImage(t, "s.example.org/a:1"), registry.Copying{Referrers: true})
	if !errors.Is(err, registry.ErrBadReply) || !strings.Contains(err.Error(), "r.example.org/a:1: bad reply: r.example.org: ") {
		t.Error(err)
	}
	if len(n.requests) > 120 {
		t.Errorf("%d requests", len(n.requests))
	}
}

// TestLinks: who imports the package links oras-go, what that needs, and what imageoverrides needs, and no more modules.
func TestLinks(t *testing.T) {
	out, err := exec.Command("go", "list", "-deps", "-f", "{{with .Module}}{{.Path}}{{end}}", ".").Output()
	if err != nil {
		t.Skipf("go list: %v", err)
	}
	modules := slices.Compact(slices.Sorted(strings.Lines(string(out))))
	want := "github.com/cozystack/image-overrides\ngithub.com/cozystack/image-overrides/reference/registry\ngithub.com/opencontainers/go-digest\ngithub.com/opencontainers/image-spec\n" +
		"go.yaml.in/yaml/v2\ngo.yaml.in/yaml/v3\ngolang.org/x/sync\noras.land/oras-go/v2\nsigs.k8s.io/yaml\n"
	if diff := cmp.Diff(want, strings.Join(slices.DeleteFunc(modules, func(s string) bool { return s == "\n" }), "")); diff != "" {
		t.Error(diff)
	}
}
