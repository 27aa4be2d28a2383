// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"fmt"
	"regexp"
	"strings"
	"testing"
	"time"
)

// many writes a text n times, with the number in place of each #.
func many(n int, text string) string {
	var b strings.Builder
	for i := range n {
		b.WriteString(strings.ReplaceAll(text, "#", fmt.Sprint(i)))
	}
	return b.String()
}

// A text of 1 MB is read or refused within moments by every command, and what is refused has a place.
func TestHostile(t *testing.T) {
	const release = "apiVersion: helm.toolkit.fluxcd.io/v2\nkind: HelmRelease\n"
	placed := regexp.MustCompile(`^<stdin>:\d+:\d+: `)
	for _, c := range []struct {
		why, in string
		refused string // by check, rewrite and merge, a letter for each
	}{
		{"braces", strings.Repeat("{a: ", 250_000), "crm"},
		{"brackets", strings.Repeat("[", 1_000_000), "crm"},
		{"dashes", strings.Repeat("- ", 500_000), "crm"},
		{"JSON", strings.Repeat(`{"a":`, 200_000), "crm"},
		{"actions", strings.Repeat("{{", 500_000), "crm"},
		{"long keys at a depth", "x: " + many(9000, "{"+strings.Repeat("k", 100)+"#: ") + "1" + strings.Repeat("}", 9000), "r"},
		{"aliases", bomb("kind: Pod\n"), "r"},
		{"aliases in post-renderers", bomb(release + "spec: {chart: c, postRenderers: *i}\n"), "rm"},
		{"aliases in a table", bomb("registries: {imageOverrides: *i}\n"), "cr"},
		{"merge keys", "apiVersion: v1\nkind: HelmRelease\na: &a {x: 1}\nspec:\n  <<: [" + strings.Repeat("*a,", 150_000) + "]\n", "r"},
		{"an alias around itself", release + "spec: &s {<<: *s, chart: *s}\n", "rm"},
		{"keys of a post-renderer", release + "spec:\n  chart: c\n  postRenderers: [{" + many(50_000, "k#: ,") + "}]\n", "m"},
		{"keys of a spec", release + "spec: {chart: c, " + many(50_000, "k#: ,") + "}\n", ""},
		{"keys of a Secret", "kind: Secret\nstringData: {" + many(10_000, "k#: '_cluster: {}',") + "}\n", ""},
		{"near misses", many(10_000, "imageOverrides#: x\n"), ""},
		{"components", "kind: Package\nspec: {components: {" + many(10_000, "c#: {values: {registries: {}}},") + "}}\n", ""},
		{"tables", "kind: Package\nspec: {components: {" + many(10_000, "c#: {values: {registries: {imageOverrides: []}}},") + "}}\n", "c"},
		{"releases in others", "kind: A\nb: [" + many(7000, "{kind: HelmRelease, apiVersion: helm.toolkit.fluxcd.io/v2, spec: {}},") + "]\n", ""},
		{"Lists in each other", strings.Repeat(`{"kind":"List","items":[`, 4000) + many(8000, `{"kind":"HelmRelease","apiVersion":"helm.toolkit.fluxcd.io/v2"},`) + "{}" + strings.Repeat("]}", 4000), "r"},
		{"blank lines behind a text", release + "spec:\n  chart: c\n  a: |+\n" + strings.Repeat("    b\n", 100_000) + strings.Repeat("\n", 300_000) + "x: 1\n", ""},
		{"a long first line", "# " + strings.Repeat("x", 500_000) + "\nkind: List\nitems:\n" + many(2000, "- apiVersion: helm.toolkit.fluxcd.io/v2\n  kind: HelmRelease\n  spec:\n    chart: c\n"), ""},
		{"signatures", "kind: List\nitems: [" + many(4000, "{kind: Pod, sops: {mac_only_encrypted: true, mac: x}, spec: {containers: [{image: 'registry.k8s.io/pause:1'}]}},") + "]\n", ""},
	} {
		t.Chdir(t.TempDir())
		write(t, "t", one)
		for _, args := range []string{"check -", "rewrite -t t", "merge -t t"} {
			var stdout, stderr bytes.Buffer
			start := time.Now()
			status := run(strings.Fields(args), strings.NewReader(c.in), &stdout, &stderr)
			t.Logf("%s, %s: %v", c.why, args, time.Since(start))
			says := stderr.String()
			if args == "check -" {
				says += stdout.String()
			}
			switch refused := strings.Contains(c.refused, args[:1]); {
			case refused && (status != 1 || !placed.MatchString(says)):
				t.Errorf("%s, %s: status %d, %.200s", c.why, args, status, says)
			case !refused && args != "check -" && status != 0:
				t.Errorf("%s, %s: status %d, %.200s", c.why, args, status, says)
			case len(says) > 4<<20:
				t.Errorf("%s, %s: says %d bytes", c.why, args, len(says))
			}
		}
	}
}
