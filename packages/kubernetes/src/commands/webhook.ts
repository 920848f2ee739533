import {
  adminAccessFlags,
  asText,
  duration,
  group,
  invalidCombination,
  LOG_FLAGS,
  one,
  operation,
  overlaps,
  parseListen,
  readAccessOf,
  type RequestOf,
  size,
  toggle,
} from '#cli'
import { parseMinor, parseObjectName } from '../cli/cluster-options.ts'
import { CERTIFICATE_FLAGS, webhookTlsOf } from '../cli/certificate-flags.ts'

const ADDRESSES = 'Addresses:'
const END_TIME = { min: 0, max: 600_000 }

export const WEBHOOK = operation({
  name: 'webhook',
  examples: [
    'webhook --tls-dir /etc/squall/tls --settings settings.yaml',
    'webhook --listen :15443 --admin :15391 --tls-dir /etc/squall/tls --settings settings.yaml',
  ],
  page: 'docs/concepts/webhook.md',
  description: 'run the admission webhook that injects the sidecar into pods that request it',
  flags: {
    ...group(ADDRESSES, {
      listen: one(
        'address',
        'listen address for admission requests, with TLS; in a pod, use :15443',
        parseListen,
        {
          default: '127.0.0.1:15443',
        },
      ),
      admin: one('address', 'address of health, readiness and metrics, without TLS', parseListen, {
        default: '127.0.0.1:15391',
      }),
    }),
    ...adminAccessFlags(ADDRESSES),
    ...group('Injection:', {
      settings: one('file', 'injector settings, as YAML or JSON', asText),
      kubernetesVersion: one(
        'version',
        'Kubernetes version, such as 1.33, until the API server reports it; determines whether sidecars are native',
        parseMinor,
      ),
      readNamespaces: toggle(
        'read labels and annotations of namespaces; requires permission to get namespaces',
      ),
      readServices: toggle(
        'read Services, to warn about those that bypass the sidecar; requires permission to list services',
      ),
      readBudget: toggle(
        'deny new rules, and temporary faults in new pods, that the ConfigMap squall-budget in --namespace does not allow; requires permission to get it',
      ),
      requireBudget: toggle(
        'with --read-budget: also deny new rules if the budget does not exist or cannot be read',
      ),
      policy: one(
        'file',
        'policy for new rules, as for experiments, read for each admission request about rules; requires --read-namespaces',
        asText,
      ),
    }),
    ...CERTIFICATE_FLAGS,
    ...group('The API server:', {
      namespace: one(
        'name',
        'namespace of the Secret and of squall-budget (default: from the pod or the context)',
        parseObjectName,
        { short: 'n' },
      ),
      clusterCa: one(
        'file',
        'CA of the API server, to read its version without credentials if no other access is required',
        asText,
      ),
      kubeconfig: one(
        'file',
        'kubeconfig to use (default: KUBECONFIG, the service account of the pod, or ~/.kube/config)',
        asText,
      ),
      context: one('name', 'context of the kubeconfig', asText),
    }),
    ...group('Limits and times:', {
      maxReview: size('maximum request size', { min: 64 * 1024, max: 64 * 1024 * 1024 }, '8MiB'),
      reviewTimeout: duration(
        'timeout for receiving an admission request; keep it below timeoutSeconds in the webhook configuration',
        // An API server waits at most thirty seconds.
        { min: 100, max: 30_000 },
        '4s',
      ),
      shutdownDelay: duration(
        'how long the webhook still accepts admission requests after it becomes unready',
        END_TIME,
        '5s',
      ),
      drainTimeout: duration('drain timeout for in-flight admission requests', END_TIME, '10s'),
    }),
    ...LOG_FLAGS,
  },
  note: `
Admission requests are served at POST /mutate with TLS; /livez, /readyz and /metrics are on --admin.`,
  parse: (flags, { env }) => {
    const { listen, admin, namespace, kubeconfig, context } = flags
    if (overlaps(listen, admin)) {
      throw invalidCombination(
        '--listen and --admin are the same address',
        'use different addresses',
      )
    }
    if (flags.policy !== undefined && !flags.readNamespaces) {
      throw invalidCombination(
        '--policy requires --read-namespaces',
        'add --read-namespaces: the environments of the policy come from namespace labels',
      )
    }
    return {
      ...flags,
      adminAccess: readAccessOf(flags, env, admin),
      settingsFile: flags.settings,
      minor: flags.kubernetesVersion,
      policyFile: flags.policy,
      ...(flags.readBudget && {
        budget: { requireBudget: flags.requireBudget, systemNamespace: namespace },
      }),
      tls: webhookTlsOf(flags),
      cluster: { namespace, kubeconfig, context, caFile: flags.clusterCa, env },
      maxReviewBytes: flags.maxReview,
      reviewTimeoutMs: flags.reviewTimeout,
      shutdownDelayMs: flags.shutdownDelay,
      drainTimeoutMs: flags.drainTimeout,
    }
  },
})

export type WebhookRequest = RequestOf<typeof WEBHOOK>
