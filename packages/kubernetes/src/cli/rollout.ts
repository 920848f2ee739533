import type { LineOutput } from '#base'
import type { AwaitedPod } from '../kube/apply-rules.ts'
import { awaitPods, endingAt, type PodCheck, type PodProgress } from '../kube/await-rules.ts'
import type { KubeClient } from '../kube/kube-client.ts'
import { progressOutput } from '../kube/progress-output.ts'
import { type FileProblems, problemLines, problemsJson } from '#rules'
import { type ClusterOptions, type RolloutRequest, withClient } from './cluster-options.ts'

/** The outputs of a command. */
export interface Outputs {
  readonly out: LineOutput
  readonly err: LineOutput
}

/** A run of a command that changes what sidecars do, and waits until they follow. */
export type Rollout = ReturnType<typeof startRollout<RolloutRequest>>

export const FAILED = 1

/** Begins a run, whose time begins now. */
export function startRollout<Request extends RolloutRequest>(
  client: KubeClient,
  request: Request,
  output: Outputs,
  signal: AbortSignal,
) {
  const warnings: string[] = []
  /** Shows a warning once. */
  const warn = (text: string | undefined): undefined => {
    if (text === undefined || warnings.includes(text)) return
    warnings.push(text)
    if (!request.json) output.err.write(`warning: ${text}\n`)
  }
  /** When the command's time is over, by `performance.now()`. */
  const until = performance.now() + request.timeoutMs
  /** Ends the run: Ctrl-C, or the end of its time. */
  const limit = endingAt(until, signal)
  return { client, request, output, signal, until, limit, warnings, warn }
}

/** Asks the waiting sidecars until none waits, and shows the progress. */
export async function confirmPods(
  { client, request, output, signal, until }: Rollout,
  progress: Map<AwaitedPod, PodProgress>,
  check: PodCheck,
  maxPollMs?: number,
): Promise<void> {
  const { json, min, all, cluster } = request
  const shown = json ? undefined : progressOutput(output.err, all)
  try {
    const onProgress = (): void => shown?.show(progress)
    const { readToken } = cluster
    await awaitPods(client, progress, check, {
      until,
      signal,
      min,
      readToken,
      maxPollMs,
      onProgress,
    })
  } finally {
    shown?.end()
  }
}

/** Runs a command in one namespace; Ctrl-C ends it with a message. */
export function inNamespace(
  { cluster, patienceMs }: { readonly cluster: ClusterOptions; readonly patienceMs?: number },
  ending: string,
  act: (client: KubeClient, namespace: string, signal: AbortSignal) => Promise<number>,
): Promise<number> {
  const run = (client: KubeClient, signal: AbortSignal): Promise<number> =>
    act(client, cluster.namespace ?? client.namespace, signal).catch((error: unknown) => {
      throw signal.aborted ? new Error(`stopped; ${ending}`) : error
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
