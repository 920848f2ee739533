import * as fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { envName, type Environment, namedFlags, readFlags } from '../../src/base/flags/flag.ts'
import { RULES_FLAGS, rulesOf } from '../../src/sidecar/rules-options.ts'
import { UsageError } from '../../src/base/flags/usage-error.ts'
import { FAULTS } from '../../src/filters/index.ts'
import { ANY_CHARACTER } from '../support/any-character.ts'

type Flags = Readonly<Record<string, string | readonly string[]>>

function rules(flags: Flags = {}, env: Environment = {}) {
  const raw = new Map(Object.entries(flags).map(([name, value]) => [name, [value].flat()]))
  return rulesOf(readFlags(RULES_FLAGS, raw, env), env)
}

function complaint(flags: Flags, env: Environment = {}): string {
  try {
    rules(flags, env)
  } catch (error) {
    if (error instanceof UsageError) return error.message
    throw error
  }
  throw new Error('nothing was refused')
}

describe('the options about rules', () => {
  it('have defaults', () => {
    expect(rules()).toEqual({
      path: undefined,
      pollMs: 5_000,
      pod: undefined,
      self: { workload: undefined },
      podLabelsFile: undefined,
      environment: undefined,
      neverArmed: undefined,
      limits: { dryRun: false },
      guard: { errorPercent: 50, window: 30_000, minCalls: 10 },
      rollbackOn: [],
      headerFaults: undefined,
    })
  })

  it('are all taken', () => {
    const given = {
      rules: 'r',
      'rules-poll': '13s',
      pod: 'p',
      seed: '42',
      environment: 'prod',
      'allow-production': 'true',
      'production-names': 'kund',
      'max-percent': '20%',
      workload: 'w',
      'pod-labels-file': '/l',
      'max-active': '14',
      'max-duration': '15m',
      'allow-faults': 'delay',
      'deny-tools': 'pay_*',
      'deny-temporary-faults': 'frozen',
      'exclude-paths': '/a/*',
      'guard-error-rate': '5%',
      'guard-window': '16s',
      'guard-min-calls': '17',
      'rollback-on': ['real-errors>1% for 30s', 'not-ready for 10s'],
      'header-faults': 'true',
      'header-faults-max-percent': '18%',
      'dry-run': 'true',
    }
    expect(Object.keys(given).toSorted()).toEqual(
      namedFlags(RULES_FLAGS)
        .map(({ name }) => name)
        .toSorted(),
    )
    expect(rules(given)).toEqual({
      path: 'r',
      pollMs: 13_000,
      pod: 'p',
      seed: '42',
      self: { workload: 'w' },
      podLabelsFile: '/l',
      environment: 'prod',
      neverArmed: undefined,
      denyTemporaryFaults: 'frozen',
      limits: {
        maxPercent: 20,
        maxActive: 14,
        maxDuration: 900_000,
        allowFaults: ['delay'],
        denyTools: ['pay_*'],
        excludePaths: ['/a/*'],
        dryRun: true,
      },
      guard: { errorPercent: 5, window: 16_000, minCalls: 17 },
      rollbackOn: [
        {
          text: 'real-errors>1% for 30s',
          lasting: 30_000,
          test: { figure: 'real_errors', percent: 1 },
        },
        { text: 'not-ready for 10s', lasting: 10_000, test: { figure: 'not_ready' } },
      ],
      headerFaults: { maxPercent: 18 },
    })
    const env = Object.entries(given).map(([name, text]) => [
      envName(name),
      [text].flat().join(', '),
    ])
    expect(rules({}, Object.fromEntries(env))).toEqual(rules(given))
  })
})

describe('production', () => {
  it.each(['production', 'prod', 'PROD', 'Production', ' production\n'])(
    '%j is never armed unless that is allowed',
    (environment) => {
      const why =
        /^--environment "\w+" counts as production \(it matches .*--allow-production would arm$/
      expect(rules({ environment }).neverArmed).toMatch(why)
      expect(rules({}, { SQUALL_ENVIRONMENT: environment }).neverArmed).toContain('counts as')
      expect(rules({ environment, 'allow-production': 'true' }).neverArmed).toBeUndefined()
    },
  )

  it.each(['staging', 'preprod', 'non-production', 'product-copy', 'team/a'])(
    '%s is not',
    (name) => {
      expect(rules({ environment: name }).neverArmed).toBeUndefined()
    },
  )

  it('is not where nothing is said', () => {
    expect(rules().neverArmed).toBeUndefined()
    expect(rules({}, { SQUALL_ENVIRONMENT: '' }).neverArmed).toBeUndefined()
  })
})

describe('the name of the pod', () => {
  it('is what was said, or else what Kubernetes or the host say', () => {
    const env = { SQUALL_POD: 'a', POD_NAME: 'b', HOSTNAME: 'c' }
    expect(rules({ pod: 'z' }, env).pod).toBe('z')
    expect(rules({}, env).pod).toBe('a')
    expect(rules({}, { ...env, SQUALL_POD: '' }).pod).toBe('b')
    expect(rules({}, { POD_NAME: '', HOSTNAME: 'c' }).pod).toBe('c')
    expect(rules().pod).toBeUndefined()
    expect(rules({}, { POD_NAME: 'x'.repeat(254), HOSTNAME: 'c' }).pod).toBe('c')
  })
})

describe('lists', () => {
  it('are written with commas, repeated, or both, also in the environment', () => {
    const denied = ['pay_*', 'delete', 'drop_?']
    expect(rules({ 'deny-tools': ['pay_*, delete', 'drop_?'] }).limits.denyTools).toEqual(denied)
    expect(rules({}, { SQUALL_DENY_TOOLS: 'pay_*,delete,drop_?' }).limits.denyTools).toEqual(denied)
    const names = FAULTS.map(({ name }) => name)
    expect(rules({ 'allow-faults': names.join(',') }).limits.allowFaults).toEqual(names)
  })

  it('name the nearest fault where there is none of that name', () => {
    expect(complaint({ 'allow-faults': 'dealy' })).toMatch(
      /^--allow-faults: unknown fault "dealy"; did you mean delay\? use some of delay, abort/,
    )
    expect(complaint({ 'allow-faults': 'abort,Delay' })).toContain('"Delay"; did you mean delay?')
    expect(complaint({ 'allow-faults': 'xyzzy' })).toContain('"xyzzy"; use some of')
    expect(complaint({}, { SQUALL_ALLOW_FAULTS: 'all' })).toMatch(/^SQUALL_ALLOW_FAULTS: /)
  })
})

describe('the guard', () => {
  it('is on unless it is switched off', () => {
    expect(rules({ 'guard-error-rate': '5' }).guard?.errorPercent).toBe(5)
    expect(rules({ 'guard-error-rate': '0%' }).guard?.errorPercent).toBe(0)
    expect(rules({ 'guard-error-rate': 'off' }).guard).toBeUndefined()
  })
})

describe('faults by header', () => {
  it('are off unless they are allowed', () => {
    expect(rules().headerFaults).toBeUndefined()
    expect(rules({ 'header-faults-max-percent': '5%' }).headerFaults).toBeUndefined()
    const allowed = { 'header-faults': 'true', 'header-faults-max-percent': '12.5%' }
    expect(rules(allowed).headerFaults).toEqual({ maxPercent: 12.5 })
  })
})

const WRONG: readonly (readonly [string, string, string])[] = [
  ['rules', '', '--rules: "" is not a valid path; name a rules file, or a directory of them'],
  [
    'rules',
    'a\u0000',
    '--rules: "a\\u0000" is not a valid path; name a rules file, or a directory of them',
  ],
  ['rules-poll', '5', '--rules-poll: "5" is not a valid duration; use a number with a unit'],
  ['rules-poll', '1ms', '--rules-poll: "1ms" is out of range; use 100ms to 1h'],
  [
    'workload',
    'a b',
    '--workload: "a b" is not a valid workload name; use letters, digits, dots and dashes, or remove it',
  ],
  [
    'pod-labels-file',
    '',
    '--pod-labels-file: "" is not a valid path; name the file in which the downward API writes metadata.labels',
  ],
  ['seed', '-1', '--seed: "-1" is not a valid integer; use digits only'],
  ['pod', '', '--pod: "" is not a valid pod name; use 1 to 253 characters, or remove it'],
  ['environment', 'my app', '--environment: "my app" is not a name; use letters, digits'],
  ['environment', '', '--environment: "" is not a name; use letters, digits'],
  ['production-names', 'a b', '--production-names: invalid pattern "a b"; write words or globs'],
  ['allow-production', 'yes', '--allow-production: "yes" is not a valid boolean'],
  ['max-percent', '101', '--max-percent: "101" is not a valid percentage; use a number from 0'],
  ['max-percent', '-1%', '--max-percent: "-1%" is not a valid percentage; use a number from 0'],
  ['max-percent', '20 %', '--max-percent: "20 %" is not a valid percentage; use a number from 0'],
  ['max-active', '0', '--max-active: "0" is out of range; use 1 to 1000000'],
  ['max-active', 'many', '--max-active: "many" is not a valid integer; use digits only'],
  ['max-duration', '0s', '--max-duration: "0s" is out of range; use 1ms to 30d'],
  ['max-duration', '31d', '--max-duration: "31d" is out of range; use 1ms to 30d'],
  ['allow-faults', '', '--allow-faults: "" has an empty element; name a fault, such as delay'],
  ['deny-tools', 'a,,b', '--deny-tools: "a,,b" has an empty element; name a tool, or a glob'],
  ['deny-tools', '*'.repeat(600), '" is too long; a glob must have at most 512 characters'],
  ['exclude-paths', 'mcp', '--exclude-paths: "mcp" is not a path; begin with a slash'],
  ['exclude-paths', '/a?b', 'is not a path; begin with a slash, omit the query'],
  ['exclude-paths', '/a,', '--exclude-paths: "/a," has an empty element; name a path'],
  ['guard-error-rate', '100%', '--guard-error-rate: the error rate never exceeds 100%'],
  ['guard-error-rate', 'on', '--guard-error-rate: "on" is not a valid percentage'],
  ['guard-window', '10ms', '--guard-window: "10ms" is out of range; use 1s to 1h'],
  ['guard-min-calls', '0', '--guard-min-calls: "0" is out of range; use 1 to 1000000'],
  [
    'rollback-on',
    'real-errors>1%',
    '--rollback-on: "real-errors>1%" is not a valid condition; write "real-errors>1% for 30s"',
  ],
  ['rollback-on', '', '--rollback-on: "" has an empty element; write a condition, such as'],
  [
    'rollback-on',
    Array.from({ length: 17 }, () => 'not-ready for 10s').join(),
    '--rollback-on: too many; use at most 16',
  ],
  ['header-faults', 'on', '--header-faults: "on" is not a valid boolean'],
  ['header-faults-max-percent', '', '--header-faults-max-percent: "" is not a valid percentage'],
  ['dry-run', 'maybe', '--dry-run: "maybe" is not a valid boolean'],
]

describe('what is wrong', () => {
  it.each(WRONG)('--%s %j', (name, value, message) => {
    expect(complaint({ [name]: value })).toContain(message)
  })

  it('has an example for every option', () => {
    const names: readonly string[] = namedFlags(RULES_FLAGS).map(({ name }) => name)
    // Any text is a reason.
    const reason = 'deny-temporary-faults'
    expect(new Set([reason, ...WRONG.map(([name]) => name)])).toEqual(new Set(names))
  })

  it('is said in one line, whatever was written', () => {
    const name = fc.constantFrom(...namedFlags(RULES_FLAGS).map((flag) => flag.name))
    fc.assert(
      fc.property(fc.dictionary(name, fc.string({ unit: ANY_CHARACTER })), (flags) => {
        try {
          rules(flags)
        } catch (error) {
          if (!(error instanceof UsageError)) throw error
          expect(error.message).not.toMatch(/[\n\r]/)
        }
      }),
      { numRuns: 500 },
    )
  })
})
