import { canonicalJson, drawSeed, fieldsOf, pointedAt, sha256Of, quoted, systemReason } from '#base'
import { dirname, resolve } from 'node:path'
import type { CallSpec } from '../load/load-options.ts'
import { parseCalls } from '../load/calls-file.ts'
import { parseExpectation } from '../load/expectation.ts'
import { LoadError } from '../load/load-error.ts'
import { limitGate } from '../load/results/slo.ts'
import {
  fileFindings,
  type FileProblems,
  fileSchema,
  type Finding,
  located,
  NO_NAMES,
  ownFindings,
  type Path,
  type Policy,
  type Problem,
  type ProductionCheck,
  readBySchema,
  readYaml,
  type YamlDocument,
} from '#rules'
import { gatesOf, MEASURES } from './gate.ts'
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
import { type PlanFile, planJsonSchema } from './plan-schema.ts'
import { type LocatedRejection, planRejections } from './plan-rejections.ts'
import { policyRejections } from '../policy/policy-rejections.ts'
import * as check from '#checks/plan'
import * as rulesCheck from '#checks/rules'

export type ReadPlan =
  | { readonly ok: true; readonly plan: Plan; readonly rejections: readonly LocatedRejection[] }
  | { readonly ok: false; readonly problems: readonly FileProblems[] }

/** What limits a plan besides its text. */
export interface PlanLimits {
  /** The patterns of production names, and further names to check. */
  readonly production?: ProductionCheck | undefined
  readonly policy?: Policy | undefined
}

/** The location of a plan, and the access to the files that it names. */
export interface PlanSource extends PlanLimits {
  readonly file: string
  /** The base directory of relative paths. */
  readonly directory: string
  /** Reads a file. Throws when the file cannot be read. */
  readonly readText: (path: string) => Promise<string>
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
    const message = 'a plan must not exceed 1 MiB'
    return failed(source.file, [{ code: 'too_large', message, path: '', line: 1, column: 1 }])
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
  const { policy } = plan
  const rejections = [
    ...planRejections(plan),
    ...(policy === undefined ? [] : policyRejections(plan, policy)),
  ].map((rejection) => ({ ...rejection, ...document.position(rejection.path ?? []) }))
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
    const message = `the file cannot be read: ${systemReason(error)}`
    return { file: name, problems: [unreadable(message, ['rules'], document)] }
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
    const reason = error instanceof LoadError ? `${error.wrong}; ${error.fix}` : systemReason(error)
    return { file: name, problems: [unreadable(reason, ['load', 'calls'], document)] }
  }
}

function unreadable(message: string, path: readonly string[], document: YamlDocument): Problem {
  return { code: 'unreadable', message, path: path.join('.'), ...document.position(path) }
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
  { production, policy }: PlanLimits = {},
): Promise<ReadAndSaved> {
  const directory = dirname(resolve(file))
  const files: Record<string, string> = {}
  const keepText = async (path: string): Promise<string> => (files[path] = await readText(path))
  const read = await readPlan(text, { production, policy, file, directory, readText: keepText })
  return { read, kept: { file, directory, text, files } }
}

const MAX_PROBLEMS = 100

const schema = planJsonSchema()
const checked = fileSchema(schema, check, rulesCheck)

/** Returns the problems of a plan in the order of its text. */
function planFindings(document: YamlDocument): readonly Problem[] {
  const { value } = document
  if (value === undefined) return []
  const wrong = ownFindings(value ?? {}, checked, MAX_PROBLEMS).map((finding) =>
    finding.path[0] === 'rules' ? finding : withHint(finding),
  )
  const found = [...wrong, ...fileFindings(value, wrong, schema, MAX_PROBLEMS)]
  // The other checks require a plan with a valid schema.
  if (wrong.length === 0) found.push(...planOnlyFindings(value))
  return found
    .slice(0, MAX_PROBLEMS)
    .map((finding) => located(finding, document))
    .sort((a, b) => a.line - b.line || a.column - b.column)
}

/**
 * Adds a hint to what is often tried: `kill.container` (see docs/decisions/0036), and a limit as a
 * sentence.
 */
function withHint(finding: Finding): Finding {
  const { path, found } = finding
  if (path[0] === 'kill' && found === 'container') {
    return { ...finding, hint: 'a container cannot be killed alone; `pod: 1` deletes its pod' }
  }
  const sentence = path[0] === 'abortOn' && /(\d[\w.%]*) for (\d[\w.]*)/.exec(String(found))
  if (!sentence) return finding
  return { ...finding, hint: `write { limit: ${sentence[1]}, for: ${sentence[2]} }` }
}

/** Fills in the defaults of a valid plan. */
function withDefaults(value: unknown): PlanFile {
  return readBySchema(value, checked) as PlanFile
}

type WrittenPlan = { readonly [Key in keyof PlanFile]?: unknown }

function planOnlyFindings(value: unknown): readonly Finding[] {
  const file = value as WrittenPlan
  return [
    ...urlFindings(value, ['target', 'url']),
    ...(fieldsOf(file.sidecar)['admin'] === undefined ? [] : urlFindings(value, ADMIN)),
    ...shapeFindings(file),
    ...sidecarFindings(file),
    ...timeFindings(withDefaults(value)),
    ...monitorFindings(value, ['expect', 'alert'], ['alertmanager', 'prometheus']),
    ...[['steadyState'], ['abortOn'], ['expect', 'during']].flatMap((section) => [
      ...monitorFindings(value, [...section, 'health'], ['url']),
      ...monitorFindings(value, [...section, 'promql'], ['url'], ['max', 'min']),
    ]),
    ...emptyFindings(file),
    ...expectFindings(fieldsOf(file.load)['expect']),
  ]
}

const ADMIN = ['sidecar', 'admin']

function urlFindings(value: unknown, path: Path): readonly Finding[] {
  const text = String(valueAt(value, path))
  const url = URL.canParse(text) ? new URL(text) : undefined
  const found = quoted(text)
  if (url === undefined || !/^https?:$/.test(url.protocol)) {
    const message = `must be a URL such as http://localhost:8080/mcp; got ${found}`
    return [{ code: 'invalid_value', message, path, found }]
  }
  if (url.username === '' && url.password === '') return []
  const message =
    'a plan must not contain a password; pass secrets with --header, --auth-token-file or --monitor-token-file'
  return [{ code: 'invalid_value', message, path }]
}

/** Checks that each object of one or more names one URL, and one of further keys. */
function monitorFindings(
  value: unknown,
  path: Path,
  urls: readonly string[],
  further: readonly string[] = [],
): readonly Finding[] {
  const written = valueAt(value, path)
  const places = Array.isArray(written) ? written.map((_, index) => [...path, index]) : [path]
  return places.flatMap((place): readonly Finding[] => {
    const one = valueAt(value, place)
    if (one === undefined) return []
    const named = urls.filter((key) => fieldsOf(one)[key] !== undefined)
    const isBound = further.length === 0 || further.some((key) => fieldsOf(one)[key] !== undefined)
    return [
      ...(named.length === 1
        ? urlFindings(value, [...place, named[0]!])
        : [needsOne('needs either', urls, place)]),
      ...(isBound ? [] : [needsOne('needs', further, place)]),
    ]
  })
}

function needsOne(needs: string, keys: readonly string[], path: Path): Finding {
  const message = `${needs} ${keys.map((key) => `\`${key}\``).join(' or ')}`
  return { code: 'invalid_value', message, path }
}

function valueAt(value: unknown, path: Path): unknown {
  return pointedAt(value, path.map(String))
}

function conflict(message: string, path: Path): Finding {
  return { code: 'conflict', message, path, atKey: true }
}

function missingKey(message: string, path: Path): Finding {
  return { code: 'missing_key', message, path }
}

/** Finds the first thing that is wrong with the shape: a key that is missing, or one too many. */
function shapeFindings(file: WrittenPlan): readonly Finding[] {
  const { rules, kill, exhaust, dependency, stages, pods } = file
  const staged = stages ?? pods
  const checks: readonly (readonly [isWrong: unknown, message: string, key?: string])[] = [
    [!(rules ?? kill ?? exhaust ?? dependency), `${EFFECTS} is missing`],
    [rules && dependency, '`rules` and `dependency` are mutually exclusive', 'dependency'],
    [stages && pods, '`stages` and `pods` are mutually exclusive', 'pods'],
    [rules && !staged, '`stages` or `pods` is missing'],
    [!rules && stages, NO_RULES, 'stages'],
    [!rules && pods, NO_RULES, 'pods'],
  ]
  const [, message, key] = checks.find(([isWrong]) => isWrong) ?? []
  if (message === undefined) return []
  return [key === undefined ? missingKey(message, []) : conflict(message, [key])]
}

const EFFECTS = '`rules`, `kill`, `exhaust` or `dependency`'
const NO_RULES = 'stages require rules'

function emptyFindings({ expect }: WrittenPlan): readonly Finding[] {
  const during = fieldsOf(expect)['during']
  if (during === undefined || Object.keys(during as object).length > 0) return []
  return [needsOne('needs', ['health', 'promql', 'p50', 'p95', 'p99'], ['expect', 'during'])]
}

const PODS = 'pods, with `sidecar.kubernetes`'
const LOCAL = 'a sidecar without `kubernetes`'
/** The keys of a section that one form of sidecar needs; the other keys of `FORM_KEYS` conflict. */
type FormKeys = readonly (readonly [keyof PlanFile, needed: readonly string[], other: string])[]
const LOCAL_KEYS: FormKeys = [
  ['sidecar', ['admin', 'rulesFile'], PODS],
  ['kill', ['pidFile', 'command'], PODS],
  ['steadyState', [], PODS],
]
const PODS_KEYS: FormKeys = [
  ['sidecar', [], LOCAL],
  ['kill', ['pod'], 'a sidecar without `sidecar.kubernetes`'],
]
const FORM_KEYS = ['admin', 'rulesFile', 'pidFile', 'command', 'pod', 'ready', 'force']

/** Finds what does not go together with a sidecar of this machine, or with pods. */
function sidecarFindings(file: WrittenPlan): readonly Finding[] {
  const pods = fieldsOf(file.sidecar)['kubernetes']
  const found = (pods === undefined ? LOCAL_KEYS : PODS_KEYS).flatMap(([name, needed, other]) => {
    const has = (key: string): boolean => fieldsOf(file[name])[key] !== undefined
    const missing = file[name] === undefined ? [] : needed.filter((key) => !has(key))
    const more = FORM_KEYS.filter((key) => has(key) && !needed.includes(key))
    const wrong = pods === undefined ? more : more.filter((key) => key !== 'force')
    return [
      ...missing.map((key) => missingKey(`\`${key}\` is missing`, [name])),
      ...wrong.map((key) => conflict(`\`${key}\` requires ${other}`, [name, key])),
    ]
  })
  const [byName, byLabels] = ['deployment', 'selector'].map((key) => fieldsOf(pods)[key])
  if (pods === undefined || (byName === undefined) !== (byLabels === undefined)) return found
  return [...found, needsOne('needs either', ['deployment', 'selector'], ['sidecar', 'kubernetes'])]
}

function timeFindings({ sidecar, steadyState, hold }: PlanFile): readonly Finding[] {
  const times: readonly (readonly [number, number, string, Path])[] = [
    [sidecar.expiry, 1000, '1s', ['sidecar', 'expiry']],
    [steadyState.for, 100, '100ms', ['steadyState', 'for']],
    [hold, 100, '100ms', ['hold']],
  ]
  return times.flatMap(([ms, least, text, path]) =>
    ms < least ? [{ code: 'out_of_range', message: `must be at least ${text}`, path }] : [],
  )
}

function expectFindings(list: unknown): readonly Finding[] {
  if (!Array.isArray(list)) return []
  return list.flatMap((text: string, index): Finding[] => {
    try {
      parseExpectation(text)
      return []
    } catch (error) {
      if (!(error instanceof LoadError)) throw error
      return [{ code: 'invalid_value', message: error.message, path: ['load', 'expect', index] }]
    }
  })
}
