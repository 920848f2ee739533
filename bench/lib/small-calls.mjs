// Makes small calls over a few connections, and measures the CPU time of Squall for one of them.
import { once } from 'node:events'
import { Agent, createServer, request } from 'node:http'
import { freePort, startChild, waitUntilAccepting } from './children.mjs'
import { cpuMeter, cpuMicros, memoryMiB } from './proc.mjs'
import { median, medianDifference } from './stats.mjs'

const CALLS = 6_000
const STARTS = 5
const CONNECTIONS = 8

/** Starts a server whose listener gets each request with its body; returns its port. */
export async function startServer(listener) {
  const running = createServer((incoming, response) => {
    let body = ''
    incoming.setEncoding('utf8').on('data', (part) => (body += part))
    incoming.on('end', () => listener(body, response))
  }).listen(0, '127.0.0.1')
  await once(running, 'listening')
  return running.address().port
}

/** Starts Squall, and reads the CPU time of its starts and its memory at rest. */
export async function startPeer(name, { main, flags, env = {}, headers = {}, body }) {
  const port = await freePort()
  const args = [main, 'run', '--listen', `127.0.0.1:${port}`, '--admin', 'off', ...flags]
  const starts = []
  for (let start = 1; ; start++) {
    const child = await startChild(name, { file: process.execPath, args, env })
    await waitUntilAccepting(child, port)
    starts.push(cpuMicros(child.pid) / 1000)
    if (start < STARTS) {
      await child.stop()
      continue
    }
    await new Promise((done) => setTimeout(done, 2_000))
    const rest = { memory: memoryMiB(child.pid).now, start: median(starts) }
    return { name, pid: child.pid, port, headers, body, micros: [], rest }
  }
}

/** Measures all peers, round by round in turn. */
export async function measureRounds(peers, rounds) {
  for (const peer of peers) await load(peer)
  for (let round = 0; round < rounds; round++) {
    for (const peer of peers) {
      const used = cpuMeter(peer.pid)
      await load(peer)
      peer.micros.push(used() / CALLS)
    }
  }
}

/** Returns a table with the cost of a call of each peer, compared with the first. */
export function tableOf(peers) {
  const head = `${'CPU of a call'.padEnd(24)}${'median'.padStart(10)}${'more'.padStart(10)}${'at rest'.padStart(11)}${'start'.padStart(8)}\n`
  const rows = peers.map(({ name, micros, rest }) =>
    [
      name.padEnd(24),
      `${median(micros).toFixed(1)} µs`.padStart(10),
      `${medianDifference(micros, peers[0].micros).toFixed(1)} µs`.padStart(10),
      `${rest.memory.toFixed(1)} MiB`.padStart(11),
      `${rest.start.toFixed(0)} ms`.padStart(8),
    ].join(''),
  )
  return `${head}${rows.join('\n')}\n`
}

/** Makes calls over a few connections, one after the other on each. */
async function load(peer) {
  const agent = new Agent({ keepAlive: true, maxSockets: CONNECTIONS })
  let left = CALLS
  const worker = async () => {
    while (left-- > 0) await call(peer, peer.body, agent)
  }
  await Promise.all(Array.from({ length: CONNECTIONS }, worker))
  agent.destroy()
}

/** Makes a call; returns the body of its response. */
export function call({ port, headers }, body, agent) {
  return new Promise((done, fail) => {
    const all = {
      'content-type': 'application/json',
      accept: 'application/json, text/event-stream',
      'content-length': Buffer.byteLength(body),
      ...headers,
    }
    const options = { agent, port, host: '127.0.0.1', path: '/mcp', method: 'POST', headers: all }
    request(options, (response) => {
      let text = ''
      response.setEncoding('utf8').on('data', (part) => (text += part))
      response.on('end', () => done(text))
    })
      .on('error', fail)
      .end(body)
  })
}
