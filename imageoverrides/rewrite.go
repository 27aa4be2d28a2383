// SPDX-License-Identifier: Apache-2.0

package imageoverrides

import (
	"errors"
	"io"

	"go.yaml.in/yaml/v3"

	"github.com/cozystack/image-overrides/internal/document"
)

// A Result says what Rewrite did, as far as it came.
type Result struct {
	Documents int      // how many documents were passed on, empty ones not counted
	Bytes     int64    // how many bytes of src were passed on, changed or not
	Changes   []Change // the images that changed, in the order of src; nil for none
	Edits     []Edit   // the bytes that changed, in the order of src; nil for none
}

// A Change is one image that was rewritten.
type Change struct {
	Document int    // which document of the stream, from 0, empty ones not counted
	Object   Object // the object that holds the image
	Path     string // of the image in the object: spec.containers[0].image

	Old, New string // the image before and after
	Entries  []int  // the entries of the table that applied, in order

	// Offset is where the image stands in src, in bytes from 0: its first byte within
	// quotes, or the alias that stands for it. Line and Column are the same place, from
	// 1, the column counted in characters.
	Offset       int64
	Line, Column int
}

// An Edit is a change of bytes: New was written in place of Old, which stood at Offset
// in src, in bytes from 0. Where each image has bytes of its own and its notation allows
// it, there is one edit for each change, with the images as its texts. An
// alias to an image that only some of its uses reach is replaced by what it stands
// for in one edit, whether the image behind it changes or not.
type Edit struct {
	Offset   int64
	Old, New string
}

// An Object names an object of Kubernetes, as its manifest does.
type Object struct {
	APIVersion, Kind, Namespace, Name string
}

// String returns kind and name, with the namespace where there is one:
// Deployment kube-system/coredns.
func (o Object) String() string {
	kind, name := o.Kind, o.Name
	if kind == "" {
		kind = "object"
	}
	if name == "" {
		return kind
	}
	if o.Namespace != "" {
		name = o.Namespace + "/" + name
	}
	return kind + " " + name
}

// Rewrite copies manifests from src to dst, and gives their images the names that the
// table says. It reaches the images that an images post-renderer of Flux (kustomize
// 5.8.1) reaches, and makes of them what that makes. Every byte that is not of a rewritten image
// stays: comments, quotes, order, line breaks, blocks of text. An unknown and an
// empty table change nothing, and nothing is parsed then.
//
// src holds YAML or JSON documents, any number of them. Rewrite reads and writes
// one at a time, and holds one in memory. Where kustomize refuses a stream for reasons that have
// nothing to do with images (a resource twice, no name, keys that are numbers), or because
// a field is not what it expects (strings in containers), Rewrite does its work
// and leaves that field alone.
//
// Text that is neither YAML nor JSON is an error with line and column, a list of one
// [*Error]; the documents before it were written, and nothing of it or after it. An error of
// src or dst is returned as it is. The result is filled in all cases. Empty input
// gives an empty result.
func Rewrite(dst io.Writer, src io.Reader, t Table) (Result, error) {
	w := writer{dst: dst}
	pieces := document.NewSplitter(src, w.flush)
	var result Result
	for {
		p, err := pieces.Next()
		if err != nil {
			if flushed := w.flush(); flushed != nil {
				err = flushed
			}
			if err == io.EOF {
				err = nil
			}
			return result, err
		}
		r, err := rewritePiece(p, t)
		if err != nil {
			if flushed := w.flush(); flushed != nil {
				err = flushed
			}
			return result, err
		}
		if err := w.edited(p.Bytes, p.Offset, r.Edits); err != nil {
			return result, err
		}
		for _, c := range r.Changes {
			c.Document += result.Documents
			result.Changes = append(result.Changes, c)
		}
		result.Edits = append(result.Edits, r.Edits...)
		result.Documents += r.Documents
		result.Bytes += int64(len(p.Bytes))
	}
}

// rewritePiece returns what to change in a piece of the stream, and how many documents
// it holds. Offsets, lines and columns are those of the stream.
func rewritePiece(p document.Piece, t Table) (r Result, err error) {
	if document.Blank(p.Bytes) {
		return r, nil
	}
	if t.Len() == 0 {
		return Result{Documents: 1}, nil
	}
	text, err := document.Parse(p.Bytes[p.Body:])
	if err != nil {
		var syntax *document.SyntaxError
		errors.As(err, &syntax)
		return r, faults{pieceFault(p, p.Body+syntax.Offset, syntax.Reason)}
	}
	for i, root := range text.Roots {
		changes, edits, fault := rewriteDocument(text, root, t)
		if fault != nil {
			at, _ := text.Offset(fault.node)
			return r, faults{pieceFault(p, p.Body+at, fault.reason)}
		}
		for _, c := range changes {
			at := p.Body + int(c.Offset)
			c.Document = i
			c.Offset = p.Offset + int64(at)
			c.Line, c.Column = position(p, at)
			r.Changes = append(r.Changes, c)
		}
		for _, e := range edits {
			e.Offset += p.Offset + int64(p.Body)
			r.Edits = append(r.Edits, e)
		}
	}
	r.Documents = len(text.Roots)
	return r, nil
}

// nodeFault says which node cannot be rewritten, and why.
type nodeFault struct {
	node   *yaml.Node
	reason string
}

func pieceFault(p document.Piece, at int, reason string) *Error {
	line, column := position(p, at)
	return textFault(RuleSyntax, line, column, reason)
}

// position returns the line and column in the stream of a byte of a piece.
func position(p document.Piece, at int) (line, column int) {
	line, column = document.LineColumn(p.Bytes, at)
	return p.Line - 1 + line, column
}

// writer gathers small writes until the next read.
type writer struct {
	dst io.Writer
	buf []byte
}

// maxGathered is how many bytes are gathered before they are written.
const maxGathered = 64 << 10

// edited writes text, which stood at offset, with the edits made.
func (w *writer) edited(text []byte, offset int64, edits []Edit) error {
	at := 0
	for _, e := range edits {
		start := int(e.Offset - offset)
		if err := w.write(text[at:start]); err != nil {
			return err
		}
		if err := w.write([]byte(e.New)); err != nil {
			return err
		}
		at = start + len(e.Old)
	}
	return w.write(text[at:])
}

func (w *writer) write(b []byte) error {
	if len(w.buf)+len(b) <= maxGathered {
		w.buf = append(w.buf, b...)
		return nil
	}
	if err := w.flush(); err != nil {
		return err
	}
	if len(b) <= maxGathered {
		w.buf = append(w.buf, b...)
		return nil
	}
	return w.all(b)
}

func (w *writer) flush() error {
	b := w.buf
	w.buf = w.buf[:0]
	return w.all(b)
}

func (w *writer) all(b []byte) error {
	if len(b) == 0 {
		return nil
	}
	n, err := w.dst.Write(b)
	if err == nil && n < len(b) {
		err = io.ErrShortWrite
	}
	return err
}
