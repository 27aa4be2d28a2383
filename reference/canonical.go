// SPDX-License-Identifier: Apache-2.0

package reference

import "strings"

const (
	hub            = "docker.io"
	legacyHub      = "index.docker.io"
	officialPrefix = "library/"
)

// Canonical returns the image with its registry and repository spelled out:
// docker.io/library/nginx for nginx, library/nginx, docker.io/nginx,
// docker.io/library/nginx and index.docker.io/library/nginx. Two spellings are one
// image if and only if their Canonical is equal.
//
// Tag and digest stay as they are, and no :latest is added. Hosts are not put into
// lower case, as distribution/reference does not do so either. The text equals
// that of distribution's ParseNormalizedNamed. The zero Image gives the zero
// Image, and what is canonical already comes back as it is.
func (i Image) Canonical() Image {
	if !i.IsValid() {
		return i
	}
	host, path := i.Host(), i.Path()
	if i.official() {
		path = officialPrefix + path
	}
	if host == "" || host == legacyHub {
		host = hub
	}
	name := host + "/" + path
	return Image{
		text: name + i.text[i.name:],
		host: len(host),
		name: len(name),
		tag:  len(name) + i.tag - i.name,
	}
}

// Familiar returns the image in the short spelling that people use for Docker Hub:
// nginx for docker.io/library/nginx, grafana/grafana for
// docker.io/grafana/grafana. Images of other registries have none, and come back
// as they are; so does the zero Image.
//
// The short spelling is that of distribution's FamiliarString, unless it would be
// read as another image or as none: docker.io/localhost/a, whose first component
// looks like a host, and an official image named by 64 hex digits come back as
// Canonical. So Familiar().Canonical() is always Canonical().
func (i Image) Familiar() Image {
	canonical := i.Canonical()
	if canonical.Host() != hub {
		return canonical
	}
	path := canonical.Path()
	if official := strings.TrimPrefix(path, officialPrefix); !strings.Contains(official, "/") {
		path = official
	}
	short, err := Parse(path + canonical.text[canonical.name:])
	if err != nil || short.Canonical() != canonical {
		return canonical
	}
	return short
}

// official reports whether Docker Hub puts library/ in front of the path.
func (i Image) official() bool {
	host := i.Host()
	return (host == "" || host == hub || host == legacyHub) && !strings.Contains(i.Path(), "/")
}
