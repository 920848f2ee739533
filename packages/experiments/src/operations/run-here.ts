import {
  clientFor,
  isKubeError,
  type KubeClient,
  KubeError,
  metadataOf,
  NAMESPACES,
} from '#kubernetes'
import type { accessOf } from '../commands/experiment.ts'
import type { ExperimentOptions } from '../experiment/context.ts'
import type { ExperimentResult } from '../experiment/experiment-result.ts'
import { nextTests, type PolicyOfRun } from '../next/next-tests.ts'
import { writeReports } from '../experiment/experiment-report.ts'
import { addToHistory, readHistory } from '../experiment/history.ts'
import { LocalSidecar } from '../experiment/local-sidecar.ts'
import type { Plan } from '../experiment/plan.ts'
import type { KeptPlan } from '../experiment/read-plan.ts'
import type { Rejection } from '../experiment/rejection.ts'
import { runExperiment } from '../experiment/run-experiment.ts'
import type { Sidecars } from '../experiment/sidecars.ts'
import { tooManyRejections } from '../policy/policy-rejections.ts'
import type { Policy } from '../policy/policy-schema.ts'
import type { SourcedName } from '#rules'
import { readVersion } from '#cli'
import { tokenIn, withToken } from '../cli/server-flags.ts'
import { PodSidecars } from './pods/pod-sidecars.ts'

/** The directories of a run, and its access to target, sidecars and monitoring. */
export type RunAccess = Omit<ReturnType<typeof accessOf>, 'production'>

/**
 * Opens the sidecars of a plan, and closes the client of the cluster, if there is one, after the
 * use.
 */
export async function withSidecars<T>(
  { cluster, prefix, readToken }: RunAccess,
  { sidecar: spec }: Plan,
  use: (sidecars: Sidecars, client: KubeClient | undefined) => Promise<T>,
): Promise<T> {
  if (spec.kind === 'local') {
    return use(new LocalSidecar({ ...spec, admin: { ...spec.admin, readToken } }), undefined)
  }
  const client = await clientFor({ ...cluster, context: cluster.context ?? spec.context })
  try {
    return await use(new PodSidecars(client, spec, { prefix, readToken }), client)
  } finally {
    await client.close()
  }
}

/** Returns the rejection of a plan when the policy allows no further run in this hour. */
export async function tooManyRuns(
  { experiments }: Pick<RunAccess, 'experiments'>,
  plan: Plan,
  policy: Policy | undefined,
): Promise<readonly Rejection[]> {
  if (policy === undefined) return []
  return tooManyRejections(plan, policy, await readHistory(experiments), Date.now())
}

/** Returns what the checks before a run need besides the plan and its sidecars. */
export async function checksOf(
  access: RunAccess,
  { sidecar: spec }: Plan,
  warn: (text: string) => void,
): Promise<Required<Pick<ExperimentOptions, 'namespaceLabel' | 'monitorHeaders'>>> {
  const context = access.cluster.context ?? (spec.kind === 'pods' ? spec.context : undefined)
  return {
    namespaceLabel: namespaceLabels({ ...access.cluster, context }, warn),
    monitorHeaders: await monitorHeadersOf(access),
  }
}

/** Runs a plan in this process. Throws a `RejectedError` when the experiment may not begin. */
export async function runHere(
  access: RunAccess,
  {
    plan,
    sidecars,
    ...options
  }: Pick<ExperimentOptions, 'plan' | 'sidecars'> &
    Omit<Partial<ExperimentOptions>, 'plan' | 'sidecars'> &
    Pick<ExperimentOptions, 'stop' | 'onEvent'>,
): Promise<ExperimentResult> {
  const { authTokenFile, stateDirectory, experiments } = access
  const headers = await withToken(access.headers, authTokenFile)
  const past = await readHistory(experiments)
  return runExperiment({
    plan,
    sidecars,
    version: readVersion(),
    headers,
    stateDirectory,
    past,
    ...options,
  })
}

/**
 * Stores a result in the history and as reports, with what to test next unless the run is one of a
 * search; returns the directory of the reports.
 */
export async function storeResult(
  experiments: string,
  result: ExperimentResult,
  kept: KeptPlan,
  { isOfSearch = false, policy }: { isOfSearch?: boolean; policy?: PolicyOfRun | undefined } = {},
): Promise<string> {
  const next = isOfSearch ? undefined : await nextTests(experiments, result, kept, policy)
  const directory = await writeReports(experiments, result, kept, next)
  await addToHistory(experiments, result)
  return directory
}

/** Returns the headers of requests to the monitoring. */
export function monitorHeadersOf({
  monitorTokenFile: file,
  monitorToken: token = '',
}: Pick<RunAccess, 'monitorTokenFile' | 'monitorToken'>): Promise<
  Readonly<Record<string, string>>
> {
  const isSet = file === undefined && token.trim() !== ''
  const own = isSet ? { authorization: `Bearer ${tokenIn(token, 'SQUALL_MONITOR_TOKEN')}` } : {}
  return withToken(own, file, '--monitor-token-file')
}

const ASK_MS = 3_000

/** Returns a function that reads the label of a namespace with the permissions of the user. */
export function namespaceLabels(
  { kubeconfig, context, environmentLabel, env }: RunAccess['cluster'],
  warn: (text: string) => void,
): (namespace: string) => Promise<SourcedName | undefined> {
  return async (namespace) => {
    const { connectKube } = await import('./connect-kube.ts')
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
