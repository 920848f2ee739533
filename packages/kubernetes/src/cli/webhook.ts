import { once } from 'node:events'
import { BindError, createLogger, type Logger } from '#sidecar'
import { asKubeError } from '../kube/kube-error.ts'
import type { KubeClient } from '../kube/kube-client.ts'
import { CertificateError } from '../webhook/serving-certificate.ts'
import { startWebhook, type Webhook, type WebhookOptions } from '../webhook/start-webhook.ts'
import { clientFor } from './cluster-options.ts'
import { drainSignal, invalidFile, surviveOwnErrors, UsageError } from '#cli'
import { readVersion } from '#base'
import { readInjectorSettings } from './injector-settings.ts'
import type { WebhookRequest } from '../commands/webhook.ts'
import { setFlagsFromString } from 'node:v8'

/** Runs the webhook until a signal stops it; returns the exit code. */
export async function webhookCommand(request: WebhookRequest): Promise<number> {
  keepHeapSmall()
  const version = readVersion()
  const settings = await readInjectorSettings(request.settingsFile)
  const logger = createLogger({ level: request.logLevel, format: request.logFormat })
  surviveOwnErrors(logger)
  const stop = drainSignal(logger)
  const client = (): Promise<KubeClient> => clientFor(request.cluster)
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
    logger.info({ address: reviews.text, admin: admin.text }, 'serving admission requests')
    if (!stop.aborted) await once(stop, 'abort')
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
    throw invalidFile(error.message, 'see docs/concepts/webhook.md for certificates')
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

/** Connects anonymously, to read the version of the cluster; returns undefined without its CA. */
async function versionClient(
  { cluster: { env, caFile } }: WebhookRequest,
  version: string,
  logger: Logger,
): Promise<KubeClient | undefined> {
  if (caFile === undefined) return undefined
  const { anonymousClient } = await import('../kube/connect.ts')
  try {
    return anonymousClient(env, caFile, version)
  } catch (error) {
    const detail = asKubeError(error).message
    logger.warn({ detail }, 'the version of the API server cannot be read')
    return undefined
  }
}

/**
 * Keeps the young generation at its initial size, and the old generation near the memory in use.
 * Reviews are few and short: this saves tens of megabytes and costs microseconds.
 */
function keepHeapSmall(): void {
  setFlagsFromString('--semi-space-growth-factor=1')
  setFlagsFromString('--optimize-for-size')
}
