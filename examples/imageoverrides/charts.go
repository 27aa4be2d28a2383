// SPDX-License-Identifier: Apache-2.0

package main

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"

	"github.com/cozystack/image-overrides/imageoverrides/chart"
)

const chartsUsage = `usage: imageoverrides charts DIR...

Looks at the charts below each folder for HelmReleases that the table does not reach:
those that are not rendered with what image-overrides.postRenderers of the library chart returns
as the items of their spec.postRenderers, in every branch that values can lead to, and charts
with HelmReleases that do not depend on the library chart. A platform runs it in its CI, since
such a release installs upstream images and nobody sees it.

Standard output gets a line for each miss:

  FILE:LINE: what is missing

The rules and what cannot be judged are those of Check in the Go package
github.com/cozystack/image-overrides/imageoverrides/chart.

Example:

  imageoverrides charts packages

Exit status: 0 nothing is missing, 1 a miss, no chart, or a file that cannot be read, 2 wrong
usage.
`

// charts runs the command charts.
func (s streams) charts(args []string) int {
	flags := flag.NewFlagSet("imageoverrides charts", flag.ContinueOnError)
	if status, ok := s.parse(flags, chartsUsage, args); !ok {
		return status
	}
	if flags.NArg() == 0 {
		return s.misuse(flags.Name(), chartsUsage, "a folder with charts is expected")
	}
	status := 0
	for _, dir := range flags.Args() {
		misses, err := chart.Check(os.DirFS(dir))
		for _, m := range misses {
			m.File = filepath.Join(dir, filepath.FromSlash(m.File))
			say(s.stdout, m.String())
			status = 1
		}
		if err != nil {
			status = s.fail(fmt.Errorf("in %s: %w", dir, err))
		}
	}
	return status
}
