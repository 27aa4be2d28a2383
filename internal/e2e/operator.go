// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	authenticationv1 "k8s.io/api/authentication/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/labels"
	utilyaml "k8s.io/apimachinery/pkg/util/yaml"
	"sigs.k8s.io/controller-runtime/pkg/client"

	operatoroverrides "github.com/cozystack/image-overrides/examples/operator/overrides"
)

// buildOperator builds the operator once, for all tests.
var buildOperator = sync.OnceValues(func() (string, error) {
	return program{name: "operator", folder: "../../examples/operator", pkg: "."}.build(running)
})

// An operator is examples/operator at work on the releases of one namespace, with the rights that
// its deploy.yaml gives it and no others.
type operator struct {
	*process
	cluster   *cluster
	namespace string // of the Secret and the Lease
	releases  string // the namespace of the releases, most often the same
	path      string // of the program
	config    string // path of its kubeconfig
	metrics   string // URL
}

// chosen is the label of the releases in a namespace that its operator keeps in step.
func chosen(namespace string) map[string]string { return map[string]string{"operator": namespace} }

// startOperator builds and starts an operator. It is stopped at the end of the test.
func (c *cluster) startOperator(t testing.TB, namespace string, args ...string) *operator {
	t.Helper()
	return c.startOperatorOf(t, namespace, namespace, args...)
}

// startOperatorOf is startOperator with the releases in a namespace of their own.
func (c *cluster) startOperatorOf(t testing.TB, namespace, releases string, args ...string) *operator {
	t.Helper()
	path, err := buildOperator()
	if err != nil {
		t.Fatal(err)
	}
	o := &operator{cluster: c, namespace: namespace, releases: releases, path: path}
	o.config = o.kubeconfig(t)
	t.Cleanup(func() {
		if o.process == nil {
			return
		}
		o.process.stop()
		if log := o.tail(3, "cannot "); strings.Contains(log, "in API group") {
			t.Errorf("deploy.yaml lacks a right:\n%s", log)
		}
		if t.Failed() {
			t.Log(o.tail(40, ""))
		}
	})
	o.start(t, args...)
	return o
}

// selector chooses the operator's releases.
func (o *operator) selector() labels.Selector { return labels.SelectorFromSet(chosen(o.releases)) }

// owner is what the operator goes by.
func (o *operator) owner() string {
	return operatoroverrides.Name(client.ObjectKey{Namespace: o.namespace, Name: "cozystack-values"}, o.selector())
}

// start starts the operator, also again after it was stopped or killed.
func (o *operator) start(t testing.TB, args ...string) {
	t.Helper()
	metrics, err := freePort()
	if err != nil {
		t.Fatal(err)
	}
	o.metrics = fmt.Sprintf("http://127.0.0.1:%d/metrics", metrics)
	name := "operator-" + o.namespace
	o.process, err = run(name, filepath.Join(o.cluster.dir, name+".log"), []string{"KUBECONFIG=" + o.config}, o.path, append([]string{
		"--secret=" + o.namespace + "/cozystack-values",
		"--selector=" + o.selector().String(),
		"--leader-elect-namespace=" + o.namespace,
		fmt.Sprintf("--metrics-bind-address=127.0.0.1:%d", metrics),
		"--health-probe-bind-address=0",
	}, args...)...)
	if err != nil {
		t.Fatal(err)
	}
	o.eventually(t, "the operator leads", func() error { return awaitMetric(o.metrics, "leader_election_master_status", "", 1) })
}

// eventually is the cluster's, and fails when the operator has ended.
func (o *operator) eventually(t testing.TB, what string, f func() error) {
	t.Helper()
	o.cluster.eventually(t, what, timeout, func() error {
		if err := o.exited(); err != nil {
			t.Fatal(err)
		}
		return f()
	})
}

// said waits until the operator's log has a text n times.
func (o *operator) said(t testing.TB, text string, n int) {
	t.Helper()
	o.eventually(t, fmt.Sprintf("the operator says %q", text), func() error {
		log, err := os.ReadFile(o.log)
		if err != nil {
			return err
		}
		if got := strings.Count(string(log), text); got < n {
			return fmt.Errorf("%d times, want %d", got, n)
		}
		return nil
	})
}

// idle waits until the operator has nothing more to do.
func (o *operator) idle(t testing.TB) {
	t.Helper()
	o.eventually(t, "the operator is idle", func() error {
		for _, name := range []string{"workqueue_depth", "controller_runtime_active_workers", "workqueue_unfinished_work_seconds"} {
			if err := awaitMetric(o.metrics, name, "", 0); err != nil {
				return err
			}
		}
		return nil
	})
}

// reconciles returns how many releases the operator has looked at so far, each as often as it did.
func (o *operator) reconciles(t testing.TB) int {
	t.Helper()
	n, err := metric(o.metrics, "controller_runtime_reconcile_total", "")
	if err != nil {
		t.Fatal(err)
	}
	return int(n)
}

// looked waits until the operator has looked at n more releases than before, and has nothing more to do.
func (o *operator) looked(t testing.TB, before, n int) {
	t.Helper()
	o.eventually(t, "the operator looks at the releases", func() error {
		if got := o.reconciles(t); got < before+n {
			return fmt.Errorf("%d of %d", got-before, n)
		}
		return nil
	})
	o.idle(t)
}

// kubeconfig gives the operator what deploy.yaml gives it, in a namespace of its own, and
// returns the path of a kubeconfig for its service account.
func (o *operator) kubeconfig(t testing.TB) string {
	t.Helper()
	c, namespace := o.cluster, o.namespace
	deploy, err := os.ReadFile("../../examples/operator/deploy.yaml")
	if err != nil {
		t.Fatal(err)
	}
	deploy = bytes.ReplaceAll(deploy, []byte("cozy-system"), []byte(namespace))
	for d := utilyaml.NewYAMLOrJSONDecoder(bytes.NewReader(deploy), 4096); ; {
		var u unstructured.Unstructured
		if err := d.Decode(&u.Object); errors.Is(err, io.EOF) {
			break
		} else if err != nil {
			t.Fatal(err)
		}
		switch u.GetKind() {
		case "Deployment":
			continue // nobody would run it here
		case "Role":
			if err := nameLease(&u, o.owner()); err != nil {
				t.Fatal(err)
			}
		case "ClusterRoleBinding":
			u.SetName(u.GetName() + "-" + namespace)
		}
		if err := c.client.Create(t.Context(), &u); client.IgnoreAlreadyExists(err) != nil {
			t.Fatal(err)
		}
	}
	account := &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "image-overrides"}}
	token := &authenticationv1.TokenRequest{}
	if err := c.client.SubResource("token").Create(t.Context(), account, token); err != nil {
		t.Fatal(err)
	}
	path, err := c.kubeconfigOf("operator-"+namespace, token.Status.Token)
	if err != nil {
		t.Fatal(err)
	}
	return path
}

// nameLease gives a Role the rights to the Lease of that name, as deploy.yaml tells to do with another
// Secret or selector.
func nameLease(role *unstructured.Unstructured, name string) error {
	rules, _, err := unstructured.NestedSlice(role.Object, "rules")
	if err != nil {
		return err
	}
	for _, rule := range rules {
		rule, _ := rule.(map[string]any)
		resources, _, err := unstructured.NestedStringSlice(rule, "resources")
		if err != nil {
			return err
		}
		if names := rule["resourceNames"]; names != nil && slices.Equal(resources, []string{"leases"}) {
			rule["resourceNames"] = []any{name}
		}
	}
	return unstructured.SetNestedSlice(role.Object, rules, "rules")
}

// writeSecret gives the Secret with the table a text, or no key for it where that is empty.
func (c *cluster) writeSecret(t testing.TB, namespace, values string) *corev1.Secret {
	t.Helper()
	secret := &corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "cozystack-values"},
		Data:       map[string][]byte{},
	}
	if values != "" {
		secret.Data["values.yaml"] = []byte(values)
	}
	err := c.client.Create(t.Context(), secret)
	if apierrors.IsAlreadyExists(err) {
		err = c.client.Update(t.Context(), secret)
	}
	if err != nil {
		t.Fatal(err)
	}
	return secret
}

// deleteSecret deletes the Secret with the table.
func (c *cluster) deleteSecret(t testing.TB, namespace string) {
	t.Helper()
	err := c.client.Delete(t.Context(), &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "cozystack-values"}})
	if err != nil {
		t.Fatal(err)
	}
}
