// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bufio"
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/cozystack/image-overrides/imageoverrides/audit"
	"github.com/cozystack/image-overrides/internal/quote"
	"github.com/cozystack/image-overrides/internal/replace"
	"github.com/cozystack/image-overrides/reference"
)

// inventory reads files of manifests into an audit, and files that are reports of one, and returns all of it as one report.
func (s streams) inventory(a *audit.Audit, files []string) (*audit.Report, error) {
	all := new(audit.Report)
	for _, file := range files {
		err := s.open(file, func(from io.Reader) error {
			src := bufio.NewReaderSize(from, reportStart)
			start, _ := src.Peek(reportStart) // an error comes again
			if !isReport(start) {
				return add(a, file, src)
			}
			report, err := readReport(src)
			if err != nil {
				return fmt.Errorf("%s: %w", named(file), replace.Reason(err))
			}
			all.Places = append(all.Places, report.Places...)
			all.Risks = append(all.Risks, report.Risks...)
			all.Summary.Documents += report.Summary.Documents
			return nil
		})
		if err != nil {
			return nil, err
		}
	}
	report := a.Report()
	all.Places = append(all.Places, report.Places...)
	all.Risks = append(all.Risks, report.Risks...)
	if all.Summary.Documents+report.Summary.Documents == 0 {
		return nil, errNothing
	}
	return all, nil
}

// reportStart is how many bytes of a file tell whether it is a report.
const reportStart = 4 << 10

// isReport reports whether a text begins as a report of imageoverrides audit -o json does, in whatever order its keys stand. No object of
// Kubernetes begins so.
func isReport(start []byte) bool {
	d := json.NewDecoder(bytes.NewReader(start))
	if t, err := d.Token(); err != nil || t != json.Delim('{') {
		return false
	}
	key, err := d.Token()
	return err == nil && slices.Contains([]any{"table", "summary", "places", "entries", "risks"}, any(key))
}

// readReport reads a report of imageoverrides audit -o json. What it says of its table is left out, for that is another one than the plan's.
func readReport(src io.Reader) (*audit.Report, error) {
	text, err := io.ReadAll(io.LimitReader(src, maxFile+1))
	if err != nil {
		return nil, err
	}
	if len(text) > maxFile {
		return nil, fmt.Errorf("is longer than %d bytes", maxFile)
	}
	var read struct {
		Summary *audit.Summary
		Places  *[]audit.Place
		Risks   *[]audit.Risk
	}
	if err := json.Unmarshal(text, &read); err != nil {
		return nil, fmt.Errorf("is no report of imageoverrides audit -o json: %s", quote.Shorten(err.Error(), 200))
	}
	if read.Summary == nil || read.Places == nil || read.Risks == nil {
		return nil, errors.New("is no report of imageoverrides audit -o json: it has not each of summary, places and risks")
	}
	for i, p := range *read.Places {
		if !slices.Contains([]audit.Status{audit.Rewritten, audit.Kept, audit.Missed, audit.Unreached, audit.Suspected}, p.Status) {
			return nil, fmt.Errorf("is no report that is understood here: places[%d] has the status %s", i, quote.Value(string(p.Status)))
		}
	}
	return &audit.Report{Summary: *read.Summary, Places: *read.Places, Risks: slices.DeleteFunc(*read.Risks, func(k audit.Risk) bool { return k.Rule == audit.RiskTable })}, nil
}

// spelt is the image of a place as its manifest has it, one in parts put together.
func spelt(p *audit.Place) string { return cmp.Or(p.Whole, p.Image) }

// runs reports whether the platform runs the image of a place, so that it has to be in a mirror.
func runs(p *audit.Place) bool {
	return reached(p) || unreached(p) && p.Reason != audit.ReasonPrefix
}

func reached(p *audit.Place) bool {
	return slices.Contains([]audit.Status{audit.Rewritten, audit.Kept, audit.Missed}, p.Status) && spelt(p) != ""
}

func unreached(p *audit.Place) bool {
	return p.Status == audit.Unreached && p.Reason != audit.ReasonValues && spelt(p) != ""
}

func suspected(p *audit.Place) bool {
	return p.Status == audit.Suspected && p.Reason != audit.ReasonValues
}

// inValues reports whether a place is in the values of a release, whose chart's manifests are others.
func inValues(p *audit.Place) bool { return !reached(p) && p.Reason == audit.ReasonValues }

// skip takes the images that are to stay as they are out of a report, and returns how many places of each there were. They are given by their
// names, without tag and digest, or by their whole texts.
func skip(r *audit.Report, given []string) map[string]int {
	places := make(map[string]int)
	r.Places = slices.DeleteFunc(r.Places, func(p audit.Place) bool {
		image := spelt(&p)
		if parsed, err := reference.Parse(image); err == nil && !slices.Contains(given, image) {
			image = parsed.Name()
		}
		if !slices.Contains(given, image) {
			return false
		}
		places[image]++
		return true
	})
	return places
}

// A found image is told once, with the first of its places.
type found struct {
	image string
	first *audit.Place
	more  int // places
}

// images are the images of a report's places, those of which is says so, in the order of their texts.
func images(r *audit.Report, is func(*audit.Place) bool) (list []*found) {
	byImage := make(map[string]*found)
	for i := range r.Places {
		p := &r.Places[i]
		if !is(p) {
			continue
		}
		if f := byImage[spelt(p)]; f != nil {
			f.more++
			continue
		}
		f := &found{image: spelt(p), first: p}
		byImage[f.image] = f
		list = append(list, f)
	}
	slices.SortFunc(list, func(a, b *found) int { return strings.Compare(a.image, b.image) })
	return list
}

// line says something about the image, with its place.
func (f *found) line(text string) string {
	image := quote.Plain(f.image)
	if strings.Contains(image, " ") {
		image = quote.Value(f.image)
	}
	line := placed(f.first) + ": " + image + " " + text
	if f.more > 0 {
		line += " (and " + count(f.more, "place") + " more)"
	}
	return line
}

// maxTold is how many lines are said of one kind.
const maxTold = 1000

// list says lines, of many the first, and returns how many there are.
func (s streams) list(lines []string) int {
	for _, line := range lines[:min(len(lines), maxTold)] {
		s.say(line)
	}
	if n := len(lines) - maxTold; n > 0 {
		s.say(fmt.Sprintf("and %d more", n))
	}
	return len(lines)
}
