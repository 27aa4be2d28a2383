// SPDX-License-Identifier: Apache-2.0

package main

import (
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/labels"
	"sigs.k8s.io/yaml"

	"github.com/cozystack/image-overrides/examples/operator/overrides"
)

func TestKeyOf(t *testing.T) {
	if key, err := keyOf("a/b"); err != nil || key.Namespace != "a" || key.Name != "b" {
		t.Errorf("a/b: %v, %v", key, err)
	}
	for _, s := range []string{"", "a", "/", "a/", "/b", "a/b/c"} {
		if key, err := keyOf(s); err == nil {
			t.Errorf("%q: %v", s, key)
		}
	}
}

// TestDeploy: deploy.yaml has the Secret, the Lease and the rights of the flags that it gives.
func TestDeploy(t *testing.T) {
	text, err := os.ReadFile("deploy.yaml")
	if err != nil {
		t.Fatal(err)
	}
	var cluster, namespaced []rbacv1.PolicyRule
	var deployment appsv1.Deployment
	for _, document := range strings.Split(string(text), "\n---\n") {
		var object struct {
			Kind  string
			Rules []rbacv1.PolicyRule
		}
		if err := yaml.Unmarshal([]byte(document), &object); err != nil {
			t.Fatal(err)
		}
		switch object.Kind {
		case "ClusterRole":
			cluster = object.Rules
		case "Role":
			namespaced = object.Rules
		case "Deployment":
			if err := yaml.UnmarshalStrict([]byte(document), &deployment); err != nil {
				t.Fatal(err)
			}
		}
	}

	key, err := keyOf(strings.TrimPrefix(deployment.Spec.Template.Spec.Containers[0].Args[0], "--secret="))
	if err != nil {
		t.Fatal(err)
	}
	name := overrides.Name(key, labels.Everything())
	rule := func(group, resource string, names []string, verbs ...string) rbacv1.PolicyRule {
		return rbacv1.PolicyRule{APIGroups: []string{group}, Resources: []string{resource}, ResourceNames: names, Verbs: verbs}
	}
	for _, role := range []struct {
		what      string
		got, want []rbacv1.PolicyRule
	}{
		{"in all namespaces", cluster, []rbacv1.PolicyRule{
			rule("helm.toolkit.fluxcd.io", "helmreleases", nil, "get", "list", "watch", "patch"),
			rule("events.k8s.io", "events", nil, "create", "patch"),
		}},
		{"in its own", namespaced, []rbacv1.PolicyRule{
			rule("", "secrets", []string{key.Name}, "get", "list", "watch"),
			rule("", "events", nil, "create", "patch"),
			rule("coordination.k8s.io", "leases", nil, "create"),
			rule("coordination.k8s.io", "leases", []string{name}, "get", "update"),
		}},
	} {
		if diff := cmp.Diff(role.want, role.got); diff != "" {
			t.Errorf("%s: -want +got\n%s", role.what, diff)
		}
	}
	if key != overrides.DefaultSecret || deployment.Namespace != key.Namespace || slices.ContainsFunc(deployment.Spec.Template.Spec.Containers[0].Args, func(arg string) bool { return strings.HasPrefix(arg, "--selector") }) {
		t.Errorf("not the default flags: %v in %s", deployment.Spec.Template.Spec.Containers[0].Args, deployment.Namespace)
	}
}
