import { quoted } from '../../base/text/foreign-text.ts'
import { FAULT_NAMES } from '../../filters/lib/fault-names.ts'
import type { FaultName } from '../../filters/index.ts'
import { MAX_DURATION_MS } from '../../base/units.ts'
import { isGlob, MAX_GLOB } from '../../base/glob.ts'
import type { GuardedRulesOptions } from '../../rules/guard/guarded-rules.ts'
import type { GuardConfig } from '../../rules/guard/guard.ts'
import { nearestName } from '../../base/nearest-name.ts'
import {
  findProduction,
  type PlacedName,
  productionText,
} from '../../rules/guard/production-names.ts'
import type { RuleLimits } from '../../rules/guard/rule-limits.ts'
import type { RulesFlag } from './rules-run-flags.ts'
import type { Environment, FlagValues, Given } from '../flags/flag-values.ts'
import { environmentNames, ownNamespace, parseProductionNames } from '../flags/production.ts'
import { parseCount, parseDuration, parsePercent, type Range } from '../flags/units.ts'
import { badOption, badValue, UsageError } from '../flags/usage-error.ts'

/** The options of `squall run` for rules and their limits. */
export interface RunRules extends GuardedRulesOptions {
  /** A file or a directory; undefined when there are no rules. */
  readonly path: string | undefined
  readonly pollMs: number
  /** The file with the pod's labels; undefined where they are not known. */
  readonly podLabelsFile: string | undefined
  /** The environment as the operator names it. */
  readonly environment: string | undefined
  /** The namespace of the pod, where it is known. */
  readonly namespace: string | undefined
}

const COUNT: Range = { min: 1, max: 1_000_000 }
const PERCENT: Range = { min: 0, max: 100 }
const POLL: Range = { min: 100, max: 3_600_000 }
const WINDOW: Range = { min: 1000, max: 3_600_000 }
const DURATION: Range = { min: 1, max: MAX_DURATION_MS }
const ENVIRONMENT = /^[A-Za-z0-9][A-Za-z0-9._/-]{0,127}$/
const MAX_POD = 253
const WORKLOAD = /^[A-Za-z0-9](?:[-A-Za-z0-9_.]{0,251}[A-Za-z0-9])?$/
const MAX_TOOLS = 1000
const MAX_PATHS = 100
const MAX_PATH = 1024

/** The options that limit rules, for `squall run` and `squall explain`. */
export type LimitFlag = Extract<
  RulesFlag,
  | 'environment'
  | 'allow-production'
  | 'production-names'
  | 'max-percent'
  | 'max-active'
  | 'max-duration'
  | 'allow-faults'
  | 'deny-tools'
  | 'exclude-paths'
  | 'pod'
  | 'workload'
  | 'dry-run'
>

/** The limits on rules. */
export type RuleBounds = Pick<GuardedRulesOptions, 'limits' | 'pod' | 'self' | 'neverArmed'>

/** Parses the options that limit rules. Throws a `UsageError`. */
export function parseBounds(
  flags: FlagValues<LimitFlag>,
  env: Environment,
  own: readonly PlacedName[] = [],
): RuleBounds {
  return {
    pod: podOf(flags.optional('pod'), env),
    self: { workload: workloadOf(flags.optional('workload')) },
    neverArmed: neverArmed(flags, env, own),
    limits: limitsOf(flags),
  }
}

/** Parses the options about rules. Throws a `UsageError`. */
export function parseRunRules(flags: FlagValues<RulesFlag>, env: Environment): RunRules {
  const maxPercent = parsePercent(flags.required('header-faults-max-percent'), PERCENT)
  const namespace = ownNamespace(env)
  return {
    path: pathOf(flags.optional('rules'), RULES_PATH),
    podLabelsFile: pathOf(flags.optional('pod-labels-file'), LABELS_PATH),
    pollMs: parseDuration(flags.required('rules-poll'), POLL),
    environment: flags.optional('environment')?.text.trim(),
    namespace: namespace.name,
    ...parseBounds(flags, env, [namespace]),
    guard: guardOf(flags),
    headerFaults: flags.switch('header-faults') ? { maxPercent } : undefined,
  }
}

function limitsOf(flags: FlagValues<LimitFlag>): RuleLimits {
  return {
    maxPercent: flags.parsed('max-percent', (given) => parsePercent(given, PERCENT)),
    maxActive: flags.parsed('max-active', (given) => parseCount(given, COUNT)),
    maxDuration: flags.parsed('max-duration', (given) => parseDuration(given, DURATION)),
    allowFaults: listOf(flags.all('allow-faults'), 'name a fault, such as delay')?.map(faultOf),
    denyTools: toolsOf(flags.all('deny-tools')),
    excludePaths: pathsOf(flags.all('exclude-paths')),
    dryRun: flags.switch('dry-run'),
  }
}

function guardOf(flags: FlagValues<RulesFlag>): GuardConfig | undefined {
  const rate = flags.required('guard-error-rate')
  const calls = flags.required('guard-min-calls')
  const watched = {
    window: parseDuration(flags.required('guard-window'), WINDOW),
    minCalls: parseCount(calls, COUNT),
  }
  if (rate.text === 'off') return undefined
  const errorPercent = parsePercent(rate, PERCENT)
  if (errorPercent < 100) return { ...watched, errorPercent }
  throw badOption(
    rate.source,
    'at most 100% of the calls can fail, so this never disarms',
    'use a lower share, or off',
  )
}

/** Returns the reason why no rule may act in this environment; undefined where rules may act. */
function neverArmed(
  flags: FlagValues<LimitFlag>,
  env: Environment,
  own: readonly PlacedName[],
): string | undefined {
  const patterns = parseProductionNames(flags)
  const isAllowed = flags.switch('allow-production')
  const given = flags.optional('environment')
  if (given !== undefined && !ENVIRONMENT.test(given.text.trim())) {
    throw badValue(given, 'is not a name', 'use letters, digits, dots and dashes, such as staging')
  }
  const stated = given && { where: given.source, name: given.text }
  const found = findProduction([...environmentNames(stated, env), ...own], patterns)
  if (isAllowed || found === undefined) return undefined
  return `${productionText(found)}; --allow-production would arm`
}

const RULES_PATH = 'name a rules file, or a directory of them'
const LABELS_PATH = 'name the file in which the downward API writes metadata.labels'

function pathOf(given: Given | undefined, fix: string): string | undefined {
  if (given === undefined) return undefined
  if (given.text !== '' && !given.text.includes('\u0000')) return given.text
  throw badValue(given, 'is not a path', fix)
}

function workloadOf(given: Given | undefined): string | undefined {
  if (given === undefined || WORKLOAD.test(given.text)) return given?.text
  throw badValue(
    given,
    'is not the name of a workload',
    'use letters, digits, dots and dashes, or leave it out',
  )
}

/** Returns the name of the pod: from the option, or else from Kubernetes. */
function podOf(given: Given | undefined, env: Environment): string | undefined {
  if (given !== undefined && (given.text === '' || given.text.length > MAX_POD)) {
    throw badValue(
      given,
      'is not the name of a pod',
      `use 1 to ${MAX_POD} characters, or leave it out`,
    )
  }
  const found = [given?.text, env['POD_NAME'], env['HOSTNAME']]
  return found.find((name) => name !== undefined && name !== '' && name.length <= MAX_POD)
}

/** Returns the elements of lists with commas; undefined without a list. */
function listOf(lists: readonly Given[], fix: string): readonly Given[] | undefined {
  if (lists.length === 0) return undefined
  return lists.flatMap(({ text, source }) =>
    text.split(',').map((part) => {
      const element = part.trim()
      if (element !== '') return { text: element, source }
      throw badValue({ text, source }, 'has an empty element', fix)
    }),
  )
}

function faultOf({ text, source }: Given): FaultName {
  const name = FAULT_NAMES.find((known) => known === text)
  if (name !== undefined) return name
  const nearest = nearestName(text, FAULT_NAMES)
  const hint = nearest === undefined ? '' : `did you mean ${nearest}? `
  throw badOption(
    source,
    `there is no fault ${quoted(text)}`,
    `${hint}use some of ${FAULT_NAMES.join(', ')}`,
  )
}

function toolsOf(lists: readonly Given[]): readonly string[] | undefined {
  const tools = listOf(lists, 'name a tool, or a glob such as pay_*')
  if (tools === undefined) return undefined
  const { source } = tools[0]!
  if (tools.length > MAX_TOOLS) {
    throw badOption(source, 'too many', `use at most ${MAX_TOOLS}, or globs`)
  }
  return tools.map(({ text }) => {
    if (!isGlob(text) || text.length <= MAX_GLOB) return text
    const wrong = `${source}: ${quoted(text)} is too long`
    throw new UsageError('BAD_VALUE', wrong, `a glob may have ${MAX_GLOB} characters`)
  })
}

function pathsOf(lists: readonly Given[]): readonly string[] | undefined {
  const paths = listOf(lists, 'name a path, or a glob such as /admin/*')
  if (paths === undefined) return undefined
  const { source } = paths[0]!
  if (paths.length > MAX_PATHS) {
    throw badOption(source, 'too many', `use at most ${MAX_PATHS}, or globs`)
  }
  return paths.map(({ text }) => {
    const most = isGlob(text) ? MAX_GLOB : MAX_PATH
    // Paths are compared without their query, so a path with a query would never match.
    if (/^[/*][^\s?#]*$/.test(text) && text.length <= most) return text
    throw badValue(
      { text, source },
      'is not a path',
      `begin with a slash, leave out the query, and use at most ${most} characters`,
    )
  })
}
