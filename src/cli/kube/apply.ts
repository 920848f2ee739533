import {
  awaited,
  type AwaitedPod,
  MergedRulesError,
  podsWithRules,
  readConfigMap,
  type RulesTarget,
  touchPods,
  writeConfigMap,
} from '../../kube/apply-rules.ts'
import { awaitRules, type PodProgress, type Progress } from '../../kube/await-rules.ts'
import type { KubeClient } from '../../kube/kube-client.ts'
import { findBypasses } from '../../kube/bypassed-pods.ts'
import { isKubeError, type KubeError } from '../../kube/kube-error.ts'
import { problemLines, problemsJson, type FileProblems } from '../../rules/problem-format.ts'
import type { ApplyRequest } from './apply-options.ts'
import { refuseProductionNamespace } from './production-namespace.ts'
import { readCheckedRules } from './checked-rules.ts'
import { clientFor, onInterrupt } from './cluster-options.ts'
import { progressLines, progressOutput, type ProgressStream } from './progress-output.ts'

/** Where a command writes. */
export interface ApplyOutput {
  readonly out: ProgressStream
  readonly err: ProgressStream
}

interface Outcome {
  readonly target: RulesTarget
  readonly change: 'created' | 'changed' | 'unchanged'
  readonly progress: Progress
  readonly stopped: boolean
  readonly warnings: readonly string[]
}

const FAILED = 1

/** `squall apply`: brings rules to the sidecars of a namespace; the result is the exit code. */
export async function applyCommand(
  request: ApplyRequest,
  output: ApplyOutput = { out: process.stdout, err: process.stderr },
): Promise<number> {
  const { text, problems, canAct } = await readCheckedRules(request.file)
  if (problems.length > 0) return refused(problems, request, output)
  const client = await clientFor(request.cluster)
  const { signal, release } = onInterrupt()
  const target: RulesTarget = {
    namespace: request.cluster.namespace ?? client.namespace,
    configMap: request.configMap,
    key: request.key,
    text,
    selector: request.cluster.selector,
    prefix: request.cluster.prefix,
  }
  try {
    // Rules that do nothing are welcome everywhere: they are how faults are ended.
    if (canAct) await refuseProductionNamespace(client, target.namespace, request, signal)
    const outcome = await apply(client, target, request, output, signal)
    if (request.json) output.out.write(outcomeJson(outcome, request.wait))
    else output.out.write(outcomeText(outcome, request))
    return hasFailed(outcome, request.wait) ? FAILED : 0
  } catch (error) {
    if (error instanceof MergedRulesError) return refused(error.version.problems, request, output)
    if (!signal.aborted || isKubeError(error)) throw error
    output.err.write('stopped; nothing more is done\n')
    return FAILED
  } finally {
    release()
    await client.close()
  }
}

async function apply(
  client: KubeClient,
  target: RulesTarget,
  request: ApplyRequest,
  { err }: ApplyOutput,
  signal: AbortSignal,
): Promise<Outcome> {
  const warnings: string[] = []
  const warn = (text: string): void => {
    warnings.push(text)
    if (!request.json) err.write(`warning: ${text}\n`)
  }
  const pods = await podsWithRules(client, target, { signal })
  const before = await readConfigMap(client, target, { signal })
  const bypasses = await findBypasses(client, pods, target.prefix, { signal })
  const waitFor = awaited(before, target, pods)
  const change = await writeConfigMap(client, target, before, { signal })
  if (!request.json) {
    err.write(`configmap ${target.configMap} in ${target.namespace}: ${change}\n`)
  }
  const running = waitFor.filter(({ pod, digest }) => digest && pod.sidecar === 'running')
  const troubles = await touchPods(
    client,
    running.map(({ pod }) => pod),
    target.prefix,
    new Date(),
    { signal },
  )
  if (bypasses.trouble !== undefined) warn(bypasses.trouble)
  for (const text of new Set([...bypasses.warnings.values()].flat())) warn(text)
  if (troubles[0] !== undefined) warn(untouched(troubles[0]))
  const progress = request.wait
    ? await follow(client, waitFor, request, err, signal)
    : new Map<AwaitedPod, PodProgress>(
        waitFor.map((pod) => [pod, { state: 'waiting', detail: 'not waited for' }]),
      )
  return { target, change, progress, stopped: signal.aborted, warnings }
}

async function follow(
  client: KubeClient,
  pods: readonly AwaitedPod[],
  { timeoutMs, json, cluster }: ApplyRequest,
  err: ProgressStream,
  signal: AbortSignal,
): Promise<Progress> {
  const shown = json ? undefined : progressOutput(err)
  try {
    return await awaitRules(client, pods, {
      timeoutMs,
      signal,
      readToken: cluster.readToken,
      onProgress: (progress) => shown?.show(progress),
    })
  } finally {
    shown?.end()
  }
}

function untouched(trouble: KubeError): string {
  return `pods cannot be touched, so that it takes up to two minutes until kubelet brings the rules: ${trouble.message}`
}

function refused(
  problems: readonly FileProblems[],
  { json }: ApplyRequest,
  { out, err }: ApplyOutput,
): number {
  if (json) out.write(problemsJson(problems))
  else {
    for (const file of problems) err.write(problemLines(file))
    err.write('nothing was applied; mend the rules first\n')
  }
  return FAILED
}

function hasFailed({ progress, stopped }: Outcome, wait: boolean): boolean {
  const states = [...progress.values()].map(({ state }) => state)
  return stopped || states.includes('refused') || (wait && states.includes('waiting'))
}

function outcomeText(outcome: Outcome, { wait, timeoutMs }: ApplyRequest): string {
  const { target, progress, stopped } = outcome
  const { namespace, configMap } = target
  const all = [...progress]
  if (all.length === 0) {
    return `no pod in ${namespace} reads the configmap ${configMap}; see who has a sidecar: squall status -n ${namespace}\n`
  }
  if (!wait) return `not waited for; see who has the rules: squall status -n ${namespace}\n`
  const count = (state: PodProgress['state']): number =>
    all.filter(([, each]) => each.state === state).length
  const applied = count('applied')
  const skipped = count('skipped') + count('gone')
  const lines = all
    .filter(([, { state }]) => state !== 'applied' && state !== 'gone')
    .map(([{ pod }, each]) => progressLines(pod.name, each))
  const rest = skipped === 0 ? '' : `, ${skipped} not waited for`
  const head = `rules in force in ${applied} of ${all.length} pods${rest}\n`
  const next = stopped
    ? `stopped; the configmap stays changed and kubelet goes on: squall status -n ${namespace}\n`
    : count('refused') > 0
      ? 'the sidecars keep their last good rules; mend the file and apply it again\n'
      : count('waiting') > 0
        ? `not done after ${timeoutMs / 1000} s; look again with squall status -n ${namespace}, and at a sidecar with kubectl logs -n ${namespace} POD -c squall\n`
        : ''
  return `${head}${lines.join('')}${next}`
}

function outcomeJson(
  { target, change, progress, stopped, warnings }: Outcome,
  wait: boolean,
): string {
  const { namespace, configMap, key } = target
  const pods = [...progress].map(([{ pod, digest }, each]) => ({
    name: pod.name,
    digest: digest ?? null,
    ...each,
  }))
  const ok = !hasFailed({ target, change, progress, stopped, warnings }, wait)
  const report = { ok, namespace, configMap, key, change, waited: wait, stopped, warnings, pods }
  return `${JSON.stringify(report, null, 2)}\n`
}
