import { expect } from 'vitest'
import {
  type AppExchange,
  chunk,
  metricOf,
  type RawApp,
  RawClient,
  response,
  type Script,
  type ScriptedSidecar,
  type StartOptions,
  startSidecar,
} from '../support/wire.ts'
import { familyIn, type Line } from '../telemetry/exposition.ts'

/** Numbers by what they count. Zeroes are left out. */
export type Counts = Record<string, number>

/** The values of the gauges when nothing is open. */
const AT_REST = { client: 0, push: 0, request: 0, pending: 0, tunnel: 0 }

/** An upstream, Squall before it, and the counts of Squall. */
export class Stage {
  readonly app: RawApp
  readonly squall: ScriptedSidecar
  readonly #clients: RawClient[] = []

  private constructor(squall: ScriptedSidecar) {
    this.app = squall.app
    this.squall = squall
  }

  static async open(script: Script, options: Omit<StartOptions, 'upstream'> = {}): Promise<Stage> {
    return new Stage(await startSidecar({ ...options, upstream: { script } }))
  }

  async connect(): Promise<RawClient> {
    const client = await RawClient.connect(this.squall.port)
    this.#clients.push(client)
    return client
  }

  /** Sends a request on a connection of its own. */
  async send(bytes: string | readonly (string | Buffer)[], method = 'POST'): Promise<RawClient> {
    const client = await this.connect()
    await client.send(bytes, method)
    return client
  }

  /** Sends a request and waits until its response is over, whichever way. */
  async exchange(bytes: string | readonly (string | Buffer)[]): Promise<RawClient> {
    const client = await this.send(bytes)
    await client.response()
    return client
  }

  async lines(name: string): Promise<Line[]> {
    return familyIn(await this.squall.metrics(), name)?.lines ?? []
  }

  /** Counts calls by `method tool: outcome`, with the origin when it is not the upstream. */
  async calls(): Promise<Counts> {
    return counts(await this.lines('squall_calls_total'), (labels) => {
      const { method, tool, outcome, origin } = labels
      const what = tool === '' ? method! : `${method!} ${tool!}`
      return `${what}: ${outcome!}${origin === 'real' ? '' : ` by ${origin!}`}`
    })
  }

  /** Counts exchanges without calls: `class code`, with the origin when it is not the upstream. */
  async http(): Promise<Counts> {
    return counts(await this.lines('squall_http_requests_total'), (labels) => {
      const { class: kind, code, origin } = labels
      return `${kind!} ${code!}${origin === 'real' ? '' : ` by ${origin!}`}`
    })
  }

  async byReason(name: 'unclassified' | 'rejected' | 'table_evictions'): Promise<Counts> {
    const label = name === 'table_evictions' ? 'table' : 'reason'
    return counts(await this.lines(`squall_${name}_total`), (labels) => labels[label]!)
  }

  async sum(name: string, part = ''): Promise<number> {
    const lines = await this.lines(name)
    return lines
      .filter((line) => line.name === name + part)
      .reduce((sum, { value }) => sum + value, 0)
  }

  /** Every gauge, except for connections to the upstream. */
  async gauges(): Promise<Counts> {
    const text = await this.squall.metrics()
    const open: Counts = { pending: metricOf(text, 'squall_in_flight_requests') }
    for (const name of ['squall_connections', 'squall_open_streams']) {
      for (const { labels, value } of familyIn(text, name)!.lines) {
        if (labels['kind'] !== 'upstream') open[labels['kind']!] = value
      }
    }
    return open
  }

  /** Waits until calls are counted so, and not otherwise. */
  async ends(expected: Counts): Promise<void> {
    await expect.poll(() => this.calls(), POLL).toEqual(expected)
  }

  /** Everybody leaves; what was counted must stay as it was, and nothing may still be open. */
  async close(): Promise<void> {
    const before = await this.calls()
    for (const client of this.#clients) client.close()
    await expect.poll(() => this.gauges(), POLL).toEqual(AT_REST)
    const after = await this.calls()
    await this.squall.close()
    await expect.poll(() => this.sum('squall_connections'), POLL).toBe(0)
    expect(after).toEqual(before)
    expect(await this.byReason('unclassified')).not.toHaveProperty('internal_error')
  }
}

/** For what happens soon and cannot be awaited. */
export const POLL = { timeout: 5_000, interval: 10 }

/** Adds lines up by a name made of their labels. */
function counts(
  lines: readonly Line[],
  name: (labels: Readonly<Record<string, string>>) => string,
): Counts {
  const sums: Counts = {}
  for (const { labels, value } of lines) {
    if (value !== 0) sums[name(labels)] = (sums[name(labels)] ?? 0) + value
  }
  return sums
}

/** A POST of any message to any target. */
export function post(message: unknown, lines = '', target = '/mcp'): string {
  const body = Buffer.from(typeof message === 'string' ? message : JSON.stringify(message))
  return `POST ${target} HTTP/1.1\r\nHost: pod\r\nContent-Type: application/json\r\nAccept: application/json, text/event-stream\r\n${lines}Content-Length: ${body.length}\r\n\r\n${body.toString('latin1')}`
}

/** A GET that asks for an event stream. */
export function get(target = '/mcp', lines = ''): string {
  return `GET ${target} HTTP/1.1\r\nHost: pod\r\nAccept: text/event-stream\r\n${lines}\r\n`
}

/** A request of JSON-RPC. */
export function request(id: unknown, method = 'tools/call', params: unknown = { name: 'echo' }) {
  return { jsonrpc: '2.0', id, method, params }
}

/** A result of JSON-RPC. */
export function result(id: unknown, value: unknown = { content: [] }) {
  return { jsonrpc: '2.0', id, result: value }
}

/** An error of JSON-RPC. */
export function failure(id: unknown, code = -32602, data?: unknown) {
  return { jsonrpc: '2.0', id, error: { code, message: 'no', data } }
}

/** A call that declares protocol version 2026-07-28. */
export function modern(id: unknown, method = 'tools/call', rest: object = { name: 'echo' }) {
  const _meta = { 'io.modelcontextprotocol/protocolVersion': '2026-07-28' }
  return request(id, method, { ...rest, _meta })
}

/** A JSON response. */
export function json(body: unknown, status = '200 OK', lines: readonly string[] = []): Buffer {
  const text = typeof body === 'string' || Buffer.isBuffer(body) ? body : JSON.stringify(body)
  return response(status, ['Content-Type', 'application/json', ...lines], text)
}

/** The headers of an event stream. */
export function streamHead(lines = ''): string {
  return `HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n${lines}Transfer-Encoding: chunked\r\n\r\n`
}

/** One event in a chunk of its own. */
export function event(message: unknown, id?: string): Buffer {
  return chunk(
    `${id === undefined ? '' : `id: ${id}\n`}event: message\ndata: ${JSON.stringify(message)}\n\n`,
  )
}

/** The end of a chunked body. */
export const LAST_CHUNK = '0\r\n\r\n'

/** A whole event stream. */
export function stream(...messages: unknown[]): (string | Buffer)[] {
  return [streamHead(), ...messages.map((message) => event(message)), LAST_CHUNK]
}

/** Parses the body of the posted request. */
export function posted(exchange: AppExchange): { id: unknown; method: string; params?: unknown } {
  return JSON.parse(exchange.request.body.toString()) as {
    id: unknown
    method: string
    params?: unknown
  }
}
