// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"context"
	"crypto/rand"
	"crypto/rsa"
	"crypto/x509"
	"encoding/pem"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/go-logr/logr"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	"k8s.io/client-go/tools/clientcmd/api"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/envtest"
	"sigs.k8s.io/controller-runtime/pkg/log"
)

// A user is somebody whom the API server knows by a token.
type user struct{ name, group string }

var (
	admin          = user{"admin", "system:masters"}
	helmController = user{"helm-controller", "system:masters"}
)

// tokens has a token for each user, for this run.
var tokens = map[user]string{admin: rand.Text(), helmController: rand.Text()}

// startAPIServer starts kube-apiserver and makes the administrator's client.
func (c *cluster) startAPIServer(ctx context.Context) error {
	path, err := apiserverProgram.build(ctx)
	if err != nil {
		return err
	}
	port, err := freePort()
	if err != nil {
		return err
	}
	var users strings.Builder
	for u, token := range tokens {
		fmt.Fprintf(&users, "%s,%s,%s,%q\n", token, u.name, u.name, u.group)
	}
	tokenFile, err := c.write("tokens.csv", []byte(users.String()))
	if err != nil {
		return err
	}
	key, err := rsa.GenerateKey(rand.Reader, 2048)
	if err != nil {
		return err
	}
	keyFile, err := c.write("service-account.pem", pem.EncodeToMemory(&pem.Block{
		Type: "RSA PRIVATE KEY", Bytes: x509.MarshalPKCS1PrivateKey(key),
	}))
	if err != nil {
		return err
	}
	certs := filepath.Join(c.dir, "apiserver")

	c.apiserver, err = c.start("kube-apiserver", nil, path,
		"--etcd-servers="+c.etcdURL,
		"--bind-address=127.0.0.1",
		"--advertise-address=127.0.0.1",
		fmt.Sprintf("--secure-port=%d", port),
		"--cert-dir="+certs, // it makes the certificate itself
		"--token-auth-file="+tokenFile,
		"--authorization-mode=RBAC",
		"--service-account-issuer=https://kubernetes.default.svc",
		"--service-account-key-file="+keyFile,
		"--service-account-signing-key-file="+keyFile,
		// Nobody makes the default service accounts that it asks for.
		"--disable-admission-plugins=ServiceAccount",
		"--service-cluster-ip-range=10.0.0.0/24",
		// The service of the API server itself would need an address that is not of loopback.
		"--endpoint-reconciler-type=none",
		"--allow-privileged",
	)
	if err != nil {
		return err
	}
	c.config = &rest.Config{
		Host:            fmt.Sprintf("https://127.0.0.1:%d", port),
		BearerToken:     tokens[admin],
		TLSClientConfig: rest.TLSClientConfig{CAFile: filepath.Join(certs, "apiserver.crt")},
		QPS:             -1, // not throttled
	}
	err = poll(ctx, "kube-apiserver is ready", timeout, func() error {
		d, err := discovery.NewDiscoveryClientForConfig(c.config)
		if err != nil {
			return err
		}
		return d.RESTClient().Get().AbsPath("/readyz").Do(ctx).Error()
	}, c.etcd, c.apiserver)
	if err != nil {
		return err
	}
	s, err := scheme()
	if err != nil {
		return err
	}
	c.client, err = client.New(c.config, client.Options{Scheme: s})
	return err
}

// kubeconfigOf writes a kubeconfig for somebody who has a token, and returns its path.
func (c *cluster) kubeconfigOf(name, token string) (string, error) {
	config := api.NewConfig()
	config.Clusters["e2e"] = &api.Cluster{Server: c.config.Host, CertificateAuthority: c.config.CAFile}
	config.AuthInfos[name] = &api.AuthInfo{Token: token}
	config.Contexts["e2e"] = &api.Context{Cluster: "e2e", AuthInfo: name}
	config.CurrentContext = "e2e"
	path := filepath.Join(c.dir, name+".kubeconfig")
	return path, clientcmd.WriteToFile(*config, path)
}

// installCRDs installs Flux's CRDs out of the controllers' modules, and returns when they are
// served.
func (c *cluster) installCRDs(ctx context.Context) error {
	helm, err := moduleFolder(ctx, "build/flux", "github.com/fluxcd/helm-controller")
	if err != nil {
		return err
	}
	source, err := moduleFolder(ctx, "build/source", "github.com/fluxcd/source-controller")
	if err != nil {
		return err
	}
	log.SetLogger(logr.Discard()) // envtest's
	_, err = envtest.InstallCRDs(c.config, envtest.CRDInstallOptions{
		Paths:              []string{filepath.Join(helm, "config/crd/bases"), filepath.Join(source, "config/crd/bases")},
		ErrorIfPathMissing: true,
		MaxTime:            timeout,
	})
	return err
}

// write writes a file into the cluster's folder, and returns its path.
func (c *cluster) write(name string, data []byte) (string, error) {
	path := filepath.Join(c.dir, name)
	return path, os.WriteFile(path, data, 0o600)
}
