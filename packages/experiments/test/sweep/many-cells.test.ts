// part: slow-nightly
import { readFile, rm } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { expect, it, onTestFinished } from 'vitest'
import { startProgram } from '../../../../test/support/commands.ts'
import type { SweepResult } from '../../src/sweep/sweep-result.ts'
import { flightTape } from './flights.ts'

const AGENT = join(import.meta.dirname, 'steps-agent.mjs')
/** All that do not wait. */
const FAULTS = 'error,rateLimit,session,cut,lost,empty,falsified,drift'
const LIMIT_S = 60
const CORES = 2
/** Linux counts time in these. */
const TICKS_PER_S = 100

/** Returns the seconds of the processors that programs of this process have used to their end. */
async function secondsOfPrograms(): Promise<number> {
  const [, fields = ''] = (await readFile('/proc/self/stat', 'utf8')).split(') ')
  const [user = 0, system = 0] = fields.split(' ').slice(13, 15).map(Number)
  return (user + system) / TICKS_PER_S
}

it('200 cells of a task that needs 100 ms take a minute on two cores', async () => {
  const calls = Array.from(
    { length: 25 },
    (_, i) => ['step', { step: i + 1 }, { done: i }] as const,
  )
  const path = await flightTape(calls)
  onTestFinished(() => rm(dirname(path), { recursive: true, force: true }))
  const flags = ['--tape', path, '--results', `${path}-results`, '--faults', FAULTS, '--json']
  const words = ['sweep', ...flags, '--parallel', String(CORES), '--', process.execPath, AGENT]
  const began = performance.now()
  const before = await secondsOfPrograms()
  const { stdout, stderr } = await startProgram(words).finished()
  const used = (await secondsOfPrograms()) - before
  const took = (performance.now() - began) / 1000
  expect(stdout, stderr).not.toBe('')
  const { cells, left } = JSON.parse(stdout) as SweepResult
  expect([cells.length, left]).toEqual([200, 0])
  expect(cells.filter(({ fault }) => fault === 'session').length).toBe(25)
  expect(cells.filter(({ verdict }) => verdict === 'hung')).toEqual([])
  // The processors may do other things at the same time.
  expect(Math.min(took, used / CORES), `${took} s, ${used} s of processors`).toBeLessThan(LIMIT_S)
}, 600_000)
