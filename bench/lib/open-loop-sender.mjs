// Calls at a fixed rate, however long responses take, over bare sockets so that it costs little.
// node open-loop-sender.mjs '{"port":…,"rate":…,"seconds":…}' → what each call took, as JSON
import { connect } from 'node:net'
import { REQUEST_HEADERS, workload } from './workloads.mjs'

const { port, rate, seconds, exchange } = JSON.parse(process.argv[2])
const small = workload('small')
/** The bodies of a call and its response. @type {{ request: string, response: string }} */
const { request, response } = exchange ?? { request: small.request, response: small.response }
const RESPONSE = Buffer.from(response)

/** Connections that are open from the start, and the most that there may be. */
const OPEN = 16
const MOST = 1000
/** The first calls open connections and wake everything up; they are not reported. */
const UNTOLD_MS = 300
const PATIENCE_MS = 5000

const lines = Object.entries(REQUEST_HEADERS).map(([name, value]) => `${name}: ${value}\r\n`)
const head = `POST /mcp HTTP/1.1\r\nhost: 127.0.0.1:${port}\r\n${lines.join('')}content-length: ${Buffer.byteLength(request)}\r\n\r\n`
const REQUEST = Buffer.from(head + request)

const took = new Float64Array(Math.ceil(rate * seconds * 1.1) + 1000)
let reported = 0
let sent = 0
let responded = 0
let errors = 0
let connections = 0

/** @typedef {{ socket: import('node:net').Socket, sentAt: number, tell: boolean, bytes: Buffer | undefined }} Line */

/** Lines that wait for a call; the one used last is used next, as a pool does. @type {Line[]} */
const free = []
/** @type {Set<Line>} */
const busy = new Set()

function open() {
  connections += 1
  const socket = connect({ port, host: '127.0.0.1', noDelay: true })
  const line = { socket, sentAt: 0, tell: false, bytes: undefined }
  socket.on('data', (bytes) => arrived(line, bytes))
  socket.on('error', () => socket.destroy())
  socket.on('close', () => {
    connections -= 1
    if (busy.delete(line)) errors += 1
    const place = free.indexOf(line)
    if (place >= 0) free.splice(place, 1)
  })
  return line
}

/** @param {boolean} tell */
function send(tell) {
  const line = free.pop() ?? (connections < MOST ? open() : undefined)
  sent += 1
  if (line === undefined) {
    errors += 1
    return
  }
  busy.add(line)
  line.tell = tell
  line.sentAt = performance.now()
  line.socket.write(REQUEST)
}

/** @param {Line} line @param {Buffer} piece */
function arrived(line, piece) {
  const bytes = line.bytes === undefined ? piece : Buffer.concat([line.bytes, piece])
  const end = bytes.indexOf('\r\n\r\n')
  if (end < 0 || bytes.length < end + 4 + RESPONSE.length) {
    line.bytes = bytes
    return
  }
  line.bytes = undefined
  const status = bytes.toString('latin1', 0, 12)
  const whole = status === 'HTTP/1.1 200' && bytes.subarray(end + 4).equals(RESPONSE)
  if (!whole || !busy.delete(line)) {
    line.socket.destroy()
    return
  }
  responded += 1
  if (line.tell && reported < took.length) took[reported++] = performance.now() - line.sentAt
  free.push(line)
}

for (let n = 0; n < OPEN; n++) free.push(open())
const began = performance.now()
const lastsMs = seconds * 1000

function tick() {
  const elapsed = performance.now() - began
  const due = (Math.min(elapsed, lastsMs) * rate) / 1000
  while (sent < due) send(elapsed >= UNTOLD_MS)
  if (elapsed < lastsMs) setTimeout(tick, 1)
  else finish(performance.now() + PATIENCE_MS)
}

/** @param {number} latest */
function finish(latest) {
  if (busy.size > 0 && performance.now() < latest) {
    setTimeout(() => finish(latest), 5)
    return
  }
  const tookMs = Array.from(took.subarray(0, reported), (ms) => Math.round(ms * 1000) / 1000)
  const result = { calls: responded, errors: errors + busy.size, seconds, tookMs }
  process.stdout.write(JSON.stringify(result), () => process.exit(0))
}

setTimeout(tick, 1)
