// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bufio"
	"errors"
	"flag"
	"fmt"
	"io"
	"strings"

	"github.com/cozystack/image-overrides/imageoverrides"
	"github.com/cozystack/image-overrides/internal/document"
	"github.com/cozystack/image-overrides/postrender"
)

const mergeUsage = `usage: imageoverrides merge -t TABLE [FILE...]

Puts the table's post-renderer last into spec.postRenderers of Flux HelmReleases, in place of
an older table's. The releases' own post-renderers stay. An empty table removes
the post-renderer of an older one.

  -t TABLE  the table
` + tableUsage + `
A table that the command check refuses is refused here too.

Manifests are YAML or JSON, any number of documents in a file; without files, and for -, they
come from standard input. Directories are refused. Standard output gets all of them, with
a line --- between files where the next does not begin with one. HelmReleases of every v2
version of helm.toolkit.fluxcd.io are changed, also as items of a List; all else
passes byte for byte, and so do HelmReleases that carry the table already.

Documents are not encoded anew: only the text of the table's post-renderer comes and
goes. Between the items of a list in brackets, as in JSON, white space may change. Where
that cannot be done without doubt, the release is an error: where spec or spec.postRenderers
is an alias, has an anchor, or comes from a merge key, and in rare notations.

Standard error gets a line for each release that changes, and a line with the totals:

  FILE:LINE:COLUMN: HelmRelease NAME: what happened to the table of which hash

The first error ends the work; the documents before it are written by then.

Example:

  imageoverrides merge -t values.yaml releases.yaml
  kubectl get helmreleases -A -o yaml | imageoverrides merge -t values.yaml

Exit status: 0 done, 1 bad input, 2 wrong usage.
`

// merge runs the command merge.
func (s streams) merge(args []string) int {
	flags := flag.NewFlagSet("imageoverrides merge", flag.ContinueOnError)
	tableFile := flags.String("t", "", "")
	if status, ok := s.parse(flags, mergeUsage, args); !ok {
		return status
	}
	files := flags.Args()
	switch {
	case *tableFile == "":
		return s.misuse(flags.Name(), mergeUsage, "-t TABLE is missing")
	case twice(*tableFile, files):
		return s.misuse(flags.Name(), mergeUsage, "the table and the manifests cannot both come from standard input")
	case len(files) == 0:
		files = []string{"-"}
	}
	src, err := s.ready(*tableFile)
	if err != nil {
		return s.fail(err)
	}
	out := &output{w: s.stdout}
	var total merged
	for _, file := range files {
		m, err := s.mergeTo(out, file, src.table)
		for _, c := range m.changes {
			fmt.Fprintf(s.stderr, "%s:%s\n", named(file), c)
		}
		if err != nil {
			return s.fail(err)
		}
		total.documents += m.documents
		total.releases += m.releases
		total.changes = append(total.changes, m.changes...)
	}
	fmt.Fprintf(s.stderr, "%s, %s, %d changed\n", count(total.documents, "document"), count(total.releases, "release"), len(total.changes))
	return 0
}

// merged says what was done to a file.
type merged struct {
	documents, releases int
	changes             []string // the releases that changed, in order
}

// mergeTo copies a file to the output, document by document.
func (s streams) mergeTo(out *output, file string, t imageoverrides.Table) (m merged, err error) {
	f, err := s.open(file)
	if err != nil {
		return m, err
	}
	defer f.Close()
	in := bufio.NewReader(f)
	if err := out.join(in); err != nil {
		return m, err
	}
	for pieces := document.NewSplitter(in, imageoverrides.MaxDocument, nil); ; {
		piece, err := pieces.Next()
		switch {
		case err == io.EOF:
			return m, nil
		case err == document.ErrLimit:
			return m, fmt.Errorf("%s:%d:1: a document of more than %d bytes", named(file), pieces.Line(), imageoverrides.MaxDocument)
		case err != nil:
			return m, err
		}
		text, err := m.piece(piece, t)
		if err != nil {
			return m, fmt.Errorf("%s:%w", named(file), err)
		}
		if _, err := out.Write(text); err != nil {
			return m, err
		}
	}
}

// piece returns a piece of a stream with the table in its releases. The error starts with line
// and column.
func (m *merged) piece(p document.Piece, t imageoverrides.Table) ([]byte, error) {
	if document.Blank(p.Bytes) {
		return p.Bytes, nil
	}
	at := func(offset int) string {
		line, column := document.NewLines(p.Bytes).Position(p.Body + offset)
		return fmt.Sprintf("%d:%d", p.Line-1+line, column)
	}
	text, err := document.Parse(p.Bytes[p.Body:])
	if err != nil {
		var syntax *document.SyntaxError
		if errors.As(err, &syntax) {
			return nil, fmt.Errorf("%s: %s", at(syntax.Offset), syntax.Reason)
		}
		return nil, err
	}
	releases := findReleases(text)
	var edits []edit
	var changes []string
	for _, r := range releases {
		where := at(r.offset()) + ": " + r.name()
		if err := r.read(); err != nil {
			return nil, fmt.Errorf("%s: %w", where, err)
		}
		r.merged = postrender.Merge(r.existing, t)
		if r.unchanged() {
			continue
		}
		e, err := r.edits()
		if err != nil {
			return nil, fmt.Errorf("%s: %w", where, err)
		}
		edits = append(edits, e...)
		changes = append(changes, where+": "+r.change())
	}
	out := p.Bytes
	if edits != nil {
		body := splice(text.Bytes, edits)
		if bad := verify(text, body, releases); bad != nil {
			var names []string
			for _, r := range bad {
				names = append(names, r.name())
			}
			return nil, fmt.Errorf("%s: %s: %w", at(bad[0].offset()), strings.Join(names, ", "), errPlace)
		}
		out = append(out[:p.Body:p.Body], body...)
	}
	m.documents += len(text.Roots)
	m.releases += len(releases)
	m.changes = append(m.changes, changes...)
	return out, nil
}
