// SPDX-License-Identifier: Apache-2.0

package audit

import (
	"maps"
	"slices"
	"strings"

	"github.com/cozystack/image-overrides/internal/manifest"
	"github.com/cozystack/image-overrides/internal/manifest/document"
	"github.com/cozystack/image-overrides/internal/manifest/paths"
	"github.com/cozystack/image-overrides/internal/manifest/reach"
	"github.com/cozystack/image-overrides/reference"
)

// A find is a text of an object that is an image, or may be one.
type find struct {
	path    string // in the document
	id      string // that, and of no other scalar
	field   string // in the object, without indexes: spec.images[].image
	parent  string // the id of what is around it
	key     string // the last of the path
	place   int    // in the piece
	text    string
	scheme  bool // one stood in front
	whole   string
	level   level
	reached bool
	twice   bool // by both of kustomize's filters
	hint    bool
	reason  Reason
	parts   []Part
}

// A part is a scalar that may be one of an image in parts.
type part struct {
	find
	role role
}

// A finder finds the images of objects. It is told their scalars.
type finder struct {
	fields catalogue
	kind   [2]string // of the last object with finds, with its version
	ofKind []field   // and the fields of that kind
	deep   int       // in how many texts it is
	inside *inside
	keep   bool // the parts of finds

	finds  []find          // of the piece
	parts  []part          // of the object
	ended  int             // the finds of objects that have ended
	room   int             // how many bytes of texts, and of ways that are long, may be looked at yet, for aliases may stand for many more than the piece has
	unread bool            // some were not
	hook   bool            // the object is a hook
	odd    bool            // the piece may have what kustomize refuses
	first  int             // where its first scalar stands, or -1
	judged map[string]bool // keys, and whether they are hints
	keys   map[string]bool // the last of the catalogue's fields

	objects []object // of the piece, that have ended

	variable string          // the parent of the last name of a variable or a parameter that is a hint
	hints    map[string]bool // such parents
	flag     struct {        // the last argument that is a flag and a hint
		parent string
		item   int
	}
	written, spelled []byte
}

func (f *finder) Begin() { f.finds, f.objects, f.ended, f.odd = f.finds[:0], f.objects[:0], 0, false }

func (f *finder) Object() {
	f.finds, f.parts, f.hook, f.first = f.finds[:f.ended], f.parts[:0], false, -1
	f.variable, f.flag.parent = "", ""
	clear(f.hints)
}

// An object is one that has ended.
type object struct {
	manifest.Object
	hook     bool
	from, to int // its finds
	place    int // of its first scalar
}

// Scalar looks whether a scalar may be an image.
func (f *finder) Scalar(s *manifest.Scalar) {
	path := s.InObject()
	if f.deep == 0 {
		if f.first < 0 {
			f.first = s.Place(0)
		}
		f.odd = f.odd || isOddPath(path)
	}
	if len(path) == 0 {
		return
	}
	if reach.Images.Any(s.State) {
		f.add(s, find{text: s.Text(), level: sure, reached: true, twice: reach.Twice(s.State)}, 0)
		return
	}
	n := len(path) - 1
	for n > 0 && path[n].Item >= 0 {
		n--
	}
	key := path[n].Key
	switch path[0].Key {
	case "status":
		return
	case "metadata":
		if len(path) < 3 || path[1].Key != "annotations" {
			return
		}
		switch key {
		case "helm.sh/hook":
			f.hook = true
			return
		case "kubectl.kubernetes.io/last-applied-configuration":
			return
		}
	case "apiVersion", "kind":
		if len(path) == 1 {
			return
		}
	}
	f.look(s, path, n, key)
}

// Kinds of bytes of texts.
const (
	hasSlash = 1 << iota
	hasColon
	hasSpace // or what else parts words
	hasOther
)

var bytesOf = func() (set [256]uint8) {
	for c := range set {
		switch {
		case c == '/':
			set[c] = hasSlash
		case c == ':' || c == '@':
			set[c] = hasColon
		case c <= ' ' || strings.IndexByte("\"'`,;|(){}[]<>", byte(c)) >= 0:
			set[c] = hasSpace
		case !refer[c] && c != '=' && c != '$':
			set[c] = hasOther
		}
	}
	return set
}()

// look looks at a scalar that kustomize does not reach, under a key that is the nth step of its path.
func (f *finder) look(s *manifest.Scalar, path []paths.Step, n int, key string) {
	text := s.Text()
	r := roleOf(key)
	f.room -= len(text) + longWay(s.Path())
	if f.unread = f.unread || f.room < 0; len(text) < 2 && r == noRole || f.room < 0 {
		return
	}
	var has uint8
	for i := range len(text) {
		has |= bytesOf[text[i]]
	}
	list := n < len(path)-1
	hint := mayHint(key) && f.isHint(key)
	switch {
	case key == "name" && n >= 2 && path[n-1].Item >= 0: // of a variable or a parameter, perhaps
		if mayHint(text) && isHint(text) {
			f.variable = f.parentOf(s)
			if f.hints == nil {
				f.hints = make(map[string]bool)
			}
			f.hints[f.variable] = true
		}
		if path[n-2].Key == "env" {
			return
		}
	case list && (key == "args" || key == "command"):
		if f.argument(s, path[len(path)-1].Item, text, has) {
			return
		}
	case isLabels(path, n):
		return
	}
	if r != noRole && !list && has&hasSpace == 0 && len(text) <= longest && (key != "name" || n > 0 && isHint(path[n-1].Key)) {
		f.part(s, r, key, text, hint)
	}
	if isValue(key) && f.variable != "" && f.parentOf(s) == f.variable {
		hint = true
	}
	switch {
	case has&hasSpace != 0:
		if has&hasSlash != 0 || has&hasColon != 0 {
			f.inner(s, key, text, hint)
		}
	case has&(hasSlash|hasColon) == 0:
		if hint && has&hasOther == 0 {
			f.text(s, key, text, 0, hint)
		}
	default:
		f.text(s, key, text, 0, hint)
	}
}

// maxHints is how many keys are remembered.
const maxHints = 1 << 10

// isHint is the function of that name, for keys, of which manifests have few that may be hints, and each many times.
func (f *finder) isHint(key string) bool {
	hint, ok := f.judged[key]
	if !ok {
		if hint = isHint(key); len(f.judged) < maxHints {
			if f.judged == nil {
				f.judged = make(map[string]bool)
			}
			f.judged[strings.Clone(key)] = hint
		}
	}
	return hint
}

// part notes a scalar that may be one of an image in parts.
func (f *finder) part(s *manifest.Scalar, r role, key, text string, hint bool) {
	value, ok := valueOf(s, text)
	if !ok {
		return
	}
	p := part{role: r, find: f.describe(s, find{text: value, hint: hint, key: key})}
	if f.keep {
		if r == registry {
			text = strings.TrimSuffix(text, "/")
		}
		one := f.partOf(s, RoleWhole, text, 0)
		if one.JSON != nil {
			one.Text, one.End = p.text, len(p.text)
		}
		p.parts = []Part{one}
	}
	f.parts = append(f.parts, p)
}

// valueOf returns the text of a scalar as who reads the object puts it into an image: of a number what JSON makes of it, so that the tag
// 1.20 is 1.2. ok is false for null.
func valueOf(s *manifest.Scalar, text string) (value string, ok bool) {
	if document.IsPlain(text) {
		return text, true
	}
	made := s.JSON()
	if made == nil || made[0] == '"' { // a time, which not everybody takes for one
		return text, true
	}
	return string(made), string(made) != "null"
}

// isValue reports whether a key is that of the value of a variable or a parameter.
func isValue(key string) bool { return key == "value" || key == "default" }

// isLabels reports whether a key of labels is the nth step, or of what selects by them.
func isLabels(path []paths.Step, n int) bool {
	if n == 0 {
		return false
	}
	switch path[n-1].Key {
	case "labels", "matchLabels", "nodeSelector", "selector":
		return true
	}
	return path[n].Key == "apiVersion" || path[n].Key == "apiGroup"
}

// argument looks at an argument, and reports whether nothing else is to be done with it.
func (f *finder) argument(s *manifest.Scalar, item int, text string, has uint8) (done bool) {
	after := f.flag.parent != "" && f.flag.item == item-1 && f.flag.parent == f.parentOf(s)
	f.flag.parent = ""
	if text[0] == '-' && strings.IndexByte(text, '=') < 0 {
		if mayHint(text) && isHint(text) {
			f.flag.parent, f.flag.item = f.parentOf(s), item
		}
		return has&hasSpace == 0
	}
	if has&hasSpace == 0 && after {
		f.text(s, "", text, 0, true)
		return true
	}
	return false
}

// parentOf writes the path of what is around a scalar.
func (f *finder) parentOf(s *manifest.Scalar) string {
	path := s.Path()
	f.written = paths.Append(f.written[:0], path[:len(path)-1])
	if string(f.written) == f.variable { // as it is mostly
		return f.variable
	}
	return identify(string(f.written), path[:len(path)-1])
}

// identify is a way that no other value has: as it is written or, where that may leave out some of it, by RFC 6901.
func identify(written string, way []paths.Step) string {
	if len(written) <= paths.Longest/2 {
		return written
	}
	return paths.Pointer(way)
}

// longWay is how many bytes the keys of a way have that is longer than any that is written whole, and 0 for others.
func longWay(way []paths.Step) (size int) {
	for i := range way {
		size += len(way[i].Key)
	}
	if size <= paths.Longest {
		return 0
	}
	return size
}

// text looks at a text without white space, of which the byte from stands at 0, for an image, behind a key or a scheme perhaps.
func (f *finder) text(s *manifest.Scalar, key, text string, from int, hint bool) {
	if i := strings.LastIndexByte(text, '='); i >= 0 {
		before := text[:i]
		hint = hint || mayHint(before) && isHint(strings.TrimLeft(before, "-"))
		text, from = text[i+1:], from+i+1
	}
	scheme := false
	for _, start := range []string{"oci://", "docker://"} {
		if rest, ok := strings.CutPrefix(text, start); ok {
			scheme, text, from = true, rest, from+len(start)
		}
	}
	form, ok := formOf(text)
	if !ok {
		return
	}
	level := form.level(hint)
	if scheme && level == none && form.domain {
		level = maybe
	}
	if level == none && !f.keys[key] { // the key of no field of the catalogue
		return
	}
	f.add(s, find{text: text, level: level, hint: hint, key: key, scheme: scheme}, from)
}

// add adds a find, of which the byte at from of the scalar's text is the first.
func (f *finder) add(s *manifest.Scalar, found find, from int) {
	made := f.describe(s, found)
	made.place = s.Place(from)
	if f.keep && !found.reached {
		made.parts = []Part{f.partOf(s, RoleWhole, found.text, from)}
	}
	f.finds = append(f.finds, made)
}

// describe fills in where a find stands.
func (f *finder) describe(s *manifest.Scalar, found find) find {
	path := s.Path()
	found.text = strings.Clone(found.text)
	found.key = strings.Clone(found.key)
	f.written = paths.Append(f.written[:0], path)
	found.path = string(f.written)
	found.place = s.Place(0)
	if found.id = found.path; found.reached {
		return found // nothing else is asked of it
	}
	found.id = identify(found.path, path)
	f.written = paths.Append(f.written[:0], path[:len(path)-1])
	found.parent = identify(string(f.written), path[:len(path)-1])
	found.field = f.fieldOf(s.InObject())
	return found
}

// fieldOf writes a path of an object as the catalogue does.
func (f *finder) fieldOf(path []paths.Step) string {
	b := f.spelled[:0]
	for i, step := range path {
		switch {
		case len(b) > paths.Longest: // no field of the catalogue
		case step.Item >= 0:
			b = append(b, "[]"...)
		default:
			if i > 0 {
				b = append(b, '.')
			}
			b = append(b, step.Key...)
		}
	}
	f.spelled = b
	return string(b)
}

// End judges the finds of the object, whose kind is known by now.
func (f *finder) End(name *manifest.Name) {
	o := name.Object()
	if f.ended < len(f.finds) || len(f.parts) > 0 {
		f.sort(&o)
	}
	if f.deep == 0 {
		f.odd = f.odd || o.Kind == "" || o.Name == "" && !manifest.IsList(o.Kind)
		f.objects = append(f.objects, object{o, f.hook, f.ended, len(f.finds), max(0, f.first)})
	}
	f.ended = len(f.finds)
}

// sort keeps the finds of the object that are images, or may be.
func (f *finder) sort(o *manifest.Object) {
	kind := [2]string{o.APIVersion, o.Kind}
	if f.ofKind == nil || kind != f.kind {
		f.kind, f.ofKind = kind, f.fields.of(o.APIVersion, o.Kind)
	}
	fields := f.ofKind
	f.together(fields)
	kept := f.finds[:f.ended]
	for _, found := range f.finds[f.ended:] {
		if !found.reached && !f.judge(&found, o, fields) {
			continue
		}
		kept = append(kept, found)
	}
	f.finds = kept
}

// judge says what a find is that kustomize does not reach, and whether it is of interest.
func (f *finder) judge(found *find, o *manifest.Object, fields []field) bool {
	if isValue(found.key) && !found.hint && f.hints[found.parent] { // the variable's name stood behind it
		if form, ok := formOf(found.text); ok {
			found.hint, found.level = true, form.level(true)
		}
	}
	where := reasonOf(o, found.field)
	word := !strings.ContainsAny(found.text, "/:@")
	parent, _ := cutLast(found.field)
	shape := match(fields, found.field)
	if shape == "" && match(fields, parent) == ShapeImages {
		shape = ShapeImages
	}
	if found.reason != ReasonText && found.reason != ReasonParts {
		switch shape {
		case ShapeNone:
			return false
		case ShapeImage, ShapeName, ShapeImages, ShapeKustomize:
			if shape == ShapeName && len(found.parts) == 1 {
				found.parts[0].Role = RoleRepository // its tag stands elsewhere
			}
			if !word || mayHint(found.key) && shape != ShapeImages {
				found.level = sure
			}
		case ShapeURL:
			if found.scheme || !word {
				found.level = sure
			}
		case ShapePrefix:
			found.level, where = likely, ReasonPrefix
		case "":
			if where == ReasonVolume || found.key == "image" && isContainer(parent) && found.text != "auto" {
				found.level = sure
			}
		}
	} else if shape == ShapeNone {
		return false
	}
	if found.reason == "" || where == ReasonValues {
		found.reason = where
	}
	return found.level > none
}

// isContainer reports whether a path leads to what holds a container, by its last key: a list of containers under another name, a step, a script.
func isContainer(path string) bool {
	_, key := cutLast(path)
	key = strings.TrimSuffix(key, "[]")
	switch key {
	case "steps", "step", "stepTemplate", "script", "sidecars", "sidecar":
		return true
	}
	return strings.HasSuffix(key, "ontainer") || strings.HasSuffix(key, "ontainers")
}

func cutLast(path string) (parent, key string) {
	i := strings.LastIndexByte(path, '.')
	return path[:max(i, 0)], path[i+1:]
}

// together puts images in parts together.
func (f *finder) together(fields []field) {
	if len(f.parts) == 0 {
		return
	}
	slices.SortStableFunc(f.parts, func(a, b part) int { return strings.Compare(a.parent, b.parent) })
	made := make(map[string]find) // by the id of the name
	used := make(map[string]bool) // the ids of the other parts
	for i := 0; i < len(f.parts); {
		parent := f.parts[i].parent
		var by [digest + 1]*part
		for ; i < len(f.parts) && f.parts[i].parent == parent; i++ {
			if p := &f.parts[i]; (by[p.role] == nil || p.key == "tag") && (p.role != repository || p.text != "") {
				by[p.role] = p
			}
		}
		if whole, ok := f.whole(by, fields); ok {
			made[whole.id] = whole
			for _, p := range by {
				used[idOf(p)] = true
			}
		}
	}
	kept := f.finds[:f.ended]
	for _, found := range f.finds[f.ended:] {
		if !used[found.id] || found.reached {
			kept = append(kept, found)
		}
		if found.reached {
			delete(made, found.id)
		}
	}
	for _, id := range slices.Sorted(maps.Keys(made)) {
		kept = append(kept, made[id])
	}
	f.finds = kept
}

func idOf(p *part) string {
	if p == nil {
		return ""
	}
	return p.id
}

// whole makes an image of its parts.
func (f *finder) whole(by [digest + 1]*part, fields []field) (made find, ok bool) {
	main := by[imageName]
	if main == nil || by[repository] != nil && main.key == "name" {
		main = by[repository]
	}
	if main == nil || reference.CheckName(main.text) != nil {
		return made, false
	}
	around, _ := cutLast(main.field)
	_, last := cutLast(around)
	shape := match(fields, around)
	named := shape == ShapeParts || isHint(strings.TrimSuffix(last, "[]"))
	level := none
	pinned := by[digest] != nil && by[digest].text != ""
	switch tagged := by[tag] != nil && by[tag].text != "" || pinned; {
	case shape == ShapeNone, match(fields, main.field) == ShapeNone:
	case named && (tagged || main.role == repository || shape == ShapeParts):
		level = sure
	case main.role == imageName && by[repository] != nil && tagged, main.role == imageName && by[registry] != nil && tagged && main.key != "name":
		level = sure
	case main.role == repository && main.key != "repo" && (pinned || tagged && by[tag].key != "version"):
		level = sure // a repo may be one of Git
	case main.key == "image" && tagged && strings.Contains(main.text, "/"):
		level = sure
	case tagged && main.key != "name":
		level = likely
	}
	if level == none {
		return made, false
	}
	whole := main.text
	if main.role == imageName && by[repository] != nil {
		whole = by[repository].text + "/" + whole
	}
	if r := by[registry]; r != nil && r.text != "" {
		whole = strings.TrimSuffix(r.text, "/") + "/" + whole
	}
	if t := by[tag]; t != nil && t.text != "" {
		whole += ":" + t.text
	}
	if d := by[digest]; d != nil && d.text != "" {
		if !strings.Contains(d.text, ":") {
			whole += "@sha256:" + d.text
		} else {
			whole += "@" + d.text
		}
	}
	made = main.find
	made.whole, made.level, made.reason = whole, level, ReasonParts
	if f.keep {
		made.parts = partsOf(&by, main)
	}
	return made, true
}

// reasonOf says what kind of place a field is.
func reasonOf(o *manifest.Object, field string) Reason {
	group, _, found := strings.Cut(o.APIVersion, "/")
	if !found {
		group = ""
	}
	switch group {
	case "source.toolkit.fluxcd.io":
		return ReasonSource
	case "kustomize.toolkit.fluxcd.io", "kustomize.config.k8s.io":
		return ReasonKustomization
	case "helm.toolkit.fluxcd.io":
		if strings.HasPrefix(field, "spec.values.") {
			return ReasonValues
		}
	case "argoproj.io":
		if strings.Contains(field, "kustomize.images[]") {
			return ReasonKustomization
		}
	}
	switch {
	case strings.HasSuffix(field, ".args[]"), strings.HasSuffix(field, ".command[]"):
		return ReasonArgument
	case strings.HasSuffix(field, ".env[].value"):
		return ReasonEnvironment
	case strings.Contains(field, "annotations."):
		return ReasonAnnotation
	case strings.Contains(field, "ephemeralContainers[]"):
		return ReasonEphemeral
	case strings.HasSuffix(field, "volumes[].image.reference"):
		return ReasonVolume
	case group == "" && (o.Kind == "ConfigMap" || o.Kind == "Secret"):
		return ReasonConfigMap
	case strings.Contains(group, ".") && !strings.HasSuffix(group, ".k8s.io"):
		return ReasonCustomResource
	}
	return ReasonField
}
