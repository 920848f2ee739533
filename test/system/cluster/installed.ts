import { failing } from '../../live/rules-directory.ts'
import { eventually } from '../../support/eventually.ts'
import { CHART, helmMissing, NAMESPACE } from '../helm.ts'
import { PATIENCE } from '../patience.ts'
import { SQUALL_IMAGE } from '../pod-images.ts'
import { buildClusterImages, importImages } from './images.ts'
import { clusterMissing } from './programs.ts'
import { createStage, type Stage } from './stage.ts'
import { type Cluster, nodeCluster } from './start-cluster.ts'

/** A cluster in which a user has installed the chart. */
export interface Installed {
  readonly cluster: Cluster
  readonly stage: Stage
  /** Names of all that was in no namespace before. */
  readonly before: readonly string[]
}

/** The arguments that install the chart, with certificates that the webhook issues itself. */
export const RELEASE = ['squall', CHART, '-n', NAMESPACE, ...values()] as const
/** The label of the webhook's pods. */
export const WEBHOOKS = 'app.kubernetes.io/component=webhook'
/** The label of the pods of the example. */
export const SERVERS = 'app.kubernetes.io/name=mcp-server'
/** The options for polling. */
export const POLL = { timeout: PATIENCE, interval: 250 }
/** The timeout of kubectl for pods, which is shorter than that of a command. */
export const ROLLOUT = '--timeout=110s'

const RESTRICTED = 'pod-security.kubernetes.io/enforce=restricted'

/**
 * Asked often, so that a fault on its path would soon start the container again. Nothing else does:
 * a busy machine has time to start it and to answer.
 */
export const HEALTH = {
  httpGet: { path: '/executed', port: 'mcp' },
  initialDelaySeconds: 15,
  timeoutSeconds: 10,
  periodSeconds: 1,
  failureThreshold: 2,
}

function values(): readonly string[] {
  const [repository, tag] = SQUALL_IMAGE.split(/:(?=[^:]*$)/)
  return [
    `image.repository=${repository},image.tag=${tag},image.pullPolicy=Never`,
    'certificates.mode=selfManaged,webhook.readNamespaces=true',
  ].flatMap((value) => ['--set', value])
}

/** Why these tests are left out; undefined when nothing is missing. In CI nothing may be. */
export function missingForCluster(): string | undefined {
  const missing = helmMissing() ?? clusterMissing()
  if (missing === undefined) return undefined
  if (process.env['CI'] !== undefined) throw new Error(missing)
  process.stderr.write(`tests with a cluster are left out: ${missing}\n`)
  return missing
}

/** Starts a cluster with images and namespaces, and installs the chart. */
export async function installedCluster(more: readonly string[] = []): Promise<Installed> {
  await buildClusterImages()
  const begun = performance.now()
  const cluster = await nodeCluster()
  note(`started in ${since(begun)}`)
  try {
    await importImages(cluster)
    const stage = createStage(cluster)
    for (const name of [NAMESPACE, 'shop', 'tight', 'live']) {
      await stage.kubectl('create', 'ns', name)
    }
    for (const name of [NAMESPACE, 'tight']) await stage.kubectl('label', 'ns', name, RESTRICTED)
    await stage.kubectl('label', 'ns', 'live', 'environment=production')
    const before = await stage.clusterWide()
    const from = performance.now()
    const { ok, text } = await stage.helm('install', ...RELEASE, ...more)
    if (!ok) throw new Error(text)
    await webhookReady(stage)
    note(`webhooks ready after ${since(from)}`)
    // The proxies of Services learn of ready pods a moment later.
    await eventually(async () => {
      const refusal = await stage.wouldRefuse()
      return refusal === '' ? undefined : refusal
    }, PATIENCE)
    return { cluster, stage, before }
  } catch (error) {
    const logs = await cluster.lastLogs()
    await cluster.close()
    throw new Error(`${String(error)}\n${logs}`, { cause: error })
  }
}

/** Waits as docs/get-started/kubernetes.md says. */
export async function webhookReady({ kubectl }: Pick<Stage, 'kubectl'>): Promise<void> {
  await kubectl('-n', NAMESPACE, 'rollout', 'status', 'deployment/squall', ROLLOUT)
}

/** Rules under which a tool fails with the rule's name, and the path that probes ask, too. */
export function armed(rule: string): string {
  return `${failing(rule, 'get_weather')}  - name: no-health\n    match: { http: { path: /executed } }\n    faults: [abort: { status: 503 }]\n`
}

/** Says something that was measured. */
export function note(text: string): void {
  process.stderr.write(`cluster: ${text}\n`)
}

/** Returns the elapsed time as text. */
export function since(begun: number): string {
  return `${Math.round(performance.now() - begun)} ms`
}
