{{/* Fails for values that the schema cannot reject, or cannot reject with a clear message. */}}
{{- define "squall.check" -}}
{{- $names := ternary (list (include "squall.fullname" .)) list (eq .Values.mode "sidecar") -}}
{{- range .Values.gateways -}}
{{- if has .name $names -}}
{{- fail (printf "gateways: the name %s is taken: Deployments and Services of a namespace need different names" .name) -}}
{{- end -}}
{{- $names = append $names .name -}}
{{- end -}}
{{- if eq .Values.mode "gateway" -}}
{{- if not .Values.gateways -}}
{{- fail "mode=gateway requires gateways: name at least one, with its upstream and environment" -}}
{{- end -}}
{{- with .Values -}}
{{- range $value, $isSet := dict "validation.rules.enabled" .validation.rules.enabled "validation.workloads.enabled" .validation.workloads.enabled "validation.policy" .validation.policy "budget.enabled" .budget.enabled "production.stop.enabled" .production.stop.enabled "monitoring.webhook.enabled" .monitoring.webhook.enabled -}}
{{- if $isSet -}}
{{- fail (printf "%s requires mode=sidecar: without it, there is no webhook" $value) -}}
{{- end -}}
{{- end -}}
{{- end -}}
{{- else -}}
{{- include "squall.checkWebhook" . -}}
{{- end -}}
{{- end -}}

{{- define "squall.checkWebhook" -}}
{{- $webhook := .Values.webhook -}}
{{- if and (eq $webhook.matchBy "annotation") (semverCompare "<1.30.0-0" .Capabilities.KubeVersion.Version) -}}
{{- fail (printf "webhook.matchBy=annotation requires Kubernetes 1.30; got %s: set webhook.matchBy=label, and label pod templates squall.dev/inject: \"true\"" .Capabilities.KubeVersion.Version) -}}
{{- end -}}
{{- if and .Values.validation.workloads.enabled (semverCompare "<1.30.0-0" .Capabilities.KubeVersion.Version) -}}
{{- fail (printf "validation.workloads.enabled requires Kubernetes 1.30; got %s: set it to false" .Capabilities.KubeVersion.Version) -}}
{{- end -}}
{{- with .Values.certificates -}}
{{- if eq .mode "external" -}}
{{- if not .external.secretName -}}
{{- fail "certificates.mode=external requires certificates.external.secretName: the name of a Secret of type kubernetes.io/tls in the namespace of the release" -}}
{{- end -}}
{{- if not (contains "-----BEGIN CERTIFICATE-----" .external.caBundle) -}}
{{- fail "certificates.mode=external requires certificates.external.caBundle: the CA of the certificate, as PEM; use --set-file certificates.external.caBundle=ca.crt" -}}
{{- end -}}
{{- else if .external.secretName -}}
{{- fail (printf "certificates.external.secretName requires certificates.mode=external; got %s" .mode) -}}
{{- end -}}
{{- end -}}
{{- if and .Values.budget.enabled (not .Values.validation.rules.enabled) -}}
{{- fail "budget.enabled requires validation.rules.enabled: the webhook denies rules when it validates them" -}}
{{- end -}}
{{- if and .Values.budget.required (ne .Values.validation.rules.failurePolicy "Fail") -}}
{{- fail "budget.required requires validation.rules.failurePolicy=Fail: without the webhook, rules would pass" -}}
{{- end -}}
{{- if .Values.validation.policy -}}
{{- if not (and .Values.validation.rules.enabled .Values.webhook.readNamespaces) -}}
{{- fail "validation.policy requires validation.rules.enabled and webhook.readNamespaces: the webhook validates rules, and reads environments from namespace labels" -}}
{{- end -}}
{{- if not (and .Values.validation.policy.targets .Values.validation.policy.environments) -}}
{{- fail "validation.policy requires targets and environments, as each policy does" -}}
{{- end -}}
{{- if and .Values.validation.policy.requireUntil (not .Values.validation.rules.anchor) -}}
{{- fail "validation.policy.requireUntil requires validation.rules.anchor: without appliedAt, rules with for: have no end" -}}
{{- end -}}
{{- if ne .Values.validation.rules.failurePolicy "Fail" -}}
{{- fail "validation.policy requires validation.rules.failurePolicy=Fail: without the webhook, rules would pass" -}}
{{- end -}}
{{- end -}}
{{- if and (not .Values.serviceAccount.create) (not .Values.serviceAccount.name) -}}
{{- fail "serviceAccount.create=false requires serviceAccount.name" -}}
{{- end -}}
{{- if eq (int $webhook.port) (int $webhook.adminPort) -}}
{{- fail (printf "webhook.port and webhook.adminPort must differ; both are %d" (int $webhook.port)) -}}
{{- end -}}
{{- end -}}
