// SPDX-License-Identifier: Apache-2.0

package manifest

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"go.yaml.in/yaml/v3"
	"pgregory.net/rapid"

	"github.com/cozystack/image-overrides/internal/manifest/document"
	"github.com/cozystack/image-overrides/internal/manifest/paths"
)

// A mode says which scalars are told.
type mode struct {
	rules *paths.Rules
	all   bool
}

// images are rules of a kind.
var images = paths.NewRules([]string{"**.image"}, []string{"image.image", "a.image", "**.a[].image"})

// few are rules that begin where an object does.
var few = paths.NewRules([]string{"image", "a.image"}, []string{"a[].image"})

// imagesAndAll are the modes that the two ways of reading are held together in: images, all scalars, all with the states of images, and
// few images.
var imagesAndAll = []mode{{images, false}, {nil, false}, {images, true}, {few, false}}

// isB is a kind that is skipped.
func isB(kind string) bool { return kind == "b" }

// teller notes what it is told, as text.
type teller struct {
	told    []string
	whole   int
	replace bool
}

func (v *teller) Begin()  { v.told, v.whole = v.told[:0], 0 }
func (v *teller) Object() { v.told = v.told[:v.whole] }
func (v *teller) End(n *Name) {
	v.told = append(v.told, fmt.Sprintf("%+v", n.Object()))
	v.whole = len(v.told)
}

func (v *teller) Scalar(s *Scalar) {
	text, places := s.Text(), ""
	if text != "" {
		places = fmt.Sprintf(" from %d over %d to %d", s.Place(0), s.Place(len(text)/2), s.Place(len(text)-1))
	}
	v.told = append(v.told, fmt.Sprintf("%s %x %d %q%s", paths.Append(nil, s.Path()), s.State, len(s.InObject()), text, places))
	if v.replace {
		s.Replace("new/" + strings.ToLower(text))
	}
}

// told reads a text by the parser, or by the scanner where that accepts it.
func told(r *Reader, text []byte, m mode) (list []string, ok bool, err error) {
	v := teller{replace: m.rules != nil && !m.all}
	r.Rules, r.All, r.Skip, r.Visitor = m.rules, m.all, isB, &v
	documents, edits, fault := 1, []document.Edit(nil), (*Fault)(nil)
	if r.Parse {
		documents, edits, fault = r.Read(document.Piece{Bytes: text})
	} else {
		r.scanner.rules, r.scanner.skip, r.scanner.visitor = m.rules, isB, &v
		r.scanner.all, r.scanner.odd = m.all || m.rules == nil, false
		if !r.scanner.scan(text) {
			return nil, false, nil
		}
		edits = r.scanner.edits[:r.scanner.marked]
	}
	if fault != nil {
		return nil, false, fault
	}
	if documents != 1 {
		return nil, false, fmt.Errorf("%d documents", documents)
	}
	v.told = v.told[:v.whole]
	for _, e := range edits {
		v.told = append(v.told, fmt.Sprintf("%q becomes %q", text[e.Start:e.End], e.New))
	}
	return v.told, true, nil
}

// compare fails where the scanner accepts what the YAML parser does not, or finds something else.
func compare(t interface{ Fatalf(string, ...any) }, s *Reader, text []byte) bool {
	accepted := false
	for _, m := range imagesAndAll {
		got, ok, _ := told(s, text, m)
		if !ok {
			continue
		}
		accepted = true
		if s.scanner.done {
			continue // what is behind was not looked at
		}
		want, _, err := told(&Reader{Parse: true}, text, m)
		if err != nil {
			t.Fatalf("accepted, but: %v\n%s", err, text)
		}
		if diff := cmp.Diff(want, got, cmpopts.EquateEmpty()); diff != "" {
			t.Fatalf("the parser (-) and the scanner (+) tell\n%s\nof\n%s", diff, text)
		}
		if s.scanner.all && !s.scanner.odd {
			if root := parsed(text); root != nil && isOdd(root) {
				t.Fatalf("nothing odd is said of\n%s", text)
			}
		}
	}
	return accepted
}

// parsed is the root of the one document of a text, or nil for a list object: its items may be parsed by themselves.
func parsed(text []byte) *yaml.Node {
	p, err := document.Parse(text)
	if err != nil || len(p.Roots) != 1 {
		return nil
	}
	return p.Roots[0]
}

// isOdd reports whether a node has something that [Reader.Odd] is about.
func isOdd(n *yaml.Node) bool {
	if n.Tag == "!!float" && strings.HasSuffix(strings.ToLower(n.Value), "inf") || n.Tag == "!!float" && strings.EqualFold(n.Value, ".nan") {
		return true
	}
	keys := make(map[string]bool)
	for i, child := range n.Content {
		if isOdd(child) {
			return true
		}
		if n.Kind != yaml.MappingNode {
			continue
		}
		if i%2 == 0 {
			if child.Kind != yaml.ScalarNode || child.Tag != "!!str" || keys[child.Value] {
				return true
			}
			keys[child.Value] = true
		}
	}
	return false
}

// known are texts that Scan knows.
var known = []string{
	"image: a\n", "image: a", "a:\n  image: b\n", "a:\n- image: b\n- c\n-\n  image: d\n- - image: e\n    x: y\n  -   image: f\n", "- a\n", "-\n", "a:\n",
	"a: |\n  image: x\n\n  y\n", "a: |-\n    b\n     c\n\nimage: d\n", "a: >\n\n  b\nimage: c\n", "- |\n a\n- image: b\n", "a:\n- |\n  x\n- image: b\n", "a: |\nb: c\n",
	"image: 'a'\nb: 'it''s'\nc: \"x\\n\\u00e9\\x41\\\n  y\"\nimage2: \"z\"\n", "a: b c\n  d\n\n  e # c\nimage: f # g\n# h\n  # i\n", "\"image\": a\n'kind': b\n",
	"a: {}\nb: []\nc: {image: d, e: [f, {image: 'g'}, \"h\"]}\n", `{"image":"a","b":[1,true,null,{"image":"c"}],"d":{}}`, "{image: a,\n  b: [c,\n d]}\n", "[{image: a b:c/d@e}]",
	"a:\n  - b: c\n    image: d\n\n  - image: e\nf:\n- image: g\nimage: h\n", "a: -1\nb: --c\nd: $(E)\nf: ~\nimage: é:1\n", "# c\n\nkind: A\nimage: b\n",
	"a: x#y\nimage: b:c\n", "a:   # c\n  image: b\n", "- # c\n  image: b\n", "a:\n  {}\nimage:\n  # c\n  'b'\nc:\n  |\n  d\n-\n"[:38], "image:\n  b\n- \n"[:11], "-\n  image :\n    b\n", "\"a\" : b\nimage : c\n", "-\n b\n-\n  - image: c\n", "a: [b,]\nc: {d: e, }\n", "a: [ # c\n  b, # d\n  {image: e}] # f\n", "a: \"b\n  c\n\n d\"\nimage: e\n", "a b: c\nf:image: d\né: e\n\"\\x69mage\": f\n'it''s': g\nhttp://a/b#c: h\n\"é\": {\"a b\": i, \"\\u00e9\": j}\n",
	"kind: List\nitems:\n- image: a\n- - image: b\n- c\n", "items:\n  - kind: A\n    image: a\n  - image: ~\nkind: AList\n", "items:\n- image: a\nkind: A\n", "items:\n- image: a\n", "kind: List\nitems: []\nimage: a\n", "items: []\nkind: List\nimage: a\n", "a: |2\n   b\nimage: c\n", "a: >2-\n\n    b\n   c\n\nimage: c\n", "- a: |-1\n     b\n  image: c\n- |+1\n b\n", "a: b\n...\n", "a:\n  b\n... # c\n\n# d\n", "a: >-\n b\n...", "{a: b}\n", "items: []\nkind: Lisp\nimage: a\n", "items:\n- a\nname: b\nkind: List\nmetadata: {name: c}\n",
	"{items: [{image: a}, {kind: b, image: c}, {image: 010}], kind: List}", "items:\n- image: 1e3\nkind: List\nimage: a\nitems: [{image: b}]\n", "kind: List\nimage: a\nitems: {image: b}\n", "a: \"\\x09\\xaf\\xAF\\u09af\\uAFaf\"\nimage: b\n",
}

// declined are texts that Scan leaves to the YAML parser.
var declined = []string{
	"", "# c\n", "a", "a: &b c\n", "a: *b\n", "a: !!str b\n", "? a\n: b\n", "%YAML 1.1\n---\na: b\n", "---\na: b\n", "a:\nb\n", "a:\n  b\n  c: d\n", "a: b: c\n", "a: b:\n", "a:b\n", " a: b\n",
	"a:\n   b: c\n  d: e\n", "a: b\n  c: d\n", "\ta: b\n", "a:\tb\n", "a: b\tc\n", "a: b\r\n", "image: |-\n  a\n", "image: \"\\x61\"\n", "image: 'it''s'\n", "image: a\n  b\n",
	"a: [b\n", "a: {b}\n", "a: [,]\n", "a: [b,,]\n", "a: [b: c]\n", "{a: b}\n{c: d}\n", "a: 'b\n", "a: \"\\q\"\n", "a: \"\\ud800\"\n", "a: \x01\n", "a: \u0085\n", "a: \xff\n", "a: b # c\n  d\n", "a: 'b' c\n",
	"a: 'b'#c\n", "a: |\n  b\n c: d\n", "a: |\n    \n  b\n", "a: @b\n", "a: `b\n", "- a\nb: c\n", "a: b\n- c\n", "a: |#\n b\n", "<<: a\n", "a: b\n... : c\n", "a: b\n... c\n", "a: b\n...\nc: d\n", "a: |22\n b\n", "a: |-+\n b\n", "a: |0\n b\n", "a: |2\n b\n", "... : a\n", "a: \"b\n... c\"\n", "a: 'b\n---\n'\n", "a: \"\\xgg\"\n", "a: \"\\x0`\"\n", "a: \"\\xG0\"\n", "a: \"\\u00zz\"\n", "a: \"\\x:0\"\n", "{image: a#b\n}\n", "[a#b\n]\n", "a: [b,\n---\n]\n", "a: [\n... ]\n", "a: ? b\n", "a: - b\n", "[a]: b\n",
}

func TestKnown(t *testing.T) {
	var s Reader
	for _, text := range known {
		if !compare(t, &s, []byte(text)) {
			t.Errorf("declined: %q", text)
		}
	}
	for _, text := range declined {
		if list, ok, _ := told(&s, []byte(text), imagesAndAll[0]); ok {
			t.Errorf("accepted with %v: %q", list, text)
		}
	}
}

// TestLevels: as many maps and lists in each other as maxLevels are known, one more is left to the YAML parser, and no
// number of brackets is known that do not match.
func TestLevels(t *testing.T) {
	var s Reader
	for _, n := range []struct {
		open, in, close string
		levels, inside  int // that an opening makes, and that what is inside makes
	}{
		{"[", "", "]", 1, 0}, {"[", "{image: a}", "]", 1, 1}, {"{a: ", "[{image: a}]", "}", 1, 2}, {"- ", "- image: a\n", "", 1, 2}, {"- a:\n", "", "", 2, 2},
	} {
		text := func(opened, closed int) []byte {
			if n.close != "" || n.in != "" {
				return []byte(strings.Repeat(n.open, opened) + n.in + strings.Repeat(n.close, closed))
			}
			var b strings.Builder // each line further in
			for i := range opened {
				b.WriteString(strings.Repeat("  ", i) + n.open)
			}
			return []byte(b.String() + strings.Repeat("  ", opened) + "- image: a\n")
		}
		most := (maxLevels - n.inside) / n.levels
		if !compare(t, &s, text(most, most)) {
			t.Errorf("%q: %d levels are declined", n.open, most*n.levels+n.inside)
		}
		if compare(t, &s, text(most+1, most+1)) {
			t.Errorf("%q: more than %d levels are accepted", n.open, maxLevels)
		}
		for _, opened := range []int{1, 2, most - 1, most, most + 1, most + 2} {
			if n.close != "" && (compare(t, &s, text(opened, opened-1)) || compare(t, &s, text(opened-1, opened))) {
				t.Errorf("%q: accepted with brackets that do not match, about %d", n.open, opened)
			}
		}
	}
}

// TestSkip: an object is not looked at behind a kind that is skipped, and nothing is told of it.
func TestSkip(t *testing.T) {
	var s Reader
	for text, want := range map[string][]string{
		"image: a\nkind: b\nimage: [\n":                           {},
		"kind: c\nimage: a\nkind: 'b'\nx: y":                      {`image a 1 "a" from 15 over 15 to 15`, "{APIVersion: Kind:c Namespace: Name:}", `"a" becomes "new/a"`},
		"image: a\nkind: b":                                       {},
		"kind: b\n\n# c\n":                                        {},
		`{"kind": "b", "image": "a"}`:                             {},
		"kind: List\nitems:\n- kind: b\n  image: a\n- image: c\n": {`items[1].image a 1 "c" from 48 over 48 to 48`, "{APIVersion: Kind: Namespace: Name:}", `"c" becomes "new/c"`},
	} {
		got, ok, _ := told(&s, []byte(text), imagesAndAll[0])
		if diff := cmp.Diff(want, got, cmpopts.EquateEmpty()); diff != "" || !ok {
			t.Errorf("%q: %v\n%s", text, ok, diff)
		}
	}
	// Where the value goes on it is another one, and where it may, the YAML parser has the word.
	for _, text := range []string{"kind: b\n  c\n", "kind: b\n\n c: d\n", "kind: b\n\u0085 c\n", "kind: b\n\r c\n", "kind: b # c\n d\n"} {
		if list, ok, _ := told(&s, []byte(text), imagesAndAll[0]); ok {
			t.Errorf("%q: accepted with %v", text, list)
		}
	}
}

// TestWords: what is looked at eight bytes at a time is what the classes say.
func TestWords(t *testing.T) {
	run := func(text []byte, is func(c byte) bool) int {
		n := 0
		for n < len(text) && is(text[n]) {
			n++
		}
		return n
	}
	common := rapid.SampledFrom([]byte("aaaazAZ09-./_   @[`{:#'~\x00\x1f\x7f\x80\xff\n"))
	bytes := rapid.SliceOfN(rapid.OneOf(rapid.SampledFrom([]byte("   aZ0_")), rapid.SampledFrom([]byte("   aZ0_")), rapid.SampledFrom([]byte("   aZ0_")), common, rapid.Byte()), 0, 40)
	rapid.Check(t, func(t *rapid.T) {
		text := bytes.Draw(t, "text")
		if got, want := spaces(text), run(text, func(c byte) bool { return c == ' ' }); got != want {
			t.Fatalf("%d spaces, want %d", got, want)
		}
		text = []byte(strings.TrimLeft(string(text), " "))
		if got, want := keyBytes(text), run(text, func(c byte) bool { return class[c]&keyNext != 0 }); got != want {
			t.Fatalf("%d bytes of a key, want %d", got, want)
		}
		if got, want := plainBytes(text), run(text, func(c byte) bool { return class[c]&plainNext != 0 }); got != want {
			t.Fatalf("%d bytes of a plain scalar, want %d", got, want)
		}
	})
	for at := range 8 { // every byte in every place
		for c := range 256 {
			text := []byte("aaaaaaaaaaaaaaaa")
			text[at] = byte(c)
			want := func(bit uint8) int {
				if class[c]&bit != 0 {
					return len(text)
				}
				return at
			}
			if keyBytes(text) != want(keyNext) || plainBytes(text) != want(plainNext) {
				t.Errorf("%q: %d and %d", text, keyBytes(text), plainBytes(text))
			}
		}
	}
}

// genText gives texts that look like YAML, most of them with something that is wrong or odd.
func genText() *rapid.Generator[string] {
	value := rapid.SampledFrom([]string{
		"List", "AList", "b", "010", "1e3", "[{image: a}, {image: 1_0}]", "{items: [{image: b}]}",
		".inf", "-.INF", "[.nan]", "[[]]", "{image: {}}", "{a: b, a: c}", "{5: a}", "{true: a}", "{\"5\": a}", "a", "nginx:1", "a b", "'a'", "\"a\"", "'a''b'", "\"\\n\"", "\"\\x61\"", "\"a\n   b\"", "'a\n  b'", "a\n    b", "a\n  b", "a # c", "a #c\n    b", "a: b", "a:", "#", "|", "|-", ">", "|+", "|2", "| # c",
		"|\n    a\n   b", "|\n      a\n\n     b\n      c", ">-\n\n     a", "|\n\n\n", "|\n \n      a", "{}", "[]", "{image: a}", "[a, b]", "[{image: a},\n {image: b}]", "{\"a\":\"b\",\"image\":1}", "{a: [b, {c: d}]}", "[a\n b]", "{a}", "[a,]", "{image: a,}", "[a,,b]", "[,]",
		"registry.k8s.io/sig-storage/csi_attacher:v4.10.0", "some words, more than eight of bytes", "eight_or_more: a", "eight_or_more #a", "eight_or_more#a", "eight_or_more:a  ", "eight_or_more\x7fa", "eight_or_moreéa", "eight_or_more:",
		"&x a", "*x", "!!str a", "-1", "--x", "- a", "? a", ": a", "-", "é", "\u2028", "\u0085", "\x7f", "a\tb", "\ta", "~", "null", "@a", "`a", "%a", "a%", "\"a", "'a", "a'b", "a\"b", "a{b", "{a", "a, b", "\"a\" b", "\"a\":", "<<", "=", "a\n\n      b # c", "a\n# c\n    b",
		"\"\\ud83d\\ude00\"", "\"\\/\"", "\"a\\\n  b\"", "[a: b]", "{a: b: c}", "[a, # c\n b]", "[ # c\n a # d\n, b\n # e\n]", "{a: # c\n b, # d\n image: e}", "[a,# c\n b]", "{image # c\n: a}", "[# c\n]", "{a: b # c\n}", "{image: a b}", "[--a, -1]", "{image: -}", "[a#b]", "[a#b\n]", "{image: a#b\n}", "{image: a#b\n, b: c}", "[a #b\n]", "{a: 'b''c'}", "a\r", "[\ta]", "{image:\n a}", "[a, b]\n", "{'image':a}", "{image:a}", "{image: a:b}", "{image: a::b}", "{image: :a}",
	})
	// Escapes whose digits are such, nearly such, and a surrogate's.
	escape := rapid.Custom(func(t *rapid.T) string {
		digits := rapid.StringOfN(rapid.SampledFrom([]rune("0099aaffAAFFdD88/:@G`gz")), 1, 4, -1).Draw(t, "digits")
		return `"a\` + rapid.SampledFrom([]string{"x", "u", "U", "n", "/", "N"}).Draw(t, "escape") + digits + `"`
	})
	value = rapid.OneOf(value, value, value, value, value, value, value, value, value, escape)
	key := rapid.SampledFrom([]string{"true", "~", ".inf", "null", "0x1", "a", "b", "image", "kind", "\"image\"", "'image'", "a b", "a.b/c-d", "?", "<<", "\"im\\x61ge\"", "1", "é", "-a", "a:b", "", "\"a'b\"", "'a\"b'", "image ", "&x image", "app.kubernetes.io/part-of_it", "eight or more"})
	line := rapid.Custom(func(t *rapid.T) string {
		indent := strings.Repeat(" ", rapid.SampledFrom([]int{0, 0, 2, 2, 4, 4, 6, 1, 3}).Draw(t, "indent"))
		switch rapid.IntRange(0, 19).Draw(t, "line") {
		case 0:
			return rapid.SampledFrom([]string{"", "  ", "# c", "   # c", "---", "...", "\t", "%YAML 1.1", " a", "'a'", "[a]", "\"image\": a", "      b", "    - c", "          eight_or_more", "          a: b", "         - a"}).Draw(t, "other") + "\n"
		case 1, 2, 3:
			return indent + rapid.SampledFrom([]string{"- ", "-   ", "- - "}).Draw(t, "dash") + value.Draw(t, "value") + "\n"
		case 4, 5, 6:
			return indent + "- " + key.Draw(t, "key") + ":" + rapid.SampledFrom([]string{" ", "", "  ", "\t"}).Draw(t, "space") + value.Draw(t, "value") + "\n"
		case 7, 8, 9:
			return indent + rapid.SampledFrom([]string{"a", "image", "kind", "- a", "- image", "items", "metadata"}).Draw(t, "key") + rapid.SampledFrom([]string{":", ":", ":", ": ", ": # c"}).Draw(t, "end") + "\n"
		}
		return indent + rapid.SampledFrom([]string{"a", "image", "kind", "'image'", "items", "name", "namespace", "apiVersion", "metadata", "\"\\x69mage\""}).Draw(t, "key") + ": " + value.Draw(t, "value") + "\n"
	})
	return rapid.Custom(func(t *rapid.T) string {
		text := strings.Join(rapid.SliceOfN(line, 1, 6).Draw(t, "lines"), "")
		return text[:len(text)-rapid.SampledFrom([]int{0, 0, 0, 0, 1}).Draw(t, "cut")]
	})
}

// TestAsParsed: what Scan accepts, the YAML parser accepts, and finds the same fields in.
func TestAsParsed(t *testing.T) {
	var s Reader
	accepted, texts := 0, 0
	rapid.Check(t, func(t *rapid.T) {
		texts++
		if compare(t, &s, []byte(genText().Draw(t, "text"))) {
			accepted++
		}
	})
	t.Logf("%d of %d texts accepted", accepted, texts)
}

func FuzzScan(f *testing.F) {
	for _, text := range append(known, declined...) {
		f.Add([]byte(text))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		if len(text) > 1<<12 {
			return // the YAML parser is slow on some long texts
		}
		compare(t, new(Reader), text)
	})
}
