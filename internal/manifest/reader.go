// SPDX-License-Identifier: Apache-2.0

package manifest

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/cozystack/image-overrides/internal/manifest/document"
	"github.com/cozystack/image-overrides/internal/manifest/paths"
)

// MaxParsed is how many bytes of a document may have to be read by the YAML parser, whose tree takes up to 200 times as much.
const MaxParsed = 2 << 20

// A Reader reads documents. It keeps its room from one to the next.
type Reader struct {
	Rules   *paths.Rules           // the scalars that are told, which is wherever these end; nil: all
	All     bool                   // all scalars are told, with the states that the rules have for them
	Skip    func(kind string) bool // the kinds of objects that nothing is told of, nor looked at behind their kind; nil: none
	Visitor Visitor
	Parse   bool // everything is read by the parser, for the tests that hold the two ways together

	scanner scanner
	tree    tree
	again   func(start, end int) bool // item, made once, since a method's value is allocated
	parsed  int                       // bytes of the document's items that were
	aliased int                       // the values that aliases stood for, less the bytes that were parsed
	before  int                       // the same before the piece
	json    isJSON                    // whether the piece is
	fault   *Fault                    // of an item that was parsed
	odd     bool
}

// Odd reports, of a reader that tells all scalars, whether the piece that was read last may hold what programs refuse that decode it
// into maps whose keys are strings, and that no scalar tells: a key twice, one that is no string, an infinite number, an empty map or
// list where an image may stand, or whatever only the YAML parser can read. It is true for a piece that could not be read, and
// nothing is said of the kinds that are skipped.
func (r *Reader) Odd() bool { return r.odd }

// Read tells the scalars of the documents in a piece of a stream, which is one nearly always, and returns how many these are
// and the edits that put others in their places, in order and until the next call. Where it fails, nothing that it told counts.
func (r *Reader) Read(p document.Piece) (documents int, edits []document.Edit, fault *Fault) {
	s := &r.scanner
	s.rules, s.skip, s.visitor = r.Rules, r.Skip, r.Visitor
	s.all, s.odd = r.All || r.Rules == nil, false
	if r.again == nil {
		r.again = r.item
	}
	s.again = r.again
	r.parsed, r.fault, r.odd, r.before, r.json = 0, nil, true, r.aliased, unasked
	body := p.Bytes[p.Body:]
	if !r.Parse && s.scan(body) {
		documents, edits = 1, s.edits[:s.marked]
		r.odd = s.odd || r.parsed > 0
	} else if documents, edits, fault = r.parse(body); fault != nil {
		fault.Offset += p.Body
		return 0, nil, fault
	}
	for i := range edits {
		edits[i].Start += p.Body
		edits[i].End += p.Body
	}
	return documents, edits, nil
}

// parse tells the documents of a text by the YAML parser.
func (r *Reader) parse(body []byte) (documents int, edits []document.Edit, fault *Fault) {
	if len(body) > MaxParsed {
		at := r.scanner.pos
		why := fmt.Sprintf("a document of which more than %d bytes have to be read by a YAML parser, because of %s", MaxParsed, reason(body, at))
		if r.fault != nil {
			at = r.fault.Offset
			why += "; the item here is no YAML by itself: " + r.fault.Reason
		}
		return 0, nil, &Fault{Offset: at, Reason: why, TooLong: true}
	}
	text, err := document.Parse(body)
	if err != nil {
		return 0, nil, syntaxFault(err)
	}
	r.Visitor.Begin()
	r.aliased = r.before // what was told of items is void
	t := r.newTree()
	defer r.paid(t, len(body))
	for i, root := range text.Roots {
		if broken := t.visit(text, root, i); broken != nil {
			at, _ := text.Offset(broken.node)
			return 0, nil, &Fault{Offset: at, Reason: broken.reason, Around: broken.around}
		}
	}
	return len(text.Roots), t.edits, nil
}

func (r *Reader) newTree() *tree {
	t := &r.tree
	*t = tree{walker: walker{rules: r.Rules, all: r.All || r.Rules == nil, skip: r.Skip, visitor: r.Visitor}, edits: t.edits[:0], most: maxAliased - r.aliased}
	return t
}

// paid notes what aliases stood for in so many bytes.
func (r *Reader) paid(t *tree, bytes int) {
	r.aliased = min(max(0, r.aliased+t.aliased-bytes), maxAliased)
}

// item tells an item of a list object, which stands between two offsets, by the YAML parser. It is false where the item cannot be
// read by itself.
func (r *Reader) item(start, end int) bool {
	s := &r.scanner
	const least = 1 << 10 // what the parser costs at least
	if r.parsed += max(end-start, least); r.parsed > MaxParsed {
		return false
	}
	text, err := document.Parse(s.text[start:end])
	if err != nil {
		if f := syntaxFault(err); r.fault == nil && !strings.HasPrefix(f.Reason, "unknown anchor") { // which another item may have
			f.Offset += start
			r.fault = f
		}
		return false
	}
	if len(text.Roots) != 1 || text.JSON && !r.isJSON(s.text) {
		return false
	}
	t := r.newTree()
	defer r.paid(t, end-start)
	t.shift = start
	if t.visitItem(text, text.Roots[0], s.path[:2], s.levels[1].column >= 0) != nil {
		return false
	}
	for _, e := range t.edits {
		s.edits = append(s.edits, document.Edit{Start: start + e.Start, End: start + e.End, New: e.New})
	}
	return true
}

// isJSON reports whether the piece is JSON, without which no item of it may be.
func (r *Reader) isJSON(text []byte) bool {
	if r.json == unasked {
		if r.json = no; json.Valid(text) {
			r.json = yes
		}
	}
	return r.json == yes
}

// isJSON is what is known of that.
type isJSON byte

const (
	unasked isJSON = iota
	no
	yes
)

func syntaxFault(err error) *Fault {
	var syntax *document.SyntaxError
	errors.As(err, &syntax)
	return &Fault{Offset: syntax.Offset, Reason: syntax.Reason}
}

// reason says what the scanner cannot read, at an offset or in the line there.
func reason(text []byte, at int) string {
	line := text[min(at, len(text)):]
	if i := strings.IndexByte(string(line[:min(len(line), maxKey)]), '\n'); i >= 0 {
		line = line[:i]
	}
	for i, c := range line[:min(len(line), maxKey)] {
		switch {
		case c == '\t':
			return "a tab"
		case c == '\r':
			return "a carriage return"
		case c == '&':
			return "an anchor"
		case c == '*':
			return "an alias"
		case c == '!':
			return "a tag"
		case c == '?' && i == 0:
			return "an explicit key"
		case c == '%' && i == 0:
			return "a directive"
		}
	}
	return "what stands here"
}

// Forget lets go of the last document, and keeps the room for the next.
func (r *Reader) Forget() {
	r.Rules, r.Skip, r.Visitor, r.fault = nil, nil, nil, nil
	r.aliased = 0
	r.scanner.forget()
	r.tree = tree{}
}

// Room returns how many values there is room for.
func (r *Reader) Room() int { return cap(r.scanner.edits) }
