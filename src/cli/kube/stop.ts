import { setTimeout as sleep } from 'node:timers/promises'
import { touchPods } from '../../cluster/kube/apply-rules.ts'
import { recordEvent, userName } from '../../cluster/kube/audit.ts'
import { awaitPods, type PodProgress } from '../../cluster/kube/await-rules.ts'
import { inParallel } from '../../cluster/kube/in-parallel.ts'
import { type InjectedPod, listInjectedPods } from '../../cluster/kube/injected-pod.ts'
import { findArmedProduction } from '../../cluster/kube/production-namespaces.ts'
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
import { rejectProductionNamespace, withClient } from './cluster-options.ts'
import { INTERRUPTED } from '../long-running.ts'
import { progressOutput } from '../../cluster/kube/progress-output.ts'
import { hasFailed, stopJson, type StopRequest, type StopRun, stopText } from './stop-output.ts'

const MAX_POLL_MS = 500
/** The time for the name of the user before the first write. */
const NAME_MS = 500

/** Runs `squall stop` or `squall resume`; returns the exit code. */
export function stopCommand(
  request: StopRequest,
  output: ApplyOutput = { out: process.stdout, err: process.stderr },
): Promise<number> {
  const { cluster, allNamespaces, json } = request
  return withClient(
    cluster,
    async (client, signal) => {
      const warnings: string[] = []
      const run: StopRun = {
        client,
        request,
        signal,
        namespace: allNamespaces ? undefined : (cluster.namespace ?? client.namespace),
        warnings,
        warn: (text) => {
          warnings.push(text)
          if (!json) output.err.write(`warning: ${text}\n`)
        },
        isIncomplete: false,
        until: performance.now() + request.timeoutMs,
        changes: new Map(),
        progress: new Map(),
      }
      await act(run, output).catch((error: unknown) => {
        if (!signal.aborted) throw error
      })
      output.out.write(json ? stopJson(run) : stopText(run))
      return signal.aborted ? INTERRUPTED : hasFailed(run) ? 1 : 0
    },
    request.timeoutMs,
  )
}

async function act(run: StopRun, output: ApplyOutput): Promise<void> {
  const { client, request, signal, namespace, progress } = run
  const at = new Date()
  const name = userName(client, { signal })
  if (
    namespace !== undefined &&
    request.action === 'stop' &&
    request.onlyProduction === undefined
  ) {
    // Before anything is asked: this ConfigMap alone may be all that an ailing API server stores.
    const ref = { namespace, name: request.configMap }
    await change(
      run,
      [ref],
      at,
      await Promise.race([name, sleep(NAME_MS, undefined, { ref: false })]),
    )
  }
  const [by, first] = await Promise.all([name, listPodsDespite(run)])
  await rejectProductions(run, first ?? [])
  // The list has no pods of other namespaces than production; their ConfigMaps stay unchanged.
  const within = request.onlyProduction === undefined ? namespace : undefined
  await change(run, stopConfigMaps(first ?? [], within, request.configMap), at, by)
  if (first === undefined || signal.aborted) return
  // The pods are touched early, so that the kubelet begins. Pods created meanwhile may read other
  // ConfigMaps.
  const [pods = first] = await Promise.all([listAgain(run), touch(run, first, at)])
  await change(run, stopConfigMaps(pods, within, request.configMap), at, by)
  for (const pod of pods.filter((each) => isConcerned(run, each))) {
    progress.set({ pod, digest: undefined, isReached: true }, begin(run, pod))
  }
  if (request.dryRun) return
  const known = new Set(first.map(refKey))
  const later = pods.filter((pod) => !known.has(refKey(pod)))
  await Promise.all([touch(run, later, at), record(run, by)])
  await confirm(run, output)
}

function begin(run: StopRun, pod: InjectedPod): PodProgress {
  const { dryRun, action } = run.request
  const progress = beginStop(pod)
  if (progress.state === 'waiting' && changeOf(run, pod) instanceof KubeError) {
    return { state: 'unconfirmed', detail: 'its ConfigMap was not changed' }
  }
  if (!dryRun || progress.state !== 'waiting') return progress
  return { state: 'skipped', detail: `would be ${action === 'stop' ? 'stopped' : 'resumed'}` }
}

async function touch(run: StopRun, pods: readonly InjectedPod[], at: Date): Promise<void> {
  const { client, request, signal, warn } = run
  if (request.dryRun) return
  const running = pods.filter(
    (pod) => pod.sidecar === 'running' && isConcerned(run, pod) && needsTouch(run, pod),
  )
  const [trouble] = await touchPods(client, running, request.cluster.prefix, at, { signal })
  if (trouble === undefined) return
  warn(`pods cannot be annotated, so the kubelet may take up to two minutes: ${trouble.message}`)
}

/** Lists the pods; undefined when they cannot be listed, but the stop is written. */
async function listPodsDespite(run: StopRun): Promise<readonly InjectedPod[] | undefined> {
  try {
    return await listPods(run)
  } catch (error) {
    if (!(error instanceof KubeError) || run.changes.size === 0) throw error
    run.isIncomplete = true
    run.warn(`pods with a sidecar are not known: ${error.message}`)
    return undefined
  }
}

/** Lists the pods again; without the list, the known pods are stopped nevertheless. */
async function listAgain(run: StopRun): Promise<readonly InjectedPod[] | undefined> {
  try {
    return await listPods(run)
  } catch (error) {
    if (!(error instanceof KubeError)) throw error
    run.warn(`pods created meanwhile are not known: ${error.message}`)
    return undefined
  }
}

async function confirm(
  { client, request, signal, progress, until }: StopRun,
  { err }: ApplyOutput,
): Promise<void> {
  const shown = request.json ? undefined : progressOutput(err)
  try {
    await awaitPods(
      client,
      progress,
      stopCheck(request.action === 'stop' ? 'stopped' : 'resumed'),
      {
        until,
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

/** Lists the pods to stop or resume; undefined without the right to list pods. */
async function listPods(run: StopRun): Promise<readonly InjectedPod[] | undefined> {
  const pods = await listSidecars(run)
  return pods && ofProduction(run, pods)
}

/** Returns the pods to stop: with --production, those in production namespaces. */
async function ofProduction(
  run: StopRun,
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
  request: { cluster, allNamespaces, onlyProduction, unlabelled },
  namespace,
  signal,
  warn,
}: StopRun): Promise<readonly InjectedPod[] | undefined> {
  try {
    const pods = await listInjectedPods(client, { ...cluster, namespace, unlabelled }, { signal })
    return pods.filter(({ sidecar }) => sidecar !== 'absent')
  } catch (error) {
    const needsList = allNamespaces || onlyProduction !== undefined
    if (needsList || !isKubeError(error, 'forbidden')) throw error
    warn(`pods with a sidecar are not known: ${(error as Error).message}`)
    return undefined
  }
}

/** Rejects to resume in production, where rules must not be armed. */
async function rejectProductions(
  { client, request, namespace, signal }: StopRun,
  pods: readonly InjectedPod[],
): Promise<void> {
  if (request.production === undefined) return
  const namespaces = namespace === undefined ? pods.map((pod) => pod.namespace) : [namespace]
  for (const name of new Set(namespaces)) {
    await rejectProductionNamespace(client, name, request, signal)
  }
}

/** Changes the ConfigMaps that were not changed yet. */
async function change(
  { client, request, signal, changes }: StopRun,
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
    // Without the signal: the outcome has to be known after Ctrl-C.
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

/** Returns false for pods that another stop keeps stopped after a resume. */
function isConcerned(run: StopRun, pod: InjectedPod): boolean {
  return run.request.action === 'stop' || changeOf(run, pod) !== 'others'
}

/** Returns false for pods whose stop was written by an earlier `squall stop --production`. */
function needsTouch(run: StopRun, pod: InjectedPod): boolean {
  return run.request.onlyProduction === undefined || changeOf(run, pod) !== 'unchanged'
}

function changeOf(
  { changes }: StopRun,
  { namespace, rules }: InjectedPod,
): StopChange | KubeError | undefined {
  return rules && changes.get(refKey({ namespace, name: rules.configMap }))?.change
}

async function record(
  { client, request, signal, changes, warn }: StopRun,
  by?: string,
): Promise<void> {
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
