import { quoted } from '../../base/text/foreign-text.ts'
import type { ReadAccess } from '../../admin/read-guard.ts'
import type { ListenAddress } from '../../http/address.ts'
import { LOG_FORMATS, LOG_LEVELS, type LogFormat, type LogLevel } from '../../telemetry/log.ts'
import { overlaps, parseListen } from '../flags/address.ts'
import { type Environment, FlagValues, type Given, type RawFlags } from '../flags/flag-values.ts'
import { objectName } from '../kube/cluster-options.ts'
import { parseReadAccess } from '../run/run-admin-token.ts'
import { parseChoice, parseDuration, parseSize, type Range } from '../flags/units.ts'
import { UsageError } from '../flags/usage-error.ts'
import { WEBHOOK_FLAGS, type WebhookFlag } from './webhook-flags.ts'
import { parseWebhookTls, type WebhookTls } from './webhook-tls-options.ts'

/** The options of `squall webhook`: times in milliseconds, sizes in bytes. */
export interface WebhookRequest {
  readonly listen: ListenAddress
  readonly admin: ListenAddress
  readonly adminAccess: ReadAccess
  readonly settingsFile: string | undefined
  readonly minor: number | undefined
  readonly readNamespaces: boolean
  readonly readServices: boolean
  readonly tls: WebhookTls
  /** Where the API server is. */
  readonly cluster: {
    readonly namespace: string | undefined
    readonly kubeconfig: string | undefined
    readonly context: string | undefined
    readonly caFile: string | undefined
    readonly env: Environment
  }
  readonly maxReviewBytes: number
  readonly reviewTimeoutMs: number
  readonly shutdownDelayMs: number
  readonly drainTimeoutMs: number
  readonly logLevel: LogLevel
  readonly logFormat: LogFormat
}

const MINUTE = 60_000
const REVIEW_SIZE: Range = { min: 64 * 1024, max: 64 * 1024 * 1024 }
// An API server waits for thirty seconds at most.
const REVIEW_TIME: Range = { min: 100, max: 30_000 }
const END_TIME: Range = { min: 0, max: 10 * MINUTE }

/** Checks the command line and the environment. Throws nothing but a `UsageError`. */
export function parseWebhook(raw: RawFlags, env: Environment): WebhookRequest {
  const flags = new FlagValues<WebhookFlag>(WEBHOOK_FLAGS, raw, env)
  const time = (name: WebhookFlag, range: Range): number => {
    const { text, source } = flags.required(name)
    return parseDuration(text, source, range)
  }
  const address = (name: WebhookFlag): ListenAddress => {
    const { text, source } = flags.required(name)
    return parseListen(text, source)
  }
  const [listen, admin] = [address('listen'), address('admin')]
  if (overlaps(listen, admin)) {
    throw new UsageError(
      'BAD_COMBINATION',
      '--listen and --admin are one address',
      'choose another for one of the two',
    )
  }
  const namespace = flags.optional('namespace')
  const size = flags.required('max-review')
  const level = flags.required('log-level')
  const format = flags.required('log-format')
  return {
    listen,
    admin,
    adminAccess: parseReadAccess(flags, env, admin),
    settingsFile: flags.optional('settings')?.text,
    minor: minorOf(flags.optional('kubernetes-version')),
    readNamespaces: flags.switch('read-namespaces'),
    readServices: flags.switch('read-services'),
    tls: parseWebhookTls(flags),
    cluster: {
      namespace: namespace && objectName(namespace),
      kubeconfig: flags.optional('kubeconfig')?.text,
      context: flags.optional('context')?.text,
      caFile: flags.optional('cluster-ca')?.text,
      env,
    },
    maxReviewBytes: parseSize(size.text, size.source, REVIEW_SIZE),
    reviewTimeoutMs: time('review-timeout', REVIEW_TIME),
    shutdownDelayMs: time('shutdown-delay', END_TIME),
    drainTimeoutMs: time('drain-timeout', END_TIME),
    logLevel: parseChoice(level.text, level.source, LOG_LEVELS),
    logFormat: parseChoice(format.text, format.source, LOG_FORMATS),
  }
}

/** The minor number of a version as clusters write it: `1.33`, `v1.33.2-gke.1`. */
function minorOf(given: Given | undefined): number | undefined {
  if (given === undefined) return undefined
  const match = /^v?1\.(\d{1,3})\+?(?:[.+-].{0,100})?$/.exec(given.text)
  if (match !== null) return Number(match[1])
  throw new UsageError(
    'BAD_VALUE',
    `${given.source}: ${quoted(given.text)} is no version of Kubernetes`,
    'write it as 1.33 or v1.33.2',
  )
}
