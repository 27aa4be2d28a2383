// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"strings"

	"github.com/cozystack/image-overrides/internal/quote"
	"github.com/cozystack/image-overrides/reference"
	"github.com/cozystack/image-overrides/reference/registry"
)

const copyUsage = `usage: mirror copy [-referrers] [FLAGS] FROM TO
       mirror copy [-referrers] [FLAGS] -pairs FILE

Copies images to other places, with all their platforms and their digests.

  -pairs FILE  pairs of images, FROM and TO with a blank between them, a pair a line; empty lines
               and what stands behind # are passed over; - is standard input
  -referrers   copy what refers to an image and to its platforms too: signatures, SBOMs

What is there already is not sent again, so a copy that was cut off goes on when it is asked for again. Pairs
are copied one after the other; one that fails does not keep the others from their turn.
` + askUsage + `
Standard output has a line for each pair. Exit status: 0 all is at its place, 1 an image to copy is not there, 3
something else went wrong, 2 wrong usage or a file that cannot be read.
`

// copy runs the command copy.
func (s streams) copy(ctx context.Context, args []string) int {
	flags := flag.NewFlagSet("mirror copy", flag.ContinueOnError)
	var a asking
	a.flags(flags)
	file, referrers := flags.String("pairs", "", ""), flags.Bool("referrers", false, "")
	if status, ok := s.parse(flags, copyUsage, args); !ok {
		return status
	}
	var pairs [][2]reference.Image
	var err error
	switch {
	case *file == "" && flags.NArg() == 2:
		pairs, err = parsePairs("", flags.Arg(0)+" "+flags.Arg(1))
	case *file != "" && flags.NArg() == 0:
		var text []byte
		if text, err = s.read(*file); err == nil {
			pairs, err = parsePairs(named(*file), string(text))
		}
	default:
		return s.misuse(flags.Name(), copyUsage, "FROM and TO, or -pairs FILE")
	}
	if err != nil {
		return s.fail(err)
	}
	var images []reference.Image
	for _, pair := range pairs {
		images = append(images, pair[0], pair[1])
	}
	client, err := a.client(s, images...)
	if err != nil {
		return s.fail(err)
	}
	var failed []error
	p := progress{streams: s}
	for i, pair := range pairs {
		how := registry.Copying{Referrers: *referrers}
		if s.terminal {
			how.Progress = func(c registry.Copied) {
				p.step(i, len(pairs), fmt.Sprintf("%s: %s sent", pair[1], size(c.Bytes)))
			}
		}
		copied, err := client.CopyWith(ctx, pair[0], pair[1], how)
		p.end()
		if err != nil {
			failed = append(failed, err)
			write(s.stdout, fmt.Sprintf("%-14s %s", word(err), err))
			continue
		}
		line := fmt.Sprintf("%-14s %s %s, %s sent", "ok", quote.Plain(pair[1].String()), copied.Digest, size(copied.Bytes))
		if copied.Referrers > 0 {
			line += fmt.Sprintf(", %s", count(copied.Referrers, "referrer"))
		}
		write(s.stdout, line)
	}
	s.say(fmt.Sprintf("%s, %d failed", count(len(pairs), "image"), len(failed)))
	return statusOf(errors.Join(failed...))
}

// parsePairs reads pairs of images. The error has the line, if the text is of a file.
func parsePairs(file, text string) (pairs [][2]reference.Image, err error) {
	for i, line := range strings.Split(text, "\n") {
		at := ""
		if file != "" {
			at = fmt.Sprintf("%s:%d: ", file, i+1)
		}
		line, _, _ = strings.Cut(line, "#")
		fields := strings.Fields(line)
		if len(fields) == 0 {
			continue
		}
		if len(fields) != 2 {
			return nil, fmt.Errorf("%s%s, where FROM and TO belong", at, count(len(fields), "word"))
		}
		var pair [2]reference.Image
		for i, text := range fields {
			if pair[i], err = reference.Parse(text); err != nil {
				return nil, fmt.Errorf("%s%w", at, err)
			}
		}
		pairs = append(pairs, pair)
	}
	return pairs, nil
}

// size writes a number of bytes as people read it.
func size(n int64) string {
	switch {
	case n < 1<<10:
		return fmt.Sprintf("%d B", n)
	case n < 1<<20:
		return fmt.Sprintf("%.1f KiB", float64(n)/(1<<10))
	case n < 1<<30:
		return fmt.Sprintf("%.1f MiB", float64(n)/(1<<20))
	}
	return fmt.Sprintf("%.1f GiB", float64(n)/(1<<30))
}
