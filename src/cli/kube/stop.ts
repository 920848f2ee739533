import { type AwaitedPod, touchPods } from '../../cluster/kube/apply-rules.ts'
import { recordEvent, userName } from '../../cluster/kube/audit.ts'
import { awaitPods, type PodProgress } from '../../cluster/kube/await-rules.ts'
import { inParallel } from '../../cluster/kube/in-parallel.ts'
import { type InjectedPod, listInjectedPods } from '../../cluster/kube/injected-pod.ts'
import { findArmedProduction } from '../../cluster/kube/production-namespaces.ts'
import type { KubeClient } from '../../cluster/kube/kube-client.ts'
import { isKubeError, KubeError } from '../../cluster/kube/kube-error.ts'
import {
  beginStop,
  liftStop,
  refKey,
  type StopChange,
  stopCheck,
  type ConfigMapRef,
  stopConfigMaps,
  writeStop,
} from '../../cluster/kube/stop-sidecars.ts'
import type { ApplyOutput } from './apply.ts'
import { clientFor, onInterrupt } from './cluster-options.ts'
import { refuseProductionNamespace } from './production-namespace.ts'
import { progressOutput } from '../../cluster/kube/progress-output.ts'
import type { StopRequest } from '../commands/stop.ts'
import { hasFailed, stopJson, stopText } from './stop-output.ts'

/** The parts of a run of `squall stop` or `squall resume`. */
interface Run {
  readonly client: KubeClient
  readonly request: StopRequest
  readonly signal: AbortSignal
  /** Undefined for all namespaces. */
  readonly namespace: string | undefined
  readonly warn: (text: string) => void
  /** True when the namespaces of production are not all known. */
  isIncomplete: boolean
  readonly changes: Map<
    string,
    { readonly ref: ConfigMapRef; readonly change: StopChange | KubeError }
  >
  /** The pods that are waited for. */
  readonly progress: Map<AwaitedPod, PodProgress>
}

const MAX_POLL_MS = 500
/** A shell reports a program that Ctrl-C ended by this exit code. */
const INTERRUPTED = 130

/** Runs `squall stop` or `squall resume`; the result is the exit code. */
export async function stopCommand(
  request: StopRequest,
  output: ApplyOutput = { out: process.stdout, err: process.stderr },
): Promise<number> {
  const client = await clientFor(request.cluster)
  const { signal, release } = onInterrupt()
  const warnings: string[] = []
  const warn = (text: string): void => {
    warnings.push(text)
    if (!request.json) output.err.write(`warning: ${text}\n`)
  }
  const namespace = request.allNamespaces
    ? undefined
    : (request.cluster.namespace ?? client.namespace)
  const progress = new Map<AwaitedPod, PodProgress>()
  const run: Run = {
    client,
    request,
    signal,
    namespace,
    warn,
    isIncomplete: false,
    changes: new Map(),
    progress,
  }
  try {
    await act(run, output).catch((error: unknown) => {
      if (!signal.aborted) throw error
    })
    const changes = [...run.changes.values()]
    const isInterrupted = signal.aborted
    const { isIncomplete } = run
    const outcome = {
      request,
      namespace,
      changes,
      progress,
      warnings,
      isInterrupted,
      isIncomplete,
    }
    output.out.write(request.json ? stopJson(outcome) : stopText(outcome))
    return isInterrupted ? INTERRUPTED : hasFailed(outcome) ? 1 : 0
  } finally {
    release()
    await client.close()
  }
}

async function act(run: Run, output: ApplyOutput): Promise<void> {
  const { client, request, signal, namespace, progress } = run
  const [by, first] = await Promise.all([userName(client, { signal }), listPods(run)])
  await refuseProductions(run, first ?? [])
  const at = new Date()
  // A namespace that is not production has no pods in the list, and its ConfigMap stays as it is.
  const within = request.onlyProduction === undefined ? namespace : undefined
  await change(run, stopConfigMaps(first ?? [], within, request.configMap), at, by)
  if (first === undefined || signal.aborted) return
  // Kubelet begins as soon as possible. Pods that came meanwhile may read other ConfigMaps.
  const [pods = first] = await Promise.all([listAgain(run), touch(run, first, at)])
  await change(run, stopConfigMaps(pods, within, request.configMap), at, by)
  for (const pod of pods.filter((each) => isConcerned(run, each))) {
    progress.set({ pod, digest: undefined, isReached: true }, begin(request, pod))
  }
  if (request.dryRun) return
  const known = new Set(first.map(refKey))
  const later = pods.filter((pod) => !known.has(refKey(pod)))
  await Promise.all([touch(run, later, at), record(run, by)])
  await confirm(run, output)
}

function begin({ dryRun, action }: StopRequest, pod: InjectedPod): PodProgress {
  const progress = beginStop(pod)
  if (!dryRun || progress.state !== 'waiting') return progress
  return { state: 'skipped', detail: `would be ${action === 'stop' ? 'stopped' : 'resumed'}` }
}

async function touch(run: Run, pods: readonly InjectedPod[], at: Date): Promise<void> {
  const { client, request, signal, warn } = run
  if (request.dryRun) return
  const running = pods.filter(
    (pod) => pod.sidecar === 'running' && isConcerned(run, pod) && needsTouch(run, pod),
  )
  const [trouble] = await touchPods(client, running, request.cluster.prefix, at, { signal })
  if (trouble === undefined) return
  warn(`pods cannot be touched, so that kubelet may take up to two minutes: ${trouble.message}`)
}

/** Without the list the pods that are known already are stopped all the same. */
async function listAgain(run: Run): Promise<readonly InjectedPod[] | undefined> {
  try {
    return await listPods(run)
  } catch (error) {
    if (!(error instanceof KubeError)) throw error
    run.warn(`pods that came meanwhile are not known: ${error.message}`)
    return undefined
  }
}

async function confirm(
  { client, request, signal, progress }: Run,
  { err }: ApplyOutput,
): Promise<void> {
  const shown = request.json ? undefined : progressOutput(err)
  try {
    await awaitPods(
      client,
      progress,
      stopCheck(request.action === 'stop' ? 'stopped' : 'resumed'),
      {
        timeoutMs: request.timeoutMs,
        maxPollMs: MAX_POLL_MS,
        signal,
        readToken: request.cluster.readToken,
        onProgress: (now) => shown?.show(now),
      },
    )
  } finally {
    shown?.end()
  }
}

/** Lists the pods that are concerned; undefined without the right to list pods. */
async function listPods(run: Run): Promise<readonly InjectedPod[] | undefined> {
  const pods = await listSidecars(run)
  return pods && ofProduction(run, pods)
}

/** Returns the pods in namespaces of production, where only those are wanted. */
async function ofProduction(
  run: Run,
  pods: readonly InjectedPod[],
): Promise<readonly InjectedPod[]> {
  const { onlyProduction: check, cluster } = run.request
  if (check === undefined) return pods
  const counts = new Map(pods.map(({ namespace }) => [namespace, 1]))
  const { found, trouble } = await findArmedProduction(
    run.client,
    counts,
    { ...check, prefix: cluster.prefix },
    { signal: run.signal },
  )
  if (trouble !== undefined) {
    run.isIncomplete = true
    run.warn(trouble)
  }
  const names = new Set(found.filter(({ isAllowed }) => !isAllowed).map((each) => each.namespace))
  return pods.filter(({ namespace }) => names.has(namespace))
}

async function listSidecars({
  client,
  request: { cluster, allNamespaces, onlyProduction },
  namespace,
  signal,
  warn,
}: Run): Promise<readonly InjectedPod[] | undefined> {
  try {
    const pods = await listInjectedPods(client, { ...cluster, namespace }, { signal })
    return pods.filter(({ sidecar }) => sidecar !== 'absent')
  } catch (error) {
    const needsList = allNamespaces || onlyProduction !== undefined
    if (needsList || !isKubeError(error, 'forbidden')) throw error
    warn(`it is not known who has a sidecar: ${(error as Error).message}`)
    return undefined
  }
}

/** To resume arms rules, which production does not want. */
async function refuseProductions(
  { client, request, namespace, signal }: Run,
  pods: readonly InjectedPod[],
): Promise<void> {
  if (request.production === undefined) return
  const namespaces = namespace === undefined ? pods.map((pod) => pod.namespace) : [namespace]
  for (const name of new Set(namespaces)) {
    await refuseProductionNamespace(client, name, request, signal)
  }
}

/** Changes the ConfigMaps that were not changed yet. */
async function change(
  { client, request, signal, changes }: Run,
  refs: readonly ConfigMapRef[],
  at: Date,
  by: string | undefined,
): Promise<void> {
  const { selector, prefix } = request.cluster
  const annotations = by === undefined ? {} : { [`${prefix}applied-by`]: by }
  const open = refs.filter((ref) => !changes.has(refKey(ref)))
  const { dryRun } = request
  await inParallel(open, async (ref) => {
    const stop = { selector, at: at.toISOString(), by }
    if (signal.aborted) {
      changes.set(refKey(ref), { ref, change: 'left' })
      return
    }
    // Without the signal: after Ctrl-C it has to be known what was written.
    const done = await (
      request.action === 'stop'
        ? writeStop(client, ref, stop, annotations, {
            dryRun,
            keepStopped: request.onlyProduction !== undefined,
          })
        : liftStop(client, ref, selector, annotations, { dryRun })
    ).catch((error: unknown) => {
      if (error instanceof KubeError) return error
      throw error
    })
    changes.set(refKey(ref), { ref, change: done })
  })
}

/** After a resume, pods that another stop is about stay stopped. */
function isConcerned(run: Run, pod: InjectedPod): boolean {
  return run.request.action === 'stop' || changeOf(run, pod) !== 'others'
}

/** Returns false for pods whose stop was written by an earlier `squall stop --production`. */
function needsTouch(run: Run, pod: InjectedPod): boolean {
  return run.request.onlyProduction === undefined || changeOf(run, pod) !== 'unchanged'
}

function changeOf(
  { changes }: Run,
  { namespace, rules }: InjectedPod,
): StopChange | KubeError | undefined {
  return rules && changes.get(refKey({ namespace, name: rules.configMap }))?.change
}

async function record({ client, request, signal, changes, warn }: Run, by?: string): Promise<void> {
  const { selector } = request.cluster
  const which = selector === undefined ? 'all pods' : `pods with ${selector}`
  const reason = request.action === 'stop' ? 'SquallStopped' : 'SquallResumed'
  const command = request.onlyProduction === undefined ? request.action : 'stop --production'
  const message = `squall ${command} for ${which} by ${by ?? 'an unknown user'}`
  const done = [...changes.values()].filter(
    (each) => each.change === 'stopped' || each.change === 'resumed',
  )
  const troubles = await inParallel(done, ({ ref }) =>
    recordEvent(client, { kind: 'ConfigMap', ...ref }, { reason, message }, { signal }),
  )
  const trouble = troubles.find((each) => each !== undefined)
  if (trouble !== undefined) warn(`no event was recorded: ${trouble.message}`)
}
