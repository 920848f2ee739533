import * as fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { sampleRules } from '../../src/listener/faults/rules-sample.ts'
import { Arming } from '../../src/rules/guard/arming.ts'
import { finishPlan, planCall } from '../../src/rules/select/plan.ts'
import { parseRules } from '../../src/rules/file/parse.ts'
import { RESULTS } from '../../src/rules/select/rule-counts.ts'
import { RuleStates } from '../../src/rules/select/rule-states.ts'
import { ActiveRules } from '../../src/rules/watch/active-rules.ts'
import { Metrics } from '../../src/telemetry/metrics.ts'
import type { RuleSample } from '../../src/telemetry/rules-sample.ts'
import { facts } from '../rules/facts.ts'
import { metricOf } from '../support/wire.ts'
import { rounds } from '../support/rounds.ts'
import { type Family, familyIn, labelKey, type Line, parseExposition } from './exposition.ts'
import { ANY_CHARACTER } from '../support/any-character.ts'

const INJECTED = { rule: 'r', fault: 'delay', tool: 'a', first: true, delaySeconds: undefined }
const HOSTILE = fc.string({ unit: ANY_CHARACTER, maxLength: 200 })

async function scrape(metrics: Metrics): Promise<string> {
  return (await metrics.render()).text
}

/** Counters by series. */
function counters(families: ReadonlyMap<string, Family>): ReadonlyMap<string, number> {
  const found = new Map<string, number>()
  for (const [family, { type, lines }] of families) {
    if (type !== 'counter' || !family.startsWith('squall_')) continue
    for (const { name, labels, value } of lines) found.set(`${name} ${labelKey(labels)}`, value)
  }
  return found
}

function showing(metrics: Metrics, rules: readonly RuleSample[]): void {
  metrics.showRules(() => ({
    rules,
    armed: true,
    disarmed: {},
    version: undefined,
    unanchored: 0,
    lastReload: undefined,
  }))
}

/** Active rules as a process has them, shown by its metrics. */
function isActive() {
  let now = 1_700_000_000_000
  const states = new RuleStates()
  const arming = new Arming(states, () => now)
  const rules = new ActiveRules({ states, arming, limits: {}, clock: () => now })
  const metrics = new Metrics({ version: '1' })
  metrics.showRules(() => sampleRules(rules))
  let versions = 0
  return {
    rules,
    arming,
    metrics,
    now: () => now,
    take: (text: string): void => {
      now += 1000
      const parsed = parseRules(text)
      if (!parsed.ok) throw new Error('not a rules file')
      rules.take({ kind: 'rules', digest: `digest-${versions++}`, file: parsed.file })
    },
    refuse: (): void => {
      now += 1000
      rules.take({ kind: 'rejected', digest: `digest-${versions++}`, problems: [] })
    },
    call: (): void => {
      const plan = planCall(rules.ruleSet, facts(), states, () => now)
      if (plan === undefined) return
      for (const hit of plan.matched) if (hit.begin()) hit.applied()
      finishPlan(plan)
    },
  }
}

function file(...rules: readonly string[]): string {
  return `rules:\n${rules.map((each) => `  - { ${each}, faults: [abort: { status: 503 }] }\n`).join('')}`
}

it('shows the clock by which rules start and end', async () => {
  const { metrics, now } = isActive()
  expect(metricOf(await scrape(metrics), 'squall_clock_seconds')).toBe(now() / 1000)
})

describe('injected faults', () => {
  it('are counted once per fault and call, their delays each by itself', async () => {
    const metrics = new Metrics({ version: '1' })
    metrics.injected({ ...INJECTED, delaySeconds: 2 })
    metrics.injected({ ...INJECTED, delaySeconds: 3, first: false })
    metrics.injected({ ...INJECTED, fault: 'abort' })
    metrics.injected({ ...INJECTED, tool: undefined })
    const text = await scrape(metrics)
    const count = (fault: string, tool: string) =>
      metricOf(text, 'squall_faults_injected_total', { rule: 'r', fault, tool })
    expect([count('delay', 'a'), count('abort', 'a'), count('delay', '')]).toEqual([1, 1, 1])
    const { lines } = parseExposition(text).get('squall_injected_delay_seconds')!
    expect(lines.find(({ name }) => name.endsWith('_count'))!.value).toBe(2)
    expect(lines.find(({ name }) => name.endsWith('_sum'))!.value).toBe(5)
  })

  it('know a tool by the label that its calls have', async () => {
    const metrics = new Metrics({ version: '1', maxTools: 2 })
    const names = ['a', 'b', 'c', `${'x'.repeat(300)}1`, 'a']
    const call = { method: 'tools/call', outcome: 'reset', origin: 'injected' } as const
    for (const tool of names) {
      metrics.injected({ ...INJECTED, tool })
      metrics.call({ ...call, name: tool, seconds: 1, upstreamSeconds: undefined })
    }
    const text = await scrape(metrics)
    for (const [tool, count] of Object.entries({ a: 2, b: 1, other: 2 })) {
      expect(metricOf(text, 'squall_faults_injected_total', { tool })).toBe(count)
      expect(metricOf(text, 'squall_calls_total', { tool })).toBe(count)
      expect(metricOf(text, 'squall_errors_total', { tool, kind: 'reset' })).toBe(count)
    }
    expect(metricOf(text, 'squall_tool_names_dropped_total')).toBe(2)
  })

  it('are bounded in series, and none is lost', async () => {
    const metrics = new Metrics({ version: '1' })
    for (let rule = 0; rule < 250; rule++) {
      for (let tool = 0; tool < 100; tool++) {
        metrics.injected({ ...INJECTED, rule: `rule-${rule}`, tool: `tool-${tool}` })
      }
    }
    for (let rule = 0; rule < 5000; rule++) {
      metrics.injected({ ...INJECTED, rule: `more-${rule}`, delaySeconds: 1 })
    }
    const { lines } = familyIn(await scrape(metrics), 'squall_faults_injected_total')!
    const total = (of: readonly Line[]): number => of.reduce((sum, { value }) => sum + value, 0)
    expect(total(lines)).toBe(250 * 100 + 5000)
    expect(total(lines.filter(({ labels }) => labels['rule'] === 'other'))).toBe(3250)
    expect(lines.length).toBeLessThan(23_000)
  })
})

describe('errors', () => {
  it('are the calls that failed, by tool and by who made them fail', async () => {
    const metrics = new Metrics({ version: '1' })
    const call = { name: 'a', seconds: 1, upstreamSeconds: 1, method: 'tools/call' } as const
    for (const outcome of ['ok', 'cancelled', 'tool_error', 'timeout'] as const) {
      for (const origin of ['real', 'injected'] as const) {
        metrics.call({ ...call, outcome, origin })
      }
    }
    for (const method of ['prompts/get', 'resources/read', 'made/up']) {
      metrics.call({ ...call, method, outcome: 'rpc_error', origin: 'squall' })
    }
    const { lines } = parseExposition(await scrape(metrics)).get('squall_errors_total')!
    const shown = lines.map(({ labels, value }) => ({ ...labels, value }))
    expect(shown).toHaveLength(5)
    for (const origin of ['real', 'injected']) {
      expect(shown).toContainEqual({ tool: 'a', kind: 'tool_error', origin, value: 1 })
      expect(shown).toContainEqual({ tool: 'a', kind: 'timeout', origin, value: 1 })
    }
    expect(shown).toContainEqual({ tool: '', kind: 'rpc_error', origin: 'squall', value: 3 })
  })
})

describe('rules', () => {
  it('are shown with what became of their calls, also when nothing did', async () => {
    const { take, call, metrics, rules } = isActive()
    take(file('name: a', 'name: b, percent: 0', 'name: c, match: { tool: nobody }'))
    for (let i = 0; i < 3; i++) call()
    const text = await scrape(metrics)
    const value = (name: string, rule: string, more = {}) => metricOf(text, name, { rule, ...more })
    expect(value('squall_rule_matches_total', 'a')).toBe(3)
    expect(value('squall_rule_sampled_total', 'a')).toBe(3)
    expect(value('squall_rule_evaluations_total', 'a', { result: 'injected' })).toBe(3)
    expect(value('squall_rule_evaluations_total', 'b', { result: 'not_sampled' })).toBe(3)
    const { lines } = parseExposition(text).get('squall_rule_evaluations_total')!
    expect(lines.filter(({ labels }) => labels['rule'] === 'c')).toMatchObject([
      { labels: { result: 'injected' }, value: 0 },
    ])
    expect(parseExposition(text).get('squall_active_faults')!.lines).toHaveLength(3)
    const state = rules.states.of(rules.ruleSet.rules[0]!)!
    for (const result of RESULTS) state.counts[result]++
    const each = metricOf(await scrape(metrics), 'squall_rule_evaluations_total', { rule: 'a' })
    expect(each).toBe(3 + RESULTS.length)
  })

  it('that overflow are counted, and those that act are shown', async () => {
    const { take, metrics, rules } = isActive()
    take(file('name: a, maxActive: 1'))
    const plans = [0, 1, 2].map(() => planCall(rules.ruleSet, facts(), rules.states, rules.clock)!)
    for (const { matched } of plans) matched[0]!.begin()
    take(file('name: b'))
    const text = await scrape(metrics)
    expect(metricOf(text, 'squall_active_faults', { rule: 'a' })).toBe(1)
    for (const plan of plans) finishPlan(plan)
    const after = parseExposition(await scrape(metrics)).get('squall_active_faults')!
    expect(after.lines).toMatchObject([{ labels: { rule: 'b' }, value: 0 }])
  })

  it('never lose a count or decrease across reloads', async () => {
    const { take, call, refuse, metrics } = isActive()
    const files = [
      file('name: a', 'name: b, percent: 0'),
      file('name: b, percent: 1'),
      file('name: a, times: 2'),
      'rules: []\n',
      file('name: a', 'name: c', 'name: b, percent: 0'),
    ]
    let before = counters(parseExposition(await scrape(metrics)))
    for (let turn = 0; turn < 15; turn++) {
      if (turn % 4 === 3) refuse()
      else take(files[turn % files.length]!)
      for (let i = 0; i < 5; i++) call()
      const now = counters(parseExposition(await scrape(metrics)))
      for (const [series, value] of before) {
        expect(now.get(series), series).toBeGreaterThanOrEqual(value)
      }
      before = now
    }
  })

  it('show which version is active and what became of the last one', async () => {
    const { take, refuse, metrics } = isActive()
    const none = parseExposition(await scrape(metrics))
    expect(none.get('squall_rules_info')!.lines).toEqual([])
    expect(none.get('squall_rules_last_reload_success')!.lines).toEqual([])
    take(file('name: a'))
    metrics.reloaded('applied')
    const first = await scrape(metrics)
    expect(metricOf(first, 'squall_rules_last_reload_success')).toBe(1)
    expect(metricOf(first, 'squall_rules_last_reload_timestamp_seconds')).toBe(1_700_000_001)
    refuse()
    metrics.reloaded('rejected')
    const second = await scrape(metrics)
    expect(metricOf(second, 'squall_rules_last_reload_success')).toBe(0)
    expect(metricOf(second, 'squall_rules_last_reload_timestamp_seconds')).toBe(1_700_000_002)
    expect(metricOf(second, 'squall_rules_reloads_total', { result: 'applied' })).toBe(1)
    expect(metricOf(second, 'squall_rules_reloads_total', { result: 'rejected' })).toBe(1)
    expect(metricOf(second, 'squall_rules_reloads_total', { result: 'absent' })).toBe(0)
    expect(parseExposition(second).get('squall_rules_info')!.lines).toMatchObject([
      { labels: { digest: 'digest-0', generation: '1' }, value: 1 },
    ])
  })

  it('show whether they may act, and why not', async () => {
    const { take, arming, metrics } = isActive()
    const reason = (text: string, by: string) =>
      metricOf(text, 'squall_disarmed_reason', { reason: by })
    take(file('name: a'))
    const armed = await scrape(metrics)
    expect([metricOf(armed, 'squall_armed'), reason(armed, 'operator')]).toEqual([1, 0])
    arming.disarm('operator', 'a text that is no label')
    metrics.guardTripped('error_rate')
    const off = await scrape(metrics)
    expect([metricOf(off, 'squall_armed'), reason(off, 'operator')]).toEqual([0, 1])
    expect(reason(off, 'guard')).toBe(0)
    expect(off).not.toContain('a text that is no label')
    expect(metricOf(off, 'squall_guard_trips_total', { reason: 'error_rate' })).toBe(1)
    arming.lift('operator')
    take(`enabled: false\n${file('name: a')}`)
    const byFile = await scrape(metrics)
    expect([metricOf(byFile, 'squall_armed'), reason(byFile, 'file')]).toEqual([0, 1])
  })

  it('cannot break the format by their names, and lose no count by them', async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(HOSTILE, { minLength: 1, maxLength: 8 }), async (names) => {
        const metrics = new Metrics({ version: '1' })
        const counts = { matched: 1, sampled: 1, injected: 1, concurrency_limit: 0 }
        showing(
          metrics,
          names.map((name) => ({ name, isActive: true, active: 1, counts })),
        )
        for (const rule of names) {
          metrics.injected({ rule, fault: rule, tool: rule, first: true, delaySeconds: 1 })
        }
        const text = await scrape(metrics)
        for (const name of ['squall_rule_matches_total', 'squall_active_faults']) {
          expect(metricOf(text, name)).toBe(names.length)
        }
        expect(metricOf(text, 'squall_faults_injected_total')).toBe(names.length)
      }),
      { numRuns: rounds(10, 60) },
    )
  })
})
