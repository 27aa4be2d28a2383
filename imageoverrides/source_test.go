// SPDX-License-Identifier: Apache-2.0

package imageoverrides

import (
	"errors"
	"io"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

// RewriteSource is Rewrite where there is nothing to refuse, with the same places; and where there is, the documents before it are
// written, and the refusal stands in its place.
func TestRewriteSource(t *testing.T) {
	table, err := New(Override{Name: "registry.k8s.io/pause", NewTag: "3.10"})
	if err != nil {
		t.Fatal(err)
	}
	const pod = "kind: Pod\nmetadata: {name: a}\nspec:\n  containers:\n  - image: registry.k8s.io/pause:3.9\n"
	sound := rapid.SampledFrom([]string{
		pod, "# c\n", "kind: Service\n", strings.ReplaceAll(pod, "\n", "\r\n"), `{"spec": {"containers": [{"image": "registry.k8s.io/pause"}]}}` + "\n",
		"kind: ConfigMap\ndata: {a: '{{ .x }}', sops: b}\n", "kind: Service\nsops: {mac: x}\n", pod + "sops: {mac: x, mac_only_encrypted: true}\n",
		"x: &x registry.k8s.io/pause:1\nspec: {containers: [{image: *x}]}\n",
		"kind: List\nitems:\n- kind: Service\n  sops: {mac: x}\n- {spec: {containers: [{image: registry.k8s.io/pause}]}}\n",
	})
	type bad struct {
		text, at, reason string
		rule             Rule
	}
	const signed = "signed by SOPS, and would change: its MAC would not fit any more; decrypt it, change it, and encrypt it again"
	const template = "a template; render it first (helm template)"
	refused := rapid.SampledFrom([]bad{
		{pod + "sops: {mac: x}\n", "sops", "Pod a: " + signed, RuleSigned},
		{"kind: List\nitems:\n- {spec: {containers: [{image: registry.k8s.io/pause}]}, sops: {mac: x}}\n", "sops", "object: " + signed, RuleSigned},
		{"kind: Pod\nspec: {a: {{ .x }}}\n", "{{", template, RuleTemplate},
		{"kind: Pod\n{{ if .x }}\n", "{{", template, RuleTemplate},
		{"kind: Pod\nspec: {containers: [{image: '{{ .Values.x }}'}]}\n", "'{{", template, RuleTemplate},
		{"kind: [Pod\n", "\n", "did not find expected ',' or ']'", RuleSyntax},
	})
	rapid.Check(t, func(t *rapid.T) {
		docs := rapid.SliceOfN(sound, 0, 4).Draw(t, "documents")
		text := strings.Join(docs, "---\n")
		var want, got strings.Builder
		wantResult, err := Rewrite(&want, strings.NewReader(text), table)
		if err != nil {
			t.Fatal(err)
		}
		result, err := RewriteSource(&got, iotest.OneByteReader(strings.NewReader(text)), table)
		if err != nil || got.String() != want.String() {
			t.Fatalf("%v\n%s", err, &got)
		}
		if diff := cmp.Diff(wantResult, result); diff != "" {
			t.Fatal(diff)
		}

		b := refused.Draw(t, "refused")
		before := strings.Join(append(docs, ""), "---\n")
		want.Reset()
		if _, err := Rewrite(&want, strings.NewReader(before), table); err != nil {
			t.Fatal(err)
		}
		got.Reset()
		var told []Change
		result, err = Rewriter{Changed: func(c []Change, _ []Edit) error { told = append(told, c...); return nil }}.RewriteSource(&got, strings.NewReader(before+b.text), table)
		wrote := strings.TrimSuffix(want.String(), "---\n")
		if got.String() != wrote || result.Changes != nil || result.Edits != nil {
			t.Fatalf("written: %q, want %q", &got, wrote)
		}
		if diff := cmp.Diff(wantResult.Changes, told); diff != "" {
			t.Fatal(diff)
		}
		upTo := before + b.text[:strings.LastIndex(b.text, b.at)]
		lines := strings.Split(upTo, "\n")
		column := len([]rune(lines[len(lines)-1])) + 1
		if b.rule == RuleSyntax {
			column--
		}
		var e *Error
		if !errors.As(err, &e) || e.Rule != b.rule || e.Reason() != b.reason || e.Line != len(lines) || e.Column != column {
			t.Fatalf("%v, want %d:%d: %s\n%s", err, len(lines), column, b.reason, before+b.text)
		}

		// An unknown and an empty table refuse nothing, and copy.
		for _, table := range []Table{{}, known(nil, source{})} {
			got.Reset()
			if _, err := RewriteSource(&got, strings.NewReader(before+b.text), table); err != nil || got.String() != before+b.text {
				t.Fatalf("%v, %q", err, &got)
			}
		}
	})

	// A document that is too large to be looked through is refused, and one that need not be is not.
	many := "x: [" + strings.Repeat("a,", 750_000) + "a]\n"
	const large = "a document of more than 1500000 values, which a YAML parser has to read, because of "
	for text, want := range map[string]string{
		pod + many:                   "",
		"a: sops\n" + many:           "",
		many + pod + "b: sops\n":     "line 7, column 4: " + large + "what may be a signature of SOPS",
		"kind: A\nb: 'c{{'\n" + many: "line 2, column 6: " + large + "what may be a template",
	} {
		_, err := RewriteSource(io.Discard, strings.NewReader(text), table)
		if got := Faults(err); want == "" && err != nil || want != "" && (len(got) != 1 || err.Error() != want || got[0].Rule != RuleTooLong) {
			t.Errorf("%.20q: %v", text, err)
		}
	}

	failed := errors.New("failed")
	if _, err := RewriteSource(io.Discard, iotest.ErrReader(failed), table); err != failed {
		t.Error(err)
	}
	if _, err := (Rewriter{Changed: func([]Change, []Edit) error { return failed }}).RewriteSource(io.Discard, strings.NewReader(pod), table); err != failed {
		t.Error(err)
	}
}
