// SPDX-License-Identifier: Apache-2.0

package audit

import (
	"bufio"
	"cmp"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/cozystack/image-overrides/internal/quote"
)

// A Kind is a kind of finding.
type Kind string

const (
	KindMissed    Kind = "missed"
	KindUnreached Kind = "unreached"
	KindSuspected Kind = "suspected"
	KindKept      Kind = "kept"
	KindOutside   Kind = "outside"  // an image that does not come from Options.Allowed; the suspected are not counted
	KindUnused    Kind = "unused"   // an entry that met no image
	KindError     Kind = "errors"   // a risk of that severity
	KindWarning   Kind = "warnings" // a risk of that severity
)

// Kinds are all kinds of findings.
var Kinds = []Kind{KindMissed, KindUnused, KindError, KindUnreached, KindSuspected, KindOutside, KindKept, KindWarning}

// A Finding is something that a report may be failed for.
type Finding struct {
	Kind Kind

	// Key names the finding as long as its object, its path and the text there stay, wherever they move in their source: one line, with what
	// does not print quoted. Two places with one key are one finding to a baseline.
	Key string
}

// Findings returns all findings of the report, in the order of its lists. A place may be in two: kept, and outside.
func (r *Report) Findings() []Finding {
	var list []Finding
	add := func(kind Kind, parts ...string) {
		for i := range parts {
			parts[i] = quote.Plain(cmp.Or(parts[i], "-"))
			if strings.Contains(parts[i], " ") && parts[i][0] != '"' {
				parts[i] = quote.Value(parts[i])
			}
		}
		list = append(list, Finding{kind, string(kind) + " " + strings.Join(parts, " ")})
	}
	for i := range r.Places {
		p := &r.Places[i]
		if !p.counted() {
			continue
		}
		text := cmp.Or(p.Whole, p.Image)
		if p.Status != Rewritten {
			add(Kind(p.Status), p.Source, p.Kind, p.Namespace, p.Name, p.Path, text)
		}
		if p.Outside && p.Status != Suspected {
			add(KindOutside, p.Source, p.Kind, p.Namespace, p.Name, p.Path, p.Runs())
		}
	}
	for i := range r.Entries {
		if r.Entries[i].Unused() {
			add(KindUnused, r.Entries[i].Name)
		}
	}
	for i := range r.Risks {
		k := &r.Risks[i]
		kind := KindWarning
		if k.Severity == SeverityError {
			kind = KindError
		}
		add(kind, string(k.Rule), k.Source, k.Kind, k.Namespace, k.Name, k.Path)
	}
	return list
}

// A Baseline has the keys of findings that are known and accepted. A nil one has none.
type Baseline map[string]bool

// ReadBaseline reads a baseline: a key in each line, in any order. Empty lines and those that begin with # are passed over. The error is the
// reader's.
func ReadBaseline(src io.Reader) (Baseline, error) {
	b := make(Baseline)
	text := bufio.NewReader(src)
	for {
		line, err := text.ReadString('\n')
		if line = strings.TrimSpace(line); line != "" && line[0] != '#' {
			b[line] = true
		}
		if err == io.EOF {
			return b, nil
		}
		if err != nil {
			return nil, err
		}
	}
}

// WriteBaseline writes a baseline of the report's findings of some kinds, sorted, each key once, as [ReadBaseline] reads it. The error is the writer's.
func (r *Report) WriteBaseline(dst io.Writer, kinds ...Kind) error {
	var keys []string
	for _, f := range r.Findings() {
		if slices.Contains(kinds, f.Kind) {
			keys = append(keys, f.Key)
		}
	}
	slices.Sort(keys)
	w := bufio.NewWriter(dst)
	fmt.Fprintln(w, "# What is known of the images of the platform, and accepted: findings of imageoverrides audit.")
	for _, key := range slices.Compact(keys) {
		fmt.Fprintln(w, key)
	}
	return w.Flush()
}
