// SPDX-License-Identifier: Apache-2.0

// Package reach has what kustomize 5.8.1 takes for images of objects: the one place from which Rewrite, RewriteObject
// and the audit know it.
package reach

import "github.com/cozystack/image-overrides/internal/manifest/paths"

// Images are the paths of what kustomize takes for images, in every object whose kind is no [Definition]. Both of its
// filters go over the object, for each entry: the first of old, the second by the paths that it is configured with.
var Images = paths.NewRules(
	[]string{"**.containers[].image", "**.initContainers[].image"},
	[]string{
		"spec.containers.image", "spec.initContainers.image", "spec.volumes.image.reference",
		"spec.template.spec.containers.image", "spec.template.spec.initContainers.image", "spec.template.spec.volumes.image.reference",
	},
)

// Twice reports whether both filters reach an image.
func Twice(s paths.State) bool { return Images.In(0, s) && Images.In(1, s) }

// Definition reports whether kustomize leaves objects of that kind alone.
func Definition(kind string) bool { return kind == "CustomResourceDefinition" }
