// SPDX-License-Identifier: Apache-2.0

package audit

import "github.com/cozystack/image-overrides/imageoverrides"

// A Status says what becomes of an image under the table.
type Status string

const (
	Rewritten Status = "rewritten" // Flux reaches it, and an entry changes it
	Kept      Status = "kept"      // Flux reaches it, and no entry is for it
	Missed    Status = "missed"    // Flux reaches it and an entry is meant for it, yet does not match
	Unreached Status = "unreached" // it stands where Flux does not look
	Suspected Status = "suspected" // a text that reads like an image, in a place that says nothing about it
)

// A Reason says why an image has its status.
type Reason string

// The reasons why Flux does not reach an image: where it stands. Those of the suspected are the same.
const (
	ReasonCustomResource Reason = "custom-resource"     // a field of a custom resource
	ReasonField          Reason = "field"               // a field of another object
	ReasonParts          Reason = "parts"               // a repository in one field, a tag, a version, a digest or a registry in others
	ReasonArgument       Reason = "argument"            // an argument, or a part of the command
	ReasonEnvironment    Reason = "environment"         // an environment variable
	ReasonConfigMap      Reason = "config-map"          // the data of a ConfigMap or a Secret
	ReasonAnnotation     Reason = "annotation"          // an annotation
	ReasonEphemeral      Reason = "ephemeral-container" // an ephemeral container
	ReasonVolume         Reason = "image-volume"        // an image volume where kustomize does not look, as in a CronJob
	ReasonHook           Reason = "hook"                // a hook of Helm, which Flux keeps from its post-renderers, see Options: all images of it but for those of the two last reasons
	ReasonSource         Reason = "source"              // a source of Flux
	ReasonKustomization  Reason = "kustomization"       // the images of a Kustomization, or of an Application of Argo CD
	ReasonText           Reason = "text"                // a text inside a text
	ReasonValues         Reason = "release-values"      // the values of a HelmRelease, which are that release's own business
	ReasonPrefix         Reason = "prefix"              // a registry, or the start of a path, that images of the object come from
)

// The reasons why an entry that is meant for an image misses it.
const (
	ReasonSpelling    Reason = "spelling"    // the entry's name is another spelling of Docker Hub's image
	ReasonDigest      Reason = "digest"      // the digest is not sha256
	ReasonTag         Reason = "tag"         // the tag has characters that kustomize takes for none of a tag's
	ReasonBlank       Reason = "blank"       // there is white space before or behind it
	ReasonPlaceholder Reason = "placeholder" // it holds a ${…}, or another placeholder
)

// The reasons why an image is kept.
const (
	ReasonNoEntry Reason = "no-entry" // the table has no entry for it
	ReasonSame    Reason = "same"     // an entry is for it, and leaves it as it is
)

// A Place is an image in a manifest.
type Place struct {
	Source     string `json:"source"` // as it was added
	APIVersion string `json:"apiVersion"`
	Kind       string `json:"kind"`
	Namespace  string `json:"namespace"`
	Name       string `json:"name"`
	Path       string `json:"path"` // in the document, as in an imageoverrides.Change; of the text around it where it stands inside of one

	// Line, Column and Offset are where the image begins in the source: the first two from 1, the column in characters, the
	// offset in bytes from 0.
	Line   int   `json:"line"`
	Column int   `json:"column"`
	Offset int64 `json:"offset"`

	Image   string `json:"image"`           // the text that stands there; of an image in parts, the name
	Whole   string `json:"whole,omitempty"` // an image in parts, put together
	New     string `json:"new"`             // of a rewritten one what it becomes; "" otherwise
	Status  Status `json:"status"`
	Reason  Reason `json:"reason"`          // "" for a rewritten one
	Entry   int    `json:"entry"`           // the first entry that applies, or the one that is meant for it; -1 for none
	Entries []int  `json:"chain,omitempty"` // all that apply, where these are several

	Outside bool `json:"outside"` // the image that runs in the end does not come from Options.Allowed

	// Parts are how the image is written in its object, with Options.Parts and where Flux does not reach it: one text, or several
	// that make an image. It is nil where that is not known to the byte, for an image that is written with escapes in a text inside of
	// a text. The reports of an audit share it.
	Parts []Part `json:"-"`
}

// Object returns the object that holds the image.
func (p *Place) Object() imageoverrides.Object {
	return imageoverrides.Object{APIVersion: p.APIVersion, Kind: p.Kind, Namespace: p.Namespace, Name: p.Name}
}

// Runs returns the image that the platform runs from this place.
func (p *Place) Runs() string {
	switch {
	case p.Status == Rewritten:
		return p.New
	case p.Whole != "":
		return p.Whole
	}
	return p.Image
}

// counted reports whether a place is one of this release's.
func (p *Place) counted() bool { return p.Status == Rewritten || p.Reason != ReasonValues }

// An Entry says what became of an entry of the table.
type Entry struct {
	Entry int    `json:"entry"` // from 0
	Name  string `json:"name"`

	// How many places have this entry and the status. Those in the values of a HelmRelease do not count.
	Rewritten int `json:"rewritten"`
	Kept      int `json:"kept"`
	Missed    int `json:"missed"`
	Unreached int `json:"unreached"`
	Suspected int `json:"suspected"`
	Chained   int `json:"chained"` // rewritten places that another entry applied to first

	Near string `json:"near"` // of an entry without any, the nearest name of an image in the manifests; "" for none
}

// Unused reports whether the entry met no image at all.
func (e *Entry) Unused() bool {
	return e.Rewritten+e.Kept+e.Missed+e.Unreached+e.Suspected+e.Chained == 0
}

// A Severity tells what stops a release from what to think about.
type Severity string

const (
	// SeverityError is for what makes Flux refuse the release as soon as it has any post-renderer.
	SeverityError Severity = "error"
	// SeverityWarning is for what works, perhaps not as it was meant.
	SeverityWarning Severity = "warning"
)

// A Risk is something that may happen to a release.
type Risk struct {
	Rule       RiskRule `json:"rule"`
	Severity   Severity `json:"severity"`
	Source     string   `json:"source"`
	APIVersion string   `json:"apiVersion"`
	Kind       string   `json:"kind"`
	Namespace  string   `json:"namespace"`
	Name       string   `json:"name"`
	Path       string   `json:"path"`
	Line       int      `json:"line"` // as of a Place; 0 for the table
	Column     int      `json:"column"`
	Offset     int64    `json:"offset"`
	Message    string   `json:"message"` // what is wrong, and what to do
}

// Object returns the object that the risk is of.
func (r *Risk) Object() imageoverrides.Object {
	return imageoverrides.Object{APIVersion: r.APIVersion, Kind: r.Kind, Namespace: r.Namespace, Name: r.Name}
}

// A RiskRule names a kind of risk.
type RiskRule string

// The rules of risks. Those of severity error are refusals of kustomize 5.8.1, which runs in Flux's helm-controller; they were found
// by running it, and tried on helm-controller 1.6.3. That runs kustomize on every release: what is told of containers, image, spec and of an
// annotation's key it refuses with a table only, and the rest without one too. Helm splits a chart's manifests before kustomize reads them,
// so that what stands behind the dashes of a separator is the start of the next document there, and refused only where it is no good one.
// Of a table it refuses nothing: what Lint finds there may leave images that no node can pull, or make it panic.
const (
	RiskTable      RiskRule = "table"       // error: Lint finds an error in the table
	RiskSyntax     RiskRule = "syntax"      // error: no YAML
	RiskTemplate   RiskRule = "template"    // error: a template that nobody rendered
	RiskAlias      RiskRule = "alias"       // error: an alias that stands for a value around itself, of which helm-controller dies
	RiskMerge      RiskRule = "merge"       // error: a merge key twice in a map, or with a value that is no map
	RiskDirective  RiskRule = "directive"   // error: a directive of YAML
	RiskSeparator  RiskRule = "separator"   // error: something behind the dashes of a separator
	RiskNoObject   RiskRule = "no-object"   // error: a document that is no object
	RiskNoKind     RiskRule = "no-kind"     // error: an object without a kind
	RiskNoName     RiskRule = "no-name"     // error: an object without a name
	RiskTwice      RiskRule = "twice"       // error: an object of a source twice; warning: a CustomResourceDefinition
	RiskKeyTwice   RiskRule = "key-twice"   // error: a key twice in a map
	RiskKey        RiskRule = "key"         // error: a key that is no string; of an annotation, one that is none without quotes
	RiskNumber     RiskRule = "number"      // error: a number that JSON has not, or a text that is not what its tag says
	RiskContainers RiskRule = "containers"  // error: something else than maps in containers or initContainers
	RiskImage      RiskRule = "image"       // error: a map or a list where an image belongs
	RiskTemplated  RiskRule = "spec"        // error: a text where a map or a list belongs, on the way to a Pod's containers and volumes
	RiskMetadata   RiskRule = "annotations" // error: annotations that are a list
	RiskItems      RiskRule = "items"       // error: items that are no list, of an object whose kind ends in List
	RiskUnread     RiskRule = "unread"      // warning: what was not read or judged, because of its size or depth

	RiskLost          RiskRule = "lost"           // warning: a document that kustomize leaves out without a word
	RiskJob           RiskRule = "job"            // warning: a Job whose image changes, which no upgrade may do
	RiskDigestDropped RiskRule = "digest-dropped" // warning: a newTag that drops a digest
	RiskDigestKept    RiskRule = "digest-kept"    // warning: a newName that keeps a digest
	RiskDot           RiskRule = "dot"            // warning: a dot of a name stood for another character
	RiskNoReference   RiskRule = "no-reference"   // warning: what Flux takes for an image is no image reference
)

// A Summary counts.
type Summary struct {
	Sources   int `json:"sources"`
	Documents int `json:"documents"`
	Images    int `json:"images"` // distinct ones, of rewritten, kept, missed and unreached places

	// How many places have the status. Those in the values of HelmReleases are apart.
	Rewritten int `json:"rewritten"`
	Kept      int `json:"kept"`
	Missed    int `json:"missed"`
	Unreached int `json:"unreached"`
	Suspected int `json:"suspected"`
	Values    int `json:"values"`

	Outside  int `json:"outside"`
	Unused   int `json:"unused"` // entries that met no image
	Errors   int `json:"errors"` // risks of that severity
	Warnings int `json:"warnings"`
}

// A TableSummary says which table it was.
type TableSummary struct {
	Entries int    `json:"entries"`
	Hash    string `json:"hash"` // see imageoverrides.Table.Hash
}

// A Report says what becomes of the images of all that was added. Its JSON is stable: the same table, options and sources give the
// same bytes, in whatever order the sources came; lists without items are [].
type Report struct {
	Table   TableSummary `json:"table"`
	Summary Summary      `json:"summary"`
	Places  []Place      `json:"places"`  // by source and offset
	Entries []Entry      `json:"entries"` // in the table's order
	Risks   []Risk       `json:"risks"`   // of the table, then by source and offset
}
