// SPDX-License-Identifier: Apache-2.0

package registry_test

import (
	"context"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/cozystack/image-overrides/reference"
	"github.com/cozystack/image-overrides/reference/registry"
)

// An adversary is a network whose every server does as its script says: it plays the registry for a while,
// asks for credentials in odd ways, redirects anywhere, and repeats what it was shown. One byte of the script is one
// choice; behind its end choices are drawn by what the script was.
type adversary struct {
	mu        sync.Mutex
	script    []byte
	more      *rand.ChaCha8
	requests  []string // origin, a line break, and all that the request had
	tokens    []string
	challenge string // how the honest registries ask
}

func (a *adversary) choose(n int) int {
	if len(a.script) == 0 {
		return int(a.more.Uint64() % uint64(n))
	}
	b := a.script[0]
	a.script = a.script[1:]
	return int(b) % n
}

func pick[T any](a *adversary, list ...T) T { return list[a.choose(len(list))] }

// schemes, hosts and ports that look like those of the registries, and are not.
var strangers = []string{
	"https://evil.example.net", "http://a.example.org", "https://a.example.org:8443", "https://A.Example.org", "https://a.example.org.",
	"https://a.example.org.evil.net", "http://auth.example.org", "https://auth.example.org", "https://auth.example.org:444", "https://b.example.org", "http://b.example.org:5000",
	"https://127.0.0.1", "https://[::1]:443", "https://u:p@evil.example.net", "https://a.example.org@evil.example.net", "ftp://a.example.org", "", "//evil.example.net", "https://a.example.org", "https://10.0.0.1", "http://b.example.org", "https://a.example.org:443", "http://a.example.org:443", "https://b.example.org:80",
}

func (a *adversary) address() string {
	return pick(a, strangers...) + pick(a, "/token", "/v2/team/app/manifests/1", "/x?sig=1", "/v2/team/app/blobs/uploads/1")
}

func (a *adversary) RoundTrip(r *http.Request) (*http.Response, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	var body []byte
	if r.Body != nil {
		body, _ = io.ReadAll(r.Body)
		r.Body.Close()
	}
	form, _ := url.QueryUnescape(string(body))
	shown := fmt.Sprint(r.Header, r.URL, string(body), form)
	if _, text, found := strings.Cut(r.Header.Get("Authorization"), "Basic "); found {
		decoded, _ := base64.StdEncoding.DecodeString(text)
		shown += string(decoded)
	}
	a.requests = append(a.requests, originOf(r.URL)+"\n"+shown)
	if len(a.requests) > 300 {
		return nil, errors.New("too many requests")
	}
	h := make(http.Header)
	status, text := a.act(r, h, shown)
	if r.Method == http.MethodHead {
		text = ""
	}
	if status == 0 {
		return nil, errors.New("broken: " + shown)
	}
	return &http.Response{
		StatusCode: status, Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1, Header: h, Request: r,
		Body: io.NopCloser(strings.NewReader(text)), ContentLength: int64(len(text)),
	}, nil
}

// act is what the server does.
func (a *adversary) act(r *http.Request, h http.Header, shown string) (int, string) {
	switch a.choose(10) {
	default:
		return a.honest(r, h)
	case 1: // asks
		for range 1 + a.choose(2) {
			challenge := pick(a, `Basic realm="r"`, `Bearer realm="ADDRESS",service="s"`, `bearer realm="ADDRESS",scope="repository:other/app:pull,push"`, "Negotiate", `Bearer`, `Bearer realm="ADDRESS`)
			h.Add("Www-Authenticate", strings.Replace(challenge, "ADDRESS", a.address(), 1))
		}
		return 401, ""
	case 2: // redirects
		h.Set("Location", a.address())
		return pick(a, 301, 302, 303, 307, 308), ""
	case 3: // repeats what it was shown
		h.Set("Content-Type", pick(a, "application/json", "text/html", shown))
		h.Set("Docker-Content-Digest", shown)
		text, _ := json.Marshal(map[string]any{"errors": []map[string]string{{"code": pick(a, "DENIED", "NAME_UNKNOWN", shown), "message": shown}}})
		return pick(a, 400, 401, 403, 404, 405, 409, 200, 416, 500), string(text)
	case 4:
		return 0, ""
	case 5: // wants the upload elsewhere
		h.Set("Location", a.address())
		h.Set("Link", `<`+a.address()+`>; rel="next"`)
		return pick(a, 202, 201, 200), "{}"
	}
}

// honest plays a registry, or its token server.
func (a *adversary) honest(r *http.Request, h http.Header) (int, string) {
	if strings.HasPrefix(r.URL.Path, "/token") {
		token := fmt.Sprintf("issued-token-%d", len(a.tokens))
		a.tokens = append(a.tokens, token)
		return 200, `{"token":"` + token + `"}`
	}
	if a.challenge != "" && r.Header.Get("Authorization") == "" {
		h.Set("Www-Authenticate", a.challenge)
		return 401, ""
	}
	h.Set("Content-Type", ociType)
	switch {
	case r.Method == http.MethodPost:
		h.Set("Location", "/v2/team/app/blobs/uploads/1")
		return 202, ""
	case r.Method == http.MethodPut:
		h.Set("Docker-Content-Digest", digest)
		return 201, ""
	case strings.Contains(r.URL.Path, "/copied/"):
		return 404, ""
	case strings.Contains(r.URL.Path, "/blobs/"):
		return 200, "{}"
	}
	h.Set("Docker-Content-Digest", digest)
	return 200, string(manifest)
}

// originOf is scheme, host and port, with the scheme's own port written out.
func originOf(u *url.URL) string {
	port := u.Port()
	switch {
	case port != "":
	case u.Scheme == "https":
		port = "443"
	case u.Scheme == "http":
		port = "80"
	}
	return strings.ToLower(u.Scheme + "://" + u.Hostname() + ":" + port)
}

// A case of the law: two registries with credentials, and what is asked.
type secretCase struct {
	script      []byte
	seed        int
	credentials [2]registry.Credential
	named       bool // the token server, for a.example.org
	plainB      bool
	verify      bool
	platform    string
}

func drawSecretCase(t *rapid.T) (c secretCase) {
	for i, who := range []string{"a", "b"} {
		if rapid.Bool().Draw(t, "user") {
			c.credentials[i].Username, c.credentials[i].Password = "robot", rapid.SampledFrom([]string{"password-", `pass"wo\rd-`, "pass word&=-"}).Draw(t, "password")+who
		}
		if rapid.IntRange(0, 3).Draw(t, "identity") == 0 {
			c.credentials[i].IdentityToken = "identity-token-" + who
		}
		if rapid.IntRange(0, 3).Draw(t, "token") == 0 {
			c.credentials[i].RegistryToken = "registry-token-" + who
		}
	}
	c.named, c.plainB, c.verify = rapid.Bool().Draw(t, "named"), rapid.Bool().Draw(t, "plain"), rapid.Bool().Draw(t, "verify")
	c.platform = rapid.SampledFrom([]string{"", "", "linux/arm64"}).Draw(t, "platform")
	c.script = rapid.SliceOfN(rapid.Byte(), 0, 30).Draw(t, "script")
	c.seed = rapid.IntRange(0, 1<<40).Draw(t, "seed")
	return c
}

// leaks runs a case and returns what went where it may not, and what errors tell.
func (c secretCase) leaks(t fataler, prepare func(*registry.Client)) (found []string) {
	a := &adversary{script: c.script, more: rand.NewChaCha8(sha256.Sum256(fmt.Append(c.script, c.credentials[0].Password, c.credentials[1].Password, c.seed)))}
	a.challenge = pick(a, "", `Basic realm="r"`, `Bearer realm="https://a.example.org/token",service="s"`, `Bearer realm="https://auth.example.org/token",service="s"`)
	registries := []registry.Registry{{Host: "a.example.org"}, {Host: "b.example.org", PlainHTTP: c.plainB}}
	allowed := [2]map[string]bool{{"https://a.example.org:443": true}, {"https://b.example.org:443": true}}
	if c.plainB {
		allowed[1] = map[string]bool{"http://b.example.org:80": true}
	}
	if c.named {
		registries[0].TokenHosts = []string{"auth.example.org"}
		allowed[0]["https://auth.example.org:443"] = true
	}
	auths := make(map[string]map[string]string)
	for i, r := range registries {
		one := c.credentials[i]
		auths[r.Host] = map[string]string{"username": one.Username, "password": one.Password, "identitytoken": one.IdentityToken, "registrytoken": one.RegistryToken}
	}
	config, err := json.Marshal(map[string]any{"auths": auths})
	if err != nil {
		t.Fatal(err)
	}
	keyring, err := registry.ParseDockerConfig(config)
	if err != nil {
		t.Fatal(err)
	}
	client, err := registry.New(registry.Settings{
		Registries: registries, Transport: a, Attempts: 1, MaxWait: 1, Parallel: 1, Verify: c.verify, Platform: c.platform, Timeout: time.Minute,
		Keyring: func(context.Context) (registry.Keyring, error) { return keyring, nil },
	})
	if err != nil {
		t.Fatal(err)
	}
	prepare(client)
	var told []error
	ask := func(of []int, f func() error) {
		a.mu.Lock()
		a.requests, a.tokens = nil, nil
		a.mu.Unlock()
		told = append(told, f())
		a.mu.Lock() // an exchange that nobody waits for any more may still end
		defer a.mu.Unlock()
		for _, request := range a.requests {
			origin, text, _ := strings.Cut(request, "\n")
			may := false
			for _, i := range of {
				may = may || allowed[i][origin]
			}
			var secrets []string
			if !may {
				secrets = append(secrets, a.tokens...)
			}
			for i, one := range c.credentials {
				if !allowed[i][origin] {
					secrets = append(secrets, one.Password, one.IdentityToken, one.RegistryToken)
				}
			}
			for _, secret := range secrets {
				if secret != "" && strings.Contains(text, secret) {
					found = append(found, fmt.Sprintf("%s got %q: %s", origin, secret, text))
				}
			}
		}
	}
	ctx := context.Background()
	images := []reference.Image{parseImage(t, "a.example.org/team/app:1"), parseImage(t, "b.example.org/team/app:1"), parseImage(t, "b.example.org/copied/app:1")}
	ask([]int{0}, func() error {
		_, err := client.Each(ctx, []reference.Image{images[0], parseImage(t, "a.example.org/team/app@"+digest)}, nil)
		return err
	})
	ask([]int{1}, func() error { return client.Check(ctx, images[1]) })
	ask([]int{0, 1}, func() error {
		_, err := client.CopyWith(ctx, images[0], images[2], registry.Copying{Referrers: true})
		return err
	})
	for _, err := range told {
		if err == nil {
			continue
		}
		text := fmt.Sprint(err) + fmt.Sprintf("%+v %#v", err, err)
		for e := err; e != nil; e = errors.Unwrap(e) {
			text += e.Error()
		}
		if many, ok := err.(interface{ Unwrap() []error }); ok {
			for _, e := range many.Unwrap() {
				text += fmt.Sprintf("%v %#v", e, e)
			}
		}
		encoded, _ := json.Marshal(err)
		text += string(encoded)
		for _, one := range c.credentials {
			for _, secret := range []string{one.Password, one.IdentityToken, one.RegistryToken} {
				if secret != "" && strings.Contains(text, secret) {
					found = append(found, fmt.Sprintf("an error tells %q: %s", secret, text))
				}
			}
		}
		if strings.Contains(text, "issued-token-") {
			found = append(found, "an error tells a token: "+text)
		}
	}
	return found
}

// TestNoSecretGoesAstray: whatever servers answer, a registry's credentials, and the tokens got with them, go to its own origin and to
// the token hosts that the settings name, and stand in no error.
func TestNoSecretGoesAstray(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		for _, leak := range drawSecretCase(t).leaks(t, func(*registry.Client) {}) {
			t.Error(leak)
		}
	})
}

// TestPlantedLeakIsFound: the law finds the leak that there is without the guard.
func TestPlantedLeakIsFound(t *testing.T) {
	cases := rapid.Custom(drawSecretCase)
	found := 0
	for i := range 400 {
		if len(cases.Example(i).leaks(t, registry.WithoutGuard)) > 0 {
			found++
		}
	}
	t.Logf("%d of 400 cases leak without the guard", found)
	if found < 20 {
		t.Errorf("%d of 400 cases leak without the guard, too few for a law", found)
	}
}
