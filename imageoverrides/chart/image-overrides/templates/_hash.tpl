{{/* SPDX-License-Identifier: Apache-2.0 */}}

{{/*
image-overrides.hash returns 12 hex digits that are others for every other table at
.Values._cluster.image-overrides, the same that stand behind the marker in the table's
post-renderer, and nothing where there is no table. Call it with the root context.

It is for the names of plain Jobs, of those that are no hooks. The template of a Job cannot be
changed, so that a table which has an entry for its image fails the upgrade ("field is immutable"),
also where the chart puts a hash of the Job's spec into its name, for that is made before
the table is applied. With these digits in the name too, another table makes another Job, and Helm
removes the one before:

    name: migrate-{{ include "image-overrides.hash" . | default "plain" }}

or behind what is in the name already:

    name: {{ $name }}{{ with include "image-overrides.hash" $ }}-{{ . }}{{ end }}

The digits come with the values, and the table with the release's post-renderers. A release
should get both in one step: with valuesFrom of the Secret, Flux must not be told of a change of the
Secret before the release is written (no label reconcile.fluxcd.io/watch on it).
*/}}
{{- define "image-overrides.hash" -}}
{{- $out := dict -}}
{{- include "image-overrides.renderer" (list . "image-overrides.hash" "$" $out) -}}
{{- get (get $out "table") "hash" -}}
{{- end -}}
