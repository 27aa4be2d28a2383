// SPDX-License-Identifier: Apache-2.0

// Package audit says of every image of a platform's manifests what becomes of it under a table of overrides: which Flux reaches and
// which it does not, which entry is meant for an image and misses it, which entry meets nothing, and what will make Flux refuse a
// release.
//
// Most callers need three calls:
//
//	a := audit.New(table, audit.Options{})
//	err := a.Add("cilium.yaml", file) // for each rendered chart
//	report := a.Report()
//
// # Rules
//
//   - What [imageoverrides.Rewrite] changes is rewritten, with the same outcome at the same place, and nothing else is. Other images that
//     Flux's post-renderer reaches are kept, or missed where an entry was meant for them.
//   - An image that it does not reach is told where its place says that it is one: a field of the catalogue of custom resources
//     (fields.tsv, and [Options].Fields), a key, a variable, a parameter or a flag with image in its name, a container under another name, a
//     repository next to a tag. So is, anywhere, what has a digest, and a domain with a path and a tag, but for what may be a
//     taint, a resource or a port.
//   - Another text is suspected where it has a path and a tag that reads like a version, or the name of an image that a container of all that
//     was added has, or an entry of the table.
//   - Texts of several words are looked into: as manifests where they are YAML or JSON, two deep, and else word by word, comments left out.
//   - Left out are: what a cluster has observed (status, events, reports), labels and selectors, what kubectl applied last, patterns of policies,
//     examples (data that begins with _example or ends with .example, alm-examples), the schemas of CustomResourceDefinitions, disks of
//     machines, pictures, and the images of kustomize's post-renderers in HelmReleases. What such a HelmRelease has in its values is told
//     apart, with [ReasonValues], and counts for no entry.
//   - A source is a release: an object that it has twice is a risk, and one that two sources have is none.
//
// # Non-goals
//
// No registry is asked, and no template is rendered. Nothing behind the kind of a CustomResourceDefinition is looked at, but its name.
//
// # Compatibility
//
// This is v0: a minor version may find more, or name it better. Its release notes say so.
package audit

import (
	"bytes"
	"cmp"
	"fmt"
	"hash/maphash"
	"io"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/cozystack/image-overrides/imageoverrides"
	"github.com/cozystack/image-overrides/internal/manifest"
	"github.com/cozystack/image-overrides/internal/manifest/document"
	"github.com/cozystack/image-overrides/internal/manifest/reach"
	"github.com/cozystack/image-overrides/internal/quote"
)

// An Audit gathers the images of manifests. It is for one goroutine at a time.
type Audit struct {
	table   imageoverrides.Table
	options Options
	fields  catalogue

	sources   map[string]*source
	images    []image
	risks     []Risk
	documents int

	pieces document.Splitter
	reader manifest.Reader
	finder finder

	source     *source // that is being read
	definition bool    // one was skipped
	last       string
	seed       maphash.Seed
}

// A source is what was added under a name.
type source struct {
	name   string
	offset int64 // where the next part begins
	line   int
	column int
	ids    map[uint64]struct{} // of its objects
}

// An image is one that was found.
type image struct {
	place   Place // what the table makes of it is left open
	kind    level
	reached bool
	twice   bool
	hook    bool
}

// An Error says why a source was not read to its end.
type Error struct {
	Source       string
	Line, Column int // from 1, the column in characters
	reason       string
}

func (e *Error) Error() string {
	return fmt.Sprintf("%s: line %d, column %d: %s", quote.Plain(e.Source), e.Line, e.Column, e.reason)
}

// New returns an audit under a table, with nothing added. Under an unknown or an empty table all images that Flux reaches are kept.
func New(t imageoverrides.Table, o Options) *Audit {
	a := &Audit{table: t, options: o, fields: known().with(o.Fields), sources: make(map[string]*source), seed: maphash.MakeSeed()}
	a.options.Allowed, a.options.Fields = slices.Clone(o.Allowed), nil
	a.finder.fields = a.fields
	a.finder.keys, a.finder.keep = a.fields.keys(), o.Parts
	return a
}

// Add reads manifests, as [imageoverrides.Rewrite] does: YAML or JSON, any number of documents, the templates of a chart rendered. The
// name is that of a release, as the report has it. What is added under a name that was added before goes on where that ended, in places
// too: a release may come in parts.
//
// A document that cannot be read is a risk of the report, and the next one is read; so is all that kustomize would refuse. What a release
// fails of besides, such as a label that is a number, is not looked at. An error is the reader's own, as it is, or an [*Error] for a document of more than [imageoverrides.MaxDocument] bytes; what was
// read before it is in the report. Empty input adds nothing. Memory follows the largest document, and what is told; of each object some 20 bytes
// are kept.
func (a *Audit) Add(name string, src io.Reader) error {
	s := a.sources[name]
	if s == nil {
		s = &source{name: strings.Clone(name), line: 1, column: 1, ids: make(map[uint64]struct{})}
		a.sources[s.name] = s
	}
	a.source = s
	a.reader.Rules, a.reader.All, a.reader.Visitor = reach.Images, true, &a.finder
	a.reader.Skip = func(kind string) bool {
		skip := reach.Definition(kind)
		a.definition = a.definition || skip
		return skip
	}
	a.pieces.Reset(src, imageoverrides.MaxDocument, nil)
	start := *s
	first := true // of the documents since a separator
	for {
		p, err := a.pieces.Next()
		switch {
		case err == io.EOF:
			return nil
		case err == document.ErrLimit:
			return &Error{s.name, start.line - 1 + a.pieces.Line(), 1, fmt.Sprintf("a document of more than %d bytes", imageoverrides.MaxDocument)}
		case err != nil:
			return err
		}
		begin := bytes.HasPrefix(p.Bytes, []byte("---"))
		first = first || begin
		a.piece(&p, &start, first)
		first = first && document.Blank(p.Bytes)
		s.advance(p.Bytes)
	}
}

// advance moves the source's end behind bytes.
func (s *source) advance(b []byte) {
	s.offset += int64(len(b))
	if i := bytes.LastIndexByte(b, '\n'); i >= 0 {
		s.line += bytes.Count(b, []byte("\n"))
		s.column = 1
		b = b[i+1:]
	}
	s.column += utf8.RuneCount(b)
}

// piece reads a piece of a source that began at start. first says that kustomize reads it.
func (a *Audit) piece(p *document.Piece, start *source, first bool) {
	if document.Blank(p.Bytes) {
		return
	}
	a.definition, a.finder.room, a.finder.unread = false, roomFor(len(p.Bytes)), false
	documents, _, fault := a.reader.Read(*p)
	var found []Risk
	risk := func(rule RiskRule, severity Severity, o manifest.Object, path string, place int, message string) {
		found = append(found, Risk{Rule: rule, Severity: severity, APIVersion: o.APIVersion, Kind: o.Kind, Namespace: o.Namespace, Name: o.Name, Path: path, Offset: int64(place), Message: message})
	}
	if fault != nil {
		rule, severity, reason := ruleOf(p, fault)
		place := fault.Offset
		if rule == RiskTemplate {
			place = bytes.Index(p.Bytes, []byte("{{"))
		}
		risk(rule, severity, manifest.Object{}, "", place, reason)
		documents, a.finder.objects = 1, a.finder.objects[:0]
	}
	a.documents += documents
	if fault == nil && a.finder.unread {
		risk(RiskUnread, SeverityWarning, manifest.Object{}, "", p.Body, "aliases stand for so many texts, or so many texts stand behind so long keys, that not all were looked at for images that Flux does not reach; write aliases out, and keys shorter")
	}
	skip := a.shape(p, first, documents, risk)
	if !skip && fault == nil && (a.reader.Odd() || a.finder.odd) {
		a.refused(p, risk)
	}
	for i := range a.finder.objects {
		o := &a.finder.objects[i]
		a.twice(o.Object, p.Body+o.place, risk)
	}
	if a.definition && documents == 1 && len(a.finder.objects) == 0 && fault == nil {
		if name := definitionName(p.Bytes[p.Body:]); name != "" {
			a.twice(manifest.Object{APIVersion: "apiextensions.k8s.io/v1", Kind: "CustomResourceDefinition", Name: name}, p.Body, risk)
		}
	}
	a.keep(p, start, found, fault == nil)
}

// shape judges how a piece stands in its stream, and reports whether there is nothing else to judge, since
// kustomize does not read it at all or reads it otherwise.
func (a *Audit) shape(p *document.Piece, first bool, documents int, risk func(RiskRule, Severity, manifest.Object, string, int, string)) (skip bool) {
	body := p.Bytes
	line, _, ended := bytes.Cut(body, []byte("\n"))
	switch more := p.Offset > 0 && bytes.HasPrefix(line, []byte("---")) && isMore(line[3:]); {
	case more && !ended:
		first = false // which kustomize takes for no separator
	case more:
		skip = true
		risk(RiskSeparator, SeverityError, manifest.Object{}, "", 0, "something behind the dashes of a separator; put it on the next line")
	}
	if p.Dashes > 0 {
		if line, _, ended := bytes.Cut(body[p.Dashes:], []byte("\n")); ended && isMore(line[3:]) {
			skip = true
			risk(RiskSeparator, SeverityError, manifest.Object{}, "", p.Dashes, "a line that begins with the dashes of a separator, and goes on; a line break is missing behind them")
		}
	}
	behind := 0 // the separator, which kustomize takes away
	if p.Offset > 0 && bytes.HasPrefix(line, []byte("---")) && ended {
		behind = len(line) + 1
	}
	if at, ok := directive(body[behind:]); ok {
		at += behind
		risk(RiskDirective, SeverityError, manifest.Object{}, "", at, "a directive of YAML; leave it out")
	}
	if !first || documents > 1 {
		place := 0
		if first {
			place = p.Body
		}
		risk(RiskLost, SeverityWarning, manifest.Object{}, "", place, "a document without --- in front, behind another: kustomize reads only the first, and the release loses the others without a word; put --- between them")
	}
	return skip || !first
}

// isMore reports whether something but a comment follows the dashes of a separator.
func isMore(rest []byte) bool {
	rest = bytes.TrimSpace(rest)
	return len(rest) > 0 && rest[0] != '#'
}

// directive returns where the first directive of a piece stands.
func directive(b []byte) (at int, ok bool) {
	for at < len(b) {
		line, _, _ := bytes.Cut(b[at:], []byte("\n"))
		switch text := bytes.TrimSpace(bytes.TrimPrefix(line, []byte("\uFEFF"))); {
		case len(text) > 0 && text[0] == '%':
			return at, true
		case len(text) > 0 && text[0] != '#':
			return 0, false
		}
		at += len(line) + 1
	}
	return 0, false
}

// ruleOf says of what kind a fault of reading is.
func ruleOf(p *document.Piece, f *manifest.Fault) (RiskRule, Severity, string) {
	switch {
	case f.Around:
		return RiskAlias, SeverityError, f.Reason + ": helm-controller, which runs kustomize, overflows its stack and dies of it; write the value out"
	case f.TooLong, strings.HasPrefix(f.Reason, "more than "), strings.HasPrefix(f.Reason, "aliases stand for more than "):
		return RiskUnread, SeverityWarning, "not read: " + f.Reason
	case bytes.Contains(p.Bytes, []byte("{{")) && bytes.Contains(p.Bytes, []byte("}}")):
		return RiskTemplate, SeverityError, "a template that was not rendered; render it first (" + f.Reason + ")"
	}
	return RiskSyntax, SeverityError, f.Reason
}

// refused judges what kustomize refuses in a piece.
func (a *Audit) refused(p *document.Piece, risk func(RiskRule, Severity, manifest.Object, string, int, string)) {
	body := p.Bytes[p.Body:]
	if len(body) > manifest.MaxParsed {
		risk(RiskUnread, SeverityWarning, manifest.Object{}, "", p.Body, fmt.Sprintf("a document of more than %d bytes, which was not judged for what Flux refuses", manifest.MaxParsed))
		return
	}
	text, err := document.Parse(body)
	if err != nil || len(text.Roots) == 0 {
		return
	}
	for _, r := range refusals(text, p.Offset == 0) {
		severity := SeverityError
		if r.rule == RiskUnread {
			severity = SeverityWarning
		}
		risk(r.rule, severity, r.object, r.path, p.Body+r.place, r.message)
	}
}

// twice notes an object of the source, and tells a second one.
func (a *Audit) twice(o manifest.Object, place int, risk func(RiskRule, Severity, manifest.Object, string, int, string)) {
	if o.Kind == "" || o.Name == "" {
		return
	}
	var h maphash.Hash
	h.SetSeed(a.seed)
	for _, part := range []string{o.APIVersion, o.Kind, namespaceOf(o), o.Name} {
		h.WriteString(part)
		h.WriteByte(0)
	}
	id := h.Sum64()
	if _, been := a.source.ids[id]; !been {
		a.source.ids[id] = struct{}{}
		return
	}
	if reach.Definition(o.Kind) {
		risk(RiskTwice, SeverityWarning, o, "", place, "the source has it twice: Flux refuses the release, unless one is from a chart's crds/, which no post-renderer sees")
		return
	}
	risk(RiskTwice, SeverityError, o, "", place, "the source has it twice, which kustomize refuses; drop one")
}

// keep keeps what was found in a piece, with its places in the source.
func (a *Audit) keep(p *document.Piece, start *source, risks []Risk, sound bool) {
	position := func(at int) (line, column int, offset int64) {
		line, column = p.Position(at)
		if line == 1 {
			column += start.column - 1
		}
		return start.line - 1 + line, column, start.offset + p.Offset + int64(at)
	}
	if sound {
		for i := range a.finder.objects {
			o := &a.finder.objects[i]
			finds := a.finder.finds[o.from:o.to]
			slices.SortStableFunc(finds, func(x, y find) int { return cmp.Compare(x.place, y.place) })
			for _, f := range finds {
				if f.path == a.last {
					f.path = a.last
				}
				a.last = f.path
				line, column, offset := position(p.Body + f.place)
				a.images = append(a.images, image{
					place: Place{
						Source: a.source.name, APIVersion: o.APIVersion, Kind: o.Kind, Namespace: o.Namespace, Name: o.Name, Path: f.path,
						Line: line, Column: column, Offset: offset, Image: f.text, Whole: f.whole, Reason: f.reason, Entry: -1,
						Parts: f.parts,
					},
					kind: f.level, reached: f.reached, twice: f.twice, hook: o.hook,
				})
			}
		}
	}
	for _, r := range risks {
		r.Source = a.source.name
		r.Line, r.Column, r.Offset = position(int(r.Offset))
		a.risks = append(a.risks, r)
	}
}

// definitionName returns the name of a CustomResourceDefinition in block style, or "".
func definitionName(text []byte) string {
	const start = "metadata:\n"
	i := 0
	if !bytes.HasPrefix(text, []byte(start)) {
		if i = bytes.Index(text, []byte("\n"+start)) + 1; i == 0 {
			return ""
		}
	}
	text = text[i+len(start):]
	indent := len(text) - len(bytes.TrimLeft(text, " "))
	for indent > 0 {
		line, rest, _ := bytes.Cut(text, []byte("\n"))
		if len(line) > 0 && line[0] != ' ' && line[0] != '#' {
			return ""
		}
		if len(line) > indent && line[indent-1] == ' ' {
			if name, ok := bytes.CutPrefix(line[indent:], []byte("name: ")); ok {
				return strings.Trim(string(bytes.TrimSpace(name)), `"'`)
			}
		}
		if text = rest; len(text) == 0 {
			return ""
		}
	}
	return ""
}

// isClusterWide has the kinds whose namespace kustomize does not look at, of the groups that it knows.
var isClusterWide = map[[2]string]bool{}

func init() {
	for group, kinds := range map[string]string{
		"":                             "Namespace Node PersistentVolume ComponentStatus",
		"rbac.authorization.k8s.io":    "ClusterRole ClusterRoleBinding",
		"apiextensions.k8s.io":         "CustomResourceDefinition",
		"apiregistration.k8s.io":       "APIService",
		"admissionregistration.k8s.io": "MutatingWebhookConfiguration ValidatingWebhookConfiguration",
		"certificates.k8s.io":          "CertificateSigningRequest",
		"flowcontrol.apiserver.k8s.io": "FlowSchema PriorityLevelConfiguration",
		"networking.k8s.io":            "IngressClass",
		"node.k8s.io":                  "RuntimeClass",
		"scheduling.k8s.io":            "PriorityClass",
		"storage.k8s.io":               "CSIDriver CSINode StorageClass VolumeAttachment",
	} {
		for _, kind := range strings.Fields(kinds) {
			isClusterWide[[2]string{group, kind}] = true
		}
	}
}

// namespaceOf returns the namespace by which kustomize tells objects apart.
func namespaceOf(o manifest.Object) string {
	group, _, found := strings.Cut(o.APIVersion, "/")
	if !found {
		group = ""
	}
	switch {
	case isClusterWide[[2]string{group, o.Kind}]:
		return ""
	case o.Namespace == "":
		return "default"
	}
	return o.Namespace
}
