// SPDX-License-Identifier: Apache-2.0

//go:build unix

package main

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// An owner is what a replaced file keeps.
type owner struct {
	UID, GID uint32
	Mode     os.FileMode
}

func ownerOf(t *testing.T, name string) owner {
	t.Helper()
	info := stat(t, name)
	sys := info.Sys().(*syscall.Stat_t)
	return owner{sys.Uid, sys.Gid, info.Mode()}
}

// A file keeps its mode with all bits, and its owner and group also where root writes it.
func TestReplaceKeeps(t *testing.T) {
	t.Chdir(t.TempDir())
	write(t, "t", one)
	files := map[string]owner{"plain": {Mode: 0o640}, "setgid": {Mode: 0o2755}, "sticky": {Mode: 0o1600}, "setuid": {Mode: 0o4711}, "all": {Mode: 0o7777}}
	for name, o := range files {
		write(t, name, pod)
		o.UID, o.GID = uint32(os.Geteuid()), uint32(os.Getegid())
		if os.Geteuid() == 0 {
			if o.GID = 54321; name != "plain" { // of which the group alone is another
				o.UID = 12345
			}
			if err := os.Chown(name, int(o.UID), int(o.GID)); err != nil {
				t.Fatal(err)
			}
		}
		if err := syscall.Chmod(name, uint32(o.Mode)); err != nil {
			t.Fatal(err)
		}
		before := ownerOf(t, name)
		if before.UID != o.UID || before.GID != o.GID {
			t.Fatalf("%s: %+v", name, before)
		}
		var stdout, stderr bytes.Buffer
		if status := run([]string{"rewrite", "-t", "t", "-w", name}, nil, &stdout, &stderr); status != 0 {
			t.Errorf("%s: status %d, %s", name, status, &stderr)
		}
		same(t, name, read(t, name), podAfter)
		if diff := cmp.Diff(before, ownerOf(t, name)); diff != "" {
			t.Errorf("%s: %s", name, diff)
		}
	}
}

// Where a new file cannot be given the owner, the file stays, and it is said.
func TestReplaceCannot(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("only root can make files of others, and run as another")
	}
	dir := t.TempDir()
	t.Chdir(dir)
	for d := dir; len(d) > len(os.TempDir()); d = filepath.Dir(d) { // so that the other can come here
		if err := os.Chmod(d, 0o777); err != nil {
			t.Fatal(err)
		}
	}
	write(t, "t", one)
	write(t, "a", pod)
	if err := errors.Join(os.Chmod("a", 0o666), os.Chown("a", 12345, 54321)); err != nil {
		t.Fatal(err)
	}
	before := ownerOf(t, "a")
	cmd := exec.Command(program(t), "rewrite", "-t", "t", "-w", "a")
	cmd.Env = append(os.Environ(), "IMAGEOVERRIDES_MAIN=1")
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: 23456, Gid: 23456}}
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	var exit *exec.ExitError
	if err := cmd.Run(); !errors.As(err, &exit) || exit.ExitCode() != 1 {
		t.Errorf("%v", err)
	}
	same(t, "standard error", stderr.String(), fmt.Sprintf("a: the new file cannot have owner %d and group %d: operation not permitted; rewrite it to standard output\n", 12345, 54321))
	same(t, "a", read(t, "a"), pod)
	if diff := cmp.Diff(before, ownerOf(t, "a")); diff != "" {
		t.Error(diff)
	}
	if entries, err := os.ReadDir("."); err != nil || len(entries) != 3 { // the program among them
		t.Errorf("the folder holds %v, %v", entries, err)
	}
}

// program copies the test's program to where another user can run it.
func program(t *testing.T) string {
	t.Helper()
	name, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	from, err := os.Open(name)
	if err != nil {
		t.Fatal(err)
	}
	defer from.Close()
	to, err := os.OpenFile("program", os.O_CREATE|os.O_WRONLY, 0o755)
	if err != nil {
		t.Fatal(err)
	}
	_, err = io.Copy(to, from)
	if err := errors.Join(err, to.Close(), os.Chmod("program", 0o755)); err != nil {
		t.Fatal(err)
	}
	return "./program"
}
