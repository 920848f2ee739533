import { setTimeout as sleep } from 'node:timers/promises'
import type { Fields } from '#base'
import { STOP_KEY, stopsText } from '#rules'
import { type AwaitedPod, touchPods } from '../kube/apply-rules.ts'
import { detachFromPod, labelAttached } from '../kube/attach-pod.ts'
import { recordAttached, recordEvent, userName } from '../kube/audit.ts'
import type { PodProgress } from '../kube/await-rules.ts'
import { claimText, runningClaim } from '../kube/claimed-rules.ts'
import { gitOpsWarning } from '../kube/config-map-rules.ts'
import { inParallel } from '../kube/in-parallel.ts'
import { type InjectedPod, listInjectedPods } from '../kube/injected-pod.ts'
import { findArmedProduction, type NamespaceCheck } from '../kube/production-namespaces.ts'
import { asKubeError, isHopeless, KubeError } from '../kube/kube-error.ts'
import {
  beginStop,
  isStopped,
  keepsStops,
  liftStop,
  refKey,
  type StopChange,
  stopCheck,
  stopConfigMaps,
  writeStop,
} from '../kube/stop-sidecars.ts'
import type { KubeClient } from '../kube/kube-client.ts'
import {
  rejectOverBudget,
  rejectProductionNamespace,
  sawBudgetIn,
  withClient,
} from './cluster-options.ts'
import { changeSidecar, INTERRUPTED, printOutcomes } from '#cli'
import { inContexts } from './contexts.ts'
import { confirmedBy } from './confirmed-by.ts'
import type { NamedRef } from '../kube/resources.ts'
import { type Observation, writeObserved } from './observed.ts'
import { confirmPods, FAILED, type Outputs, startRollout } from './rollout.ts'
import type { AnyStopRequest, StopRequest } from '../commands/stop.ts'
import { hasFailed, stopJson, type StopRun, stopText } from './stop-output.ts'

const MAX_POLL_MS = 500
/** The time for the name of the user before the first write. */
const NAME_MS = 500
/** The pause before writes that failed are repeated. */
const REPEAT_MS = 1_000
const OBSERVED: ReadonlySet<unknown> = new Set(['stopped', 'resumed', 'unchanged'])

/** Runs `squall stop` or `squall resume`, in clusters or by admin ports; returns the exit code. */
export async function stopAnywhere(request: AnyStopRequest): Promise<number> {
  if ('action' in request) {
    return inContexts(request, stopCommand, {
      isParallel: true,
      conflict: request.confirm !== undefined && '--confirm',
    })
  }
  const { endpoints, change, json } = request
  const outcomes = await Promise.all(endpoints.map((each) => changeSidecar(each, change)))
  const shown = outcomes.map((each) => ({ ...each, lines: [each.text], value: each }))
  return printOutcomes(shown, json)
}

/** Stops or resumes in one cluster; returns the exit code. */
export function stopCommand(
  request: StopRequest,
  output: Outputs = { out: process.stdout, err: process.stderr },
): Promise<number> {
  const { cluster, allNamespaces, json, timeoutMs } = request
  const stop = async (client: KubeClient, signal: AbortSignal): Promise<number> => {
    const run: StopRun = {
      ...startRollout(client, request, output, signal),
      wanted: request.action === 'stop' ? 'stopped' : 'resumed',
      namespace: allNamespaces ? undefined : (cluster.namespace ?? client.namespace),
      at: new Date(),
      by: undefined,
      isIncomplete: false,
      arePodsUnknown: true,
      isStopped: new Map(),
      changes: new Map(),
      progress: new Map(),
      touched: new Set(),
    }
    await act(run).catch((error: unknown) => {
      if (!run.limit.aborted) throw error
      if (signal.aborted) return
      const unknown = run.progress.size === 0 ? ': the pods with a sidecar are unknown' : ''
      incomplete(run, `timed out after ${timeoutMs / 1000} s${unknown}`)
    })
    for (const ref of await writeObserved(run, observationsOf(run))) {
      run.changes.set(refKey(ref), { ref, change: 'reverted' })
    }
    output.out.write(json ? stopJson(run) : stopText(run))
    return signal.aborted ? INTERRUPTED : hasFailed(run) ? FAILED : 0
  }
  return withClient(cluster, stop, timeoutMs)
}

/** Returns what the sidecars of each ConfigMap confirmed; of failed writes, nothing. */
function observationsOf({
  changes,
  progress,
  request,
  wanted: state,
  arePodsUnknown,
}: StopRun): readonly Observation[] {
  // Without its pods, nothing is known about a ConfigMap.
  if (arePodsUnknown) return []
  const done = [...changes.values()].filter(({ change: made }) => OBSERVED.has(made))
  const stop = { data: { [STOP_KEY]: stopsText([{ selector: request.cluster.selector }]) } }
  return done.map(({ ref }) => {
    const reads = ({ pod: { namespace, rules } }: AwaitedPod): boolean =>
      namespace === ref.namespace && rules?.configMap === ref.name
    const own = new Map([...progress].filter(([pod]) => reads(pod)))
    const lasts = (found: Fields): boolean =>
      state === 'stopped' ? keepsStops(found, stop) : !isStopped(found)
    return { ref, state, progress: own, key: STOP_KEY, lasts }
  })
}

function incomplete(run: StopRun, text: string): undefined {
  run.isIncomplete = true
  return run.warn(text)
}

async function act(run: StopRun): Promise<void> {
  const { client, request, limit, namespace } = run
  const { action, onlyProduction, configMap } = request
  const name = userName(client, { signal: limit }).catch(() => undefined)
  if (namespace !== undefined && action === 'stop' && onlyProduction === undefined) {
    // Before anything is asked: this ConfigMap alone may be all that an ailing API server stores.
    run.by = await Promise.race([name, sleep(NAME_MS, undefined, { ref: false })])
    await changeAll(run, [{ namespace, name: configMap }])
  }
  run.by = await name
  // The list has no pods of other namespaces than production; their ConfigMaps stay unchanged.
  const within = onlyProduction === undefined ? namespace : undefined
  const changeFor = (pods: readonly InjectedPod[]): Promise<void> =>
    changeAll(run, stopConfigMaps(pods, within, configMap))
  const list = (): Promise<readonly InjectedPod[]> =>
    listPods(run, action === 'stop' ? changeFor : undefined)
  const first = await list().catch((error: unknown) =>
    incomplete(run, `the pods with a sidecar are unknown: ${asKubeError(error).message}`),
  )
  run.arePodsUnknown = first === undefined
  await rejectResumes(run, first ?? [])
  await changeFor(first ?? [])
  if (first === undefined) return
  begin(run, first)
  if (limit.aborted) return
  // The pods are touched early, so that the kubelet begins. Pods created meanwhile may read other
  // ConfigMaps.
  const again = list().catch((error: unknown) =>
    incomplete(run, `cannot list pods created in the meantime: ${asKubeError(error).message}`),
  )
  const [pods = first] = await Promise.all([again, touch(run, first)])
  await changeFor(pods)
  begin(run, pods)
  if (request.dryRun) return
  await Promise.all([touch(run, pods), record(run)])
  const matchers = `reason="stopped", namespace=~"${namespace ?? '.*'}"`
  const series = ['squall_disarmed_reason', matchers, action === 'stop' ? 1 : 0] as const
  const check = confirmedBy(run, run.progress, stopCheck(run.wanted), run.wanted, series)
  const confirm = (): Promise<void> => confirmPods(run, run.progress, check, MAX_POLL_MS)
  await Promise.all([confirm(), detachAll(run), repeatWrites(run)])
  // Pods whose ConfigMap was written late.
  await confirm()
}

/** Takes the pods that have to confirm. */
function begin(run: StopRun, pods: readonly InjectedPod[]): void {
  run.progress.clear()
  for (const pod of pods.filter((each) => isConcerned(run, each))) {
    run.progress.set({ pod, digest: undefined, isReached: true }, firstProgress(run, pod))
  }
}

function firstProgress(run: StopRun, pod: InjectedPod): PodProgress {
  const { dryRun, action } = run.request
  const would = `would be ${run.wanted}`
  if (isAttached(pod)) {
    if (action === 'resume')
      return { state: 'skipped', detail: 'attached: it does not read the stop key' }
    if (dryRun) return { state: 'skipped', detail: would }
    return { state: 'unconfirmed', detail: 'attached: it has not exited' }
  }
  const progress = beginStop(pod)
  const done = changeOf(run, pod)
  if (progress.state === 'waiting' && (done === 'left' || done instanceof KubeError)) {
    return { state: 'unconfirmed', detail: 'its ConfigMap was not changed' }
  }
  if (!dryRun || progress.state !== 'waiting') return progress
  return { state: 'skipped', detail: would }
}

function isAttached({ mode }: InjectedPod): boolean {
  return mode === 'attached'
}

/** Has the kubelet deliver what was written, once for each pod. */
async function touch(run: StopRun, pods: readonly InjectedPod[]): Promise<void> {
  const { client, request, limit, warn, touched, at } = run
  if (request.dryRun) return
  const open = pods.filter((pod) => needsTouch(run, pod) && !touched.has(refKey(pod)))
  for (const pod of open) touched.add(refKey(pod))
  const [trouble] = await touchPods(client, open, request.cluster.prefix, at, { signal: limit })
  if (trouble === undefined) return
  warn(`pods cannot be annotated, so the kubelet may take up to two minutes: ${trouble.message}`)
}

/** Ends attached sidecars, as squall attach --undo does: they read no stop key. */
async function detachAll(run: StopRun): Promise<void> {
  const { client, request, limit, progress, until, by = 'an unknown user' } = run
  const { readToken, prefix } = request.cluster
  const attached = [...progress.keys()].filter(({ pod }) => isAttached(pod))
  if (request.action === 'resume') return
  await inParallel(attached, async (each) => {
    const { pod } = each
    const options = { timeoutMs: until - performance.now(), signal: limit, readToken }
    try {
      await detachFromPod(client, pod, options)
      progress.set(each, { state: 'stopped', detail: 'detached' })
      await labelAttached(client, pod, prefix, null, limit)
      await recordAttached(client, pod, 'detached', by, { signal: limit })
    } catch (error) {
      if (!limit.aborted) {
        progress.set(each, { state: 'unconfirmed', detail: asKubeError(error).message })
      }
    }
  })
}

/** Repeats writes that failed until the time is over, and has their pods confirm. */
async function repeatWrites(run: StopRun): Promise<void> {
  const { changes, limit, progress } = run
  for (;;) {
    const failed = [...changes.values()].filter(({ change: done }) => mayRepeat(done))
    if (failed.length === 0 || limit.aborted) return
    await sleep(REPEAT_MS, undefined, { signal: limit }).catch(() => undefined)
    const refs = failed.map(({ ref }) => ref)
    await changeAll(run, refs)
    const late = [...progress].filter(([{ pod }, { state }]) => {
      return state === 'unconfirmed' && !isAttached(pod)
    })
    for (const [each] of late) progress.set(each, firstProgress(run, each.pod))
    const pods = late.map(([{ pod }]) => pod)
    await touch(run, pods)
  }
}

/** Lists the pods to stop or resume. */
async function listPods(
  run: StopRun,
  onPage: (pods: readonly InjectedPod[]) => Promise<void> = async () => {},
): Promise<readonly InjectedPod[]> {
  const { client, request, namespace, limit } = run
  const { cluster, unlabelled, onlyProduction } = request
  const isConcernedPod = ({ sidecar, namespace: name }: InjectedPod): boolean =>
    sidecar !== 'absent' && run.isStopped.get(name) !== false
  const scope = { ...cluster, namespace, unlabelled }
  const pods = await listInjectedPods(client, scope, { signal: limit }, async (page) => {
    if (onlyProduction !== undefined) await findProductions(run, onlyProduction, page)
    await onPage(page.filter(isConcernedPod))
  })
  return pods.filter(isConcernedPod)
}

/** Finds out which namespaces of pods are production. */
async function findProductions(
  run: StopRun,
  check: NamespaceCheck,
  pods: readonly InjectedPod[],
): Promise<void> {
  const { client, request, limit, isStopped: known } = run
  const open = pods.filter(({ namespace }) => !known.has(namespace))
  const counts = new Map(open.map(({ namespace }) => [namespace, 1]))
  const options = { ...check, prefix: request.cluster.prefix }
  const { found, trouble } = await findArmedProduction(client, counts, options, { signal: limit })
  if (trouble !== undefined && !run.isIncomplete) incomplete(run, trouble)
  for (const namespace of counts.keys()) known.set(namespace, false)
  for (const { namespace, isAllowed } of found) known.set(namespace, !isAllowed)
}

/** Rejects to resume in production, and against the budget of the cluster. */
async function rejectResumes(
  { client, request, namespace, limit }: StopRun,
  pods: readonly InjectedPod[],
): Promise<void> {
  const { budget, dryRun, cluster, configMap } = request
  if (budget === undefined) return
  const namespaces = namespace === undefined ? pods.map((pod) => pod.namespace) : [namespace]
  for (const name of new Set(namespaces)) {
    await rejectProductionNamespace(client, name, request, limit)
    if (dryRun) continue
    const own = pods.filter((pod) => pod.namespace === name)
    const refs = stopConfigMaps(own, name, configMap)
    const { prefix } = cluster
    const wasSeen = await sawBudgetIn(client, refs, prefix, limit)
    await rejectOverBudget(client, budget, { namespace: name, prefix, wasSeen }, limit)
  }
}

/** Changes the ConfigMaps that were not changed yet. */
async function changeAll(run: StopRun, refs: readonly NamedRef[]): Promise<void> {
  const { client, request, limit, changes, warn, at, by } = run
  const { selector, prefix } = request.cluster
  const annotations = by === undefined ? {} : { [`${prefix}applied-by`]: by }
  const { dryRun, onlyProduction } = request
  await inParallel(refs, async (ref) => {
    const before = changes.get(refKey(ref))
    if (before !== undefined && !mayRepeat(before.change)) return
    const stop = { selector, at: at.toISOString(), by }
    if (limit.aborted) {
      if (before === undefined) changes.set(refKey(ref), { ref, change: 'left' })
      return
    }
    // Without the signal: the outcome has to be known after Ctrl-C.
    const done = await (
      request.action === 'stop'
        ? writeStop(client, ref, stop, annotations, {
            dryRun,
            keepStopped: onlyProduction !== undefined,
            onWritten: (kept) => warn(gitOpsWarning(kept, 'the key squall-stop')),
          })
        : liftStop(client, ref, selector, annotations, {
            dryRun,
            check: (found) => {
              const claim = request.force ? undefined : runningClaim(found, prefix, client.now())
              if (claim === undefined) return undefined
              return new KubeError('not_permitted', `${claimText(claim)}; wait, or use --force`)
            },
          })
    ).catch(asKubeError)
    changes.set(refKey(ref), { ref, change: done })
  })
}

/** Returns whether a write failed, and may succeed later. */
function mayRepeat(done: StopChange | KubeError): boolean {
  return done instanceof KubeError && !isHopeless(done)
}

/** Returns false for pods that another stop keeps stopped after a resume. */
function isConcerned(run: StopRun, pod: InjectedPod): boolean {
  return run.request.action === 'stop' || changeOf(run, pod) !== 'others'
}

/**
 * Returns false for pods whose ConfigMap was not written, or had its stop by an earlier `squall
 * stop --production`.
 */
function needsTouch(run: StopRun, pod: InjectedPod): boolean {
  const done = changeOf(run, pod)
  if (pod.sidecar !== 'running' || done === undefined || done instanceof KubeError) return false
  return isConcerned(run, pod) && (run.request.onlyProduction === undefined || done !== 'unchanged')
}

function changeOf(
  { changes }: StopRun,
  { namespace, rules }: InjectedPod,
): StopChange | KubeError | undefined {
  return rules && changes.get(refKey({ namespace, name: rules.configMap }))?.change
}

async function record(run: StopRun): Promise<void> {
  const { client, request, limit, changes, warn, by = 'an unknown user', wanted } = run
  const { selector } = request.cluster
  const which = selector === undefined ? 'all pods' : `pods with ${selector}`
  const reason = wanted === 'stopped' ? 'SquallStopped' : 'SquallResumed'
  const command = request.onlyProduction === undefined ? request.action : 'stop --production'
  const message = `squall ${command} for ${which} by ${by}`
  const done = [...changes.values()].filter((each) => each.change === wanted)
  const troubles = await inParallel(done, ({ ref }) =>
    recordEvent(client, { kind: 'ConfigMap', ...ref }, { reason, message }, { signal: limit }),
  )
  const trouble = troubles.find((each) => each !== undefined)
  if (trouble !== undefined) warn(`the event was not recorded: ${trouble.message}`)
}
