// part: slow-nightly
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { writeReports } from '../../src/experiment/experiment-report.ts'
import { readAndKeep } from '../../src/experiment/read-plan.ts'
import { closers } from '../../../../test/support/closers.ts'
import {
  call,
  callMessage,
  scriptedListener,
  startUpstream,
} from '../../../../test/support/wire.ts'
import { startSquall } from '../../../../test/support/commands.ts'

const opened = closers()

const FLAGS = ['--environment', 'staging', '--tasks', '--task-window', '1500ms']
const rules = [
  {
    name: 'broken',
    match: { tool: 'work' },
    stickyBy: { header: 'x-task-id' },
    faults: [{ abort: { status: 503 } }],
  },
]
const slo = { runaway: '1%', 'duplicate-execution': 0 }

/** An agent that is called as a tool, and calls a tool until it gets a result, six times at most. */
async function agentBefore(port: number) {
  let task = 0
  const listener = scriptedListener(async () => {
    const headers = { 'x-task-id': `agent-${task++}` }
    for (let attempt = 0; attempt < 6; attempt++) {
      // The sidecar may have closed at the end of the test.
      const called = await call({ port, headers }, callMessage(attempt, 'work')).catch(() => null)
      if (called?.status === 200) return 'ok'
    }
    return 'tool error'
  })
  const { url } = opened(await startUpstream(listener))
  return `${url}/mcp`
}

test('an agent before the sidecar that runs away fails the gate, and its tasks are reported', async () => {
  const stage = opened(await startSquall({ experiment: { flags: FLAGS } }))
  const url = await agentBefore(stage.squall.port)
  const result = await stage.run({ rules, slo, target: { url, indirect: true } })
  expect(result).toMatchObject({ verdict: 'failed', code: 'SLO', why: 'runaway<=1% failed' })
  const { load } = result.stages[0]!
  const { tasks, totals, duplicates } = load!.agents!
  // A machine that stalls for longer than the window ends tasks early, which makes more of them.
  expect(tasks.tasks).toBeGreaterThanOrEqual(load!.counts.calls)
  expect(tasks.failed).toBeGreaterThanOrEqual(load!.counts.failedTasks)
  expect(tasks.retries).toBeGreaterThan(3 * load!.counts.failedTasks)
  expect(totals['runaway']).toBeGreaterThan(0)
  expect(duplicates).toEqual([])
  // The load and the sidecar count calls of different clients.
  expect(load!.agents).not.toHaveProperty('compared')

  const text = stage.text({ rules, slo, target: { url, indirect: true } })
  const path = join(stage.directory, 'plan.yaml')
  const { kept } = await readAndKeep(path, text, (file) => readFile(file, 'utf8'))
  const directory = await writeReports(join(stage.directory, 'reports'), result, kept)
  const report = await readFile(join(directory, 'report.md'), 'utf8')
  expect(report).toMatch(/\| Tasks \| [\d,]+ \|/)
  expect(report).toMatch(/\| Fault \| Tool \|.* runaway \|/)
  const page = await readFile(join(directory, 'report.html'), 'utf8')
  expect(page).toContain('What agents did next')
})

test('with --tasks=false, a gate on verdicts rejects the plan', async () => {
  const stage = opened(
    await startSquall({ experiment: { flags: [...FLAGS.slice(0, 2), '--tasks=false'] } }),
  )
  expect(await stage.rejected({ slo })).toEqual(['NO_VERDICTS'])
})
