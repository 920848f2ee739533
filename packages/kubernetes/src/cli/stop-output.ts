import { asInvoked } from '#base'
import type { AwaitedPod } from '../kube/apply-rules.ts'
import { countedPods, countOf, isEnough, type PodProgress } from '../kube/await-rules.ts'
import type { InjectedPod } from '../kube/injected-pod.ts'
import { KubeError } from '../kube/kube-error.ts'
import type { NamedRef } from '../kube/resources.ts'
import type { StopChange } from '../kube/stop-sidecars.ts'
import { openPods, podLines } from '../kube/progress-output.ts'
import type { StopRequest } from '../commands/stop.ts'
import { resumeFlags } from './cluster-options.ts'
import { jsonText, type Rollout } from './rollout.ts'

/** A run of `squall stop` or `squall resume`, and its results so far. */
export interface StopRun extends Rollout {
  readonly request: StopRequest
  /** What sidecars confirm. */
  readonly wanted: 'stopped' | 'resumed'
  /** Undefined for all namespaces. */
  readonly namespace: string | undefined
  /** The time of the stop. */
  readonly at: Date
  /** The name of the user, once it is known. */
  by: string | undefined
  /** True when some pods, or namespaces of production, are not known. */
  isIncomplete: boolean
  /** True until the pods with a sidecar have been listed. */
  arePodsUnknown: boolean
  /** With `--production`, whether the pods of a namespace are stopped, by its name. */
  readonly isStopped: Map<string, boolean>
  readonly changes: Map<string, { readonly ref: NamedRef; readonly change: StopChange | KubeError }>
  readonly progress: Map<AwaitedPod, PodProgress>
  /** The pods whose kubelet was asked to read their ConfigMap. */
  readonly touched: Set<string>
}

/** Returns true when a ConfigMap was not changed, or too few sidecars confirmed. */
export function hasFailed(run: StopRun): boolean {
  const { progress, signal, isIncomplete, request } = run
  const isReverted = [...run.changes.values()].some(({ change }) => change === 'reverted')
  const hasGaps = isIncomplete || isReverted || unwritten(run) > 0
  return signal.aborted || hasGaps || !isEnough(progress, request.min)
}

function unwritten({ changes }: StopRun): number {
  const all = [...changes.values()]
  return all.filter(({ change }) => change instanceof KubeError || change === 'left').length
}

export function stopText(run: StopRun): string {
  const { request, namespace, changes, progress, wanted } = run
  const { dryRun } = request
  const lines = [...changes.values()].map(({ ref, change }) => {
    const would = dryRun && change === wanted ? 'would be ' : ''
    const text = change instanceof KubeError ? change.message : `${would}${TEXTS[change] ?? change}`
    return `configmap ${ref.name} in ${ref.namespace}: ${text}\n`
  })
  const failed = unwritten(run)
  if (failed > 0) lines.unshift(notDone(request, failed, changes.size))
  const counted = countedPods(progress).length
  const done = [...progress].filter(([, { state }]) => state === wanted)
  const skipped = countOf(progress, 'skipped')
  const rest = skipped === 0 ? '' : `, ${skipped} not waited for`
  const confirmed = `${wanted}: confirmed by ${done.length} of ${counted} pods${rest}\n`
  // Pods that could not be listed confirm nothing.
  const isVain = run.isIncomplete && progress.size === 0
  lines.push(
    dryRun ? DRY_RUN : isVain ? '' : confirmed,
    run.signal.aborted ? INTERRUPTED : '',
    podLines(openPods(progress, wanted), request.all, nameOf),
    // Where some did not resume, it matters in which pods faults act again.
    request.action === 'resume' && hasFailed(run) ? podLines(done, request.all, nameOf) : '',
  )
  if (request.onlyProduction !== undefined && changes.size === 0) {
    return run.isIncomplete ? UNKNOWN_PRODUCTION : NO_PRODUCTION
  }
  if (run.isIncomplete && changes.size === 0)
    lines.unshift(`${NOT_DONE[request.action]}: ${UNKNOWN_PODS}`)
  const where = namespace === undefined ? '-A' : `-n ${namespace}`
  const { selector } = request.cluster
  // Where all pods were already stopped, only a resume without a selector ends that.
  const isCovered = [...changes.values()].every(({ change }) => change === 'unchanged')
  const only = selector === undefined || isCovered ? '' : ` -l '${selector}'`
  const found = resumeFlags(request.cluster, request.configMap, request.unlabelled)
  if (request.action === 'stop' && !dryRun && failed < changes.size) {
    if (namespace === undefined && request.onlyProduction === undefined) lines.push(UNCOVERED)
    lines.push(
      request.onlyProduction === undefined
        ? asInvoked(`to resume: squall resume ${where}${only}${found}\n`)
        : asInvoked(UNTIL_NO_PRODUCTION),
    )
  }
  return lines.join('')
}

export function stopJson(run: StopRun): string {
  const { request, namespace, changes, progress, warnings } = run
  return jsonText({
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
  })
}

const nameOf = (pod: InjectedPod): string => `${pod.namespace}/${pod.name}`

const TEXTS: { readonly [Change in StopChange]?: string } = {
  others: 'still stops pods, because of another squall stop',
  left: 'not changed',
  reverted:
    'reverted by another program; new pods apply that change, and running pods may apply it too',
}

const DRY_RUN = 'dry run: nothing was changed\n'
const INTERRUPTED = 'interrupted: sidecars apply the changes made so far; nothing else is changed\n'

const NO_PRODUCTION = 'no sidecar runs in a production namespace without allow-production\n'
const UNKNOWN_PRODUCTION = 'nothing was stopped: the production namespaces are unknown\n'
const UNTIL_NO_PRODUCTION =
  'to resume: squall resume, which is rejected while the namespace is production\n'

const NOT_DONE = { stop: 'NOT stopped', resume: 'not resumed' } as const
const UNKNOWN_PODS = 'the pods with a sidecar are unknown; run the command again\n'

const UNCOVERED =
  'not covered: namespaces without sidecars, and ConfigMaps that no sidecar currently reads\n'

function notDone({ action }: StopRequest, failed: number, all: number): string {
  const of = all === 1 ? 'the ConfigMap was' : `${failed} of ${all} ConfigMaps were`
  const still = `, and sidecars that read ${all === 1 ? 'it' : 'them'} continue`
  return `${NOT_DONE[action]}: ${of} not written${action === 'stop' ? still : ''}; run the command again\n`
}
