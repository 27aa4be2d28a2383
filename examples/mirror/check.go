// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"

	"github.com/cozystack/image-overrides/internal/quote"
	"github.com/cozystack/image-overrides/reference"
	"github.com/cozystack/image-overrides/reference/registry"
)

const checkUsage = `usage: mirror check [-t TABLE] [-images FILE] [FLAGS]

Says of every image whether its registry has it: of what the table's entries point at, and with a
list of images of every image that the platform will run.

  -t TABLE         the table
  -images FILE     images, one a line, as manifests spell them; the table, if there is one, is
                   applied to each
  -o json          the answers as a JSON list: image, kind (ok, not found, rejected, not configured,
                   unreachable, rate limited, bad reply), digest, reason
  -platform P      the images must be there for a platform, such as linux/arm64
  -verify          fetch and hash every manifest
` + tableUsage + `
An entry with neither newTag nor digest points at no image by itself: its tag is the manifest's. Without a
list of images such entries are told and not checked.

An image with a digest is asked for by that, as a node pulls it. Each image is asked for once.
` + askUsage + `
Standard output has a line for each image. Exit status: 0 all is there, 1 something is not, 3
something could not be learned, 2 wrong usage or a file that cannot be read.
`

// A result is what check says of one image.
type result struct {
	Image  string `json:"image"`
	Kind   string `json:"kind"`
	Digest string `json:"digest,omitempty"`
	Reason string `json:"reason,omitempty"`
}

// check runs the command check.
func (s streams) check(ctx context.Context, args []string) int {
	flags := flag.NewFlagSet("mirror check", flag.ContinueOnError)
	var a asking
	a.flags(flags)
	tableFile, imagesFile, format := flags.String("t", "", ""), flags.String("images", "", ""), flags.String("o", "", "")
	flags.StringVar(&a.settings.Platform, "platform", "", "")
	flags.BoolVar(&a.settings.Verify, "verify", false, "")
	if status, ok := s.parse(flags, checkUsage, args); !ok {
		return status
	}
	switch {
	case flags.NArg() > 0:
		return s.misuse(flags.Name(), checkUsage, fmt.Sprintf("%q is one argument too many", flags.Arg(0)))
	case *tableFile == "" && *imagesFile == "":
		return s.misuse(flags.Name(), checkUsage, "-t TABLE or -images FILE is missing")
	case *tableFile == "-" && *imagesFile == "-":
		return s.misuse(flags.Name(), checkUsage, "the table and the images cannot both come from standard input")
	case *format != "" && *format != "json":
		return s.misuse(flags.Name(), checkUsage, fmt.Sprintf("-o %q is not json", *format))
	}
	images, err := s.toCheck(*tableFile, *imagesFile)
	if err != nil {
		return s.fail(err)
	}
	client, err := a.client(s, images...)
	if err != nil {
		return s.fail(err)
	}
	p := progress{streams: s}
	answers, err := client.Each(ctx, images, func(one registry.Progress) {
		p.step(one.Done, one.Total, one.Image.String()+": "+word(one.Err))
	})
	p.end()
	results := make([]result, 0, len(answers))
	seen := make(map[string]bool)
	tally := make(map[string]int)
	for _, one := range answers {
		if text := one.Image.String(); !seen[text] {
			seen[text] = true
			r := result{Image: text, Kind: word(one.Err), Digest: one.Digest}
			var e *registry.Error
			if errors.As(one.Err, &e) {
				r.Reason = e.Error()
			}
			tally[r.Kind]++
			results = append(results, r)
		}
	}
	if *format == "json" {
		text, jsonErr := json.MarshalIndent(results, "", "  ")
		if jsonErr != nil {
			return s.fail(jsonErr)
		}
		if _, writeErr := fmt.Fprintf(s.stdout, "%s\n", text); writeErr != nil {
			return s.fail(writeErr)
		}
	} else {
		for _, r := range results {
			line := fmt.Sprintf("%-14s %s", r.Kind, quote.Plain(r.Image))
			if r.Reason != "" {
				line = fmt.Sprintf("%-14s %s", r.Kind, r.Reason)
			} else if r.Digest != "" {
				line += " " + r.Digest
			}
			write(s.stdout, line)
		}
	}
	total := count(len(results), "image") + ":"
	for _, kind := range []string{"ok", "not found", "rejected", "not configured", "rate limited", "bad reply", "unreachable"} {
		if tally[kind] > 0 {
			total += fmt.Sprintf(" %d %s,", tally[kind], kind)
		}
	}
	s.say(total[:len(total)-1])
	return statusOf(err)
}

// toCheck lists the images to ask for: what the table points at, and what becomes of those in the list.
func (s streams) toCheck(tableFile, imagesFile string) (images []reference.Image, err error) {
	var texts []string
	add := func(text, of string) error {
		image, err := reference.Parse(text)
		if err != nil {
			return fmt.Errorf("%s becomes %s: %w", of, quote.Value(text), err)
		}
		images = append(images, image)
		return nil
	}
	if imagesFile != "" {
		if texts, err = s.images(imagesFile); err != nil {
			return nil, err
		}
	}
	if tableFile == "" {
		for _, text := range texts {
			if err := add(text, text); err != nil {
				return nil, err
			}
		}
		return images, nil
	}
	t, _, err := s.table(tableFile)
	if err != nil {
		return nil, err
	}
	for _, o := range t.All() {
		text := o.Name
		if o.NewTag != "" {
			text += ":" + o.NewTag
		}
		if o.NewTag == "" && o.Digest == "" {
			if imagesFile == "" {
				s.say(fmt.Sprintf("%s: not checked: its tag is the manifest's; -images FILE would tell it", quote.Plain(o.Name)))
			}
			continue
		}
		became, _ := t.Apply(text)
		if err := add(became, quote.Plain(text)); err != nil {
			return nil, err
		}
	}
	for _, text := range texts {
		became, _ := t.Apply(text)
		if err := add(became, quote.Plain(text)); err != nil {
			return nil, err
		}
	}
	return images, nil
}
