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
	found   bool // the items of the list object were
	at      value
	object  Name
	scalar  Scalar
	stopped bool // nothing more is told
}

// A value is a map, a list, or a scalar.
type value interface {
	isMap() bool
	isList() bool
	// each calls do with the fields of a map, or the items of a list, in order. These are valid until it returns.
	each(do visit, state paths.State)
	// field returns the first value of a map's field that fits, or nil.
	field(key string, fits func(value) bool) value
	// name returns the text of a scalar that is not null, and "" otherwise.
	name() string
	// text returns the text of what may be told as a scalar; listed says whether kustomize takes it through JSON.
	text(listed bool) (string, bool)
}

// A visit is what is done with the fields of a map or the items of a list that the rules have come to with a state. It is no
// closure, which would be allocated for each map and list.
type visit func(w *walker, step paths.Step, v value, state paths.State)

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
			w.items(v)
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
func (w *walker) items(v value) {
	listed, found := w.listed, w.found
	w.listed, w.found = true, false
	v.each((*walker).itemsField, 0)
	w.listed, w.found = listed, found
}

// itemsField tells the items of a list object, which are its first list of that name.
func (w *walker) itemsField(step paths.Step, v value, _ paths.State) {
	if w.found || step.Key != "items" || !v.isList() {
		return
	}
	w.found = true
	w.path = append(w.path, step)
	v.each((*walker).item, 0)
	w.path = w.path[:len(w.path)-1]
}

// item tells an item of a list object.
func (w *walker) item(step paths.Step, v value, _ paths.State) {
	if w.stopped {
		return
	}
	w.path = append(w.path, step)
	w.document(v)
	w.path = w.path[:len(w.path)-1]
}

// value tells the scalars in a value, to which the rules lead.
func (w *walker) value(v value, state paths.State) {
	switch {
	case v.isMap():
		v.each((*walker).field, state)
	case v.isList():
		v.each((*walker).element, state)
	}
}

// field tells the scalars in a field of a map.
func (w *walker) field(step paths.Step, v value, state paths.State) {
	if w.rules != nil {
		state = w.rules.Key(state, step.Key)
	}
	w.below(step, v, state)
}

// element tells the scalars in an item of a list.
func (w *walker) element(step paths.Step, v value, state paths.State) {
	if w.rules != nil {
		state = w.rules.Item(state)
	}
	w.below(step, v, state)
}

// below tells the scalars in a value a step further.
func (w *walker) below(step paths.Step, v value, state paths.State) {
	if w.stopped {
		return
	}
	w.path = append(w.path, step)
	if v.isMap() || v.isList() {
		w.value(v, state)
	} else if w.all || w.rules.Any(state) {
		w.tell(v, state)
	}
	w.path = w.path[:len(w.path)-1]
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
