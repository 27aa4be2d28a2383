// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"net"
	"os"
	"strings"
	"sync/atomic"
	"testing"
)

// runSync runs sync, with FROM, TO and FILE for the hosts and the table's file.
func runSync(t *testing.T, from, to *store, path, manifests string, terminal bool, flags ...string) (status int, stdout, stderr string) {
	t.Helper()
	args := append([]string{"sync", "-m", to.host + "/m", "-t", path, "-plain-http", from.host, "-plain-http", to.host, "-attempts", "1", "-parallel", "1"}, flags...)
	status, stdout, stderr = command(t, strings.ReplaceAll(manifests, "FROM", from.host), terminal, append(args, "-")...)
	clean := strings.NewReplacer("m/"+strings.Replace(from.host, ":", "_", 1), "m/FROM", from.host, "FROM", to.host, "TO", path, "FILE").Replace
	return status, clean(stdout), clean(stderr)
}

func text(t *testing.T, path string, from, to *store) string {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return strings.NewReplacer("m/"+strings.Replace(from.host, ":", "_", 1), "m/FROM", from.host, "FROM", to.host, "TO").Replace(string(text))
}

// TestSync: what is said of each image, and what stands in the file behind it.
func TestSync(t *testing.T) {
	from, to := newStore(t, "", "os/a:1", "os/a:2", "os/b:1"), newStore(t, "")
	a1, a2, b := digestOf(manifest("os/a:1")), digestOf(manifest("os/a:2")), digestOf(manifest("os/b:1"))
	const none = "registries:\n  imageOverrides: []\n"
	path := file(t, "values.yaml", none)
	manifests := pods("FROM/os/a:1", "FROM/os/a:1@"+a2, "FROM/os/b:1")

	status, stdout, stderr := runSync(t, from, to, path, manifests, false, "-dry-run")
	if status != 0 || to.sent != 0 || text(t, path, from, to) != none {
		t.Error(status, to.sent)
	}
	same(t, "dry run", "to copy        TO/m/FROM/os/a:1 "+a1+", from FROM/os/a:1\nto copy        TO/m/FROM/os/a:1@"+a2+" "+a2+", from FROM/os/a:1@"+a2+"\nto copy        TO/m/FROM/os/b:1 "+b+", from FROM/os/b:1\n", stdout)
	same(t, "dry run", "3 images: 3 to copy, 0 failed, 0 B sent; 0 left, 0 where Flux does not look, 0 suspected, 0 faults in manifests; 2 new of 2 entries and 0 digests to pin, nothing is written\n", stderr)

	status, stdout, stderr = runSync(t, from, to, path, manifests, false)
	if status != 0 {
		t.Error(status)
	}
	n, m := int64(len(imageConfig)+len(manifest("os/a:1"))), int64(len(manifest("os/a:2")))
	same(t, "first", fmt.Sprintf("copied         TO/m/FROM/os/a:1 %s, %s sent\ncopied         TO/m/FROM/os/a:1@%s %s, %s sent\ncopied         TO/m/FROM/os/b:1 %s, %s sent\n", a1, size(n), a2, a2, size(m), b, size(n)), stdout)
	same(t, "first", "1/3 TO/m/FROM/os/a:1: ok\n2/3 TO/m/FROM/os/a:1@"+a2+": ok\n3/3 TO/m/FROM/os/b:1: ok\n"+
		"3 images: 3 copied, 0 failed, "+size(2*n+m)+" sent; 0 left, 0 where Flux does not look, 0 suspected, 0 faults in manifests; 2 new of 2 entries, 0 digests pinned, FILE is written\n", stderr)
	same(t, "file", "registries:\n  imageOverrides:\n  - name: FROM/os/a\n    newName: TO/m/FROM/os/a\n  - name: FROM/os/b\n    newName: TO/m/FROM/os/b\n", text(t, path, from, to))

	sent := to.sent
	from.put("os/b:1")
	from.content["/v2/os/b/manifests/1"] = manifest("os/b:moved")
	from.content["/v2/os/b/manifests/"+digestOf(manifest("os/b:moved"))] = manifest("os/b:moved")
	delete(from.content, "/v2/os/a/manifests/1")
	status, stdout, stderr = runSync(t, from, to, path, manifests, true)
	if status != 0 || to.sent != sent {
		t.Error(status, to.sent, sent)
	}
	same(t, "moved", "present        TO/m/FROM/os/a:1 "+a1+", not compared: FROM/os/a:1: not found: FROM answers 404 Not Found, MANIFEST_UNKNOWN, \"manifest unknown\"\npresent        TO/m/FROM/os/a:1@"+a2+" "+a2+"\nkept           TO/m/FROM/os/b:1 "+b+", and its source has "+digestOf(manifest("os/b:moved"))+"\n", stdout)
	if !strings.HasSuffix(stderr, "\r\x1b[K3 images: 2 present, 1 kept, 0 failed, 0 B sent; 0 left, 0 where Flux does not look, 0 suspected, 0 faults in manifests; 0 new of 2 entries, 0 digests pinned, FILE stays as it is\n") {
		t.Errorf("%q", stderr)
	}
	_, stdout, _ = runSync(t, from, to, path, manifests, false, "-follow", "-dry-run")
	if want := "to copy        TO/m/FROM/os/b:1 " + digestOf(manifest("os/b:moved")) + ", from FROM/os/b:1, in place of " + b + "\n"; !strings.HasSuffix(stdout, want) {
		t.Error(stdout)
	}
	status, stdout, _ = runSync(t, from, to, path, manifests, false, "-follow")
	if want := "copied         TO/m/FROM/os/b:1 " + digestOf(manifest("os/b:moved")); status != 0 || !strings.Contains(stdout, want) || strings.Count(stdout, "copied") != 1 {
		t.Error(status, stdout)
	}
}

// TestSyncKeepsTags: what has a digest takes no tag of the mirror from what it leads to, for pods may run that; with -follow it does.
func TestSyncKeepsTags(t *testing.T) {
	from, to := newStore(t, "", "os/a:1", "os/a:2"), newStore(t, "")
	a1, a2 := digestOf(manifest("os/a:1")), digestOf(manifest("os/a:2"))
	path, place := file(t, "values.yaml", "[]\n"), "/v2/m/"+strings.Replace(from.host, ":", "_", 1)+"/os/a/manifests/"
	runSync(t, from, to, path, pods("FROM/os/a:1"), false)
	moved := pods("FROM/os/a:1@" + a2)
	const kept = ", by its digest alone, for the tag leads to "

	status, stdout, stderr := runSync(t, from, to, path, moved, false, "-dry-run")
	if status != 0 || to.content[place+a2] != nil {
		t.Error(status, stderr)
	}
	same(t, "dry run", "to copy        TO/m/FROM/os/a:1@"+a2+" "+a2+kept+a1+", from FROM/os/a:1@"+a2+"\n", stdout)
	for _, sent := range []string{"copied         TO/m/FROM/os/a:1@" + a2 + " " + a2 + kept + a1 + ", " + size(int64(len(manifest("os/a:2")))) + " sent\n",
		"present        TO/m/FROM/os/a:1@" + a2 + " " + a2 + "\n"} {
		status, stdout, stderr = runSync(t, from, to, path, moved, false)
		if got := digestOf(to.content[place+"1"]); status != 0 || got != a1 || to.content[place+a2] == nil {
			t.Errorf("status %d, the tag leads to %s\n%s", status, got, stderr)
		}
		same(t, "moved", sent, stdout)
	}

	delete(to.content, place+a2)
	status, stdout, stderr = runSync(t, from, to, path, moved, false, "-follow")
	if got := digestOf(to.content[place+"1"]); status != 0 || got != a2 {
		t.Errorf("status %d, the tag leads to %s\n%s%s", status, got, stdout, stderr)
	}
}

// TestSyncWritesNothing: what keeps the table from being written, and from anything being sent.
func TestSyncWritesNothing(t *testing.T) {
	const none = "registries:\n  imageOverrides: []\n"
	const rebuilt = "- {name: FROM/os/a, newName: TO/m/rebuilt, newTag: \"2\"}\n- {name: FROM/os/z, newName: TO/m/z, newTag: \"9\"}\n"
	for _, test := range []struct {
		why, table, manifests string
		flags                 []string
		status                int
		sends                 bool
		want                  string // of both outputs
	}{
		{"an image that is not there", none, pods("FROM/os/a:1", "FROM/os/x:1"), nil, 1, true, "not found      FROM/os/x:1: not found: "},
		{"one that nobody can tell of", none, pods("FROM/os/a:1", "FROM/broken/x:1"), nil, 3, true, "bad reply      TO/m/FROM/broken/x:1: bad reply: "},
		{"both", none, pods("FROM/os/x:1", "FROM/broken/x:1"), nil, 1, false, "2 failed"},
		{"a mirror that is broken", none, pods("FROM/os/a:1"), []string{"-m", "TO/broken"}, 3, false, "bad reply      TO/broken/"},
		{"an image of the mirror that nobody has put there", none, pods("TO/m/y:1"), nil, 1, false, "\"manifest unknown\"; nobody has said what it is a copy of: put it there\n"},
		{"an entry that cannot be pinned", rebuilt, pods("FROM/os/b:1"), nil, 1, true, "-policy Never leaves the digests of the table as they are\n"},
		{"a table that cannot be edited", "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: c}\ndata:\n  values.yaml: |\n    registries: {imageOverrides: []}\n", pods("FROM/os/a:1"), nil, 2, false, "edit that text alone"},
		{"a digest that cannot be put in", "- &a {name: FROM/os/a, newName: TO/m/rebuilt, newTag: \"2\"}\n- {<<: *a, name: FROM/os/b}\n", pods("FROM/os/b:1"), nil, 2, false, "cannot be edited"},
		{"a policy that there is not", none, pods("FROM/os/a:1"), []string{"-policy", "Often"}, 2, false, "-policy \"Often\" is none of IfNotPresent, Always and Never\n"},
	} {
		from, to := newStore(t, "", "os/a:1", "os/b:1"), newStore(t, "")
		path := file(t, "values.yaml", strings.NewReplacer("FROM", from.host, "TO", to.host).Replace(test.table))
		for i, flag := range test.flags {
			test.flags[i] = strings.ReplaceAll(flag, "TO", to.host)
		}
		status, stdout, stderr := runSync(t, from, to, path, strings.ReplaceAll(test.manifests, "TO", to.host), false, test.flags...)
		if status != test.status || to.sent > 0 != test.sends || !strings.Contains(stdout+stderr, test.want) {
			t.Errorf("%s: status %d, %d sent\n%s%s", test.why, status, to.sent, stdout, stderr)
		}
		same(t, test.why, test.table, text(t, path, from, to))
	}
}

// TestSyncPins: digests of what the mirror has go to entries with a tag, and what nobody uses can be left alone.
func TestSyncPins(t *testing.T) {
	from, to := newStore(t, "", "os/b:1"), newStore(t, "", "m/rebuilt:2")
	path := file(t, "values.yaml", "- {name: "+from.host+"/os/a, newName: "+to.host+"/m/rebuilt, newTag: \"2\"} # ours\n")
	status, stdout, stderr := runSync(t, from, to, path, pods("FROM/os/a:1", "FROM/os/b:1"), false)
	rebuilt := digestOf(manifest("m/rebuilt:2"))
	if status != 0 || !strings.Contains(stdout, "present        TO/m/rebuilt:2 "+rebuilt+"\n") || !strings.Contains(stderr, "1 new of 2 entries, 1 digest pinned, FILE is written\n") {
		t.Error(status, stdout, stderr)
	}
	same(t, "file", "- {name: FROM/os/a, newName: TO/m/rebuilt, newTag: \"2\", digest: "+rebuilt+"} # ours\n- name: FROM/os/b\n  newName: TO/m/FROM/os/b\n", text(t, path, from, to))
}

// TestSyncOfChangedFile: a file that somebody has edited while images were copied stays as that one wrote it.
func TestSyncOfChangedFile(t *testing.T) {
	from, to := newStore(t, "", "os/a:1"), newStore(t, "")
	path := file(t, "values.yaml", "[]\n")
	to.onSend = func() {
		if err := os.WriteFile(path, []byte("[] # mine\n"), 0o640); err != nil {
			t.Error(err)
		}
	}
	status, _, stderr := runSync(t, from, to, path, pods("FROM/os/a:1"), false)
	if status != 2 || !strings.HasSuffix(stderr, "FILE: has been changed meanwhile; try again\n") || text(t, path, from, to) != "[] # mine\n" {
		t.Error(status, stderr, text(t, path, from, to))
	}
	to.onSend = nil
	if status, _, stderr := runSync(t, from, to, path, pods("FROM/os/a:1"), false); status != 0 || !strings.Contains(stderr, "1 image: 1 present, ") {
		t.Error(status, stderr)
	}
	same(t, "file", " # mine\n- name: FROM/os/a\n  newName: TO/m/FROM/os/a\n", text(t, path, from, to))
}

// TestSyncProves: what a mirror has lost, or has taken from somebody else, until all is copied keeps the table from being written.
func TestSyncProves(t *testing.T) {
	for _, test := range []struct {
		why    string
		have   []byte // what the mirror has of os/a:1 in the end; nil for nothing
		status int
		want   string
	}{
		{"lost", nil, 1, "TO/m/FROM/os/a:1: not found: TO answers 404 Not Found, MANIFEST_UNKNOWN, \"manifest unknown\"\n"},
		{"something else", manifest("other"), 3, "TO/m/FROM/os/a:1: the mirror has " + digestOf(manifest("other")) + ", where " + digestOf(manifest("os/a:1")) + " was copied\n"},
	} {
		from, to := newStore(t, "", "os/a:1", "os/b:1"), newStore(t, "")
		place := "/v2/m/" + strings.Replace(from.host, ":", "_", 1) + "/os/"
		to.onSend = func() {
			if to.content[place+"a/manifests/1"] == nil {
				return
			}
			delete(to.content, place+"a/manifests/1") // while b is copied
			if test.have != nil {
				to.content[place+"a/manifests/1"] = test.have
			}
		}
		path := file(t, "values.yaml", "[]\n")
		status, _, stderr := runSync(t, from, to, path, pods("FROM/os/a:1", "FROM/os/b:1"), false)
		if status != test.status || !strings.Contains(stderr, "2 images: 2 copied, ") || !strings.Contains(stderr, test.want) || !strings.HasSuffix(stderr, "FILE is not written\n") {
			t.Errorf("%s: status %d, %s", test.why, status, stderr)
		}
		same(t, test.why, "[]\n", text(t, path, from, to))
	}
}

// TestSyncWithoutSource: the mirror is proof enough where a source cannot be reached, and that is asked for one image only.
func TestSyncWithoutSource(t *testing.T) {
	dead, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer dead.Close()
	var asked atomic.Int32
	go func() {
		for {
			c, err := dead.Accept()
			if err != nil {
				return
			}
			asked.Add(1)
			c.Close()
		}
	}()
	from := &store{host: dead.Addr().String()}
	place := "m/" + strings.Replace(from.host, ":", "_", 1) + "/os/"
	to := newStore(t, "", place+"a:1", place+"b:1", place+"c:1")
	path := file(t, "values.yaml", "[]\n")
	status, stdout, stderr := runSync(t, from, to, path, pods("FROM/os/a:1", "FROM/os/b:1", "FROM/os/c:1"), false)
	if status != 0 || asked.Load() != 1 || !strings.HasSuffix(stderr, "3 new of 3 entries, 0 digests pinned, FILE is written\n") {
		t.Errorf("status %d, asked %d times\n%s", status, asked.Load(), stderr)
	}
	for _, image := range []string{"a", "b", "c"} {
		if want := "present        TO/m/FROM/os/" + image + ":1 " + digestOf(manifest(place+image+":1")) + ", not compared: FROM/os/" + image + ":1: unreachable: "; !strings.Contains(stdout, want) {
			t.Errorf("no %s in\n%s", want, stdout)
		}
	}
}

// TestPlanPairs: what plan writes for copy leaves sync nothing to send.
func TestPlanPairs(t *testing.T) {
	from, to := newStore(t, "", "os/a:1", "os/a:2", "os/b:latest"), newStore(t, "")
	manifests := strings.ReplaceAll(pods("FROM/os/a:1", "FROM/os/a:1@"+digestOf(manifest("os/a:2")), "FROM/os/a@"+digestOf(manifest("os/a:2")), "FROM/os/b"), "FROM", from.host)
	status, pairs, stderr := command(t, manifests, false, "plan", "-m", to.host+"/m", "-o", "pairs", "-")
	if status != 0 || strings.Count(pairs, "\n") != 3 {
		t.Fatalf("status %d, %s%s", status, pairs, stderr)
	}
	if status, stdout, stderr := command(t, pairs, false, "copy", "-plain-http", from.host, "-plain-http", to.host, "-pairs", "-"); status != 0 {
		t.Fatalf("status %d, %s%s", status, stdout, stderr)
	}
	sent := to.sent
	status, stdout, stderr := runSync(t, from, to, file(t, "values.yaml", "[]\n"), manifests, false)
	if status != 0 || to.sent != sent || strings.Count(stdout, "present ") != 4 || strings.Contains(stdout, "kept") {
		t.Errorf("status %d, %d sent, %s%s", status, to.sent-sent, stdout, stderr)
	}
}
