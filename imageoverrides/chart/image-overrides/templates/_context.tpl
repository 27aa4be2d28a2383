{{/* SPDX-License-Identifier: Apache-2.0 */}}

{{/*
image-overrides.context is for the templates of this chart. It takes (list CONTEXT NAME PASS), and
returns "true" for a root context: a map with a map as its Values. Any other stops the
rendering. NAME is the template that was called, and PASS says what to call it with.
*/}}
{{- define "image-overrides.context" -}}
{{- $context := index . 0 -}}
{{- $got := "" -}}
{{- if kindIs "map" $context -}}
{{- $values := index $context "Values" -}}
{{- if kindIs "invalid" $values -}}
{{- $got = "a map without Values, as .Values itself is, or the item of a range" -}}
{{- else if not (kindIs "map" $values) -}}
{{- $got = printf "a map whose Values are %s" (include "image-overrides.kind" $values) -}}
{{- end -}}
{{- else if kindIs "invalid" $context -}}
{{- $got = "nil" -}}
{{- else -}}
{{- $got = include "image-overrides.kind" $context -}}
{{- end -}}
{{- if $got -}}
{{- fail (printf "%s must be called with the root context, got %s; pass %s" (index . 1) $got (index . 2)) -}}
{{- else -}}
true
{{- end -}}
{{- end -}}

{{/*
image-overrides.known is for the templates of this chart. It takes (list CONTEXT TABLE PATH OUT)
and sets "table" in OUT, which is a dict, to a dict with what is known of the table:

    json    it as it was given
    list    it, checked, as a YAML list
    images  it, checked, as JSON (image-overrides.renderer sets this and the rest)
    hash    the first 12 hex digits of that one's sha256
    item    its post-renderer, as the only item of a YAML list

All of that is done once for each rendering, however many releases there are. Templates have
no place of their own for that, so the dicts stand in .Release, which all templates of all
charts share and few print, under image-overrides; a table is found there by its JSON, and by nothing
else, so that a chart may change its values as it goes. In a context without .Release nothing is kept.
*/}}
{{- define "image-overrides.known" -}}
{{- $table := index . 1 -}}
{{- $json := toJson $table -}}
{{- $all := dict -}}
{{- $release := index (index . 0) "Release" -}}
{{- if and $json (typeIs "map[string]interface {}" $release) -}}
{{- if not (hasKey $release "image-overrides") -}}
{{- $_ := set $release "image-overrides" $all -}}
{{- end -}}
{{- $all = get $release "image-overrides" -}}
{{- end -}}
{{- if not (hasKey $all $json) -}}
{{- $list := include "image-overrides.entries" (list $table (index . 2)) -}}
{{- $_ := set $all $json (dict "json" $json "list" $list) -}}
{{- end -}}
{{- $_ := set (index . 3) "table" (get $all $json) -}}
{{- end -}}
