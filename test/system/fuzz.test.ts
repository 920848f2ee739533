import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { fileURLToPath } from 'node:url'
import { expect, test } from 'vitest'
import { TARGETS } from '../fuzz/targets/all.ts'
import { seedOfRun } from '../support/random.ts'

const root = fileURLToPath(new URL('../../', import.meta.url))
const SECONDS = 20

test.each(Object.keys(TARGETS))('nothing is found by fuzzing %s for a while', async (target) => {
  const options = ['--target', target, '--seconds', String(SECONDS), '--seed', String(seedOfRun())]
  const run = spawn('npm', ['run', '-s', 'fuzz', '--', ...options], { cwd: root })
  let said = ''
  for (const stream of [run.stdout, run.stderr]) {
    stream.setEncoding('utf8').on('data', (text: string) => {
      said += text
      process.stdout.write(text)
    })
  }
  const [code] = (await once(run, 'close')) as [number | null]
  expect(code, said).toBe(0)
  const executions = Number(/, (\d+) executions \([^\n]*\n$/.exec(said)?.[1])
  expect(executions, said).toBeGreaterThan(200)
  const reached = Number(/, (\d+) of \d+ places reached\n$/.exec(said)?.[1])
  expect(reached, said).toBeGreaterThan(50)
})
