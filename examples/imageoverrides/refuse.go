// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"errors"
	"fmt"
	"regexp"
	"strconv"

	"go.yaml.in/yaml/v3"

	"github.com/cozystack/image-overrides/imageoverrides"
	"github.com/cozystack/image-overrides/internal/manifest/document"
)

// A fault is what is wrong with a piece of manifests, and where in the piece.
type fault struct {
	line, column int
	text         string
}

// in returns the fault as an error of a file.
func (f *fault) in(file string, p document.Piece) error {
	return fmt.Errorf("%s%s: %s", file, position(p.Line-1+f.line, f.column), f.text)
}

// newFault returns the fault at an offset in the text of a piece, which starts at its body.
func newFault(p document.Piece, offset int, text string) *fault {
	line, column := document.NewLines(p.Bytes).Position(p.Body + offset)
	return &fault{line, column, text}
}

// refuse returns the fault of a piece that Rewrite cannot rewrite, or should not: a template that nobody rendered, or
// a document that SOPS has signed and that would change. An unknown or empty table refuses nothing.
func refuse(p document.Piece, t imageoverrides.Table, result imageoverrides.Result, err error) *fault {
	body := p.Bytes[p.Body:]
	var e *imageoverrides.Error
	switch {
	case t.Len() == 0:
		return nil
	case errors.As(err, &e):
		if at, ok := action(body); ok {
			f := newFault(p, at, notRendered)
			if f.line < e.Line || f.line == e.Line && f.column <= e.Column {
				return f
			}
		}
		return &fault{e.Line, e.Column, e.Reason()}
	case !bytes.Contains(body, []byte("{{")) && (len(result.Changes) == 0 || !bytes.Contains(body, []byte(signature))):
		return nil
	}
	text, err := document.Parse(body)
	if err != nil { // Rewrite has other ways to read it
		return nil
	}
	if at, ok := parsedAction(text); ok {
		return newFault(p, at, notRendered)
	}
	if at, ok := quotedAction(text); ok {
		return newFault(p, at, notRendered)
	}
	if at, c, ok := signedChange(text, result.Changes); ok {
		return newFault(p, at, c.Object.String()+": "+signed)
	}
	return nil
}

// signature is the key of what SOPS writes into a document.
const signature = "sops"

// signed is said of what SOPS has signed.
const signed = "signed by SOPS, and would change: its MAC would not fit any more; decrypt it, change it, and encrypt it again"

// sopsKey returns the key under which SOPS has signed an object, nil where it has not, or signed
// only what is encrypted, among which no image is.
func sopsKey(object *yaml.Node) *yaml.Node {
	key, sops := mapKey(object, signature)
	if isNull(child(sops, "mac")) || scalar(sops, "mac") == "" {
		return nil
	}
	if only := child(sops, "mac_only_encrypted"); only != nil && only.ShortTag() == "!!bool" && only.Value == "true" {
		return nil
	}
	return key
}

// listItem is a step to an item of a list of objects, at the start of a path.
var listItem = regexp.MustCompile(`^\.?items\[(\d+)\]`)

// signedChange finds the signature of the first change that would break one: of the change's document, or of an item
// of a list of objects that it is in.
func signedChange(text *document.Text, changes []imageoverrides.Change) (offset int, change imageoverrides.Change, found bool) {
	for _, c := range changes {
		if c.Document >= len(text.Roots) {
			continue
		}
		n, path := text.Roots[c.Document], c.Path
		for n != nil {
			if key := sopsKey(n); key != nil {
				at, ok := text.Offset(key)
				return at, c, ok
			}
			step := listItem.FindStringSubmatch(path)
			items := child(n, "items")
			if step == nil || items == nil || items.Kind != yaml.SequenceNode {
				break
			}
			i, err := strconv.Atoi(step[1])
			if err != nil || i >= len(items.Content) {
				break
			}
			n, path = behind(items.Content[i]), path[len(step[0]):]
		}
	}
	return 0, imageoverrides.Change{}, false
}
