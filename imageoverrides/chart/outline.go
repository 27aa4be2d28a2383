// SPDX-License-Identifier: Apache-2.0

package chart

import (
	"slices"
	"strconv"
	"strings"
)

// A node is a value of YAML, read leniently: what a template writes is known in part only. What no
// YAML parser takes is read as it is meant, since it stops Helm or the API server, loudly.
type node struct {
	kind    nodeKind
	text    string           // of a scalar
	from    int              // where a scalar begins in the document's text,
	to      int              // and ends
	entries []entry          // of a map
	index   map[string]*node // of a large map
	items   []*node          // of a list
	same    *node            // what an alias stands for
	calls   []int            // calls whose item stands in it, or beside its entries or items
	quoted  []int            // calls that stand in a text
	open    bool             // something that is not known stands in it
}

type nodeKind byte

const (
	isEmpty  nodeKind = iota
	isScalar          // in one line and without quotes, or with them where it has no calls
	isText            // a scalar in quotes, or a block of text
	isMap
	isList
)

type entry struct {
	key   string
	value *node
}

// get is the value of a key, or nil. Of several the last one counts, and those behind a merge
// key come after its own.
func (n *node) get(key string) *node {
	for range maxLevels {
		if n = n.real(); n == nil || n.kind != isMap {
			return nil
		}
		if len(n.entries) > 16 {
			if n.index == nil {
				n.index = make(map[string]*node, len(n.entries))
				for _, e := range n.entries {
					n.index[e.key] = e.value
				}
			}
			if value, ok := n.index[key]; ok {
				return value.real()
			}
			n = n.index["<<"]
			continue
		}
		var merged *node
		for _, e := range slices.Backward(n.entries) {
			if e.key == key {
				return e.value.real()
			}
			if e.key == "<<" && merged == nil {
				merged = e.value
			}
		}
		n = merged
	}
	return nil
}

// real is what an alias stands for, or the node itself.
func (n *node) real() *node {
	for i := 0; n != nil && n.same != nil; i++ {
		if i > maxLevels {
			return nil
		}
		n = n.same
	}
	return n
}

// become is the node as a map or list. What it was before stays in it; that is no YAML, but for
// what is not known and may be nothing.
func (n *node) become(kind nodeKind) *node {
	switch {
	case n.kind == isEmpty:
		n.kind = kind
	case n.kind == kind:
	case n.kind == isMap:
		list := &node{kind: kind}
		n.entries = append(n.entries, entry{"", list})
		return list
	default:
		before := *n
		*n = node{kind: kind, open: before.open}
		if kind == isMap {
			n.entries = []entry{{"", &before}}
		} else {
			n.items = []*node{&before}
		}
	}
	return n
}

// A marked is the number of a mark with the offset at which it stood.
type marked struct{ at, number int }

// An outline reads documents of YAML.
type outline struct {
	text  string // a byte stands for each call and for what is not known, and no other marks do
	sites []marked
	calls []marked
	at    int // of the line that is being read
	stack []frame
	names map[string]*node
	roots []*node
	seq   int // where quotes were found to have no end
}

// A frame is a map or list in block style that is open.
type frame struct {
	column int
	node   *node
	slot   *node // where what is deeper goes
}

// readOutline reads the documents of a text that has marks.
func readOutline(text string) *outline {
	text = strings.TrimPrefix(text, "\uFEFF")
	o := &outline{}
	var b strings.Builder
	b.Grow(len(text))
	for {
		i := strings.IndexAny(text, "\x01\x02")
		if i < 0 {
			break
		}
		b.WriteString(text[:i])
		c := text[i]
		digits, rest, _ := strings.Cut(text[i+1:], string(c))
		n, err := strconv.Atoi(digits)
		if err != nil {
			text = text[i+1:]
			continue // a function cut the mark in pieces
		}
		if c == callMark {
			o.calls = append(o.calls, marked{b.Len(), n})
			b.WriteByte(callMark)
		} else {
			o.sites = append(o.sites, marked{b.Len(), n})
		}
		text = rest
	}
	b.WriteString(text)
	o.text = b.String()
	o.document()
	for o.at < len(o.text) {
		o.line()
	}
	return o
}

// document begins the next document.
func (o *outline) document() {
	root := &node{}
	o.roots = append(o.roots, root)
	o.stack = append(o.stack[:0], frame{-1, nil, root})
	o.names = make(map[string]*node)
}

// end is where the line of an offset ends.
func (o *outline) end(at int) int {
	if i := strings.IndexByte(o.text[at:], '\n'); i >= 0 {
		return at + i
	}
	return len(o.text)
}

// skip passes over blanks.
func (o *outline) skip(at, end int) int {
	for at < end && (o.text[at] == ' ' || o.text[at] == '\t' || o.text[at] == '\r') {
		at++
	}
	return at
}

// comments reports whether a comment begins at an offset.
func (o *outline) comments(at int) bool {
	return o.text[at] == '#' && (at == 0 || strings.IndexByte(" \t\n\r", o.text[at-1]) >= 0)
}

// separator is whether a line separates documents, and what stands behind that.
func (o *outline) separator(at int) (behind int, ok bool) {
	rest := o.text[at:]
	if !strings.HasPrefix(rest, "---") && !strings.HasPrefix(rest, "...") {
		return 0, false
	}
	if len(rest) > 3 && strings.IndexByte(" \t\r\n", rest[3]) < 0 {
		return 0, false
	}
	return at + 3, true
}

// line reads a line, and what belongs to it of those behind.
func (o *outline) line() {
	start := o.at
	end := o.end(start)
	o.at = min(end+1, len(o.text))
	if end == len(o.text) {
		o.at = end
	}
	at := start
	if behind, ok := o.separator(start); ok {
		o.document()
		at = behind
	}
	for at < end && o.text[at] == ' ' {
		at++
	}
	column := at - start
	at = o.skip(at, end)
	if at == end || o.comments(at) {
		return
	}
	if o.text[at] == '%' && column == 0 {
		return // a directive
	}
	o.content(at, end, column)
}

// top is the innermost frame.
func (o *outline) top() *frame { return &o.stack[len(o.stack)-1] }

// maxFrames is how many maps and lists may be open in each other.
const maxFrames = 1000

func (o *outline) push(column int, n *node) {
	o.stack = append(o.stack, frame{column, n, n})
}

// content reads what stands in a line, from an offset that is at a column.
func (o *outline) content(at, end, column int) {
	dash := o.dash(at, end)
	alone := strings.TrimRight(o.text[at:end], " \t\r") == unknownMark
	if !alone {
		for len(o.stack) > 1 && (o.top().column > column || o.top().column == column && o.top().node.kind == isList && !dash) {
			o.stack = o.stack[:len(o.stack)-1]
		}
	}
	for len(o.stack) < maxFrames {
		top := o.top()
		if dash {
			if top.column < column || top.node.kind != isList {
				// in the place of the last key's value, which may be as far out as the key
				in := top.slot
				if column == top.column && in.kind != isEmpty {
					in = top.node // no YAML
				}
				o.push(column, in.become(isList))
				top = o.top()
			}
			item := &node{}
			top.node.items = append(top.node.items, item)
			top.slot = item
			next := o.skip(at+1, end)
			if next == end || o.comments(next) {
				return
			}
			dash = o.dash(next, end)
			if !dash && !o.isKey(next, end) {
				o.value(next, end, column, item)
				return
			}
			column += next - at
			at = next
			continue
		}
		key, value, ok := o.key(at, end)
		if !ok {
			o.loose(at, end, column)
			return
		}
		if top.column < column || top.node.kind != isMap {
			o.push(column, top.slot.become(isMap))
			top = o.top()
		}
		slot := &node{}
		if key == "" && len(top.node.entries) > 0 && o.text[at] == ':' {
			slot = top.node.entries[len(top.node.entries)-1].value // of an explicit key
		} else {
			top.node.entries = append(top.node.entries, entry{key, slot})
		}
		top.slot = slot
		next := o.skip(value, end)
		if next == end || o.comments(next) {
			return
		}
		if o.isKey(next, end) || o.dash(next, end) {
			// no YAML, but a template that forgot a line break
			column++
			at = next
			dash = o.dash(at, end)
			continue
		}
		o.value(next, end, column, slot)
		return
	}
}

// dash reports whether a list's item begins at an offset.
func (o *outline) dash(at, end int) bool {
	return at < end && o.text[at] == '-' && (at+1 == end || strings.IndexByte(" \t\r", o.text[at+1]) >= 0)
}

// properties passes over an anchor and a tag.
func (o *outline) properties(at, end int) (behind int, anchor string) {
	for at < end && (o.text[at] == '&' || o.text[at] == '!') {
		to := at
		for to < end && strings.IndexByte(" \t\r,[]{}", o.text[to]) < 0 {
			to++
		}
		if o.text[at] == '&' {
			anchor = o.text[at+1 : to]
		}
		at = o.skip(to, end)
	}
	return at, anchor
}

func (o *outline) isKey(at, end int) bool {
	_, _, ok := o.key(at, end)
	return ok
}

// key is the key of a map that begins at an offset, with where its value begins.
func (o *outline) key(at, end int) (key string, value int, ok bool) {
	at, _ = o.properties(at, end)
	if at == end {
		return "", 0, false
	}
	switch c := o.text[at]; c {
	case '?', ':':
		if at+1 == end || o.text[at+1] == ' ' {
			key := strings.TrimSpace(o.text[at+1 : end])
			if c == ':' {
				return "", at + 1, true
			}
			return strings.Trim(key, `"'`), end, true
		}
	case '"', '\'':
		to := o.quote(at, end)
		if to < 0 {
			return "", 0, false
		}
		next := o.skip(to, end)
		if next < end && o.text[next] == ':' && (next+1 == end || strings.IndexByte(" \t\r", o.text[next+1]) >= 0) {
			return o.text[at+1 : to-1], next + 1, true
		}
		return "", 0, false
	case '{', '[', '|', '>', '#', '%':
		return "", 0, false
	}
	for i := at; i < end; i++ {
		switch o.text[i] {
		case ':':
			if i+1 == end || strings.IndexByte(" \t\r", o.text[i+1]) >= 0 {
				return strings.TrimSpace(o.text[at:i]), i + 1, true
			}
		case '#':
			if o.comments(i) {
				return "", 0, false
			}
		}
	}
	return "", 0, false
}

// quote is where a scalar in quotes ends, or -1.
func (o *outline) quote(at, end int) int {
	c := o.text[at]
	for i := at + 1; i < end; i++ {
		switch {
		case o.text[i] == c && c == '\'' && i+1 < end && o.text[i+1] == c:
			i++
		case o.text[i] == c:
			return i + 1
		case o.text[i] == '\\' && c == '"':
			i++
		case o.text[i] == '\n' && i+1 < end:
			if _, ok := o.separator(i + 1); ok {
				return -1
			}
		}
	}
	return -1
}

// loose reads a line that is neither a key nor an item: a value in a line of its own, the rest of
// a value, or something that is not known.
func (o *outline) loose(at, end, column int) {
	top := o.top()
	n := top.slot
	if column <= top.column && top.node != nil {
		n = top.node // beside its entries
	}
	if n.kind == isEmpty {
		o.value(at, end, top.column, n)
		return
	}
	o.mark(n, at, end)
}

// mark gives a node the calls that stand between two offsets.
func (o *outline) mark(n *node, from, to int) {
	if strings.Contains(o.text[from:to], unknownMark) {
		n.open = true
	}
	for _, m := range between(o.calls, from, to) {
		n.calls = append(n.calls, m.number)
	}
}

// quotes does the same where they stand in a text.
func (o *outline) quotes(n *node, from, to int) {
	for _, m := range between(o.calls, from, to) {
		n.quoted = append(n.quoted, m.number)
	}
}

// between is the marks from one offset up to another.
func between(list []marked, from, to int) []marked {
	i, _ := slices.BinarySearchFunc(list, from, func(m marked, at int) int { return m.at - at })
	j, _ := slices.BinarySearchFunc(list, to, func(m marked, at int) int { return m.at - at })
	return list[i:max(i, j)]
}

// value reads a value that begins in a line. Lines that are deeper than a column belong to
// it, if it is a text.
func (o *outline) value(at, end, column int, n *node) {
	at, anchor := o.properties(at, end)
	if anchor != "" {
		o.names[anchor] = n
	}
	if at == end || o.comments(at) {
		return
	}
	switch o.text[at] {
	case '*':
		name := strings.TrimRight(o.text[at+1:end], " \t\r")
		name, _, _ = strings.Cut(name, " ")
		if other := o.names[name]; other != nil && other != n {
			n.same = other
		}
		n.kind = isScalar
		return
	case '|', '>':
		n.kind = isText
		from := o.at
		o.block(column)
		o.quotes(n, from, o.at)
		return
	case '"', '\'':
		to := -1
		if o.seq <= at {
			if to = o.quote(at, len(o.text)); to < 0 {
				o.seq = o.unquoted(at)
			}
		}
		if to < 0 {
			to = end
		}
		n.kind, n.from, n.to = isScalar, at, to
		n.text = strings.Trim(o.text[at:to], "\"' \r")
		if o.quotes(n, at, to); len(n.quoted) > 0 || to > end {
			n.kind = isText
		}
		o.resume(to)
		return
	case '{', '[':
		to := o.flow(at, n, 0)
		o.resume(to)
		return
	}
	to := at
	for to < end && !o.comments(to) {
		to++
	}
	n.kind, n.from, n.to = isScalar, at, to
	n.text = strings.TrimRight(o.text[at:to], " \t\r")
	o.mark(n, at, to)
}

// unquoted is up to where quotes have no end, if those at an offset have none.
func (o *outline) unquoted(at int) int {
	for i := at; ; {
		next := strings.IndexByte(o.text[i:], '\n')
		if next < 0 {
			return len(o.text)
		}
		i += next + 1
		if _, ok := o.separator(i); ok {
			return i - 1
		}
	}
}

// resume goes on behind the line of an offset.
func (o *outline) resume(at int) {
	if end := o.end(at); end >= o.at {
		o.at = min(end+1, len(o.text))
	}
}

// block passes over a block of text: the lines that are deeper than a column.
func (o *outline) block(column int) {
	for o.at < len(o.text) {
		end := o.end(o.at)
		at := o.at
		for at < end && o.text[at] == ' ' {
			at++
		}
		if o.skip(at, end) < end {
			if at-o.at <= column {
				return
			}
			if _, ok := o.separator(o.at); ok {
				return
			}
		}
		o.at = min(end+1, len(o.text))
	}
}

// maxFlow is how deep flow style is read.
const maxFlow = 200

// flow reads a map or list in flow style, and returns where it ends.
func (o *outline) flow(at int, n *node, level int) int {
	closing := byte('}')
	n.kind = isMap
	if o.text[at] == '[' {
		closing = ']'
		n.kind = isList
	}
	key, keyed := "", false
	pending := &node{}
	done := func() {
		switch {
		case n.kind == isMap && keyed:
			n.entries = append(n.entries, entry{key, pending})
		case n.kind == isList && pending.kind != isEmpty:
			if keyed { // [key: value]
				pending = &node{kind: isMap, entries: []entry{{key, pending}}}
			}
			n.items = append(n.items, pending)
		default:
			n.calls = append(n.calls, pending.calls...)
			n.open = n.open || pending.open
		}
		key, keyed, pending = "", false, &node{}
	}
	for at++; at < len(o.text); {
		switch c := o.text[at]; {
		case c == '\n':
			at++
			if at < len(o.text) {
				if _, ok := o.separator(at); ok {
					done()
					return at - 1
				}
			}
		case c == ' ' || c == '\t' || c == '\r':
			at++
		case o.comments(at):
			at = o.end(at)
		case c == closing:
			done()
			return at + 1
		case c == '}' || c == ']': // of nothing
			at++
		case c == ',':
			done()
			at++
		case c == ':' && !keyed && (pending.kind != isEmpty):
			key, keyed, pending = pending.text, true, &node{}
			at++
		case c == '{' || c == '[':
			if level >= maxFlow {
				return o.unquoted(at)
			}
			inner := pending
			if inner.kind != isEmpty {
				inner = &node{}
			}
			at = o.flow(at, inner, level+1)
		case c == '"' || c == '\'':
			to := -1
			if o.seq <= at {
				if to = o.quote(at, len(o.text)); to < 0 {
					o.seq = o.unquoted(at)
				}
			}
			if to < 0 {
				at++
				continue
			}
			pending.kind, pending.from, pending.to = isScalar, at, to
			pending.text = o.text[at+1 : to-1]
			if o.quotes(pending, at, to); len(pending.quoted) > 0 {
				pending.kind = isText
			}
			at = to
		case c == '&' || c == '!':
			var anchor string
			at, anchor = o.properties(at, len(o.text))
			if anchor != "" {
				o.names[anchor] = pending
			}
		default:
			to := at
			for ; to < len(o.text); to++ {
				c := o.text[to]
				if c == '\n' || strings.IndexByte(",[]{}", c) >= 0 || o.comments(to) {
					break
				}
				if c == ':' && (to+1 == len(o.text) || strings.IndexByte(" \t\r\n,[]{}\x00", o.text[to+1]) >= 0) {
					break
				}
			}
			if to == at {
				to++
			}
			if text := strings.TrimSpace(o.text[at:to]); pending.kind == isEmpty {
				pending.kind, pending.from, pending.to, pending.text = isScalar, at, to, text
				if name, ok := strings.CutPrefix(text, "*"); ok {
					if other := o.names[name]; other != nil && other != pending {
						pending.same = other
					}
				}
			}
			o.mark(pending, at, to)
			at = to
		}
	}
	done()
	return at
}

// site is the number of the place that stands in a scalar, or else the next one to it.
func (o *outline) site(n *node) (number int, ok bool) {
	if in := between(o.sites, n.from, n.to); len(in) > 0 {
		return in[0].number, true
	}
	i, _ := slices.BinarySearchFunc(o.sites, n.from, func(m marked, at int) int { return m.at - at })
	if i > 0 {
		return o.sites[i-1].number, true
	}
	if i < len(o.sites) {
		return o.sites[i].number, true
	}
	return 0, false
}

// flow is a text of YAML in flow style.
func flow(text string) string {
	o := readOutline(text)
	return o.inFlow(o.roots[len(o.roots)-1])
}

func (o *outline) inFlow(n *node) string {
	if n == nil {
		return ""
	}
	var b strings.Builder
	o.writeFlow(&b, n, 0)
	return b.String()
}

func (o *outline) writeFlow(b *strings.Builder, n *node, level int) {
	if n = n.real(); n == nil || level > maxLevels {
		b.WriteString(unknownMark)
		return
	}
	rest := func() {
		for _, call := range n.calls {
			b.WriteString(mark(callMark, call) + ",")
		}
		if n.open {
			b.WriteString(unknownMark)
		}
	}
	switch n.kind {
	case isMap:
		b.WriteByte('{')
		for _, e := range n.entries {
			b.WriteString(strconv.Quote(e.key) + ": ")
			o.writeFlow(b, e.value, level+1)
			b.WriteByte(',')
		}
		rest()
		b.WriteByte('}')
	case isList:
		b.WriteByte('[')
		for _, item := range n.items {
			o.writeFlow(b, item, level+1)
			b.WriteByte(',')
		}
		rest()
		b.WriteByte(']')
	case isEmpty:
		b.WriteString("null")
	case isText:
		b.WriteString(`"text `)
		for _, call := range n.quoted {
			b.WriteString(mark(callMark, call))
		}
		b.WriteByte('"')
	default:
		if len(n.calls) > 0 || n.open {
			rest()
			return
		}
		if in := between(o.sites, n.from, n.to); len(in) > 0 {
			b.WriteString(mark(siteMark, in[0].number))
		}
		b.WriteString(`"` + strings.NewReplacer("\n", " ", `"`, "'").Replace(n.text) + `"`)
	}
}
