import { afterEach, describe, expect, it } from 'vitest'
import { benchModule } from './bench-modules.ts'
import { closers } from '../support/closers.ts'
import { startUpstream } from '../support/wire.ts'

const { openLoop, summary } = await benchModule('lib/open-loop.mjs')
const { workload } = await benchModule('lib/workloads.mjs')
const { byCommand } = await benchModule('peers/by-command.mjs')

const RESPONSE = workload('small').response
const DELAY_MS = 300
const VARIABLE = 'BENCH_TEST_PEER'

const opened = closers()

afterEach(() => {
  delete process.env[VARIABLE]
})

/** A server that responds in time except to every tenth call, and wrongly from the hundredth on. */
async function app(wrongFrom: number): Promise<number> {
  let calls = 0
  const server = await startUpstream((request, response) => {
    request.resume()
    request.on('end', () => {
      calls += 1
      const body = calls >= wrongFrom ? Buffer.from('x'.repeat(RESPONSE.length)) : RESPONSE
      const answer = (): void => {
        response.setHeader('content-length', body.length)
        response.end(body)
      }
      if (calls % 10 === 0) setTimeout(answer, DELAY_MS)
      else answer()
    })
  })
  return opened(server).port
}

describe('the sender at a fixed rate', () => {
  it('keeps its rate while some calls wait, and reports those apart from the others', async () => {
    const port = await app(Infinity)
    const reported = await openLoop({ port, rate: 400, seconds: 0.5, delayMs: DELAY_MS })
    expect(reported).toMatchObject({ calls: 200, errors: 0, callsPerSecond: 400 })
    expect(reported.late!.share).toBeGreaterThan(0.05)
  })

  it('counts a response that is not the right one as an error', async () => {
    const reported = await openLoop({ port: await app(100), rate: 400, seconds: 0.4 })
    expect(reported.calls).toBe(99)
    expect(reported.errors).toBe(61)
  })

  it('takes what a call takes in the middle off the error of a delay', () => {
    const tookMs = [...Array.from({ length: 95 }, () => 2), ...Array.from({ length: 5 }, () => 103)]
    const reported = summary({ calls: 100, errors: 0, seconds: 1, tookMs }, 100)
    expect(reported).toMatchObject({
      p50Ms: 2,
      p99Ms: 2,
      late: { share: 0.05, p50Ms: 1, p99Ms: 1 },
    })
    expect(summary({ calls: 100, errors: 0, seconds: 1, tookMs }).p99Ms).toBe(103)
  })
})

describe('a peer that its reader starts', () => {
  it('is missing until a command is given, and gets its ports in it', () => {
    const peer = byCommand('mine', VARIABLE, 'mine')
    expect(peer.missing()).toContain(VARIABLE)
    process.env[VARIABLE] = ' proxy  --port {port} --to=127.0.0.1:{upstreamPort} {other}'
    expect(peer.missing()).toBeUndefined()
    expect(peer.command({ port: 1, upstreamPort: 2, directory: '/f' })).toEqual({
      file: 'proxy',
      args: ['--port', '1', '--to=127.0.0.1:2', '{other}'],
    })
  })
})
