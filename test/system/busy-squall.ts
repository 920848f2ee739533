import { rm, writeFile } from 'node:fs/promises'
import type { RequestListener } from 'node:http'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { freePort } from '../support/wire.ts'
import { type RuledSquall, startSquall } from '../support/commands.ts'

/** The token of the tests' admin port. */
export const TOKEN = 'a-token-for-the-page-0'

/** A tool whose name would like to be markup. */
export const HOSTILE = '<img src=x onerror="document.title=1">\u202eevil'

/** Rules of which some hit, one never does, and one has a name as long as it may be. */
export const RULES = `version: 1
seed: 7
maxActive: 50
rules:
  - name: slow-search
    match: { tool: "search_*" }
    percent: 40
    faults:
      - delay: { fixed: 120ms, jitter: 60ms }
  - name: flaky-db
    match: { tool: query_db }
    percent: 30
    for: 2h
    faults:
      - abort: { toolError: "connection to db-7 lost" }
  - name: never-called
    match: { tool: archive_everything }
    faults:
      - abort: { status: 503 }
  - name: half-a-forecast-with-a-name-as-long-as-a-name-of-a-rule-may-be
    match: { tool: get_weather }
    percent: 10
    faults:
      - delay: { fixed: 20ms }
      - truncate: { content: { percent: 50 } }
  - name: quota
    match: { tool: send_mail }
    percent: 50
    faults:
      - rateLimit: { retryAfter: 2s }
`

const TOOLS = ['search_docs', 'search_code', 'query_db', 'get_weather', 'send_mail', HOSTILE]

/** Squall with rules, an upstream with troubles of its own, and clients that keep calling. */
export interface BusySquall extends RuledSquall {
  /** Lets the clients call for as long as the page is looked at. */
  startCalls(): void
}

/** Starts all of it but the calls. */
export async function busySquall(): Promise<BusySquall> {
  const tokenFile = join(tmpdir(), `squall-token-${process.pid}-${Date.now()}`)
  await writeFile(tokenFile, `${TOKEN}\n`, { mode: 0o600 })
  const tasks = ['--task-window', '1s']
  // Nobody listens at the port of the service discard.
  const more = [...tasks, '--outbound', '127.0.0.1:0=127.0.0.1:9']
  // A successor may take this port, unlike one that the kernel gives to others.
  const served = ['--listen', '127.0.0.1:0', '--admin', `127.0.0.1:${await freePort()}`]
  const flags = ['--admin-token-file', tokenFile, '--environment', 'staging', ...served, ...more]
  const ruled = await startSquall({ rules: RULES, flags, upstream: troubledApp() })
  await rm(tokenFile)
  const clients: Promise<void>[] = []
  const leaving = new AbortController()
  return {
    ...ruled,
    startCalls: () => {
      for (let client = 0; client < 4; client++) clients.push(keepCalling(client))
    },
    close: async () => {
      leaving.abort()
      await Promise.all(clients)
      await ruled.close()
    },
  }

  async function keepCalling(client: number): Promise<void> {
    for (let i = client; !leaving.signal.aborted; i++) {
      const tool = TOOLS[(i * 7 + client) % TOOLS.length]
      const task = `trip-${client}-${Math.floor(i / 8)}`
      const headers = { 'mcp-session-id': `s-${client}`, 'x-task-id': task }
      const { text } = await ruled.ask(tool, headers)
      // Every other error is followed by a retry.
      if (i % 2 === 0 && text.includes('"isError":true')) await ruled.ask(tool, headers)
      await sleep(20 + ((i * 13) % 60))
    }
  }
}

/** Every ninth call fails by itself, and some take their time. */
function troubledApp(): RequestListener {
  let calls = 0
  return (req, res) => {
    const parts: Buffer[] = []
    req.on('data', (part: Buffer) => parts.push(part))
    req.on('end', () => {
      const { id = null } = JSON.parse(Buffer.concat(parts).toString()) as { id?: unknown }
      const isError = ++calls % 9 === 0
      const text = isError ? 'no such row' : 'all is well, and there is more to say about it'
      const result = { content: [{ type: 'text', text }], isError }
      setTimeout(
        () => {
          res.setHeader('content-type', 'application/json')
          res.end(JSON.stringify({ jsonrpc: '2.0', id, result }))
        },
        (calls * 7) % 40,
      )
    })
  }
}
