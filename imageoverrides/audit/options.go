// SPDX-License-Identifier: Apache-2.0

package audit

// Hooks says what Flux does with the hooks of a chart, objects with the annotation helm.sh/hook.
type Hooks string

const (
	// HooksReached is for a Flux whose post-renderers see hooks: 2.8.0 to 2.8.5, and 2.9 by its default, the strategy combined. The empty
	// value is the same.
	HooksReached Hooks = "reached"
	// HooksKept is for a Flux whose post-renderers do not: before 2.8.0, 2.8.6 up to 2.9, and the strategy nohooks.
	HooksKept Hooks = "kept"
)

// Options are what an audit cannot read from manifests. The zero Options are good.
type Options struct {
	Hooks Hooks

	// Allowed are the registries, or the paths in them, that images may come from in the end: registry.example.org/os. One ends where a
	// component of a name does. With none nothing is outside; docker.io is Docker Hub however images of it are spelled.
	Allowed []string

	// Fields are more places in custom resources, or the same with another shape. They count more than those of the catalogue.
	Fields []Field

	// Parts gives the places that Flux does not reach their Parts. For that each of them keeps the whole text that its image stands in, as long as the
	// audit and its reports live.
	Parts bool
}
