// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/cozystack/image-overrides/imageoverrides"
	"github.com/cozystack/image-overrides/reference"
)

// How a table is read, for every command that takes one.
const tableUsage = `
A table is a values file of the platform chart, which has it at registries.imageOverrides, or a plain list of
entries, YAML or JSON; - is standard input. What Flux could not work with is refused.
`

// table reads a table from a file.
func (s streams) table(file string) (imageoverrides.Table, []byte, error) {
	text, err := s.read(file)
	if err != nil {
		return imageoverrides.Table{}, nil, err
	}
	t, err := parseTable(text)
	if err == nil {
		err = t.Strict()
	}
	if err == nil && t.Absent() {
		err = fmt.Errorf("has no registries.imageOverrides; an empty table is written []")
	}
	if err != nil {
		return imageoverrides.Table{}, nil, fmt.Errorf("%s: %w", named(file), err)
	}
	return t, text, nil
}

// parseTable reads a table from text: a list, or values.
func parseTable(text []byte) (imageoverrides.Table, error) {
	var root yaml.Node
	if err := yaml.Unmarshal(text, &root); err == nil && len(root.Content) == 1 && root.Content[0].Kind == yaml.SequenceNode {
		return imageoverrides.Parse(text)
	}
	return imageoverrides.ParseValuesText(text)
}

// images reads a list of images, one a line. Empty lines, and what stands behind #, are passed over.
func (s streams) images(file string) (texts []string, err error) {
	text, err := s.read(file)
	if err != nil {
		return nil, err
	}
	for i, line := range strings.Split(string(text), "\n") {
		line, _, _ = strings.Cut(line, "#")
		fields := strings.Fields(line)
		if len(fields) == 0 {
			continue
		}
		if _, err := reference.Parse(fields[0]); err != nil || len(fields) > 1 {
			if err == nil {
				err = fmt.Errorf("one image a line, and nothing behind it")
			}
			return nil, fmt.Errorf("%s:%d: %w", named(file), i+1, err)
		}
		texts = append(texts, fields[0])
	}
	return texts, nil
}
