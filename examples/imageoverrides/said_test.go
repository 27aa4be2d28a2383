// SPDX-License-Identifier: Apache-2.0

package main

import (
	"encoding/json"
	"io/fs"
	"strings"

	"github.com/cozystack/image-overrides/imageoverrides/chart"
)

// What the library says, to the letter.
const (
	expected    = "expected the platform chart's values, a list of entries, or a manifest of kind Secret, ConfigMap, HelmRelease or Package that has them"
	notRendered = "a template; render it first (helm template)"
	leftAlone   = "left alone: a patch of another release, for it names no chart (spec.chart or spec.chartRef)"
)

// flowText writes a value as JSON.
func flowText(v any) string {
	var b strings.Builder
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(v); err != nil {
		panic(err)
	}
	return b.String()
}

// libraryFiles lists the files of the library chart.
func libraryFiles() (list []string) {
	err := fs.WalkDir(chart.FS, chart.Name, func(name string, d fs.DirEntry, err error) error {
		if err == nil && !d.IsDir() {
			list = append(list, strings.TrimPrefix(name, chart.Name+"/"))
		}
		return err
	})
	if err != nil {
		panic(err)
	}
	return list
}
