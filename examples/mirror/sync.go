// SPDX-License-Identifier: Apache-2.0

package main

import (
	"cmp"
	"context"
	"flag"
	"fmt"
	"slices"

	"github.com/cozystack/image-overrides/imageoverrides"
	"github.com/cozystack/image-overrides/reference/registry"
)

const syncUsage = `usage: mirror sync -m HOST[/REPOSITORY] -t TABLE [-dry-run] [-policy POLICY] [FLAGS] FILE...

Brings a platform behind a mirror: plans the table, copies what is not in the mirror, pins, checks that all of it is there,
and then writes the table's file, where a byte of it changes.

  -t TABLE        the table's file; registries: {imageOverrides: []} is one without entries
  -dry-run        says what would be done: nothing is sent, and nothing written
  -follow         copies a tag again that leads to something else at its source by now
  -policy POLICY  which entries with a newTag get the digest that is in the mirror: IfNotPresent, those without
                  one (the default), Always, or Never. What is derived has no newTag, and stays without
  -verify         fetch and hash every manifest
` + planningUsage + `
The steps, each of which goes on where it was when it is asked for again:

  1. Each image is asked for in the mirror. One with a digest is proved by that, and its source is not asked.
  2. One with a tag alone that is there is compared with its source. Where the tag leads to something else by now, or
     the source cannot be asked, the mirror keeps what it has, and that is told: another copy would change what
     a running platform gets under that tag. With -follow a tag that has moved is copied all the same. What the manifests
     or the table say with a digest is safe from that.
  3. What is not there is copied, with all platforms, up to four images at a time. What has a tag and a digest is sent by
     its digest alone, and that is told, where the tag leads to something else in the mirror; with -follow the tag moves.
  4. Digests are put behind the tags of the table, as mirror pin does it.
  5. What steps 1 to 3 have not proved for the table that comes of it is asked for once more.
  6. The file is written, if it is still the one that was read.

The table is written whole or not at all. Where one image fails the others get their turn, and the table stays as
it is: entries that lead to nothing would keep pods from starting, and a platform that is moved in part is
harder to judge than one that is not moved. So wherever it ends, or is killed, the table leads only to what is there. What
nobody can give stays out with -skip. What Flux does not reach or cannot take is told, and keeps nothing from
being written.

Of signatures and SBOMs nothing is copied; mirror plan -o pairs | mirror copy -referrers -pairs - does that.
` + askUsage + `
Standard output has a line for each image in the mirror: present, kept, copied (to copy, with -dry-run), or what is wrong.

Exit status: 0 all that Flux reaches comes out of the mirror, 1 an image is not there, or something that Flux reaches is
left, 3 something else went wrong, 2 wrong usage, or as for mirror plan.
`

// copying is how many images are copied at a time.
const copying = 4

// sync runs the command sync.
func (s streams) sync(ctx context.Context, args []string) int {
	flags := flag.NewFlagSet("mirror sync", flag.ContinueOnError)
	var a asking
	a.flags(flags)
	var p planning
	p.flags(flags)
	dry, follow := flags.Bool("dry-run", false, ""), flags.Bool("follow", false, "")
	policy := flags.String("policy", string(registry.IfNotPresent), "")
	flags.BoolVar(&a.settings.Verify, "verify", false, "")
	if status, ok := s.parse(flags, syncUsage, args); !ok {
		return status
	}
	reason := p.misuse(flags.Args())
	switch {
	case reason != "":
	case p.file == "":
		reason = "-t TABLE is missing"
	case p.file == "-":
		reason = "standard input cannot be written"
	case !slices.Contains([]registry.Policy{registry.IfNotPresent, registry.Always, registry.Never}, registry.Policy(*policy)):
		reason = fmt.Sprintf("-policy %q is none of IfNotPresent, Always and Never", *policy)
	}
	if reason != "" {
		return s.misuse(flags.Name(), syncUsage, reason)
	}
	if !*dry {
		if err := writable(p.file); err != nil {
			return s.fail(err)
		}
	}
	l, err := s.derive(&p, flags.Args())
	if err != nil {
		return s.fail(err)
	}
	digests, trial := toPin(l.table, registry.Policy(*policy))
	if _, err := l.with(trial); err != nil { // before anything is sent
		return s.fail(err)
	}
	asked := hosts(l.table)
	for _, c := range l.copies {
		asked = append(asked, c.To)
		if c.From.IsValid() {
			asked = append(asked, c.From)
		}
	}
	client, err := a.client(s, asked...)
	if err != nil {
		return s.fail(err)
	}
	defer client.CloseIdleConnections()
	s.tell(l)
	y := &syncing{streams: s, plan: l, client: client, dry: *dry, follow: *follow, steps: stepsOf(l.copies)}
	y.look(ctx)
	y.spare(ctx)
	y.compare(ctx)
	if !*dry {
		y.copyAll(ctx, min(copying, cmp.Or(a.settings.Parallel, copying)))
	}
	err = y.tellSteps()
	added := l.table.Len() - l.own.Len()
	if *dry {
		y.end(fmt.Sprintf("%d new of %s and %s to pin, nothing is written", added, count(l.table.Len(), "entry"), count(digests, "digest")))
		return y.status(err)
	}
	pinned := l.table
	if err == nil {
		pinned, err = y.pin(ctx, registry.Policy(*policy))
	}
	if err == nil {
		err = y.prove(ctx, pinned)
	}
	if err != nil {
		y.end(named(l.file) + " is not written")
		return y.status(err)
	}
	text, err := l.with(pinned)
	written := false
	if err == nil {
		written, err = s.write(l, text)
	}
	if err != nil {
		return s.fail(err)
	}
	outcome := " stays as it is"
	if written {
		outcome = " is written"
	}
	y.end(fmt.Sprintf("%d new of %s, %s pinned, %s", added, count(l.table.Len(), "entry"), count(len(imageoverrides.Diff(l.table, pinned)), "digest"), named(l.file)+outcome))
	return y.status(nil)
}

// status is the exit status with an error of images.
func (y *syncing) status(err error) int {
	if status := y.plan.status(); status != statusThere {
		return status
	}
	return statusOf(err)
}
