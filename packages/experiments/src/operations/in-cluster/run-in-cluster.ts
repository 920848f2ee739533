import { randomBytes } from 'node:crypto'
import { setTimeout as sleep } from 'node:timers/promises'
import { type Fields, fieldsOf, listOf, textOf } from '#base'
import {
  CONFIG_MAPS,
  isKubeError,
  JOBS,
  type KubeClient,
  KubeError,
  metadataOf,
  PODS,
  SERVICE_ACCOUNTS,
} from '#kubernetes'
import type { ExperimentResult } from '../../experiment/experiment-result.ts'
import type { PodsSpec } from '../../experiment/plan.ts'
import { RejectedError } from '../../experiment/rejection.ts'
import type { SavedPlan } from '../../experiment/read-plan.ts'
import { invalidFile, invalidOption } from '#cli'
import { podLabels, selectorText } from '../pods/pod-labels.ts'
import {
  experimentJob,
  type InCluster,
  JOB_LABEL,
  type JobOptions,
  namedImage,
  planConfigMap,
  RUNNER,
  fullImage,
  type SidecarImage,
} from './job-manifest.ts'
import {
  isErrorJson,
  lastOutcome,
  type LoggedPod,
  newLines,
  type Outcome,
  outcomeOf,
  readLog,
} from './job-log.ts'
import { planFiles } from './plan-files.ts'

const POLL_MS = 1_000
/** Nodes pull the image within this time, or the run fails. */
const START_MS = 300_000
/** The time for which a stopped runner restores, and its pod ends. */
const STOP_MS = 90_000
/** The API server may be away for this long while the Job runs. */
const AWAY_MS = 300_000

/**
 * Runs a plan as a Job beside its pods; undefined for a Job stopped without an outcome. Throws a
 * `RejectedError`.
 */
export async function runInCluster(
  client: KubeClient,
  spec: PodsSpec,
  kept: SavedPlan,
  options: InCluster,
): Promise<ExperimentResult | undefined> {
  if (spec.context !== undefined) {
    throw invalidFile(
      'the plan sets a kubeconfig context, which is not available in a Job',
      'omit sidecar.kubernetes.context, and set it with --context',
    )
  }
  const { namespace } = spec
  const files = await planFiles(kept)
  await checkServiceAccount(client, namespace, options.serviceAccount)
  const sidecar = await imageFor(client, spec, options.image)
  const name = `squall-experiment-${randomBytes(4).toString('hex')}`
  const job: JobOptions = { ...options, name, namespace, sidecar, files }
  await createJob(client, job)
  options.onLine(`runs as job ${name} in ${namespace}, with ${sidecar.image}`)
  try {
    const outcome = await watchJob(client, job)
    if (outcome instanceof RejectedError) throw outcome
    return outcome
  } finally {
    await deleteJob(client, job)
  }
}

async function checkServiceAccount(
  client: KubeClient,
  namespace: string,
  name: string,
): Promise<void> {
  try {
    await client.get({ kind: SERVICE_ACCOUNTS, namespace, name })
  } catch (error) {
    if (isKubeError(error, 'forbidden')) return
    if (!isKubeError(error, 'not_found')) throw error
    throw invalidOption(
      '--service-account',
      `service account ${name} not found in namespace ${namespace}`,
      `add ${namespace} to experiments.namespaces of the chart, or set another with --service-account`,
    )
  }
}

async function imageFor(
  client: KubeClient,
  spec: PodsSpec,
  image: string | undefined,
): Promise<SidecarImage> {
  const selector = selectorText(await podLabels(client, spec))
  const pods = await client.list({ kind: PODS, namespace: spec.namespace }, selector)
  const found = pods.map(fullImage).find((each) => each !== undefined)
  if (image !== undefined) return namedImage(image, found)
  if (found !== undefined) return found
  throw invalidOption(
    '--in-cluster',
    `no pod with ${selector} in ${spec.namespace} has a usable sidecar image`,
    'set the Squall image with --image',
  )
}

/** Creates the Job and the ConfigMap with its plan, which Kubernetes deletes with the Job. */
async function createJob(client: KubeClient, job: JobOptions): Promise<void> {
  const { namespace, name } = job
  const configMap = { kind: CONFIG_MAPS, namespace, name }
  await client.create(configMap, planConfigMap(job))
  try {
    const created = await client.create({ kind: JOBS, namespace, name }, experimentJob(job))
    const owner = { apiVersion: 'batch/v1', kind: 'Job', name, uid: metadataOf(created).uid }
    await client.patch(configMap, 'merge', { metadata: { ownerReferences: [owner] } })
  } catch (error) {
    await deleteJob(client, job)
    await client.delete(configMap).catch(() => undefined)
    throw error
  }
}

/** Deletes the Job and its pod. A runner that still runs restores the rules at this. */
async function deleteJob(client: KubeClient, { namespace, name }: JobOptions): Promise<void> {
  try {
    await client.delete({ kind: JOBS, namespace, name }, {}, { propagationPolicy: 'Background' })
  } catch (error) {
    // The Job expires by itself a day after its end.
    if (!(error instanceof KubeError)) throw error
  }
}

/** Follows the Job until it has ended, or until it was stopped. */
async function watchJob(client: KubeClient, job: JobOptions): Promise<Outcome | undefined> {
  const { stop, onLine } = job
  const until = performance.now() + START_MS
  let lines: ReturnType<typeof newLines> | undefined
  let waiting = ''
  let heardAt = performance.now()
  while (!stop.aborted) {
    try {
      const pod = await podOf(client, job)
      heardAt = performance.now()
      const state = stateOf(pod)
      if (state.kind === 'waiting') {
        if (lines !== undefined) throw new JobError('the pod of the job was deleted while it ran')
        if (state.why !== waiting) onLine((waiting = state.why))
        if (heardAt > until) throw new JobError(`the job did not start: ${state.why}`)
      } else {
        const logged = { namespace: job.namespace, name: metadataOf(pod!).name }
        lines ??= newLines(client, logged)
        for (const line of await lines(stop)) {
          if (line === '' || isErrorJson(line)) continue
          if (outcomeOf(line) === undefined) onLine(line)
        }
        if (state.kind === 'ended') return await outcomeFrom(client, logged, state.why)
      }
    } catch (error) {
      if (stop.aborted) break
      if (!(error instanceof KubeError)) throw error
      const isAway = ['unreachable', 'timeout', 'too_many_requests', 'response'].includes(
        error.code,
      )
      if (!isAway || performance.now() - heardAt > AWAY_MS) throw error
    }
    await sleep(POLL_MS, undefined, { signal: stop }).catch(() => {})
  }
  onLine('stopping the job, which restores the rules')
  return stopJob(client, job)
}

/** Stops the runner, and returns what it reports at its end. */
async function stopJob(client: KubeClient, job: JobOptions): Promise<Outcome | undefined> {
  const pod = await podOf(client, job).catch(() => undefined)
  const { namespace } = job
  const isStarted = pod !== undefined && stateOf(pod).kind !== 'waiting'
  const log = isStarted
    ? readLog(client, { namespace, name: metadataOf(pod).name }, STOP_MS).catch(() => '')
    : ''
  await deleteJob(client, job)
  return lastOutcome(await log)
}

async function outcomeFrom(client: KubeClient, pod: LoggedPod, why: string): Promise<Outcome> {
  const log = await readLog(client, pod)
  const outcome = lastOutcome(log)
  if (outcome !== undefined) return outcome
  const lines = log.trimEnd().split('\n')
  const last = lines.findLast((line) => !isErrorJson(line)) ?? ''
  throw new JobError(`the job ended without a result (${why})${last === '' ? '' : `: ${last}`}`)
}

/** Reports that a Job has no result. */
class JobError extends Error {
  override readonly name = 'JobError'
}

async function podOf(
  client: KubeClient,
  { namespace, name }: JobOptions,
): Promise<Fields | undefined> {
  return (await client.list({ kind: PODS, namespace }, `${JOB_LABEL}=${name}`))[0]
}

function stateOf(pod: Fields | undefined): {
  readonly kind: 'waiting' | 'running' | 'ended'
  readonly why: string
} {
  if (pod === undefined) return { kind: 'waiting', why: 'waits for its pod' }
  const status = fieldsOf(pod['status'])
  const container = listOf(status['containerStatuses']).find(({ name }) => name === RUNNER)
  const { waiting, terminated, running } = fieldsOf(container?.['state'])
  if (terminated !== undefined) {
    const { reason, exitCode } = fieldsOf(terminated)
    return { kind: 'ended', why: `${textOf(reason) ?? 'ended'}, exit code ${String(exitCode)}` }
  }
  if (running !== undefined) return { kind: 'running', why: '' }
  const unscheduled = listOf(status['conditions']).find(
    ({ type, status: is }) => type === 'PodScheduled' && is === 'False',
  )
  const { reason, message } = { ...unscheduled, ...fieldsOf(waiting) }
  const parts = [textOf(reason) ?? 'Pending', textOf(message)].filter((each) => each !== undefined)
  return { kind: 'waiting', why: `waits for its container: ${parts.join(': ')}` }
}
