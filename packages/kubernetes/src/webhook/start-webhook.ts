import { checkQueue } from './check-queue.ts'
import { type DecideParts, NO_POD_ENVIRONMENT, decide } from './decide-pod.ts'
import type { Review } from './review.ts'
import { type ReviewHandlerParts, type Route, createReviewHandler } from './review-handler.ts'
import type { Server } from 'node:https'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { createAdmin, endServer, type ReadAccess } from '#admin-api'
import type { ListenAddress } from '#protocol'
import { bind, type Logger, RareLog } from '#sidecar'
import type { InjectorSettings } from '../injector/settings-schema.ts'
import { ClusterVersion } from './cluster-version.ts'
import { CertificateError, ServingCertificate } from './serving-certificate.ts'
import type { KubeClient } from '../kube/kube-client.ts'
import { managedCertificate, type ManagedOptions } from './managed-certificate.ts'
import { MountedCertificate } from './mounted-certificate.ts'
import type { CertificateParts, Publisher, PublishOptions } from './ca-publisher.ts'
import { publishedCa } from './published-ca.ts'
import { bodyBudget } from './review-body.ts'
import { createReviewServer } from './review-server.ts'
import { readBudget, readPodEnvironment, type WebhookBudget } from './pod-environment.ts'
import { createWebhookMetrics } from './webhook-metrics.ts'

/** Returns the decisions by path. Those about rules are loaded with the first review of each. */
function createRoutes(parts: DecideParts): ReadonlyMap<string, Route> {
  const rules = async (review: Review) =>
    (await import('./decide-rules.ts')).decideRules(review, parts)
  const anchor = async (review: Review) =>
    (await import('./decide-anchor.ts')).decideAnchor(review, parts)
  const workload = async (review: Review) =>
    (await import('./decide-workload.ts')).decideWorkload(review, parts)
  return new Map<string, Route>([
    ['/mutate', { subject: 'injection', decide: (review) => decide(review, parts) }],
    ['/validate-rules', { subject: 'rules', decide: rules }],
    ['/mutate-rules', { subject: 'anchor', decide: anchor }],
    ['/validate-workloads', { subject: 'workload', decide: workload }],
  ])
}

export type CertificateSource =
  | {
      readonly kind: 'mounted'
      readonly directory: string
      readonly settleMs?: number
      /** Publishes the CA of the directory; undefined where another program does. */
      readonly publish?: PublishOptions | undefined
    }
  | ({ readonly kind: 'managed' } & ManagedOptions)

/** Configures a webhook. */
export interface WebhookOptions {
  readonly listen: ListenAddress
  /** Address of health, readiness and metrics, without TLS. */
  readonly admin: ListenAddress
  /** Access rules for reading the admin port. */
  readonly adminAccess?: ReadAccess
  readonly certificate: CertificateSource
  readonly settings: InjectorSettings
  /** Kubernetes 1.`minor`, until the API server reports it. */
  readonly minor: number | undefined
  /** Connects to read the version, where no other access is needed. */
  readonly versionClient?: (() => Promise<KubeClient | undefined>) | undefined
  readonly readNamespaces: boolean
  readonly readServices: boolean
  /** Undefined where the webhook reads none. */
  readonly budget?: WebhookBudget
  /** File of the policy that new rules obey. */
  readonly policyFile?: string | undefined
  readonly maxReviewBytes: number
  readonly reviewTimeoutMs: number
  /** The time for which reviews are accepted after readiness ended. */
  readonly shutdownDelayMs: number
  readonly drainTimeoutMs: number
  readonly version: string
}

export type Webhook = Awaited<ReturnType<typeof startWebhook>>

/** The memory for all bodies, in multiples of the largest. */
const BODIES = 8
/** The CA beside a certificate, as cert-manager writes it. */
const CA = 'ca.crt'

/**
 * Starts a webhook. Calls `client` only where the options need the API server. It is ready once
 * there is a certificate; until then only the admin port responds. `stop` ends the wait for a
 * certificate.
 */
export async function startWebhook(
  options: WebhookOptions,
  logger: Logger,
  client: () => Promise<KubeClient>,
  stop: AbortSignal,
) {
  const metrics = createWebhookMetrics(options.version)
  const certificate = new ServingCertificate(logger, metrics, Date.now)
  let isListening = false
  let isDraining = false
  const readiness = (): { ready: boolean; reason: string } => {
    if (isDraining) return { ready: false, reason: 'draining' }
    const trouble = certificate.trouble ?? (isListening ? undefined : 'not listening yet')
    return { ready: trouble === undefined, reason: trouble ?? 'listening with a valid certificate' }
  }
  const { version, adminAccess: access } = options
  const admin = createAdmin({ metrics, readiness, logger, version, ...(access && { access }) })
  const adminAddress = await admin.listen(options.admin)
  /** Ends what was started, the last first. */
  const ends: ((graceMs: number) => unknown)[] = [() => admin.close()]
  const close = async (graceMs: number): Promise<void> => {
    isDraining = true
    for (const end of ends.toReversed()) await end(graceMs)
  }
  try {
    const kube = readsCluster(options) ? await client() : undefined
    const asked = kube ?? (await options.versionClient?.())
    ends.push(() => asked?.close())
    const known = new ClusterVersion({ client: asked, fallback: options.minor, logger, metrics })
    ends.push(() => known.close())
    const followed = follow(options.certificate, kube, { certificate, logger, now: Date.now }, stop)
    const [source] = await Promise.all([followed, known.start()])
    ends.push(() => source.close())
    const deciding = await decideParts(options, kube, () => known.minor, logger)
    const handling = { metrics, logger, isDraining: () => isDraining }
    const server = createServer(options, certificate, deciding, handling)
    ends.push((graceMs) => endServer(server, graceMs))
    const reviews = await bind(server, options.listen)
    isListening = true
    const drain = async (): Promise<void> => {
      isDraining = true
      await sleep(options.shutdownDelayMs)
      await close(options.drainTimeoutMs)
    }
    return { reviews, admin: adminAddress, drain, close: () => close(0) }
  } catch (error) {
    await close(0)
    throw error
  }
}

/** Opens what decisions depend on. */
async function decideParts(
  options: WebhookOptions,
  kube: KubeClient | undefined,
  minor: () => number | undefined,
  logger: Logger,
): Promise<DecideParts> {
  const { settings, policyFile, reviewTimeoutMs } = options
  return {
    settings,
    minor,
    inTurn: checkQueue(reviewTimeoutMs),
    podEnvironment: kube ? readPodEnvironment(kube, options, Date.now) : NO_POD_ENVIRONMENT,
    ...(kube && readBudget(kube, options, Date.now)),
    policy:
      policyFile === undefined
        ? undefined
        : await (await import('./rules-policy.ts')).openPolicy(policyFile, logger),
  }
}

/** Creates the server of reviews, with the certificate in use. */
function createServer(
  { reviewTimeoutMs, maxReviewBytes: maxBytes }: WebhookOptions,
  certificate: ServingCertificate,
  deciding: DecideParts,
  parts: Pick<ReviewHandlerParts, 'metrics' | 'logger' | 'isDraining'>,
): Server {
  const pair = certificate.current
  if (pair === undefined) throw new CertificateError(certificate.trouble)
  const handler = createReviewHandler({
    ...parts,
    routes: createRoutes(deciding),
    rareLog: new RareLog(parts.logger, () => performance.now()),
    body: { maxBytes, timeoutMs: reviewTimeoutMs, budget: bodyBudget(BODIES * maxBytes) },
  })
  const server = createReviewServer(pair, reviewTimeoutMs, handler)
  certificate.onSwap(({ cert, key }) => server.setSecureContext({ cert, key }))
  return server
}

function readsCluster(options: WebhookOptions): boolean {
  const { certificate, readNamespaces, readServices, budget } = options
  const publishes = certificate.kind === 'managed' || certificate.publish !== undefined
  return publishes || readNamespaces || readServices || budget !== undefined
}

/** Follows the certificate of a source; the API server is accessible where a CA is published. */
async function follow(
  source: CertificateSource,
  client: KubeClient | undefined,
  parts: Omit<CertificateParts, 'client'>,
  stop: AbortSignal,
): Promise<{ close(): void | Promise<void> }> {
  if (source.kind === 'managed') {
    return begun(managedCertificate(source, { ...parts, client: client! }), stop)
  }
  const { directory, settleMs: trustMs, publish } = source
  if (publish === undefined)
    return new MountedCertificate(directory, parts.certificate, { trustMs })
  const own = { ...parts, client: client! }
  const publisher = await begun(publishedCa(join(directory, CA), publish, own), stop)
  const { isPublished } = publisher
  const mounted = new MountedCertificate(directory, parts.certificate, { trustMs, isPublished })
  return { close: async () => void (await Promise.all([mounted.close(), publisher.close()])) }
}

/** Returns a publisher after its first check that has passed, or at `stop`. */
async function begun<Any extends Publisher>(publisher: Any, stop: AbortSignal): Promise<Any> {
  const giveUp = (): void => void publisher.close()
  stop.addEventListener('abort', giveUp)
  if (stop.aborted) giveUp()
  await publisher.start()
  stop.removeEventListener('abort', giveUp)
  return publisher
}
