{{/* Arguments of the webhook. */}}
{{- define "squall.webhookArgs" -}}
- webhook
- --listen=:{{ .Values.webhook.port }}
- --admin=:{{ .Values.webhook.adminPort }}
- --settings=/etc/squall/injector/settings.yaml
- --kubernetes-version={{ .Capabilities.KubeVersion.Version }}
{{- if eq .Values.certificates.mode "selfManaged" }}
- --tls-secret={{ include "squall.certificateSecret" . }}
- --tls-host={{ include "squall.host" . }}
{{- else }}
- --tls-dir=/etc/squall/tls
{{- end }}
{{- if or .Values.budget.enabled (eq .Values.certificates.mode "selfManaged") }}
- --namespace={{ .Release.Namespace }}
{{- end }}
{{- if include "squall.publishesCa" . }}
- --webhook-configuration={{ include "squall.fullname" . }}
{{- if include "squall.validates" . }}
- --validating-configuration={{ include "squall.fullname" . }}
{{- end }}
{{- end }}
{{- if not (include "squall.needsApiServer" .) }}
- --cluster-ca=/etc/squall/cluster/ca.crt
{{- end }}
{{- if .Values.webhook.readNamespaces }}
- --read-namespaces
{{- end }}
{{- if .Values.webhook.readServices }}
- --read-services
{{- end }}
{{- if .Values.budget.enabled }}
- --read-budget
{{- if .Values.budget.required }}
- --require-budget
{{- end }}
{{- end }}
{{- if .Values.validation.policy }}
- --policy=/etc/squall/policy/policy.yaml
{{- end }}
- --review-timeout={{ sub .Values.webhook.timeoutSeconds 1 }}s
- --log-level={{ .Values.webhook.logLevel }}
{{- range .Values.webhook.extraArgs }}
- {{ . | quote }}
{{- end }}
{{- end -}}

{{/* Names that mean production, as JSON, if they differ from the built-in names. */}}
{{- define "squall.productionEnvironments" -}}
{{- with .Values.production -}}
{{- if or .names (ne (toJson .values) `["production","prod","prd","live"]`) -}}
{{- concat .names .values | uniq | toJson -}}
{{- end -}}
{{- end -}}
{{- end -}}

{{/* The same names as a flag, for commands that do not read the webhook settings. */}}
{{- define "squall.productionNames" -}}
{{- with include "squall.productionEnvironments" . }}
- {{ printf "--production-names=%s" (fromJsonArray . | join ",") | quote }}
{{- end }}
{{- end -}}

{{/* Settings for sidecar injection. */}}
{{- define "squall.settings" -}}
{{- $sidecar := .Values.sidecar -}}
image: {{ include "squall.sidecarImage" . | toYaml }}
imagePullPolicy: {{ .Values.image.pullPolicy }}
allowedImages: {{ $sidecar.allowedImages | toJson }}
user: {{ $sidecar.user | int }}
resources: {{- toYaml $sidecar.resources | nindent 2 }}
rules: {{ $sidecar.rules | toYaml }}
adminSecret: {{ $sidecar.adminSecret | toYaml }}
environmentLabel: {{ .Values.production.label | toYaml }}
productionAction: {{ .Values.production.action }}
{{- with include "squall.productionEnvironments" . }}
productionEnvironments: {{ . }}
{{- end }}
excludedNamespaces: {{ include "squall.excludedNamespaces" . }}
{{- /* With two scrape jobs, every series would exist twice. */}}
scrapeAnnotations: {{ and $sidecar.scrapeAnnotations (not .Values.monitoring.sidecars.enabled) }}
{{- $tracing := dict -}}
{{- with .Values.tracing.endpoint -}}{{- $_ := set $tracing "otlp-endpoint" . -}}{{- end -}}
{{- with .Values.tracing.url -}}{{- $_ := set $tracing "trace-url" . -}}{{- end }}
defaults: {{ merge dict $sidecar.defaults $tracing | toJson }}
{{- end -}}
