// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bufio"
	"bytes"
	"flag"
	"fmt"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/cozystack/image-overrides/imageoverrides/audit"
)

const auditUsage = `usage: imageoverrides audit -t TABLE [FLAGS] FILE...

Says of every image of manifests what becomes of it under the table: rewritten, kept,
missed by the entry that is meant for it, standing where Flux does not look, or
suspected; and which entries meet nothing, and what will make Flux refuse a release.

  -t TABLE          the table
  -o FORMAT         text (the default), json, markdown, or images: the plain list of the
                    images that the platform will run
  -allow PREFIX     a registry, or a path in one, that images may come from in the end;
                    may be given again and again
  -hooks KIND       reached (the default) or kept: what Flux does with Helm's hooks
  -fail KINDS       what to fail on, with commas between: missed, unused, errors (of what
                    Flux refuses; risks is the same), unreached, suspected, kept, outside,
                    warnings, none. The default is missed,unused,errors
  -baseline FILE    what is known and accepted: it is left out of the text, and nothing
                    fails on it
  -write FILE       writes such a file, of all that -fail names
` + tableUsage + `
A table that the command check refuses is refused here too.

Manifests are YAML or JSON, any number of documents in a file, each file a release. For -
they come from standard input. A document that cannot be read is told, and the next is read.

Example:

  imageoverrides audit -t values.yaml manifests/*.yaml
  kubectl get deploy,ds,sts,cm -A -o yaml | imageoverrides audit -t values.yaml -
  helm template cilium ./cilium | imageoverrides audit -t values.yaml -fail unreached -

Exit status: 0 nothing to fail on, 1 something to fail on or bad input, 2 wrong usage.
`

// words are a flag that may be given again and again.
type words []string

func (w *words) String() string     { return strings.Join(*w, ",") }
func (w *words) Set(s string) error { *w = append(*w, s); return nil }

// audit runs the command audit.
func (s streams) audit(args []string) int {
	flags := flag.NewFlagSet("imageoverrides audit", flag.ContinueOnError)
	tableFile, format := flags.String("t", "", ""), flags.String("o", "text", "")
	var allow words
	flags.Var(&allow, "allow", "")
	hooks, fail := flags.String("hooks", "reached", ""), flags.String("fail", "missed,unused,errors", "")
	baseline, write := flags.String("baseline", "", ""), flags.String("write", "", "")
	if status, ok := s.parse(flags, auditUsage, args); !ok {
		return status
	}
	kinds, unknown := kindsOf(*fail)
	switch {
	case *tableFile == "":
		return s.misuse(flags.Name(), auditUsage, "-t TABLE is missing")
	case flags.NArg() == 0:
		return s.misuse(flags.Name(), auditUsage, "no files; - is standard input")
	case twice(*tableFile, flags.Args()):
		return s.misuse(flags.Name(), auditUsage, "the table and the manifests cannot both come from standard input")
	case !slices.Contains([]string{"text", "json", "markdown", "images"}, *format):
		return s.misuse(flags.Name(), auditUsage, fmt.Sprintf("-o %q is none of text, json, markdown and images", *format))
	case *hooks != "reached" && *hooks != "kept":
		return s.misuse(flags.Name(), auditUsage, fmt.Sprintf("-hooks %q is neither reached nor kept", *hooks))
	case unknown != "":
		return s.misuse(flags.Name(), auditUsage, fmt.Sprintf("-fail: there is no %q", unknown))
	case slices.Contains(kinds, audit.KindOutside) && len(allow) == 0:
		return s.misuse(flags.Name(), auditUsage, "-fail outside needs -allow, for nothing is outside without it")
	}
	src, err := s.ready(*tableFile)
	if err != nil {
		return s.fail(err)
	}
	var accepted audit.Baseline
	if *baseline != "" {
		if accepted, err = s.baseline(*baseline); err != nil {
			return s.fail(err)
		}
	}
	a := audit.New(src.Table, audit.Options{Hooks: audit.Hooks(*hooks), Allowed: allow})
	progress := s.progress(flags.NArg())
	for i, file := range flags.Args() {
		progress(i)
		if err := s.auditFile(a, file); err != nil {
			progress(-1)
			return s.fail(err)
		}
	}
	progress(-1)
	report := a.Report()
	if *write != "" {
		var text bytes.Buffer
		report.WriteBaseline(&text, kinds...) // a buffer takes everything
		if err := os.WriteFile(*write, text.Bytes(), 0o666); err != nil {
			return s.fail(fileError(*write, err))
		}
	}
	switch *format { // the sink remembers an error
	case "json":
		report.WriteJSON(s.stdout)
	case "markdown":
		report.WriteMarkdown(s.stdout, accepted)
	case "images":
		w := bufio.NewWriter(s.stdout)
		for _, image := range report.Images() {
			fmt.Fprintln(w, shownImage(image))
		}
		w.Flush()
	default:
		report.WriteText(s.stdout, accepted)
	}
	for _, f := range report.Findings() {
		if slices.Contains(kinds, f.Kind) && !accepted[f.Key] && *write == "" {
			return 1
		}
	}
	return 0
}

// auditFile adds a file.
func (s streams) auditFile(a *audit.Audit, file string) error {
	f, err := s.open(file)
	if err != nil {
		return err
	}
	defer f.Close()
	return a.Add(named(file), f)
}

// baseline reads a baseline.
func (s streams) baseline(file string) (audit.Baseline, error) {
	f, err := s.open(file)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return audit.ReadBaseline(f)
}

// kindsOf reads what to fail on.
func kindsOf(list string) (kinds []audit.Kind, unknown string) {
	for word := range strings.SplitSeq(list, ",") {
		switch word = strings.TrimSpace(word); {
		case word == "none" || word == "":
		case word == "risks":
			kinds = append(kinds, audit.KindError)
		case slices.Contains(audit.Kinds, audit.Kind(word)):
			kinds = append(kinds, audit.Kind(word))
		default:
			return nil, word
		}
	}
	return kinds, ""
}

// progress tells how far the work is, where standard error is a terminal and the work takes longer than a person waits. A negative
// number of files clears the line.
func (s streams) progress(files int) func(done int) {
	f, ok := s.stderr.(*sink).w.(*os.File)
	if info, err := statOf(f, ok); err != nil || info.Mode()&os.ModeCharDevice == 0 {
		return func(int) {}
	}
	start, told := time.Now(), false
	return func(done int) {
		switch {
		case done < 0 && told:
			fmt.Fprint(s.stderr, "\r\x1b[K")
		case done >= 0 && time.Since(start) > time.Second:
			told = true
			fmt.Fprintf(s.stderr, "\r\x1b[Kaudit: %d of %d files", done, files)
		}
	}
}

func statOf(f *os.File, ok bool) (os.FileInfo, error) {
	if !ok {
		return nil, os.ErrInvalid
	}
	return f.Stat()
}
