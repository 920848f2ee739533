// part: slow-nightly
/**
 * A hostile or broken upstream sends one faulted call a burst that takes Squall a tenth of a second
 * and more to read: events of three bytes, an event of half a million lines, one of 3.9 MB that is
 * JSON on 9,000 lines, JSON that a rule changes step by step. All other calls wait for it. Long
 * work is done in steps, and other calls run between them.
 */
import { once } from 'node:events'
import { Worker } from 'node:worker_threads'
import { expect, it } from 'vitest'
import { closers } from '../support/closers.ts'
import { call, callMessage, startSidecar } from '../support/wire.ts'
import { someOf } from '../support/rounds.ts'
import { type Steps, stepsOf } from './thread-cpu.ts'
import { oneFault } from './one-fault.ts'

const opened = closers()
const MIB = 1024 * 1024
const SSE = 'text/event-stream'
const JSON_TYPE = 'application/json'

/** Milliseconds of CPU, with that of the client, which is in this thread too. */
const MOST_AT_ONCE = 50
/** The same as a share of a call's CPU, for slow machines. Work in one piece takes nearly all. */
const MOST_SHARE = 0.5

/** An upstream in a thread of its own: while this one is busy, a whole burst gets to its socket. */
const UPSTREAM = `
const { parentPort, workerData } = require('node:worker_threads')
const server = require('node:net').createServer((socket) => {
  socket.on('error', () => undefined)
  socket.on('data', () => socket.write(workerData))
})
server.listen(0, '127.0.0.1', () => parentPort.postMessage(server.address().port))
`

async function upstreamInThread(type: string, body: string): Promise<number> {
  const length = Buffer.byteLength(body)
  const head = `HTTP/1.1 200 OK\r\nContent-Type: ${type}\r\nContent-Length: ${length}\r\n\r\n`
  const worker = new Worker(UPSTREAM, { eval: true, workerData: head + body })
  opened({ close: async () => void (await worker.terminate()) })
  const [port] = (await once(worker, 'message')) as [number]
  return port
}

function hasTurns({ most, total }: Steps): boolean {
  return most < MOST_AT_ONCE || most < total * MOST_SHARE
}

function records(count: number): string {
  return JSON.stringify(Array.from({ length: count }, (_, n) => ({ [`k${n}`]: n })))
}

function resultOf(values: string, text = 'a'): string {
  return `{"jsonrpc":"2.0","id":1,"result":{"structuredContent":{"a":${values}},"content":[{"type":"text","text":${JSON.stringify(text)}}]}}`
}

/** An event of so many bytes whose JSON stands on so many lines, each full of quotes. */
function eventOf(size: number, lines: number): string {
  const line = JSON.stringify('"'.repeat(size / lines / 2 - 5))
  return `data: ${resultOf(`[${`${line},\ndata: `.repeat(lines)}0]`)}\n\n`
}

const END = `data: ${resultOf('1')}\n\n`
const LATE = 'delay: { fixed: 0ms, at: event }'

const CASES: [string, string, string, string][] = [
  ['events without a meaning', 'delay: { fixed: 0ms }', SSE, 'x\n\n'.repeat((2 * MIB) / 3) + END],
  ['ids', 'delay: { fixed: 0ms }', SSE, 'id:\n\n'.repeat((2 * MIB) / 5) + END],
  ['an event of many lines', LATE, SSE, 'data:\n'.repeat(500_000) + END],
  ['a large event that is late', LATE, SSE, eventOf(3_900_000, 9_000)],
  ['a large event that is kept', 'replay: {}', SSE, eventOf(3_900_000, 9_000)],
  ['a large event that is changed', 'rewrite: { drift: 3 }', SSE, eventOf(3_900_000, 9_000)],
  ['many values', 'rewrite: { drift: 3 }', JSON_TYPE, resultOf(records(9_500), records(9_500))],
  ['many escapes', 'rewrite: { drift: 3 }', JSON_TYPE, resultOf(`["${'\\n'.repeat(MIB)}"]`)],
  [
    'many texts with many values',
    'rewrite: { drift: 1 }',
    JSON_TYPE,
    `{"jsonrpc":"2.0","id":1,"result":{"content":[${`{"type":"text","text":${JSON.stringify(records(5_000))}},`.repeat(40)}{}]}}`,
  ],
]

it.each(someOf(CASES, 3))(
  'other calls have their turn beside %s',
  async (_what, fault, type, bytes) => {
    const port = await upstreamInThread(type, bytes)
    const squall = opened(
      await startSidecar({ upstream: `http://127.0.0.1:${port}`, rules: [oneFault(fault)] }),
    )
    // The first calls are run by an interpreter, which takes longer, and in other steps.
    for (let i = 0; i < 2; i++) await call(squall, callMessage(1))
    const tries: Steps[] = []
    do tries.push(await stepsOf(call(squall, callMessage(1))))
    while (tries.length < 3 && !hasTurns(tries.at(-1)!))
    expect(tries.some(hasTurns), JSON.stringify(tries)).toBe(true)
    expect(squall.faults!.active).toBe(0)
  },
)

/**
 * The objects for the events of one read took 17 MB, and a sidecar with little memory let go of its
 * fault.
 */
it('as many events are read as are wanted, however many come at once', async () => {
  const port = await upstreamInThread(SSE, 'x\n\n'.repeat(64 * 1024) + END)
  const squall = opened(
    await startSidecar({
      upstream: `http://127.0.0.1:${port}`,
      rules: [oneFault(LATE)],
      maxMemory: 2 * MIB,
    }),
  )
  const { text } = await call(squall, callMessage(1))
  expect(text).toContain(END)
  expect(squall.faults!.injected.length).toBeGreaterThan(0)
  expect(squall.sidecar.memory.pressure.fault_released).toBe(0)
  expect(squall.sidecar.memory.held).toBe(0)
})
