// SPDX-License-Identifier: Apache-2.0

package postrender

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"strings"

	helmv2 "github.com/fluxcd/helm-controller/api/v2"

	"github.com/cozystack/image-overrides/imageoverrides"
	"github.com/cozystack/image-overrides/internal/manifest/document"
	"github.com/cozystack/image-overrides/internal/refuse"
	"github.com/cozystack/image-overrides/internal/release"
)

// Rewrite copies manifests from src to dst, and gives their HelmReleases the post-renderers that [Merge] gives them. Every byte
// that is not of a list of post-renderers which changes stays: comments, quotes, order, line breaks; and so do the items
// that the release has of its own, but for white space between the items of a list in brackets, as in JSON. A release
// that is in step with the table ([Carries]) keeps every byte. With an unknown table all bytes are copied, nothing is parsed,
// and no release is told.
//
// src holds YAML or JSON documents, any number of them; JSON values in a row are documents too. Rewrite reads and writes one at a
// time, and holds one in memory. One in which the word HelmRelease stands, or {{, is parsed, and held twice as a tree; it may have
// one and a half million values, keys among them. The result has all releases, for those who do not take them one by one with a [Rewriter]. Releases
// are those of every v2 version of helm.toolkit.fluxcd.io, also as items of a list object (a kind that ends in List), and not
// patches of releases. What else looks like one is told, and stays as it is; see [Outcome]. Empty input gives an empty result.
//
// An [*Error] ends the work. The documents before it were written, and nothing of it or after it. It comes for
//
//   - text that is neither YAML nor JSON, a document of more than [imageoverrides.MaxDocument] bytes, and one of too many
//     values that has to be parsed; the error says why it has to be;
//   - a template that nobody rendered: an action where a value stands, or in the name of an object;
//   - a release that would change and that SOPS has signed, unless its mac_only_encrypted is true;
//   - a release whose spec.postRenderers is no list of post-renderers, or whose table has fields that v2 does not know;
//   - a release that would change and cannot be edited without doubt: spec or spec.postRenderers is an alias, has an
//     anchor or comes from a merge key, or is written in a rare notation.
//
// Any other error is that of src or dst, as it is. The result is filled in all cases.
func Rewrite(dst io.Writer, src io.Reader, t imageoverrides.Table) (Result, error) {
	return Rewriter{}.Rewrite(dst, src, t)
}

// A Rewriter is Rewrite with options. Its zero value is [Rewrite].
type Rewriter struct {
	// Limit is how long a document may be, in bytes, the separator line in front of it included. 0 is
	// imageoverrides.MaxDocument, and a negative one 0.
	Limit int

	// Found, where it is set, is called with the releases of each document that has any, in the order of Result.Releases and before
	// the document is written; it may not keep the list. The result has none of them then, so that it does not grow with src. An error ends
	// the work as one of dst does, and is returned as it is; the document is not written.
	Found func([]Release) error
}

// Rewrite is the function [Rewrite].
func (w Rewriter) Rewrite(dst io.Writer, src io.Reader, t imageoverrides.Table) (Result, error) {
	r := rewriter{Rewriter: w, table: t, dst: bufio.NewWriterSize(dst, 64<<10)}
	if r.Limit == 0 {
		r.Limit = imageoverrides.MaxDocument
	}
	err := r.stream(src)
	if flushed := r.dst.Flush(); flushed != nil {
		err = flushed
	}
	return r.result, err
}

// A rewriter does one Rewrite.
type rewriter struct {
	Rewriter
	table   imageoverrides.Table
	dst     *bufio.Writer
	skipper release.Skipper
	result  Result

	// The piece of the stream that is being read.
	piece document.Piece
	found []Release
}

func (r *rewriter) stream(src io.Reader) error {
	// What is done is written before a read may block.
	for pieces := document.NewSplitter(src, r.Limit, r.dst.Flush); ; {
		var err error
		r.piece, err = pieces.Next()
		switch {
		case err == io.EOF:
			return nil
		case err == document.ErrLimit:
			return &Error{Rule: imageoverrides.RuleTooLong, Line: pieces.Line(), Column: 1, text: fmt.Sprintf("a document of more than %d bytes", r.Limit)}
		case err != nil:
			return err
		}
		r.found = r.found[:0]
		body := r.piece.Bytes[r.piece.Body:]
		text, documents, err := r.document(body)
		if err != nil {
			return err
		}
		if len(r.found) > 0 && r.Found != nil {
			if err := r.Found(r.found); err != nil {
				return err
			}
		}
		if _, err := r.dst.Write(r.piece.Bytes[:r.piece.Body]); err != nil {
			return err
		}
		if _, err := r.dst.Write(text); err != nil {
			return err
		}
		r.add(documents)
	}
}

// add adds a piece to the result.
func (r *rewriter) add(documents int) {
	r.result.Documents += documents
	r.result.Bytes += int64(len(r.piece.Bytes))
	for _, f := range r.found {
		switch {
		case f.Outcome.Changed():
			r.result.Changed++
		case f.Outcome == Kept:
			r.result.Kept++
		case f.Outcome == Patch:
			r.result.Patches++
		default:
			r.result.Unreached++
		}
	}
	if r.Found == nil {
		r.result.Releases = append(r.result.Releases, r.found...)
	}
}

// document returns the text of a piece with the table in its releases, and how many documents it holds.
func (r *rewriter) document(body []byte) (text []byte, documents int, err error) {
	switch {
	case document.Blank(r.piece.Bytes):
		return body, 0, nil
	case !r.table.Known():
		return body, 1, nil
	}
	if documents, ok := r.skipper.Skip(r.piece); ok {
		return body, documents, nil
	}
	if refuse.Large(body) {
		at, what := release.Why(body)
		return nil, 0, r.fault(imageoverrides.RuleTooLong, at, refuse.TooManyValues+what)
	}
	parsed, err := document.Parse(body)
	if err != nil {
		var syntax *document.SyntaxError
		errors.As(err, &syntax) // which it always is
		if at, ok := refuse.Unparsed(body); ok && at <= syntax.Offset {
			return nil, 0, r.fault(imageoverrides.RuleTemplate, at, refuse.NotRendered)
		}
		return nil, 0, r.fault(imageoverrides.RuleSyntax, syntax.Offset, syntax.Reason)
	}
	in := release.Find(parsed)
	if at, ok := in.Template(); ok {
		return nil, 0, r.fault(imageoverrides.RuleTemplate, at, refuse.NotRendered)
	}
	for _, one := range in.Releases {
		if err := r.release(one); err != nil {
			return nil, 0, err
		}
	}
	for _, o := range in.Outsiders() {
		f := r.at(Release{Document: o.Document, Object: o.Object, Path: o.Path, Outcome: Inside}, o.Offset)
		switch {
		case o.InText:
			f.Outcome = InText
		case o.Path == "" && strings.HasPrefix(o.Object.APIVersion, release.Version):
			f.Outcome = Aliased
		case o.Path == "":
			f.Outcome = OtherVersion
		}
		r.found = append(r.found, f)
	}
	text, bad := in.Apply()
	if bad != nil {
		return nil, 0, r.refuse(bad[0].Offset(), release.ErrPlace, bad...)
	}
	return text, len(parsed.Roots), nil
}

// release plans what becomes of a release.
func (r *rewriter) release(one *release.Release) error {
	at := one.Offset()
	f := r.at(Release{Document: one.Document, Object: one.Object(), Path: one.Path(), Outcome: Patch}, at)
	if one.IsPatch() {
		r.found = append(r.found, f)
		return nil
	}
	if err := one.Read(marked); err != nil {
		return r.refuse(at, err, one)
	}
	f.Outcome = Kept
	f.Before, _ = Hash(one.Existing)
	f.After = f.Before
	if !Carries(one.Existing, r.table) {
		one.Merged = Merge(one.Existing, r.table)
		f.After, _ = Hash(one.Merged)
		f.Outcome = outcome(one.Existing, one.Merged)
		if key, signed := one.Signature(); signed {
			e := r.fault(imageoverrides.RuleSigned, key, f.Object.String()+": "+refuse.Signed)
			e.Object = f.Object
			return e
		}
		if err := one.Edit(); err != nil {
			return r.refuse(at, err, one)
		}
	}
	r.found = append(r.found, f)
	return nil
}

// outcome says what a merge did.
func outcome(existing, merged []helmv2.PostRenderer) Outcome {
	older, had := Hash(existing)
	newer, has := Hash(merged)
	switch {
	case !had:
		return Added
	case !has:
		return Removed
	case older == newer:
		return Repaired
	}
	return Replaced
}

// at gives a release its place, which is an offset in the body of the piece.
func (r *rewriter) at(f Release, offset int) Release {
	offset += r.piece.Body
	f.Line, f.Column = r.piece.Position(offset)
	f.Offset = r.piece.Offset + int64(offset)
	f.Document += r.result.Documents
	return f
}

// fault is an error at an offset in the body of the piece.
func (r *rewriter) fault(rule imageoverrides.Rule, offset int, text string) *Error {
	f := r.at(Release{}, offset)
	return &Error{Rule: rule, Line: f.Line, Column: f.Column, text: text}
}

// refuse is an error of releases.
func (r *rewriter) refuse(offset int, err error, releases ...*release.Release) *Error {
	e := r.fault(ruleOf(err), offset, told(releases, err))
	e.Object = releases[0].Object()
	return e
}
