import { type Policy, readPolicy } from '#rules'
import { describe, expect, it } from 'vitest'
import { payloadProblems } from '../../src/policy/payload-check.ts'
import { APPROVING, HARMLESS } from './approve-forms.ts'
import { PRODUCTION } from './production-spellings.ts'

const POLICY = policyOf()
const GOOD = {
  target: 'http://mcp.staging.svc/mcp',
  environment: 'staging',
  stages: ['5%', '10%', '25%'],
  faults: [{ delay: { fixed: '1s' } }],
  abortOn: { errors: { limit: '5%', for: '30s' } },
}

function policyOf(): Policy {
  const read = readPolicy('{ targets: ["http://*"], environments: [staging] }')
  if (!read.ok) throw new Error(JSON.stringify(read.problems))
  return read.policy
}

const problems = (payload: unknown): readonly string[] => payloadProblems(payload, POLICY)
const named = (name: string): object => ({ ...GOOD, namespace: name })
/** Payloads without a numeric gate. */
const GATELESS = [
  { ...GOOD, abortOn: undefined },
  { ...GOOD, abortOn: {} },
  { ...GOOD, abortOn: 'when it looks bad' },
  { ...GOOD, abortOn: { errors: 'too many' } },
  { ...GOOD, abortOn: { errors: null } },
  { ...GOOD, abortOn: { errors: Number.NaN } },
  { fault_type: 'latency', service: 'search', duration: 60 },
  { fault: 'error', percentage: 5 },
  { ...GOOD, abortOn: { success: '0%' } },
  { ...GOOD, abortOn: { errors: '100%' } },
  { ...GOOD, abortOn: { errors: { limit: '100%', for: '30s' } } },
  { ...GOOD, abortOn: { errors: { for: '30s' } } },
  { experiment: { kill: { pod: 1 } } },
  { exhaust: { sessions: 500 } },
  { dependency: { outbound: { port: 5432 } } },
  { plan: 'name: x\nstages: [5%]\nfaults: [reset]\n' },
]

/** Payloads that skip a stage, or are too large. */
const SKIPPING = [
  { ...GOOD, stages: ['25%'] },
  { ...GOOD, stages: [50] },
  { ...GOOD, stages: ['5%', '50%'] },
  { ...GOOD, stages: ['10%', '100%'] },
  { ...GOOD, stages: [0.5] },
  { ...GOOD, stages: ['all'] },
  { ...GOOD, stages: [] },
  { ...GOOD, stages: ['10%', '5%'] },
  { ...GOOD, stages: [{ percent: 25, hold: '1m' }] },
  { ...GOOD, pods: ['100%'] },
  { ...GOOD, percent: 100 },
  { ...GOOD, probability: 1 },
  { ...GOOD, percent: [90] },
  { ...GOOD, percent: '9e1' },
  { ...GOOD, percent: { from: 5, to: 90 } },
  { ...GOOD, ramp: { to: '90%' } },
  { ...GOOD, stages: undefined, rules: [{ name: 'x', faults: ['reset'] }] },
  { ...GOOD, stages: undefined, rules: [{ name: 'x', first: 100_000, faults: ['reset'] }] },
  { ...GOOD, percentage: '80%' },
  { ...GOOD, plan: 'stages: [25%, 50%]\n' },
  { ...GOOD, plan: '{"stages":[100]}' },
]

describe('the payload of a tool call', () => {
  it('is allowed within the policy', () => {
    expect(problems(GOOD)).toEqual([])
    expect(problems({ target: 'staging' })).toEqual([])
    expect(problems({ ...GOOD, plan: 'stages: [5%, 10%]\nslo: { success: 99% }\n' })).toEqual([])
    for (const name of ['preprod', 'non-prod', 'products', 'delivery', 'staging-3', 'olive']) {
      expect(problems(named(name)), name).toEqual([])
    }
  })

  it.each(PRODUCTION)('is refused where a value is %j', (name) => {
    expect(problems(named(name)).join('\n')).toContain('names production')
    expect(problems({ deep: [{ down: { here: name } }] }).join('\n')).toContain('names production')
  })

  it('is refused where a key names production', () => {
    expect(problems({ labels: { 'env.prod': true } })).toHaveLength(1)
  })

  it.each(GATELESS)('is refused without a numeric gate: %j', (payload) => {
    expect(problems(payload)).toContainEqual(expect.stringContaining('no numeric gate'))
  })

  it.each(SKIPPING)('is refused when it skips a stage or is too wide: %j', (payload) => {
    expect(problems(payload)).not.toEqual([])
  })

  it.each(APPROVING)('is refused where it may start squall mcp approve: %j', (command) => {
    expect(problems({ command })).toContainEqual(expect.stringContaining('squall mcp approve'))
  })

  it.each(HARMLESS)('is allowed: %j', (command) => {
    expect(problems({ command })).toEqual([])
  })

  it('allows rules with a share, or with stages', () => {
    const rule = { name: 'x', faults: ['reset'] }
    expect(problems({ ...GOOD, rules: [rule] })).toEqual([])
    expect(problems({ ...GOOD, stages: undefined, rules: [{ ...rule, percent: 5 }] })).toEqual([])
  })

  it('is refused when it is too large or too deep to be checked', () => {
    let deep: unknown = 'x'
    for (let i = 0; i < 1000; i++) deep = { a: deep }
    expect(problems(deep)).toContainEqual(expect.stringContaining('too large'))
    expect(problems(Array.from({ length: 50_000 }, () => 1))).toHaveLength(1)
    const percent = Array.from({ length: 400_000 }, () => 1)
    expect(problems({ percent, stages: percent })).toContainEqual(
      expect.stringContaining('too large'),
    )
  })
})
