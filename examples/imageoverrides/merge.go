// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bufio"
	"errors"
	"flag"
	"fmt"

	"github.com/cozystack/image-overrides/imageoverrides"
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
	var total postrender.Result
	for _, file := range files {
		if err := s.mergeTo(&total, out, file, src.Table); err != nil {
			return s.fail(err)
		}
	}
	say(s.stderr, totals(total))
	return 0
}

// totals says what was done.
func totals(r postrender.Result) string {
	text := fmt.Sprintf("%s, %s, %d changed", count(r.Documents, "document"), count(r.Changed+r.Kept+r.Patches, "release"), r.Changed)
	if r.Patches > 0 {
		text += fmt.Sprintf(", %d left alone", r.Patches)
	}
	if r.Unreached > 0 {
		text += fmt.Sprintf(", %d not reached", r.Unreached)
	}
	return text
}

// mergeTo copies a file to the output, with the table in its releases. What becomes of them is told as their document is
// done.
func (s streams) mergeTo(total *postrender.Result, out *output, file string, t imageoverrides.Table) error {
	f, err := s.open(file)
	if err != nil {
		return err
	}
	defer f.Close()
	in := bufio.NewReader(f)
	if err := out.join(in); err != nil {
		return err
	}
	found := func(releases []postrender.Release) error {
		for _, r := range releases {
			if r.Outcome != postrender.Kept {
				say(s.stderr, named(file)+position(r.Line, r.Column)+": "+r.String())
			}
		}
		return nil
	}
	result, err := postrender.Rewriter{Found: found}.Rewrite(out, in, t)
	total.Documents += result.Documents
	total.Changed += result.Changed
	total.Kept += result.Kept
	total.Patches += result.Patches
	total.Unreached += result.Unreached
	var e *postrender.Error
	if errors.As(err, &e) {
		return fmt.Errorf("%s%s: %s", named(file), position(e.Line, e.Column), e.Reason())
	}
	return err
}
