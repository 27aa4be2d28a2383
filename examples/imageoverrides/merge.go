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
	"github.com/cozystack/image-overrides/internal/manifest/document"
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

A HelmRelease without a chart (spec.chart, spec.chartRef) is a patch of another, whose list
of post-renderers it would replace; it is left alone. HelmReleases inside other objects, in
their texts, and of other versions are not reached. One that would change and that SOPS
has signed (sops.mac, unless mac_only_encrypted) is an error, and so is a template that nobody
rendered.

Standard error gets a line for each release that changes, is left alone or is not
reached, and a line with the totals:

  FILE:LINE:COLUMN: HelmRelease NAME: what happened to the table of which hash

The first error ends the work; the documents before it are written by then.

Example:

  imageoverrides merge -t values.yaml releases.yaml
  kubectl get helmreleases -A -o yaml | imageoverrides merge -t values.yaml

Exit status: 0 done, 1 bad input or a failed write, 2 wrong usage.
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
		for _, line := range m.lines {
			say(s.stderr, named(file)+":"+line)
		}
		if err != nil {
			return s.fail(err)
		}
		total.add(m)
	}
	say(s.stderr, total.String())
	return 0
}

// leftAlone is said of a patch.
const leftAlone = "left alone: a patch of another release, for it names no chart (spec.chart or spec.chartRef)"

// merged says what was done to a file.
type merged struct {
	documents, releases, changed int
	left, inside                 int      // releases that were left alone, and those inside other objects
	lines                        []string // what happened, in order
}

func (m *merged) add(more merged) {
	m.documents += more.documents
	m.releases += more.releases
	m.changed += more.changed
	m.left += more.left
	m.inside += more.inside
	m.lines = append(m.lines, more.lines...)
}

// String gives the totals.
func (m *merged) String() string {
	text := fmt.Sprintf("%s, %s, %d changed", count(m.documents, "document"), count(m.releases, "release"), m.changed)
	if m.left > 0 {
		text += fmt.Sprintf(", %d left alone", m.left)
	}
	if m.inside > 0 {
		text += fmt.Sprintf(", %d not reached", m.inside)
	}
	return text
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
			return m, tooLong(named(file), pieces.Line())
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
	lines := document.NewLines(p.Bytes)
	at := func(offset int) string {
		line, column := lines.Position(p.Body + offset)
		return fmt.Sprintf("%d:%d", p.Line-1+line, column)
	}
	body := p.Bytes[p.Body:]
	text, err := document.Parse(body)
	if err != nil {
		var syntax *document.SyntaxError
		if !errors.As(err, &syntax) {
			return nil, err
		}
		if action, ok := action(body); ok && action <= syntax.Offset {
			return nil, fmt.Errorf("%s: %s", at(action), notRendered)
		}
		return nil, fmt.Errorf("%s: %s", at(syntax.Offset), syntax.Reason)
	}
	for _, find := range []func(*document.Text) (int, bool){parsedAction, quotedAction} {
		if action, ok := find(text); ok {
			return nil, fmt.Errorf("%s: %s", at(action), notRendered)
		}
	}
	here := merged{documents: len(text.Roots)}
	releases := findReleases(text)
	var edits []edit
	for _, r := range releases {
		where := at(r.offset()) + ": " + r.name()
		if r.isPatch() {
			here.left++
			here.lines = append(here.lines, where+": "+leftAlone)
			continue
		}
		if err := r.read(); err != nil {
			return nil, fmt.Errorf("%s: %w", where, err)
		}
		r.merged = postrender.Merge(r.existing, t)
		if r.unchanged() {
			continue
		}
		if r.sops != nil {
			key, _ := text.Offset(r.sops)
			return nil, fmt.Errorf("%s: %s: %s", at(key), r.name(), signed)
		}
		e, err := r.edits()
		if err != nil {
			return nil, fmt.Errorf("%s: %w", where, err)
		}
		edits = append(edits, e...)
		here.changed++
		here.lines = append(here.lines, where+": "+r.change())
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
	for _, u := range unreached(text, releases) {
		offset, _ := text.Offset(u.node)
		here.inside++
		here.lines = append(here.lines, at(offset)+": "+u.what+": not reached")
	}
	here.releases = len(releases)
	m.add(here)
	return out, nil
}
