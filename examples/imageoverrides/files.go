// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"os"
	"slices"

	"github.com/cozystack/image-overrides/internal/quote"
	"github.com/cozystack/image-overrides/internal/replace"
)

// named is how messages name a file: standard input has no name of its own.
func named(file string) string {
	if file == "-" {
		return "<stdin>"
	}
	return quote.Plain(file)
}

// open opens a file for reading, - being standard input. The error names the file, and
// so does every error of reading it.
func (s streams) open(file string) (io.ReadCloser, error) {
	if file == "-" {
		return io.NopCloser(reader{s.stdin, file}), nil
	}
	f, err := os.Open(file)
	if err != nil {
		return nil, fileError(file, err)
	}
	if info, err := f.Stat(); err == nil && info.IsDir() {
		f.Close()
		return nil, fmt.Errorf("%s: is a directory; name the files in it", named(file))
	}
	return struct {
		io.Reader
		io.Closer
	}{reader{f, file}, f}, nil
}

// reader names its file in errors.
type reader struct {
	r    io.Reader
	file string
}

func (r reader) Read(p []byte) (int, error) {
	n, err := r.r.Read(p)
	if err != nil && err != io.EOF {
		err = fileError(r.file, err)
	}
	return n, err
}

// fileError puts the file's name as it was given before the reason.
func fileError(file string, err error) error {
	return fmt.Errorf("%s: %w", named(file), replace.Reason(err))
}

// twice reports whether standard input is asked for by the table and by the manifests.
func twice(table string, files []string) bool {
	return table == "-" && (len(files) == 0 || slices.Contains(files, "-"))
}

// output writes the manifests of several files as one stream.
type output struct {
	w    io.Writer
	last byte // the last byte written, 0 for none
}

func (o *output) Write(b []byte) (int, error) {
	n, err := o.w.Write(b)
	if n > 0 {
		o.last = b[n-1]
	}
	return n, err
}

// join makes the next file's documents documents of their own in the stream: it
// writes a separator unless the file begins with one, and passes over the file's byte order
// mark. Before the first file it does nothing.
func (o *output) join(next *bufio.Reader) error {
	if o.last == 0 {
		return nil
	}
	if mark, _ := next.Peek(3); string(mark) == "\uFEFF" {
		if _, err := next.Discard(3); err != nil {
			return err
		}
	}
	var between []byte
	if o.last != '\n' {
		between = append(between, '\n')
	}
	switch start, _ := next.Peek(4); {
	case len(start) == 0:
		return nil
	case start[0] == '%': // a directive, which may not stand behind ---
		between = append(between, "...\n"...)
	case bytes.HasPrefix(start, []byte("---")) && len(bytes.TrimRight(start, " \t\r\n")) == 3:
	default:
		between = append(between, "---\n"...)
	}
	_, err := o.Write(between)
	return err
}
