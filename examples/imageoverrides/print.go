// SPDX-License-Identifier: Apache-2.0

package main

import (
	"io"
	"strings"

	"github.com/cozystack/image-overrides/internal/quote"
)

// What messages are about is anybody's: a name with a line feed would forge a line, one with
// an escape would move the cursor, and one of 300 KB would hide all else. Names are written by quote.Plain, and
// whatever is left goes through say.

// shownImage writes an image as it is where all of it prints and no blank could pass for the end of
// it, and with quotes otherwise.
func shownImage(image string) string {
	if image == "" || strings.Contains(image, " ") {
		return quote.Value(image)
	}
	return quote.Plain(image)
}

// say writes a message of one line, with escapes for what does not print in it.
func say(w io.Writer, message string) {
	io.WriteString(w, quote.Line(message)+"\n") // a sink remembers the error
}

// A sink is where a command writes. It remembers the first error, so that a full disk is one in
// whatever was written.
type sink struct {
	w    io.Writer
	name string
	err  error
	told bool // the error
}

func (s *sink) Write(b []byte) (int, error) {
	n, err := s.w.Write(b)
	if err == nil && n < len(b) {
		err = io.ErrShortWrite
	}
	if err != nil && s.err == nil {
		s.err = fileError(s.name, err)
	}
	if err != nil {
		return n, s.err
	}
	return n, nil
}
