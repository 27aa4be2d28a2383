// SPDX-License-Identifier: Apache-2.0

package audit_test

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"runtime"
	"slices"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/google/go-cmp/cmp"

	"github.com/cozystack/image-overrides/imageoverrides"
	"github.com/cozystack/image-overrides/imageoverrides/audit"
)

func mustTable(t testing.TB, list ...imageoverrides.Override) imageoverrides.Table {
	t.Helper()
	table, err := imageoverrides.New(list...)
	if err != nil {
		t.Fatal(err)
	}
	return table
}

// told writes the places and risks of manifests, a line for each.
func told(t testing.TB, table imageoverrides.Table, o audit.Options, in string) string {
	t.Helper()
	var b strings.Builder
	r := report(t, table, o, map[string]string{"s": in})
	for _, p := range r.Places {
		fmt.Fprintf(&b, "%s %s %s entry %d at %s\n", strings.TrimSpace(string(p.Status)+" "+string(p.Reason)), p.Image, strings.TrimSpace(p.Whole+" "+p.New), p.Entry, p.Path)
	}
	for _, k := range r.Risks {
		fmt.Fprintf(&b, "%s %s %s at %d:%d %s\n", k.Severity, k.Rule, k.Object(), k.Line, k.Column, k.Path)
	}
	return b.String()
}

var digestA, digest512 = "sha256:" + strings.Repeat("ab", 32), "sha512:" + strings.Repeat("ab", 64)

// TestTold: what is said of images, one kind after the other.
func TestTold(t *testing.T) {
	table := mustTable(t,
		imageoverrides.Override{Name: "nginx", NewName: "reg.example.org/web", NewTag: "v2"},
		imageoverrides.Override{Name: "quay.io/a/b", NewName: "reg.example.org/b"},
		imageoverrides.Override{Name: "reg.example.com/app", NewTag: "v9"},
		imageoverrides.Override{Name: "ghcr.io/x/same", NewTag: "1"},
	)
	container := func(image string) string {
		return "apiVersion: v1\nkind: Pod\nmetadata: {name: p}\nspec: {containers: [{image: " + image + "}]}\n"
	}
	const at = "at spec.containers[0].image\n"
	const risk = "warning no-reference Pod p at 4:29 spec.containers[0].image\n"
	for _, test := range []struct {
		why, in, want string
		o             audit.Options
	}{
		{why: "rewritten", in: container("nginx:1"), want: "rewritten nginx:1 reg.example.org/web:v2 entry 0 " + at},
		{why: "kept", in: container("redis:6"), want: "kept no-entry redis:6  entry -1 " + at},
		{why: "kept, and an entry applied", in: container("ghcr.io/x/same:1"), want: "kept same ghcr.io/x/same:1  entry 3 " + at},
		{why: "missed by its spelling", in: container("docker.io/library/nginx:1"), want: "missed spelling docker.io/library/nginx:1  entry 0 " + at},
		{why: "missed by its digest", in: container("nginx@" + digest512), want: "missed digest nginx@" + digest512 + "  entry 0 " + at},
		{why: "missed by a blank", in: container("'nginx:1 '"), want: "missed blank nginx:1   entry 0 " + at + strings.Replace(risk, "4:29", "4:30", 1)},
		{why: "missed by its tag", in: container("nginx:v1+x"), want: "missed tag nginx:v1+x  entry 0 " + at + risk},
		{why: "missed by a placeholder", in: container("'${PREFIX}/app'"), want: "missed placeholder ${PREFIX}/app  entry 2 " + at + strings.Replace(risk, "4:29", "4:30", 1)},
		{why: "a placeholder of another image", in: container("'${PREFIX}/other'"), want: "kept placeholder ${PREFIX}/other  entry -1 " + at + strings.Replace(risk, "4:29", "4:30", 1)},
		{why: "a placeholder for a tag", in: container("'nginx:${TAG}'"), want: "missed placeholder nginx:${TAG}  entry 0 " + at + strings.Replace(risk, "4:29", "4:30", 1)},
		{
			why:  "newTag drops a digest, newName keeps one, a dot matches another character",
			in:   container("nginx@"+digestA) + "---\n" + container("quay.io/a/b@" + digestA)[0:0] + strings.Replace(container("quay.io/a/b@"+digestA), "name: p", "name: q", 1) + "---\n" + strings.Replace(container("quayxio/a/b:1"), "name: p", "name: r", 1),
			want: "rewritten nginx@" + digestA + " reg.example.org/web:v2 entry 0 " + at + "rewritten quay.io/a/b@" + digestA + " reg.example.org/b@" + digestA + " entry 1 " + at + "rewritten quayxio/a/b:1 reg.example.org/b:1 entry 1 " + at + "warning digest-dropped Pod p at 4:29 spec.containers[0].image\nwarning digest-kept Pod q at 9:29 spec.containers[0].image\nwarning dot Pod r at 14:29 spec.containers[0].image\n",
		},
		{why: "ephemeral containers", in: "kind: Pod\nmetadata: {name: p}\nspec: {ephemeralContainers: [{image: nginx:1}]}\n", want: "unreached ephemeral-container nginx:1  entry 0 at spec.ephemeralContainers[0].image\n"},
		{
			why:  "an image volume of a CronJob",
			in:   "apiVersion: batch/v1\nkind: CronJob\nmetadata: {name: p}\nspec: {jobTemplate: {spec: {template: {spec: {volumes: [{image: {reference: nginx:1}}]}}}}}\n",
			want: "unreached image-volume nginx:1  entry 0 at spec.jobTemplate.spec.template.spec.volumes[0].image.reference\n",
		},
		{
			why:  "a source of Flux",
			in:   "apiVersion: source.toolkit.fluxcd.io/v1\nkind: OCIRepository\nmetadata: {name: o}\nspec: {url: oci://reg.example.com/app}\n",
			want: "unreached source reg.example.com/app  entry 2 at spec.url\n",
		},
		{
			why:  "a Kustomization of Flux",
			in:   "apiVersion: kustomize.toolkit.fluxcd.io/v1\nkind: Kustomization\nmetadata: {name: k}\nspec: {images: [{name: nginx, newName: reg.example.com/app, newTag: v1}]}\n",
			want: "unreached kustomization reg.example.com/app  entry 2 at spec.images[0].newName\n",
		},
		{
			why:  "images of an Application",
			in:   "apiVersion: argoproj.io/v1alpha1\nkind: Application\nmetadata: {name: a}\nspec: {source: {kustomize: {images: ['nginx=reg.example.com/app:1']}}}\n",
			want: "unreached kustomization reg.example.com/app:1  entry 2 at spec.source.kustomize.images[0]\n",
		},
		{
			why: "a hook, reached", in: "apiVersion: batch/v1\nkind: Job\nmetadata: {name: h, annotations: {helm.sh/hook: pre-install}}\nspec: {template: {spec: {containers: [{image: nginx:1}]}}}\n",
			want: "rewritten nginx:1 reg.example.org/web:v2 entry 0 at spec.template.spec.containers[0].image\n",
		},
		{
			why: "a hook, kept from Flux", o: audit.Options{Hooks: audit.HooksKept}, in: "apiVersion: batch/v1\nkind: Job\nmetadata: {name: h, annotations: {helm.sh/hook: pre-install}}\nspec: {template: {spec: {containers: [{image: nginx:1}]}}}\n",
			want: "unreached hook nginx:1  entry 0 at spec.template.spec.containers[0].image\n",
		},
		{
			why: "what else is in a hook", o: audit.Options{Hooks: audit.HooksKept}, in: "apiVersion: x.io/v1\nkind: Thing\nmetadata: {name: h, annotations: {helm.sh/hook: pre-install}}\nspec: {args: [--image=nginx:1], text: see nginx:1 here}\n",
			want: "unreached hook nginx:1  entry 0 at spec.args[0]\nsuspected hook nginx:1  entry 0 at spec.text\n",
		},
		{
			why:  "a plain Job",
			in:   "apiVersion: batch/v1\nkind: Job\nmetadata: {name: j}\nspec: {template: {spec: {containers: [{image: nginx:1}]}}}\n",
			want: "rewritten nginx:1 reg.example.org/web:v2 entry 0 at spec.template.spec.containers[0].image\nwarning job Job j at 4:47 spec.template.spec.containers[0].image\n",
		},
		{
			why:  "the values of a release, and what kustomize reaches in them",
			in:   "apiVersion: helm.toolkit.fluxcd.io/v2\nkind: HelmRelease\nmetadata: {name: r}\nspec: {values: {image: {repository: quay.io/a/b, tag: v1}, containers: [{image: nginx:1}]}, postRenderers: [{kustomize: {images: [{name: quay.io/a/b, newTag: v1}]}}]}\n",
			want: "unreached release-values quay.io/a/b quay.io/a/b:v1 entry -1 at spec.values.image.repository\nrewritten nginx:1 reg.example.org/web:v2 entry 0 at spec.values.containers[0].image\n",
		},
		{
			why:  "what is a container by another name, and what is none",
			in:   "apiVersion: tekton.dev/v1\nkind: Task\nmetadata: {name: t}\nspec: {steps: [{image: busybox}], sidecarContainers: [{image: alpine}, {image: auto}], machine: {image: ubuntu-22.04}}\n",
			want: "unreached custom-resource busybox  entry -1 at spec.steps[0].image\nunreached custom-resource alpine  entry -1 at spec.sidecarContainers[0].image\n",
		},
		{
			why:  "a name that a container has, in a place that says nothing",
			in:   "kind: ConfigMap\nmetadata: {name: c}\ndata: {a: redis:6, b: nosuch:6, c: quay.io/a/b}\n---\n" + container("redis:5"),
			want: "suspected config-map redis:6  entry -1 at data.a\nsuspected config-map quay.io/a/b  entry 1 at data.c\nkept no-entry redis:5  entry -1 " + at,
		},
		{
			why:  "a variable whose name comes behind its value",
			in:   "kind: Pod\nmetadata: {name: p}\nspec: {containers: [{env: [{value: redis:6, name: CACHE_IMAGE}]}]}\n",
			want: "unreached environment redis:6  entry -1 at spec.containers[0].env[0].value\n",
		},
		{
			why:  "parameters by their names",
			in:   "apiVersion: tekton.dev/v1\nkind: Task\nmetadata: {name: t}\nspec: {params: [{name: GIT_IMAGE, default: 'git/git:1'}, {name: image.tag, value: 'a/b:c'}, {name: image.repository, value: x/y}]}\n",
			want: "unreached custom-resource git/git:1  entry -1 at spec.params[0].default\nunreached custom-resource x/y  entry -1 at spec.params[2].value\n",
		},
		{
			why:  "what only looks like a registry with a path and a tag, or an image by its key",
			in:   "kind: Pod\nmetadata: {name: p}\nspec: {containers: [{args: ['--taint=node-role.kubernetes.io/control-plane:NoSchedule', 'nvidia.com/gpu:1', 'localhost:8080/healthz']}]}\nspec2: {forProvider: {image: debian-cloud/debian-11}}\nlogoImage: assets/logo.png\nimage: pictures/cat.png\nbackingImage: a/b\n",
			want: "",
		},
		{
			why:  "a flag and its value in two arguments",
			in:   "kind: Pod\nmetadata: {name: p}\nspec: {containers: [{args: [--cache-image, redis:6, --level, warn:6]}]}\n",
			want: "unreached argument redis:6  entry -1 at spec.containers[0].args[1]\n",
		},
		{
			why: "parts of one character, or none, and what is null",
			in: "apiVersion: x.io/v1\nkind: Thing\nmetadata: {name: t}\nspec:\n  a: {image: {repository: quay.io/a/b, tag: '3'}}\n  b: {image: {repository: quay.io/a/b, tag: 3}}\n  b1: {image: {repository: quay.io/a/b, tag: 1.20}}\n  b2: {image: {repository: quay.io/a/b, tag: 010}}\n  b3: {image: {repository: quay.io/a/b, tag: !!str 1.20}}\n  c: {image: {repository: quay.io/a/b, tag: null}}\n  d: {image: {repository: quay.io/a/b, tag: ~, digest: ''}}\n" +
				"  e: {image: {registry: '', repository: quay.io/a/b, tag: 'null'}}\n  f: {repository: '', image: quay.io/a/b, version: v1}\n",
			want: "unreached parts quay.io/a/b quay.io/a/b:3 entry 1 at spec.a.image.repository\nunreached parts quay.io/a/b quay.io/a/b:3 entry 1 at spec.b.image.repository\nunreached parts quay.io/a/b quay.io/a/b:1.2 entry 1 at spec.b1.image.repository\nunreached parts quay.io/a/b quay.io/a/b:8 entry 1 at spec.b2.image.repository\nunreached parts quay.io/a/b quay.io/a/b:1.20 entry 1 at spec.b3.image.repository\nunreached parts quay.io/a/b quay.io/a/b entry 1 at spec.c.image.repository\nunreached parts quay.io/a/b quay.io/a/b entry 1 at spec.d.image.repository\n" +
				"unreached parts quay.io/a/b quay.io/a/b:null entry 1 at spec.e.image.repository\nunreached parts quay.io/a/b quay.io/a/b:v1 entry 1 at spec.f.image\n",
		},
		{
			why:  "texts inside of texts",
			in:   "kind: ConfigMap\nmetadata: {name: c}\ndata:\n  pod.yaml: |2\n      kind: Pod\n      spec:\n        containers:\n        - image: busybox\n  split.json: '{\"hub\": \"reg.example.com\", \"image\": \"app\", \"tag\": \"v1\"}'\n  script: |\n    # quay.io/in/a-comment:v1\n    {{ if .x }}\n    image: busybox:1.28\n",
			want: "unreached text busybox  entry -1 at data[\"pod.yaml\"]\nunreached parts app reg.example.com/app:v1 entry 2 at data[\"split.json\"]\nunreached config-map busybox:1.28  entry -1 at data.script\n",
		},
		{
			why: "no images",
			in: "apiVersion: v1\nkind: Pod\nmetadata: {name: p, labels: {a: quay.io/a/b}, annotations: {kubectl.kubernetes.io/last-applied-configuration: '{\"image\": \"quay.io/a/b:v1\"}', vm-default-images.example.org/name: ubuntu-22.04}}\n" +
				"spec:\n  volumes: [{rbd: {image: foo, monitors: ['10.16.154.78:6789']}}]\n  imagePullPolicy: IfNotPresent\n  url: http://a.example.org:9500/v1\n  group: apps/v1\n  key: node-role.kubernetes.io/control-plane\nstatus: {image: quay.io/a/b:v1}\n---\napiVersion: apiextensions.k8s.io/v1\nkind: CustomResourceDefinition\nmetadata: {name: d}\nspec: {image: quay.io/a/b:v1}\n",
		},
		{
			why:  "strings in containers, and the rest is rewritten",
			in:   "kind: Thing\nmetadata: {name: t}\nspec: {template: text, containers: [{image: nginx:1}], x: {containers: [a]}}\nspec2: {a: 1, a: 2}\n",
			want: "rewritten nginx:1 reg.example.org/web:v2 entry 0 at spec.containers[0].image\nerror spec Thing t at 3:18 spec.template\nerror containers Thing t at 3:73 spec.x.containers[0]\nerror key-twice Thing t at 4:15 spec2.a\n",
		},
		{why: "a template", in: container("{{ .Values.image }}"), want: "error template Pod p at 4:29 spec.containers[0].image\n"},
		{why: "a template with conditions, and the next document", in: "{{- if .x }}\nkind: Pod\n{{- end }}\n---\n" + container("nginx:1"), want: "rewritten nginx:1 reg.example.org/web:v2 entry 0 " + at + "error template object at 1:1 \n"},
		{why: "an alias around itself, and the next document", in: "kind: Pod\nx: &a [*a]\n---\n" + container("nginx:1"), want: "rewritten nginx:1 reg.example.org/web:v2 entry 0 " + at + "error alias object at 2:8 \n"},
		{why: "documents that are lost", in: "{\"kind\": \"Pod\", \"metadata\": {\"name\": \"p\"}}\n{\"kind\": \"Pod\", \"metadata\": {\"name\": \"q\"}}\n", want: "warning lost object at 2:1 \n"},
	} {
		if diff := cmp.Diff(test.want, told(t, table, test.o, test.in)); diff != "" {
			t.Errorf("%s: want (-), told (+)\n%s", test.why, diff)
		}
	}
}

// TestEntries: entries that met nothing, with the nearest name.
func TestEntries(t *testing.T) {
	table := mustTable(t,
		imageoverrides.Override{Name: "quay.io/metallb/speeker", NewTag: "1"}, imageoverrides.Override{Name: "mirror.gcr.io/alpine/kubectl", NewTag: "1"},
		imageoverrides.Override{Name: "registry.example.org/x/redis", NewTag: "1"}, imageoverrides.Override{Name: "zzz.example.org/q", NewTag: "1"}, imageoverrides.Override{Name: "docker.io/library/redis", NewTag: "1"},
	)
	r := report(t, table, audit.Options{}, map[string]string{"s": "kind: Pod\nspec: {containers: [{image: 'quay.io/metallb/speaker:v1'}, {image: redis}, {image: ghcr.io/alpine/kubectl}]}\n"})
	var near []string
	for _, e := range r.Entries {
		near = append(near, fmt.Sprint(e.Unused(), " ", e.Near))
	}
	want := []string{"true quay.io/metallb/speaker", "true ghcr.io/alpine/kubectl", "true redis", "true ", "false "}
	if diff := cmp.Diff(want, near); diff != "" {
		t.Error(diff)
	}
}

// TestOutside: images that come from elsewhere than is allowed, however they are spelled.
func TestOutside(t *testing.T) {
	in := "kind: Pod\nspec: {containers: [{image: nginx}, {image: reg.example.org/os/a}, {image: reg.example.org/osx/a}, {image: reg.example.org.evil/os/a}, {image: index.docker.io/library/b}, {image: grafana/c}]}\n"
	r := report(t, imageoverrides.Table{}, audit.Options{Allowed: []string{"reg.example.org/os/", "docker.io/library"}}, map[string]string{"s": in})
	var outside []bool
	for _, p := range r.Places {
		outside = append(outside, p.Outside)
	}
	if diff := cmp.Diff([]bool{false, false, true, true, false, true}, outside); diff != "" {
		t.Error(diff)
	}
}

// TestFields: callers' own fields count more than those of the catalogue.
func TestFields(t *testing.T) {
	in := "apiVersion: example.org/v1\nkind: Thing\nmetadata: {name: t}\nspec: {runs: busybox/x, image: a/b}\n"
	o := audit.Options{Fields: []audit.Field{{Group: "example.org", Kind: "Thing", Path: "spec.runs", Shape: audit.ShapeImage}, {Group: "example.org", Kind: "*", Path: "spec.image", Shape: audit.ShapeNone}}}
	if diff := cmp.Diff("unreached custom-resource a/b  entry -1 at spec.image\n", told(t, imageoverrides.Table{}, audit.Options{}, in)); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff("unreached custom-resource busybox/x  entry -1 at spec.runs\n", told(t, imageoverrides.Table{}, o, in)); diff != "" {
		t.Error(diff)
	}
}

// TestAddErrors: an error of the reader comes back, what was read before it counts, and more can be added.
func TestAddErrors(t *testing.T) {
	broken := errors.New("broken")
	a := audit.New(imageoverrides.Table{}, audit.Options{})
	pod := "kind: Pod\nmetadata: {name: p}\nspec: {containers: [{image: a:1}]}\n---\n"
	if err := a.Add("s", io.MultiReader(strings.NewReader(pod), iotest.ErrReader(broken))); err != broken {
		t.Errorf("%v", err)
	}
	err := a.Add("long", io.MultiReader(strings.NewReader("---\n"+pod), bytes.NewReader(bytes.Repeat([]byte("a: b\n"), imageoverrides.MaxDocument/5+1))))
	var e *audit.Error
	if want := "long: line 5, column 1: a document of more than 67108864 bytes"; !errors.As(err, &e) || e.Error() != want || e.Source != "long" || e.Line != 5 {
		t.Errorf("%v, want %s", err, want)
	}
	if r := a.Report(); len(r.Places) != 2 || r.Summary.Kept != 2 {
		t.Errorf("%+v", r)
	}
}

// TestBaseline: what is accepted is neither told nor failed on, wherever it moves to in its source.
func TestBaseline(t *testing.T) {
	table := mustTable(t, imageoverrides.Override{Name: "nginx", NewTag: "1"}, imageoverrides.Override{Name: "unused", NewTag: "1"})
	in := "kind: Pod\nmetadata: {name: p}\nspec: {containers: [{image: library/nginx, args: [a, '--image=quay.io/a/b:v1']}]}\nx: {a: 1, a: 2}\n"
	r := report(t, table, audit.Options{}, map[string]string{"s": in})
	var b bytes.Buffer
	if err := r.WriteBaseline(&b, audit.Kinds...); err != nil {
		t.Fatal(err)
	}
	want := `# What is known of the images of the platform, and accepted: findings of imageoverrides audit.
errors key-twice s Pod - p x.a
missed s Pod - p spec.containers[0].image library/nginx
unreached s Pod - p spec.containers[0].args[1] quay.io/a/b:v1
unused unused
`
	if diff := cmp.Diff(want, b.String()); diff != "" {
		t.Error(diff)
	}
	accepted, err := audit.ReadBaseline(&b)
	if err != nil {
		t.Fatal(err)
	}
	var text bytes.Buffer
	moved := report(t, table, audit.Options{}, map[string]string{"s": "# moved\n" + in})
	if err := moved.WriteText(&text, accepted); err != nil {
		t.Fatal(err)
	}
	if want := "2 images in 1 document: 0 rewritten, 0 kept, 1 missed, 1 unreached, 0 suspected; 1 entry without effect; 1 error, 0 warnings; 4 accepted\n"; text.String() != want {
		t.Errorf("%q, want %q", text.String(), want)
	}
	for _, f := range moved.Findings() {
		if !accepted[f.Key] {
			t.Errorf("not accepted: %+v", f)
		}
	}
	if _, err := audit.ReadBaseline(iotest.ErrReader(io.ErrUnexpectedEOF)); err != io.ErrUnexpectedEOF {
		t.Errorf("%v", err)
	}
}

// TestHostile: what a hostile manifest is made of costs no more than its bytes; were it otherwise, this test would not end. What is not looked
// at is told.
func TestHostile(t *testing.T) {
	table := mustTable(t, imageoverrides.Override{Name: "nginx", NewTag: "1"})
	deep := strings.Repeat("{\"image\": ", 480)
	for why, in := range map[string]string{
		"a long text that many aliases stand for": "a: &a '" + strings.Repeat("quay.io/a/b:v1 ", 30_000) + "'\nb:\n" + strings.Repeat("- *a\n", 60_000),
		"many images on one line":                 "kind: ConfigMap\nmetadata: {name: c}\ndata: {a: 'x {{ " + strings.Repeat("quay.io/a/b:v1 ", 60_000) + "'}\n",
		"many parts":                              "kind: Thing\nmetadata: {name: c}\nlist:\n" + strings.Repeat("- {repository: a/b, tag: v1}\n", 40_000),
		"parts of one image":                      "kind: Thing\nmetadata: {name: c}\nspec:\n" + strings.Repeat("  tag: v1\n", 80_000),
		"images deep inside":                      deep + "[" + strings.Repeat("{\"image\": \"a/b:v1\"},", 50_000) + "1]" + strings.Repeat("}", 480),
		"maps that merge each other": "a: &a0 {x: y}\n" + func() (s string) {
			for i := range 40 {
				s += fmt.Sprintf("b%d: &a%d {<<: [*a%d, *a%d], k%d: v}\n", i, i+1, i, i, i)
			}
			return s
		}(),
		"objects twice":               strings.Repeat("---\nkind: Pod\nmetadata: {name: p}\n", 30_000),
		"texts behind a long key":     `{"kind": "Thing", "metadata": {"name": "c"}, "spec": {"` + strings.Repeat("k", 400_000) + `": {"images": [` + strings.Repeat("\"quay.io/a/b:v1\",\n", 30_000) + "1]}}}",
		"images that Flux reaches so": `{"kind": "Pod", "metadata": {"name": "c"}, "` + strings.Repeat("k", 400_000) + `": {"containers": [` + strings.Repeat("{\"image\": \"quay.io/a/b:v1\"},\n", 30_000) + "{}]}}",
		"aliases in a text":           "kind: ConfigMap\nmetadata: {name: c}\ndata:\n  a: |\n    a: &a '" + strings.Repeat("quay.io/a/b:v1 ", 3_000) + "'\n    b:\n" + strings.Repeat("    - *a\n", 6_000) + "    image: quay.io/c:v1\n",
		"texts in texts":              "kind: ConfigMap\nmetadata: {name: c}\ndata:\n  a: |\n" + strings.Repeat("    - a: \"- image: 'x/y:v1'\\n- b\"\n", 20_000),
	} {
		want := slices.Contains([]string{"a long text that many aliases stand for", "maps that merge each other", "images deep inside", "texts behind a long key", "aliases in a text"}, why)
		for _, parts := range []bool{false, true} {
			r := report(t, table, audit.Options{Parts: parts}, map[string]string{"s": in})
			if unread := slices.ContainsFunc(r.Risks, func(k audit.Risk) bool { return k.Rule == audit.RiskUnread }); want != unread {
				t.Errorf("%s: %+v", why, r.Risks[:min(3, len(r.Risks))])
			}
		}
	}
}

// TestLongWays: the parts of an image are those of one map, also where all that tells it from another is left out of the written path.
func TestLongWays(t *testing.T) {
	one := func(n string) string {
		return `{"o": {"p": {"q": {"r": {"s": {"t": {"image": {"repository": "quay.io/a/` + n + `", "tag": "v` + n + `"}}}}}}}}`
	}
	r := report(t, imageoverrides.Table{}, audit.Options{Parts: true}, map[string]string{
		"s": `{"kind": "Thing", "metadata": {"name": "c"}, "spec": {"` + strings.Repeat("k", 600) + `": [` + one("1") + ", " + one("2") + "]}}"})
	var got []string
	for _, p := range r.Places {
		got = append(got, p.Whole)
		for _, part := range p.Parts {
			got = append(got, part.Pointer[strings.LastIndex(part.Pointer, "kk")+2:])
		}
	}
	want := []string{"quay.io/a/1:v1", "/0/o/p/q/r/s/t/image/repository", "/0/o/p/q/r/s/t/image/tag", "quay.io/a/2:v2", "/1/o/p/q/r/s/t/image/repository", "/1/o/p/q/r/s/t/image/tag"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

// TestMemory: what is kept follows the images and not the stream, but for the names of objects.
func TestMemory(t *testing.T) {
	const n = 20_000
	i := 0
	src := generator(func() string {
		if i++; i > n {
			return ""
		}
		return fmt.Sprintf("---\napiVersion: v1\nkind: ConfigMap\nmetadata: {name: settings-%d}\ndata:\n  text: %q\n", i, strings.Repeat("some words: of a text/of no image ", 10))
	})
	heap := func() int {
		runtime.GC()
		var m runtime.MemStats
		runtime.ReadMemStats(&m)
		return int(m.HeapAlloc)
	}
	before := heap()
	a := audit.New(imageoverrides.Table{}, audit.Options{})
	if err := a.Add("s", src); err != nil {
		t.Fatal(err)
	}
	if kept := heap() - before; kept > 60*n {
		t.Errorf("%d bytes are kept of %d objects", kept, n)
	}
	if r := a.Report(); r.Summary.Documents != n || len(r.Places) != 0 {
		t.Errorf("%+v", r.Summary)
	}
}

// A generator is a reader of what a function gives, until that is empty.
type generator func() string

func (g generator) Read(p []byte) (int, error) {
	text := g()
	if text == "" {
		return 0, io.EOF
	}
	return copy(p, text), nil // shorter than what the audit reads at a time
}
