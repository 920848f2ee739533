import { quoted } from '../base/text/foreign-text.ts'
import { FAULT_NAMES } from '#checks/fault-names'
import type { FaultName } from '../filters/index.ts'
import { MAX_DURATION_MS } from '../base/units.ts'
import { isGlob, MAX_GLOB } from '../base/glob.ts'
import type { GuardedRulesOptions } from '../rules/guard/guarded-rules.ts'
import type { GuardConfig } from '../rules/guard/guard.ts'
import {
  MAX_CONDITIONS,
  parseRollbackCondition,
  type RollbackCondition,
} from '../rules/guard/rollback-condition.ts'
import { nearestName } from '../base/nearest-name.ts'
import {
  findProduction,
  type SourcedName,
  productionText,
} from '../rules/guard/production-names.ts'
import { type Environment, type FlagInput, group, type Values } from '../base/flags/flag.ts'
import {
  asGiven,
  asText,
  atMost,
  count,
  duration,
  elementsOf,
  many,
  one,
  parsePercent,
  pathTo,
  percent,
  toggle,
} from '../base/flags/kinds.ts'
import { environmentNames, ownNamespace, placed, productionNamesFlag } from './flags/production.ts'
import { invalidOption, invalidValue, UsageError } from '../base/flags/usage-error.ts'

const GUARD = 'Limits that rules files cannot override:'
const COUNT = { min: 1, max: 1_000_000 }
const PERCENT = { min: 0, max: 100 }
const ENVIRONMENT = /^[A-Za-z0-9][A-Za-z0-9._/-]{0,127}$/
const MAX_POD = 253
const WORKLOAD = /^[A-Za-z0-9](?:[-A-Za-z0-9_.]{0,251}[A-Za-z0-9])?$/
const MAX_TOOLS = 1000
const MAX_PATHS = 100
const MAX_PATH = 1024

/** Declares the options that limit rules, for `squall run` and `squall explain`. */
export const LIMIT_FLAGS = {
  ...group('Rules:', {
    pod: one(
      'name',
      'name of this pod, for sampling and for rules with pods (default: POD_NAME or HOSTNAME)',
      parsePod,
    ),
    seed: count(
      'sampling seed if the rules have none, except for samples that all replicas share (default: random)',
      {
        min: 0,
        max: Number.MAX_SAFE_INTEGER,
      },
    ),
    workload: one(
      'name',
      "name of this pod's Deployment, StatefulSet, DaemonSet, Job or CronJob, for rules with match.workload",
      parseWorkload,
    ),
  }),
  ...group(GUARD, {
    environment: one(
      'name',
      'name of this environment; rules never act in production (default: ENVIRONMENT or NODE_ENV, for this check only; ENVIRONMENT and the namespace of the pod are always checked)',
      parseEnvironment,
    ),
    allowProduction: toggle('let rules act in production'),
  }),
  ...productionNamesFlag(GUARD),
  ...group(GUARD, {
    maxPercent: percent(
      'maximum percentage of matching calls that a rule may sample, such as 20%',
      PERCENT,
    ),
    maxDuration: duration(
      'maximum duration of a rule, measured from its appliedAt (without it, its first load) or its from, whichever is later',
      {
        min: 1,
        max: MAX_DURATION_MS,
      },
    ),
    allowFaults: many(
      'faults',
      'faults that rules may use, such as delay,abort; rules with other faults never act',
      (given) => elementsOf(given, 'name a fault, such as delay')?.map(faultOf),
    ),
    denyTools: many(
      'tools',
      'tools on whose calls no rule acts, by name or glob, such as pay_*,delete_*',
      parseTools,
    ),
    excludePaths: many(
      'paths',
      'request paths on which no rule acts, as exact paths or globs, such as /admin/*',
      parsePaths,
    ),
    dryRun: toggle('match, sample and count calls, but inject nothing'),
  }),
}

/** Declares the options of `squall run` about rules and their limits. */
export const RULES_FLAGS = {
  ...group('Rules:', {
    rules: one(
      'path',
      'rules file or directory to watch (default: no rules)',
      pathTo('name a rules file, or a directory of them'),
    ),
    rulesPoll: duration(
      'interval for polling the rules, in addition to file system events',
      { min: 100, max: 3_600_000 },
      '5s',
    ),
    podLabelsFile: one(
      'path',
      "file with this pod's labels from the Kubernetes downward API, for rules with match.podLabels",
      pathTo('name the file in which the downward API writes metadata.labels'),
    ),
  }),
  ...LIMIT_FLAGS,
  ...group(GUARD, {
    maxActive: count(
      'maximum number of concurrent faults across all rules except connection rules; maxActive in the rules file (100 if not set) also applies',
      COUNT,
    ),
    guardErrorRate: one(
      'percent',
      'real error rate above which all rules are disarmed; off disables the guard',
      parseErrorRate,
      { default: '50%' },
    ),
    guardWindow: duration(
      'time window over which --guard-error-rate is measured',
      { min: 1000, max: 3_600_000 },
      '30s',
    ),
    guardMinCalls: count(
      'minimum number of calls in --guard-window before the guard can disarm the rules',
      COUNT,
      '10',
    ),
    rollbackOn: many(
      'conditions',
      'disarm all rules (until you run squall resume -t) when a condition holds for its period: real-errors>1% for 30s, upstream-p99>800ms for 30s, calls>3x for 10s, not-ready for 10s',
      parseConditions,
    ),
    denyTemporaryFaults: one(
      'reason',
      'reject temporary faults on the admin port with this reason, such as a cluster budget',
      asText,
    ),
    headerFaults: toggle('let clients request faults with headers such as x-squall-delay: 2s'),
    headerFaultsMaxPercent: percent(
      'maximum percentage of calls with fault headers that are sampled',
      PERCENT,
      '100%',
    ),
  }),
}

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
  /** The reason why no temporary fault is added. */
  readonly denyTemporaryFaults?: string | undefined
}

/** The limits on rules. */
export type RuleBounds = Pick<
  GuardedRulesOptions,
  'limits' | 'pod' | 'seed' | 'self' | 'neverArmed'
>

/** Returns the limits on rules that options and environment set. */
export function boundsOf(
  flags: Values<typeof LIMIT_FLAGS>,
  env: Environment,
  own: readonly SourcedName[] = [],
): RuleBounds {
  const { maxPercent, maxDuration, allowFaults, denyTools, excludePaths, dryRun } = flags
  const names = [flags.pod, env['POD_NAME'], env['HOSTNAME']]
  const isPod = (name?: string): boolean =>
    name !== undefined && name !== '' && name.length <= MAX_POD
  return {
    pod: names.find(isPod),
    seed: flags.seed?.toString(),
    self: { workload: flags.workload },
    neverArmed: neverArmed(flags, env, own),
    limits: { maxPercent, maxDuration, allowFaults, denyTools, excludePaths, dryRun },
  }
}

/** Returns the options about rules. */
export function rulesOf(flags: Values<typeof RULES_FLAGS>, env: Environment): RunRules {
  const { guardErrorRate: errorPercent, guardWindow: window, guardMinCalls: minCalls } = flags
  const namespace = ownNamespace(env)
  const { limits, ...bounds } = boundsOf(flags, env, [namespace])
  return {
    path: flags.rules,
    podLabelsFile: flags.podLabelsFile,
    pollMs: flags.rulesPoll,
    environment: flags.environment?.text.trim(),
    namespace: namespace.name,
    ...bounds,
    limits: { ...limits, maxActive: flags.maxActive },
    guard: errorPercent === undefined ? undefined : { errorPercent, window, minCalls },
    rollbackOn: flags.rollbackOn,
    denyTemporaryFaults: flags.denyTemporaryFaults,
    headerFaults: flags.headerFaults ? { maxPercent: flags.headerFaultsMaxPercent } : undefined,
  }
}

function parseErrorRate(given: FlagInput): GuardConfig['errorPercent'] | undefined {
  if (given.text === 'off') return undefined
  const errorPercent = parsePercent(given, PERCENT)
  if (errorPercent < 100) return errorPercent
  throw invalidOption(
    given.source,
    'the error rate never exceeds 100%, so this limit never disarms',
    'use a lower share, or off',
  )
}

function parseConditions(lists: readonly FlagInput[]): readonly RollbackCondition[] {
  const all = elementsOf(lists, 'write a condition, such as real-errors>1% for 30s') ?? []
  atMost(MAX_CONDITIONS, all)
  return all.map((given) => {
    const read = parseRollbackCondition(given.text)
    if (typeof read !== 'string') return read
    throw invalidValue(given, 'is not a valid condition', read)
  })
}

function parseEnvironment(given: FlagInput): FlagInput {
  if (ENVIRONMENT.test(given.text.trim())) return asGiven(given)
  throw invalidValue(
    given,
    'is not a name',
    'use letters, digits, dots and dashes, such as staging',
  )
}

/** Returns the reason why no rule may act in this environment; undefined where rules may act. */
function neverArmed(
  { environment, allowProduction, productionNames }: Values<typeof LIMIT_FLAGS>,
  env: Environment,
  own: readonly SourcedName[],
): string | undefined {
  const names = [...environmentNames(placed(environment), env), ...own]
  const found = findProduction(names, productionNames)
  if (allowProduction || found === undefined) return undefined
  return `${productionText(found)}; --allow-production would arm`
}

function parseWorkload(given: FlagInput): string {
  if (WORKLOAD.test(given.text)) return given.text
  throw invalidValue(
    given,
    'is not a valid workload name',
    'use letters, digits, dots and dashes, or remove it',
  )
}

function parsePod(given: FlagInput): string {
  if (given.text !== '' && given.text.length <= MAX_POD) return given.text
  throw invalidValue(
    given,
    'is not a valid pod name',
    `use 1 to ${MAX_POD} characters, or remove it`,
  )
}

function faultOf({ text, source }: FlagInput): FaultName {
  const name = FAULT_NAMES.find((known) => known === text)
  if (name !== undefined) return name
  const nearest = nearestName(text, FAULT_NAMES)
  const hint = nearest === undefined ? '' : `did you mean ${nearest}? `
  throw invalidOption(
    source,
    `unknown fault ${quoted(text)}`,
    `${hint}use some of ${FAULT_NAMES.join(', ')}`,
  )
}

function parseTools(lists: readonly FlagInput[]): readonly string[] | undefined {
  const tools = elementsOf(lists, 'name a tool, or a glob such as pay_*')
  if (tools === undefined) return undefined
  atMost(MAX_TOOLS, tools, ', or globs')
  return tools.map(({ text, source }) => {
    if (!isGlob(text) || text.length <= MAX_GLOB) return text
    const wrong = `${source}: ${quoted(text)} is too long`
    throw new UsageError('INVALID_VALUE', wrong, `a glob must have at most ${MAX_GLOB} characters`)
  })
}

function parsePaths(lists: readonly FlagInput[]): readonly string[] | undefined {
  const paths = elementsOf(lists, 'name a path, or a glob such as /admin/*')
  if (paths === undefined) return undefined
  atMost(MAX_PATHS, paths, ', or globs')
  return paths.map(({ text, source }) => {
    const most = isGlob(text) ? MAX_GLOB : MAX_PATH
    // Paths are compared without their query, so a path with a query would never match.
    if (/^[/*][^\s?#]*$/.test(text) && text.length <= most) return text
    throw invalidValue(
      { text, source },
      'is not a path',
      `begin with a slash, omit the query, and use at most ${most} characters`,
    )
  })
}
