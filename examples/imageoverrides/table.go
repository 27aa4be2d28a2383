// SPDX-License-Identifier: Apache-2.0

package main

import (
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"

	yamljson "sigs.k8s.io/yaml"

	"github.com/cozystack/image-overrides/imageoverrides"
)

// A source is a table, and where it stood.
type source struct {
	file  string // as messages name it
	key   string // of the Secret, where lines and columns count from; "" for the file itself
	path  string // of the table in that text
	table imageoverrides.Table
}

// faults are the faults of a table, a line for each, with the file and, where it is
// known, the position.
type faults []string

func (f faults) Error() string { return strings.Join(f, "\n") }

// read reads a table from a file in any of its shapes. The error is faults
// where the file was read and there is something wrong in it.
func (s streams) read(file string) (source, error) {
	r, err := s.open(file)
	if err != nil {
		return source{}, err
	}
	defer r.Close()
	text, err := io.ReadAll(r)
	if err != nil {
		return source{}, err
	}
	return parse(named(file), text)
}

// parse tells the shapes apart by what the text decodes to.
func parse(file string, text []byte) (source, error) {
	src := source{file: file, path: "overrides"}
	table, err := imageoverrides.Parse(text)
	var e *imageoverrides.Error
	if errors.As(err, &e) && (e.Rule == imageoverrides.RuleSyntax || e.Rule == imageoverrides.RuleDocument) {
		return source{}, src.faults(err) // no text of any shape
	}
	if table.Len() > 0 {
		src.table = table
		return src, nil
	}
	var decoded any
	if err := decode(text, &decoded); err != nil {
		return source{}, faults{file + ": " + err.Error()}
	}
	switch v := decoded.(type) {
	case []any:
	case map[string]any:
		if v["kind"] == "Secret" {
			return secret(src, v)
		}
		if kind, ok := v["kind"].(string); ok && v["apiVersion"] != nil {
			return source{}, src.shape("a manifest of kind " + kind)
		}
		if v["registries"] == nil && v["_cluster"] != nil { // the text of values.yaml alone
			src.path = "_cluster.image-overrides"
			table, err = imageoverrides.ParseSecret(map[string][]byte{"values.yaml": text})
			break
		}
		src.path = "registries.imageOverrides"
		table, err = imageoverrides.ParseValuesText(text)
	case nil:
	default:
		return source{}, src.shape(fmt.Sprintf("a %T", v))
	}
	if err != nil {
		return source{}, src.faults(err)
	}
	src.table = table
	return src, nil
}

// decode reads YAML or JSON as Helm reads values.
func decode(text []byte, v any) error {
	if json.Valid(text) {
		return json.Unmarshal(text, v)
	}
	return yamljson.Unmarshal(text, v)
}

func (src source) shape(found string) faults {
	return faults{fmt.Sprintf("%s: %s holds no table; expected the platform chart's values, a list of entries, or a manifest of kind Secret", src.file, found)}
}

// secret reads the table from a Secret's manifest. As in a cluster, stringData counts
// more than data.
func secret(src source, manifest map[string]any) (source, error) {
	const key = "values.yaml"
	data := make(map[string][]byte)
	for _, field := range []string{"data", "stringData"} {
		values, ok := manifest[field].(map[string]any)
		if !ok && manifest[field] != nil {
			return source{}, faults{fmt.Sprintf("%s: %s of the Secret must be a map", src.file, field)}
		}
		value, ok := values[key]
		if !ok {
			continue
		}
		text, ok := value.(string)
		if !ok {
			return source{}, faults{fmt.Sprintf("%s: %s of the Secret: %s must be a string", src.file, field, key)}
		}
		data[key] = []byte(text)
		if field == "data" {
			decoded, err := base64.StdEncoding.DecodeString(text)
			if err != nil {
				return source{}, faults{fmt.Sprintf("%s: data of the Secret: %s is no base64: %v", src.file, key, err)}
			}
			data[key] = decoded
		}
	}
	src.path, src.key = "_cluster.image-overrides", key
	table, err := imageoverrides.ParseSecret(data)
	if err != nil {
		return source{}, src.faults(err)
	}
	src.table = table
	return src, nil
}

// faults writes what the library found, a line for each fault.
func (src source) faults(err error) faults {
	list := []error{err}
	if many, ok := err.(interface{ Unwrap() []error }); ok {
		list = many.Unwrap()
	}
	var lines faults
	for _, err := range list {
		where, e := src.file, (*imageoverrides.Error)(nil)
		if errors.As(err, &e) {
			if e.Line > 0 && src.key != "" {
				where += ": " + src.key
			}
			where += position(e.Line, e.Column)
			err = errors.New(e.Reason())
		}
		lines = append(lines, where+": "+err.Error())
	}
	return lines
}

func position(line, column int) string {
	if line == 0 {
		return ""
	}
	return fmt.Sprintf(":%d:%d", line, column)
}

// ready reads the table for a command that uses it. A table that check refuses is
// refused here too: Flux would do nothing with such an entry, or fail on it.
func (s streams) ready(file string) (source, error) {
	src, err := s.read(file)
	if err != nil {
		return source{}, err
	}
	var refused faults
	for _, f := range src.table.Lint() {
		if f.Severity == imageoverrides.SeverityError {
			refused = append(refused, src.finding(f))
		}
	}
	if refused != nil {
		return source{}, refused
	}
	if src.table.Len() == 0 {
		fmt.Fprintln(s.stderr, src.summary())
	}
	return src, nil
}

// finding writes a finding in one line.
func (src source) finding(f imageoverrides.Finding) string {
	entry := src.path
	if f.Entry >= 0 {
		entry = fmt.Sprintf("%s[%d]", src.path, f.Entry)
	}
	return fmt.Sprintf("%s: %s: %s: %s (%s)", src.file, f.Severity, entry, f.Message, f.Rule)
}

// summary says in one line what was read.
func (src source) summary() string {
	if src.table.Len() == 0 {
		return fmt.Sprintf("%s: %s: the table is empty, hash %.12s", src.file, src.path, src.table.Hash())
	}
	entries := "entries"
	if src.table.Len() == 1 {
		entries = "entry"
	}
	return fmt.Sprintf("%s: %s: %d %s, hash %.12s", src.file, src.path, src.table.Len(), entries, src.table.Hash())
}
