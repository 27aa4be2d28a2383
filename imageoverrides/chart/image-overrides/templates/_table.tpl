{{/* SPDX-License-Identifier: Apache-2.0 */}}

{{/*
image-overrides.table checks the table at .Values.registries.imageOverrides and returns
it as a YAML list, with [] for an empty table, however that is spelled. A broken
table stops the rendering with the first fault:

    registries.imageOverrides[0].newTag must be a string, got float64; quote it

Call it with the root context. The chart that writes the Secret prints it as it is:

    _cluster:
      image-overrides:
        {{- include "image-overrides.table" . | nindent 8 }}

and who wants to look at the entries decodes it:

    {{- range include "image-overrides.table" . | fromYamlArray }}
    # {{ .name }}
    {{- end }}

Print what comes back, not "fromYamlArray | toYaml" of it: Helm's toYaml drops a line
break at the end, and everything where it meets a character that YAML does not
print; and Helm erases "<no value>" from all that it renders. The text that this
template returns holds against all three.

The rules, in the order in which they are told, are those of ParseValues in the Go
package github.com/cozystack/image-overrides/imageoverrides. Fields that are empty
are left out of what comes back.
*/}}
{{- define "image-overrides.table" -}}
{{- $out := dict -}}
{{- include "image-overrides.read" (list . "image-overrides.table" "$" "registries" "imageOverrides" $out) -}}
{{- get (get $out "table") "list" -}}
{{- end -}}

{{/*
image-overrides.read is for the templates of this chart. It takes (list CONTEXT NAME PASS PARENT
KEY OUT), checks the table under PARENT.KEY of the values, and sets "table" in OUT as
image-overrides.known does; NAME and PASS are those of image-overrides.context. PARENT is a
map or null. In the values of an operator, who spells an empty table in many ways, it may also
be anything else that is empty; the Secret is written by a chart, and so must be there.
*/}}
{{- define "image-overrides.read" -}}
{{- $context := index . 0 -}}
{{- $name := index . 1 -}}
{{- $parent := index . 3 -}}
{{- $out := index . 5 -}}
{{- $table := list -}}
{{- if include "image-overrides.context" (list $context $name (index . 2)) -}}
{{- $values := index $context "Values" -}}
{{- $holder := index $values $parent -}}
{{- if kindIs "map" $holder -}}
{{- $table = index $holder (index . 4) -}}
{{- else if kindIs "invalid" $holder -}}
{{- if and (eq $parent "_cluster") (not (hasKey $values $parent)) -}}
{{- fail (printf "%s: .Values has no _cluster, so that nobody knows of a table; give the chart the values of the Secret cozystack-values (valuesFrom), or pass a context that has them, for Helm hands _cluster down to no subchart; a chart that is rendered alone gets _cluster: {}" $name) -}}
{{- end -}}
{{- else if not (and (eq $parent "registries") (include "image-overrides.empty" $holder)) -}}
{{- fail (printf "%s must be a map, got %s" $parent (include "image-overrides.kind" $holder)) -}}
{{- end -}}
{{- else -}}
{{- $context = dict -}}
{{- end -}}
{{- include "image-overrides.known" (list $context $table (printf "%s.%s" $parent (index . 4)) $out) -}}
{{- end -}}

{{/*
image-overrides.entries is for the templates of this chart. It takes (list TABLE PATH),
checks the table, and returns it as a YAML list. PATH is what messages begin with.
*/}}
{{- define "image-overrides.entries" -}}
{{- $table := index . 0 -}}
{{- $path := index . 1 -}}
{{- $seen := dict -}}
{{- if include "image-overrides.empty" $table -}}
[]
{{- else if not (kindIs "slice" $table) -}}
{{- fail (printf "%s must be a list, got %s" $path (include "image-overrides.kind" $table)) -}}
{{- else -}}
{{- range $i, $entry := $table -}}
{{- if $i }}{{ "\n" }}{{ end -}}
{{- include "image-overrides.entry" (list $entry (printf "%s[%d]" $path $i) $seen) -}}
{{- end -}}
{{- end -}}
{{- end -}}

{{/*
image-overrides.entry is for the templates of this chart. It takes (list ENTRY PATH SEEN),
checks one entry, and returns it as the only item of a YAML list. SEEN is a dict, to
which it adds the entry's name.
*/}}
{{- define "image-overrides.entry" -}}
{{- $entry := index . 0 -}}
{{- $path := index . 1 -}}
{{- $seen := index . 2 -}}
{{- $override := dict -}}
{{- if kindIs "map" $entry -}}
{{- range $field, $value := $entry -}}
{{- if not (has $field (list "name" "newName" "newTag" "digest")) -}}
{{- fail (printf "%s: unknown field %q" $path $field) -}}
{{- else if ne (typeOf $value) "string" -}}
{{- fail (printf "%s.%s must be a string, got %s; quote it" $path $field (include "image-overrides.kind" $value)) -}}
{{- else if $value -}}
{{- $_ := set $override $field $value -}}
{{- end -}}
{{- end -}}
{{- $name := get $override "name" -}}
{{- $digest := get $override "digest" -}}
{{- if not $name -}}
{{- fail (printf "%s: name is required" $path) -}}
{{- end -}}
{{- if include "image-overrides.carries" $name -}}
{{- fail (printf "%s: name %q must not carry a tag or digest" $path $name) -}}
{{- end -}}
{{- if eq (len $override) 1 -}}
{{- fail (printf "%s: %q sets none of newName, newTag, digest" $path $name) -}}
{{- end -}}
{{- if and $digest (not (regexMatch "^sha256:[0-9a-f]{64}$" $digest)) -}}
{{- fail (printf "%s: digest %q is not sha256:<64 hex>" $path $digest) -}}
{{- end -}}
{{- if hasKey $seen $name -}}
{{- fail (printf "%s: %q is listed twice" $path $name) -}}
{{- end -}}
{{- $_ := set $seen $name true -}}
{{- include "image-overrides.item" $override -}}
{{- else -}}
{{- fail (printf "%s must be a map" $path) -}}
{{- end -}}
{{- end -}}

{{/*
image-overrides.carries is for the templates of this chart. It returns "true" for a text
that carries a tag or a digest: an @ anywhere, or a colon in the last path segment. A
colon in front of a slash is a registry's port.
*/}}
{{- define "image-overrides.carries" -}}
{{- if regexMatch "@|:[^/]*$" . }}true{{ end -}}
{{- end -}}
