import { EventEmitter } from 'node:events'
import type { ServerResponse } from 'node:http'
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import { EventStreams } from '../../src/admin/event-streams.ts'

beforeEach(() => void vi.useFakeTimers())
afterEach(() => void vi.useRealTimers())

/** A response stream whose reader can be slow. */
class SlowResponse extends EventEmitter {
  readonly written: string[] = []
  writableNeedDrain = false
  destroyed = false

  writeHead(): void {}

  write(text: string): void {
    this.written.push(text)
  }

  destroy(): void {
    this.destroyed = true
    this.emit('close')
  }
}

function setup() {
  let made = 0
  let rests = 0
  const streams = new EventStreams({
    snapshot: () => {
      const now = ++made
      return { next: `next ${now}`, whole: () => `whole ${now}` }
    },
    rest: () => rests++,
  })
  const open = (): SlowResponse => {
    const response = new SlowResponse()
    streams.open(response as unknown as ServerResponse)
    return response
  }
  return { streams, open, made: () => made, rests: () => rests }
}

describe('a reader that is slow', () => {
  it('misses events, and then gets the whole state', () => {
    const { open } = setup()
    const slow = open()
    const quick = open()
    slow.writableNeedDrain = true
    vi.advanceTimersByTime(3_000)
    expect(slow.written).toEqual(['retry: 2000\n\n', 'data: whole 1\n\n'])
    slow.writableNeedDrain = false
    vi.advanceTimersByTime(2_000)
    expect(slow.written.slice(2)).toEqual(['data: whole 5\n\n', 'data: next 6\n\n'])
    expect(quick.written.slice(2)).toEqual([2, 3, 4, 5, 6].map((n) => `data: next ${n}\n\n`))
  })

  it('is closed when it reads nothing at all', () => {
    const { open, streams } = setup()
    const stuck = open()
    const quick = open()
    stuck.writableNeedDrain = true
    vi.advanceTimersByTime(60_000)
    expect(stuck.destroyed).toBe(true)
    expect(quick.destroyed).toBe(false)
    expect(streams.size).toBe(1)
  })
})

describe('readers that come and go', () => {
  it('share what is made once a second', () => {
    const { open, made, rests } = setup()
    for (let i = 0; i < 100; i++) open().destroy()
    expect(made()).toBe(1)
    vi.advanceTimersByTime(10_000)
    expect([made(), rests()]).toEqual([1, 1])
    open()
    vi.advanceTimersByTime(2_000)
    expect(made()).toBe(4)
  })
})
