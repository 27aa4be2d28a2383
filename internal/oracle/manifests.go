// SPDX-License-Identifier: Apache-2.0

package oracle

import (
	"encoding/json"
	"fmt"
	"strings"

	"pgregory.net/rapid"

	"github.com/cozystack/image-overrides/internal/manifest/document"
)

// Manifests gives streams of manifests that kustomize takes: workloads, lists of
// them, definitions and other objects, with containers in odd places, in every
// notation that YAML has for them, and images that tables of [Name] match,
// nearly match and do not match.
func Manifests() *rapid.Generator[string] {
	return rapid.Custom(func(t *rapid.T) string {
		g := generator{t: t}
		return g.stream()
	})
}

type generator struct {
	t       *rapid.T
	objects int
	anchors map[string][]string // by what they stand for: image, container, list
	count   int
	json    bool // no aliases, no comments
	alone   bool // the object may be an item of a List that stands alone
}

// one draws true once in n times.
func (g *generator) one(n int) bool { return rapid.IntRange(1, n).Draw(g.t, "one") == 1 }

func (g *generator) pick(choices ...string) string {
	return rapid.SampledFrom(choices).Draw(g.t, "pick")
}

func (g *generator) stream() string {
	var b strings.Builder
	n := rapid.IntRange(1, 3).Draw(g.t, "documents")
	for i := range n {
		if i > 0 || g.one(2) {
			b.WriteString(g.pick("---\n", "---\n", "--- # Source: a/b.yaml\n", "---  \n"))
		}
		if g.one(4) {
			b.WriteString(g.pick("# image: nginx\n", "\n", "# containers:\n# - image: nginx\n\n"))
		}
		g.anchors = make(map[string][]string)
		g.json = g.one(8)
		object := g.object(true)
		if g.json {
			text, err := json.Marshal(object.decoded())
			if err != nil {
				g.t.Fatal(err)
			}
			b.Write(text)
			b.WriteString("\n")
			continue
		}
		if g.one(6) {
			b.WriteString(g.flow(object) + "\n")
		} else {
			b.WriteString(strings.TrimPrefix(g.block(object, 0), "\n"))
		}
		if g.one(10) && i < n-1 {
			b.WriteString("...\n")
		}
	}
	text := b.String()
	switch rapid.IntRange(0, 19).Draw(g.t, "whole") {
	case 0:
		text = strings.ReplaceAll(text, "\n", "\r\n")
	case 1:
		text = "\uFEFF" + text
	case 2:
		text = strings.TrimSuffix(text, "\n")
	case 3:
		if n == 1 {
			text = strings.ReplaceAll(text, "\n", g.pick("\r", "\u0085", "\u2028"))
		}
	}
	return text
}

// A value of a manifest: a scalar, a list, or a map.
type tree struct {
	what  string // what an anchor on it stands for, or ""
	raw   bool   // the scalar is no string
	text  string
	list  []*tree
	keys  []string // of a map: the keys of list
	isMap bool
	isSeq bool
}

func str(s string) *tree { return &tree{text: s} }
func raw(s string) *tree { return &tree{text: s, raw: true} }
func seq(items ...*tree) *tree {
	return &tree{list: items, isSeq: true}
}

func (v *tree) set(key string, child *tree) *tree {
	v.isMap = true
	v.keys = append(v.keys, key)
	v.list = append(v.list, child)
	return v
}

func (v *tree) decoded() any {
	switch {
	case v.isMap:
		m := make(map[string]any)
		for i, key := range v.keys {
			m[key] = v.list[i].decoded()
		}
		return m
	case v.isSeq:
		list := []any{}
		for _, item := range v.list {
			list = append(list, item.decoded())
		}
		return list
	case v.raw:
		var decoded any
		if err := json.Unmarshal([]byte(v.text), &decoded); err != nil {
			return nil
		}
		return decoded
	}
	return v.text
}

func (g *generator) object(lists bool) *tree {
	g.objects++
	meta := (&tree{}).set("name", str(fmt.Sprintf("object-%d", g.objects)))
	if g.one(3) {
		meta.set("namespace", str("kube-system"))
	}
	if g.one(4) {
		meta.set("annotations", (&tree{}).set("image", g.image()))
	}
	o := &tree{}
	kind := func(apiVersion, kind string) { o.set("apiVersion", str(apiVersion)).set("kind", str(kind)) }
	choice := rapid.IntRange(0, 9).Draw(g.t, "kind")
	if choice == 9 && lists {
		list := g.pick("List", "PodList")
		kind("v1", list)
		// kustomize takes the items of a List through JSON, unless it is all that the stream holds. What is the
		// same in both is drawn for one.
		g.alone = list == "List"
		defer func() { g.alone = false }()
		items := seq()
		for range rapid.IntRange(0, 3).Draw(g.t, "items") {
			items.list = append(items.list, g.object(false))
		}
		return o.set("metadata", meta).set("items", items)
	}
	switch choice {
	case 0, 1:
		kind("v1", "Pod")
		return o.set("metadata", meta).set("spec", g.podSpec())
	case 2, 3:
		kind("apps/v1", g.pick("Deployment", "StatefulSet"))
		return o.set("metadata", meta).set("spec", (&tree{}).set("replicas", raw("2")).
			set("template", (&tree{}).set("spec", g.podSpec())))
	case 4:
		kind("batch/v1", "CronJob")
		return o.set("metadata", meta).set("spec", (&tree{}).set("jobTemplate", (&tree{}).set("spec",
			(&tree{}).set("template", (&tree{}).set("spec", g.podSpec())))))
	case 5:
		kind("apiextensions.k8s.io/v1", "CustomResourceDefinition")
		return o.set("metadata", meta).set("spec", g.podSpec())
	case 6:
		kind("v1", "ConfigMap")
		return o.set("metadata", meta).set("data", (&tree{}).
			set("text", str("containers:\n- image: nginx:v1\n---\nimage: nginx\n")).set("image", g.image()))
	}
	thing := g.pick("Thing", "AllowList")
	kind("example.org/v1", thing)
	if g.one(4) {
		o.set("containers", g.containers())
	}
	if thing == "Thing" && g.one(4) {
		o.set("items", g.items(2))
	}
	return o.set("metadata", meta).set("spec", g.any(3))
}

// items gives a list of what reads like objects, and lists of them, as an object may hold that is no list of
// objects. Those of a list object are kept apart: kustomize wants names.
func (g *generator) items(depth int) *tree {
	v := seq()
	for range rapid.IntRange(1, 3).Draw(g.t, "items") {
		switch {
		case depth > 0 && g.one(3):
			v.list = append(v.list, g.items(depth-1))
		case depth > 0 && g.one(3):
			v.list = append(v.list, (&tree{}).set("items", g.items(depth-1)))
		default:
			v.list = append(v.list, (&tree{}).set("kind", str("Pod")).set("spec", g.any(1)))
		}
	}
	return v
}

// any gives what a custom resource may hold.
func (g *generator) any(depth int) *tree {
	v := &tree{isMap: true}
	for _, key := range []string{"a", "image", "containers", "initContainers", "ephemeralContainers", "nested", "list", "volumes", "reference"} {
		if !g.one(3) {
			continue
		}
		switch {
		case key == "containers" && g.one(4):
			v.set(key, (&tree{}).set("image", g.image()))
		case strings.HasSuffix(strings.ToLower(key), "containers"):
			v.set(key, g.containers())
		case key == "nested" && depth > 0:
			v.set(g.pick("nested", "spec", "template"), g.any(depth-1))
		case key == "list" && depth > 0:
			v.set(key, seq(g.any(depth-1), seq(g.any(depth-1))))
		case key == "volumes":
			v.set(key, g.volumes())
		case key == "a":
			v.set(key, raw(g.pick("5", "true", "null", "1.5", "-3")))
		case key == "image" || key == "reference":
			v.set(key, g.image())
		}
	}
	return v
}

func (g *generator) podSpec() *tree {
	v := (&tree{}).set("containers", g.containers())
	if g.one(2) {
		v.set("initContainers", g.containers())
	}
	if g.one(6) {
		v.set("ephemeralContainers", g.containers())
	}
	if g.one(3) {
		v.set("volumes", g.volumes())
	}
	if g.one(6) {
		v.set("nodeName", raw("null"))
	}
	return v
}

func (g *generator) volumes() *tree {
	return seq((&tree{}).set("name", str("v")).set("image", (&tree{}).set("reference", g.image())))
}

func (g *generator) containers() *tree {
	v := seq()
	v.what = "list"
	for range rapid.IntRange(0, 3).Draw(g.t, "containers") {
		c := (&tree{what: "container"}).set("name", str("c"))
		if g.one(5) {
			c.set("args", seq(str(g.pick("--image=nginx:v1", "--url=http://x/?a=b", "?x", ":x", "a ? b", "a:?b", "x, y", "{}", "a b", "#", "n", "1e3", "*", "-", "a: b")), g.image()))
		}
		switch {
		case g.one(20):
			if g.alone {
				c.set("image", raw(g.pick("null", "true", "5")))
			} else {
				c.set("image", raw(g.pick("null", "~", "true", "5", "Null", "True", "010", "1e3", "1.50", "1_0", "-0")))
			}
		case !g.one(8):
			c.set("image", g.image())
		}
		if g.one(6) {
			c.set("env", seq((&tree{}).set("name", str("IMAGE")).set("value", g.image())))
		}
		if g.one(12) {
			c.set("x", g.any(1))
		}
		if g.one(12) {
			c.set("nothing", raw("")) // null, or "" in braces
		}
		v.list = append(v.list, c)
	}
	return v
}

func (g *generator) image() *tree {
	return &tree{what: "image", text: Image().Filter(func(s string) bool { return !strings.Contains(s, "\n") }).Draw(g.t, "image")}
}

// properties gives an anchor or an alias, now and then. done is called once the value is
// written, when aliases to it may follow.
func (g *generator) properties(v *tree) (alias, prefix string, done func()) {
	done = func() {}
	if v.what == "" || g.json {
		return "", "", done
	}
	if known := g.anchors[v.what]; len(known) > 0 && g.one(6) {
		return "*" + g.pick(known...), "", done
	}
	if g.one(8) {
		g.count++
		name := fmt.Sprintf("a%d", g.count)
		prefix = "&" + name + " "
		done = func() { g.anchors[v.what] = append(g.anchors[v.what], name) }
	}
	if v.what == "image" && g.one(15) {
		prefix += g.pick("!!str ", "!mine ")
	}
	return "", prefix, done
}

// block writes a value behind a colon or a dash, its line break included.
func (g *generator) block(v *tree, indent int) string {
	alias, prefix, done := g.properties(v)
	if alias != "" {
		return " " + alias + g.pick("\n", " # c\n")
	}
	defer done()
	pad := strings.Repeat(" ", indent)
	if v.isMap || v.isSeq {
		if len(v.list) == 0 || g.one(8) {
			return " " + prefix + g.flowBody(v) + "\n"
		}
		var b strings.Builder
		if prefix != "" {
			b.WriteString(" " + strings.TrimSuffix(prefix, " "))
		}
		b.WriteString(g.pick("\n", "\n", "\n", "\n"+pad+"# image: nginx\n", "\n\n"))
		if v.isMap {
			g.fields(&b, v, indent, pad)
		} else {
			for _, item := range v.list {
				text := g.block(item, indent+2)
				if item.isMap && strings.HasPrefix(text, "\n"+pad+"  ") && !strings.HasPrefix(text, "\n"+pad+"  #") && g.one(1) {
					text = " " + text[len("\n"+pad+"  "):]
				}
				b.WriteString(pad + "-" + text)
			}
		}
		return b.String()
	}
	if v.raw {
		return " " + prefix + v.text + "\n"
	}
	if strings.Contains(v.text, "\n") {
		return " " + prefix + "|\n" + pad + "  " + strings.ReplaceAll(strings.TrimSuffix(v.text, "\n"), "\n", "\n"+pad+"  ") + "\n"
	}
	switch printable := strings.TrimSpace(v.text) == v.text && v.text != ""; {
	case strings.HasPrefix(v.text, "--") && g.one(2):
		return " " + prefix + v.text + "\n" // plain, which it can be here
	case printable && g.one(10):
		return " " + prefix + g.pick("|-", ">-") + "\n" + pad + "  " + v.text + "\n"
	case printable && document.IsPlain(v.text) && g.one(12):
		return " " + strings.TrimSuffix(prefix, " ") + "\n" + pad + "  " + v.text + "\n"
	}
	return " " + prefix + g.scalar(v.text) + g.pick("\n", "\n", "\n", " # nginx\n", "   \n")
}

func (g *generator) fields(b *strings.Builder, v *tree, indent int, pad string) {
	if known := g.anchors["container"]; v.what == "container" && len(known) > 0 && g.one(6) {
		b.WriteString(pad + "<<: *" + g.pick(known...) + "\n")
	}
	for i, key := range v.keys {
		child := v.list[i]
		in := indent + 2
		if child.isSeq && g.one(2) {
			in = indent
		}
		key = g.key(key)
		if !child.isMap && !child.isSeq && g.one(15) {
			b.WriteString(pad + "? " + key + "\n" + pad + ":" + g.block(child, in))
			continue
		}
		b.WriteString(pad + key + ":" + g.block(child, in))
	}
}

func (g *generator) key(key string) string {
	switch rapid.IntRange(0, 30).Draw(g.t, "key") {
	case 0:
		return `"` + key + `"`
	case 1:
		return "'" + key + "'"
	case 2:
		return fmt.Sprintf(`"\x%02x%s"`, key[0], key[1:])
	}
	return key
}

// flow writes a value in flow style.
func (g *generator) flow(v *tree) string {
	alias, prefix, done := g.properties(v)
	if alias != "" {
		return alias + " "
	}
	defer done()
	return prefix + g.flowBody(v)
}

func (g *generator) flowBody(v *tree) string {
	var parts []string
	switch {
	case v.isMap:
		for i, key := range v.keys {
			parts = append(parts, g.key(key)+": "+g.flow(v.list[i]))
		}
		return "{" + strings.Join(parts, g.pick(", ", ",", " , ")) + "}"
	case v.isSeq:
		for _, item := range v.list {
			parts = append(parts, g.flow(item))
		}
		return "[" + strings.Join(parts, g.pick(", ", ",\n            ")) + "]"
	case v.raw:
		return v.text
	}
	return g.scalar(v.text)
}

// scalar writes a string on one line.
func (g *generator) scalar(text string) string {
	choice := rapid.IntRange(0, 9).Draw(g.t, "scalar")
	switch {
	case choice == 0 && text != "" && text[0] < 0x80:
		quoted := document.Quote(text)
		return fmt.Sprintf(`"\x%02x%s`, text[0], quoted[len(document.Quote(text[:1]))-1:])
	case choice < 3 || strings.Contains(text, "\n"):
		return document.Quote(text)
	case choice < 5 || !document.IsPlain(text):
		return "'" + strings.ReplaceAll(text, "'", "''") + "'"
	}
	return text
}
