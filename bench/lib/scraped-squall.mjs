import { mkdirSync, writeFileSync } from 'node:fs'
import { Agent, request } from 'node:http'
import { join } from 'node:path'
import { freePort, startChild, waitUntilAccepting } from './children.mjs'
import { post } from './check.mjs'
import { workload } from './workloads.mjs'

/** Tools that are called, and rules that may match them. */
export const TOOLS = 200
export const RULES = 100
/** In the usual file a rule is about so many tools. */
const TOOLS_OF_A_RULE = 2

/** @typedef {'usual' | 'all hit'} Kind */

/** Rules of which each means two tools, or all of them. @param {Kind} kind */
function rulesFile(kind) {
  const rules = Array.from({ length: RULES }, (_, rule) => {
    const own = [0, 1].map((i) => `"${toolName(rule * TOOLS_OF_A_RULE + i)}"`)
    const tool = kind === 'usual' ? `[${own.join(', ')}]` : '"tool_*"'
    return `  - { name: rule-number-${rule}, match: { tool: ${tool} }, faults: [delay: { fixed: 1ms }] }\n`
  })
  return `rules:\n${rules.join('')}`
}

/** @param {number} n */
const toolName = (n) => `tool_of_this_server_${n % TOOLS}`

/**
 * Squall of which every tool has been called, and hit by all rules that mean it.
 * @param {Kind} kind
 * @param {{ directory: string, squallMain: string, upstreamPort: number }} setting
 */
export async function scrapedSquall(kind, { directory, squallMain, upstreamPort }) {
  mkdirSync(directory, { recursive: true })
  const rules = join(directory, 'rules.yaml')
  writeFileSync(rules, rulesFile(kind))
  const [port, admin] = [await freePort(), await freePort()]
  const flags = ['--listen', `127.0.0.1:${port}`, '--admin', `127.0.0.1:${admin}`]
  const upstream = ['--upstream', `http://127.0.0.1:${upstreamPort}`]
  const args = [squallMain, 'run', ...flags, ...upstream, '--rules', rules, '--log-level', 'warn']
  const child = await startChild('squall', { file: process.execPath, args })
  await waitUntilAccepting(child, port)
  await waitUntilAccepting(child, admin)
  const agent = new Agent({ keepAlive: true, maxSockets: 8 })
  const call = JSON.parse(workload('small').request)
  await Promise.all(
    Array.from({ length: TOOLS }, (_, n) => {
      const params = { ...call.params, name: toolName(n) }
      return post(port, agent, JSON.stringify({ ...call, params }))
    }),
  )
  agent.destroy()
  return { port, admin, child }
}

/**
 * One scrape, as Prometheus asks or as people do.
 * @param {number} admin
 * @param {boolean} open
 * @returns {Promise<{ ms: number, body: Buffer }>}
 */
export function scrape(admin, open) {
  const began = performance.now()
  const accept = open ? 'application/openmetrics-text; version=1.0.0' : 'text/plain'
  return new Promise((resolve, reject) => {
    const asked = { host: '127.0.0.1', port: admin, path: '/metrics', headers: { accept } }
    request(asked, (response) => {
      /** @type {Buffer[]} */
      const parts = []
      response.on('data', (part) => parts.push(part))
      response.on('error', reject)
      response.on('end', () => {
        const ms = performance.now() - began
        resolve({ ms, body: Buffer.concat(parts) })
      })
    })
      .on('error', reject)
      .end()
  })
}

/**
 * Returns the errors of a scrape, in words.
 * @param {Kind} kind @param {string} text @param {boolean} open
 */
export function faultsOfScrape(kind, text, open) {
  const faults = []
  const lines = text.split('\n')
  const hits = lines.filter((line) => line.startsWith('squall_faults_injected_total{'))
  const wanted = kind === 'usual' ? RULES * TOOLS_OF_A_RULE : RULES * TOOLS
  if (hits.length !== wanted) faults.push(`${hits.length} series of faults instead of ${wanted}`)
  const wrong = hits.find((line) => !line.endsWith('"} 1'))
  if (wrong !== undefined) faults.push(`not counted once: ${wrong}`)
  const calls = lines.filter((line) => line.startsWith('squall_calls_total{'))
  if (calls.length !== TOOLS) faults.push(`${calls.length} series of calls instead of ${TOOLS}`)
  if (open !== text.endsWith('\n# EOF\n')) faults.push('the end is not that of its format')
  return faults
}
