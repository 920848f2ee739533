// part: slow-nightly
import { mkdtemp, readFile, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { AGENTS, simulate } from '../../../src/lab/demo/mcp-chaos/simulation.ts'
import { type Finished, startProgram } from '../../support/program.ts'

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
