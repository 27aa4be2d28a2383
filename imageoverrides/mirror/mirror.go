// SPDX-License-Identifier: Apache-2.0

package mirror

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/cozystack/image-overrides/internal/quote"
	"github.com/cozystack/image-overrides/reference"
)

// A Mirror is a place in a registry that images are copied to. The zero Mirror is none, and everything about it is an error.
type Mirror struct {
	Host        string // the registry, with its port: what reference.ValidateHost takes
	Repository  string // the path inside of it that all names begin with, or "" for its top: what reference.ValidateRepository takes
	WithoutHost bool   // the source's host is no part of the name
}

// Validate returns nil if the mirror is a place that images can be copied to, and a [*reference.Error] otherwise.
func (m Mirror) Validate() error {
	if err := reference.ValidateHost(m.Host); err != nil {
		return err
	}
	return reference.ValidateRepository(m.Repository)
}

// String returns the place as images of it begin: registry.example.org/mirror. It is not checked.
func (m Mirror) String() string {
	if m.Repository == "" {
		return m.Host
	}
	return m.Host + "/" + m.Repository
}

// maxName is how long a name may be with its registry, in characters, for all clients to take it. The number and what it counts are those of
// the OCI distribution specification.
const maxName = 255

// Image returns the image as it is called in the mirror, with its tag and digest; see the package's rules. An image that
// the mirror [Mirror.Holds] comes back as it is. The error is that of [Mirror.Validate], or an [*Error] for a name that would be too long
// and for the zero Image.
func (m Mirror) Image(i reference.Image) (reference.Image, error) {
	if err := m.Validate(); err != nil {
		return reference.Image{}, err
	}
	return m.image(i)
}

// image is Image of a mirror that was found valid.
func (m Mirror) image(i reference.Image) (reference.Image, error) {
	if !i.IsValid() {
		return reference.Image{}, &Error{Reason: "there is no image"}
	}
	if m.holds(i) {
		return i, nil
	}
	canonical := i.Canonical()
	name := m.String() + "/"
	if !m.WithoutHost {
		name += component(canonical.Host()) + "/"
	}
	name += canonical.Path()
	long := func(reason string) error {
		return &Error{Images: []string{i.String()}, Reason: fmt.Sprintf("its name in the mirror, %s, %s; give the mirror a shorter repository, or leave the image to an entry of your own", quote.Plain(quote.Shorten(name, 600)), reason)}
	}
	if len(name) > maxName {
		return reference.Image{}, long(fmt.Sprintf("has %d characters, %d are allowed", len(name), maxName))
	}
	mirrored, err := reference.Parse(name + i.String()[len(i.Name()):])
	if err != nil { // library/ in front of it may be too much
		return reference.Image{}, long(err.Error())
	}
	return mirrored, nil
}

// Holds reports whether an image is one of the mirror's place, in any spelling. It is false for a mirror that is not valid.
func (m Mirror) Holds(i reference.Image) bool { return m.Validate() == nil && m.holds(i) }

func (m Mirror) holds(i reference.Image) bool {
	canonical := i.Canonical()
	return i.IsValid() && (canonical.Host() == m.Host || m.isHub() && canonical.Host() == hub) &&
		(m.Repository == "" || strings.HasPrefix(canonical.Path(), m.Repository+"/"))
}

// hub is the host of Docker Hub, as reference spells it out.
const hub = "docker.io"

// isHub reports whether the mirror is on Docker Hub.
func (m Mirror) isHub() bool { return m.Host == hub || m.Host == "index."+hub }

// spellings returns what names of the mirror's place begin with, "" for the images of Docker Hub.
func (m Mirror) spellings() []string {
	path := "/"
	if m.Repository != "" {
		path = "/" + m.Repository + "/"
	}
	if !m.isHub() {
		return []string{m.Host + path}
	}
	return []string{hub + path, "index." + hub + path, path[1:]}
}

// component writes a host as one component of a path. No two hosts have the same: a host with '_' of its own, which can be written where it
// reads as a path too, ends in __h, and of all others one '_' alone is before a port, and __ before what is told of letters, with a u that no address has, or in front of
// an address.
func component(host string) string {
	if strings.Contains(host, "_") {
		return host + "__h"
	}
	var b strings.Builder
	if strings.HasPrefix(host, "[") {
		b.WriteString("ipv6__")
	}
	var upper []string
	inside := false // of brackets
	for i := range len(host) {
		switch c := host[i]; {
		case c == '[' || c == ']':
			inside = c == '['
		case c == ':' && inside:
			b.WriteByte('x')
		case c == ':':
			b.WriteByte('_')
		case 'A' <= c && c <= 'Z':
			b.WriteByte(c + 'a' - 'A')
			upper = append(upper, strconv.Itoa(i+1))
		default:
			b.WriteByte(c)
		}
	}
	if len(upper) > 0 {
		b.WriteString("__u" + strings.Join(upper, "-"))
	}
	return b.String()
}
