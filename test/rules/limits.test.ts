import * as fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { FAULTS } from '../../src/filters/index.ts'
import { explain } from '../../src/rules/explain/explain.ts'
import { explainText } from '../../src/rules/explain/explain-text.ts'
import { RuleStates } from '../../src/rules/select/rule-states.ts'
import { rulesJsonSchema } from '../../src/rules/file/schema.ts'
import type { StickyBy } from '../../src/rules/select/selection.ts'
import type { SchemaNode } from '../../src/rules/file/schema-node.ts'
import { Bench, type LooseRule, facts } from './facts.ts'
import { type Strict, expectHeld, mostHits } from './limits-world.ts'
import { rounds, someOf } from '../support/rounds.ts'

const LIMITS: Strict = {
  maxPercent: 20,
  maxActive: 3,
  maxDuration: 1000,
  allowFaults: ['abort'],
  denyTools: ['pay_*', 'delete'],
}

/**
 * Every key of the file, of a rule and of its match, as `rule.burst.rate`; not what faults take.
 */
function schemaKeys(): string[] {
  const root = rulesJsonSchema()
  const keys = new Set<string>()
  const walk = (prefix: string, node: SchemaNode): void => {
    for (const [key, inner] of Object.entries(node.properties ?? {})) {
      keys.add(`${prefix}.${key}`)
      if (`${prefix}.${key}` !== 'rule.faults') walk(`${prefix}.${key}`, inner)
    }
    for (const branch of node.anyOf ?? []) walk(prefix, branch)
    if (node.items !== undefined) walk(prefix, node.items)
  }
  walk('file', { ...root, definitions: {} })
  for (const [name, node] of Object.entries(root.definitions ?? {})) walk(name, node)
  return [...keys].sort()
}

const seeds = Array.from({ length: rounds(1, 12) }, (_, seed) => seed)
const shared = (sample: string): string[] =>
  seeds.map((seed) => `seed: ${seed}, rules: [{ name: a, ${ABORT}, stickyBy: ${sample} }]`)
const match = (dimension: string): string => `match: { ${dimension} }`
const CONNECTION = 'faults: [{ connection: { reset: true } }]'
const ABORT = 'faults: [{ abort: { status: 503 } }]'

/**
 * For each key, what a file could say by it in order to get beyond a limit: a rule's further keys,
 * or all of a file where it says `rules:` itself.
 */
const ATTEMPTS: Readonly<Record<string, readonly string[]>> = {
  'file.version': [`version: 1, rules: [{ name: a, ${ABORT} }]`],
  'file.seed': seeds.map((seed) => `seed: ${seed}, rules: [{ name: a, ${ABORT} }]`),
  'file.enabled': [`enabled: true, rules: [{ name: a, ${ABORT} }]`],
  'file.maxActive': [`maxActive: 1000000, rules: [{ name: a, ${ABORT} }]`],
  'file.rules': [`rules: [{ name: a, ${ABORT} }, { name: b, ${ABORT} }, { name: c, ${ABORT} }]`],
  'file.appliedAt': [
    `appliedAt: "2026-03-01T09:00:01Z", rules: [{ name: a, ${ABORT} }]`,
    `appliedAt: "2026-03-02T09:00:00Z", rules: [{ name: a, ${ABORT} }]`,
  ],
  'file.until': [`until: "2036-01-01T00:00:00Z", rules: [{ name: a, ${ABORT} }]`],
  'rule.name': [`rules: [{ name: header-faults, ${ABORT} }]`],
  'rule.match': ['match: { method: "*" }'],
  'rule.percent': ['percent: 100', 'percent: 100%'],
  'rule.probability': ['probability: 1'],
  'rule.first': ['first: 1000000'],
  'rule.after': ['after: 0'],
  'rule.every': ['every: 1'],
  'rule.times': ['times: 1000000', 'times: 1000000, first: 1000000'],
  'rule.burst': ['burst: { rate: 99%, length: 1000 }'],
  'rule.burst.rate': ['burst: { rate: 99%, length: 1000 }, percent: 100'],
  'rule.burst.length': ['burst: { rate: 20%, length: 1000000 }'],
  'rule.stickyBy': [...shared('session'), ...shared('args'), ...shared('trace')],
  'rule.shareSamples': seeds.map(
    (seed) => `seed: ${seed}, rules: [{ name: a, ${ABORT}, shareSamples: true }]`,
  ),
  'rule.stickyBy.header': shared('{ header: x-same }'),
  'rule.episode': ['stickyBy: session, episode: { tasks: 9, of: 10 }'],
  'rule.episode.tasks': ['stickyBy: { header: x-same }, episode: { tasks: 999, of: 1000 }'],
  'rule.episode.of': ['stickyBy: session, episode: { tasks: 1, of: 2 }'],
  'rule.from': ['from: "2026-03-01T09:00:01Z"', 'from: "2020-01-01T00:00:00Z"'],
  'rule.until': ['until: "2036-01-01T00:00:00Z"', 'for: 30d, until: "2036-01-01T00:00:00Z"'],
  'rule.for': ['for: 30d'],
  'rule.repeat': ['for: 1s, repeat: 2s', 'for: 1ms, repeat: 2ms', 'for: 29d, repeat: 30d'],
  'rule.appliedAt': ['appliedAt: "2026-03-01T09:00:01Z"', 'appliedAt: "2020-01-01T00:00:00Z"'],
  'rule.ramp': ['ramp: { to: 100, over: 1ms }', 'percent: 100, ramp: { to: 100%, over: 30d }'],
  'rule.ramp.to': ['ramp: { to: 100, over: 100ms }'],
  'rule.ramp.over': ['ramp: { to: 100, over: 1ms }'],
  'rule.stages': ['stages: [100, 100%], each: 1s'],
  'rule.each': ['stages: [100], each: 1ms', 'stages: [0, 100], each: 100ms'],
  'rule.pods': ['pods: 100'],
  'rule.maxActive': ['maxActive: 1000000'],
  'rule.then': ['then: stop'],
  'rule.dryRun': ['dryRun: false', 'dryRun: true'],
  'rule.enabled': ['enabled: true'],
  'rule.marker': ['marker: false'],
  'rule.faults': [
    'rules: [{ name: a, faults: [{ abort: { status: 503 } }, { delay: { fixed: 1s } }] }]',
    'rules: [{ name: a, faults: [{ delay: { fixed: 1s } }] }]',
  ],
  'match.direction': [match('direction: client, tool: pay_invoice')],
  'match.kind': [match('kind: response, method: "*", tool: pay_invoice')],
  'match.method': [match('method: tools/call'), match('method: [initialize, "*"]')],
  'match.tool': [match('tool: pay_invoice'), match('tool: "*"')],
  'match.prompt': [match('prompt: greet')],
  'match.resource': [match('resource: "file:///*"')],
  'match.headers': [match('headers: { x-same: "1" }')],
  'match.baggage': [match('baggage: { tenant: canary }')],
  'match.args': [match('args: { /city: here }')],
  'match.session': [match('session: session')],
  'match.client': [match('client: agent')],
  'match.client.name': [match('client: { name: agent }')],
  'match.client.version': [match('client: { version: 1.0.0 }')],
  'match.transport': [match('transport: streamable-http')],
  'match.protocolVersion': [match('protocolVersion: ">=2025-03-26"')],
  'match.http': [match('http: { path: /mcp }')],
  'match.outbound': [match('outbound: { port: 1 }')],
  'match.outbound.host': [match('outbound: { host: "*" }')],
  'match.outbound.port': [match('outbound: { port: 1 }')],
  'match.outbound.sni': [`rules: [{ name: a, match: { outbound: { sni: x } }, ${CONNECTION} }]`],
  'match.outbound.cidr': [
    `rules: [{ name: a, match: { outbound: { cidr: 10.0.0.0/8 } }, ${CONNECTION} }]`,
  ],
  'match.http.method': [match('http: { method: POST }')],
  'match.http.path': [match('http: { path: "/*" }')],
  'match.http.status': [match('http: { path: "/*", status: 200 }')],
  'match.workload': [match('workload: "*"')],
  'match.podLabels': [match('podLabels: { app: shop }')],
  'match.any': [match('any: [{ tool: pay_invoice }, { tool: "*" }]')],
  'match.all': [match('all: [{ tool: pay_invoice }]')],
  'match.not': [match('not: { tool: search }')],
  'text.regex': [match('tool: { regex: "^pay_" }')],
  'text.not': [match('tool: { not: search }')],
  'headerValue.exact': [match('headers: { x-same: { exact: "1" } }')],
  'headerValue.prefix': [match('headers: { x-same: { prefix: "1" } }')],
  'headerValue.suffix': [match('headers: { x-same: { suffix: "1" } }')],
  'headerValue.contains': [match('headers: { x-same: { contains: "1" } }')],
  'headerValue.regex': [match('headers: { x-same: { regex: "1" } }')],
  'headerValue.present': [match('headers: { x-same: { present: true } }')],
  'headerValue.absent': [match('headers: { x-none: { absent: true } }')],
  'headerValue.not': [match('headers: { x-same: { not: "2" } }')],
  'value.exact': [match('args: { /city: { exact: here } }')],
  'value.prefix': [match('args: { /city: { prefix: h } }')],
  'value.suffix': [match('args: { /city: { suffix: e } }')],
  'value.contains': [match('args: { /city: { contains: e } }')],
  'value.regex': [match('args: { /city: { regex: h } }')],
  'value.present': [match('args: { /city: { present: true } }')],
  'value.absent': [match('args: { /none: { absent: true } }')],
  'value.gt': [match('args: { /n: { gt: 4 } }')],
  'value.lt': [match('args: { /n: { lt: 6 } }')],
  'value.not': [match('args: { /city: { not: there } }')],
}

const fileOf = (attempt: string): string =>
  attempt.includes('rules:') ? `{ ${attempt} }` : `{ rules: [{ name: a, ${ABORT}, ${attempt} }] }`

describe('a rules file', () => {
  it('has no key of which nobody has thought whether it could loosen a limit', () => {
    expect(Object.keys(ATTEMPTS).sort()).toEqual(schemaKeys())
  })

  it.each(someOf(Object.entries(ATTEMPTS), 6))('cannot loosen a limit by %s', (key, attempts) => {
    let matched = 0
    for (const attempt of attempts) {
      matched += expectHeld(fileOf(attempt), LIMITS).matched
      expectHeld(fileOf(attempt), { ...LIMITS, maxActive: Infinity })
      expectHeld(fileOf(attempt), { ...LIMITS, dryRun: true })
      expect(expectHeld(fileOf(attempt), LIMITS, 'production').hits).toBe(0)
      expect(expectHeld(fileOf(attempt), { ...LIMITS, maxPercent: 0 }).hits).toBe(0)
    }
    // An attempt that no call meets tries nothing. The status is known only later, a response is no
    // call, and these calls are inbound.
    const isNever =
      key === 'match.http.status' || key === 'match.kind' || key.startsWith('match.outbound')
    if (!isNever) expect(matched).toBeGreaterThan(0)
  })

  it('gets as far as the limits, which the attempts above would show if they broke', () => {
    const free = {
      ...LIMITS,
      maxPercent: 100,
      maxActive: 1_000_000,
      maxDuration: Infinity,
      allowFaults: FAULTS.map(({ name }) => name),
    }
    expect(expectHeld(fileOf('percent: 100'), free).hits).toBe(31 * 10)
    const half = { ...free, maxPercent: 50 }
    expect(expectHeld(fileOf('percent: 100'), half).hits).toBeGreaterThan(31 * 4)
  })

  it('never fails more of its calls than the limit allows, whatever both say', () => {
    const spec: fc.Arbitrary<LooseRule> = fc.record(
      {
        percent: fc.double({ min: 0, max: 100, noNaN: true }),
        first: fc.integer({ min: 1, max: 500 }),
        after: fc.nat(100),
        every: fc.integer({ min: 1, max: 4 }),
        times: fc.integer({ min: 1, max: 500 }),
        burst: fc.record({
          rate: fc.double({ min: 0, max: 0.9, noNaN: true }),
          length: fc.integer({ min: 10, max: 1000 }),
        }),
        ramp: fc.record({ to: fc.constantFrom(5, 50, 100), over: fc.constantFrom(0, 500, 2000) }),
        stickyBy: fc.constantFrom<StickyBy>('ordinal', 'session', { header: 'x-user' }),
      },
      { requiredKeys: [] },
    )
    const limit = fc.oneof(
      fc.constantFrom(0, 1, 99, 100),
      fc.double({ min: 0, max: 100, noNaN: true }),
    )
    const run = fc.property(
      fc.array(spec, { minLength: 1, maxLength: 3 }),
      limit,
      fc.integer({ min: 0, max: 1_000_000 }),
      fc.integer({ min: 1, max: 50 }),
      (specs, maxPercent, seed, sessions) => {
        const bench = new Bench(specs, { seed }, { maxPercent })
        const hits = specs.map(() => 0)
        for (let i = 0; i < 800; i++) {
          bench.now += i % 3
          const session = `s${i % sessions}`
          const call = facts({}, { session, headers: ['x-user', session] })
          for (const hit of bench.plan(call)?.matched ?? []) hits[hit.rule.index]!++
        }
        for (const count of hits) expect(count).toBeLessThanOrEqual(mostHits(800, maxPercent))
      },
    )
    fc.assert(run, { numRuns: rounds(30, 1000) })
  })
})

describe('a rule that a limit forbids', () => {
  it('is counted as forbidden, keeps its order, and stops nobody', () => {
    const bench = new Bench(
      [
        {
          name: 'slow',
          faults: [{ fault: 'delay', config: { fixed: 1, max: 1, at: 'request' } }],
          stops: true,
        },
        { name: 'bad', first: 1 },
      ],
      {},
      { allowFaults: ['abort'], denyTools: ['pay_*'] },
      { denyTools: ['pay_*'] },
    )
    expect(bench.rules[0]!.forbidden).toBe('delay')
    expect(bench.matched(facts({ name: 'pay_invoice' }))).toEqual([])
    expect(bench.matched()).toEqual(['bad'])
    expect(bench.counts(0)).toMatchObject({ matched: 2, forbidden: 2, sampled: 0 })
    expect(bench.counts(1)).toMatchObject({ matched: 2, forbidden: 1, sampled: 1 })
  })

  it('is explained', () => {
    const bench = new Bench([{ name: 'a' }], {}, {}, { denyTools: ['pay_*'] })
    const reported = explain(bench.ruleSet, facts({ name: 'pay_x' }), bench.now, bench.states)
    expect(reported.rules[0]!.result).toBe('forbidden')
    expect(explainText(reported)).toContain('a: matches, but a limit forbids it')
  })

  it('is forecast where calls that share their fate are more than the limit allows', () => {
    const rules: LooseRule[] = [{ name: 'a', percent: 20, stickyBy: 'session' }]
    const call = facts({}, { session: 'drawn-6' })
    const bench = new Bench(rules, { seed: seedThatHits(rules, call) }, { maxPercent: 20 })
    expect(bench.callStates(50, () => call)).toMatch(/^1{10}/)
    const { forbidden, sampled } = bench.counts()
    expect(sampled + forbidden).toBe(50)
    expect(sampled).toBeLessThanOrEqual(20)
    const result = () => explain(bench.ruleSet, call, bench.now, bench.states).rules[0]!.result
    for (let i = 0; i < 20; i++) {
      const foreseen = result()
      expect(foreseen).toBe(bench.plan(call) === undefined ? 'forbidden' : 'sampled')
    }
  })
})

function seedThatHits(rules: readonly LooseRule[], call: ReturnType<typeof facts>): number {
  for (let seed = 0; ; seed++) if (new Bench(rules, { seed }).plan(call) !== undefined) return seed
}

describe('the limit of faults in progress', () => {
  it('holds before there is any file', () => {
    expect(new RuleStates({ maxActive: 2 }).active.limit).toBe(2)
  })

  it('counts a skipped call once, however many of its faults ask', () => {
    const bench = new Bench([{}], {}, {}, { maxActive: 1 })
    const [first, second] = [bench.plan()!.matched[0]!, bench.plan()!.matched[0]!]
    first.begin()
    for (let i = 0; i < 5; i++) expect(second.begin()).toBe(false)
    second.finish()
    expect(bench.counts().concurrency_limit).toBe(1)
  })
})
