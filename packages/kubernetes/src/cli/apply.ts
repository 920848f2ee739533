import { asStarted, type LineOutput, plain } from '#base'
import {
  awaitedPods,
  type AwaitedPod,
  mergedKeys,
  MergedRulesError,
  podsWithRules,
  type RulesTarget,
  touchPods,
  writeConfigMap,
  type WrittenRules,
} from '../kube/apply-rules.ts'
import { recordApplied, recordWarnings, userName } from '../kube/audit.ts'
import {
  awaitRules,
  endingAt,
  isEnough,
  type PodProgress,
  type Progress,
} from '../kube/await-rules.ts'
import { configMapKeys, gitOpsWarning, lastChange, textBefore } from '../kube/config-map-rules.ts'
import type { KubeClient } from '../kube/kube-client.ts'
import { findBypasses } from '../kube/bypassed-pods.ts'
import { type KubeError, retryConflicts } from '../kube/kube-error.ts'
import { CONFIG_MAPS } from '../kube/resources.ts'
import { rulesOf, type Targets, targetsOf, type PodTarget } from '../kube/targets.ts'
import { type FileProblems, problemLines, problemsJson, type ProductionCheck } from '#rules'
import { isStopped } from '../kube/stop-sidecars.ts'
import type { InjectedPod } from '../kube/injected-pod.ts'
import { confirmEndless, rejectAhead, rejectClaimed } from './apply-checks.ts'
import { textForPods, textWithTimes } from './applied-text.ts'
import { readCheckedRules } from '#cli'
import { type ClusterOptions, rejectProductionNamespace, withClient } from './cluster-options.ts'
import { podLines, progressOutput } from '../kube/progress-output.ts'

/** The options of `squall apply`. */
export interface ApplyRequest {
  readonly file: string
  readonly configMap: string
  readonly key: string
  readonly cluster: ClusterOptions
  /** Undefined where production is allowed. */
  readonly production: ProductionCheck | undefined
  readonly environmentLabel: string
  /** The time from now after which no rule acts. */
  readonly lastsMs: number | undefined
  /** Replaces claimed rules, and rules that end by rules without an end. */
  readonly force: boolean
  readonly dryRun: boolean
  readonly unlabelled: boolean
  /** The percentage of pods that has to have the rules. */
  readonly min: number
  /** Lists each pod, however many there are. */
  readonly all: boolean
  readonly timeoutMs: number
  readonly wait: boolean
  readonly json: boolean
}

/** The outputs of a command. */
export interface ApplyOutput {
  readonly out: LineOutput
  readonly err: LineOutput
}

interface Outcome {
  readonly target: RulesTarget
  readonly targets: Targets
  /** Undefined where nothing was written. */
  readonly change: WrittenRules['change'] | undefined
  readonly progress: Progress
  readonly stopped: boolean
  readonly warnings: readonly string[]
}

const FAILED = 1

/** Runs `squall apply`; returns the exit code. */
export async function applyCommand(
  request: ApplyRequest,
  output: ApplyOutput = { out: process.stdout, err: process.stderr },
): Promise<number> {
  const { text: written, problems, canAct } = await readCheckedRules(request.file)
  if (problems.length > 0) return rejected(problems, request, output)
  const text = textForPods(written, request.cluster.selector)
  const until = performance.now() + request.timeoutMs
  const act = async (client: KubeClient, signal: AbortSignal): Promise<number> => {
    const namespace = request.cluster.namespace ?? client.namespace
    const { configMap, key, cluster } = request
    const target = { namespace, configMap, key, text, prefix: cluster.prefix, canAct }
    try {
      // Rules that do nothing are allowed everywhere: they end faults.
      if (canAct) await rejectProductionNamespace(client, namespace, request, signal)
      const outcome = await apply(client, target, { ...request, until }, output, signal)
      output.out.write((request.json ? outcomeJson : outcomeText)(outcome, request))
      return hasFailed(outcome, request) ? FAILED : 0
    } catch (error) {
      if (error instanceof MergedRulesError) return rejected(error.problems, request, output)
      if (!signal.aborted) throw error
      output.err.write('stopped; nothing more is done\n')
      return FAILED
    }
  }
  return withClient(request.cluster, act, request.timeoutMs)
}

interface ApplyRun extends ApplyRequest {
  /** When the command's time is over, by `performance.now()`. */
  readonly until: number
}

type Asked = RulesTarget & { readonly canAct: boolean }

interface Run extends ApplyRun {
  readonly warn: (text: string) => void
}

async function apply(
  client: KubeClient,
  asked: Asked,
  request: ApplyRun,
  { err }: ApplyOutput,
  signal: AbortSignal,
): Promise<Outcome> {
  const warnings: string[] = []
  const warn = (text: string): void => {
    if (warnings.includes(text)) return
    warnings.push(text)
    if (!request.json) err.write(`warning: ${text}\n`)
  }
  const run: Run = { ...request, warn }
  const { key, configMap, namespace } = asked
  const pods = await podsWithRules(client, asked, request.unlabelled, { signal })
  const plan = async () => {
    const planned = await planWrite(client, asked, pods, run, signal)
    const was = lastChange(planned.before, key, asked.prefix)
    if (!request.json) err.write(targetsText(planned.targets, was, request.dryRun))
    return planned
  }
  if (request.dryRun) {
    const { target, targets, keys } = await plan()
    const progress = notAwaited(awaitedPods(keys, key, targets.pods), 'nothing was written')
    return { target, targets, change: undefined, progress, stopped: false, warnings }
  }
  const by = await userName(client, { signal })
  const { target, targets, change, kept } = await retryConflicts(async () => {
    const planned = await plan()
    const written = { ...planned.target, by }
    return { ...planned, ...(await writeConfigMap(client, written, planned.before, { signal })) }
  })
  if (!request.json) err.write(`configmap ${configMap} in ${namespace}: ${change}\n`)
  const waitFor = awaitedPods(configMapKeys(kept), key, targets.pods)
  await announce(client, { ...asked, ...target, by, change }, waitFor, run, signal)
  const progress = request.wait
    ? await follow(client, waitFor, request, err, signal)
    : notAwaited(waitFor, 'not waited for')
  return { target, targets, change, progress, stopped: signal.aborted, warnings }
}

/** Reads the ConfigMap, and decides what to write into it. Throws where it must stay as it is. */
async function planWrite(
  client: KubeClient,
  asked: Asked,
  pods: readonly InjectedPod[],
  request: Run,
  signal: AbortSignal,
) {
  const { key, namespace, configMap: name, prefix, canAct } = asked
  const before = await client.find({ kind: CONFIG_MAPS, namespace, name }, { signal })
  if (isStopped(before)) {
    const resume = asStarted(`squall resume -n ${namespace}`)
    request.warn(`${namespace} is stopped: no rule acts until ${resume}`)
  }
  const undone = gitOpsWarning(before, 'the rules')
  if (undone !== undefined) request.warn(undone)
  const now = client.now()
  const writing = { before, key, now, lastsMs: request.lastsMs }
  const target = { ...asked, text: textWithTimes(asked.text, writing) }
  const replacing = { before, key, text: target.text, prefix, now }
  if (canAct) rejectAhead(replacing)
  // Rules that do nothing end faults, and a dry run changes nothing.
  if (canAct && !request.force && !request.dryRun) {
    rejectClaimed(replacing)
    const isTerminal = process.stdin.isTTY && process.stderr.isTTY && !request.json
    await confirmEndless(replacing, isTerminal, signal)
  }
  const targets = targetsOf(pods, target.text, textBefore(before, key))
  return { before, target, targets, keys: mergedKeys(before, target, targets.pods) }
}

/** Records the change, and makes the kubelet deliver it. */
async function announce(
  client: KubeClient,
  applied: Asked & { readonly change: WrittenRules['change'] },
  waitFor: readonly AwaitedPod[],
  run: Run,
  signal: AbortSignal,
): Promise<void> {
  const { warn } = run
  const { prefix, change, canAct } = applied
  const reached = waitFor.filter(({ isReached }) => isReached).map(({ pod }) => pod)
  const bypasses = await findBypasses(client, reached, prefix, { signal })
  const recorded =
    change === 'unchanged' ? undefined : await recordApplied(client, applied, canAct, { signal })
  const unrecorded = recorded ?? (await recordWarnings(client, reached, bypasses, { signal }))
  if (unrecorded !== undefined) warn(`no event was recorded: ${unrecorded.message}`)
  const running = waitFor.filter(
    ({ pod, digest, isReached }) => isReached && digest && pod.sidecar === 'running',
  )
  const touched = running.map(({ pod }) => pod)
  const [trouble] = await touchPods(client, touched, prefix, new Date(), {
    signal: endingAt(run.until, signal),
  })
  if (bypasses.trouble !== undefined) warn(bypasses.trouble)
  for (const text of new Set([...bypasses.warnings.values()].flat())) warn(text)
  if (trouble !== undefined) warn(untouched(trouble))
}

function notAwaited(pods: readonly AwaitedPod[], detail: string): Progress {
  return new Map(
    pods.map((pod): [AwaitedPod, PodProgress] =>
      pod.isReached
        ? [pod, { state: 'waiting', detail }]
        : [pod, { state: 'skipped', detail: 'no rule is for this pod' }],
    ),
  )
}

function isWaited({ wait, dryRun }: ApplyRequest): boolean {
  return wait && !dryRun
}

async function follow(
  client: KubeClient,
  pods: readonly AwaitedPod[],
  { until, json, cluster, min, all }: ApplyRun,
  err: LineOutput,
  signal: AbortSignal,
): Promise<Progress> {
  const shown = json ? undefined : progressOutput(err, all)
  try {
    return await awaitRules(client, pods, {
      until,
      signal,
      min,
      readToken: cluster.readToken,
      onProgress: (progress) => shown?.show(progress),
    })
  } finally {
    shown?.end()
  }
}

function untouched(trouble: KubeError): string {
  return `pods cannot be annotated, so the kubelet may deliver the rules up to two minutes later: ${trouble.message}`
}

function rejected(
  problems: readonly FileProblems[],
  { json }: ApplyRequest,
  { out, err }: ApplyOutput,
): number {
  if (json) out.write(problemsJson(problems))
  else {
    for (const file of problems) err.write(problemLines(file))
    err.write('nothing was applied; fix the rules first\n')
  }
  return FAILED
}

function hasFailed({ progress, stopped }: Outcome, request: ApplyRequest): boolean {
  const isRejected = [...progress.values()].some(({ state }) => state === 'rejected')
  return stopped || isRejected || (isWaited(request) && !isEnough(progress, request.min))
}

function outcomeText(
  outcome: Outcome,
  { wait, dryRun, timeoutMs, min, all: isAll }: ApplyRequest,
): string {
  const { target, progress, stopped } = outcome
  const { namespace, configMap } = target
  if (dryRun) return `${target.text.trimEnd()}\n`
  const all = [...progress]
  const status = asStarted(`squall status -n ${namespace}`)
  if (all.length === 0) {
    return `no pod in ${namespace} reads the configmap ${configMap}; list sidecars with: ${status}\n`
  }
  if (!wait) return `not waited for; list sidecars with the rules: ${status}\n`
  const count = (state: PodProgress['state']): number =>
    all.filter(([, each]) => each.state === state).length
  const applied = count('applied')
  const skipped = count('skipped') + count('gone')
  const open = all.filter(([, { state }]) => state !== 'applied' && state !== 'gone')
  const lines = open.map(([{ pod }, each]): [string, PodProgress] => [pod.name, each])
  const rest = skipped === 0 ? '' : `, ${skipped} not waited for`
  const what = rulesOf(target.text).length === 0 ? 'no rules' : 'active rules'
  const head = `${what} in ${applied} of ${all.length} pods${rest}\n`
  const next = stopped
    ? `stopped; the configmap stays changed and the kubelet delivers it: ${status}\n`
    : count('rejected') > 0
      ? 'the sidecars keep their last good rules; fix the file and apply it again\n'
      : count('waiting') > 0 && isEnough(progress, min)
        ? `enough pods have the rules (--min ${min}%)\n`
        : count('waiting') > 0
          ? `not done after ${timeoutMs / 1000} s; check again with ${status}, and see a sidecar with kubectl logs -n ${namespace} POD -c squall\n`
          : ''
  return `${head}${podLines(lines, isAll)}${next}`
}

function outcomeJson(outcome: Outcome, request: ApplyRequest): string {
  const { target, targets, change, progress, stopped, warnings } = outcome
  const { namespace, configMap, key } = target
  const waited = isWaited(request)
  const targeted = new Map(targets.pods.map(({ pod, isTarget }) => [pod, isTarget]))
  const pods = [...progress].map(([{ pod, digest }, each]) => ({
    name: pod.name,
    target: targeted.get(pod) ?? false,
    digest: digest ?? null,
    ...each,
  }))
  const report = {
    ok: !hasFailed(outcome, request),
    namespace,
    configMap,
    key,
    change: change ?? null,
    dryRun: request.dryRun,
    replaced: targets.replaced,
    ...(request.dryRun && { text: target.text }),
    waited,
    stopped,
    warnings,
    pods,
  }
  return `${JSON.stringify(report, null, 2)}\n`
}

/** Names beyond this number do not fit on a terminal. */
const MAX_NAMES = 40

/**
 * Lists the pods in which rules act, and the others; empty where rules act in all and replace none.
 */
function targetsText({ pods, replaced }: Targets, was: string, isDryRun: boolean): string {
  const others = pods.filter(({ isTarget }) => !isTarget)
  const lines: string[] = []
  if (others.length > 0 || isDryRun) {
    const targets = pods.filter(({ isTarget }) => isTarget)
    lines.push(`rules act in ${targets.length} of ${pods.length} pods that read the configmap`)
    lines.push(...names(targets, ({ pod }) => `  acts in ${pod.name}`))
    lines.push(...names(others, ({ pod, why }) => `  not in ${pod.name}: ${why ?? ''}`))
  }
  if (replaced.length > 0) {
    const some = replaced.slice(0, MAX_NAMES).join(', ')
    const more = replaced.length > MAX_NAMES ? ` and ${replaced.length - MAX_NAMES} more` : ''
    lines.push(`replaces the rules ${some}${more}, ${was}; to keep them use another --key`)
  }
  return lines.map((line) => `${plain(line)}\n`).join('')
}

function names(pods: readonly PodTarget[], line: (pod: PodTarget) => string): string[] {
  const more = pods.length > MAX_NAMES ? [`  and ${pods.length - MAX_NAMES} more`] : []
  return [...pods.slice(0, MAX_NAMES).map(line), ...more]
}
