// SPDX-License-Identifier: Apache-2.0

package conformance

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"helm.sh/helm/v3/pkg/postrender"
	"helm.sh/helm/v4/pkg/cli"
	"helm.sh/helm/v4/pkg/postrenderer"
	"pgregory.net/rapid"
	"sigs.k8s.io/kustomize/api/krusty"
	"sigs.k8s.io/kustomize/api/types"
	"sigs.k8s.io/kustomize/kyaml/filesys"

	"github.com/cozystack/image-overrides/imageoverrides"
	"github.com/cozystack/image-overrides/internal/oracle"
)

const postrendererTable = `registries:
  imageOverrides:
  - name: nginx
    newName: registry.example.org/nginx
  - name: quay.io/a/b
    newTag: "1.20"
  - name: a
    newName: registry.example.org/a
    newTag: v2
`

// postrendererIn builds the example in a directory, with its plugin.yaml and a table.
func postrendererIn(t *testing.T, dir string) (program, table string) {
	t.Helper()
	program, table = filepath.Join(dir, "postrenderer"), filepath.Join(dir, "values.yaml")
	if out, err := exec.Command("go", "build", "-o", program, "github.com/cozystack/image-overrides/examples/postrenderer").CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	must(0, os.WriteFile(table, []byte(postrendererTable), 0o600))
	must(0, os.WriteFile(filepath.Join(dir, "plugin.yaml"), must(os.ReadFile("../../examples/postrenderer/plugin.yaml")), 0o600))
	return program, table
}

func rewritten(t oracle.T, manifests string) string {
	t.Helper()
	table, err := imageoverrides.ParseValuesText([]byte(postrendererTable))
	if err != nil {
		t.Fatalf("%v", err)
	}
	var b strings.Builder
	if _, err := imageoverrides.Rewrite(&b, strings.NewReader(manifests), table); err != nil {
		t.Fatalf("%v", err)
	}
	return b.String()
}

// TestHelmPostRenderers: the program behind the flag of Helm 3, and as a plugin of Helm 4, gives the bytes of Rewrite.
func TestHelmPostRenderers(t *testing.T) {
	plugins := t.TempDir()
	dir := filepath.Join(plugins, "image-overrides")
	must(0, os.Mkdir(dir, 0o700))
	program, table := postrendererIn(t, dir)
	settings := cli.New()
	settings.PluginsDirectory = plugins
	three := must(postrender.NewExec(program, "-t="+table))
	four := must(postrenderer.NewPostRendererPlugin(settings, "image-overrides", "-t="+table))
	renderers := map[string]func(*bytes.Buffer) (*bytes.Buffer, error){"Helm 3": three.Run, "Helm 4": four.Run}
	draws := 0
	rapid.Check(t, func(rt *rapid.T) {
		if draws++; draws > 20 { // a process each
			return
		}
		manifests := oracle.Manifests().Draw(rt, "manifests")
		want := rewritten(rt, manifests)
		for helm, run := range renderers {
			got, err := run(bytes.NewBufferString(manifests))
			if err != nil {
				rt.Fatalf("%s: %v", helm, err)
			}
			if diff := cmp.Diff(want, got.String()); diff != "" {
				rt.Fatalf("%s\n%s", helm, diff)
			}
		}
	})
	for helm, run := range renderers {
		if got, err := run(bytes.NewBufferString("a: [\n")); err == nil {
			t.Errorf("%s takes no YAML, and gives %q", helm, got)
		}
	}
}

// TestKustomizeFunction: kustomize runs the program as a function, and its outcome is what Rewrite makes of kustomize's outcome without it.
func TestKustomizeFunction(t *testing.T) {
	dir := t.TempDir()
	postrendererIn(t, dir)
	const head = "metadata:\n  name: overrides\n  annotations:\n    config.kubernetes.io/function: |\n      exec: {path: ./postrenderer}\n"
	configs := map[string]string{
		"values":     "apiVersion: image-overrides.invalid/v1\nkind: ImageOverrides\n" + head + postrendererTable,
		"config map": "apiVersion: v1\nkind: ConfigMap\n" + head + "data:\n  values.yaml: |\n    " + strings.ReplaceAll(postrendererTable, "\n", "\n    ") + "\n",
	}
	build := func(manifests, config string) (string, error) {
		file := "kind: Kustomization\nresources: [manifests.yaml]\n"
		if config != "" {
			file += "transformers: [overrides.yaml]\n"
		}
		for name, text := range map[string]string{"kustomization.yaml": file, "manifests.yaml": manifests, "overrides.yaml": config} {
			must(0, os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600))
		}
		plugins := types.EnabledPluginConfig(types.BploUseStaticallyLinked)
		plugins.FnpLoadingOptions.EnableExec = true
		m, err := krusty.MakeKustomizer(&krusty.Options{LoadRestrictions: types.LoadRestrictionsRootOnly, PluginConfig: plugins}).Run(filesys.MakeFsOnDisk(), dir)
		if err != nil {
			return "", err
		}
		return string(must(m.AsYaml())), nil
	}
	draws := 0
	rapid.Check(t, func(rt *rapid.T) {
		if draws++; draws > 10 {
			return
		}
		plain, err := oracle.Kustomize(nil, oracle.Manifests().Draw(rt, "manifests"))
		if err != nil || plain == "" {
			rt.Skip(err)
		}
		before, err := build(plain, "")
		if err != nil {
			rt.Skip(err)
		}
		for why, config := range configs {
			got, err := build(plain, config)
			if err != nil {
				rt.Fatalf("%s: %v", why, err)
			}
			oracle.SameObjects(rt, got, rewritten(rt, before)) // kustomize writes them anew, with other quotes
		}
	})
	_, err := build("apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\n", "apiVersion: v1\nkind: Other\n"+head)
	if err == nil {
		t.Error("a function without a table is taken")
	}
}
