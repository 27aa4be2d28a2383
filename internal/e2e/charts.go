// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"context"
	"crypto/sha256"
	"fmt"
	"io/fs"
	"net"
	"net/http"
	"path"
	"sync"
	"testing"
	"time"

	"github.com/fluxcd/pkg/apis/meta"
	sourcev1 "github.com/fluxcd/source-controller/api/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// charts serves Helm charts over HTTP on loopback, as source-controller does in a cluster.
type charts struct {
	url string

	mu       sync.Mutex
	archives map[string][]byte // by path
}

// startCharts starts the server of charts, which has none yet.
func (c *cluster) startCharts(context.Context) error {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	c.charts = &charts{url: "http://" + l.Addr().String(), archives: map[string][]byte{}}
	server := &http.Server{Handler: c.charts}
	go server.Serve(l)
	atEnd.add(func() { server.Close() })
	return nil
}

func (c *charts) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	c.mu.Lock()
	archive, ok := c.archives[r.URL.Path]
	c.mu.Unlock()
	if !ok {
		http.NotFound(w, r)
		return
	}
	w.Write(archive)
}

// publish serves an archive, and returns how Flux describes it.
func (c *charts) publish(archive []byte) *meta.Artifact {
	digest := fmt.Sprintf("%x", sha256.Sum256(archive))
	file := "/" + digest + ".tgz"
	c.mu.Lock()
	defer c.mu.Unlock()
	c.archives[file] = archive
	size := int64(len(archive))
	return &meta.Artifact{
		Path:           file[1:],
		URL:            c.url + file,
		Revision:       "sha256:" + digest,
		Digest:         "sha256:" + digest,
		Size:           &size,
		LastUpdateTime: metav1.Now(),
	}
}

// publish serves the chart in a folder and makes the OCIRepository name for it, with the status that
// source-controller would give it. A release takes the chart with spec.chartRef.
func (c *cluster) publish(t testing.TB, namespace, name string, chart fs.FS) {
	t.Helper()
	repository := &sourcev1.OCIRepository{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name},
		Spec: sourcev1.OCIRepositorySpec{
			URL:      "oci://charts.invalid/" + name,
			Interval: metav1.Duration{Duration: time.Hour},
		},
	}
	if err := c.client.Create(t.Context(), repository); err != nil {
		t.Fatal(err)
	}
	c.serve(t, repository, chart)
}

// republish serves another chart in place of one that was published.
func (c *cluster) republish(t testing.TB, namespace, name string, chart fs.FS) {
	t.Helper()
	repository := &sourcev1.OCIRepository{}
	if err := c.client.Get(t.Context(), client.ObjectKey{Namespace: namespace, Name: name}, repository); err != nil {
		t.Fatal(err)
	}
	c.serve(t, repository, chart)
}

// serve serves a chart as the one of an OCIRepository.
func (c *cluster) serve(t testing.TB, repository *sourcev1.OCIRepository, chart fs.FS) {
	t.Helper()
	archive, err := pack(repository.Name, chart)
	if err != nil {
		t.Fatal(err)
	}
	repository.Status = sourcev1.OCIRepositoryStatus{
		ObservedGeneration: repository.Generation,
		Artifact:           c.charts.publish(archive),
		Conditions: []metav1.Condition{{
			Type:               meta.ReadyCondition,
			Status:             metav1.ConditionTrue,
			Reason:             meta.SucceededReason,
			ObservedGeneration: repository.Generation,
			LastTransitionTime: metav1.Now(),
		}},
	}
	if err := c.client.Status().Update(t.Context(), repository); err != nil {
		t.Fatal(err)
	}
}

// pack makes a chart's archive of its folder.
func pack(name string, chart fs.FS) ([]byte, error) {
	var out bytes.Buffer
	zipped := gzip.NewWriter(&out)
	archive := tar.NewWriter(zipped)
	err := fs.WalkDir(chart, ".", func(file string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		data, err := fs.ReadFile(chart, file)
		if err != nil {
			return err
		}
		header := &tar.Header{Name: path.Join(name, file), Mode: 0o644, Size: int64(len(data))}
		if err := archive.WriteHeader(header); err != nil {
			return err
		}
		_, err = archive.Write(data)
		return err
	})
	if err != nil {
		return nil, err
	}
	if err := archive.Close(); err != nil {
		return nil, err
	}
	if err := zipped.Close(); err != nil {
		return nil, err
	}
	return out.Bytes(), nil
}
