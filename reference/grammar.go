// SPDX-License-Identifier: Apache-2.0

package reference

import (
	"crypto/sha256"
	"crypto/sha512"
	"fmt"
	"strings"
	"unicode/utf8"
)

// The functions here return what is wrong with a part, or the empty string. The
// first fault that they tell is a character that may not stand anywhere in the
// part: it explains best what the text is instead.

const (
	maxRepository = 255
	maxTag        = 128
)

// textFault finds the faults that are not of one part.
func textFault(s string) string {
	if s == "" {
		return "is empty"
	}
	if scheme := schemeOf(s); scheme != "" {
		return fmt.Sprintf("has the scheme %s in front", quote(scheme))
	}
	if len(s) == 2*sha256.Size && strings.Trim(s, "0123456789abcdef") == "" {
		return "is 64 hex digits, which is an image ID and no name"
	}
	return ""
}

// schemeOf returns the scheme of a URL, with its ://, or the empty string.
func schemeOf(s string) string {
	scheme, _, found := strings.Cut(s, "://")
	if !found || scheme == "" {
		return ""
	}
	for i := range len(scheme) {
		if c := scheme[i]; !isLetter(c) && !isDigit(c) && !strings.ContainsRune("+.-", rune(c)) {
			return ""
		}
	}
	return scheme + "://"
}

// hostFault has the grammar of distribution's domain, the port included.
func hostFault(host string) string {
	if host == "" {
		return "is empty"
	}
	name, port, hasPort := cutPort(host)
	check := domainFault
	if strings.HasPrefix(host, "[") {
		check = bracketFault
	} else if strings.Contains(port, ":") {
		return "has more than one ':' (an IPv6 address stands in brackets)"
	}
	if reason := check(name); reason != "" {
		return reason
	}
	if !hasPort {
		return ""
	}
	if port == "" {
		return "has an empty port"
	}
	for i := range len(port) {
		if !isDigit(port[i]) {
			return fmt.Sprintf("has the port %s, which is not a number", quote(port))
		}
	}
	return ""
}

// cutPort cuts a host at the ':' of its port. The colons of an IPv6 address in
// brackets are not meant.
func cutPort(host string) (name, port string, found bool) {
	from := strings.IndexByte(host, ']') + 1
	name, port, found = strings.Cut(host[from:], ":")
	return host[:from] + name, port, found
}

func domainFault(name string) string {
	for i := range len(name) {
		if c := name[i]; !isLetter(c) && !isDigit(c) && c != '-' && c != '.' {
			return character(name[i:])
		}
	}
	switch {
	case name == "":
		return "has nothing in front of its port"
	case name[0] == '.':
		return "begins with '.'"
	case name[len(name)-1] == '.':
		return "ends with '.'"
	}
	for label := range strings.SplitSeq(name, ".") {
		switch {
		case label == "":
			return `has ".."`
		case label[0] == '-':
			return fmt.Sprintf("has %s, which begins with '-'", quote(label))
		case label[len(label)-1] == '-':
			return fmt.Sprintf("has %s, which ends with '-'", quote(label))
		}
	}
	return ""
}

func bracketFault(name string) string {
	address, closed := strings.CutSuffix(name[1:], "]")
	if !closed {
		return "has a '[' and no ']' at the end or in front of a port"
	}
	if address == "" {
		return "has empty brackets"
	}
	for i := range len(address) {
		if c := address[i]; !isHex(c) && c != ':' {
			return character(address[i:]) + " in its brackets"
		}
	}
	return ""
}

// repositoryFault has the grammar of distribution's path. The length is
// lengthFault's, for it depends on the registry.
func repositoryFault(path string) string {
	for i := range len(path) {
		if c := path[i]; !isLower(c) && !isDigit(c) && !isSeparator(c) && c != '/' {
			return character(path[i:])
		}
	}
	switch {
	case path == "":
		return "is empty"
	case path[0] == '/':
		return "begins with '/'"
	case path[len(path)-1] == '/':
		return "ends with '/'"
	}
	for component := range strings.SplitSeq(path, "/") {
		if reason := componentFault(component); reason != "" {
			return reason
		}
	}
	return ""
}

// componentFault checks where the separators of a component stand.
func componentFault(component string) string {
	if component == "" {
		return `has "//"`
	}
	if isSeparator(component[0]) {
		return fmt.Sprintf("has %s, which begins with %q", quote(component), component[0])
	}
	if last := component[len(component)-1]; isSeparator(last) {
		return fmt.Sprintf("has %s, which ends with %q", quote(component), last)
	}
	for from := 0; from < len(component); from++ {
		if !isSeparator(component[from]) {
			continue
		}
		to := from + 1
		for isSeparator(component[to]) { // the last is none
			to++
		}
		run := component[from:to]
		if run != "." && run != "_" && run != "__" && strings.Trim(run, "-") != "" {
			return fmt.Sprintf("has %s, where one '.', one or two '_' or any number of '-' may stand", quote(run))
		}
		from = to
	}
	return ""
}

// lengthFault checks the length of a path together with what counts as its
// beginning.
func lengthFault(prefix, path string) string {
	n := len(prefix) + len(path)
	switch {
	case n <= maxRepository:
		return ""
	case prefix == "":
		return fmt.Sprintf("has %d characters, %d are allowed", n, maxRepository)
	}
	return fmt.Sprintf("has %d characters with %s in front, %d are allowed", n, quote(prefix), maxRepository)
}

func tagFault(tag string) string {
	for i := range len(tag) {
		if c := tag[i]; !isLetter(c) && !isDigit(c) && !isSeparator(c) {
			return character(tag[i:])
		}
	}
	switch {
	case tag == "":
		return "is empty"
	case tag[0] == '.' || tag[0] == '-':
		return fmt.Sprintf("begins with %q", tag[0])
	case len(tag) > maxTag:
		return fmt.Sprintf("has %d characters, %d are allowed", len(tag), maxTag)
	}
	return ""
}

// digestFault knows the algorithms of go-digest. It does not ask go-digest, which
// knows only those whose hash is linked into the program. Linking them here lets
// go-digest and distribution read in any program what this package accepts.
func digestFault(digest string) string {
	if digest == "" {
		return "is empty"
	}
	algorithm, encoded, found := strings.Cut(digest, ":")
	if !found {
		return "has no ':' between an algorithm and its hex digits"
	}
	size := 0
	switch algorithm {
	case "sha256":
		size = sha256.Size
	case "sha384":
		size = sha512.Size384
	case "sha512":
		size = sha512.Size
	default:
		return fmt.Sprintf("has the algorithm %s, which is not sha256, sha384 or sha512", quote(algorithm))
	}
	for i := range len(encoded) {
		if c := encoded[i]; !isHex(c) || isUpper(c) {
			return character(encoded[i:]) + " among its hex digits"
		}
	}
	if len(encoded) != 2*size {
		return fmt.Sprintf("has %d hex digits, %s has %d", len(encoded), algorithm, 2*size)
	}
	return ""
}

// character names the first character of s, which may not stand where it does.
func character(s string) string {
	r, size := utf8.DecodeRuneInString(s)
	switch {
	case r == ' ':
		return "has a space"
	case r == utf8.RuneError && size == 1:
		return fmt.Sprintf("has the byte %#x", s[0])
	case isUpper(s[0]):
		return fmt.Sprintf("has the upper case letter %q", r)
	}
	return fmt.Sprintf("has the character %q", r)
}

func isLower(c byte) bool     { return 'a' <= c && c <= 'z' }
func isUpper(c byte) bool     { return 'A' <= c && c <= 'Z' }
func isLetter(c byte) bool    { return isLower(c) || isUpper(c) }
func isDigit(c byte) bool     { return '0' <= c && c <= '9' }
func isHex(c byte) bool       { return isDigit(c) || 'a' <= c && c <= 'f' || 'A' <= c && c <= 'F' }
func isSeparator(c byte) bool { return c == '.' || c == '_' || c == '-' }
