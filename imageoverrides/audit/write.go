// SPDX-License-Identifier: Apache-2.0

package audit

import (
	"bufio"
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"

	"github.com/cozystack/image-overrides/internal/quote"
)

// Images returns the images that the platform runs in the end, sorted, each once: those of rewritten places under their new names, those that
// are kept or missed, and those that are not reached. Suspected texts, and what releases inside of the manifests have in their values, are not among them.
func (r *Report) Images() []string {
	var list []string
	for i := range r.Places {
		if p := &r.Places[i]; p.Status != Suspected && p.counted() && p.Runs() != "" && p.Reason != ReasonPrefix {
			list = append(list, p.Runs())
		}
	}
	slices.Sort(list)
	return slices.Compact(list)
}

// WriteJSON writes the report as one JSON object, indented. The error is the writer's.
func (r *Report) WriteJSON(dst io.Writer) error {
	e := json.NewEncoder(dst)
	e.SetIndent("", "  ")
	e.SetEscapeHTML(false)
	return e.Encode(r)
}

// String returns the summary in one line.
func (s Summary) String() string {
	text := fmt.Sprintf("%s in %s: %d rewritten, %d kept, %d missed, %d unreached, %d suspected", count(s.Images, "image"), count(s.Documents, "document"), s.Rewritten, s.Kept, s.Missed, s.Unreached, s.Suspected)
	if s.Outside > 0 {
		text += fmt.Sprintf(", %d from outside", s.Outside)
	}
	if s.Values > 0 {
		text += fmt.Sprintf("; %d in values of releases", s.Values)
	}
	return text + fmt.Sprintf("; %s without effect; %s, %s", count(s.Unused, "entry"), count(s.Errors, "error"), count(s.Warnings, "warning"))
}

func count(n int, thing string) string {
	if n == 1 {
		return "1 " + thing
	}
	if thing == "entry" {
		return fmt.Sprintf("%d entries", n)
	}
	return fmt.Sprintf("%d %ss", n, thing)
}

// Advice says what to do about the place; "" for one that needs no hand.
func (p *Place) Advice() string {
	switch p.Status {
	case Rewritten:
		return ""
	case Kept:
		if p.Reason == ReasonNoEntry {
			return "add an entry, if it should not stay"
		}
		return ""
	case Suspected:
		return "see whether it is an image, and set it in the chart's values if it should change"
	case Missed:
		switch p.Reason {
		case ReasonSpelling:
			return "add an entry for this spelling"
		case ReasonDigest:
			return "kustomize knows sha256 digests only: pin the image by one in the chart's values, or set its name there"
		case ReasonTag:
			return "kustomize does not take this for a tag: set another in the chart's values"
		case ReasonBlank:
			return "take the white space away in the chart's values"
		}
		return "put in what it stands for before Flux sees it, or set the image in the chart's values"
	}
	switch p.Reason {
	case ReasonHook:
		return "use the strategy combined of a Flux whose post-renderers see hooks, or set it in the chart's values"
	case ReasonSource:
		return "set it where the source is written"
	case ReasonKustomization:
		return "set it in the Kustomization or the Application"
	case ReasonValues:
		return "give that release the table"
	}
	return "set it in the chart's values, or patch it"
}

// A group is the places of an image that have the same said of them.
type group struct {
	first  *Place
	places []*Place
}

// groups are the places that need a hand and are not accepted, by image, the most urgent first.
func (r *Report) groups(accepted Baseline) (groups []group) {
	type id struct {
		status Status
		advice string
		image  string
	}
	at := make(map[id]int)
	for i := range r.Places {
		p := &r.Places[i]
		if !p.counted() || p.Status == Rewritten || p.Status == Kept {
			continue
		}
		one := Report{Places: []Place{*p}}
		if accepted[one.Findings()[0].Key] {
			continue
		}
		k := id{p.Status, p.Advice(), cmp.Or(p.Whole, p.Image)}
		n, ok := at[k]
		if !ok {
			n = len(groups)
			at[k] = n
			groups = append(groups, group{first: p})
		}
		groups[n].places = append(groups[n].places, p)
	}
	order := map[Status]int{Missed: 0, Unreached: 1, Suspected: 2}
	slices.SortStableFunc(groups, func(a, b group) int {
		return cmp.Or(cmp.Compare(order[a.first.Status], order[b.first.Status]), strings.Compare(cmp.Or(a.first.Whole, a.first.Image), cmp.Or(b.first.Whole, b.first.Image)))
	})
	return groups
}

// known returns how many findings of those that a text tells are in a baseline.
func (r *Report) known(accepted Baseline) int {
	if len(accepted) == 0 {
		return 0
	}
	seen := make(map[string]bool)
	for _, f := range r.Findings() {
		if f.Kind != KindKept && f.Kind != KindOutside && accepted[f.Key] {
			seen[f.Key] = true
		}
	}
	return len(seen)
}

// shown writes a text of others on a line: in quotes where it has what does not print, or a blank.
func shown(text string) string {
	if text == "" || strings.Contains(text, " ") {
		return quote.Value(text)
	}
	return quote.Plain(text)
}

// where writes a position.
func where(source string, line, column int) string {
	if line == 0 {
		return "the table"
	}
	return fmt.Sprintf("%s:%d:%d", quote.Plain(source), line, column)
}

// maxPaths is how long the places of an image, or the risks of a rule, may get in a text.
const maxPaths = 20

// WriteText writes the report for people: the summary in a line, then what needs a hand and is not in the baseline: images with their places,
// the entries that met nothing, and the risks. Each is one line, with what does not print quoted; of many places of an image, or many
// warnings of a rule, the first 20 are written and the others counted. The error is the writer's.
func (r *Report) WriteText(dst io.Writer, accepted Baseline) error {
	w := bufio.NewWriter(dst)
	groups := r.groups(accepted)
	line := r.Summary.String()
	if n := r.known(accepted); n > 0 {
		line += fmt.Sprintf("; %d accepted", n)
	}
	fmt.Fprintln(w, line)
	for _, g := range groups {
		p := g.first
		fmt.Fprintf(w, "%s: %s%s: %s\n", p.Status, shown(cmp.Or(p.Whole, p.Image)), r.forEntry(p), p.Advice())
		for i, p := range g.places {
			if i == maxPaths {
				fmt.Fprintf(w, "  and %d places more\n", len(g.places)-i)
				break
			}
			fmt.Fprintf(w, "  %s: %s %s (%s)\n", where(p.Source, p.Line, p.Column), p.Object(), p.Path, p.Reason)
		}
	}
	for i := range r.Entries {
		e := &r.Entries[i]
		if one := (&Report{Entries: r.Entries[i : i+1]}); e.Unused() && !accepted[one.Findings()[0].Key] {
			fmt.Fprintf(w, "unused: %s: entry %d meets no image%s\n", shown(e.Name), e.Entry, nearest(e))
		}
	}
	told := make(map[RiskRule]int)
	for i := range r.Risks {
		k := &r.Risks[i]
		if one := (&Report{Risks: r.Risks[i : i+1]}); accepted[one.Findings()[0].Key] {
			continue
		}
		if told[k.Rule]++; k.Severity == SeverityWarning && told[k.Rule] > maxPaths {
			continue
		}
		fmt.Fprintf(w, "%s: %s: %s%s: %s (%s)\n", k.Severity, where(k.Source, k.Line, k.Column), k.Object(), after(k.Path), k.Message, k.Rule)
	}
	for _, rule := range slices.Sorted(keysOf(told)) {
		if n := told[rule] - maxPaths; n > 0 && !isError(r.Risks, rule) {
			fmt.Fprintf(w, "warning: and %d more (%s)\n", n, rule)
		}
	}
	return w.Flush()
}

func keysOf(m map[RiskRule]int) func(func(RiskRule) bool) {
	return func(yield func(RiskRule) bool) {
		for k := range m {
			if !yield(k) {
				return
			}
		}
	}
}

// isError reports whether the risks of a rule are errors.
func isError(risks []Risk, rule RiskRule) bool {
	return slices.ContainsFunc(risks, func(k Risk) bool { return k.Rule == rule && k.Severity == SeverityError })
}

func after(path string) string {
	if path == "" {
		return ""
	}
	return " " + path
}

// forEntry names the entry that is meant for a place.
func (r *Report) forEntry(p *Place) string {
	if p.Entry < 0 || p.Entry >= len(r.Entries) {
		return ""
	}
	return ", for entry " + strconv.Itoa(p.Entry) + " (" + shown(r.Entries[p.Entry].Name) + ")"
}

func nearest(e *Entry) string {
	if e.Near == "" {
		return "; drop it, or see how the manifests spell it"
	}
	return "; the nearest that there is: " + shown(e.Near)
}

// WriteMarkdown writes the report for a pull request: the summary, and tables of what needs a hand and is not in the baseline. The error is the writer's.
func (r *Report) WriteMarkdown(dst io.Writer, accepted Baseline) error {
	w := bufio.NewWriter(dst)
	fmt.Fprintf(w, "### Images\n\n%s\n", r.Summary)
	groups := r.groups(accepted)
	if len(groups) > 0 {
		fmt.Fprint(w, "\n| | image | places | why | what to do |\n|---|---|---|---|---|\n")
	}
	for _, g := range groups {
		p := g.first
		var places []string
		for i, p := range g.places {
			if i == 3 {
				places = append(places, fmt.Sprintf("and %d more", len(g.places)-i))
				break
			}
			places = append(places, code(where(p.Source, p.Line, p.Column)+" "+p.Object().String()))
		}
		fmt.Fprintf(w, "| %s | %s%s | %s | %s | %s |\n", p.Status, code(cmp.Or(p.Whole, p.Image)), cell(r.forEntry(p)), strings.Join(places, "<br>"), p.Reason, p.Advice())
	}
	title := "\n| entry | name | nearest |\n|---|---|---|\n"
	for i := range r.Entries {
		e := &r.Entries[i]
		if one := (&Report{Entries: r.Entries[i : i+1]}); e.Unused() && !accepted[one.Findings()[0].Key] {
			fmt.Fprintf(w, "%s| %d | %s | %s |\n", title, e.Entry, code(e.Name), code(e.Near))
			title = ""
		}
	}
	title = "\n| risk | place | |\n|---|---|---|\n"
	for i := range r.Risks {
		k := &r.Risks[i]
		if one := (&Report{Risks: r.Risks[i : i+1]}); accepted[one.Findings()[0].Key] {
			continue
		}
		fmt.Fprintf(w, "%s| %s: %s | %s | %s |\n", title, k.Severity, k.Rule, code(where(k.Source, k.Line, k.Column)+" "+k.Object().String()+after(k.Path)), cell(k.Message))
		title = ""
	}
	return w.Flush()
}

// code writes a text as code in a cell.
func code(text string) string {
	if text == "" {
		return ""
	}
	text = strings.NewReplacer("`", "'", "|", "\\|").Replace(quote.Plain(text))
	return "`" + text + "`"
}

// cell writes a text so that it stays in its cell.
func cell(text string) string {
	return strings.NewReplacer("|", "\\|", "<", "&lt;", "\n", " ").Replace(text)
}
