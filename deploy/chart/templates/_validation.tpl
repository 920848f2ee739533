{{/* True if a validating webhook is enabled. */}}
{{- define "squall.validates" -}}
{{- if or .Values.validation.rules.enabled .Values.validation.workloads.enabled -}}
true
{{- end -}}
{{- end -}}

{{/* Matches pod templates with an annotation or label of Squall, as CEL. */}}
{{- define "squall.hasKeys" -}}
[has(object.spec.template) ? object.spec.template : object.spec.jobTemplate.spec.template].exists(t,
has(t.metadata)
&& ((has(t.metadata.annotations) && t.metadata.annotations.exists(k, k.startsWith('squall.dev/')))
|| (has(t.metadata.labels) && t.metadata.labels.exists(k, k.startsWith('squall.dev/')))))
{{- end -}}

{{/*
Matches all changes of a ConfigMap except those of annotations and new stops, as CEL. The webhooks allow these anyway,
and with failurePolicy Fail, a webhook that is down would deny squall stop.
*/}}
{{- define "squall.changesRules" -}}
request.operation == 'CREATE'
|| object.metadata.?labels != oldObject.metadata.?labels
|| object.?binaryData != oldObject.?binaryData
|| object.?immutable != oldObject.?immutable
|| [[object, oldObject].map(o, o.?data.orValue({}))].exists(d,
d[0].exists(k, k != 'squall-stop' && d[0][?k] != d[1][?k])
|| d[1].exists(k, k != 'squall-stop' && !(k in d[0]))
|| ('squall-stop' in d[1] && d[0][?'squall-stop'] != d[1][?'squall-stop']
&& d[1]['squall-stop'] != '{"stops":[]}\n'
&& !d[0][?'squall-stop'].orValue('-').matches(r'^\s*$|^\{"stops":\[\{("(at|by)":"([^"\\]|\\.)*",?)+\}\]\}\s*$')))
{{- end -}}

{{/* Selector and failure policy for ConfigMaps with rules, shared by the webhooks that anchor and validate rules. */}}
{{- define "squall.rulesReviews" -}}
rules:
  - apiGroups: ['']
    apiVersions: [v1]
    operations: [CREATE, UPDATE]
    resources: [configmaps]
    scope: Namespaced
namespaceSelector:
  matchExpressions: {{- include "squall.namespaceExpressions" . | nindent 4 }}
# ConfigMaps without the label are never sent.
objectSelector:
  matchExpressions:
    - { key: squall.dev/rules, operator: Exists }
    - { key: squall.dev/rules, operator: NotIn, values: ['false'] }
{{- if semverCompare ">=1.30.0-0" .Capabilities.KubeVersion.Version }}
# A stop does not need the webhook.
matchConditions:
  - name: changes-rules
    expression: >-
      {{- include "squall.changesRules" . | nindent 6 }}
{{- end }}
failurePolicy: {{ .Values.validation.rules.failurePolicy }}
matchPolicy: Equivalent
sideEffects: None
timeoutSeconds: {{ .Values.webhook.timeoutSeconds }}
{{- end -}}

{{- define "squall.validatingConfiguration" -}}
{{- $root := .root -}}
{{- with $root -}}
apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingWebhookConfiguration
metadata:
  name: {{ include "squall.fullname" . | toYaml }}
  labels: {{- include "squall.labels" . | nindent 4 }}
  annotations: {{- $.annotations | nindent 4 }}
webhooks:
  {{- if .Values.validation.rules.enabled }}
  - name: rules.squall.dev
    admissionReviewVersions: [v1]
    clientConfig:
      service:
        name: {{ include "squall.fullname" . | toYaml }}
        namespace: {{ .Release.Namespace | toYaml }}
        path: /validate-rules
        port: 443
      {{- with $.caBundle }}
      caBundle: {{ . }}
      {{- end }}
    {{- include "squall.rulesReviews" . | nindent 4 }}
  {{- end }}
  {{- if .Values.validation.workloads.enabled }}
  - name: workloads.squall.dev
    admissionReviewVersions: [v1]
    clientConfig:
      service:
        name: {{ include "squall.fullname" . | toYaml }}
        namespace: {{ .Release.Namespace | toYaml }}
        path: /validate-workloads
        port: 443
      {{- with $.caBundle }}
      caBundle: {{ . }}
      {{- end }}
    rules:
      - apiGroups: [apps]
        apiVersions: [v1]
        operations: [CREATE, UPDATE]
        resources: [deployments, statefulsets, daemonsets, replicasets]
        scope: Namespaced
      - apiGroups: [batch]
        apiVersions: [v1]
        operations: [CREATE, UPDATE]
        resources: [jobs, cronjobs]
        scope: Namespaced
    namespaceSelector:
      matchExpressions:
        {{- include "squall.podNamespaces" . | nindent 8 }}
    # Workloads without Squall keys, and objects that a controller owns, are never sent.
    matchConditions:
      - name: is-not-controlled
        expression: >-
          !has(object.metadata.ownerReferences)
          || !object.metadata.ownerReferences.exists(o, has(o.controller) && o.controller)
      - name: has-squall-keys
        expression: >-
          {{- include "squall.hasKeys" . | nindent 10 }}
    # These pods would be denied in any case; this check only reports the reason earlier.
    failurePolicy: Ignore
    matchPolicy: Equivalent
    sideEffects: None
    timeoutSeconds: {{ .Values.webhook.timeoutSeconds }}
  {{- end }}
{{- end -}}
{{- end -}}
