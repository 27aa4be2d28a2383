# SPDX-License-Identifier: Apache-2.0

# How many random inputs each law gets in make test: few here, many in .ci/run. Laws that are cheap get ten times as
# many, and those with Helm four times.
DRAWS ?= 500
# How long make fuzz stays with each target.
FUZZTIME ?= 1m
# What make mutants changes: the packages, how many mutants of each, and the seed that draws them.
PACKAGES ?= ./reference ./internal/quote ./internal/manifest ./internal/manifest/document ./internal/manifest/paths ./internal/entries ./internal/node \
	./internal/refuse ./internal/release ./internal/replace ./internal/values ./postrender ./imageoverrides ./imageoverrides/audit ./imageoverrides/chart \
	./imageoverrides/mirror \
	./examples/imageoverrides ./examples/operator/overrides
N ?= 50
SEED ?= 1

# The packages with laws take the number of draws as a flag, which the others do not know.
LAWS = $(sort $(filter-out $(CHEAP),$(shell go list -f '{{$$p := .ImportPath}}{{range .TestImports}}{{if eq . "pgregory.net/rapid"}}{{$$p}} {{end}}{{end}}{{range .XTestImports}}{{if eq . "pgregory.net/rapid"}}{{$$p}} {{end}}{{end}}' ./...)))
CHEAP := $(addprefix github.com/cozystack/image-overrides/,internal/manifest)
FUZZ := imageoverrides/audit/FuzzAudit imageoverrides/FuzzParse imageoverrides/FuzzParseSecret imageoverrides/FuzzRewrite \
	imageoverrides/FuzzRewriteAsKustomize imageoverrides/FuzzReplace internal/manifest/FuzzScan postrender/FuzzRewrite \
	postrender/FuzzRewriteKustomizations \
	reference/FuzzParse reference/FuzzSplit

# Compilers and tests have little to collect and memory enough: with this a build takes a fifth less time.
test conformance e2e race: export GOGC ?= 400

# The modules beside the root one.
MODULES := reference/registry examples/mirror examples/operator internal/registrytest internal/conformance internal/e2e

.PHONY: test conformance race e2e long lint bench fuzz mutants

# Every test that takes minutes with nothing built: all but those of the next three. Lint vets, so go test need not.
test:
	go test -vet=off $(filter-out $(LAWS) $(CHEAP),$(shell go list ./...))
	go test -vet=off -timeout 45m $(LAWS) -rapid.checks=$(DRAWS)
	go test -vet=off -timeout 45m $(CHEAP) -rapid.checks=$(DRAWS)0
	cd examples/operator && go test -vet=off ./...
	cd reference/registry && go test -vet=off . -rapid.checks=$(DRAWS)
	cd examples/mirror && go test -vet=off ./...

# The real Helm, kustomize and registries, and what importers have; longer than test with nothing built.
conformance:
	cd internal/registrytest && go test -vet=off .
	cd internal/conformance && go test -vet=off -timeout 45m . -rapid.checks=$$((4 * $(DRAWS)))

# The registry's client, which many goroutines use.
race:
	@if [ "$$(go env CGO_ENABLED)" = 1 ]; then cd reference/registry && go test -vet=off -race . -rapid.checks=50; \
	else echo "reference/registry: not tested with -race, which needs a C compiler"; fi

# The real API server and the real Flux; the first run builds them for some minutes. Go does not see
# all that the result depends on, so it must not remember it.
e2e:
	cd internal/e2e && go test -v -count=1 -timeout 1h .

# The laws with many more draws; hours.
long:
	go test $(LAWS) $(CHEAP) -rapid.checks=1000000 -timeout 24h
	cd reference/registry && go test -rapid.checks=200000 -timeout 24h .
	cd internal/conformance && go test -rapid.checks=200000 -timeout 24h ./...

lint:
	@unformatted=$$(gofmt -l .); if [ -n "$$unformatted" ]; then echo "gofmt would change:"; echo "$$unformatted"; exit 1; fi
	@set -e; for module in . $(MODULES); do \
		echo "$$module"; \
		(cd $$module && go vet ./... && go tool -modfile=$(CURDIR)/internal/tools/go.mod staticcheck ./...); \
	done

# Rewrite beside its peers, in one table, and then one benchmark for each verb.
bench:
	COMPARE=1 go test ./imageoverrides -run '^TestCompare$$' -v
	cd internal/registrytest && COMPARE=1 go test -run '^TestCompare$$' -v .
	go test ./... -run '^$$' -bench .

fuzz:
	@set -e; for target in $(FUZZ); do \
		echo "$$target"; \
		go test ./$${target%/*} -run '^$$' -fuzz "^$${target##*/}\$$" -fuzztime $(FUZZTIME); \
	done

# What the tests notice of mutations: a number for each package, and what they did not notice.
mutants:
	go run ./internal/mutants -n $(N) -seed $(SEED) $(PACKAGES)
