// SPDX-License-Identifier: Apache-2.0

package registry

import (
	"crypto/sha256"
	"crypto/sha512"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"hash"
	"mime"
	"net/http"
	"slices"
	"strings"

	"github.com/cozystack/image-overrides/internal/quote"
	"github.com/cozystack/image-overrides/reference"
)

// settled returns the digest of an answer to HEAD, where nothing is left to ask: the media type is a
// manifest's, all digests that it gives are one, and it is the digest that was asked for.
func (a *answer) settled(t target) string {
	if a.mediaType() == "" {
		return ""
	}
	digest, ok := a.digest()
	if !ok || t.digest && digest != t.reference {
		return ""
	}
	return digest
}

// mediaType returns the media type if it is one of a manifest, and "" otherwise.
func (a *answer) mediaType() string {
	mediaType, _, err := mime.ParseMediaType(a.header.Get("Content-Type"))
	if err != nil || !slices.Contains(accepted, mediaType) {
		return ""
	}
	return mediaType
}

// digest returns the digest of the header. It is not ok without one, with several, and with what is none.
func (a *answer) digest() (string, bool) {
	all := a.header.Values("Docker-Content-Digest")
	if len(all) == 0 || reference.CheckDigest(all[0]) != nil {
		return "", false
	}
	for _, other := range all {
		if other != all[0] {
			return "", false
		}
	}
	return all[0], true
}

// manifest reads the answer to GET: its media type and the digest of its bytes, or the reason why it is no manifest.
func (a *answer) manifest(t target) (mediaType, digest, reason string) {
	if len(a.body) > maxManifest {
		return "", "", fmt.Sprintf("sends more than %d bytes, which no manifest has", maxManifest)
	}
	if mediaType = a.mediaType(); mediaType == "" {
		got := a.header.Get("Content-Type")
		if got == "" {
			return "", "", "gives no media type"
		}
		return "", "", fmt.Sprintf("sends %s, which is no manifest", quote.Value(quote.Shorten(got, 200)))
	}
	var object map[string]json.RawMessage
	if json.Unmarshal(a.body, &object) != nil || object == nil {
		return "", "", "sends no JSON object as manifest"
	}
	want := "sha256:"
	if t.digest {
		want = t.reference
	}
	digest = digestOf(want, a.body)
	if t.digest && digest != t.reference {
		return "", "", fmt.Sprintf("sends a manifest with another digest, %s", digest)
	}
	for _, given := range a.header.Values("Docker-Content-Digest") {
		if reference.CheckDigest(given) != nil || digestOf(given, a.body) != given {
			return "", "", fmt.Sprintf("gives %s as digest of a manifest with the digest %s", quote.Value(quote.Shorten(given, 200)), digest)
		}
	}
	if given, ok := a.digest(); ok && !t.digest {
		digest = given // of its own algorithm
	}
	return mediaType, digest, ""
}

// digestOf hashes bytes by the algorithm of another digest.
func digestOf(like string, content []byte) string {
	var h hash.Hash
	algorithm, _, _ := strings.Cut(like, ":")
	switch algorithm {
	case "sha512":
		h = sha512.New()
	case "sha384":
		h = sha512.New384()
	default:
		algorithm, h = "sha256", sha256.New()
	}
	h.Write(content)
	return algorithm + ":" + hex.EncodeToString(h.Sum(nil))
}

// bad is an answer that is none.
func (a *answer) bad(format string, args ...any) *Error {
	return &Error{Kind: ErrBadReply, Host: a.host, Status: a.status, Reason: fmt.Sprintf(format, args...)}
}

// kindOf is what a status says by itself, and whether asking again makes sense.
func kindOf(code int) (error, bool) {
	switch {
	case code == http.StatusUnauthorized, code == http.StatusForbidden:
		return ErrRejected, false
	case code == http.StatusTooManyRequests:
		return ErrRateLimited, true
	case code == http.StatusProxyAuthRequired, code == http.StatusNotImplemented:
		return ErrUnreachable, false
	case code == http.StatusRequestTimeout, code >= 500:
		return ErrUnreachable, true
	}
	return ErrBadReply, false
}

// status writes a status as people know it: 404 Not Found.
func status(code int) string { return strings.TrimSpace(fmt.Sprint(code, " ", http.StatusText(code))) }

// unknown are the codes by which a registry says that an image, or something of it, is not there: those of the OCI
// distribution specification, of Harbor (NOT_FOUND), Azure (TAG_UNKNOWN) and Quay (TAG_EXPIRED).
var unknown = []string{"MANIFEST_UNKNOWN", "NAME_UNKNOWN", "BLOB_UNKNOWN", "MANIFEST_BLOB_UNKNOWN", "NOT_FOUND", "TAG_UNKNOWN", "TAG_EXPIRED"}

// refusal says what an answer other than 200 means.
func (a *asker) refusal(got *answer) *Error {
	code, message, listed := got.errors()
	e := &Error{Host: got.host, Status: got.status, Code: code, Wait: got.wait}
	host := quote.Plain(got.host)
	e.Kind, e.Again = kindOf(got.status)
	e.Reason = fmt.Sprintf("%s answers %s%s", host, status(got.status), a.secrets.said(code, message))
	switch got.status {
	case http.StatusUnauthorized, http.StatusForbidden:
		switch {
		case got.shown != "" && slices.Contains(unknown, code):
			e.Kind, e.hidden = ErrNotFound, true
		case got.shown == "" && a.credential != Credential{}:
			e.Reason += "; the credential was not asked for in a way that it could be given"
		case got.shown == "":
			e.Reason += "; there is no credential for it, or it is not there"
		}
	case http.StatusNotFound:
		switch {
		case slices.Contains(unknown, code):
			e.Kind = ErrNotFound
		case code == "UNAUTHORIZED" || code == "DENIED":
			e.Kind = ErrRejected
		case code == "TOOMANYREQUESTS":
			e.Kind, e.Again = ErrRateLimited, true
		case !listed && strings.HasPrefix(got.header.Get("Docker-Distribution-Api-Version"), "registry/2"):
			e.Kind = ErrNotFound
		case !listed:
			e.Reason += ", and not as a registry does"
		}
	case http.StatusBadRequest:
		if a.server.scheme == "http" {
			e.Reason += "; is PlainHTTP wrong?"
		}
	case http.StatusProxyAuthRequired:
		e.Reason = "a proxy wants a password: " + e.Reason
	}
	return e
}

// errors reads an answer as the errors of a registry: the first that has a code. listed is whether there is
// such a list at all.
func (a *answer) errors() (code, message string, listed bool) {
	var list struct {
		Errors []struct {
			Code    string `json:"code"`
			Message string `json:"message"`
		} `json:"errors"`
	}
	if json.Unmarshal(a.body, &list) != nil {
		return "", "", false
	}
	for _, e := range list.Errors {
		if slices.Contains(unknown, e.Code) {
			return e.Code, e.Message, true
		}
	}
	for _, e := range list.Errors {
		if e.Code != "" {
			return quote.Shorten(e.Code, 64), e.Message, true
		}
	}
	return "", "", len(list.Errors) > 0
}

// said is what a server wrote about an error, in bounds and without the secrets.
func (s *secrets) said(code, message string) string {
	code, message = s.hide(code), s.hide(message)
	var text string
	if code != "" {
		text = ", " + quote.Plain(quote.Shorten(code, 64))
	}
	if message != "" {
		text += ", " + quote.Value(quote.Shorten(message, 300))
	}
	return text
}
