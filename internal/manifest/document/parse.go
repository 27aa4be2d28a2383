// SPDX-License-Identifier: Apache-2.0

package document

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"regexp"
	"slices"
	"strings"
	"unicode/utf8"

	"go.yaml.in/yaml/v3"
)

// A SyntaxError says that a text is neither YAML nor JSON.
type SyntaxError struct {
	Offset int // of the last byte that the parser took, from 0
	Reason string
}

func (e *SyntaxError) Error() string { return fmt.Sprintf("byte %d: %s", e.Offset, e.Reason) }

// MoreText is the Reason of text that goes on behind a document without a separator in front. Offset
// is then where it goes on.
const MoreText = "did not find expected <document start>"

// A Text is a parsed text, usually of one document.
type Text struct {
	Bytes []byte       // as given
	Roots []*yaml.Node // the root of each document in it, empty ones left out
	JSON  bool         // it was read as JSON, which it is and YAML is not, or as which alone it was read

	starts               []int         // of the lines, as the YAML parser counts them; nil until somebody asks
	line, column, offset int           // of the node that was looked up last, for finding the next
	marks                map[int][]int // offsets by line, every markEvery characters
}

// MergeTag is the tag that the YAML parser gives to a plain <<.
const MergeTag = "!!merge"

// Behind returns what an alias stands for, and any other node, or nil, as it is.
func Behind(n *yaml.Node) *yaml.Node {
	if n != nil && n.Kind == yaml.AliasNode {
		return n.Alias
	}
	return n
}

// Parse parses text as YAML, with the parser and the settings of kustomize, and
// where it is none, as one or more JSON values: YAML 1.1 lacks some of JSON's
// escapes. YAML version directives are passed over, since the parser knows one
// version only. The text is not copied and not changed. The error is a [*SyntaxError].
func Parse(text []byte) (*Text, error) {
	if i := invalidUTF8(text); i >= 0 {
		return nil, &SyntaxError{i, fmt.Sprintf("byte %#02x is not UTF-8", text[i])}
	}
	if i := manyDirectives(text); i >= 0 {
		return nil, &SyntaxError{i, fmt.Sprintf("more than %d directives", maxDirectives)}
	}
	readable := maskVersion(text)
	counted := counter{src: bytes.NewReader(readable)}
	roots, err := parseYAML(&counted)
	if err != nil {
		start := bytes.TrimLeft(bytes.TrimPrefix(text, byteOrderMark), " \t\r\n")
		if len(start) > 0 && (start[0] == '{' || start[0] == '[') {
			if roots, err := parseJSON(text); err == nil {
				return &Text{Bytes: text, Roots: roots, JSON: true}, nil
			}
		}
		why := reason(err)
		if why == MoreText {
			return nil, &SyntaxError{moreText(readable, err), why}
		}
		return nil, &SyntaxError{failure(readable, why, lineOf(err), counted.read), why}
	}
	return &Text{Bytes: text, Roots: roots}, nil
}

// ParseJSON is Parse for text that is known to be one or more JSON values in a row.
func ParseJSON(text []byte) (*Text, error) {
	roots, err := parseJSON(text)
	if err != nil {
		return Parse(text) // which says why, and where
	}
	return &Text{Bytes: text, Roots: roots, JSON: true}, nil
}

func invalidUTF8(text []byte) int {
	if utf8.Valid(text) {
		return -1
	}
	i := 0
	for {
		r, n := utf8.DecodeRune(text[i:])
		if r == utf8.RuneError && n == 1 {
			return i
		}
		i += n
	}
}

// maxDirectives is how many directives a text may have: the parser compares each with all before.
const maxDirectives = 100

// manyDirectives returns the offset of the first line that is one directive too many, if such lines are directives, or -1.
func manyDirectives(text []byte) int {
	n := 0
	for at := 0; ; {
		if bytes.HasPrefix(text[at:], []byte("%")) {
			if n++; n > maxDirectives && directives(text[:at]) {
				return at
			}
		}
		i := bytes.Index(text[at:], []byte("\n%"))
		if i < 0 || n > maxDirectives {
			return -1
		}
		at += i + 1
	}
}

var versionDirective = regexp.MustCompile(`(?m)^%YAML[ \t]`)

// maskVersion makes comments of the version directives at the head of text.
func maskVersion(text []byte) []byte {
	head := bytes.TrimPrefix(text, byteOrderMark)
	if i := bytes.Index(head, []byte("\n---")); i >= 0 {
		head = head[:i]
	}
	if !bytes.Contains(head, []byte("%YAML")) || !versionDirective.Match(head) || !directives(head) {
		return text
	}
	masked := slices.Clone(text)
	from := len(text) - len(bytes.TrimPrefix(text, byteOrderMark))
	for _, at := range versionDirective.FindAllIndex(head, -1) {
		masked[from+at[0]] = '#'
	}
	return masked
}

// parseYAML parses all documents that r gives. The parser panics where it is wrong
// about itself, which is an error of the text to us.
func parseYAML(r io.Reader) (roots []*yaml.Node, err error) {
	defer func() {
		if p := recover(); p != nil {
			roots, err = nil, fmt.Errorf("the YAML parser gives up: %v", p)
		}
	}()
	for decoder := yaml.NewDecoder(r); ; {
		var root yaml.Node
		err := decoder.Decode(&root)
		if err == io.EOF {
			return roots, nil
		}
		if err != nil {
			return nil, err
		}
		if len(root.Content) == 1 && !emptyDocument(root.Content[0]) {
			roots = append(roots, root.Content[0])
		}
	}
}

// emptyDocument reports whether a document was only written as a comment or a
// separator: its null has no text.
func emptyDocument(n *yaml.Node) bool {
	return n.Kind == yaml.ScalarNode && n.Tag == "!!null" && n.Value == "" && n.Style == 0 && n.Anchor == ""
}

// reason is the parser's own message, without its idea of the line.
func reason(err error) string {
	text := strings.TrimPrefix(err.Error(), "yaml: ")
	if strings.HasPrefix(text, "line ") {
		if _, rest, found := strings.Cut(text, ": "); found {
			text = rest
		}
	}
	return text
}

// moreText returns where text goes on behind a document, of which the parser tells the line, from 0 and
// without that of the first.
func moreText(text []byte, err error) int {
	line := lineOf(err)
	if line < 0 {
		return failure(text, MoreText, -1, len(text))
	}
	at := lineStart(text, line)
	return at + len(text[at:]) - len(bytes.TrimLeft(text[at:], " \t"))
}

// lineOf is the line that the parser tells, from 0 and without that of the first, or -1.
func lineOf(err error) int {
	line := -1
	if _, scanErr := fmt.Sscanf(err.Error(), "yaml: line %d:", &line); scanErr != nil {
		return -1
	}
	return line
}

// lineStart returns the offset at which a line starts, from 0, as the parser counts them.
func lineStart(text []byte, line int) int {
	at := 0
	for ; line > 0 && at < len(text); line-- {
		for at < len(text) && LineBreak(text[at:]) == 0 {
			at++
		}
		at += LineBreak(text[at:])
	}
	return at
}

// failure returns the offset at which the YAML parser gives up on text for that reason.
// The parser tells a line at most, often that of the start of the map around. So
// failure watches how far it reads when it gets one byte at a time.
// For a long text that would cost as much as the first time, and it is only told roughly: by the line, from 1, that the
// parser tells, or by how much it had read, some hundred bytes more than it had looked at.
func failure(text []byte, why string, line, read int) int {
	if len(text) > 256<<10 {
		if strings.HasPrefix(why, "did not find") {
			line++ // the parser counts from 0 where its scanner counts from 1
		}
		start, at := lineStart(text, max(0, line-1)), max(0, read-1)
		if line > 0 && bytes.IndexByte(text[start:max(start, at)], '\n') >= 0 {
			return start
		}
		return at
	}
	r := &dropper{text: text}
	if _, err := parseYAML(r); err == nil {
		return 0
	}
	seen := text[:r.taken]
	switch {
	case strings.HasPrefix(why, "did not find"), strings.HasPrefix(why, "found unexpected"):
		// Something is missing here, as it would be in any shorter text.
		seen = bytes.TrimRight(seen, " \t\r\n")
	case why == errDepth.Error():
		// Parsing it again takes long, and a few brackets more or less say nothing.
	default:
		seen = shortest(seen, why)
	}
	_, size := utf8.DecodeLastRune(seen)
	return len(seen) - size
}

// shortest takes characters off the end of text that the parser only looked at.
func shortest(text []byte, why string) []byte {
	const lookahead = 4 // a document marker and what is behind it
	for range lookahead {
		_, size := utf8.DecodeLastRune(text)
		less := text[:len(text)-size]
		if _, err := parseYAML(bytes.NewReader(less)); err == nil || reason(err) != why {
			break
		}
		text = less
	}
	return text
}

// counter is a reader that counts the bytes that it gives.
type counter struct {
	src  io.Reader
	read int
}

func (c *counter) Read(p []byte) (int, error) {
	n, err := c.src.Read(p)
	c.read += n
	return n, err
}

// dropper is a reader that gives one byte at a time and counts them.
type dropper struct {
	text  []byte
	taken int
}

func (d *dropper) Read(p []byte) (int, error) {
	if d.taken == len(d.text) {
		return 0, io.EOF
	}
	if len(p) == 0 {
		return 0, nil
	}
	p[0] = d.text[d.taken]
	d.taken++
	return 1, nil
}

// maxDepth is how deep the YAML parser goes, and so how deep JSON may go.
const maxDepth = 10000

var errDepth = errors.New("exceeded max depth of 10000")

// parseJSON parses a run of JSON values into the nodes that YAML would have given.
func parseJSON(text []byte) ([]*yaml.Node, error) {
	skip := len(text) - len(bytes.TrimPrefix(text, byteOrderMark))
	p := jsonParser{text: text, skip: skip, at: skip, line: 1, column: 1}
	p.decoder = json.NewDecoder(bytes.NewReader(text[skip:]))
	p.decoder.UseNumber()
	var roots []*yaml.Node
	for {
		token, err := p.next()
		if err == io.EOF {
			return roots, nil
		}
		if err != nil {
			return nil, err
		}
		root, err := p.value(token, 0)
		if err != nil {
			return nil, err
		}
		roots = append(roots, root)
	}
}

type jsonParser struct {
	text         []byte
	decoder      *json.Decoder
	skip         int // bytes of text that the decoder does not see
	at           int // behind the last token, then the start of the token
	line, column int // of at, as the YAML parser counts them
}

// next returns the next token, and moves to its start.
func (p *jsonParser) next() (json.Token, error) {
	p.move(p.skip + int(p.decoder.InputOffset()))
	token, err := p.decoder.Token()
	if err != nil {
		return nil, err
	}
	from := p.at
	for from < len(p.text) && strings.IndexByte(" \t\r\n,:", p.text[from]) >= 0 {
		from++
	}
	p.move(from)
	return token, nil
}

func (p *jsonParser) move(to int) {
	for p.at < to {
		if n := LineBreak(p.text[p.at:]); n > 0 {
			p.at += n
			p.line++
			p.column = 1
			continue
		}
		_, n := utf8.DecodeRune(p.text[p.at:])
		p.at += n
		p.column++
	}
}

// value returns the node of the value that starts with token.
func (p *jsonParser) value(token json.Token, depth int) (*yaml.Node, error) {
	if depth > maxDepth {
		return nil, errDepth
	}
	n := &yaml.Node{Kind: yaml.ScalarNode, Line: p.line, Column: p.column}
	switch token := token.(type) {
	case string:
		n.Tag, n.Style, n.Value = "!!str", yaml.DoubleQuotedStyle, token
	case json.Number:
		n.Tag, n.Value = "!!float", token.String()
	case bool:
		n.Tag, n.Value = "!!bool", fmt.Sprint(token)
	case nil:
		n.Tag, n.Value = "!!null", "null"
	case json.Delim:
		n.Kind, n.Tag, n.Style = yaml.SequenceNode, "!!seq", yaml.FlowStyle
		if token == '{' {
			n.Kind, n.Tag = yaml.MappingNode, "!!map"
		}
		for p.decoder.More() {
			token, err := p.next()
			if err != nil {
				return nil, err
			}
			child, err := p.value(token, depth+1)
			if err != nil {
				return nil, err
			}
			n.Content = append(n.Content, child)
		}
		if _, err := p.next(); err != nil { // the closing bracket
			return nil, err
		}
	}
	return n, nil
}
