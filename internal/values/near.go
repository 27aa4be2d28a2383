// SPDX-License-Identifier: Apache-2.0

package values

import (
	"fmt"
	"strings"
	"unicode"

	"go.yaml.in/yaml/v3"

	"github.com/cozystack/image-overrides/internal/node"
	"github.com/cozystack/image-overrides/internal/quote"
)

// A miss is a key that may have been meant for one of those on the way to the table.
type miss struct {
	key   *yaml.Node
	trail *node.Trail // where it is the place that is wrong
	note  string
}

// near returns the near misses of values, in their order. Where the values are those that the platform chart hands
// on, only keys that are nearly the table's count, for there is nothing wrong with a table that is missing.
func near(values *yaml.Node, handedOn bool, f *node.Finder) []miss {
	var found []miss
	var walk func(n *yaml.Node, t *node.Trail)
	walk = func(n *yaml.Node, t *node.Trail) {
		for i, c := range n.Content {
			if n.Kind == yaml.SequenceNode {
				walk(c, t.At(i))
				continue
			}
			if i%2 == 1 || c.Kind != yaml.ScalarNode {
				continue
			}
			value, at := n.Content[i+1], t.Under(c.Value)
			switch {
			case c.Value == Chart.Inner || c.Value == Secret.Inner: // but in the wrong place
				found = append(found, miss{c, at, ""})
			case isNear(c.Value, Chart.Inner, 3), strings.Contains(letters(c.Value), "imageoverride"):
				found = append(found, miss{c, nil, ""})
			case handedOn:
			case t == nil && c.Value != Chart.Outer && (isNear(c.Value, Chart.Outer, 2) || letters(c.Value) == "registry"):
				found = append(found, miss{c, nil, ""})
			case entries(value, f):
				found = append(found, miss{c, at, " with entries"})
			}
			walk(value, at)
		}
	}
	if values != nil {
		walk(values, nil)
	}
	if key, _ := node.Last(values, Chart.Outer); len(found) == 0 && !handedOn && key != nil {
		found = append(found, miss{key, nil, " without " + Chart.Inner})
	}
	return found
}

// nearIn returns the near misses of several values.
func (in *reader) nearIn(values []*yaml.Node) []miss {
	var found []miss
	for _, v := range values {
		found = append(found, near(v, false, &in.Finder)...)
	}
	return found
}

// told tells near misses, behind a semicolon.
func (in *reader) told(found []miss) string {
	const most = 5
	var b strings.Builder
	for i, m := range found {
		if i == most {
			fmt.Fprintf(&b, ", and %d more", len(found)-most)
			break
		}
		line, _ := in.position(m.key)
		name := m.key.Value
		if m.trail != nil {
			name = m.trail.String()
		}
		before, has := ", ", ""
		if i == 0 {
			before, has = "; ", "has "
		}
		fmt.Fprintf(&b, "%sline %d %s%s%s", before, line, has, quote.Value(name), m.note)
	}
	return b.String()
}

// isNear reports whether a key is another one but for case, punctuation and a few letters.
func isNear(key, want string, slips int) bool {
	a, b := letters(key), letters(want)
	if len(a) > 2*len(b) || len(a)+slips < len(b) {
		return false
	}
	return distance(a, b) <= slips
}

// letters returns the letters and digits of a text, in lower case.
func letters(text string) string {
	return strings.Map(func(r rune) rune {
		if !unicode.IsLetter(r) && !unicode.IsDigit(r) {
			return -1
		}
		return unicode.ToLower(r)
	}, quote.Shorten(text, quote.Limit))
}

// distance is how many bytes to put in, take out or change make one text of the other.
func distance(a, b string) int {
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		diagonal := row[0]
		row[0] = i + 1
		for j := range len(b) {
			change := diagonal
			if a[i] != b[j] {
				change++
			}
			diagonal = row[j+1]
			row[j+1] = min(change, row[j+1]+1, row[j]+1)
		}
	}
	return row[len(b)]
}

// entries reports whether a value is a list that starts like a table.
func entries(n *yaml.Node, f *node.Finder) bool {
	if n.Kind != yaml.SequenceNode || len(n.Content) == 0 {
		return false
	}
	entry := n.Content[0]
	return node.Scalar(entry, "name") != "" && (f.Child(entry, "newName") != nil || f.Child(entry, "newTag") != nil || f.Child(entry, "digest") != nil)
}
