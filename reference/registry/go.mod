module github.com/cozystack/image-overrides/reference/registry

go 1.26.0

replace github.com/cozystack/image-overrides => ../..

require (
	github.com/cozystack/image-overrides v0.0.0-00010101000000-000000000000
	github.com/google/go-cmp v0.7.0
	pgregory.net/rapid v1.2.0
)
