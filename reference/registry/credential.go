// SPDX-License-Identifier: Apache-2.0

package registry

import (
	"encoding/json"
	"fmt"
	"io"

	"github.com/cozystack/image-overrides/internal/quote"
)

// A Credential is what a registry is shown. The zero Credential is none: the
// registry is asked anonymously.
//
// However it is printed, logged or encoded (fmt, log/slog, JSON, YAML), it tells its user name and
// nothing else. Two ways of fmt's go past that: %p, which go vet refuses, and the look into the unexported fields
// of another struct. Keep a Credential in such a field as a pointer.
type Credential struct {
	// Username and Password are for a registry that asks Basic, and for its token server.
	Username, Password string
	// IdentityToken is exchanged for a token at the registry's token server.
	IdentityToken string
	// RegistryToken is sent to the registry as it is, where that asks Bearer.
	RegistryToken string
}

// String returns the user name, in words: user "robot".
func (c Credential) String() string {
	switch {
	case c == Credential{}:
		return "no credential"
	case c.Username == "":
		return "a credential without a user name"
	}
	return "user " + quote.Value(c.Username)
}

// Format writes String, whatever the verb and its flags.
func (c Credential) Format(f fmt.State, _ rune) { io.WriteString(f, c.String()) }

// MarshalJSON returns the user name alone: {"username":"robot"}. There is no way back; what a
// Secret holds is written by [Keyring.DockerConfig].
func (c Credential) MarshalJSON() ([]byte, error) { return json.Marshal(c.shown()) }

// MarshalYAML is MarshalJSON for the YAML packages that ask for it.
func (c Credential) MarshalYAML() (any, error) { return c.shown(), nil }

func (c Credential) shown() map[string]string {
	if c.Username == "" {
		return map[string]string{}
	}
	return map[string]string{"username": c.Username}
}
