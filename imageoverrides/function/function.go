// SPDX-License-Identifier: Apache-2.0

// Package function is a table of image overrides as a KRM function: a program that kustomize and kpt run in the middle of their work, which reads
// a ResourceList (config.kubernetes.io/v1) and writes it.
//
//	kind: Kustomization
//	transformers: [overrides.yaml]
//
// with the table in the function's own object, overrides.yaml:
//
//	apiVersion: image-overrides.invalid/v1
//	kind: ImageOverrides
//	metadata:
//	  name: overrides
//	  annotations:
//	    config.kubernetes.io/function: |
//	      exec: {path: ./postrenderer}
//	registries:
//	  imageOverrides:
//	  - name: registry.k8s.io/pause
//	    newName: registry.example.org/pause
package function

import (
	"bytes"
	"errors"
	"fmt"
	"io"

	"go.yaml.in/yaml/v3"

	"github.com/cozystack/image-overrides/imageoverrides"
	"github.com/cozystack/image-overrides/internal/manifest/document"
	"github.com/cozystack/image-overrides/internal/node"
	"github.com/cozystack/image-overrides/internal/refuse"
)

// Run copies a ResourceList from src to dst, and gives the images of its items the names that the table in its functionConfig
// says. Every other byte stays, as with [imageoverrides.Rewrite], which does the work; the result is Rewrite's.
//
// The table stands in functionConfig as in the values of the platform chart, at registries.imageOverrides. A ConfigMap or a Secret may have it in a
// text, as [imageoverrides.Find] reads it. Without a table, and with one that [imageoverrides.Table.Strict] refuses, it is an error, and so is text that
// is no ResourceList. Nothing is written on an error, but where dst fails.
//
// The ResourceList is held in memory. It may have [imageoverrides.MaxDocument] bytes, and one and a half million values, keys among them.
func Run(dst io.Writer, src io.Reader) (imageoverrides.Result, error) {
	text, err := io.ReadAll(io.LimitReader(src, imageoverrides.MaxDocument+1))
	if err != nil {
		return imageoverrides.Result{}, err
	}
	if len(text) > imageoverrides.MaxDocument {
		return imageoverrides.Result{}, fmt.Errorf("a ResourceList of more than %d bytes", imageoverrides.MaxDocument)
	}
	t, err := tableOf(text)
	if err != nil {
		return imageoverrides.Result{}, err
	}
	var out bytes.Buffer
	result, err := imageoverrides.Rewrite(&out, bytes.NewReader(text), t)
	if err != nil {
		return result, err
	}
	_, err = dst.Write(out.Bytes())
	return result, err
}

// errNoTable is of a functionConfig without a table.
var errNoTable = errors.New("functionConfig: there is no registries.imageOverrides here; [] is how an empty table is written")

// tableOf reads the table in the functionConfig of a ResourceList.
func tableOf(text []byte) (imageoverrides.Table, error) {
	if refuse.Large(text) {
		return imageoverrides.Table{}, errors.New("a ResourceList of too many values")
	}
	parsed, err := document.Parse(text)
	if err != nil {
		return imageoverrides.Table{}, err
	}
	if len(parsed.Roots) != 1 || node.Scalar(parsed.Roots[0], "kind") != "ResourceList" {
		return imageoverrides.Table{}, errors.New("a KRM function reads one document of kind ResourceList, and this is none; to rewrite manifests give a table")
	}
	var f node.Finder
	config := f.Child(parsed.Roots[0], "functionConfig")
	if node.IsNull(config) {
		return imageoverrides.Table{}, errors.New("the ResourceList has no functionConfig, in which the table stands")
	}
	t, err := configured(config)
	if err == nil {
		err = t.Strict()
	}
	if err != nil {
		return imageoverrides.Table{}, fmt.Errorf("functionConfig: %w", err)
	}
	if t.Absent() {
		return imageoverrides.Table{}, errNoTable
	}
	return t, nil
}

// configured reads the table in a function's object.
func configured(config *yaml.Node) (imageoverrides.Table, error) {
	switch node.Scalar(config, "kind") {
	case "ConfigMap", "Secret":
		text, err := yaml.Marshal(config)
		if err != nil {
			return imageoverrides.Table{}, err
		}
		found, err := imageoverrides.Find(text)
		return found.Table, err
	}
	var values map[string]any
	if err := config.Decode(&values); err != nil {
		return imageoverrides.Table{}, err
	}
	return imageoverrides.ParseValues(values)
}
