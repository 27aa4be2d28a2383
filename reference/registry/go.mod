module github.com/cozystack/image-overrides/reference/registry

go 1.26.0

replace github.com/cozystack/image-overrides => ../..

require (
	github.com/cozystack/image-overrides v0.0.0-00010101000000-000000000000
	github.com/google/go-cmp v0.7.0
	github.com/opencontainers/go-digest v1.0.0
	github.com/opencontainers/image-spec v1.1.1
	oras.land/oras-go/v2 v2.7.0
	pgregory.net/rapid v1.2.0
)

require golang.org/x/sync v0.24.0 // indirect
