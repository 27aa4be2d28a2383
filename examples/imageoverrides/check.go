// SPDX-License-Identifier: Apache-2.0

package main

import (
	"errors"
	"flag"
	"fmt"

	"github.com/cozystack/image-overrides/imageoverrides"
)

const checkUsage = `usage: imageoverrides check FILE

Checks a table by the platform chart's rules, and looks for what they let pass
and nobody wants.
` + tableUsage + `
Standard output gets a line for each fault and each finding, and for a table that can be
used a line with its entries and the start of its hash, which the releases
that carry it have in their post-renderer:

  FILE:LINE:COLUMN: a fault; of a Secret, line and column in the text of its values.yaml
  FILE: error: a finding: the table can never work, or breaks Flux (rule)
  FILE: warning: a finding: the table works, perhaps not as it was meant (rule)

Example:

  imageoverrides check values.yaml
  kubectl get secret -n cozy-system cozystack-values -o yaml | imageoverrides check -

Exit status: 0 no more than warnings, 1 a fault, an error, or no such file, 2 wrong usage.
`

// check runs the command check.
func (s streams) check(args []string) int {
	flags := flag.NewFlagSet("imageoverrides check", flag.ContinueOnError)
	if status, ok := s.parse(flags, checkUsage, args); !ok {
		return status
	}
	if flags.NArg() != 1 {
		return s.misuse(flags.Name(), checkUsage, fmt.Sprintf("one file expected, got %d", flags.NArg()))
	}
	src, err := s.read(flags.Arg(0))
	var found faults
	if errors.As(err, &found) {
		fmt.Fprintln(s.stdout, found)
		return 1
	}
	if err != nil {
		return s.fail(err)
	}
	status := 0
	for _, f := range src.table.Lint() {
		fmt.Fprintln(s.stdout, src.finding(f))
		if f.Severity == imageoverrides.SeverityError {
			status = 1
		}
	}
	if status == 0 {
		fmt.Fprintln(s.stdout, src.summary())
	}
	return status
}
