// SPDX-License-Identifier: Apache-2.0

package audit

import (
	_ "embed"
	"strings"
	"sync"
)

// A Field is a place in custom resources that holds images, or that seems to and does not.
type Field struct {
	Group string // of the kind; "*" for any
	Kind  string // "*" for any

	// Path leads from the object to the field, keys joined by dots, with [] behind a key that holds a list: spec.images[].image. A *
	// stands for one key, and ** in front for any number of steps.
	Path string

	Shape Shape
}

// A Shape says how a field holds images.
type Shape string

const (
	ShapeImage     Shape = "image"     // a whole reference
	ShapeName      Shape = "name"      // a reference without tag, which stands elsewhere
	ShapeParts     Shape = "parts"     // a map with a repository or an image in one field, and registry, tag, version or digest in others
	ShapeImages    Shape = "images"    // a map whose values are references
	ShapeURL       Shape = "url"       // a reference behind a scheme
	ShapePrefix    Shape = "prefix"    // a registry or the start of a path
	ShapeKustomize Shape = "kustomize" // a list of old=new:tag@digest, as kustomize's command line has them
	ShapeNone      Shape = "none"      // no image, nor anything in it: a pattern, a disk, what others are told to look for
)

// The catalogue, one field in a line: group, kind, path, shape. It was made of the schemas of their CustomResourceDefinitions.
//
//go:embed fields.tsv
var fieldsTSV string

// catalogue has the fields of kinds, by kind and group.
type catalogue map[[2]string][]field

type field struct {
	steps []string
	deep  bool // any number of steps may stand in front
	shape Shape
}

var known = sync.OnceValue(func() catalogue {
	c := make(catalogue)
	for _, line := range strings.Split(strings.TrimSpace(fieldsTSV), "\n")[1:] {
		f := strings.Split(line, "\t")
		c.add(Field{f[0], f[1], f[2], Shape(f[3])})
	}
	return c
})

func (c catalogue) add(f Field) {
	path, deep := strings.CutPrefix(f.Path, "**")
	path = strings.TrimPrefix(path, ".")
	made := field{deep: deep, shape: f.Shape}
	if path != "" {
		made.steps = strings.Split(path, ".")
	}
	kind := [2]string{f.Kind, f.Group}
	c[kind] = append(c[kind], made)
}

// with returns a catalogue with more fields.
func (c catalogue) with(fields []Field) catalogue {
	if len(fields) == 0 {
		return c
	}
	all := make(catalogue, len(c))
	for kind, list := range c {
		all[kind] = list[:len(list):len(list)]
	}
	for _, f := range fields {
		all.add(f)
	}
	return all
}

// of returns the fields of a kind, the callers' own last.
func (c catalogue) of(apiVersion, kind string) []field {
	group, _, found := strings.Cut(apiVersion, "/")
	if !found {
		group = ""
	}
	var list []field
	for _, key := range [][2]string{{"*", "*"}, {"*", group}, {kind, "*"}, {kind, group}} {
		list = append(list, c[key]...)
	}
	return list
}

// keys returns the last keys of the fields.
func (c catalogue) keys() map[string]bool {
	keys := make(map[string]bool)
	for _, list := range c {
		for _, f := range list {
			if n := len(f.steps); n > 0 {
				keys[strings.TrimSuffix(f.steps[n-1], "[]")] = true
			}
		}
	}
	return keys
}

// match returns the shape of the last field that a path leads to or, for none without **, into; "" otherwise.
func match(fields []field, path string) Shape {
	var shape Shape
	for _, f := range fields {
		if f.matches(path) {
			shape = f.shape
		}
	}
	return shape
}

func (f *field) matches(path string) bool {
	if len(f.steps) == 0 {
		return f.deep
	}
	if last := f.steps[len(f.steps)-1]; (f.deep || f.shape != ShapeNone) && last != "*" && !strings.HasSuffix(path, last) {
		return false // as nearly all
	}
	steps := strings.Split(path, ".")
	for {
		if f.from(steps) {
			return true
		}
		if !f.deep || len(steps) == 1 {
			return false
		}
		steps = steps[1:]
	}
}

func (f *field) from(steps []string) bool {
	if len(steps) < len(f.steps) || len(steps) > len(f.steps) && (f.deep || f.shape != ShapeNone) {
		return false
	}
	for i, step := range f.steps {
		if step != "*" && step != steps[i] {
			return false
		}
	}
	return true
}
