// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"bufio"
	"net/http"
	"strconv"
	"strings"
)

// metric returns the sum of a metric at a URL, of its series whose labels contain a text.
func metric(url, name, labels string) (sum float64, err error) {
	r, err := http.Get(url)
	if err != nil {
		return 0, err
	}
	defer r.Body.Close()
	lines := bufio.NewScanner(r.Body)
	for lines.Scan() {
		series, value, ok := cutLast(lines.Text(), " ")
		if !ok || series != name && !strings.HasPrefix(series, name+"{") || !strings.Contains(series, labels) {
			continue
		}
		v, err := strconv.ParseFloat(value, 64)
		if err != nil {
			return 0, err
		}
		sum += v
	}
	return sum, lines.Err()
}

func cutLast(s, sep string) (before, after string, found bool) {
	if i := strings.LastIndex(s, sep); i >= 0 {
		return s[:i], s[i+len(sep):], true
	}
	return s, "", false
}
