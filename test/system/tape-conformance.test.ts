// part: clients
import { afterAll, beforeAll, expect, it } from 'vitest'
import { record, served } from '../../packages/experiments/test/tape/recorded.ts'
import { type SessionHost, startUpstream } from '../support/wire.ts'
import { type Check, runConformance } from './conformance-suite.ts'

/** A tape has neither event ids nor the choice of the server between JSON and a stream. */
const OF_STREAMS = ['server-sse-polling', 'server-sse-multiple-streams']

let server: SessionHost

beforeAll(async () => {
  server = await startUpstream('conformance')
})
afterAll(() => server.close())

it('a tape of a conforming server passes the checks that the server passes', async () => {
  let live: readonly Check[] = []
  const tape = await record(server.url, async (url) => {
    live = await runConformance(url)
  })
  const playing = await served(tape, { session: 'all' })
  const played = await runConformance(playing.url)
  await playing.close()
  expect(played.filter(({ status }) => status === 'FAILURE')).toEqual([])
  const others = (all: readonly Check[]): readonly Check[] =>
    all.filter(({ scenario }) => !OF_STREAMS.includes(scenario))
  expect(others(played)).toEqual(others(live))
  expect(others(played).filter(({ status }) => status === 'SUCCESS').length).toBeGreaterThan(35)
})
