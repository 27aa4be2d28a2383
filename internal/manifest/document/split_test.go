// SPDX-License-Identifier: Apache-2.0

package document

import (
	"errors"
	"io"
	"strings"
	"testing"
	"testing/iotest"
	"unicode/utf8"

	"pgregory.net/rapid"
)

// splitPlainly cuts a text into pieces line by line.
func splitPlainly(text string) []string {
	var pieces []string
	piece := ""
	head := true       // only comments, white space and directives so far
	directive := false // at least one of these
	cut := func() {
		if piece != "" {
			pieces = append(pieces, piece)
		}
		piece, head, directive = "", true, false
	}
	for line := range strings.SplitAfterSeq(text, "\n") {
		whole := line
		if piece == "" {
			line = strings.TrimPrefix(line, "\uFEFF")
		}
		first, _, _ := strings.Cut(line+" ", " ")
		first, _, _ = strings.Cut(first, "\t")
		first = strings.TrimRight(first, "\r\n")
		if first == "---" && piece != "" && !(head && directive) {
			cut()
		}
		piece += whole
		switch {
		case first == "..." && piece != whole: // the first line of a piece ends nothing
			cut()
		case strings.HasPrefix(line, "%"):
			directive = true
		case strings.TrimSpace(line) != "" && !strings.HasPrefix(strings.TrimLeft(line, " \t\r"), "#"):
			head = false
		}
	}
	cut()
	return pieces
}

func pieces(r io.Reader) (list []string, err error) {
	s := NewSplitter(r, 1<<20, nil)
	offset, line := 0, 1
	for {
		p, err := s.Next()
		if err != nil {
			return list, err
		}
		text := string(p.Bytes)
		if int(p.Offset) != offset || p.Line != line || p.Body > len(text) {
			return list, errors.New("offset, line or body is wrong in " + text)
		}
		offset += len(text)
		line += strings.Count(text, "\n")
		list = append(list, text)
	}
}

// TestSplit: the pieces are those that a reader of lines sees, however the stream
// comes in, and joined they are the stream.
func TestSplit(t *testing.T) {
	part := rapid.SampledFrom([]string{
		"---\n", "--- \n", "---\t# c\n", "---\r\n", "--- a\n", "---", "---a\n", "----\n", " ---\n", "...\n", "... # c\n", "...\r\n", "...", "....\n",
		"a: b\n", "# c\n", "%YAML 1.2\n", "%TAG ! !\n", "\n", "  \n", "\r\n", "a", "-", ".", "\uFEFF",
	})
	rapid.Check(t, func(t *rapid.T) {
		text := strings.Join(rapid.SliceOfN(part, 0, 12).Draw(t, "parts"), "")
		want := splitPlainly(text)
		for name, r := range map[string]io.Reader{
			"whole": strings.NewReader(text), "byte by byte": iotest.OneByteReader(strings.NewReader(text)),
			"halves": iotest.HalfReader(strings.NewReader(text)), "with the end": iotest.DataErrReader(strings.NewReader(text)),
		} {
			got, err := pieces(r)
			if err != io.EOF || strings.Join(got, "|") != strings.Join(want, "|") || strings.Join(got, "") != text {
				t.Fatalf("%s: %v\n%q\nwant\n%q", name, err, got, want)
			}
		}
	})
}

func TestSplitLimit(t *testing.T) {
	for _, test := range []struct {
		text   string
		pieces int
		err    error
	}{
		{"a: b\n", 1, io.EOF}, {"a: bc\n", 0, ErrLimit}, {"a: b\n---\n", 2, io.EOF}, {"a: b\n---\n\n---\na\n", 2, ErrLimit}, {"a: bc\n---\n", 0, ErrLimit}, {"---\n\n...", 0, ErrLimit},
	} {
		s := NewSplitter(iotest.OneByteReader(strings.NewReader(test.text)), 5, nil)
		n := 0
		for ; ; n++ {
			if _, err := s.Next(); err != nil {
				if err != test.err || n != test.pieces {
					t.Errorf("%q: %d pieces, then %v; want %d, then %v", test.text, n, err, test.pieces, test.err)
				}
				break
			}
		}
	}
}

// TestSplitMemory: the buffer follows the largest piece, not the stream.
func TestSplitMemory(t *testing.T) {
	const piece = "---\na: 0123456789012345678901234567890123456789\n"
	s := NewSplitter(io.LimitReader(&repeat{text: piece}, 64<<20), 1<<20, nil)
	largest := 0
	for {
		_, err := s.Next()
		if err == io.EOF {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		largest = max(largest, s.Buffered())
	}
	if largest > 128<<10 || largest < len(piece) {
		t.Errorf("a buffer of %d bytes for pieces of %d", largest, len(piece))
	}
}

// repeat is an endless reader of a text.
type repeat struct {
	text string
	at   int
}

func (r *repeat) Read(p []byte) (int, error) {
	n := copy(p, r.text[r.at:])
	r.at = (r.at + n) % len(r.text)
	for n+len(r.text) <= len(p) && r.at == 0 {
		n += copy(p[n:], r.text)
	}
	return n, nil
}

func TestPosition(t *testing.T) {
	for _, test := range []struct {
		text         string
		offset       int
		line, column int
	}{
		{"", 0, 1, 1}, {"ab", 1, 1, 2}, {"a\nb", 2, 2, 1}, {"a\nb", 1, 1, 2}, {"é\r\néa", 6, 2, 2}, {"\uFEFFa", 3, 1, 1}, {"\uFEFFa", 1, 1, 1}, {"\uFEFFa", 4, 1, 2}, {"a", 99, 1, 2}, {"a\n", 2, 2, 1},
	} {
		if line, column := NewLines([]byte(test.text)).Position(test.offset); line != test.line || column != test.column {
			t.Errorf("%q at %d: %d:%d, want %d:%d", test.text, test.offset, line, column, test.line, test.column)
		}
	}
	// In whatever order one asks.
	rapid.Check(t, func(t *rapid.T) {
		text := []byte(rapid.StringOf(rapid.SampledFrom([]rune("aé\n\uFEFF"))).Draw(t, "text"))
		lines := NewLines(text)
		for _, offset := range rapid.SliceOf(rapid.IntRange(0, len(text))).Draw(t, "offsets") {
			for offset < len(text) && !utf8.RuneStart(text[offset]) {
				offset++
			}
			line, column := lines.Position(offset)
			if l, c := NewLines(text).Position(offset); l != line || c != column {
				t.Fatalf("%d is %d:%d, asked alone %d:%d", offset, line, column, l, c)
			}
		}
	})
}
