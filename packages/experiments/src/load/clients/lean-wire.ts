import { randomInt } from 'node:crypto'
import { Agent, request, type Dispatcher } from 'undici'
import { encodeHeaderValue, isModern } from '#protocol'
import { connectionFailure } from './connection-failure.ts'
import { openHeldStream } from './held-stream.ts'
import { limitCall } from './call-limit.ts'
import { type CallBounds, type CallResponse, type HeldStream, TASK_HEADER } from './load-client.ts'
import type { LoadTarget } from '../load-options.ts'
import { secretHider } from './own-secrets.ts'
import { markersOf } from './markers.ts'
import { readResponse } from './read-response.ts'

const NAME = 'squall-load'
/**
 * Fewer than the listen backlog of most servers; dropped connections would look like server
 * failures.
 */
const MAX_CONNECTIONS = 500
const META = 'io.modelcontextprotocol'

export interface SessionState {
  readonly protocolVersion: string
  readonly session: string | undefined
}

/** A response and the session that its headers name. */
export interface WireResponse extends CallResponse {
  readonly session?: string
}

/** Sends single messages to one URL over persistent connections. */
export class LeanWire {
  readonly #agent: Agent
  readonly #url: URL
  readonly #headers: Readonly<Record<string, string>>
  readonly #hidden: ReturnType<typeof secretHider>
  readonly clientInfo: { readonly name: string; readonly version: string }
  #id: number

  constructor(target: LoadTarget, version: string) {
    const { url, headers, connections = MAX_CONNECTIONS, sidecars = [] } = target
    // With a sidecar, ids start at a random number, because its other clients begin at 1.
    this.#id = sidecars.length === 0 ? 0 : randomInt(2 ** 40)
    this.#agent = new Agent({
      headersTimeout: 0,
      bodyTimeout: 0,
      connectTimeout: 10_000,
      connections,
    })
    this.#url = url
    this.#headers = headers
    this.#hidden = secretHider(target)
    this.clientInfo = { name: NAME, version }
  }

  /** Sends a request and reads the response. Never rejects. */
  async ask(
    method: string,
    params: Readonly<Record<string, unknown>>,
    sessionState: SessionState | undefined,
    bounds: CallBounds,
  ): Promise<WireResponse> {
    const id = ++this.#id
    const limit = limitCall(bounds)
    let headers: Dispatcher.ResponseData['headers'] | undefined
    try {
      const response = await this.#post({ id, method, params }, sessionState, limit.signal, bounds)
      headers = response.headers
      const read = await readResponse(response, id, this.#hidden)
      const session = response.headers['mcp-session-id']
      const message = read.message && this.#hidden(read.message)
      return { ...read, message, id, ...(typeof session === 'string' && { session }) }
    } catch (error) {
      const markers = markersOf(headers?.['x-squall-fault'])
      const seen = { late: limit.late, headSeen: headers !== undefined, markers }
      return { ...connectionFailure(error, seen), id }
    } finally {
      limit.release()
    }
  }

  /** Sends a notification and ignores the response. */
  async notify(method: string, sessionState: SessionState): Promise<void> {
    try {
      const { body } = await this.#post({ method }, sessionState, AbortSignal.timeout(10_000))
      await body.dump()
    } catch {
      // Later calls report the failure.
    }
  }

  hold(sessionState: SessionState, signal: AbortSignal): Promise<HeldStream | undefined> {
    return openHeldStream(this.#url, this.#headersOf(sessionState), signal)
  }

  async end(sessionState: SessionState): Promise<void> {
    try {
      const signal = AbortSignal.timeout(2000)
      const headers = this.#headersOf(sessionState)
      const options = { method: 'DELETE', headers, dispatcher: this.#agent, signal } as const
      await (await request(this.#url, options)).body.dump()
    } catch {
      // The server expires a session that cannot be ended.
    }
  }

  async close(): Promise<void> {
    await this.#agent.destroy()
  }

  #post(
    message: { id?: number; method: string; params?: Readonly<Record<string, unknown>> },
    sessionState: SessionState | undefined,
    signal: AbortSignal,
    { task, traceparent }: Partial<CallBounds> = {},
  ): Promise<Dispatcher.ResponseData> {
    const modern = isModern(sessionState?.protocolVersion)
    const _meta = {
      ...(modern && {
        [`${META}/protocolVersion`]: sessionState!.protocolVersion,
        [`${META}/clientCapabilities`]: {},
        [`${META}/clientInfo`]: this.clientInfo,
      }),
      ...(traceparent !== undefined && { traceparent }),
    }
    const isEmpty = !modern && traceparent === undefined
    const params = isEmpty ? message.params : { ...message.params, _meta }
    const headers: Record<string, string> = {
      ...this.#headersOf(sessionState),
      'content-type': 'application/json',
      accept: 'application/json, text/event-stream',
    }
    if (task !== undefined) headers[TASK_HEADER] = task
    if (modern) {
      headers['mcp-method'] = message.method
      const name = message.params?.['name']
      if (typeof name === 'string') headers['mcp-name'] = encodeHeaderValue(name)
    }
    const body = JSON.stringify({ jsonrpc: '2.0', ...message, ...(params && { params }) })
    // A server that rejects an unknown method may close the connection.
    const reset = message.method === 'server/discover'
    return request(this.#url, {
      method: 'POST',
      headers,
      body,
      dispatcher: this.#agent,
      signal,
      reset,
    })
  }

  #headersOf(sessionState: SessionState | undefined): Record<string, string> {
    const head: Record<string, string> = {
      'user-agent': `${NAME}/${this.clientInfo.version}`,
      ...this.#headers,
    }
    if (sessionState !== undefined) {
      head['mcp-protocol-version'] = sessionState.protocolVersion
      if (sessionState.session !== undefined) head['mcp-session-id'] = sessionState.session
    }
    return head
  }
}
