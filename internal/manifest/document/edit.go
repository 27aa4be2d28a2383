// SPDX-License-Identifier: Apache-2.0

package document

import (
	"bytes"
	"cmp"
	"slices"
	"strings"
)

// An Edit is a change of bytes: New is to be written in place of those from Start to End.
type Edit struct {
	Start, End int
	New        string
}

// Splice returns the text with the edits made, those in one place in their order. It is not ok where two overlap. It sorts
// the edits.
func Splice(text []byte, edits []Edit) (out []byte, ok bool) {
	slices.SortStableFunc(edits, func(a, b Edit) int { return cmp.Or(a.Start-b.Start, a.End-b.End) })
	at := 0
	for _, e := range edits {
		if e.Start < at {
			return nil, false
		}
		out = append(append(out, text[at:e.Start]...), e.New...)
		at = e.End
	}
	return append(out, text[at:]...), true
}

// Insert returns the edit that puts lines, further in by some spaces, at the start of a line or at the end of the text. They end as the
// text's first line does, and a text without a line break at its end stays so.
func Insert(text []byte, at, indent int, lines string) Edit {
	margin := strings.Repeat(" ", indent)
	var b strings.Builder
	for line := range strings.SplitAfterSeq(lines, "\n") {
		if strings.TrimRight(line, "\n") != "" {
			b.WriteString(margin)
		}
		b.WriteString(line)
	}
	lines = b.String()
	if at > 0 && text[at-1] != '\n' {
		lines = "\n" + strings.TrimRight(lines, "\n")
	}
	if first := bytes.IndexByte(text, '\n'); first > 0 && text[first-1] == '\r' {
		lines = strings.ReplaceAll(lines, "\n", "\r\n")
	}
	return Edit{at, at, lines}
}
