// SPDX-License-Identifier: Apache-2.0

package main

import (
	"errors"
	"fmt"
	"strings"

	"github.com/cozystack/image-overrides/imageoverrides"
	"github.com/cozystack/image-overrides/reference"
)

// How a table is read, for every command that takes one.
const tableUsage = `
A table is read, from a file or from standard input (-), as imageoverrides reads it: values of the platform chart, which has
it at registries.imageOverrides, a plain list of entries, the platform's Secret, or a manifest with such values. What
Flux could not work with is refused.
`

// table reads a table from a file. The error has a line for each fault.
func (s streams) table(file string) (imageoverrides.Table, []byte, error) {
	text, err := s.read(file)
	if err != nil {
		return imageoverrides.Table{}, nil, err
	}
	found, err := imageoverrides.Find(text)
	if err == nil {
		err = found.Table.Strict()
	}
	if err == nil {
		return found.Table, text, nil
	}
	var lines []error
	for _, e := range imageoverrides.Faults(err) {
		at := named(file)
		if e.Line > 0 {
			at += fmt.Sprintf(":%d:%d", e.Line, e.Column)
		}
		lines = append(lines, fmt.Errorf("%s: %s", at, e.Reason()))
	}
	return imageoverrides.Table{}, nil, errors.Join(lines...)
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
