// part: attacks
import { once } from 'node:events'
import { connect, createServer } from 'node:net'
import { expect, test } from 'vitest'
import { callWith, posted } from '../datapath/hostile.ts'
import { startUpstream } from '../support/wire.ts'
import { INJECTED_LIMIT } from '../support/wire/sidecar-process.ts'
import { type Load, underLoad } from './under-load.ts'

const SECONDS = Number(process.env['SQUALL_ATTACK_SECONDS'] ?? 10)
const SIZE = 70_000

const RESULT = '{"jsonrpc":"2.0","id":1,"result":{"content":[]}}'
const WHOLE = `HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: ${RESULT.length}\r\n\r\n${RESULT}`
const CHUNKED = 'HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\nContent-Type:'
const ONE_BYTE_CHUNKS = '1\r\nx\r\n'.repeat(SIZE / 6)
const EVENTS = '3\r\n:\n\n\r\n'.repeat(SIZE / 8)
const GET = 'GET /x HTTP/1.1\r\nHost: a\r\n\r\n'
const CALL = posted(callWith('1')).toString()

const repeated = (text: string): string => text.repeat(Math.ceil(SIZE / text.length))

interface Attack {
  /** The bytes that each client sends on a new connection. */
  readonly request: string
  readonly clients: number
  readonly response?: string
  readonly flags?: readonly string[]
}

const ATTACKS: Readonly<Record<string, Attack>> = {
  'pipelined GET': { request: repeated(GET), clients: 50 },
  'pipelined POST': { request: repeated(CALL), clients: 8 },
  'pipelined GET without a Host': { request: repeated('GET / HTTP/1.1\r\n\r\n'), clients: 50 },
  'pipelined calls above the limit of upstream connections': {
    request: repeated(CALL),
    clients: 8,
    flags: ['--max-upstream-connections', '4'],
  },
  'pipelined offers of HTTP/2': {
    request: repeated('GET / HTTP/1.1\r\nHost: a\r\nUpgrade: h2c\r\nConnection: upgrade\r\n\r\n'),
    clients: 20,
  },
  'pipelined DELETE behind a request that is not plain': {
    request: `GET / HTTP/1.1\r\nHost: a\r\nTE: trailers\r\n\r\n${repeated('DELETE /mcp HTTP/1.1\r\nHost: a\r\nMcp-Session-Id: 1\r\n\r\n')}`,
    clients: 20,
  },
  'requests in chunks of one byte': {
    request: `POST /mcp HTTP/1.1\r\nHost: a\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n${ONE_BYTE_CHUNKS}`,
    clients: 20,
  },
  'responses in chunks of one byte': {
    request: CALL,
    clients: 20,
    response: `${CHUNKED} application/json\r\n\r\n${ONE_BYTE_CHUNKS.repeat(4)}0\r\n\r\n`,
  },
  'a push stream of tiny events': {
    request: 'GET /mcp HTTP/1.1\r\nHost: a\r\nAccept: text/event-stream\r\n\r\n',
    clients: 20,
    response: `${CHUNKED} text/event-stream\r\n\r\n${EVENTS.repeat(4)}0\r\n\r\n`,
  },
}

/** Attacks on one connection after the other, each until all responses or none have come. */
async function client(request: string, { squall, isOver }: Load): Promise<void> {
  while (!isOver()) {
    const socket = connect(squall.port, '127.0.0.1')
    socket.on('error', () => undefined)
    const closed = once(socket, 'close')
    let bytes = 0
    socket.on('data', (chunk: Buffer) => (bytes += chunk.length))
    socket.write(request)
    for (let before = -1; before < bytes && !isOver();) {
      before = bytes
      await Promise.race([closed, new Promise((resolve) => setTimeout(resolve, 500))])
    }
    socket.destroy()
  }
}

test.each(
  ['fast', 'standard'].flatMap((engine) => Object.keys(ATTACKS).map((name) => ({ engine, name }))),
)(
  'no call waits long for $name: $engine',
  { timeout: SECONDS * 1000 + 180_000 },
  async ({ engine, name }) => {
    const { request, clients, response = WHOLE, flags = [] } = ATTACKS[name]!
    const { port, close } = await startUpstream(
      createServer((socket) => {
        socket.on('error', () => undefined)
        socket.on('data', (bytes) => {
          // Squall sends one request after the other.
          if (bytes.includes('\r\n\r\n')) socket.write(response)
        })
      }),
    )
    try {
      const seen = await underLoad(
        {
          upstream: `http://127.0.0.1:${port}`,
          engine,
          seconds: SECONDS,
          flags,
          turnsAfter: 2_000,
        },
        async (load) => {
          await Promise.all(Array.from({ length: clients }, () => client(request, load)))
        },
      )
      console.log(JSON.stringify({ engine, name, ...seen }))
      expect(seen.died).toBeUndefined()
      expect(seen.peak).toBeLessThan(INJECTED_LIMIT)
      // On an idle machine below 50; one that is shared slows the turns themselves.
      expect(seen.longestTurn).toBeLessThanOrEqual(2 * 50)
      expect(seen.slowest).toBeLessThan(500)
      expect(seen.left).toBe('squall_memory_held_bytes 0')
    } finally {
      await close()
    }
  },
)
