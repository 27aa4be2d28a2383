// SPDX-License-Identifier: Apache-2.0

package audit_test

import (
	"fmt"
	"os"
	"strings"

	"github.com/cozystack/image-overrides/imageoverrides"
	"github.com/cozystack/image-overrides/imageoverrides/audit"
)

const manifests = `apiVersion: apps/v1
kind: Deployment
metadata:
  name: kamaji
spec:
  template:
    spec:
      containers:
      - name: manager
        image: quay.io/clastix/kamaji:v1.0.0
        args: [--migrate-image=quay.io/clastix/kamaji:v1.0.0]
      - name: proxy
        image: docker.io/library/nginx:1.27
`

func ExampleAudit() {
	table, err := imageoverrides.New(
		imageoverrides.Override{Name: "quay.io/clastix/kamaji", NewName: "registry.example.org/os/kamaji"},
		imageoverrides.Override{Name: "nginx", NewTag: "1.28"},
		imageoverrides.Override{Name: "quay.io/clastix/kamajj", NewTag: "v1.0.1"},
	)
	if err != nil {
		panic(err)
	}
	a := audit.New(table, audit.Options{Allowed: []string{"registry.example.org"}})
	if err := a.Add("kamaji.yaml", strings.NewReader(manifests)); err != nil {
		panic(err)
	}
	report := a.Report()
	for _, p := range report.Places {
		fmt.Println(p.Line, p.Status, p.Reason, p.Image, p.Outside)
	}
	report.WriteText(os.Stdout, nil)
	// Output:
	// 10 rewritten  quay.io/clastix/kamaji:v1.0.0 false
	// 11 unreached argument quay.io/clastix/kamaji:v1.0.0 true
	// 13 missed spelling docker.io/library/nginx:1.27 true
	// 2 images in 1 document: 1 rewritten, 0 kept, 1 missed, 1 unreached, 0 suspected, 2 from outside; 1 entry without effect; 0 errors, 0 warnings
	// missed: docker.io/library/nginx:1.27, for entry 1 (nginx): add an entry for this spelling
	//   kamaji.yaml:13:16: Deployment kamaji spec.template.spec.containers[1].image (spelling)
	// unreached: quay.io/clastix/kamaji:v1.0.0, for entry 0 (quay.io/clastix/kamaji): set it in the chart's values, or patch it
	//   kamaji.yaml:11:32: Deployment kamaji spec.template.spec.containers[0].args[0] (argument)
	// unused: quay.io/clastix/kamajj: entry 2 meets no image; the nearest that there is: quay.io/clastix/kamaji
}

func ExampleReport_Images() {
	a := audit.New(imageoverrides.Table{}, audit.Options{})
	if err := a.Add("kamaji.yaml", strings.NewReader(manifests)); err != nil {
		panic(err)
	}
	for _, image := range a.Report().Images() {
		fmt.Println(image)
	}
	// Output:
	// docker.io/library/nginx:1.27
	// quay.io/clastix/kamaji:v1.0.0
}
