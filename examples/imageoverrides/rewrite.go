// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bufio"
	"bytes"
	"flag"
	"fmt"
	"io"
	"os"
	"slices"

	"github.com/cozystack/image-overrides/imageoverrides"
	"github.com/cozystack/image-overrides/internal/replace"
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
keeps owner, group and mode, or stays as it is where it cannot; access lists, extended
attributes and other hard links are not kept. Where nothing changes, nothing is
written. A symbolic link stays, and the file that it leads to is replaced.

A document that would change and that SOPS has signed (sops.mac, unless mac_only_encrypted)
is an error: decrypt it, rewrite it, encrypt it. So is a template that nobody rendered.

Standard error gets a line for each image that changes, and a line with the totals:

  FILE:LINE:COLUMN: OBJECT PATH: OLD -> NEW

The first error ends the work. On standard output the documents before it are written by
then; with -w the files before it are done, and the file with the error is as it was.

Example:

  imageoverrides rewrite -t values.yaml manifests/*.yaml
  helm template cilium ./cilium | imageoverrides rewrite -t values.yaml

Exit status: 0 done, 1 bad input or a failed write, 2 wrong usage.
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
	var total rewritten
	written := 0
	for _, file := range files {
		before := total.images
		if *inPlace {
			err = s.rewriteFile(&total, file, src.Table)
		} else {
			err = s.rewriteTo(&total, out, file, src.Table)
		}
		if err != nil {
			return s.fail(err)
		}
		if total.images > before {
			written++
		}
	}
	totals := count(total.documents, "document") + ", " + count(total.images, "image") + " changed"
	if *inPlace {
		totals += ", " + count(written, "file") + " written"
	}
	say(s.stderr, totals)
	return 0
}

// rewritten says how much was rewritten.
type rewritten struct{ documents, images int }

// rewriteTo rewrites a file to the output. The images are told as their document is done.
func (s streams) rewriteTo(total *rewritten, out *output, file string, t imageoverrides.Table) error {
	f, err := s.open(file)
	if err != nil {
		return err
	}
	defer f.Close()
	in := bufio.NewReader(f)
	if err := out.join(in); err != nil {
		return err
	}
	return total.stream(out, in, named(file), t, func(line string) { say(s.stderr, line) })
}

// rewriteFile rewrites a file in its place. After an error the file is as it was, and
// no image is told.
func (s streams) rewriteFile(total *rewritten, file string, t imageoverrides.Table) error {
	if info, err := os.Stat(file); err == nil && !info.Mode().IsRegular() && !info.IsDir() {
		return fmt.Errorf("%s: is no regular file, so -w cannot replace it", named(file))
	}
	f, err := s.open(file)
	if err != nil {
		return err
	}
	defer f.Close()
	var content bytes.Buffer
	var here rewritten
	var lines []string
	if err := here.stream(&content, f, named(file), t, func(line string) { lines = append(lines, line) }); err != nil {
		return err
	}
	if here.images > 0 {
		if err := replace.File(file, content.Bytes()); err != nil {
			return fileError(file, err)
		}
	}
	for _, line := range lines {
		say(s.stderr, line)
	}
	total.documents += here.documents
	total.images += here.images
	return nil
}

// stream rewrites manifests, and tells each image that changes.
func (r *rewritten) stream(dst io.Writer, src io.Reader, file string, t imageoverrides.Table, tell func(line string)) error {
	changed := func(changes []imageoverrides.Change, _ []imageoverrides.Edit) error {
		r.images += len(changes)
		for _, c := range changes {
			tell(fmt.Sprintf("%s%s: %s %s: %s -> %s", file, position(c.Line, c.Column), c.Object, c.Path, shownImage(c.Old), shownImage(c.New)))
		}
		return nil
	}
	result, err := imageoverrides.Rewriter{Changed: changed}.RewriteSource(dst, src, t)
	r.documents += result.Documents
	if found := imageoverrides.Faults(err); found != nil {
		return fmt.Errorf("%s%s: %s", file, position(found[0].Line, found[0].Column), found[0].Reason())
	}
	return err
}
