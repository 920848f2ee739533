// How much memory one more open SSE stream costs: usage in README.md.
import { Agent, get } from 'node:http'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { setTimeout as sleep } from 'node:timers/promises'
import { parseArgs } from 'node:util'
import { BARS, verdict, verdictLine } from './bars.mjs'
import {
  endChildrenWithThisProcess,
  freePort,
  startChild,
  waitUntilAccepting,
} from './lib/children.mjs'
import { parseOptions, whole } from './lib/options.mjs'
import { memoryMiB } from './lib/proc.mjs'
import { startPeer } from './lib/running-peer.mjs'

const UPSTREAM = fileURLToPath(new URL('./upstream/held-server.mjs', import.meta.url))
const AT_ONCE = 50
const WARM_UP_STREAMS = 200
const REST_MS = 3000

/** @param {string} line */
const say = (line) => void process.stdout.write(`${line}\n`)

/**
 * Opens a stream and waits for its first event.
 * @param {number} port
 * @param {Agent} agent
 * @returns {Promise<import('node:http').ClientRequest>}
 */
function openStream(port, agent) {
  return new Promise((resolve, reject) => {
    const headers = { accept: 'text/event-stream', 'mcp-session-id': 'held' }
    const request = get({ host: '127.0.0.1', port, path: '/mcp', agent, headers }, (answer) => {
      if (answer.statusCode !== 200) reject(new Error(`status ${answer.statusCode}`))
      answer.once('data', () => resolve(request))
      answer.on('error', () => request.destroy())
    })
    request.on('error', reject)
  })
}

/** @param {number} port @param {number} count */
async function openStreams(port, count) {
  const agent = new Agent({ keepAlive: false, maxSockets: Infinity })
  /** @type {import('node:http').ClientRequest[]} */
  const open = []
  while (open.length < count) {
    const wave = Math.min(AT_ONCE, count - open.length)
    open.push(...(await Promise.all(Array.from({ length: wave }, () => openStream(port, agent)))))
  }
  return open
}

async function main() {
  const { values } = parseArgs({
    options: {
      streams: { type: 'string' },
      peer: { type: 'string', default: 'squall' },
      squall: { type: 'string' },
      check: { type: 'boolean', default: false },
    },
  })
  const count = whole('--streams', values.streams, 2000)
  const squallArgs = values.squall === undefined ? [] : ['--squall', values.squall]
  const setting = parseOptions(['--peers', values.peer, ...squallArgs])
  const [peer] = setting.peers
  const missing = peer?.missing?.(setting)
  if (!peer?.command || missing !== undefined) throw new Error(missing ?? 'not a proxy')

  endChildrenWithThisProcess()
  const folder = mkdtempSync(join(tmpdir(), 'squall-held-'))
  process.once('exit', () => rmSync(folder, { recursive: true, force: true }))
  const upstreamPort = await freePort()
  const upstream = await startChild('upstream', {
    file: process.execPath,
    args: [UPSTREAM, String(upstreamPort)],
  })
  await waitUntilAccepting(upstream, upstreamPort)
  const { child, port } = await startPeer(peer, upstreamPort, { ...setting, folder })
  if (!child) throw new Error(`${peer.name} has no process`)

  // The first streams pay for code and pools that later ones share.
  for (const stream of await openStreams(port, WARM_UP_STREAMS)) stream.destroy()
  await sleep(REST_MS)
  const before = memoryMiB(child.pid).now
  const streams = await openStreams(port, count)
  await sleep(REST_MS)
  const held = memoryMiB(child.pid).now
  for (const stream of streams) stream.destroy()
  await sleep(REST_MS)
  const after = memoryMiB(child.pid).now
  await child.stop()
  await upstream.stop()

  const each = ((held - before) * 1024) / count
  say(`${peer.name}: ${count} held SSE streams, ${each.toFixed(1)} KiB each`)
  say(`RSS ${before.toFixed(1)} MiB before, ${held.toFixed(1)} held, ${after.toFixed(1)} after`)
  const result = verdict('KiB per held stream', each, BARS.heldStreamKiB)
  say(verdictLine(result))
  if (values.check && !result.holds) process.exitCode = 1
}

main().catch((error) => {
  process.stderr.write(`${error instanceof Error ? error.message : String(error)}\n`)
  process.exit(2)
})
