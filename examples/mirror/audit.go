// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"os"

	"github.com/cozystack/image-overrides/imageoverrides/audit"
	"github.com/cozystack/image-overrides/internal/quote"
)

// How manifests are read, for every command that takes some.
const manifestsUsage = `
Manifests are what charts render: YAML or JSON, any number of documents in a file, each file a release. For -
they come from standard input.
`

// audit adds manifests to an audit, each file a source, and reports on them.
func (s streams) audit(a *audit.Audit, files []string) (*audit.Report, error) {
	for _, file := range files {
		if err := s.add(a, file); err != nil {
			return nil, err
		}
	}
	return a.Report(), nil
}

func (s streams) add(a *audit.Audit, file string) error {
	if file == "-" {
		return a.Add(named(file), s.stdin)
	}
	f, err := os.Open(file)
	if err != nil {
		return err
	}
	defer f.Close()
	return a.Add(named(file), f)
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
