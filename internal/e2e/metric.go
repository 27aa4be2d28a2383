// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"bufio"
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"strings"
)

// metric returns the sum of a metric at a URL, of its series whose labels contain a text. It is an
// error if there is none.
func metric(url, name, labels string) (sum float64, err error) {
	r, err := http.Get(url)
	if err != nil {
		return 0, err
	}
	defer r.Body.Close()
	if r.StatusCode != http.StatusOK {
		return 0, fmt.Errorf("%s: %s", url, r.Status)
	}
	series := 0
	lines := bufio.NewScanner(r.Body)
	for lines.Scan() {
		at := strings.LastIndexByte(lines.Text(), ' ')
		if at < 0 {
			continue
		}
		id, value := lines.Text()[:at], lines.Text()[at+1:]
		if id != name && !strings.HasPrefix(id, name+"{") || !strings.Contains(id, labels) {
			continue
		}
		v, err := strconv.ParseFloat(value, 64)
		if err != nil {
			return 0, err
		}
		sum += v
		series++
	}
	if err := lines.Err(); err != nil {
		return 0, err
	}
	if series == 0 {
		return 0, fmt.Errorf("%s{%s}: %w", name, labels, errNoSeries)
	}
	return sum, nil
}

var errNoSeries = errors.New("no such series")

// awaitMetric returns nil if a metric has a value, and otherwise what it is.
func awaitMetric(url, name, labels string, want float64) error {
	got, err := metric(url, name, labels)
	if err == nil && got != want {
		err = fmt.Errorf("%s{%s} is %v, want %v", name, labels, got, want)
	}
	return err
}
