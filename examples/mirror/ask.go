// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"crypto/x509"
	"encoding/base64"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"time"

	"go.yaml.in/yaml/v3"

	"github.com/cozystack/image-overrides/internal/quote"
	"github.com/cozystack/image-overrides/internal/replace"
	"github.com/cozystack/image-overrides/reference"
	"github.com/cozystack/image-overrides/reference/registry"
)

// How registries are asked, for every command that asks some.
const askUsage = `
How registries are asked:

  -credentials FILE  a docker config (config.json), or Secrets of kubernetes.io/dockerconfigjson
                     or kubernetes.io/dockercfg as YAML; may be given more than once. Each image is
                     asked for with the credentials that kubelet would take
  -plain-http HOST   a registry that is asked without TLS; may be given more than once
  -ca FILE           certificates of authorities in PEM, for all registries, in place of the system's
  -token-host HOST=TOKENHOST
                     a host that may get HOST's credentials as its token server; may be
                     given more than once
  -timeout TIME      of one attempt (10s); of a copy, how long nothing may move
  -attempts N        how often an image is asked for while the answer may change (3)
  -max-wait TIME     the longest wait that a registry may ask for (30s)
  -parallel N        how many images are asked for at a time (8)

Registries are asked by HTTPS, through the proxy of the environment (HTTPS_PROXY, NO_PROXY). Secrets go to
no other host than the registry's own and the token hosts that are named here; Docker Hub's is known.
`

// An asking is the flags of askUsage.
type asking struct {
	credentials, plain, tokens list
	ca                         string
	settings                   registry.Settings
}

// A list is a flag that may be given more than once.
type list []string

func (l *list) String() string { return strings.Join(*l, ",") }

func (l *list) Set(s string) error {
	*l = append(*l, s)
	return nil
}

func (a *asking) flags(f *flag.FlagSet) {
	f.Var(&a.credentials, "credentials", "")
	f.Var(&a.plain, "plain-http", "")
	f.Var(&a.tokens, "token-host", "")
	f.StringVar(&a.ca, "ca", "", "")
	f.DurationVar(&a.settings.Timeout, "timeout", 10*time.Second, "")
	f.IntVar(&a.settings.Attempts, "attempts", 3, "")
	f.DurationVar(&a.settings.MaxWait, "max-wait", 30*time.Second, "")
	f.IntVar(&a.settings.Parallel, "parallel", 8, "")
}

// client makes a client for the registries of images. Files that cannot be read are an error before
// anything is asked.
func (a *asking) client(s streams, images ...reference.Image) (*registry.Client, error) {
	settings := a.settings
	var cas *x509.CertPool
	if a.ca != "" {
		text, err := os.ReadFile(a.ca)
		if err != nil {
			return nil, err
		}
		if cas = x509.NewCertPool(); !cas.AppendCertsFromPEM(text) {
			return nil, fmt.Errorf("%s: has no certificate in PEM", quote.Plain(a.ca))
		}
	}
	tokens := make(map[string][]string)
	for _, one := range a.tokens {
		host, token, found := strings.Cut(one, "=")
		if !found {
			return nil, fmt.Errorf("-token-host %s: is not HOST=TOKENHOST", quote.Value(one))
		}
		tokens[host] = append(tokens[host], token)
	}
	hosts := slices.Concat([]string(a.plain))
	for host := range tokens {
		hosts = append(hosts, host)
	}
	for _, image := range images {
		if host := image.Canonical().Host(); reference.ValidateHost(host) == nil {
			hosts = append(hosts, host)
		}
	}
	slices.Sort(hosts)
	settings.Registries = []registry.Registry{}
	for _, host := range slices.Compact(hosts) {
		if host == "index.docker.io" || host == "registry-1.docker.io" {
			if slices.Contains(hosts, "docker.io") || host == "registry-1.docker.io" && slices.Contains(hosts, "index.docker.io") {
				continue // one registry
			}
		}
		r := registry.Registry{Host: host, PlainHTTP: slices.Contains(a.plain, host), TokenHosts: tokens[host]}
		if !r.PlainHTTP {
			r.CAs = cas
		}
		settings.Registries = append(settings.Registries, r)
	}
	if len(a.credentials) > 0 {
		keyring, err := a.keyring(s)
		if err != nil {
			return nil, err
		}
		for _, note := range keyring.Notes() {
			s.say(note)
		}
		settings.Keyring = func(context.Context) (registry.Keyring, error) { return keyring, nil }
		if !slices.Contains(a.credentials, "-") { // files may change while a long command runs
			settings.Keyring = func(context.Context) (registry.Keyring, error) { return a.keyring(s) }
		}
	}
	return registry.New(settings)
}

// maxFile is how many bytes a file of credentials, images or a table may have.
const maxFile = 64 << 20

// open opens a file for a function, - being standard input.
func (s streams) open(file string, do func(io.Reader) error) error {
	if file == "-" {
		return do(s.stdin)
	}
	f, err := os.Open(file)
	if err != nil {
		return err
	}
	defer f.Close()
	return do(f)
}

// read reads a file whole, - being standard input. The error names it.
func (s streams) read(file string) (text []byte, err error) {
	err = s.open(file, func(from io.Reader) error {
		text, err = io.ReadAll(io.LimitReader(from, maxFile+1))
		if err == nil && len(text) > maxFile {
			err = fmt.Errorf("is longer than %d bytes", maxFile)
		}
		if err != nil {
			return fmt.Errorf("%s: %w", named(file), replace.Reason(err))
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	return text, nil
}

func named(file string) string {
	if file == "-" {
		return "<stdin>"
	}
	return quote.Plain(file)
}

// keyring reads the files of credentials.
func (a *asking) keyring(s streams) (all registry.Keyring, err error) {
	for _, file := range a.credentials {
		text, err := s.read(file)
		if err != nil {
			return registry.Keyring{}, err
		}
		k, err := parseCredentials(text)
		if err != nil {
			return registry.Keyring{}, fmt.Errorf("%s: %w", named(file), err)
		}
		all = all.Join(k)
	}
	return all, nil
}

// A secret is a Secret manifest, or a list of such.
type secret struct {
	Kind       string            `yaml:"kind"`
	Type       string            `yaml:"type"`
	Data       map[string]string `yaml:"data"`
	StringData map[string]string `yaml:"stringData"`
	Items      []secret          `yaml:"items"`
}

// parseCredentials reads a docker config, or Secret manifests. The error shows nothing of the text.
func parseCredentials(text []byte) (all registry.Keyring, err error) {
	secrets, others := 0, 0
	var add func(one secret) error
	add = func(one secret) error {
		for _, item := range one.Items {
			if err := add(item); err != nil {
				return err
			}
		}
		if one.Kind != "Secret" {
			return nil
		}
		others++
		for key, parse := range map[string]func([]byte) (registry.Keyring, error){".dockerconfigjson": registry.ParseDockerConfig, ".dockercfg": registry.ParseDockercfg} {
			value, found := one.StringData[key]
			config := []byte(value)
			if !found {
				value, found = one.Data[key]
				decoded, err := base64.StdEncoding.DecodeString(strings.Join(strings.Fields(value), ""))
				if err != nil {
					return fmt.Errorf("a Secret: %s is no base64", key)
				}
				config = decoded
			}
			if !found {
				continue
			}
			secrets++
			k, err := parse(config)
			if err != nil {
				return fmt.Errorf("a Secret: %w", err)
			}
			all = all.Join(k)
		}
		return nil
	}
	decoder := yaml.NewDecoder(strings.NewReader(string(text)))
	for {
		var one secret
		err := decoder.Decode(&one)
		if err == io.EOF {
			break
		}
		if err != nil { // a docker config may be YAML that is of another shape
			if secrets > 0 {
				return registry.Keyring{}, errors.New("is no YAML")
			}
			break
		}
		if err := add(one); err != nil {
			return registry.Keyring{}, err
		}
	}
	switch {
	case secrets > 0:
		return all, nil
	case others > 0:
		return registry.Keyring{}, errors.New("no Secret has .dockerconfigjson or .dockercfg")
	}
	return registry.ParseDockerConfig(text)
}
