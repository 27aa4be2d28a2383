// SPDX-License-Identifier: Apache-2.0

// On the versions of Cozystack.
module example.org/cozystack

go 1.26.4

require (
	github.com/fluxcd/helm-controller/api v1.5.1
	golang.org/x/sync v0.20.0
	k8s.io/apimachinery v0.35.2
)
