import { type Policy, readPolicy } from '#rules'
import { describe, expect, it } from 'vitest'
import { readPlan } from '../../src/experiment/read-plan.ts'
import { payloadProblems } from '../../src/policy/payload-check.ts'
import { mergePlans } from '../experiment/stage.ts'
import { PRODUCTION } from './production-spellings.ts'

// Each guardrail must refuse its share alone: policy and hook are tried without each other here, and
// the lock of the sidecar without both in the system tests.

const POLICY = policyOf()
const PLAN = {
  name: 'slow-search',
  target: { url: 'http://127.0.0.1:15300/mcp', environment: 'staging' },
  sidecar: { admin: 'http://127.0.0.1:15390', rulesFile: './rules.yaml' },
  steadyState: { errors: '1%', for: '5s' },
  rules: [{ name: 'slow', match: { tool: 'search_docs' }, faults: [{ delay: { fixed: '1s' } }] }],
  stages: ['10%', '20%'],
  hold: '10s',
  load: { clients: 2, tools: ['search_docs'] },
  abortOn: { errors: '5%' },
  slo: { success: '95%' },
}
type Changes = Readonly<Record<string, unknown>>

function policyOf(): Policy {
  const read = readPolicy(`{ targets: ["http://127.0.0.1:*/mcp"], environments: [staging],
    faults: [delay, abort], neverTools: [pay, 'delete_*'], maxDuration: 1m }`)
  if (!read.ok) throw new Error(JSON.stringify(read.problems))
  return read.policy
}

const textOf = (changes: Changes): string => JSON.stringify(mergePlans(PLAN, changes))
const rule = (more: object): Changes => ({ rules: [{ ...PLAN.rules[0], ...more }] })

/** Returns why the policy refuses a plan, without the hook. */
async function ofPolicy(text: string): Promise<readonly string[]> {
  const readText = (): Promise<string> => Promise.reject(new Error('there are no files'))
  const source = { file: 'plan.yaml', directory: '/nowhere', readText, policy: POLICY }
  const read = await readPlan(text, source)
  if (!read.ok) return read.problems.flatMap(({ problems }) => problems.map(({ code }) => code))
  return read.rejections.map(({ code }) => code)
}

/** Returns why the hook refuses a call with a plan, without the policy of plans. */
const ofHook = (text: string): readonly string[] => payloadProblems({ plan: text }, POLICY)

const GATELESS: readonly Changes[] = [
  { abortOn: undefined, slo: undefined },
  { abortOn: [], slo: undefined },
  { abortOn: 'when it looks bad', slo: undefined },
  { abortOn: { errors: 'too many' }, slo: undefined },
  { abortOn: { errors: null }, slo: undefined },
]
const SKIPPING: readonly Changes[] = [
  { stages: ['25%'] },
  { stages: ['50%'] },
  { stages: ['100%'] },
  { stages: ['10%', '50%'] },
  { stages: ['10%', '20%', '100%'] },
  { stages: ['20%', '10%'] },
  { stages: [] },
  { stages: ['all'] },
  { stages: ['10%', '30%', '60%'] },
]
/** Plans whose harm only the policy of plans knows. */
const OUTSIDE: readonly Changes[] = [
  { target: { url: 'http://10.0.0.7:15300/mcp' } },
  { target: { url: 'http://127.0.0.1:15300/other' } },
  { target: { environment: 'qa' } },
  rule({ faults: ['reset'] }),
  rule({ match: { tool: 'pay' } }),
  rule({ match: { tool: 'delete_all' } }),
  rule({ match: {} }),
  rule({ match: { tool: '*' } }),
  { load: { tools: ['search_docs', 'pay'] } },
  { hold: '10m' },
]

describe('each guardrail alone', () => {
  it('passes a plan within all limits', async () => {
    expect(await ofPolicy(textOf({}))).toEqual([])
    expect(ofHook(textOf({}))).toEqual([])
  })

  it.each(PRODUCTION)('refuses the environment %j', async (environment) => {
    const text = textOf({ target: { environment } })
    expect(await ofPolicy(text)).not.toEqual([])
    expect(ofHook(text).join()).toContain('names production')
  })

  it.each(GATELESS)('refuses a plan without a numeric gate: %j', async (changes) => {
    expect(await ofPolicy(textOf(changes))).not.toEqual([])
    expect(ofHook(textOf(changes)).join()).toContain('no numeric gate')
  })

  it.each(SKIPPING)('refuses a plan that skips a stage or is too wide: %j', async (changes) => {
    expect(await ofPolicy(textOf(changes))).not.toEqual([])
    expect(ofHook(textOf(changes))).not.toEqual([])
  })

  it.each(OUTSIDE)('of policies refuses what only a plan shows: %j', async (changes) => {
    expect(await ofPolicy(textOf(changes))).not.toEqual([])
  })
})
