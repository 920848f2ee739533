// part: attacks
import { once } from 'node:events'
import { connect, createServer, type Socket } from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'
import { expect, test } from 'vitest'
import { closers } from '../support/closers.ts'
import { posted, callWith } from '../datapath/hostile.ts'
import { metricOf, startUpstream } from '../support/wire.ts'
import { INJECTED_LIMIT } from '../support/wire/sidecar-process.ts'
import { stalledMs } from '../support/stalls.ts'
import { type Load, underLoad } from './under-load.ts'

const open = closers()
const SECONDS = Number(process.env['SQUALL_ATTACK_SECONDS'] ?? 10)
const CONNECTIONS = 32
const SIZE = 256 * 1024
/** One response in so many is a tool error, far from both ends of its text. */
const ERROR_EVERY = 16

const TEXT = 'Line of prose, with "quotes", a \\n and some that are not ASCII: äöü €. '
const REQUEST = posted(callWith('1'))

function resultOf(size: number, isError: boolean): string {
  const text = TEXT.repeat(Math.ceil(size / TEXT.length / 2))
  const content = [
    { type: 'text', text },
    { type: 'text', text },
  ]
  const [front, back] = JSON.stringify({ content }).split(/(?<=\},)(?=\{)/)
  const middle = isError ? '{"type":"text","text":"x"}],"isError":true,"_meta":{"a":[' : ''
  return `{"jsonrpc":"2.0","id":1,"result":${front!}${middle}${back!}${isError ? '}' : ''}}`
}

type Form = 'JSON' | 'an event'

function responseOf(form: Form, size: number, isError: boolean): Buffer {
  const message = resultOf(size, isError)
  JSON.parse(message)
  const head = 'HTTP/1.1 200 OK\r\nContent-Type: '
  if (form === 'JSON') {
    const length = Buffer.byteLength(message)
    return Buffer.from(`${head}application/json\r\nContent-Length: ${length}\r\n\r\n${message}`)
  }
  const event = Buffer.from(`event: message\ndata: ${message}\n\n`)
  return Buffer.concat([
    Buffer.from(`${head}text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n`),
    Buffer.from(`${event.length.toString(16)}\r\n`),
    event,
    Buffer.from('\r\n0\r\n\r\n'),
  ])
}

/** Calls on one connection, one after the other, until time is up. */
async function client(sizes: Sizes, end: string, { isOver, squall }: Load): Promise<void> {
  const socket: Socket = connect(squall.port, '127.0.0.1')
  open({ close: () => socket.destroy() })
  await once(socket, 'connect')
  while (!isOver()) {
    const isError = sizes.made % ERROR_EVERY === 0
    sizes.made++
    if (isError) sizes.errors++
    socket.write(REQUEST)
    await arrived(socket, end)
  }
}

/** The bytes that only the end of a response has. */
const END: Readonly<Record<Form, string>> = { JSON: '}}', 'an event': '0\r\n\r\n' }

/** Resolves when the end of a response has arrived. */
function arrived(socket: Socket, end: string): Promise<void> {
  let tail = ''
  return new Promise((resolve) => {
    socket.on('data', function onData(bytes: Buffer): void {
      tail = (tail + bytes.toString('latin1', Math.max(0, bytes.length - end.length))).slice(
        -end.length,
      )
      if (tail !== end) return
      socket.off('data', onData)
      resolve()
    })
  })
}

interface Sizes {
  made: number
  errors: number
}

test.each(
  ['fast', 'standard'].flatMap((engine) =>
    (['JSON', 'an event'] as const).map((form) => ({ engine, form })),
  ),
)(
  'each large response as $form is read while they arrive as fast as they can: $engine',
  async ({ engine, form }) => {
    const responses = [false, true].map((isError) => responseOf(form, SIZE, isError))
    let served = 0
    const server = open(
      await startUpstream(
        createServer((socket) => {
          socket.on('error', () => undefined)
          socket.on('data', () => {
            socket.write(responses[Number(served++ % ERROR_EVERY === 0)]!)
          })
        }),
      ),
    )
    const sizes: Sizes = { made: 0, errors: 0 }
    let late = 0
    const counted = { calls: 0, errors: 0, unread: 0 }
    const seen = await underLoad(
      { upstream: `http://127.0.0.1:${server.port}`, engine, seconds: SECONDS },
      async (load) => {
        const clients = Array.from({ length: CONNECTIONS }, () => client(sizes, END[form], load))
        await Promise.all(clients)
        const ended = performance.now()
        const stalled = stalledMs()
        do {
          const text = await load.squall.metrics()
          counted.calls = metricOf(text, 'squall_calls_total')
          counted.errors = metricOf(text, 'squall_calls_total', { outcome: 'tool_error' })
          counted.unread = metricOf(text, 'squall_memory_pressure_total', {
            reason: 'response_unread',
          })
          late = performance.now() - ended - (stalledMs() - stalled)
          if (counted.calls < sizes.made) await sleep(5)
        } while (counted.calls < sizes.made && late < 10_000)
      },
    )
    console.log(JSON.stringify({ engine, form, ...seen, ...sizes, counted, late }))
    expect(seen.died).toBeUndefined()
    expect(counted).toEqual({
      calls: sizes.made,
      errors: served === sizes.made ? sizes.errors : -1,
      unread: 0,
    })
    expect(late).toBeLessThan(1_000)
    expect(seen.peak).toBeLessThan(INJECTED_LIMIT)
    // On an idle machine 50; a busy one slows the turns themselves.
    expect(seen.longestTurn).toBeLessThanOrEqual(3 * 50)
    expect(seen.left).toBe('squall_memory_held_bytes 0')
  },
  SECONDS * 1000 + 120_000,
)
