// SPDX-License-Identifier: Apache-2.0

package imageoverrides

import (
	"bytes"
	"errors"
	"fmt"
	"io"

	"github.com/cozystack/image-overrides/internal/document"
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
// An unknown and an empty table refuse nothing. All else is as with Rewrite. changed is called for each change, in their order, as soon as its
// document is passed on, and Changes and Edits of the result stay nil then; an error of it ends the work and is returned. It may be
// nil.
func RewriteSource(dst io.Writer, src io.Reader, t Table, changed func(Change) error) (Result, error) {
	var total Result
	if err := t.tooLarge(); err != nil {
		return total, err
	}
	var text bytes.Buffer
	for pieces := document.NewSplitter(src, MaxDocument, nil); ; {
		p, err := pieces.Next()
		switch {
		case err == io.EOF:
			return total, nil
		case err == document.ErrLimit:
			return total, faults{textFault(RuleTooLong, pieces.Line(), 1, fmt.Sprintf("a document of more than %d bytes", MaxDocument))}.err()
		case err != nil:
			return total, err
		}
		text.Reset()
		result, err := Rewrite(&text, bytes.NewReader(p.Bytes), t)
		if err := refused(p, t, result, err); err != nil {
			return total, err
		}
		if _, err := dst.Write(text.Bytes()); err != nil {
			return total, err
		}
		total.Documents += result.Documents
		total.Bytes += result.Bytes
		for _, c := range result.Changes {
			c.Line += p.Line - 1
			c.Offset += p.Offset
			c.Document += total.Documents - result.Documents
			if changed == nil {
				total.Changes = append(total.Changes, c)
			} else if err := changed(c); err != nil {
				return total, err
			}
		}
		for _, e := range result.Edits {
			if e.Offset += p.Offset; changed == nil {
				total.Edits = append(total.Edits, e)
			}
		}
	}
}

// refused returns why RewriteSource refuses a piece that Rewrite has read with that result.
func refused(p document.Piece, t Table, result Result, err error) error {
	body := p.Bytes[p.Body:]
	fault := func(rule Rule, offset int, reason string) *Error {
		line, column := document.NewLines(p.Bytes).Position(p.Body + offset)
		return textFault(rule, p.Line-1+line, column, reason)
	}
	var e *Error
	switch {
	case errors.As(err, &e):
		moved := *e
		moved.Line += p.Line - 1
		if at, ok := refuse.Unparsed(body); ok && t.Len() > 0 {
			if f := fault(RuleTemplate, at, refuse.NotRendered); f.Line < moved.Line || f.Line == moved.Line && f.Column <= moved.Column {
				return faults{f}.err()
			}
		}
		return faults{&moved}.err()
	case err != nil:
		return err
	case t.Len() == 0:
		return nil
	case !bytes.Contains(body, []byte("{{")) && (len(result.Changes) == 0 || !bytes.Contains(body, []byte(refuse.SOPS))):
		return nil
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
