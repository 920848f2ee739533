import type { Progress } from '../../cluster/kube/await-rules.ts'
import { KubeError } from '../../cluster/kube/kube-error.ts'
import type { StopChange, ConfigMapRef } from '../../cluster/kube/stop-sidecars.ts'
import { progressLines } from '../../cluster/kube/progress-output.ts'
import type { StopRequest } from '../commands/stop.ts'

/** The end of a run of `squall stop` or `squall resume`. */
export interface StopOutcome {
  readonly request: StopRequest
  readonly namespace: string | undefined
  readonly changes: readonly {
    readonly ref: ConfigMapRef
    readonly change: StopChange | KubeError
  }[]
  readonly progress: Progress
  readonly warnings: readonly string[]
  readonly isInterrupted: boolean
  /** True when the namespaces of production are not all known. */
  readonly isIncomplete: boolean
}

const UNDONE: ReadonlySet<string> = new Set(['waiting', 'rejected', 'unconfirmed'])

/** Returns whether a ConfigMap was not changed, or a sidecar did not confirm. */
export function hasFailed({
  changes,
  progress,
  isInterrupted,
  isIncomplete,
}: StopOutcome): boolean {
  if (
    isInterrupted ||
    isIncomplete ||
    [...progress.values()].some(({ state }) => UNDONE.has(state))
  )
    return true
  return changes.some(({ change }) => change instanceof KubeError)
}

/** Describes the outcome to people. */
export function stopText(outcome: StopOutcome): string {
  const { request, namespace, changes, progress } = outcome
  const { dryRun } = request
  const wanted = request.action === 'stop' ? 'stopped' : 'resumed'
  const lines = changes.map(({ ref, change }) => {
    const would = dryRun && change === wanted ? 'would be ' : ''
    const text = change instanceof KubeError ? change.message : `${would}${TEXTS[change]}`
    return `configmap ${ref.name} in ${ref.namespace}: ${text}\n`
  })
  const all = [...progress].filter(([, { state }]) => state !== 'gone')
  const open = all.filter(([, { state }]) => state !== wanted)
  const count = all.length - open.length
  lines.push(
    dryRun ? DRY_RUN : `${wanted}: confirmed by ${count} of ${all.length} pods\n`,
    outcome.isInterrupted ? INTERRUPTED : '',
  )
  for (const [{ pod }, each] of open) {
    lines.push(progressLines(`${pod.namespace}/${pod.name}`, each))
  }
  if (request.onlyProduction !== undefined && changes.length === 0) {
    return outcome.isIncomplete ? UNKNOWN_PRODUCTION : NO_PRODUCTION
  }
  const where = namespace === undefined ? '-A' : `-n ${namespace}`
  if (request.action === 'stop' && !dryRun) {
    if (namespace === undefined && request.onlyProduction === undefined) lines.push(UNCOVERED)
    lines.push(
      request.onlyProduction === undefined
        ? `until: squall resume ${where}${selectorText(request)}\n`
        : UNTIL_NO_PRODUCTION,
    )
  }
  return lines.join('')
}

/** Describes the outcome to programs. */
export function stopJson(outcome: StopOutcome): string {
  const { request, namespace, changes, progress, warnings } = outcome
  const report = {
    ok: !hasFailed(outcome),
    action: request.action,
    dryRun: request.dryRun,
    interrupted: outcome.isInterrupted,
    namespace: namespace ?? null,
    selector: request.cluster.selector ?? null,
    configMaps: changes.map(({ ref, change }) => ({
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
  others: 'still stops the pods of another squall stop',
  left: 'not changed',
}

const DRY_RUN = 'nothing was changed: --dry-run\n'
const INTERRUPTED = 'interrupted: sidecars read what is written; nothing more is written\n'

const NO_PRODUCTION = 'no sidecar runs in a namespace of production\n'
const UNKNOWN_PRODUCTION = 'nothing was stopped: it is not known which namespaces are production\n'
const UNTIL_NO_PRODUCTION =
  'until: squall resume, which is refused while the namespace is production\n'

const UNCOVERED =
  'not covered: namespaces that have no sidecar now, and ConfigMaps that no sidecar reads now\n'

function selectorText({ cluster: { selector } }: StopRequest): string {
  return selector === undefined ? '' : ` -l '${selector}'`
}
