import { type Policy, readPolicy } from '#rules'
import { describe, expect, it } from 'vitest'
import type { HistoryEntry } from '../../src/experiment/history.ts'
import { readPlan } from '../../src/experiment/read-plan.ts'
import { tooManyRejections } from '../../src/policy/policy-rejections.ts'

const POLICY = policyOf({})
const PLAN = {
  name: 'test',
  target: { url: 'http://127.0.0.1:15300/mcp', environment: 'staging' },
  sidecar: { admin: 'http://127.0.0.1:15390', rulesFile: './rules.yaml' },
  steadyState: { errors: '1%' },
  rules: [{ name: 'slow', match: { tool: 'search' }, faults: [{ delay: { fixed: '1s' } }] }],
  stages: ['5%', '10%', '25%'],
  hold: '60s',
  load: { tools: ['search'] },
  abortOn: { errors: { limit: '5%', for: '30s' } },
  slo: { success: '90%' },
}

function policyOf(more: object): Policy {
  const least = { targets: ['http://127.0.0.1:*/mcp'], environments: ['staging'] }
  const read = readPolicy(JSON.stringify({ ...least, ...more }))
  if (!read.ok) throw new Error(JSON.stringify(read.problems))
  return read.policy
}

async function planOf(changes: object) {
  const source = { file: 'plan.yaml', directory: '/', readText: () => Promise.reject(new Error()) }
  const text = JSON.stringify({ ...PLAN, ...changes }, null, 1)
  return (policy: Policy) => readPlan(text, { ...source, policy })
}

async function wrongs(changes: object, policy = POLICY): Promise<readonly string[]> {
  const read = await (await planOf(changes))(policy)
  if (!read.ok) throw new Error(JSON.stringify(read.problems))
  return read.rejections.map(({ code, line, wrong }) => {
    expect(line).toBeGreaterThan(0)
    return `${code}: ${wrong}`
  })
}

const rule = (more: object): object => ({ rules: [{ ...PLAN.rules[0], ...more }] })
const target = (more: object): object => ({ target: { ...PLAN.target, ...more } })

describe('a plan under a policy', () => {
  it('passes within all limits', async () => {
    expect(await wrongs({})).toEqual([])
    expect(await wrongs({ load: { rate: '3000/m' } }, policyOf({ maxRate: '50/s' }))).toEqual([])
    const exact = policyOf({ faults: ['delay'], neverTools: ['delete_*'], maxPercent: '25%' })
    expect(await wrongs({}, exact)).toEqual([])
  })

  it.each([
    [target({ url: 'http://127.0.0.1.example.com:1/mcp' }), {}, /the target http:\/\/127.0.0.1.e/],
    [target({ url: 'http://127.0.0.1:15300/other' }), {}, /the target http:\/\/127.0.0.1:15300\/o/],
    [target({ environment: 'qa' }), {}, /the environment "qa"/],
    [target({ environment: 'europe' }), { forbidden: ['euro*'] }, /matches euro\*/],
    [{ abortOn: undefined }, {}, /requires a limit in `abortOn`/],
    [{ slo: undefined }, {}, /requires a limit in `slo`/],
    [{ stages: ['20%'] }, {}, /the first stage 20% is above firstStage: 10%/],
    [{ stages: ['10%', '30%', '60%'] }, {}, /the stage 60% is above maxPercent: 50%/],
    [{ hold: '11m' }, {}, /the stages last 33m, longer than maxDuration: 30m/],
    [{}, { maxRate: '50/s' }, /the load has no rate, and maxRate is 50\/s/],
    [
      { load: { rate: 60 } },
      { maxRate: '50/s' },
      /the rate 60\/s of the load is above maxRate: 50/,
    ],
    [rule({ faults: ['reset'] }), { faults: ['delay'] }, /the fault "reset" in the rule "slow"/],
    [rule({ match: { tool: 'pay' } }), { neverTools: ['pay'] }, /with the tool "pay"/],
    [rule({ match: { tool: '*' } }), { neverTools: ['pay'] }, /does not name its tools/],
    [rule({ match: { tool: { regex: 'p' } } }), { neverTools: ['pay'] }, /does not name its tools/],
    [rule({ match: {} }), { neverTools: ['pay'] }, /does not name its tools/],
    [{ load: { tools: ['search', 'delete_all'] } }, { neverTools: ['delete_*'] }, /"delete_all"/],
  ])('%j is rejected under %j', async (changes, more, wanted) => {
    expect(await wrongs(changes, policyOf(more))).toContainEqual(expect.stringMatching(wanted))
  })

  it('is rejected with all reasons at once', async () => {
    const found = await wrongs({
      ...target({ environment: 'qa' }),
      stages: ['20%'],
      slo: undefined,
    })
    expect(found).toHaveLength(3)
  })

  it('is rejected after too many experiments on the same target within an hour', async () => {
    const read = await (await planOf({}))(POLICY)
    if (!read.ok) throw new Error('invalid')
    const now = Date.parse('2026-03-01T10:00:00Z')
    const at = (minutes: number, url = 'http://127.0.0.1:15300/mcp'): HistoryEntry =>
      ({
        target: url,
        startedAt: new Date(now - minutes * 60_000).toISOString(),
      }) as HistoryEntry
    const policy = policyOf({ perHour: 2 })
    expect(tooManyRejections(read.plan, policy, [at(70), at(5)], now)).toEqual([])
    expect(tooManyRejections(read.plan, policy, [at(50), at(5, 'http://other/')], now)).toEqual([])
    expect(tooManyRejections(read.plan, policy, [at(50), at(5)], now)).toMatchObject([
      { code: 'POLICY', fix: 'run it after 2026-03-01T10:10:00.000Z' },
    ])
  })
})
