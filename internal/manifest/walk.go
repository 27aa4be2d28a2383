// SPDX-License-Identifier: Apache-2.0

package manifest

import (
	"cmp"

	"github.com/cozystack/image-overrides/internal/manifest/paths"
)

// A walker tells the scalars of values that are there as a whole: of a tree, or in memory.
type walker struct {
	rules   *paths.Rules           // nil: none
	all     bool                   // all scalars are told
	skip    func(kind string) bool // nil: none
	visitor Visitor
	source  source

	path    []paths.Step
	base    int  // how many steps of the path lead to the object
	listed  bool // the object is an item of a list object
	at      value
	object  Name
	scalar  Scalar
	stopped bool // nothing more is told
}

// A value is a map, a list, or a scalar.
type value interface {
	isMap() bool
	isList() bool
	// each calls f with the fields of a map, or the items of a list, in order. The walker's value is the one that f is called
	// with, meanwhile.
	each(f func(step paths.Step, v value))
	// field returns the first value of a map's field that fits, or nil.
	field(key string, fits func(value) bool) value
	// name returns the text of a scalar that is not null, and "" otherwise.
	name() string
	// text returns the text of what may be told as a scalar; listed says whether kustomize takes it through JSON.
	text(listed bool) (string, bool)
}

// document tells the scalars of an object, or of each item of a list object.
func (w *walker) document(v value) {
	name := func(v value, key string) (text string) {
		v.field(key, func(v value) bool {
			text = v.name()
			return text != ""
		})
		return text
	}
	kind := name(v, "kind")
	if IsList(kind) && v.isMap() {
		if items := v.field("items", value.isList); items != nil {
			w.visitor.Object()
			w.items(v, items)
			return
		}
	}
	if w.skip != nil && w.skip(kind) {
		return
	}
	w.visitor.Object()
	o := Object{APIVersion: name(v, "apiVersion"), Kind: kind}
	v.field("metadata", func(metadata value) bool {
		o.Namespace = cmp.Or(o.Namespace, name(metadata, "namespace"))
		o.Name = cmp.Or(o.Name, name(metadata, "name"))
		return false // the key may be there once more
	})
	w.object.parts = o
	var state paths.State
	if w.rules != nil {
		state = w.rules.Root()
	}
	w.base = len(w.path)
	if w.value(v, state); !w.stopped {
		w.visitor.End(&w.object)
	}
}

// items tells the items of a list object.
func (w *walker) items(v, items value) {
	listed, done := w.listed, false
	v.each(func(step paths.Step, v value) {
		if done || step.Key != "items" || !v.isList() {
			return // which v is not: it is the first list
		}
		done, w.listed = true, true
		w.path = append(w.path, step)
		v.each(func(step paths.Step, v value) {
			if w.stopped {
				return
			}
			w.path = append(w.path, step)
			w.document(v)
			w.path = w.path[:len(w.path)-1]
		})
		w.path = w.path[:len(w.path)-1]
	})
	w.listed = listed
}

// value tells the scalars in a value, to which the rules lead.
func (w *walker) value(v value, state paths.State) {
	isMap := v.isMap()
	if !isMap && !v.isList() {
		return
	}
	v.each(func(step paths.Step, v value) {
		if w.stopped {
			return
		}
		var next paths.State
		switch {
		case w.rules == nil:
		case isMap:
			next = w.rules.Key(state, step.Key)
		default:
			next = w.rules.Item(state)
		}
		w.path = append(w.path, step)
		if v.isMap() || v.isList() {
			w.value(v, next)
		} else if w.all || w.rules.Any(next) {
			w.tell(v, next)
		}
		w.path = w.path[:len(w.path)-1]
	})
}

// tell tells a scalar.
func (w *walker) tell(v value, state paths.State) {
	text, ok := v.text(w.listed)
	if !ok {
		return
	}
	w.at = v
	w.scalar = Scalar{State: state, Document: w.scalar.Document, source: w.source, path: w.path, base: w.base, text: text, ready: true}
	w.visitor.Scalar(&w.scalar)
}
