import { randomUUID } from 'node:crypto'
import type { RequestListener, ServerResponse } from 'node:http'
import { PassThrough } from 'node:stream'
import { fileURLToPath } from 'node:url'
import { AgentWatch, type AgentWatchOptions, Findings } from '../../src/agents/agent-watch.ts'
import { defaultMemoryBudget, MemoryBudget } from '../../src/listener/memory-budget.ts'
import { RareLog } from '../../src/listener/rare-log.ts'
import { StdioPort } from '../../src/listener/stdio/stdio-port.ts'
import { SseFramer } from '../../src/mcp/sse-framer.ts'
import { Metrics } from '../../src/telemetry/metrics.ts'
import type { RuleSpec } from '../../src/rules/file/rule-spec.ts'
import { SETTINGS } from '../engines/limits.ts'
import { shop } from '../fixtures/shop-tools.mjs'
import { oneFault } from '../faults/one-fault.ts'
import { type RuleStage, startSidecar } from '../support/wire.ts'
import { ruleStage } from '../support/wire/rules.ts'

export const WAYS = ['json', 'sse', 'http+sse', 'stdio'] as const
export type Way = (typeof WAYS)[number]

/** The price that the fault puts into the result of `get_quote`; the true one is 3987.84. */
export const FALSE_PRICE = 4187.23

const TASKS: AgentWatchOptions = {
  by: ['session', 'client'],
  header: 'x-task-id',
  meta: undefined,
  window: 60_000,
  maxRetries: 3,
}

/** A rule that falsifies the price; `keys` are further parameters of the fault. */
export function falsifies(keys = '', rule = 'match: { tool: get_quote }'): RuleSpec {
  return oneFault(`falsify: { number: { by: 5% }, at: /price${keys} }`, rule, 'wrong-price')
}

export interface Message {
  readonly id?: unknown
  readonly result?: {
    readonly isError?: boolean
    readonly content?: readonly { readonly text: string }[]
    readonly structuredContent?: Readonly<Record<string, unknown>>
  }
  readonly error?: { readonly message: string }
}

/** An agent in front of a shop, and what was found out about it. */
export interface ShopAgent {
  readonly faults: RuleStage
  readonly findings?: Findings
  /** Calls a tool; resolves to the response. */
  call(tool: string, args?: object): Promise<Message>
  /** Calls a tool within a trace, in its session or another one. */
  traced(traceparent: string, tool: string, args: object, session?: string): Promise<Message>
  /** The same in another session. */
  in(session: string, tool: string, args: object, headers?: Headers): Promise<Message>
  /** Sends a compressed message. */
  sendBytes(bytes: Uint8Array<ArrayBuffer>): Promise<readonly Message[]>
  /** Sends messages in one body; resolves to their responses. */
  send(messages: readonly object[]): Promise<readonly Message[]>
  /** Returns the calls that the shop has executed. */
  executed(): Promise<readonly (readonly [string, Record<string, unknown>])[]>
  /** Ends the task; resolves to the verdicts. */
  end(): readonly string[]
  close(): Promise<void>
}

type Send = (
  body: string | Uint8Array<ArrayBuffer>,
  count: number,
  session?: string,
  headers?: Headers,
) => Promise<readonly Message[]>

type Headers = Readonly<Record<string, string>>

/** Starts a shop behind Squall, and an agent that has listed the tools. */
export async function shopAgent(
  way: Way,
  rules: readonly RuleSpec[],
  tasks: AgentWatchOptions | null = TASKS,
): Promise<ShopAgent> {
  const stage =
    way === 'stdio'
      ? await overStdio(rules, tasks ?? undefined)
      : await overHttp(way, rules, tasks ?? undefined)
  const { send, faults, agents } = stage
  let id = 0
  const ask = async (
    method: string,
    params: object,
    session?: string,
    headers?: Headers,
  ): Promise<Message> => {
    const message = { jsonrpc: '2.0', id: ++id, method, params }
    return (await send(JSON.stringify(message), 1, session, headers))[0]!
  }
  await ask('initialize', { protocolVersion: '2025-06-18', capabilities: {}, clientInfo: CLIENT })
  await ask('tools/list', {})
  return {
    ...stage,
    call: (name, args = {}) => ask('tools/call', { name, arguments: args }),
    traced: (traceparent, name, args, session) =>
      ask('tools/call', { name, arguments: args, _meta: { traceparent } }, session),
    in: (session, name, args, headers) =>
      ask('tools/call', { name, arguments: args }, session, headers),
    sendBytes: (bytes) => send(bytes, 1),
    send: (messages) => send(JSON.stringify(messages), messages.length),
    executed: async () => {
      const { result } = await ask('tools/call', { name: 'executed', arguments: {} })
      return result!.structuredContent!['calls'] as [string, Record<string, unknown>][]
    },
    end: () => {
      agents?.sweep(performance.now() + 2 * TASKS.window)
      faults.falseValues.sweep()
      return faults.verdicts
    },
  }
}

const CLIENT = { name: 'scripted', version: '1' }

/** A server that responds as the way says. */
function serverOf(way: Way): RequestListener {
  const respond = shop()
  let stream: ServerResponse | undefined
  return (req, res) => {
    if (req.method === 'GET') {
      stream = res.writeHead(200, { 'content-type': 'text/event-stream' })
      stream.write('event: endpoint\ndata: /message?sessionId=s\n\n')
      return
    }
    let body = ''
    req.setEncoding('utf8').on('data', (part: string) => (body += part))
    req.on('end', () => {
      const asked = JSON.parse(body) as { id: number; method: string }
      const all = [asked].flat().map(({ id, ...each }) => {
        return { jsonrpc: '2.0', id, result: respond(each) }
      })
      const text = JSON.stringify(Array.isArray(asked) ? all : all[0])
      const session = asked.method === 'initialize' ? { 'mcp-session-id': randomUUID() } : {}
      if (stream !== undefined) {
        res.writeHead(202).end()
        stream.write(`data: ${text}\n\n`)
      } else if (way === 'sse') {
        res.writeHead(200, { 'content-type': 'text/event-stream', ...session })
        res.end(`data: ${text}\n\n`)
      } else res.writeHead(200, { 'content-type': 'application/json', ...session }).end(text)
    })
  }
}

async function overHttp(
  way: Way,
  rules: readonly RuleSpec[],
  tasks: AgentWatchOptions | undefined,
) {
  const squall = await startSidecar({
    rules,
    upstream: serverOf(way),
    ...(tasks !== undefined && { tasks }),
    maxBody: 256 * 1024,
  })
  const { faults, agents } = squall
  const inbox = new Inbox()
  const left = new AbortController()
  let session: string | undefined
  let path = '/mcp'
  if (way === 'http+sse') {
    const { body } = await fetch(`${squall.url}/sse`, {
      headers: { accept: 'text/event-stream' },
      signal: left.signal,
    })
    const framer = new SseFramer(1 << 20)
    path = await new Promise<string>((announced) => {
      const read = async (): Promise<void> => {
        for await (const part of body!) {
          framer.push(part as Uint8Array, ({ data, event }) => {
            if (event === 'endpoint') announced(data!)
            else if (data !== undefined) inbox.add(JSON.parse(data) as Message | Message[])
          })
        }
      }
      read().catch(() => undefined)
    })
  }
  const send: Send = async (sent, count, other, headers) => {
    const pushed = way === 'http+sse' ? inbox.next(count) : undefined
    const response = await fetch(`${squall.url}${path}`, {
      method: 'POST',
      headers: {
        'content-type': 'application/json',
        accept: 'application/json, text/event-stream',
        ...(typeof sent !== 'string' && { 'content-encoding': 'gzip' }),
        ...(session !== undefined && { 'mcp-session-id': other ?? session }),
        ...headers,
      },
      body: sent,
    })
    session ??= response.headers.get('mcp-session-id') ?? undefined
    const text = await response.text()
    if (response.status === 202) return pushed!
    if (!text.startsWith('data:') && !text.startsWith(':') && !text.startsWith('event:'))
      return [JSON.parse(text) as Message].flat()
    const events = text.split('\n').filter((line) => line.startsWith('data: '))
    return events.map((line) => JSON.parse(line.slice(6)) as Message).flat()
  }
  const close = async (): Promise<void> => {
    left.abort()
    await squall.close()
  }
  return { send, faults, agents, squall, close }
}

/** Messages that arrive on a stream. */
class Inbox {
  #messages: Message[] = []
  #waiting: { readonly count: number; readonly done: (all: Message[]) => void } | undefined

  add(message: Message | Message[]): void {
    this.#messages.push(...[message].flat())
    const waiting = this.#waiting
    if (waiting === undefined || this.#messages.length < waiting.count) return
    this.#waiting = undefined
    waiting.done(this.#messages.splice(0))
  }

  next(count: number): Promise<Message[]> {
    return new Promise((done) => (this.#waiting = { count, done }))
  }
}

const now = (): number => performance.now()
const LOGGER = {
  debug: () => undefined,
  info: () => undefined,
  warn: () => undefined,
  error: (fields: object) => console.error(fields),
}
const SERVER = fileURLToPath(new URL('../fixtures/shop-tools.mjs', import.meta.url))

async function overStdio(rules: readonly RuleSpec[], tasks: AgentWatchOptions | undefined) {
  const metrics = new Metrics({ version: '0.0.0-test' })
  const agents = tasks && new AgentWatch(tasks, metrics.tasks, undefined, new Findings(tasks))
  const faults = ruleStage(rules)
  const [input, output, errors] = [new PassThrough(), new PassThrough(), new PassThrough()]
  const port = new StdioPort(
    { ...SETTINGS, maxBody: 256 * 1024, server: { command: process.execPath, args: [SERVER] } },
    {
      telemetry: metrics,
      logger: LOGGER,
      rareLog: new RareLog(LOGGER, now),
      faults,
      memory: new MemoryBudget(defaultMemoryBudget()),
      watch: undefined,
      agents,
    },
    { input, output, errors },
  )
  await port.start()
  const carried = port.carry()
  const inbox = new Inbox()
  let text = ''
  output.setEncoding('utf8').on('data', (part: string) => {
    const lines = (text += part).split('\n')
    text = lines.pop()!
    for (const line of lines) inbox.add(JSON.parse(line) as Message)
  })
  const send: Send = (sent, count) => {
    const next = inbox.next(count)
    input.write(`${String(sent)}\n`)
    return next
  }
  const close = async (): Promise<void> => {
    input.end()
    port.close()
    await carried
  }
  return { send, faults, agents, close }
}
