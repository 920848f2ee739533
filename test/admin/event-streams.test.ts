import { once } from 'node:events'
import { setTimeout as sleep } from 'node:timers/promises'
import { describe, expect, it } from 'vitest'
import { EventStreams } from '../../src/admin/event-streams.ts'
import { closers } from '../support/closers.ts'
import { eventually } from '../support/eventually.ts'
import { serveStreams, type StreamReader } from './stream-stage.ts'

const opened = closers()
/** More than the buffers of both sockets hold. */
const LARGE = 8 * 1024 * 1024

/** The events that a reader received, without their filling. */
function events({ client }: StreamReader): readonly string[] {
  return [...client.text.matchAll(/data: (\w+ \d+)/g)].map(([, event]) => event!)
}

async function setup(everyMs = 20) {
  let made = 0
  let rests = 0
  let filling = ''
  const source = {
    snapshot: () => {
      const now = ++made
      return { next: `next ${now}`, whole: () => `whole ${now}${filling}` }
    },
    rest: () => rests++,
  }
  const streams = opened(new EventStreams(source, everyMs))
  const read = await serveStreams(opened, (response) => streams.open(response))
  /** Opens a reader that does not read its first event, and is behind. */
  const readSlowly = async (): Promise<StreamReader> => {
    filling = ' '.repeat(LARGE)
    const reader = await read()
    reader.client.socket.pause()
    filling = ''
    expect(reader.response.writableNeedDrain).toBe(true)
    return reader
  }
  return { streams, read, readSlowly, made: () => made, rests: () => rests }
}

describe('a reader that is slow', () => {
  it('misses events, and then gets the whole state', async () => {
    // Long enough that a busy machine reads the large event before the server gives the reader up.
    const { read, readSlowly, made } = await setup(100)
    const slow = await readSlowly()
    const quick = await read()
    await eventually(() => (events(quick).length > 4 ? undefined : 'too few events'))
    const missed = made()
    slow.client.socket.resume()
    await eventually(() => (events(slow).length > 2 ? undefined : 'too few events'))
    const [first, whole, next] = events(slow).map((event) => event.split(' '))
    expect(first).toEqual(['whole', '1'])
    expect(whole![0]).toBe('whole')
    expect(Number(whole![1])).toBeGreaterThan(missed)
    expect(next).toEqual(['next', String(Number(whole![1]) + 1)])
    const [opening = '', ...later] = events(quick)
    const from = Number(/^whole (\d+)$/.exec(opening)![1])
    expect(later).toEqual(later.map((_, index) => `next ${from + 1 + index}`))
  })

  it('is closed when it reads nothing at all', async () => {
    const { read, readSlowly, streams } = await setup()
    const stuck = await readSlowly()
    const quick = await read()
    await once(stuck.response, 'close')
    expect(stuck.response.destroyed).toBe(true)
    expect(quick.response.destroyed).toBe(false)
    expect(streams.size).toBe(1)
  })
})

describe('readers that come and go', () => {
  it('share what is made once a second', async () => {
    const everyMs = 200
    const { read, made, rests } = await setup(everyMs)
    const began = performance.now()
    let last = await read()
    for (let i = 0; i < 100; i++) {
      const reader = await read()
      last.client.close()
      await once(last.response, 'close')
      last = reader
    }
    // The first reader causes an event, and then each interval does.
    expect(made()).toBeLessThanOrEqual(1 + (performance.now() - began) / everyMs)
    expect(rests()).toBe(0)
    last.client.close()
    await eventually(() => (rests() === 1 ? undefined : 'events are made without a reader'))
    const before = made()
    await sleep(2 * everyMs)
    expect([made(), rests()]).toEqual([before, 1])
    const again = await read()
    await again.client.sees(`data: next ${before + 3}\n`)
    expect(events(again)).toEqual([1, 2, 3].map((n) => `${n > 1 ? 'next' : 'whole'} ${before + n}`))
  })
})
