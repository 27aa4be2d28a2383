// SPDX-License-Identifier: Apache-2.0

package audit

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/cozystack/image-overrides/imageoverrides"
	"github.com/cozystack/image-overrides/internal/quote"
	"github.com/cozystack/image-overrides/reference"
)

// Report reports on all that was added so far. More may be added, and reported on again. Without anything added it has the table and
// its entries, each of which met nothing.
func (a *Audit) Report() *Report {
	r := &Report{
		Table:  TableSummary{a.table.Len(), a.table.Hash()},
		Places: make([]Place, 0, len(a.images)), Entries: []Entry{}, Risks: slices.Clone(a.risks),
	}
	w := writer{audit: a, report: r, canonical: make(map[string]string), twice: make(map[string]outcome), once: make(map[string]outcome)}
	w.table()
	w.places()
	slices.SortStableFunc(r.Places, func(a, b Place) int {
		return cmp.Or(strings.Compare(a.Source, b.Source), cmp.Compare(a.Offset, b.Offset), strings.Compare(a.Path, b.Path))
	})
	slices.SortStableFunc(r.Risks, func(a, b Risk) int {
		return cmp.Or(strings.Compare(a.Source, b.Source), cmp.Compare(a.Offset, b.Offset), strings.Compare(string(a.Rule), string(b.Rule)), strings.Compare(a.Path, b.Path))
	})
	r.Risks = append(w.lint(), r.Risks...)
	w.near()
	w.summary()
	return r
}

// A writer writes a report.
type writer struct {
	audit     *Audit
	report    *Report
	overrides []imageoverrides.Override
	meant     map[string]int     // by canonical name, the first entry
	borne     map[string]bool    // the canonical names that containers and entries have
	canonical map[string]string  // names spelled out
	twice     map[string]outcome // by image, of those that both of kustomize's filters reach
	once      map[string]outcome // and of those that one does
}

// An outcome is what the table makes of an image.
type outcome struct {
	image   string
	entries []int
}

// table looks at the entries.
func (w *writer) table() {
	n := w.audit.table.Len()
	w.overrides, w.report.Entries = make([]imageoverrides.Override, 0, n), make([]Entry, 0, n)
	for i, o := range w.audit.table.All() {
		w.overrides = append(w.overrides, o)
		w.report.Entries = append(w.report.Entries, Entry{Entry: i, Name: o.Name})
	}
}

// meantBy returns the first entry with a canonical name.
func (w *writer) meantBy(name string) (entry int, ok bool) {
	if w.meant == nil { // as for the report of a platform whose images are all spelled as in the table
		w.meant = make(map[string]int, len(w.overrides))
		for i := range w.overrides {
			name := w.spell(w.overrides[i].Name)
			if _, ok := w.meant[name]; !ok {
				w.meant[name] = i
			}
		}
	}
	entry, ok = w.meant[name]
	return entry, ok
}

// isBorne reports whether an entry or an image that Flux reaches has a canonical name.
func (w *writer) isBorne(name string) bool {
	if w.borne == nil {
		w.borne = make(map[string]bool)
		for i := range w.audit.images {
			if m := &w.audit.images[i]; m.reached {
				name, _, _ := reference.Split(m.place.Image)
				w.borne[w.spell(name)] = true
			}
		}
	}
	if w.borne[name] {
		return true
	}
	_, ok := w.meantBy(name)
	return ok
}

// spell spells a name out.
func (w *writer) spell(name string) string {
	if spelled, ok := w.canonical[name]; ok {
		return spelled
	}
	spelled := name
	if image, err := reference.Parse(name); err == nil {
		if host := image.Host(); host != "" && !strings.HasSuffix(host, "docker.io") {
			return name // as most are, and only Docker Hub has other spellings
		}
		spelled = image.Canonical().Name()
	}
	w.canonical[name] = spelled
	return spelled
}

// lint has the table's errors as risks.
func (w *writer) lint() []Risk {
	risks := []Risk{}
	for _, e := range imageoverrides.Faults(w.audit.table.Strict()) {
		path := e.Path
		if e.Entry >= 0 {
			path = fmt.Sprintf("%s[%d]", e.Path, e.Entry)
		}
		risks = append(risks, Risk{Rule: RiskTable, Severity: SeverityError, Path: path, Line: e.Line, Column: e.Column, Message: strings.TrimPrefix(e.Reason(), path+": ")})
	}
	return risks
}

// places judges the images.
func (w *writer) places() {
	for i := range w.audit.images {
		m := &w.audit.images[i]
		p := m.place
		switch {
		case m.reached:
			w.reached(m, &p)
		case !w.unreached(m, &p):
			continue
		}
		p.Outside = w.outside(p.Runs())
		w.report.Places = append(w.report.Places, p)
		w.count(&p)
	}
}

// of is what the table makes of an image that kustomize reaches.
func (w *writer) of(image string, twice bool) outcome {
	known, apply := w.once, w.audit.table.ApplyOnce
	if twice {
		known, apply = w.twice, w.audit.table.Apply
	}
	made, ok := known[image]
	if !ok {
		made.image, made.entries = apply(image)
		known[image] = made
	}
	return made
}

// reached judges an image that kustomize reaches.
func (w *writer) reached(m *image, p *Place) {
	made := w.of(p.Image, m.twice)
	if m.hook && w.audit.options.Hooks == HooksKept {
		p.Status, p.Reason = Unreached, ReasonHook
		if len(made.entries) > 0 {
			p.Entry = made.entries[0]
		} else {
			p.Entry, _ = w.miss(p.Image)
		}
		return
	}
	w.sound(p)
	if len(made.entries) > 0 {
		p.Entry = made.entries[0]
		if len(made.entries) > 1 {
			p.Entries = made.entries
		}
		if made.image == p.Image {
			p.Status, p.Reason = Kept, ReasonSame
			return
		}
		p.Status, p.Reason, p.New = Rewritten, "", made.image
		w.rewritten(m, p)
		return
	}
	if p.Entry, p.Reason = w.miss(p.Image); p.Entry >= 0 {
		p.Status = Missed
		return
	}
	p.Status, p.Reason = Kept, cmp.Or(p.Reason, ReasonNoEntry)
}

// isPlaceholder reports whether something is to be put into a text yet.
func isPlaceholder(text string) bool {
	return strings.Contains(text, "${") || strings.Contains(text, "$(") || strings.Contains(text, "{{") || strings.Contains(text, "<") && strings.Contains(text, ">")
}

// miss returns the entry that is meant for an image and does not match, and why; -1 for none, with a reason where the image
// is a placeholder.
func (w *writer) miss(image string) (entry int, reason Reason) {
	if isPlaceholder(image) {
		return w.placeholder(image), ReasonPlaceholder
	}
	text := strings.TrimSpace(image)
	name, tag, digest := reference.Split(text)
	if name == "" {
		return -1, ""
	}
	entry, literal := w.named(name)
	switch {
	case entry < 0:
		return -1, ""
	case text != image:
		return entry, ReasonBlank
	case !literal:
		return entry, ReasonSpelling
	case digest != "" && !strings.HasPrefix(digest, "sha256:"):
		return entry, ReasonDigest
	case tag != "" || digest != "":
		return entry, ReasonTag
	}
	return -1, ""
}

// named returns the entry for a name, and whether it matches it as it is spelled; -1 for none.
func (w *writer) named(name string) (entry int, literal bool) {
	if _, entries := w.audit.table.Apply(name); len(entries) > 0 {
		return entries[0], true
	}
	if entry, ok := w.meantBy(w.spell(name)); ok {
		return entry, false
	}
	return -1, false
}

// placeholder returns the entry that a text with a placeholder is meant for: the only one whose name ends with what follows it,
// or is what is left of it without the tag.
func (w *writer) placeholder(image string) int {
	if name, _, _ := reference.Split(image); !isPlaceholder(name) {
		entry, _ := w.named(name)
		return entry
	}
	i := strings.LastIndexAny(image, "})>")
	rest, _, _ := reference.Split(image[i+1:])
	if !strings.HasPrefix(rest, "/") || len(rest) < 2 {
		return -1
	}
	found := -1
	for i, o := range w.overrides {
		if strings.HasSuffix(o.Name, rest) {
			if found >= 0 {
				return -1
			}
			found = i
		}
	}
	return found
}

// sound tells what is no image reference although Flux takes it for an image.
func (w *writer) sound(p *Place) {
	_, err := reference.Parse(p.Image)
	if err == nil || p.Image == "" {
		return
	}
	reason := err.Error()
	if isPlaceholder(p.Image) {
		reason = quote.Value(p.Image) + " is a placeholder"
	}
	w.risk(p, RiskNoReference, "no image reference, and no entry can be for it as it stands: %s", reason)
}

func (w *writer) risk(p *Place, rule RiskRule, format string, args ...any) {
	w.report.Risks = append(w.report.Risks, Risk{
		Rule: rule, Severity: SeverityWarning, Source: p.Source, APIVersion: p.APIVersion, Kind: p.Kind, Namespace: p.Namespace, Name: p.Name,
		Path: p.Path, Line: p.Line, Column: p.Column, Offset: p.Offset, Message: fmt.Sprintf(format, args...),
	})
}

// rewritten tells the risks of an image that changes.
func (w *writer) rewritten(m *image, p *Place) {
	group, _, _ := strings.Cut(p.APIVersion, "/")
	if p.Kind == "Job" && group == "batch" && !m.hook {
		w.risk(p, RiskJob, "the image of a Job, whose template is immutable: once the Job is there, the upgrade fails; give it a name that changes with the table, or a time to live")
	}
	_, _, old := reference.Split(p.Image)
	name, _, digest := reference.Split(p.New)
	switch {
	case old != "" && digest == "":
		w.risk(p, RiskDigestDropped, "%s is pinned by its digest, and newTag drops it; add the new image's digest to entry %d, if it should stay pinned", quote.Value(p.Image), p.Entry)
	case old != "" && digest == old && !strings.HasPrefix(p.Image, name+"@") && !strings.HasPrefix(p.Image, name+":"):
		w.risk(p, RiskDigestKept, "newName keeps the digest of %s: %s must hold the same content, or the pull fails", quote.Value(p.Image), quote.Value(name))
	}
	entry := w.overrides[p.Entry].Name
	if rest, ok := strings.CutPrefix(p.Image, entry); !ok || rest != "" && rest[0] != ':' && rest[0] != '@' {
		w.risk(p, RiskDot, "name %s of entry %d matches %s, for Flux reads a dot of a name as any character; see that it is meant", quote.Value(entry), p.Entry, quote.Value(p.Image))
	}
}

// unreached judges an image that kustomize does not reach. It is false where the text is none.
func (w *writer) unreached(m *image, p *Place) bool {
	text := cmp.Or(p.Whole, p.Image)
	name, _, _ := reference.Split(text)
	p.Status = Unreached
	switch m.kind {
	case likely:
		p.Status = Suspected
	case maybe:
		if !w.isBorne(w.spell(name)) {
			return false
		}
		p.Status = Suspected
	}
	if p.Reason == ReasonValues {
		return true
	}
	p.Entry, _ = w.named(name)
	if _, entries := w.audit.table.Apply(text); len(entries) > 0 {
		p.Entry = entries[0]
	}
	if p.Entry < 0 && p.Whole != "" {
		p.Entry, _ = w.named(p.Image) // who filled the field in, wrote the entry so too
	}
	if m.hook && w.audit.options.Hooks == HooksKept && p.Reason != ReasonPrefix { // so that a patch is not for it either
		p.Reason = ReasonHook
	}
	return true
}

// outside reports whether an image comes from a place that is not allowed.
func (w *writer) outside(image string) bool {
	if len(w.audit.options.Allowed) == 0 {
		return false
	}
	name, _, _ := reference.Split(image)
	name = w.spell(name)
	for _, allowed := range w.audit.options.Allowed {
		allowed = strings.TrimSuffix(allowed, "/")
		if rest, ok := strings.CutPrefix(name, allowed); ok && allowed != "" && (rest == "" || rest[0] == '/') {
			return false
		}
	}
	return true
}

// count counts a place for its entries.
func (w *writer) count(p *Place) {
	if !p.counted() || p.Entry < 0 {
		return
	}
	e := &w.report.Entries[p.Entry]
	switch p.Status {
	case Rewritten:
		e.Rewritten++
		for _, i := range p.Entries {
			if i != p.Entry {
				w.report.Entries[i].Chained++
			}
		}
	case Kept:
		e.Kept++
	case Missed:
		e.Missed++
	case Unreached:
		e.Unreached++
	case Suspected:
		e.Suspected++
	}
}

// summary counts everything.
func (w *writer) summary() {
	r, s := w.report, &w.report.Summary
	s.Sources, s.Documents = len(w.audit.sources), w.audit.documents
	images := make(map[string]bool)
	for i := range r.Places {
		p := &r.Places[i]
		if !p.counted() {
			s.Values++
			continue
		}
		if p.Status != Suspected {
			images[cmp.Or(p.Whole, p.Image)] = true
		}
		if p.Outside && p.Status != Suspected {
			s.Outside++
		}
		switch p.Status {
		case Rewritten:
			s.Rewritten++
		case Kept:
			s.Kept++
		case Missed:
			s.Missed++
		case Unreached:
			s.Unreached++
		case Suspected:
			s.Suspected++
		}
	}
	s.Images = len(images)
	for i := range r.Entries {
		if r.Entries[i].Unused() {
			s.Unused++
		}
	}
	for i := range r.Risks {
		if r.Risks[i].Severity == SeverityError {
			s.Errors++
		} else {
			s.Warnings++
		}
	}
}
