import { asStarted } from '../../base/started-as.ts'
import type { AwaitedPod } from '../../cluster/kube/apply-rules.ts'
import type { PodProgress } from '../../cluster/kube/await-rules.ts'
import type { KubeClient } from '../../cluster/kube/kube-client.ts'
import { KubeError } from '../../cluster/kube/kube-error.ts'
import type { StopChange, ConfigMapRef } from '../../cluster/kube/stop-sidecars.ts'
import { progressLines } from '../../cluster/kube/progress-output.ts'
import type { NamespaceCheck } from '../../cluster/kube/production-namespaces.ts'
import type { ProductionCheck } from '../../rules/guard/production-names.ts'
import type { ClusterOptions } from './cluster-options.ts'

/** The options of `squall stop` and `squall resume`. */
export interface StopRequest {
  readonly action: 'stop' | 'resume'
  readonly cluster: ClusterOptions
  readonly allNamespaces: boolean
  readonly configMap: string
  readonly timeoutMs: number
  readonly unlabelled: boolean
  readonly dryRun: boolean
  readonly json: boolean
  /** Undefined where no namespace is rejected. */
  readonly production: ProductionCheck | undefined
  /** Selects the namespaces of production; undefined for all namespaces. */
  readonly onlyProduction: NamespaceCheck | undefined
  readonly environmentLabel: string
}

/** A run of `squall stop` or `squall resume`, and its results so far. */
export interface StopRun {
  readonly client: KubeClient
  readonly request: StopRequest
  readonly signal: AbortSignal
  /** Undefined for all namespaces. */
  readonly namespace: string | undefined
  readonly warnings: readonly string[]
  readonly warn: (text: string) => void
  /** True when some namespaces may be production without being known as such. */
  isIncomplete: boolean
  /** When the command's time is over, by `performance.now()`. */
  readonly until: number
  readonly changes: Map<
    string,
    { readonly ref: ConfigMapRef; readonly change: StopChange | KubeError }
  >
  /** The pods that have to confirm. */
  readonly progress: Map<AwaitedPod, PodProgress>
}

const UNDONE: ReadonlySet<string> = new Set(['waiting', 'rejected', 'unconfirmed'])

/** Returns true when a ConfigMap was not changed, or a sidecar did not confirm. */
export function hasFailed({ changes, progress, signal, isIncomplete }: StopRun): boolean {
  return (
    signal.aborted ||
    isIncomplete ||
    [...progress.values()].some(({ state }) => UNDONE.has(state)) ||
    [...changes.values()].some(({ change }) => change instanceof KubeError)
  )
}

/** Describes a run to people. */
export function stopText(run: StopRun): string {
  const { request, namespace, changes, progress } = run
  const { dryRun } = request
  const wanted = request.action === 'stop' ? 'stopped' : 'resumed'
  const lines = [...changes.values()].map(({ ref, change }) => {
    const would = dryRun && change === wanted ? 'would be ' : ''
    const text = change instanceof KubeError ? change.message : `${would}${TEXTS[change]}`
    return `configmap ${ref.name} in ${ref.namespace}: ${text}\n`
  })
  const failed = [...changes.values()].filter(({ change }) => change instanceof KubeError).length
  if (failed > 0) lines.unshift(notDone(request, failed, changes.size))
  const all = [...progress].filter(([, { state }]) => state !== 'gone')
  const open = all.filter(([, { state }]) => state !== wanted)
  const count = all.length - open.length
  lines.push(
    dryRun ? DRY_RUN : `${wanted}: confirmed by ${count} of ${all.length} pods\n`,
    run.signal.aborted ? INTERRUPTED : '',
  )
  for (const [{ pod }, each] of open) {
    lines.push(progressLines(`${pod.namespace}/${pod.name}`, each))
  }
  if (request.onlyProduction !== undefined && changes.size === 0) {
    return run.isIncomplete ? UNKNOWN_PRODUCTION : NO_PRODUCTION
  }
  const where = namespace === undefined ? '-A' : `-n ${namespace}`
  if (request.action === 'stop' && !dryRun && failed < changes.size) {
    if (namespace === undefined && request.onlyProduction === undefined) lines.push(UNCOVERED)
    lines.push(
      request.onlyProduction === undefined
        ? asStarted(`until: squall resume ${where}${selectorText(request)}\n`)
        : asStarted(UNTIL_NO_PRODUCTION),
    )
  }
  return lines.join('')
}

/** Describes a run to programs. */
export function stopJson(run: StopRun): string {
  const { request, namespace, changes, progress, warnings } = run
  const report = {
    ok: !hasFailed(run),
    action: request.action,
    dryRun: request.dryRun,
    interrupted: run.signal.aborted,
    namespace: namespace ?? null,
    selector: request.cluster.selector ?? null,
    configMaps: [...changes.values()].map(({ ref, change }) => ({
      ...ref,
      ...(change instanceof KubeError ? { change: 'failed', trouble: change.message } : { change }),
    })),
    pods: [...progress].map(([{ pod }, each]) => ({
      namespace: pod.namespace,
      name: pod.name,
      ...each,
    })),
    warnings,
  }
  return `${JSON.stringify(report, null, 2)}\n`
}

const TEXTS: Readonly<Record<StopChange, string>> = {
  stopped: 'stopped',
  resumed: 'resumed',
  unchanged: 'unchanged',
  others: 'still stops pods, by another squall stop',
  left: 'not changed',
}

const DRY_RUN = 'nothing was changed: --dry-run\n'
const INTERRUPTED = 'interrupted: sidecars follow the changes so far; nothing more is changed\n'

const NO_PRODUCTION = 'no sidecar runs in a production namespace\n'
const UNKNOWN_PRODUCTION = 'nothing was stopped: the production namespaces are not known\n'
const UNTIL_NO_PRODUCTION =
  'until: squall resume, which is rejected while the namespace is production\n'

const UNCOVERED =
  'not covered: namespaces that have no sidecar now, and ConfigMaps that no sidecar reads now\n'

function selectorText({ cluster: { selector } }: StopRequest): string {
  return selector === undefined ? '' : ` -l '${selector}'`
}

function notDone({ action }: StopRequest, failed: number, all: number): string {
  const of = all === 1 ? 'the ConfigMap was' : `${failed} of ${all} ConfigMaps were`
  return action === 'stop'
    ? `NOT stopped: ${of} not written, and sidecars that read ${all === 1 ? 'it' : 'them'} go on; run the command again\n`
    : `not resumed: ${of} not written; run the command again\n`
}
