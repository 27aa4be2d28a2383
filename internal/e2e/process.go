// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"os"
	"os/exec"
	"runtime"
	"strings"
	"sync"
	"syscall"
	"time"
)

// graceful is how long a process has to end by itself.
const graceful = 15 * time.Second

// A process is a program that runs, in a process group of its own, with its output in a file.
type process struct {
	name string
	log  string // path of its output
	cmd  *exec.Cmd

	done chan struct{} // closed when it has ended
	err  error         // how it ended; read it after done
}

// run starts a program. What it writes is added to the file log, so that a program that is started
// again has all of it in one place.
func run(name, log string, env []string, path string, args ...string) (*process, error) {
	out, err := os.OpenFile(log, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return nil, err
	}
	defer out.Close()

	p := &process{name: name, log: log, cmd: exec.Command(path, args...), done: make(chan struct{})}
	p.cmd.Env = append(os.Environ(), env...)
	p.cmd.Stdout, p.cmd.Stderr = out, out
	if err := start(p.cmd); err != nil {
		return nil, err
	}
	go func() {
		p.err = p.cmd.Wait()
		signalGroup(p.cmd, syscall.SIGKILL) // its children, if there are any
		close(p.done)
	}()
	return p, nil
}

var starter = sync.OnceValue(func() chan<- func() {
	work := make(chan func())
	go func() {
		runtime.LockOSThread()
		for f := range work {
			f()
		}
	}()
	return work
})

// start starts a command on a thread that lives as long as the test, since Linux kills a child
// when the thread that started it ends (see attributes).
func start(cmd *exec.Cmd) error {
	cmd.SysProcAttr = attributes()
	err := make(chan error)
	starter() <- func() { err <- cmd.Start() }
	return <-err
}

// stop ends a process and all that it started. It returns when they have ended.
func (p *process) stop() { p.end(syscall.SIGTERM) }

// kill does not ask.
func (p *process) kill() { p.end(syscall.SIGKILL) }

func (p *process) end(sig syscall.Signal) {
	if p.exited() == nil {
		signalGroup(p.cmd, sig)
	}
	select {
	case <-p.done:
	case <-time.After(graceful):
		signalGroup(p.cmd, syscall.SIGKILL)
		<-p.done
	}
}

// signalGroup sends a signal to the process group of a command.
func signalGroup(cmd *exec.Cmd, sig syscall.Signal) error {
	return syscall.Kill(-cmd.Process.Pid, sig)
}

// exited returns nil while the process runs, and then how it ended.
func (p *process) exited() error {
	select {
	case <-p.done:
		if p.err != nil {
			return fmt.Errorf("%s ended: %w\n%s", p.name, p.err, p.tail(20, ""))
		}
		return fmt.Errorf("%s ended", p.name)
	default:
		return nil
	}
}

// tail returns the last lines of the log that contain a text, or the last ones of all.
func (p *process) tail(lines int, containing string) string {
	data, err := os.ReadFile(p.log)
	if err != nil {
		return err.Error()
	}
	var found []string
	for line := range strings.SplitSeq(strings.TrimSpace(string(data)), "\n") {
		if strings.Contains(line, containing) {
			found = append(found, line[:min(len(line), 600)]) // a stack of helm-controller has 10,000
		}
	}
	found = found[max(0, len(found)-lines):]
	return fmt.Sprintf("--- the last %d lines of %s\n%s", len(found), p.name, strings.Join(found, "\n"))
}

// freePort returns a port of loopback that nobody listens on. It lies below those that Linux gives
// to outgoing connections, so that none of them takes it before its process does.
func freePort() (int, error) {
	for range 1000 {
		port := 20000 + rand.IntN(12000)
		if l, err := net.Listen("tcp", fmt.Sprintf("127.0.0.1:%d", port)); err == nil {
			return port, l.Close()
		}
	}
	return 0, errors.New("no free port on 127.0.0.1")
}
