// SPDX-License-Identifier: Apache-2.0

package chart

import (
	"regexp"
	"slices"
	"strings"
)

const releaseKind = "HelmRelease"

// A helmRelease is one that a template renders.
type helmRelease struct {
	source   *source
	tree     *tree
	line     int // of its kind, from 1
	from, to int // the text that is the object, by offsets
	spot
}

// served reports whether the release calls one of the named templates.
func (r *helmRelease) served(calls map[string]bool) bool {
	return slices.ContainsFunc(r.tree.calls, func(c call) bool {
		return calls[c.name] && r.from <= c.at && c.at < r.to && r.near(c.spot)
	})
}

// A row is one line of a template's own text.
type row struct {
	at     int    // the offset of the line
	text   string // without the comment, and without space at the end
	dash   int    // the column of the first dash of a list's item, or -1
	indent int    // the column of what is not a dash
}

// start is the column of the first character.
func (r row) start() int {
	if r.dash >= 0 {
		return r.dash
	}
	return r.indent
}

// key is the key of a map that the row begins with, or "".
func (r row) key() string {
	if m := rowKey.FindStringSubmatch(r.text[r.indent:]); m != nil {
		return m[1]
	}
	return ""
}

var (
	rowKey = regexp.MustCompile(`^["']?([A-Za-z]+)["']?\s*:`)
	// In block style a key is the first of its line, in flow style it is behind a brace or comma.
	kindKey = regexp.MustCompile(`(?:^[\s-]*|[{,]\s*)["']?kind["']?\s*:`)
	object  = regexp.MustCompile(`["'{,\s](metadata|spec)["']?\s*:`)
)

// rows splits a template's own text into lines, and forgets the calls and the strings that
// stand in comments of YAML.
func (t *tree) rows() (list []row) {
	at := 0
	for text := range strings.SplitSeq(string(t.masked), "\n") {
		length := len(text)
		if i := comment(text); i >= 0 {
			from, to := at+i, at+length
			t.calls = slices.DeleteFunc(t.calls, func(c call) bool { return from <= c.at && c.at < to })
			t.strings = slices.DeleteFunc(t.strings, func(l literal) bool { return from <= l.at && l.at < to })
			text = text[:i]
		}
		r := row{at: at, text: strings.TrimRight(text, " \t\r"), dash: -1}
		for r.indent < len(r.text) && strings.IndexByte(" -", r.text[r.indent]) >= 0 {
			if r.text[r.indent] == '-' {
				if rest := r.text[r.indent+1:]; rest != "" && rest[0] != ' ' {
					break // a word that begins with a dash
				}
				if r.dash < 0 {
					r.dash = r.indent
				}
			}
			r.indent++
		}
		list = append(list, r)
		at += length + len("\n")
	}
	return list
}

// comment returns where the comment of a line begins, or -1.
func comment(text string) int {
	var quote, before byte = 0, ' '
	for i := range len(text) {
		c := text[i]
		switch {
		case quote != 0:
			if c == quote {
				quote = 0
			}
		case c == '#' && (before == ' ' || before == '\t'):
			return i
		case (c == '"' || c == '\'') && strings.IndexByte(" \t:,[{", before) >= 0:
			quote = c
		}
		before = c
	}
	return -1
}

// separates reports whether a row begins a document: by its text, or by a string in an
// action, as loops have it.
func (t *tree) separates(r row) bool {
	if r.text == "---" || strings.HasPrefix(r.text, "--- ") {
		return true
	}
	return r.text == "" && slices.ContainsFunc(t.strings, func(l literal) bool {
		return strings.HasPrefix(strings.TrimSpace(l.text), "---") && r.at <= l.at && !strings.Contains(t.source.text[r.at:l.at], "\n")
	})
}

// releases finds the HelmReleases of a template.
func (t *tree) releases() (list []*helmRelease) {
	rows := t.rows()
	for from := 0; from < len(rows); {
		to := from + 1
		for to < len(rows) && !t.separates(rows[to]) {
			to++
		}
		end := len(t.masked)
		if to < len(rows) {
			end = rows[to].at
		}
		if rows[from].text == "---" {
			rows[from].text, rows[from].indent = "", 0
		}
		list = append(list, t.document(rows[from:to], end)...)
		from = to
	}
	return list
}

// document finds the HelmReleases of one document, which ends at an offset.
func (t *tree) document(rows []row, end int) (list []*helmRelease) {
	add := func(s spot, from, to int) {
		list = append(list, &helmRelease{
			source: t.source, tree: t, line: 1 + strings.Count(t.source.text[:s.at], "\n"), from: from, to: to, spot: s,
		})
	}
	begin := rows[0].at
	for i, r := range rows {
		for _, m := range kindKey.FindAllStringIndex(r.text, -1) {
			if !t.saysRelease(r, m[1]) {
				continue
			}
			at := r.at + m[1] - 1
			if from, to, ok := block(rows, i); ok && !strings.ContainsAny(r.text[m[0]:m[0]+1], "{,") {
				last := end
				if to < len(rows) {
					last = rows[to].at
				}
				add(t.spot(at), rows[from].at, last)
			} else if from, to, ok := braces(t.masked[begin:end], at-begin); ok && object.Match(t.masked[begin+from:begin+to]) {
				add(t.spot(at), begin+from, begin+to)
			}
		}
	}
	for _, l := range t.strings {
		if l.kind && l.text == releaseKind && begin <= l.at && l.at < end {
			add(l.spot, begin, end)
		}
	}
	return list
}

// saysRelease reports whether the value behind a colon is the kind: as text, quoted or not, as
// one side of a condition, or as a string in an action.
func (t *tree) saysRelease(r row, colon int) bool {
	value := r.text[colon:]
	if i := strings.IndexAny(value, ",}"); i >= 0 {
		value = value[:i]
	}
	for word := range strings.FieldsSeq(value) {
		if strings.Trim(word, `"'`) == releaseKind {
			return true
		}
	}
	if strings.TrimSpace(value) != "" {
		return false
	}
	from := r.at + colon
	return slices.ContainsFunc(t.strings, func(l literal) bool {
		return l.text == releaseKind && from <= l.at && !strings.Contains(t.source.text[from:l.at], "\n")
	})
}

// block finds the rows of the map in block style whose kind is in a row. ok is false
// where that is no object but a reference to one, as in targetRef or healthChecks: inside of
// something else without metadata and spec, or at the top with a name in their place.
func block(rows []row, at int) (from, to int, ok bool) {
	column := rows[at].indent
	keys := make(map[string]bool)
	for from = at; ; from-- {
		r := rows[from]
		if r.text != "" && r.indent == column {
			keys[r.key()] = true
		}
		if from == 0 || r.text != "" && r.dash >= 0 && r.dash < column {
			break
		}
		if above := rows[from-1]; above.text != "" && above.start() < column && (above.dash < 0 || above.indent != column) {
			break
		}
	}
	for to = at + 1; to < len(rows); to++ {
		r := rows[to]
		if r.text == "" {
			continue
		}
		if r.start() < column {
			break
		}
		if r.dash < 0 && r.indent == column {
			keys[r.key()] = true
		}
	}
	top := !slices.ContainsFunc(rows, func(r row) bool { return r.text != "" && r.start() < column })
	return from, to, keys["metadata"] || keys["spec"] || top && !keys["name"]
}

// braces finds the map in flow style that an offset is in. ok is false where it is in none.
func braces(text []byte, at int) (from, to int, ok bool) {
	depth := 0
	for from = at; ; from-- {
		switch {
		case from < 0:
			return 0, 0, false
		case text[from] == '}':
			depth++
		case text[from] == '{':
			depth--
		}
		if depth < 0 {
			break
		}
	}
	for to = from; to < len(text); to++ {
		switch text[to] {
		case '{':
			depth++
		case '}':
			depth--
		}
		if depth < 0 {
			return from, to + 1, true
		}
	}
	return from, to, true
}
