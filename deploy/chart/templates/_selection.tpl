{{/* Matches pods that request the sidecar. */}}
{{- define "squall.matchConditions" -}}
- name: asks-for-squall
  expression: >-
    (has(object.metadata.annotations)
    && 'squall.dev/inject' in object.metadata.annotations
    && object.metadata.annotations['squall.dev/inject'] != 'false')
    || (has(object.metadata.labels)
    && 'squall.dev/inject' in object.metadata.labels
    && object.metadata.labels['squall.dev/inject'] != 'false')
{{- end -}}

{{- define "squall.podRules" -}}
- apiGroups: ['']
  apiVersions: [v1]
  operations: [CREATE]
  resources: [pods]
  scope: Namespaced
{{- end -}}

{{- define "squall.excludedNamespaces" -}}
{{- append .Values.webhook.excludedNamespaces .Release.Namespace | uniq | toJson -}}
{{- end -}}

{{/* Namespaces in which injection is possible, production or not. */}}
{{- define "squall.namespaceExpressions" -}}
- key: kubernetes.io/metadata.name
  operator: NotIn
  values: {{ include "squall.excludedNamespaces" . }}
- key: squall.dev/injection
  operator: NotIn
  values: [disabled]
{{- with .Values.webhook.namespaceSelector }}
{{ toYaml . }}
{{- end }}
{{- end -}}

{{/* True if selectors exclude production namespaces. A webhook that reads namespaces denies pods itself, and owners can allow them. */}}
{{- define "squall.passesProductionBy" -}}
{{- if and (ne .Values.production.action "allow") (not (and (eq .Values.production.action "refuse") .Values.webhook.readNamespaces)) -}}
true
{{- end -}}
{{- end -}}

{{/* Namespaces whose pods are sent to the webhook. */}}
{{- define "squall.podNamespaces" -}}
{{- include "squall.namespaceExpressions" . }}
{{- if include "squall.passesProductionBy" . }}
- key: {{ .Values.production.label | toYaml }}
  operator: NotIn
  values: {{ .Values.production.values | toJson }}
{{- end }}
{{- end -}}
