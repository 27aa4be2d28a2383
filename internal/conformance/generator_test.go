// SPDX-License-Identifier: Apache-2.0

package conformance

import (
	"fmt"
	"maps"
	"math/bits"
	"slices"
	"strings"

	helmv2 "github.com/fluxcd/helm-controller/api/v2"
	"github.com/fluxcd/pkg/apis/kustomize"
	"pgregory.net/rapid"

	"github.com/cozystack/image-overrides/imageoverrides"
	"github.com/cozystack/image-overrides/postrender"
)

// A generator draws tables, good and bad, as text of YAML and as decoded values.
type generator struct{ t *rapid.T }

// number draws from a range, each number as often as the others: rapid's own prefers the
// small ones so much that the rare cases are never drawn.
func (g generator) number(from, to int) int {
	return from + uniform(to-from+1).Draw(g.t, "number")
}

// uniform draws from 0 to n-1.
func uniform(n int) *rapid.Generator[int] {
	return rapid.Custom(func(t *rapid.T) int {
		x := 0
		for range bits.Len(uint(n-1)) + 3 {
			x *= 2
			if coin.Draw(t, "bit") {
				x++
			}
		}
		return x % n
	})
}

var coin = rapid.Bool()

// one draws true once in n times.
func (g generator) one(n int) bool { return g.number(1, n) == n }

func (g generator) pick(choices ...string) string { return choices[g.number(0, len(choices)-1)] }

const (
	hex64  = "f80b60d4523dcdecb225c3113bcbd0eedc45b4d2b46f87c0ccf4f14d09a4a35f"
	digest = "sha256:" + hex64
)

// Strings

// pieces are what odd strings are made of: what YAML, templates, Helm and Go have a
// meaning for.
var pieces = []string{
	"a", "b", "0", "1e3", "010", "yes", "~", "null", "2026-01-01", "12:30:45", "0x1F", ".5", "-", "=", "<<",
	" ", "  ", "\n", "\n\n", "\r\n", "\t", "\x00", "\a", "\x1b", "\x7f", "\u0085", "\u00a0", "\u2028", "\u2029", "\ufeff", "\ufffe", "\uffff",
	"é", "€", "\u200b", "\U0001f600", "\U0010ffff", "\ufffd", "\ue000",
	`"`, "'", `\`, `\n`, `\"`, `\u003c`, "#", " #", ": ", "- ", "{", "}", "[", "]", ",", "&", "*", "!", "|", ">", "%", "@", "`", "?",
	"{{", "}}", "{{ .Values }}", "{{/*", "<no value>", "<no ", "value>", "HELM_ERR_START", "HELM_ERR_END", "%s", "%!d(",
	"(", ")", "+", "^", "---", "\n---\n", "...", "/", ":", "sha256:", "!!str ", "$", "${x}", "</script>",
}

// odd draws any text.
func (g generator) odd() string {
	switch g.number(0, 9) {
	case 0:
		return rapid.String().Draw(g.t, "unicode")
	case 1:
		long := 20
		if g.one(20) {
			long = 2000
		}
		return strings.Repeat(g.pick(pieces...)+g.pick(pieces...), g.number(1, long))
	case 2, 3:
		return g.pick(pieces...)
	}
	var b strings.Builder
	for range g.number(1, 5) {
		b.WriteString(g.pick(pieces...))
	}
	return b.String()
}

// name draws what may stand as a name by the chart's rules, most often.
func (g generator) name() string {
	switch g.number(0, 7) {
	case 0:
		return g.odd()
	case 1:
		return g.nearName()
	}
	return g.pick("a", "b", "c", "a/b", "a/b/c", "nginx", "docker.io/library/nginx", "h:5000/a", "[::1]:5000/a", "registry.k8s.io/pause",
		"localhost/a", "c++", "[", "A/b", "é", "a b")
}

// nearName draws a text that is a name by the grammar of image references, or would be one
// but for a detail.
func (g generator) nearName() string {
	host := ""
	if g.one(2) {
		host = g.pick("localhost", "LOCALHOST", "a.b", "h:5000", "h:", "h:5a", "h:1:2", ":1", ":", "a.b.c:5000", "A.b.c", "a.b.c.d", "a.-b.c", "a.b-.c", "a.b.-c", "a.b..c", "a.b.c-:1",
			"h:0", "h:00", "h:080", "h:1", "h:65535", "h:65536", "h:59999", "h:66000", "h:0000065535", "h:99999999999999999999", "h:b c", "h:é",
			"[::1]:0", "[::1]:", "[::1]:x", "[::1]x:1", "[a]b]:1", "[::1]:b]:1", "[[::1]", "[1:2:3:4:5:6:7:8]", "[1:2:3:4:5:6:7:8:9]", "[1:2:3:4:5:6:7]", "[1::2:3:4:5:6:7:8]", "[1::3:4:5:6:7:8]",
			"[::2:3:4:5:6:7:8]", "[::]", "[1::]", "[12345::]", "[1234:abCD::]", "[:1]", "[1:]", "[1::2::3]", "[:::]", "[a]", "[G]", "[]:1", "[ :]", "[::1 ]", "[::%eth0]", "a]:1", "a'b.c", "a\"b.c", `a\b.c`, "A", "aB.c", "-", "a-", "-a.b", "a-.b", "a.b-", "a--b.c", "a..b", ".a", "a.",
			"a_b.c", "a__b.c", "a___b.c", "a._b", "a_b:1", "A_b", "[::1]", "[::A]:5000", "[::f]", "[]", "[::g]", "[::1", "[::1]a", "é.io", "a b.c",
			"docker.io", "index.docker.io", "library", "https:", "https:/", "") + "/"
	}
	switch g.number(0, 11) {
	case 0: // about as long as a path may be
		host = g.pick("", "docker.io/", "index.docker.io/", "docker.io/a/", "h.io/", "a_b.c/", "localhost/", "library/", "h:1/")
		before := g.pick("", "library/", host)
		return host + strings.Repeat("a", g.number(254, 257)-len(before))
	case 1: // about an image's ID
		return g.pick("", "", "a", "/", "a/") + hex64[:g.number(63, 64)] + g.pick("", "", "a", "g", "A")
	case 2: // about a URL
		return g.pick("https", "git+ssh", "h2.c-d", "", "a b", "é", "a:b", "a/b", "A1") + g.pick("://", "://", ":/", "//") + g.pick("", "a", "a.b/c", "x://y")
	}
	var components []string
	for range g.number(1, 3) {
		component := g.pick("a", "0", "a0", "a", "0a", "", "A", "Z", "é")
		for g.one(2) {
			component += g.pick(".", "_", "__", "-", "--", "---", "___", "..", "._", "-_", " ", "+", "\n", ":") + g.pick("a", "0", "b2", "a", "", "'", "\"", "\\", "<no value>")
		}
		components = append(components, component)
	}
	if g.one(12) { // a colon that is not in the last segment
		components[0] += ":" + g.pick("", "v1", "é")
	}
	return host + strings.Join(components, "/") + g.pick("", "", "", "", "", "", "/", ":v1", "@", "\n", ":")
}

func (g generator) tag() string {
	switch g.number(0, 5) {
	case 0:
		return g.odd()
	case 1:
		return strings.Repeat(g.pick("a", "1", "_", ".", "-"), g.number(126, 130))
	case 2:
		return g.pick(".", "-", "_", "a", "A", "0", "é") + g.pick("", "a", ".", "-", "\n", "+", "/", ":", "@")
	}
	return g.pick("v1", "1.20", "4.10.0", "yes", "1e3", "010", "~", "null", "2026-01-01", "0o7", "12:30:45", "true", "=", "<<", "latest")
}

func (g generator) digest() string {
	if g.one(4) {
		return g.pick("", "sha256:abc", digest+"a", digest[:70], "sha256:"+strings.ToUpper(hex64), " "+digest, digest+"\n", "\n"+digest, hex64, "sha512:"+hex64+hex64,
			"sha256:"+hex64[:63]+"g", "SHA256:"+hex64, g.odd())
	}
	return digest
}

// Text of YAML

// quoted writes a string in one of the ways that YAML has for it. The escapes of Go are
// among those of YAML.
func (g generator) quoted(s string) string {
	if g.one(3) && s != "" && strings.Trim(s, "abcdefghijklmnopqrstuvwxyz/") == "" {
		return s
	}
	if g.one(3) && strings.Trim(s, "abcdefghijklmnopqrstuvwxyz0123456789/.:@-_ +") == "" {
		return "'" + s + "'"
	}
	return fmt.Sprintf("%+q", s)
}

// plain draws a scalar without quotes, of any type.
func (g generator) plain() string {
	return g.pick("0", "5", "-1", "+1", "0.0", "-0.0", "1.5", "1.20", ".5", "1e3", "1e-7", "12e03456", "010", "089", "0x1F", "0o17", "0b11", "1_000",
		"5000000000000000000000", "9007199254740993", "-9223372036854775808", "18446744073709551615", "1e400",
		"true", "false", "yes", "No", "on", "y", "n", "null", "~", "Null", "2026-01-01", "2026-01-01T10:00:00Z", "12:30:45", "1:20", "1.9.1",
		"=", "<<", ".inf", ".nan", "x", "a b", "''", `""`, "!!str 5", "!!int '5'", "!!float 1", "!!bool yes", "!!null ''", "!!binary aGk=", "!mine x", "!!timestamp 2026-01-01", "! 5")
}

// nonsense draws a value of any type, nested.
func (g generator) nonsense(depth int) string {
	switch choice := g.number(0, 9); {
	case choice < 4 || depth == 0:
		return g.plain()
	case choice < 6:
		return g.quoted(g.odd())
	case choice < 8:
		var items []string
		for range g.number(0, 3) {
			items = append(items, g.nonsense(depth-1))
		}
		return "[" + strings.Join(items, ", ") + "]"
	}
	var fields []string
	for range g.number(0, 3) {
		key := g.pick("name", "newTag", "x", "1", "true", "1.5", "~", "imageOverrides", `"a\"b"`, g.quoted(g.odd()))
		fields = append(fields, key+": "+g.nonsense(depth-1))
	}
	return "{" + strings.Join(fields, ", ") + "}"
}

// entry draws an entry of a table: mostly one without a fault.
func (g generator) entry(names *[]string) []string {
	name := g.name()
	if len(*names) > 0 && g.one(6) {
		name = g.pick(*names...)
	}
	*names = append(*names, name)
	fields := map[string]string{"name": g.quoted(name)}
	if g.one(2) {
		fields["newName"] = g.quoted(g.name())
	}
	if g.one(2) || len(fields) == 1 {
		fields["newTag"] = g.quoted(g.tag())
	}
	if g.one(4) {
		fields["digest"] = g.quoted(g.digest())
	}
	for g.one(4) {
		switch g.number(0, 9) {
		case 0, 1, 2:
			fields[g.pick("name", "newName", "newTag", "digest")] = g.nonsense(2)
		case 3:
			fields[g.pick("newImage", "Name", "tagSuffix", "x", "1", "~", "zzz", "aaa", `"a\"b"`, g.quoted(g.odd()))] = g.nonsense(1)
		case 4:
			delete(fields, "name")
		case 5:
			fields["name"] = g.quoted("")
		case 6:
			delete(fields, "newName")
			delete(fields, "newTag")
			delete(fields, "digest")
		case 7:
			fields["name"] = g.quoted(g.pick("a:b", "a/b:v1", "a@b", "h:5000", "a@", ":", "h:5000/a:1", "a/@b"))
		case 8:
			fields["digest"] = g.quoted(g.digest())
		case 9:
			fields[g.pick("newName", "newTag", "digest")] = "''"
		}
	}
	var list []string
	for _, key := range slices.Sorted(maps.Keys(fields)) {
		list = append(list, key+": "+fields[key])
	}
	if len(list) > 1 && g.one(3) {
		list[0], list[len(list)-1] = list[len(list)-1], list[0]
	}
	if len(list) > 0 && g.one(25) { // a key twice: the last counts
		list = append(list, list[g.number(0, len(list)-1)])
	}
	return list
}

// table draws the text of a table, to stand behind a colon, indented.
func (g generator) table(indent string) string {
	if g.one(8) {
		return " " + g.nonsense(3) + "\n"
	}
	n := g.number(0, 4)
	if n == 0 {
		return " " + g.pick("[]", "{}", "", "''", "0", "0.0", "-0.0", "~", "null", "false", "no") + "\n"
	}
	var names []string
	var b strings.Builder
	flow := g.one(6)
	for i := range n {
		switch entry := g.entry(&names); {
		case g.one(20):
			b.WriteString(indent + "- " + g.nonsense(2))
		case i > 0 && g.one(10) && !flow:
			b.WriteString(indent + "- {<<: *first, " + strings.Join(entry, ", ") + "}")
		case i == 0 && !flow:
			b.WriteString(indent + "- &first {" + strings.Join(entry, ", ") + "}")
		case len(entry) > 0 && !flow && g.one(2):
			b.WriteString(indent + "- " + strings.Join(entry, "\n"+indent+"  "))
		default:
			b.WriteString(indent + "- {" + strings.Join(entry, ", ") + "}")
		}
		b.WriteString(g.pick("\n", "\n", "\n", " # a comment\n", "\n\n"))
	}
	return "\n" + b.String()
}

// document draws the text of values with a table under two keys.
func (g generator) document(parent, key string) string {
	switch g.number(0, 19) {
	case 0:
		return g.pick("other: 1\n", "{}\n", "", parent+":\n", "# nothing\n")
	case 1:
		return parent + ": " + g.nonsense(3) + "\n"
	case 2:
		return parent + ": {mirrors: {a: b}}\n"
	}
	text := "other: {a: [1, x]}\n" + parent + ":\n  " + key + ":" + g.table("  ")
	if g.one(20) { // of which Helm reads a part, or none of that counts
		text += g.pick("---\n", "...\n", parent+":\n", parent+": {}\n", "---\n"+text, "  "+key+": []\n", "other: 2\n", "---\n# nothing\n")
	}
	return text
}

// Decoded values

// override draws an override that the chart accepts, and that is most often good.
func (g generator) override() imageoverrides.Override {
	for {
		o := imageoverrides.Override{Name: g.name()}
		if g.one(2) {
			o.NewName = g.name()
			if g.one(6) {
				o.NewName += g.pick(":v1", "@"+digest, ":")
			}
		}
		if g.one(2) || o.NewName == "" {
			o.NewTag = g.tag()
		}
		if g.one(4) {
			o.Digest = digest
		}
		if imageoverrides.Validate([]imageoverrides.Override{o}) == nil {
			return o
		}
	}
}

// suspect draws an override that is good but for one field, perhaps.
func (g generator) suspect() imageoverrides.Override {
	for {
		o := imageoverrides.Override{Name: "a/b", NewName: "c/d", NewTag: "v1"}
		switch g.number(0, 4) {
		case 0:
			o.NewTag = g.tag()
		case 1, 2:
			o.NewName = g.nearName()
		default:
			o.Name = g.nearName()
		}
		if imageoverrides.Validate([]imageoverrides.Override{o}) == nil {
			return o
		}
	}
}

// overrides draws a table that the chart accepts, of n entries or fewer.
func (g generator) overrides(n int) []imageoverrides.Override {
	var list []imageoverrides.Override
	for range g.number(0, n) {
		if next := append(list, g.override()); imageoverrides.Validate(next) == nil {
			list = next
		}
	}
	return list
}

// renderers draws the post-renderers of a release. Some come from tables; the given one
// is among those.
func (g generator) renderers(table imageoverrides.Table) []helmv2.PostRenderer {
	var list []helmv2.PostRenderer
	for range g.number(0, 3) {
		list = append(list, g.renderer(table))
	}
	return list
}

func (g generator) renderer(table imageoverrides.Table) helmv2.PostRenderer {
	r := helmv2.PostRenderer{Kustomize: &helmv2.Kustomize{}}
	switch g.number(0, 9) {
	case 0:
		return helmv2.PostRenderer{}
	case 1, 2: // a table's
		if marked := postrender.Renderer(g.known(table)); marked.Kustomize != nil {
			r = marked
		}
	case 3, 4: // one as releases have it that were written before there was a marker
		r.Kustomize.Images = images(g.known(table))
	case 5: // nearly
		r.Kustomize.Images = images(g.known(table))
		if n := len(r.Kustomize.Images); n > 0 {
			at := g.number(0, n-1)
			switch g.number(0, 3) {
			case 0:
				r.Kustomize.Images = r.Kustomize.Images[:at]
			case 1:
				r.Kustomize.Images[at].NewTag += "x"
			case 2:
				r.Kustomize.Images[at].Digest = ""
			case 3:
				r.Kustomize.Images = append(r.Kustomize.Images, r.Kustomize.Images[at])
			}
		}
	case 6:
		r.Kustomize.Images = []kustomize.Image{{Name: postrender.Marker, NewTag: g.pick("", "000000000000", g.odd())}}
	case 7:
		r.Kustomize.Images = []kustomize.Image{{Name: "a", NewTag: "x"}, {Name: postrender.Marker}}
	case 8:
		for range g.number(0, 2) {
			r.Kustomize.Images = append(r.Kustomize.Images, kustomize.Image{Name: g.odd(), NewName: g.odd(), Digest: g.pick("", digest)})
		}
	}
	if g.one(3) {
		for range g.number(1, 2) {
			p := kustomize.Patch{Patch: g.pick("- op: remove\n  path: /spec\n", "apiVersion: v1\nkind: Pod\n", "x", "", g.odd())}
			if g.one(2) {
				p.Target = &kustomize.Selector{Kind: g.pick("Pod", g.odd()), LabelSelector: g.pick("", "a=b")}
			}
			r.Kustomize.Patches = append(r.Kustomize.Patches, p)
		}
	}
	return r
}

// shape makes an own post-renderer of another shape than Flux has, or one of its parts.
func (g generator) shape(renderer any) any {
	marker := map[string]any{"name": postrender.Marker, "newTag": "000000000000"}
	odd := func() any {
		return []any{"x", 5.0, true, nil, "", 0.0, []any{}, map[string]any{}, []any{"x"}, []any{marker}, map[string]any{"a": marker}, marker}[g.number(0, 11)]
	}
	if images, ok := asMap(asMap(renderer)["kustomize"])["images"].([]any); ok && g.one(2) { // empty fields, which Flux's types leave out
		var list []any
		for _, image := range images {
			image := maps.Clone(asMap(image))
			for _, field := range []string{"name", "newName", "newTag", "digest"} {
				if _, found := image[field]; !found && g.one(2) {
					image[field] = ""
				}
			}
			list = append(list, image)
		}
		return map[string]any{"kustomize": map[string]any{"images": list, "patches": []any{}}}
	}
	switch g.number(0, 5) {
	case 0:
		return odd()
	case 1:
		return map[string]any{"kustomize": odd(), "other": odd()}
	case 2:
		return map[string]any{"kustomize": map[string]any{"images": odd(), "patches": odd()}}
	case 3:
		return map[string]any{"kustomize": map[string]any{"images": []any{odd(), odd()}}}
	case 4:
		return map[string]any{"kustomize": map[string]any{"images": []any{map[string]any{"name": odd(), "x": odd()}}, "patches": odd(), "x": odd()}}
	}
	return map[string]any{"kustomize": map[string]any{"images": []any{marker, odd()}, "patches": odd(), "x": odd()}, "other": odd()}
}

// known gives the table itself, or another.
func (g generator) known(table imageoverrides.Table) imageoverrides.Table {
	if g.one(3) {
		return must(imageoverrides.New(g.overrides(2)...))
	}
	return table
}

func images(table imageoverrides.Table) []kustomize.Image {
	var list []kustomize.Image
	for _, o := range table.All() {
		list = append(list, kustomize.Image{Name: o.Name, NewName: o.NewName, NewTag: o.NewTag, Digest: o.Digest})
	}
	return list
}

func must[T any](v T, err error) T {
	if err != nil {
		panic(err)
	}
	return v
}
