// SPDX-License-Identifier: Apache-2.0

package registrytest

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/remote"
)

// TestSkopeo: what mirror plan -o skopeo writes is run by a shell and by the real skopeo, where there is one in the path, and leaves what
// mirror sync finds nothing to do about.
func TestSkopeo(t *testing.T) {
	if path, err := exec.LookPath("skopeo"); err != nil {
		t.Skipf("there is no skopeo: %v", err)
	} else if out, err := exec.Command(path, "--version").Output(); err == nil {
		t.Logf("%s", bytes.TrimSpace(out))
	}
	from, to := start(t, anonymous), start(t, anonymous)
	list := func(image string) string {
		t.Helper()
		index := mutate.IndexMediaType(multi(t, 100), "application/vnd.docker.distribution.manifest.list.v2+json") // as all that is in it
		if err := remote.WriteIndex(from.name(t, image), index, from.options()...); err != nil {
			t.Fatal(err)
		}
		digest, err := index.Digest()
		if err != nil {
			t.Fatal(err)
		}
		return digest.String()
	}
	old := list("team/app:1")
	want := map[string]string{"app:1": list("team/app:1"), "other:latest": list("team/other:latest"), "third:v1": list("team/third:v1")}
	home := t.TempDir()
	write := func(name, text string) string {
		t.Helper()
		file := filepath.Join(home, name)
		if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
		return file
	}
	var text strings.Builder
	for i, image := range []string{"app:1", "app:1@" + old, "app@" + old, "other", "third:v1@" + want["third:v1"]} {
		fmt.Fprintf(&text, "apiVersion: v1\nkind: Pod\nmetadata: {name: p%d}\nspec: {containers: [{name: c, image: '%s/team/%s'}]}\n---\n", i, from.host, image)
	}
	manifests, table := write("manifests.yaml", text.String()), write("values.yaml", "[]\n")
	write(".config/containers/policy.json", `{"default": [{"type": "insecureAcceptAnything"}]}`)
	registries := write(".config/containers/registries.conf", fmt.Sprintf("[[registry]]\nlocation = %q\ninsecure = true\n[[registry]]\nlocation = %q\ninsecure = true\n", from.host, to.host))

	lines, err := exec.Command(command(t), "plan", "-m", to.host+"/m", "-o", "skopeo", manifests).Output()
	if err != nil {
		t.Fatal(err)
	}
	shell := exec.Command("sh", "-e", "-c", string(lines))
	shell.Env = append(os.Environ(), "HOME="+home, "XDG_CONFIG_HOME=", "REGISTRY_AUTH_FILE=", "CONTAINERS_REGISTRIES_CONF="+registries)
	if out, err := shell.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s\n%s", err, out, lines)
	}
	place := "m/" + strings.Replace(from.host, ":", "_", 1) + "/team/"
	for image, digest := range want {
		whole(t, to, place+image, digest)
	}
	whole(t, to, place+"app@"+old, old)

	to.asked()
	sync := exec.Command(command(t), "sync", "-m", to.host+"/m", "-t", table, "-plain-http", from.host, "-plain-http", to.host, manifests)
	out, err := sync.Output()
	if err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	if requests, _ := to.asked(); len(sends(requests)) > 0 {
		t.Errorf("sync behind skopeo sends %q", sends(requests))
	}
	var words []string
	for line := range strings.Lines(string(out)) {
		word, _, _ := strings.Cut(line, " ")
		words = append(words, word)
	}
	if diff := cmp.Diff([]string{"present", "present", "present", "present", "present"}, words); diff != "" {
		t.Errorf("%s\n%s", diff, out)
	}
}
