// SPDX-License-Identifier: Apache-2.0

package document

import (
	"encoding/json"
	"io"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/google/go-cmp/cmp"
	"go.yaml.in/yaml/v3"
	"pgregory.net/rapid"
)

// genRow gives texts of JSON values in a row, and others that read nearly so.
func genRow() *rapid.Generator[string] {
	part := rapid.SampledFrom([]string{
		`{"a":1}`, `{"a":"}{"}`, `{"a":"\"}{"}`, `["\\"]`, `[1,-2.5e+3,true,false,null]`, `{"a":{"b":[{}]}}`, `[]`, `{}`, `{"é": "é"}`, `{"a" : [ ] }`,
		"{a: b}", "{a: 'it''s'}", "[a \" b]", "{}: a", "# {\n", "a", ",", "\"", "{", "}", "1", "- {}\n", "a: {}\n",
		"\n", "\n", " ", "\r\n", "\t",
	})
	return rapid.Custom(func(t *rapid.T) string {
		head := rapid.SampledFrom([]string{"", "", "", "---\n", "--- # c\n", "\uFEFF", "---\n\uFEFF", "--- ", " \n", "# c\n"}).Draw(t, "head")
		return head + strings.Join(rapid.SliceOfN(part, 0, 8).Draw(t, "parts"), "")
	})
}

// TestSplitRow: of JSON values in a row, maps and lists, each is a piece. What is YAML is none.
func TestSplitRow(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		text := genRow().Draw(t, "text")
		got, err := pieces(strings.NewReader(text))
		slow, slowErr := pieces(iotest.OneByteReader(strings.NewReader(text)))
		if err != io.EOF || slowErr != io.EOF || strings.Join(got, "") != text {
			t.Fatalf("%q: %v, %v", got, err, slowErr)
		}
		if diff := cmp.Diff(got, slow); diff != "" {
			t.Fatalf("byte by byte (+) %s", diff)
		}
		if want, ok := values(text); ok && want > 0 && len(got) != want {
			t.Fatalf("%d values, and the pieces\n%q", want, got)
		}
		decoder := yaml.NewDecoder(strings.NewReader(text))
		if !strings.Contains(text, "\n\uFEFF") && decoder.Decode(new(yaml.Node)) == nil && decoder.Decode(new(yaml.Node)) == io.EOF && len(got) != 1 {
			t.Fatalf("one document of YAML is cut into\n%q", got)
		}
	})
}

// values counts the JSON values that a text is, all of them maps and lists.
func values(text string) (n int, ok bool) {
	for decoder := json.NewDecoder(strings.NewReader(text)); ; n++ {
		var v any
		switch err := decoder.Decode(&v); {
		case err == io.EOF:
			return n, true
		case err != nil:
			return 0, false
		}
		switch v.(type) {
		case map[string]any, []any:
		default:
			return 0, false
		}
	}
}

// TestPieceColumn: a piece in the middle of a line knows its column.
func TestPieceColumn(t *testing.T) {
	s := NewSplitter(strings.NewReader("{\"é\": 1} {\"b\":\n 2} [3]"), 1<<10, nil)
	for _, want := range [][2]int{{1, 2}, {1, 11}, {2, 6}} {
		p, err := s.Next()
		if err != nil {
			t.Fatal(err)
		}
		if line, column := p.Position(1); line != want[0] || column != want[1] {
			t.Errorf("%q: its second byte is at %d:%d, want %d:%d", p.Bytes, line, column, want[0], want[1])
		}
	}
}

// TestEndOfJSON: the end of a value is where the decoder has it.
func TestEndOfJSON(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		text := genRow().Draw(t, "text")
		decoder := json.NewDecoder(strings.NewReader(text))
		var v any
		if text == "" || text[0] != '{' && text[0] != '[' || decoder.Decode(&v) != nil {
			t.Skip()
		}
		if end, ok := EndOfJSON([]byte(text), 0); !ok || int64(end) != decoder.InputOffset() {
			t.Fatalf("%q ends at %d, %v, want %d", text, end, ok, decoder.InputOffset())
		}
	})
	if end, ok := EndOfJSON([]byte("{a"), 0); ok {
		t.Errorf("what is no JSON ends at %d", end)
	}
}
