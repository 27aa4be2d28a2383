// SPDX-License-Identifier: Apache-2.0

// On the versions of Kubernetes 1.35, kustomize v0.20.1 among them.
module example.org/cli-runtime

go 1.25.0

require k8s.io/cli-runtime v0.35.0
