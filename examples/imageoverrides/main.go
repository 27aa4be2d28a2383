// SPDX-License-Identifier: Apache-2.0

// Command imageoverrides tries a table of image overrides before it reaches a
// cluster: it checks the table, rewrites manifests as Flux's post-renderer would, and
// puts the table's post-renderer into HelmReleases. And it finds the releases of
// charts that no table reaches.
//
//	imageoverrides check values.yaml
//	imageoverrides rewrite -t values.yaml manifests/*.yaml
//	imageoverrides merge -t values.yaml releases.yaml
//	imageoverrides audit -t values.yaml manifests/*.yaml
//	imageoverrides charts packages
//
// Each subcommand tells its rules with -h. The exit status is 0 where all is
// well, 1 on bad input, and 2 on wrong usage.
//
// It is an example of the packages imageoverrides, postrender and chart, which do the work. What it takes from
// the module's internal packages serves a file's owner and mode when it is replaced, and quotes in messages.
package main

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"strings"
)

const usage = `usage: imageoverrides COMMAND [FLAGS] [FILE...]

Tries a table of image overrides before it reaches a cluster.

  check    checks a table: its faults, and what is legal in it and yet wrong
  rewrite  rewrites the images of manifests as the table says
  audit    says what the table does to the images of manifests, and what it leaves
  merge    puts the table's post-renderer into HelmReleases
  charts   finds HelmReleases in charts that no table reaches
  vendor   puts the library chart into charts, and keeps it in step

imageoverrides COMMAND -h tells the rules of a command.

Example:

  imageoverrides check values.yaml
  imageoverrides rewrite -t values.yaml manifests/*.yaml

What does not print in names and images is quoted in messages, and long texts are
shortened. Templates of charts must be rendered before they are read (helm template).

Exit status: 0 all is well, 1 bad input or a failed write, 2 wrong usage.
`

// A table is read by every command in the same way.
const tableUsage = `
A table is read, from a file or from standard input (-), out of one of:

  values of the platform chart   at registries.imageOverrides
  a plain list of entries        YAML or JSON
  the platform's Secret          at _cluster.image-overrides in its key values.yaml;
                                 or that key's text alone
  a manifest with such values    a HelmRelease (spec.values), a Package
                                 (spec.components.*.values), a ConfigMap or another
                                 Secret (a text in data), alone or among others

Values without the table are an error, and what may have been meant for it is told: an
empty table is written []. Only in the platform's Secret it has no key.
`

func main() { os.Exit(run(os.Args[1:], os.Stdin, os.Stdout, os.Stderr)) }

// streams is what a command reads and writes besides files. The writers remember their first
// error, so that nobody else needs to look.
type streams struct {
	stdin          io.Reader
	stdout, stderr io.Writer
	out            *sink // stdout
}

// run runs the command with its arguments, and returns its exit status.
func run(args []string, stdin io.Reader, stdout, stderr io.Writer) int {
	out, errs := &sink{w: stdout, name: "<stdout>"}, &sink{w: stderr, name: "<stderr>"}
	s := streams{stdin, out, errs, out}
	status := s.command(args)
	if out.err != nil {
		status = max(status, s.fail(out.err))
	}
	if errs.err != nil {
		status = max(status, 1)
	}
	return status
}

// command runs the command that the first argument names.
func (s streams) command(args []string) int {
	if len(args) == 0 {
		return s.misuse("imageoverrides", usage, "no command")
	}
	switch args[0] {
	case "check":
		return s.check(args[1:])
	case "rewrite":
		return s.rewrite(args[1:])
	case "audit":
		return s.audit(args[1:])
	case "merge":
		return s.merge(args[1:])
	case "charts":
		return s.charts(args[1:])
	case "vendor":
		return s.vendor(args[1:])
	case "-h", "-help", "--help":
		fmt.Fprint(s.stdout, usage)
		return 0
	}
	return s.misuse("imageoverrides", usage, fmt.Sprintf("unknown command %q", args[0]))
}

// misuse tells what is wrong with the arguments, and how they should be.
func (s streams) misuse(command, usage, reason string) int {
	say(s.stderr, command+": "+reason)
	fmt.Fprint(s.stderr, "\n"+usage)
	return 2
}

// fail tells an error, each fault of a table in a line of its own. An error of standard output is told
// once, whoever meets it.
func (s streams) fail(err error) int {
	if s.out.err != nil && errors.Is(err, s.out.err) {
		if s.out.told {
			return 1
		}
		s.out.told = true
	}
	var found faults
	var many interface{ Unwrap() []error }
	switch {
	case errors.As(err, &found):
	case errors.As(err, &many):
		before, _ := strings.CutSuffix(err.Error(), many.(error).Error())
		for _, e := range many.Unwrap() {
			found = append(found, before+e.Error())
		}
	default:
		found = faults{err.Error()}
	}
	found.say(s.stderr)
	return 1
}

// parse parses a command's arguments. Where ok is false the command is done, with
// that exit status.
func (s streams) parse(flags *flag.FlagSet, usage string, args []string) (status int, ok bool) {
	flags.SetOutput(io.Discard) // misuse says it
	err := flags.Parse(args)
	if errors.Is(err, flag.ErrHelp) {
		fmt.Fprint(s.stdout, usage)
		return 0, false
	}
	if err != nil {
		return s.misuse(flags.Name(), usage, err.Error()), false
	}
	return 0, true
}

// count writes a number of things.
func count(n int, thing string) string {
	if n == 1 {
		return "1 " + thing
	}
	return fmt.Sprintf("%d %ss", n, thing)
}
