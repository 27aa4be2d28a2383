// SPDX-License-Identifier: Apache-2.0

// Command postrenderer puts a table of image overrides into the work of other programs.
//
// With -t TABLE it is a post-renderer of Helm: it reads manifests from standard input and writes them. Helm 3 runs the program itself,
//
//	helm template trial ./chart --post-renderer ./postrenderer --post-renderer-args -t=values.yaml
//
// and Helm 4 a plugin, which is this directory's plugin.yaml with the program beside it:
//
//	helm plugin install .
//	helm template trial ./chart --post-renderer image-overrides --post-renderer-args -t=values.yaml
//
// Without arguments it is a KRM function, for kustomize and kpt; see package function.
//
// What it writes are the bytes of imageoverrides.Rewrite. Where something is wrong it writes nothing but a message to standard
// error, and its exit status is 1.
package main

import (
	"bytes"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"

	"github.com/cozystack/image-overrides/imageoverrides"
	"github.com/cozystack/image-overrides/imageoverrides/function"
)

func main() {
	if err := run(os.Args[1:], os.Stdin, os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "postrenderer:", err)
		os.Exit(1)
	}
}

func run(args []string, stdin io.Reader, stdout io.Writer) error {
	flags := flag.NewFlagSet("postrenderer", flag.ContinueOnError)
	flags.SetOutput(io.Discard)
	file := flags.String("t", "", "")
	if err := flags.Parse(args); err != nil {
		return err
	}
	switch {
	case flags.NArg() > 0:
		return fmt.Errorf("%q is one argument too many", flags.Arg(0))
	case len(args) == 0:
		_, err := function.Run(stdout, stdin)
		return err
	case *file == "":
		return errors.New("-t TABLE is empty")
	}
	text, err := os.ReadFile(*file)
	if err != nil {
		return err
	}
	found, err := imageoverrides.Find(text)
	if err == nil {
		err = found.Table.Strict()
	}
	if err != nil {
		return fmt.Errorf("%s: %w", *file, err)
	}
	var out bytes.Buffer // so that nothing is written on an error
	if _, err := imageoverrides.Rewrite(&out, stdin, found.Table); err != nil {
		return err
	}
	_, err = stdout.Write(out.Bytes())
	return err
}
