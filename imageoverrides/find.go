// SPDX-License-Identifier: Apache-2.0

package imageoverrides

import (
	"regexp"

	"github.com/cozystack/image-overrides/internal/values"
)

// A Found is a table, and where in a text it was found.
type Found struct {
	Table Table

	// Path is the way to the table in the text, or in that of the key: "overrides" for a plain list,
	// spec.values.registries.imageOverrides in a HelmRelease. Faults and findings of the table begin with it.
	Path string

	// Key is the key of the Secret or the ConfigMap whose text has the table, and lines and columns count from the start of that
	// text. It is "" where they count from the start of the text that was given.
	Key string
}

// listStart matches the start of a text that is a list.
var listStart = regexp.MustCompile(`^(?:\x{FEFF}|\s|#.*\n|---)*[-\[]`)

// Find reads the table of a text that a person wrote or a cluster gave, in whatever shape it has:
//
//	values of the platform chart   at registries.imageOverrides
//	a plain list of entries
//	the platform's Secret          at _cluster.image-overrides in its key values.yaml;
//	                               or that key's text alone
//	a manifest with such values    a HelmRelease (spec.values), a Package
//	                               (spec.components.*.values), a ConfigMap or another
//	                               Secret (a text in data), alone or among others
//
// The text is read whole or not at all, by the rules of [Parse], [ParseValuesText] and [ParseSecret]. A text without a table
// is an error that tells what may have been meant for one: an empty table is written []. Only in the values that the platform hands
// on it has no key. Two tables in a text are an error, and so is a template that nobody rendered.
//
// The error is a list of [*Error]. Their paths are whole, as that of Found is, and their lines and columns count as Found.Key says,
// which is filled in with an error too; they are 0 where it is of the text as a whole. Nothing of text is kept.
func Find(text []byte) (Found, error) {
	if listStart.Match(text) { // which may be long, and which Parse reads fast
		if t, err := Parse(text); err == nil && t.Len() > 0 {
			return Found{Table: t, Path: listPath}, nil
		}
	}
	place, fault := values.Find(text)
	t, err := Table{}, error(nil)
	if fault == nil {
		t, err = parseAt(place)
		if err == nil && t.Absent() {
			fault = place.Missing()
		}
	}
	if fault != nil {
		t, err = Table{}, faultIn(place, fault)
	}
	if err != nil {
		return Found{Key: place.Key}, err
	}
	return Found{t, t.t.path, place.Key}, nil
}

// faultIn returns a fault of the place of a table as an error.
func faultIn(place values.Place, fault *values.Fault) error {
	switch {
	case fault.Rule == values.Syntax:
		if _, err := Parse(place.Text); err != nil { // which knows text behind the end
			return err
		}
	case fault.Reason == values.NoKey:
		_, err := ParseSecret(nil)
		return err
	}
	return faults{textFault(Rule(fault.Rule), fault.Line, fault.Column, fault.Reason)}.err()
}

// parseAt reads the table in its place, with the whole path in its faults and its own.
func parseAt(place values.Place) (t Table, err error) {
	switch place.Home {
	case values.List:
		t, err = Parse(place.Text)
	case values.Chart:
		t, err = ParseValuesText(place.Text)
	default:
		t, err = ParseSecret(map[string][]byte{secretKey: place.Text})
	}
	if place.At == "" {
		return t, err
	}
	if err == nil {
		moved := *t.t
		moved.path = place.At + "." + moved.path
		return Table{t: &moved}, nil
	}
	list := Faults(err)
	for _, e := range list { // which nobody else has
		if e.Path != "" {
			e.Path, e.text = place.At+"."+e.Path, place.At+"."+e.text
		}
	}
	return Table{}, faults(list).err()
}
