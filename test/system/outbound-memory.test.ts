// part: attacks
import { once } from 'node:events'
import { connect, createServer, type Socket } from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'
import { expect, test } from 'vitest'
import { closers } from '../support/closers.ts'
import { freePort, metricOf, startUpstream } from '../support/wire.ts'
import { INJECTED_LIMIT } from '../support/wire/sidecar-process.ts'
import { underLoad } from './under-load.ts'

const SECONDS = Number(process.env['SQUALL_ATTACK_SECONDS'] ?? 10)
/** Until memory is short; a busy machine needs several times as long as an idle one. */
const PATIENCE = 12 * SECONDS
const MIB = 1024 * 1024
const open = closers()

async function clients(port: number, count: number): Promise<Socket[]> {
  const sockets = Array.from({ length: count }, () => {
    const socket = connect({ port, host: '127.0.0.1', noDelay: true })
    socket.on('error', () => undefined)
    open({ close: () => socket.destroy() })
    return socket
  })
  await Promise.all(sockets.map((socket) => once(socket, 'connect')))
  return sockets
}

/** Starts a dependency, and returns the flags of a sidecar that carries connections to it. */
async function dependency(
  serve: (socket: Socket) => void,
): Promise<{ port: number; flags: string[] }> {
  const { port: target } = open(
    await startUpstream(
      createServer((socket) => {
        socket.on('error', () => undefined)
        serve(socket)
      }),
    ),
  )
  const port = await freePort()
  return { port, flags: ['--outbound', `127.0.0.1:${port}=127.0.0.1:${target}`] }
}

test(
  'bytes that a blackhole holds in tiny segments take little memory, and are counted',
  async () => {
    const { port, flags } = await dependency((socket) => socket.resume())
    const rules = `version: 1
rules: [{ name: hole, match: { outbound: { host: 127.0.0.1 } }, faults: [{ connection: { blackhole: true } }] }]
`
    let grown = 0
    let held = 0
    const seen = await underLoad(
      { upstream: 'http://127.0.0.1:9', engine: 'fast', seconds: SECONDS, rules, flags },
      async ({ squall, isOver }) => {
        const sockets = await clients(port, 64)
        const before = squall.rss()
        const byte = Buffer.from('x')
        for (let sent = 0; sent < 16 * 1024 && !isOver(); sent++) {
          for (const socket of sockets) socket.write(byte)
          await new Promise(setImmediate)
        }
        held = metricOf(await squall.metrics(), 'squall_memory_held_bytes')
        grown = squall.rss() - before
        for (const socket of sockets) socket.destroy()
      },
    )
    console.log(JSON.stringify({ ...seen, grown, held }))
    expect(seen.died).toBeUndefined()
    expect(held).toBeGreaterThan(64 * 1024)
    expect(grown).toBeLessThan(48 * MIB)
    expect(seen.left).toBe('squall_memory_held_bytes 0')
  },
  SECONDS * 1000 + 60_000,
)

test(
  'clients that do not read a dependency are counted, and end when memory is short',
  async () => {
    const block = Buffer.alloc(64 * 1024)
    const { port, flags } = await dependency((socket) => {
      const more = (): void => {
        while (socket.write(block));
      }
      socket.on('drain', more)
      more()
    })
    let cut = 0
    let most = 0
    const seen = await underLoad(
      {
        upstream: 'http://127.0.0.1:9',
        engine: 'fast',
        seconds: PATIENCE,
        endsItself: true,
        flags,
      },
      async ({ squall, isOver }) => {
        const sockets = await clients(port, 700)
        for (const socket of sockets) socket.pause()
        while (!isOver()) {
          const text = await squall.metrics()
          most = Math.max(most, metricOf(text, 'squall_memory_held_bytes'))
          cut = metricOf(text, 'squall_memory_pressure_total', { reason: 'client_cut' })
          if (cut > 0) break
          await sleep(100)
        }
        for (const socket of sockets) socket.destroy()
      },
    )
    console.log(JSON.stringify({ ...seen, cut, most }))
    expect(seen.died).toBeUndefined()
    expect(seen.peak).toBeLessThan(INJECTED_LIMIT)
    expect(cut).toBeGreaterThan(0)
    expect(most).toBeGreaterThan(32 * MIB)
    expect(seen.left).toBe('squall_memory_held_bytes 0')
  },
  PATIENCE * 1000 + 60_000,
)
