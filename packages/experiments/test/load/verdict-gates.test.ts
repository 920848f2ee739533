// part: slow
import { expect, test } from 'vitest'
import { runLoad } from '../../src/load/run-load.ts'
import type { LoadResult } from '../../src/load/results/result.ts'
import { mergeResults, parseResult } from '../../src/load/results/merge-results.ts'
import { evaluateSlo, parseSlo } from '../../src/load/results/slo.ts'
import { reportMarkdown } from '../../src/report/markdown.ts'
import { loadTable } from '../../src/report/load-table.ts'
import { closers } from '../../../../test/support/closers.ts'
import { type RuledSquall, startProgram, startSquall } from '../../../../test/support/commands.ts'
import { scriptedListener, type Step } from '../../../../test/support/wire.ts'
import { type Asked, loadOptions } from './load-run.ts'

const opened = closers()

const RULES = `rules:
  - { name: broken, match: { tool: broken }, faults: [abort: { status: 503 }] }
  - { name: lost, match: { tool: book }, times: 1, faults: [abort: { at: response, status: 503 }] }
  - { name: half, match: { tool: work }, percent: 50, faults: [abort: { status: 503 }] }
`
const TASKS = ['--task-window', '1s']
const GATES = ['runaway<1%', 'duplicate-execution=0', 'gave-up<=100%']
const pace = { clients: 2, tasks: 12 }

interface Run {
  readonly flags?: readonly string[]
  readonly gates?: readonly string[]
  /** Called by the first call of the load, which waits for it. */
  readonly meanwhile?: (ruled: RuledSquall) => Promise<unknown>
  readonly asked?: Partial<Asked>
}

/** Runs a load through a sidecar, while an agent calls as a test says. */
async function loaded({ flags = TASKS, gates = [], meanwhile, asked }: Run = {}) {
  let begun: Promise<unknown> | undefined
  let calls = 0
  const upstream = scriptedListener(async (): Promise<Step> => {
    calls++
    begun ??= meanwhile?.(ruled)
    // The calls of the agent come while the first call of the load waits.
    if (calls === 1) await begun
    return 'ok'
  })
  const ruled = opened(await startSquall({ rules: RULES, flags, upstream }))
  const options = loadOptions({
    url: new URL(`http://127.0.0.1:${ruled.squall.port}/mcp`),
    sidecars: [ruled.squall.admin],
    work: { tools: ['rest'] },
    pace,
    checks: { slo: gates.map(parseSlo) },
    ...asked,
  })
  const waits: number[] = []
  const { result } = await runLoad(options, { verdictWait: (limitMs) => waits.push(limitMs) })
  return { result, waits, calls }
}

const failedGates = ({ slo }: LoadResult) => slo.filter(({ ok }) => !ok).map(({ gate }) => gate)

async function callAgain({ ask }: RuledSquall, tool: string, times: number): Promise<void> {
  for (let i = 0; i < times; i++) await ask(tool, { 'x-task-id': `agent-${tool}` })
}

test('an agent that runs away fails the gate, and so does a call that is executed twice', async () => {
  const { result } = await loaded({
    gates: GATES,
    meanwhile: async (ruled) => {
      await callAgain(ruled, 'broken', 6)
      await callAgain(ruled, 'book', 2)
    },
  })
  expect(failedGates(result)).toEqual(['runaway<1%', 'duplicate-execution=0'])
  const { totals, duplicates, tasks, waiting } = result.agents!
  expect(totals).toMatchObject({ runaway: 2, duplicate_execution: 1, ambiguous: 0 })
  expect(duplicates).toEqual([{ tool: 'book', idempotent: false, count: 1 }])
  expect({ ...tasks, waiting }).toMatchObject({ tasks: 14, recovered: 1, failed: 1, waiting: 0 })
  const [runaway, twice] = result.slo
  expect(runaway?.margin?.counted).toEqual({ unit: 'verdicts', total: 7, beyond: 2, allowed: 0 })
  expect(twice?.measured).toBe(1)
  const text = loadTable(result, false)
  expect(text).toContain('2 of 7 verdicts are runaway, 2 too many')
  expect(text).toMatch(/^Executed twice +book 1 \(not declared idempotent\)$/m)
  const report = reportMarkdown([{ title: 'a', result }])
  expect(report).toContain('| abort | broken | 0 | 2 | 3 | 1 |')
  const kept = parseResult(JSON.stringify(result), 'kept.json')
  const merged = mergeResults([kept, { ...kept, run: { ...kept.run, seed: kept.run.seed + 1 } }])
  expect(merged.agents!.totals).toMatchObject({ runaway: 4, duplicate_execution: 2 })
  expect(failedGates(merged)).toEqual(failedGates(result))
})

test('gates on verdicts pass when agents behave, and wait for open verdicts', async () => {
  const asked = { work: { tools: ['work'] }, resilience: { retries: 3 } }
  const { result, waits } = await loaded({ gates: GATES, asked })
  expect(failedGates(result)).toEqual([])
  expect(result.agents).toMatchObject({ waiting: 0, duplicates: [] })
  expect(result.agents!.totals['retried']).toBeGreaterThan(0)
  expect(waits.every((limitMs) => limitMs === 3000)).toBe(true)
})

test('verdicts that are ambiguous count in no share', async () => {
  const { result } = await loaded()
  const totals = { ...result.agents!.totals, ambiguous: 98, runaway: 1, retried: 1 }
  const measured = { ...result, agents: { ...result.agents!, totals } }
  expect(evaluateSlo([parseSlo('runaway<=50%')], measured)).toMatchObject([
    { measured: 0.5, ok: true, margin: { counted: { total: 2, beyond: 1, allowed: 1 } } },
  ])
})

test('a share of no verdicts fails, because nothing was measured', async () => {
  const { result } = await loaded({ gates: ['runaway<1%', 'duplicate-execution=0'] })
  expect(failedGates(result)).toEqual(['runaway<1%'])
})

test('both sides count the same tasks, calls and retries', async () => {
  const work = { tools: ['work', 'rest'], fanOut: 3 }
  const flags = ['--task-window', '1m']
  const { result } = await loaded({ flags, asked: { work, resilience: { retries: 2 } } })
  const { load, sidecar } = result.agents!.compared!
  expect(sidecar).toEqual(load)
  expect(load).toEqual({ tasks: 12, calls: 36, retries: result.counts.retries })
  expect(load.retries).toBeGreaterThan(0)
  const text = loadTable(result, false)
  const same = `the sidecar counted the same 12 tasks, 36 calls and ${load.retries} retr`
  expect(text).toContain(same)
})

test('where they differ, the report names both counts', async () => {
  const meanwhile = (ruled: RuledSquall) => callAgain(ruled, 'other', 3)
  const { result } = await loaded({ meanwhile })
  const text = loadTable(result, false)
  expect(text).toContain(
    'the sidecar has different counts: tasks 12 sent, 13 counted; calls 12 sent, 15 counted',
  )
})

test('tasks that the headers name cannot be compared', async () => {
  const { result } = await loaded({ asked: { headers: { 'X-Task-Id': 'own' } } })
  expect(result.agents).toMatchObject({ tasks: { tasks: 0, calls: 12 } })
  expect(result.agents).not.toHaveProperty('compared')
})

test('with --tasks=false a gate on verdicts rejects the load, and others say nothing of agents', async () => {
  const running = loaded({ flags: ['--tasks=false'], gates: ['runaway<1%'] })
  await expect(running).rejects.toThrow(
    /the gate runaway<1% requires agent verdicts from a sidecar.*does not group calls into tasks; start it without --tasks=false/,
  )
  const { result } = await loaded({ flags: ['--tasks=false'], gates: ['success>0%'] })
  expect(result).not.toHaveProperty('agents')
})

const inputSchema = { type: 'object' }
const MAY_WRITE = { name: 'rest', inputSchema }
const READS = { ...MAY_WRITE, annotations: { readOnlyHint: true } }

test.each([
  [MAY_WRITE, 1, 'rest 1 (not declared idempotent)', /duplicate-execution=0 +1 .*✗ failed/],
  [READS, 0, 'rest 1 (idempotent)', /duplicate-execution=0 +0 .*✓ passed/],
] as const)(
  'a retry that is executed twice fails squall load unless its tool is safe: %j',
  async (tool, expected, twice, gate) => {
    const rules = RULES.replace('tool: book', 'tool: rest')
    const upstream = scriptedListener(
      () => 'ok',
      () => 0,
      [tool],
    )
    const { squall } = opened(await startSquall({ rules, flags: TASKS, upstream }))
    const target = ['--target', `http://127.0.0.1:${squall.port}/mcp`, '--tools', 'rest']
    const gates = ['--slo', 'duplicate-execution=0', '--slo', 'runaway<1%']
    // A sidecar that is named twice counts once.
    const sidecars = ['--sidecar', squall.admin, '--sidecar', `${squall.admin}/`]
    const more = ['--task-count', '5', '--clients', '1', '--retries', '1']
    const args = ['load', ...target, ...sidecars, ...more, ...gates]
    const { code, stdout } = await startProgram(args, {}, { here: true })
    expect(code).toBe(expected)
    expect(stdout.replaceAll(/ +/g, ' ')).toContain(`Executed twice ${twice}`)
    expect(stdout).toContain('the sidecar counted the same 5 tasks, 5 calls and 1 retry')
    expect(stdout).toMatch(gate)
    expect(stdout).toMatch(/runaway<1% .* ✓ passed/)
  },
)

test.each([
  [MAY_WRITE, 1, /possible-duplicates=0 +1 .*✗ failed/],
  [READS, 0, /possible-duplicates=0 +0 .*✓ passed/],
] as const)(
  'a retry after a response that broke off fails squall load unless its tool is safe: %j',
  async (tool, expected, gate) => {
    let calls = 0
    const upstream = scriptedListener(
      (call): Step => (call === 1 ? 'cut stream' : 'ok'),
      () => ++calls,
      [tool],
    )
    const { squall } = opened(await startSquall({ rules: 'rules: []', flags: TASKS, upstream }))
    const target = ['--target', `http://127.0.0.1:${squall.port}/mcp`, '--tools', 'rest']
    const gates = ['--slo', 'possible-duplicates=0', '--slo', 'duplicate-execution=0']
    const more = [
      '--sidecar',
      squall.admin,
      '--task-count',
      '5',
      '--clients',
      '1',
      '--retries',
      '1',
    ]
    const args = ['load', ...target, ...more, ...gates]
    const { code, stdout } = await startProgram(args, {}, { here: true })
    expect(calls).toBe(6)
    expect(stdout).toMatch(gate)
    expect(stdout).toMatch(/duplicate-execution=0 +0 .*✓ passed/)
    expect(code).toBe(expected)
  },
)

test.each([
  [['--slo', 'runaway<1%'], '--slo: the gate runaway<1% requires agent verdicts', 'add --sidecar'],
  [
    ['--slo', 'duplicate-execution=0', '--sidecar', 'http://127.0.0.1:9', '--shard', '0/2'],
    'requires the tasks of all shards',
    'remove --shard',
  ],
  [['--slo', 'p99=2s'], 'which is valid only for agent verdicts', 'write a metric'],
  [['--slo', 'runaway=1%'], 'with the limit 0', 'write a metric'],
])('squall load rejects %j', async (flags, wrong, fix) => {
  const args = ['load', '--target', 'http://127.0.0.1:9/mcp', ...flags]
  const { code, stderr } = await startProgram(args, {}, { here: true })
  expect(code).toBe(2)
  expect(stderr).toContain(wrong)
  expect(stderr).toContain(fix)
})
