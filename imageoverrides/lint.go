// SPDX-License-Identifier: Apache-2.0

package imageoverrides

import (
	"fmt"
	"strings"

	"github.com/cozystack/image-overrides/reference"
)

// The rules of [Table.Lint].
const (
	RuleSize         Rule = "size"          // error: more than a Secret can hold
	RuleNoReference  Rule = "no-reference"  // error: the name is no image name
	RuleIPv6         Rule = "ipv6"          // error: the name has an IPv6 host
	RuleNewNameCarry Rule = "new-name-bare" // error: the newName carries a tag or digest
	RuleNewName      Rule = "new-name"      // error: the newName is no image name
	RuleNewTag       Rule = "new-tag"       // error: the newTag is no tag
	RuleChain        Rule = "chain"         // warning: another entry applies to the outcome
	RuleRing         Rule = "ring"          // warning: the entries lead back to where they start
	RuleSpelling     Rule = "spelling"      // warning: other spellings of the image are left alone
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
	Entry    int    // from 0, or -1 for the table as a whole
	Field    string // the field of the entry, or ""
	Message  string // what is wrong, and what to do
}

// String returns the finding behind its entry: overrides[0]: and the message.
func (f Finding) String() string {
	if f.Entry < 0 {
		return listPath + ": " + f.Message
	}
	return fmt.Sprintf("%s[%d]: %s", listPath, f.Entry, f.Message)
}

// maxTable is the size of a Secret in Kubernetes, in bytes.
const maxTable = 1 << 20

// Lint returns what is legal in the table and yet wrong or surprising, in the order of
// the entries. It looks at the table alone. An unknown and an empty table have no findings.
//
// Names are judged as image references, since Flux reads them as regular
// expressions: a name such as "[" or "c++" makes helm-controller panic on every release.
func (t Table) Lint() []Finding {
	if t.t == nil {
		return nil
	}
	l := linter{table: t.t}
	if n := len(t.t.json); n > maxTable {
		l.find(SeverityError, RuleSize, -1, "",
			"the table takes %d bytes as JSON, more than the %d that a Secret can hold; split the platform or drop entries", n, maxTable)
	}
	l.chains()
	byImage := make(map[string]int)    // the first entry of an image, however spelled
	byTarget := make(map[Override]int) // the first entry with a target, Name left empty
	for i, o := range t.t.overrides {
		l.references(i, o)
		l.outcome(i, o)
		l.spellings(i, o, byImage, byTarget)
	}
	return l.findings
}

// Strict returns the errors among Lint's findings as a list of [*Error], each with
// the finding's text behind its entry, and nil where there is none.
func (t Table) Strict() error {
	var list faults
	for _, f := range t.Lint() {
		if f.Severity == SeverityError {
			list = append(list, &Error{Path: listPath, Entry: f.Entry, Field: f.Field, Rule: f.Rule, text: f.String()})
		}
	}
	return list.err()
}

type linter struct {
	table    *table
	feeds    map[int]int  // by entry, the first other entry that applies to its outcome
	rings    map[int]bool // the entries of rings
	findings []Finding
}

func (l *linter) find(s Severity, rule Rule, entry int, field, format string, args ...any) {
	l.findings = append(l.findings, Finding{rule, s, entry, field, fmt.Sprintf(format, args...)})
}

// references judges an entry's fields by the grammar of image references.
func (l *linter) references(i int, o Override) {
	switch {
	case reference.CheckName(o.Name) != nil:
		l.find(SeverityError, RuleNoReference, i, "name",
			"name %q is no image name, and Flux reads it as a regular expression; write the image as manifests spell it, without tag and digest", o.Name)
	case strings.Contains(o.Name, "["):
		l.find(SeverityError, RuleIPv6, i, "name",
			"name %q has an IPv6 host, which Flux reads as a regular expression and never finds; give the registry a name", o.Name)
	}
	switch {
	case o.NewName == "" || reference.CheckName(o.NewName) == nil:
	case carriesTagOrDigest(o.NewName):
		l.find(SeverityError, RuleNewNameCarry, i, "newName",
			"newName %q carries a tag or digest; move it to newTag or digest", o.NewName)
	default:
		l.find(SeverityError, RuleNewName, i, "newName", "newName %q is no image name; write host and path, without a scheme", o.NewName)
	}
	if o.NewTag != "" && reference.CheckTag(o.NewTag) != nil {
		l.find(SeverityError, RuleNewTag, i, "newTag",
			"newTag %q is no tag; use up to 128 letters, digits, underscores, dots and dashes, and start with none of the last two", o.NewTag)
	}
}

// outcome judges what an entry makes of its image.
func (l *linter) outcome(i int, o Override) {
	if o.NewTag == "" && o.Digest == "" && o.NewName == o.Name {
		l.find(SeverityWarning, RuleNoChange, i, "newName", "newName is the name itself, and nothing else is set; drop the entry")
	}
	switch next, feeds := l.feeds[i]; {
	case !feeds:
	case l.rings[i]:
		l.find(SeverityWarning, RuleRing, i, "newName",
			"%q becomes what entry %d renames, in a ring; entries apply one after the other, so images do not swap places", o.Name, next)
	case next < i:
		l.find(SeverityWarning, RuleChain, i, "newName",
			"%q becomes what entry %d, further up, renames: a second pass over the outcome would change it again; write the last name here", o.Name, next)
	default:
		l.find(SeverityWarning, RuleChain, i, "newName",
			"%q becomes what entry %d renames in turn; write the last name here, if both are meant", o.Name, next)
	}
}

// spellings judges an entry beside the others that have its image or its target.
func (l *linter) spellings(i int, o Override, byImage map[string]int, byTarget map[Override]int) {
	if reference.CheckName(o.Name) != nil {
		return
	}
	canonical := canonicalName(o.Name)
	if first, ok := byImage[canonical]; ok {
		l.find(SeverityWarning, RuleSameImage, i, "name", "%q is the image of entry %d in another spelling; see that both say the same", o.Name, first)
	} else {
		byImage[canonical] = i
		var missing []string
		for _, s := range dockerHub(canonical) {
			if l.table.index.literal(s, 0) < 0 {
				missing = append(missing, s)
			}
		}
		if len(missing) > 0 {
			l.find(SeverityWarning, RuleSpelling, i, "name",
				"%q leaves other spellings of the image alone: %s; add an entry for each that manifests use", o.Name, strings.Join(missing, ", "))
		}
	}
	if o.NewName == "" {
		return
	}
	target := Override{NewName: canonicalName(o.NewName), NewTag: o.NewTag, Digest: o.Digest}
	if first, ok := byTarget[target]; !ok {
		byTarget[target] = i
	} else if canonicalName(l.table.overrides[first].Name) != canonical { // spellings of one image should have one target
		l.find(SeverityWarning, RuleSameTarget, i, "newName", "%q and entry %d become the same image; see that both are meant", o.Name, first)
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
