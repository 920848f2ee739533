import {
  budgetOf,
  clientFor,
  isKubeError,
  type KubeClient,
  KubeError,
  metadataOf,
  NAMESPACES,
} from '#kubernetes'
import { quoted, readVersion, systemReason } from '#base'
import type { accessOf } from '../commands/experiment.ts'
import type { ExperimentOptions } from '../experiment/context.ts'
import type { ExperimentResult } from '../experiment/experiment-result.ts'
import { nextTests, type PolicyOfRun } from '../next/next-tests.ts'
import { writeReports } from '../experiment/experiment-report.ts'
import { addToHistory, readHistory } from '../experiment/history.ts'
import { LocalSidecar } from '../experiment/local-sidecar.ts'
import type { Plan } from '../experiment/plan.ts'
import type { SavedPlan } from '../experiment/read-plan.ts'
import type { Rejection } from '../experiment/rejection.ts'
import { runExperiment } from '../experiment/run-experiment.ts'
import { tooManyRejections } from '../policy/policy-rejections.ts'
import type { SourcedName } from '#rules'
import { tokenIn, withToken } from '../cli/server-flags.ts'
import { PodSidecars } from './pods/pod-sidecars.ts'

/** The directories of a run, and its access to target, sidecars and monitoring. */
export type RunAccess = Omit<ReturnType<typeof accessOf>, 'production'>

/** A plan with its sidecars, and what the checks before a run need besides them. */
type Placed = Pick<ExperimentOptions, 'plan' | 'sidecars'> &
  Required<Pick<ExperimentOptions, 'namespaceLabel' | 'monitorHeaders'>>

/**
 * Opens the sidecars of a plan, and closes the client of the cluster, if there is one, after the
 * use.
 */
export async function withSidecars<T>(
  access: RunAccess,
  plan: Plan,
  use: (placed: Placed, client: KubeClient | undefined) => Promise<T>,
  warn: (text: string) => void = () => {},
): Promise<T> {
  const { prefix, readToken } = access
  const { sidecar: spec } = plan
  const context = access.cluster.context ?? (spec.kind === 'pods' ? spec.context : undefined)
  const cluster = { ...access.cluster, context }
  const checks = {
    namespaceLabel: namespaceLabels(cluster, warn),
    monitorHeaders: await monitorHeadersOf(access),
  }
  if (spec.kind === 'local') {
    const sidecars = new LocalSidecar({ ...spec, admin: { ...spec.admin, readToken } })
    return use({ plan, sidecars, ...checks }, undefined)
  }
  const client = await clientFor(cluster)
  try {
    const sidecars = new PodSidecars(client, spec, {
      prefix,
      readToken,
      budget: budgetOf(access.cluster.env),
    })
    return await use({ plan, sidecars, ...checks }, client)
  } finally {
    await client.close()
  }
}

/** Returns the rejection of a plan when the policy allows no further run in this hour. */
export async function tooManyRuns(
  { experiments }: Pick<RunAccess, 'experiments'>,
  plan: Plan,
): Promise<readonly Rejection[]> {
  if (plan.policy === undefined) return []
  return tooManyRejections(plan, plan.policy, await readHistory(experiments), Date.now())
}

/** Runs a plan in this process. Throws a `RejectedError` when the experiment may not begin. */
export async function runHere(
  { authTokenFile, headers, stateDirectory, experiments }: RunAccess,
  options: Omit<ExperimentOptions, 'version' | 'headers' | 'stateDirectory' | 'past'>,
): Promise<ExperimentResult> {
  return runExperiment({
    version: readVersion(),
    headers: await withToken(headers, authTokenFile),
    stateDirectory,
    past: await readHistory(experiments),
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
  kept: SavedPlan,
  { isOfSearch = false, policy }: { isOfSearch?: boolean; policy?: PolicyOfRun | undefined } = {},
): Promise<string> {
  try {
    const next = isOfSearch ? undefined : await nextTests(experiments, result, kept, policy)
    const directory = await writeReports(experiments, result, kept, next)
    await addToHistory(experiments, result)
    return directory
  } catch (error) {
    const wrong = `run ${result.id} cannot be stored in ${quoted(experiments)} (${systemReason(error)})`
    throw new Error(`${wrong}; check the directory`, { cause: error })
  }
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
        warn(`only the namespace name ${namespace} was checked: ${error.message}`)
      }
      return undefined
    }
  }
}
