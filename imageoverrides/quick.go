// SPDX-License-Identifier: Apache-2.0

package imageoverrides

import (
	"strings"
	"unsafe"

	"go.yaml.in/yaml/v3"

	"github.com/cozystack/image-overrides/internal/document"
	"github.com/cozystack/image-overrides/internal/scan"
)

// quick rewrites the documents that package scan knows, nearly all of them, without
// parsing them. It does what findImages and rewriteDocument do.
type quick struct {
	scanner scan.Scanner
	stop    func(key, value []byte, plain bool) bool // isDefinition, made once, since a method's value is allocated
	object  Object
	kind    []byte // of the object, nil for none
	path    string // of the last change; neighbours have the same often
	written path   // the buffer that paths are written in

	changes []Change // of the last document
	edits   []Edit
}

// room returns how many values there is room for.
func (q *quick) room() int { return cap(q.changes) + cap(q.edits) + q.scanner.Room() }

// forget lets go of what the last document was, and keeps the room.
func (q *quick) forget() {
	clear(q.changes[:cap(q.changes)])
	clear(q.edits[:cap(q.edits)])
	q.object, q.kind, q.path, q.written = Object{}, nil, "", nil
	q.scanner.Forget()
}

// document returns the images of a document that the table changes, and the edits that
// do it, until the next call. It is not ok where the document has to be parsed.
func (q *quick) document(text []byte, t Table) (changes []Change, edits []Edit, ok bool) {
	q.kind, q.changes, q.edits = nil, q.changes[:0], q.edits[:0]
	if q.stop == nil {
		q.stop = q.isDefinition
	}
	if !q.scanner.Scan(text, wanted, q.stop) {
		return nil, nil, false
	}
	if string(q.kind) == definition {
		return nil, nil, true // the scan stopped there
	}
	list := isListKind(string(q.kind))
	for _, f := range q.scanner.Fields {
		if !mayBeImage(f.Path[len(f.Path)-1].Key) {
			continue
		}
		if list {
			return nil, nil, false // its items are objects of their own
		}
		twice, reached := reach(f.Path)
		if !reached || f.Start == f.End && f.Style == scan.Plain {
			continue // an item of a list reaches its own, were it an object
		}
		old := unsafe.String(unsafe.SliceData(text[f.Start:]), f.End-f.Start) // for the table to look at, no longer
		changed, entries := t.apply(old, twice)
		if changed == old {
			continue
		}
		style := yaml.Style(0)
		switch f.Style {
		case scan.SingleQuoted:
			style = yaml.SingleQuotedStyle
		case scan.DoubleQuoted:
			style = yaml.DoubleQuotedStyle
		}
		start, end, after := document.Verbatim(f.Start, f.End, style).Replace(changed)
		if len(q.changes) == 0 {
			q.name(text)
		}
		old = strings.Clone(old)
		before := old // but for quotes that have to be replaced too
		if end-start != len(old) {
			before = string(text[start:end])
		}
		q.changes = append(q.changes, Change{
			Object: q.object, Path: q.pathOf(f.Path), Old: old, New: changed, Entries: entries, Offset: int64(start),
		})
		q.edits = append(q.edits, Edit{int64(start), before, after})
	}
	return q.changes, q.edits, true
}

// definition is the kind that kustomize leaves alone.
const definition = "CustomResourceDefinition"

// wanted tells package scan the fields that matter: those that kustomize takes for images, in
// an object of its own or in an item of a list, and those that an object is known by.
func wanted(path []scan.Step) bool {
	key := path[len(path)-1].Key
	if mayBeImage(key) {
		for len(path) > 2 && string(path[0].Key) == "items" && path[1].Key == nil {
			if _, reached := reach(path[2:]); reached {
				return true
			}
			path = path[2:]
		}
		_, reached := reach(path)
		return reached
	}
	switch string(key) {
	case "apiVersion", "kind":
		return len(path) == 1
	case "name", "namespace":
		return len(path) == 2 && string(path[0].Key) == "metadata"
	}
	return false
}

// mayBeImage reports whether kustomize reaches fields of that name.
func mayBeImage(key []byte) bool { return string(key) == "image" || string(key) == "reference" }

// isDefinition notes the kind of the object, and reports whether it is that of a
// CustomResourceDefinition. Its text, most of a platform's, need not be looked at.
func (q *quick) isDefinition(key, value []byte, plain bool) bool {
	if q.kind != nil || string(key) != "kind" || plain && isNull(value) {
		return false
	}
	q.kind = value
	return string(value) == definition
}

// isNull reports whether a plain scalar is null.
func isNull(b []byte) bool {
	switch string(b) {
	case "", "~", "null", "Null", "NULL":
		return true
	}
	return false
}

// name notes what the object is called.
func (q *quick) name(text []byte) {
	last := q.object
	q.object = Object{Kind: keep(last.Kind, q.kind)}
	for i := len(q.scanner.Fields) - 1; i >= 0; i-- { // the first of each is the one
		f := q.scanner.Fields[i]
		value := text[f.Start:f.End]
		if f.Style == scan.Plain && isNull(value) {
			continue
		}
		switch {
		case len(f.Path) == 1 && string(f.Path[0].Key) == "apiVersion":
			q.object.APIVersion = keep(last.APIVersion, value)
		case len(f.Path) != 2:
		case string(f.Path[1].Key) == "namespace":
			q.object.Namespace = keep(last.Namespace, value)
		case string(f.Path[1].Key) == "name":
			q.object.Name = keep(last.Name, value)
		}
	}
}

// keep returns b as a string, which is the last one if that is the same.
func keep(last string, b []byte) string {
	if string(b) == last {
		return last
	}
	return string(b)
}

// reach reports whether kustomize takes the field at a path for an image, and whether
// both of its filters do.
func reach(path []scan.Step) (twice, ok bool) {
	last := len(path) - 1
	p := root
	for _, step := range path {
		if step.Key != nil {
			p = p.step(string(step.Key))
		}
	}
	legacy := string(path[last].Key) == "image" && last >= 2 && path[last-1].Key == nil && isContainers(string(path[last-2].Key))
	return legacy && p == leaf, legacy || p == leaf
}

// pathOf writes a path as people write it.
func (q *quick) pathOf(steps []scan.Step) string {
	q.written = q.written[:0]
	for _, step := range steps {
		if step.Key != nil {
			q.written.key(string(step.Key))
		} else {
			q.written.item(step.Index)
		}
	}
	q.path = keep(q.path, q.written)
	return q.path
}
