// SPDX-License-Identifier: Apache-2.0

package postrender_test

import (
	"cmp"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	helmv2 "github.com/fluxcd/helm-controller/api/v2"
	gocmp "github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/cozystack/image-overrides/imageoverrides"
	"github.com/cozystack/image-overrides/imageoverrides/audit"
	"github.com/cozystack/image-overrides/internal/oracle"
	"github.com/cozystack/image-overrides/postrender"
	"github.com/cozystack/image-overrides/reference"
)

// placesIn are the images of manifests that Flux does not reach.
func placesIn(t oracle.T, table imageoverrides.Table, manifests string) (places []audit.Place) {
	a := audit.New(table, audit.Options{Parts: true})
	if err := a.Add("s", strings.NewReader(manifests)); err != nil {
		t.Fatalf("%v", err)
	}
	for _, p := range a.Report().Places {
		if p.Status == audit.Suspected {
			p.Status = audit.Unreached
		}
		places = append(places, p)
	}
	return places
}

// leavesOf has the scalars of objects by object and pointer.
func leavesOf(t oracle.T, manifests string) map[string]any {
	leaves := make(map[string]any)
	var walk func(at string, v any)
	walk = func(at string, v any) {
		switch v := v.(type) {
		case map[string]any:
			for key, child := range v {
				walk(at+postrender.Pointer(key), child)
			}
		case []any:
			for i, child := range v {
				walk(at+postrender.Pointer(i), child)
			}
		default:
			leaves[at] = v
		}
	}
	for _, object := range oracle.Objects(t, manifests) {
		o := object.(map[string]any)
		metadata, _ := o["metadata"].(map[string]any)
		walk(fmt.Sprintf("%v %v %v %v ", o["apiVersion"], o["kind"], metadata["namespace"], metadata["name"]), o)
	}
	return leaves
}

// at is where a part of a place is, as leavesOf has it.
func at(p *audit.Place, part *audit.Part) string {
	namespace := any(nil)
	if p.Namespace != "" {
		namespace = p.Namespace
	}
	return fmt.Sprintf("%v %v %v %v %s", p.APIVersion, p.Kind, namespace, p.Name, part.Pointer)
}

// A span is an image in a text, and what it is to become.
type span struct {
	start, end int
	new        string
}

// joined puts an image in fields together as its object has them now; ok is false for one in a text. A tag that is still a number is what the place
// has.
func joined(p *audit.Place, leaves map[string]any) (image string, ok bool) {
	by := make(map[audit.Role]string)
	for i := range p.Parts {
		part := &p.Parts[i]
		text, isText := leaves[at(p, part)].(string)
		if was, err := json.Marshal(text); !isText || err == nil && string(was) == string(part.JSON) {
			text = part.Text
		}
		if part.Role == audit.RoleRegistry {
			text = strings.TrimSuffix(text, "/")
		} else if part.Start > 0 || part.End < len(part.Text) {
			return "", false
		}
		by[part.Role] = text
	}
	for _, r := range []audit.Role{audit.RoleRegistry, audit.RoleRepository, audit.RoleName} {
		if by[r] != "" {
			image = strings.TrimPrefix(image+"/"+by[r], "/")
		}
	}
	if by[audit.RoleTag] != "" {
		image += ":" + by[audit.RoleTag]
	}
	if digest := by[audit.RoleDigest]; digest != "" {
		image += "@sha256:" + strings.TrimPrefix(digest, "sha256:")
	}
	return image, true
}

func spelledOut(image string) string {
	if i, err := reference.Parse(image); err == nil {
		return i.Canonical().String()
	}
	return image
}

// checkPatched audits manifests, has kustomize apply the patches of what the audit found, and fails where anything else has changed than the images that the table
// has entries for, or one of these has not become what the table says. It returns how many were patched, and the others.
func checkPatched(t oracle.T, table imageoverrides.Table, manifests string) (patched int, unpatched []string) {
	places := placesIn(t, table, manifests)
	r, left := postrender.Patches(table, places)
	refused := make(map[int]bool)
	for _, u := range left {
		refused[u.Place] = true
		unpatched = append(unpatched, places[u.Place].Path+": "+u.Reason)
	}
	before, err := patchedByKustomize(helmv2.PostRenderer{}, manifests)
	if err != nil {
		t.Fatalf("%v\n%s", err, manifests)
	}
	after, err := patchedByKustomize(r, manifests)
	if err != nil {
		t.Fatalf("%v\n%v\n%s", err, r.Kustomize, manifests)
	}
	old, changed := leavesOf(t, before), leavesOf(t, after)
	spans := make(map[string][]span) // by leaf
	for i := range places {
		p := &places[i]
		whole := cmp.Or(p.Whole, p.Image)
		outcome, _ := table.Apply(whole)
		if p.Status != audit.Unreached || refused[i] || outcome == whole {
			continue
		}
		patched++
		for j := range p.Parts {
			part := &p.Parts[j]
			s := span{part.Start, cmp.Or(part.End, len(part.Text)), outcome}
			if part.Role != audit.RoleWhole {
				s.new = "" // not known here
			}
			if part.JSON != nil {
				s.start, s.end = 0, 0 // of a text that the parser makes something else of
			}
			spans[at(p, part)] = append(spans[at(p, part)], s)
		}
		if p.Parts[0].Role != audit.RoleWhole {
			made, ok := joined(p, changed)
			if name, tag, digest := reference.Split(made); ok && digest != "" && outcome == name+"@"+digest && tag != "" {
				made = outcome // a tag next to a digest says nothing, and stays
			}
			if ok && spelledOut(made) != spelledOut(outcome) {
				t.Fatalf("%s: %s became %s and not %s\n%s\n%v", p.Path, whole, made, outcome, manifests, r.Kustomize)
			}
		}
	}
	for key, was := range old {
		is := changed[key]
		if reflect.DeepEqual(was, is) {
			continue
		}
		text, _ := was.(string)
		made, ok := is.(string)
		if !ok || spans[key] == nil {
			t.Fatalf("%s: %v became %v\n%s", key, was, is, manifests)
		}
		slices.SortFunc(spans[key], func(a, b span) int { return a.start - b.start })
		from, rest := 0, made
		for _, s := range spans[key] {
			if was, isText := was.(string); isText && from <= s.start { // the text in front of it is as it was
				before := was[from:s.start]
				i := strings.Index(rest, before)
				if i < 0 || !strings.HasPrefix(rest[i+len(before):], s.new) || from == 0 && i > 0 {
					t.Fatalf("%s: %q became %q, with %+v\n%s", key, was, made, spans[key], manifests)
				}
				rest, from = rest[i+len(before)+len(s.new):], s.end
			}
		}
		if from > 0 && !strings.HasSuffix(rest, text[from:]) {
			t.Fatalf("%s: %q became %q, with %+v\n%s", key, was, made, spans[key], manifests)
		}
	}
	if len(old) != len(changed) {
		t.Fatalf("%d scalars became %d", len(old), len(changed))
	}
	return patched, unpatched
}

// drawUnreached draws an object with images where Flux does not look, in many notations.
func drawUnreached(t *rapid.T, n int) string {
	image := rapid.SampledFrom([]string{"quay.io/a/b:v1.0", "quay.io/a/b", "redis:7.2", "docker.io/library/redis:7", "ghcr.io/x/y@" + patchDigest, "quay.io/other:v3", "localhost:5000/z:1.0"})
	pick := func(choices ...string) string { return rapid.SampledFrom(choices).Draw(t, "choice") }
	notation := func(text string) string {
		switch rapid.IntRange(0, 3).Draw(t, "notation") {
		case 0:
			return fmt.Sprintf("%q", text)
		case 1:
			return "'" + strings.ReplaceAll(text, "'", "''") + "'"
		case 2:
			return strings.ReplaceAll(fmt.Sprintf("%q", text), "/", `\x2F`)
		}
		if strings.ContainsAny(text, " {[,") || strings.HasPrefix(text, "-") {
			return fmt.Sprintf("%q", text)
		}
		return text
	}
	one := func() string { return notation(image.Draw(t, "image")) }
	tag := func() string {
		return pick("v1.0", "1.20", `"1.20"`, "010", "1_000", "'7'", `""`, "1e3", "true", "2020-01-01", "~", "0x1F", "!!str 1.0")
	}
	name := func() string { return pick("quay.io/a/b", "redis", `"quay.io/a/b"`, "ghcr.io/x/y", "docker.io/redis") }
	body := ""
	switch rapid.IntRange(0, 9).Draw(t, "object") {
	case 0:
		arg := image.Draw(t, "image")
		body = "apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: N}\nspec:\n  template:\n    spec:\n      containers:\n      - name: c\n        image: x\n        args:\n        - --web\n        - " + notation(pick("--image=", "-sidecar-image=", "--x=")+arg) + "\n        - --init-image\n        - " + one() +
			"\n        env:\n        - {name: RELATED_IMAGE_X, value: " + one() + "}\n        - name: OTHER\n          value: " + one() + "\n"
	case 1:
		body = "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: N\n  annotations: {x/image: " + one() + "}\ndata:\n  a/b~image: " + one() + "\n  config.yaml: |" + pick("", "-", "+") + "\n    # c\n    image: " + one() + "\n    sidecar:\n      image: {repository: " + name() + ", tag: " + tag() + "}\n    list: [" + one() + ", {image: " + one() + "}]\n  z: 1\n"
		body = strings.Replace(body, "  z: 1\n", "  z: '1'\n", 1)
	case 2:
		body = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: N}\ndata:\n  run.sh: |\n    # docker run " + image.Draw(t, "image") + "\n    docker run " + image.Draw(t, "image") + " sh\n    IMAGE=" + image.Draw(t, "image") + "\n  config.json: " + notation(`{"image": "`+image.Draw(t, "image")+`", "inner": "{\"image\":\"`+image.Draw(t, "image")+`\"}"}`) + "\n"
	case 3:
		body = "apiVersion: x.io/v1\nkind: Thing\nmetadata: {name: N, namespace: s}\nspec:\n  image:\n    repository: " + name() + "\n    tag: " + tag() + "\n  other:\n    image: {repository: " + name() + ", tag: " + tag() + ", digest: " + pick(`""`, patchDigest, patchDigest[7:]) + "}\n  containerImage: " + one() + "\n"
	case 4:
		body = "apiVersion: nvidia.com/v1\nkind: ClusterPolicy\nmetadata: {name: N}\nspec:\n  driver: {repository: " + pick("quay.io/a", "ghcr.io/x") + ", image: " + pick("b", "y") + ", version: " + tag() + "}\n"
	case 5:
		body = "apiVersion: x.io/v1\nkind: Thing\nmetadata: {name: N}\nspec:\n  image: {registry: " + pick("quay.io", "quay.io/", "docker.io", `""`) + ", repository: " + pick("a/b", "library/redis", "redis") + ", tag: " + tag() + "}\n"
	case 6:
		body = "apiVersion: v1\nkind: List\nitems:\n- apiVersion: x.io/v1\n  kind: Thing\n  metadata: {name: N}\n  spec:\n    image: {repository: " + name() + ", tag: " + tag() + "}\n    sidecarImage: " + one() + "\n"
	case 7:
		body = "apiVersion: x.io/v1\nkind: Thing\nmetadata: {name: N}\nspec:\n  a: &a {image: {repository: " + name() + ", tag: " + tag() + "}}\n  b: *a\n  c: {<<: *a, d: 1}\n  e: &e " + one() + "\n  image: *e\n"
	case 8:
		body = "apiVersion: x.io/v1\nkind: Thing\nmetadata: {name: N}\nspec:\n  text: >-\n    see\n    " + image.Draw(t, "image") + "\n    for it\n  image: |\n    " + image.Draw(t, "image") + "\n  inner: |\n    values: |\n      image: " + one() + "\n      tag: " + tag() + "\n"
	default:
		body = "apiVersion: source.toolkit.fluxcd.io/v1\nkind: OCIRepository\nmetadata: {name: N}\nspec: {url: oci://" + pick("quay.io/a/b", "ghcr.io/x/y") + ", ref: {tag: " + tag() + "}}\n"
	}
	return "---\n" + strings.ReplaceAll(body, "name: N", fmt.Sprintf("name: %s%d", pick("n", "n.o", "n-"), n))
}

var patchTable = func() imageoverrides.Table {
	table, err := imageoverrides.Parse([]byte(`[{name: quay.io/a/b, newName: reg.example.org/m/quay.io/a/b}, {name: redis, newName: reg.example.org/redis, newTag: "1.20"}, {name: docker.io/library/redis, newTag: "7.3"},
{name: ghcr.io/x/y, newName: reg.example.org/y, digest: "sha256:` + strings.Repeat("ab", 32) + `"}, {name: docker.io/redis, newName: reg.example.org/redis}, {name: "localhost:5000/z", newName: z}]`))
	if err != nil {
		panic(err)
	}
	return table
}()

// Patches of what an audit finds, applied by the real kustomize, change the images that the table has an entry for and nothing else.
func TestPatchesOfAudit(t *testing.T) {
	patched := 0
	rapid.Check(t, func(t *rapid.T) {
		var b strings.Builder
		for i := range rapid.IntRange(1, 3).Draw(t, "objects") {
			b.WriteString(drawUnreached(t, i))
		}
		n, _ := checkPatched(t, patchTable, b.String())
		patched += n
	})
	if patched == 0 {
		t.Error("nothing was patched")
	}
}

// TestPatchesCorpus: the images of a real platform that Flux does not reach are patched, all of those that were found by hand where Flux does not look.
func TestPatchesCorpus(t *testing.T) {
	dir := cmp.Or(os.Getenv("CORPUS"), filepath.Join("..", "..", "shared", "corpus"))
	list, _ := filepath.Glob(filepath.Join(dir, "*.yaml"))
	if len(list) == 0 {
		t.Skipf("no corpus in %s", dir)
	}
	patched := 0
	var left []string
	for _, file := range list {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		a := audit.New(imageoverrides.Table{}, audit.Options{})
		if err := a.Add("s", strings.NewReader(string(text))); err != nil {
			t.Fatal(err)
		}
		// An entry for each image that Flux does not reach, and of the documents those that have some.
		var entries []imageoverrides.Override
		names, documents := make(map[string]bool), make(map[string]bool)
		at := make([]int64, 0, 8)
		for _, p := range a.Report().Places {
			name, _, _ := reference.Split(cmp.Or(p.Whole, p.Image))
			if p.Status != audit.Unreached || p.Reason == audit.ReasonValues {
				continue
			}
			at = append(at, p.Offset)
			if names[name] {
				continue
			}
			names[name] = true
			if image, err := reference.Parse(name); err == nil {
				entries = append(entries, imageoverrides.Override{Name: name, NewName: "reg.example.org/m/" + image.Canonical().Name()})
			}
		}
		table, err := imageoverrides.New(entries...)
		if err != nil {
			t.Fatal(err)
		}
		offset := int64(0)
		var manifests strings.Builder
		for _, document := range strings.SplitAfter(string(text), "\n---\n") {
			end := offset + int64(len(document))
			for _, o := range at {
				if offset <= o && o < end && !documents[document] {
					documents[document] = true
					manifests.WriteString(strings.TrimSuffix(document, "---\n") + "---\n")
				}
			}
			offset = end
		}
		if manifests.Len() == 0 {
			continue
		}
		n, unpatched := checkPatched(t, table, manifests.String())
		patched += n
		for _, u := range unpatched {
			left = append(left, filepath.Base(file)+": "+u)
		}
	}
	t.Logf("%d patched, %d not", patched, len(left))
	if diff := gocmp.Diff([]string(nil), left); diff != "" {
		t.Error(diff)
	}
}

// The JSON of a patch's test is what the place has, to the letter, so that a report of an object can be patched whatever its notation.
func TestPatchesNumbers(t *testing.T) {
	for _, tag := range []string{"1.20", "010", "1e3", "0x1F", "1_000", ".5", "true", "!!int \"7\"", "!!float 1", "1.0"} {
		for _, in := range []string{
			"apiVersion: x.io/v1\nkind: Thing\nmetadata: {name: n}\nspec: {image: {repository: redis, tag: " + tag + "}}\n",
			"apiVersion: v1\nkind: List\nitems:\n- {apiVersion: x.io/v1, kind: Thing, metadata: {name: n}, spec: {image: {repository: redis, tag: " + tag + "}}}\n",
		} {
			n, unpatched := checkPatched(t, patchTable, in)
			if n != 1 || unpatched != nil {
				t.Errorf("%s: %d patched, %v", tag, n, unpatched)
			}
		}
	}
	// What kustomize makes of a number in any object that has a patch.
	in := "apiVersion: x.io/v1\nkind: Thing\nmetadata: {name: n}\nspec: {image: redis:1, size: 9007199254740993}\n"
	r, _ := postrender.Patches(patchTable, placesIn(t, patchTable, strings.Replace(in, "image", "sidecarImage", 1)))
	for _, want := range []struct {
		r    helmv2.PostRenderer
		size string
	}{{helmv2.PostRenderer{}, "9007199254740993"}, {r, "9007199254740992"}} {
		out, err := patchedByKustomize(want.r, strings.Replace(in, "image", "sidecarImage", 1))
		if err != nil || !strings.Contains(out, want.size) {
			t.Errorf("%v, %s, want %s", err, out, want.size)
		}
	}
	var parts []audit.Part
	for _, p := range placesIn(t, patchTable, "apiVersion: x.io/v1\nkind: Thing\nmetadata: {name: n}\nspec: {image: {registry: quay.io/, repository: a/b, tag: 1.20}}\n") {
		parts = append(parts, p.Parts...)
	}
	if diff := gocmp.Diff([]audit.Part{
		{Role: audit.RoleRegistry, Pointer: "/spec/image/registry", Text: "quay.io/", End: 7},
		{Role: audit.RoleRepository, Pointer: "/spec/image/repository", Text: "a/b", End: 3},
		{Role: audit.RoleTag, Pointer: "/spec/image/tag", Text: "1.2", End: 3, JSON: json.RawMessage("1.2")},
	}, parts); diff != "" {
		t.Error(diff)
	}
}
