// SPDX-License-Identifier: Apache-2.0

// Package platform makes manifests of the shapes and proportions of a real platform's, for
// benchmarks on machines that have no corpus of them. The same arguments give the same bytes.
package platform

import (
	"bytes"
	"fmt"
)

// registries are those of the images.
var registries = []string{"registry.k8s.io", "quay.io", "ghcr.io", "docker.io", "gcr.io"}

// Image returns the name of the i-th image.
func Image(i int) string {
	return fmt.Sprintf("%s/department-%d/service-%d", registries[i%len(registries)], i%13, i)
}

// Definition returns a CustomResourceDefinition of about size bytes, whose schema has fields
// named containers and image, as those of operators do.
func Definition(i, size int) []byte {
	var b bytes.Buffer
	fmt.Fprintf(&b, `apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata:
  annotations:
    controller-gen.kubebuilder.io/version: v0.17.0
  name: things%[1]d.example.org
spec:
  group: example.org
  names: {kind: Thing%[1]d, listKind: Thing%[1]dList, plural: things%[1]d, singular: thing%[1]d}
  scope: Namespaced
  versions:
  - name: v1
    schema:
      openAPIV3Schema:
        properties:
          spec:
            properties:
              containers:
                items:
                  properties:
                    image:
                      type: string
`, i)
	for n := 0; b.Len() < size; n++ {
		fmt.Fprintf(&b, `              field%d:
                description: |-
                  Field %[1]d says how the operator treats the thing, and for how long.
                  More info: https://example.org/docs/things#field-%[1]d
                items:
                  type: string
                type: array
                x-kubernetes-list-type: atomic
`, n)
	}
	b.WriteString("    served: true\n    storage: true\n")
	return b.Bytes()
}

// Workload returns a Deployment with two images.
func Workload(i int) []byte {
	return fmt.Appendf(nil, `# Source: platform/templates/deployment-%[1]d.yaml
apiVersion: apps/v1
kind: Deployment
metadata:
  name: application-%[1]d
  namespace: platform
  labels:
    app.kubernetes.io/name: application-%[1]d
    app.kubernetes.io/managed-by: Helm
spec:
  replicas: 2
  selector:
    matchLabels:
      app.kubernetes.io/name: application-%[1]d
  template:
    metadata:
      labels:
        app.kubernetes.io/name: application-%[1]d
      annotations: {}
    spec:
      serviceAccountName: application-%[1]d
      securityContext:
        runAsNonRoot: true
        seccompProfile: {type: RuntimeDefault}
      initContainers:
      - name: init
        image: "%[2]s:v1.%[1]d.0"
        command: ["/bin/sh", "-c", "true"]
      containers:
      - name: main
        image: %[3]s:v2.%[1]d.1
        imagePullPolicy: IfNotPresent
        args:
        - --leader-elect
        - --metrics-bind-address=:8080
        - --default-image=%[2]s:v1
        env:
        - name: POD_NAMESPACE
          valueFrom:
            fieldRef:
              fieldPath: metadata.namespace
        ports:
        - containerPort: 8080
          name: metrics
        livenessProbe:
          httpGet: {path: /healthz, port: 8081}
          initialDelaySeconds: 15
          periodSeconds: 20
        resources:
          limits:
            cpu: 500m
            memory: 128Mi
          requests:
            cpu: 10m
            memory: 64Mi
        volumeMounts:
        - mountPath: /etc/config
          name: config
      volumes:
      - name: config
        configMap:
          name: application-%[1]d
`, i, Image(2*i), Image(2*i+1))
}

// ConfigMap returns a ConfigMap with that many keys.
func ConfigMap(keys int) []byte {
	var b bytes.Buffer
	b.WriteString("apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: settings\ndata:\n")
	for i := range keys {
		fmt.Fprintf(&b, "  setting-%d: \"value %[1]d of the image: nginx\"\n", i)
	}
	return b.Bytes()
}

// small are the other objects of a chart.
var small = []string{
	"apiVersion: v1\nkind: ServiceAccount\nmetadata:\n  name: %[1]s\n  namespace: platform\n",
	"apiVersion: v1\nkind: Service\nmetadata:\n  name: %[1]s\nspec:\n  selector:\n    app.kubernetes.io/name: %[1]s\n  ports:\n  - name: http\n    port: 80\n    targetPort: 8080\n",
	"apiVersion: rbac.authorization.k8s.io/v1\nkind: ClusterRole\nmetadata:\n  name: %[1]s\nrules:\n- apiGroups: [\"\"]\n  resources: [pods, services]\n  verbs: [get, list, watch]\n- apiGroups:\n  - apps\n  resources:\n  - deployments\n  verbs:\n  - \"*\"\n",
	"apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: %[1]s\ndata:\n  config.yaml: |\n    server:\n      address: 0.0.0.0\n    # the default image\n    image: nginx\n",
}

// Charts returns the rendered manifests of that many charts, some 200 KB each: nine tenths of
// them definitions, then small objects, and four images a chart.
func Charts(n int) [][]byte {
	var charts [][]byte
	for i := range n {
		var documents [][]byte
		for d := range 3 {
			documents = append(documents, Definition(3*i+d, 60_000))
		}
		for o := range 40 {
			documents = append(documents, fmt.Appendf(nil, small[o%len(small)], fmt.Sprintf("object-%d-%d", i, o)))
		}
		documents = append(documents, Workload(2*i), Workload(2*i+1))
		charts = append(charts, Join(documents...))
	}
	return charts
}

// Join makes a stream of documents.
func Join(documents ...[]byte) []byte {
	return append([]byte("---\n"), bytes.Join(documents, []byte("---\n"))...)
}

// Names returns the names of the first n images.
func Names(n int) []string {
	names := make([]string, n)
	for i := range names {
		names[i] = Image(i)
	}
	return names
}
