// SPDX-License-Identifier: Apache-2.0

package imageoverrides

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/cozystack/image-overrides/internal/document"
)

// rewriteDocument returns the images of one document that the table changes, and the edits
// of its text that do it. Offsets count from the start of the text.
func rewriteDocument(text *document.Text, doc *yaml.Node, t Table) ([]Change, []Edit, *nodeFault) {
	images, fault := findImages(doc)
	if fault != nil {
		return nil, nil, fault
	}
	e := editor{text: text}
	for _, image := range images {
		old := image.text
		changed, entries := t.apply(old, image.twice)
		if changed == old {
			continue
		}
		e.images = append(e.images, newImage{
			trail: image.trail,
			steps: image.trail.steps(),
			node:  image.node,
			change: Change{
				Object: *image.object, Path: image.trail.path(),
				Old: old, New: changed, Entries: entries,
			},
		})
	}
	if len(e.images) == 0 {
		return nil, nil, nil
	}
	e.scalars()
	e.aliases(doc)
	if e.fault != nil {
		return nil, nil, e.fault
	}
	slices.SortFunc(e.edits, func(a, b Edit) int { return int(a.Offset - b.Offset) })
	changes := make([]Change, len(e.images))
	for i, image := range e.images {
		changes[i] = image.change
	}
	slices.SortStableFunc(changes, func(a, b Change) int { return int(a.Offset - b.Offset) })
	return changes, e.edits, nil
}

// An editor makes the edits of one document.
type editor struct {
	text   *document.Text
	images []newImage
	edits  []Edit
	fault  *nodeFault
}

// A newImage is an image that gets another value.
type newImage struct {
	node   *yaml.Node
	trail  *trail
	steps  []*trail // the trail from the root's first child on
	change Change
}

// alias returns the outermost alias on the way to the image, as an index of its
// steps, or -1. From there on the image has no bytes of its own.
func (n *newImage) alias() int {
	return slices.IndexFunc(n.steps, func(t *trail) bool { return t.node.Kind == yaml.AliasNode })
}

// below names the image by its way from one of its steps on.
func (n *newImage) below(step int) string {
	var b strings.Builder
	for _, t := range n.steps[step+1:] {
		b.WriteString("/" + strconv.Itoa(t.child))
	}
	return b.String()
}

// scalars edits the images that stand in the text, in the order of the text.
func (e *editor) scalars() {
	var inText []*newImage
	for i := range e.images {
		if e.images[i].alias() < 0 {
			inText = append(inText, &e.images[i])
		}
	}
	slices.SortFunc(inText, func(a, b *newImage) int { return before(a.node, b.node) })
	for _, image := range inText {
		s, ok := e.text.Scalar(image.node)
		if !ok {
			e.fail(image.node, "the bytes of image "+strconv.Quote(image.node.Value)+" cannot be told apart; write it on one line, without folding")
			return
		}
		start, end, text := s.Replace(image.change.New)
		image.change.Offset = int64(start)
		e.edit(start, end, text)
	}
}

// before compares the places of two nodes of a text.
func before(a, b *yaml.Node) int {
	return cmp.Or(cmp.Compare(a.Line, b.Line), cmp.Compare(a.Column, b.Column))
}

func (e *editor) edit(start, end int, text string) {
	e.edits = append(e.edits, Edit{int64(start), string(e.text.Bytes[start:end]), text})
}

func (e *editor) fail(n *yaml.Node, reason string) {
	if e.fault == nil {
		e.fault = &nodeFault{n, reason}
	}
}

// aliases brings the aliases of the document in line with what they stand for. An alias may
// stay where the same images change in its own place and in the place that it stands
// for. Any other is replaced by its value, written in flow style.
func (e *editor) aliases(doc *yaml.Node) {
	aliases := aliasesIn(doc, nil)
	if len(aliases) == 0 {
		return
	}
	behind := make(map[*yaml.Node]map[string]string) // new images by alias, and by way from it
	within := make(map[*yaml.Node]map[string]string) // the same by anchored value
	for i := range e.images {
		image := &e.images[i]
		for j, step := range image.steps {
			if step.node.Kind == yaml.AliasNode {
				add(behind, step.node, image.below(j), image.change.New)
				break
			}
			if step.node.Anchor != "" {
				add(within, step.node, image.below(j), image.change.New)
			}
		}
	}
	offsets := make(map[*yaml.Node]int64)
	room := maxInlined
	for _, alias := range aliases {
		start, end, ok := e.text.Alias(alias)
		if !ok {
			e.fail(alias, "the bytes of alias "+strconv.Quote("*"+alias.Value)+" cannot be told apart")
			return
		}
		offsets[alias] = int64(start)
		if maps.Equal(behind[alias], within[alias.Alias]) {
			continue
		}
		f := flow{images: behind[alias], room: room}
		f.write(alias.Alias, "")
		if room -= f.text.Len(); f.nodes > maxAliased || room < 0 {
			e.fail(alias, fmt.Sprintf("aliases stand for more than %d values, or %d bytes of text", maxAliased, maxInlined))
			return
		}
		e.edit(start, end, f.text.String())
	}
	for i := range e.images {
		image := &e.images[i]
		if at := image.alias(); at >= 0 {
			image.change.Offset = offsets[image.steps[at].node]
		}
	}
}

// maxInlined is how many bytes may be written in place of a document's aliases.
const maxInlined = 4 << 20

func add(m map[*yaml.Node]map[string]string, n *yaml.Node, way, image string) {
	if m[n] == nil {
		m[n] = make(map[string]string)
	}
	m[n][way] = image
}

// aliasesIn appends the aliases in the text of n, in their order.
func aliasesIn(n *yaml.Node, list []*yaml.Node) []*yaml.Node {
	if n.Kind == yaml.AliasNode {
		return append(list, n)
	}
	for _, child := range n.Content {
		list = aliasesIn(child, list)
	}
	return list
}

// flow writes a value in flow style, without anchors and aliases.
type flow struct {
	text   strings.Builder
	images map[string]string // new images, by their ways in the value
	nodes  int
	room   int // for text, in bytes
}

func (f *flow) write(n *yaml.Node, at string) {
	if f.nodes++; f.nodes > maxAliased || f.text.Len() > f.room {
		return
	}
	n = resolve(n)
	tagged := n.Style&yaml.TaggedStyle != 0
	switch {
	case tagged && strings.HasPrefix(n.Tag, "!"):
		f.text.WriteString(n.Tag + " ")
	case tagged:
		f.text.WriteString("!<" + n.Tag + "> ")
	}
	switch n.Kind {
	case yaml.MappingNode:
		f.text.WriteByte('{')
		for i, child := range n.Content {
			if i%2 == 1 {
				f.text.WriteString(": ")
			} else if i > 0 {
				f.text.WriteString(", ")
			}
			f.write(child, at+"/"+strconv.Itoa(i))
		}
		f.text.WriteByte('}')
	case yaml.SequenceNode:
		f.text.WriteByte('[')
		for i, child := range n.Content {
			if i > 0 {
				f.text.WriteString(", ")
			}
			f.write(child, at+"/"+strconv.Itoa(i))
		}
		f.text.WriteByte(']')
	case yaml.ScalarNode:
		image, changed := f.images[at]
		plain := n.Style&^yaml.TaggedStyle == 0
		switch {
		case changed:
			f.text.WriteString(document.Plain(image))
		case plain && n.Value == "" && n.Tag == "!!null":
			f.text.WriteString("null")
		case plain && n.Value != "" && n.Value[0] != ':' && !strings.ContainsAny(n.Value, "\n,[]{}?"):
			f.text.WriteString(n.Value) // whatever it is to which version of YAML
		default:
			f.text.WriteString(document.Quote(n.Value))
		}
	}
}
