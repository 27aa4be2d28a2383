// SPDX-License-Identifier: Apache-2.0

// Mutants measures what the tests notice. It changes the code in one place drawn at random, an operator, a condition, a
// constant, a statement, a result, runs the tests that guard the package, and counts what they did not notice:
//
//	go run ./internal/mutants -n 50 -seed 1 ./reference ./postrender
//	go run ./internal/mutants -files parse.go,input.go ./imageoverrides
//
// The tree is not touched: a mutant stands in an overlay. One that does not compile does not count, one that runs into the
// time limit counts as noticed. Every mutant that no test noticed is printed, for a person to judge: it is a hole in the
// tests, or it is equivalent, no input telling it from the code. equivalent.txt lists those that were judged so, with the
// reason, and they do not count. The same seed draws the same mutants of the same code.
//
// The exit status is 1 where the tests of a package noticed fewer than -least in 100, and 2 where there is no result.
package main

import (
	"bufio"
	"cmp"
	_ "embed"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"text/tabwriter"
	"time"
)

func main() {
	r := run{guards: guards, out: os.Stdout, log: os.Stderr}
	flag.IntVar(&r.n, "n", 50, "how many mutants of each package")
	flag.Uint64Var(&r.seed, "seed", 1, "draws the mutants, and the inputs of laws")
	flag.IntVar(&r.few, "few", 300, "how many draws each law gets at first")
	flag.IntVar(&r.many, "many", 5000, "how many draws each law gets where none of the tests noticed a mutant; 0 for no second time")
	flag.IntVar(&r.parallel, "parallel", 2, "how many mutants at once")
	flag.IntVar(&r.least, "least", 95, "how many in 100 the tests must notice")
	flag.DurationVar(&r.timeout, "timeout", 5*time.Minute, "how long one package's tests may take")
	flag.Func("files", "the `names` of the files to change, with commas between (default all)", func(names string) error {
		r.files = strings.Split(names, ",")
		return nil
	})
	flag.BoolVar(&r.verbose, "v", false, "print also what was noticed")
	flag.Parse()
	enough, err := r.all(flag.Args())
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(2)
	}
	if !enough {
		os.Exit(1)
	}
}

// run is one measuring.
type run struct {
	n, few, many, parallel, least int
	seed                          uint64
	timeout                       time.Duration
	files                         []string // those to change; nil for all
	guards                        map[string][]guard
	verbose                       bool
	out, log                      io.Writer
}

// count is what became of a package's mutants.
type count struct {
	dir                         string
	noticed, survived, expected int
}

// rate is how many in 100 were noticed, of those that count.
func (c count) rate() float64 {
	if c.noticed+c.survived == 0 {
		return 100
	}
	return 100 * float64(c.noticed) / float64(c.noticed+c.survived)
}

// all measures packages, given by their folders, and prints the table.
func (r *run) all(dirs []string) (enough bool, err error) {
	if len(dirs) == 0 {
		return false, errors.New("no package; name the folder of one")
	}
	if r.seed == 0 {
		return false, errors.New("a seed of 0 is none")
	}
	root, err := output(".", "git", "rev-parse", "--show-toplevel")
	if err != nil {
		return false, err
	}
	var counts []count
	for _, dir := range dirs {
		c, err := r.measure(strings.TrimSpace(string(root)), dir)
		if err != nil {
			return false, err
		}
		counts = append(counts, c)
	}
	enough = true
	w := tabwriter.NewWriter(r.out, 0, 0, 2, ' ', 0)
	fmt.Fprintf(w, "package\tmutants\tnoticed\tsurvived\tequivalent\tnoticed of 100\n")
	for _, c := range counts {
		fmt.Fprintf(w, "%s\t%d\t%d\t%d\t%d\t%.0f\n", c.dir, c.noticed+c.survived+c.expected, c.noticed, c.survived, c.expected, c.rate())
		enough = enough && c.rate() >= float64(r.least)
	}
	return enough, w.Flush()
}

// measure runs the mutants of one package.
func (r *run) measure(root, dir string) (count, error) {
	c := count{dir: filepath.ToSlash(filepath.Clean(dir))}
	whole, err := filepath.Abs(dir)
	if err != nil {
		return c, err
	}
	p, err := load(whole)
	if err != nil {
		return c, err
	}
	if err := p.only(r.files); err != nil {
		return c, err
	}
	guards, err := r.guardsOf(root, whole)
	if err != nil {
		return c, err
	}
	for _, g := range guards {
		if result, text := test(g, "", r.few, r.seed, r.timeout); result != passed {
			return c, fmt.Errorf("the tests of %s fail without any mutation:\n%s", g.dir, text)
		}
	}

	known, err := equivalents()
	if err != nil {
		return c, err
	}
	var list []mutant
	if err := p.mutants(r.seed, func(m mutant) bool { list = append(list, m); return len(list) < 2*r.n }); err != nil {
		return c, err
	}
	var (
		lock  sync.Mutex
		fault error
		work  sync.WaitGroup
		tried []result
		slots = r.n // how many results are still wanted
	)
	take := func() (i int, ok bool) {
		lock.Lock()
		defer lock.Unlock()
		if slots == 0 || len(tried) == len(list) || fault != nil {
			return 0, false
		}
		slots--
		tried = append(tried, result{mutant: list[len(tried)]})
		return len(tried) - 1, true
	}
	for range r.parallel {
		work.Add(1)
		go func() {
			defer work.Done()
			for i, ok := take(); ok; i, ok = take() {
				m := result{mutant: list[i]}
				err := r.judge(root, known, guards, &m)
				lock.Lock()
				tried[i] = m
				if err != nil {
					fault = err
				}
				if m.outcome == unbuilt {
					slots++ // does not count
				}
				if m.outcome == passed && m.reason == "" {
					fmt.Fprintf(r.log, "%d: %s", i+1, m)
				} else {
					fmt.Fprintf(r.log, "%d: %s:%d: %s\n", i+1, m.equivalent.file, m.line, m.what())
				}
				lock.Unlock()
			}
		}()
	}
	work.Wait()
	slices.SortStableFunc(tried, func(a, b result) int {
		return cmp.Or(cmp.Compare(a.equivalent.file, b.equivalent.file), cmp.Compare(a.line, b.line))
	})
	for _, m := range tried {
		switch {
		case m.outcome == unbuilt:
			continue
		case m.reason != "":
			c.expected++
		case m.outcome == passed:
			c.survived++
		default:
			c.noticed++
		}
		if r.verbose || m.outcome == passed && m.reason == "" {
			fmt.Fprint(r.out, m)
		}
	}
	return c, fault
}

// A result is a mutant, where it stands, and what became of it.
type result struct {
	mutant
	equivalent
	line    int
	reason  string // why it is known to be equivalent, or ""
	outcome outcome
}

func (r *run) judge(root string, known map[equivalent]string, guards []guard, m *result) error {
	file, err := filepath.Rel(root, m.name)
	if err != nil {
		return err
	}
	m.line, m.before, m.after = m.change()
	m.equivalent.file = filepath.ToSlash(file)
	if m.reason = known[m.equivalent]; m.reason == "" {
		m.outcome, err = r.try(guards, m.mutant)
	}
	return err
}

func (m result) what() string {
	switch {
	case m.reason != "":
		return "equivalent: " + m.reason
	case m.outcome == unbuilt:
		return "does not compile"
	case m.outcome == passed:
		return "survived"
	}
	return "noticed"
}

// String is the mutant as a difference.
func (m result) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s:%d: %s\n", m.equivalent.file, m.line, m.what())
	for line := range strings.SplitSeq(m.before, "\n") {
		b.WriteString("- " + line + "\n")
	}
	for line := range strings.SplitSeq(m.after, "\n") {
		b.WriteString("+ " + line + "\n")
	}
	return b.String()
}

//go:embed equivalent.txt
var kept string

// An equivalent is a mutant that was judged, by its file and its lines before and after, without the white space around them.
type equivalent struct{ file, before, after string }

// equivalents reads equivalent.txt, whose records look as a survivor is printed, with the reason in place of "survived" and no
// line number. Lines that begin with # are comments.
func equivalents() (map[equivalent]string, error) { return equivalentsIn(strings.NewReader(kept)) }

func equivalentsIn(r io.Reader) (map[equivalent]string, error) {
	known := make(map[equivalent]string)
	var e equivalent
	var reason string
	add := func() {
		if reason != "" {
			known[e] = reason
		}
	}
	lines := bufio.NewScanner(r)
	for n := 1; lines.Scan(); n++ {
		line := lines.Text()
		text := strings.TrimSpace(line[min(1, len(line)):])
		switch {
		case line == "" || line[0] == '#':
		case line[0] == '-' && reason != "":
			e.before = strings.TrimPrefix(e.before+"\n"+text, "\n")
		case line[0] == '+' && reason != "":
			e.after = strings.TrimPrefix(e.after+"\n"+text, "\n")
		default:
			add()
			file, why, ok := strings.Cut(line, ": ")
			if !ok || why == "" {
				return nil, fmt.Errorf("equivalent.txt:%d: %q is no file with a reason, no line before and no line after", n, line)
			}
			e, reason = equivalent{file: file}, why
		}
	}
	add()
	return known, lines.Err()
}
