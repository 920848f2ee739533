import { randomUUID } from 'node:crypto'
import type { RequestListener } from 'node:http'
import { PassThrough } from 'node:stream'
import { fileURLToPath } from 'node:url'
import { Agent, request } from 'undici'
import { AgentWatch, type AgentWatchOptions, Findings } from '../../src/agents/agent-watch.ts'
import { defaultMemoryBudget, MemoryBudget } from '../../src/listener/memory-budget.ts'
import { RareLog } from '../../src/listener/rare-log.ts'
import { StdioPort } from '../../src/listener/stdio/stdio-port.ts'
import type { RuleSpec } from '../../src/rules/file/rule-spec.ts'
import { ShownIds } from '../../src/telemetry/shown-ids.ts'
import { Metrics } from '../../src/telemetry/metrics.ts'
import { SETTINGS } from '../engines/limits.ts'
import { failingTools } from '../fixtures/failing-tools.mjs'
import { ruleStage } from '../support/wire/rules.ts'

/** The use of sessions: one, one for each call, or none, as since 2026-07-28. */
export const SESSIONS = ['one session', 'a session for each call', '2026-07-28'] as const
export type Sessions = (typeof SESSIONS)[number]

/** The traces that an agent begins. */
export const TRACES = ['no traces', 'a trace for each call', 'one trace'] as const
export type Traces = (typeof TRACES)[number]

const newTrace = (): string => `00-${randomUUID().replaceAll('-', '')}-00f067aa0ba902b7-01`

/** Returns params with the trace of a request. */
function tracedBy(traces: Traces): (params: object) => object {
  const one = newTrace()
  return (params) => {
    if (traces === 'no traces') return params
    const { _meta } = params as { readonly _meta?: object }
    const traceparent = traces === 'one trace' ? one : newTrace()
    return { ...params, _meta: { ..._meta, traceparent } }
  }
}

interface Message {
  readonly id: number
  readonly method: string
  readonly params?: Readonly<Record<string, unknown>>
}

/** Does the steps of a script. */
export interface SessionAgent {
  /** Begins a session, as after a lost one. */
  begin(): Promise<void>
  /** Sends a request, in its own session where each call has one. */
  ask(method: string, params?: object): Promise<void>
  /** Sends a request, and leaves it without a response. */
  leave?(method: string, params: object): Promise<void>
}

/** An HTTP server whose tools fail as their names say. */
export function failingServer() {
  const { respond, executed } = failingTools()
  const listener: RequestListener = (req, res) => {
    if (req.method === 'DELETE') {
      res.end()
      return
    }
    let body = ''
    req.setEncoding('utf8').on('data', (part: string) => (body += part))
    req.on('end', () => {
      const { id, method, params } = JSON.parse(body) as Message
      if (id === undefined) {
        res.writeHead(202).end()
        return
      }
      const { status = 200, retryAfter, cut = false, result, error } = respond({ method, params })
      const streams = req.headers.accept?.startsWith('text/event-stream') === true
      const message = JSON.stringify({ jsonrpc: '2.0', id, result, error })
      const text = streams && status === 200 ? `data: ${message}\n\n` : message
      const isModern = req.headers['mcp-protocol-version'] === '2026-07-28'
      res.writeHead(status, {
        'content-type': text === message ? 'application/json' : 'text/event-stream',
        ...(method === 'initialize' && !isModern && { 'mcp-session-id': randomUUID() }),
        ...(retryAfter !== undefined && { 'retry-after': String(retryAfter) }),
      })
      if (!cut) res.end(text)
      // The client has the status when the response breaks off.
      else res.write(text.slice(0, 5), () => res.destroy())
    })
  }
  return { listener, executed }
}

const META = 'io.modelcontextprotocol/'
const CLIENT = { name: 'scripted', version: '1' }
const INITIALIZE = { protocolVersion: '2025-06-18', capabilities: {}, clientInfo: CLIENT }

/** An agent over HTTP that nothing but its user agent names. */
export class HttpAgent implements SessionAgent {
  readonly #url: string
  readonly #sessions: Sessions
  readonly #accept: string
  readonly #name: string
  readonly #connections = new Agent()
  readonly #traced: (params: object) => object
  #session = ''
  #id = 0

  constructor(
    url: string,
    sessions: Sessions,
    { streams, traces = 'no traces' }: { readonly streams: boolean; readonly traces?: Traces },
    name: string,
  ) {
    this.#traced = tracedBy(traces)
    this.#url = `${url}/mcp`
    this.#sessions = sessions
    const types = ['application/json', 'text/event-stream']
    this.#accept = (streams ? types.toReversed() : types).join(', ')
    this.#name = name
  }

  async open(): Promise<void> {
    if (this.#sessions === 'one session') await this.begin()
    // The session of an earlier call is over.
    if (this.#sessions === 'a session for each call') await this.ask('tools/list')
  }

  async begin(): Promise<void> {
    this.#session = ''
    if (this.#sessions === '2026-07-28') await this.#post('server/discover', {})
    else {
      await this.#post('initialize', INITIALIZE)
      await this.#post('notifications/initialized')
    }
  }

  async ask(method: string, params: object = {}): Promise<void> {
    const isOwn = this.#sessions === 'a session for each call'
    if (isOwn) await this.begin()
    await this.#post(method, params)
    if (isOwn) await this.#request('DELETE', {})
  }

  close(): Promise<void> {
    return this.#connections.destroy()
  }

  async #post(method: string, params?: object): Promise<void> {
    const isModern = this.#sessions === '2026-07-28'
    const meta = { [`${META}protocolVersion`]: '2026-07-28', [`${META}clientInfo`]: CLIENT }
    const { name } = (params ?? {}) as { readonly name?: string }
    const headers = {
      'content-type': 'application/json',
      ...(isModern && { 'mcp-protocol-version': '2026-07-28', 'mcp-method': method }),
      ...(isModern && name !== undefined && { 'mcp-name': name }),
    }
    const message = {
      jsonrpc: '2.0',
      ...(params !== undefined && { id: ++this.#id }),
      method,
      params: params && this.#traced(isModern ? { ...params, _meta: meta } : params),
    }
    await this.#request('POST', headers, JSON.stringify(message))
  }

  async #request(method: 'POST' | 'DELETE', more: object, body?: string): Promise<void> {
    const headers = {
      ...more,
      accept: this.#accept,
      'user-agent': this.#name,
      ...(this.#session !== '' && { 'mcp-session-id': this.#session }),
    }
    const options = { method, headers, body: body ?? null, dispatcher: this.#connections }
    try {
      const response = await request(this.#url, options)
      const session = response.headers['mcp-session-id']
      if (session !== undefined) this.#session = String(session)
      await response.body.text()
    } catch {
      // A response that breaks off is what the script is about.
    }
  }
}

const now = (): number => performance.now()
const LOGGER = {
  debug: () => undefined,
  info: () => undefined,
  warn: () => undefined,
  error: (fields: object) => console.error(fields),
}
const SERVER = fileURLToPath(new URL('../fixtures/failing-tools.mjs', import.meta.url))

/** Starts the stdio proxy in front of a server, and an agent that has it to itself. */
export async function stdioAgent(
  sessions: Exclude<Sessions, 'a session for each call'>,
  rules: readonly RuleSpec[],
  tasks: AgentWatchOptions,
  traces: Traces = 'no traces',
) {
  let traced = tracedBy(traces)
  const metrics = new Metrics({ version: '0.0.0-test' })
  const findings = new Findings(tasks)
  const agents = new AgentWatch(tasks, metrics.tasks, undefined, findings)
  const source = { watch: agents, counts: metrics.tasks, findings, ids: new ShownIds() }
  const [input, output, errors] = [new PassThrough(), new PassThrough(), new PassThrough()]
  const port = new StdioPort(
    { ...SETTINGS, server: { command: process.execPath, args: [SERVER] } },
    {
      telemetry: metrics,
      logger: LOGGER,
      rareLog: new RareLog(LOGGER, now),
      faults: ruleStage(rules),
      memory: new MemoryBudget(defaultMemoryBudget()),
      watch: undefined,
      agents,
    },
    { input, output, errors },
  )
  await port.start()
  const carried = port.carry()
  const waiting = new Map<number, () => void>()
  let text = ''
  output.setEncoding('utf8').on('data', (part: string) => {
    const lines = (text += part).split('\n')
    text = lines.pop()!
    for (const line of lines) waiting.get((JSON.parse(line) as Message).id)?.()
  })
  let id = 0
  const write = (method: string, params: object, isCall: boolean): void => {
    const isModern = sessions === '2026-07-28'
    const meta = { [`${META}protocolVersion`]: '2026-07-28', [`${META}clientInfo`]: CLIENT }
    const message = { jsonrpc: '2.0', ...(isCall && { id: ++id }), method }
    const all = isModern ? { ...params, _meta: meta } : params
    input.write(`${JSON.stringify({ ...message, params: traced(all) })}\n`)
  }
  const ask = (method: string, params: object = {}): Promise<void> => {
    write(method, params, true)
    return new Promise((resolve) => waiting.set(id, resolve))
  }
  const agent: SessionAgent = {
    begin: () =>
      sessions === '2026-07-28' ? ask('server/discover') : ask('initialize', INITIALIZE),
    ask,
    leave: async (method, params) => {
      write(method, params, true)
      write('notifications/cancelled', { requestId: id, reason: 'Request timed out' }, false)
      // The server reads in order: it has the call when it responds to the next message.
      await ask('ping')
    },
  }
  await agent.begin()
  return {
    agent,
    agents,
    /** Begins another trace for the calls that follow. */
    retrace: (): void => {
      traced = tracedBy(traces)
    },
    /** Shown by the admin port. */
    source,
    close: async (): Promise<void> => {
      input.end()
      port.close()
      await carried
    },
  }
}
