// SPDX-License-Identifier: Apache-2.0

package conformance

import (
	"bytes"
	"encoding/json"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	helmv2 "github.com/fluxcd/helm-controller/api/v2"
	"github.com/google/go-cmp/cmp"
	action3 "helm.sh/helm/v3/pkg/action"
	loader3 "helm.sh/helm/v3/pkg/chart/loader"
	values3 "helm.sh/helm/v3/pkg/cli/values"
	cmd4 "helm.sh/helm/v4/pkg/cmd"
	"sigs.k8s.io/yaml"

	"github.com/cozystack/image-overrides/imageoverrides"
	"github.com/cozystack/image-overrides/imageoverrides/chart"
	"github.com/cozystack/image-overrides/postrender"
)

const example = "../../examples/chart"

// templates are what the command "helm template" does with a chart and values files.
var templates = map[string]func(dir string, files ...string) (string, error){
	"Helm 3": func(dir string, files ...string) (string, error) {
		values, err := (&values3.Options{ValueFiles: files}).MergeValues(nil)
		if err != nil {
			return "", err
		}
		c, err := loader3.Load(dir)
		if err != nil {
			return "", err
		}
		install := action3.NewInstall(new(action3.Configuration))
		install.DryRun, install.ClientOnly = true, true
		install.ReleaseName, install.Namespace = "platform", "cozy-system"
		release, err := install.Run(c, values)
		if err != nil {
			return "", err
		}
		return release.Manifest, nil
	},
	"Helm 4": func(dir string, files ...string) (string, error) {
		args := []string{"template", "platform", dir, "--namespace", "cozy-system"}
		for _, file := range files {
			args = append(args, "-f", file)
		}
		var out bytes.Buffer
		root, err := cmd4.NewRootCmd(&out, args, func(bool) {})
		if err != nil {
			return "", err
		}
		root.SetArgs(args)
		root.SetErr(&bytes.Buffer{})
		err = root.Execute()
		return out.String(), err
	},
}

// TestExample renders the example chart, with the library chart under charts/, by nothing but
// helm template, and follows the table from the values to the releases.
func TestExample(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "platform")
	if err := os.CopyFS(dir, os.DirFS(example)); err != nil {
		t.Fatal(err)
	}
	if err := os.CopyFS(filepath.Join(dir, "charts"), chart.FS); err != nil {
		t.Fatal(err)
	}
	if misses, err := chart.Check(os.DirFS(dir)); err != nil || len(misses) > 0 {
		t.Errorf("chart.Check: %v, %v", misses, err)
	}
	const entries = `
  imageOverrides:
  - name: registry.k8s.io/sig-storage/csi-attacher
    newName: registry.example.org/os/external-attacher
    newTag: "4.10.0"
    digest: sha256:f80b60d4523dcdecb225c3113bcbd0eedc45b4d2b46f87c0ccf4f14d09a4a35f
  - name: nginx
    newTag: "1e3"
`
	file := func(name, text string) string {
		name = filepath.Join(t.TempDir(), name)
		if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		return name
	}
	own := must(os.ReadFile(filepath.Join(example, "values.yaml")))
	var values struct {
		Ingress struct {
			PostRenderers []helmv2.PostRenderer `json:"postRenderers"`
		} `json:"ingress"`
	}
	if err := yaml.Unmarshal(own, &values); err != nil || len(values.Ingress.PostRenderers) != 1 {
		t.Fatalf("%v: %v", values, err)
	}
	table := must(imageoverrides.New(
		imageoverrides.Override{Name: "registry.k8s.io/sig-storage/csi-attacher", NewName: "registry.example.org/os/external-attacher", NewTag: "4.10.0", Digest: digest},
		imageoverrides.Override{Name: "nginx", NewTag: "1e3"},
	))
	for name, template := range templates {
		t.Run(name, func(t *testing.T) {
			render := func(files ...string) map[string]map[string]any {
				text, err := template(dir, files...)
				if err != nil {
					t.Fatalf("%v\n%s", err, text)
				}
				return objects(t, text)
			}

			// As it is, there are no overrides.
			plain := render()
			if diff := cmp.Diff(values.Ingress.PostRenderers, postRenderers(t, plain["HelmRelease ingress"])); diff != "" {
				t.Errorf("without a table, ingress (-want +got):\n%s", diff)
			}
			if got := postRenderers(t, plain["HelmRelease monitoring"]); got != nil {
				t.Errorf("without a table, monitoring has %s", encode(t, got))
			}
			job(t, plain, "migration")
			if got := secretOf(t, plain); !got.Known() || got.Len() != 0 {
				t.Errorf("without a table, the Secret has %s", encode(t, got))
			}

			// With a table, the Secret has it, and so do the releases of this chart.
			rendered := render(file("values.yaml", "registries:"+entries))
			if got := secretOf(t, rendered); !got.Equal(table) {
				t.Errorf("the Secret has %s, want %s", encode(t, got), encode(t, table))
			}
			want := postrender.Merge(values.Ingress.PostRenderers, table)
			if diff := cmp.Diff(want, postRenderers(t, rendered["HelmRelease ingress"])); diff != "" {
				t.Errorf("ingress (-want +got):\n%s", diff)
			}

			// The releases of other charts have it once Flux has put the Secret into their values.
			secret := rendered["Secret cozystack-values"]["stringData"].(map[string]any)["values.yaml"].(string)
			next := render(file("secret.yaml", secret))
			want = postrender.Merge(nil, table)
			if diff := cmp.Diff(want, postRenderers(t, next["HelmRelease monitoring"])); diff != "" {
				t.Errorf("monitoring (-want +got):\n%s", diff)
			}
			job(t, next, "migration-"+hashOf(table))

			// A table that is broken, or can never work, installs nothing.
			for text, want := range map[string]string{
				"registries: {imageOverrides: [{name: a, newTag: 1.20}]}\n": `registries.imageOverrides[0].newTag must be a string, got float64; quote it`,
				"registries: {imageOverrides: [{name: c++, newTag: a}]}\n": `registries.imageOverrides[0]: name "c++" has the character '+', so that Flux reads it as a regular expression; ` +
					`write the image as manifests spell it, without tag and digest`,
				"_cluster: {image-overrides: [{name: a}]}\n": `_cluster.image-overrides[0]: "a" sets none of newName, newTag, digest`,
			} {
				out, err := template(dir, file("broken.yaml", text))
				if err == nil || !strings.Contains(err.Error()+"\n", "): "+want+"\n") || strings.Contains(out, "kind: ") {
					t.Errorf("%s%v, want %s\n%s", text, err, want, out)
				}
			}
		})
	}
}

// objects splits the text of manifests into objects, by kind and name.
func objects(t *testing.T, text string) map[string]map[string]any {
	t.Helper()
	all := make(map[string]map[string]any)
	for part := range strings.SplitSeq("\n"+text, "\n---\n") {
		var object map[string]any
		if err := yaml.Unmarshal([]byte(part), &object); err != nil {
			t.Fatalf("%v in:\n%s", err, part)
		}
		if object != nil {
			all[object["kind"].(string)+" "+object["metadata"].(map[string]any)["name"].(string)] = object
		}
	}
	names := []string{"Secret cozystack-values", "HelmRelease ingress", "HelmRelease monitoring"}
	for _, name := range names {
		if all[name] == nil || len(all) != len(names)+1 { // and a Job, which has several names
			t.Fatalf("%s is missing, or there are more:\n%s", name, text)
		}
	}
	return all
}

// job sees that the Job is there by its name.
func job(t *testing.T, objects map[string]map[string]any, name string) {
	t.Helper()
	if objects["Job "+name] == nil {
		t.Errorf("there is no Job %s among %q", name, slices.Sorted(maps.Keys(objects)))
	}
}

func secretOf(t *testing.T, objects map[string]map[string]any) imageoverrides.Table {
	t.Helper()
	data := make(map[string][]byte)
	for key, text := range objects["Secret cozystack-values"]["stringData"].(map[string]any) {
		data[key] = []byte(text.(string))
	}
	table, err := imageoverrides.ParseSecret(data)
	if err != nil {
		t.Fatal(err)
	}
	return table
}

// postRenderers decodes those of a release as the API server does, and holds that no field
// is lost on the way.
func postRenderers(t *testing.T, object map[string]any) []helmv2.PostRenderer {
	t.Helper()
	var release helmv2.HelmRelease
	decoder := json.NewDecoder(strings.NewReader(encode(t, object)))
	decoder.DisallowUnknownFields()
	if err := decoder.Decode(&release); err != nil {
		t.Fatal(err)
	}
	return release.Spec.PostRenderers
}
