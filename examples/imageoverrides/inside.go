// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"fmt"
	"regexp"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/cozystack/image-overrides/internal/manifest/document"
	"github.com/cozystack/image-overrides/internal/quote"
)

// An outsider is a HelmRelease that merge does not reach.
type outsider struct {
	node *yaml.Node
	what string
}

var (
	// A text with these has a HelmRelease in it, as YAML or JSON.
	releaseKind  = regexp.MustCompile(`\bkind["']?[ \t]*:[ \t]*["']?HelmRelease\b`)
	releaseGroup = regexp.MustCompile(`\bhelm\.toolkit\.fluxcd\.io/v`)
)

// lastApplied is the annotation in which kubectl keeps an object as it was applied.
const lastApplied = "kubectl.kubernetes.io/last-applied-configuration"

// unreached returns the HelmReleases of a text that are not among the given, in their order: those of other versions, and those inside
// other objects, as values or in their texts. What only names a release has neither metadata nor
// spec, and does not count.
func unreached(text *document.Text, reached []*release) []outsider {
	if !bytes.Contains(text.Bytes, []byte("HelmRelease")) {
		return nil
	}
	known := make(map[*yaml.Node]bool, len(reached))
	for _, r := range reached {
		known[r.object] = true
	}
	var found []outsider
	for _, o := range objects(text.Roots) {
		if scalar(o.node, "kind") == "CustomResourceDefinition" {
			continue
		}
		var walk func(n *yaml.Node, t *trail)
		walk = func(n *yaml.Node, t *trail) {
			switch {
			case n.Kind == yaml.ScalarNode && releaseKind.MatchString(n.Value) && releaseGroup.MatchString(n.Value):
				found = append(found, outsider{n, fmt.Sprintf("a HelmRelease in a text of %s at %s", objectOf(o.node), t)})
			case n.Kind == yaml.SequenceNode:
				for i, item := range n.Content {
					walk(item, t.at(i))
				}
			case n.Kind == yaml.MappingNode:
				if !known[n] && isRelease(n) {
					found = append(found, outsider{n, unreachedMap(o, n, t)})
				}
				for i := 0; i+1 < len(n.Content); i += 2 {
					if key := n.Content[i].Value; key != lastApplied {
						walk(n.Content[i+1], t.under(key))
					}
				}
			}
		}
		walk(o.node, nil)
	}
	return found
}

// isRelease reports whether a map is a HelmRelease of some version.
func isRelease(n *yaml.Node) bool {
	if scalar(n, "kind") != "HelmRelease" || !strings.Contains(scalar(n, "apiVersion"), "fluxcd.io/") {
		return false
	}
	return child(n, "metadata") != nil || child(n, "spec") != nil
}

func unreachedMap(o object, n *yaml.Node, t *trail) string {
	if n == o.node {
		return fmt.Sprintf("%s of %s, and not of %s", objectOf(n), quote.Plain(scalar(n, "apiVersion")), releaseVersion)
	}
	return fmt.Sprintf("a HelmRelease inside %s at %s", objectOf(o.node), t)
}
