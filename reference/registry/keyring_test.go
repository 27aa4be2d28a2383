// SPDX-License-Identifier: Apache-2.0

package registry_test

import (
	"bufio"
	"bytes"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"log/slog"
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/cozystack/image-overrides/reference"
	"github.com/cozystack/image-overrides/reference/registry"
)

// TestKeyringAsMeasured: each of the measured Secrets gives an image the credentials, in the order,
// that it should.
func TestKeyringAsMeasured(t *testing.T) {
	for i, line := range lines(t, "testdata/dockerconfig.jsonl") {
		var v struct {
			Config, Type, Image, Why string
			More                     []string `json:"more_secrets"`
			Want                     json.RawMessage
		}
		unmarshal(t, line, &v)
		parse := registry.ParseDockerConfig
		if v.Type == "kubernetes.io/dockercfg" {
			parse = registry.ParseDockercfg
		}
		keyring, err := parse([]byte(v.Config))
		for _, config := range v.More {
			more, moreErr := parse([]byte(config))
			if moreErr != nil {
				err = moreErr
			}
			keyring = keyring.Join(more)
		}
		if string(v.Want) == `"error"` {
			if err == nil {
				t.Errorf("line %d: %s: no error", i+1, v.Why)
			} else if strings.Contains(err.Error(), "nocolon") || len(err.Error()) > 1<<11 {
				t.Errorf("line %d: %s: the error is %q", i+1, v.Why, err)
			}
			continue
		}
		if err != nil {
			t.Errorf("line %d: %s: %v", i+1, v.Why, err)
			continue
		}
		var want []registry.Credential
		unmarshal(t, v.Want, &want)
		got := keyring.Find(parseImage(t, v.Image))
		if !equal(got, want) {
			t.Errorf("line %d: %s: %s", i+1, v.Why, cmp.Diff(show(want), show(got)))
		}
	}
}

// show writes credentials out: the test is what may.
func show(list []registry.Credential) (texts []string) {
	for _, c := range list {
		texts = append(texts, strings.Join([]string{c.Username, c.Password, c.IdentityToken, c.RegistryToken}, "|"))
	}
	return texts
}

func equal(a, b []registry.Credential) bool { return cmp.Equal(show(a), show(b)) }

// TestKeyringErrors: whole messages, which name the key and never show a value.
func TestKeyringErrors(t *testing.T) {
	for _, test := range []struct{ why, config, want string }{
		{"no JSON", `SECRET`, `docker config: is no JSON at byte 1`},
		{"cut off", `{"auths":{"r.example.org":{"password":"SECRET"`, `docker config: is no JSON at byte 46`},
		{"more behind it", `{"auths":{}} SECRET`, `docker config: is no JSON at byte 14`},
		{"a list", `["SECRET"]`, `docker config: has array where another type belongs`},
		{"a text", `"SECRET"`, `docker config: has string where another type belongs`},
		{"auths a list", `{"auths":["SECRET"]}`, `docker config: the map of registries has array where another type belongs`},
		{"an entry that is a text", `{"auths":{"r.example.org":"SECRET"}}`, `docker config: key "r.example.org": has string where another type belongs`},
		{"a password that is a number", `{"auths":{"r.example.org":{"password":5150}}}`, `docker config: key "r.example.org": has number where another type belongs`},
		{"no base64", `{"auths":{"r.example.org":{"auth":"SECRET!"}}}`, `docker config: key "r.example.org": auth is no base64`},
		{"no colon", `{"auths":{"r.example.org":{"auth":"U0VDUkVU"}}}`, `docker config: key "r.example.org": auth has no colon between a user name and a password, once decoded`},
		{"user info in the key", `{"auths":{"https://u:SECRET@r.example.org":{"auth":"U0VDUkVU"}}}`, `docker config: key "…@r.example.org": auth has no colon between a user name and a password, once decoded`},
	} {
		_, err := registry.ParseDockerConfig([]byte(test.config))
		if err == nil {
			t.Errorf("%s: no error, want %q", test.why, test.want)
		} else if diff := cmp.Diff(test.want, err.Error()); diff != "" {
			t.Errorf("%s: %s", test.why, diff)
		}
	}
	if _, err := registry.ParseDockercfg([]byte(`{"r.example.org":3}`)); err == nil || err.Error() != `dockercfg: key "r.example.org": has number where another type belongs` {
		t.Errorf("dockercfg: %v", err)
	}
}

// TestKeyringNotes: what is read and does nothing is told.
func TestKeyringNotes(t *testing.T) {
	var many strings.Builder
	for i := range 40 {
		fmt.Fprintf(&many, `,"a b%02d":{"auth":"dTpw"}`, i)
	}
	for _, test := range []struct {
		why, config string
		want        []string
	}{
		{"all is well", `{"auths":{"r.example.org":{"auth":"dTpw"}}}`, nil},
		{"the other type", `{"r.example.org":{"auth":"dTpw"}}`, []string{`docker config: no auths, but "r.example.org" as in a Secret of type kubernetes.io/dockercfg, which ParseDockercfg reads`}},
		{"nothing", `{}`, []string{"docker config: no auths"}},
		{"helpers", `{"auths":{},"credsStore":"pass"}`, []string{"docker config: credential helpers (credsStore, credHelpers) are not run"}},
		{"no host", `{"auths":{" r.example.org":{"auth":"dTpw"}}}`, []string{`key " r.example.org" is no host and is passed over`}},
	} {
		k, err := registry.ParseDockerConfig([]byte(test.config))
		if err != nil {
			t.Errorf("%s: %v", test.why, err)
		}
		if diff := cmp.Diff(test.want, k.Notes()); diff != "" {
			t.Errorf("%s: %s", test.why, diff)
		}
	}
	k, err := registry.ParseDockerConfig([]byte(`{"auths":{"r":{"auth":"dTpw"}` + many.String() + `}}`))
	if err != nil || len(k.Notes()) != 11 || k.Notes()[10] != "30 more keys are no hosts and are passed over" {
		t.Errorf("many: %v, %v", k.Notes(), err)
	}
}

// TestNoSecretIsPrinted: whatever prints, logs or encodes a credential, a keyring or settings.
func TestNoSecretIsPrinted(t *testing.T) {
	c := registry.Credential{Username: "robot", Password: "hunter2", IdentityToken: "hunter3", RegistryToken: "hunter4"}
	keyring, err := registry.ParseDockerConfig([]byte(`{"auths":{"r.example.org":{"username":"robot","password":"hunter2","identitytoken":"hunter3","registrytoken":"hunter4"}}}`))
	if err != nil {
		t.Fatal(err)
	}
	var logged bytes.Buffer
	for _, v := range []any{
		c, &c, []registry.Credential{c}, struct{ C registry.Credential }{c}, map[string]registry.Credential{"a": c},
		keyring, &keyring, []registry.Keyring{keyring}, struct{ K registry.Keyring }{keyring}, struct{ k registry.Keyring }{keyring}, struct{ k *registry.Keyring }{&keyring},
	} {
		for _, format := range []string{"%v", "%+v", "%#v", "%s", "%q", "%x", "%X", "%d", "%t", "%T", "%08.3f"} {
			logged.WriteString(fmt.Sprintf(format, v) + "\n")
		}
		text, err := json.Marshal(v)
		if err != nil {
			t.Error(err)
		}
		logged.Write(text)
		slog.New(slog.NewTextHandler(&logged, nil)).Info("text", "v", v)
		slog.New(slog.NewJSONHandler(&logged, nil)).Info("json", "v", v)
	}
	yaml, _ := c.MarshalYAML()
	fmt.Fprint(&logged, yaml)
	for _, secret := range []string{"hunter2", "hunter3", "hunter4"} {
		for _, spelling := range []string{secret, fmt.Sprintf("%x", secret), fmt.Sprintf("%X", secret), fmt.Sprint([]byte(secret)), base64.StdEncoding.EncodeToString([]byte("robot:" + secret))} {
			if strings.Contains(logged.String(), spelling) {
				t.Errorf("%q was written", spelling)
			}
		}
	}
	for got, want := range map[string]string{
		c.String():                     `user "robot"`,
		registry.Credential{}.String(): "no credential",
		registry.Credential{IdentityToken: "t"}.String(): "a credential without a user name",
		keyring.String():            "1 credential",
		registry.Keyring{}.String(): "0 credentials",
	} {
		if got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}

// TestDockerConfigLaw: what DockerConfig writes is read as the same credentials, in the same order.
// No bytes make the parser panic.
func TestDockerConfigLaw(t *testing.T) {
	hosts := []string{"r.example.org", "r.example.org:5000", "*.example.org", "docker.io", "index.docker.io", "registry-1.docker.io", "localhost", "[::1]:5000"}
	rapid.Check(t, func(t *rapid.T) {
		secret := rapid.Custom(func(t *rapid.T) registry.Keyring {
			auths := make(map[string]map[string]string)
			for range rapid.IntRange(0, 5).Draw(t, "entries") {
				key := rapid.SampledFrom([]string{"", "https://", "http://", "https://u:p@"}).Draw(t, "scheme") + rapid.SampledFrom(hosts).Draw(t, "host") +
					rapid.SampledFrom([]string{"", "/", "/v1/", "/v2/", "/v1", "/team", "/v2/team", "/team/app", "/te%61m", "/te%2561m", "/te%3Fam"}).Draw(t, "path")
				auths[key] = map[string]string{
					rapid.SampledFrom([]string{"username", "password", "identitytoken", "registrytoken", "email"}).Draw(t, "field"): rapid.SampledFrom([]string{"", "a", "b:c", "é"}).Draw(t, "value"),
					"username": rapid.SampledFrom([]string{"", "u", "v", "w:x"}).Draw(t, "user"),
				}
			}
			text, err := json.Marshal(map[string]any{"auths": auths})
			if err != nil {
				t.Fatal(err)
			}
			k, err := registry.ParseDockerConfig(text)
			if err != nil {
				t.Fatal(err)
			}
			return k
		})
		first := secret.Draw(t, "first")
		joined := first.Join(rapid.SliceOfN(secret, 0, 3).Draw(t, "others")...)
		again, err := registry.ParseDockerConfig(joined.DockerConfig())
		if err != nil {
			t.Fatalf("%s: %v", joined.DockerConfig(), err)
		}
		if !bytes.Equal(again.DockerConfig(), joined.DockerConfig()) && again.Len() != joined.Len() {
			t.Fatalf("%s is read as %s", joined.DockerConfig(), again.DockerConfig())
		}
		for _, host := range append(hosts, "docker.io", "sub.example.org") {
			for _, path := range []string{"team/app", "teammate/app", "app"} {
				img, err := reference.Parse(strings.ReplaceAll(host, "*", "x") + "/" + path)
				if err != nil {
					t.Fatal(err)
				}
				if got, want := again.Find(img), joined.Find(img); !equal(got, want) {
					t.Fatalf("%s: %s: %q, want %q", joined.DockerConfig(), img, show(got), show(want))
				}
			}
		}
	})
	rapid.Check(t, func(t *rapid.T) {
		line := rapid.SampledFrom(lines(t, "testdata/dockerconfig.jsonl")).Draw(t, "line")
		at := rapid.IntRange(0, len(line)-1).Draw(t, "at")
		text := append(append(bytes.Clone(line[:at]), rapid.SampledFrom([]string{"", "{", "\"", "\\", "\xff", "[", "null"}).Draw(t, "text")...), line[at:]...)
		k, _ := registry.ParseDockerConfig(text)
		k.Find(reference.Image{})
		if _, err := registry.ParseDockercfg(text); err != nil && len(err.Error()) > 1<<13 {
			t.Fatalf("%d bytes of error", len(err.Error()))
		}
	})
}

type fataler interface {
	Helper()
	Fatal(...any)
}

// lines are the lines of a file of vectors.
func lines(t fataler, file string) (all [][]byte) {
	t.Helper()
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	s := bufio.NewScanner(bytes.NewReader(text))
	for s.Scan() {
		all = append(all, bytes.Clone(s.Bytes()))
	}
	return all
}

func unmarshal(t fataler, text []byte, v any) {
	t.Helper()
	if err := json.Unmarshal(text, v); err != nil {
		t.Fatal(err)
	}
}

func parseImage(t fataler, s string) reference.Image {
	t.Helper()
	img, err := reference.Parse(s)
	if err != nil {
		t.Fatal(err)
	}
	return img
}
