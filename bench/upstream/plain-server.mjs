// An upstream on bare sockets. It knows just enough HTTP to find where a plain request ends and
// answers with bytes made beforehand. A GET gets a stream that says one thing and then stays open.
// It is for the bench on loopback and for nothing else.
import { createServer } from 'node:net'
import { workload } from '../lib/workloads.mjs'

const port = Number(process.argv[2])
const load = workload(process.argv[3] ?? 'small')

/** Events that leave in one write: as if several tools reported at about the same time. */
const EVENTS_PER_WRITE = 10

const WRITES = load.events === 0 ? [wholeResponse()] : streamedResponse()

const HELD_EVENT = 'event: message\ndata: {"jsonrpc":"2.0","method":"notifications/message"}\n\n'
const HELD = Buffer.from(
  `HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ncache-control: no-cache\r\ntransfer-encoding: chunked\r\n\r\n${HELD_EVENT.length.toString(16)}\r\n${HELD_EVENT}\r\n`,
)

function wholeResponse() {
  const head = `HTTP/1.1 200 OK\r\ncontent-type: ${load.contentType}\r\ncontent-length: ${load.response.length}\r\n\r\n`
  return Buffer.concat([Buffer.from(head), load.response])
}

/** Each event is its own chunk, as a server writes them. */
function streamedResponse() {
  const events = load.response.toString('utf8').split('\n\n').slice(0, -1)
  const writes = [
    Buffer.from(
      `HTTP/1.1 200 OK\r\ncontent-type: ${load.contentType}\r\ncache-control: no-cache\r\ntransfer-encoding: chunked\r\n\r\n`,
    ),
  ]
  for (let i = 0; i < events.length; i += EVENTS_PER_WRITE) {
    const chunks = events.slice(i, i + EVENTS_PER_WRITE).map((event) => {
      const bytes = `${event}\n\n`
      return `${Buffer.byteLength(bytes).toString(16)}\r\n${bytes}\r\n`
    })
    writes.push(Buffer.from(chunks.join('')))
  }
  writes.push(Buffer.from('0\r\n\r\n'))
  return writes
}

/** @param {import('node:net').Socket} socket */
function response(socket) {
  let next = 0
  const step = () => {
    if (socket.destroyed) return
    const bytes = WRITES[next]
    next += 1
    if (bytes === undefined) return
    socket.write(bytes)
    if (next < WRITES.length) setImmediate(step)
  }
  step()
}

createServer({ noDelay: true }, (socket) => {
  let pending = Buffer.alloc(0)
  let bodyLeft = 0
  socket.on('error', () => socket.destroy())
  socket.on('data', (chunk) => {
    let bytes = pending.length > 0 ? Buffer.concat([pending, chunk]) : chunk
    for (;;) {
      if (bodyLeft > 0) {
        const taken = Math.min(bodyLeft, bytes.length)
        bodyLeft -= taken
        bytes = bytes.subarray(taken)
        if (bodyLeft > 0) break
        response(socket)
      }
      const end = bytes.indexOf('\r\n\r\n')
      if (end < 0) break
      const head = bytes.toString('latin1', 0, end)
      bytes = bytes.subarray(end + 4)
      if (head.startsWith('GET ')) {
        socket.write(HELD)
        continue
      }
      bodyLeft = Number(/\r\ncontent-length: *(\d+)/i.exec(head)?.[1] ?? 0)
      if (bodyLeft === 0) response(socket)
    }
    pending = bytes
  })
}).listen(port, '127.0.0.1', 4096)
process.once('SIGTERM', () => process.exit(0))
