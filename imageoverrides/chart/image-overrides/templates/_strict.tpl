{{/* SPDX-License-Identifier: Apache-2.0 */}}

{{/*
image-overrides.strict refuses a table that the rules accept and that can never work, or that
breaks Flux. It returns nothing, and stops the rendering with the first error that Strict of the Go
package github.com/cozystack/image-overrides/imageoverrides would tell:

    registries.imageOverrides[0]: newTag "1 2" is no tag: it has a space

Call it with the root context, once, in the chart that writes the Secret:

    {{- include "image-overrides.strict" . }}

It checks the table by the rules of image-overrides.table first. Lint's warnings are
not its business. The words are Strict's to the letter, but for values of more than 1,024 bytes, which
Strict shortens.
*/}}
{{- define "image-overrides.strict" -}}
{{- $out := dict -}}
{{- include "image-overrides.read" (list . "image-overrides.strict" "$" "registries" "imageOverrides" $out) -}}
{{- $table := get (get $out "table") "list" | fromYamlArray -}}
{{- $bytes := toJson $table | len -}}
{{- $limit := 1048576 -}}
{{- if gt $bytes $limit -}}
{{- fail (printf "registries.imageOverrides: the table takes %d bytes as JSON, more than the %d that a Secret can hold; split the platform or drop entries" $bytes $limit) -}}
{{- end -}}
{{- range $i, $override := $table -}}
{{- $path := printf "registries.imageOverrides[%d]" $i -}}
{{- $name := get $override "name" -}}
{{- with regexFind "[\\\\\\[\\](){}*+?|^$]" $name -}}
{{- if include "image-overrides.nameFault" $name -}}
{{- fail (printf "%s: name %q has the character %s, so that Flux reads it as a regular expression; write the image as manifests spell it, without tag and digest" $path $name (include "image-overrides.rune" .)) -}}
{{- else -}}
{{- fail (printf "%s: name %q has an IPv6 host, which Flux reads as a regular expression and never finds; give the registry a name" $path $name) -}}
{{- end -}}
{{- end -}}
{{- with get $override "newName" -}}
{{- if include "image-overrides.carries" . -}}
{{- fail (printf "%s: newName %q carries a tag or digest; move it to newTag or digest" $path .) -}}
{{- end -}}
{{- $fault := include "image-overrides.nameFault" . -}}
{{- $host := include "image-overrides.host" . -}}
{{- if $fault -}}
{{- fail (printf "%s: newName %q is no image name: %s" $path . $fault) -}}
{{- else if $host -}}
{{- $fault = include "image-overrides.registryFault" $host -}}
{{- if $fault -}}
{{- fail (printf "%s: newName %q has the host %q, which %s" $path . $host $fault) -}}
{{- end -}}
{{- end -}}
{{- end -}}
{{- with get $override "newTag" -}}
{{- $fault := include "image-overrides.tagFault" . -}}
{{- if $fault -}}
{{- fail (printf "%s: newTag %q is no tag: it %s" $path . $fault) -}}
{{- end -}}
{{- end -}}
{{- end -}}
{{- end -}}
