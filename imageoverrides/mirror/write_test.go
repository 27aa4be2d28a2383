// SPDX-License-Identifier: Apache-2.0

package mirror_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"go.yaml.in/yaml/v3"
	"pgregory.net/rapid"

	"github.com/cozystack/image-overrides/imageoverrides"
	"github.com/cozystack/image-overrides/imageoverrides/mirror"
)

func TestWrite(t *testing.T) {
	list := []string{"nginx", "nginx:1", "nginx:1@sha256:" + hex64, "quay.io/a:1@sha256:" + hex64, "quay.io/a@sha256:" + hex64, "host:5000/b:2", "registry.example.org/mirror/own:1"}
	table, _, err := place.Table(imageoverrides.Table{}, list)
	if err != nil {
		t.Fatal(err)
	}
	copies, err := place.Copies(table, list)
	if err != nil {
		t.Fatal(err)
	}
	const reg = "registry.example.org/mirror/"
	for format, want := range map[mirror.Format]string{
		mirror.Pairs: `docker.io/library/nginx REGdocker.io/library/nginx
docker.io/library/nginx:1 REGdocker.io/library/nginx:1
docker.io/library/nginx:1@DIGEST REGdocker.io/library/nginx@DIGEST
host:5000/b:2 REGhost_5000/b:2
quay.io/a:1@DIGEST REGquay.io/a:1@DIGEST
quay.io/a@DIGEST REGquay.io/a@DIGEST
left: REGown:1
`,
		mirror.Skopeo: `skopeo copy --all --preserve-digests docker://docker.io/library/nginx docker://REGdocker.io/library/nginx
skopeo copy --all --preserve-digests docker://docker.io/library/nginx:1 docker://REGdocker.io/library/nginx:1
skopeo copy --all --preserve-digests docker://docker.io/library/nginx@DIGEST docker://REGdocker.io/library/nginx@DIGEST
skopeo copy --all --preserve-digests docker://host:5000/b:2 docker://REGhost_5000/b:2
skopeo copy --all --preserve-digests docker://quay.io/a@DIGEST docker://REGquay.io/a:1
skopeo copy --all --preserve-digests docker://quay.io/a@DIGEST docker://REGquay.io/a@DIGEST
left: REGown:1
`,
		mirror.Hauler: `apiVersion: content.hauler.cattle.io/v1
kind: Images
metadata:
  name: mirror
spec:
  images:
  - name: docker.io/library/nginx
    rewrite: mirror/docker.io/library/nginx:latest
  - name: docker.io/library/nginx:1
    rewrite: mirror/docker.io/library/nginx:1
  - name: host:5000/b:2
    rewrite: mirror/host_5000/b:2
  - name: quay.io/a@DIGEST
    rewrite: mirror/quay.io/a:1
left: REGdocker.io/library/nginx:1@DIGEST
left: REGown:1
left: REGquay.io/a@DIGEST
`,
		mirror.Zarf: `kind: ZarfPackageConfig
metadata:
  name: mirror
components:
- name: images
  required: true
  images:
  - docker.io/library/nginx
  - docker.io/library/nginx:1
  - docker.io/library/nginx:1@DIGEST
  - host:5000/b:2
  - quay.io/a:1@DIGEST
  - quay.io/a@DIGEST
left: REGown:1
`,
	} {
		var b strings.Builder
		left, err := mirror.Write(&b, format, copies)
		if err != nil {
			t.Fatal(err)
		}
		var told []string
		for _, c := range left {
			told = append(told, "left: "+c.To.String()+"\n")
		}
		slices.Sort(told)
		got := strings.NewReplacer("sha256:"+hex64, "DIGEST", reg, "REG").Replace(b.String() + strings.Join(told, ""))
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s\n%s", format, diff)
		}
	}
	var b strings.Builder
	if _, err := mirror.Write(&b, "x", nil); fmt.Sprint(err) != `there is no format "x"; there are pairs, skopeo, hauler and zarf` || b.Len() > 0 {
		t.Error(err)
	}
}

// Each format has every place once, or leaves the copy, and those in YAML are YAML.
func TestWriteLaw(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		m, list := mirrors.Draw(t, "mirror"), images.Draw(t, "images")
		table, _, err := m.Table(imageoverrides.Table{}, list)
		if err != nil {
			t.Skip(err)
		}
		copies, err := m.Copies(table, list)
		if err != nil {
			t.Fatal(err)
		}
		for _, format := range mirror.Formats() {
			var b strings.Builder
			left, err := mirror.Write(&b, format, copies)
			if err != nil {
				t.Fatal(err)
			}
			notWritten := make(map[string]bool)
			for _, c := range left {
				notWritten[c.To.String()] = true
			}
			places := make(map[string]bool)
			for _, c := range copies {
				if !notWritten[c.To.String()] {
					places[c.Place.String()] = true
				}
			}
			written := len(places)
			switch format {
			case mirror.Pairs, mirror.Skopeo:
				if got := strings.Count(b.String(), "\n"); got != written {
					t.Fatalf("%s: %d lines of %d copies\n%s", format, got, written, &b)
				}
			case mirror.Hauler:
				var file struct {
					Spec struct {
						Images []struct{ Name, Rewrite string }
					}
				}
				if err := yaml.Unmarshal([]byte(b.String()), &file); err != nil || len(file.Spec.Images) != written {
					t.Fatalf("%v, %d copies\n%s", err, written, &b)
				}
			case mirror.Zarf:
				var file struct{ Components []struct{ Images []string } }
				if err := yaml.Unmarshal([]byte(b.String()), &file); err != nil {
					t.Fatalf("%v\n%s", err, &b)
				}
				for _, c := range copies {
					if c.From.IsValid() && !slices.Contains(file.Components[0].Images, c.From.String()) {
						t.Fatalf("%s is not in\n%s", c.From, &b)
					}
				}
			}
		}
	})
}
