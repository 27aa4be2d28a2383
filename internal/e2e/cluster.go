// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	helmv2 "github.com/fluxcd/helm-controller/api/v2"
	sourcev1 "github.com/fluxcd/source-controller/api/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/wait"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// timeout is for things that take seconds, on a machine that has much else to do.
const timeout = 3 * time.Minute

// A cluster is an API server with Flux's helm-controller. All tests share one, each in namespaces
// of its own.
type cluster struct {
	client client.Client // as an administrator
	config *rest.Config  // the same, for other clients
	dir    string        // temporary; logs, kubeconfigs, data

	etcd      *process
	etcdURL   string
	apiserver *process
	flux      *flux
	charts    *charts
}

var (
	// running is done when the tests end or are interrupted.
	running, stopRunning = context.WithCancel(context.Background())
	atEnd                closer
)

// end stops everything, and returns when it has stopped.
func end() {
	stopRunning()
	atEnd.close()
}

// The cluster that all tests share is started by the first that asks for it.
var shared = sync.OnceValues(func() (*cluster, error) { return newCluster(running) })

// useCluster returns the cluster that all tests share.
func useCluster(t testing.TB) *cluster {
	t.Helper()
	if testing.Short() {
		t.Skip("starts a real API server and a real Flux: not with -short")
	}
	c, err := shared()
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func newCluster(ctx context.Context) (*cluster, error) {
	began := time.Now()
	c := &cluster{}
	for _, step := range []func(context.Context) error{
		c.makeDir, c.startEtcd, c.startAPIServer, c.installCRDs, c.startCharts, c.startFlux,
	} {
		if err := step(ctx); err != nil {
			return nil, err
		}
	}
	say("Flux is ready, %s after the beginning", time.Since(began).Round(time.Second))
	return c, nil
}

// prefix is how the temporary folders are named.
const prefix = "image-overrides-e2e-"

// makeDir makes the temporary folder, and removes those of runs that were killed.
func (c *cluster) makeDir(context.Context) error {
	old, err := filepath.Glob(filepath.Join(os.TempDir(), prefix+"*"))
	if err != nil {
		return err
	}
	for _, dir := range old {
		if lock, err := lockDir(dir); err == nil {
			os.RemoveAll(dir)
			lock.Close()
		}
	}
	if c.dir, err = os.MkdirTemp("", prefix); err != nil {
		return err
	}
	atEnd.add(func() { os.RemoveAll(c.dir) })
	lock, err := lockDir(c.dir)
	if err != nil {
		return err
	}
	atEnd.add(func() { lock.Close() })
	return nil
}

// lockDir says that a folder is in use, until the file is closed or the test is gone.
func lockDir(dir string) (*os.File, error) {
	f, err := os.Open(dir)
	if err != nil {
		return nil, err
	}
	if err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB); err != nil {
		f.Close()
		return nil, err
	}
	return f, nil
}

// start runs a program until the end of the tests, with its log in the cluster's folder.
func (c *cluster) start(name string, env []string, path string, args ...string) (*process, error) {
	p, err := run(name, filepath.Join(c.dir, name+".log"), env, path, args...)
	if err != nil {
		return nil, err
	}
	atEnd.add(p.stop)
	return p, nil
}

func scheme() (*runtime.Scheme, error) {
	s := runtime.NewScheme()
	return s, errors.Join(clientgoscheme.AddToScheme(s), helmv2.AddToScheme(s), sourcev1.AddToScheme(s))
}

// namespace makes a namespace for a test. When the test fails, the test's log ends with what
// helm-controller wrote about that namespace.
func (c *cluster) namespace(t testing.TB) string {
	t.Helper()
	name := strings.Map(func(r rune) rune {
		if r >= 'a' && r <= 'z' || r >= '0' && r <= '9' {
			return r
		}
		return '-'
	}, strings.ToLower(t.Name()))
	ns := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{GenerateName: name[:min(len(name), 40)] + "-"}}
	if err := c.client.Create(t.Context(), ns); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if t.Failed() && c.flux.process != nil {
			t.Log(c.flux.tail(20, ns.Name))
		}
	})
	return ns.Name
}

// eventually waits until f returns nil. The test ends with f's last error if that takes longer than
// timeout, or if a program of the cluster has ended.
func (c *cluster) eventually(t testing.TB, what string, timeout time.Duration, f func() error) {
	t.Helper()
	if err := poll(t.Context(), what, timeout, f, c.etcd, c.apiserver, c.flux.process); err != nil {
		t.Fatal(err)
	}
}

// poll waits until f returns nil. It gives up when a process that f needs has ended.
func poll(ctx context.Context, what string, timeout time.Duration, f func() error, needed ...*process) error {
	var last error
	err := wait.PollUntilContextTimeout(ctx, 100*time.Millisecond, timeout, true, func(context.Context) (bool, error) {
		for _, p := range needed {
			if p == nil {
				continue
			}
			if err := p.exited(); err != nil {
				return false, err
			}
		}
		last = f()
		return last == nil, nil
	})
	if wait.Interrupted(err) {
		return fmt.Errorf("%s: not within %s: %w", what, timeout, errors.Join(last, ctx.Err()))
	}
	if err != nil {
		return fmt.Errorf("%s: %w", what, err)
	}
	return nil
}
