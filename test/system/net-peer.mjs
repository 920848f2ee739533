// A process inside a network namespace: an app on a port, or a client, told by messages what to do.
import { Agent, createServer, request } from 'node:http'
import { connect, createServer as createTcpServer } from 'node:net'

const agents = new Map()
let asked = 0

/** Serves on a port of one address, and counts what it is asked. */
function serve({ host, port }) {
  const server = createServer((req, res) => {
    const parts = []
    req.on('data', (part) => parts.push(part))
    req.on('end', () => {
      asked++
      const body = Buffer.concat(parts).toString()
      const { id = null } = body === '' ? {} : JSON.parse(body)
      const result = { content: [{ type: 'text', text: 'fine' }] }
      res.setHeader('content-type', 'application/json')
      res.end(JSON.stringify({ jsonrpc: '2.0', id, result }))
    })
  })
  server.keepAliveTimeout = 60_000
  return new Promise((resolve, reject) => {
    server.on('error', reject)
    server.listen(port, host, () => resolve('listening'))
  })
}

/** Calls a tool; a client with a name keeps its connection. */
function call({ host, port, client }) {
  if (client !== undefined && !agents.has(client)) {
    // A probe of an idle connection would be redirected, and answered by a reset, before a call is.
    agents.set(client, new Agent({ keepAlive: true, keepAliveMsecs: 600_000, maxSockets: 1 }))
  }
  const body = JSON.stringify({
    jsonrpc: '2.0',
    id: 1,
    method: 'tools/call',
    params: { name: 'probe', arguments: {} },
  })
  return new Promise((resolve) => {
    const sent = request({
      host,
      port,
      method: 'POST',
      path: '/mcp',
      agent: client === undefined ? false : agents.get(client),
      headers: {
        'content-type': 'application/json',
        accept: 'application/json, text/event-stream',
        'content-length': Buffer.byteLength(body),
      },
      timeout: 30_000,
    })
    sent.on('timeout', () => sent.destroy(new Error('timed out')))
    sent.on('error', (error) => resolve(error.code ?? error.message))
    sent.on('response', (response) => {
      let text = ''
      response.setEncoding('utf8').on('data', (part) => (text += part))
      response.on('error', (error) => resolve(error.code))
      response.on('end', () =>
        resolve(response.statusCode === 200 ? JSON.parse(text).result.content[0].text : text),
      )
    })
    sent.end(body)
  })
}

/** Returns an IPv4 address as IPv4, also where the socket is for both families. */
const plain = (address = '') => address.replace('::ffff:', '')

/** Listens for TCP on all addresses. */
function listen(port, accept) {
  const server = createTcpServer({ allowHalfOpen: true }, accept)
  // A loop ends here.
  server.maxConnections = 1000
  return new Promise((resolve, reject) => {
    server.on('error', reject)
    server.listen({ port, host: '::', backlog: 1024 }, () => resolve('listening'))
  })
}

/** Sends each client the address that it has reached. */
const greet = ({ port }) =>
  listen(port, (socket) => {
    socket.on('error', () => undefined)
    socket.end(`${plain(socket.localAddress)}:${port}`)
  })

/** Connects as the listener of a capture does: to the remote address. */
const relay = ({ port, target }) =>
  listen(port, (client) => {
    const to = client.remoteAddress
    client.write(`${plain(to)} through ${port}: `)
    const upstream = connect({ host: to, port: target, allowHalfOpen: true })
    client.on('error', () => upstream.destroy())
    upstream.on('error', (error) => client.end(error.code))
    upstream.pipe(client)
    client.pipe(upstream)
  })

function reachOnce({ host, port, from: localPort }) {
  return new Promise((resolve) => {
    let text = ''
    const socket = connect({ host, port, localPort, timeout: 30_000 })
    socket.on('timeout', () => socket.destroy(new Error('timed out')))
    socket.on('error', (error) => resolve(error.code ?? error.message))
    socket.setEncoding('utf8').on('data', (part) => (text += part))
    socket.on('end', () => resolve(text))
  })
}

/** Connects many times, some at a time; returns the different texts that came. */
async function reach(given) {
  const { times } = given
  const texts = {}
  let left = times
  const worker = async () => {
    while (left-- > 0) {
      const text = await reachOnce(given)
      texts[text] = (texts[text] ?? 0) + 1
    }
  }
  await Promise.all(Array.from({ length: Math.min(100, times) }, worker))
  return texts
}

const operations = { serve, call, asked: () => asked, greet, relay, reach }

async function responded({ id, operation, ...given }) {
  process.send({ id, response: await operations[operation](given) })
}

process.on('message', (message) => void responded(message))
process.on('disconnect', () => process.exit())
