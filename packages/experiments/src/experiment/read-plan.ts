import { canonicalJson, drawSeed, sha256Of } from '#base'
import { dirname, resolve } from 'node:path'
import type { CallSpec } from '../load/load-options.ts'
import { parseCalls } from '../load/calls-file.ts'
import { parseExpectation } from '../load/expectation.ts'
import { LoadError } from '../load/load-error.ts'
import { limitGate } from '../load/results/slo.ts'
import {
  type FileProblems,
  NO_NAMES,
  type Problem,
  type ProductionCheck,
  readYaml,
  type YamlDocument,
} from '#rules'
import { gatesOf, MEASURES } from './gate.ts'
import { planFindings, withDefaults } from './plan-findings.ts'
import {
  type Plan,
  type RulesSource,
  type Stage,
  type WrittenRule,
  blockingRules,
  inlineRules,
  readRulesText,
} from './plan.ts'
import { expectedDuring } from './expectations.ts'
import { conditionsOf } from './monitor/conditions.ts'
import type { AlertSpec } from './monitor/alert-source.ts'
import type { PlanFile } from './plan-schema.ts'
import { type LocatedRejection, planRejections } from './plan-rejections.ts'
import { policyRejections } from '../policy/policy-rejections.ts'
import type { Policy } from '../policy/policy-schema.ts'

export type ReadPlan =
  | { readonly ok: true; readonly plan: Plan; readonly rejections: readonly LocatedRejection[] }
  | { readonly ok: false; readonly problems: readonly FileProblems[] }

/** The location of a plan, and the access to the files that it names. */
export interface PlanSource {
  readonly file: string
  /** The base directory of relative paths. */
  readonly directory: string
  /** Reads a file. Throws when the file cannot be read. */
  readonly readText: (path: string) => Promise<string>
  /** The patterns of production names, and further names to check. */
  readonly production?: ProductionCheck | undefined
  readonly policy?: Policy | undefined
}

/** Limits the size of a plan. */
export const MAX_PLAN_BYTES = 1024 * 1024

/** Reads a plan, and returns either the plan or all its problems. */
export async function readPlan(text: string, source: PlanSource): Promise<ReadPlan> {
  const failed = (file: string, problems: readonly Problem[]): ReadPlan => ({
    ok: false,
    problems: [{ file, problems }],
  })
  if (text.length > MAX_PLAN_BYTES) {
    return failed(source.file, [at('too_large', 'a plan may have at most 1 MiB', '')])
  }
  const document = readYaml(text)
  const problems = [...document.problems, ...planFindings(document)]
  if (problems.length > 0) return failed(source.file, problems)
  const file = withDefaults(document.value)
  const rules = await rulesOf(file, document, source)
  const calls = await callsOf(file, document, source)
  if ('problems' in rules || 'problems' in calls) {
    return {
      ok: false,
      problems: [rules, calls].flatMap((each) => ('problems' in each ? each : [])),
    }
  }
  const plan = planOf(file, rules.source, calls, source)
  const { steady, aborts } = plan
  const tools = [...(file.load.tools ?? []), ...plan.calls.map(({ tool }) => tool)]
  const own = planRejections({
    file,
    rules: plan.rules,
    steady,
    aborts,
    tools,
    production: plan.production,
  })
  const { policy } = source
  const rejections = [...own, ...(policy === undefined ? [] : policyRejections(plan, policy))].map(
    (rejection) => ({ ...rejection, ...document.position(rejection.path ?? []) }),
  )
  return { ok: true, plan, rejections }
}

function planOf(
  file: PlanFile,
  rules: RulesSource | undefined,
  calls: readonly CallSpec[],
  { directory, production = NO_NAMES, policy }: PlanSource,
): Plan {
  const { steadyState, abortOn = {} } = file
  const steady = conditionsOf(steadyState)
  const aborts = conditionsOf(abortOn)
  // After a restart too many, no later measurement passes.
  const unrecoverable = steady
    .flatMap(({ gates }) => gates)
    .filter(({ measure }) => measure === 'restarts')
  const expected = expectedDuring(file)
  const samplers = [...[...steady, ...aborts].map(({ spec }) => spec), ...expected.samplers].map(
    (spec) => [spec.measure, spec] as const,
  )
  return {
    file,
    digest: planDigest(file, rules, calls),
    rules,
    seed: rules?.seed ?? file.seed ?? drawSeed(),
    target: new URL(file.target.url),
    sidecar: sidecarOf(file, directory),
    calls,
    expectations: (file.load.expect ?? []).map((each) => parseExpectation(each)),
    steady: [...gatesOf(MEASURES, steadyState), ...steady.flatMap(({ gates }) => gates)],
    aborts: [
      ...gatesOf(MEASURES, abortOn),
      ...aborts.flatMap(({ gates }) => gates),
      ...unrecoverable,
    ],
    samplers: [...new Map(samplers).values()],
    slo: Object.entries(file.slo ?? {}).map(([name, limit]) => limitGate(name, limit)),
    expected: expected.gates,
    alerts: alertsOf(file),
    by: file.pods === undefined ? 'calls' : 'pods',
    stages: stagesOf(file),
    production,
    policy,
  }
}

/**
 * Returns the sidecar, or the pods. The keys of the other form are missing, as `planFindings` has
 * checked.
 */
function sidecarOf({ sidecar, kill }: PlanFile, directory: string): Plan['sidecar'] {
  const { kubernetes, expiry: expiryMs, admin, rulesFile } = sidecar
  if (kubernetes !== undefined) {
    const kills =
      kill?.pod === undefined ? undefined : { pod: kill.pod, force: kill.force === true }
    return { ...kubernetes, kind: 'pods', kills, expiryMs }
  }
  return {
    kind: 'local',
    admin: { url: new URL(admin!) },
    rulesFile: resolve(directory, rulesFile!),
    victim: kill && { pidFile: resolve(directory, kill.pidFile!), command: kill.command! },
  }
}

/** Returns the expected alerts. Each has one URL, as `planFindings` has checked. */
function alertsOf({ expect }: PlanFile): readonly AlertSpec[] {
  return [expect?.alert ?? []].flat().map((alert) => {
    const { name, labels = {}, within, resolved, alertmanager, prometheus } = alert
    const monitor = alertmanager === undefined ? 'prometheus' : 'alertmanager'
    const url = new URL(alertmanager ?? prometheus!)
    return { name, labels, withinMs: within, resolvedMs: resolved, monitor, url }
  })
}

function stagesOf({ stages, pods, kill, dependency }: PlanFile): readonly Stage[] {
  if (stages !== undefined) return stages.map((share) => ({ label: `${share}%`, share }))
  if (pods !== undefined) return pods.map((share) => ({ label: `${share}% of pods`, share }))
  if (dependency !== undefined) return [{ label: 'blocked', share: 100 }]
  return [{ label: kill === undefined ? 'exhaust' : 'kill', share: undefined }]
}

/**
 * Returns the digest of everything that determines the experiment; the path and the names are
 * excluded.
 */
function planDigest(
  file: PlanFile,
  rules: RulesSource | undefined,
  calls: readonly CallSpec[],
): string {
  const { description: _, rules: __, ...deciding } = file
  const specs = calls.map(({ expect, ...call }) => ({
    ...call,
    expect: expect.map(({ text }) => text),
  }))
  const whole = { ...deciding, rules: rules?.digest ?? null, calls: specs }
  return sha256Of(canonicalJson(whole))
}

async function rulesOf(
  file: PlanFile,
  document: YamlDocument,
  { directory, readText, file: name }: PlanSource,
): Promise<{ readonly source: RulesSource | undefined } | FileProblems> {
  const { rules, dependency } = file
  if (dependency !== undefined) return { source: blockingRules(dependency) }
  if (rules === undefined) return { source: undefined }
  if (typeof rules !== 'string') {
    const written = (document.value as { readonly rules: readonly WrittenRule[] }).rules
    return { source: inlineRules(written) }
  }
  const path = resolve(directory, rules)
  let text: string
  try {
    text = await readText(path)
  } catch (error) {
    const message = `the file cannot be read: ${reasonOf(error)}`
    return {
      file: name,
      problems: [{ ...at('unreadable', message, 'rules'), ...document.position(['rules']) }],
    }
  }
  const source = readRulesText(text)
  return 'problems' in source ? { file: path, problems: source.problems } : { source }
}

async function callsOf(
  { load }: PlanFile,
  document: YamlDocument,
  { directory, readText, file: name }: PlanSource,
): Promise<readonly CallSpec[] | FileProblems> {
  if (load.calls === undefined) return []
  try {
    return parseCalls(await readText(resolve(directory, load.calls)))
  } catch (error) {
    const reason = error instanceof LoadError ? `${error.wrong}; ${error.fix}` : reasonOf(error)
    const where = document.position(['load', 'calls'])
    return { file: name, problems: [{ ...at('unreadable', reason, 'load.calls'), ...where }] }
  }
}

function reasonOf(error: unknown): string {
  const { code } = error as NodeJS.ErrnoException
  return code ?? (error instanceof Error ? error.message : String(error))
}

function at(code: Problem['code'], message: string, path: string): Problem {
  return { code, message, path, line: 1, column: 1 }
}

/** A stored plan with all its files, so that the run can be repeated exactly. */
export interface SavedPlan {
  readonly file: string
  readonly directory: string
  readonly text: string
  /** The files that the plan names, by path. */
  readonly files: Readonly<Record<string, string>>
}

export interface ReadAndSaved {
  readonly read: ReadPlan
  readonly kept: SavedPlan
}

/** Reads a plan and collects the files that it names. */
export async function readAndKeep(
  file: string,
  text: string,
  readText: PlanSource['readText'],
  production?: ProductionCheck,
  policy?: Policy,
): Promise<ReadAndSaved> {
  const directory = dirname(resolve(file))
  const files: Record<string, string> = {}
  const keepText = async (path: string): Promise<string> => (files[path] = await readText(path))
  const read = await readPlan(text, { production, policy, file, directory, readText: keepText })
  return { read, kept: { file, directory, text, files } }
}
