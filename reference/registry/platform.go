// SPDX-License-Identifier: Apache-2.0

package registry

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"

	"github.com/cozystack/image-overrides/internal/quote"
	"github.com/cozystack/image-overrides/reference"
)

// A platform is an operating system, an architecture and a variant, as the OCI image specification names them.
type platform struct {
	OS           string `json:"os"`
	Architecture string `json:"architecture"`
	Variant      string `json:"variant"`
}

// parsePlatform reads os/architecture[/variant].
func parsePlatform(s string) (platform, error) {
	parts := strings.Split(s, "/")
	if len(parts) < 2 || len(parts) > 3 {
		return platform{}, fmt.Errorf("platform %s is not os/architecture or os/architecture/variant", quote.Value(s))
	}
	for _, part := range parts {
		if part == "" || strings.Trim(part, "abcdefghijklmnopqrstuvwxyz0123456789._-") != "" {
			return platform{}, fmt.Errorf("platform %s: %s is no name of lower case letters and digits", quote.Value(s), quote.Value(part))
		}
	}
	p := platform{OS: parts[0], Architecture: parts[1]}
	if len(parts) == 3 {
		p.Variant = parts[2]
	}
	return p.normal(), nil
}

// normal writes a platform as containerd does, so that two spellings are one.
func (p platform) normal() platform {
	switch p.Architecture + "/" + p.Variant {
	case "amd64/v1", "arm64/v8", "arm64/8":
		p.Variant = ""
	case "arm/":
		p.Variant = "v7"
	case "arm/5", "arm/6", "arm/7", "arm/8":
		p.Variant = "v" + p.Variant
	}
	return p
}

func (p platform) String() string {
	if p.Variant != "" {
		return p.OS + "/" + p.Architecture + "/" + p.Variant
	}
	return p.OS + "/" + p.Architecture
}

// forPlatform returns the digest of the settings' platform in a manifest that was fetched: that of an index's manifest
// for it, or the manifest's own if its config is for it. A manifest whose config names no platform, or is no image's, is for
// every one.
func (r *run) forPlatform(ctx, own context.Context, t target, a *asker, got *answer, mediaType, digest string) (string, *Error) {
	var m struct {
		Manifests []struct {
			Digest   string    `json:"digest"`
			Platform *platform `json:"platform"`
		} `json:"manifests"`
		Config struct {
			MediaType string `json:"mediaType"`
			Digest    string `json:"digest"`
		} `json:"config"`
	}
	if err := json.Unmarshal(got.body, &m); err != nil {
		return "", got.bad("%s sends a manifest that cannot be read", quote.Plain(got.host))
	}
	absent := &Error{Kind: ErrNotFound, Host: got.host, Status: got.status, Reason: fmt.Sprintf("%s is there, but not for %s", asked(t), r.platform)}
	if strings.Contains(mediaType, "index") || strings.Contains(mediaType, "list") {
		for _, one := range m.Manifests {
			if one.Platform == nil || one.Platform.normal() != r.platform {
				continue
			}
			if reference.CheckDigest(one.Digest) != nil {
				return "", got.bad("%s sends an index with the digest %s", quote.Plain(got.host), quote.Value(quote.Shorten(one.Digest, 200)))
			}
			return one.Digest, nil
		}
		return "", absent
	}
	if !strings.HasPrefix(m.Config.MediaType, "application/vnd.oci.image.config.") && !strings.HasPrefix(m.Config.MediaType, "application/vnd.docker.container.image.") {
		return digest, nil
	}
	if reference.CheckDigest(m.Config.Digest) != nil {
		return "", got.bad("%s sends a manifest whose config has the digest %s", quote.Plain(got.host), quote.Value(quote.Shorten(m.Config.Digest, 200)))
	}
	config, fault := a.send(ctx, own, http.MethodGet, "/v2/"+t.repository+"/blobs/"+m.Config.Digest)
	if fault != nil {
		return "", fault
	}
	if config.status != http.StatusOK {
		e := a.refusal(config)
		if e.Kind == ErrNotFound { // the manifest is there, and what it is made of is not
			e.Kind = ErrBadReply
		}
		return "", e
	}
	var p platform
	if len(config.body) > maxManifest || digestOf(m.Config.Digest, config.body) != m.Config.Digest || json.Unmarshal(config.body, &p) != nil {
		return "", config.bad("%s sends another config than the manifest's", quote.Plain(config.host))
	}
	if p.OS != "" && p.Architecture != "" && p.normal() != r.platform {
		absent.Reason = fmt.Sprintf("%s is there, but for %s and not for %s", asked(t), quote.Plain(quote.Shorten(p.normal().String(), 100)), r.platform)
		return "", absent
	}
	return digest, nil
}

// asked names what was asked for.
func asked(t target) string {
	if t.digest {
		return "the digest"
	}
	return "tag " + t.reference
}
