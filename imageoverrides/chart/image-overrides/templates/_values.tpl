{{/* SPDX-License-Identifier: Apache-2.0 */}}

{{/*
image-overrides.kind is for the templates of this chart. It returns the kind of a value.
A json.Number is a number, though its kind is string: Helm 3.18.0 decodes numbers
so where they stand in a chart's values.yaml or come by Flux's valuesFrom; any other
Helm has float64 for them.
*/}}
{{- define "image-overrides.kind" -}}
{{- if eq (typeOf .) "json.Number" }}float64{{ else }}{{ kindOf . }}{{ end -}}
{{- end -}}

{{/*
image-overrides.empty is for the templates of this chart. It returns "true" for a value
that "if" skips, and for the json.Number that is 0.
*/}}
{{- define "image-overrides.empty" -}}
{{- if not . -}}
true
{{- else if eq (typeOf .) "json.Number" -}}
{{- if eq (toString . | float64) 0.0 }}true{{ end -}}
{{- end -}}
{{- end -}}

{{/*
image-overrides.item is for the templates of this chart. It returns a value as the only
item of a YAML list, in a text that may be indented, stand in a block of text (the values.yaml
of a Secret), and be rendered by Helm, and is read back as the same value.

That is toYaml's text where it will do. It will not where the value holds
  - "<no value>", which Helm erases from what it renders;
  - a character that YAML does not print: toYaml returns nothing at all;
  - one of YAML's odd line breaks, which end a line of a block of text;
  - a line break that toYaml trims, or that is lost at the end of a text.
There the item is written in one line of ASCII: as JSON, with Go's escapes for the
characters beyond, all of which YAML has too. What printf escapes once more, the
quotes and backslashes of the JSON, is taken back.
*/}}
{{- define "image-overrides.item" -}}
{{- $json := toJson . -}}
{{- $yaml := "" -}}
{{- if not (regexMatch "\\\\u003cno value|\\\\[bfrt]|\\\\u00[01]|\\\\u202[89]|[\\x7f-\\xa0\\x{feff}\\x{fffe}\\x{ffff}]" $json) -}}
{{- $yaml = toYaml (list .) -}}
{{- if contains "\\n" $json -}}
{{- if ne ($yaml | indent 2 | fromYamlArray | toJson) (printf "[%s]" $json) -}}
{{- $yaml = "" -}}
{{- end -}}
{{- end -}}
{{- end -}}
{{- if $yaml -}}
{{- $yaml -}}
{{- else -}}
- {{ printf "%+q" $json | trimPrefix "\"" | trimSuffix "\"" | replace "\\\"" "\"" | replace "\\\\" "\\" }}
{{- end -}}
{{- end -}}
