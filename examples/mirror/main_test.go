// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"encoding/pem"
	"fmt"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
)

const manifestType = "application/vnd.oci.image.manifest.v1+json"

func digestOf(b []byte) string {
	sum := sha256.Sum256(b)
	return "sha256:" + hex.EncodeToString(sum[:])
}

// A store is a registry of a few lines: it keeps what it is sent.
type store struct {
	host     string
	password string // of the user robot; "" for none

	mu      sync.Mutex
	content map[string][]byte // by path
	sent    int               // requests that send
	onSend  func()            // is called for each of them; nil for nothing
}

var imageConfig = []byte(`{"os":"linux","architecture":"amd64"}`)

// manifest is an image of a name: one config and nothing else.
func manifest(name string) []byte {
	return fmt.Appendf(nil, `{"schemaVersion":2,"mediaType":"%s","config":{"mediaType":"application/vnd.oci.image.config.v1+json","digest":"%s","size":%d},"layers":[],"annotations":{"name":"%s"}}`, manifestType, digestOf(imageConfig), len(imageConfig), name)
}

func newStore(t *testing.T, password string, images ...string) *store {
	t.Helper()
	s := &store{password: password, content: make(map[string][]byte)}
	server := httptest.NewServer(s)
	t.Cleanup(server.Close)
	s.host = server.Listener.Addr().String()
	for _, image := range images {
		s.put(image)
	}
	return s
}

// put adds an image, repository:tag.
func (s *store) put(image string) {
	repository, tag, _ := strings.Cut(image, ":")
	text := manifest(image)
	s.content["/v2/"+repository+"/manifests/"+tag] = text
	s.content["/v2/"+repository+"/manifests/"+digestOf(text)] = text
	s.content["/v2/"+repository+"/blobs/"+digestOf(imageConfig)] = imageConfig
}

func (s *store) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if _, password, _ := r.BasicAuth(); s.password != "" && password != s.password {
		w.Header().Set("Www-Authenticate", `Basic realm="r"`)
		w.WriteHeader(http.StatusUnauthorized)
		return
	}
	if s.onSend != nil && (r.Method == http.MethodPost || r.Method == http.MethodPut) {
		s.onSend()
	}
	switch r.Method {
	case http.MethodPost:
		s.sent++
		w.Header().Set("Location", r.URL.Path+"1")
		w.WriteHeader(http.StatusAccepted)
	case http.MethodPut:
		s.sent++
		body, err := io.ReadAll(r.Body)
		if err != nil {
			return
		}
		path := r.URL.Path
		if before, _, found := strings.Cut(path, "/blobs/uploads/"); found {
			path = before + "/blobs/" + r.URL.Query().Get("digest")
		} else {
			s.content[path[:strings.LastIndexByte(path, '/')+1]+digestOf(body)] = body
		}
		s.content[path] = body
		w.Header().Set("Docker-Content-Digest", digestOf(body))
		w.WriteHeader(http.StatusCreated)
	default:
		if strings.Contains(r.URL.Path, "/broken/") {
			w.WriteHeader(http.StatusTeapot)
			return
		}
		content, found := s.content[r.URL.Path]
		if !found {
			w.Header().Set("Content-Type", "application/json")
			w.WriteHeader(http.StatusNotFound)
			io.WriteString(w, `{"errors":[{"code":"MANIFEST_UNKNOWN","message":"manifest unknown"}]}`)
			return
		}
		if strings.Contains(r.URL.Path, "/manifests/") {
			w.Header().Set("Content-Type", manifestType)
		}
		w.Header().Set("Docker-Content-Digest", digestOf(content))
		w.Header().Set("Content-Length", fmt.Sprint(len(content)))
		if r.Method == http.MethodGet {
			w.Write(content)
		}
	}
}

// file writes a file and returns its name.
func file(t *testing.T, name, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), name)
	if err := os.WriteFile(path, []byte(text), 0o640); err != nil {
		t.Fatal(err)
	}
	return path
}

// command runs a command, and returns its status and what it writes.
func command(t *testing.T, stdin string, terminal bool, args ...string) (status int, stdout, stderr string) {
	t.Helper()
	var out, errs bytes.Buffer
	status = streams{strings.NewReader(stdin), &out, &errs, terminal}.run(t.Context(), args)
	return status, out.String(), errs.String()
}

func same(t *testing.T, what, want, got string) {
	t.Helper()
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("%s: %s", what, diff)
	}
}

func TestCheck(t *testing.T) {
	s := newStore(t, "", "os/a:1", "os/b:2")
	a, b := digestOf(manifest("os/a:1")), digestOf(manifest("os/b:2"))
	list := file(t, "images", "# what the platform runs\nquay.io/x/a:0\n\nquay.io/x/c:2 # renamed only\n"+s.host+"/os/b:2\n")
	table := func(entries string) string { return file(t, "values.yaml", "registries:\n  imageOverrides:\n"+entries) }
	good := table("  - {name: quay.io/x/a, newName: \"" + s.host + "/os/a\", newTag: \"1\"}\n  - {name: quay.io/x/c, newName: \"" + s.host + "/os/b\"}\n")
	for _, test := range []struct {
		why    string
		args   []string
		status int
		stdout string
		stderr string
	}{
		{"all is there", []string{"-t", good}, 0, "ok             HOST/os/a:1 " + a + "\n",
			"quay.io/x/c: not checked: its tag is the manifest's; -images FILE would tell it\n1/1 HOST/os/a:1: ok\n1 image: 1 ok\n"},
		{"with a list", []string{"-t", good, "-images", list, "-parallel", "1"}, 0, "ok             HOST/os/a:1 " + a + "\nok             HOST/os/b:2 " + b + "\n",
			"1/2 HOST/os/a:1: ok\n2/2 HOST/os/b:2: ok\n2 images: 2 ok\n"},
		{"one is not", []string{"-t", table("  - {name: quay.io/x/a, newName: \"" + s.host + "/os/a\", newTag: \"3\"}\n  - {name: quay.io/x/b, newName: \"" + s.host + "/broken/b\", newTag: \"3\"}\n"), "-parallel", "1"}, 1,
			"not found      HOST/os/a:3: not found: HOST answers 404 Not Found, MANIFEST_UNKNOWN, \"manifest unknown\"\nbad reply      HOST/broken/b:3: bad reply: HOST answers 418 I'm a teapot\n",
			"1/2 HOST/os/a:3: not found\n2/2 HOST/broken/b:3: bad reply\n2 images: 1 not found, 1 bad reply\n"},
		{"one could not be learned", []string{"-t", table("  - {name: quay.io/x/b, newName: \"" + s.host + "/broken/b\", newTag: \"3\"}\n"), "-o", "json"}, 3,
			"[\n  {\n    \"image\": \"HOST/broken/b:3\",\n    \"kind\": \"bad reply\",\n    \"reason\": \"HOST/broken/b:3: bad reply: HOST answers 418 I'm a teapot\"\n  }\n]\n",
			"1/1 HOST/broken/b:3: bad reply\n1 image: 1 bad reply\n"},
		{"a table that is none", []string{"-t", file(t, "values.yaml", "registries: {}\n")}, 2, "", "FILE: there is no registries.imageOverrides here; line 1 has \"registries\" without imageOverrides; [] is how an empty table is written\n"},
		{"an image that is none", []string{"-images", file(t, "images", "a\nb c\n")}, 2, "", "FILE:2: one image a line, and nothing behind it\n"},
		{"a CA that is none", []string{"-t", good, "-ca", list}, 2, "", "quay.io/x/c: not checked: its tag is the manifest's; -images FILE would tell it\nFILE: has no certificate in PEM\n"},
		{"a platform that is none", []string{"-images", list, "-platform", "linux"}, 2, "", "settings: platform \"linux\" is not os/architecture or os/architecture/variant\n"},
	} {
		status, stdout, stderr := command(t, "", false, append([]string{"check", "-plain-http", s.host}, test.args...)...)
		if status != test.status {
			t.Errorf("%s: status %d, want %d", test.why, status, test.status)
		}
		clean := func(text string) string {
			return regexp.MustCompile(`/\S*/(values.yaml|images)`).ReplaceAllString(strings.ReplaceAll(text, s.host, "HOST"), "FILE")
		}
		same(t, test.why, test.stdout, clean(stdout))
		same(t, test.why, test.stderr, clean(stderr))
	}
}

func TestCheckWithCredentials(t *testing.T) {
	s := newStore(t, "hunter22", "os/a:1")
	docker := func(password string) string {
		return `{"auths":{"` + s.host + `":{"username":"robot","password":"` + password + `"}}}`
	}
	secret := "apiVersion: v1\nkind: Secret\nmetadata: {name: other}\ntype: Opaque\n---\napiVersion: v1\nkind: Secret\ntype: kubernetes.io/dockerconfigjson\ndata:\n  .dockerconfigjson: " + base64.StdEncoding.EncodeToString([]byte(docker("hunter22"))) + "\n"
	list := file(t, "images", s.host+"/os/a:1\n")
	for _, test := range []struct {
		why, credentials string
		status           int
	}{
		{"none", "", 3},
		{"a docker config", docker("hunter22"), 0},
		{"a wrong password", docker("hunter23"), 3},
		{"a Secret", secret, 0},
		{"a Secret in plain text", "kind: List\nitems:\n- kind: Secret\n  stringData:\n    .dockercfg: '{\"" + s.host + "\":{\"username\":\"robot\",\"password\":\"hunter22\"}}'\n", 0},
		{"a Secret of another kind", "kind: Secret\nstringData: {password: hunter22}\n", 2},
		{"no JSON", "{hunter22", 2},
		{"no base64", `{"auths":{"` + s.host + `":{"auth":"hunter22!"}}}`, 2},
	} {
		args := []string{"check", "-plain-http", s.host, "-images", list}
		if test.credentials != "" {
			args = append(args, "-credentials", file(t, "config.json", test.credentials))
		}
		status, stdout, stderr := command(t, "", false, args...)
		if status != test.status {
			t.Errorf("%s: status %d, want %d: %s", test.why, status, test.status, stderr)
		}
		if text := stdout + stderr; strings.Contains(text, "hunter") {
			t.Errorf("%s: a secret is told: %s", test.why, text)
		}
	}
}

func TestCA(t *testing.T) {
	server := httptest.NewUnstartedServer(newStore(t, "", "os/a:1"))
	server.Config.ErrorLog = log.New(io.Discard, "", 0)
	server.StartTLS()
	t.Cleanup(server.Close)
	list := file(t, "images", server.Listener.Addr().String()+"/os/a:1\n")
	ca := file(t, "ca.pem", string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: server.Certificate().Raw})))
	if status, _, stderr := command(t, "", false, "check", "-images", list, "-ca", ca); status != 0 {
		t.Error(status, stderr)
	}
	if status, stdout, _ := command(t, "", false, "check", "-images", list); status != 3 || !strings.Contains(stdout, "certificate") {
		t.Error(status, stdout)
	}
}

// TestPin: digests come behind tags, and every other byte stays, in every notation.
func TestPin(t *testing.T) {
	s := newStore(t, "", "os/a:1", "os/b:2")
	a, b := digestOf(manifest("os/a:1")), digestOf(manifest("os/b:2"))
	old := "sha256:" + strings.Repeat("0", 64)
	for _, test := range []struct{ why, policy, text, want string }{
		{"values with comments", "IfNotPresent",
			"# top\nregistries:\n  other: 1\n  imageOverrides:\n  # first\n  - name: quay.io/x/a # a\n    newName: HOST/os/a\n    newTag: \"1\"   # tested\n    # behind\n\n  - newTag: \"2\"\n    newName: HOST/os/b\n    name: quay.io/x/b\nlast: x\n",
			"# top\nregistries:\n  other: 1\n  imageOverrides:\n  # first\n  - name: quay.io/x/a # a\n    newName: HOST/os/a\n    newTag: \"1\"   # tested\n    digest: " + a + "\n    # behind\n\n  - newTag: \"2\"\n    digest: " + b + "\n    newName: HOST/os/b\n    name: quay.io/x/b\nlast: x\n"},
		{"a digest that is there stays", "IfNotPresent", "- name: HOST/os/a\n  newTag: \"1\"\n  digest: " + old + "\n", "- name: HOST/os/a\n  newTag: \"1\"\n  digest: " + old + "\n"},
		{"or not", "Always", "- name: HOST/os/a\n  digest: '" + old + "' # old\n  newTag: \"1\"\n", "- name: HOST/os/a\n  digest: '" + a + "' # old\n  newTag: \"1\"\n"},
		{"never", "Never", "- name: HOST/os/a\n  newTag: \"1\"\n", "- name: HOST/os/a\n  newTag: \"1\"\n"},
		{"flow style", "Always", "[{name: HOST/os/a, newTag: '1'}, {newTag: \"2\", name: HOST/os/b}] # both\n", "[{name: HOST/os/a, newTag: '1', digest: " + a + "}, {newTag: \"2\", digest: " + b + ", name: HOST/os/b}] # both\n"},
		{"JSON", "Always", `{"registries":{"imageOverrides":[{"name":"HOST/os/a","newTag":"1"}]}}`, `{"registries":{"imageOverrides":[{"name":"HOST/os/a","newTag":"1", "digest": "` + a + `"}]}}`},
		{"CRLF", "Always", "- name: HOST/os/a\r\n  newTag: \"1\"\r\n- name: HOST/os/b\r\n  newTag: \"2\"", "- name: HOST/os/a\r\n  newTag: \"1\"\r\n  digest: " + a + "\r\n- name: HOST/os/b\r\n  newTag: \"2\"\r\n  digest: " + b},
		{"no line break at the end", "Always", "- name: HOST/os/a\n  newTag: \"1\"", "- name: HOST/os/a\n  newTag: \"1\"\n  digest: " + a},
		{"deep", "Always", "registries:\n    imageOverrides:\n        -   name: HOST/os/a\n            newTag: \"1\"\n", "registries:\n    imageOverrides:\n        -   name: HOST/os/a\n            newTag: \"1\"\n            digest: " + a + "\n"},
		{"a byte order mark", "Always", "\uFEFF- newTag: \"1\"\n  name: HOST/os/a\n", "\uFEFF- newTag: \"1\"\n  digest: " + a + "\n  name: HOST/os/a\n"},
	} {
		host := func(text string) string { return strings.ReplaceAll(text, "HOST", s.host) }
		path := file(t, "values.yaml", host(test.text))
		status, stdout, stderr := command(t, "", false, "pin", "-plain-http", s.host, "-policy", test.policy, "-t", path)
		if status != 0 {
			t.Errorf("%s: status %d: %s", test.why, status, stderr)
		}
		same(t, test.why, host(test.want), stdout)
		status, stdout, _ = command(t, "", false, "pin", "-plain-http", s.host, "-policy", test.policy, "-t", path, "-w")
		text, err := os.ReadFile(path)
		if err != nil || status != 0 || stdout != "" {
			t.Errorf("%s: %v, %d, %s", test.why, err, status, stdout)
		}
		same(t, test.why, host(test.want), string(text))
		if info, err := os.Stat(path); err != nil || info.Mode().Perm() != 0o640 {
			t.Errorf("%s: %v, %v", test.why, info, err)
		}
	}
}

// TestPinRefuses: what cannot be had or edited leaves the file as it is.
func TestPinRefuses(t *testing.T) {
	s := newStore(t, "", "os/a:1")
	for _, test := range []struct {
		why, text, want string
		status          int
	}{
		{"not there", "- name: HOST/os/a\n  newTag: \"1\"\n- name: HOST/os/b\n  newTag: \"1\"\n", "nothing is written", 1},
		{"nothing learned", "- name: HOST/broken/b\n  newTag: \"1\"\n", "nothing is written", 3},
		{"anchors", "- &a\n  name: HOST/os/a\n  newTag: \"1\"\n- <<: *a\n  name: HOST/os/x\n  newName: HOST/os/a\n", "cannot be edited", 2},
		{"a fault", "- name: HOST/os/a\n  newTag: 1\n", "quote it", 2},
		{"a tag that Flux could not work with", "- name: HOST/os/a\n  newTag: a b\n", "newTag", 2},
	} {
		text := strings.ReplaceAll(test.text, "HOST", s.host)
		path := file(t, "values.yaml", text)
		status, stdout, stderr := command(t, "", false, "pin", "-plain-http", s.host, "-t", path, "-w")
		after, err := os.ReadFile(path)
		if err != nil || string(after) != text || stdout != "" || status != test.status || !strings.Contains(stderr, test.want) {
			t.Errorf("%s: %v, status %d, %s%s", test.why, err, status, stdout, stderr)
		}
	}
}

func TestDiff(t *testing.T) {
	before := file(t, "before.yaml", "registries:\n  imageOverrides:\n  - name: a\n    newTag: \"1\"\n  - name: b\n    newTag: \"1\"\n")
	status, stdout, stderr := command(t, "- {name: a, newTag: \"2\"}\n", false, "diff", before, "-")
	if status != 0 || stderr != "2 differences\n" {
		t.Error(status, stderr)
	}
	same(t, "text", "a: retagged: newTag \"1\" is \"2\"\nb: removed: it was newTag \"1\"\n", stdout)
	status, stdout, _ = command(t, "", false, "diff", "-o", "json", before, before)
	if status != 0 || stdout != "[]\n" {
		t.Error(status, stdout)
	}
}

func TestCopy(t *testing.T) {
	from, to := newStore(t, "", "os/a:1", "os/b:2"), newStore(t, "hunter22")
	config := file(t, "config.json", `{"auths":{"`+to.host+`":{"username":"robot","password":"hunter22"}}}`)
	pairs := file(t, "pairs", "# to the mirror\n"+from.host+"/os/a:1 "+to.host+"/m/a:1\n"+from.host+"/os/c:1\t"+to.host+"/m/c:1 # not there\n"+from.host+"/os/b:2 "+to.host+"/m/b:2\n")
	args := []string{"copy", "-plain-http", from.host, "-plain-http", to.host, "-credentials", config}
	status, stdout, stderr := command(t, "", false, append(args, "-pairs", pairs)...)
	stdout = strings.NewReplacer(from.host, "FROM", to.host, "TO").Replace(stdout)
	if status != 1 || stderr != "3 images, 1 failed\n" {
		t.Error(status, stderr)
	}
	n := len(imageConfig) + len(manifest("os/a:1"))
	same(t, "copy", fmt.Sprintf("ok             TO/m/a:1 %s, %s sent\nnot found      FROM/os/c:1: not found: FROM answers 404 Not Found, MANIFEST_UNKNOWN, \"manifest unknown\"\nok             TO/m/b:2 %s, %s sent\n",
		digestOf(manifest("os/a:1")), size(int64(n)), digestOf(manifest("os/b:2")), size(int64(n))), stdout)
	if status, stdout, _ := command(t, "", false, append(args, from.host+"/os/a:1", to.host+"/m/a:1")...); status != 0 || !strings.Contains(stdout, ", 0 B sent") {
		t.Error(status, stdout)
	}
	sent := to.sent
	if status, _, _ := command(t, "", true, append(args, from.host+"/os/a:1", to.host+"/m/a:1")...); status != 0 || to.sent != sent {
		t.Error("the second copy sends something")
	}
}

// TestProgress: a bar on a terminal, which is gone in the end, and nothing of it elsewhere.
func TestProgress(t *testing.T) {
	s := newStore(t, "", "os/a:1")
	list := file(t, "images", s.host+"/os/a:1\n")
	_, _, stderr := command(t, "", true, "check", "-plain-http", s.host, "-images", list)
	same(t, "terminal", "\r["+strings.Repeat("#", barWidth)+"] 1/1 "+s.host+"/os/a:1: ok\x1b[K\r\x1b[K1 image: 1 ok\n", stderr)
	_, _, stderr = command(t, "", false, "check", "-plain-http", s.host, "-images", list)
	same(t, "no terminal", "1/1 "+s.host+"/os/a:1: ok\n1 image: 1 ok\n", stderr)
}

func TestUsage(t *testing.T) {
	for _, test := range []struct {
		args   []string
		status int
		want   string
	}{
		{nil, 2, "mirror: no command\n\nusage: mirror COMMAND"},
		{[]string{"-h"}, 0, "usage: mirror COMMAND"},
		{[]string{"walk"}, 2, `mirror: unknown command "walk"`},
		{[]string{"check"}, 2, "mirror check: -t TABLE or -images FILE is missing\n\nusage: mirror check"},
		{[]string{"check", "-h"}, 0, "usage: mirror check"},
		{[]string{"check", "-x"}, 2, "mirror check: flag provided but not defined: -x"},
		{[]string{"check", "-t", "-", "-images", "-"}, 2, "mirror check: the table and the images cannot both come from standard input"},
		{[]string{"pin"}, 2, "mirror pin: -t TABLE is missing"},
		{[]string{"pin", "-t", "-", "-w"}, 2, "mirror pin: standard input cannot be written"},
		{[]string{"diff", "a"}, 2, "mirror diff: 1 argument, where OLD and NEW belong"},
		{[]string{"copy", "a"}, 2, "mirror copy: FROM and TO, or -pairs FILE"},
		{[]string{"copy", "a", "b c"}, 2, "3 words, where FROM and TO belong"},
		{[]string{"copy", "-timeout", "-1s", "a", "b"}, 2, "settings: Timeout is negative"},
		{[]string{"check", "-t", "/nowhere"}, 2, "open /nowhere: no such file or directory"},
	} {
		status, stdout, stderr := command(t, "", false, test.args...)
		if status != test.status || !strings.HasPrefix(stdout+stderr, test.want) {
			t.Errorf("%q: status %d, %s%s", test.args, status, stdout, stderr)
		}
	}
}

// TestReadme: the commands that the README shows are there, with the flags that it gives them.
func TestReadme(t *testing.T) {
	readme, err := os.ReadFile("../../README.md")
	if err != nil {
		t.Fatal(err)
	}
	shown := regexp.MustCompile(`(?m)^    go run \. (\S+)(.*)$`).FindAllStringSubmatch(string(readme), -1)
	if len(shown) < 3 {
		t.Fatalf("%d commands in the README", len(shown))
	}
	for _, m := range shown {
		var stdout, stderr bytes.Buffer
		if status := (streams{stdout: &stdout, stderr: &stderr}).run(t.Context(), []string{m[1], "-h"}); status != statusThere {
			t.Errorf("%s: status %d, %s", m[1], status, stderr.String())
		}
		for _, flag := range regexp.MustCompile(` (-\w+)`).FindAllStringSubmatch(m[2], -1) {
			if !strings.Contains(stdout.String(), "  "+flag[1]+" ") && !strings.Contains(stdout.String(), " "+flag[1]+" ") {
				t.Errorf("%s: no flag %s in its usage", m[0], flag[1])
			}
		}
	}
}
