// SPDX-License-Identifier: Apache-2.0

package registry

import (
	"bytes"
	"cmp"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"net"
	"net/url"
	"path"
	"slices"
	"strings"

	"github.com/cozystack/image-overrides/internal/quote"
	"github.com/cozystack/image-overrides/reference"
)

// A Keyring is the credentials of image pull Secrets. The zero Keyring is empty: every
// registry is asked anonymously. It is immutable, safe for use from many goroutines, and
// cheap to copy. However it is printed, logged or encoded, it tells how many credentials it
// has; [Keyring.DockerConfig] is the only way that a secret leaves.
//
// # Which credential is for an image
//
// The rules are those of kubelet 1.37.2. An entry's key is a host, with a port, with a
// path, or both; https:// or http:// in front, user info, a query, and /v1/ or /v2/
// behind the host say nothing. A key is for an image if the ports are equal as text, the
// hosts have the same labels, where a * in the key stands for any characters of one label, and the image's repository begins
// with the key's path. Upper and lower case differ. Keys are tried in the reverse order of
// their text, over all Secrets, so that the longer of two paths comes first; equal ones in the
// order of their Secrets.
//
// In five places it differs from kubelet, on purpose. Docker Hub's names (docker.io,
// index.docker.io and registry-1.docker.io) are one registry, in keys as in images, and
// https://index.docker.io/v1 is its key also without the last slash. Docker Hub's credential is
// for no other host (kubelet gives it to localhost/app). Identity and registry tokens
// are read. An entry without any credential is none.
type Keyring struct {
	read func() *keys // a function, so that fmt shows an address where it looks into another struct's fields
}

func newKeyring(k *keys) Keyring { return Keyring{func() *keys { return k }} }

// keys returns what the Keyring holds, never nil.
func (k Keyring) keys() *keys {
	if k.read == nil {
		return new(keys)
	}
	return k.read()
}

type keys struct {
	entries []entry // in the order to try
	notes   []string
}

// An entry is one credential and the images that it is for.
type entry struct {
	labels     []string // of the host, each a pattern
	port, path string
	text       string // host and path, with Docker Hub's names as one; what is sorted
	hub        int    // which of Docker Hub's names the key has, -1 for other hosts
	raw        string
	credential Credential
}

// hubHosts are Docker Hub's names, in the order in which their keys are tried.
var hubHosts = [...]string{"docker.io", "index.docker.io", "registry-1.docker.io"}

// hub is the name under which Docker Hub is known here.
const hub = "docker.io"

// ParseDockerConfig reads the value of .dockerconfigjson in a Secret of type
// kubernetes.io/dockerconfigjson, which is the file that docker login writes. An empty
// value is an empty Keyring; so is one without auths, which [Keyring.Notes] tells. Other settings
// of docker are passed over, and no helper program (credsStore, credHelpers) is run.
//
// One entry that cannot be read makes the whole an error, as it does for kubelet. The
// error names the key and never shows a value. The data is not kept.
func ParseDockerConfig(data []byte) (Keyring, error) {
	if len(data) == 0 {
		return Keyring{}, nil
	}
	var config map[string]json.RawMessage
	if err := json.Unmarshal(data, &config); err != nil {
		return Keyring{}, fmt.Errorf("docker config: %s", jsonReason(err))
	}
	var file struct {
		Auths       json.RawMessage `json:"auths"`
		CredsStore  json.RawMessage `json:"credsStore"`
		CredHelpers json.RawMessage `json:"credHelpers"`
	}
	if err := json.Unmarshal(data, &file); err != nil {
		return Keyring{}, fmt.Errorf("docker config: %s", jsonReason(err))
	}
	k := new(keys)
	if file.Auths == nil {
		for _, name := range slices.Sorted(maps.Keys(config)) {
			if bytes.HasPrefix(bytes.TrimSpace(config[name]), []byte("{")) && strings.ContainsAny(name, ".:") {
				k.note("docker config: no auths, but %s as in a Secret of type kubernetes.io/dockercfg, which ParseDockercfg reads", quote.Value(shownKey(name)))
				break
			}
		}
		if len(k.notes) == 0 {
			k.note("docker config: no auths")
		}
	}
	if file.CredsStore != nil || file.CredHelpers != nil {
		k.note("docker config: credential helpers (credsStore, credHelpers) are not run")
	}
	if err := k.read(file.Auths); err != nil {
		return Keyring{}, fmt.Errorf("docker config: %w", err)
	}
	return newKeyring(k), nil
}

// ParseDockercfg reads the value of .dockercfg in a Secret of the older type
// kubernetes.io/dockercfg: the map that stands under auths in the newer one. All else is as
// for [ParseDockerConfig].
func ParseDockercfg(data []byte) (Keyring, error) {
	if len(data) == 0 {
		return Keyring{}, nil
	}
	k := new(keys)
	if err := k.read(data); err != nil {
		return Keyring{}, fmt.Errorf("dockercfg: %w", err)
	}
	return newKeyring(k), nil
}

// jsonReason says why a text is not JSON, or not of the right kind, without any of its characters.
func jsonReason(err error) string {
	var syntax *json.SyntaxError
	var kind *json.UnmarshalTypeError
	switch {
	case errors.As(err, &syntax):
		return fmt.Sprintf("is no JSON at byte %d", syntax.Offset)
	case errors.As(err, &kind):
		return fmt.Sprintf("has %s where another type belongs", strings.Fields(kind.Value + " a value")[0])
	}
	return "is no JSON"
}

func (k *keys) note(format string, args ...any) {
	k.notes = append(k.notes, fmt.Sprintf(format, args...))
}

// read adds the entries of a map.
func (k *keys) read(auths json.RawMessage) error {
	var entries map[string]json.RawMessage
	if auths == nil {
		return nil
	}
	if err := json.Unmarshal(auths, &entries); err != nil {
		return fmt.Errorf("the map of registries %s", jsonReason(err))
	}
	skipped := 0
	for raw, value := range entries {
		c, err := decode(value)
		if err != nil {
			return fmt.Errorf("key %s: %w", quote.Value(shownKey(raw)), err)
		}
		if c == (Credential{}) {
			continue
		}
		e, ok := newEntry(raw)
		if !ok {
			skipped++
			if skipped <= maxNotes {
				k.note("key %s is no host and is passed over", quote.Value(shownKey(raw)))
			}
			continue
		}
		e.credential = c
		k.entries = append(k.entries, e)
	}
	slices.Sort(k.notes)
	if skipped > maxNotes {
		k.note("%d more keys are no hosts and are passed over", skipped-maxNotes)
	}
	// Of several keys that say the same in one file kubelet takes any; here the shortest comes first.
	slices.SortFunc(k.entries, func(a, b entry) int {
		return cmp.Or(a.compare(b), cmp.Compare(len(a.raw), len(b.raw)), cmp.Compare(a.raw, b.raw))
	})
	return nil
}

// maxNotes is how many keys that are no hosts are told one by one.
const maxNotes = 10

// compare orders entries as they are tried. Equal are those of one key.
func (e entry) compare(other entry) int {
	return cmp.Or(cmp.Compare(other.text, e.text), cmp.Compare(e.hub, other.hub))
}

// shownKey is a key without its user info, which may be a secret.
func shownKey(raw string) string {
	if at := strings.LastIndexByte(raw, '@'); at >= 0 {
		return "…" + raw[at:]
	}
	return raw
}

// decode reads the value of an entry. Its errors show nothing of it.
func decode(value json.RawMessage) (Credential, error) {
	var v struct {
		Username      string `json:"username"`
		Password      string `json:"password"`
		Auth          string `json:"auth"`
		IdentityToken string `json:"identitytoken"`
		RegistryToken string `json:"registrytoken"`
	}
	if err := json.Unmarshal(value, &v); err != nil {
		return Credential{}, errors.New(jsonReason(err))
	}
	c := Credential{v.Username, v.Password, v.IdentityToken, v.RegistryToken}
	if v.Auth == "" {
		return c, nil
	}
	encoding := base64.RawStdEncoding
	if strings.HasSuffix(strings.TrimSpace(v.Auth), "=") {
		encoding = base64.StdEncoding
	}
	text, err := encoding.DecodeString(v.Auth)
	if err != nil {
		return Credential{}, errors.New("auth is no base64")
	}
	user, password, found := strings.Cut(string(text), ":")
	if !found {
		return Credential{}, errors.New("auth has no colon between a user name and a password, once decoded")
	}
	c.Username, c.Password = user, password
	return c, nil
}

// newEntry reads a key. It is not ok where the key is no URL, which kubelet passes over.
func newEntry(raw string) (entry, bool) {
	text := raw
	if !strings.HasPrefix(text, "https://") && !strings.HasPrefix(text, "http://") {
		text = "https://" + text
	}
	u, err := url.Parse(text)
	if err != nil {
		return entry{}, false
	}
	way := u.Path
	if strings.HasPrefix(way, "/v1/") || strings.HasPrefix(way, "/v2/") {
		way = way[len("/v1"):]
	}
	host := u.Host
	at := slices.Index(hubHosts[:], host)
	if at >= 0 && way == "/v1" {
		way = ""
	}
	if at >= 0 {
		host = hub
	}
	if way == "/" {
		way = ""
	}
	e := entry{text: host + way, hub: at, raw: raw}
	again, err := url.Parse("https://" + e.text) // as kubelet does for each image
	if err != nil {
		return entry{}, false
	}
	e.labels, e.port = splitHost(again.Host)
	e.path = again.Path
	return e, true
}

// splitHost cuts a host into its labels and its port.
func splitHost(hostport string) (labels []string, port string) {
	host, port, err := net.SplitHostPort(hostport)
	if err != nil {
		host, port = hostport, ""
	}
	return strings.Split(host, "."), port
}

// Join returns the credentials of the Keyring and then of the others, as kubelet joins the
// Secrets of a pod: sorted by key over all of them.
func (k Keyring) Join(others ...Keyring) Keyring {
	joined := new(keys)
	for _, one := range slices.Insert(slices.Clone(others), 0, k) {
		joined.entries = append(joined.entries, one.keys().entries...)
		joined.notes = append(joined.notes, one.keys().notes...)
	}
	slices.SortStableFunc(joined.entries, entry.compare)
	return newKeyring(joined)
}

// Len returns the number of credentials.
func (k Keyring) Len() int { return len(k.keys().entries) }

// Notes returns what was read and yet does nothing, in sentences for people: keys that are no
// host, settings that are not for here. It is nil where there is nothing to say.
func (k Keyring) Notes() []string { return slices.Clone(k.keys().notes) }

// Find returns the credentials that are for an image, in the order to try them, each once. It
// returns nil where there is none, and for the zero Image. Tag and digest play no part.
func (k Keyring) Find(image reference.Image) []Credential {
	if !image.IsValid() {
		return nil
	}
	host, repository := place(image)
	labels, port := splitHost(host)
	var found []Credential
	entries := k.keys().entries
	for i := range entries {
		e := &entries[i]
		if e.isFor(labels, port, "/"+repository) && !slices.Contains(found, e.credential) {
			found = append(found, e.credential)
		}
	}
	return found
}

func (e *entry) isFor(labels []string, port, repository string) bool {
	if e.port != port || len(e.labels) != len(labels) || !strings.HasPrefix(repository, e.path) {
		return false
	}
	for i, pattern := range e.labels {
		if matched, err := path.Match(pattern, labels[i]); err != nil || !matched {
			return false
		}
	}
	return true
}

// place returns an image's registry and its repository there. Docker Hub has one name.
func place(image reference.Image) (host, repository string) {
	image = image.Canonical()
	host = image.Host()
	if slices.Contains(hubHosts[:], host) {
		host = hub
	}
	return host, image.Path()
}

// DockerConfig returns what a Secret of type kubernetes.io/dockerconfigjson holds for these
// credentials: read by [ParseDockerConfig] it is the same Keyring, but for its notes. Several
// credentials of one key become keys of their own, told apart by a number as user info, which whoever
// reads such a Secret passes over. The zero Keyring gives {"auths":{}}.
func (k Keyring) DockerConfig() []byte {
	type value struct {
		Username      string `json:"username,omitempty"`
		Password      string `json:"password,omitempty"`
		Auth          string `json:"auth,omitempty"`
		IdentityToken string `json:"identitytoken,omitempty"`
		RegistryToken string `json:"registrytoken,omitempty"`
	}
	auths := make(map[string]value)
	entries := k.keys().entries
	same := 0 // entries before this one that have its key
	for i, e := range entries {
		if i > 0 && e.compare(entries[i-1]) == 0 {
			same++
		} else {
			same = 0
		}
		alone := same == 0 && (i+1 == len(entries) || e.compare(entries[i+1]) != 0)
		c := e.credential
		v := value{Username: c.Username, Password: c.Password, IdentityToken: c.IdentityToken, RegistryToken: c.RegistryToken}
		if c.Username != "" || c.Password != "" {
			if !strings.Contains(c.Username, ":") { // a user name with a colon has no auth
				v.Auth = base64.StdEncoding.EncodeToString([]byte(c.Username + ":" + c.Password))
			}
		}
		auths[e.key(same, alone)] = v
	}
	text, err := json.Marshal(map[string]any{"auths": auths})
	if err != nil { // maps of strings always have a JSON
		panic(err)
	}
	return text
}

// key is the key of an entry in a file of its own: as it was read where it is alone, and otherwise
// made so that equal ones keep their order.
func (e *entry) key(n int, alone bool) string {
	if alone {
		return e.raw
	}
	host, way, _ := strings.Cut(e.text, "/")
	if e.hub >= 0 {
		host = hubHosts[e.hub]
	}
	u := url.URL{Scheme: "https", Host: host, Path: "/" + way, User: url.User(fmt.Sprintf("%07d", n))}
	return u.String()
}

// String says how many credentials there are.
func (k Keyring) String() string {
	if n := k.Len(); n != 1 {
		return fmt.Sprintf("%d credentials", n)
	}
	return "1 credential"
}

// Format writes String, whatever the verb and its flags.
func (k Keyring) Format(f fmt.State, _ rune) { io.WriteString(f, k.String()) }

// MarshalJSON returns the number of credentials: {"credentials":2}.
func (k Keyring) MarshalJSON() ([]byte, error) {
	return fmt.Appendf(nil, `{"credentials":%d}`, k.Len()), nil
}
