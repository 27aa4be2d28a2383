// SPDX-License-Identifier: Apache-2.0

package imageoverrides

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/cozystack/image-overrides/internal/manifest/document"
	"github.com/cozystack/image-overrides/internal/oracle"
	"github.com/cozystack/image-overrides/reference"
)

// digests of nothing in particular.
var (
	digestA = "sha256:" + strings.Repeat("ab", 32)
	digestC = "sha256:" + strings.Repeat("cd", 32)
)

// applyPlainly is Apply as kustomize does it: every entry's expression in turn, twice.
func applyPlainly(overrides []Override, image string, twice bool) (string, []int) {
	var entries []int
	for i, o := range overrides {
		re, err := regexp.Compile("^" + o.Name + "(:[a-zA-Z0-9_.{}-]*)?(@sha256:[a-zA-Z0-9_.{}-]*)?$")
		if err != nil {
			continue
		}
		for round := range 2 {
			if !re.MatchString(image) || round == 1 && !twice {
				break
			}
			name, tag, digest := reference.Split(image)
			if o.NewName != "" {
				name = o.NewName
			}
			switch {
			case o.NewTag != "" && o.Digest != "":
				tag, digest = o.NewTag, o.Digest
			case o.NewTag != "":
				tag, digest = o.NewTag, ""
			case o.Digest != "":
				tag, digest = "", o.Digest
			}
			image = name
			if tag != "" {
				image += ":" + tag
			}
			if digest != "" {
				image += "@" + digest
			}
			if round == 0 {
				entries = append(entries, i)
			}
		}
	}
	return image, entries
}

// genTable gives tables that the chart accepts. Where strict is set, Lint finds no error.
func genTable(strict bool) *rapid.Generator[Table] {
	odd := append([]string{"a+", "m/a.*", ".*", "foo|bar", "quay.io/.*", "[", "c++", "[::1]:5000/a", "(a)", `\Qa`, "^a", "a$"}, oracle.OddNames...)
	entry := rapid.Custom(func(t *rapid.T) Override {
		o := Override{
			Name:    oracle.Name().Draw(t, "name"),
			NewName: rapid.OneOf(rapid.Just(""), oracle.Name(), rapid.SampledFrom([]string{"m.example.org/x", "m.example.org:5000/y"})).Draw(t, "newName"),
			NewTag:  rapid.SampledFrom([]string{"", "v2", "1.20", "b", "true"}).Draw(t, "newTag"),
			Digest:  rapid.SampledFrom([]string{"", "", digestC}).Draw(t, "digest"),
		}
		if !strict && rapid.IntRange(0, 3).Draw(t, "odd") == 0 {
			o.Name = rapid.SampledFrom(odd).Draw(t, "name")
		}
		if strict && rapid.IntRange(0, 5).Draw(t, "odd") == 0 {
			o.Name = rapid.SampledFrom(oracle.OddNames).Draw(t, "name")
		}
		if !strict && rapid.IntRange(0, 9).Draw(t, "odd") == 0 {
			o.NewName = rapid.SampledFrom([]string{"m/a:v9", "b@" + digestA, "h:5000", "a b", "B/", "it's", "a:b"}).Draw(t, "newName")
		}
		if strict && o.NewTag == "" && document.Plain(o.NewName) != o.NewName {
			o.NewTag = "v4" // kustomize makes a boolean of true: see TestRewriteStaysString
		}
		if o.NewName == "" && o.NewTag == "" && o.Digest == "" {
			o.NewTag = "v3"
		}
		return o
	})
	return rapid.Custom(func(t *rapid.T) Table {
		list := rapid.SliceOfNDistinct(entry, 0, 6, func(o Override) string { return o.Name }).Draw(t, "overrides")
		table, err := New(list...)
		if err != nil {
			t.Fatal(err)
		}
		if strict && table.Strict() != nil {
			t.Fatalf("the generator is wrong: %v", table.Strict())
		}
		return table
	})
}

// TestWild: names with dots in more arrangements than are tried one by one are matched as kustomize
// matches them.
func TestWild(t *testing.T) {
	letter := rapid.SampledFrom([]rune("..ab/:é\u00e0\u01e9"))
	name := func(n int) *rapid.Generator[string] {
		return rapid.Map(rapid.SliceOfN(letter, n, n), func(r []rune) string { return string(r) })
	}
	wild := 0
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(3, 6).Draw(t, "length")
		entry := rapid.Custom(func(t *rapid.T) Override {
			return Override{
				Name:    name(n).Filter(func(s string) bool { return !carriesTagOrDigest(s) }).Draw(t, "name"),
				NewName: rapid.OneOf(rapid.Just(""), rapid.Just(""), name(n)).Draw(t, "newName"), NewTag: "v1",
			}
		})
		overrides := rapid.SliceOfNDistinct(entry, maxArrangements, 100, func(o Override) string { return o.Name }).Draw(t, "overrides")
		table := mustTable(t, overrides...)
		for _, names := range table.t.index.byLength {
			if names != nil && names.wild != nil {
				wild++
			}
		}
		for range 5 {
			image := rapid.OneOf(name(n), name(n+1), rapid.Just("a\nab")).Draw(t, "image") + rapid.SampledFrom([]string{"", ":v2", "@" + digestA}).Draw(t, "rest")
			got := outcomeOf(table.Apply(image))
			if diff := cmp.Diff(outcomeOf(applyPlainly(overrides, image, true)), got); diff != "" {
				t.Fatalf("%+v\n%q:\n%s", overrides, image, diff)
			}
		}
	})
	if wild == 0 {
		t.Error("no table has many arrangements")
	}
}

func TestApplyAsKustomize(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		table := genTable(false).Draw(t, "table")
		overrides := overridesOf(table)
		for range 10 {
			image := oracle.Image().Draw(t, "image")
			for _, twice := range []bool{true, false} {
				got, entries := table.apply(image, twice)
				want, wantEntries := applyPlainly(overrides, image, twice)
				if got != want || !slices.Equal(entries, wantEntries) {
					t.Fatalf("%+v\n%q becomes %q by %v, kustomize makes %q by %v", overrides, image, got, entries, want, wantEntries)
				}
			}
		}
	})
}

// TestApplyFacts holds Apply against the images of the Pods that kustomize was measured with.
func TestApplyFacts(t *testing.T) {
	imageOf := regexp.MustCompile(`^apiVersion: v1\nkind: Pod\nmetadata: \{name: p\}\nspec:\n  containers:\n  - name: c\n    image: ([^\s"'>|&!\\]+)\n$`)
	outOf := regexp.MustCompile(`image: (\S+)\n`)
	checked := 0
	for _, fact := range facts(t) {
		in := imageOf.FindStringSubmatch(fact.In)
		out := outOf.FindStringSubmatch(fact.Out)
		if in == nil || out == nil {
			continue
		}
		checked++
		if got, _ := unchecked(fact.Images).Apply(in[1]); got != out[1] {
			t.Errorf("%s: %q becomes %q, kustomize makes %q", fact.Why, in[1], got, out[1])
		}
	}
	if checked < 30 {
		t.Errorf("only %d facts were read", checked)
	}
}

func TestApplyEntries(t *testing.T) {
	table, err := New(
		Override{Name: "a", NewName: "b"},
		Override{Name: "c", NewTag: "v2"},
		Override{Name: "b", NewName: "d/e", Digest: digestA},
	)
	if err != nil {
		t.Fatal(err)
	}
	for _, test := range []struct {
		why, image, want string
		entries          []int
	}{
		{"a chain", "a:v1", "d/e@" + digestA, []int{0, 2}},
		{"an entry that applies and changes nothing", "c:v2", "c:v2", []int{1}},
		{"no entry", "x:v1", "x:v1", nil},
		{"no text", "", "", nil},
	} {
		got, entries := table.Apply(test.image)
		if got != test.want || !slices.Equal(entries, test.entries) {
			t.Errorf("%s: Apply(%q) = %q, %v; want %q, %v", test.why, test.image, got, entries, test.want, test.entries)
		}
	}
	var unknown Table
	if got, entries := unknown.Apply("a:v1"); got != "a:v1" || entries != nil {
		t.Errorf("an unknown table gives %q, %v", got, entries)
	}
}

// manyOverrides gives n entries as a platform has them: a few registries, many paths.
func manyOverrides(n int) []Override {
	hosts := []string{"registry.k8s.io", "quay.io", "ghcr.io", "docker.io", "registry.example.org:5000", "gcr.io"}
	list := make([]Override, n)
	for i := range list {
		list[i] = Override{
			Name:    fmt.Sprintf("%s/team-%d/application-%d", hosts[i%len(hosts)], i%17, i),
			NewName: fmt.Sprintf("mirror.example.net/platform/application-%d", i),
			NewTag:  fmt.Sprintf("1.%d.0", i),
			Digest:  digestA,
		}
	}
	return list
}

func manyTable(t testing.TB, n int) Table {
	table, err := New(manyOverrides(n)...)
	if err != nil {
		t.Fatal(err)
	}
	return table
}

// misses are images that no entry of manyOverrides matches.
var misses = []string{
	"registry.k8s.io/team-1/application-x:v1.2.3", "quay.io/prometheus/prometheus:v3.1.0@" + digestC,
	"nginx", "ghcr.io/cozystack/cozystack/cozystack-api:v1.0.0",
}

func TestApplyWithoutAllocation(t *testing.T) {
	table := manyTable(t, 1000)
	if n := testing.AllocsPerRun(100, func() {
		for _, image := range misses {
			table.Apply(image)
		}
	}); n != 0 {
		t.Errorf("%v allocations where nothing matches", n)
	}
}

func BenchmarkApply(b *testing.B) {
	for _, n := range []int{10, 1000, 100000} {
		table := manyTable(b, n)
		b.Run(fmt.Sprintf("miss/%d", n), func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				for _, image := range misses {
					table.Apply(image)
				}
			}
		})
		b.Run(fmt.Sprintf("hit/%d", n), func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				table.Apply("quay.io/team-1/application-1:v1.2.3")
			}
		})
	}
}

// TestConcurrently: a table serves many goroutines. The race detector has the last word.
func TestConcurrently(t *testing.T) {
	table := mustTable(t, append(manyOverrides(100), Override{Name: "a+", NewTag: "v1"}, Override{Name: "nginx", NewName: "m/web"})...)
	var done sync.WaitGroup
	for range 8 {
		done.Add(1)
		go func() {
			defer done.Done()
			for range 50 {
				if image, _ := table.Apply("aa:v2"); image != "aa:v1" {
					t.Errorf("Apply gives %q", image)
				}
				var out strings.Builder
				if _, err := Rewrite(&out, strings.NewReader("containers: [{image: nginx}]\n"), table); err != nil || out.String() != "containers: [{image: m/web}]\n" {
					t.Errorf("Rewrite gives %q, %v", out.String(), err)
				}
				table.Lint()
			}
		}()
	}
	done.Wait()
}
