// SPDX-License-Identifier: Apache-2.0

package postrender

import (
	"errors"
	"fmt"
	"strings"

	"github.com/cozystack/image-overrides/imageoverrides"
	"github.com/cozystack/image-overrides/internal/quote"
	"github.com/cozystack/image-overrides/internal/release"
)

// A Result says what Rewrite did, as far as it came: it counts the documents that were passed on, and the releases in
// them. Where dst fails, that is what was ready to be written, up to 64 KiB more than was.
type Result struct {
	Documents int   // empty ones not counted
	Bytes     int64 // of src, changed or not

	Changed   int // releases whose post-renderers changed
	Kept      int // releases in step with the table
	Patches   int // patches of releases, which were left alone
	Unreached int // releases that Rewrite does not reach

	// Releases are all of these: document by document, in the order of src, and for one document first those that it
	// reaches, then the others. It is nil where there are none, and where a [Rewriter] tells them one by one.
	Releases []Release
}

// A Release is one HelmRelease of manifests, and what became of it.
type Release struct {
	Document int    // which document of the stream, from 0, empty ones not counted
	Object   Object // the release; for one inside another object ([Inside], [InText]) that object
	Path     string // where a release of a list stands in its document (items[0]), and one inside an object in that; or ""
	Outcome  Outcome

	Before, After string // the hash that the release's table has in the marker, before and after; "" for none

	// Offset is where the release starts in src, in bytes from 0, or the text that it is in. Line and Column are the same
	// place, from 1, the column counted in characters.
	Offset       int64
	Line, Column int
}

// An Object names an object of Kubernetes.
type Object = imageoverrides.Object

// An Outcome is what became of a release. Its text is stable, for programs.
type Outcome string

const (
	Added    Outcome = "added"    // it had no table, and carries this one now
	Replaced Outcome = "replaced" // it carried another table
	Repaired Outcome = "repaired" // it carried this table, but not as it should: not last, twice, or changed by hand
	Removed  Outcome = "removed"  // the table is empty, and it carried one
	Kept     Outcome = "kept"     // it is in step with the table, and not a byte of it changed

	// Patch is a release without a chart (spec.chart, spec.chartRef). It is a patch of another one, whose whole list of
	// post-renderers a list in the patch would replace, so it is left alone.
	Patch Outcome = "patch"

	// The others are not reached, and told so that nobody believes they were.
	OtherVersion Outcome = "version" // a HelmRelease of another API than helm.toolkit.fluxcd.io/v2 and its betas
	Inside       Outcome = "inside"  // a value inside another object, as in a ResourceSet
	InText       Outcome = "text"    // in a text inside another object, as in a ConfigMap
	Aliased      Outcome = "aliased" // an item of a list, by way of an alias or a merge key
)

// Changed reports whether the release is another one now.
func (o Outcome) Changed() bool {
	return o == Added || o == Replaced || o == Repaired || o == Removed
}

// String says in one line which release it is, and what became of it: HelmRelease a/b: table 0123456789ab added. What does not
// print in names is quoted.
func (r Release) String() string {
	name := r.Object.String()
	// The hash of a table that somebody wrote is any text.
	before, after := quote.Plain(r.Before), quote.Plain(r.After)
	switch r.Outcome {
	case Added:
		return name + ": table " + after + " added"
	case Replaced:
		return name + ": table " + after + " in place of " + before
	case Repaired:
		return name + ": table " + after + " put right"
	case Removed:
		return name + ": table " + before + " removed"
	case Kept:
		return name + ": in step"
	case Patch:
		return name + ": left alone: a patch of another release, for it names no chart (spec.chart or spec.chartRef)"
	case OtherVersion:
		return fmt.Sprintf("%s of %s, and not of %s: not reached", name, quote.Plain(r.Object.APIVersion), release.Version)
	case Inside:
		return fmt.Sprintf("a HelmRelease inside %s at %s: not reached", name, r.Path)
	case InText:
		return fmt.Sprintf("a HelmRelease in a text of %s at %s: not reached", name, r.Path)
	case Aliased:
		return name + " by way of an alias or a merge key: not reached"
	}
	return name
}

// The rules of an [Error], beside RuleSyntax, RuleTooLong, RuleTemplate and RuleSigned of package imageoverrides.
const (
	RuleRenderers imageoverrides.Rule = "post-renderers" // spec.postRenderers is no list of post-renderers
	RulePlace     imageoverrides.Rule = "place"          // spec.postRenderers cannot be edited where it is, or would be
)

// An Error says why [Rewrite] refuses a document.
type Error struct {
	Rule   imageoverrides.Rule
	Object Object // the release that it is of; the zero Object where it is of the whole document

	// Line and Column are where it is, both from 1, the column counted in characters: the start of the release, or what is wrong.
	Line, Column int

	text string
}

// Error returns where and why, in one line.
func (e *Error) Error() string {
	return fmt.Sprintf("line %d, column %d: %s", e.Line, e.Column, e.text)
}

// Reason returns the same without line and column, for who writes these in another form: the release, if it is of one, and why.
func (e *Error) Reason() string { return e.text }

// told is the reason of an error of releases.
func told(releases []*release.Release, err error) string {
	const most = 10
	var names []string
	for i, r := range releases {
		if i == most {
			names[i-1] += fmt.Sprintf(" and %d more", len(releases)-most)
			break
		}
		names = append(names, r.Object().String())
	}
	return strings.Join(names, ", ") + ": " + quote.Shorten(err.Error(), quote.Limit)
}

// ruleOf is the rule of an error of an edit.
func ruleOf(err error) imageoverrides.Rule {
	if errors.Is(err, release.ErrPlace) || errors.Is(err, release.ErrNoSpec) {
		return RulePlace
	}
	return RuleRenderers
}
