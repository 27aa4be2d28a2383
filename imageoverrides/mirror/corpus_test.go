// SPDX-License-Identifier: Apache-2.0

package mirror_test

import (
	"bytes"
	"cmp"
	"os"
	"path/filepath"
	"testing"

	"github.com/cozystack/image-overrides/imageoverrides"
	"github.com/cozystack/image-overrides/imageoverrides/audit"
	"github.com/cozystack/image-overrides/imageoverrides/mirror"
	"github.com/cozystack/image-overrides/postrender"
)

// corpus are the manifests of a real platform, by release.
func corpus(t testing.TB) (files map[string][]byte, size int64) {
	dir := cmp.Or(os.Getenv("CORPUS"), filepath.Join("..", "..", "..", "shared", "corpus"))
	list, _ := filepath.Glob(filepath.Join(dir, "*.yaml"))
	if len(list) == 0 {
		t.Skipf("no corpus in %s", dir)
	}
	files = make(map[string][]byte)
	for _, file := range list {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		files[file] = text
		size += int64(len(text))
	}
	return files, size
}

func audited(t testing.TB, table imageoverrides.Table, files map[string][]byte) *audit.Report {
	a := audit.New(table, audit.Options{Allowed: []string{place.String()}, Parts: true})
	for file, text := range files {
		if err := a.Add(file, bytes.NewReader(text)); err != nil {
			t.Fatal(err)
		}
	}
	return a.Report()
}

// behind makes the table that runs a platform out of a mirror, the list of copies, and the patches of its releases.
func behind(t testing.TB, files map[string][]byte) (table imageoverrides.Table, left []mirror.Left, copies []mirror.Copy, patched []string, unpatched []postrender.Unpatched) {
	images := audited(t, imageoverrides.Table{}, files).Images()
	table, left, err := place.Table(imageoverrides.Table{}, images)
	if err != nil {
		t.Fatal(err)
	}
	if copies, err = place.Copies(table, images); err != nil {
		t.Fatal(err)
	}
	places := audited(t, table, files).Places
	for len(places) > 0 {
		n := 1
		for n < len(places) && places[n].Source == places[0].Source {
			n++
		}
		renderer, not := postrender.Patches(table, places[:n])
		if renderer.Kustomize != nil {
			patched = append(patched, places[0].Source)
		}
		for _, u := range not {
			if places[u.Place].Status == audit.Unreached {
				unpatched = append(unpatched, u)
			}
		}
		places = places[n:]
	}
	return table, left, copies, patched, unpatched
}

// TestCorpus: a real platform moves behind a mirror as a whole. The table brings all that Flux reaches into it, each image is among the copies, and
// patches bring the images where Flux does not look.
func TestCorpus(t *testing.T) {
	files, _ := corpus(t)
	table, left, copies, patched, unpatched := behind(t, files)
	for _, l := range left {
		t.Errorf("left: %s", l)
	}
	there := make(map[string]bool)
	for _, c := range copies {
		there[c.To.String()] = true
		if !c.From.IsValid() {
			t.Errorf("nobody says where %s comes from", c.To)
		}
	}
	reached, unreached := 0, 0
	for _, p := range audited(t, table, files).Places {
		switch p.Status {
		case audit.Rewritten, audit.Kept, audit.Missed:
			reached++
			if p.Outside || !there[p.Runs()] {
				t.Errorf("%s:%d: %s is %s", p.Source, p.Line, p.Runs(), p.Status)
			}
		case audit.Unreached:
			unreached++
		}
	}
	t.Logf("%d entries, %d copies, %d places that Flux reaches, %d that it does not, with patches for %d releases", table.Len(), len(copies), reached, unreached, len(patched))
	if reached == 0 || unreached == 0 || len(patched) == 0 {
		t.Error("nothing was looked at")
	}
	for _, u := range unpatched {
		t.Errorf("not patched: %s", u.Reason)
	}
}

// BenchmarkCorpus moves a real platform behind a mirror: two audits, the table, the copies and the patches.
func BenchmarkCorpus(b *testing.B) {
	files, size := corpus(b)
	b.SetBytes(size)
	b.ReportAllocs()
	for b.Loop() {
		behind(b, files)
	}
}
