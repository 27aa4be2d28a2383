module github.com/cozystack/image-overrides/reference/registry

go 1.26.0

replace github.com/cozystack/image-overrides => ../..

require (
	github.com/cozystack/image-overrides v0.0.0-00010101000000-000000000000
	github.com/opencontainers/go-digest v1.0.0
	github.com/opencontainers/image-spec v1.1.1
	oras.land/oras-go/v2 v2.7.0
)

// For tests only. The real registry and the peer to compare with are in internal/registrytest.
require (
	github.com/google/go-cmp v0.7.0
	pgregory.net/rapid v1.2.0
)

require (
	go.yaml.in/yaml/v2 v2.4.2 // indirect
	go.yaml.in/yaml/v3 v3.0.3 // indirect
	golang.org/x/sync v0.24.0 // indirect
	sigs.k8s.io/yaml v1.5.0 // indirect
)
