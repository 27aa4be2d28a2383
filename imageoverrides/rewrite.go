// SPDX-License-Identifier: Apache-2.0

package imageoverrides

import (
	"cmp"
	"fmt"
	"io"
	"slices"
	"strings"
	"sync"

	"github.com/cozystack/image-overrides/internal/manifest"
	"github.com/cozystack/image-overrides/internal/manifest/document"
	"github.com/cozystack/image-overrides/internal/manifest/paths"
	"github.com/cozystack/image-overrides/internal/manifest/reach"
	"github.com/cozystack/image-overrides/internal/quote"
)

// A Result says what Rewrite did, as far as it came. Where dst fails, it counts what was
// ready to be written, up to 64 KiB more than was.
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
	Path     string // of the image in the document: spec.containers[0].image, and odd keys quoted: data["a.b"]; in its middle shortened if it is longer than any real one

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
// Deployment kube-system/coredns. Each part is quoted where it has what does not print, so that the text stays
// on its line whatever a manifest holds, and shortened where it is longer than any name. An
// object without a kind is an "object", and one without a name its kind alone.
func (o Object) String() string {
	kind, name := quote.Plain(o.Kind), quote.Plain(o.Name)
	if kind == "" {
		kind = "object"
	}
	if name == "" {
		return kind
	}
	if o.Namespace != "" {
		name = quote.Plain(o.Namespace) + "/" + name
	}
	return kind + " " + name
}

// Rewrite copies manifests from src to dst, and gives their images the names that the
// table says. It reaches the images that an images post-renderer of Flux (kustomize
// 5.8.1) reaches, and makes of them what that makes. Every byte that is not of a rewritten image
// stays: comments, quotes, order, line breaks, blocks of text. An unknown and an
// empty table change nothing, and nothing is parsed then.
//
// src holds YAML or JSON documents, any number of them; JSON values in a row are documents too. Rewrite reads and writes
// one at a time, and holds one in memory; the result has all changes, for those who do not take them one by one with a
// [Rewriter]. Where kustomize refuses a stream for reasons that have
// nothing to do with images (a resource twice, no name, keys that are numbers), or because
// a field is not what it expects (strings in containers), Rewrite does its work
// and leaves that field alone.
//
// A CustomResourceDefinition is passed on without a look at what is behind its kind. Other
// text that is neither YAML nor JSON is an error with line and column, a list of one
// [*Error]; the documents before it were written, and nothing of it or after it. An error of
// src or dst is returned as it is. The result is filled in all cases. Empty input
// gives an empty result. A table with names that are large regular expressions, which Strict refuses, is an
// error before anything is read.
//
// A document of more than [MaxDocument] bytes is an error too, which comes when that much
// of it has been read. So is one of which more than 2 MiB have to be read by a YAML parser, because of anchors, tags,
// tabs and other things that manifests seldom have; the error says which and where. Of a list object only the items that
// have such things count. And the aliases and merge keys of a stream may stand for 131,072 values more than it has
// bytes.
func Rewrite(dst io.Writer, src io.Reader, t Table) (Result, error) {
	return Rewriter{}.Rewrite(dst, src, t)
}

// A Rewriter is [Rewrite] with options. The zero Rewriter has none.
type Rewriter struct {
	// Limit is how long a document may be, in bytes, the separator line in front of it included. 0 is
	// MaxDocument, and a negative one 0.
	Limit int

	// Changed, where it is set, is called with the changes and the edits of each document that has any, before the document is
	// written, and may keep them. The result has none of them then, so that it does not grow with src. An
	// error ends the work as one of dst does, and is returned as it is; the document is not written.
	Changed func([]Change, []Edit) error
}

// MaxDocument is how long a document may be for Rewrite, in bytes: much longer than what an
// API server takes.
const MaxDocument = 64 << 20

// tooLarge returns an error for a table whose regular expressions cost too much to be tried, and would be left out.
func (t Table) tooLarge() error {
	if t.t == nil || t.t.index.excess < 0 {
		return nil
	}
	i := t.t.index.excess
	p := t.t.at(i, "name")
	return faults{{
		Path: t.t.path, Entry: i, Field: "name", Rule: RuleNoReference, Line: int(p.line), Column: int(p.column),
		text: fmt.Sprintf("%s: name %s is a regular expression, and too large together with those before it to be tried; write the image as manifests spell it", at(t.t.path, i), quote.Value(t.t.overrides[i].Name)),
	}}.err()
}

// Rewrite does the work of the function [Rewrite].
func (o Rewriter) Rewrite(dst io.Writer, src io.Reader, t Table) (Result, error) {
	if err := t.tooLarge(); err != nil {
		return Result{}, err
	}
	r := rewriters.Get().(*rewriter)
	r.table, r.options, r.result = t, o, Result{}
	r.dst.reset(dst)
	err := r.stream(src)
	if flushed := r.dst.flush(); flushed != nil {
		err = flushed
	}
	result := r.result
	r.release()
	return result, err
}

// A rewriter does one Rewrite.
type rewriter struct {
	table   Table
	options Rewriter
	dst     writer
	pieces  document.Splitter
	reader  manifest.Reader
	result  Result

	changes []Change // of the piece
	whole   int      // those of objects that have ended
	written []byte   // the buffer that paths are written in
	path    string   // of the last change; neighbours have the same often
}

// rewriters are those at rest, for their buffers.
var rewriters = sync.Pool{New: func() any { return new(rewriter) }}

// release puts the rewriter to rest, unless it has read something large.
func (r *rewriter) release() {
	if r.pieces.Buffered() > 4<<20 || cap(r.changes)+r.reader.Room() > 4<<10 {
		return
	}
	r.table, r.options, r.result, r.path = Table{}, Rewriter{}, Result{}, ""
	clear(r.changes[:cap(r.changes)])
	r.dst.reset(nil)
	r.pieces.Reset(nil, 0, nil)
	r.reader.Forget()
	rewriters.Put(r)
}

// stream rewrites all of src. What it gives back is src's error, or a fault; that of a
// write comes back from the next one too.
func (r *rewriter) stream(src io.Reader) error {
	limit := r.options.Limit
	if limit == 0 {
		limit = MaxDocument
	}
	r.reader.Rules, r.reader.Skip, r.reader.Visitor = reach.Images, reach.Definition, r
	pieces := &r.pieces
	pieces.Reset(src, limit, r.dst.flush)
	for {
		p, err := pieces.Next()
		switch {
		case err == io.EOF:
			return nil
		case err == document.ErrLimit:
			return faults{textFault(RuleTooLong, pieces.Line(), 1, fmt.Sprintf("a document of more than %d bytes", limit))}.err()
		case err != nil:
			return err
		}
		if err := r.piece(p); err != nil {
			return err
		}
	}
}

// piece rewrites a piece of the stream.
func (r *rewriter) piece(p document.Piece) error {
	documents := 0
	var edits []document.Edit
	switch {
	case document.Blank(p.Bytes):
	case r.table.Len() == 0:
		documents = 1
	default:
		var fault *manifest.Fault
		if documents, edits, fault = r.reader.Read(p); fault != nil {
			line, column := p.Position(fault.Offset)
			rule := RuleSyntax
			if fault.TooLong {
				rule = RuleTooLong
			}
			return faults{textFault(rule, line, column, fault.Reason)}.err()
		}
	}
	if len(edits) > 0 {
		if err := r.tell(p, edits); err != nil {
			return err
		}
	}
	r.result.Documents += documents
	r.result.Bytes += int64(len(p.Bytes))
	return r.dst.edited(p.Bytes, edits)
}

// Begin is called by the reader, as are the methods below.
func (r *rewriter) Begin() { r.changes, r.whole = r.changes[:0], 0 }

// Object forgets the object before, unless that has ended.
func (r *rewriter) Object() { r.changes = r.changes[:r.whole] }

// Scalar gives an image its new name.
func (r *rewriter) Scalar(s *manifest.Scalar) {
	old := s.Text() // for the table to look at, no longer
	changed, entries := r.table.apply(old, reach.Twice(s.State))
	if changed == old {
		return
	}
	s.Replace(changed)
	r.written = paths.Append(r.written[:0], s.Path())
	if string(r.written) != r.path {
		r.path = string(r.written)
	}
	r.changes = append(r.changes, Change{
		Document: s.Document, Path: r.path, Old: strings.Clone(old), New: changed, Entries: entries, Offset: int64(s.Place(0)),
	})
}

// End tells which object it was.
func (r *rewriter) End(name *manifest.Name) {
	if r.whole == len(r.changes) {
		return
	}
	o := Object(name.Object())
	for i := r.whole; i < len(r.changes); i++ {
		r.changes[i].Object = o
	}
	r.whole = len(r.changes)
}

// tell tells what changes in a piece, with the places that it has in the stream.
func (r *rewriter) tell(p document.Piece, edits []document.Edit) error {
	changes := r.changes[:r.whole]
	byOffset := func(a, b Change) int { return cmp.Compare(a.Offset, b.Offset) }
	if !slices.IsSortedFunc(changes, byOffset) { // aliases tell what they stand for in their own places
		slices.SortStableFunc(changes, byOffset)
	}
	if r.options.Changed != nil {
		changes = slices.Clone(changes)
	}
	for i := range changes {
		c := &changes[i]
		at := p.Body + int(c.Offset)
		c.Line, c.Column = p.Position(at)
		c.Offset = p.Offset + int64(at)
		c.Document += r.result.Documents
	}
	made := r.result.Edits
	if r.options.Changed != nil {
		made = make([]Edit, 0, len(edits))
	}
	for i, e := range edits {
		old := p.Bytes[e.Start:e.End]
		before := ""
		if i < len(changes) && changes[i].Old == string(old) {
			before = changes[i].Old
		} else {
			before = string(old)
		}
		made = append(made, Edit{p.Offset + int64(e.Start), before, e.New})
	}
	if r.options.Changed != nil {
		return r.options.Changed(changes, made)
	}
	r.result.Changes = append(r.result.Changes, changes...)
	r.result.Edits = made
	return nil
}

// writer gathers small writes until the next read.
type writer struct {
	dst io.Writer
	buf []byte
	err error // of the first write that failed; nothing is written after it
}

// reset makes the writer write to dst, and keeps its buffer.
func (w *writer) reset(dst io.Writer) { *w = writer{dst: dst, buf: w.buf[:0]} }

// maxGathered is how many bytes are gathered before they are written.
const maxGathered = 64 << 10

// edited writes text with the edits made.
func (w *writer) edited(text []byte, edits []document.Edit) error {
	at := 0
	for _, e := range edits {
		w.write(text[at:e.Start])
		if len(w.buf)+len(e.New) <= maxGathered {
			w.buf = append(w.buf, e.New...)
		} else {
			w.write([]byte(e.New))
		}
		at = e.End
	}
	w.write(text[at:])
	return w.err
}

func (w *writer) write(b []byte) {
	if len(w.buf)+len(b) > maxGathered {
		w.flush()
	}
	if len(b) > maxGathered {
		w.all(b)
		return
	}
	w.buf = append(w.buf, b...)
}

func (w *writer) flush() error {
	w.all(w.buf)
	w.buf = w.buf[:0]
	return w.err
}

func (w *writer) all(b []byte) {
	if len(b) == 0 || w.err != nil {
		return
	}
	n, err := w.dst.Write(b)
	if err == nil && n < len(b) {
		err = io.ErrShortWrite
	}
	w.err = err
}
