// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"encoding/json"
	"flag"
	"fmt"

	"github.com/cozystack/image-overrides/imageoverrides"
)

const diffUsage = `usage: mirror diff [-o json] OLD NEW

Says what a change of a table means, entry by entry: added, removed, renamed, retagged, the digest alone,
moved. No registry is asked.

  -o json  the differences as a JSON list: kind, name, old, new, oldEntry, newEntry
` + tableUsage + `
Exit status: 0 done, whether there are differences or not, 2 wrong usage or a file that cannot be read.
`

// diff runs the command diff.
func (s streams) diff(_ context.Context, args []string) int {
	flags := flag.NewFlagSet("mirror diff", flag.ContinueOnError)
	format := flags.String("o", "", "")
	if status, ok := s.parse(flags, diffUsage, args); !ok {
		return status
	}
	switch {
	case flags.NArg() != 2:
		return s.misuse(flags.Name(), diffUsage, fmt.Sprintf("%s, where OLD and NEW belong", count(flags.NArg(), "argument")))
	case flags.Arg(0) == "-" && flags.Arg(1) == "-":
		return s.misuse(flags.Name(), diffUsage, "both tables cannot come from standard input")
	case *format != "" && *format != "json":
		return s.misuse(flags.Name(), diffUsage, fmt.Sprintf("-o %q is not json", *format))
	}
	var tables [2]imageoverrides.Table
	for i, file := range flags.Args() {
		t, _, err := s.table(file)
		if err != nil {
			return s.fail(err)
		}
		tables[i] = t
	}
	all := imageoverrides.Diff(tables[0], tables[1])
	if *format == "json" {
		if all == nil {
			all = []imageoverrides.Difference{}
		}
		text, err := json.MarshalIndent(all, "", "  ")
		if err != nil {
			return s.fail(err)
		}
		if _, err := fmt.Fprintf(s.stdout, "%s\n", text); err != nil {
			return s.fail(err)
		}
		return statusThere
	}
	for _, d := range all {
		write(s.stdout, d.String())
	}
	s.say(count(len(all), "difference"))
	return statusThere
}
