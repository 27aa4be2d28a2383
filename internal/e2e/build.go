// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"time"
)

// bin is where the programs are kept from one run to the next, for Go to see that they are up to
// date.
const bin = ".bin"

// A program is a main package, built in the folder of the module that pins its version.
type program struct {
	name    string
	folder  string
	pkg     string
	ldflags string
}

var (
	etcdProgram = program{name: "etcd", folder: "build/kubernetes", pkg: "go.etcd.io/etcd/server/v3"}

	apiserverProgram = program{
		name: "kube-apiserver", folder: "build/kubernetes", pkg: "k8s.io/kubernetes/cmd/kube-apiserver",
		// Without it, the server says v0.0.0 to Helm.
		ldflags: "-X k8s.io/component-base/version.gitVersion=v1.35.0",
	}

	fluxProgram = program{name: "helm-controller", folder: "build/flux", pkg: "github.com/fluxcd/helm-controller"}
)

// build builds a program, says what it does on standard error, and returns the program's path.
func (p program) build(ctx context.Context) (string, error) {
	path, err := filepath.Abs(filepath.Join(bin, p.name))
	if err != nil {
		return "", err
	}
	if _, err := os.Stat(path); err == nil {
		say("building %s, which is there already", p.name)
	} else {
		say("building %s, which takes minutes the first time", p.name)
	}
	began := time.Now()
	var out progress
	cmd := goCommand(ctx, p.folder, "build", "-v", "-o", path, "-ldflags", "-s -w "+p.ldflags, p.pkg)
	cmd.Stdout, cmd.Stderr = &out, &out
	if err := start(cmd); err != nil {
		return "", fmt.Errorf("go build %s: %w", p.pkg, err)
	}
	ticker := time.NewTicker(15 * time.Second)
	defer ticker.Stop()
	done := make(chan error, 1)
	go func() { done <- cmd.Wait() }()
	for {
		select {
		case <-ticker.C:
			say("  %s after %s: %s", p.name, time.Since(began).Round(time.Second), out.last())
		case err := <-done:
			if err != nil {
				return "", fmt.Errorf("go build %s: %w\n%s", p.pkg, err, out.tail(30))
			}
			say("built %s in %s", p.name, time.Since(began).Round(100*time.Millisecond))
			return path, nil
		}
	}
}

// moduleFolder returns the folder of a module that the module in folder requires.
func moduleFolder(ctx context.Context, folder, module string) (string, error) {
	cmd := goCommand(ctx, folder, "mod", "download", "-json", module)
	var out, errs bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &errs
	if err := start(cmd); err != nil {
		return "", err
	}
	err := cmd.Wait()
	var m struct{ Dir, Error string }
	if jsonErr := json.Unmarshal(out.Bytes(), &m); err != nil || jsonErr != nil {
		return "", fmt.Errorf("go mod download %s: %w: %s%s", module, errors.Join(err, jsonErr), m.Error, errs.String())
	}
	return m.Dir, nil
}

// goCommand returns a go command that runs in a module's folder. It is interrupted together with its
// compilers when ctx is done, so that go can remove what it has begun.
func goCommand(ctx context.Context, folder string, args ...string) *exec.Cmd {
	cmd := exec.CommandContext(ctx, "go", args...)
	cmd.Dir = folder
	cmd.Env = append(os.Environ(), "GOWORK=off")
	cmd.Cancel = func() error { return signalGroup(cmd, syscall.SIGINT) }
	cmd.WaitDelay = graceful
	return cmd
}

// say writes a line for whoever waits.
func say(format string, args ...any) {
	fmt.Fprintf(os.Stderr, "e2e: "+format+"\n", args...)
}

// progress keeps what go build -v writes: a line for each package that it compiles and for each
// module that it downloads.
type progress struct {
	mu  sync.Mutex
	out bytes.Buffer
}

func (p *progress) Write(b []byte) (int, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.out.Write(b)
}

func (p *progress) lines() []string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return strings.FieldsFunc(p.out.String(), func(r rune) bool { return r == '\n' })
}

// last says how far it is. The main package comes last and stays for as long as the linker works.
func (p *progress) last() string {
	lines := p.lines()
	if len(lines) == 0 {
		return "looking for what has changed"
	}
	return fmt.Sprintf("step %d, %s", len(lines), lines[len(lines)-1])
}

func (p *progress) tail(n int) string {
	lines := p.lines()
	return strings.Join(lines[max(0, len(lines)-n):], "\n")
}
