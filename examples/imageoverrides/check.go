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

  FILE:LINE:COLUMN: a fault
  FILE:LINE:COLUMN: error: a finding: the table can never work, or breaks Flux (rule)
  FILE:LINE:COLUMN: warning: a finding: it works, perhaps not as it was meant (rule)

For a text of a Secret or a ConfigMap its key stands behind FILE, and line and column count in
the text.

Example:

  imageoverrides check values.yaml
  kubectl get secret -n cozy-system cozystack-values -o yaml | imageoverrides check -

Exit status: 0 no more than warnings, 1 a fault, an error, no such file or a failed write,
2 wrong usage.
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
		found.say(s.stdout)
		return 1
	}
	if err != nil {
		return s.fail(err)
	}
	status := 0
	for _, f := range src.Table.Lint() {
		say(s.stdout, src.finding(f))
		if f.Severity == imageoverrides.SeverityError {
			status = 1
		}
	}
	if status == 0 {
		say(s.stdout, src.summary())
	}
	return status
}
