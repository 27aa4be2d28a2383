module github.com/cozystack/image-overrides/internal/e2e/build/source

go 1.26.0

require github.com/fluxcd/source-controller v1.9.0

require (
	github.com/google/go-cmp v0.7.0 // indirect
	github.com/kr/text v0.2.0 // indirect
	github.com/onsi/gomega v1.41.0 // indirect
	go.yaml.in/yaml/v3 v3.0.4 // indirect
	golang.org/x/net v0.55.0 // indirect
	golang.org/x/text v0.38.0 // indirect
)
