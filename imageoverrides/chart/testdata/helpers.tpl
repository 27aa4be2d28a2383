{{- define "t.empty" }}{{ end }}
{{- define "t.x" }}x{{ end }}
{{- define "t.a" }}{{ if .Values.a }}x{{ end }}{{ end }}
{{- define "t.blank" }} {{ if .Values.a }}x{{ end }}
{{ end }}
{{- define "t.loop" }}
{{ range .Values.l }}x{{ end }}{{ end }}
{{- define "t.map" }}k: v{{ end }}
{{- define "t.list" }}- v{{ end }}
{{- define "t.call" }}{{ include "image-overrides.postRenderers" . }}{{ end }}
{{- define "t.first" }}{{ include "image-overrides.postRenderers" (first .) }}{{ end }}
{{- define "t.silent" }}{{ $_ := include "image-overrides.postRenderers" . }}{{ end }}
{{- define "t.key" }}postRenderers: {{- include "image-overrides.postRenderers" . | nindent 2 }}{{ end }}
{{- define "t.spec" }}
timeout: 1m
postRenderers: {{- include "image-overrides.postRenderers" . | nindent 2 }}
{{ end }}
