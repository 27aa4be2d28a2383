// SPDX-License-Identifier: Apache-2.0

package registry

import (
	"encoding/base64"
	"errors"
	"net/url"
	"strconv"
	"strings"
	"sync"
)

// secrets are the texts that a server was shown or gave, which no error may repeat even where
// the server does.
type secrets struct {
	mu    sync.Mutex
	texts []string
}

// shortest is the length from which on a text is searched for: shorter ones stand in every message.
const shortest = 4

// maxTokens is how many tokens of one credential are remembered, for a server may give a new one each
// time.
const maxTokens = 10_000

func newSecrets(c Credential) *secrets {
	s := new(secrets)
	s.add(c.Password)
	s.add(c.IdentityToken)
	s.add(c.RegistryToken)
	if c.Password != "" {
		s.add(base64.StdEncoding.EncodeToString([]byte(c.Username + ":" + c.Password)))
	}
	return s
}

// add adds a secret in the spellings that a message may have it in.
func (s *secrets) add(secret string) {
	if len(secret) < shortest {
		return
	}
	quoted := strconv.Quote(secret)
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.texts) >= 3*maxTokens {
		s.texts = s.texts[:len(s.texts)-3]
	}
	s.texts = append(s.texts, secret, quoted[1:len(quoted)-1], url.QueryEscape(secret))
}

// hide returns a text without the secrets.
func (s *secrets) hide(text string) string {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, secret := range s.texts {
		text = strings.ReplaceAll(text, secret, "(secret)")
	}
	return text
}

// clean returns an error without the secrets: itself, as long as its text has none.
func (s *secrets) clean(err error) error {
	if err == nil {
		return nil
	}
	text := err.Error()
	if hidden := s.hide(text); hidden != text {
		return errors.New(hidden)
	}
	return err
}
