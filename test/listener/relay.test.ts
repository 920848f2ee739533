import { expect, test } from 'vitest'
import type { Exchange } from '../../src/listener/exchange.ts'
import type { Observer } from '../../src/listener/observer.ts'
import type { StackParts } from '../../src/listener/layers/stack-parts.ts'
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
    settle: (outcome) => told.push(`observer: ${outcome}`),
    ...observer,
  }
  const parts = {
    now: () => now,
    telemetry: {
      overhead: (seconds: number) => told.push(`spent ${Math.round(seconds * 1000)}`),
      unclassified: (reason: string) => told.push(`unclassified ${reason}`),
    },
    logger: {
      error: ({ err }: { readonly err: Error }) => told.push(`error: ${err.message}`),
    },
    inFlight: {},
    rareLog: {},
  } as unknown as StackParts
  const relay = new Relay(exchange, watching, parts)
  return {
    relay,
    told,
    pass: (time: number) => void (now += time),
    sent: (spent: number) => relay.attach({ resume: nothing, abort: nothing }, now - spent),
  }
}

/** The lines of a relay whose observer threw. */
const failed = (message: string): readonly string[] => [
  `error: ${message}`,
  'unclassified internal_error',
  'observer: incomplete',
  'observer: gone',
]

const tick = (): Promise<void> => new Promise((resolve) => setImmediate(resolve))

test('the time of a response that is whole at once is reported once, with that of the request', () => {
  const { relay, told, sent } = stage()
  sent(1)
  relay.head(HEAD)
  relay.data(Buffer.from('x'))
  relay.end([])
  relay.end([])
  relay.gone()
  expect(told).toEqual(['spent 1111'])
})

test('waiting for the upstream is no time spent', async () => {
  const { relay, told, pass, sent } = stage()
  sent(1)
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
  expect(told).toEqual(['spent 1211'])
})

test.each([
  ['fail', 15],
  ['gone', 10],
] as const)('an exchange that ends by %s tells its time, too', async (how, spent) => {
  const { relay, told, pass, sent } = stage()
  sent(0)
  relay.head(HEAD)
  await tick()
  pass(50_000)
  if (how === 'fail') relay.fail({ kind: 'reset', message: '' })
  else relay.gone()
  expect(told.at(-1)).toBe(`spent ${spent}`)
  expect(told.filter((line) => String(line).startsWith('spent'))).toHaveLength(1)
})

test('an upstream that could not be reached has its time reported after the sending', () => {
  const { relay, told, sent } = stage()
  relay.fail({ kind: 'reset', message: '' })
  expect(told).toEqual([])
  sent(7)
  expect(told).toEqual(['spent 12'])
})

test('the time of a run of chunks is reported once', async () => {
  const { relay, told, pass, sent } = stage()
  sent(1)
  relay.head(HEAD)
  await tick()
  pass(50_000)
  relay.chunks(new ChunkRun())
  pass(50_000)
  relay.end([])
  expect(told).toEqual(['spent 1311'])
})

test('a watcher that throws at a run of chunks is dropped, and the response continues', () => {
  const { relay, told, sent } = stage({
    chunks: () => {
      throw new Error('chunks')
    },
  })
  sent(0)
  relay.head(HEAD)
  relay.chunks(new ChunkRun())
  relay.end([])
  expect(told).toEqual([...failed('chunks'), 'spent 1310'])
})

test.each(['head', 'data', 'end'] as const)(
  'a watcher that breaks at the %s is let go of, and the response goes on',
  (at) => {
    const { relay, told, sent } = stage({
      [at]: () => {
        throw new Error(at)
      },
    })
    sent(0)
    relay.head(HEAD)
    relay.data(Buffer.from('x'))
    relay.data(Buffer.from('x'))
    relay.end([])
    expect(told).toEqual([...failed(at), 'spent 1210'])
  },
)
