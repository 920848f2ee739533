import type { LineOutput } from '#base'
import { type AwaitedPod, touchPods } from '../kube/apply-rules.ts'
import { awaitPods, endingAt, type PodCheck, type PodProgress } from '../kube/await-rules.ts'
import type { InjectedPod } from '../kube/injected-pod.ts'
import type { KubeClient } from '../kube/kube-client.ts'
import type { KubeError } from '../kube/kube-error.ts'
import { progressOutput } from '../kube/progress-output.ts'
import { refKey } from '../kube/stop-sidecars.ts'
import { type FileProblems, problemLines, problemsJson } from '#rules'
import { type ClusterOptions, type RolloutRequest, withClient } from './cluster-options.ts'

/** The outputs of a command. */
export interface Outputs {
  readonly out: LineOutput
  readonly err: LineOutput
}

/** A run of a command that changes what sidecars do, and waits until they follow. */
export interface Rollout {
  readonly client: KubeClient
  readonly request: RolloutRequest
  readonly output: Outputs
  readonly signal: AbortSignal
  /** When the command's time is over, by `performance.now()`. */
  readonly until: number
  /** Ends the run: Ctrl-C, or the end of its time. */
  readonly limit: AbortSignal
  readonly warnings: readonly string[]
  readonly warn: (text: string) => undefined
  /** When each pod was annotated, by `performance.now()`; Infinity before. */
  readonly touched: Map<string, number>
}

export const FAILED = 1
/**
 * Delays the first question to a pod that was annotated: the kubelet takes about a second, and each
 * question too early costs a request. The fewer pods, the shorter the delay.
 */
const DELIVERY_MS = 500
const DELIVERY_MS_A_POD = 5

/** Begins a run, whose time begins now. */
export function startRollout<Request extends RolloutRequest>(
  client: KubeClient,
  request: Request,
  output: Outputs,
  signal: AbortSignal,
) {
  const warnings: string[] = []
  const warn = (text: string): undefined => {
    warnings.push(text)
    if (!request.json) output.err.write(`warning: ${text}\n`)
  }
  const until = performance.now() + request.timeoutMs
  const limit = endingAt(until, signal)
  const touched = new Map<string, number>()
  return { client, request, output, signal, until, limit, warnings, warn, touched }
}

/**
 * Annotates the pods that were not annotated yet, so that the kubelet delivers what was written.
 * Returns the first error.
 */
export async function touchOnce(
  { client, request, limit, touched }: Rollout,
  pods: readonly InjectedPod[],
): Promise<KubeError | undefined> {
  const open = pods.filter((pod) => !touched.has(refKey(pod)))
  for (const pod of open) touched.set(refKey(pod), Infinity)
  const onTouched = (pod: InjectedPod): void => void touched.set(refKey(pod), performance.now())
  const { prefix } = request.cluster
  return (await touchPods(client, open, prefix, new Date(), { signal: limit, onTouched }))[0]
}

/**
 * Asks the waiting sidecars until none waits, and shows the progress. Pods that `touchOnce` still
 * annotates meanwhile are asked after that.
 */
export async function confirmPods(
  { client, request, output, signal, until, touched }: Rollout,
  progress: Map<AwaitedPod, PodProgress>,
  check: PodCheck,
  maxPollMs?: number,
): Promise<void> {
  const { json, min, all, cluster } = request
  const shown = json ? undefined : progressOutput(output.err, all)
  try {
    const onProgress = (): void => shown?.show(progress)
    const { readToken } = cluster
    const delayMs = Math.min(DELIVERY_MS, DELIVERY_MS_A_POD * touched.size)
    const isDue = (pod: InjectedPod): boolean =>
      performance.now() >= (touched.get(refKey(pod)) ?? 0) + delayMs
    await awaitPods(client, progress, check, {
      until,
      signal,
      min,
      readToken,
      maxPollMs,
      isDue,
      onProgress,
    })
  } finally {
    shown?.end()
  }
}

/** Runs a command in one namespace; Ctrl-C ends it with a message. */
export function inNamespace(
  { cluster, patienceMs }: { readonly cluster: ClusterOptions; readonly patienceMs?: number },
  { err }: Outputs,
  ending: string,
  act: (client: KubeClient, namespace: string, signal: AbortSignal) => Promise<number>,
): Promise<number> {
  const run = (client: KubeClient, signal: AbortSignal): Promise<number> =>
    act(client, cluster.namespace ?? client.namespace, signal).catch((error: unknown) => {
      if (!signal.aborted) throw error
      err.write(`stopped; ${ending}\n`)
      return FAILED
    })
  return withClient(cluster, run, patienceMs)
}

/** Shows the errors of a rules file; returns the exit code. */
export function rejectedRules(
  problems: readonly FileProblems[],
  json: boolean,
  { out, err }: Outputs,
  done: 'applied' | 'attached',
): number {
  if (json) out.write(problemsJson(problems))
  else {
    for (const file of problems) err.write(problemLines(file))
    err.write(`nothing was ${done}; fix the rules first\n`)
  }
  return FAILED
}

export function jsonText(value: unknown): string {
  return `${JSON.stringify(value, null, 2)}\n`
}
