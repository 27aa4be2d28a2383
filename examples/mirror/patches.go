// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"slices"
	"strings"

	helmv2 "github.com/fluxcd/helm-controller/api/v2"
	"sigs.k8s.io/yaml"

	"github.com/cozystack/image-overrides/imageoverrides/audit"
	"github.com/cozystack/image-overrides/internal/quote"
	"github.com/cozystack/image-overrides/postrender"
)

const patchesUsage = `usage: mirror patches -t TABLE [FLAGS] FILE...

Writes post-renderers with patches for the images of manifests where Flux does not look, in arguments, variables,
ConfigMaps, custom resources: for those that the table has an entry for. No registry is asked.

  -t TABLE       the table
  -allow PREFIX  a registry, or a path in one, whose images may stay; may be given more than once
  -suspected     patch also what only reads like an image
  -hooks KIND    reached (the default) or kept: what Flux does with Helm's hooks
  -o json        a JSON list: source, postRenderers, unpatched (place, image, reason)
` + tableUsage + manifestsUsage + `
Standard output has a document for each file with something to patch: postRenderers, to put among those of the release's
spec, in front of the table's. Each patch tests first that the chart still has the value that it replaces, and is for
one object. So a chart that changes makes Flux refuse the upgrade, with the path in its message, though not the object,
until the patches are made anew; where an object is gone its patch does nothing.

Make them of what charts render, with the values of the release, and not of what a cluster holds.

Exit status: 0 each of these images is patched, 1 an image that the table has an entry for, or none, is not,
or a document cannot be read, 2 wrong usage or a file that cannot be read.
`

// A releasePatches is what patches writes of a source.
type releasePatches struct {
	Source        string                `json:"source"`
	PostRenderers []helmv2.PostRenderer `json:"postRenderers,omitempty"`
	Unpatched     []unpatched           `json:"unpatched,omitempty"`
}

type unpatched struct {
	Place  audit.Place `json:"place"`
	Image  string      `json:"image"`
	Reason string      `json:"reason"`
}

// patches runs the command patches.
func (s streams) patches(_ context.Context, args []string) int {
	flags := flag.NewFlagSet("mirror patches", flag.ContinueOnError)
	tableFile, format, hooks := flags.String("t", "", ""), flags.String("o", "", ""), flags.String("hooks", "reached", "")
	var allow list
	flags.Var(&allow, "allow", "")
	suspected := flags.Bool("suspected", false, "")
	if status, ok := s.parse(flags, patchesUsage, args); !ok {
		return status
	}
	switch {
	case *tableFile == "":
		return s.misuse(flags.Name(), patchesUsage, "-t TABLE is missing")
	case flags.NArg() == 0:
		return s.misuse(flags.Name(), patchesUsage, "no files; - is standard input")
	case *tableFile == "-" && slices.Contains(flags.Args(), "-"):
		return s.misuse(flags.Name(), patchesUsage, "the table and the manifests cannot both come from standard input")
	case *format != "" && *format != "json":
		return s.misuse(flags.Name(), patchesUsage, fmt.Sprintf("-o %q is not json", *format))
	case *hooks != "reached" && *hooks != "kept":
		return s.misuse(flags.Name(), patchesUsage, fmt.Sprintf("-hooks %q is neither reached nor kept", *hooks))
	}
	t, _, err := s.table(*tableFile)
	if err != nil {
		return s.fail(err)
	}
	report, err := s.audit(audit.New(t, audit.Options{Hooks: audit.Hooks(*hooks), Allowed: allow, Parts: true}), flags.Args())
	if err != nil {
		return s.fail(err)
	}
	status := statusThere
	for _, line := range unread(report) {
		s.say(line)
		status = statusMissing
	}
	var all []releasePatches
	images, done, without := 0, 0, 0
	for places := range sources(report.Places) {
		var of []audit.Place
		for _, p := range places {
			switch {
			case p.Reason == audit.ReasonValues || p.Status != audit.Unreached && (p.Status != audit.Suspected || p.Entry < 0):
				continue
			case p.Status == audit.Suspected && *suspected:
				p.Status = audit.Unreached
			}
			of = append(of, p)
		}
		renderer, left := postrender.Patches(t, of)
		one := releasePatches{Source: places[0].Source}
		refused := make(map[int]bool, len(left)) // by place
		for _, u := range left {
			refused[u.Place] = true
			p := of[u.Place]
			one.Unpatched = append(one.Unpatched, unpatched{p, spelt(&p), u.Reason})
		}
		for _, p := range of {
			if images++; p.Entry < 0 && (len(allow) == 0 || p.Outside) {
				without++
				one.Unpatched = append(one.Unpatched, unpatched{p, spelt(&p), "the table has no entry for it"})
			}
		}
		done += len(of) - len(one.Unpatched)
		slices.SortStableFunc(one.Unpatched, func(a, b unpatched) int { return cmp.Compare(a.Place.Offset, b.Place.Offset) })
		if renderer.Kustomize != nil {
			one.PostRenderers = []helmv2.PostRenderer{renderer}
		}
		if one.PostRenderers != nil || one.Unpatched != nil {
			all = append(all, one)
		}
		for _, u := range one.Unpatched {
			s.say(fmt.Sprintf("%s: %s is not patched: %s", placed(&u.Place), quote.Plain(u.Image), u.Reason))
			status = statusMissing
		}
		for i := range of {
			p := &of[i]
			changed, _ := t.Apply(spelt(p))
			if !refused[i] && p.Kind == "Job" && strings.HasPrefix(p.APIVersion, "batch/") && changed != spelt(p) {
				s.say(placed(p) + ": a Job, whose template is immutable: once it is there, an upgrade fails unless its name changes")
			}
		}
	}
	s.say(fmt.Sprintf("%s where Flux does not look: %d in step with the table, %d not, of which %d without an entry", count(images, "image"), done, images-done, without))
	text, err := writePatches(all, *format)
	if err != nil {
		return s.fail(err)
	}
	if _, err := s.stdout.Write(text); err != nil {
		return s.fail(err)
	}
	return status
}

// sources gives the places of each source.
func sources(places []audit.Place) func(yield func([]audit.Place) bool) {
	return func(yield func([]audit.Place) bool) {
		for len(places) > 0 {
			n := 1
			for n < len(places) && places[n].Source == places[0].Source {
				n++
			}
			if !yield(places[:n]) {
				return
			}
			places = places[n:]
		}
	}
}

// writePatches writes what is to be patched.
func writePatches(all []releasePatches, format string) ([]byte, error) {
	if format == "json" {
		text, err := json.MarshalIndent(append([]releasePatches{}, all...), "", "  ")
		return append(text, '\n'), err
	}
	var out bytes.Buffer
	for _, one := range all {
		if one.PostRenderers == nil {
			continue
		}
		text, err := yaml.Marshal(struct {
			PostRenderers []helmv2.PostRenderer `json:"postRenderers"`
		}{one.PostRenderers})
		if err != nil {
			return nil, err
		}
		if out.Len() > 0 {
			out.WriteString("---\n")
		}
		fmt.Fprintf(&out, "# %s\n%s", quote.Plain(one.Source), text)
	}
	return out.Bytes(), nil
}
