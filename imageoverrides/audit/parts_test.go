// SPDX-License-Identifier: Apache-2.0

package audit_test

import (
	"testing"

	"github.com/cozystack/image-overrides/imageoverrides"
	"github.com/cozystack/image-overrides/imageoverrides/audit"
)

// TestTogether: images in parts are put together, and how sure that is depends on which parts there are.
func TestTogether(t *testing.T) {
	table := mustTable(t, imageoverrides.Override{Name: "ghcr.io/x/same", NewTag: "1"})
	for parts, want := range map[string]string{
		"{repository: quay.io/team, image: app, tag: v1}":                      "unreached parts app quay.io/team/app:v1 entry -1 at spec.x.image\n",
		"{repository: quay.io/team, image: app, digest: " + digestA + "}":      "unreached parts app quay.io/team/app@" + digestA + " entry -1 at spec.x.image\n",
		"{repository: quay.io/team, image: app}":                               "",
		"{registry: quay.io, image: app, tag: v1}":                             "unreached parts app quay.io/app:v1 entry -1 at spec.x.image\n",
		"{registry: quay.io/, image: team/app, tag: v1}":                       "unreached parts team/app quay.io/team/app:v1 entry -1 at spec.x.image\n",
		"{registry: quay.io, name: team/app, tag: v1}":                         "",
		"{registry: quay.io, repository: team/app, tag: v1}":                   "unreached parts team/app quay.io/team/app:v1 entry -1 at spec.x.repository\n",
		"{registry: quay.io, repository: team/app, hash: " + digestA[7:] + "}": "unreached parts team/app quay.io/team/app@" + digestA + " entry -1 at spec.x.repository\n",
		"{repository: quay.io/team/app, tag: v1}":                              "unreached parts quay.io/team/app quay.io/team/app:v1 entry -1 at spec.x.repository\n",
		"{repository: quay.io/team/app, version: v1}":                          "suspected parts quay.io/team/app quay.io/team/app:v1 entry -1 at spec.x.repository\n",
		"{repo: quay.io/team/app, tag: v1}":                                    "suspected parts quay.io/team/app quay.io/team/app:v1 entry -1 at spec.x.repo\n",
		"{image: quay.io/team/app, tag: v1}":                                   "unreached parts quay.io/team/app quay.io/team/app:v1 entry -1 at spec.x.image\n",
	} {
		if got := told(t, table, audit.Options{}, "kind: A\nmetadata: {name: p}\nspec: {x: "+parts+"}\n"); got != want {
			t.Errorf("%s:\n%swant\n%s", parts, got, want)
		}
	}
}

// TestLines: a word in a text is told where its line says that it is an image, or where it cannot be anything else.
func TestLines(t *testing.T) {
	table := mustTable(t, imageoverrides.Override{Name: "ghcr.io/x/same", NewTag: "1"})
	for line, want := range map[string]string{
		"image: nginx": "", "--image=nginx": "", "x: nginx:1.2": "", "image: nginx:1": "nginx:1", "--image=nginx:1": "nginx:1", "image: team/app": "team/app", "image: quay.io/app": "quay.io/app", "image: quay.io": "",
		"image: nginx@" + digestA: "nginx@" + digestA, "image: \"nginx:1\"": "nginx:1", "image : nginx:1,": "nginx:1", "image: $nginx:1": "", "image: nginx:${A}": "", "image: nginx:1.": "nginx:1",
	} {
		if want != "" {
			want = "unreached config-map " + want + "  entry -1 at data.a\n"
		}
		if got := told(t, table, audit.Options{}, "kind: ConfigMap\nmetadata: {name: p}\ndata:\n  a: |\n    "+line+"\n    b\n"); got != want {
			t.Errorf("%s:\n%swant\n%s", line, got, want)
		}
	}
}
