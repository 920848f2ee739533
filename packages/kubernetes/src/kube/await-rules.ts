import { shortDigest, endingAfter } from '#base'
import { setTimeout as sleep } from 'node:timers/promises'
import type { AwaitedPod } from './apply-rules.ts'
import { inParallel } from './in-parallel.ts'
import type { KubeClient } from './kube-client.ts'
import { asKubeError, isKubeError, KubeError } from './kube-error.ts'
import { clockProblem } from './node-clock.ts'
import { API, type Problem, type State } from '#admin-api'
import { reportsReady, NODES } from './resources.ts'
import { ASK_MS, type AskOptions, askSidecar } from './sidecar-api.ts'

/** The progress of a pod towards new rules. */
export type PodProgress =
  | {
      readonly state:
        | 'waiting'
        | 'applied'
        | 'stopped'
        | 'resumed'
        /** The right to ask its sidecar is missing. */
        | 'unconfirmed'
        /** Its sidecar or node does not run, or it reads other rules: it does not count. */
        | 'skipped'
        | 'gone'
      readonly detail: string
      /** True when its sidecar does not respond. */
      readonly silent?: true
    }
  | {
      readonly state: 'rejected'
      readonly detail: string
      readonly problems: readonly Problem[]
    }

export type Progress = ReadonlyMap<AwaitedPod, PodProgress>

interface AwaitOptions {
  /** The time limit, by `performance.now()`. */
  readonly until: number
  readonly signal: AbortSignal
  readonly readToken?: string | undefined
  /** The percentage of pods that has to be done; silent pods beyond it are not waited for. */
  readonly min: number
  readonly onProgress: () => void
  /** The longest pause between two rounds; 2,000 ms when left out. */
  readonly maxPollMs?: number | undefined
}

export type PodCheck = (
  client: KubeClient,
  pod: AwaitedPod,
  options: AskOptions,
) => Promise<PodProgress>

/** The first pause: kubelet may be quick. Later pauses are longer. */
const POLL_MS = 200
const MAX_POLL_MS = 2_000
/** The time for a response in the first round; it doubles for a pod that did not respond. */
const FIRST_ASK_MS = 300
/** The number of missing responses after which a pod is silent. */
const MISSES = 2
const NODE_MS = 1_000
const DONE: ReadonlySet<string> = new Set(['applied', 'stopped', 'resumed'])

/** Returns the pods that count: those that run a sidecar that should follow. */
export function countedPods(progress: Progress): readonly PodProgress[] {
  return [...progress.values()].filter(({ state }) => state !== 'skipped' && state !== 'gone')
}

export function countOf(progress: Progress, state: PodProgress['state']): number {
  return [...progress.values()].filter((each) => each.state === state).length
}

/** Returns whether enough of the pods that count are done. */
export function isEnough(progress: Progress, min: number): boolean {
  const counted = countedPods(progress)
  const done = counted.filter(({ state }) => DONE.has(state))
  return done.length * 100 >= counted.length * min
}

/** Asks the waiting sidecars until none waits, or the time limit is reached. */
export async function awaitPods(
  client: KubeClient,
  progress: Map<AwaitedPod, PodProgress>,
  ask: PodCheck,
  options: AwaitOptions,
): Promise<void> {
  const { until, readToken, onProgress, min, maxPollMs = MAX_POLL_MS } = options
  const signal = endingAt(until, options.signal)
  const pods = [...progress.keys()]
  /** The times that a pod did not respond: such pods are asked last, and wait longer. */
  const misses = new Map<AwaitedPod, number>()
  const isSilent = (pod: AwaitedPod): boolean => (misses.get(pod) ?? 0) >= MISSES
  for (let pollMs = POLL_MS; ; pollMs = Math.min(maxPollMs, 1.5 * pollMs)) {
    const open = pods
      .filter((pod) => progress.get(pod)?.state === 'waiting')
      .toSorted((a, b) => (misses.get(a) ?? 0) - (misses.get(b) ?? 0))
    if (open.length === 0 || signal.aborted) break
    if (open.every(isSilent) && isEnough(progress, min)) break
    await inParallel(open, async (pod) => {
      if (signal.aborted) return
      const missed = misses.get(pod) ?? 0
      const timeoutMs = Math.min(ASK_MS, FIRST_ASK_MS * 2 ** missed)
      const asked = await ask(client, pod, { signal, readToken, timeoutMs })
      // The last response says more than the end of the time.
      if (signal.aborted && asked.state === 'waiting') return
      progress.set(pod, asked)
      if (asked.state === 'waiting' && asked.silent) misses.set(pod, missed + 1)
    })
    await skipLost(client, progress, open.filter(isSilent), signal)
    onProgress()
    if ([...progress.values()].some(({ state }) => state === 'waiting')) {
      const pause = Math.max(0, Math.min(pollMs, until - performance.now()))
      await sleep(pause, undefined, { signal }).catch(() => undefined)
    }
  }
}

/** Returns a signal that is aborted at a time, too, by `performance.now()`. */
export function endingAt(until: number, signal: AbortSignal): AbortSignal {
  const leftMs = Math.max(0, Math.ceil(until - performance.now()))
  return endingAfter(leftMs, signal)
}

/** Skips silent pods whose nodes are not ready: their sidecars cannot respond. */
async function skipLost(
  client: KubeClient,
  progress: Map<AwaitedPod, PodProgress>,
  silent: readonly AwaitedPod[],
  signal: AbortSignal,
): Promise<void> {
  const nodes = [...new Set(silent.flatMap(({ pod }) => pod.node ?? []))]
  const lost = new Set<string | undefined>()
  await inParallel(nodes, async (name) => {
    if (signal.aborted) return
    const limits = { signal, timeoutMs: NODE_MS }
    try {
      if (!reportsReady(await client.find({ kind: NODES, name }, limits))) lost.add(name)
    } catch {
      // Without the right to read nodes, their pods count.
    }
  })
  for (const each of silent.filter(({ pod }) => lost.has(pod.node))) {
    progress.set(each, { state: 'skipped', detail: `its node ${each.pod.node} is not ready` })
  }
}

/** Returns the first progress towards rules: waiting, or the reason not to wait. */
export function beginRules({ pod, digest, isReached }: AwaitedPod): PodProgress {
  if (!isReached) return { state: 'skipped', detail: 'no rule matches this pod' }
  if (digest === undefined)
    return { state: 'skipped', detail: 'reads a different key of the ConfigMap' }
  if (pod.sidecar === 'running') return { state: 'waiting', detail: 'not queried yet' }
  const later = pod.sidecar === 'starting' ? ' yet; it will load these rules when it starts' : ''
  return { state: 'skipped', detail: `its sidecar is not running${later}` }
}

/** Checks whether a sidecar has read or rejected rules; throws where nobody may ask it. */
export const rulesCheck: PodCheck = async (client, { pod, digest }, options) => {
  try {
    const state = await askSidecar(client, pod, API.state, options)
    const last = state.lastReload
    if (last?.digest === digest && last?.result === 'rejected') {
      const { problems = [] } = last
      return { state: 'rejected', detail: 'the rules are invalid', problems }
    }
    if (state.rules.digest === digest || last?.digest === digest) {
      const how = last?.result === 'absent' ? `, no rules: ${last.reason ?? ''}` : ''
      const clock = clockProblem(state, client.now())
      const isEmpty = state.armed && state.rules.count === 0 && how === ''
      const detail = [isEmpty ? 'no rules' : `${armedText(state)}${how}`, clock].filter(
        (each) => each !== undefined,
      )
      return { state: 'applied', detail: detail.join('; ') }
    }
    return { state: 'waiting', detail: `still has ${shortDigest(state.rules.digest)}` }
  } catch (error) {
    if (isKubeError(error, 'forbidden', 'unauthorized')) throw error
    if (isKubeError(error, 'not_found')) return { state: 'gone', detail: 'the pod is gone' }
    return waitingDespite(error, options, 'stopped')
  }
}

/**
 * Returns the progress after an error of the cluster or an abort; throws every other error again.
 */
export function waitingDespite(
  error: unknown,
  { signal }: AskOptions,
  aborted: string,
): PodProgress {
  if (!(error instanceof KubeError) && signal?.aborted === true) {
    return { state: 'waiting', detail: aborted }
  }
  return { state: 'waiting', detail: asKubeError(error).message, silent: true }
}

/** Describes whether rules may act, with every reason against it. */
export function armedText({ armed, reasons }: Pick<State, 'armed' | 'reasons'>): string {
  if (armed) return 'armed'
  return `disarmed by ${reasons.map(({ by, reason }) => (reason === '' ? by : `${by} (${reason})`)).join(', ')}`
}
