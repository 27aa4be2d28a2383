// SPDX-License-Identifier: Apache-2.0

// Package manifest knows where the scalars of manifests stand. It tells them, object by object, with their paths and their
// bytes, and puts others in their place. Who is told does not know in which way a document was read:
//
//   - by a scanner that knows the YAML that programs and people write, and builds no tree (scan.go, flow.go, notation.go,
//     words.go);
//   - by the YAML parser that kustomize uses, for whatever the scanner declines, or for an item of a List that it declines
//     (tree.go, evaluate.go, edit.go);
//   - or in memory, as decoded objects (memory.go).
//
// The items of a list object (a kind that ends in List, with items) are objects of their own, as kustomize has them. Anchors,
// aliases and merge keys are resolved before anything is told, as kustomize resolves them.
package manifest

import (
	"encoding/json"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/cozystack/image-overrides/internal/manifest/paths"
)

// A Visitor is told the scalars of documents.
type Visitor interface {
	// Begin says that a document, or several in a piece, begin. They begin once more where another way to
	// read them is taken: all that was told of them is void then.
	Begin()
	// Object says that an object begins. All that was told of the one before is void, unless it ended.
	Object()
	// Scalar tells a scalar of the object. It is the visitor's until it returns.
	Scalar(*Scalar)
	// End says that the object is complete.
	End(*Name)
}

// An Object names an object of Kubernetes, as its manifest does.
type Object struct {
	APIVersion, Kind, Namespace, Name string
}

// A Name is what an object is called.
type Name struct {
	parts Object // which may be parts of a text that changes
	last  Object // a copy of those of another object, which are the same often
}

// Object returns the name, to keep.
func (n *Name) Object() Object {
	keep(&n.last.APIVersion, n.parts.APIVersion)
	keep(&n.last.Kind, n.parts.Kind)
	keep(&n.last.Namespace, n.parts.Namespace)
	keep(&n.last.Name, n.parts.Name)
	return n.last
}

func keep(last *string, part string) {
	if *last != part {
		*last = strings.Clone(part)
	}
}

// Kind returns the object's kind, until the visitor returns.
func (n *Name) Kind() string { return n.parts.Kind }

// IsList reports whether the items of an object of that kind, if it has any, are objects themselves.
func IsList(kind string) bool { return strings.HasSuffix(kind, "List") }

// A Scalar is a scalar of an object.
type Scalar struct {
	Document int         // which of the documents in the piece, from 0
	State    paths.State // where the rules have come to

	source source
	path   []paths.Step
	base   int    // how many of its steps lead to the object
	text   string // as kustomize sees it, unless it has to be decoded
	ready  bool   // text is it
	one    [1]int // for Place, since what is handed on by an interface is allocated
}

// A source knows where a scalar came from.
type source interface {
	decode() string      // the text of the scalar that is being told
	places(at []int)     // offsets in the text, in ascending order, become those in the piece
	replace(text string) // the scalar
	node() *yaml.Node    // the scalar that is being told, as the parser has it, or nil
}

// Text returns the scalar's value as kustomize sees it, until the visitor returns. A null is what it is written as.
func (s *Scalar) Text() string {
	if !s.ready {
		s.text, s.ready = s.source.decode(), true
	}
	return s.text
}

// JSON returns what kustomize makes of the scalar where that is another value than the string Text: a number, null, a time, what a tag
// says. It is nil for such a string, for a number that JSON has not, and in memory.
func (s *Scalar) JSON() json.RawMessage {
	n := s.source.node()
	if n == nil {
		return nil
	}
	var v any
	if n.Decode(&v) != nil {
		return nil
	}
	if text, ok := v.(string); ok && text == s.Text() {
		return nil
	}
	made, err := json.Marshal(v)
	if err != nil {
		return nil
	}
	return made
}

// Path returns the way from the document's root, or from the object in memory, until the visitor returns.
func (s *Scalar) Path() []paths.Step { return s.path }

// InObject returns the way from the object, which is an item of a list object or all of a document, until the visitor returns.
func (s *Scalar) InObject() []paths.Step { return s.path[s.base:] }

// Place returns the offset in the piece of a byte of the text, both from 0: where it stands, or where the alias does that stands
// for it. Objects in memory have none, and 0.
func (s *Scalar) Place(i int) int {
	s.one[0] = i
	s.source.places(s.one[:])
	return s.one[0]
}

// Places is Place for many bytes at once, in ascending order, each of which gets its place.
func (s *Scalar) Places(at []int) { s.source.places(at) }

// Replace gives the scalar another value, a string, as soon as its object has ended. Where documents are read, that is an edit of
// the piece, see [Reader.Read].
func (s *Scalar) Replace(text string) { s.source.replace(text) }

// A Fault says why a document cannot be read or changed.
type Fault struct {
	Offset  int // in the piece, from 0
	Reason  string
	TooLong bool // and not wrong
	Around  bool // it is an alias that stands for a value around itself, which kustomize does not survive
}

func (f *Fault) Error() string { return f.Reason }
