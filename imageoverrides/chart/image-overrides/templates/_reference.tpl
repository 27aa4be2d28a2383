{{/* SPDX-License-Identifier: Apache-2.0 */}}

{{/*
The templates of this file judge the names of images by the grammar of the Go package
github.com/cozystack/image-overrides/reference, in its words. What they return is what is wrong, or
nothing. They are for the templates of this chart.

The first fault is a character that may not stand anywhere in the part, since that explains best
what the text is instead.
*/}}

{{/*
image-overrides.nameFault returns what CheckName says of a text without @: the part at fault, its
value in quotes, and the reason.

The text in front of the first slash is a host if it has a dot, a colon or an upper case
letter, or is localhost; one that has an underscore counts as a part of the path. The path has 255
characters at most, the library/ included that Docker Hub puts in front of a single
component. A colon behind the host begins a tag.
*/}}
{{- define "image-overrides.nameFault" -}}
{{- $part := "name" -}}
{{- $value := . -}}
{{- $reason := "" -}}
{{- $scheme := regexFind "^[a-zA-Z0-9+.-]+://" . -}}
{{- if not . -}}
{{- $reason = "is empty" -}}
{{- else if $scheme -}}
{{- $reason = printf "has the scheme %q in front" $scheme -}}
{{- else if regexMatch "^[0-9a-f]{64}$" . -}}
{{- $reason = "is 64 hex digits, which is an image ID and no name" -}}
{{- else -}}
{{- $host := include "image-overrides.host" . -}}
{{- $path := . -}}
{{- $before := "" -}}
{{- if $host -}}
{{- $path = trimPrefix (printf "%s/" $host) . -}}
{{- $reason = include "image-overrides.hostFault" $host -}}
{{- end -}}
{{- $repository := regexFind "^[^:]*" $path -}}
{{- if and (has $host (list "" "docker.io" "index.docker.io")) (not (contains "/" $repository)) -}}
{{- $before = "library/" -}}
{{- end -}}
{{- if $reason -}}
{{- $part = "host" -}}
{{- $value = $host -}}
{{- if not (include "image-overrides.repositoryFault" $host) -}}
{{- $reason = "" -}}
{{- $before = printf "%s/" $host -}}
{{- end -}}
{{- end -}}
{{- if not $reason -}}
{{- $part = "repository" -}}
{{- $value = $repository -}}
{{- $reason = include "image-overrides.repositoryFault" $repository -}}
{{- $length := len (printf "%s%s" $before $repository) -}}
{{- if and (not $reason) (gt $length 255) -}}
{{- $reason = printf "has %d characters%s, 255 are allowed" $length (ternary (printf " with %q in front" $before) "" (ne $before "")) -}}
{{- end -}}
{{- end -}}
{{- if and (not $reason) (contains ":" $path) -}}
{{- $part = "tag" -}}
{{- $value = trimPrefix (printf "%s:" $repository) $path -}}
{{- $reason = include "image-overrides.tagFault" $value -}}
{{- if not $reason -}}
{{- $part = "name" -}}
{{- $reason = printf "has the tag %q" $value -}}
{{- $value = . -}}
{{- end -}}
{{- end -}}
{{- end -}}
{{- if $reason }}{{ printf "%s %q %s" $part $value $reason }}{{ end -}}
{{- end -}}

{{/*
image-overrides.host returns the host of a name, or nothing.
*/}}
{{- define "image-overrides.host" -}}
{{- $first := regexFind "^[^/]*/" . | trimSuffix "/" -}}
{{- if or (eq $first "localhost") (regexMatch "[.:A-Z]" $first) }}{{ $first }}{{ end -}}
{{- end -}}

{{/*
image-overrides.registryFault returns what ValidateHost says of the host of a sound name: it asks for
more than CheckName does.
*/}}
{{- define "image-overrides.registryFault" -}}
{{- $fault := include "image-overrides.hostFault" . -}}
{{- $port := regexFind ":[0-9]+$" . | trimPrefix ":" -}}
{{- $address := regexFind "^\\[[^\\]]*" . | trimPrefix "[" -}}
{{- $group := "[0-9a-fA-F]{1,4}" -}}
{{- if $fault -}}
{{- $fault -}}
{{- else if and $port (not (regexMatch "^0*(?:[1-9][0-9]{0,3}|[1-5][0-9]{4}|6[0-4][0-9]{3}|65[0-4][0-9]{2}|655[0-2][0-9]|6553[0-5])$" $port)) -}}
has the port {{ $port }}, which is not 1 to 65535
{{- else if hasPrefix "[" . -}}
{{- $groups := regexFindAll $group $address -1 | len -}}
{{- $whole := and (regexMatch (printf "^%s(?::%s)*$" $group $group) $address) (eq $groups 8) -}}
{{- $short := and (regexMatch (printf "^(?:%s(?::%s)*)?::(?:%s(?::%s)*)?$" $group $group $group $group) $address) (lt $groups 8) -}}
{{- if not (or $whole $short) -}}
has no IPv6 address in its brackets
{{- end -}}
{{- end -}}
{{- end -}}

{{/*
image-overrides.hostFault is for a host with its port, which is not empty and has no slash: labels
joined by dots, or hex digits and colons in brackets, with a port or without.
*/}}
{{- define "image-overrides.hostFault" -}}
{{- $brackets := regexFind "^[^\\]]*\\]" . -}}
{{- $rest := trimPrefix $brackets . -}}
{{- $before := regexFind "^[^:]*" $rest -}}
{{- $name := printf "%s%s" $brackets $before -}}
{{- $port := trimPrefix (printf "%s:" $before) $rest -}}
{{- $fault := "" -}}
{{- if hasPrefix "[" . -}}
{{- $fault = include "image-overrides.bracketFault" $name -}}
{{- else if contains ":" $port -}}
{{- $fault = "has more than one ':' (an IPv6 address stands in brackets)" -}}
{{- else -}}
{{- $fault = include "image-overrides.domainFault" $name -}}
{{- end -}}
{{- if $fault -}}
{{- $fault -}}
{{- else if contains ":" $rest -}}
{{- if not $port -}}
has an empty port
{{- else if regexMatch "[^0-9]" $port -}}
{{- printf "has the port %q, which is not a number" $port -}}
{{- end -}}
{{- end -}}
{{- end -}}

{{/*
image-overrides.domainFault is for a host without brackets and port.
*/}}
{{- define "image-overrides.domainFault" -}}
{{- $odd := regexFind "[^a-zA-Z0-9.-]" . -}}
{{- $label := "[a-zA-Z0-9](?:[a-zA-Z0-9-]*[a-zA-Z0-9])?" -}}
{{- if $odd -}}
{{- include "image-overrides.character" $odd -}}
{{- else if not . -}}
has nothing in front of its port
{{- else if hasPrefix "." . -}}
begins with '.'
{{- else if hasSuffix "." . -}}
ends with '.'
{{- else if not (regexMatch (printf "^%s(?:[.]%s)*$" $label $label) .) -}}
{{- $fault := trimPrefix (regexFind (printf "^(?:%s[.])*" $label) .) . | regexFind "^[^.]*" -}}
{{- if not $fault -}}
has ".."
{{- else if hasPrefix "-" $fault -}}
{{- printf "has %q, which begins with '-'" $fault -}}
{{- else -}}
{{- printf "has %q, which ends with '-'" $fault -}}
{{- end -}}
{{- end -}}
{{- end -}}

{{/*
image-overrides.bracketFault is for a host that begins with a bracket, without its port.
*/}}
{{- define "image-overrides.bracketFault" -}}
{{- $address := trimPrefix "[" . | trimSuffix "]" -}}
{{- $odd := regexFind "[^0-9a-fA-F:]" $address -}}
{{- if not (hasSuffix "]" .) -}}
has a '[' and no ']' at the end or in front of a port
{{- else if not $address -}}
has empty brackets
{{- else if $odd -}}
{{- include "image-overrides.character" $odd }} in its brackets
{{- end -}}
{{- end -}}

{{/*
image-overrides.repositoryFault is for components joined by slashes, whatever their length. Inside of a
component one dot, one or two underscores, or any number of dashes stand between letters
and digits.
*/}}
{{- define "image-overrides.repositoryFault" -}}
{{- $component := "[a-z0-9]+(?:(?:[.]|__?|-+)[a-z0-9]+)*" -}}
{{- $odd := regexFind "[^a-z0-9._/-]" . -}}
{{- if $odd -}}
{{- include "image-overrides.character" $odd -}}
{{- else if not . -}}
is empty
{{- else if hasPrefix "/" . -}}
begins with '/'
{{- else if hasSuffix "/" . -}}
ends with '/'
{{- else if not (regexMatch (printf "^%s(?:/%s)*$" $component $component) .) -}}
{{- $fault := trimPrefix (regexFind (printf "^(?:%s/)*" $component) .) . | regexFind "^[^/]*" -}}
{{- if not $fault -}}
has "//"
{{- else if regexMatch "^[._-]" $fault -}}
{{- printf "has %q, which begins with '%s'" $fault (regexFind "^." $fault) -}}
{{- else if regexMatch "[._-]$" $fault -}}
{{- printf "has %q, which ends with '%s'" $fault (regexFind ".$" $fault) -}}
{{- else -}}
{{- $run := trimPrefix (regexFind (printf "^%s" $component) $fault) $fault | regexFind "^[._-]+" -}}
{{- printf "has %q, where one '.', one or two '_' or any number of '-' may stand" $run -}}
{{- end -}}
{{- end -}}
{{- end -}}

{{/*
image-overrides.tagFault returns what CheckTag says.
*/}}
{{- define "image-overrides.tagFault" -}}
{{- $odd := regexFind "[^a-zA-Z0-9._-]" . -}}
{{- if $odd -}}
{{- include "image-overrides.character" $odd -}}
{{- else if not . -}}
is empty
{{- else if regexMatch "^[.-]" . -}}
begins with '{{ regexFind "^." . }}'
{{- else if gt (len .) 128 -}}
has {{ len . }} characters, 128 are allowed
{{- end -}}
{{- end -}}

{{/*
image-overrides.character is for a character that may not stand where it does.
*/}}
{{- define "image-overrides.character" -}}
{{- if eq . " " -}}
has a space
{{- else if regexMatch "[A-Z]" . -}}
has the upper case letter '{{ . }}'
{{- else -}}
has the character {{ include "image-overrides.rune" . }}
{{- end -}}
{{- end -}}

{{/*
image-overrides.rune quotes a character as %q quotes a rune of Go.
*/}}
{{- define "image-overrides.rune" -}}
{{- if eq . "'" -}}
'\''
{{- else if eq . "\"" -}}
'"'
{{- else -}}
'{{ printf "%q" . | trimPrefix "\"" | trimSuffix "\"" }}'
{{- end -}}
{{- end -}}
