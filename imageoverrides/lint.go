// SPDX-License-Identifier: Apache-2.0

package imageoverrides

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/cozystack/image-overrides/internal/quote"
	"github.com/cozystack/image-overrides/reference"
)

// The rules of [Table.Lint].
const (
	RuleSize         Rule = "size"          // error: more than a Secret can hold
	RuleNoReference  Rule = "no-reference"  // error: the name is an expression to Flux; warning: it is no image name
	RuleIPv6         Rule = "ipv6"          // error: the name has an IPv6 host
	RuleNewNameCarry Rule = "new-name-bare" // error: the newName carries a tag or digest
	RuleNewName      Rule = "new-name"      // error: the newName is no image name
	RuleNewNameHost  Rule = "new-name-host" // error: no registry can have the newName's host; warning: it names none
	RuleNewTag       Rule = "new-tag"       // error: the newTag is no tag
	RuleChain        Rule = "chain"         // warning: another entry applies to the outcome
	RuleRing         Rule = "ring"          // warning: the entries lead back to where they start
	RuleSpelling     Rule = "spelling"      // warning: other spellings of images are left alone
	RuleSameImage    Rule = "same-image"    // warning: two names are spellings of one image
	RuleSameTarget   Rule = "same-target"   // warning: two entries have one target
	RuleNoChange     Rule = "no-change"     // warning: the entry leaves images as they are
)

// Severity tells findings that stop a table from those to think about.
type Severity string

const (
	// SeverityError is for a table that can never work, or that breaks Flux.
	SeverityError Severity = "error"
	// SeverityWarning is for a table that works, perhaps not as it was meant.
	SeverityWarning Severity = "warning"
)

// A Finding is something that the chart accepts and nobody wants.
type Finding struct {
	Rule     Rule
	Severity Severity
	Path     string // of the table: as in an [Error]
	Entry    int    // from 0, or -1 for the table as a whole
	Entries  []int  // all entries that it is of, where it is of several, of which Entry is the first; or nil
	Field    string // the field of the entry, or ""
	Message  string // what is wrong, and what to do

	// Line and Column say where that stands in the text that the table was read from, both from
	// 1, the column in characters. They are 0 where there was no text.
	Line, Column int
}

// String returns the finding behind its entry: registries.imageOverrides[0]: and the message.
func (f Finding) String() string { return at(f.Path, f.Entry) + ": " + f.Message }

// maxTable is the size of a Secret in Kubernetes, in bytes.
const maxTable = 1 << 20

// Lint returns what is legal in the table and yet wrong or surprising, in the order of
// the entries, and for one entry the errors first. It looks at the table alone. An unknown and an empty table have no findings.
//
// Names are judged as Flux reads them, as regular expressions: a name such as "[" or "c++" makes
// helm-controller panic on every release. A name that Flux takes literally is no error, however odd: without one
// of \ [ ] ( ) { } * + ? | ^ $ in it, it is for the images that are spelled so.
func (t Table) Lint() []Finding {
	if t.t == nil {
		return nil
	}
	l := linter{table: t.t}
	l.errors()
	l.names()
	l.outcomes()
	l.targets()
	l.spellings()
	slices.SortStableFunc(l.findings, func(a, b Finding) int { return cmp.Compare(a.Entry, b.Entry) })
	return l.findings
}

// Strict returns the errors among Lint's findings as a list of [*Error], each with
// the finding's text behind its entry, and nil where there is none. [ParseSecret] has done
// it; it is for tables from elsewhere, before they are written into a release.
func (t Table) Strict() error {
	if t.t == nil {
		return nil
	}
	l := linter{table: t.t}
	l.errors()
	list := make(faults, len(l.findings))
	for i, f := range l.findings {
		list[i] = &Error{Path: f.Path, Entry: f.Entry, Field: f.Field, Rule: f.Rule, Line: f.Line, Column: f.Column, text: f.String()}
	}
	return list.err()
}

type linter struct {
	table    *table
	feeds    map[int]int  // by entry, the first other entry that applies to its outcome
	rings    map[int]bool // the entries of rings
	host     string       // of the last new name whose host was found sound
	findings []Finding
}

func (l *linter) find(s Severity, rule Rule, entry int, field, format string, args ...any) {
	at := l.table.at(entry, field)
	l.findings = append(l.findings, Finding{
		Rule: rule, Severity: s, Path: l.table.path, Entry: entry, Field: field, Message: fmt.Sprintf(format, args...),
		Line: int(at.line), Column: int(at.column),
	})
}

// errors finds what can never work, or breaks Flux, in the order of the entries.
func (l *linter) errors() {
	if l.table.size > maxTable {
		l.find(SeverityError, RuleSize, -1, "",
			"the table takes %d bytes as JSON, more than the %d that a Secret can hold; split the platform or drop entries", l.table.size, maxTable)
	}
	for i := range l.table.overrides {
		o := &l.table.overrides[i]
		if at := specialIn(o.Name); at >= 0 {
			l.expression(i, o.Name, rune(o.Name[at]))
		}
		if o.NewName != "" {
			l.newName(i, o.NewName)
		}
		if o.NewTag == "" {
			continue
		}
		if err := reference.CheckTag(o.NewTag); err != nil {
			l.find(SeverityError, RuleNewTag, i, "newTag", "newTag %s is no tag: it %s", quote.Value(o.NewTag), faultOf(err).Reason)
		}
	}
}

// faultOf returns what package reference finds.
func faultOf(err error) *reference.Error {
	var e *reference.Error
	errors.As(err, &e) // the package has no other error
	return e
}

// expression tells of a name that is a regular expression to Flux, by its first special character.
func (l *linter) expression(i int, name string, c rune) {
	if c == '[' && reference.CheckName(name) == nil {
		l.find(SeverityError, RuleIPv6, i, "name",
			"name %s has an IPv6 host, which Flux reads as a regular expression and never finds; give the registry a name", quote.Value(name))
		return
	}
	l.find(SeverityError, RuleNoReference, i, "name",
		"name %s has the character %q, so that Flux reads it as a regular expression; write the image as manifests spell it, without tag and digest", quote.Value(name), c)
}

// newName judges the name that images get.
func (l *linter) newName(i int, name string) {
	image, err := reference.Parse(name)
	switch {
	case err == nil && image.Name() == name:
		host := image.Host()
		if host == "" || host == l.host {
			return
		}
		if err := reference.ValidateHost(host); err != nil {
			l.find(SeverityError, RuleNewNameHost, i, "newName", "newName %s has the host %s, which %s", quote.Value(name), quote.Value(host), faultOf(err).Reason)
			return
		}
		l.host = host
	case carriesTagOrDigest(name):
		l.find(SeverityError, RuleNewNameCarry, i, "newName", "newName %s carries a tag or digest; move it to newTag or digest", quote.Value(name))
	default:
		e := faultOf(err)
		l.find(SeverityError, RuleNewName, i, "newName", "newName %s is no image name: %s %s %s", quote.Value(name), e.Part, quote.Value(e.Value), e.Reason)
	}
}

// names finds names that are literal and yet no image names, and new ones that may not lead where they
// seem to.
func (l *linter) names() {
	for i, o := range l.table.overrides {
		if err := reference.CheckName(o.Name); err != nil && specialIn(o.Name) < 0 {
			e := faultOf(err)
			l.find(SeverityWarning, RuleNoReference, i, "name",
				"name %s is no image name: %s %s %s; it is only for images that are spelled so", quote.Value(o.Name), e.Part, quote.Value(e.Value), e.Reason)
		}
		if image, err := reference.Parse(o.NewName); err == nil && image.Host() == "" && image.Name() == o.NewName {
			l.find(SeverityWarning, RuleNewNameHost, i, "newName",
				"newName %s names no registry, so that it is %s; write docker.io/ in front if that is meant", quote.Value(o.NewName), quote.Plain(canonicalName(o.NewName)))
		}
	}
}

// outcomes judges what entries make of their images.
func (l *linter) outcomes() {
	l.chains()
	for i, o := range l.table.overrides {
		if o.NewTag == "" && o.Digest == "" && o.NewName == o.Name {
			l.find(SeverityWarning, RuleNoChange, i, "newName", "newName is the name itself, and nothing else is set; drop the entry")
		}
		switch next, feeds := l.feeds[i]; {
		case !feeds:
		case l.rings[i]:
			l.find(SeverityWarning, RuleRing, i, "newName",
				"%s becomes what entry %d renames, in a ring; entries apply one after the other, so images do not swap places", quote.Value(o.Name), next)
		case next < i:
			l.find(SeverityWarning, RuleChain, i, "newName",
				"%s becomes what entry %d, further up, renames: a second pass over the outcome would change it again; write the last name here", quote.Value(o.Name), next)
		default:
			l.find(SeverityWarning, RuleChain, i, "newName",
				"%s becomes what entry %d renames in turn; write the last name here, if both are meant", quote.Value(o.Name), next)
		}
	}
}

// targets finds entries that have one image, spelled in two ways, and different images that become one.
func (l *linter) targets() {
	byImage := make(map[string]int)    // the first entry of an image, however spelled
	byTarget := make(map[Override]int) // the first entry with a target, Name left empty
	for i, o := range l.table.overrides {
		if reference.CheckName(o.Name) != nil {
			continue
		}
		canonical := canonicalName(o.Name)
		if first, ok := byImage[canonical]; ok {
			l.find(SeverityWarning, RuleSameImage, i, "name", "%s is the image of entry %d in another spelling; see that both say the same", quote.Value(o.Name), first)
		} else {
			byImage[canonical] = i
		}
		if o.NewName == "" {
			continue
		}
		target := Override{NewName: canonicalName(o.NewName), NewTag: o.NewTag, Digest: o.Digest}
		if first, ok := byTarget[target]; !ok {
			byTarget[target] = i
		} else if canonicalName(l.table.overrides[first].Name) != canonical { // spellings of one image should have one target
			l.find(SeverityWarning, RuleSameTarget, i, "newName", "%s and entry %d become the same image; see that both are meant", quote.Value(o.Name), first)
		}
	}
}

// maxNamed is how many images a message names.
const maxNamed = 10

// spellings finds images of Docker Hub that manifests may spell in ways that the table has no entry
// for, and tells of all of them at once.
func (l *linter) spellings() {
	seen := make(map[string]bool)
	var entries []int
	var named []string
	for i, o := range l.table.overrides {
		if reference.CheckName(o.Name) != nil {
			continue
		}
		canonical := canonicalName(o.Name)
		if seen[canonical] {
			continue
		}
		seen[canonical] = true
		var missing []string
		for _, s := range dockerHub(canonical) {
			if l.table.index.literal(s, 0) < 0 {
				missing = append(missing, s)
			}
		}
		if len(missing) == 0 {
			continue
		}
		if entries = append(entries, i); len(entries) <= maxNamed {
			named = append(named, fmt.Sprintf("%s as %s", quote.Value(o.Name), strings.Join(missing, ", ")))
		}
	}
	if len(entries) == 0 {
		return
	}
	list := strings.Join(named, "; ")
	if more := len(entries) - len(named); more > 0 {
		list += fmt.Sprintf("; and %d images more", more)
	}
	l.find(SeverityWarning, RuleSpelling, entries[0], "name",
		"manifests may spell images of Docker Hub in ways that the table leaves alone: %s. Add an entry for each spelling that they use", list)
	if len(entries) > 1 {
		l.findings[len(l.findings)-1].Entries = entries
	}
}

// canonicalName spells a name out, or returns it as it is if it is none.
func canonicalName(name string) string {
	image, err := reference.Parse(name)
	if err != nil {
		return name
	}
	return image.Canonical().Name()
}

// dockerHub returns every spelling of an image of Docker Hub, whose canonical name is
// given, and nil for another image.
func dockerHub(canonical string) []string {
	path, ok := strings.CutPrefix(canonical, "docker.io/")
	if !ok {
		return nil
	}
	spellings := []string{path, canonical, "index." + canonical}
	if short, ok := strings.CutPrefix(path, "library/"); ok {
		spellings = append(spellings, short, "docker.io/"+short, "index.docker.io/"+short)
	}
	return spellings
}

// chains finds out which entry applies to the outcome of another, and which of
// those lead back to themselves.
func (l *linter) chains() {
	l.feeds = make(map[int]int)
	x := &l.table.index
	for i := range l.table.overrides {
		o := &l.table.overrides[i]
		outcome := o.replace(o.Name)
		j := x.literal(outcome, 0) // what other names match is told as an error
		if j == i {
			j = x.literal(outcome, i+1)
		}
		if j >= 0 {
			l.feeds[i] = j
		}
	}
	l.rings = make(map[int]bool)
	walks := make(map[int]int) // by entry, the start of the walk that came by it first
	for start := range l.feeds {
		for at, ok := start, true; ok && !l.rings[at]; at, ok = l.fed(at) {
			walk, been := walks[at]
			if been && walk != start {
				break
			}
			walks[at] = start
			if been { // this walk is in its second round
				l.rings[at] = true
			}
		}
	}
}

// fed returns the entry that an entry feeds.
func (l *linter) fed(i int) (entry int, ok bool) {
	entry, ok = l.feeds[i]
	return entry, ok
}
