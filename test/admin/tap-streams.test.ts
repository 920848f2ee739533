import { once } from 'node:events'
import type { ServerResponse } from 'node:http'
import { setImmediate as nextTurn } from 'node:timers/promises'
import { describe, expect, it } from 'vitest'
import { parseCallFilter } from '../../src/admin/contract/filters.ts'
import { filtered } from '../../src/admin/handler.ts'
import { TapStreams } from '../../src/admin/tap-streams.ts'
import type { EndedCall } from '../../src/telemetry/call-line.ts'
import { CallWatch } from '../../src/telemetry/call-watch.ts'
import { closers } from '../support/closers.ts'
import { serveStreams } from './stream-stage.ts'

const SOURCE = {
  call: { transport: 'stdio' },
  headerTrace: undefined,
  receivedAt: 0,
  resumedAt: -1,
} as const

const opened = closers()
const EVERY_MS = 20
/** The most ticks for which a client may read nothing. */
const MAX_STALLED = 30

/** Opens a reader of calls. */
async function setup(query = '', everyMs = EVERY_MS) {
  const watch = new CallWatch()
  const source = { read: watch.read.bind(watch), filter: parseCallFilter }
  const streams = opened(new TapStreams(source, everyMs))
  const open = (to: ServerResponse, asked: URLSearchParams) => streams.open(to, asked)
  const read = await serveStreams(opened, (to, asked) => filtered(open, to, String(asked)))
  const { client, response } = await read(query)
  const end = (more: Partial<EndedCall> = {}): void =>
    watch.ended({
      method: 'tools/call',
      name: 'search',
      outcome: 'ok',
      origin: 'real',
      seconds: 0.02,
      upstreamSeconds: 0.01,
      id: 1,
      session: '',
      client: undefined,
      error: undefined,
      source: SOURCE,
      protocolVersion: undefined,
      endedAt: 20,
      faults: [],
      ...more,
    })
  const calls = (): number => client.text.split('data: {"at"').length - 1
  const dropped = (): number =>
    [...client.text.matchAll(/"dropped":(\d+)/g)].reduce((sum, [, count]) => sum + Number(count), 0)
  /** Waits until the client has what was written for the calls that ended. */
  const delivered = async (): Promise<void> => {
    await nextTurn()
    await client.sawBytes(response.socket!.bytesWritten)
  }
  /** Ends calls until the client, which does not read, is behind; returns their number. */
  const fallBehind = async (): Promise<number> => {
    client.socket.pause()
    let ended = 0
    for (; !response.writableNeedDrain; ended++) {
      end()
      if (ended % 100 === 0) await nextTurn()
    }
    return ended
  }
  return { watch, streams, client, response, end, calls, dropped, delivered, fallBehind }
}

describe('a reader that is slow', () => {
  it('misses calls beyond a bound, and learns how many', async () => {
    // Long enough that a busy machine reads again before the server gives the reader up.
    const { client, response, end, calls, dropped, fallBehind } = await setup('', 200)
    let ended = await fallBehind()
    let most = 0
    for (let i = 0; i < 20_000; i++, ended++) {
      end()
      if (i % 100 === 0) await nextTurn()
      most = Math.max(most, response.writableLength)
    }
    expect(most).toBeLessThan(600_000)
    client.socket.resume()
    await expect.poll(() => calls() + dropped()).toBe(ended)
    expect(dropped()).toBeGreaterThan(10_000)
  })

  it('is closed when it reads nothing at all', async () => {
    const { response, streams, watch, fallBehind } = await setup()
    await fallBehind()
    const began = performance.now()
    await once(response, 'close')
    expect(performance.now() - began).toBeGreaterThan((MAX_STALLED - 1) * EVERY_MS)
    expect([response.destroyed, streams.size]).toEqual([true, 0])
    expect(watch.wants({ outcome: 'ok' })).toBe(false)
  })
})

it('writes the calls of one turn at once, and shows that it lives while there are none', async () => {
  const { client, end, calls, delivered } = await setup()
  for (let i = 0; i < 50; i++) end()
  await delivered()
  expect(calls()).toBe(50)
  // Each write is one chunk.
  const chunks = client.text.split(/\r\n[0-9a-f]+\r\n/).filter((chunk) => chunk.includes('data: '))
  expect(chunks).toHaveLength(1)
  expect(await client.sees('\n:\n\n')).toBe(true)
})

it('wants no call that ends well before there is a reader', () => {
  const watch = new CallWatch()
  expect([watch.wants({ outcome: 'ok' }), watch.wants({ outcome: 'reset' })]).toEqual([false, true])
})

it.each([
  ['', 6],
  ['tool=search', 2],
  ['tool=sea*&tool=other', 3],
  ['method=tools/list', 1],
  ['outcome=reset&outcome=rpc_error', 2],
  ['origin=injected', 2],
  ['rule=slow', 2],
  ['rule=s?ow&errors=true', 1],
  ['session=cafe', 0],
  ['session=8d969eef', 1],
  ['errors=true', 3],
  ['faults=true', 2],
  ['errors=true&faults=true', 4],
  ['errors=true&faults=false', 3],
  ['slowerThan=1s', 1],
])('passes with "%s" %i calls', async (query, many) => {
  const { end, calls, delivered } = await setup(query)
  const slow = { rule: 'slow', fault: 'delay' }
  end()
  end({ name: 'other', outcome: 'reset' })
  end({ name: 'other2', outcome: 'rpc_error', origin: 'injected', faults: [slow] })
  end({ method: 'tools/list', name: undefined })
  end({ seconds: 2, origin: 'injected', faults: [slow] })
  end({ name: 'x', outcome: 'http_error', session: '123456' })
  await delivered()
  expect(calls()).toBe(many)
})

it.each([
  ['tol=x', 'unknown filter "tol"; use tool, method'],
  ['outcome=bad', 'unknown outcome "bad"; use ok, tool_error'],
  ['origin=app', 'unknown origin "app"; use real, injected, squall'],
  ['errors=yes', 'errors must be true or false; got "yes"'],
  ['slowerThan=fast', 'slowerThan must be a duration such as 250ms or 2s; got "fast"'],
  [`tool=${'x'.repeat(600)}`, 'tool may have at most 512 characters'],
  ['tool=x&'.repeat(101), 'at most 100 filters'],
])('rejects "%s"', async (query, error) => {
  const { client } = await setup(query)
  expect((await client.response())?.status).toBe(400)
  expect(client.text).toContain(JSON.stringify(error).slice(1, -1))
})
