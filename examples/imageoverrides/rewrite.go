// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bufio"
	"bytes"
	"errors"
	"flag"
	"fmt"
	"os"
	"slices"

	"github.com/cozystack/image-overrides/imageoverrides"
)

const rewriteUsage = `usage: imageoverrides rewrite -t TABLE [-w] [FILE...]

Gives the images of manifests the names that the table says, as Flux's post-renderer
does, and leaves every other byte as it is.

  -t TABLE  the table
  -w        write the result to the files, instead of to standard output
` + tableUsage + `
A table that the command check refuses is refused here too.

Manifests are YAML or JSON, any number of documents in a file; without files, and for -, they
come from standard input. Directories are refused. On standard output a line ---
goes between files where the next does not begin with one.

With -w a file is replaced through a temporary file beside it and a rename. It
keeps its mode. Where nothing changes, nothing is written. A symbolic link stays, and
the file that it leads to is replaced.

Standard error gets a line for each image that changes, and a line with the totals:

  FILE:LINE:COLUMN: OBJECT PATH: OLD -> NEW

The first error ends the work. On standard output the documents before it are written by
then; with -w the files before it are done, and the file with the error is as it was.

Example:

  imageoverrides rewrite -t values.yaml manifests/*.yaml
  helm template cilium ./cilium | imageoverrides rewrite -t values.yaml

Exit status: 0 done, 1 bad input, 2 wrong usage.
`

// rewrite runs the command rewrite.
func (s streams) rewrite(args []string) int {
	flags := flag.NewFlagSet("imageoverrides rewrite", flag.ContinueOnError)
	tableFile := flags.String("t", "", "")
	inPlace := flags.Bool("w", false, "")
	if status, ok := s.parse(flags, rewriteUsage, args); !ok {
		return status
	}
	files := flags.Args()
	switch {
	case *tableFile == "":
		return s.misuse(flags.Name(), rewriteUsage, "-t TABLE is missing")
	case *inPlace && len(files) == 0:
		return s.misuse(flags.Name(), rewriteUsage, "-w needs files to write to")
	case *inPlace && slices.Contains(files, "-"):
		return s.misuse(flags.Name(), rewriteUsage, "-w cannot write to standard input")
	case twice(*tableFile, files):
		return s.misuse(flags.Name(), rewriteUsage, "the table and the manifests cannot both come from standard input")
	case len(files) == 0:
		files = []string{"-"}
	}
	src, err := s.ready(*tableFile)
	if err != nil {
		return s.fail(err)
	}
	out := &output{w: s.stdout}
	documents, images, written := 0, 0, 0
	for _, file := range files {
		var result imageoverrides.Result
		if *inPlace {
			result, err = s.rewriteFile(file, src.table)
		} else {
			result, err = s.rewriteTo(out, file, src.table)
		}
		for _, c := range result.Changes {
			fmt.Fprintf(s.stderr, "%s:%d:%d: %s %s: %s -> %s\n", named(file), c.Line, c.Column, c.Object, c.Path, c.Old, c.New)
		}
		if err != nil {
			return s.fail(err)
		}
		documents += result.Documents
		images += len(result.Changes)
		if len(result.Edits) > 0 {
			written++
		}
	}
	totals := count(documents, "document") + ", " + count(images, "image") + " changed"
	if *inPlace {
		totals += ", " + count(written, "file") + " written"
	}
	fmt.Fprintln(s.stderr, totals)
	return 0
}

// rewriteTo rewrites a file to the output.
func (s streams) rewriteTo(out *output, file string, t imageoverrides.Table) (imageoverrides.Result, error) {
	f, err := s.open(file)
	if err != nil {
		return imageoverrides.Result{}, err
	}
	defer f.Close()
	in := bufio.NewReader(f)
	if err := out.join(in); err != nil {
		return imageoverrides.Result{}, err
	}
	result, err := imageoverrides.Rewrite(out, in, t)
	return result, manifestError(file, err)
}

// rewriteFile rewrites a file in its place. After an error the file is as it was, and
// the result is empty.
func (s streams) rewriteFile(file string, t imageoverrides.Table) (imageoverrides.Result, error) {
	if info, err := os.Stat(file); err == nil && !info.Mode().IsRegular() && !info.IsDir() {
		return imageoverrides.Result{}, fmt.Errorf("%s: is no regular file, so -w cannot replace it", file)
	}
	f, err := s.open(file)
	if err != nil {
		return imageoverrides.Result{}, err
	}
	defer f.Close()
	var content bytes.Buffer
	result, err := imageoverrides.Rewrite(&content, f, t)
	if err != nil {
		return imageoverrides.Result{}, manifestError(file, err)
	}
	if len(result.Edits) == 0 {
		return result, nil
	}
	if err := replace(file, content.Bytes()); err != nil {
		return imageoverrides.Result{}, fileError(file, err)
	}
	return result, nil
}

// manifestError puts file, line and column before the fault of a manifest. Errors of reading
// and writing have a name already.
func manifestError(file string, err error) error {
	var e *imageoverrides.Error
	if errors.As(err, &e) {
		return fmt.Errorf("%s%s: %s", named(file), position(e.Line, e.Column), e.Reason())
	}
	return err
}
