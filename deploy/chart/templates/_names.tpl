{{/*
Sets missing values to their defaults: with helm upgrade --reuse-values, a release has only the values of the chart
version that it was installed from. Each template begins with this definition.
*/}}
{{- define "squall.complete" -}}
{{- $values := .Values -}}
{{- range $path, $default := .Files.Get "files/defaults.yaml" | fromYaml -}}
{{- $keys := splitList "." $path -}}
{{- $at := $values -}}
{{- range initial $keys -}}
{{- if not (hasKey $at .) -}}
{{- $_ := set $at . dict -}}
{{- end -}}
{{- $at = get $at . -}}
{{- end -}}
{{- if not (hasKey $at (last $keys)) -}}
{{- $_ := set $at (last $keys) $default -}}
{{- end -}}
{{- end -}}
{{- end -}}

{{- define "squall.name" -}}
{{- default .Chart.Name .Values.nameOverride -}}
{{- end -}}

{{- define "squall.fullname" -}}
{{- if .Values.fullnameOverride -}}
{{- .Values.fullnameOverride -}}
{{- else if contains (include "squall.name" .) .Release.Name -}}
{{- .Release.Name | trunc 50 | trimSuffix "-" -}}
{{- else -}}
{{- printf "%s-%s" .Release.Name (include "squall.name" .) | trunc 50 | trimSuffix "-" -}}
{{- end -}}
{{- end -}}

{{- define "squall.selectorLabels" -}}
app.kubernetes.io/name: {{ include "squall.name" . | toYaml }}
app.kubernetes.io/instance: {{ .Release.Name | toYaml }}
app.kubernetes.io/component: webhook
{{- end -}}

{{- define "squall.labels" -}}
helm.sh/chart: {{ printf "%s-%s" .Chart.Name (.Chart.Version | replace "+" "_") }}
app.kubernetes.io/name: {{ include "squall.name" . | toYaml }}
app.kubernetes.io/instance: {{ .Release.Name | toYaml }}
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
app.kubernetes.io/part-of: {{ get .Values.commonLabels "app.kubernetes.io/part-of" | default "squall" | toYaml }}
app.kubernetes.io/managed-by: {{ .Release.Service }}
{{- /* Duplicate keys are an error for kustomize. */}}
{{- with omit .Values.commonLabels "app.kubernetes.io/part-of" "helm.sh/chart" "app.kubernetes.io/name" "app.kubernetes.io/instance" "app.kubernetes.io/version" "app.kubernetes.io/managed-by" "app.kubernetes.io/component" }}
{{ toYaml . }}
{{- end }}
{{- end -}}

{{- define "squall.serviceAccountName" -}}
{{- default (include "squall.fullname" .) .Values.serviceAccount.name -}}
{{- end -}}

{{- define "squall.image" -}}
{{- with .Values.image -}}
{{- if .digest -}}
{{- printf "%s@%s" .repository .digest -}}
{{- else -}}
{{- printf "%s:%s" .repository (default $.Chart.AppVersion .tag) -}}
{{- end -}}
{{- end -}}
{{- end -}}

{{/* Sidecar image: the part of the image above that pods need. */}}
{{- define "squall.sidecarImage" -}}
{{- if .Values.sidecar.image -}}
{{- .Values.sidecar.image -}}
{{- else if .Values.image.digest -}}
{{- include "squall.image" . -}}
{{- else -}}
{{- printf "%s-sidecar" (include "squall.image" .) -}}
{{- end -}}
{{- end -}}

{{/* The type of a Secret is immutable, so each mode uses its own Secret. */}}
{{- define "squall.certificateSecret" -}}
{{- $mode := .Values.certificates.mode -}}
{{- $name := include "squall.fullname" . -}}
{{- if eq $mode "external" -}}
{{- .Values.certificates.external.secretName -}}
{{- else if eq $mode "certManager" -}}
{{- printf "%s-cert-manager-tls" $name -}}
{{- else if eq $mode "selfManaged" -}}
{{- printf "%s-self-managed-tls" $name -}}
{{- else -}}
{{- printf "%s-tls" $name -}}
{{- end -}}
{{- end -}}

{{- define "squall.pullSecrets" -}}
{{- with .Values.image.pullSecrets -}}
imagePullSecrets:
{{- range . }}
  - name: {{ . | toYaml }}
{{- end }}
{{- end -}}
{{- end -}}

{{- define "squall.host" -}}
{{- printf "%s.%s.svc" (include "squall.fullname" .) .Release.Namespace -}}
{{- end -}}

{{/* True if the webhook itself adds its CA to the webhook configuration, next to previous CAs. */}}
{{- define "squall.publishesCa" -}}
{{- if has .Values.certificates.mode (list "selfManaged" "certManager") -}}
true
{{- end -}}
{{- end -}}

{{- define "squall.needsApiServer" -}}
{{- if or (include "squall.publishesCa" .) .Values.webhook.readNamespaces .Values.webhook.readServices .Values.budget.enabled -}}
true
{{- end -}}
{{- end -}}

{{- define "squall.monitoringNamespace" -}}
{{- default .Release.Namespace .Values.monitoring.namespace -}}
{{- end -}}

{{- define "squall.monitoringLabels" -}}
{{- include "squall.labels" . }}
{{- with .Values.monitoring.labels }}
{{ toYaml . }}
{{- end }}
{{- end -}}
