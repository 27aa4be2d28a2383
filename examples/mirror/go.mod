module github.com/cozystack/image-overrides/examples/mirror

go 1.26.0

replace (
	github.com/cozystack/image-overrides => ../..
	github.com/cozystack/image-overrides/reference/registry => ../../reference/registry
)

require (
	github.com/cozystack/image-overrides v0.0.0-00010101000000-000000000000
	github.com/cozystack/image-overrides/reference/registry v0.0.0-00010101000000-000000000000
	github.com/fluxcd/helm-controller/api v1.0.1
	github.com/google/go-cmp v0.7.0
	go.yaml.in/yaml/v3 v3.0.3
	pgregory.net/rapid v1.2.0
	sigs.k8s.io/yaml v1.5.0
)

require (
	github.com/fluxcd/pkg/apis/kustomize v1.5.0 // indirect
	github.com/fluxcd/pkg/apis/meta v1.5.0 // indirect
	github.com/go-logr/logr v1.4.2 // indirect
	github.com/gogo/protobuf v1.3.2 // indirect
	github.com/google/gofuzz v1.2.0 // indirect
	github.com/json-iterator/go v1.1.12 // indirect
	github.com/modern-go/concurrent v0.0.0-20180306012644-bacd9c7ef1dd // indirect
	github.com/modern-go/reflect2 v1.0.2 // indirect
	github.com/opencontainers/go-digest v1.0.0 // indirect
	github.com/opencontainers/image-spec v1.1.1 // indirect
	go.yaml.in/yaml/v2 v2.4.2 // indirect
	golang.org/x/net v0.28.0 // indirect
	golang.org/x/sync v0.24.0 // indirect
	golang.org/x/text v0.17.0 // indirect
	gopkg.in/inf.v0 v0.9.1 // indirect
	k8s.io/apiextensions-apiserver v0.30.0 // indirect
	k8s.io/apimachinery v0.30.0 // indirect
	k8s.io/klog/v2 v2.130.1 // indirect
	k8s.io/utils v0.0.0-20240711033017-18e509b52bc8 // indirect
	oras.land/oras-go/v2 v2.7.0 // indirect
	sigs.k8s.io/controller-runtime v0.18.1 // indirect
	sigs.k8s.io/json v0.0.0-20221116044647-bc3834ca7abd // indirect
	sigs.k8s.io/structured-merge-diff/v4 v4.4.2 // indirect
)
