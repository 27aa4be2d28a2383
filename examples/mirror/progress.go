// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"io"
	"strings"

	"github.com/cozystack/image-overrides/internal/quote"
)

// A progress tells how far a command is: in one line that changes where standard error is a terminal, and in a line for
// each step where it is not.
type progress struct {
	streams
	drawn bool
}

// barWidth is how many characters a bar has.
const barWidth = 24

func (p *progress) step(done, total int, text string) {
	if !p.terminal {
		p.say(fmt.Sprintf("%d/%d %s", done, total, text))
		return
	}
	full := 0
	if total > 0 {
		full = barWidth * done / total
	}
	var line strings.Builder
	write(&line, fmt.Sprintf("[%s%s] %d/%d %s", strings.Repeat("#", full), strings.Repeat(" ", barWidth-full), done, total, quote.Shorten(text, 80)))
	io.WriteString(p.stderr, "\r"+strings.TrimSuffix(line.String(), "\n")+"\x1b[K")
	p.drawn = true
}

// end takes the bar away.
func (p *progress) end() {
	if p.drawn {
		io.WriteString(p.stderr, "\r\x1b[K")
		p.drawn = false
	}
}
