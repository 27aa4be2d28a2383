// SPDX-License-Identifier: Apache-2.0

package registrytest

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/random"
	"github.com/google/go-containerregistry/pkg/v1/remote"
	"github.com/google/go-containerregistry/pkg/v1/remote/transport"

	"github.com/cozystack/image-overrides/imageoverrides"
	"github.com/cozystack/image-overrides/imageoverrides/audit"
	"github.com/cozystack/image-overrides/reference"
)

// An internet is every registry of the world in one: a proxy that plain HTTP goes through, with each registry's repositories under its
// host in a registry of ours.
type internet struct {
	*real
	proxy               *httptest.Server
	hosts, repositories []string
	parts               v1.ImageIndex // of all images
	count               int
}

func startInternet(t *testing.T) *internet {
	t.Helper()
	n := &internet{real: startReferrers(t)}
	n.proxy = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, q *http.Request) {
		rest, found := strings.CutPrefix(q.URL.Path, "/v2/")
		if q.URL.Host == "" || !found {
			http.Error(w, "no way there", http.StatusBadGateway)
			return
		}
		host := strings.Replace(q.URL.Host, "registry-1.docker.io", "docker.io", 1)
		q.URL.Path = "/v2/" + strings.Replace(host, ":", "_", 1) + "/" + rest
		n.app.ServeHTTP(w, q)
	}))
	t.Cleanup(n.proxy.Close)
	return n
}

// put puts an image of two platforms under a name of the world, and returns its digest. Blobs are the same in all.
func (n *internet) put(t *testing.T, name string) string {
	t.Helper()
	image, err := reference.Parse(name)
	if err != nil {
		t.Fatal(err)
	}
	image = image.Canonical()
	if !slices.Contains(n.hosts, image.Host()) {
		n.hosts = append(n.hosts, image.Host())
	}
	if n.parts == nil {
		n.parts = empty.Index
		for _, architecture := range []string{"amd64", "arm64"} {
			part, err := random.Image(100, 1)
			if err != nil {
				t.Fatal(err)
			}
			n.parts = with(t, n.parts, part, v1.Platform{OS: "linux", Architecture: architecture})
		}
	}
	n.count++
	index := mutate.Annotations(n.parts, map[string]string{"count": fmt.Sprint(n.count)}).(v1.ImageIndex)
	repository := strings.Replace(image.Host(), ":", "_", 1) + "/" + image.Path()
	n.repositories = append(n.repositories, repository)
	if err := remote.WriteIndex(n.name(t, repository+":"+cmp.Or(image.Tag(), "latest")), index, n.options()...); err != nil {
		t.Fatal(err)
	}
	digest, err := index.Digest()
	if err != nil {
		t.Fatal(err)
	}
	return digest.String()
}

var built struct {
	once   sync.Once
	binary string
	err    error
}

// command builds examples/mirror, once.
func command(t *testing.T) string {
	t.Helper()
	built.once.Do(func() {
		var folder string
		if folder, built.err = os.MkdirTemp("", "mirror-"); built.err != nil {
			return
		}
		built.binary = filepath.Join(folder, "mirror")
		build := exec.Command("go", "build", "-o", built.binary, ".")
		build.Dir = "../../examples/mirror"
		if out, err := build.CombinedOutput(); err != nil {
			built.err = fmt.Errorf("%w: %s", err, out)
		}
	})
	if built.err != nil {
		t.Fatal(built.err)
	}
	return built.binary
}

// TestMain takes the command away.
func TestMain(m *testing.M) {
	status := m.Run()
	if built.binary != "" {
		os.RemoveAll(filepath.Dir(built.binary))
	}
	os.Exit(status)
}

// A site is a mirror, a table, and manifests.
type site struct {
	*real
	internet  *internet
	table     string
	manifests []string
	flags     []string    // of how the mirror is asked
	process   *os.Process // that runs
}

func startSite(t *testing.T, n *internet, mirror access, table string, manifests ...string) *site {
	t.Helper()
	s := &site{real: start(t, mirror), internet: n, manifests: manifests}
	folder := t.TempDir()
	write := func(name, text string) string {
		t.Helper()
		file := filepath.Join(folder, name)
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		return file
	}
	s.table = write("values.yaml", strings.ReplaceAll(table, "MIRROR", s.host))
	s.flags = []string{"-plain-http", s.host}
	if mirror != anonymous {
		s.flags = []string{"-ca", write("ca.pem", string(s.pem)), "-credentials", write("config.json", fmt.Sprintf(`{"auths": {%q: {"username": %q, "password": %q}}}`, s.host, user, password))}
	}
	return s
}

// text is the table's file, with MIRROR for the mirror's host.
func (s *site) text(t *testing.T) string {
	t.Helper()
	text, err := os.ReadFile(s.table)
	if err != nil {
		t.Fatal(err)
	}
	return strings.ReplaceAll(string(text), s.host, "MIRROR")
}

// sync runs the command, and returns what it says, with MIRROR for the mirror's host.
func (s *site) sync(t *testing.T, flags ...string) (status int, stdout, stderr string) {
	t.Helper()
	args := slices.Concat([]string{"sync", "-m", s.host + "/m", "-t", s.table, "-attempts", "1"}, s.flags, flags)
	for _, host := range s.internet.hosts {
		args = append(args, "-plain-http", host)
	}
	run := exec.Command(command(t), append(args, s.manifests...)...)
	run.Env = append(os.Environ(), "HTTP_PROXY="+s.internet.proxy.URL, "NO_PROXY=", "no_proxy=")
	var out, errs bytes.Buffer
	run.Stdout, run.Stderr = &out, &errs
	s.mu.Lock() // until there is somebody to kill no request is answered
	err := run.Start()
	s.process = run.Process
	s.mu.Unlock()
	if err != nil {
		t.Fatal(err)
	}
	run.Wait() // the status tells
	clean := strings.NewReplacer(s.host, "MIRROR", s.table, "TABLE").Replace
	return run.ProcessState.ExitCode(), clean(out.String()), clean(errs.String())
}

// content is what the mirror has of the world, and of its own: digests by repository and tag. Distribution's catalog leaves out repositories such as a/a.
func (s *site) content(t *testing.T) map[string]string {
	t.Helper()
	all := make(map[string]string)
	for _, repository := range append([]string{"rebuilt"}, s.internet.repositories...) {
		place := s.name(t, "m/"+repository).Context()
		tags, err := remote.List(place, s.options()...)
		if e := new(transport.Error); errors.As(err, &e) && e.StatusCode == http.StatusNotFound {
			continue
		}
		if err != nil {
			t.Fatal(err)
		}
		for _, tag := range tags {
			got, err := remote.Head(place.Tag(tag), s.options()...)
			if err != nil {
				t.Fatal(err)
			}
			all["m/"+repository+":"+tag] = got.Digest.String()
		}
	}
	s.asked()
	return all
}

// outside are the images that Flux reaches and that do not come out of the mirror under the table.
func (s *site) outside(t *testing.T) (list []string) {
	t.Helper()
	found, err := imageoverrides.Find([]byte(strings.ReplaceAll(s.text(t), "MIRROR", s.host)))
	if err != nil {
		t.Fatal(err)
	}
	a := audit.New(found.Table, audit.Options{Allowed: []string{s.host + "/m"}})
	for _, file := range s.manifests {
		f, err := os.Open(file)
		if err != nil {
			t.Fatal(err)
		}
		defer f.Close()
		if err := a.Add(file, f); err != nil {
			t.Fatal(err)
		}
	}
	report := a.Report()
	for _, p := range report.Places {
		if p.Outside && p.Status != audit.Unreached && p.Status != audit.Suspected {
			list = append(list, p.Runs())
		}
	}
	for _, k := range report.Risks {
		if k.Severity == audit.SeverityError {
			t.Errorf("%+v", k)
		}
	}
	return list
}

// The platform of the small tests.
const ownTable = `# the platform's
registries:
  imageOverrides: # by hand:
  - name: quay.io/team/rebuilt # see ticket 12
    newName: MIRROR/m/rebuilt
    newTag: "2"
other: kept
`

func platform(t *testing.T, pinned string) string {
	t.Helper()
	file := filepath.Join(t.TempDir(), "platform.yaml")
	var text strings.Builder
	for i, image := range []string{"nginx:1.27", "docker.io/library/nginx:1.27", "quay.io/team/app@" + pinned, "quay.io/team/app:v1@" + pinned, "quay.io/team/app:v1",
		"registry.local:5000/a/b:2", "quay.io/team/rebuilt:1", "ghcr.io/x/latest"} {
		fmt.Fprintf(&text, "apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: d%d}\nspec:\n  template:\n    spec:\n      containers:\n      - name: c\n        image: %s\n        args: [--image=ghcr.io/x/helper:3]\n---\n", i, image)
	}
	if err := os.WriteFile(file, []byte(text.String()), 0o644); err != nil {
		t.Fatal(err)
	}
	return file
}

// fillPlatform puts its images into the world, and returns their digests by their places in the mirror.
func fillPlatform(t *testing.T, n *internet) (want map[string]string, pinned string) {
	t.Helper()
	want = make(map[string]string)
	for _, image := range []string{"docker.io/library/nginx:1.27", "quay.io/team/app:v1", "registry.local:5000/a/b:2", "ghcr.io/x/latest:latest", "ghcr.io/x/helper:3"} {
		want["m/"+strings.Replace(image, "local:5000", "local_5000", 1)] = n.put(t, image)
	}
	return want, want["m/quay.io/team/app:v1"]
}

// TestSync: a platform is brought behind a mirror, every digest the same, comments where they were; a second run sends nothing and
// changes no byte. A tag that moved stays in the mirror until it is asked to follow. Without the world the mirror is proof enough, and what is new fails
// and keeps the table as it is.
func TestSync(t *testing.T) {
	n := startInternet(t)
	want, pinned := fillPlatform(t, n)
	s := startSite(t, n, anonymous, ownTable, platform(t, pinned))
	want["m/rebuilt:2"] = put(t, s.real, "m/rebuilt:2", 100)

	status, stdout, stderr := s.sync(t, "-dry-run")
	if requests, _ := s.asked(); status != 0 || len(sends(requests)) > 0 || !strings.HasSuffix(stderr, "8 images: 7 to copy, 1 present, 0 failed, 0 B sent; 0 left, 1 where Flux does not look, 0 suspected, 0 faults in manifests; 6 new of 7 entries and 1 digest to pin, nothing is written\n") {
		t.Errorf("dry run: status %d, %q\n%s%s", status, sends(requests), stdout, stderr)
	}
	if diff := gocmp.Diff(ownTable, s.text(t)); diff != "" {
		t.Errorf("dry run: %s", diff)
	}

	status, stdout, stderr = s.sync(t)
	if status != 0 {
		t.Fatalf("status %d\n%s%s", status, stdout, stderr)
	}
	table := s.text(t)
	if diff := gocmp.Diff(strings.Replace(ownTable, "other: kept\n", "", 1)+`    digest: `+want["m/rebuilt:2"]+`
  - name: nginx
    newName: MIRROR/m/docker.io/library/nginx
  - name: docker.io/library/nginx
    newName: MIRROR/m/docker.io/library/nginx
  - name: ghcr.io/x/helper
    newName: MIRROR/m/ghcr.io/x/helper
  - name: ghcr.io/x/latest
    newName: MIRROR/m/ghcr.io/x/latest
  - name: quay.io/team/app
    newName: MIRROR/m/quay.io/team/app
  - name: registry.local:5000/a/b
    newName: MIRROR/m/registry.local_5000/a/b
other: kept
`, table); diff != "" {
		t.Error(diff)
	}
	if diff := gocmp.Diff(want, s.content(t)); diff != "" {
		t.Error(diff)
	}
	for image, digest := range want {
		whole(t, s.real, image, digest)
	}
	if list := s.outside(t); list != nil {
		t.Errorf("outside: %q", list)
	}

	nothing := func(why string) (status int, stdout, stderr string) {
		t.Helper()
		s.asked()
		before, err := os.Stat(s.table)
		if err != nil {
			t.Fatal(err)
		}
		status, stdout, stderr = s.sync(t)
		if requests, received := s.asked(); len(sends(requests)) > 0 || received > 0 {
			t.Errorf("%s: sends %q", why, sends(requests))
		}
		if after, err := os.Stat(s.table); err != nil || !os.SameFile(before, after) {
			t.Errorf("%s: the file is another: %v", why, err)
		}
		if diff := gocmp.Diff(table, s.text(t)); diff != "" {
			t.Errorf("%s: %s", why, diff)
		}
		return status, stdout, stderr
	}
	status, stdout, stderr = nothing("again")
	if status != 0 || !strings.HasSuffix(stderr, "TABLE stays as it is\n") {
		t.Errorf("again: status %d\n%s%s", status, stdout, stderr)
	}

	moved := n.put(t, "nginx:1.27")
	status, stdout, stderr = nothing("moved")
	if status != 0 || !strings.Contains(stdout, "kept           MIRROR/m/docker.io/library/nginx:1.27 "+want["m/docker.io/library/nginx:1.27"]+", and its source has "+moved+"\n") {
		t.Errorf("moved: status %d\n%s%s", status, stdout, stderr)
	}
	status, stdout, stderr = s.sync(t, "-follow")
	want["m/docker.io/library/nginx:1.27"] = moved
	if diff := gocmp.Diff(want, s.content(t)); status != 0 || diff != "" || s.text(t) != table {
		t.Errorf("follow: status %d\n%s%s%s", status, stdout, stderr, diff)
	}

	n.proxy.Close()
	status, stdout, stderr = nothing("without the world")
	if status != 0 || strings.Count(stdout, "not compared: ") != 5 || strings.Count(stdout, "present ") != 8 {
		t.Errorf("without the world: status %d\n%s%s", status, stdout, stderr)
	}
	s.manifests = append(s.manifests, filepath.Join(t.TempDir(), "more.yaml"))
	if err := os.WriteFile(s.manifests[1], []byte("apiVersion: v1\nkind: Pod\nmetadata: {name: p}\nspec: {containers: [{name: c, image: 'quay.io/new:1'}]}\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	status, stdout, stderr = nothing("without the world, and something new")
	if status != 3 || !strings.Contains(stdout, "unreachable    quay.io/new:1: ") || strings.Count(stdout, "present ") != 8 || !strings.HasSuffix(stderr, "TABLE is not written\n") {
		t.Errorf("something new: status %d\n%s%s", status, stdout, stderr)
	}
}

// TestSyncKilled: wherever it is killed, the table is what it was, and another run ends as if nothing had been.
func TestSyncKilled(t *testing.T) {
	n := startInternet(t)
	_, pinned := fillPlatform(t, n)
	n.put(t, "quay.io/team/rebuilt:1")
	manifests := platform(t, pinned)
	const own = "registries:\n  imageOverrides: [] # none\n"
	first := startSite(t, n, anonymous, own, manifests)
	if status, stdout, stderr := first.sync(t); status != 0 {
		t.Fatalf("status %d\n%s%s", status, stdout, stderr)
	}
	requests, _ := first.asked()
	table, content := first.text(t), first.content(t)
	for i, at := range []int{1, 7, len(requests) / 4, len(requests) / 2, len(requests) * 3 / 4, len(requests) - 8, len(requests)} {
		signal, name := os.Kill, fmt.Sprintf("killed at request %d of %d", at, len(requests))
		if i%2 == 1 {
			signal, name = os.Interrupt, fmt.Sprintf("interrupted at request %d of %d", at, len(requests))
		}
		t.Run(name, func(t *testing.T) {
			s := startSite(t, n, anonymous, own, manifests)
			s.before = func(asked int, q *http.Request) {
				if asked != at {
					return
				}
				body, err := io.ReadAll(q.Body) // without which nobody sees that whoever asks has gone
				if err != nil {
					t.Error(err)
				}
				q.Body = io.NopCloser(bytes.NewReader(body))
				s.process.Signal(signal)
				<-q.Context().Done() // and then it is done all the same
			}
			status, stdout, stderr := s.sync(t)
			if want := map[os.Signal]int{os.Kill: -1, os.Interrupt: 3}[signal]; status != want {
				t.Errorf("status %d, want %d\n%s%s", status, want, stdout, stderr)
			}
			if text := s.text(t); text != own {
				t.Errorf("the table is written:\n%s", text)
			}
			s.mu.Lock()
			s.before = nil
			s.mu.Unlock()
			if status, stdout, stderr := s.sync(t); status != 0 {
				t.Fatalf("status %d\n%s%s", status, stdout, stderr)
			}
			if diff := gocmp.Diff(table, s.text(t)); diff != "" {
				t.Error(diff)
			}
			if diff := gocmp.Diff(content, s.content(t)); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// TestSyncFails: an image that is not there does not keep the others from being copied, and keeps the table as it is; it can be left out. This mirror has a token server.
func TestSyncFails(t *testing.T) {
	n := startInternet(t)
	want, pinned := fillPlatform(t, n)
	s := startSite(t, n, tokens, ownTable, platform(t, pinned))
	status, stdout, stderr := s.sync(t)
	if status != 1 || s.text(t) != ownTable || strings.Count(stdout, "copied ") != 7 || !strings.Contains(stdout, "not found      MIRROR/m/rebuilt:2: not found: ") ||
		!strings.Contains(stdout, "; nobody has said what it is a copy of: put it there\n") || !strings.HasSuffix(stderr, "TABLE is not written\n") {
		t.Errorf("status %d\n%s%s%s", status, stdout, stderr, s.text(t))
	}
	if diff := gocmp.Diff(want, s.content(t)); diff != "" {
		t.Error(diff)
	}
	status, stdout, stderr = s.sync(t, "-skip", "quay.io/team/rebuilt", "-policy", "Never")
	if status != 0 || s.text(t) == ownTable || strings.Count(stdout, "present ") != 7 {
		t.Errorf("status %d\n%s%s%s", status, stdout, stderr, s.text(t))
	}
}

var digests = regexp.MustCompile(`sha256:[0-9a-f]{64}`)

// TestSyncCorpus: the manifests of a whole platform, their digests those of images that the world has.
func TestSyncCorpus(t *testing.T) {
	folder := os.Getenv("CORPUS")
	if folder == "" {
		folder = "../../../shared/corpus"
	}
	files, err := filepath.Glob(filepath.Join(folder, "*.yaml"))
	if err != nil || len(files) == 0 {
		t.Skipf("there is no corpus at %s: %v", folder, err)
	}
	a := audit.New(imageoverrides.Table{}, audit.Options{})
	texts := make(map[string]string)
	for _, file := range files {
		if filepath.Base(file) == "overrides.yaml" {
			continue
		}
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		texts[filepath.Base(file)] = string(text)
		if err := a.Add(file, bytes.NewReader(text)); err != nil {
			t.Fatal(err)
		}
	}
	n := startInternet(t)
	byTag := make(map[string]string)    // by image with its tag
	replaced := make(map[string]string) // digests of the corpus
	images := a.Report().Images()
	for _, text := range images {
		image, err := reference.Parse(text)
		if err != nil {
			t.Fatal(err)
		}
		image = image.Canonical()
		name := image.Name() + ":" + cmp.Or(image.Tag(), "latest")
		if byTag[name] == "" {
			byTag[name] = n.put(t, name)
		}
		if image.Digest() != "" {
			if old := replaced[image.Digest()]; old != "" && old != byTag[name] {
				t.Fatalf("%s: one digest for two images", text)
			}
			replaced[image.Digest()] = byTag[name]
		}
	}
	var manifests []string
	here := t.TempDir()
	for name, text := range texts {
		text = digests.ReplaceAllStringFunc(text, func(digest string) string {
			if other := replaced[digest]; other != "" {
				return other
			}
			return digest
		})
		file := filepath.Join(here, name)
		if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
		manifests = append(manifests, file)
	}
	slices.Sort(manifests)
	s := startSite(t, n, anonymous, "registries:\n  imageOverrides: []\n", manifests...)
	status, stdout, stderr := s.sync(t)
	if status != 0 {
		t.Fatalf("status %d\n%s%s", status, stdout, stderr)
	}
	t.Log(stderr[strings.LastIndexByte(strings.TrimSuffix(stderr, "\n"), '\n')+1:])
	if list := s.outside(t); list != nil {
		t.Errorf("outside: %q", list)
	}
	want := make(map[string]string)
	for name, digest := range byTag {
		want["m/"+name] = digest
	}
	if diff := gocmp.Diff(want, s.content(t)); diff != "" {
		t.Error(diff)
	}
	table := s.text(t)
	status, stdout, stderr = s.sync(t)
	if requests, received := s.asked(); status != 0 || len(sends(requests)) > 0 || received > 0 || s.text(t) != table {
		t.Errorf("again: status %d, %q\n%s%s", status, sends(requests), stdout, stderr)
	}
}
