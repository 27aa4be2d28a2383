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
    {{- $root := dict "Values" (dict "_cluster" (dict "image-overrides" $table)) "Release" .Release }}
    {{- include "image-overrides.postRenderers" $root }}

A context without Values, or without _cluster in them, stops the rendering: the release would lose
its overrides without a word. A subchart has the _cluster of its own values only. A chart that is rendered
alone, by helm lint or in a test, is given _cluster: {}.

The table is checked once more, by the rules of image-overrides.table, and a broken one
stops the rendering. That is done once for each rendering and not for each release, where the context
has .Release. What comes back is what Merge of the Go package
github.com/cozystack/image-overrides/postrender gives for the same release: the table's
renderer begins with an entry that no image bears, image-overrides.invalid/table, with the first
12 hex digits of the table's hash. A renderer of an earlier table among the own ones is
replaced; patches in it stay.
*/}}
{{- define "image-overrides.postRenderers" -}}
{{- $context := . -}}
{{- $own := list -}}
{{- $name := "image-overrides.postRenderers" -}}
{{- $pass := "$, or (list $ OWN) where the release has post-renderers of its own" -}}
{{- if kindIs "slice" . -}}
{{- if or (eq (len .) 1) (eq (len .) 2) -}}
{{- $context = index . 0 -}}
{{- if eq (len .) 2 -}}
{{- $own = index . 1 | default list -}}
{{- end -}}
{{- else -}}
{{- fail (printf "%s must be called with the root context, got a list of %d; pass %s" $name (len .) $pass) -}}
{{- end -}}
{{- end -}}
{{- $out := dict -}}
{{- include "image-overrides.renderer" (list $context $name $pass $out) -}}
{{- $table := get $out "table" -}}
{{- if not (kindIs "slice" $own) -}}
{{- fail (printf "postRenderers must be a list, got %s" (include "image-overrides.kind" $own)) -}}
{{- $own = list -}}
{{- end -}}
{{- $items := list -}}
{{- range $i, $renderer := $own -}}
{{- $images := include "image-overrides.images" $renderer -}}
{{- if include "image-overrides.marked" ($images | fromJsonArray) -}}
{{- $rest := dict -}}
{{- range $key, $value := index $renderer "kustomize" -}}
{{- if and $value (ne $key "images") -}}
{{- $_ := set $rest $key $value -}}
{{- end -}}
{{- end -}}
{{- if $rest -}}
{{- $items = append $items (include "image-overrides.item" (dict "kustomize" $rest)) -}}
{{- end -}}
{{- else if and $table.item (eq (add1 $i) (len $own)) (eq $images $table.images) (not (index $renderer "kustomize" "patches")) -}}
{{- /* the table's renderer as releases have it that were written before there was a marker */ -}}
{{- else -}}
{{- $items = append $items (include "image-overrides.item" $renderer) -}}
{{- end -}}
{{- end -}}
{{- if $table.item -}}
{{- $items = append $items $table.item -}}
{{- end -}}
{{- join "\n" $items -}}
{{- end -}}

{{/*
image-overrides.renderer is for the templates of this chart. It takes (list CONTEXT NAME PASS OUT),
and sets "table" in OUT to all that is known of the table at .Values._cluster.image-overrides, as
image-overrides.known has it; NAME and PASS are those of image-overrides.context. An empty
table has the images [], and neither hash nor item.
*/}}
{{- define "image-overrides.renderer" -}}
{{- $out := index . 3 -}}
{{- include "image-overrides.read" (list (index . 0) (index . 1) (index . 2) "_cluster" "image-overrides" $out) -}}
{{- $known := get $out "table" -}}
{{- if not (hasKey $known "images") -}}
{{- $table := get $known "list" | fromYamlArray -}}
{{- $images := toJson $table -}}
{{- $hash := "" -}}
{{- $item := "" -}}
{{- if $table -}}
{{- $hash = $images | sha256sum | trunc 12 -}}
{{- $marker := dict "name" (include "image-overrides.marker" .) "newTag" $hash -}}
{{- $item = include "image-overrides.item" (dict "kustomize" (dict "images" (prepend $table $marker))) -}}
{{- end -}}
{{- $_ := set $known "hash" $hash -}}
{{- $_ := set $known "item" $item -}}
{{- $_ := set $known "images" $images -}}
{{- end -}}
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
