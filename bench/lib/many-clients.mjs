import { once } from 'node:events'
import { connect } from 'node:net'
import { REQUEST_HEADERS, workload } from './workloads.mjs'

/** The number of clients that connect at the same time: quick, but not a burst. */
const AT_ONCE = 50
const PATIENCE_MS = 10_000

const small = workload('small')
const LINES = Object.entries(REQUEST_HEADERS).map(([name, value]) => `${name}: ${value}\r\n`)

/** The first request of each kind of client, and the response it awaits before it stays idle. */
const KINDS = {
  /** A stream that has sent its first event and stays open. */
  stream: {
    bytes: (/** @type {number} */ port) =>
      `GET /mcp HTTP/1.1\r\nhost: 127.0.0.1:${port}\r\n${LINES.join('')}\r\n`,
    responded: (/** @type {string} */ text) => text.includes('\n\n', text.indexOf('\r\n\r\n') + 4),
  },
  /** A connection that is kept alive after one call. */
  connection: {
    bytes: (/** @type {number} */ port) =>
      `POST /mcp HTTP/1.1\r\nhost: 127.0.0.1:${port}\r\n${LINES.join('')}content-length: ${Buffer.byteLength(small.request)}\r\n\r\n${small.request}`,
    responded: (/** @type {string} */ text) => text.endsWith(small.response.toString('utf8')),
  },
}

/**
 * Opens so many clients that then stay as they are.
 * @param {keyof typeof KINDS} kind
 * @param {number} port
 * @param {number} count
 */
export async function openClients(kind, port, count) {
  /** @type {import('node:net').Socket[]} */
  const sockets = []
  while (sockets.length < count) {
    const wave = Array.from({ length: Math.min(AT_ONCE, count - sockets.length) })
    sockets.push(...(await Promise.all(wave.map(() => openClient(KINDS[kind], port)))))
  }
  return {
    /** Returns the number of clients that are still open. */
    open: () => sockets.filter((socket) => socket.readyState === 'open').length,
    close: () => {
      for (const socket of sockets) socket.destroy()
    },
  }
}

/** @param {typeof KINDS.stream} kind @param {number} port */
async function openClient(kind, port) {
  const socket = connect({ port, host: '127.0.0.1' })
  socket.setTimeout(PATIENCE_MS, () => socket.destroy(new Error('no response in time')))
  await once(socket, 'connect')
  socket.write(kind.bytes(port))
  let text = ''
  while (!kind.responded(text)) {
    const [bytes] = await Promise.race([
      once(socket, 'data'),
      once(socket, 'close').then(() => {
        throw new Error(`a connection was closed before its response: ${text.slice(0, 80)}`)
      }),
    ])
    text += bytes.toString('utf8')
    if (!text.startsWith('HTTP/1.1 200')) throw new Error(`a wrong response: ${text.slice(0, 80)}`)
  }
  socket.setTimeout(0)
  // Nobody reads further bytes, but an end of the connection must still be noticed.
  socket.on('error', () => socket.destroy())
  socket.resume()
  return socket
}
