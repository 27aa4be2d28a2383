// SPDX-License-Identifier: Apache-2.0

package paths

import (
	"fmt"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/cozystack/image-overrides/internal/quote"
)

// leads reports whether a rule leads to the end of a path, by what its doc says and nothing else.
func leads(rule string, path []Step) bool {
	keys, deep := strings.CutPrefix(rule, "**.")
	if deep {
		for i := range path {
			if i > 0 && path[i].Item >= 0 && path[i-1].Item < 0 {
				continue // in the middle of what a key holds
			}
			if path[i].Item < 0 && leads(keys, path[i:]) {
				return true
			}
		}
		return false
	}
	for len(path) > 0 && path[0].Item >= 0 {
		path = path[1:] // lists at the root
	}
	key, rest, more := strings.Cut(keys, ".")
	key, list := strings.CutSuffix(key, "[]")
	if len(path) == 0 || path[0].Key != key {
		return false
	}
	path = path[1:]
	items := 0
	for len(path) > items && path[items].Item >= 0 {
		items++
	}
	switch {
	case list && items != 1, !more && !list && items > 0:
		return false
	case !more:
		return len(path) == items
	}
	return leads(rest, path[items:])
}

// TestRules: rules that are followed step by step lead where their doc says.
func TestRules(t *testing.T) {
	longest := strings.Repeat("k", 31)
	key := rapid.SampledFrom([]string{"a", "b", "c", "spec", "image", longest})
	rule := rapid.Custom(func(t *rapid.T) string {
		var parts []string
		for range rapid.IntRange(1, 3).Draw(t, "keys") {
			parts = append(parts, key.Draw(t, "key")+rapid.SampledFrom([]string{"", "", "[]"}).Draw(t, "list"))
		}
		return rapid.SampledFrom([]string{"", "**."}).Draw(t, "deep") + strings.Join(parts, ".")
	})
	step := rapid.Custom(func(t *rapid.T) Step {
		if rapid.IntRange(0, 2).Draw(t, "item") == 0 {
			return Step{Item: rapid.IntRange(0, 2).Draw(t, "index")}
		}
		return Step{Key: rapid.OneOf(key, key, rapid.SampledFrom([]string{"", "ab", "imagE", longest[1:], longest + "k", longest + longest})).Draw(t, "key"), Item: -1}
	})
	rapid.Check(t, func(t *rapid.T) {
		groups := [][]string{rapid.SliceOfN(rule, 1, 3).Draw(t, "rules"), rapid.SliceOfN(rule, 0, 2).Draw(t, "more rules")}
		r := NewRules(groups...)
		path := rapid.SliceOfN(step, 1, 7).Draw(t, "path")
		state := r.Root()
		for _, s := range path {
			if s.Item >= 0 {
				state = r.Item(state)
			} else {
				state = r.Key(state, s.Key)
			}
		}
		last := path[len(path)-1]
		any, may := false, false
		for i, rules := range groups {
			want := false
			for _, rule := range rules {
				want = want || leads(rule, path)
				end := strings.TrimSuffix(rule[strings.LastIndexByte(rule, '.')+1:], "[]")
				may = may || len(last.Key) == len(end) && last.Key[0] == end[0]
			}
			any = any || want
			if r.In(i, state) != want {
				t.Fatalf("%q lead to %s: %v, want %v", rules, Append(nil, path), !want, want)
			}
		}
		if r.Any(state) != any || r.May(last.Key) != may {
			t.Fatalf("%q lead to %s: any %v, may %v, want %v and %v", groups, Append(nil, path), r.Any(state), r.May(last.Key), any, may)
		}
	})
	long := longest + "k"
	for _, test := range []struct {
		rules []string
		want  string
	}{
		{[]string{""}, `paths: a malformed key in rule ""`},
		{[]string{"a..b"}, `paths: a malformed key in rule "a..b"`},
		{[]string{"a", long}, fmt.Sprintf("paths: a malformed key in rule %q", long)},
		{strings.Fields(strings.Repeat("a.b ", 22)), "paths: too many steps in rules"}, // 3 of the 64 bits each
		{strings.Fields(strings.Repeat("a.b ", 21)), ""},
	} {
		func() {
			defer func() {
				if why := recover(); why != test.want && (why != nil || test.want != "") {
					t.Errorf("%q are rules: %v, want %q", test.rules, why, test.want)
				}
			}()
			NewRules(test.rules)
		}()
	}
}

// TestAppend: a path is written as its doc says, and not much longer than Longest.
func TestAppend(t *testing.T) {
	plain := rapid.StringMatching(`[!#-Z\\^-~]{1,5}`).Filter(func(s string) bool { return !strings.ContainsAny(s, ".[]\"") })
	odd := rapid.OneOf(rapid.SampledFrom([]string{"", "a.b", "a[0]", "a b", "é", "\"", "\n", "]", "\x7f"}), rapid.Just(strings.Repeat("k", 3000)), rapid.Just(strings.Repeat("k", quote.Limit)))
	rapid.Check(t, func(t *rapid.T) {
		var path []Step
		for range rapid.SampledFrom([]int{1, 3, 8, 9, 10, 11, 12, 400}).Draw(t, "steps") {
			switch rapid.IntRange(0, 9).Draw(t, "step") {
			case 0, 1, 2:
				path = append(path, Step{Item: rapid.SampledFrom([]int{0, 1, 12345}).Draw(t, "item")})
			case 3:
				path = append(path, Step{Key: odd.Draw(t, "key"), Item: -1})
			default:
				path = append(path, Step{Key: plain.Draw(t, "key"), Item: -1})
			}
		}
		// Each step as it is written behind others; the first goes without its dot.
		written := make([]string, len(path))
		for i, s := range path {
			switch {
			case s.Item >= 0:
				written[i] = fmt.Sprintf("[%d]", s.Item)
			case s.Key == "" || strings.ContainsAny(s.Key, ".[] \"é\n\x7f") || len(s.Key) > quote.Limit:
				written[i] = "[" + quote.Value(s.Key) + "]"
			default:
				written[i] = "." + s.Key
			}
		}
		// Behind half of the bytes the middle is left out, where more than twice the four steps of the end are to come.
		want := ""
		for i, s := range written {
			if len(want) > Longest/2 && len(written)-i > 8 {
				want += "..." + strings.Join(written[len(written)-4:], "")
				break
			}
			if want += s; i == 0 {
				want = strings.TrimPrefix(want, ".")
			}
		}
		got := string(Append([]byte("x "), path))
		if got != "x "+want || len(got) > Longest+6*(quote.Limit+20) {
			t.Fatalf("%d bytes, %q, want %q", len(got), got, want)
		}
	})
}

// TestPointer: a path is written as RFC 6901 has it.
func TestPointer(t *testing.T) {
	for want, path := range map[string][]Step{
		"": nil, "/": {{Item: -1}}, "/a/0/12/b~1c~0d": {{Key: "a", Item: -1}, {Item: 0}, {Item: 12}, {Key: "b/c~d", Item: -1}}, "/~01": {{Key: "~1", Item: -1}},
	} {
		if got := Pointer(path); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}
