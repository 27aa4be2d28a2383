// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"context"
	"fmt"
	"net/http"
	"path/filepath"
)

// startEtcd starts etcd, for this run alone.
func (c *cluster) startEtcd(ctx context.Context) error {
	path, err := etcdProgram.build(ctx)
	if err != nil {
		return err
	}
	clients, err := loopbackURL()
	if err != nil {
		return err
	}
	peers, err := loopbackURL()
	if err != nil {
		return err
	}
	c.etcd, err = c.start("etcd", nil, path,
		"--name=e2e",
		"--data-dir="+filepath.Join(c.dir, "etcd"),
		"--listen-client-urls="+clients,
		"--advertise-client-urls="+clients,
		"--listen-peer-urls="+peers,
		"--initial-advertise-peer-urls="+peers,
		"--initial-cluster=e2e="+peers,
		"--unsafe-no-fsync", // nothing of this is to survive
		"--log-level=warn",
	)
	if err != nil {
		return err
	}
	c.etcdURL = clients
	return poll(ctx, "etcd is ready", timeout, func() error {
		r, err := http.Get(clients + "/readyz")
		if err != nil {
			return err
		}
		defer r.Body.Close()
		if r.StatusCode != http.StatusOK {
			return fmt.Errorf("readyz: %s", r.Status)
		}
		return nil
	}, c.etcd)
}

// loopbackURL returns the URL of a port that nobody listens on.
func loopbackURL() (string, error) {
	port, err := freePort()
	return fmt.Sprintf("http://127.0.0.1:%d", port), err
}
