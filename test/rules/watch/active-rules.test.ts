import { describe, expect, it } from 'vitest'
import { Arming } from '../../../src/rules/guard/arming.ts'
import { compileInSlices } from '../../../src/rules/watch/compile-in-slices.ts'
import { compileRules } from '../../../src/rules/match/compile.ts'
import { parseRules } from '../../../src/rules/file/parse.ts'
import type { Rule } from '../../../src/rules/file/schema.ts'
import { RuleStates } from '../../../src/rules/select/rule-states.ts'
import { ActiveRules, type Reload } from '../../../src/rules/watch/active-rules.ts'
import type { RulesVersion } from '../../../src/rules/file/rules-file.ts'
import { eventually } from '../../support/eventually.ts'
import { accepted } from '../rules-text.ts'

const LARGE = 120

const versions = new Map<string, RulesVersion>()

/** One name and size is one version, which is read once. */
function version(name: string, count = 1): RulesVersion {
  const key = `${name} ${count}`
  const found = versions.get(key) ?? read(name, count)
  versions.set(key, found)
  return found
}

function read(name: string, count: number): RulesVersion {
  const rules = Array.from({ length: count }, (_, i) => ({
    name: `${name}-${i}`,
    match: { tool: `tool_${i}_*` },
    faults: [{ delay: { fixed: '1s' } }],
  }))
  const parsed = parseRules(JSON.stringify({ rules }))
  if (!parsed.ok) throw new Error('rejected')
  return { kind: 'rules', digest: parsed.digest, file: parsed.file }
}

const rejected: RulesVersion = { kind: 'rejected', digest: 'bad', problems: [] }
const absent: RulesVersion = { kind: 'absent', digest: 'none', reason: 'gone' }

function setUp(clock: () => number = () => 1_000) {
  const states = new RuleStates()
  const arming = new Arming(states, clock)
  const reloads: Reload[] = []
  const rules = new ActiveRules({
    states,
    arming,
    limits: {},
    clock,
    onReload: (reload) => void reloads.push(reload),
  })
  const isActive = (): string => rules.ruleSet.rules[0]?.name ?? 'nothing'
  return { rules, arming, reloads, isActive, kinds: () => reloads.map((each) => each.version.kind) }
}

const reported = (reloads: readonly Reload[], count: number) =>
  eventually(() => (reloads.length >= count ? undefined : `${reloads.length} versions were told`))

describe('active rules', () => {
  it('are those of a small version at once, and of the first one whatever its size', () => {
    const { rules, isActive, reloads } = setUp()
    expect([rules.current, rules.last, isActive()]).toEqual([undefined, undefined, 'nothing'])
    rules.take(version('first', LARGE))
    expect(isActive()).toBe('first-0')
    rules.take(version('small'))
    expect(isActive()).toBe('small-0')
    rules.take(absent)
    expect(isActive()).toBe('nothing')
    expect(reloads.map(({ generation }) => generation)).toEqual([1, 2, 3])
  })

  it('stay when a version is rejected', () => {
    const { rules, isActive, reloads } = setUp()
    rules.take(version('good'))
    rules.take(rejected)
    rules.take(rejected)
    expect(isActive()).toBe('good-0')
    expect(rules.current?.version.kind).toBe('rules')
    expect(rules.last).toMatchObject({ version: rejected, generation: 1, at: 1_000 })
    expect(reloads.length).toBe(2)
  })

  it('stay while a large version is compiled, and then are those of it', async () => {
    const { rules, isActive, reloads } = setUp()
    rules.take(version('small'))
    rules.take(version('large', LARGE))
    rules.take(version('large', LARGE))
    expect(isActive()).toBe('small-0')
    await reported(reloads, 2)
    expect(isActive()).toBe('large-0')
    expect(rules.ruleSet.rules.length).toBe(LARGE)
    expect(rules.current).toMatchObject({ generation: 2 })
  })

  it('are never those of a version that was overtaken', async () => {
    const { rules, isActive, reloads } = setUp()
    rules.take(version('start'))
    rules.take(version('one', LARGE))
    rules.take(version('two', LARGE))
    rules.take(version('small'))
    expect(isActive()).toBe('small-0')
    rules.take(version('three', LARGE))
    rules.take(absent)
    expect(isActive()).toBe('nothing')
    rules.take(version('last', LARGE))
    await reported(reloads, 4)
    expect(isActive()).toBe('last-0')
    expect(reloads.length).toBe(4)
  })

  it('change before a later, rejected version is reported', async () => {
    const { rules, isActive, reloads, kinds } = setUp()
    rules.take(version('small'))
    rules.take(version('large', LARGE))
    rules.take(rejected)
    expect(kinds()).toEqual(['rules'])
    await reported(reloads, 3)
    expect(kinds()).toEqual(['rules', 'rules', 'rejected'])
    expect(isActive()).toBe('large-0')
  })

  it('change without a refusal that was taken back meanwhile', async () => {
    const { rules, reloads, kinds } = setUp()
    rules.take(version('small'))
    rules.take(version('large', LARGE))
    rules.take(rejected)
    rules.take(version('large', LARGE))
    await reported(reloads, 2)
    rules.take(absent)
    expect(kinds()).toEqual(['rules', 'rules', 'absent'])
  })

  it('do not change after the end', async () => {
    const { rules, isActive, reloads } = setUp()
    rules.take(version('small'))
    rules.take(version('large', LARGE))
    rules.close()
    rules.take(version('other'))
    for (let turn = 0; turn < 100; turn++) await new Promise(setImmediate)
    expect([isActive(), reloads.length]).toEqual(['small-0', 1])
  })

  it('lift the guard when they change, and not before', async () => {
    const { rules, arming, reloads } = setUp()
    rules.take(version('small'))
    arming.disarm('guard', 'too many errors')
    rules.take(rejected)
    rules.take(version('small'))
    expect(arming.reasons.length).toBe(1)
    rules.take(version('large', LARGE))
    expect(arming.reasons.length).toBe(1)
    await reported(reloads, 4)
    expect(arming.reasons.length).toBe(0)
  })

  it('stay when a version cannot be compiled', async () => {
    const { rules, isActive, reloads } = setUp()
    const broken = (count: number): RulesVersion => {
      const good = version('broken', count)
      if (good.kind !== 'rules') throw new Error('rejected')
      // The parser rejects such a fault; another bug may not.
      const uses = JSON.parse('[{ "fault": "unheard-of", "config": {} }]') as Rule['faults']
      const list = good.file.rules.map((rule) => ({ ...rule, faults: uses }))
      return { ...good, file: { ...good.file, rules: list } }
    }
    rules.take(version('good'))
    rules.take(broken(1))
    rules.take(broken(LARGE))
    await reported(reloads, 3)
    expect(isActive()).toBe('good-0')
    expect(reloads.map((each) => each.version.kind)).toEqual(['rules', 'rejected', 'rejected'])
  })
})

describe('compiling in slices', () => {
  it('comes to the same, and lets others have their turn', async () => {
    const found = version('long', 900)
    if (found.kind !== 'rules') throw new Error('rejected')
    let turns = 0
    let isOver = false
    const turn = (): void => {
      turns++
      if (!isOver) setImmediate(turn)
    }
    setImmediate(turn)
    const { signal } = new AbortController()
    const sliced = await compileInSlices(found.file, {}, () => 0, signal)
    isOver = true
    expect(turns).toBeGreaterThan(10)
    const whole = compileRules(found.file)
    expect(sliced?.rules.map(({ digest }) => digest)).toEqual(
      whole.rules.map((rule) => rule.digest),
    )
    expect({ ...sliced, rules: 0, index: 0 }).toEqual({ ...whole, rules: 0, index: 0 })
  })

  it('is given up when it is aborted', async () => {
    const giveUp = new AbortController()
    const file = accepted(JSON.stringify({ rules: [] }))
    const compiling = compileInSlices(file, {}, () => 0, giveUp.signal)
    giveUp.abort()
    expect(await compiling).toBe(undefined)
  })
})
