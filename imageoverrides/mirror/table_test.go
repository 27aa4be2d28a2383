// SPDX-License-Identifier: Apache-2.0

package mirror_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"pgregory.net/rapid"

	"github.com/cozystack/image-overrides/imageoverrides"
	"github.com/cozystack/image-overrides/imageoverrides/mirror"
	"github.com/cozystack/image-overrides/reference"
)

var place = mirror.Mirror{Host: "registry.example.org", Repository: "mirror"}

// newTable returns a table of entries written name>newName:newTag@digest, of which newName may be empty.
func newTable(t rapid.TB, entries ...string) imageoverrides.Table {
	var list []imageoverrides.Override
	for _, e := range entries {
		name, to, _ := strings.Cut(e, ">")
		newName, newTag, digest := reference.Split("/" + to)
		list = append(list, imageoverrides.Override{Name: name, NewName: newName[1:], NewTag: newTag, Digest: digest})
	}
	table, err := imageoverrides.New(list...)
	if err != nil {
		t.Fatal(err)
	}
	return table
}

func entriesOf(table imageoverrides.Table) (list []string) {
	for _, o := range table.All() {
		s := o.Name + ">" + o.NewName
		if o.NewTag != "" {
			s += ":" + o.NewTag
		}
		if o.Digest != "" {
			s += "@" + o.Digest
		}
		list = append(list, s)
	}
	return list
}

// TestNamesOfHosts has a name for each rule of the package's doc.
func TestNamesOfHosts(t *testing.T) {
	for image, want := range map[string]string{
		"nginx":                           "docker.io/library/nginx",
		"library/nginx:1.27":              "docker.io/library/nginx:1.27",
		"index.docker.io/library/nginx":   "docker.io/library/nginx",
		"docker.io/grafana/grafana":       "docker.io/grafana/grafana",
		"quay.io/cilium/cilium:v1":        "quay.io/cilium/cilium:v1",
		"quay.io/a@sha256:" + hex64:       "quay.io/a@sha256:" + hex64,
		"quay.io/a:v1@sha256:" + hex64:    "quay.io/a:v1@sha256:" + hex64,
		"registry.local:5000/a/b":         "registry.local_5000/a/b",
		"registry.local/5000/a/b":         "registry.local/5000/a/b",
		"host/5000/a":                     "docker.io/host/5000/a",
		"host:5000/a":                     "host_5000/a",
		"host_5000/a":                     "docker.io/host_5000/a",
		"registry.local_5000/a":           "registry.local_5000__h/a",
		"Harbor.local/a":                  "harbor.local__u1/a",
		"Harbor.Local:5/a":                "harbor.local_5__u1-8/a",
		"[2001:db8::1]:5000/a":            "ipv6__2001xdb8xx1_5000/a",
		"[::FE]/a":                        "ipv6__xxfe__u4-5/a",
		"registry.example.org/other/a:v1": "registry.example.org/other/a:v1",
		"registry.example.org/mirror/a":   "",
		"registry.example.org/mirrors/a":  "registry.example.org/mirrors/a",
	} {
		parsed, err := reference.Parse(image)
		if err != nil {
			t.Fatal(err)
		}
		whole := "registry.example.org/mirror/" + want
		if want == "" {
			whole = image
		}
		if got, err := place.Image(parsed); err != nil || got.String() != whole {
			t.Errorf("%s becomes %s, want %s: %v", image, got, whole, err)
		}
	}
}

// TestTableOfOwn: the entries of own win, and what keeps an image out of the mirror is told.
func TestTableOfOwn(t *testing.T) {
	const reg = "registry.example.org/mirror/"
	for _, test := range []struct {
		why         string
		own, images []string
		want, left  []string
	}{
		{why: "nothing"},
		{why: "each spelling that occurs", images: []string{"nginx:1", "docker.io/nginx:1", "quay.io/a", "nginx:2"},
			want: []string{"nginx>" + reg + "docker.io/library/nginx", "docker.io/nginx>" + reg + "docker.io/library/nginx", "quay.io/a>" + reg + "quay.io/a"}},
		{why: "what is there needs none", images: []string{reg + "quay.io/a:1"}},
		{why: "own entries stay in front, and those of the mirror are known", own: []string{"quay.io/b>" + reg + "quay.io/b", "z>" + reg + "own:1"}, images: []string{"z", "a:1", "quay.io/b:2"},
			want: []string{"quay.io/b>" + reg + "quay.io/b", "z>" + reg + "own:1", "a>" + reg + "docker.io/library/a"}},
		{why: "another spelling of an image that has an entry", own: []string{"nginx>" + reg + "rebuilt:1"}, images: []string{"nginx", "docker.io/nginx"},
			want: []string{"nginx>" + reg + "rebuilt:1", "docker.io/nginx>" + reg + "rebuilt:1"}},
		{why: "an entry without a name", own: []string{"nginx>:1"}, images: []string{"nginx:0", "docker.io/nginx"},
			want: []string{"nginx>:1", "docker.io/nginx>" + reg + "docker.io/library/nginx:1"},
			left: []string{"nginx:0: entry 0 is for it and has no newName; the mirror's is " + reg + "docker.io/library/nginx"}},
		{why: "an entry that leads elsewhere", own: []string{"a>quay.io/b:1"}, images: []string{"a"}, want: []string{"a>quay.io/b:1"},
			left: []string{"a: entry 0 makes it quay.io/b:1, which is not in the mirror"}},
		{why: "and what is there has an entry as well", own: []string{"a>quay.io/b:1"}, images: []string{"a", "quay.io/b"}, want: []string{"a>quay.io/b:1", "quay.io/b>" + reg + "quay.io/b"}},
		{why: "dots: the name with fewer of them first", images: []string{"a.b/c", "axb/c"}, want: []string{"axb/c>" + reg + "docker.io/axb/c", "a.b/c>" + reg + "a.b/c"}},
		{why: "an entry of own takes another image by its dots", own: []string{"a.b/c>" + reg + "c"}, images: []string{"a.b/c", "axb/c"}, want: []string{"a.b/c>" + reg + "c"},
			left: []string{"axb/c: entry 0 (a.b/c) is for it too, since a dot of a name stands for any character to Flux; write an entry for axb/c in front of that"}},
		{why: "dots that may take a name of the mirror", images: []string{"registry.example.org/mirror.quay.io/a", "quay.io/a"}, want: []string{"quay.io/a>" + reg + "quay.io/a"},
			left: []string{"registry.example.org/mirror.quay.io/a: an entry for it could change what is in " + reg + " too, since a dot of a name stands for any character to Flux; give the image another name"}},
		{why: "what Flux cannot match", images: []string{"[::1]/a", "a@sha512:" + hex64 + hex64, hex64 + ":v1", "Nginx"}, want: []string{"a>" + reg + "docker.io/library/a"},
			left: []string{
				hex64 + ":v1: it is no name without its tag, so that there can be no entry for it",
				`Nginx: it is no image name (repository "Nginx" has the upper case letter 'N'); write it as one`,
				"[::1]/a: its registry is an IPv6 address, which Flux reads as a regular expression and never finds; give the registry a name",
				"a@sha512:" + hex64 + hex64 + ": its digest is not of sha256, and Flux matches no other; use that of sha256, or write the image without",
			}},
	} {
		table, left, err := place.Table(newTable(t, test.own...), test.images)
		if err != nil {
			t.Errorf("%s: %v", test.why, err)
			continue
		}
		var told []string
		for _, l := range left {
			told = append(told, l.String())
		}
		if diff := cmp.Diff(test.want, entriesOf(table)); diff != "" {
			t.Errorf("%s: entries\n%s", test.why, diff)
		}
		if diff := cmp.Diff(test.left, told); diff != "" {
			t.Errorf("%s: left\n%s", test.why, diff)
		}
	}
}

// For any table of a person: its entries are the first of the outcome, and each image comes out of the mirror or is told.
func TestTableOfOwnLaw(t *testing.T) {
	entry := rapid.Custom(func(t *rapid.T) string {
		return rapid.OneOf(names, rapid.SampledFrom([]string{"nginx", "a.b/c", "quay.io/a"})).Draw(t, "name") + ">" +
			rapid.SampledFrom([]string{":v1", "registry.example.org/mirror/x", "quay.io/a", "@sha256:" + hex64, "registry.example.org/mirror/x:v2"}).Draw(t, "target")
	})
	rapid.Check(t, func(t *rapid.T) {
		entries := rapid.SliceOfNDistinct(entry, 0, 4, func(e string) string { name, _, _ := strings.Cut(e, ">"); return name }).Draw(t, "own")
		own, list := newTable(t, entries...), images.Draw(t, "images")
		table, left, err := place.Table(own, list)
		if err != nil {
			checkFault(t, place, list, err)
			return
		}
		if diff := cmp.Diff(entriesOf(own), entriesOf(table)[:own.Len()], cmpopts.EquateEmpty()); diff != "" {
			t.Fatal(diff)
		}
		told := make(map[string]bool)
		for _, l := range left {
			told[l.Image] = true
		}
		for _, text := range list {
			outcome, applied := table.Apply(text)
			after, err := reference.Parse(outcome)
			if inside := err == nil && place.Holds(after); !inside && !told[text] {
				t.Fatalf("%s becomes %s, and is not told", text, outcome)
			} else if inside && told[text] && (len(applied) == 0 || applied[0] >= own.Len()) {
				t.Fatalf("%s becomes %s, and is told", text, outcome)
			}
		}
		if again, _, err := place.Table(table, list); err != nil || !again.Equal(table) {
			t.Fatalf("again: %v, %v", again, err)
		}
	})
}

// TestFaults: images that would have one name, and names that are too long.
func TestFaults(t *testing.T) {
	flat := mirror.Mirror{Host: "registry.example.org", WithoutHost: true}
	long := strings.Repeat("p", 240)
	for _, test := range []struct {
		m      mirror.Mirror
		images []string
		want   string
	}{
		{flat, []string{"quay.io/a", "ghcr.io/a:1"}, "ghcr.io/a and quay.io/a: both would be registry.example.org/a; keep the source's host in the names, or write an entry for one of them with another repository"},
		{flat, []string{"nginx", "docker.io/nginx", "quay.io/nginx"}, ""},
		{place, []string{"quay.io/" + long}, "quay.io/" + long + ": its name in the mirror, registry.example.org/mirror/quay.io/" + long + ", has 276 characters, 255 are allowed; give the mirror a shorter repository, or leave the image to an entry of your own"},
		{mirror.Mirror{}, nil, `host "" is empty`},
		{mirror.Mirror{Host: "registry"}, nil, `host "registry" would be read as a path on Docker Hub, for want of a '.' or a port`},
		{mirror.Mirror{Host: "registry.example.org", Repository: "/a"}, nil, `repository "/a" begins with '/'`},
	} {
		_, _, err := test.m.Table(imageoverrides.Table{}, test.images)
		_, copies := test.m.Copies(imageoverrides.Table{}, test.images)
		if fmt.Sprint(err) != fmt.Sprint(copies) {
			t.Errorf("Table: %v; Copies: %v", err, copies)
		}
		if _, image := test.m.Image(parsed(t, "nginx")); test.m.Validate() != nil && fmt.Sprint(image) != fmt.Sprint(err) {
			t.Errorf("Table: %v; Image: %v", err, image)
		}
		if got := fmt.Sprint(err); got != test.want && !(err == nil && test.want == "") {
			t.Errorf("%v\nwant %s", err, test.want)
		}
	}
}

// TestFaultsMended: what the errors say to do, an entry of one's own, is done for all spellings; an entry that says what is derived is none.
func TestFaultsMended(t *testing.T) {
	flat := mirror.Mirror{Host: "registry.example.org", WithoutHost: true}
	long := strings.Repeat("p", 240)
	for _, test := range []struct {
		m      mirror.Mirror
		own    []imageoverrides.Override
		images []string
		copies []string
		fault  string
	}{
		{flat, []imageoverrides.Override{{Name: "docker.io/library/a", NewName: "registry.example.org/hub/a"}}, []string{"a:1", "docker.io/library/a:1", "quay.io/library/a:1"},
			[]string{"registry.example.org/hub/a:1 of ", "registry.example.org/library/a:1 of quay.io/library/a:1"}, ""},
		{flat, []imageoverrides.Override{{Name: "ghcr.io/a", NewName: "registry.example.org/a"}}, []string{"quay.io/a", "ghcr.io/a:1"}, nil, "ghcr.io/a and quay.io/a: both would be registry.example.org/a; "},
		{flat, []imageoverrides.Override{{Name: "ghcr.io/a", NewTag: "2"}}, []string{"quay.io/a", "ghcr.io/a:1"}, nil, "ghcr.io/a and quay.io/a: both would be registry.example.org/a; "},
		{place, []imageoverrides.Override{{Name: "x/" + long, NewName: "registry.example.org/mirror/short"}}, []string{"docker.io/x/" + long, "x/" + long + ":1"},
			[]string{"registry.example.org/mirror/short of ", "registry.example.org/mirror/short:1 of "}, ""},
		{place, []imageoverrides.Override{{Name: "quay.io/" + long, NewTag: "2"}}, []string{"quay.io/" + long}, nil, "quay.io/" + long + ": its name in the mirror, "},
	} {
		own, err := imageoverrides.New(test.own...)
		if err != nil {
			t.Fatal(err)
		}
		table, left, err := test.m.Table(own, test.images)
		if test.fault != "" {
			if err == nil || !strings.HasPrefix(err.Error(), test.fault) {
				t.Errorf("%v: %v", test.images, err)
			}
			continue
		}
		copies, also := test.m.Copies(table, test.images)
		if err != nil || also != nil || left != nil {
			t.Errorf("%v: %v, %v, %v", test.images, err, also, left)
		}
		var got []string
		for _, c := range copies {
			got = append(got, c.To.String()+" of "+c.From.String())
		}
		if diff := cmp.Diff(test.copies, got); diff != "" {
			t.Errorf("%v\n%s", test.images, diff)
		}
	}
}

// parsed is an image of a text that is one.
func parsed(t *testing.T, text string) reference.Image {
	t.Helper()
	image, err := reference.Parse(text)
	if err != nil {
		t.Fatal(err)
	}
	return image
}

// TestCatches: a name whose dots could take an image of the mirror's place, in any of its spellings, gets no entry.
func TestCatches(t *testing.T) {
	hub := mirror.Mirror{Host: "docker.io", Repository: "p"}
	for _, test := range []struct {
		m           mirror.Mirror
		name, there string
	}{
		{hub, "p.x/a", "p/"}, {hub, "docker.io.p.x/a", "docker.io/p/"}, {hub, "index.docker.io.p.x/a", "index.docker.io/p/"}, {hub, "q.x/a", ""}, {hub, "px/a", ""},
		{mirror.Mirror{Host: "docker.io"}, "docker.io.p/a", "docker.io/"}, {mirror.Mirror{Host: "a.b:1"}, "a.b:1", ""}, {mirror.Mirror{Host: "a.b", Repository: "p"}, "a.b.p.x/a", "a.b/p/"},
	} {
		_, left, err := test.m.Table(imageoverrides.Table{}, []string{test.name})
		if err != nil {
			t.Errorf("%s: %v", test.name, err)
			continue
		}
		var got string
		for _, l := range left {
			got += l.Reason
		}
		want := ""
		if test.there != "" {
			want = "an entry for it could change what is in " + test.there + " too, since a dot of a name stands for any character to Flux; give the image another name"
		}
		if got != want {
			t.Errorf("%s, to %s: %q, want %q", test.name, test.m, got, want)
		}
	}
}

// TestCopies: tags and digests are those that pods ask for.
func TestCopies(t *testing.T) {
	const reg = "registry.example.org/mirror/"
	table := newTable(t, "nginx>"+reg+"docker.io/library/nginx:2", "quay.io/a>"+reg+"quay.io/a", "quay.io/b>"+reg+"rebuilt:1@sha256:"+hex64, "c>quay.io/c")
	copies, err := place.Copies(table, []string{"nginx:1", "nginx", "quay.io/a", "quay.io/a:1@sha256:" + hex64, "quay.io/b", "c", reg + "d:1", "${E}"})
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, c := range copies {
		got = append(got, c.From.String()+" "+c.To.String())
	}
	if diff := cmp.Diff([]string{
		" " + reg + "d:1",
		"docker.io/library/nginx:2 " + reg + "docker.io/library/nginx:2",
		"quay.io/a " + reg + "quay.io/a",
		"quay.io/a:1@sha256:" + hex64 + " " + reg + "quay.io/a:1@sha256:" + hex64,
		" " + reg + "rebuilt:1@sha256:" + hex64,
	}, got); diff != "" {
		t.Error(diff)
	}
}

// TestMove: the names of another mirror are known, whatever else an entry says.
func TestMove(t *testing.T) {
	own := newTable(t, "nginx>old.example.org/docker.io/library/nginx:2", "a>old.example.org/a", "quay.io/a>old.example.org/quay.io/a@sha256:"+hex64, "b>:1")
	moved, err := place.Move(own, mirror.Mirror{Host: "old.example.org"})
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{
		"nginx>registry.example.org/mirror/docker.io/library/nginx:2", "a>old.example.org/a",
		"quay.io/a>registry.example.org/mirror/quay.io/a@sha256:" + hex64, "b>:1",
	}, entriesOf(moved)); diff != "" {
		t.Error(diff)
	}
	if moved, err := place.Move(imageoverrides.Table{}, place); err != nil || moved.Known() {
		t.Errorf("%v, %v", moved, err)
	}
}

// TestTooLarge: a table that no Secret can hold is an error, and none comes back.
func TestTooLarge(t *testing.T) {
	list := make([]string, 5000)
	for i := range list {
		list[i] = fmt.Sprintf("quay.io/%s%d", strings.Repeat("a", 150), i)
	}
	table, left, err := place.Table(imageoverrides.Table{}, list)
	if table.Known() || left != nil || err == nil || !strings.Contains(err.Error(), "more than the 1048576") {
		t.Errorf("%d entries, %d left, %v", table.Len(), len(left), err)
	}
	if table, left, err := place.Table(imageoverrides.Table{}, list[:2000]); table.Len() != 2000 || left != nil || err != nil {
		t.Errorf("%d entries, %d left, %v", table.Len(), len(left), err)
	}
}

// A large inventory of names that are hard to tell apart takes a bounded time.
func TestLargeInventory(t *testing.T) {
	var list []string
	for i := range 40_000 {
		list = append(list, strings.Map(func(r rune) rune {
			if r == '0' {
				return '.'
			}
			return 'a'
		}, fmt.Sprintf("1%015b1", i%(1<<15)))+fmt.Sprintf("/%d", i>>15))
	}
	start := time.Now()
	_, _, err := (mirror.Mirror{Host: "docker.io", Repository: "p"}).Table(imageoverrides.Table{}, list)
	if err != nil {
		t.Fatal(err)
	}
	if took := time.Since(start); took > 20*time.Second {
		t.Errorf("%v", took)
	}
}
