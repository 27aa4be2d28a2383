// SPDX-License-Identifier: Apache-2.0

package release

import (
	"bytes"
	"regexp"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/cozystack/image-overrides/imageoverrides"
	"github.com/cozystack/image-overrides/internal/node"
)

// An Outsider is a HelmRelease of a text that Find does not reach.
type Outsider struct {
	Document int
	Offset   int
	Object   imageoverrides.Object // itself, or the object that it is in
	Path     string                // in Object, "" for itself
	InText   bool                  // of a scalar
}

var (
	// A text with these has a HelmRelease in it, as YAML or JSON.
	releaseKind  = regexp.MustCompile(`\bkind["']?[ \t]*:[ \t]*["']?HelmRelease\b`)
	releaseGroup = regexp.MustCompile(`\bhelm\.toolkit\.fluxcd\.io/v`)
)

// lastApplied is the annotation in which kubectl keeps an object as it was applied.
const lastApplied = "kubectl.kubernetes.io/last-applied-configuration"

// Outsiders returns the HelmReleases of a text that are not among its releases, in their order: those of other versions, and those inside
// other objects, as values or in their texts. What only names a release has neither metadata nor
// spec, and does not count.
func (t *Text) Outsiders() []Outsider {
	if !bytes.Contains(t.parsed.Bytes, []byte("HelmRelease")) {
		return nil
	}
	known := make(map[*yaml.Node]bool, len(t.Releases))
	for _, r := range t.Releases {
		known[r.object] = true
	}
	var found []Outsider
	for _, o := range t.find.Objects(t.parsed.Roots) {
		if node.Scalar(o.Node, "kind") == "CustomResourceDefinition" {
			continue
		}
		add := func(n *yaml.Node, trail *node.Trail, inText bool) {
			at, _ := t.parsed.Offset(n)
			u := Outsider{Document: o.Document, Offset: at, Object: imageoverrides.Object(t.find.NameOf(o.Node)), InText: inText}
			if n != o.Node || inText {
				u.Path = trail.String()
			}
			found = append(found, u)
		}
		var walk func(n *yaml.Node, trail *node.Trail)
		walk = func(n *yaml.Node, trail *node.Trail) {
			switch {
			case n.Kind == yaml.ScalarNode && releaseKind.MatchString(n.Value) && releaseGroup.MatchString(n.Value):
				add(n, trail, true)
			case n.Kind == yaml.SequenceNode:
				for i, item := range n.Content {
					walk(item, trail.At(i))
				}
			case n.Kind == yaml.MappingNode:
				if !known[n] && t.isRelease(n) {
					add(n, trail, false)
				}
				for i := 0; i+1 < len(n.Content); i += 2 {
					if key := n.Content[i].Value; key != lastApplied {
						walk(n.Content[i+1], trail.Under(key))
					}
				}
			}
		}
		walk(o.Node, nil)
	}
	return found
}

// isRelease reports whether a map is a HelmRelease of some version.
func (t *Text) isRelease(n *yaml.Node) bool {
	if node.Scalar(n, "kind") != "HelmRelease" || !strings.Contains(node.Scalar(n, "apiVersion"), "fluxcd.io/") {
		return false
	}
	return t.find.Child(n, "metadata") != nil || t.find.Child(n, "spec") != nil
}
