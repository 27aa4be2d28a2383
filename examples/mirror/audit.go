// SPDX-License-Identifier: Apache-2.0

package main

import (
	"errors"
	"fmt"
	"io"

	"github.com/cozystack/image-overrides/imageoverrides/audit"
	"github.com/cozystack/image-overrides/internal/quote"
	"github.com/cozystack/image-overrides/internal/replace"
)

// How manifests are read, for every command that takes some.
const manifestsUsage = `
Manifests are what charts render: YAML or JSON, any number of documents in a file, each file a release. For -
they come from standard input. No document at all is an error.
`

// audit adds manifests to an audit, each file a source, and reports on them.
func (s streams) audit(a *audit.Audit, files []string) (*audit.Report, error) {
	for _, file := range files {
		if err := s.open(file, func(src io.Reader) error { return add(a, file, src) }); err != nil {
			return nil, err
		}
	}
	report := a.Report()
	if report.Summary.Documents == 0 {
		return nil, errNothing
	}
	return report, nil
}

// errNothing is told where a pipe or a folder has nothing in it, which is a failure in front of it mostly.
var errNothing = errors.New("the manifests have no document; see whether what renders them has failed")

// add adds the manifests of a file to an audit. The error names the file.
func add(a *audit.Audit, file string, src io.Reader) error {
	err := a.Add(named(file), src)
	if err == nil || errors.As(err, new(*audit.Error)) {
		return err
	}
	return fmt.Errorf("%s: %w", named(file), replace.Reason(err))
}

// unread are the risks of a report that say that something was not read or judged, or will not be taken by Flux, in lines.
func unread(r *audit.Report) (lines []string) {
	for i := range r.Risks {
		if k := &r.Risks[i]; k.Severity == audit.SeverityError || k.Rule == audit.RiskUnread {
			lines = append(lines, fmt.Sprintf("%s:%d:%d: %s", quote.Plain(k.Source), k.Line, k.Column, k.Message))
		}
	}
	return lines
}

// placed says where an image stands.
func placed(p *audit.Place) string {
	o := p.Object().String()
	return fmt.Sprintf("%s:%d:%d: %s: %s", quote.Plain(p.Source), p.Line, p.Column, o, quote.Plain(p.Path))
}
