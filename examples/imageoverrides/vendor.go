// SPDX-License-Identifier: Apache-2.0

package main

import (
	"flag"
	"fmt"

	"github.com/cozystack/image-overrides/imageoverrides/chart"
	"github.com/cozystack/image-overrides/internal/quote"
)

const vendorUsage = `usage: imageoverrides vendor [-check] DIR...

Puts the library chart image-overrides of this version into each folder, which is the folder
charts of another chart: the chart is in DIR/image-overrides then, byte for byte. What is
there already is brought to this version, and files that are no part of it are
removed. A folder of that name is left alone, and that is an error, if its Chart.yaml does
not say name: image-overrides, or if there are links to folders in the way. DIR is made
if only itself is missing.

  -check  writes nothing, and tells copies that are missing or not this version's

Standard output gets a line for each copy that was written, or differs; none for those that are in
step:

  wrote DIR/image-overrides: version
  updated DIR/image-overrides: what differed
  DIR/image-overrides: what differs          with -check

Each file is written beside its place and renamed: after an error every file is either the
old one or the new one, and the command can be run again.

Example:

  imageoverrides vendor packages/library/charts
  imageoverrides vendor -check packages/library/charts

Exit status: 0 all copies are this version's, 1 one is not (with -check), or cannot be written,
2 wrong usage.
`

// vendor runs the command vendor.
func (s streams) vendor(args []string) int {
	flags := flag.NewFlagSet("imageoverrides vendor", flag.ContinueOnError)
	check := flags.Bool("check", false, "")
	if status, ok := s.parse(flags, vendorUsage, args); !ok {
		return status
	}
	if flags.NArg() == 0 {
		return s.misuse(flags.Name(), vendorUsage, "a folder for charts is expected")
	}
	status := 0
	for _, dir := range flags.Args() {
		run := chart.Vendor
		if *check {
			run = chart.Compare
		}
		switch c, differs, err := run(dir); {
		case err != nil:
			status = s.fail(err)
		case !differs:
		case *check:
			say(s.stdout, c.String())
			status = 1
		case c.Absent:
			say(s.stdout, fmt.Sprintf("wrote %s: version %s", quote.Plain(c.Dir), chart.Version))
		default:
			say(s.stdout, "updated "+c.String())
		}
	}
	return status
}
