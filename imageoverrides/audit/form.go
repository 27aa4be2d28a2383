// SPDX-License-Identifier: Apache-2.0

package audit

import (
	"strings"
	"unicode"

	"github.com/cozystack/image-overrides/reference"
)

// A form is how an image is written.
type form struct {
	image   reference.Image
	domain  bool // its host is a domain with a dot, or has a port
	known   bool // a registry that has nothing else but images
	depth   int  // how many components it has behind the host
	version bool // the tag reads like a version
}

// longest is more than an image has, with the longest name, tag and digest that there are.
const longest = 1024

// refer has the bytes of references.
var refer = func() (set [256]bool) {
	for _, c := range []byte("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-/:@+") {
		set[c] = true
	}
	return set
}()

// formOf reads a text as an image. The texts of manifests are none mostly, which has to be seen fast.
func formOf(text string) (f form, ok bool) {
	if len(text) < 2 || len(text) > longest {
		return f, false
	}
	for i := range len(text) {
		if !refer[text[i]] || text[i] == '/' && i > 0 && (text[i-1] == ':' || text[i-1] == '/') {
			return f, false
		}
	}
	if c := text[0]; c == '/' || c == '.' || c == '-' || c == ':' {
		return f, false
	}
	image, err := reference.Parse(text)
	if err != nil || isFile(text) {
		return f, false
	}
	f.image = image
	host := image.Host()
	f.domain = strings.IndexByte(host, ':') > 0
	if at := strings.LastIndexByte(host, '.'); at > 0 && at+2 < len(host) && !f.domain {
		last := host[at+1:]
		f.domain = strings.IndexFunc(last, func(r rune) bool { return !unicode.IsLetter(r) && r != '-' }) < 0
	}
	f.known = isRegistry(host)
	f.depth = 1 + strings.Count(image.Path(), "/")
	tag := image.Tag()
	f.version = tag == "latest" || strings.Contains(tag, ".") && strings.ContainsAny(tag, "0123456789") || len(tag) > 1 && tag[0] == 'v' && '0' <= tag[1] && tag[1] <= '9'
	return f, true
}

// isFile reports whether a text is the name of a file, of a picture or a disk mostly.
func isFile(text string) bool {
	i := strings.LastIndexByte(text, '.')
	switch text[i+1:] {
	case "png", "svg", "jpg", "jpeg", "gif", "ico", "qcow2", "img", "iso", "raw", "vmdk", "gz", "xz", "zip", "tar", "tgz", "yaml", "yml", "json", "toml", "conf", "txt", "sh", "md":
		return i > 0
	}
	return false
}

// isRegistry reports whether a host serves images and nothing else.
func isRegistry(host string) bool {
	switch host {
	case "docker.io", "index.docker.io", "ghcr.io", "quay.io", "gcr.io", "nvcr.io", "mcr.microsoft.com", "public.ecr.aws", "xpkg.upbound.io", "cgr.dev":
		return true
	}
	for _, start := range []string{"registry.", "docker.", "cr.", "oci.", "harbor."} {
		if strings.HasPrefix(host, start) && strings.Count(host, ".") > 1 {
			return true
		}
	}
	for _, end := range []string{".gcr.io", ".pkg.dev", ".azurecr.io", ".amazonaws.com", ".icr.io"} {
		if strings.HasSuffix(host, end) {
			return true
		}
	}
	return false
}

// A level says how sure it is that a text is an image.
type level byte

const (
	none   level = iota
	maybe        // where a container or the table has its name
	likely       // it reads so
	sure
)

// level judges the form of a text, and whether the place that it stands in says that it is an image.
func (f *form) level(hint bool) level {
	tagged := f.image.Tag() != "" || f.image.Digest() != ""
	switch {
	case hint && (tagged || f.depth > 1 || f.domain):
		return sure
	case f.image.Digest() != "", f.domain && f.image.Tag() != "" && (f.known || f.version || f.depth > 1):
		return sure // but for a taint, a resource and a port
	case f.depth > 1 && f.version:
		return likely
	case f.image.Tag() != "", f.domain && (f.known || f.depth > 1), hint:
		return maybe
	}
	return none
}

// noImage are the words behind image in keys that hold none.
var noImage = map[string]bool{
	"pull": true, "tag": true, "tags": true, "version": true, "registry": true, "registries": true, "type": true, "format": true, "features": true, "id": true, "digest": true, "sha": true,
	"hash": true, "size": true, "gc": true, "policy": true, "secret": true, "secrets": true, "stream": true, "streams": true, "minimum": true, "maximum": true, "prefix": true, "path": true, "family": true, "os": true, "project": true,
	"catalog": true, "config": true, "configs": true, "scan": true, "cache": true,
}

// otherImage are the words in front of image in keys that hold disks and pictures.
var otherImage = map[string]bool{
	"backing": true, "disk": true, "vm": true, "machine": true, "boot": true, "os": true, "golden": true, "cloud": true, "node": true, "snapshot": true, "background": true, "logo": true, "icon": true, "avatar": true, "cover": true, "splash": true,
}

// isHint reports whether a key, or the name of a variable or a flag, says that its value is an image.
func isHint(key string) bool {
	if len(key) > longest {
		return false
	}
	if i := strings.LastIndexByte(key, '/'); i >= 0 {
		key = key[i+1:]
	}
	words := wordsOf(key)
	for i, word := range words {
		switch word {
		case "image", "images":
		case "imagename", "imageref", "dockerimage", "containerimage":
			return true
		default:
			continue
		}
		rest := words[i+1:]
		if i > 0 && otherImage[words[i-1]] {
			continue
		}
		if len(rest) > 1 && rest[0] == "pull" && rest[1] == "spec" || len(rest) == 0 || !noImage[rest[0]] && !noImage[rest[len(rest)-1]] {
			return true
		}
	}
	return false
}

// mayHint is false for most keys that say nothing of images.
func mayHint(key string) bool { return strings.Contains(key, "mage") || strings.Contains(key, "MAGE") }

// wordsOf returns the words of a key, in lower case.
func wordsOf(key string) []string {
	var words []string
	start := 0
	end := func(i int) {
		if i > start {
			words = append(words, strings.ToLower(key[start:i]))
		}
		start = i
	}
	for i := range len(key) {
		switch c := key[i]; {
		case c == '-' || c == '_' || c == '.' || c == '=' || c == ' ' || c == ',':
			end(i)
			start = i + 1
		case 'A' <= c && c <= 'Z' && i > 0 && (key[i-1] < 'A' || key[i-1] > 'Z') && i > start:
			end(i)
		}
	}
	end(len(key))
	return words
}

// A role is what a field is in an image in parts.
type role byte

const (
	noRole role = iota
	repository
	imageName
	tag
	registry
	digest
)

func roleOf(key string) role {
	switch key {
	case "repository", "repo", "imageRepository", "image_repository", "imageRepo":
		return repository
	case "image", "imageName", "name":
		return imageName
	case "tag", "imageTag", "image_tag", "version", "imageVersion", "image_version", "versionTag", "defaultImageVersion":
		return tag
	case "registry", "hub", "imageRegistry":
		return registry
	case "digest", "digestHash", "hash", "sha":
		return digest
	}
	return noRole
}
