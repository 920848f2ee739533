import { asStarted } from '../../base/started-as.ts'
import { plain, quoted } from '../../base/text/foreign-text.ts'
import type { ExperimentResult } from '../../lab/experiment/experiment-result.ts'
import {
  experimentSuite,
  noteLines,
  rejectedSuite,
  writeReports,
} from '../../lab/experiment/experiment-report.ts'
import { addToHistory, readHistory } from '../../lab/experiment/history.ts'
import { type Rejection, RejectedError } from '../../lab/experiment/rejection.ts'
import { moreRejections, runExperiment } from '../../lab/experiment/run-experiment.ts'
import { print } from '../files.ts'
import { withJunit, writeJunit } from '../junit.ts'
import { INTERRUPTED, interruption } from '../long-running.ts'
import { invalidFile } from '../flags/usage-error.ts'
import { readVersion } from '../version.ts'
import { experimentProgress } from '../../lab/experiment/experiment-progress.ts'
import type { KeptPlan, ReadPlan } from '../../lab/experiment/read-plan.ts'
import { LocalSidecar } from '../../lab/experiment/local-sidecar.ts'
import type { Sidecars } from '../../lab/experiment/sidecars.ts'
import { clientFor } from '../kube/cluster-options.ts'
import { PodSidecars } from './pods/pod-sidecars.ts'
import { type AskedPlan, complaints, complaintsOf, readAsked } from './read-plans.ts'
import { KubeError, isKubeError } from '../../cluster/kube/kube-error.ts'
import type { KubeClient } from '../../cluster/kube/kube-client.ts'
import { NAMESPACES, metadataOf } from '../../cluster/kube/resources.ts'
import { PRODUCTION_NAMES, type SourcedName } from '../../rules/guard/production-names.ts'
import type { Plan, PodsSpec } from '../../lab/experiment/plan.ts'
import { type InCluster, runInCluster } from './in-cluster/run-in-cluster.ts'
import type { Environment } from '../flags/flag.ts'
import { tokenIn, withToken } from '../flags/server.ts'
import { tooManyRejections } from '../../lab/policy/policy-rejections.ts'
import type { Policy } from '../../lab/policy/policy-schema.ts'

const FAILED = 1

/** The options of `squall experiment run`. */
interface ExperimentRunRequest extends AskedPlan {
  readonly headers: Readonly<Record<string, string>>
  readonly authTokenFile: string | undefined
  readonly junit: string | undefined
  readonly monitorTokenFile: string | undefined
  /** The token of the environment. */
  readonly monitorToken: string | undefined
  /** The read token of the sidecar, if it requires one. */
  readonly readToken: string | undefined
  readonly cluster: LabelSource
  /** The prefix of the injector's annotations. */
  readonly prefix: string
  readonly stateDirectory: string
  readonly json: boolean
  /** Shows the progress beside JSON. */
  readonly progress: boolean
  /** Runs the plan as a Job; undefined for a run in this process. */
  readonly inCluster: Pick<InCluster, 'image' | 'serviceAccount'> | undefined
}

/** Runs a plan; returns the exit code. */
export function runPlan(request: ExperimentRunRequest): Promise<number> {
  return withJunit(request.junit, 'squall experiment', () => runToReport(request))
}

async function runToReport(request: ExperimentRunRequest): Promise<number> {
  const { read, kept, policy, again } = await readAsked(request)
  if (!read.ok) {
    process.stderr.write(complaints(kept.file, read))
    throw invalidFile(`${quoted(kept.file)} is no plan`, 'fix the errors above')
  }
  const { readToken } = request
  const { plan } = read
  const { sidecar: spec } = plan
  const context = request.cluster.context ?? (spec.kind === 'pods' ? spec.context : undefined)
  const cluster = { ...request.cluster, context }
  if (request.inCluster !== undefined && spec.kind !== 'pods') {
    const wrong = `--in-cluster: ${quoted(kept.file)} is for a sidecar of this machine`
    throw invalidFile(wrong, 'name pods with sidecar.kubernetes')
  }
  const tooMany = read.rejections.length > 0 ? [] : await tooManyRuns(request, plan, policy)
  if (tooMany.length > 0) return rejected(tooMany, request, rejectedLines(tooMany))
  const client = spec.kind === 'pods' ? await clientFor(cluster) : undefined
  try {
    if (request.inCluster !== undefined && spec.kind === 'pods' && read.rejections.length === 0) {
      return await runAsJob(request, request.inCluster, { client: client!, spec, kept, again })
    }
    const sidecars =
      spec.kind === 'pods'
        ? new PodSidecars(client!, spec, { prefix: request.prefix, readToken })
        : new LocalSidecar({ ...spec, admin: { ...spec.admin, readToken } })
    return await runWith(request, read, { ...kept, again }, sidecars, cluster)
  } finally {
    await client?.close()
  }
}

async function tooManyRuns(
  { experiments }: ExperimentRunRequest,
  plan: Plan,
  policy: Policy | undefined,
): Promise<readonly Rejection[]> {
  if (policy === undefined) return []
  return tooManyRejections(plan, policy, await readHistory(experiments), Date.now())
}

async function runWith(
  request: ExperimentRunRequest,
  { plan, rejections }: Extract<ReadPlan, { readonly ok: true }>,
  { again, ...kept }: KeptPlan & { readonly again: string | undefined },
  sidecars: Sidecars,
  cluster: LabelSource,
): Promise<number> {
  const { json, experiments, stateDirectory } = request
  const namespaceLabel = namespaceLabels(cluster, (text) => {
    if (!json) process.stderr.write(`warning: ${plain(text)}\n`)
  })
  const monitorHeaders = await monitorHeadersOf(request)
  if (rejections.length > 0) {
    // Nothing asks a sidecar in production.
    const isProduction = rejections.some(({ code }) => code === 'PRODUCTION')
    const more = isProduction
      ? []
      : await moreRejections({ plan, sidecars, namespaceLabel, monitorHeaders })
    const lines = `${complaintsOf(kept.file, rejections)}${rejectedLines(more)}`
    return rejected([...rejections, ...more], request, lines)
  }
  const headers = await withToken(request.headers, request.authTokenFile)
  const past = await readHistory(experiments)
  // The first signal rolls back; after the second, the rules expire by themselves.
  const interrupt = interruption(INTERRUPTED, ['SIGINT', 'SIGTERM', 'SIGHUP'])
  try {
    const result = await runExperiment({
      plan,
      sidecars,
      version: readVersion(),
      headers,
      stateDirectory,
      stop: interrupt.signal,
      past,
      namespaceLabel,
      monitorHeaders,
      onEvent:
        json && !request.progress ? () => {} : experimentProgress(process.stderr, process.env),
      ...(again !== undefined && { again }),
    })
    const code = await reported(request, result, kept)
    return interrupt.signal.aborted ? INTERRUPTED : code
  } catch (error) {
    if (!(error instanceof RejectedError)) throw error
    if (interrupt.signal.aborted) return INTERRUPTED
    return rejected(error.rejections, request, rejectedLines(error.rejections))
  } finally {
    interrupt.forget()
  }
}

/** Runs the plan as a Job; its reports and its history are those of this machine. */
async function runAsJob(
  request: ExperimentRunRequest,
  { image, serviceAccount }: NonNullable<ExperimentRunRequest['inCluster']>,
  {
    client,
    spec,
    kept,
    again,
  }: { client: KubeClient; spec: PodsSpec; kept: KeptPlan; again: string | undefined },
): Promise<number> {
  const { json, progress, prefix, cluster, production } = request
  const { patterns } = production
  const interrupt = interruption(INTERRUPTED, ['SIGINT', 'SIGTERM', 'SIGHUP'])
  try {
    const outcome = await runInCluster(client, spec, kept, {
      image,
      serviceAccount,
      prefix,
      args: [
        `--annotation-prefix=${prefix}`,
        `--environment-label=${cluster.environmentLabel}`,
        ...(patterns === PRODUCTION_NAMES ? [] : [`--production-names=${patterns.join(',')}`]),
      ],
      stop: interrupt.signal,
      onLine: (line) => {
        if (!json || progress) process.stderr.write(`${plain(line)}\n`)
      },
    })
    if (outcome?.kind === 'rejected') {
      return await rejected(outcome.rejections, request, rejectedLines(outcome.rejections))
    }
    if (outcome === undefined) return INTERRUPTED
    const result = { ...outcome.result, ...(again !== undefined && { again }) }
    const code = await reported(request, result, kept)
    return interrupt.signal.aborted ? INTERRUPTED : code
  } catch (error) {
    if (!(error instanceof RejectedError)) throw error
    return await rejected(error.rejections, request, rejectedLines(error.rejections))
  } finally {
    interrupt.forget()
  }
}

/** Writes the reports of a result; returns the exit code. */
async function reported(
  { experiments, json, junit }: ExperimentRunRequest,
  result: ExperimentResult,
  kept: KeptPlan,
): Promise<number> {
  const directory = await writeReports(experiments, result, kept)
  await addToHistory(experiments, result)
  await writeJunit(junit, experimentSuite(result))
  await print(json ? `${JSON.stringify(result)}\n` : resultText(result, directory))
  return result.verdict === 'passed' ? 0 : FAILED
}

function monitorHeadersOf({
  monitorTokenFile: file,
  monitorToken: token = '',
}: ExperimentRunRequest): Promise<Readonly<Record<string, string>>> {
  const isSet = file === undefined && token.trim() !== ''
  const own = isSet ? { authorization: `Bearer ${tokenIn(token, 'SQUALL_MONITOR_TOKEN')}` } : {}
  return withToken(own, file, '--monitor-token-file')
}

async function rejected(
  rejections: RejectedError['rejections'],
  { json, junit }: ExperimentRunRequest,
  text: string,
): Promise<number> {
  await writeJunit(junit, rejectedSuite(rejections))
  if (json) await print(`${JSON.stringify({ rejected: rejections })}\n`)
  else process.stderr.write(`${text}no fault was injected\n`)
  return FAILED
}

function resultText(result: ExperimentResult, directory: string): string {
  return `${noteLines(result).map(plain).join('\n')}\nreport: ${plain(directory)}/report.html\n`
}

function rejectedLines(rejections: RejectedError['rejections']): string {
  return rejections
    .map(({ code, wrong, fix }) => `${code}: ${plain(`${wrong}; ${asStarted(fix)}`)}\n`)
    .join('')
}

/** The cluster that has the namespace, and the label that names its environment. */
export interface LabelSource {
  readonly kubeconfig: string | undefined
  readonly context: string | undefined
  readonly environmentLabel: string
  readonly env: Environment
}

const ASK_MS = 3_000

/** Returns a function that reads the label of a namespace with the permissions of the user. */
export function namespaceLabels(
  { kubeconfig, context, environmentLabel, env }: LabelSource,
  warn: (text: string) => void,
): (namespace: string) => Promise<SourcedName | undefined> {
  return async (namespace) => {
    const { connectKube } = await import('../../cluster/kube/connect.ts')
    try {
      const client = connectKube({ kubeconfig, context, env, version: readVersion() })
      try {
        const ref = { kind: NAMESPACES, name: namespace }
        const { labels } = metadataOf(await client.get(ref, { timeoutMs: ASK_MS }))
        const where = `the label ${environmentLabel} of the namespace ${namespace},`
        return { where, name: labels[environmentLabel] }
      } finally {
        await client.close()
      }
    } catch (error) {
      if (!(error instanceof KubeError)) throw error
      // Without a kubeconfig there is no cluster to read.
      const isAsked = kubeconfig !== undefined || context !== undefined
      if (isAsked || !isKubeError(error, 'config')) {
        warn(`only the name of the namespace ${namespace} was checked: ${error.message}`)
      }
      return undefined
    }
  }
}
