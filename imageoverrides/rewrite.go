// SPDX-License-Identifier: Apache-2.0

package imageoverrides

import (
	"errors"
	"fmt"
	"io"
	"sync"

	"go.yaml.in/yaml/v3"

	"github.com/cozystack/image-overrides/internal/document"
	"github.com/cozystack/image-overrides/internal/quote"
)

// A Result says what Rewrite did, as far as it came. Where dst fails, it counts what was
// ready to be written, up to 64 KiB more than was.
type Result struct {
	Documents int      // how many documents were passed on, empty ones not counted; JSON values in a row that were not parsed are one
	Bytes     int64    // how many bytes of src were passed on, changed or not
	Changes   []Change // the images that changed, in the order of src; nil for none
	Edits     []Edit   // the bytes that changed, in the order of src; nil for none
}

// A Change is one image that was rewritten.
type Change struct {
	Document int    // which document of the stream, from 0, empty ones not counted
	Object   Object // the object that holds the image
	Path     string // of the image in the object: spec.containers[0].image, and odd keys quoted: data["a.b"]

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
// src holds YAML or JSON documents, any number of them. Rewrite reads and writes
// one at a time, and holds one in memory. Where kustomize refuses a stream for reasons that have
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
// of it has been read.
func Rewrite(dst io.Writer, src io.Reader, t Table) (Result, error) {
	return RewriteUpTo(MaxDocument, dst, src, t)
}

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

// MaxDocument is how long a document may be for Rewrite, in bytes: much longer than what an
// API server takes.
const MaxDocument = 64 << 20

// RewriteUpTo is [Rewrite] with another limit for the length of a document, in bytes. The
// separator line in front of a document counts. With a limit of 0 every document is too long.
func RewriteUpTo(limit int, dst io.Writer, src io.Reader, t Table) (Result, error) {
	if err := t.tooLarge(); err != nil {
		return Result{}, err
	}
	r := rewriters.Get().(*rewriter)
	r.table, r.limit, r.result = t, limit, Result{}
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
	table  Table
	limit  int
	dst    writer
	pieces document.Splitter
	quick  quick
	result Result
}

// rewriters are those at rest, for their buffers.
var rewriters = sync.Pool{New: func() any { return new(rewriter) }}

// release puts the rewriter to rest, unless it has read something large.
func (r *rewriter) release() {
	if r.pieces.Buffered() > 4<<20 || r.quick.room() > 4<<10 {
		return
	}
	r.table, r.result = Table{}, Result{}
	r.dst.reset(nil)
	r.pieces.Reset(nil, 0, nil)
	r.quick.forget()
	rewriters.Put(r)
}

// stream rewrites all of src. What it gives back is src's error, or a fault; that of a
// write comes back from the next one too.
func (r *rewriter) stream(src io.Reader) error {
	pieces := &r.pieces
	pieces.Reset(src, r.limit, r.dst.flush)
	for {
		p, err := pieces.Next()
		switch {
		case err == io.EOF:
			return nil
		case err == document.ErrLimit:
			return faults{textFault(RuleTooLong, pieces.Line(), 1, fmt.Sprintf("a document of more than %d bytes", r.limit))}.err()
		case err != nil:
			return err
		}
		changes, edits, documents, err := r.piece(p)
		if err != nil {
			return err
		}
		if err := r.dst.edited(p.Bytes, edits); err != nil {
			return err
		}
		r.add(p, changes, edits)
		r.result.Documents += documents
		r.result.Bytes += int64(len(p.Bytes))
	}
}

// piece returns what to change in a piece of the stream, with offsets in the piece, and how
// many documents it holds.
func (r *rewriter) piece(p document.Piece) (changes []Change, edits []Edit, documents int, err error) {
	if document.Blank(p.Bytes) {
		return nil, nil, 0, nil
	}
	if r.table.Len() == 0 {
		return nil, nil, 1, nil
	}
	body := p.Bytes[p.Body:]
	changes, edits, ok := r.quick.document(body, r.table)
	if ok {
		documents = 1
	} else if changes, edits, documents, err = r.parsed(p, body); err != nil {
		return nil, nil, 0, err
	}
	for i := range changes {
		changes[i].Offset += int64(p.Body)
	}
	for i := range edits {
		edits[i].Offset += int64(p.Body)
	}
	return changes, edits, documents, nil
}

// parsed returns what to change in the documents of a text, by way of the YAML parser.
func (r *rewriter) parsed(p document.Piece, body []byte) (changes []Change, edits []Edit, documents int, err error) {
	fault := func(at int, reason string) error {
		line, column := document.NewLines(p.Bytes).Position(p.Body + at)
		return faults{textFault(RuleSyntax, p.Line-1+line, column, reason)}.err()
	}
	text, err := document.Parse(body)
	if err != nil {
		var syntax *document.SyntaxError
		errors.As(err, &syntax)
		return nil, nil, 0, fault(syntax.Offset, syntax.Reason)
	}
	for i, root := range text.Roots {
		c, e, broken := rewriteDocument(text, root, r.table)
		if broken != nil {
			at, _ := text.Offset(broken.node)
			return nil, nil, 0, fault(at, broken.reason)
		}
		for j := range c {
			c[j].Document = i
		}
		changes = append(changes, c...)
		edits = append(edits, e...)
	}
	return changes, edits, len(text.Roots), nil
}

// add adds to the result what was changed in a piece, with the places that it has in the stream.
func (r *rewriter) add(p document.Piece, changes []Change, edits []Edit) {
	if len(edits) == 0 {
		return
	}
	lines := document.NewLines(p.Bytes)
	for _, c := range changes {
		line, column := lines.Position(int(c.Offset))
		c.Line, c.Column = p.Line-1+line, column
		c.Offset += p.Offset
		c.Document += r.result.Documents
		r.result.Changes = append(r.result.Changes, c)
	}
	for _, e := range edits {
		e.Offset += p.Offset
		r.result.Edits = append(r.result.Edits, e)
	}
}

// nodeFault says which node cannot be rewritten, and why.
type nodeFault struct {
	node   *yaml.Node
	reason string
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

// edited writes text with the edits made, whose offsets are in the text.
func (w *writer) edited(text []byte, edits []Edit) error {
	at := 0
	for _, e := range edits {
		w.write(text[at:e.Offset])
		if len(w.buf)+len(e.New) <= maxGathered {
			w.buf = append(w.buf, e.New...)
		} else {
			w.write([]byte(e.New))
		}
		at = int(e.Offset) + len(e.Old)
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
