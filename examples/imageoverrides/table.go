// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"io"
	"strings"

	"github.com/cozystack/image-overrides/imageoverrides"
	"github.com/cozystack/image-overrides/internal/quote"
)

// A source is a file with a table.
type source struct {
	file string // as messages name it
	imageoverrides.Found
}

// faults are the faults of a table, a line for each, with the file and, where it is
// known, the position.
type faults []string

func (f faults) Error() string { return strings.Join(f, "\n") }

// maxFaults is how many faults are told.
const maxFaults = 1000

func (f faults) say(w io.Writer) {
	for _, line := range f[:min(len(f), maxFaults)] {
		say(w, line)
	}
	if n := len(f) - maxFaults; n > 0 {
		say(w, fmt.Sprintf("and %d more", n))
	}
}

// read reads a table from a file in any of its shapes. The error is faults
// where the file was read and there is something wrong in it.
func (s streams) read(file string) (source, error) {
	r, err := s.open(file)
	if err != nil {
		return source{}, err
	}
	defer r.Close()
	text, err := io.ReadAll(r)
	if err != nil {
		return source{}, err
	}
	return parse(named(file), text)
}

func parse(file string, text []byte) (source, error) {
	found, err := imageoverrides.Find(text)
	src := source{file, found}
	if err == nil {
		return src, nil
	}
	var lines faults
	for _, e := range imageoverrides.Faults(err) {
		lines = append(lines, src.place(e.Line, e.Column)+": "+e.Reason()+advice(e))
	}
	return source{}, lines
}

// ready reads the table for a command that uses it. A table that check refuses is
// refused here too: Flux would do nothing with such an entry, or fail on it.
func (s streams) ready(file string) (source, error) {
	src, err := s.read(file)
	if err != nil {
		return source{}, err
	}
	var refused faults
	for _, f := range src.Table.Lint() {
		if f.Severity == imageoverrides.SeverityError {
			refused = append(refused, src.finding(f))
		}
	}
	if refused != nil {
		return source{}, refused
	}
	if src.Table.Len() == 0 {
		say(s.stderr, src.summary())
	}
	return src, nil
}

// advice says what to do where the chart's text leads astray: it says "quote it" of whatever is no
// string, and a null in quotes is the tag null.
func advice(e *imageoverrides.Error) string {
	switch {
	case e.Rule != imageoverrides.RuleString:
	case strings.HasSuffix(e.Reason(), "got invalid; quote it") && e.Field == "name":
		return " (it is null: write the image's name)"
	case strings.HasSuffix(e.Reason(), "got invalid; quote it"):
		return " (it is null: leave the field out instead)"
	case strings.HasSuffix(e.Reason(), "got map; quote it"), strings.HasSuffix(e.Reason(), "got slice; quote it"):
		return " (not as it stands: a text is expected here, no map and no list)"
	}
	return ""
}

// place writes a place as messages start with it.
func (src source) place(line, column int) string {
	if src.Key != "" {
		return src.file + ": " + quote.Plain(src.Key) + position(line, column)
	}
	return src.file + position(line, column)
}

func position(line, column int) string {
	if line == 0 {
		return ""
	}
	return fmt.Sprintf(":%d:%d", line, column)
}

// finding writes a finding in one line. One of several entries has the first of them.
func (src source) finding(f imageoverrides.Finding) string {
	entry := src.Path
	if f.Entry >= 0 {
		entry = fmt.Sprintf("%s[%d]", entry, f.Entry)
	}
	if n := len(f.Entries) - 1; n > 0 {
		entry += fmt.Sprintf(" and %d more", n)
	}
	return fmt.Sprintf("%s: %s: %s: %s (%s)", src.place(f.Line, f.Column), f.Severity, entry, f.Message, f.Rule)
}

// summary says in one line what was read.
func (src source) summary() string {
	if src.Table.Len() == 0 {
		return fmt.Sprintf("%s: %s: the table is empty, hash %.12s", src.file, src.Path, src.Table.Hash())
	}
	entries := "entries"
	if src.Table.Len() == 1 {
		entries = "entry"
	}
	return fmt.Sprintf("%s: %s: %d %s, hash %.12s", src.file, src.Path, src.Table.Len(), entries, src.Table.Hash())
}
