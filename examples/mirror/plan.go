// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"slices"
	"strings"

	"github.com/cozystack/image-overrides/imageoverrides"
	"github.com/cozystack/image-overrides/imageoverrides/audit"
	"github.com/cozystack/image-overrides/imageoverrides/mirror"
	"github.com/cozystack/image-overrides/internal/quote"
	"github.com/cozystack/image-overrides/internal/replace"
	"github.com/cozystack/image-overrides/reference"
)

const planUsage = `usage: mirror plan -m HOST[/REPOSITORY] [-t TABLE [-w]] [-o FORMAT] [FLAGS] FILE...

Makes the table that runs the images of manifests out of a mirror. No registry is asked.

  -t TABLE       a table that the new entries are put into; without it the values of a platform chart
                 that have nothing else
  -w             write the file itself, and not to standard output
  -o FORMAT      not the table, but what has to be copied for it: pairs (for mirror copy), or in the words
                 of skopeo, hauler or zarf
` + planningUsage + `
It writes and ends with 1 where something is left, for what is in the table stands. Entries for names that no manifest has any more
are told by imageoverrides audit.

Exit status: 0 the table brings all that Flux reaches into the mirror, 1 something that Flux reaches is left, or a
document cannot be read, or a format has no words for a copy, 2 wrong usage, a file that cannot be read, edited or written, or images
that would have no name of their own in the mirror.
`

// What is planned, for every command that plans.
const planningUsage = `
What is planned:

  -m HOST[/REPOSITORY]
                 the mirror: a registry with its port, and the path that all names in it begin with
  -without-host  the host that an image comes from is no part of its name in the mirror
  -skip IMAGE    an image that stays as it is: its name as manifests spell it, or that with its tag; may be
                 given more than once
  -hooks KIND    reached (the default) or kept: what Flux does with Helm's hooks

All images that the platform runs are brought into the mirror, also those that stand where Flux does not look, in
arguments, variables, ConfigMaps, custom resources: mirror patches is for these, and takes the same table. Each spelling of a
name gets an entry behind those that are there, which stay as they are and win. Standard error tells with its place what the
table does not do: an image that is left, and why; one where Flux does not look; one that only reads like an
image, and is not copied; a document that cannot be read, or will make Flux refuse its release.
` + tableUsage + manifestsUsage + `A report of imageoverrides audit -o json stands for the manifests that it is of, with their hooks as they were to it.
`

// A planning is the flags of planningUsage, and the table's file.
type planning struct {
	place, file, hooks string
	withoutHost        bool
	skip               list
}

func (p *planning) flags(f *flag.FlagSet) {
	f.StringVar(&p.place, "m", "", "")
	f.StringVar(&p.file, "t", "", "")
	f.StringVar(&p.hooks, "hooks", string(audit.HooksReached), "")
	f.BoolVar(&p.withoutHost, "without-host", false, "")
	f.Var(&p.skip, "skip", "")
}

// misuse says what is wrong with the flags and the files, or nothing.
func (p *planning) misuse(files []string) string {
	switch {
	case p.place == "":
		return "-m HOST[/REPOSITORY] is missing"
	case len(files) == 0:
		return "no files; - is standard input"
	case p.file == "-" && slices.Contains(files, "-"):
		return "the table and the manifests cannot both come from standard input"
	case p.hooks != string(audit.HooksReached) && p.hooks != string(audit.HooksKept):
		return fmt.Sprintf("-hooks %q is neither reached nor kept", p.hooks)
	}
	return ""
}

// A plan is the table that runs a platform out of a mirror, and what has to be there.
type plan struct {
	mirror mirror.Mirror
	file   string
	text   []byte               // of the file
	own    imageoverrides.Table // in the text
	report *audit.Report        // of the manifests
	images []string             // that the platform runs
	table  imageoverrides.Table
	left   map[string]mirror.Left // by image
	copies []mirror.Copy

	lost, unreached, suspected, unread int // what tell has told
}

// noTable is the text that a table is put into where none is given.
const noTable = "registries:\n  imageOverrides: []\n"

// derive reads the manifests and the table, and makes a plan.
func (s streams) derive(p *planning, files []string) (*plan, error) {
	host, repository, slash := strings.Cut(p.place, "/")
	l := &plan{mirror: mirror.Mirror{Host: host, Repository: repository, WithoutHost: p.withoutHost}, file: p.file, left: make(map[string]mirror.Left)}
	err := l.mirror.Validate()
	if slash && repository == "" {
		err = errors.New("a repository belongs behind the slash")
	}
	if err != nil {
		return nil, fmt.Errorf("-m %s: %w", quote.Value(p.place), err)
	}
	if p.file == "" {
		l.text = []byte(noTable)
	} else if l.own, l.text, err = s.table(p.file); err != nil {
		return nil, err
	}
	if l.report, err = s.inventory(audit.New(l.own, audit.Options{Hooks: audit.Hooks(p.hooks)}), files); err != nil {
		return nil, err
	}
	places := skip(l.report, p.skip)
	for _, one := range p.skip {
		if places[one] == 0 {
			s.say(fmt.Sprintf("-skip %s: no image of the manifests is called so", quote.Plain(one)))
		}
	}
	for _, f := range images(l.report, runs) {
		l.images = append(l.images, f.image)
	}
	var left []mirror.Left
	if l.table, left, err = l.mirror.Table(l.own, l.images); err != nil {
		return nil, err
	}
	for _, one := range left {
		l.left[one.Image] = one
	}
	l.copies, err = l.mirror.Copies(l.table, l.images)
	return l, err
}

// tell says what a plan does not cover, a line for each image with the first of its places.
func (s streams) tell(l *plan) {
	var lines []string
	for _, f := range images(l.report, reached) {
		if left, ok := l.left[f.image]; ok {
			lines = append(lines, f.line("is left: "+left.Reason))
		}
	}
	l.lost = s.list(lines)
	lines = nil
	for _, f := range images(l.report, unreached) {
		if image, err := reference.Parse(f.image); err == nil && l.mirror.Holds(image) {
			continue
		}
		text := "stands where Flux does not look: " + f.first.Advice()
		if left, ok := l.left[f.image]; ok {
			text += "; it is not in the mirror: " + left.Reason
		} else if outcome, _ := l.table.Apply(f.image); outcome != f.image {
			text += "; the mirror's is " + quote.Plain(outcome)
		}
		lines = append(lines, f.line(text))
	}
	if l.unreached = s.list(lines); l.unreached > 0 {
		s.say("mirror patches is for what stands where Flux does not look")
	}
	lines = nil
	for _, f := range images(l.report, suspected) {
		lines = append(lines, f.line("reads like an image, and is not copied: "+f.first.Advice()))
	}
	l.suspected = s.list(lines)
	l.unread = s.list(unread(l.report))
	if values := images(l.report, inValues); len(values) > 0 {
		s.say(values[0].line(fmt.Sprintf("and %s stand in the values of releases: plan with what their charts render too", count(len(values)-1, "other image"))))
	}
}

// status is the exit status that a plan has by itself.
func (l *plan) status() int {
	if l.lost+l.unread > 0 {
		return statusMissing
	}
	return statusThere
}

// summary says in words what tell has told.
func (l *plan) summary() string {
	return fmt.Sprintf("%d left, %d where Flux does not look, %d suspected, %s in manifests", l.lost, l.unreached, l.suspected, count(l.unread, "fault"))
}

// with returns the plan's text with a table that is made of its own.
func (l *plan) with(t imageoverrides.Table) ([]byte, error) {
	text, err := imageoverrides.Replace(l.text, t)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", named(l.file), err)
	}
	return text, nil
}

// write writes a text into the plan's file, if it changes it. Where the file is not what the plan was made of any more it stays, and that is an error.
func (s streams) write(l *plan, text []byte) (changed bool, err error) {
	if bytes.Equal(text, l.text) {
		return false, nil
	}
	now, err := s.read(l.file)
	if err == nil && !bytes.Equal(now, l.text) {
		err = fmt.Errorf("%s: has been changed meanwhile; try again", named(l.file))
	}
	if err != nil {
		return false, err
	}
	return true, replace.File(l.file, text)
}

// writable says why a file could not be written in the end, before anything is done for it.
func writable(file string) error {
	info, err := os.Stat(file)
	if err != nil {
		return err
	}
	if !info.Mode().IsRegular() {
		return fmt.Errorf("%s: is no file that can be read again and replaced", named(file))
	}
	f, err := os.OpenFile(file, os.O_WRONLY, 0)
	if err != nil {
		return err
	}
	return f.Close()
}

// plan runs the command plan.
func (s streams) plan(_ context.Context, args []string) int {
	flags := flag.NewFlagSet("mirror plan", flag.ContinueOnError)
	var p planning
	p.flags(flags)
	format, inPlace := flags.String("o", "", ""), flags.Bool("w", false, "")
	if status, ok := s.parse(flags, planUsage, args); !ok {
		return status
	}
	reason := p.misuse(flags.Args())
	switch {
	case reason != "":
	case *format != "" && !slices.Contains(mirror.Formats(), mirror.Format(*format)):
		reason = fmt.Sprintf("-o %q is none of %s", *format, strings.Trim(fmt.Sprint(mirror.Formats()), "[]"))
	case *inPlace && *format != "":
		reason = "-w writes the table, and -o something else"
	case *inPlace && p.file == "":
		reason = "-w needs -t TABLE"
	case *inPlace && p.file == "-":
		reason = "standard input cannot be written"
	}
	if reason != "" {
		return s.misuse(flags.Name(), planUsage, reason)
	}
	if *inPlace {
		if err := writable(p.file); err != nil {
			return s.fail(err)
		}
	}
	l, err := s.derive(&p, flags.Args())
	if err != nil {
		return s.fail(err)
	}
	s.tell(l)
	status := l.status()
	var copies []mirror.Copy
	var lines []string
	places := make(map[string]bool)
	for _, c := range l.copies {
		switch place := c.Place.String(); {
		case !c.From.IsValid():
			lines = append(lines, quote.Plain(c.To.String())+": nobody has said what it is a copy of, so it has to be there already")
		case !places[place]:
			places[place] = true
			copies = append(copies, c)
		}
	}
	s.list(lines)
	if *format != "" {
		left, err := mirror.Write(s.stdout, mirror.Format(*format), copies)
		if err != nil {
			return s.fail(err)
		}
		lines = nil
		for _, c := range left {
			status = statusMissing
			lines = append(lines, fmt.Sprintf("%s: %s has no words for a copy to %s; mirror copy has", quote.Plain(c.From.String()), *format, quote.Plain(c.To.String())))
		}
		s.list(lines)
		s.say(fmt.Sprintf("%s, %s, %d not written; %s", count(len(l.images), "image"), count(len(copies), "copy"), len(left), l.summary()))
		return status
	}
	text, err := l.with(l.table)
	if err != nil {
		return s.fail(err)
	}
	if *inPlace {
		_, err = s.write(l, text)
	} else {
		_, err = s.stdout.Write(text)
	}
	if err != nil {
		return s.fail(err)
	}
	s.say(fmt.Sprintf("%s, %s and %d new; %s", count(len(l.images), "image"), count(l.own.Len(), "entry"), l.table.Len()-l.own.Len(), l.summary()))
	return status
}
