// SPDX-License-Identifier: Apache-2.0

// Operator keeps Flux HelmReleases in step with a platform's table of image overrides.
package main

import (
	"flag"
	"fmt"
	"os"
	"strings"

	helmv2 "github.com/fluxcd/helm-controller/api/v2"
	"go.uber.org/zap/zapcore"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/healthz"
	"sigs.k8s.io/controller-runtime/pkg/log/zap"
	"sigs.k8s.io/controller-runtime/pkg/metrics"
	metricsserver "sigs.k8s.io/controller-runtime/pkg/metrics/server"

	"github.com/cozystack/image-overrides/examples/operator/overrides"
)

func main() {
	if err := run(); err != nil {
		fmt.Fprintln(os.Stderr, "operator:", err)
		os.Exit(1)
	}
}

func run() error {
	secret := flag.String("secret", overrides.DefaultSecret.String(), "namespace/name of the Secret with the table")
	selector := flag.String("selector", "", "labels of the HelmReleases to keep in step; all without it")
	concurrent := flag.Int("concurrent", 4, "how many releases are worked on at a time")
	qps := flag.Float64("qps", 50, "requests to the API server per second, with bursts of twice as many")
	elect := flag.Bool("leader-elect", true, "have one of several replicas work")
	namespace := flag.String("leader-elect-namespace", "", "where the Lease is kept; the operator's own without it")
	metricsAddress := flag.String("metrics-bind-address", ":8080", "where metrics are served; 0 for nowhere")
	healthAddress := flag.String("health-probe-bind-address", ":8081", "where /healthz and /readyz are served; 0 for nowhere")
	var checking checking
	checking.flags(flag.CommandLine)
	logging := zap.Options{StacktraceLevel: zapcore.PanicLevel} // a broken table is not the program's fault
	logging.BindFlags(flag.CommandLine)
	flag.Parse()
	ctrl.SetLogger(zap.New(zap.UseFlagOptions(&logging)))

	key, err := keyOf(*secret)
	if err != nil {
		return err
	}
	chosen, err := labels.Parse(*selector)
	if err != nil {
		return fmt.Errorf("--selector %q: %w", *selector, err)
	}
	check, err := checking.check()
	if err != nil {
		return err
	}
	if checking.credentials != "" {
		keyring, err := readKeyring(checking.credentials)
		if err != nil {
			ctrl.Log.Error(err, "without the credentials nothing is learned of images, until they can be read")
		}
		ctrl.Log.Info("credentials for registries", "file", checking.credentials, "credentials", keyring.Len(), "notes", keyring.Notes())
	}
	name := overrides.Name(key, chosen)
	ctrl.Log.Info("the Lease and the owner of the fields have a name of this Secret and selector", "name", name)
	config, err := ctrl.GetConfig()
	if err != nil {
		return err
	}
	config.QPS, config.Burst = float32(*qps), int(2**qps)

	scheme := runtime.NewScheme()
	if err := corev1.AddToScheme(scheme); err != nil {
		return err
	}
	if err := helmv2.AddToScheme(scheme); err != nil {
		return err
	}
	m, err := ctrl.NewManager(config, ctrl.Options{
		Scheme: scheme,
		// Of the cluster's Secrets, the one; of its releases, the chosen ones.
		Cache: cache.Options{
			DefaultTransform: cache.TransformStripManagedFields(),
			ByObject: map[client.Object]cache.ByObject{
				&corev1.Secret{}: {
					Namespaces: map[string]cache.Config{key.Namespace: {}},
					Field:      fields.OneTermEqualSelector("metadata.name", key.Name),
				},
				&helmv2.HelmRelease{}: {Label: chosen},
			},
		},
		LeaderElection:                *elect,
		LeaderElectionID:              name,
		LeaderElectionNamespace:       *namespace,
		LeaderElectionReleaseOnCancel: true, // the process ends with the manager
		Metrics:                       metricsserver.Options{BindAddress: *metricsAddress},
		HealthProbeBindAddress:        *healthAddress,
	})
	if err != nil {
		return err
	}
	if err := m.AddHealthzCheck("ping", healthz.Ping); err != nil {
		return err
	}
	if err := m.AddReadyzCheck("ping", healthz.Ping); err != nil {
		return err
	}
	if err := metrics.Registry.Register(&overrides.Carried{Reader: m.GetClient()}); err != nil {
		return err
	}
	recorder := m.GetEventRecorder(name)
	releases := &overrides.Releases{
		Client:     m.GetClient(),
		Source:     &overrides.Source{Reader: m.GetClient(), Secret: key, Events: recorder, Check: check},
		Owner:      name,
		Concurrent: *concurrent,
		Events:     recorder,
	}
	if err := metrics.Registry.Register(releases.Contested()); err != nil {
		return err
	}
	if err := releases.SetupWithManager(m); err != nil {
		return err
	}
	return m.Start(ctrl.SetupSignalHandler())
}

// keyOf reads namespace/name.
func keyOf(s string) (types.NamespacedName, error) {
	namespace, name, ok := strings.Cut(s, "/")
	if !ok || namespace == "" || name == "" || strings.Contains(name, "/") {
		return types.NamespacedName{}, fmt.Errorf("--secret %q is not namespace/name", s)
	}
	return types.NamespacedName{Namespace: namespace, Name: name}, nil
}
