// SPDX-License-Identifier: Apache-2.0

package refuse

import (
	"regexp"
	"strconv"

	"go.yaml.in/yaml/v3"

	"github.com/cozystack/image-overrides/internal/manifest/document"
	"github.com/cozystack/image-overrides/internal/node"
)

// SOPS is the key of what SOPS writes into a document.
const SOPS = "sops"

// Signed is said of what SOPS has signed.
const Signed = "signed by SOPS, and would change: its MAC would not fit any more; decrypt it, change it, and encrypt it again"

// Signature returns the key under which SOPS has signed an object, nil where it has not, or signed
// only what is encrypted, among which is nothing that we change.
func Signature(object *yaml.Node, f *node.Finder) *yaml.Node {
	key, sops := node.Last(object, SOPS)
	if key == nil || node.IsNull(f.Child(sops, "mac")) || node.Scalar(sops, "mac") == "" {
		return nil
	}
	if only := f.Child(sops, "mac_only_encrypted"); only != nil && only.ShortTag() == "!!bool" && only.Value == "true" {
		return nil
	}
	return key
}

// listItem is a step to an item of a list of objects, at the start of a path.
var listItem = regexp.MustCompile(`^\.?items\[(\d+)\]`)

// Signatures finds those of one text. What it is asked again it knows.
type Signatures struct {
	Text  *document.Text
	Find  *node.Finder
	known map[*yaml.Node]*yaml.Node // by object
}

func (s *Signatures) of(object *yaml.Node) *yaml.Node {
	key, ok := s.known[object]
	if !ok {
		if s.known == nil {
			s.known = make(map[*yaml.Node]*yaml.Node)
		}
		key = Signature(object, s.Find)
		s.known[object] = key
	}
	return key
}

// Over finds the signature that a change of a document would break: the document's, or that of an item of a list of objects
// on the way to the change, which is a path as imageoverrides.Change has it.
func (s *Signatures) Over(root int, path string) (offset int, found bool) {
	if root >= len(s.Text.Roots) {
		return 0, false
	}
	for n := s.Text.Roots[root]; ; {
		if key := s.of(n); key != nil {
			return s.Text.Offset(key)
		}
		step := listItem.FindStringSubmatch(path)
		items := s.Find.Child(n, "items")
		if step == nil || items == nil || items.Kind != yaml.SequenceNode {
			return 0, false
		}
		i, err := strconv.Atoi(step[1])
		if err != nil || i >= len(items.Content) {
			return 0, false
		}
		n, path = document.Behind(items.Content[i]), path[len(step[0]):]
	}
}
