// SPDX-License-Identifier: Apache-2.0

package postrender_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	helmv2 "github.com/fluxcd/helm-controller/api/v2"
	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
	"sigs.k8s.io/kustomize/api/types"
	"sigs.k8s.io/kustomize/kyaml/resid"
	"sigs.k8s.io/yaml"

	"github.com/cozystack/image-overrides/imageoverrides"
	"github.com/cozystack/image-overrides/imageoverrides/audit"
	"github.com/cozystack/image-overrides/internal/oracle"
	"github.com/cozystack/image-overrides/postrender"
)

// patchedByKustomize applies a post-renderer as Flux's helm-controller does.
func patchedByKustomize(r helmv2.PostRenderer, manifests string) (string, error) {
	var patches []types.Patch
	if r.Kustomize != nil {
		for _, p := range r.Kustomize.Patches {
			patches = append(patches, types.Patch{Patch: p.Patch, Target: &types.Selector{ResId: resid.ResId{
				Gvk: resid.Gvk{Group: p.Target.Group, Version: p.Target.Version, Kind: p.Target.Kind}, Name: p.Target.Name, Namespace: p.Target.Namespace,
			}}})
		}
	}
	return oracle.Patched(patches, manifests)
}

// place is an image that Flux does not reach.
func place(o imageoverrides.Object, parts ...audit.Part) audit.Place {
	return audit.Place{APIVersion: o.APIVersion, Kind: o.Kind, Namespace: o.Namespace, Name: o.Name, Status: audit.Unreached, Parts: parts}
}

// leaf is a string of a drawn object, where it is.
type leaf struct {
	steps []any
	text  string
	set   func(string)
}

// tree draws a value with odd keys and odd texts, among which are images.
func drawTree(t *rapid.T, depth int, steps []any, leaves *[]leaf) any {
	under := func(step any) []any { return append(append([]any{}, steps...), step) }
	kind := rapid.IntRange(0, 2).Draw(t, "kind")
	if depth == 0 || kind == 0 {
		return rapid.OneOf(oracle.Image(), rapid.SampledFrom([]string{
			"--image=nginx:v1", "-i=quay.io/a/b -x <nginx> & \"nginx\"", "'nginx'\u2028nginx", "\\nginx\\", "a: nginx\nb: |\n  nginx:1\n", "{\"image\": \"nginx\"}", "\u00e9\U0001F600 nginx", "\ttab nginx", "true", "1.20", "", "null",
		})).Draw(t, "text")
	}
	if kind == 1 {
		list := make([]any, rapid.IntRange(1, 3).Draw(t, "items"))
		for i := range list {
			list[i] = drawTree(t, depth-1, under(i), leaves)
			if text, ok := list[i].(string); ok {
				*leaves = append(*leaves, leaf{under(i), text, func(s string) { list[i] = s }})
			}
		}
		return list
	}
	m := make(map[string]any)
	for _, key := range rapid.SliceOfNDistinct(rapid.SampledFrom([]string{"a", "image", "a/b", "~", "~1", "~0/", "a.b", "0", "-", "'", "\"", "\u00e9", "<&>", "a b", "#", "a: b", "\\", "*", "[0]", "$", ""}), 1, 3, rapid.ID).Draw(t, "keys") {
		m[key] = drawTree(t, depth-1, under(key), leaves)
		if text, ok := m[key].(string); ok {
			*leaves = append(*leaves, leaf{under(key), text, func(s string) { m[key] = s }})
		}
	}
	return m
}

// Patches that the real kustomize applies change the images of their places and nothing else, whatever objects, keys and texts are called.
func TestPatchesLaw(t *testing.T) {
	table, err := imageoverrides.Parse([]byte(`[{name: nginx, newName: "reg.example.org/<nginx>"}, {name: quay.io/a/b, newTag: "1.20"}, {name: a, newName: reg.example.org/a, newTag: v2, digest: "` + "sha256:" + strings.Repeat("ab", 32) + `"}]`))
	if err != nil {
		t.Fatal(err)
	}
	patched := 0
	rapid.Check(t, func(t *rapid.T) {
		var objects []any
		var places []audit.Place
		var changes []func()
		seen := make(map[imageoverrides.Object]bool)
		var before imageoverrides.Object
		for range rapid.IntRange(1, 3).Draw(t, "objects") {
			o := imageoverrides.Object{
				APIVersion: rapid.SampledFrom([]string{"v1", "x.io/v1", "xxio/v1", "x.io/v1beta1", "rbac.authorization.k8s.io/v1", "apps/v1"}).Draw(t, "apiVersion"),
				Kind:       rapid.SampledFrom([]string{"Thing", "ThingX", "ConfigMap", "ClusterRole", "Namespace"}).Draw(t, "kind"),
				Namespace:  rapid.SampledFrom([]string{"", "", "a", "a.b", "axb"}).Draw(t, "namespace"),
				Name:       rapid.SampledFrom([]string{"a", "a.b", "axb", "a-b", "aa", "a|b", "(a)", "a+", "^a", "[a]", "A", "\u00e9"}).Draw(t, "name"),
			}
			if before != (imageoverrides.Object{}) && rapid.Bool().Draw(t, "neighbour") { // which differs in one field
				next := before
				switch rapid.IntRange(0, 3).Draw(t, "field") {
				case 0:
					next.APIVersion = o.APIVersion
				case 1:
					next.Kind = o.Kind
				case 2:
					next.Namespace = o.Namespace
				default:
					next.Name = o.Name
				}
				o = next
			}
			before = o
			if seen[o] {
				continue
			}
			seen[o] = true
			metadata := map[string]any{"name": o.Name}
			if o.Namespace != "" {
				metadata["namespace"] = o.Namespace
			}
			var leaves []leaf
			object := map[string]any{"apiVersion": o.APIVersion, "kind": o.Kind, "metadata": metadata, "spec": map[string]any{"x": drawTree(t, 3, []any{"spec", "x"}, &leaves)}}
			objects = append(objects, object)
			for _, l := range leaves {
				// Each nginx in a text, and texts that are images.
				var of []audit.Part
				if outcome, _ := table.Apply(l.text); outcome != l.text {
					of = append(of, audit.Part{Pointer: postrender.Pointer(l.steps...), Text: l.text})
					changes = append(changes, func() { l.set(outcome) })
				} else {
					for at := 0; ; {
						i := strings.Index(l.text[at:], "nginx")
						if i < 0 {
							break
						}
						of = append(of, audit.Part{Pointer: postrender.Pointer(l.steps...), Text: l.text, Start: at + i, End: at + i + len("nginx")})
						at += i + len("nginx")
					}
					if of != nil {
						changes = append(changes, func() { l.set(strings.ReplaceAll(l.text, "nginx", "reg.example.org/<nginx>")) })
					}
				}
				for _, part := range of {
					places = append(places, place(o, part))
				}
			}
		}
		write := func() string {
			var b strings.Builder
			for _, o := range objects {
				text, err := json.Marshal(o)
				if err != nil {
					t.Fatal(err)
				}
				b.WriteString("---\n" + string(text) + "\n")
			}
			return b.String()
		}
		manifests := write()
		r, unpatched := postrender.Patches(table, rapid.Permutation(places).Draw(t, "places"))
		if unpatched != nil {
			t.Fatalf("%v", unpatched)
		}
		if _, err := patchedByKustomize(helmv2.PostRenderer{}, manifests); err != nil {
			t.Skip(err) // two objects that are one to kustomize, and what it does not take at all
		}
		got, err := patchedByKustomize(r, manifests)
		if err != nil {
			t.Fatalf("%v\n%v\n%s", err, r.Kustomize, manifests)
		}
		for _, change := range changes {
			change()
		}
		patched += len(changes)
		want, err := patchedByKustomize(helmv2.PostRenderer{}, write())
		if err != nil {
			t.Fatal(err)
		}
		oracle.SameObjects(t, got, want)
		if r.Kustomize == nil {
			return
		}
		// A chart that changes stops the release: what the patches have made is not what they test for.
		if again, err := patchedByKustomize(r, got); err == nil {
			t.Fatalf("a second time\n%s", again)
		}
	})
	if patched == 0 {
		t.Error("nothing was patched")
	}
}

const patchDigest = "sha256:0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"

// TestPatchesOfParts: images in several fields.
func TestPatchesOfParts(t *testing.T) {
	object := imageoverrides.Object{APIVersion: "x.io/v1", Kind: "Thing", Name: "t", Namespace: "n"}
	part := func(r audit.Role, text string) audit.Part {
		return audit.Part{Role: r, Pointer: "/spec/" + string(r), Text: text}
	}
	number := part(audit.RoleTag, "1.20")
	number.JSON = json.RawMessage("1.2")
	for _, test := range []struct {
		why, entry string
		parts      []audit.Part
		want       string // the operations that replace, or the reason
	}{
		{"repository and tag", "{name: a, newName: reg.example.org/a, newTag: v2}", []audit.Part{part("repository", "a"), part("tag", "v1")}, "repository=reg.example.org/a tag=v2"},
		{"only the name", "{name: a, newName: reg.example.org/a}", []audit.Part{part("repository", "a"), part("tag", "v1")}, "repository=reg.example.org/a"},
		{"a number", "{name: a, newTag: v2}", []audit.Part{part("repository", "a"), number}, "tag=v2"},
		{"a registry", "{name: quay.io/a/b, newName: 'host:5000/c'}", []audit.Part{part("registry", "quay.io"), part("repository", "a/b"), part("tag", "v1")}, "registry=host:5000 repository=c"},
		{"a registry, of Docker Hub", "{name: quay.io/a/b, newName: nginx}", []audit.Part{part("registry", "quay.io"), part("repository", "a/b")}, "registry=docker.io repository=library/nginx"},
		{"a digest behind the tag", "{name: a, newTag: v2, digest: '" + patchDigest + "'}", []audit.Part{part("repository", "a"), part("tag", "v1")}, "tag=v2@" + patchDigest},
		{"a digest of its own", "{name: a, digest: '" + patchDigest + "'}", []audit.Part{part("repository", "a"), part("tag", "v1"), part("digest", "")}, "digest=" + patchDigest},
		{"a digest that goes", "{name: a, newTag: v2}", []audit.Part{part("repository", "a"), part("tag", "v1"), part("digest", patchDigest)}, "tag=v2 digest="},
		{"a repository and a name", "{name: nvcr.io/nvidia/driver, newName: reg.example.org/m/nvcr.io/nvidia/driver, newTag: v2}", []audit.Part{part("repository", "nvcr.io/nvidia"), part("name", "driver"), part("tag", "v1")}, "repository=reg.example.org/m/nvcr.io/nvidia tag=v2"},
		{"a registry, a repository and a name", "{name: nvcr.io/nvidia/driver, newName: reg.example.org/m/d}", []audit.Part{part("registry", "nvcr.io"), part("repository", "nvidia"), part("name", "driver")}, "registry=reg.example.org repository=m name=d"},
		{"nothing in front of a name", "{name: nvcr.io/nvidia/driver, newName: driver}", []audit.Part{part("repository", "nvcr.io/nvidia"), part("name", "driver")}, "driver has nothing in front of its name, and there is a field for that; write the entry's newName with a registry or a path"},
		{"a digest without its algorithm", "{name: a, digest: '" + patchDigest + "'}", []audit.Part{part("repository", "a"), part("digest", strings.Repeat("ab", 32))}, "digest=" + patchDigest[7:]},
		{"no field for a tag", "{name: a, newTag: v2}", []audit.Part{part("repository", "a")}, "the table says the tag v2, and there is no field for it; leave the tag out of the entry"},
		{"no field for a digest", "{name: a, digest: '" + patchDigest + "'}", []audit.Part{part("repository", "a")}, "the table says the digest " + patchDigest + ", and there is no field for it; add one to the chart's values, or leave the digest out of the entry"},
		{"a digest where a tag is", "{name: a, digest: '" + patchDigest + "'}", []audit.Part{part("repository", "a"), part("tag", "v1")}, "the table says the digest " + patchDigest + " and no tag, and there is a field for a tag only; add the tag to the entry"},
		{"no repository", "{name: a, newTag: v2}", []audit.Part{part("tag", "a")}, "the parts are no image: one that is whole, or a repository and what belongs to it"},
		{"a part twice", "{name: a, newTag: v2}", []audit.Part{part("", "a"), part("", "a")}, "part 1 (/spec/) is not one of the image"},
		{"no entry", "{name: b, newTag: v2}", []audit.Part{part("repository", "a"), part("tag", "v1")}, ""},
	} {
		table, err := imageoverrides.Parse([]byte("[" + test.entry + "]"))
		if err != nil {
			t.Fatal(err)
		}
		r, unpatched := postrender.Patches(table, []audit.Place{place(object, test.parts...)})
		got := ""
		if r.Kustomize != nil {
			spec, tests := map[string]any{}, 0
			var made []string
			var operations []struct{ Op, Path, Value any }
			if err := json.Unmarshal([]byte(r.Kustomize.Patches[0].Patch), &operations); err != nil {
				t.Fatal(err)
			}
			for _, o := range operations {
				if o.Op == "test" {
					tests++
					continue
				}
				made = append(made, fmt.Sprint(strings.TrimPrefix(o.Path.(string), "/spec/"), "=", o.Value))
			}
			if got = strings.Join(made, " "); 2*tests != len(operations) {
				t.Errorf("%s: %d tests of %d", test.why, tests, len(operations))
			}
			for _, p := range test.parts {
				if spec[string(p.Role)] = any(p.Text); p.JSON != nil {
					spec[string(p.Role)] = p.JSON
				}
			}
			text, err := json.Marshal(map[string]any{"apiVersion": object.APIVersion, "kind": object.Kind, "metadata": map[string]any{"name": "t", "namespace": "n"}, "spec": spec})
			if err != nil {
				t.Fatal(err)
			}
			if out, err := patchedByKustomize(r, string(text)); err != nil {
				t.Errorf("%s: %v\n%s", test.why, err, out)
			}
		}
		for _, u := range unpatched {
			got += u.Reason
		}
		if diff := cmp.Diff(test.want, got); diff != "" {
			t.Errorf("%s\n%s", test.why, diff)
		}
	}
}

// TestPatches: how a patch reads, and the message of a chart that has changed.
func TestPatches(t *testing.T) {
	table, err := imageoverrides.Parse([]byte("[{name: quay.io/a, newName: reg.example.org/a}]"))
	if err != nil {
		t.Fatal(err)
	}
	deployment := imageoverrides.Object{APIVersion: "apps/v1", Kind: "Deployment", Namespace: "kube-system", Name: "a.b"}
	resource := imageoverrides.Object{APIVersion: "x.io/v1", Kind: "Thing", Name: "t"}
	args := audit.Part{Pointer: "/spec/args/0", Text: "--image=quay.io/a:v1,quay.io/a", Start: 8, End: 20}
	second := args
	second.Start, second.End = 21, 30
	other := args
	other.Text = "quay.io/a"
	other.Start, other.End = 0, 0
	inside := second
	inside.Start, inside.End = 8, 17 // a part of the first
	places := []audit.Place{
		place(deployment, args), place(resource, audit.Part{Pointer: "/spec/a~1b", Text: "quay.io/a"}), place(deployment, second), place(deployment, args), place(deployment, other),
		place(imageoverrides.Object{Kind: "X"}, other), place(resource, audit.Part{Pointer: "", Text: "quay.io/a"}), place(resource, audit.Part{Pointer: "/x", Text: "a", Start: 1, End: 3}),
		place(deployment, inside),
	}
	r, unpatched := postrender.Patches(table, places)
	if diff := cmp.Diff([]postrender.Unpatched{
		{4, "another place has another text at /spec/args/0"},
		{5, "the object has no name or no kind, so that no patch can be for it"},
		{6, "part 0 () is not one of the image"},
		{7, "part 0 (/x) is not one of the image"},
		{8, "another place changes a part of this image at /spec/args/0"},
	}, unpatched); diff != "" {
		t.Error(diff)
	}
	text, err := yaml.Marshal(r)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(`kustomize:
  patches:
  - patch: |
      [
        {"op":"test","path":"/spec/args/0","value":"--image=quay.io/a:v1,quay.io/a"},
        {"op":"replace","path":"/spec/args/0","value":"--image=reg.example.org/a:v1,reg.example.org/a"}
      ]
    target:
      group: apps
      kind: Deployment
      name: a\.b
      namespace: kube-system
      version: v1
  - patch: |
      [
        {"op":"test","path":"/spec/a~1b","value":"quay.io/a"},
        {"op":"replace","path":"/spec/a~1b","value":"reg.example.org/a"}
      ]
    target:
      group: x\.io
      kind: Thing
      name: t
      namespace: default|_non_namespaceable_
      version: v1
`, string(text)); diff != "" {
		t.Error(diff)
	}
	_, err = patchedByKustomize(r, "apiVersion: x.io/v1\nkind: Thing\nmetadata: {name: t}\nspec: {a/b: quay.io/b}\n")
	if diff := cmp.Diff("testing value /spec/a~1b failed: test failed", fmt.Sprint(err)); diff != "" {
		t.Error(diff)
	}
	// What the table has an entry for, and is not patched.
	var reasons []string
	for _, p := range []audit.Place{
		{Image: "quay.io/a", Status: audit.Suspected, Entry: 0, Reason: audit.ReasonText},
		{Image: "quay.io/a", Status: audit.Unreached, Entry: 0, Reason: audit.ReasonHook},
		{Image: "quay.io/a", Status: audit.Unreached, Entry: 0, Reason: audit.ReasonPrefix},
		{Image: "quay.io/a", Status: audit.Unreached, Entry: 0, Reason: audit.ReasonText},
		{Image: "quay.io/a:1", Status: audit.Unreached, Entry: 0, Reason: audit.ReasonArgument, Parts: []audit.Part{{Pointer: "/x", Text: "quay.io/A:1"}}},
		{Image: "quay.io/a", Status: audit.Rewritten}, {Image: "quay.io/a", Status: audit.Kept}, {Image: "quay.io/a", Status: audit.Missed}, {Image: "quay.io/a", Status: audit.Unreached, Reason: audit.ReasonValues},
		{Image: "quay.io/b", Status: audit.Unreached, Entry: -1, Reason: audit.ReasonText},
	} {
		r, unpatched := postrender.Patches(table, []audit.Place{p})
		for _, u := range unpatched {
			reasons = append(reasons, u.Reason)
		}
		if r.Kustomize != nil {
			t.Errorf("%+v is patched", p)
		}
	}
	if diff := cmp.Diff([]string{
		"it reads like an image, and nothing says that it is one; look at it, and have it patched as one if it is",
		"it is a hook, which Flux keeps from post-renderers; change it in the chart's values",
		"it is a registry or the start of a path, and no image; change it in the chart's values",
		"it is written with escapes in a text, or the audit was made without Options.Parts",
		"entry 0 is meant for it and does not match quay.io/A:1; write one that does",
	}, reasons); diff != "" {
		t.Error(diff)
	}
	// In a text a number without quotes would be none.
	numbers, err := imageoverrides.Parse([]byte(`[{name: a, newTag: "1.20"}]`))
	if err != nil {
		t.Fatal(err)
	}
	for text, want := range map[string]string{
		"repository: a\ntag: v1\n":     "it stands without quotes in a text, where 1.20 is no string; put it in quotes there",
		"repository: a\ntag: \"v1\"\n": "",
		"repository: a\ntag: 'v1'\n":   "",
	} {
		_, unpatched := postrender.Patches(numbers, []audit.Place{place(resource, audit.Part{Role: audit.RoleRepository, Pointer: "/x", Text: text, Start: 12, End: 13},
			audit.Part{Role: audit.RoleTag, Pointer: "/x", Text: text, Start: strings.Index(text, "v1"), End: strings.Index(text, "v1") + 2})})
		got := ""
		for _, u := range unpatched {
			got += u.Reason
		}
		if got != want {
			t.Errorf("%q: %s", text, got)
		}
	}
	// Of two places that say the same the one that is refused for another part takes nothing with it.
	first, last := audit.Part{Pointer: "/a", Text: "quay.io/a"}, audit.Part{Role: audit.RoleRepository, Pointer: "/a", Text: "quay.io/a"}
	registry := audit.Part{Role: audit.RoleRegistry, Pointer: "/r", Text: "quay.io"}
	path := audit.Part{Role: audit.RoleRepository, Pointer: "/p", Text: "a"}
	r, unpatched = postrender.Patches(table, []audit.Place{
		place(resource, registry, path), place(resource, last), place(resource, first),
		place(resource, audit.Part{Role: audit.RoleRegistry, Pointer: "/r", Text: "quay.io/a", Start: 0, End: 7}, path),
	})
	if diff := cmp.Diff([]postrender.Unpatched{{3, "another place has another text at /r"}}, unpatched); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff(`[
  {"op":"test","path":"/r","value":"quay.io"},
  {"op":"test","path":"/a","value":"quay.io/a"},
  {"op":"replace","path":"/r","value":"reg.example.org"},
  {"op":"replace","path":"/a","value":"reg.example.org/a"}
]
`, r.Kustomize.Patches[0].Patch); diff != "" {
		t.Error(diff)
	}
	if r, unpatched := postrender.Patches(imageoverrides.Table{}, places[:4]); r.Kustomize != nil || unpatched != nil {
		t.Error(r, unpatched)
	}
	if got := postrender.Pointer("a/b", 0, "~", ""); got != "/a~1b/0/~0/" {
		t.Error(got)
	}
}
