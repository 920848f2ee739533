// Measures the CPU cost of an outgoing connection, for each MB and each connection, compared with two
// sockets of Node piped to each other and HAProxy in TCP mode.
// Needs a build: node bench/outbound.mjs [rounds]
import { once } from 'node:events'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { connect, createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import {
  endChildrenWithThisProcess,
  freePort,
  startChild,
  waitUntilAccepting,
} from './lib/children.mjs'
import { cpuMeter, findProgram, memoryMiB } from './lib/proc.mjs'
import { median, medianRatio } from './lib/stats.mjs'
import { socketPipe } from './peers/socket-pipe.mjs'

const ROUNDS = Number(process.argv[2] ?? 7)
const MB = 1e6
const BULK = 200 * MB
const STREAMS = 4
const CONNECTIONS = 2_000
const CONCURRENCY = 32
const OPEN = 2_000

endChildrenWithThisProcess()
const directory = mkdtempSync(join(tmpdir(), 'squall-outbound-'))
process.once('exit', () => rmSync(directory, { recursive: true, force: true }))

// A connection that begins with `g` gets that many bytes; others get back what they send.
const chunk = Buffer.alloc(64 * 1024, 'x')
const upstream = createServer({ noDelay: true }, (socket) => {
  socket.on('error', () => socket.destroy())
  socket.once('data', (first) => {
    if (first[0] !== 103) {
      socket.write(first)
      socket.pipe(socket)
      return
    }
    let left = Number(first.subarray(1).toString())
    const send = () => {
      while (left > 0) {
        const bytes = left < chunk.length ? chunk.subarray(0, left) : chunk
        left -= bytes.length
        if (!socket.write(bytes)) {
          socket.once('drain', send)
          return
        }
      }
      socket.end()
    }
    send()
  })
}).listen(0, '127.0.0.1')
await once(upstream, 'listening')
const { port: upstreamPort } = /** @type {import('node:net').AddressInfo} */ (upstream.address())

/** @param {number} port */
function haproxy(port) {
  const file = join(directory, 'haproxy.cfg')
  writeFileSync(
    file,
    `global
  nbthread 1
  maxconn 8192
defaults
  mode tcp
  timeout connect 5s
  timeout client 300s
  timeout server 300s
listen pipe
  bind 127.0.0.1:${port} backlog 4096
  server app 127.0.0.1:${upstreamPort}
`,
  )
  return { file: findProgram('haproxy') ?? 'haproxy', args: ['-db', '-f', file] }
}

const main = resolve(import.meta.dirname, '../dist/cli/main.js')
const PEERS = {
  'socket-pipe': (/** @type {number} */ port) =>
    socketPipe.command({ port, upstreamPort, directory, squallMain: main }),
  squall: (/** @type {number} */ port) => ({
    file: process.execPath,
    args: [
      main,
      'run',
      '--admin',
      'off',
      '--outbound',
      `127.0.0.1:${port}=127.0.0.1:${upstreamPort}`,
    ],
  }),
  ...(findProgram('haproxy') === undefined ? {} : { haproxy }),
}

/** @param {number} port @returns {Promise<void>} */
async function download(port) {
  const socket = connect(port, '127.0.0.1')
  let received = 0
  socket.on('data', (bytes) => (received += bytes.length)).write(`g${BULK / STREAMS}`)
  await once(socket, 'end')
  if (received !== BULK / STREAMS) throw new Error(`${received} bytes arrived`)
}

/** @param {number} port @returns {Promise<void>} */
async function exchange(port) {
  const socket = connect(port, '127.0.0.1')
  socket.write('a'.repeat(100))
  const [bytes] = await once(socket, 'data')
  if (bytes.length !== 100) throw new Error(`${bytes.length} bytes came back`)
  socket.end()
  await once(socket, 'close')
}

/** @param {number} count @param {() => Promise<void>} run */
async function repeatedly(count, run) {
  let begun = 0
  const worker = async () => {
    while (begun++ < count) await run()
  }
  await Promise.all(Array.from({ length: CONCURRENCY }, worker))
}

/** @type {Record<string, { mb: number[], connection: number[], kib: number[] }>} */
const results = {}
for (const name of Object.keys(PEERS)) results[name] = { mb: [], connection: [], kib: [] }
for (let round = 0; round <= ROUNDS; round++) {
  for (const [name, command] of Object.entries(PEERS)) {
    const port = await freePort()
    const child = await startChild(name, command(port))
    await waitUntilAccepting(child, port)
    await repeatedly(CONNECTIONS / 4, () => exchange(port))
    await Promise.all(Array.from({ length: STREAMS }, () => download(port)))
    const ofBulk = cpuMeter(child.pid)
    await Promise.all(Array.from({ length: STREAMS }, () => download(port)))
    const bulk = ofBulk()
    const ofConnections = cpuMeter(child.pid)
    await repeatedly(CONNECTIONS, () => exchange(port))
    const connections = ofConnections()
    const before = memoryMiB(child.pid).now
    const open = await Promise.all(
      Array.from({ length: OPEN }, async () => {
        const socket = connect(port, '127.0.0.1')
        socket.write('a')
        await once(socket, 'data')
        return socket
      }),
    )
    const after = memoryMiB(child.pid).now
    for (const socket of open) socket.destroy()
    await child.stop()
    // The first round warms up the machine.
    if (round === 0) continue
    results[name]?.mb.push(bulk / (BULK / MB))
    results[name]?.connection.push(connections / CONNECTIONS)
    results[name]?.kib.push(((after - before) * 1024) / OPEN)
  }
}
upstream.close()

console.log('| peer | CPU µs/MB | CPU µs/connection | KiB/open connection |')
console.log('| --- | ---: | ---: | ---: |')
for (const [name, { mb, connection, kib }] of Object.entries(results)) {
  const cells = [median(mb).toFixed(0), median(connection).toFixed(1), median(kib).toFixed(1)]
  console.log(`| ${name} | ${cells.join(' | ')} |`)
}
for (const [name, { mb, connection }] of Object.entries(results)) {
  if (name === 'squall') continue
  const { squall } = results
  if (squall === undefined) continue
  const ofBytes = medianRatio(squall.mb, mb).toFixed(2)
  const ofConnections = medianRatio(squall.connection, connection).toFixed(2)
  console.log(`squall ÷ ${name}: ${ofBytes} for each MB, ${ofConnections} for each connection`)
}
process.exit(0)
