// SPDX-License-Identifier: Apache-2.0

package imageoverrides

import (
	"bytes"
	"errors"
	"fmt"
	"io"

	"github.com/cozystack/image-overrides/internal/manifest/document"
	"github.com/cozystack/image-overrides/internal/node"
	"github.com/cozystack/image-overrides/internal/refuse"
)

// RewriteSource is [Rewrite] for manifests that people keep, as against those that a program has rendered a moment ago. It refuses what
// must not be edited there, as an [*Error] at its place:
//
//   - a template that nobody rendered ([RuleTemplate]): an action where a value stands, or in the name of an object, or one
//     of Helm in the image of a container. Some of these parse, and Rewrite passes them on;
//   - a document that would change and that SOPS has signed ([RuleSigned]), unless its mac_only_encrypted is true, or an item of
//     a list of objects that has a signature of its own.
//
// An unknown and an empty table refuse nothing. All else is as with Rewrite, but that a document which has to be looked
// through for these, with {{ in it or with changes and the word sops, may have one and a half million values, keys among them.
func RewriteSource(dst io.Writer, src io.Reader, t Table) (Result, error) {
	return Rewriter{}.RewriteSource(dst, src, t)
}

// RewriteSource does the work of the function [RewriteSource].
func (o Rewriter) RewriteSource(dst io.Writer, src io.Reader, t Table) (Result, error) {
	var total Result
	if err := t.tooLarge(); err != nil {
		return total, err
	}
	limit := o.Limit
	if limit == 0 {
		limit = MaxDocument
	}
	var text bytes.Buffer
	for pieces := document.NewSplitter(src, limit, nil); ; {
		p, err := pieces.Next()
		switch {
		case err == io.EOF:
			return total, nil
		case err == document.ErrLimit:
			return total, faults{textFault(RuleTooLong, pieces.Line(), 1, fmt.Sprintf("a document of more than %d bytes", limit))}.err()
		case err != nil:
			return total, err
		}
		text.Reset()
		result, err := Rewriter{Limit: limit}.Rewrite(&text, bytes.NewReader(p.Bytes), t)
		if err := refused(p, t, result, err); err != nil {
			return total, err
		}
		move(&result, p, total.Documents)
		if o.Changed == nil {
			total.Changes = append(total.Changes, result.Changes...)
			total.Edits = append(total.Edits, result.Edits...)
		} else if len(result.Changes) > 0 {
			if err := o.Changed(result.Changes, result.Edits); err != nil {
				return total, err
			}
		}
		if _, err := dst.Write(text.Bytes()); err != nil {
			return total, err
		}
		total.Documents += result.Documents
		total.Bytes += result.Bytes
	}
}

// move gives the changes and edits of a piece the places that they have in the stream, behind that many documents.
func move(result *Result, p document.Piece, documents int) {
	for i := range result.Changes {
		c := &result.Changes[i]
		c.Line, c.Column = moved(c.Line, c.Column, p)
		c.Offset += p.Offset
		c.Document += documents
	}
	for i := range result.Edits {
		result.Edits[i].Offset += p.Offset
	}
}

// moved gives a line and a column of a piece as those of the stream.
func moved(line, column int, p document.Piece) (int, int) {
	if line == 1 {
		column += p.Column - 1
	}
	return p.Line - 1 + line, column
}

// refused returns why RewriteSource refuses a piece that Rewrite has read with that result.
func refused(p document.Piece, t Table, result Result, err error) error {
	body := p.Bytes[p.Body:]
	fault := func(rule Rule, offset int, reason string) *Error {
		line, column := p.Position(p.Body + offset)
		return textFault(rule, line, column, reason)
	}
	var e *Error
	switch {
	case errors.As(err, &e):
		there := *e
		there.Line, there.Column = moved(e.Line, e.Column, p)
		if at, ok := refuse.Unparsed(body); ok && t.Len() > 0 {
			if f := fault(RuleTemplate, at, refuse.NotRendered); f.Line < there.Line || f.Line == there.Line && f.Column <= there.Column {
				return faults{f}.err()
			}
		}
		return faults{&there}.err()
	case err != nil:
		return err
	case t.Len() == 0:
		return nil
	}
	action, signature := bytes.Index(body, []byte("{{")), -1
	if len(result.Changes) > 0 {
		signature = bytes.Index(body, []byte(refuse.SOPS))
	}
	switch {
	case action < 0 && signature < 0:
		return nil
	case !refuse.Large(body):
	case action >= 0:
		return faults{fault(RuleTooLong, action, refuse.TooManyValues+"what may be a template")}.err()
	default:
		return faults{fault(RuleTooLong, signature, refuse.TooManyValues+"what may be a signature of SOPS")}.err()
	}
	text, err := document.Parse(body)
	if err != nil { // Rewrite has other ways to read it
		return nil
	}
	var f node.Finder
	if at, ok := refuse.Template(text, &f); ok {
		return faults{fault(RuleTemplate, at, refuse.NotRendered)}.err()
	}
	signatures := refuse.Signatures{Text: text, Find: &f}
	for _, c := range result.Changes {
		if at, ok := signatures.Over(c.Document, c.Path); ok {
			return faults{fault(RuleSigned, at, c.Object.String()+": "+refuse.Signed)}.err()
		}
	}
	return nil
}
