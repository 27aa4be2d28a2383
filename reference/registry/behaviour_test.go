// SPDX-License-Identifier: Apache-2.0

package registry_test

import (
	"context"
	"crypto/sha256"
	"crypto/tls"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/cozystack/image-overrides/reference"
	"github.com/cozystack/image-overrides/reference/registry"
)

const (
	regHost   = "registry.example.org"
	authHost  = "auth.example.org"
	otherHost = "other.example.net"
	ociType   = "application/vnd.oci.image.manifest.v1+json"
)

var (
	manifest = []byte(`{"schemaVersion":2,"mediaType":"` + ociType + `","config":{"mediaType":"application/vnd.oci.image.config.v1+json","digest":"sha256:` + strings.Repeat("1", 64) + `","size":2},"layers":[]}`)
	digest   = digestOf(manifest)
	nowhere  = "sha256:" + strings.Repeat("a", 64)
	secrets  = []string{"pass-word", "identity-token", "registry-token", "the-token"}
)

func digestOf(b []byte) string {
	sum := sha256.Sum256(b)
	return "sha256:" + hex.EncodeToString(sum[:])
}

// A world is what stands behind the names of a situation. The zero handler of a host is none.
type world struct {
	image            string // registry.example.org/team/app:1 unless it says otherwise
	credential       registry.Credential
	tokens           []string // TokenHosts
	plain            bool
	reg, auth, other http.HandlerFunc
	times            int                   // how often the image is asked for in one run, 1 unless it says otherwise
	transport        func(*http.Transport) // changes the transport, whose names all lead to the test server
	context          func() (context.Context, context.CancelFunc)
	timeout          time.Duration
}

var (
	user     = registry.Credential{Username: "robot", Password: "pass-word"}
	identity = registry.Credential{IdentityToken: "identity-token"}
)

// Answers of a registry.

func found(w http.ResponseWriter, r *http.Request) {
	send(w, r, 200, manifest, "Content-Type", ociType, "Docker-Content-Digest", digest)
}

// send answers with headers, each a name and a value; a value of "-" keeps the server from giving one.
func send(w http.ResponseWriter, r *http.Request, status int, body []byte, headers ...string) {
	for i := 0; i < len(headers); i += 2 {
		if headers[i+1] == "-" {
			w.Header()[headers[i]] = nil
		} else {
			w.Header().Add(headers[i], headers[i+1])
		}
	}
	if w.Header()["Content-Length"] == nil && status >= 200 && status != 204 {
		w.Header().Set("Content-Length", strconv.Itoa(len(body)))
	}
	w.WriteHeader(status)
	if r.Method != http.MethodHead && status != 204 {
		w.Write(body)
	}
}

func answer(status int, body string, headers ...string) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) { send(w, r, status, []byte(body), headers...) }
}

func fault(status int, code string) http.HandlerFunc {
	return answer(status, `{"errors":[{"code":"`+code+`","message":"m"}]}`, "Content-Type", "application/json")
}

const page = "<!doctype html><html><body>Please sign in to the network.</body></html>"

// challenge asks for a scheme, and goes on with next once it has it.
func challenge(header, scheme string, next http.HandlerFunc) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		if strings.HasPrefix(r.Header.Get("Authorization"), scheme+" ") {
			next(w, r)
			return
		}
		send(w, r, 401, nil, "Www-Authenticate", header)
	}
}

func basic(next http.HandlerFunc) http.HandlerFunc {
	return challenge(`Basic realm="r"`, "Basic", next)
}

func bearer(realm string, next http.HandlerFunc) http.HandlerFunc {
	return challenge(`Bearer realm="`+realm+`",service="svc",scope="repository:team/app:pull"`, "Bearer", next)
}

var token = answer(200, `{"token":"the-token"}`, "Content-Type", "application/json")

// withToken is a registry with its token server on its own host.
func withToken(next http.HandlerFunc) http.HandlerFunc {
	guarded := bearer("https://"+regHost+"/token", next)
	return func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/token" {
			token(w, r)
			return
		}
		guarded(w, r)
	}
}

func redirect(status int, to string) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) { send(w, r, status, nil, "Location", to+r.URL.Path) }
}

// byMethod answers HEAD and GET differently.
func byMethod(head, get http.HandlerFunc) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		if r.Method == http.MethodHead {
			head(w, r)
		} else {
			get(w, r)
		}
	}
}

func ok(headers ...string) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) { send(w, r, 200, manifest, headers...) }
}

// big has a manifest of 5 MiB.
func big(header bool) http.HandlerFunc {
	body := slices.Concat([]byte(`{"schemaVersion":2,"a":"`), []byte(strings.Repeat("a", 5<<20)), []byte(`"}`))
	headers := []string{"Content-Type", ociType}
	if header {
		headers = append(headers, "Docker-Content-Digest", digestOf(body))
	}
	return answer(200, string(body), headers...)
}

// tokenAnswers is a registry whose token server on another host, which the settings name, answers so.
func tokenAnswers(answer http.HandlerFunc) world {
	return world{credential: user, tokens: []string{authHost}, auth: answer, reg: bearer("https://"+authHost+"/token", found)}
}

func silent(w http.ResponseWriter, r *http.Request) {
	io.Copy(io.Discard, r.Body)
	<-r.Context().Done()
}

// situations are the worlds behind the names in the file.
func situations(t *testing.T) map[string]world {
	byDigest := func(digest string, reg http.HandlerFunc) world {
		return world{image: regHost + "/team/app@" + digest, reg: reg}
	}
	html := answer(200, page, "Content-Type", "text/html")
	with := func(c registry.Credential, reg http.HandlerFunc) world { return world{credential: c, reg: reg} }
	reg := func(h http.HandlerFunc) world { return world{reg: h} }
	tokenHost := "https://" + authHost + "/token"
	after := func(next http.HandlerFunc) world {
		w := tokenAnswers(token)
		w.reg = bearer(tokenHost, next)
		return w
	}
	dial := func(address string) func(*http.Transport) {
		return func(tr *http.Transport) {
			tr.DialContext = func(ctx context.Context, network, _ string) (net.Conn, error) {
				return new(net.Dialer).DialContext(ctx, network, address)
			}
		}
	}
	raw := func(serve func(net.Conn)) string {
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
				go serve(c)
			}
		}()
		return l.Addr().String()
	}
	closed := func() string {
		l, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		defer l.Close()
		return l.Addr().String()
	}()
	proxy := func(answer string) func(*http.Transport) {
		address := closed
		if answer != "" {
			address = raw(func(c net.Conn) {
				io.ReadFull(c, make([]byte, 16))
				io.WriteString(c, answer)
				c.Close()
			})
		}
		return func(tr *http.Transport) {
			tr.Proxy = http.ProxyURL(&url.URL{Scheme: "http", Host: address})
			tr.DialContext = nil
		}
	}
	refusing := func(tr *http.Transport) { // auth.example.org alone
		all := tr.DialContext
		tr.DialContext = func(ctx context.Context, network, address string) (net.Conn, error) {
			if strings.HasPrefix(address, authHost) {
				return new(net.Dialer).DialContext(ctx, network, closed)
			}
			return all(ctx, network, address)
		}
	}
	strict := func(tr *http.Transport) { tr.TLSClientConfig.InsecureSkipVerify = false }
	unlisted := world{credential: user, reg: bearer("https://nosuch.invalid/token", found)}
	return map[string]world{
		"200 HEAD":                                reg(found),
		"200 HEAD by digest that matches":         byDigest(digest, found),
		"404 HEAD manifest unknown":               reg(fault(404, "MANIFEST_UNKNOWN")),
		"404 HEAD name unknown":                   reg(fault(404, "NAME_UNKNOWN")),
		"404 GET name unknown":                    reg(fault(404, "NAME_UNKNOWN")),
		"404 HTML (not a registry)":               reg(answer(404, page, "Content-Type", "text/html")),
		"404 by digest":                           byDigest(nowhere, fault(404, "MANIFEST_UNKNOWN")),
		"401 unknown scheme Negotiate":            with(user, answer(401, "", "Www-Authenticate", "Negotiate")),
		"401 Negotiate then Basic as two headers": with(user, answer(401, "", "Www-Authenticate", "Negotiate", "Www-Authenticate", `Basic realm="r"`)),
		"401 Basic then Bearer as two headers": with(user, func(w http.ResponseWriter, r *http.Request) {
			if r.Header.Get("Authorization") != "" {
				found(w, r)
				return
			}
			send(w, r, 401, nil, "Www-Authenticate", `Basic realm="r"`, "Www-Authenticate", `Bearer realm="`+tokenHost+`"`)
		}),
		"401 Basic, no credential":                       reg(basic(found)),
		"401 Basic, right":                               with(user, basic(found)),
		"401 Basic, right, asked twice":                  {credential: user, reg: basic(found), times: 2},
		"401 Basic, wrong password":                      with(user, basic(answer(401, "", "Www-Authenticate", `Basic realm="r"`))),
		"401 Basic, user without password":               with(registry.Credential{Username: "robot"}, basic(found)),
		"401 Basic, identity token only":                 with(identity, basic(found)),
		"404 after Basic":                                with(user, basic(fault(404, "MANIFEST_UNKNOWN"))),
		"Bearer same host, anonymous":                    reg(withToken(found)),
		"Bearer same host, user":                         with(user, withToken(found)),
		"Bearer same host, asked twice":                  {credential: user, reg: withToken(found), times: 2},
		"Bearer same host, registry token (AccessToken)": with(registry.Credential{RegistryToken: "registry-token"}, withToken(found)),
		"Bearer other host, user":                        {credential: user, reg: bearer(tokenHost, found), auth: token},
		"Bearer other host, anonymous":                   {reg: bearer(tokenHost, found), auth: token},
		"Bearer other host, identity token":              {credential: identity, reg: bearer(tokenHost, found), auth: token},
		"Bearer realm on loopback, registry elsewhere":   with(user, bearer("https://127.0.0.1/token", found)),
		"Bearer realm on private address":                with(user, bearer("https://10.0.0.1/token", found)),
		"Bearer realm missing":                           with(user, challenge(`Bearer service="s"`, "Bearer", found)),
		"Bearer realm relative":                          with(user, bearer("/token", found)),
		"Bearer realm ftp":                               with(user, bearer("ftp://"+authHost+"/token", found)),
		"Bearer realm with userinfo":                     with(user, bearer("https://u:p@"+regHost+"/token", found)),
		"token endpoint 401":                             tokenAnswers(answer(401, "")),
		"token endpoint 401 with errors":                 tokenAnswers(fault(401, "UNAUTHORIZED")),
		"token endpoint 403":                             tokenAnswers(fault(403, "DENIED")),
		"token endpoint 404":                             tokenAnswers(answer(404, "")),
		"token endpoint 429":                             tokenAnswers(answer(429, "", "Retry-After", "7")),
		"token endpoint 500":                             tokenAnswers(answer(500, "")),
		"token endpoint HTML 200":                        tokenAnswers(html),
		"token endpoint empty token":                     tokenAnswers(answer(200, `{}`)),
		"token endpoint refused connection":              {credential: user, tokens: []string{authHost}, reg: bearer(tokenHost, found), transport: refusing},
		"token endpoint unknown host":                    unlisted,
		"token endpoint redirects to other host 302":     {credential: user, tokens: []string{authHost}, reg: bearer(tokenHost, found), auth: answer(302, "", "Location", "https://"+otherHost+"/t"), other: token},
		"Bearer, token not accepted (401 again)":         after(answer(401, "", "Www-Authenticate", `Bearer realm="`+tokenHost+`",service="svc"`)),
		"Bearer, then 403":                               after(fault(403, "DENIED")),
		"Bearer, then 404":                               after(fault(404, "MANIFEST_UNKNOWN")),
		"Bearer, then 401 GET with NAME_UNKNOWN":         after(fault(401, "NAME_UNKNOWN")),
		"403 HEAD":                                       reg(answer(403, "")),
		"403 GET DENIED":                                 reg(fault(403, "DENIED")),
		"403 GET HTML (WAF)":                             reg(answer(403, page, "Content-Type", "text/html")),
		"407":                                            reg(answer(407, "")),
		"429, no retry client":                           reg(answer(429, "", "Retry-After", "7")),
		"500, no retry client":                           reg(answer(500, "")),
		"502 HTML GET, no retry client":                  reg(answer(502, page, "Content-Type", "text/html")),
		"503, no retry client":                           reg(answer(503, "")),
		"501":                                            reg(answer(501, "")),
		"400":                                            reg(answer(400, "")),
		"418":                                            reg(answer(418, "")),
		"204":                                            reg(answer(204, "")),
		"206 HEAD":                                       reg(answer(206, "")),
		"HTML 200 GET by tag":                            reg(html),
		"HTML 200 GET by digest":                         byDigest(nowhere, html),
		"HTML 200 with a digest header by tag":           reg(answer(200, page, "Content-Type", "text/html", "Docker-Content-Digest", digestOf([]byte(page)))),
		"JSON 200 no digest header GET by tag":           reg(ok("Content-Type", ociType)),
		"no content type HEAD":                           reg(ok("Content-Type", "-", "Docker-Content-Digest", digest)),
		"bad content type HEAD":                          reg(ok("Content-Type", ";;", "Docker-Content-Digest", digest)),
		"digest header upper case":                       reg(ok("Content-Type", ociType, "Docker-Content-Digest", "sha256:"+strings.ToUpper(digest[7:]))),
		"digest header md5":                              reg(ok("Content-Type", ociType, "Docker-Content-Digest", "md5:d41d8cd98f00b204e9800998ecf8427e")),
		"digest header sha512":                           reg(ok("Content-Type", ociType, "Docker-Content-Digest", "sha512:"+strings.Repeat("ab", 64))),
		"digest header wrong, HEAD by tag":               reg(ok("Content-Type", ociType, "Docker-Content-Digest", nowhere)),
		"digest header wrong, HEAD by digest":            byDigest(digest, ok("Content-Type", ociType, "Docker-Content-Digest", nowhere)),
		"digest header wrong, GET by tag, body read":     reg(ok("Content-Type", ociType, "Docker-Content-Digest", nowhere)),
		"no digest header, GET by digest, body differs":  byDigest(nowhere, ok("Content-Type", ociType)),
		"two digest headers":                             reg(ok("Content-Type", ociType, "Docker-Content-Digest", digest, "Docker-Content-Digest", digest)),
		"HEAD 405, GET 200":                              reg(byMethod(answer(405, ""), found)),
		"HEAD without Content-Length":                    reg(byMethod(ok("Content-Type", ociType, "Docker-Content-Digest", digest, "Content-Length", "-"), found)),
		"GET without Content-Length (chunked)":           reg(ok("Content-Type", ociType, "Docker-Content-Digest", digest, "Content-Length", "-")),
		"HEAD Content-Length 0":                          reg(byMethod(answer(200, "", "Content-Type", ociType, "Docker-Content-Digest", digest), found)),
		"GET 5 MiB, no digest header":                    reg(big(false)),
		"GET 5 MiB, digest header":                       reg(big(true)),
		"HEAD 5 MiB, digest header":                      reg(big(true)),
		"redirect 307 other host, anonymous":             {reg: redirect(307, "https://"+otherHost), other: found},
		"redirect 307 other host after Basic":            {credential: user, reg: basic(redirect(307, "https://"+otherHost)), other: found},
		"redirect 307 same host other port after Basic":  {credential: user, reg: basic(redirect(307, "https://"+regHost+":8443")), other: found},
		"redirect 307 other host, which asks Basic":      {credential: user, reg: redirect(307, "https://"+otherHost), other: basic(found)},
		"redirect 307 after Bearer to other host":        {credential: user, reg: bearer(tokenHost, redirect(307, "https://"+otherHost)), auth: token, other: found},
		"redirect 301 to path on same host":              reg(func(w http.ResponseWriter, r *http.Request) { moved(w, r) }),
		"redirect loop":                                  reg(func(w http.ResponseWriter, r *http.Request) { send(w, r, 307, nil, "Location", r.URL.Path) }),
		"self-signed certificate":                        {image: "example.com/team/app:1", reg: found, transport: strict},
		"plain http to a TLS server":                     {plain: true, reg: found},
		"DNS failure":                                    {image: "nosuch.invalid/team/app:1", reg: found},
		"TLS handshake timeout": {reg: found, transport: func(tr *http.Transport) {
			dial(raw(func(c net.Conn) { io.Copy(io.Discard, c) }))(tr)
			tr.TLSHandshakeTimeout = 50 * time.Millisecond
		}},
		"context deadline while waiting for headers": {reg: silent, context: func() (context.Context, context.CancelFunc) {
			return context.WithTimeout(t.Context(), 300*time.Millisecond)
		}},
		"context cancelled while waiting for headers": {reg: silent, context: func() (context.Context, context.CancelFunc) {
			ctx, cancel := context.WithCancel(t.Context())
			time.AfterFunc(300*time.Millisecond, cancel)
			return ctx, cancel
		}},
		"slow body GET, deadline":                reg(byMethod(found, silent)),
		"connection closed without answer (EOF)": {reg: found, transport: dial(raw(func(c net.Conn) { c.Close() }))},
		"truncated body GET":                     reg(byMethod(found, ok("Content-Type", ociType, "Content-Length", "9999"))),
		"proxy refuses CONNECT 403":              {reg: found, transport: proxy("HTTP/1.1 403 Forbidden\r\n\r\n")},
		"proxy answers 502":                      {reg: found, transport: proxy("HTTP/1.1 502 Bad Gateway\r\n\r\n")},
		"proxy down":                             {reg: found, transport: proxy("")},
		"redirect 307 other host, which asks Bearer at its own realm": {credential: user, reg: redirect(307, "https://"+otherHost), other: bearer("https://"+otherHost+"/token", found)},
	}
}

func moved(w http.ResponseWriter, r *http.Request) {
	if strings.HasPrefix(r.URL.Path, "/v2/team/app/") {
		send(w, r, 301, nil, "Location", "/v2/other/manifests/1")
		return
	}
	found(w, r)
}

// A record is what a test server was asked.
type record struct {
	mu       sync.Mutex
	requests []string
	leaks    []string
}

func (rec *record) add(who string, r *http.Request) {
	line := who + ":" + r.Method + " " + r.URL.Path
	if r.URL.RawQuery != "" {
		line += "?" + r.URL.Query().Encode()
	}
	scheme, _, _ := strings.Cut(r.Header.Get("Authorization"), " ")
	if scheme != "" {
		line += " auth=" + scheme
	}
	body, _ := io.ReadAll(io.LimitReader(r.Body, 1<<20))
	text := fmt.Sprint(r.Header, r.URL, string(body))
	rec.mu.Lock()
	defer rec.mu.Unlock()
	rec.requests = append(rec.requests, line)
	if who == "other" {
		for _, secret := range slices.Concat(secrets, []string{"Basic ", "Bearer "}) {
			if strings.Contains(text, secret) {
				rec.leaks = append(rec.leaks, text)
			}
		}
	}
}

func (rec *record) seen() (requests, leaks []string) {
	rec.mu.Lock()
	defer rec.mu.Unlock()
	return slices.Clone(rec.requests), slices.Clone(rec.leaks)
}

// ask builds a world and asks it.
func ask(t *testing.T, w world) (results []registry.Answer, rec *record) {
	t.Helper()
	rec = new(record)
	server := httptest.NewUnstartedServer(http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
		who, h := "reg", w.reg
		switch {
		case strings.HasPrefix(r.Host, authHost):
			who, h = "auth", w.auth
		case strings.HasPrefix(r.Host, otherHost), r.Host == regHost+":8443":
			who, h = "other", w.other
		}
		rec.add(who, r)
		if h == nil {
			http.Error(rw, "nobody", 500)
			return
		}
		h(rw, r)
	}))
	server.Config.ErrorLog = discard
	server.StartTLS()
	t.Cleanup(server.Close)
	transport := &http.Transport{
		DialContext: func(ctx context.Context, network, address string) (net.Conn, error) {
			if strings.Contains(address, "nosuch.invalid") {
				return nil, &net.DNSError{Err: "no such host", Name: "nosuch.invalid", IsNotFound: true}
			}
			return new(net.Dialer).DialContext(ctx, network, server.Listener.Addr().String())
		},
		TLSClientConfig: &tls.Config{InsecureSkipVerify: true},
	}
	t.Cleanup(transport.CloseIdleConnections)
	if w.transport != nil {
		w.transport(transport)
	}
	if w.image == "" {
		w.image = regHost + "/team/app:1"
	}
	image := parseImage(t, w.image)
	settings := registry.Settings{
		Registries: []registry.Registry{{Host: image.Host(), PlainHTTP: w.plain, TokenHosts: w.tokens}},
		Transport:  transport, Attempts: 1, Timeout: 5 * time.Second,
	}
	if w.timeout != 0 {
		settings.Timeout = w.timeout
	}
	if w.credential != (registry.Credential{}) {
		settings.Keyring = holding(t, image.Host(), w.credential)
	}
	client, err := registry.New(settings)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := t.Context(), context.CancelFunc(func() {})
	if w.context != nil {
		ctx, cancel = w.context()
	}
	defer cancel()
	results, _ = client.Each(ctx, slices.Repeat([]reference.Image{image}, max(w.times, 1)), nil)
	return results, rec
}

// holding gives a keyring of one credential.
func holding(t fataler, host string, c registry.Credential) func(context.Context) (registry.Keyring, error) {
	t.Helper()
	text, err := json.Marshal(map[string]any{"auths": map[string]any{host: map[string]string{
		"username": c.Username, "password": c.Password, "identitytoken": c.IdentityToken, "registrytoken": c.RegistryToken,
	}}})
	if err != nil {
		t.Fatal(err)
	}
	keyring, err := registry.ParseDockerConfig(text)
	if err != nil {
		t.Fatal(err)
	}
	return func(context.Context) (registry.Keyring, error) { return keyring, nil }
}

// kindOf is the word of the facts for an error.
func kindOf(err error) string {
	if err == nil {
		return "ok"
	}
	for _, kind := range []error{registry.ErrNotFound, registry.ErrRejected, registry.ErrNotConfigured, registry.ErrRateLimited, registry.ErrBadReply, registry.ErrUnreachable} {
		if errors.Is(err, kind) {
			return kind.Error()
		}
	}
	return err.Error()
}

// bettered are the situations where the file was measured before the rule that a 401 or 403 behind a credential
// is asked once more, for its body: the request that comes behind, and what is reported.
var bettered = map[string][2]string{
	"401 Basic, wrong password":              {"reg:GET /v2/team/app/manifests/1 auth=Basic", "rejected"},
	"Bearer, token not accepted (401 again)": {"reg:GET /v2/team/app/manifests/1 auth=Bearer", "rejected"},
	"Bearer, then 403":                       {"reg:GET /v2/team/app/manifests/1 auth=Bearer", "rejected"},
	"Bearer, then 401 GET with NAME_UNKNOWN": {"reg:GET /v2/team/app/manifests/1 auth=Bearer", "not found"},
}

// TestBehaviourAsMeasured: each of the measured situations is reported as it should be, with the requests
// and the credentials that it needs, in order.
func TestBehaviourAsMeasured(t *testing.T) {
	worlds := situations(t)
	for i, line := range lines(t, "testdata/registry-behaviour.jsonl") {
		var v struct {
			Situation, Report string
			Requests          []string
		}
		unmarshal(t, line, &v)
		w, found := worlds[v.Situation]
		if !found {
			t.Errorf("line %d: %s: no such world", i+1, v.Situation)
			continue
		}
		delete(worlds, v.Situation)
		t.Run(v.Situation, func(t *testing.T) {
			if more, ok := bettered[v.Situation]; ok {
				v.Requests, v.Report = append(v.Requests, more[0]), more[1]
			}
			results, rec := ask(t, w)
			for _, result := range results {
				if got := kindOf(result.Err); got != v.Report {
					t.Errorf("%s, want %s: %v", got, v.Report, result.Err)
				}
				if result.Err != nil {
					text := result.Err.Error()
					for _, secret := range secrets {
						if strings.Contains(text, secret) {
							t.Errorf("the error has %s: %s", secret, text)
						}
					}
					t.Log(text)
				}
			}
			requests, leaks := rec.seen()
			// The file was measured with another manifest.
			got := strings.NewReplacer(digest, "sha256:f20c43161d73848408ef247f0ec7111b19fe58ffebc0cbcaa0d2c8bda4967268", nowhere, "sha256:<digest>").Replace(strings.Join(requests, "\n"))
			if diff := cmp.Diff(strings.Join(v.Requests, "\n"), got); diff != "" {
				t.Error(diff)
			}
			if len(leaks) > 0 {
				t.Errorf("leaked: %q", leaks)
			}
		})
	}
	for name := range worlds {
		t.Errorf("%s is not in the file", name)
	}
}
