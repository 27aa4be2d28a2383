// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"context"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/cozystack/image-overrides/imageoverrides"
	"github.com/cozystack/image-overrides/reference"
)

// TestSyncLaws: for any images and any table, whether the run was cut off before or not:
//   - what the table brings into the mirror is there, with the digest that manifests ask for, or what the tag had at the source;
//   - a second run sends nothing and changes no byte;
//   - where an image is not there the table stays, and all others have been copied.
func TestSyncLaws(t *testing.T) {
	from, to := newStore(t, ""), newStore(t, "")
	path := filepath.Join(t.TempDir(), "values.yaml")
	rapid.Check(t, func(t *rapid.T) {
		for _, s := range []*store{from, to} {
			s.mu.Lock() // a request of the run before may be on its way yet
			clear(s.content)
			s.mu.Unlock()
		}
		digests := make(map[string]string) // by image with its tag
		for _, name := range []string{"os/a", "os/a.b", "os/axb", "os/c"} {
			for _, tag := range []string{"1", "2", "latest"} {
				from.put(name + ":" + tag)
				digests[name+":"+tag] = digestOf(manifest(name + ":" + tag))
			}
		}
		name := rapid.SampledFrom([]string{"os/a", "os/a.b", "os/axb", "os/c"})
		tag := rapid.SampledFrom([]string{"1", "2"})
		missing := false
		images := rapid.SliceOfN(rapid.Custom(func(t *rapid.T) string {
			n := name.Draw(t, "name")
			image := from.host + "/" + n
			switch rapid.IntRange(0, 9).Draw(t, "form") {
			case 0:
				return image
			case 1:
				return image + "@" + digests[n+":"+tag.Draw(t, "digest")]
			case 2, 3:
				return image + ":" + tag.Draw(t, "tag") + "@" + digests[n+":"+tag.Draw(t, "digest")]
			case 4:
				if rapid.IntRange(0, 3).Draw(t, "missing") == 0 {
					missing = true
					return image + ":3"
				}
			}
			return image + ":" + tag.Draw(t, "tag")
		}), 1, 8).Draw(t, "images")
		to.put("m/own:1")
		to.put("m/own:2")
		to.put("else/x:1")
		to.put("else/x:2")
		var own []imageoverrides.Override
		for i, n := range rapid.SliceOfNDistinct(name, 0, 2, rapid.ID).Draw(t, "own") {
			o := imageoverrides.Override{Name: from.host + "/" + n, NewName: to.host + "/m/own", NewTag: fmt.Sprint(1 + i)}
			switch rapid.IntRange(0, 3).Draw(t, "entry") {
			case 0:
				o.Digest = digestOf(manifest("m/own:" + o.NewTag))
			case 1:
				o = imageoverrides.Override{Name: o.Name, NewName: to.host + "/else/x"}
			}
			own = append(own, o)
		}
		table, err := imageoverrides.New(own...)
		if err != nil {
			t.Fatal(err)
		}
		text, err := imageoverrides.Replace([]byte("# mine\n[]\n"), table)
		if err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, text, 0o644); err != nil {
			t.Fatal(err)
		}
		read := func() string {
			t.Helper()
			text, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			return string(text)
		}
		run := func(ctx context.Context) (status int, said string) {
			var stdout, stderr bytes.Buffer
			status = streams{strings.NewReader(pods(images...)), &stdout, &stderr, false}.run(ctx, []string{"sync", "-m", to.host + "/m", "-t", path,
				"-plain-http", from.host, "-plain-http", to.host, "-attempts", "1", "-"})
			return status, stdout.String() + stderr.String()
		}

		if at := rapid.IntRange(0, 12).Draw(t, "cut off"); at > 0 {
			ctx, stop := context.WithCancel(context.Background())
			sent := 0
			to.mu.Lock()
			to.onSend = func() {
				if sent++; sent == at {
					stop()
				}
			}
			to.mu.Unlock()
			status, said := run(ctx)
			if after := read(); ctx.Err() != nil && (after != string(text) || status == statusThere) {
				t.Fatalf("cut off with status %d: %s\n%s", status, said, after)
			}
			to.mu.Lock()
			to.onSend = nil
			to.mu.Unlock()
			stop()
		}
		status, said := run(context.Background())
		after := read()
		found, err := imageoverrides.Find([]byte(after))
		if err != nil {
			t.Fatal(err)
		}
		failed := strings.Contains(said, "is not written")
		if failed && after != string(text) || failed && status != statusMissing || failed && !missing {
			t.Fatalf("status %d: %s\n%s", status, said, after)
		}
		under, left := found.Table, 0
		if failed { // what there would have been
			var more []imageoverrides.Override
			for _, n := range []string{"os/a", "os/axb", "os/c", "os/a.b"} {
				if !slices.ContainsFunc(own, func(o imageoverrides.Override) bool { return o.Name == from.host+"/"+n }) {
					more = append(more, imageoverrides.Override{Name: from.host + "/" + n, NewName: to.host + "/m/" + strings.Replace(from.host, ":", "_", 1) + "/" + n})
				}
			}
			if under, err = imageoverrides.New(append(own, more...)...); err != nil {
				t.Fatal(err)
			}
		}
		for _, text := range images {
			outcome, applied := under.Apply(text)
			image, err := reference.Parse(outcome)
			if err != nil {
				t.Fatal(err)
			}
			in, err := reference.Parse(text)
			if err != nil {
				t.Fatal(err)
			}
			inside := strings.HasPrefix(image.Name(), to.host+"/m/")
			if !inside || applied[0] < len(own) && own[applied[0]].Name != in.Name() { // by the dot of another's name
				left++
			}
			if !inside {
				continue
			}
			if in.Tag() == "3" && image.Tag() == "3" {
				continue
			}
			what := image.Digest()
			if what == "" {
				what = image.Tag()
			}
			if what == "" {
				what = "latest"
			}
			got := to.content["/v2/"+image.Path()+"/manifests/"+what]
			want := image.Digest()
			if want == "" && !strings.HasSuffix(image.Name(), "/own") {
				want = digests[in.Path()+":"+strings.TrimPrefix(what, ":")]
			}
			if got == nil || want != "" && digestOf(got) != want {
				t.Fatalf("%s becomes %s, and the mirror has %s: %s\n%s", text, outcome, got, said, after)
			}
		}
		if !failed && (status == statusThere) != (left == 0) {
			t.Fatalf("status %d with %d left: %s\n%s", status, left, said, after)
		}
		before, sent := maps.Clone(to.content), to.sent
		again, said := run(context.Background())
		if again != status || to.sent != sent || read() != after || !cmp.Equal(before, to.content) {
			t.Fatalf("again: status %d and %d, %d sent: %s\n%s", again, status, to.sent-sent, said, read())
		}
	})
}
