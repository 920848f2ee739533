import { mkdtemp, readFile, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { pythonRandom } from '../../../src/lab/demo/mcp-chaos/python-random.ts'
import { AGENTS, simulate } from '../../../src/lab/demo/mcp-chaos/simulation.ts'
import { type Finished, startProgram } from '../../support/program.ts'

describe('the simulation of mcp-chaos', () => {
  // Printed by Python 3.11: random.Random(seed).random(), the first two and the 2003rd.
  it.each([
    [0, [0.8444218515250481, 0.7579544029403025, 0.19680804997137435]],
    [42, [0.6394267984578837, 0.025010755222666936, 0.22104274044603256]],
    [4294967295, [0.6353574441341173, 0.20319993954407756, 0.1567435683561088]],
  ])('takes the random numbers of Python for seed %i', (seed, expected) => {
    const random = pythonRandom(seed)
    const all = Array.from({ length: 2003 }, random)
    expect([all[0], all[1], all[2002]]).toEqual(expected)
  })

  it('gives the figures that mcp-chaos prints with seed 42', () => {
    const counts = AGENTS.map((agent) => simulate(42, 200, agent))
    expect(counts).toMatchObject([
      { calls: 1600, failedCalls: 26, tasks: 200, failedTasks: 24, retries: 0 },
      { calls: 1600, failedCalls: 0, tasks: 200, failedTasks: 0, retries: 26 },
    ])
  })
})

describe('squall demo --like mcp-chaos', () => {
  const TASKS = 16
  const CALLS = TASKS * 8
  let directory: string
  let finished: Finished
  let lines: readonly Readonly<Record<string, unknown>>[]

  beforeAll(async () => {
    directory = await mkdtemp(join(tmpdir(), 'squall-like-'))
    const callLog = join(directory, 'calls.jsonl')
    const args = ['demo', '--like', 'mcp-chaos', '--tasks', String(TASKS), '--json']
    finished = await startProgram([...args, '--call-log', callLog]).finished()
    const text = await readFile(callLog, 'utf8')
    lines = text
      .trimEnd()
      .split('\n')
      .map((line) => JSON.parse(line) as (typeof lines)[number])
  })
  afterAll(() => rm(directory, { recursive: true, force: true }))

  it('measures on the wire the counts of the simulation, where the same calls fail', () => {
    expect(finished).toMatchObject({ code: 0, stderr: '' })
    const { ok, checks, agents } = JSON.parse(finished.stdout) as Printed
    expect({ ok, failed: checks.filter((check) => !check.ok) }).toEqual({ ok: true, failed: [] })
    const naive = { tasks: TASKS, calls: CALLS, failedCalls: 4, failedTasks: 3, retries: 0 }
    const resilient = { tasks: TASKS, calls: CALLS, failedCalls: 0, failedTasks: 0, retries: 4 }
    expect(agents.naive).toMatchObject({ simulation: naive, sameCalls: naive })
    expect(agents.resilient).toMatchObject({ simulation: resilient, sameCalls: resilient })
    expect(agents.naive['imported']).toMatchObject({ tasks: TASKS, calls: CALLS })
    expect(agents.naive['sameCalls']!['p50Ms']).toBeGreaterThan(0)
  })

  it('logs each call with the fields of mcp-chaos', () => {
    expect(lines).toHaveLength(4 * CALLS)
    const naive = lines.filter((line) => line['agent'] === 'naive').slice(0, CALLS)
    const failed = naive.flatMap(({ success }, i) => (success === true ? [] : [i + 1]))
    expect(failed).toEqual(simulate(42, TASKS, AGENTS[0]!).failing)
    expect(naive[failed[0]! - 1]).toEqual({
      tool: expect.any(String),
      task_id: expect.stringMatching(/^load-\w+-2$/),
      latency_ms: expect.any(Number),
      deadline_ms: 1000,
      responded: false,
      correct: false,
      success: false,
      retries: 0,
      injected: 'error_injection',
      agent: 'naive',
      selection: 'sameCalls',
    })
    const retried = lines.filter(
      (line) => line['selection'] === 'sameCalls' && line['retries'] === 1,
    )
    const expected = { success: true, injected: 'none', agent: 'resilient' }
    expect(retried).toMatchObject([expected, expected, expected, expected])
  })
})

interface Printed {
  readonly ok: boolean
  readonly checks: readonly { readonly what: string; readonly ok: boolean }[]
  readonly agents: Readonly<
    Record<'naive' | 'resilient', Readonly<Record<string, Readonly<Record<string, number | null>>>>>
  >
}
