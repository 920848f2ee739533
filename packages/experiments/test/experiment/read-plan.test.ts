import { readFile } from 'node:fs/promises'
import * as fc from 'fast-check'
import { expect, test } from 'vitest'
import { parse, stringify } from 'yaml'
import { armedText } from '../../src/experiment/armed-rules.ts'
import { READY_PLANS } from '../../src/experiment/ready-plans.ts'
import { readPlan, type ReadPlan } from '../../src/experiment/read-plan.ts'
import type { Plan } from '../../src/experiment/plan.ts'
import { METRICS } from '../../src/load/results/slo.ts'
import { readRulesText, type RulesSource } from '../../src/experiment/plan.ts'
import { widest } from '../../src/experiment/stage-shares.ts'
import { parseRules } from '../../../../src/rules/file/parse.ts'
import { problemLines } from '../../../../src/rules/file/problem.ts'

const GOOD = `name: search-under-latency
target: { url: http://localhost:8080/mcp, environment: staging }
sidecar: { admin: http://127.0.0.1:15390, rulesFile: rules.yaml }
steadyState: { probe: tools/list, p95: 500ms, errors: 0%, for: 20s }
rules:
  - name: slow
    match: { tool: search_docs }
    faults: [delay: { fixed: 2s }]
stages: [10%, 25%, 50%]
hold: 60s
load: { clients: 20, tools: [search_docs], fanOut: 8 }
abortOn: { errors: { limit: 5%, for: 30s }, p95: 10s }
slo: { success: 99%, blast: 5% }
`

async function read(text: string): Promise<ReadPlan> {
  const readText = (path: string): Promise<string> => readFile(path, 'utf8')
  return readPlan(text, { file: 'plan.yaml', directory: '/nowhere', readText })
}

async function complaints(text: string): Promise<string> {
  const found = await read(text)
  return found.ok ? '' : found.problems.map(problemLines).join('')
}

async function rejections(text: string): Promise<string[]> {
  const found = await read(text)
  if (!found.ok) throw new Error(await complaints(text))
  return found.rejections.map(({ code, line, column }) => `${line}:${column} ${code}`)
}

test('a missing or wrong section of a plan is named with the right form', async () => {
  const missing = await complaints('name: x\n')
  for (const form of [
    'target: { url: http://localhost:15300/mcp, environment: staging }',
    'sidecar: { admin: http://127.0.0.1:15390, rulesFile: ./rules.yaml }',
    'steadyState: { errors: 1%, p95: 1s, for: 20s }',
  ]) {
    const key = form.split(':')[0]
    expect(missing).toContain(`1:1: \`${key}\` is missing; for example \`${form}\``)
    const wrong = await complaints(GOOD.replace(new RegExp(`^${key}: .*$`, 'm'), `${key}: [3]`))
    expect(wrong).toContain(`for example \`${form}\``)
  }
  const rate = await complaints(GOOD.replace(/^load: .*$/m, 'load: 10/s'))
  expect(rate).toContain('write `load: { rate: 10/s }`')
})

test('a plan is read with its defaults', async () => {
  const found = await read(GOOD)
  if (!found.ok) throw new Error(await complaints(GOOD))
  expect(found.rejections).toEqual([])
  const { plan } = found
  expect(plan.stages.map(({ share }) => share)).toEqual([10, 25, 50])
  expect(plan.aborts).toMatchObject([
    { measure: 'errors', operator: '>', limit: 0.05, forMs: 30_000 },
    { measure: 'p95', operator: '>', limit: 10_000, forMs: 0 },
  ])
  expect(plan.slo).toMatchObject([
    { text: 'success>=99%', operator: '>=', limit: 0.99 },
    { text: 'blast<=5%', operator: '<=', limit: 0.05 },
  ])
  expect(plan.file.sidecar).toMatchObject({ expiry: 30_000, replaceRules: false })
  expect(plan.sidecar).toMatchObject({ kind: 'local', rulesFile: '/nowhere/rules.yaml' })
})

const MISTAKES: readonly (readonly [string, string, string, string])[] = [
  [
    'an expiry',
    'rules.yaml }',
    'rules.yaml, expiry: 10ms }',
    '3:74: sidecar.expiry: must be at least 1s',
  ],
  [
    'a misspelt key',
    'steadyState:',
    'steadystate:',
    '4:1: steadystate: unknown key "steadystate"; did you mean `steadyState`?',
  ],
  [
    'a key below',
    'fanOut',
    'fanout',
    '11:44: load.fanout: unknown key "fanout"; did you mean `fanOut`?',
  ],
  [
    'a key of a rule',
    '    match:',
    '    mach:',
    '7:5: rules[0].mach: unknown key "mach"; did you mean `match`?',
  ],
  [
    'an unknown fault',
    'delay:',
    'dely:',
    '8:14: rules[0].faults[0].dely: unknown fault "dely"; did you mean `delay`?',
  ],
  ['a duration', 'hold: 60s', 'hold: 60', '10:7: hold: must be a duration such as'],
  [
    'a condition',
    'p95: 10s',
    'p95: ">10s"',
    '12:50: abortOn.p95: must be a duration such as 500ms, or a multiple of the value before the stages such as 2x; got ">10s"',
  ],
  [
    'a share',
    'limit: 5%',
    'limit: 5s',
    '12:29: abortOn.errors.limit: must be a percentage such as 30%',
  ],
  ['a time without a limit', 'limit: 5%, for', 'for', '12:20: abortOn.errors: `limit` is missing'],
  ['a gate', 'blast: 5%', 'blst: 5%', '13:22: slo.blst: unknown key "blst"; did you mean `blast`?'],
  ['a limit', 'blast: 5%', 'blast: 5s', '13:29: slo.blast: must be a percentage such as'],
  [
    'a list of gates',
    '{ success: 99%, blast: 5% }',
    '["success>99%"]',
    '13:6: slo: must be an object; got a list; for example `slo: { success: 99%, blast: 5% }`',
  ],
  ['a URL', 'http://localhost:8080/mcp', 'localhost', '2:16: target.url: must be a URL'],
  ['no stages', 'stages: [10%, 25%, 50%]', '# none', '1:1: `stages` or `pods` is missing'],
]

test.each(MISTAKES)('says where %s is wrong', async (_, good, bad, complaint) => {
  expect(await complaints(GOOD.replace(good, bad))).toContain(`plan.yaml:${complaint}`)
})

test('each gate of squall load may be a limit of a plan', async () => {
  const written = { ms: '250ms', share: '2.5%', number: 8 }
  const slo = Object.entries(METRICS).map(([name, { unit }]) => [name, written[unit]])
  const limits = stringify(Object.fromEntries([...slo, ['p99.9', '2s']]), null, {
    collectionStyle: 'flow',
    lineWidth: 0,
  })
  const found = await read(GOOD.replace('{ success: 99%, blast: 5% }', limits.trim()))
  if (!found.ok) throw new Error(JSON.stringify(found.problems))
  expect(found.plan.slo.map(({ text }) => text)).toEqual(
    expect.arrayContaining([
      'success>=2.5%',
      'errors<=2.5%',
      'tcaf<=8',
      'mean<=250ms',
      'p99.9<=2000ms',
    ]),
  )
})

test('a password in a URL is rejected, and not shown', async () => {
  const reported = await complaints(GOOD.replace('//localhost', '//me:hunter2@localhost'))
  expect(reported).toContain('a plan must not contain a password')
  expect(reported).not.toContain('hunter2')
})

test('errors of the files of rules and of calls are reported together', async () => {
  const rules = GOOD.slice(GOOD.indexOf('rules:'), GOOD.indexOf('stages:'))
  const text = GOOD.replace(rules, 'rules: ./gone.yaml\n').replace(
    'tools: [search_docs]',
    'calls: ./gone.json',
  )
  expect((await complaints(text)).split('\n')).toEqual([
    expect.stringMatching(/^plan\.yaml:5:8: rules: the file cannot be read: no such file/),
    expect.stringMatching(/^plan\.yaml:8:29: load\.calls: no such file/),
    '',
  ])
})

const REFUSED: readonly (readonly [string, string, string])[] = [
  [
    'abortOn: { errors: { limit: 5%, for: 30s }, p95: 10s }\nslo: { success: 99%, blast: 5% }',
    '',
    '1:1 NO_GATE',
  ],
  ['p95: 500ms, errors: 0%, ', '', '4:14 NO_GATE'],
  [', environment: staging', '', '2:9 NO_ENVIRONMENT'],
  ['environment: staging', 'environment: Prod', '2:56 PRODUCTION'],
  ['[10%, 25%, 50%]', '[10%, 10%]', '9:15 STAGES_NOT_ASCENDING'],
  ['[10%, 25%, 50%]', '[0%]', '9:10 STAGES_NOT_ASCENDING'],
  ['[10%, 25%, 50%]', '[30%]', '9:10 STAGE_SKIPPED'],
  ['[10%, 25%, 50%]', '[10%, 50%]', '9:15 STAGE_SKIPPED'],
  ['[10%, 25%, 50%]', '[25%, 55%, 96%]', '9:20 STAGE_SKIPPED'],
  ['    match:', '    stages: [1%]\n    each: 5m\n    match:', '7:13 RULES_STAGED'],
  ['tools: [search_docs]', 'tools: [search_doc]', '6:3 RULES_MATCH_NOTHING'],
  ['    match:', '    dryRun: true\n    match:', '6:3 RULES_MATCH_NOTHING'],
  ['{ tool: search_docs }', '{ headers: { x-chaos: "on" } }', '6:3 RULES_MATCH_NOTHING'],
]

test.each(REFUSED)('%s as %s is rejected', async (good, bad, rejection) => {
  expect(await rejections(GOOD.replace(good, bad))).toEqual([rejection])
})

test('a limit written as a sentence is shown in its right form', async () => {
  const text = GOOD.replace(/abortOn: .*/, 'abortOn: { errors: ">5% for 30s" }')
  const problem = { path: 'abortOn.errors', hint: 'write { limit: 5%, for: 30s }' }
  expect(await read(text)).toMatchObject({ ok: false, problems: [{ problems: [problem] }] })
})

test('rules may match other tools than the load calls behind an indirect target', async () => {
  const other = GOOD.replace('tools: [search_docs]', 'tools: [ask]')
  expect(await rejections(other)).toEqual(['6:3 RULES_MATCH_NOTHING'])
  const indirect = other.replace('environment: staging', 'environment: staging, indirect: true')
  expect(await rejections(indirect)).toEqual([])
  const dry = indirect.replace('    match:', '    dryRun: true\n    match:')
  expect(await rejections(dry)).toEqual(['6:3 RULES_MATCH_NOTHING'])
})

test('rules may match the headers of the plan', async () => {
  const text = GOOD.replace('{ tool: search_docs }', '{ headers: { x-chaos: "on" } }').replace(
    'environment: staging',
    'environment: staging, headers: { x-chaos: "on" }',
  )
  expect(await rejections(text)).toEqual([])
})

test.each(READY_PLANS)('the ready plan $name is valid', async ({ text, name }) => {
  expect(await rejections(text)).toEqual([])
  expect((parse(text) as { name: string }).name).toBe(name)
})

test('the digest ignores comments and the description, and nothing else', async () => {
  const digest = async (text: string): Promise<string> => {
    const found = await read(text)
    if (!found.ok) throw new Error(await complaints(text))
    return found.plan.digest
  }
  const again = stringify(parse(GOOD))
  expect(await digest(again)).toBe(await digest(GOOD))
  expect(await digest(`description: longer\n${GOOD}`)).toBe(await digest(GOOD))
  expect(await digest(GOOD.replace('fixed: 2s', 'fixed: 3s'))).not.toBe(await digest(GOOD))
  expect(await digest(GOOD.replace('hold: 60s', 'hold: 61s'))).not.toBe(await digest(GOOD))
})

test('the next stage is bounded by the stage before', () => {
  fc.assert(
    fc.property(fc.double({ min: 0.01, max: 100, noNaN: true }), (before) => {
      const next = widest(before)
      expect(next).toBeLessThanOrEqual(Math.min(100, before + 40) + 1e-6)
      expect(next).toBeGreaterThanOrEqual(Math.min(before, 100) - 1e-6)
    }),
  )
})

test('armed rules are valid, expire, and have at most the share of their stage', () => {
  const shares = fc.oneof(
    fc.constant({}),
    fc.record({ percent: fc.integer({ min: 0, max: 100 }) }),
    fc.record({ percent: fc.integer({ min: 0, max: 100 }).map((share) => `${share}%`) }),
    fc.record({ probability: fc.integer({ min: 0, max: 100 }).map((share) => share / 100) }),
  )
  const until = Date.parse('2030-01-01T00:00:00Z')
  fc.assert(
    fc.property(shares, fc.integer({ min: 1, max: 100 }), (own, share) => {
      const rule = { name: 'one', ...own, until: '2031-01-01T00:00:00Z', faults: ['reset'] }
      const source = readRulesText(JSON.stringify({ rules: [rule] })) as RulesSource
      const plan: Pick<Plan, 'rules' | 'seed' | 'by'> = { rules: source, seed: 7, by: 'calls' }
      const { text, digest } = armedText(plan, 'id', { label: '', share }, until)
      const parsed = parseRules(text)
      if (!parsed.ok) throw new Error(JSON.stringify(parsed.problems))
      expect(parsed.digest).toBe(digest)
      expect(parsed.file.seed).toBe(7)
      for (const each of parsed.file.rules) {
        expect(each.until).toBe(until)
        expect(each.percent).toBeLessThanOrEqual(share)
        expect(each.probability).toBeUndefined()
      }
    }),
    { numRuns: 50 },
  )
})

test.each([
  ['environment: staging', 'environment: Shop-Prod', 'the environment "Shop-Prod"'],
  ['environment: staging', 'environment: LIVE', 'the environment "LIVE"'],
  [/url: [^ ,}]+/, 'url: http://mcp.prod.example.com/mcp', 'the host of target.url,'],
  [/admin: [^ ,}]+/, 'admin: http://squall.shop-prd.svc:15390', 'the host of sidecar.admin,'],
])('a plan for production, by %s as %s', async (from, to, said) => {
  const text = GOOD.replace(from, to)
  expect(text).not.toBe(GOOD)
  const found = await read(text)
  if (!found.ok) throw new Error(await complaints(text))
  expect(found.rejections).toMatchObject([{ code: 'PRODUCTION' }])
  expect(found.rejections[0]!.wrong).toContain(said)
  expect(found.rejections[0]!.fix).toContain('--production-names')
})
