import { expect, test } from 'vitest'
import type { Exchange } from '../../src/listener/exchange.ts'
import type { Observer } from '../../src/listener/observer.ts'
import { Relay } from '../../src/listener/relay.ts'
import { ChunkRun } from '../../src/http/chunk-run.ts'
import type { ResponseHead } from '../../src/http/headers.ts'

const HEAD: ResponseHead = { status: 200, reason: 'OK', headers: [] }
const nothing = (): void => undefined

/** A relay on a clock that moves only when somebody works. */
function stage(observer: Partial<Observer> = {}) {
  let now = 0
  const told: unknown[] = []
  const work = (time: number) => (): boolean => {
    now += time
    return true
  }
  // As every response does, it says when the tick of its headers is over.
  const begun = (): void => {
    work(10)()
    process.nextTick(() => exchange.listener?.tickEnded())
  }
  const exchange: Exchange = {
    head: { method: 'POST', target: '/', version: '1.1', headers: [] },
    body: { collect: nothing, kept: undefined, forSending: () => null },
    response: {
      started: true,
      ended: false,
      info: nothing,
      head: begun,
      data: work(100),
      chunks: work(300),
      end: work(1000),
      cut: work(5),
      closeAfter: nothing,
    },
    peer: undefined,
    listener: undefined,
    hold: () => true,
    stall: nothing,
  }
  const watching: Observer = {
    behind: false,
    head: nothing,
    data: nothing,
    chunks: nothing,
    end: nothing,
    fail: nothing,
    gone: () => told.push('observer: gone'),
    ...observer,
  }
  const end = {
    finished: (head: ResponseHead | undefined) => told.push(`finished ${head?.status ?? 0}`),
    redirected: () => false,
    upstreamFailed: () => told.push('upstreamFailed'),
    dropped: nothing,
    observerFailed: (error: unknown) => told.push(`observerFailed: ${(error as Error).message}`),
    spent: (time: number) => told.push(`spent ${time}`),
  }
  const relay = new Relay(exchange, watching, end, () => now)
  return { relay, told, pass: (time: number) => void (now += time) }
}

const tick = (): Promise<void> => new Promise((resolve) => setImmediate(resolve))

test('the time of a response that is whole at once is reported once, with that of the request', () => {
  const { relay, told } = stage()
  relay.requestSent(1)
  relay.head(HEAD)
  relay.data(Buffer.from('x'))
  relay.end([])
  relay.end([])
  relay.gone()
  expect(told).toEqual(['finished 200', 'spent 1111'])
})

test('waiting for the upstream is no time spent', async () => {
  const { relay, told, pass } = stage()
  relay.requestSent(1)
  pass(50_000)
  relay.head(HEAD)
  await tick()
  pass(50_000)
  relay.data(Buffer.from('x'))
  pass(50_000)
  relay.data(Buffer.from('x'))
  await tick()
  pass(50_000)
  relay.end([])
  expect(told).toEqual(['finished 200', 'spent 1211'])
})

test.each([
  ['fail', 15],
  ['gone', 10],
] as const)('an exchange that ends by %s tells its time, too', async (how, spent) => {
  const { relay, told, pass } = stage()
  relay.requestSent(0)
  relay.head(HEAD)
  await tick()
  pass(50_000)
  if (how === 'fail') relay.fail({ kind: 'reset', message: '' })
  else relay.gone()
  expect(told.at(-1)).toBe(`spent ${spent}`)
  expect(told.filter((line) => String(line).startsWith('spent'))).toHaveLength(1)
})

test('an upstream that could not be reached has its time reported after the sending', () => {
  const { relay, told } = stage()
  relay.fail({ kind: 'reset', message: '' })
  expect(told).toEqual(['finished 0'])
  relay.requestSent(7)
  expect(told).toEqual(['finished 0', 'spent 12'])
})

test('the time of a run of chunks is reported once', async () => {
  const { relay, told, pass } = stage()
  relay.requestSent(1)
  relay.head(HEAD)
  await tick()
  pass(50_000)
  relay.chunks(new ChunkRun())
  pass(50_000)
  relay.end([])
  expect(told).toEqual(['finished 200', 'spent 1311'])
})

test('a watcher that throws at a run of chunks is dropped, and the response continues', () => {
  const { relay, told } = stage({
    chunks: () => {
      throw new Error('chunks')
    },
  })
  relay.requestSent(0)
  relay.head(HEAD)
  relay.chunks(new ChunkRun())
  relay.end([])
  expect(told).toEqual(['observerFailed: chunks', 'observer: gone', 'finished 200', 'spent 1310'])
})

test.each(['head', 'data', 'end'] as const)(
  'a watcher that breaks at the %s is let go of, and the response goes on',
  (at) => {
    const { relay, told } = stage({
      [at]: () => {
        throw new Error(at)
      },
    })
    relay.requestSent(0)
    relay.head(HEAD)
    relay.data(Buffer.from('x'))
    relay.data(Buffer.from('x'))
    relay.end([])
    expect(told).toEqual([`observerFailed: ${at}`, 'observer: gone', 'finished 200', 'spent 1210'])
  },
)
