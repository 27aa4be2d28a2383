// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"testing"
)

// flux is Flux's helm-controller.
type flux struct {
	*process
	cluster  *cluster
	name     string
	path     string // of the program
	selector string // of the releases that are its own
	metrics  string // URL
}

// shard is the label of the releases that belong to another helm-controller than that of all tests.
const shard = "sharding.fluxcd.io/key"

// startFlux builds and starts helm-controller.
func (c *cluster) startFlux(ctx context.Context) error {
	path, err := fluxProgram.build(ctx)
	if err != nil {
		return err
	}
	c.flux = &flux{cluster: c, name: "helm-controller", path: path, selector: "!" + shard}
	return c.flux.start(ctx)
}

// startShard starts one more helm-controller, for the releases of a shard.
func (c *cluster) startShard(t testing.TB, key string) *flux {
	t.Helper()
	f := &flux{cluster: c, name: "helm-controller-" + key, path: c.flux.path, selector: shard + "=" + key}
	if err := f.start(t.Context()); err != nil {
		t.Fatal(err)
	}
	return f
}

func (f *flux) start(ctx context.Context) error {
	kubeconfig, err := f.cluster.kubeconfigOf(f.name, tokens[helmController])
	if err != nil {
		return err
	}
	metrics, err := freePort()
	if err != nil {
		return err
	}
	health, err := freePort()
	if err != nil {
		return err
	}
	f.process, err = f.cluster.start(f.name,
		[]string{"KUBECONFIG=" + kubeconfig, "RUNTIME_NAMESPACE=default"}, f.path,
		"--watch-all-namespaces",
		"--watch-label-selector="+f.selector,
		"--events-addr=",
		fmt.Sprintf("--metrics-addr=127.0.0.1:%d", metrics),
		fmt.Sprintf("--health-addr=127.0.0.1:%d", health),
		"--concurrent=8",
		"--graceful-shutdown-timeout=10s",
	)
	if err != nil {
		return err
	}
	f.metrics = fmt.Sprintf("http://127.0.0.1:%d/metrics", metrics)
	return poll(ctx, "helm-controller is ready", timeout, func() error {
		r, err := http.Get(fmt.Sprintf("http://127.0.0.1:%d/readyz", health))
		if err != nil {
			return err
		}
		defer r.Body.Close()
		if r.StatusCode != http.StatusOK {
			return errors.New(r.Status)
		}
		return nil
	}, f.cluster.etcd, f.cluster.apiserver, f.process)
}

// Stop stops helm-controller, for a test that wants to see what others do; the end of the test
// starts it again, if nobody has done so before.
func (f *flux) Stop(t testing.TB) {
	t.Helper()
	f.process.stop()
	f.process = nil
	t.Cleanup(func() {
		if f.process == nil {
			// The test's own context is done by now.
			if err := f.start(running); err != nil {
				t.Error(err)
			}
		}
	})
}

// Start starts helm-controller after Stop.
func (f *flux) Start(t testing.TB) {
	t.Helper()
	if err := f.start(t.Context()); err != nil {
		t.Fatal(err)
	}
}
