{{/* SPDX-License-Identifier: Apache-2.0 */}}

{{/*
image-overrides.strict refuses a table that the rules accept and that can never work, or that
breaks Flux. It returns nothing, and stops the rendering with the first error that Lint of the Go
package github.com/cozystack/image-overrides/imageoverrides would tell:

    registries.imageOverrides[0]: newTag "1 2" is no tag; use up to 128 letters, ...

Call it with the root context, once, in the chart that writes the Secret:

    {{- include "image-overrides.strict" . }}

It checks the table by the rules of image-overrides.table first. Lint's warnings are
not its business.
*/}}
{{- define "image-overrides.strict" -}}
{{- $table := include "image-overrides.table" . | fromYamlArray -}}
{{- $bytes := toJson $table | len -}}
{{- $limit := 1048576 -}}
{{- if gt $bytes $limit -}}
{{- fail (printf "registries.imageOverrides: the table takes %d bytes as JSON, more than the %d that a Secret can hold; split the platform or drop entries" $bytes $limit) -}}
{{- end -}}
{{- range $i, $override := $table -}}
{{- $path := printf "registries.imageOverrides[%d]" $i -}}
{{- $name := get $override "name" -}}
{{- if not (include "image-overrides.isName" $name) -}}
{{- fail (printf "%s: name %q is no image name, and Flux reads it as a regular expression; write the image as manifests spell it, without tag and digest" $path $name) -}}
{{- else if contains "[" $name -}}
{{- fail (printf "%s: name %q has an IPv6 host, which Flux reads as a regular expression and never finds; give the registry a name" $path $name) -}}
{{- end -}}
{{- with get $override "newName" -}}
{{- if not (include "image-overrides.isName" .) -}}
{{- if include "image-overrides.carries" . -}}
{{- fail (printf "%s: newName %q carries a tag or digest; move it to newTag or digest" $path .) -}}
{{- else -}}
{{- fail (printf "%s: newName %q is no image name; write host and path, without a scheme" $path .) -}}
{{- end -}}
{{- end -}}
{{- end -}}
{{- with get $override "newTag" -}}
{{- if not (regexMatch "^[a-zA-Z0-9_][a-zA-Z0-9._-]{0,127}$" .) -}}
{{- fail (printf "%s: newTag %q is no tag; use up to 128 letters, digits, underscores, dots and dashes, and start with none of the last two" $path .) -}}
{{- end -}}
{{- end -}}
{{- end -}}
{{- end -}}

{{/*
image-overrides.isName is for the templates of this chart. It returns "true" for the name of
an image, in any spelling, without tag and digest. The rules are those of CheckName in the Go
package github.com/cozystack/image-overrides/reference:

The text in front of the first slash is a host if it has a dot, a colon or an upper case letter,
or is localhost. A host is labels joined by dots, or hex digits and colons in brackets, with a port
or without; one that has an underscore counts as a part of the path. The rest is
a path, of 255 characters at most, the library/ included that Docker Hub puts in front of a single
component. 64 hex digits alone are the ID of an image.
*/}}
{{- define "image-overrides.isName" -}}
{{- $label := "[a-zA-Z0-9](?:[a-zA-Z0-9-]*[a-zA-Z0-9])?" -}}
{{- $component := "[a-z0-9]+(?:(?:[.]|_|__|-+)[a-z0-9]+)*" -}}
{{- $host := regexFind "^[^/]*/" . | trimSuffix "/" -}}
{{- $path := . -}}
{{- $before := "" -}}
{{- $sound := true -}}
{{- if or (eq $host "localhost") (regexMatch "[.:A-Z]" $host) -}}
{{- $path = trimPrefix (printf "%s/" $host) . -}}
{{- if not (regexMatch (printf "^(?:%s(?:[.]%s)*|\\[[0-9a-fA-F:]+\\])(?::[0-9]+)?$" $label $label) $host) -}}
{{- $before = printf "%s/" $host -}}
{{- $sound = regexMatch (printf "^%s$" $component) $host -}}
{{- end -}}
{{- else -}}
{{- $host = "" -}}
{{- end -}}
{{- if and (has $host (list "" "docker.io" "index.docker.io")) (not (contains "/" $path)) -}}
{{- $before = "library/" -}}
{{- end -}}
{{- if not (regexMatch (printf "^%s(?:/%s)*$" $component $component) $path) -}}
{{- $sound = false -}}
{{- end -}}
{{- if and $sound (le (len (printf "%s%s" $before $path)) 255) (not (regexMatch "^[0-9a-f]{64}$" .)) }}true{{ end -}}
{{- end -}}
