{{/* Gateways: Squall as a Deployment in front of a Service. */}}
{{- define "squall.gatewayLabels" -}}
app.kubernetes.io/name: {{ include "squall.name" .root | toYaml }}
app.kubernetes.io/instance: {{ .root.Release.Name | toYaml }}
app.kubernetes.io/component: gateway
squall.dev/gateway: {{ .name | toYaml }}
{{- end -}}

{{/* Arguments of a gateway. Sidecar defaults that are flags of squall run also apply to gateways. */}}
{{- define "squall.gatewayArgs" -}}
{{- $values := .root.Values -}}
{{- with .gateway -}}
- run
- --listen=[::]:{{ .port | default 3000 }}
- --upstream={{ .upstream }}
- --rules=/etc/squall/rules
- --environment={{ .environment }}
- --drain-timeout=30s
{{- include "squall.productionNames" $.root }}
{{- $defaults := merge dict $values.sidecar.defaults (dict "trace-url" $values.tracing.url) }}
{{- range $flag := list "max-percent" "max-duration" "max-active" "allow-faults" "deny-tools" "guard-error-rate" "guard-window" "rollback-on" "exclude-paths" "metrics-detail" "log-level" "log-injections" "call-log" "trace-url" }}
{{- with get $defaults $flag }}
- {{ printf "--%s=%s" $flag . | replace "$" "$$" | quote }}
{{- end }}
{{- end }}
{{- range .extraArgs }}
- {{ . | quote }}
{{- end }}
{{- end -}}
{{- end -}}

{{- define "squall.gatewayEnv" -}}
{{- $values := .root.Values -}}
- name: SQUALL_POD
  valueFrom: { fieldRef: { fieldPath: metadata.name } }
- name: POD_NAMESPACE
  valueFrom: { fieldRef: { fieldPath: metadata.namespace } }
# As variables, so that the preStop hook also reads them.
- { name: SQUALL_ADMIN, value: '[::]:15390' }
- { name: SQUALL_CONTROL, value: 'unix:/run/squall/control.sock' }
# Waits until Services stop routing to this pod, because the upstream outlives the pod.
- { name: SQUALL_STOP_WAIT, value: 5s }
- { name: SQUALL_POD_LABELS_FILE, value: /etc/squall/pod/labels }
- { name: SQUALL_WORKLOAD, value: {{ .gateway.name | toYaml }} }
{{- range $variable, $key := dict "SQUALL_ADMIN_TOKEN" "token" "SQUALL_ADMIN_READ_TOKEN" "read-token" }}
- name: {{ $variable }}
  valueFrom: { secretKeyRef: { name: {{ $values.sidecar.adminSecret | toYaml }}, key: {{ $key }}, optional: true } }
{{- end }}
{{- with include "squall.gatewayHeap" .gateway }}
- { name: NODE_OPTIONS, value: --max-old-space-size={{ . }} --max-semi-space-size=8 }
{{- end }}
{{- with $values.tracing.endpoint }}
- { name: OTEL_EXPORTER_OTLP_ENDPOINT, value: {{ . | quote }} }
- name: OTEL_EXPORTER_OTLP_HEADERS
  valueFrom: { secretKeyRef: { name: {{ $values.sidecar.adminSecret | toYaml }}, key: otlp-headers, optional: true } }
{{- end }}
{{- end -}}

{{- define "squall.gatewayResources" -}}
{{- .resources | default (dict "requests" (dict "cpu" "100m" "memory" "128Mi") "limits" (dict "memory" "512Mi")) | toYaml -}}
{{- end -}}

{{/* Heap size in MiB: 60 % of the memory limit, as in sidecars. Empty below 1 MiB. */}}
{{- define "squall.gatewayHeap" -}}
{{- $memory := dig "limits" "memory" "" (include "squall.gatewayResources" . | fromYaml) -}}
{{- $limit := kindIs "string" $memory | ternary $memory ($memory | int64 | toString) -}}
{{- if $limit -}}
{{- $units := dict "m" 1e-3 "k" 1e3 "M" 1e6 "G" 1e9 "Ki" 1024 "Mi" 1048576 "Gi" 1073741824 -}}
{{- $unit := get $units (regexFind "[a-zA-Z]+$" $limit) | default 1 -}}
{{- with divf (mulf (regexFind "^[0-9.]+" $limit) $unit 0.6) 1048576 | floor | int64 -}}{{- . -}}{{- end -}}
{{- end -}}
{{- end -}}

{{/* ConfigMaps with rules that the values name, as JSON. */}}
{{- define "squall.rulesNames" -}}
{{- $names := list .Values.sidecar.rules -}}
{{- range .Values.gateways -}}{{- with .rules -}}{{- $names = append $names . -}}{{- end -}}{{- end -}}
{{- $names | uniq | toJson -}}
{{- end -}}
