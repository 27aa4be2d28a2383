{{- define "t.release" }}kind: HelmRelease
metadata:
  name: r
spec:
  values: {a: b}
{{ end }}
