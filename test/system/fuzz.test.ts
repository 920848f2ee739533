// part: campaigns
import { homedir } from 'node:os'
import { fileURLToPath } from 'node:url'
import { expect, test } from 'vitest'
import { TARGETS } from '../fuzz/targets/all.ts'
import { startProgram } from '../support/commands.ts'
import { seedOfRun } from '../support/random.ts'

const root = fileURLToPath(new URL('../../', import.meta.url))
const SECONDS = 12

test.each(Object.keys(TARGETS))('nothing is found by fuzzing %s for a while', async (target) => {
  const options = ['--target', target, '--seconds', String(SECONDS), '--seed', String(seedOfRun())]
  const args = ['run', '-s', 'fuzz', '--', ...options]
  const { code, stdout, stderr } = await startProgram(
    args,
    { HOME: homedir() },
    { program: 'npm', cwd: root },
  ).finished()
  const said = stdout + stderr
  expect(code, said).toBe(0)
  const executions = Number(/, (\d+) executions \([^\n]*\n$/.exec(said)?.[1])
  expect(executions, said).toBeGreaterThan(200)
  const reached = Number(/, (\d+) of \d+ places reached\n$/.exec(said)?.[1])
  expect(reached, said).toBeGreaterThan(50)
})
