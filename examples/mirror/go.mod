module github.com/cozystack/image-overrides/examples/mirror

go 1.26.0

replace (
	github.com/cozystack/image-overrides => ../..
	github.com/cozystack/image-overrides/reference/registry => ../../reference/registry
)

require (
	github.com/cozystack/image-overrides v0.0.0-00010101000000-000000000000
	github.com/cozystack/image-overrides/reference/registry v0.0.0-00010101000000-000000000000
	github.com/google/go-cmp v0.7.0
	go.yaml.in/yaml/v3 v3.0.3
)

require (
	github.com/opencontainers/go-digest v1.0.0 // indirect
	github.com/opencontainers/image-spec v1.1.1 // indirect
	go.yaml.in/yaml/v2 v2.4.2 // indirect
	golang.org/x/sync v0.24.0 // indirect
	oras.land/oras-go/v2 v2.7.0 // indirect
	sigs.k8s.io/yaml v1.5.0 // indirect
)
