// part: slow
import { readdir, rm } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { expect, it, onTestFinished, vi } from 'vitest'
import type { FaultName } from '../../src/sweep/faults.ts'
import { flightTape, sweepHere, verdictsOf } from './flights.ts'

const CHECK = "grep -q 'booked FL-48213 for 4187.23'"
const COMMAND = [process.execPath, join(import.meta.dirname, 'stdio-agent.mjs')]

async function sweepStdio(words: readonly string[], faults: readonly FaultName[]) {
  const path = await flightTape()
  vi.stubEnv('TMPDIR', dirname(path))
  onTestFinished(async () => {
    vi.unstubAllEnvs()
    await rm(dirname(path), { recursive: true, force: true })
  })
  const result = await sweepHere({
    path,
    faults,
    check: CHECK,
    command: [...COMMAND, ...words],
  })
  return { result, left: await readdir(dirname(path)) }
}

it('an agent that starts its server by stdio, for each call anew, gets the fault at one call', async () => {
  const { result, left } = await sweepStdio(['careful'], ['error', 'timeout', 'session'])
  const tools = ['search_flights', 'get_price', 'book_flight']
  expect(result.calls.map(({ tool }) => tool)).toEqual(tools)
  expect(verdictsOf(result)).toEqual({
    '1-error': 'survived',
    '1-timeout': 'survived',
    '1-session': 'not_reached',
    '2-error': 'survived',
    '2-timeout': 'survived',
    '2-session': 'not_reached',
    '3-error': 'failed_openly',
    '3-timeout': 'failed_openly',
    '3-session': 'not_reached',
  })
  expect(left.toSorted()).toEqual(['flight.tape', 'flight.tape-results'])
})

it('an agent over stdio that hides errors fails silently, by the program in its arguments', async () => {
  const { result } = await sweepStdio(['hides-errors', '{command}'], ['error'])
  expect(verdictsOf(result)).toMatchObject({ '2-error': 'survived', '3-error': 'failed_silently' })
})
