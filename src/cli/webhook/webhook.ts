import { parse } from 'yaml'
import { quoted } from '../../base/text/foreign-text.ts'
import type { InjectorSettings } from '../../cluster/injector/injector-settings.ts'
import { parseInjectorSettings, SettingsError } from '../../cluster/injector/parse-settings.ts'
import { NO_FILE, readBounded } from '../../base/small-file.ts'
import { assertShallow } from '../../base/yaml/yaml-depth.ts'
import { BindError } from '../../listener/front/bind.ts'
import { createLogger, type Logger } from '../../telemetry/log.ts'
import { asKubeError, isKubeError } from '../../cluster/kube/kube-error.ts'
import type { KubeClient } from '../../cluster/kube/kube-client.ts'
import { CertificateError } from '../../cluster/webhook/serving-certificate.ts'
import { startWebhook, type Webhook, type WebhookOptions } from '../../cluster/webhook/webhook.ts'
import { UsageError } from '../flags/usage-error.ts'
import { readVersion } from '../version.ts'
import type { WebhookRequest } from '../commands/webhook.ts'
import { setFlagsFromString } from 'node:v8'

const SIGNALS = ['SIGTERM', 'SIGINT'] as const

/** Runs the webhook until a signal stops it. Returns the exit code. */
export async function webhookCommand(request: WebhookRequest): Promise<number> {
  keepHeapSmall()
  const version = readVersion()
  const settings = readInjectorSettings(request.settingsFile, version)
  const logger = createLogger({ level: request.logLevel, format: request.logFormat })
  surviveOwnErrors(logger)
  const stop = stopAsked(logger)
  const client = (): Promise<KubeClient> => clientOf(request, version)
  const { tls } = request
  const options: WebhookOptions = {
    ...request,
    settings,
    version,
    versionClient: () => versionClient(request, version, logger),
    certificate:
      tls.kind === 'mounted' ? tls : { ...tls, namespace: await namespaceOf(request, client) },
  }
  const webhook = await start(options, logger, client, stop)
  if (webhook !== undefined) {
    const { reviews, admin } = webhook
    logger.info({ address: reviews.text, admin: admin.text }, 'taking reviews')
    if (!stop.aborted) await new Promise((resolve) => stop.addEventListener('abort', resolve))
    await webhook.drain()
  }
  logger.info({}, 'stopped')
  logger.flush()
  return 0
}

async function start(
  options: WebhookOptions,
  logger: Logger,
  client: () => Promise<KubeClient>,
  stop: AbortSignal,
): Promise<Webhook | undefined> {
  try {
    return await startWebhook(options, logger, client, stop)
  } catch (error) {
    if (error instanceof BindError) {
      throw new UsageError('CANNOT_LISTEN', error.problem, error.remedy)
    }
    if (!(error instanceof CertificateError)) throw error
    if (stop.aborted) return undefined
    throw new UsageError('BAD_FILE', error.message, 'see docs/webhook.md for certificates')
  }
}

async function namespaceOf(
  { cluster }: WebhookRequest,
  client: () => Promise<KubeClient>,
): Promise<string> {
  if (cluster.namespace !== undefined) return cluster.namespace
  const asked = await client()
  await asked.close()
  return asked.namespace
}

async function clientOf({ cluster }: WebhookRequest, version: string): Promise<KubeClient> {
  const { connectKube } = await import('../../cluster/kube/connect.ts')
  try {
    const { kubeconfig, context, env } = cluster
    return connectKube({ kubeconfig, context, env, version })
  } catch (error) {
    if (!isKubeError(error, 'config')) throw error
    const [wrong = '', ...fix] = (error as Error).message.split('; ')
    throw new UsageError('BAD_FILE', wrong, fix.join('; ') || 'fix it')
  }
}

/** Returns a client that asks for the version of the cluster; undefined without the CA. */
async function versionClient(
  { cluster: { env, caFile } }: WebhookRequest,
  version: string,
  logger: Logger,
): Promise<KubeClient | undefined> {
  if (caFile === undefined) return undefined
  const { anonymousClient } = await import('../../cluster/kube/connect.ts')
  try {
    return anonymousClient(env, caFile, version)
  } catch (error) {
    const detail = asKubeError(error).message
    logger.warn({ detail }, 'the API server cannot be asked its version')
    return undefined
  }
}

/** A bug on one review must not end all the others. */
function surviveOwnErrors(logger: Logger): void {
  const survive = (error: unknown): void => {
    logger.error({ err: error }, 'an error inside Squall was not caught where it was made')
  }
  process.on('uncaughtException', survive)
  process.on('unhandledRejection', survive)
}

/** The first signal asks for a drain; the second ends at once. */
function stopAsked(logger: Logger): AbortSignal {
  const stop = new AbortController()
  for (const signal of SIGNALS) {
    process.on(signal, () => {
      if (stop.signal.aborted) process.exit(1)
      logger.info({ signal }, 'draining; a second signal ends at once')
      stop.abort()
    })
  }
  return stop.signal
}

/**
 * Keeps the young generation as small as it begins, and the old one near what is in use. Reviews are
 * few and short: what it saves in memory, tens of megabytes, it costs in microseconds.
 */
function keepHeapSmall(): void {
  setFlagsFromString('--semi-space-growth-factor=1')
  setFlagsFromString('--optimize-for-size')
}

/** Reads the settings of the injector from a file; without a file, returns the defaults. */
export function readInjectorSettings(file: string | undefined, version: string): InjectorSettings {
  try {
    return parseInjectorSettings(file === undefined ? {} : readYaml(file), version)
  } catch (error) {
    if (!(error instanceof SettingsError)) throw error
    const from = file === undefined ? '' : `--settings: ${quoted(file)}: `
    throw new UsageError('BAD_FILE', `${from}${error.message}`, 'fix the settings')
  }
}

function readYaml(file: string): unknown {
  let text: string
  try {
    text = readBounded(file).toString('utf8')
  } catch (error) {
    const reason = (error as NodeJS.ErrnoException).code ?? NO_FILE
    throw new UsageError(
      'BAD_FILE',
      `--settings: ${quoted(file)} cannot be read (${reason})`,
      'check the path and its permissions',
    )
  }
  try {
    assertShallow(text)
    return parse(text, { maxAliasCount: 20, logLevel: 'error' }) as unknown
  } catch (error) {
    const [why = ''] = (error as Error).message.split('\n')
    throw new UsageError('BAD_FILE', `--settings: ${quoted(file)} is no YAML: ${why}`, 'fix it')
  }
}
