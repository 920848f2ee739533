// The bar: the least that a proxy on node:http and undici can do and still read every call. It
// collects and parses the request body, passes raw header lines on but for hop-by-hop ones, and
// streams the response with back-pressure. It has no rules, metrics, limits or logs.
import { createServer } from 'node:http'
import { Pool } from 'undici'

const [port, upstreamPort] = process.argv.slice(2).map(Number)

const HOP_BY_HOP = new Set([
  'connection',
  'keep-alive',
  'proxy-connection',
  'te',
  'trailer',
  'transfer-encoding',
  'upgrade',
])

// No per-request timers: they would be the same cost on both sides of the comparison.
const pool = new Pool(`http://127.0.0.1:${upstreamPort}`, {
  connections: 4096,
  pipelining: 1,
  headersTimeout: 0,
  bodyTimeout: 0,
  keepAliveTimeout: 4000,
})

/** @param {readonly string[]} lines */
function forwardedLines(lines) {
  const kept = []
  for (let i = 0; i < lines.length; i += 2) {
    const name = lines[i] ?? ''
    if (!HOP_BY_HOP.has(name.toLowerCase())) kept.push(name, lines[i + 1] ?? '')
  }
  return kept
}

/** @param {readonly Buffer[]} lines */
function respondedLines(lines) {
  const kept = []
  for (let i = 0; i < lines.length; i += 2) {
    const name = lines[i]?.toString('latin1') ?? ''
    if (HOP_BY_HOP.has(name.toLowerCase())) continue
    kept.push(name, lines[i + 1]?.toString('latin1') ?? '')
  }
  return kept
}

/** One exchange: the handler to which undici reports the response. */
class Exchange {
  /** @param {import('node:http').ServerResponse} response */
  constructor(response) {
    this.response = response
    /** @type {((error?: Error) => void) | undefined} */
    this.abort = undefined
    /** @type {(() => void) | undefined} */
    this.resume = undefined
    this.done = false
    this.drains = false
    this.onClose = () => {
      if (!this.done) this.abort?.(new Error('client gone'))
    }
    response.on('close', this.onClose)
  }

  /** @param {(error?: Error) => void} abort */
  onConnect(abort) {
    if (this.response.destroyed) abort(new Error('client gone'))
    else this.abort = abort
  }

  /**
   * @param {number} status
   * @param {Buffer[]} lines
   * @param {() => void} resume
   * @param {string} reason
   */
  onHeaders(status, lines, resume, reason) {
    if (status < 200) return true
    this.resume = resume
    this.response.sendDate = false
    this.response.writeHead(status, reason, respondedLines(lines))
    return true
  }

  /** @param {Buffer} chunk */
  onData(chunk) {
    if (this.response.write(chunk)) return true
    if (!this.drains) {
      this.drains = true
      this.response.on('drain', () => {
        // Once the response is complete, the connection may already carry another exchange.
        if (!this.done) this.resume?.()
      })
    }
    return false
  }

  onComplete() {
    this.done = true
    this.response.end()
  }

  onError() {
    this.done = true
    if (this.response.headersSent) this.response.destroy()
    else this.response.writeHead(502).end()
  }
}

/**
 * @param {import('node:http').IncomingMessage} request
 * @param {import('node:http').ServerResponse} response
 * @param {Buffer | null} body
 */
function forward(request, response, body) {
  if (body !== null) {
    try {
      JSON.parse(body.toString())
    } catch {
      // not JSON: passed on as it is
    }
  }
  pool.dispatch(
    {
      path: request.url ?? '/',
      method: /** @type {import('undici').Dispatcher.HttpMethod} */ (request.method),
      headers: forwardedLines(request.rawHeaders),
      body,
    },
    new Exchange(response),
  )
}

const server = createServer((request, response) => {
  /** @type {Buffer | null} */
  let first = null
  /** @type {Buffer[] | null} */
  let chunks = null
  request.on('data', (chunk) => {
    if (first === null) first = chunk
    else (chunks ??= [first]).push(chunk)
  })
  request.on('end', () => forward(request, response, chunks ? Buffer.concat(chunks) : first))
})
server.requestTimeout = 0
server.listen(port, '127.0.0.1')
process.once('SIGTERM', () => process.exit(0))
