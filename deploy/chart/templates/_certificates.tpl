{{/*
What API servers trust, in base64. Beside what is given (PEM), the CAs that they trust already stay, so that replicas
of before serve on while a certificate is renewed or certificates.mode changes.
*/}}
{{- define "squall.caBundle" -}}
{{- $root := .root -}}
{{- $form := "-----BEGIN CERTIFICATE-----[^-]+-----END CERTIFICATE-----" -}}
{{- $new := regexFindAll $form .pem -1 -}}
{{- $old := list -}}
{{- if or $root.Values.certificates.trustPrevious (has $root.Values.certificates.mode (list "selfManaged" "certManager")) -}}
{{- $live := lookup "admissionregistration.k8s.io/v1" "MutatingWebhookConfiguration" "" (include "squall.fullname" $root) -}}
{{- range ($live.webhooks | default list) -}}
{{- with .clientConfig.caBundle -}}
{{- $old = concat $old (regexFindAll $form (. | b64dec) -1) -}}
{{- end -}}
{{- end -}}
{{- end -}}
{{- $kept := list -}}
{{- range ($old | uniq) -}}
{{- if and (not (has . $new)) (lt (len $kept) 5) -}}
{{- $kept = append $kept . -}}
{{- end -}}
{{- end -}}
{{- with concat $new $kept -}}
{{- printf "%s\n" (join "\n" .) | b64enc -}}
{{- end -}}
{{- end -}}
