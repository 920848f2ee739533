import { EventEmitter } from 'node:events'
import type { ServerResponse } from 'node:http'
import { setImmediate as nextTurn } from 'node:timers/promises'
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import { parseCallFilter } from '../../src/admin/call-filter.ts'
import { TapStreams } from '../../src/admin/tap-streams.ts'
import type { EndedCall } from '../../src/telemetry/call-line.ts'
import { CallWatch } from '../../src/telemetry/call-watch.ts'

beforeEach(() => void vi.useFakeTimers({ toFake: ['setInterval', 'clearInterval'] }))
afterEach(() => void vi.useRealTimers())

/** A response stream whose reader can stop reading. */
class SlowResponse extends EventEmitter {
  readonly written: string[] = []
  reads = true
  destroyed = false
  writableLength = 0

  get writableNeedDrain(): boolean {
    return this.writableLength > 16_384
  }

  writeHead(): void {}

  write(text: string): void {
    this.written.push(text)
    if (!this.reads) this.writableLength += text.length
  }

  destroy(): void {
    this.destroyed = true
    this.emit('close')
  }
}

function setup(query = '') {
  const watch = new CallWatch()
  const streams = new TapStreams({ read: (reader) => watch.read(reader), filter: parseCallFilter })
  const response = new SlowResponse()
  const rejected = streams.open(response as unknown as ServerResponse, new URLSearchParams(query))
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
      faults: [],
      ...more,
    })
  const calls = (): number => response.written.join('').split('data: {"at"').length - 1
  const dropped = (): number =>
    [...response.written.join('').matchAll(/"dropped":(\d+)/g)].reduce(
      (sum, [, count]) => sum + Number(count),
      0,
    )
  return { watch, streams, response, rejected, end, calls, dropped }
}

describe('a reader that is slow', () => {
  it('misses calls beyond a bound, and learns how many', async () => {
    const { response, end, calls, dropped } = setup()
    response.reads = false
    let most = 0
    for (let i = 0; i < 20_000; i++) {
      end()
      if (i % 100 === 0) await nextTurn()
      most = Math.max(most, response.writableLength)
    }
    expect(most).toBeLessThan(600_000)
    response.reads = true
    response.writableLength = 0
    end()
    await nextTurn()
    vi.advanceTimersByTime(1_000)
    expect(dropped()).toBeGreaterThan(10_000)
    expect(calls() + dropped()).toBe(20_001)
  })

  it('is closed when it reads nothing at all', async () => {
    const { response, streams, end, watch } = setup()
    response.reads = false
    for (let i = 0; i < 1_000; i++) end()
    await nextTurn()
    vi.advanceTimersByTime(40_000)
    expect([response.destroyed, streams.size]).toEqual([true, 0])
    expect(watch.wants({ outcome: 'ok' })).toBe(false)
  })
})

it('writes the calls of one turn at once, and shows that it lives while there are none', async () => {
  const { response, end, calls } = setup()
  for (let i = 0; i < 50; i++) end()
  await nextTurn()
  expect([response.written.length, calls()]).toEqual([2, 50])
  vi.advanceTimersByTime(1_000)
  expect(response.written.at(-1)).toBe(':\n\n')
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
  const { end, calls } = setup(query)
  const slow = { rule: 'slow', fault: 'delay' }
  end()
  end({ name: 'other', outcome: 'reset' })
  end({ name: 'other2', outcome: 'rpc_error', origin: 'injected', faults: [slow] })
  end({ method: 'tools/list', name: undefined })
  end({ seconds: 2, origin: 'injected', faults: [slow] })
  end({ name: 'x', outcome: 'http_error', session: '123456' })
  await nextTurn()
  expect(calls()).toBe(many)
})

it.each([
  ['tol=x', 'no filter "tol"; there are tool, method'],
  ['outcome=bad', 'no outcome "bad"; there are ok, tool_error'],
  ['origin=app', 'no origin "app"; there are real, injected, squall'],
  ['errors=yes', 'errors is true or false, not "yes"'],
  ['slowerThan=fast', 'slowerThan "fast" is no duration, such as 250ms or 2s'],
  [`tool=${'x'.repeat(600)}`, 'tool may have 512 characters'],
  ['tool=x&'.repeat(101), 'at most 100 filters'],
])('rejects "%s"', (query, error) => {
  const { rejected } = setup(query)
  expect(rejected?.status).toBe(400)
  expect(String(rejected?.body)).toContain(JSON.stringify(error).slice(1, -1))
})
