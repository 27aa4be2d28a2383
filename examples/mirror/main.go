// SPDX-License-Identifier: Apache-2.0

// Command mirror runs a platform out of a mirror: it makes the table of overrides for that, copies the images, and asks registries whether
// what a table leads to is there.
//
//	mirror plan -m registry.example.org/mirror -t values.yaml manifests/*.yaml
//	mirror sync -m registry.example.org/mirror -t values.yaml manifests/*.yaml
//	mirror patches -t values.yaml manifests/*.yaml
//	mirror check -t values.yaml
//	mirror pin -t values.yaml
//	mirror diff before.yaml after.yaml
//	mirror copy -pairs pairs.txt
//
// Each command tells its rules with -h. It is an example of the packages imageoverrides/mirror and reference/registry.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"strings"

	"github.com/cozystack/image-overrides/internal/quote"
	"github.com/cozystack/image-overrides/reference/registry"
)

const usage = `usage: mirror COMMAND [FLAGS] [ARGUMENT...]

Runs a platform out of a mirror.

  plan     makes the table for it, or the list of what to copy; asks no registry
  sync     does all of it: plans, copies, pins, checks, and writes the table
  patches  writes patches for the images where Flux does not look; asks no registry

Asks registries about the images of a table of overrides.

  check    says of every image whether it is there
  pin      puts digests behind the tags of a table
  diff     says what a change of the table means; asks no registry
  copy     copies images, with all their platforms

mirror COMMAND -h tells the rules of a command.

Exit status: 0 all is there, 1 something is not, 3 something could not be learned, 2 wrong
usage or a file that cannot be read. Where something is not there and something else could not
be learned it is 1.
`

// The exit statuses.
const (
	statusThere   = 0
	statusMissing = 1
	statusUsage   = 2
	statusUnknown = 3
)

// streams is what a command reads and writes.
type streams struct {
	stdin          io.Reader
	stdout, stderr io.Writer
	terminal       bool // standard error is one
}

// commands are the commands by their names. Each gets the arguments behind its name.
var commands = map[string]func(streams, context.Context, []string) int{
	"plan":    streams.plan,
	"sync":    streams.sync,
	"patches": streams.patches,
	"check":   streams.check,
	"pin":     streams.pin,
	"diff":    streams.diff,
	"copy":    streams.copy,
}

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	info, err := os.Stderr.Stat()
	s := streams{os.Stdin, os.Stdout, os.Stderr, err == nil && info.Mode()&os.ModeCharDevice != 0}
	status := s.run(ctx, os.Args[1:])
	stop()
	os.Exit(status)
}

// run runs the command that the first argument names.
func (s streams) run(ctx context.Context, args []string) int {
	if len(args) == 0 {
		return s.misuse("mirror", usage, "no command")
	}
	switch args[0] {
	case "-h", "-help", "--help":
		fmt.Fprint(s.stdout, usage)
		return statusThere
	}
	command, found := commands[args[0]]
	if !found {
		return s.misuse("mirror", usage, fmt.Sprintf("unknown command %q", args[0]))
	}
	return command(s, ctx, args[1:])
}

// misuse tells what is wrong with the arguments, and how they should be.
func (s streams) misuse(command, usage, reason string) int {
	s.say(command + ": " + reason)
	fmt.Fprint(s.stderr, "\n"+usage)
	return statusUsage
}

// fail tells an error of the input.
func (s streams) fail(err error) int {
	s.say(err.Error())
	return statusUsage
}

// parse parses a command's arguments. Where ok is false the command is done, with that exit status.
func (s streams) parse(flags *flag.FlagSet, usage string, args []string) (status int, ok bool) {
	flags.SetOutput(io.Discard)
	err := flags.Parse(args)
	if errors.Is(err, flag.ErrHelp) {
		fmt.Fprint(s.stdout, usage)
		return statusThere, false
	}
	if err != nil {
		return s.misuse(flags.Name(), usage, err.Error()), false
	}
	return 0, true
}

// say writes lines to standard error, with escapes for what does not print in them.
func (s streams) say(message string) { write(s.stderr, message) }

func write(w io.Writer, message string) {
	for line := range strings.SplitSeq(message, "\n") {
		io.WriteString(w, quote.Line(line)+"\n")
	}
}

// statusOf is the exit status for errors of registries: the one of an image that is not there, if there is any.
func statusOf(err error) int {
	switch {
	case err == nil:
		return statusThere
	case errors.Is(err, registry.ErrNotFound):
		return statusMissing
	}
	return statusUnknown
}

// word is an error in one word or two, for lists.
func word(err error) string {
	var e *registry.Error
	switch {
	case err == nil:
		return "ok"
	case errors.As(err, &e):
		return e.Kind.Error()
	}
	return "error"
}

// count writes a number of things.
func count(n int, thing string) string {
	if n == 1 {
		return "1 " + thing
	}
	if stem, ok := strings.CutSuffix(thing, "y"); ok {
		thing = stem + "ie"
	}
	return fmt.Sprintf("%d %ss", n, thing)
}
