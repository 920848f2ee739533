{{/*
CA bundle in base64: the given CAs (PEM), and the CAs that API servers already trust, so that existing replicas stay
trusted while a certificate is renewed or certificates.mode changes.
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
