import { asInvoked, plain, type Fields, foreign, instantText, quoted } from '#base'
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
  beginRules,
  countOf,
  isEnough,
  type PodCheck,
  type Progress,
  rulesCheck,
} from '../kube/await-rules.ts'
import {
  configMapKeys,
  expectedDigest,
  gitOpsWarning,
  lastChange,
  stopProblem,
  textBefore,
  writtenAt,
} from '../kube/config-map-rules.ts'
import { findBypasses } from '../kube/bypassed-pods.ts'
import { KubeError, retryConflicts } from '../kube/kube-error.ts'
import { CONFIG_MAPS } from '../kube/resources.ts'
import {
  equalityLabels,
  rulesOf,
  type Targets,
  targetsOf,
  type PodTarget,
} from '../kube/targets.ts'
import { anchorText, isAhead, ruleEnd, targetText } from '#rules'
import { stopsOf } from '../kube/stop-sidecars.ts'
import type { InjectedPod } from '../kube/injected-pod.ts'
import { sawBudget } from '../kube/budget.ts'
import { readCheckedRules, invalidCombination, invalidFile, invalidOption, UsageError } from '#cli'
import {
  clusterFlags,
  kubectlFlags,
  rejectOverBudget,
  rejectProductionNamespace,
  resumeFlags,
} from './cluster-options.ts'
import type { ApplyRequest } from '../commands/apply.ts'
import { inContexts } from './contexts.ts'
import { openPods, podLines } from '../kube/progress-output.ts'
import { confirmedBy } from './confirmed-by.ts'
import { writeObserved } from './observed.ts'
import {
  confirmPods,
  FAILED,
  inNamespace,
  jsonText,
  type Outputs,
  rejectedRules,
  type Rollout,
  startRollout,
} from './rollout.ts'
import { once } from 'node:events'
import { createInterface } from 'node:readline/promises'
import { claimText, runningClaim } from '../kube/claimed-rules.ts'

interface Run extends Rollout {
  readonly request: ApplyRequest
  readonly asked: RulesTarget
  readonly canAct: boolean
}

interface Outcome {
  readonly target: RulesTarget
  readonly targets: Targets
  /** Undefined where nothing was written. */
  readonly change?: WrittenRules['change']
  readonly progress: Progress
  /** True when another program has replaced the rules since. */
  readonly isReverted?: boolean
}

/** Runs `squall apply` in each cluster; returns the worst exit code. */
export function applyInContexts(request: ApplyRequest): Promise<number> {
  // Standard input can be read once, and one Prometheus may have pods of the same names.
  const conflict = request.file === '-' ? '-f -' : request.confirm !== undefined && '--confirm'
  return inContexts(request, applyCommand, { conflict })
}

/** Runs `squall apply`; returns the exit code. */
export async function applyCommand(
  request: ApplyRequest,
  output: Outputs = { out: process.stdout, err: process.stderr },
): Promise<number> {
  const { json, configMap, key, cluster, timeoutMs: patienceMs } = request
  const { text: written, problems, canAct } = await readCheckedRules(request.file)
  if (problems.length > 0) return rejectedRules(problems, json, output, 'applied')
  const text = textForPods(written, cluster.selector)
  const ending = 'squall takes no further action'
  return inNamespace({ cluster, patienceMs }, ending, async (client, namespace, signal) => {
    const asked = { namespace, configMap, key, text, prefix: cluster.prefix }
    const run = { ...startRollout(client, request, output, signal), asked, canAct }
    try {
      // Rules that do nothing are allowed everywhere: they end faults.
      if (canAct) await rejectProductionNamespace(client, namespace, request, signal)
      const outcome = await apply(run)
      output.out.write((json ? outcomeJson : outcomeText)(outcome, run))
      return hasFailed(outcome, run) ? FAILED : 0
    } catch (error) {
      if (!(error instanceof MergedRulesError)) throw error
      return rejectedRules(error.problems, json, output, 'applied')
    }
  })
}

async function apply(run: Run): Promise<Outcome> {
  const { client, request, asked, output, signal } = run
  const { key, configMap, namespace } = asked
  const { json, dryRun } = request
  const pods = await podsWithRules(client, asked, request.unlabelled, { signal })
  const plan = async () => {
    const planned = await planWrite(run, pods)
    const was = lastChange(planned.before, key, asked.prefix)
    if (!json) output.err.write(targetsText(planned.targets, was, dryRun))
    return planned
  }
  if (dryRun) {
    const { target, targets, keys } = await plan()
    const progress = notAwaited(awaitedPods(keys, key, targets.pods), 'nothing was written')
    return { target, targets, progress }
  }
  const by = await userName(client, { signal })
  const { target, targets, change, kept } = await retryConflicts(async () => {
    const planned = await plan()
    const written = { ...planned.target, by }
    return { ...planned, ...(await writeConfigMap(client, written, planned.before, { signal })) }
  })
  if (!json) output.err.write(`configmap ${configMap} in ${namespace}: ${change}\n`)
  const waitFor = awaitedPods(configMapKeys(kept), key, targets.pods)
  await announce(run, { ...target, by }, change, waitFor)
  if (!request.wait) {
    return { target, targets, change, progress: notAwaited(waitFor, 'not waited for') }
  }
  const progress = new Map(waitFor.map((pod) => [pod, beginRules(pod)]))
  const digests = new Set(waitFor.flatMap(({ digest }) => digest ?? []))
  const matchers = `namespace="${namespace}", digest=~"${[...digests].join('|')}"`
  const series = ['squall_rules_info', matchers, 1] as const
  await confirmPods(
    run,
    progress,
    confirmedBy(run, progress, checkOf(run, kept), 'applied', series),
  )
  const ref = { namespace, name: configMap }
  const lasts = (found: Fields): boolean => textBefore(found, key) === textBefore(kept, key)
  const reverted = await writeObserved(run, [{ ref, state: 'applied', progress, key, lasts }])
  return { target, targets, change, progress, isReverted: reverted.length > 0 }
}

/** Checks sidecars for the rules, also beside other keys of the ConfigMap that changed since. */
function checkOf({ asked }: Run, kept: Fields): PodCheck {
  const { namespace, configMap: name, key } = asked
  let reading: Promise<Fields | undefined> | undefined
  return async (client, each, options) => {
    const progress = await rulesCheck(client, each, options)
    if (progress.state !== 'waiting' || progress.silent === true) return progress
    reading ??= client.find({ kind: CONFIG_MAPS, namespace, name }, options).finally(() => {
      setTimeout(() => (reading = undefined), 1_000).unref()
    })
    const found = await reading.catch(() => undefined)
    if (found === undefined || textBefore(found, key) !== textBefore(kept, key)) return progress
    const digest = each.pod.rules && expectedDigest(configMapKeys(found), each.pod.rules)
    if (digest === each.digest) return progress
    each.digest = digest
    return rulesCheck(client, each, options)
  }
}

/** Reads the ConfigMap, and decides what to write into it. Throws where it must stay as it is. */
async function planWrite(run: Run, pods: readonly InjectedPod[]) {
  const { client, request, asked, canAct, signal } = run
  const { key, namespace, configMap: name, prefix } = asked
  const before = await client.find({ kind: CONFIG_MAPS, namespace, name }, { signal })
  const stops = stopsOf(before)
  if (stops?.length !== 0) {
    const selectors = stops?.map(({ selector }) => selector)
    const only = selectors?.every((each) => each !== undefined) === true
    const who = only ? `pods with ${foreign(selectors.join(' or '))} are` : `${namespace} is`
    const more = resumeFlags(request.cluster, name, request.unlabelled)
    const resume = asInvoked(`squall resume -n ${namespace}${more}`)
    run.warn(`${who} stopped: no rule acts${only ? ' in them' : ''} until ${resume}`)
  }
  run.warn(gitOpsWarning(before, 'the rules'))
  const given = { before, key, text: asked.text, prefix, now: client.now() }
  const replacing = { ...given, text: textWithTimes(given, request.lastsMs) }
  const target = { ...asked, text: replacing.text }
  if (canAct) rejectAhead(replacing)
  // Rules that do nothing end faults, and a dry run changes nothing.
  if (canAct && !request.force && !request.dryRun) {
    rejectClaimed(replacing)
    const isTerminal = process.stdin.isTTY && process.stderr.isTTY && !request.json
    await confirmEndless(replacing, isTerminal, signal)
  }
  // Not by --force: the budget is of the cluster, and whoever set it can change it.
  const chaos = { namespace, prefix, wasSeen: sawBudget(before, prefix) }
  const seesBudget =
    canAct && !request.dryRun && (await rejectOverBudget(client, request.budget, chaos, signal))
  const targets = targetsOf(pods, target.text, textBefore(before, key))
  const keys = mergedKeys(before, target, targets.pods)
  const problem = canAct ? stopProblem({}, keys, before) : undefined
  if (problem !== undefined) throw new KubeError('invalid', problem)
  return { before, target: { ...target, seesBudget }, targets, keys }
}

/** Records the change, and makes the kubelet deliver it. */
async function announce(
  run: Run,
  applied: RulesTarget,
  change: WrittenRules['change'],
  waitFor: readonly AwaitedPod[],
): Promise<void> {
  const { client, canAct, signal, limit } = run
  const { prefix } = applied
  const reached = waitFor.filter(({ isReached }) => isReached)
  const reachedPods = reached.map(({ pod }) => pod)
  const bypasses = await findBypasses(client, reachedPods, prefix, { signal })
  const recorded =
    change === 'unchanged' ? undefined : await recordApplied(client, applied, canAct, { signal })
  const unrecorded = recorded ?? (await recordWarnings(client, reachedPods, bypasses, { signal }))
  if (unrecorded !== undefined) run.warn(`the event was not recorded: ${unrecorded.message}`)
  const running = reached.filter(({ pod, digest }) => digest && pod.sidecar === 'running')
  const touched = running.map(({ pod }) => pod)
  const [trouble] = await touchPods(client, touched, prefix, new Date(), { signal: limit })
  for (const text of [bypasses.trouble, ...[...bypasses.warnings.values()].flat()]) run.warn(text)
  if (trouble === undefined) return
  run.warn(
    `pods cannot be annotated, so the kubelet may deliver the rules up to two minutes later: ${trouble.message}`,
  )
}

function notAwaited(pods: readonly AwaitedPod[], detail: string): Progress {
  return new Map(
    pods.map((pod) => [pod, pod.isReached ? { state: 'waiting', detail } : beginRules(pod)]),
  )
}

function hasFailed({ progress, isReverted }: Outcome, { request, signal }: Run): boolean {
  const { wait, dryRun, min } = request
  const isLess = wait && !dryRun && !isEnough(progress, min)
  return signal.aborted || countOf(progress, 'rejected') > 0 || isLess || isReverted === true
}

function outcomeText({ target, progress, isReverted }: Outcome, { request, signal }: Run): string {
  const { wait, dryRun, timeoutMs, min, all, cluster } = request
  const { namespace, configMap } = target
  if (dryRun) return `${target.text.trimEnd()}\n`
  const status = asInvoked(`squall status -n ${namespace}${clusterFlags(cluster)}`)
  const log = `kubectl logs -n ${namespace}${kubectlFlags(cluster)} POD -c squall`
  if (progress.size === 0) {
    return `no pod in ${namespace} reads the configmap ${configMap}; list sidecars with: ${status}\n`
  }
  if (!wait) return `did not wait; list the sidecars that have the rules: ${status}\n`
  const skipped = countOf(progress, 'skipped') + countOf(progress, 'gone')
  // Pods that wait for reverted rules would wait forever.
  const isWaiting = countOf(progress, 'waiting') > 0 && isReverted !== true
  const rest = skipped === 0 ? '' : `, ${skipped} not waited for`
  const what = rulesOf(target.text).length === 0 ? 'no rules' : 'rules loaded'
  const applied = countOf(progress, 'applied')
  const head = `${what} in ${applied} of ${progress.size} pods${rest}\n`
  const next = signal.aborted
    ? `interrupted; the configmap stays changed, and the kubelet delivers the change: ${status}\n`
    : countOf(progress, 'rejected') > 0
      ? 'the sidecars keep their previous rules; fix the file and apply it again\n'
      : isWaiting && isEnough(progress, min)
        ? `enough pods have the rules (--min ${min}%)\n`
        : isWaiting
          ? `timed out after ${timeoutMs / 1000} s; check again with ${status}, and read the log with ${log}\n`
          : ''
  return `${head}${podLines(openPods(progress, 'applied'), all, ({ name }) => name)}${next}`
}

function outcomeJson(outcome: Outcome, run: Run): string {
  const { target, targets, change, progress } = outcome
  const { namespace, configMap, key } = target
  const { dryRun, wait } = run.request
  const targeted = new Map(targets.pods.map(({ pod, isTarget }) => [pod, isTarget]))
  return jsonText({
    ok: !hasFailed(outcome, run),
    namespace,
    configMap,
    key,
    change: change ?? null,
    dryRun,
    replaced: targets.replaced,
    ...(dryRun && { text: target.text }),
    waited: wait && !dryRun,
    stopped: run.signal.aborted,
    warnings: run.warnings,
    pods: [...progress].map(([{ pod, digest }, each]) => ({
      name: pod.name,
      target: targeted.get(pod) ?? false,
      digest: digest ?? null,
      ...each,
    })),
  })
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

/** The rules to write, and what they replace. */
interface Replacing {
  readonly before: Fields | undefined
  readonly key: string
  readonly text: string
  readonly prefix: string
  /** The time of the API server. */
  readonly now: number
}

/** Returns the rules, limited to the pods that a selector matches. Throws a `UsageError`. */
function textForPods(text: string, selector: string | undefined): string {
  if (selector === undefined) return text
  const labels = equalityLabels(selector)
  if (labels === undefined) {
    throw invalidOption(
      '--selector',
      `${quoted(selector)} has conditions other than equality, which rules do not support`,
      'write match: { podLabels: { app: shop } }, with any and not, into the rules, and remove --selector',
    )
  }
  const targeted = targetText(text, labels)
  if (targeted.ok) return targeted.text
  throw invalidCombination(targeted.wrong, targeted.fix)
}

/**
 * Returns the rules with `appliedAt`, the time at which each rule was applied; `lasts` is the time
 * for which they may act, in milliseconds. Throws a `UsageError`.
 */
function textWithTimes({ before, key, text, now }: Replacing, lasts: number | undefined): string {
  const [old, beforeAt] = [textBefore(before, key), writtenAt(before, key)]
  const anchored = anchorText(text, { now, before: old, beforeAt, lasts })
  if (anchored !== undefined) return anchored
  throw invalidFile(
    'appliedAt cannot be added to the rules as they are written',
    'write the keys of the file as a map and the rules as a list, without aliases for either',
  )
}

/** Rejects to replace rules while an experiment has claimed their ConfigMap. */
function rejectClaimed({ before, prefix, now }: Replacing): void {
  const claim = runningClaim(before, prefix, now)
  if (claim === undefined) return
  throw new UsageError('IN_USE', claimText(claim), 'wait until it has finished, or use --force')
}

/** Rejects rules whose times would count from a time that has not come. */
function rejectAhead({ text, now }: Replacing): void {
  const ahead = rulesOf(text).find(({ appliedAt }) => isAhead(appliedAt, now))
  if (ahead === undefined) return
  const at = `appliedAt of ${foreign(ahead.name)} is ${instantText(ahead.appliedAt)}`
  throw invalidFile(
    `${at}, but the API server's clock shows ${instantText(Math.floor(now / 1000) * 1000)}`,
    'remove appliedAt, and write from: for a later start',
  )
}

/** Asks before rules without an end replace rules that have one; without a terminal, throws. */
async function confirmEndless(
  replacing: Replacing,
  isTerminal: boolean,
  signal: AbortSignal,
): Promise<void> {
  const { before, key, text, prefix, now } = replacing
  const old = rulesOf(textBefore(before, key) ?? '')
  // As --for writes it.
  const hadEnd = old.length > 0 && old.every(({ until }) => until !== undefined)
  if (!hadEnd || rulesOf(text).every((rule) => ruleEnd(rule, now) !== Infinity)) return
  const wrong = `the rules in ${key}, ${lastChange(before, key, prefix)}, expire, but the new rules do not`
  if (isTerminal && (await isConfirmed(`${wrong}; apply them? [y/N] `, signal))) return
  throw invalidCombination(wrong, 'limit the rules with --for 15m, or use --force')
}

async function isConfirmed(question: string, signal: AbortSignal): Promise<boolean> {
  // Ctrl-C stays a signal.
  const { stdin: input, stderr: output } = process
  const prompt = createInterface({ input, output, terminal: false })
  try {
    const closed = once(prompt, 'close').then(() => '')
    const text = await Promise.race([prompt.question(question, { signal }), closed])
    return /^y(es)?$/i.test(text.trim())
  } finally {
    prompt.close()
  }
}
