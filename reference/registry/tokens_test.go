// SPDX-License-Identifier: Apache-2.0

package registry

import (
	"context"
	"errors"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"oras.land/oras-go/v2/registry/remote/auth"
)

func newTokens() *tokens {
	return &tokens{
		server: &server{host: "r.example.org"}, secrets: new(secrets), timeout: 10 * time.Second,
		known: make(map[string]string), exchanges: make(map[string]*exchange),
	}
}

// TestSharedExchange: callers share one exchange, and it ends with none of them: not with the first, which began
// it. Only when nobody waits any more it is ended.
func TestSharedExchange(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newTokens()
		fetches, ended := 0, 0
		fetch := func(ctx context.Context) (string, error) {
			fetches++
			select {
			case <-time.After(5 * time.Second):
				return "token", nil
			case <-ctx.Done():
				ended++
				return "", ctx.Err()
			}
		}
		set := func(after time.Duration) (string, error) {
			ctx, cancel := context.WithTimeout(t.Context(), after)
			defer cancel()
			return c.Set(ctx, "r.example.org", auth.SchemeBearer, "scope", fetch)
		}
		var wg sync.WaitGroup
		wg.Go(func() {
			if _, err := set(time.Second); !errors.Is(err, context.DeadlineExceeded) {
				t.Error(err)
			}
		})
		synctest.Wait()
		for range 5 {
			wg.Go(func() {
				if token, err := set(time.Minute); token != "token" || err != nil {
					t.Error(token, err)
				}
			})
		}
		wg.Wait()
		if token, err := c.GetToken(t.Context(), "r.example.org", auth.SchemeBearer, "scope"); token != "token" || err != nil || fetches != 1 || ended != 0 {
			t.Error(token, err, fetches, ended)
		}
		for range 3 {
			wg.Go(func() { set(time.Second) })
		}
		wg.Wait()
		synctest.Wait()
		if fetches != 2 || ended != 1 {
			t.Error(fetches, ended)
		}
		if token, err := set(time.Minute); token != "token" || err != nil || fetches != 3 { // a new one
			t.Error(token, err, fetches)
		}
		if _, err := c.GetToken(t.Context(), "other.example.org", auth.SchemeBearer, "scope"); err == nil {
			t.Error("a token for another server")
		}
		if _, err := c.GetScheme(t.Context(), "other.example.org"); err == nil {
			t.Error("a scheme for another server")
		}
	})
}

// TestRepeatedTexts: the secrets are few in memory whatever a server gives, and none is in what is left of a text.
func TestRepeatedTexts(t *testing.T) {
	s := newSecrets(Credential{Username: "u", Password: `p"ss wörd`, IdentityToken: "abc"})
	for range 3 * maxTokens {
		s.add("some token")
	}
	if len(s.texts) > 3*maxTokens {
		t.Errorf("%d texts", len(s.texts))
	}
	for text, want := range map[string]string{
		`it is p"ss wörd`:           "it is (secret)",
		`it is "p\"ss wörd"`:        `it is "(secret)"`,
		"password=p%22ss+w%C3%B6rd": "password=(secret)",
		"Basic dTpwInNzIHfDtnJk":    "Basic (secret)",
		"abc":                       "abc", // too short to be looked for
	} {
		if got := s.hide(text); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}
