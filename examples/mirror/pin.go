// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"flag"
	"fmt"

	"github.com/cozystack/image-overrides/imageoverrides"
	"github.com/cozystack/image-overrides/internal/replace"
	"github.com/cozystack/image-overrides/reference"
	"github.com/cozystack/image-overrides/reference/registry"
)

const pinUsage = `usage: mirror pin -t TABLE [-policy POLICY] [-w] [FLAGS]

Puts the digests that registries have behind the tags of a table, and writes the file that it stands
in: every other byte, comments and order among them, stays.

  -t TABLE         the table
  -policy POLICY   IfNotPresent asks for entries with a newTag and no digest (the default), Always
                   for every entry with a newTag, Never for none
  -w               write the file itself, and not to standard output
  -platform P      the digest of a platform, such as linux/arm64, and not the index's, which is for
                   all of them
  -verify          fetch and hash every manifest
` + tableUsage + askUsage + `
It is all or nothing: where an image cannot be had, nothing is written. Standard error gets a
line for each entry.

Exit status: 0 done, 1 an image is not there, 3 something could not be learned, 2 wrong usage, or a
file that cannot be read, edited or written.
`

// pin runs the command pin.
func (s streams) pin(ctx context.Context, args []string) int {
	flags := flag.NewFlagSet("mirror pin", flag.ContinueOnError)
	var a asking
	a.flags(flags)
	file, policy, inPlace := flags.String("t", "", ""), flags.String("policy", string(registry.IfNotPresent), ""), flags.Bool("w", false, "")
	flags.StringVar(&a.settings.Platform, "platform", "", "")
	flags.BoolVar(&a.settings.Verify, "verify", false, "")
	if status, ok := s.parse(flags, pinUsage, args); !ok {
		return status
	}
	switch {
	case flags.NArg() > 0:
		return s.misuse(flags.Name(), pinUsage, fmt.Sprintf("%q is one argument too many", flags.Arg(0)))
	case *file == "":
		return s.misuse(flags.Name(), pinUsage, "-t TABLE is missing")
	case *file == "-" && *inPlace:
		return s.misuse(flags.Name(), pinUsage, "standard input cannot be written")
	}
	t, text, err := s.table(*file)
	if err != nil {
		return s.fail(err)
	}
	client, err := a.client(s, hosts(t)...)
	if err != nil {
		return s.fail(err)
	}
	pinned, found, err := registry.Pin(ctx, client, t, registry.Policy(*policy))
	if err != nil && found == nil {
		return s.misuse(flags.Name(), pinUsage, err.Error())
	}
	for _, p := range found {
		s.say(p.String())
	}
	if err != nil {
		s.say("nothing is written")
		return statusOf(err)
	}
	text, err = imageoverrides.Replace(text, pinned)
	if err != nil {
		return s.fail(fmt.Errorf("%s: %w", named(*file), err))
	}
	s.say(fmt.Sprintf("%s, %s", count(t.Len(), "entry"), count(len(imageoverrides.Diff(t, pinned)), "digest")+" changed"))
	if *inPlace {
		if err := replace.File(*file, text); err != nil {
			return s.fail(err)
		}
		return statusThere
	}
	if _, err := s.stdout.Write(text); err != nil {
		return s.fail(err)
	}
	return statusThere
}

// hosts are images that stand for the registries which a table leads to.
func hosts(t imageoverrides.Table) (images []reference.Image) {
	for _, o := range t.All() {
		for _, name := range []string{o.Name, o.NewName} {
			if image, err := reference.Parse(name); err == nil {
				images = append(images, image)
			}
		}
	}
	return images
}
