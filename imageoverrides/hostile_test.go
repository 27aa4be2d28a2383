// SPDX-License-Identifier: Apache-2.0

package imageoverrides

import (
	"fmt"
	"io"
	"runtime"
	"strings"
	"testing"
	"time"
)

// hostileLists are lists of entries of about a megabyte that once cost minutes or gigabytes, and their like.
func hostileLists() map[string]string {
	dots := func(n int, name func(i int) string) string {
		var b strings.Builder
		for i := range n {
			fmt.Fprintf(&b, "- {name: %s, newTag: v%d}\n", name(i), i)
		}
		return b.String()
	}
	// spread puts dots at the places of the bits of i.
	spread := func(i int, letters string) string {
		text := []byte(letters)
		for bit := range text {
			if i>>bit&1 == 1 {
				text[bit] = '.'
			}
		}
		return string(text)
	}
	big := strings.Repeat("a", 300_000)
	bigger := "&a " + strings.Repeat("x", 500_000)
	return map[string]string{
		"C1, a long newName behind an anchor":     "- {name: a, newName: &a " + big + "}\n" + dots(3000, func(i int) string { return fmt.Sprintf("b%d, newName: *a", i) }),
		"C1, a long faulty name":                  "- {name: &a " + big + ":b, newTag: v1}\n" + strings.Repeat("- {name: *a, newTag: v1}\n", 10_000),
		"C1, an entry behind an anchor":           "- &e {name: a, newName: " + big + "}\n" + strings.Repeat("- *e\n", 50_000),
		"C1, a long newName that is merged":       "- &e {name: a, newName: " + big + "}\n" + dots(10_000, func(i int) string { return fmt.Sprintf("b%d, <<: *e", i) }),
		"C1, aliases just below the limit":        "- {name: a, newTag: " + bigger + "}\n" + dots(8, func(i int) string { return fmt.Sprintf("b%d, newTag: *a", i) }),
		"C1, a merge of many keys, many times":    "- &e {" + strings.Repeat("k: v, ", 10_000) + "name: a}\n- {<<: [*e" + strings.Repeat(", *e", 10_000) + "], name: b}\n",
		"C2, names with dots in different places": dots(18_000, func(i int) string { return spread(i+1, "registry-example-org/a/b") }),
		"C2, all of which match one image":        dots(18_000, func(i int) string { return spread(i+1, "aaaaaaaaaaaaaaaa") }),
		"C2, that match up to the last character": dots(18_000, func(i int) string { return spread(i+1, "aaaaaaaaaaaaaaaa") + "z" }),
		"C2, of many lengths":                     dots(18_000, func(i int) string { return spread(i+1, "aaaaaaaaaaaaaaaa") + strings.Repeat("b", i%20) }),
		"C2, of other alphabets":                  dots(12_000, func(i int) string { return spread(i+1, "aaaaaaaaaaaaaaaa") + string(rune(0x4e00+i)) }),
		"C3, repetitions":                         dots(1200, func(i int) string { return fmt.Sprintf("'a%d.{1000}.{1000}.{1000}.{1000}'", i) }),
		"C3, repetitions of repetitions":          dots(1200, func(i int) string { return fmt.Sprintf("'a%d(((a{9}){9}){9}){9}'", i) }),
		"C3, many short expressions":              dots(40_000, func(i int) string { return fmt.Sprintf("'a*%d'", i) }),
		"C3, expressions of large classes":        dots(10_000, func(i int) string { return fmt.Sprintf(`'\pL+%d\PN*[^a]'`, i) }),
		"C4, items that are no maps":              strings.Repeat("- 5\n", 170_000),
		"C4, unknown fields":                      "- {" + strings.Repeat("k: v, ", 1) + dotsFields(60_000) + "name: a}\n",
		"C4, one field many times":                "- {" + strings.Repeat("k: v, ", 150_000) + "name: a}\n",
		"C4, items that lack a name":              strings.Repeat("- {newTag: b}\n", 70_000),
		"one name many times":                     strings.Repeat("- {name: a, newTag: b}\n", 40_000),
		"a long name in each entry":               dots(500, func(i int) string { return fmt.Sprintf("%d%s", i, strings.Repeat("A", 2000)) }),
		"a long chain":                            dots(20_000, func(i int) string { return fmt.Sprintf("a%d, newName: a%d", i, i+1) }),
		"brackets":                                strings.Repeat("[", 1_000_000),
		"brackets, closed":                        strings.Repeat("[", 5_000) + strings.Repeat("]", 5_000),
		"maps in each other":                      "- " + strings.Repeat("{a: ", 200_000),
		"an escape for each character":            `- {name: "` + strings.Repeat(`\x41`, 200_000) + `", newTag: b}`,
		"line feeds":                              strings.Repeat("\n", 1_000_000) + "- 5\n",
		"anchors":                                 strings.Repeat("- &a {name: a, newTag: b}\n", 40_000),
	}
}

func dotsFields(n int) string {
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, "k%d: v, ", i)
	}
	return b.String()
}

// TestHostileTables: what a table of a megabyte costs is bounded, whoever reads it, and whatever is done with it.
func TestHostileTables(t *testing.T) {
	var manifest strings.Builder
	for i := range 10_000 { // which differ from the names at their ends
		fmt.Fprintf(&manifest, "- {image: 'registry-example-org/a/%c:v%d'}\n- {image: aaaaaaaaaaaaaaaa%c}\n", 'c'+rune(i%20), i, 'a'+rune(i%20))
	}
	for range 3 { // an image costs a step for each entry that applies
		manifest.WriteString("- {image: registry-example-org/a/b}\n- {image: aaaaaaaaaaaaaaaa}\n")
	}
	images := "containers:\n" + manifest.String()
	for why, list := range hostileLists() {
		t.Run(why, func(t *testing.T) {
			var before, after runtime.MemStats
			runtime.ReadMemStats(&before)
			start := time.Now()
			check := func(what string, table Table, err error) {
				if (err == nil) != table.Known() {
					t.Errorf("%s: %v, known %v", what, err, table.Known())
				}
				if err != nil && len(err.Error()) >= 4096 {
					t.Errorf("%s: an error of %d bytes", what, len(err.Error()))
				}
				for _, e := range Faults(err) {
					if len(e.Error()) > 20_000 {
						t.Errorf("%s: a fault of %d bytes", what, len(e.Error()))
					}
				}
				for _, f := range table.Lint() {
					if len(f.Message) > 20_000 {
						t.Errorf("%s: a finding of %d bytes", what, len(f.Message))
					}
				}
				if err := table.Strict(); err != nil && len(err.Error()) >= 4096 {
					t.Errorf("%s: an error of %d bytes", what, len(err.Error()))
				}
				if table.Known() {
					_, err := Rewrite(io.Discard, strings.NewReader(images), table)
					if err != nil && len(Faults(err)) != 1 {
						t.Errorf("%s: %v", what, err)
					}
				}
				runtime.ReadMemStats(&after)
				if bytes := after.TotalAlloc - before.TotalAlloc; bytes > 400<<20 {
					t.Errorf("%s: %d MB in all", what, bytes>>20)
				}
				t.Logf("%s: %v, %d MB, %.100q", what, time.Since(start).Round(time.Millisecond), (after.TotalAlloc-before.TotalAlloc)>>20, fmt.Sprint(err))
				before, start = after, time.Now()
			}
			table, err := Parse([]byte(list))
			check("Parse", table, err)
			indented := "  " + strings.ReplaceAll(strings.TrimSuffix(list, "\n"), "\n", "\n  ")
			table, err = ParseSecret(secret("_cluster:\n  image-overrides:\n" + indented + "\n"))
			check("ParseSecret", table, err)
			if table.Strict() != nil {
				t.Errorf("ParseSecret accepts what Strict refuses: %v", table.Strict())
			}
		})
	}
}
