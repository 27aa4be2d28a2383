// SPDX-License-Identifier: Apache-2.0

package imageoverrides

import (
	"encoding/json"
	"hash"
)

// A jsonWriter writes a list of overrides as Helm's toJson would: Helm holds an entry as a map, whose
// keys encoding/json sorts. Where it has a sum, the text goes there and is not kept: entries
// in memory may share what takes a gigabyte when it is written out.
type jsonWriter struct {
	text []byte
	sum  hash.Hash // or nil
	size int       // of what went to sum
}

func (w *jsonWriter) list(overrides []Override) {
	w.text = append(w.text, '[')
	for i := range overrides {
		if i > 0 {
			w.text = append(w.text, ',')
		}
		w.entry(&overrides[i])
		w.flush()
	}
	w.text = append(w.text, ']')
	w.flush()
}

func (w *jsonWriter) entry(o *Override) {
	w.text = append(w.text, '{')
	if o.Digest != "" {
		w.field(`"digest":`, o.Digest)
		w.text = append(w.text, ',')
	}
	w.field(`"name":`, o.Name)
	if o.NewName != "" {
		w.field(`,"newName":`, o.NewName)
	}
	if o.NewTag != "" {
		w.field(`,"newTag":`, o.NewTag)
	}
	w.text = append(w.text, '}')
}

func (w *jsonWriter) field(key, value string) {
	w.text = append(w.text, key...)
	if isPlainJSON(value) {
		w.text = append(append(append(w.text, '"'), value...), '"')
		return
	}
	quoted, err := json.Marshal(value)
	if err != nil {
		panic(err) // strings always marshal
	}
	w.text = append(w.text, quoted...)
}

// flush hands the text on to the sum, if there is one.
func (w *jsonWriter) flush() {
	if w.sum == nil {
		return
	}
	w.size += len(w.text)
	w.sum.Write(w.text)
	w.text = w.text[:0]
}

// isPlainJSON reports whether encoding/json writes s as it is, between quotes.
func isPlainJSON(s string) bool {
	for i := range len(s) {
		if c := s[i]; c < ' ' || c > '~' || c == '"' || c == '\\' || c == '<' || c == '>' || c == '&' {
			return false
		}
	}
	return true
}
