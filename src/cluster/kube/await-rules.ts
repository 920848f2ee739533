import { shortDigest } from '../../base/digest.ts'
import { setTimeout as sleep } from 'node:timers/promises'
import type { AwaitedPod } from './apply-rules.ts'
import { inParallel } from './in-parallel.ts'
import type { KubeClient } from './kube-client.ts'
import { asKubeError, isKubeError, KubeError } from './kube-error.ts'
import { API, type Problem, type State } from '../../admin/api.ts'
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
        /** Its sidecar does not run, or reads other rules: it is not waited for. */
        | 'skipped'
        | 'gone'
      readonly detail: string
    }
  | {
      readonly state: 'rejected'
      readonly detail: string
      readonly problems: readonly Problem[]
    }

export type Progress = ReadonlyMap<AwaitedPod, PodProgress>

export interface AwaitOptions {
  /** The time limit, by `performance.now()`. */
  readonly until: number
  readonly signal: AbortSignal
  readonly readToken?: string | undefined
  /** Called after each round. */
  readonly onProgress: (progress: Progress) => void
  /** The longest pause between two rounds; 2,000 ms when left out. */
  readonly maxPollMs?: number
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

/**
 * Asks the sidecars until each has read or rejected the new rules, or the time limit is reached.
 * Throws where the right to ask is missing: waiting would not help.
 */
export function awaitRules(
  client: KubeClient,
  pods: readonly AwaitedPod[],
  options: AwaitOptions,
): Promise<Progress> {
  return awaitPods(client, new Map(pods.map((pod) => [pod, begin(pod)])), look, options)
}

/** Asks the waiting sidecars until none waits, or the time limit is reached. */
export async function awaitPods(
  client: KubeClient,
  progress: Map<AwaitedPod, PodProgress>,
  ask: PodCheck,
  options: AwaitOptions,
): Promise<Progress> {
  const { until, signal, readToken, onProgress, maxPollMs = MAX_POLL_MS } = options
  const pods = [...progress.keys()]
  /** The rounds in which a pod could not be asked: such pods are asked last, and wait longer. */
  const misses = new Map<AwaitedPod, number>()
  for (let pollMs = POLL_MS; ; pollMs = Math.min(maxPollMs, 1.5 * pollMs)) {
    const open = pods
      .filter((pod) => progress.get(pod)?.state === 'waiting')
      .toSorted((a, b) => (misses.get(a) ?? 0) - (misses.get(b) ?? 0))
    if (open.length === 0 || performance.now() >= until || signal.aborted) break
    await inParallel(open, async (pod) => {
      const begun = performance.now()
      if (signal.aborted || begun >= until) return
      const missed = misses.get(pod) ?? 0
      const patience = Math.min(ASK_MS, FIRST_ASK_MS * 2 ** missed)
      const timeoutMs = Math.ceil(Math.min(patience, Math.max(until - begun, 100)))
      progress.set(pod, await ask(client, pod, { signal, readToken, timeoutMs }))
      if (performance.now() - begun >= timeoutMs) misses.set(pod, missed + 1)
    })
    onProgress(progress)
    if ([...progress.values()].some(({ state }) => state === 'waiting')) {
      const pause = Math.max(0, Math.min(pollMs, until - performance.now()))
      await sleep(pause, undefined, { signal }).catch(() => undefined)
    }
  }
  return progress
}

function begin({ pod, digest, isReached }: AwaitedPod): PodProgress {
  if (!isReached) return { state: 'skipped', detail: 'no rule is for this pod' }
  if (digest === undefined) return { state: 'skipped', detail: 'reads another key' }
  if (pod.sidecar === 'running') return { state: 'waiting', detail: 'not asked yet' }
  const later = pod.sidecar === 'starting' ? ' yet; it will start with them' : ''
  return { state: 'skipped', detail: `its sidecar does not run${later}` }
}

async function look(
  client: KubeClient,
  { pod, digest }: AwaitedPod,
  options: AskOptions,
): Promise<PodProgress> {
  try {
    const state = await askSidecar(client, pod, API.state, options)
    const last = state.lastReload
    if (last?.digest === digest && last?.result === 'rejected') {
      const { problems = [] } = last
      return { state: 'rejected', detail: 'the rules are invalid', problems }
    }
    if (state.rules.digest === digest || last?.digest === digest) {
      const how = last?.result === 'absent' ? `, no rules: ${last.reason ?? ''}` : ''
      return { state: 'applied', detail: `${armedText(state)}${how}` }
    }
    return { state: 'waiting', detail: `still has ${shortDigest(state.rules.digest)}` }
  } catch (error) {
    if (isKubeError(error, 'forbidden', 'unauthorized')) throw error
    if (isKubeError(error, 'not_found')) return { state: 'gone', detail: 'the pod has gone' }
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
  return { state: 'waiting', detail: asKubeError(error).message }
}

/** Describes whether rules may act, with every reason against it. */
export function armedText({ armed, reasons }: Pick<State, 'armed' | 'reasons'>): string {
  if (armed) return 'armed'
  return `disarmed by ${reasons.map(({ by, reason }) => (reason === '' ? by : `${by} (${reason})`)).join(', ')}`
}
