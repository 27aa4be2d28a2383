// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"io"
	"strconv"
	"strings"
	"unicode/utf8"
)

// Messages quote what they are about, and the input is anybody's: a name with a line feed would
// forge a line, one with an escape would move the cursor, and one of 300 KB would hide all else.

// maxShown is how many bytes of one text of the input stand in a message, and maxLine how many
// bytes a line has.
const (
	maxShown = 1024
	maxLine  = 8 * maxShown
)

// shown writes a text of the input as it is where all of it prints, and with quotes
// and escapes otherwise. A long one is shortened.
func shown(text string) string { return show(text, false) }

// shownImage is shown for images, which have quotes also where a blank could pass for the
// end of one.
func shownImage(image string) string {
	return show(image, image == "" || strings.Contains(image, " "))
}

func show(text string, quoted bool) string {
	short := shorten(text, maxShown)
	more := len(text) - len(short)
	if quoted || !prints(short) {
		short = strconv.Quote(short)
	}
	return short + rest(more)
}

// rest tells how many bytes were left out.
func rest(n int) string {
	if n == 0 {
		return ""
	}
	return fmt.Sprintf("... (%d bytes more)", n)
}

// shorten cuts a text to n bytes at the most, between characters.
func shorten(text string, n int) string {
	if len(text) <= n {
		return text
	}
	for n > 0 && !utf8.RuneStart(text[n]) {
		n--
	}
	return text[:n]
}

// prints reports whether all characters of a text are visible, or blanks.
func prints(text string) bool {
	for _, r := range text {
		if !strconv.IsPrint(r) || r == utf8.RuneError {
			return false
		}
	}
	return true
}

// say writes a message of one line: what does not print in it has escapes, whoever wrote it, and a
// line that is too long is shortened.
func say(w io.Writer, message string) {
	line := shorten(message, maxLine)
	if !prints(line) {
		line = escape(line)
	}
	io.WriteString(w, line+rest(len(message)-len(shorten(message, maxLine)))+"\n") // a sink remembers the error
}

// escape writes the characters that do not print as Go's escapes.
func escape(text string) string {
	var b strings.Builder
	for len(text) > 0 {
		r, n := utf8.DecodeRuneInString(text)
		switch {
		case r == utf8.RuneError || !strconv.IsPrint(r):
			quoted := strconv.Quote(text[:n])
			b.WriteString(quoted[1 : len(quoted)-1])
		default:
			b.WriteString(text[:n])
		}
		text = text[n:]
	}
	return b.String()
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
