// part: slow
import { afterAll, beforeAll, expect, it } from 'vitest'
import { assemble, type Running } from '../../src/sidecar/assemble.ts'
import type { RunOptions } from '../../src/sidecar/run-options.ts'
import { createLogger } from '../../src/telemetry/log.ts'
import { METRICS } from '../../src/telemetry/metric-table.ts'
import { asked } from '../support/commands/command-line.ts'
import { bytesHeld } from '../support/bytes-held.ts'
import { call, type HttpApp, startUpstream } from '../support/wire.ts'
import { eventually } from '../support/eventually.ts'
import { mountRules, type MountedRules } from '../live/rules-directory.ts'
import { parseExposition } from './exposition.ts'
import { parseOpenMetrics } from './openmetrics.ts'
import { rounds } from '../support/rounds.ts'

/** Enough that names which are kept whole would take more than the memory that is allowed below. */
const NAMES = rounds(2_000, 10_000)
const BATCH = 100
const LONG = 'x'.repeat(20_000)
/** The first 200 names, the empty one and `other`. */
const MOST_TOOLS = 202
const UNPRINTABLE = /\p{Cc}|\p{Cs}|\u2028/u
const TRACE = '00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01'
const RULES = `rules:
  - { name: fail, match: { tool: "*" }, percent: 25, faults: [abort: { toolError: no }] }
  - { name: change, match: { tool: "*" }, percent: 25, faults: [rewrite: { set: { /n: 2 } }] }
  - { name: poison, match: { tool: "*" }, percent: 1, faults: [poison: {}] }
  - { name: wait, match: { tool: "*" }, percent: 5, faults: [delay: { fixed: 1ms }] }
`

const PROTOTYPE = ['__proto__', 'constructor', 'toString', 'hasOwnProperty']

/** Names that would like to be more than a name; each is another one. */
const HOSTILE: readonly ((i: number) => string)[] = [
  (i) => `\u0000\u0001\u001b[31m${i}\u007f\u0085\u2028`,
  (i) => `"${i}"} 1\n# EOF\n`,
  (i) => `\\${i}\\`,
  (i) => `a\nsquall_armed ${i}\r\n`,
  (i) => `${i}${LONG}`,
  (i) => `${LONG}${i}`,
  (i) => `\uffff${i}\ufeff\u202e`,
  (i) => PROTOTYPE[Math.floor(i / 10)] ?? `__proto__${i}`,
  (i) => `other${i},tool="x`,
  (i) => `${i} # {trace_id="x"} 1 1`,
]

let app: HttpApp
let mounted: MountedRules
let running: Running
let admin: string

beforeAll(async () => {
  app = await startUpstream((req, res) => {
    const parts: Buffer[] = []
    req.on('data', (part: Buffer) => parts.push(part))
    req.on('end', () => {
      const posted = JSON.parse(Buffer.concat(parts).toString()) as
        { id: number } | { id: number }[]
      const result = { content: [{ type: 'text', text: 'fine' }], structuredContent: { n: 1 } }
      res.setHeader('content-type', 'application/json')
      const all = [posted].flat().map(({ id }) => ({ jsonrpc: '2.0', id, result }))
      res.end(JSON.stringify(Array.isArray(posted) ? all : all[0]))
    })
  })
  mounted = await mountRules(RULES)
  const places = ['--listen', '127.0.0.1:0', '--admin', '127.0.0.1:0', '--rules', mounted.file]
  const detail = ['--metrics-detail', 'full']
  const args = [
    'run',
    '--tasks',
    ...detail,
    '--upstream',
    `http://127.0.0.1:${app.port}`,
    ...places,
  ]
  // Lines are written and not kept, so that the memory that is measured is Squall's own.
  const destination = { write: () => undefined }
  const logger = createLogger({ level: 'info', format: 'json', destination })
  running = await assemble(asked(args) as RunOptions, logger)
  admin = `http://${running.admin!.text}`
})

afterAll(async () => {
  await running.close()
  await mounted.remove()
  await app.close()
})

/** Calls the tools of so many names, many of them at once. */
async function callTools(from: number, to: number): Promise<void> {
  const { port } = running.listeners[0]!
  for (let first = from; first < to; first += BATCH) {
    const calls = Array.from({ length: BATCH }, (_, i) => {
      const name = HOSTILE[i % HOSTILE.length]!(first + i)
      const params = { name, arguments: { word: i % 9 === 0 ? 'squall-canary' : '' } }
      return { jsonrpc: '2.0', id: first + i, method: 'tools/call', params }
    })
    const headers = { traceparent: TRACE, 'mcp-session-id': `s-${first}` }
    // Only results outside of batches are measured.
    for (const each of first === 0 ? calls : [calls]) {
      const { status } = await call({ port, host: '127.0.0.1', headers }, each)
      expect(status).toBe(200)
    }
  }
}

async function scraped(accept: string): Promise<string> {
  const response = await fetch(`${admin}/metrics`, { headers: { accept } })
  return new TextDecoder('utf-8', { fatal: true }).decode(await response.arrayBuffer())
}

it('names that clients make up stay names, and stay few, in everything that shows them', async () => {
  await callTools(0, NAMES / 2)
  await scraped('application/openmetrics-text')
  const half = bytesHeld().heapUsed
  await callTools(NAMES / 2, NAMES)
  await eventually(() => {
    const ended = running.metrics.tools().reduce((sum, { calls }) => sum + total(calls), 0)
    return ended === NAMES ? undefined : `${ended} calls have ended`
  })
  expect(bytesHeld().heapUsed - half).toBeLessThan(2 * 1024 * 1024)

  const plain = parseExposition(await scraped('text/plain'))
  const open = parseOpenMetrics(await scraped('application/openmetrics-text'))
  for (const { name, labels, type } of METRICS) {
    if (!labels.some((label) => label === 'tool')) continue
    const family = type === 'counter' ? name.replace(/_total$/, '') : name
    for (const { lines } of [plain.get(name)!, open.get(family)!]) {
      const tools = new Set(lines.map((line) => line.labels['tool']!))
      expect(tools.size, name).toBeLessThanOrEqual(MOST_TOOLS)
      // No call here is executed twice, and no result has a false value.
      const least = /duplicate_executions|falsified/.test(name) ? -1 : 20
      expect(tools.size, name).toBeGreaterThan(least)
      expect([...tools].filter((tool) => tool.length > 128 || UNPRINTABLE.test(tool))).toEqual([])
    }
  }
  const calls = plain.get('squall_calls_total')!.lines
  expect(calls.reduce((sum, { value }) => sum + value, 0)).toBe(NAMES)
  const protos = calls.filter(({ labels }) => labels['tool'] === '__proto__')
  expect(protos.reduce((sum, { value }) => sum + value, 0)).toBeGreaterThan(0)
  expect(plain.get('squall_tool_names_dropped_total')!.lines[0]!.value).toBeGreaterThan(NAMES * 0.8)

  expect(running.metrics.tools().length).toBeLessThanOrEqual(MOST_TOOLS)
  const faults = await (await fetch(`${admin}/api/injections`)).text()
  const list = (JSON.parse(faults) as { faults: { tool: string }[] }).faults
  expect(list.length).toBe(200)
  expect(Math.max(...list.map(({ tool }) => tool.length))).toBeLessThanOrEqual(128)
  const events = await firstEvent()
  expect(events.tools.length).toBeLessThanOrEqual(MOST_TOOLS)
})

function total(calls: Readonly<Record<string, number>>): number {
  return Object.values(calls).reduce((sum, value) => sum + value, 0)
}

/** Returns the first event that the page receives. */
async function firstEvent(): Promise<{ readonly tools: readonly object[] }> {
  const leave = new AbortController()
  const response = await fetch(`${admin}/api/events`, { signal: leave.signal })
  let text = ''
  for await (const part of response.body!.pipeThrough(new TextDecoderStream())) {
    text += part
    const data = /^data: (.*)\n\n/m.exec(text)
    if (data === null) continue
    leave.abort()
    return JSON.parse(data[1]!) as { tools: object[] }
  }
  throw new Error('no event')
}
