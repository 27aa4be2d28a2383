// SPDX-License-Identifier: Apache-2.0

package postrender_test

import (
	"testing"

	helmv2 "github.com/fluxcd/helm-controller/api/v2"
	"github.com/fluxcd/pkg/apis/kustomize"
	"github.com/google/go-cmp/cmp"

	"github.com/cozystack/image-overrides/imageoverrides"
	"github.com/cozystack/image-overrides/postrender"
)

// TestMarkerAlone: a renderer that has the marker and no entry is a table's all the same, and goes
// when another comes, or none.
func TestMarkerAlone(t *testing.T) {
	table, err := imageoverrides.New(imageoverrides.Override{Name: "nginx", NewTag: "v2"})
	if err != nil {
		t.Fatal(err)
	}
	empty, err := imageoverrides.New()
	if err != nil {
		t.Fatal(err)
	}
	alone := []helmv2.PostRenderer{{Kustomize: &helmv2.Kustomize{Images: []kustomize.Image{{Name: postrender.Marker, NewTag: "0123456789ab"}}}}}
	if hash, ok := postrender.Hash(alone); !ok || hash != "0123456789ab" {
		t.Errorf("Hash gives %q, %v", hash, ok)
	}
	if diff := cmp.Diff([]helmv2.PostRenderer{postrender.Renderer(table)}, postrender.Merge(alone, table)); diff != "" {
		t.Error(diff)
	}
	if got := postrender.Merge(alone, empty); got != nil {
		t.Errorf("with an empty table it becomes %v", got)
	}
}
