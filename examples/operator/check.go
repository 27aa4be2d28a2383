// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"maps"
	"os"
	"slices"
	"strings"

	"github.com/cozystack/image-overrides/examples/operator/overrides"
	"github.com/cozystack/image-overrides/reference"
	"github.com/cozystack/image-overrides/reference/registry"
)

// A checking is the flags that say whether and how registries are asked about the images of a new table.
type checking struct {
	images      bool
	credentials string
	hosts       map[string]*registry.Registry // by host, that flags name
}

func (c *checking) flags(f *flag.FlagSet) {
	f.BoolVar(&c.images, "check-images", false, "ask registries about the images of a new table, and hold it back while one is not there; "+
		"HTTPS_PROXY and SSL_CERT_FILE count")
	f.StringVar(&c.credentials, "credentials", "", "for --check-images, a file as in a Secret of type kubernetes.io/dockerconfigjson, mounted; "+
		"it is read each time; anonymous without it")
	f.Func("registry", "for --check-images, a registry that may be asked, and with =HOST a token server that may have its credentials; "+
		"again for more; all registries without this and --plain-http", func(s string) error {
		host, token, found := strings.Cut(s, "=")
		if found && token == "" {
			return errors.New("no token server behind =")
		}
		r := c.registry(host)
		if found {
			r.TokenHosts = append(r.TokenHosts, token)
		}
		return nil
	})
	f.Func("plain-http", "for --check-images, a registry that may be asked, without TLS; again for more", func(s string) error {
		c.registry(s).PlainHTTP = true
		return nil
	})
}

// registry returns the registry of a host that a flag names.
func (c *checking) registry(host string) *registry.Registry {
	if c.hosts == nil {
		c.hosts = make(map[string]*registry.Registry)
	}
	if c.hosts[host] == nil {
		c.hosts[host] = &registry.Registry{Host: host}
	}
	return c.hosts[host]
}

// check returns what asks the registries, nil where nothing is to be asked. A file of credentials that cannot be read is
// no error: it is one of each question, so that nothing is learned and no table held back.
func (c *checking) check() (overrides.Check, error) {
	if !c.images {
		if c.credentials != "" || c.hosts != nil {
			return nil, errors.New("--credentials, --registry and --plain-http do nothing without --check-images")
		}
		return nil, nil
	}
	var settings registry.Settings
	for _, host := range slices.Sorted(maps.Keys(c.hosts)) {
		settings.Registries = append(settings.Registries, *c.hosts[host])
	}
	if c.credentials != "" {
		settings.Keyring = func(context.Context) (registry.Keyring, error) { return readKeyring(c.credentials) }
	}
	client, err := registry.New(settings)
	if err != nil {
		return nil, err
	}
	return checkOf(client), nil
}

// checkOf asks with a client.
func checkOf(client *registry.Client) overrides.Check {
	return func(ctx context.Context, images []reference.Image) []error {
		answers, _ := client.Each(ctx, images, nil) // each has its own error
		errs := make([]error, len(answers))
		for i, a := range answers {
			if errs[i] = a.Err; errors.Is(a.Err, registry.ErrNotFound) {
				errs[i] = missing{a.Err}
			}
		}
		return errs
	}
}

// missing is what a registry said of an image that is not there.
type missing struct{ error }

func (m missing) Unwrap() []error { return []error{m.error, overrides.ErrMissing} }

// maxCredentials is the size of a Secret in Kubernetes, in bytes.
const maxCredentials = 1 << 20

// readKeyring reads a file of credentials. An error names it and shows none of its values.
func readKeyring(file string) (registry.Keyring, error) {
	f, err := os.Open(file)
	if err != nil {
		return registry.Keyring{}, err
	}
	defer f.Close()
	text, err := io.ReadAll(io.LimitReader(f, maxCredentials+1))
	if err == nil && len(text) > maxCredentials {
		err = fmt.Errorf("is longer than %d bytes", maxCredentials)
	}
	if err != nil {
		return registry.Keyring{}, fmt.Errorf("%s: %w", file, err)
	}
	keyring, err := registry.ParseDockerConfig(text)
	if err != nil {
		return registry.Keyring{}, fmt.Errorf("%s: %w", file, err)
	}
	return keyring, nil
}
