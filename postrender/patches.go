// SPDX-License-Identifier: Apache-2.0

package postrender

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
	"unicode/utf8"

	helmv2 "github.com/fluxcd/helm-controller/api/v2"
	"github.com/fluxcd/pkg/apis/kustomize"

	"github.com/cozystack/image-overrides/imageoverrides"
	"github.com/cozystack/image-overrides/imageoverrides/audit"
	"github.com/cozystack/image-overrides/internal/manifest/document"
	"github.com/cozystack/image-overrides/internal/manifest/paths"
	"github.com/cozystack/image-overrides/internal/quote"
	"github.com/cozystack/image-overrides/reference"
)

// roles are all roles of parts, in the order in which they stand in an image.
var roles = []audit.Role{audit.RoleWhole, audit.RoleRegistry, audit.RoleRepository, audit.RoleName, audit.RoleTag, audit.RoleDigest}

// Unpatched is a place that a table has an entry for, and that cannot be patched.
type Unpatched struct {
	Place  int    // the index of the place
	Reason string // why, and what to do
}

// Pointer writes a way from an object to one of its values by RFC 6901: keys as strings, items of lists as ints from 0. No step is the object
// itself. It panics on items below 0 and on steps of other types.
func Pointer(steps ...any) string {
	var path []paths.Step
	for _, step := range steps {
		switch s := step.(type) {
		case string:
			path = append(path, paths.Step{Key: s, Item: -1})
		case int:
			if s < 0 {
				panic(fmt.Sprintf("an item %d", s))
			}
			path = append(path, paths.Step{Item: s})
		default:
			panic(fmt.Sprintf("a step of type %T", step))
		}
	}
	return paths.Pointer(path)
}

// Patches returns a post-renderer that gives images where a table of images does not reach the names that the table says, as [imageoverrides.Table.Apply] does. The places are those of
// an audit of what one release's chart renders, with [audit.Options].Parts: of a report of several releases those with one Source. There is one JSON 6902 patch for each object, in the
// order in which the objects come first. It is for the release's own post-renderers; [Merge] leaves it where it is. Where there is nothing to
// patch it is the zero PostRenderer, which nobody should write.
//
// Places that Flux reaches are the table's business and give no patch, nor do those in the values of a HelmRelease, which are that release's business. A place
// made by hand needs an object, Parts, and [audit.Unreached] as its Status.
//
// Each patch begins with a test of every value that it replaces. A chart that has another value there, or none, so makes Flux refuse the release, with
// a message that has the pointer, though not the object, and does not run an image that nobody looked at. Where the object is gone kustomize passes over its patch. The
// target is the object and no other: group, version, kind, name and namespace are regular expressions to kustomize, and escaped. An image inside of a text changes its own bytes, and several in
// one text are one change.
//
// No JSON 6902 patch works on an object with a text of several lines that begins with a tab: kustomize 5.8.1 cannot read it again, and says so. In an object that
// has a patch kustomize takes integers of more than 2^53 for floats.
//
// Places that the table leaves as they are give no patch. unpatched has those that it does not, or has an entry for, and that cannot be patched: an entry that is meant for the
// image and does not match it, a place that is only suspected, a hook that Flux keeps from post-renderers, an object without a name, a key <<, parts
// that cannot say what the table does (a tag where there is no field for it), a part that is not in its text, or two places that
// disagree about one value. An unknown table leaves all places as they are. places is not changed.
func Patches(t imageoverrides.Table, places []audit.Place) (r helmv2.PostRenderer, unpatched []Unpatched) {
	objects := make(map[imageoverrides.Object]*objectPatch)
	var order []*objectPatch
	refused := make(map[int]string) // by place
	for i := range places {
		p := &places[i]
		changes, reason := changesOf(p, t)
		if reason == "" && len(changes) > 0 {
			object := p.Object()
			o := objects[object]
			if o == nil {
				o = &objectPatch{object: object, values: make(map[string]*patchedValue)}
				objects[object] = o
				order = append(order, o)
			}
			reason = o.add(i, changes)
		}
		if reason != "" {
			refused[i] = reason
		}
	}
	for _, o := range order {
		o.settle(refused)
	}
	for _, i := range slices.Sorted(maps.Keys(refused)) {
		unpatched = append(unpatched, Unpatched{i, refused[i]})
	}
	var patches []kustomize.Patch
	for _, o := range order {
		if patch, ok := o.patch(refused); ok {
			patches = append(patches, patch)
		}
	}
	if patches != nil {
		r.Kustomize = &helmv2.Kustomize{Patches: patches}
	}
	return r, unpatched
}

// A partChange is a part, and the text for it.
type partChange struct {
	audit.Part
	new string
}

// changesOf returns what a table changes in a place, or why it cannot be changed.
func changesOf(p *audit.Place, t imageoverrides.Table) ([]partChange, string) {
	if !t.Known() || p.Status == audit.Rewritten || p.Status == audit.Kept || p.Status == audit.Missed || p.Reason == audit.ReasonValues {
		return nil, ""
	}
	parts, reason := partsOf(p)
	whole := put(parts)
	if reason != "" {
		whole = cmp.Or(p.Whole, p.Image)
	}
	outcome, entries := t.Apply(whole)
	switch {
	case outcome == whole && len(entries) == 0 && 0 <= p.Entry && p.Entry < t.Len() && p.Reason != "":
		return nil, fmt.Sprintf("entry %d is meant for it and does not match %s; write one that does", p.Entry, quote.Plain(whole))
	case outcome == whole && (reason == "" || whole != ""):
		return nil, ""
	case p.Status == audit.Suspected:
		return nil, "it reads like an image, and nothing says that it is one; look at it, and have it patched as one if it is"
	case p.Reason == audit.ReasonHook:
		return nil, "it is a hook, which Flux keeps from post-renderers; change it in the chart's values"
	case p.Reason == audit.ReasonPrefix:
		return nil, "it is a registry or the start of a path, and no image; change it in the chart's values"
	case reason != "":
		return nil, reason
	case p.Name == "" || p.Kind == "":
		return nil, "the object has no name or no kind, so that no patch can be for it"
	}
	want := map[audit.Role]string{audit.RoleWhole: outcome}
	if parts[audit.RoleWhole] == nil {
		if want, reason = divide(outcome, parts); reason != "" {
			return nil, reason
		}
	}
	var changes []partChange
	for _, r := range roles {
		part := parts[r]
		if part == nil || textOf(part) == want[r] {
			continue
		}
		if strings.Contains(part.Pointer+"/", "/<</") {
			return nil, "a key on the way is <<, which kustomize takes for a merge key, so that no patch can be for it"
		}
		if isBare(part) && !isString(want[r]) {
			return nil, fmt.Sprintf("it stands without quotes in a text, where %s is no string; put it in quotes there", quote.Plain(want[r]))
		}
		changes = append(changes, partChange{*part, want[r]})
	}
	return changes, ""
}

// partsOf returns the parts of a place by their roles, or why they are no image.
func partsOf(p *audit.Place) (parts map[audit.Role]*audit.Part, reason string) {
	parts = make(map[audit.Role]*audit.Part)
	for i := range p.Parts {
		part := p.Parts[i]
		if part.Start == 0 && part.End == 0 {
			part.End = len(part.Text)
		}
		if part.Start < 0 || part.End > len(part.Text) || part.Start > part.End || parts[part.Role] != nil ||
			!strings.HasPrefix(part.Pointer, "/") || !slices.Contains(roles, part.Role) || part.JSON != nil && !json.Valid(part.JSON) {
			return nil, fmt.Sprintf("part %d (%s) is not one of the image", i, quote.Plain(part.Pointer))
		}
		parts[part.Role] = &part
	}
	switch {
	case len(parts) == 0 && p.Image != "":
		return nil, "it is written with escapes in a text, or the audit was made without Options.Parts"
	case len(parts) == 0 || parts[audit.RoleWhole] != nil && len(parts) > 1, parts[audit.RoleWhole] == nil && parts[audit.RoleRepository] == nil:
		return nil, "the parts are no image: one that is whole, or a repository and what belongs to it"
	}
	return parts, ""
}

// textOf is the image, or the part of it, in a part; "" for nil.
func textOf(p *audit.Part) string {
	if p == nil {
		return ""
	}
	return p.Text[p.Start:p.End]
}

// put puts an image together; "" without parts.
func put(parts map[audit.Role]*audit.Part) string {
	text := func(r audit.Role) string { return textOf(parts[r]) }
	whole := text(audit.RoleWhole) + text(audit.RoleRepository)
	if name := text(audit.RoleName); name != "" {
		whole += "/" + name
	}
	if registry := text(audit.RoleRegistry); registry != "" {
		whole = registry + "/" + whole
	}
	if tag := text(audit.RoleTag); tag != "" {
		whole += ":" + tag
	}
	if digest := text(audit.RoleDigest); digest != "" {
		if !strings.Contains(digest, ":") {
			whole += "@sha256:" + digest
		} else {
			whole += "@" + digest
		}
	}
	return whole
}

// isBare reports whether a part is in a text without being all of it, and without quotes around.
func isBare(p *audit.Part) bool {
	if p.Start == 0 && p.End == len(p.Text) {
		return false
	}
	quoted := p.Start > 0 && p.End < len(p.Text) && p.Text[p.Start-1] == p.Text[p.End] && strings.IndexByte(`"'`, p.Text[p.End]) >= 0
	return !quoted
}

// isString reports whether a word is a string to every YAML, where it stands without quotes.
func isString(word string) bool { return strings.ContainsAny(word, "/@") || document.IsPlain(word) }

// divide writes an image into the parts that there are.
func divide(image string, parts map[audit.Role]*audit.Part) (want map[audit.Role]string, reason string) {
	name, tag, digest := reference.Split(image)
	want = map[audit.Role]string{audit.RoleRepository: name, audit.RoleTag: tag, audit.RoleDigest: digest}
	if parts[audit.RoleRegistry] != nil {
		parsed, err := reference.Parse(name)
		if err != nil {
			return nil, fmt.Sprintf("%s is no image name, so that it cannot be cut into registry and repository", quote.Plain(name))
		}
		canonical := parsed.Canonical()
		want[audit.RoleRegistry], want[audit.RoleRepository] = canonical.Host(), canonical.Path()
	}
	if parts[audit.RoleName] != nil {
		path := want[audit.RoleRepository]
		i := strings.LastIndexByte(path, '/')
		if i < 0 {
			return nil, fmt.Sprintf("%s has nothing in front of its name, and there is a field for that; write the entry's newName with a registry or a path", quote.Plain(name))
		}
		want[audit.RoleRepository], want[audit.RoleName] = path[:i], path[i+1:]
	}
	if old := textOf(parts[audit.RoleDigest]); old != "" && !strings.Contains(old, ":") {
		want[audit.RoleDigest] = strings.TrimPrefix(digest, "sha256:")
	}
	switch {
	case digest != "" && parts[audit.RoleDigest] == nil && parts[audit.RoleTag] == nil:
		return nil, fmt.Sprintf("the table says the digest %s, and there is no field for it; add one to the chart's values, or leave the digest out of the entry", quote.Plain(digest))
	case digest != "" && parts[audit.RoleDigest] == nil && tag == "":
		return nil, fmt.Sprintf("the table says the digest %s and no tag, and there is a field for a tag only; add the tag to the entry", quote.Plain(digest))
	case digest != "" && parts[audit.RoleDigest] == nil:
		want[audit.RoleTag] = tag + "@" + digest // it stands behind the tag in any case
	case tag == "" && parts[audit.RoleTag] != nil: // the digest counts
		want[audit.RoleTag] = textOf(parts[audit.RoleTag])
	case tag != "" && parts[audit.RoleTag] == nil:
		return nil, fmt.Sprintf("the table says the tag %s, and there is no field for it; leave the tag out of the entry", quote.Plain(tag))
	}
	return want, ""
}

// An objectPatch is what is to be patched in an object.
type objectPatch struct {
	object imageoverrides.Object
	order  []*patchedValue
	values map[string]*patchedValue // by pointer
}

// A patchedValue is a text, and what changes in it.
type patchedValue struct {
	audit.Part
	spans []span
}

// A span is a place's change of a text.
type span struct {
	start, end int
	new        string
	place      int
}

// add adds the changes of a place, all or none.
func (o *objectPatch) add(place int, changes []partChange) (reason string) {
	for _, c := range changes {
		switch v := o.values[c.Pointer]; {
		case v == nil:
			if !utf8.ValidString(c.Text) || !utf8.ValidString(c.Pointer) {
				return fmt.Sprintf("the text at %s is no UTF-8", quote.Plain(c.Pointer))
			}
		case v.Text != c.Text || !bytes.Equal(v.JSON, c.JSON):
			return fmt.Sprintf("another place has another text at %s", quote.Plain(c.Pointer))
		}
	}
	for _, c := range changes {
		v := o.values[c.Pointer]
		if v == nil {
			v = &patchedValue{Part: c.Part}
			o.values[c.Pointer] = v
			o.order = append(o.order, v)
		}
		v.spans = append(v.spans, span{c.Start, c.End, c.new, place})
	}
	return ""
}

// settle puts the changes of each text in their order, and refuses places of which a part is changed by another: the one that begins first
// stays, and of those the longest.
func (o *objectPatch) settle(refused map[int]string) {
	for _, v := range o.order {
		slices.SortStableFunc(v.spans, func(a, b span) int { return cmp.Or(a.start-b.start, b.end-a.end) })
		kept := v.spans[:0]
		for _, s := range v.spans {
			if n := len(kept); n > 0 && s.start < kept[n-1].end || n > 0 && s.start == kept[n-1].start {
				if before := kept[n-1]; s.start != before.start || s.end != before.end || s.new != before.new {
					refused[s.place] = fmt.Sprintf("another place changes a part of this image at %s", quote.Plain(v.Pointer))
					continue
				}
			}
			kept = append(kept, s)
		}
		v.spans = kept
	}
}

// replaced returns the text with its changes made, but those of refused places; ok is false where there is none.
func (v *patchedValue) replaced(refused map[int]string) (text string, ok bool) {
	var b strings.Builder
	at := 0
	var last span
	for _, s := range v.spans {
		if refused[s.place] != "" || ok && s.start == last.start { // which says the same
			continue
		}
		b.WriteString(v.Text[at:s.start] + s.new)
		at, last, ok = s.end, s, true
	}
	return b.String() + v.Text[at:], ok
}

// patch writes the patch of an object: the tests first, a line for each operation. ok is false where nothing changes.
func (o *objectPatch) patch(refused map[int]string) (patch kustomize.Patch, ok bool) {
	var tests, replacements []string
	line := func(op, path string, value json.RawMessage) string {
		text, err := json.Marshal(struct {
			Op    string          `json:"op"`
			Path  string          `json:"path"`
			Value json.RawMessage `json:"value"`
		}{op, path, value})
		if err != nil {
			panic(err) // what is not JSON was refused
		}
		return string(text)
	}
	for _, v := range o.order {
		text, ok := v.replaced(refused)
		if !ok {
			continue
		}
		old := v.JSON
		if old == nil {
			old = stringJSON(v.Text)
		}
		tests = append(tests, line("test", v.Pointer, old))
		replacements = append(replacements, line("replace", v.Pointer, stringJSON(text)))
	}
	if tests == nil {
		return patch, false
	}
	return kustomize.Patch{Patch: "[\n  " + strings.Join(append(tests, replacements...), ",\n  ") + "\n]\n", Target: target(o.object)}, true
}

// stringJSON writes a string as kustomize writes those of objects: a test compares the bytes of both.
func stringJSON(s string) json.RawMessage {
	text, err := json.Marshal(s)
	if err != nil {
		panic(err) // there is no such string
	}
	return text
}

// target is the selector of an object and no other. An empty field of a selector is for all; what is empty in the object is told by an expression. kustomize
// takes objects without a namespace for ones of default, and those that it knows to have none for ones of _non_namespaceable_, whatever
// they say: the kinds of Kubernetes itself are told with both, but those that are known to have one.
func target(o imageoverrides.Object) *kustomize.Selector {
	group, version, found := strings.Cut(o.APIVersion, "/")
	if !found {
		group, version = "", o.APIVersion
	}
	exactly := func(s string) string {
		if s == "" {
			return "^$"
		}
		return regexp.QuoteMeta(s)
	}
	namespace := exactly(cmp.Or(o.Namespace, "default"))
	known := group == "apps" || group == "batch" || group == "" && slices.Contains([]string{"Pod", "ConfigMap", "Secret", "PodTemplate"}, o.Kind)
	if o.Namespace == "" || !known && (!strings.Contains(group, ".") || strings.HasSuffix(group, ".k8s.io")) {
		namespace += "|_non_namespaceable_"
	}
	return &kustomize.Selector{Group: exactly(group), Version: exactly(version), Kind: exactly(o.Kind), Name: exactly(o.Name), Namespace: namespace}
}
