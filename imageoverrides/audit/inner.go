// SPDX-License-Identifier: Apache-2.0

package audit

import (
	"cmp"
	"io"
	"slices"
	"strings"

	"github.com/cozystack/image-overrides/internal/manifest"
	"github.com/cozystack/image-overrides/internal/manifest/document"
	"github.com/cozystack/image-overrides/internal/manifest/reach"
)

// maxDeep is in how many texts inside of texts images are looked for by their paths.
const maxDeep = 2

// inner looks for images in a text of several words: in manifests and other YAML and JSON by their paths, and in other texts word by
// word.
func (f *finder) inner(s *manifest.Scalar, key, text string, hint bool) {
	if strings.HasPrefix(key, "_example") || strings.HasSuffix(key, ".example") || key == "alm-examples" { // which are for people to read
		return
	}
	var found []find
	structured := false
	if f.deep < maxDeep && isStructured(text) {
		found, structured = f.manifests(text)
	}
	if !structured {
		found = words(text, hint)
		for i := range found {
			if f.keep {
				found[i].parts = []Part{{Text: found[i].text, Start: found[i].place}}
			}
		}
	}
	if len(found) == 0 {
		return
	}
	slices.SortStableFunc(found, func(a, b find) int { return cmp.Compare(a.place, b.place) })
	if f.keep {
		f.partsIn(s, text, found)
	}
	at := make([]int, len(found))
	for i := range found {
		at[i] = found[i].place
	}
	s.Places(at)
	where := f.describe(s, find{key: key})
	for i := range found {
		made := where
		made.text, made.whole, made.level, made.place, made.parts = found[i].text, found[i].whole, found[i].level, at[i], found[i].parts
		if made.reason = ReasonText; found[i].whole != "" {
			made.reason = ReasonParts
		} else if !structured {
			made.reason = "" // that of the place
		}
		f.finds = append(f.finds, made)
	}
}

// isStructured reports whether a text may be YAML or JSON with more than one scalar, whose paths say that something is an image.
func isStructured(text string) bool {
	if !strings.Contains(text, "mage") && !strings.Contains(text, "MAGE") && !strings.Contains(text, "epo") {
		return false
	}
	for text != "" {
		line, rest, _ := strings.Cut(text, "\n")
		line = strings.TrimSpace(line)
		switch {
		case line == "" || line[0] == '#' || strings.HasPrefix(line, "---"):
			text = rest
			continue
		case line[0] == '{' && !strings.HasPrefix(line, "{{"), line[0] == '[', strings.HasPrefix(line, "- "):
			return true
		}
		// A key without blanks; what people write to each other seldom begins so.
		key, value, found := strings.Cut(line, ":")
		return found && !strings.ContainsAny(key, " \t{}<>()") && (value == "" || value[0] == ' ')
	}
	return false
}

// What reads the texts inside of texts, and keeps its room.
type inside struct {
	finder finder
	reader manifest.Reader
	pieces document.Splitter
}

// manifests finds the images of the YAML or JSON in a text, with their offsets there. It is false where it is neither, or a text alone.
func (f *finder) manifests(text string) (found []find, ok bool) {
	if f.inside == nil {
		f.inside = &inside{finder: finder{fields: f.fields, keys: f.keys, deep: f.deep + 1, keep: f.keep}}
		f.inside.reader = manifest.Reader{Rules: reach.Images, All: true, Skip: reach.Definition, Visitor: &f.inside.finder}
	}
	in, r := &f.inside.finder, &f.inside.reader
	in.room, in.unread = roomFor(len(text)), false
	f.inside.pieces.Reset(strings.NewReader(text), len(text), nil)
	for {
		p, err := f.inside.pieces.Next()
		if err == io.EOF {
			f.unread = f.unread || in.unread
			return found, ok
		}
		if err != nil {
			return nil, false
		}
		if document.Blank(p.Bytes) {
			continue
		}
		if _, _, fault := r.Read(p); fault != nil {
			return nil, false
		}
		for _, one := range in.finds[:in.ended] {
			if one.reached && !isPlainImage(one.text) {
				continue
			}
			one.place += int(p.Offset)
			for i := range one.parts {
				one.parts[i].Start += int(p.Offset)
			}
			if one.reached && f.keep {
				one.parts = []Part{{Text: one.text, Start: one.place}}
			}
			found = append(found, one)
		}
		ok = true
	}
}

// roomFor returns how many bytes of texts are looked at in a piece of so many bytes.
func roomFor(size int) int { return 4*size + 64<<10 }

func isPlainImage(text string) bool {
	_, ok := formOf(text)
	return ok && text != "auto"
}

// words finds images among the words of a text.
func words(text string, hint bool) []find {
	var found []find
	for start := 0; start < len(text); {
		line := text[start:]
		if i := strings.IndexByte(line, '\n'); i >= 0 {
			line = line[:i]
		}
		if t := strings.TrimLeft(line, " \t"); !strings.HasPrefix(t, "#") && !strings.HasPrefix(t, "//") {
			found = append(found, lineWords(line, start, hint)...)
		}
		start += len(line) + 1
	}
	return found
}

// lineWords finds images among the words of a line, which starts at an offset.
func lineWords(line string, start int, hint bool) []find {
	if strings.IndexByte(line, '/') < 0 && strings.IndexByte(line, ':') < 0 {
		return nil
	}
	var found []find
	blanks := strings.Contains(strings.TrimSpace(line), " ")
	key := "" // the word before a colon or an equals sign
	for i := 0; i < len(line); {
		for i < len(line) && (!refer[line[i]] || line[i] == ':' || line[i] == '@') {
			i++
		}
		from := i
		for i < len(line) && refer[line[i]] {
			i++
		}
		word := line[from:i]
		closed := i < len(line) && (line[i] == '"' || line[i] == '\'') // a key in quotes, perhaps
		rest := strings.TrimLeft(line[min(len(line), i+btoi(closed)):], " \t")
		if strings.HasSuffix(word, ":") || strings.HasPrefix(rest, ":") || strings.HasPrefix(rest, "=") {
			key = strings.TrimSuffix(word, ":")
			continue
		}
		word = strings.TrimRight(word, ".:,-/@+")
		says := hint || mayHint(key) && isHint(strings.TrimLeft(key, "-"))
		if before := from > 0 && (line[from-1] == '$' || line[from-1] == '/' || line[from-1] == '\\'); before || i < len(line) && strings.IndexByte("{$(*", line[i]) >= 0 {
			continue // a part of something else
		}
		if form, ok := formOf(word); ok {
			level := form.level(says)
			if level == sure && !says && blanks && key == "" {
				level = likely // in what a person may have written
			}
			if level > none && (form.depth > 1 || form.image.Tag() != "" || form.image.Digest() != "" || form.domain) {
				found = append(found, find{text: strings.Clone(word), level: level, place: start + from})
			}
			key = ""
		}
	}
	return found
}

func btoi(b bool) int {
	if b {
		return 1
	}
	return 0
}
