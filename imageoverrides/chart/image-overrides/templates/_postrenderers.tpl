{{/* SPDX-License-Identifier: Apache-2.0 */}}

{{/*
image-overrides.postRenderers returns the post-renderers of a Flux HelmRelease as a YAML
list: the release's own, in order and untouched, and behind them the one of the table at
.Values._cluster.image-overrides. Where there is no table, there are only the own ones,
and where there are none of those, it returns nothing at all.

Call it with the root context in the spec of every HelmRelease:

    spec:
      {{- with include "image-overrides.postRenderers" . }}
      postRenderers:
        {{- . | nindent 8 }}
      {{- end }}

and with a list where the release has post-renderers of its own, which are a
list too, or nil:

    spec:
      {{- with include "image-overrides.postRenderers" (list . .Values.postRenderers) }}
      postRenderers:
        {{- . | nindent 8 }}
      {{- end }}

Inside of range and with, the root context is $. A chart that has the table itself, since it
is the one that writes the Secret, hands that over in a context of its own:

    {{- $table := include "image-overrides.table" . | fromYamlArray }}
    {{- $root := dict "Values" (dict "_cluster" (dict "image-overrides" $table)) }}
    {{- include "image-overrides.postRenderers" $root }}

The table is checked once more, by the rules of image-overrides.table, and a broken one
stops the rendering. What comes back is what Merge of the Go package
github.com/cozystack/image-overrides/postrender gives for the same release: the table's
renderer begins with an entry that no image bears, image-overrides.invalid/table, with the first
12 hex digits of the table's hash. A renderer of an earlier table among the own ones is
replaced; patches in it stay.
*/}}
{{- define "image-overrides.postRenderers" -}}
{{- $root := . -}}
{{- $own := list -}}
{{- if kindIs "slice" . -}}
{{- $root = first . -}}
{{- $own = rest . | first | default list -}}
{{- end -}}
{{- if not (kindIs "slice" $own) -}}
{{- fail (printf "postRenderers must be a list, got %s" (include "image-overrides.kind" $own)) -}}
{{- $own = list -}}
{{- end -}}
{{- $table := include "image-overrides.read" (list $root.Values "_cluster" "image-overrides") | fromYamlArray -}}
{{- $items := list -}}
{{- range $i, $renderer := $own -}}
{{- $images := include "image-overrides.images" $renderer | fromJsonArray -}}
{{- if include "image-overrides.marked" $images -}}
{{- $rest := dict -}}
{{- range $key, $value := index $renderer "kustomize" -}}
{{- if and $value (ne $key "images") -}}
{{- $_ := set $rest $key $value -}}
{{- end -}}
{{- end -}}
{{- if $rest -}}
{{- $items = append $items (include "image-overrides.item" (dict "kustomize" $rest)) -}}
{{- end -}}
{{- else if and $table (eq (add1 $i) (len $own)) (eq (toJson $images) (toJson $table)) (not (index $renderer "kustomize" "patches")) -}}
{{- /* the table's renderer as releases have it that were written before there was a marker */ -}}
{{- else -}}
{{- $items = append $items (include "image-overrides.item" $renderer) -}}
{{- end -}}
{{- end -}}
{{- if $table -}}
{{- $marker := dict "name" (include "image-overrides.marker" .) "newTag" (toJson $table | sha256sum | trunc 12) -}}
{{- $items = append $items (include "image-overrides.item" (dict "kustomize" (dict "images" (prepend $table $marker)))) -}}
{{- end -}}
{{- join "\n" $items -}}
{{- end -}}

{{/*
image-overrides.marker is for the templates of this chart. It returns the name by which the
table's renderer is known.
*/}}
{{- define "image-overrides.marker" -}}
image-overrides.invalid/table
{{- end -}}

{{/*
image-overrides.marked is for the templates of this chart. It takes the images of a
post-renderer and returns "true" if they begin with the marker.
*/}}
{{- define "image-overrides.marked" -}}
{{- if . -}}
{{- if eq (get (first .) "name" | toString) (include "image-overrides.marker" .) }}true{{ end -}}
{{- end -}}
{{- end -}}

{{/*
image-overrides.images is for the templates of this chart. It takes a post-renderer and returns
its images as JSON, without empty fields, and [] where they are no list of maps.
*/}}
{{- define "image-overrides.images" -}}
{{- $images := list -}}
{{- if kindIs "map" . -}}
{{- $kustomize := index . "kustomize" -}}
{{- if kindIs "map" $kustomize -}}
{{- $list := index $kustomize "images" -}}
{{- if kindIs "slice" $list -}}
{{- range $list -}}
{{- $image := dict -}}
{{- if kindIs "map" . -}}
{{- range $field, $value := . -}}
{{- if $value }}{{ $_ := set $image $field $value }}{{ end -}}
{{- end -}}
{{- end -}}
{{- $images = append $images $image -}}
{{- end -}}
{{- end -}}
{{- end -}}
{{- end -}}
{{- toJson $images -}}
{{- end -}}
