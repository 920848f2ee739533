import { adminAccessFlags } from '../flags/admin-access-flags.ts'
import type { FlagSpec } from '../flags/flag-table.ts'

const PLACES = 'Where to listen:'
const INJECTION = 'What is injected:'
const CERTIFICATE = 'The certificate, from a directory or made by squall itself:'
const CLUSTER = 'The API server, where it is needed:'
const BOUNDS = 'Bounds and times:'
const LOGS = 'Logs:'

/** The options of `squall webhook`. */
export const WEBHOOK_FLAGS = [
  {
    name: 'listen',
    value: 'address',
    default: '127.0.0.1:15443',
    group: PLACES,
    help: 'address to take reviews on, with TLS; :15443 in a pod',
  },
  {
    name: 'admin',
    value: 'address',
    default: '127.0.0.1:15391',
    group: PLACES,
    help: 'address of health, readiness and metrics, without TLS',
  },
  ...adminAccessFlags(PLACES),
  {
    name: 'settings',
    value: 'file',
    group: INJECTION,
    help: 'settings of the injector, as YAML or JSON',
  },
  {
    name: 'kubernetes-version',
    value: 'version',
    group: INJECTION,
    help: 'version of the cluster, such as 1.33, until the API server has said it; decides whether native sidecars are used',
  },
  {
    name: 'read-namespaces',
    group: INJECTION,
    help: 'read labels and annotations of namespaces; needs the right to get namespaces',
  },
  {
    name: 'read-services',
    group: INJECTION,
    help: 'read Services, to warn of those that would go past the sidecar; needs the right to list services',
  },
  {
    name: 'tls-dir',
    value: 'directory',
    group: CERTIFICATE,
    help: 'directory with tls.crt and tls.key, which is watched; with --webhook-configuration also ca.crt, which that has to trust',
  },
  {
    name: 'tls-secret',
    value: 'name',
    group: CERTIFICATE,
    help: 'Secret in which squall keeps an authority and a certificate that it makes and renews itself',
  },
  {
    name: 'tls-host',
    value: 'name',
    repeatable: true,
    group: CERTIFICATE,
    help: 'name that such a certificate is for, as squall.chaos.svc; repeat it for more',
  },
  {
    name: 'webhook-configuration',
    value: 'name',
    group: CERTIFICATE,
    help: 'MutatingWebhookConfiguration that has to trust the CA',
  },
  {
    name: 'validating-configuration',
    value: 'name',
    group: CERTIFICATE,
    help: 'ValidatingWebhookConfiguration that has to trust the CA, too',
  },
  {
    name: 'ca-lifetime',
    value: 'duration',
    default: '87600h',
    group: CERTIFICATE,
    help: 'how long an authority is good',
  },
  {
    name: 'leaf-lifetime',
    value: 'duration',
    default: '2160h',
    group: CERTIFICATE,
    help: 'how long a certificate is good',
  },
  {
    name: 'rotate-before',
    value: 'duration',
    default: '720h',
    group: CERTIFICATE,
    help: 'how long before its end a certificate is replaced',
  },
  {
    name: 'certificate-check',
    value: 'duration',
    default: '1m',
    group: CERTIFICATE,
    help: 'how often the Secret and the webhook configuration are looked at',
  },
  {
    name: 'ca-settle',
    value: 'duration',
    default: '10s',
    group: CERTIFICATE,
    help: 'how long API servers get to notice a new authority before a certificate of it is used',
  },
  {
    name: 'namespace',
    short: 'n',
    value: 'name',
    group: CLUSTER,
    help: 'namespace of the Secret (default: that of the pod or the context)',
  },
  {
    name: 'cluster-ca',
    value: 'file',
    group: CLUSTER,
    help: 'CA of the API server, to ask its version without credentials where it is not needed otherwise',
  },
  {
    name: 'kubeconfig',
    value: 'file',
    group: CLUSTER,
    help: 'kubeconfig to use (default: the service account of the pod)',
  },
  { name: 'context', value: 'name', group: CLUSTER, help: 'context of it' },
  {
    name: 'max-review',
    value: 'size',
    default: '8MiB',
    group: BOUNDS,
    help: 'largest review that is read',
  },
  {
    name: 'review-timeout',
    value: 'duration',
    default: '4s',
    group: BOUNDS,
    help: 'time for a review to arrive; keep it below timeoutSeconds of the webhook configuration',
  },
  {
    name: 'shutdown-delay',
    value: 'duration',
    default: '5s',
    group: BOUNDS,
    help: 'how long reviews are still taken after readiness was given up',
  },
  {
    name: 'drain-timeout',
    value: 'duration',
    default: '10s',
    group: BOUNDS,
    help: 'time for reviews under way to end',
  },
  {
    name: 'log-level',
    value: 'level',
    default: 'info',
    group: LOGS,
    help: 'debug, info, warn or error',
  },
  { name: 'log-format', value: 'format', default: 'json', group: LOGS, help: 'json or pretty' },
] as const satisfies readonly FlagSpec[]

/** The name of an option of `squall webhook`. */
export type WebhookFlag = (typeof WEBHOOK_FLAGS)[number]['name']
