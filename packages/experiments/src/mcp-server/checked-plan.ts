import type { Policy } from '#rules'
import * as Type from 'typebox'
import { resolve } from 'node:path'
import { quoted, durationText, plain, shownUrl } from '#base'
import type { ControlRequest } from '../commands/mcp.ts'
import { plannedTools, type Plan } from '../experiment/plan.ts'
import { type SavedPlan, readAndKeep } from '../experiment/read-plan.ts'
import type { Rejection } from '../experiment/rejection.ts'
import { moreRejections } from '../experiment/run-experiment.ts'
import { tooManyRuns, withSidecars } from '../operations/run-here.ts'
import { payloadProblems } from '../policy/payload-check.ts'
import type { Control } from './control-tool.ts'
import { DeniedError } from '../policy/denied-error.ts'
import { effectsOf } from './effects.ts'
import { examplePlan } from './plan-help.ts'
import { numberOrNull } from './shapes.ts'
import { adminUrl } from './open-sidecars.ts'

/** A plan that the policy and the bounds of the server allow. */
export interface CheckedPlan {
  readonly plan: Plan
  readonly kept: SavedPlan
  readonly policy: Policy
}

/** Limits the text of a plan. */
export const MAX_PLAN = 256 * 1024

/** Names the text of a client in messages and in stored runs. */
const FILE = 'plan.yaml'

/** Checks the text of a plan. Throws a `DeniedError` with all reasons at once. */
export async function checkPlan(text: string, control: Control): Promise<CheckedPlan> {
  const policy = control.limits.trusted()
  const noFiles = (path: string): Promise<string> =>
    Promise.reject(new Error(`files are not allowed; inline the content of ${quoted(path)}`))
  const limits = { production: control.production, policy }
  const { read, kept } = await readAndKeep(FILE, text, noFiles, limits)
  if (!read.ok) {
    const problems = read.problems.flatMap((each) => each.problems)
    const reasons = problems.map(
      ({ line, column, path, message }) =>
        `${FILE}:${line}:${column}: ${path === '' ? '' : `${path}: `}${message}`,
    )
    const help = `\nA plan to start from:\n${examplePlan(control)}`
    throw Object.assign(new DeniedError(...reasons), { help })
  }
  const { plan } = read
  const rejections = [...read.rejections, ...boundsRejections(plan, control.bounds)]
  // What the policy says about a key is stricter than what holds without one.
  const strict = rejections.toSorted(
    (a, b) => Number(b.code === 'POLICY') - Number(a.code === 'POLICY'),
  )
  if (strict.length > 0) throw new DeniedError(...reasonsOf(strict))
  const hidden = payloadProblems({ plan: text }, policy)
  if (hidden.length > 0) throw new DeniedError(...hidden)
  // Only an allowed plan makes requests.
  const more = [
    ...(await tooManyRuns(control.access, plan)),
    ...(await withSidecars(control.access, plan, moreRejections)),
  ]
  if (more.length > 0) throw new DeniedError(...reasonsOf(more))
  return { plan, kept, policy }
}

/** Describes the first rejection of each key, with the fixes that an agent has. */
export function reasonsOf(rejections: readonly Rejection[]): readonly string[] {
  const keys = new Set<string>()
  return rejections.flatMap(({ code, wrong, fix, path = [] }) => {
    const key = path.reduce<string>(
      (all, each) =>
        typeof each === 'number' ? `${all}[${each}]` : all === '' ? each : `${all}.${each}`,
      '',
    )
    if (key !== '' && keys.has(key)) return []
    keys.add(key)
    const fixes = fix.split('; ').filter((each) => each.startsWith('ask ') || !/--[a-z]/.test(each))
    return [[`${key === '' ? '' : `${key}: `}${code}: ${wrong}`, ...fixes].join('; ')]
  })
}

type PlanBounds = ControlRequest['bounds']

/**
 * Returns the reasons to reject a plan that reaches beyond the bounds: it would replace a file,
 * read a port, or send a token where nobody allowed it.
 */
function boundsRejections(plan: Plan, bounds: PlanBounds): readonly Rejection[] {
  return [...sidecarRejections(plan, bounds), ...monitorRejections(plan, bounds)]
}

function sidecarRejections({ sidecar, file }: Plan, bounds: PlanBounds): readonly Rejection[] {
  const { sidecars, namespaces, context } = bounds
  if (sidecar.kind === 'pods') {
    const known = namespaces.includes(sidecar.namespace)
    const same = sidecar.context === undefined || sidecar.context === context
    if (known && same) return []
    const open = namespaces.length === 0 ? 'no namespace' : namespaces.join(', ')
    const wrong = `this server may use ${open}, not ${quoted(sidecar.namespace)}${same ? '' : ' of another context'}`
    return [rejection(wrong, 'ask a person to add --namespace', ['sidecar'])]
  }
  const found: Rejection[] = []
  const isOpen = sidecars.some(
    (each) =>
      adminUrl(each).origin === sidecar.admin.url.origin &&
      resolve(each.rulesFile) === sidecar.rulesFile,
  )
  if (!isOpen) {
    const forms = sidecars.map(
      (each) => `sidecar: { admin: ${adminUrl(each).origin}, rulesFile: ${each.rulesFile} }`,
    )
    const wrong = 'this server may not use this sidecar with this rules file'
    const fix =
      forms.length === 0 ? 'ask a person to add --sidecar' : `write ${forms.join(', or ')}`
    found.push(rejection(wrong, fix, ['sidecar']))
  }
  if (file.kill !== undefined) {
    const wrong = 'this server does not kill processes on this machine'
    found.push(rejection(wrong, 'remove kill', ['kill']))
  }
  return found
}

function monitorRejections({ file, alerts }: Plan, bounds: PlanBounds): readonly Rejection[] {
  const sections = [file.steadyState, file.abortOn ?? {}, file.expect?.during ?? {}]
  const written = sections.flatMap(({ health = [], promql = [] }) => [health, promql].flat())
  const urls = [...alerts.map(({ url }) => url), ...written.map(({ url }) => new URL(url))]
  const others = new Set(urls.map(({ origin }) => origin))
  for (const open of bounds.monitors) others.delete(open)
  return [...others].map((origin) => {
    const wrong = `this server may not query the monitoring system at ${origin}`
    return rejection(wrong, 'remove the condition, or ask a person to add --monitor', [])
  })
}

function rejection(wrong: string, fix: string, path: Rejection['path'] & {}): Rejection {
  return { code: 'POLICY', wrong, fix, path }
}

/** The largest effect that a plan can have. */
export const BLAST = Type.Object({
  maxPercent: Type.Number({ description: 'Maximum percentage of calls or pods with faults.' }),
  durationMs: Type.Number({ description: 'Total duration of all stages in milliseconds.' }),
  calls: numberOrNull('Number of load calls in all stages; null without a rate.'),
  sampled: numberOrNull('Maximum number of calls with faults; null without a rate.'),
})

/** Predicts the largest effect of a plan. */
export function blastOf({ file, stages, by }: Plan): Type.Static<typeof BLAST> {
  const { rate } = file.load
  const shares = stages.map(({ share = 0 }) => share)
  const perStage = rate === undefined ? null : (rate * file.hold) / 1000
  const isCounted = perStage !== null && by === 'calls'
  const sampled = shares.reduce((sum, share) => sum + ((perStage ?? 0) * share) / 100, 0)
  return {
    maxPercent: Math.max(...shares),
    durationMs: stages.length * file.hold,
    calls: perStage === null ? null : Math.ceil(perStage * stages.length),
    sampled: isCounted ? Math.ceil(sampled) : null,
  }
}

/** Describes a plan to the person who approves it, one fact per line. */
export function summaryOf(plan: Plan): readonly string[] {
  const { file, stages, aborts, slo, digest } = plan
  const { maxPercent, durationMs, sampled } = blastOf(plan)
  const tools = plannedTools(plan)
  const ends = [
    ...aborts.map(({ text }) => text),
    ...slo.map(({ text }) => `${text} is not met`),
    'stop_experiment is called',
  ]
  return [
    `Experiment ${file.name} on ${shownUrl(plan.target)}, environment ${file.target.environment ?? 'unknown'}`,
    ...effectsOf(plan).map((effect) => `Largest effect: ${effect}`),
    `Stages: ${stages.map(({ label }) => label).join(', ')}; ${durationText(durationMs)} in total`,
    `Calls: ${tools.length === 0 ? 'read-only tools' : tools.slice(0, 20).join(', ')}`,
    `Ends early if: ${ends.join('; ')}. If squall mcp stops, the rules expire after ${durationText(file.sidecar.expiry)}`,
    `Worst case: at most ${maxPercent}% of ${plan.by}${sampled === null ? '' : `, ${sampled} calls of the load`}, including calls of other clients, fail, are delayed or are changed`,
    `Digest: ${digest}`,
  ].map(plain)
}
