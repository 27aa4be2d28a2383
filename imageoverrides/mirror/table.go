// SPDX-License-Identifier: Apache-2.0

package mirror

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/cozystack/image-overrides/imageoverrides"
	"github.com/cozystack/image-overrides/internal/quote"
	"github.com/cozystack/image-overrides/reference"
)

// A Left is an image of an inventory that the table does not run out of the mirror.
type Left struct {
	Image  string // as it was given
	New    string // what the table makes of it, which is the image itself where no entry applies
	Entry  int    // of the table that was given, the first that applies or is to blame, or -1
	Reason string // why, and what to do
}

// String returns the image and the reason on one line of bounded length.
func (l Left) String() string { return quote.Plain(l.Image) + ": " + l.Reason }

// Table returns a table that runs the images of an inventory out of the mirror: the entries of own as they are and where they are, and
// behind them one for each spelling of a name that images have and no entry of own is for. Images are texts as manifests have them, in any
// order and any number of times; those of the mirror's place need no entry.
//
// The entries of own win. Where own has an entry for another spelling of an image, which can be of Docker Hub only, the new entry says the same, with the name in
// the mirror where that one has no newName. What an entry of own leads somewhere else stays there, and is told.
//
// left has every image that the table does not run out of the mirror, in the order of their texts: it is nobody's image name, an entry
// of own is in the way, or Flux cannot match it. The new entries are in an order in which no dot of a name, which to Flux stands for any
// character, takes another image: names with fewer dots first, then by the alphabet. One that could take names of the mirror by its
// dots is left out, and told. So a second pass over what the table has made changes nothing, as far as the new entries go, and
// Table gives its own outcome back.
//
// An unknown own is taken for an empty one; the table is always known, unless there is an error. That is the one of [Mirror.Validate], or of all
// images that cannot have a name or would have the same and have no other newName in own, each an [*Error], or of a table of more bytes than a Secret can hold. The work is about linear in the inventory.
func (m Mirror) Table(own imageoverrides.Table, images []string) (t imageoverrides.Table, left []Left, err error) {
	in, err := m.read(own, images)
	if err != nil {
		return imageoverrides.Table{}, nil, err
	}
	p := planner{inventory: in, own: own, caught: make(map[string]string)}
	if err := p.derive(); err != nil {
		return imageoverrides.Table{}, nil, err
	}
	for _, image := range in.texts {
		if l, ok := p.left(image); ok {
			left = append(left, l)
		}
	}
	return p.table, left, nil
}

// Move returns the table with the names of one mirror in place of those of another: each entry whose newName is what from derives of
// its name gets what m derives. All else stays, and so do tags and digests, for a mirror has copies. An unknown table gives an unknown
// one. The error is that of Validate for either mirror, or of all entries whose name is too long in m.
func (m Mirror) Move(t imageoverrides.Table, from Mirror) (imageoverrides.Table, error) {
	for _, one := range []Mirror{m, from} {
		if err := one.Validate(); err != nil {
			return imageoverrides.Table{}, err
		}
	}
	if !t.Known() {
		return t, nil
	}
	var moved []imageoverrides.Override
	var bad faults
	for _, o := range t.All() {
		if name, ok := from.derives(o); ok {
			image, err := m.image(name)
			if err != nil {
				bad = append(bad, err.(*Error))
			}
			o.NewName = image.Name()
		}
		moved = append(moved, o)
	}
	if err := bad.err(); err != nil {
		return imageoverrides.Table{}, err
	}
	return imageoverrides.New(moved...)
}

// derives reports whether an entry's newName is the mirror's for its name, which is returned.
func (m Mirror) derives(o imageoverrides.Override) (reference.Image, bool) {
	name, err := reference.Parse(o.Name)
	if err != nil || o.NewName == "" {
		return name, false
	}
	image, err := m.image(name)
	return name, err == nil && image.Name() == o.NewName && o.NewName != o.Name
}

// An inventory is the images that something runs, each once.
type inventory struct {
	mirror Mirror
	texts  []string                   // in order
	images map[string]reference.Image // by text, those that are images
	spelt  map[string]reference.Image // by name as it is spelled, outside of the mirror: its image in the mirror, without tag and digest, or the zero Image where it can have none
	inside []string                   // names of the mirror's place
	others map[string]bool            // canonical names that an entry has another name for than the mirror's
}

// read reads an inventory, and names each image in the mirror, but those that a table has another name for and that can have none.
func (m Mirror) read(t imageoverrides.Table, texts []string) (*inventory, error) {
	if err := m.Validate(); err != nil {
		return nil, err
	}
	in := &inventory{mirror: m, texts: slices.Compact(slices.Sorted(slices.Values(texts))), others: make(map[string]bool)}
	known := make(map[string]bool)
	for _, o := range t.All() {
		image, err := reference.Parse(o.Name)
		if err != nil {
			continue
		}
		if name := image.Canonical().Name(); !known[name] {
			_, derived := m.derives(o)
			known[name], in.others[name] = true, o.NewName != "" && !derived
		}
	}
	in.images = make(map[string]reference.Image, len(in.texts))
	in.spelt = make(map[string]reference.Image)
	sources := make(map[string]string) // by name in the mirror: the canonical one of the image
	var bad faults
	for _, text := range in.texts {
		image, err := reference.Parse(text)
		if err != nil {
			continue
		}
		in.images[text] = image
		name := image.Name()
		if _, known := in.spelt[name]; known {
			continue
		}
		if m.holds(image) {
			in.inside = append(in.inside, name)
			continue
		}
		bare, err := reference.Parse(name)
		if err != nil {
			continue // a name that is none without its tag, as 64 hex digits are
		}
		mirrored, err := m.image(bare)
		source := bare.Canonical().Name()
		if err != nil && !in.others[source] {
			bad = append(bad, err.(*Error))
			continue
		}
		in.spelt[name] = mirrored
		if in.others[source] {
			continue
		}
		there := mirrored.Canonical().Name()
		if first, taken := sources[there]; taken && first != source {
			bad = append(bad, &Error{Images: []string{first, source}, Reason: fmt.Sprintf("both would be %s; keep the source's host in the names, or write an entry for one of them with another repository", quote.Plain(there))})
			continue
		}
		sources[there] = source
	}
	if err := bad.err(); err != nil {
		return nil, err
	}
	return in, nil
}

// A planner makes one table.
type planner struct {
	*inventory
	own     imageoverrides.Table
	entries []imageoverrides.Override // of own
	table   imageoverrides.Table
	caught  map[string]string // by name that has no entry for it: what the entry would catch
}

// derive makes the table.
func (p *planner) derive() error {
	byName, byImage := make(map[string]bool), make(map[string]imageoverrides.Override)
	for _, o := range p.own.All() {
		p.entries = append(p.entries, o)
		byName[o.Name] = true
		if image, err := reference.Parse(o.Name); err == nil {
			if canonical := image.Canonical().Name(); byImage[canonical].Name == "" {
				byImage[canonical] = o
			}
		}
	}
	var derived []imageoverrides.Override
	for name, mirrored := range p.spelt {
		if _, applied := p.own.Apply(name); byName[name] || len(applied) > 0 || strings.HasPrefix(name, "[") {
			continue
		}
		if there := p.catches(name); there != "" {
			p.caught[name] = there
			continue
		}
		image, _ := reference.Parse(name) // which is one
		o := byImage[image.Canonical().Name()]
		o.Name, o.NewName = name, cmp.Or(o.NewName, mirrored.Name())
		derived = append(derived, o)
	}
	dots := func(o imageoverrides.Override) int { return strings.Count(o.Name, ".") }
	slices.SortFunc(derived, func(a, b imageoverrides.Override) int {
		return cmp.Or(dots(a)-dots(b), strings.Compare(a.Name, b.Name))
	})
	t, err := imageoverrides.New(append(p.entries[:len(p.entries):len(p.entries)], derived...)...)
	if err != nil {
		return err
	}
	for _, e := range imageoverrides.Faults(t.Strict()) {
		if e.Rule == imageoverrides.RuleSize {
			return e
		}
	}
	p.table = t
	return nil
}

// catches returns what the entry of a name outside of the mirror would change inside of it, by the dots of the name: all of a place, or one
// name; "" for nothing.
func (p *planner) catches(name string) string {
	for _, place := range p.mirror.spellings() {
		if place != "" && len(name) > len(place) && matches(name[:len(place)], place) {
			return place
		}
	}
	if p.mirror.isHub() { // whose images have names without a host
		for _, there := range p.inside {
			if matches(name, there) {
				return there
			}
		}
	}
	return ""
}

// matches reports whether Flux takes s for the name of an entry, which has letters, digits, dots and what stands for itself.
func matches(name, s string) bool {
	if len(name) != len(s) {
		return false
	}
	for i := range len(s) {
		if name[i] != s[i] && name[i] != '.' {
			return false
		}
	}
	return true
}

// left says why an image of the inventory does not come out of the mirror; ok is false where it does.
func (p *planner) left(text string) (l Left, ok bool) {
	outcome, applied := p.table.Apply(text)
	l = Left{Image: text, New: outcome, Entry: -1}
	image, sound := p.images[text]
	name := image.Name()
	mirrored, outside := p.spelt[name]
	after, err := reference.Parse(outcome)
	var first imageoverrides.Override
	if len(applied) > 0 && applied[0] < p.own.Len() {
		l.Entry = applied[0]
		first = p.entries[l.Entry]
	}
	switch {
	case sound && l.Entry >= 0 && first.Name != name:
		l.Reason = fmt.Sprintf("entry %d (%s) is for it too, since a dot of a name stands for any character to Flux; write an entry for %s in front of that", l.Entry, quote.Plain(first.Name), quote.Plain(name))
	case err == nil && p.mirror.holds(after):
		return Left{}, false
	case !sound:
		_, err := reference.Parse(text)
		l.Reason = fmt.Sprintf("it is no image name (%v); write it as one", err)
	case p.caught[name] != "":
		l.Reason = fmt.Sprintf("an entry for it could change what is in %s too, since a dot of a name stands for any character to Flux; give the image another name", quote.Plain(p.caught[name]))
	case l.Entry >= 0 && first.NewName == "" && outside && mirrored.IsValid():
		l.Reason = fmt.Sprintf("entry %d is for it and has no newName; the mirror's is %s", l.Entry, mirrored.Name())
	case l.Entry >= 0:
		l.Reason = fmt.Sprintf("entry %d makes it %s, which is not in the mirror", l.Entry, quote.Plain(outcome))
	case strings.HasPrefix(name, "["):
		l.Reason = "its registry is an IPv6 address, which Flux reads as a regular expression and never finds; give the registry a name"
	case len(applied) == 0 && image.Digest() != "":
		l.Reason = "its digest is not of sha256, and Flux matches no other; use that of sha256, or write the image without"
	case len(applied) == 0:
		l.Reason = "it is no name without its tag, so that there can be no entry for it"
	default:
		l.Reason = fmt.Sprintf("it becomes %s, which is not in the mirror, as the table says of another spelling of it", quote.Plain(outcome))
	}
	return l, true
}
